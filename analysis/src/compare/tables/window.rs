//! Rows of both sides from one place on, matched by their keys.

use std::collections::{BTreeMap, VecDeque};

use results::{Number, Table, TableError};

use super::{Reading, RowText, Shared, instant};
use crate::compare::pair::Pair;
use crate::compare::tolerance::Tolerance;

/// Max number of rows of a side.
const ROWS: usize = 10_000;

/// Rows of both sides from one place on: of one instant, or all of a table without instants.
pub struct Window<'a> {
    shared: &'a [Shared<'a>],
    rows: Pair<Vec<RowText>>,
    /// True if a side has more rows than a window.
    is_cut: bool,
}

impl<'a> Window<'a> {
    /// Reads the rows from those that both sides have reached up to the end of the earlier instant.
    pub fn read(
        table: &Table,
        shared: &'a [Shared<'a>],
        reading: &mut Pair<Reading>,
        tolerance: Tolerance,
    ) -> Result<Self, TableError> {
        let columns = Pair {
            a: shared.iter().map(|it| it.places.a).collect::<Vec<_>>(),
            b: shared.iter().map(|it| it.places.b).collect::<Vec<_>>(),
        };
        let row = |reading: &Reading, columns: &[usize]| reading.row(columns.iter().copied());
        let reached = [row(&reading.a, &columns.a), row(&reading.b, &columns.b)];
        let instants = reached.iter().flatten().filter_map(|row| instant(table, shared, row));
        // Instants that count as equal belong to one window.
        let margin = i64::try_from(tolerance.time_ns.0 / Number::ONE.0).unwrap_or(i64::MAX);
        let last = instants.min().map(|first| first.saturating_add(margin));
        let mut is_cut = false;
        let mut read = |reading: &mut Reading, columns: &[usize]| -> Result<_, TableError> {
            let mut rows = Vec::new();
            while let Some(row) = row(reading, columns) {
                let at = instant(table, shared, &row);
                if at.zip(last).is_some_and(|(at, last)| at > last) {
                    break;
                }
                if rows.len() == ROWS {
                    is_cut = true;
                    break;
                }
                rows.push(row);
                reading.advance()?;
            }
            Ok(rows)
        };
        let a = read(&mut reading.a, &columns.a)?;
        let b = read(&mut reading.b, &columns.b)?;
        Ok(Self { shared, rows: Pair { a, b }, is_cut })
    }

    /// Returns the first rows that differ: rows of equal keys, or a row whose key only one side has. Returns `None` if all
    /// rows have an equal one, in another order, or if the window lacks rows.
    pub fn first<'w>(&'w self, tolerance: Tolerance) -> Option<Pair<Option<&'w RowText>>> {
        if self.is_cut {
            return None;
        }
        let key = |row: &RowText| -> Vec<String> {
            let columns = self.shared.iter().zip(&row.fields);
            let is_key = |column: &Shared<'_>| {
                column.is_key || column.is_instant && tolerance.time_ns == Number::default()
            };
            columns.filter(|(column, _)| is_key(column)).map(|(_, field)| field.clone()).collect()
        };
        let mut of_b: BTreeMap<Vec<String>, VecDeque<usize>> = BTreeMap::new();
        for (place, row) in self.rows.b.iter().enumerate() {
            of_b.entry(key(row)).or_default().push_back(place);
        }
        let is_equal = |a: &RowText, b: &RowText| {
            let mut fields = self.shared.iter().zip(a.fields.iter().zip(&b.fields));
            fields.all(|(column, (a, b))| column.is_equal(&Pair { a, b }, tolerance))
        };
        let mut first = None;
        let mut consider = |place: usize, rows: Pair<Option<&'w RowText>>| {
            if first.as_ref().is_none_or(|(other, _)| place < *other) {
                first = Some((place, rows));
            }
        };
        for (place, a) in self.rows.a.iter().enumerate() {
            let matched = of_b.get_mut(&key(a)).and_then(VecDeque::pop_front);
            match matched.map(|other| (other, &self.rows.b[other])) {
                Some((_, b)) if is_equal(a, b) => {}
                Some((other, b)) => consider(place.min(other), Pair { a: Some(a), b: Some(b) }),
                None => consider(place, Pair { a: Some(a), b: None }),
            }
        }
        if let Some(place) = of_b.into_values().flatten().min() {
            consider(place, Pair { a: None, b: Some(&self.rows.b[place]) });
        }
        first.map(|(_, rows)| rows)
    }
}
