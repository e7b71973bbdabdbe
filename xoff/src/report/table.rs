//! Tables of results, row by row.

use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::{Path, PathBuf};

use csv::StringRecord;

use super::ReportError;

/// Reads the named columns of a table, row by row. A table that is not there has no rows.
pub fn rows<const N: usize>(
    folder: &Path,
    file: &str,
    columns: [&'static str; N],
    mut take: impl FnMut(&Fields<'_, N>) -> Result<(), ReportError>,
) -> Result<(), ReportError> {
    let path = folder.join(file);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(ReportError::Read { path, source }),
    };
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
        let text = self.text(column);
        text.parse().map_err(|_| ReportError::Number {
            path: self.path.clone(),
            line: self.record.position().map_or(0, csv::Position::line),
            column: self.columns[column],
            text: text.to_owned(),
        })
    }

    /// The same of a column that may be empty.
    pub fn optional(&self, column: usize) -> Result<Option<f64>, ReportError> {
        if self.text(column).is_empty() { Ok(None) } else { self.number(column).map(Some) }
    }
}
