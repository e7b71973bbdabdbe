//! Impairments of a live fabric's wires: loss, damage, delay, a lower rate, and link state.

use scenario::{Flap, Outage, Span};
use serde::{Deserialize, Serialize};
use units::Picos;

/// Impairments of a wire; zero means none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Impairment {
    /// Probability that a frame vanishes, in millionths.
    pub loss_millionths: u32,
    /// Probability that a frame arrives with a wrong FCS, in millionths.
    pub corrupt_millionths: u32,
    /// Additional delay of each frame, ps.
    pub delay_ps: u64,
    /// Max of the random delay added to `delay_ps`, ps.
    pub jitter_ps: u64,
    /// Rate at which the port sends, bit/s; 0 for the rate of the link.
    pub rate_bps: u64,
}

/// A change of impairments; `None` leaves a setting unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ImpairmentChange {
    /// See [`Impairment::loss_millionths`].
    pub loss_millionths: Option<u32>,
    /// See [`Impairment::corrupt_millionths`].
    pub corrupt_millionths: Option<u32>,
    /// See [`Impairment::delay_ps`].
    pub delay_ps: Option<u64>,
    /// See [`Impairment::jitter_ps`].
    pub jitter_ps: Option<u64>,
    /// See [`Impairment::rate_bps`].
    pub rate_bps: Option<u64>,
}

impl ImpairmentChange {
    /// Removes all impairments.
    pub const CLEAR: Self = Self {
        loss_millionths: Some(0),
        corrupt_millionths: Some(0),
        delay_ps: Some(0),
        jitter_ps: Some(0),
        rate_bps: Some(0),
    };

    /// Combines two changes; `later` takes precedence.
    #[must_use]
    pub fn and_then(self, later: Self) -> Self {
        Self {
            loss_millionths: later.loss_millionths.or(self.loss_millionths),
            corrupt_millionths: later.corrupt_millionths.or(self.corrupt_millionths),
            delay_ps: later.delay_ps.or(self.delay_ps),
            jitter_ps: later.jitter_ps.or(self.jitter_ps),
            rate_bps: later.rate_bps.or(self.rate_bps),
        }
    }

    /// Impairments after the change.
    pub fn applied_to(self, before: Impairment) -> Impairment {
        Impairment {
            loss_millionths: self.loss_millionths.unwrap_or(before.loss_millionths),
            corrupt_millionths: self.corrupt_millionths.unwrap_or(before.corrupt_millionths),
            delay_ps: self.delay_ps.unwrap_or(before.delay_ps),
            jitter_ps: self.jitter_ps.unwrap_or(before.jitter_ps),
            rate_bps: self.rate_bps.unwrap_or(before.rate_bps),
        }
    }
}

/// State of wires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum LinkState {
    /// They carry frames.
    Up,
    /// They lose all frames.
    Down,
    /// They go down periodically.
    Flap {
        /// Time between two times that they go down, ps, at least [`scenario::MIN_PERIOD`].
        period_ps: u64,
        /// Time for which they stay down: above zero and below the period, ps.
        down_for_ps: u64,
        /// Number of times that they go down before they stay up; `None` for no end.
        times: Option<u64>,
    },
}

impl LinkState {
    /// The outages of wires that enter this state at `now`; `None` if they stay up.
    pub fn outage(self, now: Picos) -> Option<Outage> {
        let until_end = Span { from: now, until: Picos::MAX };
        match self {
            Self::Up => None,
            Self::Down => Some(Outage { span: until_end, flap: None }),
            Self::Flap { period_ps, down_for_ps, times } => {
                let lasts = times.map_or(u64::MAX, |times| times.saturating_mul(period_ps));
                let span = Span { from: now, until: Picos(now.0.saturating_add(lasts)) };
                let flap = Flap { period: Picos(period_ps), down_for: Some(Picos(down_for_ps)) };
                Some(Outage { span, flap: Some(flap) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_setting_never_resets_another() {
        let nothing = ImpairmentChange::default();
        let lossy = ImpairmentChange { loss_millionths: Some(1000), ..nothing };
        let late = ImpairmentChange { delay_ps: Some(5), jitter_ps: Some(1), ..nothing };
        let set = late.applied_to(lossy.applied_to(Impairment::default()));
        let both = Impairment {
            loss_millionths: 1000,
            delay_ps: 5,
            jitter_ps: 1,
            ..Impairment::default()
        };
        assert_eq!(set, both);
        assert_eq!(nothing.applied_to(set), set);
        let without_loss = ImpairmentChange { loss_millionths: Some(0), ..nothing };
        assert_eq!(without_loss.applied_to(set), Impairment { loss_millionths: 0, ..set });
        assert_eq!(ImpairmentChange::CLEAR.applied_to(set), Impairment::default());
        let only_rate = ImpairmentChange { rate_bps: Some(7), ..nothing };
        let cleared = ImpairmentChange::CLEAR.and_then(only_rate).applied_to(set);
        assert_eq!(cleared, Impairment { rate_bps: 7, ..Impairment::default() });
    }

    #[test]
    fn a_link_that_flaps_some_times_stays_up_then() {
        let state = LinkState::Flap { period_ps: 10, down_for_ps: 4, times: Some(2) };
        let outage = state.outage(Picos(100)).unwrap();
        let down: Vec<u64> = (90..140).filter(|&at| outage.is_down(Picos(at))).collect();
        assert_eq!(down, [100, 101, 102, 103, 110, 111, 112, 113]);
        assert_eq!(LinkState::Up.outage(Picos(100)), None);
    }
}
