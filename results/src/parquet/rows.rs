//! Reader of one Parquet file, row by row.

use std::fs::File;

use csv::StringRecord;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::record::reader::RowIter;

/// Rows of a file.
pub struct ParquetRows(RowIter<'static>);

impl ParquetRows {
    /// Opens a file: the names of its columns, and its rows. Errors are the library's texts.
    pub fn open(file: File) -> Result<(StringRecord, Self), String> {
        let reader = SerializedFileReader::new(file).map_err(|error| error.to_string())?;
        let fields = reader.metadata().file_metadata().schema().get_fields();
        let columns = fields.iter().map(|field| field.name()).collect();
        Ok((columns, Self(RowIter::from_file_into(Box::new(reader)))))
    }

    /// Reads the next row into `record`. Returns false at the end.
    pub fn read(&mut self, record: &mut StringRecord) -> Result<bool, String> {
        let Some(row) = self.0.next() else { return Ok(false) };
        let row = row.map_err(|error| error.to_string())?;
        record.clear();
        row.get_column_iter().for_each(|(_, field)| add(record, field));
        Ok(true)
    }
}

fn add(record: &mut StringRecord, field: &Field) {
    match field {
        Field::Null => record.push_field(""),
        Field::Bool(truth) => record.push_field(if *truth { "1" } else { "0" }),
        Field::Long(value) => record.push_field(itoa::Buffer::new().format(*value)),
        Field::Str(text) => record.push_field(text),
        Field::Double(value) => record.push_field(&value.to_string()),
        other => record.push_field(&other.to_string()),
    }
}
