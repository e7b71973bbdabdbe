//! Sources of quantities, in their form in files: a table, a column, a filter, an aggregate and a window.

use std::collections::BTreeMap;
use std::path::Path;

use results::query::{Aggregate, Condition, Query, Scalar, ScalarKind, Values};
use results::{Column, Number, Table};
use serde::Deserialize;
use sweep::RunResult;

use super::{Quantity, Statistic, Unit, readers};

/// Source of a number in a run.
#[derive(Clone, Debug)]
pub enum Source {
    /// A number of `summary.json`, by its path.
    Metric(String),
    /// A truth value of `summary.json`, by its path: a cell has the share of the runs in which it is true.
    Share(String),
    /// The largest number of an object of `summary.json`, by its path, such as the switch with the largest
    /// `headroom_max_bytes`.
    LargestOf(String),
    /// One number of `summary.json` divided by another, by their paths; absent if the divisor is 0.
    Ratio(String, String),
    /// The time of an event, by the path of a number that `summary.json` lacks if nothing happened. Then the run is
    /// censored at its end: a cell has a median of survival statistics, not a mean.
    Onset(String),
    /// A percentile of a measure of `distributions.csv`, divided.
    Percentile {
        /// The measure.
        measure: String,
        /// Percentage of the weight, 1 to 100.
        percent: u32,
        /// Divisor of the value.
        divisor: u32,
    },
    /// The share of a measure's weight up to a value.
    ShareUpTo {
        /// The measure.
        measure: String,
        /// The value.
        value: u64,
    },
    /// The lowest rate of the only flow in `throughput.csv` in any interval of the run's window, in Mbit/s.
    LeastRate,
    /// The lowest rate of the only flow in `throughput.csv` in an equally long time before the window, in Mbit/s.
    LeastRateBefore,
    /// The mean rate of one flow, by its number, or of all flows together in `throughput.csv` over the run's window,
    /// in Mbit/s.
    MeanRate(Option<u32>),
    /// The recovery time of one flow, by its number: time from the window's start until the flow's rate stays at nine
    /// tenths of its earlier mean or above to the window's end; in nanoseconds, as whole intervals of `throughput.csv`.
    /// A run without recovery is censored, as with `Onset`.
    RecoveryOf(u32),
    /// The mean completion rate of flows of more than this many bytes, each counted once, in Mbit/s of payload; absent
    /// if one of these flows has not completed.
    RateAbove(u64),
    /// An aggregate of a table's rows; of the rows in the window, if rows have instants.
    Rows(Query<'static>),
    /// One aggregate of rows divided by another; absent if the divisor is 0.
    RowsRatio(Query<'static>, Query<'static>),
    /// The mean over the window of a counter of `queues.csv`, by its kind and the port of the only switch, in bytes.
    Level(String, u32),
    /// A number that only one paper needs, by a function of `readers`.
    Other(Reader),
}

/// Function that reads a number from a run and its folder, or returns `None` if the run lacks the number.
pub type Reader = fn(&RunResult, &Path) -> Option<Number>;

impl Source {
    /// Returns true if sums over seeds are meaningful, so that a report has their ratio, too.
    pub const fn is_sum(&self) -> bool {
        matches!(self, Self::Rows(query) if matches!(query.aggregate, Aggregate::Count | Aggregate::Sum))
    }

    /// Returns true if a report divides the quantity by the baseline's.
    pub const fn is_compared(&self) -> bool {
        !matches!(self, Self::Level(..) | Self::Other(_))
    }

    /// Returns the statistic of a cell.
    pub const fn statistic(&self) -> Statistic {
        match self {
            Self::Onset(_) | Self::RecoveryOf(_) => Statistic::Median,
            Self::Share(_) => Statistic::Share,
            _ => Statistic::Mean,
        }
    }
}

/// A quantity in a file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QuantityKeys {
    /// Name in tables; default: the key.
    name: Option<String>,
    unit: Unit,
    /// A table without `.csv`; default: `summary.json`.
    table: Option<String>,
    /// A column, or a path in the summary.
    column: Option<String>,
    #[serde(rename = "where")]
    filter: Filter,
    aggregate: Option<String>,
    /// `before`: as long a time before the window.
    window: Option<String>,
    /// Path of the divisor in the summary.
    divided_by: Option<String>,
    /// Filter of the rows by whose aggregate the other rows' aggregate is divided.
    over: Filter,
    /// Divisor of the value.
    divisor: Option<u32>,
    /// Upper end of the values whose share is read.
    up_to: Option<u64>,
    /// Name of a function of `readers`, instead of a table.
    reader: Option<String>,
}

/// Conditions on the rows that count: values of columns. `not_COLUMN` has the values of the other rows.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
struct Filter(BTreeMap<String, Fields>);

/// Values of a column in a file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Fields {
    Number(u64),
    Text(String),
    Texts(Vec<String>),
}

impl Fields {
    fn scalars(self) -> Vec<Scalar> {
        match self {
            Self::Number(number) => vec![Scalar::Number(Number::ratio(number.into(), 1))],
            Self::Text(text) => vec![Scalar::Text(text)],
            Self::Texts(texts) => texts.into_iter().map(Scalar::Text).collect(),
        }
    }
}

impl Filter {
    /// Takes a number. A value of another type stays, and is superfluous.
    fn number<T: TryFrom<u64>>(&mut self, key: &str) -> Option<T> {
        let Some(&Fields::Number(number)) = self.0.get(key) else { return None };
        self.0.remove(key);
        number.try_into().ok()
    }

    /// Takes a text. A value of another type stays, and is superfluous.
    fn text(&mut self, key: &str) -> Option<String> {
        match self.0.remove(key)? {
            Fields::Text(text) => Some(text),
            other => {
                self.0.insert(key.to_owned(), other);
                None
            }
        }
    }

    /// Takes all conditions, on columns of a table; `None` if a column or the type of a value does not fit.
    fn conditions(&mut self, table: &'static Table) -> Option<Vec<Condition<'static>>> {
        let conditions = std::mem::take(&mut self.0).into_iter().map(|(key, fields)| {
            let (name, test): (_, fn(_) -> _) = match key.strip_prefix("not_") {
                Some(name) => (name, Values::NoneOf),
                None => (&*key, Values::OneOf),
            };
            let column = find_column(table, name)?;
            let is_text = ScalarKind::from_column(column) == ScalarKind::Text;
            let values = fields.scalars();
            let fits = !values.is_empty()
                && values.iter().all(|value| matches!(value, Scalar::Text(_)) == is_text);
            fits.then(|| Condition { column, values: test(values) })
        });
        conditions.collect()
    }
}

fn find_column(table: &'static Table, name: &str) -> Option<&'static Column<'static>> {
    table.columns.iter().find(|column| column.name == name)
}

impl QuantityKeys {
    /// Resolves the keys of the quantity `key`.
    pub fn resolve(mut self, key: &str) -> Result<Quantity, String> {
        let name = self.name.take().unwrap_or_else(|| key.to_owned());
        let unit = std::mem::take(&mut self.unit);
        let all = self.clone();
        match self.source() {
            Some(source) if self == Self::default() => Ok(Quantity { name, unit, source }),
            Some(_) => Err(format!("quantity `{key}`: superfluous keys: {self:?}")),
            None => Err(format!("quantity `{key}`: no source is read like this: {all:?}")),
        }
    }

    /// Takes the keys of a source.
    fn source(&mut self) -> Option<Source> {
        if let Some(reader) = self.reader.take() {
            let (_, read) = readers::ALL.iter().find(|(name, _)| *name == reader)?;
            return Some(Source::Other(*read));
        }
        let (table, column) = (self.table.take(), self.column.take());
        let aggregate = self.aggregate.take();
        let Some(table) = table else {
            let path = column?;
            return match aggregate.as_deref() {
                None => Some(match self.divided_by.take() {
                    Some(whole) => Source::Ratio(path, whole),
                    None => Source::Metric(path),
                }),
                Some("share") => Some(Source::Share(path)),
                Some("onset") => Some(Source::Onset(path)),
                Some("max") => Some(Source::LargestOf(path)),
                Some(_) => None,
            };
        };
        let filter = &mut self.filter;
        Some(match (table.as_str(), column.as_deref(), aggregate?.as_str()) {
            ("distributions", Some("value"), "share") => {
                Source::ShareUpTo { measure: filter.text("measure")?, value: self.up_to.take()? }
            }
            ("distributions", Some("value"), percentile) => Source::Percentile {
                measure: filter.text("measure")?,
                percent: percentile.strip_prefix('p')?.parse().ok()?,
                divisor: self.divisor.take().unwrap_or(1),
            },
            ("throughput", Some("bits_per_second"), "min") => match self.window.take().as_deref() {
                None => Source::LeastRate,
                Some("before") => Source::LeastRateBefore,
                Some(_) => return None,
            },
            ("throughput", Some("bits_per_second"), "mean") => {
                Source::MeanRate(filter.number("flow"))
            }
            ("throughput", Some("bits_per_second"), "recovery") => {
                Source::RecoveryOf(filter.number("flow")?)
            }
            ("flows", Some("rate"), "mean") => Source::RateAbove(filter.number("bytes_above")?),
            ("queues", Some("bytes"), "mean") => {
                Source::Level(filter.text("kind")?, filter.number("port")?)
            }
            (table, name, aggregate) => {
                let table = Table::find(table)?;
                let query = |filter: &mut Filter| {
                    Some(Query {
                        csv_file: table.file,
                        column: match name {
                            Some(name) => Some(find_column(table, name)?),
                            None => None,
                        },
                        aggregate: Aggregate::find(aggregate)?,
                        filter: filter.conditions(table)?,
                    })
                };
                let rows = query(filter)?;
                if self.over == Filter::default() {
                    Source::Rows(rows)
                } else {
                    Source::RowsRatio(rows, query(&mut self.over)?)
                }
            }
        })
    }
}

/// Reads a source in its form in files.
#[cfg(test)]
pub fn source(keys: &str) -> Source {
    let text = keys.replace(", ", "\n");
    let keys: QuantityKeys = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
    keys.resolve("quantity").unwrap_or_else(|error| panic!("{error}")).source
}
