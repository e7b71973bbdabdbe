//! Kinds of values of a column or a key of `summary.json`, which determine the unit.

use units::Nanos;

use crate::column::{Column, ColumnType};
use crate::number::Number;
use crate::report::{count, span};

/// A kind of value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarKind {
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
pub enum Scalar {
    /// A number, in the unit of its kind.
    Number(Number),
    /// A truth value.
    Truth(bool),
    /// A text.
    Text(String),
}

impl ScalarKind {
    /// Returns the kind of a column.
    pub fn from_column(column: &Column<'_>) -> Self {
        if column.kind == ColumnType::Text { Self::Text } else { Self::from_name(column.name) }
    }

    /// Returns the kind of a number of a summary, by its path.
    pub fn from_path(path: &str) -> Self {
        let first = path.split('.').next().unwrap_or_default();
        if path == "port_queues.ports" {
            return Self::Number;
        }
        // Below these keys are sizes by switch, by label or by statistic.
        if first.ends_with("_bytes") || first == "port_queues" {
            return Self::Size;
        }
        // A statistic has the unit of its metric: `fct_ns.p99`.
        let (above, last) = path.rsplit_once('.').unwrap_or(("", path));
        let is_rank =
            last.strip_prefix('p').is_some_and(|it| it.bytes().all(|c| c.is_ascii_digit()));
        let is_statistic = is_rank || ["mean", "min", "max"].contains(&last);
        let name = if is_statistic { above.rsplit('.').next().unwrap_or_default() } else { last };
        Self::from_name(name)
    }

    fn from_name(name: &str) -> Self {
        match Column::integer(name, "").unit() {
            Some("ns") => Self::Time,
            Some("B") => Self::Size,
            Some("bit/s") => Self::Rate,
            _ => Self::Number,
        }
    }

    /// Returns true if one value can be above another.
    pub const fn has_order(self) -> bool {
        !matches!(self, Self::Truth | Self::Text)
    }

    /// Returns the noun of the kind with its article.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Time => "a time",
            Self::Size => "a size",
            Self::Rate => "a rate",
            Self::Number => "a number",
            Self::Truth => "a truth value",
            Self::Text => "a text",
        }
    }

    /// Parses a field of a table; `None` if it is empty.
    pub fn parse(self, field: &str) -> Option<Scalar> {
        if self == Self::Text {
            return Some(Scalar::Text(field.to_owned()));
        }
        let json: serde_json::Value = serde_json::from_str(field).ok()?;
        Number::from_json(&json).map(Scalar::Number)
    }

    /// Formats a value for a person.
    pub fn show(self, value: &Scalar) -> String {
        let number = match value {
            Scalar::Number(number) => *number,
            Scalar::Truth(truth) => return truth.to_string(),
            Scalar::Text(text) => return format!("\"{text}\""),
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
            ("fct_ns.p99", ScalarKind::Time),
            ("labels.bulk_bytes.fct_ns.p99", ScalarKind::Time),
            ("labels.bulk_bytes.flows", ScalarKind::Number),
            ("deadlock.first_onset_ns", ScalarKind::Time),
            ("buffer_max_bytes.leaf0", ScalarKind::Size),
            ("link_bytes.leaf0.to_hosts", ScalarKind::Size),
            ("window.buffer_bytes.p999", ScalarKind::Size),
            ("port_queues.labels.a.mean", ScalarKind::Size),
            ("port_queues.ports", ScalarKind::Number),
            ("watchdog.forwarded_packets", ScalarKind::Number),
            ("slowdown.mean", ScalarKind::Number),
            ("drops.policy", ScalarKind::Number),
        ] {
            assert_eq!(ScalarKind::from_path(path), kind, "{path}");
        }
        let kind = |table: &str, column: &str| {
            let columns = crate::Table::find(table).unwrap().columns;
            ScalarKind::from_column(columns.iter().find(|it| it.name == column).unwrap())
        };
        assert_eq!(kind("deadlocks", "queues"), ScalarKind::Text);
        assert_eq!(kind("flow_queues", "queues"), ScalarKind::Number);
        assert_eq!(kind("rates", "rate_bps"), ScalarKind::Rate);
    }
}
