//! Tables of two runs: numbers of rows, and the first row that differs.

use std::path::Path;

use results::query::ScalarKind;
use results::{Column, PauseRow, Row, Table, TableError, TableReader};
use serde::Serialize;

use super::pair::Pair;
use super::{Difference, First};

/// Comparison of a table.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct TableComparison {
    /// Name of the table.
    pub table: &'static str,
    /// Number of rows.
    pub rows: Pair<u64>,
    /// Number of columns that both sides have. Without any only the numbers of rows are compared.
    pub columns: u64,
    /// Columns that only one side has.
    pub only: Pair<Vec<String>>,
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
    /// Fields that differ; all that both sides have where a table has ended.
    pub fields: Vec<Difference<String>>,
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
    /// Returns true if two fields are equal. Numbers may be written with zeros at their end or without.
    fn is_equal(&self, fields: &Pair<&str>) -> bool {
        let is_number = || {
            let kind = self.column.map(ScalarKind::from_column);
            kind.filter(|kind| *kind != ScalarKind::Text)
        };
        fields.is_equal()
            || is_number().is_some_and(|kind| {
                let values = fields.map(|field| kind.parse(field));
                values.a.is_some() && values.is_equal()
            })
    }
}

/// Compares a table that both folders have, row by row.
pub fn compare(table: &Table, folders: Pair<&Path>) -> Result<TableComparison, TableError> {
    let mut reading = folders.try_map(|folder| Reading::open(folder, table))?;
    let (shared, only) = columns(table, &reading);
    let mut first = None;
    while reading.a.is_there || reading.b.is_there {
        reading.a.advance()?;
        reading.b.advance()?;
        if first.is_none() {
            first = difference(table, &shared, &reading);
        }
    }
    let rows = reading.as_ref().map(|reading| reading.rows);
    let columns = shared.len() as u64;
    Ok(TableComparison { table: table.name, rows, columns, only, first })
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
fn difference(table: &Table, shared: &[Shared<'_>], reading: &Pair<Reading>) -> Option<FirstRow> {
    if !reading.a.is_there && !reading.b.is_there {
        return None;
    }
    let both = reading.a.is_there && reading.b.is_there;
    let differs = |column: &&Shared<'_>| {
        let fields = Pair {
            a: reading.a.table.field(column.places.a),
            b: reading.b.table.field(column.places.b),
        };
        !both || !column.is_equal(&fields)
    };
    let difference = |column: &Shared<'_>| Difference {
        key: column.name.clone(),
        a: reading.a.field(column.places.a),
        b: reading.b.field(column.places.b),
    };
    let fields: Vec<Difference<String>> = shared.iter().filter(differs).map(difference).collect();
    if both && fields.is_empty() {
        return None;
    }
    let places = reading.as_ref().map(Reading::place);
    Some(FirstRow { at_ns: instant(table, shared, reading), place: places, fields })
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
