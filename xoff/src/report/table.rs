//! Tables of results, row by row.

use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use csv::StringRecord;

use super::ReportError;

/// The same of a table that not every run has.
pub fn rows_if_there<const N: usize>(
    folder: &Path,
    file: &str,
    columns: [&'static str; N],
    take: impl FnMut(&Fields<'_, N>) -> Result<(), ReportError>,
) -> Result<(), ReportError> {
    match rows(folder, file, columns, take) {
        Err(ReportError::Read { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(()),
        read => read,
    }
}

/// Reads the named columns of a table, row by row.
pub fn rows<const N: usize>(
    folder: &Path,
    file: &str,
    columns: [&'static str; N],
    mut take: impl FnMut(&Fields<'_, N>) -> Result<(), ReportError>,
) -> Result<(), ReportError> {
    let path = folder.join(file);
    let file =
        File::open(&path).map_err(|source| ReportError::Read { path: path.clone(), source })?;
    let mut reader = csv::Reader::from_reader(BufReader::new(file));
    let failed = |source: csv::Error| ReportError::Table { path: path.clone(), source };
    let header = reader.headers().map_err(failed)?.clone();
    let mut places = [0; N];
    for (place, column) in places.iter_mut().zip(columns) {
        let at = header.iter().position(|name| name == column);
        *place = at.ok_or_else(|| ReportError::Column { path: path.clone(), column })?;
    }
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(failed)? {
        take(&Fields { record: &record, places, columns, path: &path })?;
    }
    Ok(())
}

/// The columns that were asked for, of one row.
pub struct Fields<'a, const N: usize> {
    record: &'a StringRecord,
    places: [usize; N],
    columns: [&'static str; N],
    path: &'a PathBuf,
}

impl<const N: usize> Fields<'_, N> {
    /// A column by its place among those that were asked for.
    pub fn text(&self, column: usize) -> &str {
        self.record.get(self.places[column]).unwrap_or_default()
    }

    /// The same as a number.
    pub fn number(&self, column: usize) -> Result<f64, ReportError> {
        let number = self.text(column).parse().ok().filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| self.no_number(column))
    }

    /// The same as a number of a type that holds it.
    pub fn exact<T: FromStr>(&self, column: usize) -> Result<T, ReportError> {
        self.text(column).parse().map_err(|_| self.no_number(column))
    }

    fn no_number(&self, column: usize) -> ReportError {
        ReportError::Number {
            path: self.path.clone(),
            line: self.record.position().map_or(0, csv::Position::line),
            column: self.columns[column],
            text: self.text(column).to_owned(),
        }
    }

    /// The same of a column that may be empty.
    pub fn optional(&self, column: usize) -> Result<Option<f64>, ReportError> {
        if self.text(column).is_empty() { Ok(None) } else { self.number(column).map(Some) }
    }
}
