//! The format of tables, as options name it.

use clap::ValueEnum;
use results::TableFormat;

/// A format.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Format {
    /// Text.
    Csv,
    /// Apache Parquet, with typed columns.
    Parquet,
}

impl From<Format> for TableFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Csv => Self::Csv,
            Format::Parquet => Self::Parquet,
        }
    }
}

/// The key of a scenario that an option replaces.
pub fn key(format: TableFormat) -> String {
    format!("results.format=\"{format}\"")
}
