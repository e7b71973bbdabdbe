//! Reader of tables, in any format.

use std::fs::File;
use std::io::{self, BufReader};
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
    Csv(Box<csv::Reader<BufReader<File>>>),
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
            csv_rows(file).map_err(|error| error.to_string())
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
            Rows::Csv(reader) => {
                reader.read_record(&mut self.record).map_err(|error| error.to_string())
            }
            Rows::Parquet(rows) => rows.read(&mut self.record),
        };
        let there = there.map_err(|why| TableError::Broken { path: self.path.clone(), why })?;
        self.read += u64::from(there);
        Ok(there)
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
            Rows::Csv(_) => "line",
            Rows::Parquet(_) => "row",
        }
    }

    /// The number of the row, from 1 on; a header is the first line of a text.
    pub fn number(&self) -> u64 {
        match &self.rows {
            Rows::Csv(_) => self.record.position().map_or(0, csv::Position::line),
            Rows::Parquet(_) => self.read,
        }
    }
}

fn csv_rows(file: File) -> Result<(StringRecord, Rows), csv::Error> {
    let mut reader = csv::Reader::from_reader(BufReader::new(file));
    let columns = reader.headers()?.clone();
    Ok((columns, Rows::Csv(Box::new(reader))))
}
