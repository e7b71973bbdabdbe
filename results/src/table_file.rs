//! One table of a results folder, in the format requested for the run.
//!
//! # Adding a format
//!
//! 1. A file beside `csv.rs` and `parquet/table.rs` that writes the fields of a row (`row.rs`); an arm of `TableFile` and
//!    `TableFormat` here, and of `table_reader.rs`.
//! 2. `TableFormat` in `scenario/src/results.rs`, and `Format` of the commands `run` and `sweep`.
//! 3. The table of formats in `documentation.rs`.

use std::fmt;
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::column::Column;
use super::csv::CsvTable;
use super::error::ResultsError;
use super::parquet::ParquetTable;
use super::row::Row;

/// The format of all tables of a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TableFormat {
    /// Text: a header, then a line for each row.
    #[default]
    Csv,
    /// Apache Parquet: typed columns.
    Parquet,
}

impl TableFormat {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Csv, Self::Parquet];

    /// Name in options, scenarios and manifests.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Parquet => "parquet",
        }
    }

    /// The file of the table that is `csv_file` as CSV.
    pub fn file(self, csv_file: &str) -> String {
        format!("{}.{self}", csv_file.strip_suffix(".csv").unwrap_or(csv_file))
    }
}

impl fmt::Display for TableFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A stream of rows of one type, which leave memory as they come.
pub enum TableFile<'a, W: Write + Send> {
    /// Rows as text.
    Csv(CsvTable<'a, W>),
    /// Rows as typed columns.
    Parquet(Box<ParquetTable<'a, W>>),
}

impl<'a, W: Write + Send> TableFile<'a, W> {
    /// An empty table with these columns, of rows that `about` describes. Errors name `path`.
    pub fn new(
        format: TableFormat,
        writer: W,
        path: &Path,
        about: &str,
        columns: &[Column<'a>],
    ) -> Result<Self, ResultsError> {
        match format {
            TableFormat::Csv => CsvTable::new(writer, path, columns.iter().copied()).map(Self::Csv),
            TableFormat::Parquet => {
                let table = ParquetTable::new(writer, path, about, columns)?;
                Ok(Self::Parquet(Box::new(table)))
            }
        }
    }

    /// Format of the table.
    pub const fn format(&self) -> TableFormat {
        match self {
            Self::Csv(_) => TableFormat::Csv,
            Self::Parquet(_) => TableFormat::Parquet,
        }
    }

    /// Adds a row.
    pub fn row(&mut self, row: &impl Row) -> Result<(), ResultsError> {
        match self {
            Self::Csv(table) => table.row(row),
            Self::Parquet(table) => table.row(row),
        }
    }

    /// Empties the file's buffer.
    pub fn flush(&mut self) -> Result<(), ResultsError> {
        match self {
            Self::Csv(table) => table.flush(),
            Self::Parquet(table) => table.flush(),
        }
    }

    /// Writes the buffered rows and closes the file.
    pub fn finish(self) -> Result<(), ResultsError> {
        match self {
            Self::Csv(table) => table.finish(),
            Self::Parquet(table) => table.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_called_by_its_format() {
        assert_eq!(TableFormat::Csv.file("flows.csv"), "flows.csv");
        assert_eq!(TableFormat::Parquet.file("flows.csv"), "flows.parquet");
        for format in TableFormat::ALL {
            assert_eq!(serde_json::to_string(&format).unwrap(), format!("\"{format}\""));
        }
    }
}
