//! One CSV file: a header from the row type's columns, then rows as they happen.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use super::column::Column;
use super::error::ResultsError;
use super::text_file::TextFile;

/// A row type: its columns are its header and its documentation at once.
pub trait Row {
    /// The file's name in the results folder.
    const FILE: &'static str;
    /// One sentence on what a row is.
    const ABOUT: &'static str;
    /// The columns from left to right.
    const COLUMNS: &'static [Column];

    /// Writes the fields, comma separated and ended by a line feed.
    fn write_fields(&self, out: &mut impl Write) -> io::Result<()>;
}

/// A stream of rows of one type. Rows leave memory as they fill the buffer.
pub struct CsvTable<W: Write> {
    file: TextFile<W>,
}

impl<W: Write> CsvTable<W> {
    /// Writes the header: all columns of a type of rows, or some. `path` is what errors name.
    pub fn new(writer: W, path: &Path, columns: &[Column]) -> Result<Self, ResultsError> {
        let mut file = TextFile::new(writer, path);
        file.write(|out| {
            for (index, column) in columns.iter().enumerate() {
                let separator = if index == 0 { "" } else { "," };
                write!(out, "{separator}{}", column.name)?;
            }
            out.write_all(b"\n")
        })?;
        Ok(Self { file })
    }

    /// Adds a row of the header's type.
    pub fn row(&mut self, row: &impl Row) -> Result<(), ResultsError> {
        self.file.write(|out| row.write_fields(out))
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

/// A text field, quoted as RFC 4180 asks where it holds a comma, a quote or a line end.
pub struct Text<'a>(pub &'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.contains([',', '"', '\n', '\r']) {
            write!(f, "\"{}\"", self.0.replace('"', "\"\""))
        } else {
            f.write_str(self.0)
        }
    }
}

/// A field that may be empty.
pub struct Maybe<T>(pub Option<T>);

impl<T: fmt::Display> fmt::Display for Maybe<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |value| value.fmt(f))
    }
}

/// A row's line, for tests; it has as many fields as there are columns.
#[cfg(test)]
pub fn line<R: Row>(row: &R) -> String {
    let mut bytes = Vec::new();
    row.write_fields(&mut bytes).unwrap();
    let line = String::from_utf8(bytes).unwrap();
    let mut quoted = false;
    let separators = line.chars().filter(|&c| {
        quoted ^= c == '"';
        c == ',' && !quoted
    });
    assert_eq!(separators.count() + 1, R::COLUMNS.len(), "{line}");
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    struct Number(u64);

    impl Row for Number {
        const FILE: &'static str = "numbers.csv";
        const ABOUT: &'static str = "A number.";
        const COLUMNS: &'static [Column] =
            &[Column { name: "half", about: "Half." }, Column { name: "whole", about: "All." }];

        fn write_fields(&self, out: &mut impl Write) -> io::Result<()> {
            writeln!(out, "{},{}", self.0 / 2, self.0)
        }
    }

    #[test]
    fn header_comes_from_the_columns() {
        let mut bytes = Vec::new();
        let mut table =
            CsvTable::new(&mut bytes, Path::new("numbers.csv"), Number::COLUMNS).unwrap();
        table.row(&Number(4)).unwrap();
        table.finish().unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap(), "half,whole\n2,4\n");
    }

    #[test]
    fn a_full_disk_is_reported_while_rows_are_added() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut table = CsvTable::new(full, Path::new("out/numbers.csv"), Number::COLUMNS).unwrap();
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
        let mut table = CsvTable::new(full, Path::new("out/numbers.csv"), Number::COLUMNS).unwrap();
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
            assert_eq!(Text(text).to_string(), expected);
        }
    }
}
