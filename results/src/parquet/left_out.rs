//! In place of tables as Parquet, in a build without the feature `parquet`: none can be opened.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Write};
use std::marker::PhantomData;
use std::path::Path;

use csv::StringRecord;

use crate::column::Column;
use crate::error::ResultsError;
use crate::row::Row;

const LEFT_OUT: &str = "this xoff was built without `parquet`; choose the format csv, or build all of it with \
                        `cargo build --release` in its sources";

/// A table that does not exist.
pub struct ParquetTable<'a, W: Write + Send>(Infallible, PhantomData<(&'a (), W)>);

impl<'a, W: Write + Send> ParquetTable<'a, W> {
    /// Refuses a table.
    pub fn new(_: W, path: &Path, _: &str, _: &[Column<'a>]) -> Result<Self, ResultsError> {
        let source = io::Error::new(io::ErrorKind::Unsupported, LEFT_OUT);
        Err(ResultsError::Write { path: path.to_owned(), source })
    }

    /// Does not occur.
    pub fn row(&mut self, _: &impl Row) -> Result<(), ResultsError> {
        match self.0 {}
    }

    /// Does not occur.
    pub fn flush(&mut self) -> Result<(), ResultsError> {
        match self.0 {}
    }

    /// Does not occur.
    pub fn finish(self) -> Result<(), ResultsError> {
        match self.0 {}
    }
}

/// Rows that do not exist.
pub struct ParquetRows(Infallible);

impl ParquetRows {
    /// Refuses a file.
    pub fn open(_: File) -> Result<(StringRecord, Self), String> {
        Err(LEFT_OUT.to_owned())
    }

    /// Does not occur.
    pub fn read(&mut self, _: &mut StringRecord) -> Result<bool, String> {
        match self.0 {}
    }
}
