//! Tables of two runs: numbers of rows, and the first row that differs.
//!
//! Rows are read side by side. If the rows of one place are of different things, as of two queues, `window` matches the
//! rows of their instant by their keys.

mod window;

use std::path::Path;

use results::query::{Scalar, ScalarKind};
use results::{Column, FlowRow, Number, PauseRow, Row, Table, TableError, TableReader};
use serde::Serialize;

use super::change;
use super::pair::Pair;
use super::tolerance::{Meaning, Tolerance};
use super::{Difference, First};
use window::Window;

/// Comparison of a table.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct TableComparison {
    /// Name of the table.
    pub table: &'static str,
    /// Number of rows.
    #[serde(serialize_with = "change::counts")]
    pub rows: Pair<u64>,
    /// Number of columns that both sides have. Without any only the numbers of rows are compared.
    pub columns: u64,
    /// Columns that only one side has.
    pub only: Pair<Vec<String>>,
    /// True if rows are of single flows, by their numbers.
    pub is_by_flow: bool,
    /// First row that differs.
    pub first: Option<FirstRow>,
}

/// First row that differs.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct FirstRow {
    /// Instant of the row, the earlier of both; `None` of tables whose rows have no instant.
    pub at_ns: Option<i64>,
    /// File and line or row; `None` where the table has ended.
    pub place: Pair<Option<String>>,
    /// Flow and label of the row, if the table has both and they are equal.
    pub flow: Option<(String, String)>,
    /// Names and values of the columns that say what the rows are about, if the rows are not on one line.
    pub about: Vec<(String, String)>,
    /// Fields that differ; all that both sides have where a table has ended.
    pub fields: Vec<FieldDifference>,
}

/// A field that differs.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct FieldDifference {
    /// Column and fields.
    #[serde(flatten)]
    pub fields: Difference<String>,
    /// B's number less A's, if both fields are numbers.
    pub b_minus_a: Option<Number>,
}

impl TableComparison {
    /// Returns the first difference, if its row has an instant.
    pub fn first(&self) -> Option<First> {
        let first = self.first.as_ref()?;
        let place = first.place.a.as_ref().or(first.place.b.as_ref())?.clone();
        Some(First { at_ns: first.at_ns?, place })
    }
}

/// A table under comparison.
struct Reading {
    table: TableReader,
    rows: u64,
    is_there: bool,
}

impl Reading {
    fn open(folder: &Path, table: &Table) -> Result<Self, TableError> {
        Ok(Self { table: TableReader::open(folder, table.file)?, rows: 0, is_there: true })
    }

    fn advance(&mut self) -> Result<(), TableError> {
        if self.is_there {
            self.is_there = self.table.advance()?;
            self.rows += u64::from(self.is_there);
        }
        Ok(())
    }

    /// Copies the row that has been reached; `None` at the end of the table. `columns` are the places of shared columns.
    fn row(&self, columns: impl Iterator<Item = usize>) -> Option<RowText> {
        let file = self.table.path().file_name().unwrap_or_default().to_string_lossy();
        self.is_there.then(|| RowText {
            place: format!("{file} {}", self.table.place()),
            fields: columns.map(|column| self.table.field(column).to_owned()).collect(),
        })
    }
}

/// A copied row.
struct RowText {
    /// File and line or row.
    place: String,
    /// Fields of the shared columns.
    fields: Vec<String>,
}

/// A column of both tables.
struct Shared<'a> {
    name: String,
    /// Declaration of the column; `None` if this version does not have it.
    column: Option<&'a Column<'a>>,
    /// Part of what the row is about: a name or the bound of a class. Of `flows.csv` only the number of the flow.
    is_key: bool,
    /// True for an instant.
    is_instant: bool,
    places: Pair<usize>,
}

impl Shared<'_> {
    /// Returns the numbers in both fields, if they are numbers.
    fn numbers(&self, fields: &Pair<&str>) -> Option<Pair<Number>> {
        let kind = self.kind().filter(|kind| *kind != ScalarKind::Text)?;
        let number = |field: &str| match kind.parse(field)? {
            Scalar::Number(number) => Some(number),
            _ => None,
        };
        Some(Pair { a: number(fields.a)?, b: number(fields.b)? })
    }

    fn kind(&self) -> Option<ScalarKind> {
        self.column.map(ScalarKind::from_column)
    }

    /// Returns true if two fields count as equal. Numbers may be written with zeros at their end or without.
    fn is_equal(&self, fields: &Pair<&str>, tolerance: Tolerance) -> bool {
        let meaning = || self.kind().map(|kind| Meaning::of(&self.name, kind));
        fields.is_equal()
            || self
                .numbers(fields)
                .zip(meaning())
                .is_some_and(|(numbers, meaning)| tolerance.accepts(meaning, numbers))
    }
}

/// Compares a table that both folders have, row by row.
pub fn compare(
    table: &Table,
    folders: Pair<&Path>,
    tolerance: Tolerance,
) -> Result<TableComparison, TableError> {
    let mut reading = folders.try_map(|folder| Reading::open(folder, table))?;
    let (shared, only) = columns(table, &reading);
    let mut first = None;
    while reading.a.is_there || reading.b.is_there {
        reading.a.advance()?;
        reading.b.advance()?;
        if first.is_none() && differs(&shared, &reading, tolerance) {
            let found = difference(table, &shared, &mut reading, tolerance)?;
            first = Some(found);
        }
    }
    let rows = reading.as_ref().map(|reading| reading.rows);
    let columns = shared.len() as u64;
    let is_by_flow = table.columns.iter().any(|column| column.name == "flow");
    Ok(TableComparison { table: table.name, rows, columns, only, is_by_flow, first })
}

/// Returns the columns of both sides, and the names of the others.
fn columns<'a>(table: &'a Table, reading: &Pair<Reading>) -> (Vec<Shared<'a>>, Pair<Vec<String>>) {
    let names = |reading: &Reading| -> Vec<String> {
        reading.table.columns().iter().map(str::to_owned).collect()
    };
    let mut only = reading.as_ref().map(names);
    let mut shared = Vec::new();
    only.a.retain(|name| {
        let places = reading.as_ref().map(|reading| reading.table.column(name));
        if let Pair { a: Some(a), b: Some(b) } = places {
            let column = table.columns.iter().find(|column| column.name == name);
            let kind = column.map(ScalarKind::from_column);
            let meaning = kind.map(|kind| Meaning::of(name, kind));
            let is_name = meaning == Some(Meaning::Name) || kind == Some(ScalarKind::Text);
            let is_key = if table.file == FlowRow::FILE { name == "flow" } else { is_name };
            let is_instant = meaning == Some(Meaning::Instant);
            let places = Pair { a, b };
            shared.push(Shared { name: name.clone(), column, is_key, is_instant, places });
        }
        places.b.is_none()
    });
    only.b.retain(|name| shared.iter().all(|column| column.name != *name));
    (shared, only)
}

/// Returns true if the rows that both sides have reached differ.
fn differs(shared: &[Shared<'_>], reading: &Pair<Reading>, tolerance: Tolerance) -> bool {
    if !reading.a.is_there || !reading.b.is_there {
        return reading.a.is_there || reading.b.is_there;
    }
    let fields = |column: &Shared<'_>| Pair {
        a: reading.a.table.field(column.places.a),
        b: reading.b.table.field(column.places.b),
    };
    !shared.iter().all(|column| column.is_equal(&fields(column), tolerance))
}

/// Returns the difference of the rows that both sides have reached, which differ. Reads on if their keys differ.
fn difference(
    table: &Table,
    shared: &[Shared<'_>],
    reading: &mut Pair<Reading>,
    tolerance: Tolerance,
) -> Result<FirstRow, TableError> {
    let places = |side: fn(&Pair<usize>) -> usize| shared.iter().map(move |it| side(&it.places));
    let rows = Pair {
        a: reading.a.row(places(|places| places.a)),
        b: reading.b.row(places(|places| places.b)),
    };
    let both = rows.as_ref().map(Option::as_ref);
    let keys_differ = both.a.zip(both.b).is_some_and(|(a, b)| {
        let mut fields = shared.iter().zip(a.fields.iter().zip(&b.fields));
        fields.any(|(column, (a, b))| column.is_key && a != b)
    });
    if keys_differ {
        let window = Window::read(table, shared, reading, tolerance)?;
        if let Some(found) = window.first(tolerance) {
            return Ok(first_row(table, shared, found, tolerance));
        }
    }
    Ok(first_row(table, shared, both, tolerance))
}

/// Describes rows that differ. Numbers are subtracted if the rows are about one thing at one instant.
fn first_row(
    table: &Table,
    shared: &[Shared<'_>],
    rows: Pair<Option<&RowText>>,
    tolerance: Tolerance,
) -> FirstRow {
    let both = rows.a.zip(rows.b);
    let fields =
        |column: usize| both.map(|(a, b)| Pair { a: &*a.fields[column], b: &*b.fields[column] });
    let is_equal = |column: usize| {
        fields(column).is_some_and(|fields| shared[column].is_equal(&fields, tolerance))
    };
    let all = || (0..shared.len()).filter(|&column| both.is_some() && !is_equal(column));
    let is_one_thing = all().all(|column| !shared[column].is_key);
    let is_one_instant = all().all(|column| !shared[column].is_instant);
    let difference = |column: usize| {
        let Shared { name, is_instant, .. } = &shared[column];
        let of_side = |row: Option<&RowText>| row.map(|row| row.fields[column].clone());
        let is_comparable = is_one_thing && (is_one_instant || *is_instant);
        let numbers = fields(column).filter(|_| is_comparable);
        let numbers = numbers.and_then(|fields| shared[column].numbers(&fields));
        FieldDifference {
            fields: Difference { key: name.clone(), a: of_side(rows.a), b: of_side(rows.b) },
            b_minus_a: numbers.map(change::b_minus_a),
        }
    };
    let differing = (0..shared.len()).filter(|&column| both.is_none() || !is_equal(column));
    let differing = differing.map(difference).collect();
    let named = |name: &str| {
        let fields = fields(shared.iter().position(|column| column.name == name)?)?;
        fields.is_equal().then(|| fields.a.to_owned())
    };
    let instants = [rows.a, rows.b].into_iter().flatten();
    let is_moved = is_one_thing && both.is_some_and(|(a, b)| a.place != b.place);
    let about = (0..shared.len()).filter(|&column| is_moved && shared[column].is_key);
    let about = about
        .filter_map(|column| Some((shared[column].name.clone(), fields(column)?.a.to_owned())));
    FirstRow {
        at_ns: instants.filter_map(|row| instant(table, shared, row)).min(),
        place: rows.map(|row| row.map(|row| row.place.clone())),
        flow: named("flow").zip(named("label")),
        about: about.filter(|(_, value)| !value.is_empty()).collect(),
        fields: differing,
    }
}

/// Returns the instant of a row. Tables of events and samples have it in their first column, which is called as in the
/// table of pauses.
fn instant(table: &Table, shared: &[Shared<'_>], row: &RowText) -> Option<i64> {
    let [column, of_pauses] = [table.columns, PauseRow::COLUMNS].map(|columns| columns[0].name);
    let place = shared.iter().position(|shared| shared.name == column)?;
    if column == of_pauses { row.fields[place].parse().ok() } else { None }
}
