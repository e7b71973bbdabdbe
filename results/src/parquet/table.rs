//! One Parquet file: typed columns, of which a bounded number of rows is in memory.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};
use serde_json::json;

use crate::column::{Column, ColumnType};
use crate::error::ResultsError;
use crate::row::{Field, Fields, Row};

/// Rows that leave memory together: some MB of a table with many columns, and few enough groups that a
/// reader of a long table still finds them large.
const GROUP_ROWS: usize = 1 << 17;
/// Values that are handed to the encoder at once.
const BATCH: usize = 1 << 10;
/// Key of the file's metadata: the meaning of a row.
const ABOUT_KEY: &str = "xoff.table";
/// Units and meanings of the columns, as JSON: another.
const COLUMNS_KEY: &str = "xoff.columns";

/// A stream of rows of one type.
pub struct ParquetTable<'a, W: Write + Send> {
    writer: SerializedFileWriter<W>,
    rows: Group<'a>,
    path: PathBuf,
}

impl<'a, W: Write + Send> ParquetTable<'a, W> {
    /// A file without rows. `about` is the meaning of a row. Errors name `path`.
    pub fn new(
        writer: W,
        path: &Path,
        about: &str,
        columns: &[Column<'a>],
    ) -> Result<Self, ResultsError> {
        let properties = Arc::new(properties(about, columns));
        let writer = SerializedFileWriter::new(writer, Arc::new(schema(columns)), properties)
            .map_err(|error| failed(path, error))?;
        let columns = columns.iter().map(|column| Buffer::new(*column)).collect();
        let rows = Group { columns, next: 0, rows: 0, too_large: None };
        Ok(Self { writer, rows, path: path.to_owned() })
    }

    /// Adds a row.
    pub fn row(&mut self, row: &impl Row) -> Result<(), ResultsError> {
        self.rows.next = 0;
        row.fields(&mut self.rows);
        debug_assert_eq!(
            self.rows.next,
            self.rows.columns.len(),
            "a row has a field for each column"
        );
        if let Some(value) = self.rows.too_large.take() {
            let why = format!("{value} does not fit in a column of 64-bit integers with a sign");
            let source = io::Error::new(io::ErrorKind::InvalidData, why);
            return Err(ResultsError::Write { path: self.path.clone(), source });
        }
        self.rows.rows += 1;
        if self.rows.rows == GROUP_ROWS { self.write_group() } else { Ok(()) }
    }

    /// Empties the file's buffer. Rows stay in memory until their group is full.
    pub fn flush(&mut self) -> Result<(), ResultsError> {
        let flushed = self.writer.flush();
        flushed.map_err(|source| ResultsError::Write { path: self.path.clone(), source })
    }

    /// Writes the rows that are left and closes the file.
    pub fn finish(mut self) -> Result<(), ResultsError> {
        if self.rows.rows > 0 {
            self.write_group()?;
        }
        self.writer.close().map(drop).map_err(|error| failed(&self.path, error))
    }

    fn write_group(&mut self) -> Result<(), ResultsError> {
        let Self { writer, rows, path } = self;
        let mut write = || {
            let mut group = writer.next_row_group()?;
            rows.columns.iter_mut().try_for_each(|column| column.write(&mut group))?;
            group.close().map(drop)
        };
        write().map_err(|error| failed(path, error))?;
        rows.rows = 0;
        Ok(())
    }
}

/// The rows that are in memory, by columns.
struct Group<'a> {
    columns: Vec<Buffer<'a>>,
    /// The column of the next field.
    next: usize,
    rows: usize,
    /// A number of the row that no column holds.
    too_large: Option<u64>,
}

impl Fields for Group<'_> {
    #[inline]
    fn field(&mut self, field: Field<'_>) {
        let buffer = &mut self.columns[self.next];
        self.next += 1;
        if let Field::Integer(value) = field
            && i64::try_from(value).is_err()
        {
            self.too_large = Some(value);
        }
        buffer.add(field);
    }
}

/// Buffered values of a column.
struct Buffer<'a> {
    column: Column<'a>,
    /// 1 for each row with a value, 0 for each row without; only for a column that may be empty.
    levels: Vec<i16>,
    values: Values,
}

enum Values {
    Integers(Vec<i64>),
    Decimals(Vec<f64>),
    /// Number of each text among the different texts.
    Texts(Vec<u32>, Texts),
    Truths(Vec<bool>),
}

/// The different texts of a group, numbered as they came.
#[derive(Default)]
struct Texts {
    numbers: BTreeMap<Box<str>, u32>,
    all: Vec<ByteArray>,
    last: Option<u32>,
}

impl Texts {
    fn number(&mut self, text: &str) -> u32 {
        if let Some(last) = self.last
            && self.all[last as usize].data() == text.as_bytes()
        {
            return last;
        }
        let number = self.numbers.get(text).copied().unwrap_or_else(|| {
            let new = u32::try_from(self.all.len()).expect("a group has fewer rows");
            self.all.push(ByteArray::from(text));
            self.numbers.insert(text.into(), new);
            new
        });
        self.last = Some(number);
        number
    }
}

impl<'a> Buffer<'a> {
    fn new(column: Column<'a>) -> Self {
        let values = match column.kind {
            ColumnType::Integer => Values::Integers(Vec::new()),
            ColumnType::Decimal => Values::Decimals(Vec::new()),
            ColumnType::Text => Values::Texts(Vec::new(), Texts::default()),
            ColumnType::Truth => Values::Truths(Vec::new()),
        };
        Self { column, levels: Vec::new(), values }
    }

    fn add(&mut self, field: Field<'_>) {
        if self.column.may_be_empty {
            self.levels.push(i16::from(field != Field::Empty));
        }
        match (&mut self.values, field) {
            (_, Field::Empty) if self.column.may_be_empty => {}
            (Values::Integers(all), Field::Integer(value)) => all.push(value.cast_signed()),
            (Values::Integers(all), Field::Signed(value)) => all.push(value),
            (Values::Decimals(all), Field::Decimal(value)) => all.push(value.nearest()),
            (Values::Texts(all, texts), Field::Text(value)) => all.push(texts.number(value)),
            (Values::Truths(all), Field::Truth(value)) => all.push(value),
            _ => panic!("{field:?} is not for {:?}", self.column),
        }
    }

    /// Empties it into the next column of a group.
    fn write<W: Write + Send>(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        let levels = self.column.may_be_empty.then_some(&*self.levels);
        match &mut self.values {
            Values::Integers(values) => {
                write::<Int64Type, _, _>(group, levels, values, |value| *value)?;
                values.clear();
            }
            Values::Decimals(values) => {
                write::<DoubleType, _, _>(group, levels, values, |value| *value)?;
                values.clear();
            }
            Values::Texts(values, Texts { numbers, all, last }) => {
                let text = |number: &u32| all[*number as usize].clone();
                write::<ByteArrayType, _, _>(group, levels, values, text)?;
                values.clear();
                numbers.clear();
                all.clear();
                *last = None;
            }
            Values::Truths(values) => {
                write::<BoolType, _, _>(group, levels, values, |value| *value)?;
                values.clear();
            }
        }
        self.levels.clear();
        Ok(())
    }
}

/// Writes a column of a group.
fn write<T: DataType, V, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    levels: Option<&[i16]>,
    values: &[V],
    value: impl Fn(&V) -> T::T,
) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.expect("the schema is that of the columns");
    let mut batch = Vec::with_capacity(BATCH);
    if let Some(levels) = levels {
        let mut values = values.iter();
        for levels in levels.chunks(BATCH) {
            let present = levels.iter().filter(|level| **level != 0).count();
            batch.clear();
            batch.extend(values.by_ref().take(present).map(&value));
            column.typed::<T>().write_batch(&batch, Some(levels), None)?;
        }
    } else {
        for values in values.chunks(BATCH) {
            batch.clear();
            batch.extend(values.iter().map(&value));
            column.typed::<T>().write_batch(&batch, None, None)?;
        }
    }
    column.close()
}

/// Properties without the machine, the time or the version of a library: equal rows make equal bytes.
fn properties(about: &str, columns: &[Column<'_>]) -> WriterProperties {
    let described: serde_json::Map<_, _> = columns
        .iter()
        .map(|it| (it.name.to_owned(), json!({ "unit": it.unit(), "about": it.about })))
        .collect();
    let described = serde_json::Value::Object(described).to_string();
    let metadata = [(ABOUT_KEY, about.to_owned()), (COLUMNS_KEY, described)];
    let mut properties = WriterProperties::builder()
        .set_created_by("xoff".to_owned())
        .set_key_value_metadata(Some(
            metadata.map(|(key, value)| KeyValue::new(key.to_owned(), value)).into(),
        ))
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    for column in columns.iter().filter(|column| column.kind == ColumnType::Integer) {
        let path = ColumnPath::new(vec![column.name.to_owned()]);
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    properties.build()
}

fn schema(columns: &[Column<'_>]) -> Type {
    let fields = columns.iter().map(|column| {
        let (physical, logical) = match column.kind {
            ColumnType::Integer => (PhysicalType::INT64, None),
            ColumnType::Decimal => (PhysicalType::DOUBLE, None),
            ColumnType::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            ColumnType::Truth => (PhysicalType::BOOLEAN, None),
        };
        let repetition =
            if column.may_be_empty { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let field = Type::primitive_type_builder(column.name, physical)
            .with_logical_type(logical)
            .with_repetition(repetition);
        Arc::new(field.build().expect("a column has a type of Parquet"))
    });
    let table = Type::group_type_builder("row").with_fields(fields.collect());
    table.build().expect("columns make a table")
}

fn failed(path: &Path, error: ParquetError) -> ResultsError {
    let source = match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(source) => *source,
            Err(source) => io::Error::other(source),
        },
        error => io::Error::other(error),
    };
    ResultsError::Write { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use parquet::file::metadata::RowGroupMetaData;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field as Found;
    use parquet::record::reader::RowIter;

    use super::*;
    use crate::row::Decimal;

    /// A row of each type, with or without a value in each column that may be empty.
    #[derive(Clone, Copy)]
    struct Sample {
        number: u64,
        there: bool,
    }

    impl Row for Sample {
        const FILE: &'static str = "samples.csv";
        const ABOUT: &'static str = "A sample.";
        const COLUMNS: &'static [Column<'static>] = &[
            Column::integer("time_ns", "When."),
            Column::integer("change", "From the last one.").or_empty(),
            Column::decimal("share", "Of all.").or_empty(),
            Column::text("node", "Where, \"quoted\"."),
            Column::truth("stuck", "Whether."),
        ];

        fn fields(&self, row: &mut impl Fields) {
            let Self { number, there } = *self;
            row.add(number).add(there.then(|| -number.cast_signed()));
            row.add(there.then(|| Decimal::new(i128::from(number), 3)));
            row.add(&*format!("leaf{}", number % 3)).add(number % 2 == 0);
        }
    }

    fn written(rows: impl IntoIterator<Item = Sample>) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut table =
            ParquetTable::new(&mut bytes, Path::new("x"), Sample::ABOUT, Sample::COLUMNS).unwrap();
        rows.into_iter().try_for_each(|row| table.row(&row)).unwrap();
        table.finish().unwrap();
        bytes
    }

    fn reader(bytes: Vec<u8>) -> SerializedFileReader<bytes::Bytes> {
        SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap()
    }

    #[test]
    fn fields_keep_their_types_and_what_is_not_there_is_null() {
        let rows = [Sample { number: 7, there: true }, Sample { number: 8, there: false }];
        let read: Vec<Vec<Found>> = RowIter::from_file_into(Box::new(reader(written(rows))))
            .map(|row| row.unwrap().into_columns().into_iter().map(|(_, field)| field).collect())
            .collect();
        let text = |text: &str| Found::Str(text.into());
        assert_eq!(
            read,
            [
                [
                    Found::Long(7),
                    Found::Long(-7),
                    Found::Double(0.007),
                    text("leaf1"),
                    Found::Bool(false)
                ],
                [Found::Long(8), Found::Null, Found::Null, text("leaf2"), Found::Bool(true)],
            ]
        );
    }

    #[test]
    fn the_file_says_units_and_meanings_and_nothing_of_the_library() {
        let reader = reader(written([]));
        let file = reader.metadata().file_metadata();
        assert_eq!((file.num_rows(), file.created_by()), (0, Some("xoff")));
        let all = file.key_value_metadata().unwrap();
        let value = |key| all.iter().find(|it| it.key == key).unwrap().value.clone().unwrap();
        assert_eq!(value(ABOUT_KEY), "A sample.");
        let columns: serde_json::Value = serde_json::from_str(&value(COLUMNS_KEY)).unwrap();
        assert_eq!(columns["time_ns"], json!({ "unit": "ns", "about": "When." }));
        assert_eq!(columns["node"], json!({ "unit": null, "about": "Where, \"quoted\"." }));
        assert_eq!(all.len(), 2);
    }

    #[test]
    fn groups_are_bounded_and_nothing_is_lost_between_them() {
        let rows = 2 * GROUP_ROWS + 1;
        let all = || (0..rows as u64).map(|number| Sample { number, there: number % 5 == 0 });
        let bytes = written(all());
        assert!(bytes == written(all()), "the same rows make the same bytes");
        let reader = reader(bytes);
        let groups = reader.metadata().row_groups().iter();
        let groups: Vec<i64> = groups.map(RowGroupMetaData::num_rows).collect();
        let bound = i64::try_from(GROUP_ROWS).unwrap();
        assert_eq!(groups, [bound, bound, 1]);
        for (number, row) in RowIter::from_file_into(Box::new(reader)).enumerate() {
            let number = i64::try_from(number).unwrap();
            let row = row.unwrap().into_columns();
            assert_eq!(row[0].1, Found::Long(number));
            let change = if number % 5 == 0 { Found::Long(-number) } else { Found::Null };
            assert_eq!(row[1].1, change);
            assert_eq!(row[3].1, Found::Str(format!("leaf{}", number % 3)));
        }
    }

    #[test]
    fn a_number_without_room_is_an_error_that_says_what_to_do() {
        let mut table =
            ParquetTable::new(Vec::new(), Path::new("out/x.parquet"), "", Sample::COLUMNS).unwrap();
        let error = table.row(&Sample { number: 1 << 63, there: false }).unwrap_err().to_string();
        assert_eq!(
            error,
            "cannot write out/x.parquet: 9223372036854775808 does not fit in a column of 64-bit \
             integers with a sign; write the tables as CSV (--format csv)"
        );
    }

    #[test]
    fn a_full_disk_is_found_at_once_between_groups_and_at_the_end() {
        let table = || {
            let full = File::options().write(true).open("/dev/full").unwrap();
            let path = Path::new("out/samples.parquet");
            ParquetTable::new(full, path, "", Sample::COLUMNS).unwrap()
        };
        let mut rows = (0..).map(|number| Sample { number, there: true });
        let mut full = table();
        let between = rows.find_map(|row| full.row(&row).err()).unwrap();
        let mut short = table();
        short.row(&rows.next().unwrap()).unwrap();
        for error in [table().flush().unwrap_err(), between, short.finish().unwrap_err()] {
            assert_eq!(
                error.to_string(),
                "cannot write out/samples.parquet: No space left on device (os error 28); \
                 free some space or name another folder with --out"
            );
        }
    }
}
