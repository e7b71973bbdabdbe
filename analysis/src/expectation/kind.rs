//! Kinds of values of a column or a key of `summary.json`, which determine the unit.

use results::{count, span};
use scenario::{Plain, Refusal, quantity};
use sweep::Decimal;
use units::{BitsPerSecond, Bytes, Nanos, Picos};

/// A kind of value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Time, in nanoseconds.
    Time,
    /// Size, in bytes.
    Size,
    /// Rate, in bits per second.
    Rate,
    /// Number without a unit.
    Number,
    /// `true` or `false`.
    Truth,
    /// A name.
    Text,
}

/// A value that is compared with another of its kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Measure {
    /// A number, in the unit of its kind.
    Number(Decimal),
    /// A truth value.
    Truth(bool),
    /// A text.
    Text(String),
}

/// Columns that hold names.
const TEXTS: [&str; 24] = [
    "action",
    "by",
    "cause",
    "class",
    "congestion_control",
    "counter",
    "dst",
    "event",
    "from",
    "kind",
    "label",
    "level",
    "levels",
    "measure",
    "node",
    "path",
    "peer",
    "priorities",
    "reason",
    "src",
    "state",
    "to",
    "transport",
    "wire",
];

/// Keys of a summary whose numbers are bytes, at any depth below them.
const SIZES: [&str; 6] = [
    "buffer_bytes",
    "buffer_max_bytes",
    "headroom_max_bytes",
    "link_bytes",
    "port_queues",
    "switch_buffer_bytes",
];

impl Kind {
    /// Returns the kind of a column.
    pub(super) fn of_column(table: &str, column: &str) -> Self {
        // This column has the wires of the cycle in this table, and a number in others.
        let wires = table == "deadlocks" && column == "queues";
        if wires || TEXTS.contains(&column) { Self::Text } else { Self::of_name(column) }
    }

    /// Returns the kind of a number of a summary, by its path.
    pub(super) fn of_path(path: &str) -> Self {
        let first = path.split('.').next().unwrap_or_default();
        if path == "port_queues.ports" {
            return Self::Number;
        }
        if SIZES.contains(&first) {
            return Self::Size;
        }
        // A statistic has the unit of its metric: `fct_ns.p99`.
        let (above, last) = path.rsplit_once('.').unwrap_or(("", path));
        let is_rank =
            last.strip_prefix('p').is_some_and(|it| it.bytes().all(|c| c.is_ascii_digit()));
        let is_statistic = is_rank || ["mean", "min", "max"].contains(&last);
        let name = if is_statistic { above.rsplit('.').next().unwrap_or_default() } else { last };
        Self::of_name(name)
    }

    fn of_name(name: &str) -> Self {
        if name.ends_with("_ns") {
            Self::Time
        } else if name == "bytes" || name.ends_with("_bytes") {
            Self::Size
        } else if name == "bits_per_second" || name.ends_with("_bps") {
            Self::Rate
        } else {
            Self::Number
        }
    }

    /// Returns true if one value can be above another.
    pub(super) const fn has_order(self) -> bool {
        !matches!(self, Self::Truth | Self::Text)
    }

    /// Returns the noun of the kind with its article.
    pub(super) const fn noun(self) -> &'static str {
        match self {
            Self::Time => "a time",
            Self::Size => "a size",
            Self::Rate => "a rate",
            Self::Number => "a number",
            Self::Truth => "a truth value",
            Self::Text => "a text",
        }
    }

    /// Reads a value of a scenario.
    pub(super) fn read(self, value: &Plain) -> Result<Measure, Refusal> {
        let wrong = |example: &str| {
            let noun = self.noun();
            Err(Refusal::new(
                format!("{value} is compared with {noun}"),
                format!("write {noun} such as {example}"),
            ))
        };
        // A decimal has six places; eighteen digits and the largest unit leave room for them.
        let number = |base: u128, parts: i128| {
            let base = i128::try_from(base).unwrap_or(i128::MAX);
            Ok(Measure::Number(Decimal(base.saturating_mul(parts))))
        };
        match (self, value) {
            // A nanosecond has a thousand picoseconds.
            (Self::Time, Plain::Text(text)) => number(quantity::parse_any::<Picos>(text)?, 1000),
            (Self::Size, Plain::Text(text)) => {
                number(quantity::parse_any::<Bytes>(text)?, 1_000_000)
            }
            (Self::Rate, Plain::Text(text)) => {
                number(quantity::parse_any::<BitsPerSecond>(text)?, 1_000_000)
            }
            (Self::Number, Plain::Number(number)) => Ok(Measure::Number(Decimal(*number))),
            (Self::Truth, Plain::Truth(truth)) => Ok(Measure::Truth(*truth)),
            (Self::Text, Plain::Text(text)) => Ok(Measure::Text(text.clone())),
            (Self::Time, _) => wrong("\"10us\""),
            (Self::Size, _) => wrong("\"100kB\""),
            (Self::Rate, _) => wrong("\"25Gbps\""),
            (Self::Number, _) => wrong("3 or 0.5, without quotes"),
            (Self::Truth, _) => wrong("true"),
            (Self::Text, _) => wrong("\"drained\""),
        }
    }

    /// Formats a value for a person.
    pub(super) fn show(self, value: &Measure) -> String {
        let number = match value {
            Measure::Number(number) => *number,
            Measure::Truth(truth) => return truth.to_string(),
            Measure::Text(text) => return format!("\"{text}\""),
        };
        let whole = u64::try_from(number.0 / 1_000_000).ok().filter(|_| number.0 % 1_000_000 == 0);
        match (self, whole) {
            (Self::Time, Some(nanos)) => span(Nanos(nanos)),
            (Self::Time, None) => format!("{number} ns"),
            (Self::Size, Some(bytes)) => format!("{} B", count(bytes)),
            (Self::Size, None) => format!("{number} B"),
            (Self::Rate, Some(rate)) => format!("{} bit/s", count(rate)),
            (Self::Rate, None) => format!("{number} bit/s"),
            _ => number.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_says_the_unit() {
        for (path, kind) in [
            ("fct_ns.p99", Kind::Time),
            ("labels.bulk_bytes.fct_ns.p99", Kind::Time),
            ("labels.bulk_bytes.flows", Kind::Number),
            ("deadlock.first_onset_ns", Kind::Time),
            ("buffer_max_bytes.leaf0", Kind::Size),
            ("link_bytes.leaf0.to_hosts", Kind::Size),
            ("window.buffer_bytes.p999", Kind::Size),
            ("port_queues.labels.a.mean", Kind::Size),
            ("port_queues.ports", Kind::Number),
            ("watchdog.forwarded_packets", Kind::Number),
            ("slowdown.mean", Kind::Number),
            ("drops.policy", Kind::Number),
        ] {
            assert_eq!(Kind::of_path(path), kind, "{path}");
        }
        assert_eq!(Kind::of_column("deadlocks", "queues"), Kind::Text);
        assert_eq!(Kind::of_column("flow_queues", "queues"), Kind::Number);
        assert_eq!(Kind::of_column("rates", "rate_bps"), Kind::Rate);
    }

    /// A sum may exceed the limits of a link, buffer or run, and a rate may be compared with zero.
    #[test]
    fn values_may_be_beyond_what_a_scenario_can_have() {
        for (kind, text, shown) in [
            (Kind::Rate, "12.8Tbps", "12,800,000,000,000 bit/s"),
            (Kind::Rate, "0bps", "0 bit/s"),
            (Kind::Size, "100000TB", "100,000,000,000,000,000 B"),
        ] {
            let value = kind.read(&Plain::Text(text.to_owned())).expect("it is a value");
            assert_eq!(kind.show(&value), shown);
        }
        let fraction = Kind::Rate.read(&Plain::Text("0.5bps".to_owned()));
        assert!(
            fraction.is_err_and(|error| error.title.contains("whole number")),
            "as in a scenario"
        );
    }
}
