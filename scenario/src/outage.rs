//! Spans of emulated time, and outages of wires.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Picos;

/// Span `[from, until)` of emulated time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Start of the span.
    pub from: Picos,
    /// Exclusive end of the span; `Picos::MAX` if it has no end.
    pub until: Picos,
}

impl Span {
    /// The whole run.
    pub const ALWAYS: Self = Self { from: Picos::ZERO, until: Picos::MAX };

    /// Returns true if the instant is in the span.
    #[inline]
    pub fn contains(self, at: Picos) -> bool {
        self.from <= at && at < self.until
    }
}

/// Times at which a wire is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Span of the outage.
    pub span: Span,
    /// Period in which the wire goes down and up; `None`: it stays down.
    pub flap: Option<Flap>,
}

/// Periodic outage of a wire, from the start of the fault to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "FlapKeys")]
pub struct Flap {
    /// Time from one time that the wire goes down to the next, at least "1us".
    pub period: Picos,
    /// Time for which the wire stays down in each period. Default: half the period.
    pub down_for: Option<Picos>,
}

impl Flap {
    /// Returns the time for which the wire stays down in each period.
    pub fn down_for(self) -> Picos {
        self.down_for.unwrap_or(Picos(self.period.0 / 2))
    }
}

impl Outage {
    /// Returns true if the wire is down.
    pub fn is_down(&self, at: Picos) -> bool {
        let in_period = |flap: Flap| (at.0 - self.span.from.0) % flap.period.0 < flap.down_for().0;
        self.span.contains(at) && self.flap.is_none_or(in_period)
    }

    /// Returns the time after `now` at which the wire next goes down or comes up, if any.
    pub fn next_change(&self, now: Picos) -> Option<Picos> {
        let Self { span: Span { from, until }, flap } = *self;
        if now < from {
            return Some(from);
        }
        let change = flap.map_or(until, |flap| {
            let period = flap.period;
            let begun = Picos(now.0 - (now.0 - from.0) % period.0);
            let up = begun + flap.down_for();
            if now < up { up } else { begun + period }
        });
        (now < until && change.min(until) < Picos::MAX).then(|| change.min(until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAPPING: Outage = Outage {
        span: Span { from: Picos(10), until: Picos(33) },
        flap: Some(Flap { period: Picos(10), down_for: Some(Picos(4)) }),
    };

    #[test]
    fn a_wire_is_down_from_the_first_instant_up_to_the_last() {
        let once = Outage { flap: None, ..FLAPPING };
        let down = |outage: Outage| (0..40).filter(|&at| outage.is_down(Picos(at))).collect();
        let expected: Vec<u64> = (10..33).collect();
        let found: Vec<u64> = down(once);
        assert_eq!(found, expected);
        let flapping: Vec<u64> = down(FLAPPING);
        assert_eq!(flapping, [10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32]);
    }

    #[test]
    fn every_change_is_known_beforehand() {
        let once = Outage { flap: None, ..FLAPPING };
        let changes = |outage: Outage| {
            let first = outage.next_change(Picos::ZERO);
            let next = |at: &Picos| outage.next_change(*at);
            std::iter::successors(first, next).map(|at| at.0).collect::<Vec<_>>()
        };
        assert_eq!(changes(once), [10, 33]);
        assert_eq!(changes(FLAPPING), [10, 14, 20, 24, 30, 33]);
        let forever = Outage { span: Span { until: Picos::MAX, ..FLAPPING.span }, flap: None };
        assert_eq!(changes(forever), [10]);
    }
}
