//! Queries: a number computed from the rows of a table, or a value of the summary, with its unit.

mod rows;
mod scalar;

use std::ops::Range;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::column::Column;
use super::number::Number;
use super::report::{count, counted};
use super::table_reader::{TableError, TableReader};

pub use rows::{Fields, rows, rows_if_there};
pub use scalar::{Scalar, ScalarKind};

/// Function that aggregates a column's fields. Empty fields do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Aggregate {
    /// Sum of the fields.
    Sum,
    /// Smallest field.
    Min,
    /// Largest field.
    Max,
    /// Mean of the fields, each row counted once.
    Mean,
    /// Number of fields; without a column, number of rows.
    Count,
    /// The median, by nearest rank.
    P50,
    /// The 99th percentile, by nearest rank.
    P99,
}

impl Aggregate {
    const ALL: [Self; 7] =
        [Self::Sum, Self::Min, Self::Max, Self::Mean, Self::Count, Self::P50, Self::P99];

    /// Finds a function by its name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|aggregate| aggregate.name() == name)
    }

    /// Returns the name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Min => "min",
            Self::Max => "max",
            Self::Mean => "mean",
            Self::Count => "count",
            Self::P50 => "p50",
            Self::P99 => "p99",
        }
    }
}

/// A number computed from rows of a table.
#[derive(Clone, Debug)]
pub struct Query<'a> {
    /// The table's file as CSV. The folder may have it in another format.
    pub csv_file: &'static str,
    /// Column whose fields are aggregated; `None` counts rows.
    pub column: Option<&'a Column<'a>>,
    /// Function that aggregates the fields.
    pub aggregate: Aggregate,
    /// Conditions that the rows fulfil.
    pub filter: Vec<Condition<'a>>,
}

/// A condition on a row's field.
#[derive(Clone, Debug)]
pub struct Condition<'a> {
    /// Column of the field.
    pub column: &'a Column<'a>,
    /// Values that fulfil the condition.
    pub values: Values,
}

/// Values of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// One of these.
    OneOf(Vec<Scalar>),
    /// Any value except these.
    NoneOf(Vec<Scalar>),
    /// Numbers from the start up to the end, exclusive: instants of a window, for one.
    Within(Range<Number>),
}

impl Values {
    fn contain(&self, value: Option<&Scalar>) -> bool {
        match (self, value) {
            (Self::OneOf(values), Some(value)) => values.contains(value),
            (Self::NoneOf(values), value) => value.is_none_or(|value| !values.contains(value)),
            (Self::Within(range), Some(Scalar::Number(number))) => range.contains(number),
            _ => false,
        }
    }
}

/// The answer to a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The value, or the reason for its absence.
    pub value: Result<Scalar, String>,
    /// Source rows of the value, in words that follow the name of the file.
    pub rows: String,
}

impl Query<'_> {
    /// Computes the answer from a run's folder.
    pub fn answer(&self, folder: &Path) -> Answer {
        match self.select(folder) {
            Err(why) => Answer { value: Err(why), rows: String::new() },
            Ok(rows) => rows.aggregate(self.aggregate),
        }
    }

    fn select(&self, folder: &Path) -> Result<Selection, String> {
        let failed = |error: TableError| error.to_string();
        let mut table = TableReader::open(folder, self.csv_file).map_err(failed)?;
        let place = |column: &Column<'_>| table.place_of(column.name).map_err(failed);
        let column = self.column.map(place).transpose()?;
        let filter = self.filter.iter().map(|Condition { column, values }| {
            Ok((place(column)?, ScalarKind::from_column(column), values))
        });
        let filter = filter.collect::<Result<Vec<_>, String>>()?;
        let mut rows = Selection { noun: table.noun(), ..Selection::default() };
        while table.advance().map_err(failed)? {
            rows.all += 1;
            let number = table.number();
            let fits = |(place, kind, values): &(usize, ScalarKind, &Values)| {
                values.contain(kind.parse(table.field(*place)).as_ref())
            };
            if !filter.iter().all(fits) {
                continue;
            }
            rows.chosen += 1;
            rows.first.get_or_insert(number);
            let field = column.map_or("", |place| table.field(place));
            rows.filled += u64::from(column.is_none() || !field.is_empty());
            if let Some(Scalar::Number(value)) = ScalarKind::Number.parse(field) {
                rows.fields.push((value, number));
            }
        }
        Ok(rows)
    }
}

/// Rows selected by a query.
#[derive(Default)]
struct Selection {
    all: u64,
    chosen: u64,
    /// Non-empty fields of the column, with the numbers of their rows.
    fields: Vec<(Number, u64)>,
    /// Number of non-empty fields, including columns of names.
    filled: u64,
    first: Option<u64>,
    /// Unit by which rows are numbered: line or row.
    noun: &'static str,
}

impl Selection {
    fn aggregate(mut self, aggregate: Aggregate) -> Answer {
        let of_all = if self.chosen == self.all {
            counted(self.all, "row")
        } else {
            format!("{} of {}", count(self.chosen), counted(self.all, "row"))
        };
        let noun = self.noun;
        let first = self.first.map_or_else(String::new, |it| format!(", the first in {noun} {it}"));
        let rows = format!(", {of_all}{first}");
        let number = |number, rows| Answer { value: Ok(Scalar::Number(number)), rows };
        let sum = Number(self.fields.iter().map(|(number, _)| number.0).sum());
        match aggregate {
            Aggregate::Count => {
                return number(self.filled.into(), rows);
            }
            Aggregate::Sum => return number(sum, rows),
            _ if self.fields.is_empty() => {
                let why =
                    if self.chosen == 0 { "no row is like that" } else { "all fields are empty" };
                return Answer { value: Err(why.to_owned()), rows };
            }
            _ => self.fields.sort_unstable(),
        }
        let fields = self.fields.len();
        let at = |place: usize| {
            let (value, line) = self.fields[place];
            number(value, format!(", {noun} {line}, of {of_all}"))
        };
        let rank = |percent: usize| (fields * percent).div_ceil(100).max(1) - 1;
        match aggregate {
            Aggregate::Min => at(0),
            Aggregate::Max => at(fields - 1),
            Aggregate::P50 => at(rank(50)),
            Aggregate::P99 => at(rank(99)),
            Aggregate::Mean => number(Number::mean(sum, fields), rows),
            Aggregate::Sum | Aggregate::Count => unreachable!("returned above"),
        }
    }
}
