//! Sources of quantities, in their form in files: a table, a column, a filter, an aggregate and a window.

use std::path::Path;

use results::Number;
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
    MeanRate(Option<u64>),
    /// The recovery time of one flow, by its number: time from the window's start until the flow's rate stays at nine
    /// tenths of its earlier mean or above to the window's end; in nanoseconds, as whole intervals of `throughput.csv`.
    /// A run without recovery is censored, as with `Onset`.
    RecoveryOf(u64),
    /// The mean completion rate of flows of more than this many bytes, each counted once, in Mbit/s of payload; absent
    /// if one of these flows has not completed.
    RateAbove(u64),
    /// Number of decisions to pause in the window, without refreshes.
    Pauses(Peers),
    /// Number of decisions to pause and to refresh a pause in the window: frames sent.
    PauseFrames(Peers),
    /// Paused time of neighbours in the run, summed over their ports and priorities, in nanoseconds.
    PausedTime(Peers),
    /// The mean over the window of a counter of `queues.csv`, by its kind and the port of the only switch, in bytes.
    Level(String, u32),
    /// The mean occupancy of ingress queues at decisions to pause, in bytes; absent without decisions.
    OccupancyAtPause(Peers),
    /// The summed occupancy of ingress queues at decisions to pause some neighbours, divided by the sum for others.
    OccupancyRatio(Peers, Peers),
    /// A number that only one paper needs, by a function of `readers`.
    Other(Reader),
}

/// Function that reads a number from a run and its folder, or returns `None` if the run lacks the number.
pub type Reader = fn(&RunResult, &Path) -> Option<Number>;

/// Paused neighbours of switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peers {
    /// All neighbours.
    All,
    /// The neighbour of this name.
    Only(String),
    /// All neighbours except this one.
    Except(String),
}

impl Peers {
    /// Returns true if the set contains a neighbour.
    pub fn contains(&self, peer: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(name) => peer == name,
            Self::Except(name) => peer != name,
        }
    }
}

impl Source {
    /// Returns true if sums over seeds are meaningful, so that a report has their ratio, too.
    pub const fn is_sum(&self) -> bool {
        matches!(self, Self::Pauses(_) | Self::PauseFrames(_) | Self::PausedTime(_))
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

/// Rows of a table that count.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Filter {
    bytes_above: Option<u64>,
    event: Vec<String>,
    flow: Option<u64>,
    kind: Option<String>,
    measure: Option<String>,
    node: Option<String>,
    not_peer: Option<String>,
    peer: Option<String>,
    port: Option<u32>,
}

impl Filter {
    fn peers(&mut self) -> Peers {
        let only = self.peer.take().or_else(|| self.node.take()).map(Peers::Only);
        only.or_else(|| self.not_peer.take().map(Peers::Except)).unwrap_or(Peers::All)
    }

    /// Removes the events and returns true if they are these.
    fn has_events(&mut self, events: &[&str]) -> bool {
        let same = self.event == events;
        if same {
            self.event.clear();
        }
        same
    }
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
                Source::ShareUpTo { measure: filter.measure.take()?, value: self.up_to.take()? }
            }
            ("distributions", Some("value"), percentile) => Source::Percentile {
                measure: filter.measure.take()?,
                percent: percentile.strip_prefix('p')?.parse().ok()?,
                divisor: self.divisor.take().unwrap_or(1),
            },
            ("throughput", Some("bits_per_second"), "min") => match self.window.take().as_deref() {
                None => Source::LeastRate,
                Some("before") => Source::LeastRateBefore,
                Some(_) => return None,
            },
            ("throughput", Some("bits_per_second"), "mean") => Source::MeanRate(filter.flow.take()),
            ("throughput", Some("bits_per_second"), "recovery") => {
                Source::RecoveryOf(filter.flow.take()?)
            }
            ("flows", Some("rate"), "mean") => Source::RateAbove(filter.bytes_above.take()?),
            ("pauses", None, "count") if filter.has_events(&["xoff"]) => {
                Source::Pauses(filter.peers())
            }
            ("pauses", None, "count") if filter.has_events(&["xoff", "xoff-refresh"]) => {
                Source::PauseFrames(filter.peers())
            }
            ("pauses", Some("occupancy_bytes"), "mean") if filter.has_events(&["xoff"]) => {
                Source::OccupancyAtPause(filter.peers())
            }
            ("pauses", Some("occupancy_bytes"), "sum")
                if filter.has_events(&["xoff"]) && self.over.has_events(&["xoff"]) =>
            {
                Source::OccupancyRatio(filter.peers(), self.over.peers())
            }
            ("pause_time", Some("paused_ns"), "sum") => Source::PausedTime(filter.peers()),
            ("queues", Some("bytes"), "mean") => {
                Source::Level(filter.kind.take()?, filter.port.take()?)
            }
            _ => return None,
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
