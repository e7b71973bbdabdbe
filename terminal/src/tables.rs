//! Formats of tables, as option values.

use clap::ValueEnum;
use results::TableFormat;

/// Format of tables.
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

/// Returns the scenario key that an option replaces.
pub fn key(format: TableFormat) -> String {
    format!("results.format=\"{format}\"")
}
