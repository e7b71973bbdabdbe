//! Reader of tables, in any format.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use csv::StringRecord;

use super::parquet::ParquetRows;
use super::table_file::TableFormat;

/// A table of a results folder, row by row, each field as the text that it has in CSV; of numbers with
/// decimal places without zeros at their end.
pub struct TableReader {
    columns: StringRecord,
    rows: Rows,
    record: StringRecord,
    read: u64,
    path: PathBuf,
}

enum Rows {
    Csv {
        reader: Box<csv::Reader<BufReader<File>>>,
        /// True if the last line does not end with a line feed.
        is_cut: bool,
    },
    Parquet(ParquetRows),
}

/// Errors of reading a table.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The file does not exist, or cannot be opened.
    #[error("cannot read {}: {source}", .path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A file that is not a table.
    #[error("{} is not a table: {why}", .path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The defect.
        why: String,
    },
    /// A malformed row.
    #[error("{} {place}: {why}", .path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// Line or row, from 1.
        place: String,
        /// The defect.
        why: String,
    },
    /// A table of another version, or of something else.
    #[error("{} has no column `{column}`; run the scenario again with this version", .path.display())]
    Column {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
    },
    /// A field that is not a number.
    #[error("{} {place}: {text:?} is not a number ({column})", .path.display())]
    Number {
        /// The file.
        path: PathBuf,
        /// Line or row, from 1.
        place: String,
        /// The column.
        column: &'static str,
        /// Text of the field.
        text: String,
    },
}

impl TableError {
    /// Returns true if the file does not exist.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Open { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// Path of the table named `csv_file` as CSV, in the format in which the folder has it; the path of the CSV file if it
/// has neither.
pub fn table_path(folder: &Path, csv_file: &str) -> PathBuf {
    let [csv, parquet] = TableFormat::ALL.map(|format| folder.join(format.file(csv_file)));
    if !csv.exists() && parquet.exists() { parquet } else { csv }
}

impl TableReader {
    /// Opens the table that is `csv_file` as CSV.
    pub fn open(folder: &Path, csv_file: &str) -> Result<Self, TableError> {
        let path = table_path(folder, csv_file);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(source) => return Err(TableError::Open { path, source }),
        };
        let opened = if path.extension().is_some_and(|it| it == TableFormat::Parquet.name()) {
            ParquetRows::open(file).map(|(columns, rows)| (columns, Rows::Parquet(rows)))
        } else {
            csv_rows(file)
        };
        match opened {
            Ok((columns, rows)) => {
                Ok(Self { columns, rows, record: StringRecord::new(), read: 0, path })
            }
            Err(why) => Err(TableError::Broken { path, why }),
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Names of the columns.
    pub const fn columns(&self) -> &StringRecord {
        &self.columns
    }

    /// The place of a column, by its name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// The place of a column that the table must have.
    pub fn place_of(&self, name: &str) -> Result<usize, TableError> {
        let missing = || TableError::Column { path: self.path.clone(), column: name.to_owned() };
        self.column(name).ok_or_else(missing)
    }

    /// Goes to the next row. Returns false at the end.
    pub fn advance(&mut self) -> Result<bool, TableError> {
        let there = match &mut self.rows {
            Rows::Csv { reader, .. } => {
                reader.read_record(&mut self.record).map_err(|error| error.to_string())
            }
            Rows::Parquet(rows) => rows.read(&mut self.record),
        };
        let there = there.map_err(|why| TableError::Broken { path: self.path.clone(), why })?;
        self.read += u64::from(there);
        match self.rows {
            Rows::Csv { is_cut: true, .. } if !there => {
                let why = "the file ends within this line: it was cut".to_owned();
                Err(TableError::Row { path: self.path.clone(), place: self.place(), why })
            }
            _ => Ok(there),
        }
    }

    /// The fields of the row.
    pub const fn row(&self) -> &StringRecord {
        &self.record
    }

    /// A field of the row by the place of its column; empty if the row is too short.
    pub fn field(&self, column: usize) -> &str {
        self.record.get(column).unwrap_or_default()
    }

    /// Place of the row for messages: `line 12` of a CSV file, otherwise `row 11`.
    pub fn place(&self) -> String {
        format!("{} {}", self.noun(), self.number())
    }

    /// Unit by which rows are numbered: line or row.
    pub const fn noun(&self) -> &'static str {
        match &self.rows {
            Rows::Csv { .. } => "line",
            Rows::Parquet(_) => "row",
        }
    }

    /// The number of the row, from 1 on; a header is the first line of a text.
    pub fn number(&self) -> u64 {
        match &self.rows {
            Rows::Csv { .. } => self.record.position().map_or(0, csv::Position::line),
            Rows::Parquet(_) => self.read,
        }
    }
}

fn csv_rows(mut file: File) -> Result<(StringRecord, Rows), String> {
    let last = last_byte(&mut file).map_err(|error| error.to_string())?;
    let is_cut = last.ok_or("it is empty")? != b'\n';
    let mut reader = Box::new(csv::Reader::from_reader(BufReader::new(file)));
    let columns = reader.headers().map_err(|error| error.to_string())?.clone();
    Ok((columns, Rows::Csv { reader, is_cut }))
}

/// Reads the last byte of a file that is then read from its start; `None` if it is empty.
fn last_byte(file: &mut File) -> io::Result<Option<u8>> {
    if file.metadata()?.len() == 0 {
        return Ok(None);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    file.rewind()?;
    Ok(Some(last[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a table of this text to its end: the number of its rows, or the error.
    fn read(text: &str) -> Result<u64, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("drops.csv"), text).unwrap();
        let said = |error: TableError| {
            error.to_string().replace(&folder.path().display().to_string(), "out")
        };
        let mut table = TableReader::open(folder.path(), "drops.csv").map_err(said)?;
        while table.advance().map_err(said)? {}
        Ok(table.read)
    }

    #[test]
    fn a_file_that_was_cut_is_not_a_shorter_table() {
        assert_eq!(read("time_ns,node\n7,s0\n8,s1\n"), Ok(2));
        assert_eq!(read("time_ns,node\n"), Ok(0));
        let cut = |line| {
            Err(format!("out/drops.csv line {line}: the file ends within this line: it was cut"))
        };
        assert_eq!(read("time_ns,node\n7,s0\n8,s"), cut(3));
        assert_eq!(read("time_ns,no"), cut(1));
        assert_eq!(read(""), Err("out/drops.csv is not a table: it is empty".into()));
        assert!(read("time_ns,node\n7,s0\n8\n").unwrap_err().contains("line: 3"));
    }
}
