//! Aligned columns and wrapped lines that stay within a report's width.

use std::fmt::Write;

use super::style::Style;

/// Wrapped lines are not wider, except for long paths, which are not cut. Tables may take four more.
pub const WIDTH: usize = 96;

/// To which side a column's cells go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// For words, which may be cut.
    Left,
    /// For numbers, which are not: a number cut short is another number.
    Right,
}

/// A column's header, side and widest cell.
pub type Head = (&'static str, Align, usize);

/// Rows of cells under headers. A column is as wide as its widest cell; longer words end in `…`.
pub struct TextTable<const N: usize> {
    columns: [Head; N],
    rows: Vec<[String; N]>,
}

impl<const N: usize> TextTable<N> {
    const GAP: &'static str = "  ";

    /// A table without rows.
    pub fn new(columns: [Head; N]) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells);
    }

    /// Header and rows, a line each.
    pub fn render(&self, style: Style) -> String {
        let widths: [usize; N] = std::array::from_fn(|index| {
            let (header, align, limit) = self.columns[index];
            let limit = if align == Align::Left { limit } else { usize::MAX };
            let cells = self.rows.iter().map(|row| row[index].chars().count());
            cells.max().unwrap_or(0).min(limit).max(header.len())
        });
        let header = self.line(&self.columns.map(|(header, ..)| header.to_owned()), &widths);
        let mut text = style.heading(&header) + "\n";
        for row in &self.rows {
            text += &self.line(row, &widths);
            text.push('\n');
        }
        text
    }

    fn line(&self, cells: &[String; N], widths: &[usize; N]) -> String {
        let mut line = String::new();
        for ((cell, &width), (_, align, _)) in cells.iter().zip(widths).zip(&self.columns) {
            if !line.is_empty() {
                line += Self::GAP;
            }
            let cell = cut(cell, width);
            match align {
                Align::Left => write!(line, "{cell:<width$}"),
                Align::Right => write!(line, "{cell:>width$}"),
            }
            .expect("a String takes every write");
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// `text` in lines of at most [`WIDTH`]; all but the first are indented by `indent` blanks. Each
/// broken line ends with `joint`.
pub fn wrap<'a>(words: impl IntoIterator<Item = &'a str>, indent: usize, joint: &str) -> String {
    let mut text = String::new();
    let mut column = 0;
    for word in words {
        let length = word.chars().count();
        if column > 0 && column + 1 + length + joint.len() > WIDTH {
            text = text + joint + "\n" + &" ".repeat(indent);
            column = indent;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text += word;
        column += length;
    }
    text.push('\n');
    text
}

fn cut(cell: &str, width: usize) -> String {
    if cell.chars().count() <= width {
        return cell.to_owned();
    }
    cell.chars().take(width - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_and_long_cells_are_cut() {
        let mut table = TextTable::new([("name", Align::Left, 6), ("bytes", Align::Right, 9)]);
        table.row(["a".into(), "1".into()]);
        table.row(["averylongname".into(), "123456".into()]);
        insta::assert_snapshot!(table.render(Style::plain()), @"
    name     bytes
    a            1
    avery…  123456
    ");
    }

    #[test]
    fn words_wrap_within_the_width() {
        let text = wrap("twelve chars".repeat(30).split(' '), 2, " \\");
        assert!(text.lines().count() > 2);
        assert!(text.lines().all(|line| line.len() <= WIDTH));
        assert!(
            text.lines().skip(1).all(|line| line.starts_with("  t") || line.starts_with("  c"))
        );
        assert_eq!(text.matches(" \\\n").count(), text.lines().count() - 1);
    }

    #[test]
    fn a_line_may_be_as_wide_as_the_width_and_no_wider() {
        let long = |length| "x".repeat(length);
        let lines = |words: &[&str], joint| {
            let text = wrap(words.iter().copied(), 2, joint);
            text.lines().map(|line| line.chars().count()).collect::<Vec<_>>()
        };
        assert_eq!(lines(&["a", &long(WIDTH - 2)], ""), [WIDTH]);
        assert_eq!(lines(&["a", &long(WIDTH - 1)], ""), [1, WIDTH + 1]);
        // Room for the joint is kept, broken line or not.
        assert_eq!(lines(&["a", &long(WIDTH - 4)], " \\"), [WIDTH - 2]);
        assert_eq!(lines(&["a", &long(WIDTH - 3)], " \\"), [3, WIDTH - 1]);
        assert_eq!(lines(&["a", &long(WIDTH - 4), "b"], " \\"), [WIDTH, 3]);
        // After a break the indent counts.
        assert_eq!(lines(&[&long(WIDTH), "b", &long(WIDTH - 4), "c"], ""), [WIDTH, WIDTH, 3]);
        assert_eq!(
            lines(&[&long(WIDTH), "b", &long(WIDTH - 3), "c"], ""),
            [WIDTH, 3, WIDTH - 1, 3]
        );
        // A word that is too long is not cut, and does not leave a line empty before it.
        assert_eq!(lines(&[&long(200)], ""), [200]);
        assert_eq!(wrap(["é", "ü"], 2, ""), "é ü\n");
    }

    #[test]
    fn a_cell_of_the_widest_width_is_whole() {
        assert_eq!(cut("sieben", 6), "sieben");
        assert_eq!(cut("siebenmal", 6), "siebe…");
    }
}
