//! Named columns of a table, row by row.

use std::path::Path;
use std::str::FromStr;

use crate::table_reader::{TableError, TableReader};

/// Reads the named columns of a table that not every run has, row by row.
pub fn rows_if_there<const N: usize>(
    folder: &Path,
    csv_file: &str,
    columns: [&'static str; N],
    take: impl FnMut(&Fields<'_, N>) -> Result<(), TableError>,
) -> Result<(), TableError> {
    match rows(folder, csv_file, columns, take) {
        Err(error) if error.is_absent() => Ok(()),
        read => read,
    }
}

/// Reads the named columns of a table, row by row; `csv_file` is its name as CSV.
pub fn rows<const N: usize>(
    folder: &Path,
    csv_file: &str,
    columns: [&'static str; N],
    mut take: impl FnMut(&Fields<'_, N>) -> Result<(), TableError>,
) -> Result<(), TableError> {
    let mut table = TableReader::open(folder, csv_file)?;
    let mut places = [0; N];
    for (place, column) in places.iter_mut().zip(columns) {
        *place = table.place_of(column)?;
    }
    while table.advance()? {
        take(&Fields { table: &table, places, columns })?;
    }
    Ok(())
}

/// The requested columns of one row.
pub struct Fields<'a, const N: usize> {
    table: &'a TableReader,
    places: [usize; N],
    columns: [&'static str; N],
}

impl<const N: usize> Fields<'_, N> {
    /// Returns a field by its place among the requested columns.
    pub fn text(&self, column: usize) -> &str {
        self.table.field(self.places[column])
    }

    /// Returns a field as a number.
    pub fn number(&self, column: usize) -> Result<f64, TableError> {
        let number = self.text(column).parse().ok().filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| self.not_a_number(column))
    }

    /// Returns a field as a number of an exact type.
    pub fn exact<T: FromStr>(&self, column: usize) -> Result<T, TableError> {
        self.text(column).parse().map_err(|_| self.not_a_number(column))
    }

    /// Returns a field of a column that may be empty as a number.
    pub fn optional(&self, column: usize) -> Result<Option<f64>, TableError> {
        if self.text(column).is_empty() { Ok(None) } else { self.number(column).map(Some) }
    }

    /// Returns an error at this row.
    pub fn wrong(&self, why: String) -> TableError {
        TableError::Row { path: self.table.path().to_owned(), place: self.table.place(), why }
    }

    fn not_a_number(&self, column: usize) -> TableError {
        TableError::Number {
            path: self.table.path().to_owned(),
            place: self.table.place(),
            column: self.columns[column],
            text: self.text(column).to_owned(),
        }
    }
}
