//! Tables of two runs: numbers of rows, and the first row that differs.

use std::path::Path;

use results::query::{Scalar, ScalarKind};
use results::{Column, Number, PauseRow, Row, Table, TableError, TableReader};
use serde::Serialize;

use super::change;
use super::pair::Pair;
use super::tolerance::{Meaning, Tolerance};
use super::{Difference, First};

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

    fn field(&self, column: usize) -> Option<String> {
        self.is_there.then(|| self.table.field(column).to_owned())
    }

    fn place(&self) -> Option<String> {
        let file = self.table.path().file_name().unwrap_or_default().to_string_lossy();
        self.is_there.then(|| format!("{file} {}", self.table.place()))
    }
}

/// A column of both tables.
struct Shared<'a> {
    name: String,
    /// Declaration of the column; `None` if this version does not have it.
    column: Option<&'a Column<'a>>,
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
        if first.is_none() {
            first = difference(table, &shared, &reading, tolerance);
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
            shared.push(Shared { name: name.clone(), column, places: Pair { a, b } });
        }
        places.b.is_none()
    });
    only.b.retain(|name| shared.iter().all(|column| column.name != *name));
    (shared, only)
}

/// Returns the difference of the rows that both sides have reached.
fn difference(
    table: &Table,
    shared: &[Shared<'_>],
    reading: &Pair<Reading>,
    tolerance: Tolerance,
) -> Option<FirstRow> {
    if !reading.a.is_there && !reading.b.is_there {
        return None;
    }
    let both = reading.a.is_there && reading.b.is_there;
    let fields = |column: &Shared<'_>| Pair {
        a: reading.a.table.field(column.places.a),
        b: reading.b.table.field(column.places.b),
    };
    let differs = |column: &&Shared<'_>| !both || !column.is_equal(&fields(column), tolerance);
    let difference = |column: &Shared<'_>| FieldDifference {
        fields: Difference {
            key: column.name.clone(),
            a: reading.a.field(column.places.a),
            b: reading.b.field(column.places.b),
        },
        b_minus_a: column.numbers(&fields(column)).filter(|_| both).map(change::b_minus_a),
    };
    let differing: Vec<FieldDifference> = shared.iter().filter(differs).map(difference).collect();
    if both && differing.is_empty() {
        return None;
    }
    let named = |name: &str| {
        let column = shared.iter().find(|column| column.name == name)?;
        let texts = fields(column);
        let is_named = both && texts.is_equal();
        is_named.then(|| texts.a.to_owned())
    };
    Some(FirstRow {
        at_ns: instant(table, shared, reading),
        place: reading.as_ref().map(Reading::place),
        flow: named("flow").zip(named("label")),
        fields: differing,
    })
}

/// Returns the instant of the rows, the earlier of both. Tables of events and samples have it in their first column, which
/// is called as in the table of pauses.
fn instant(table: &Table, shared: &[Shared<'_>], reading: &Pair<Reading>) -> Option<i64> {
    let [column, of_pauses] = [table.columns, PauseRow::COLUMNS].map(|columns| columns[0].name);
    if column != of_pauses {
        return None;
    }
    let places = shared.iter().find(|shared| shared.name == column)?.places;
    let fields = [reading.a.field(places.a), reading.b.field(places.b)];
    fields.into_iter().flatten().filter_map(|field| field.parse().ok()).min()
}
