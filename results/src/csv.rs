//! One CSV file: a header from a row type's columns, then rows as they happen.

use std::fmt;
use std::io::Write;
use std::path::Path;

use super::column::Column;
use super::error::ResultsError;
use super::row::{Field, Fields, Row};
use super::text_file::TextFile;

/// A stream of rows of one type. Rows leave memory as they fill the buffer.
pub struct CsvTable<'a, W: Write> {
    file: TextFile<W>,
    line: CsvLine<'a>,
}

impl<'a, W: Write> CsvTable<'a, W> {
    /// Writes the header. Errors name `path`.
    pub fn new(
        writer: W,
        path: &Path,
        columns: impl IntoIterator<Item = Column<'a>>,
    ) -> Result<Self, ResultsError> {
        let mut file = TextFile::new(writer, path);
        let line = CsvLine::new(columns);
        file.write(|out| out.write_all(&line.header()))?;
        Ok(Self { file, line })
    }

    /// Adds a row of the header's type.
    pub fn row(&mut self, row: &impl Row) -> Result<(), ResultsError> {
        let line = self.line.format(row);
        self.file.write(|out| out.write_all(line))
    }

    /// Empties the buffer.
    pub fn flush(&mut self) -> Result<(), ResultsError> {
        self.file.flush()
    }

    /// Empties the buffer and closes the file.
    pub fn finish(self) -> Result<(), ResultsError> {
        self.file.finish()
    }
}

/// A row as a line: fields are comma separated, and quoted if RFC 4180 requires it.
struct CsvLine<'a> {
    columns: Vec<Column<'a>>,
    text: Vec<u8>,
    fields: usize,
}

impl<'a> CsvLine<'a> {
    fn new(columns: impl IntoIterator<Item = Column<'a>>) -> Self {
        Self { columns: columns.into_iter().collect(), text: Vec::new(), fields: 0 }
    }

    fn header(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for column in &self.columns {
            quote(column.name, &mut text);
            text.push(b',');
        }
        end_line(&mut text);
        text
    }

    fn format(&mut self, row: &impl Row) -> &[u8] {
        self.text.clear();
        self.fields = 0;
        row.fields(self);
        debug_assert_eq!(self.fields, self.columns.len(), "a row has a field for each column");
        end_line(&mut self.text);
        &self.text
    }

    #[inline(never)]
    fn digits(&mut self, value: impl itoa::Integer) {
        self.text.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    }
}

impl Fields for CsvLine<'_> {
    // Inline, so that nothing is left of the choice where a column's type is known.
    #[inline(always)]
    fn field(&mut self, field: Field<'_>) {
        debug_assert!(
            self.columns.get(self.fields).is_some_and(|column| column.takes(field)),
            "{:?} is not for {:?}",
            field,
            self.columns.get(self.fields)
        );
        self.fields += 1;
        match field {
            Field::Empty => {}
            Field::Integer(value) => self.digits(value),
            Field::Signed(value) => self.digits(value),
            Field::Decimal(value) => value.write(&mut self.text),
            Field::Text(value) => quote(value, &mut self.text),
            Field::Truth(value) => self.text.push(if value { b'1' } else { b'0' }),
        }
        self.text.push(b',');
    }
}

/// Turns the last comma into a line feed.
fn end_line(text: &mut Vec<u8>) {
    text.pop();
    text.push(b'\n');
}

/// A text field, quoted as RFC 4180 requires if it holds a comma, a quote or a line end.
pub struct Text<'a>(pub &'a str);

impl Text<'_> {
    fn needs_quotes(&self) -> bool {
        self.0.bytes().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r'))
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.needs_quotes() {
            write!(f, "\"{}\"", self.0.replace('"', "\"\""))
        } else {
            f.write_str(self.0)
        }
    }
}

#[inline(never)]
fn quote(value: &str, text: &mut Vec<u8>) {
    let value = Text(value);
    if value.needs_quotes() {
        text.extend_from_slice(value.to_string().as_bytes());
    } else {
        text.extend_from_slice(value.0.as_bytes());
    }
}

/// A row's line, for tests: each field is of its column's type.
#[cfg(test)]
pub fn line<R: Row>(row: &R) -> String {
    let mut line = CsvLine::new(R::COLUMNS.iter().copied());
    String::from_utf8(line.format(row).to_vec()).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    struct Number(u64);

    impl Row for Number {
        const FILE: &'static str = "numbers.csv";
        const ABOUT: &'static str = "A number.";
        const COLUMNS: &'static [Column<'static>] =
            &[Column::integer("half", "Half."), Column::integer("whole", "All.")];

        fn fields(&self, row: &mut impl Fields) {
            row.add(self.0 / 2).add(self.0);
        }
    }

    #[test]
    fn header_comes_from_the_columns() {
        let mut bytes = Vec::new();
        let mut table =
            CsvTable::new(&mut bytes, Path::new("numbers.csv"), Number::COLUMNS.iter().copied())
                .unwrap();
        table.row(&Number(4)).unwrap();
        table.finish().unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap(), "half,whole\n2,4\n");
    }

    #[test]
    fn a_full_disk_is_reported_while_rows_are_added() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut table =
            CsvTable::new(full, Path::new("out/numbers.csv"), Number::COLUMNS.iter().copied())
                .unwrap();
        let error = (0..100_000).find_map(|n| table.row(&Number(n)).err()).unwrap();
        assert_eq!(
            error.to_string(),
            "cannot write out/numbers.csv: No space left on device (os error 28); \
             free some space or name another folder with --out"
        );
    }

    #[test]
    fn a_full_disk_is_reported_at_the_end_of_a_short_file() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut table =
            CsvTable::new(full, Path::new("out/numbers.csv"), Number::COLUMNS.iter().copied())
                .unwrap();
        table.row(&Number(1)).unwrap();
        assert!(table.finish().unwrap_err().to_string().contains("No space left"));
    }

    #[test]
    fn text_is_quoted_only_where_it_must_be() {
        for (text, expected) in [
            ("incast", "incast"),
            ("a b", "a b"),
            ("a,b", "\"a,b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("two\nlines", "\"two\nlines\""),
        ] {
            let mut quoted = Vec::new();
            quote(text, &mut quoted);
            assert_eq!(String::from_utf8(quoted).unwrap(), expected);
        }
    }

    #[test]
    #[should_panic(expected = "is not for")]
    fn a_field_of_another_type_than_its_column_is_found() {
        struct Wrong;
        impl Row for Wrong {
            const FILE: &'static str = "wrong.csv";
            const ABOUT: &'static str = "";
            const COLUMNS: &'static [Column<'static>] = &[Column::integer("port", "Port.")];

            fn fields(&self, row: &mut impl Fields) {
                row.add("leaf0");
            }
        }
        line(&Wrong);
    }
}
