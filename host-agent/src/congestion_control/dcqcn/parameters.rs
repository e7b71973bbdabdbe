//! Tunable parameters of DCQCN, and the three sets of values in use.

use units::{BitsPerSecond, Bytes, Picos};

use super::Notification;
use crate::congestion_control::Fraction;

const MICROSECOND: u64 = 1_000_000;
const MEGABIT: u64 = 1_000_000;
const GIGABIT: u64 = 1_000 * MEGABIT;

/// Parameters of the reaction and notification points. All intervals of the reaction point are
/// positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Interval between updates of alpha (K in the paper, its Eq. 2).
    pub alpha_interval: Picos,
    /// At most one cut in this span.
    pub rate_decrease_interval: Picos,
    /// Span of the timer that raises the rate (T).
    pub rate_increase_interval: Picos,
    /// Bytes sent that raise the rate (B), where the profile counts them.
    pub rate_increase_bytes: Option<Bytes>,
    /// Weight of the newest interval in alpha (g).
    pub alpha_gain: Fraction,
    /// Rises that only return to the target rate (F).
    pub fast_recovery_stages: u32,
    /// Step of the target rate after fast recovery (`R_AI`).
    pub additive_increase: BitsPerSecond,
    /// Step of the target rate after additive increase (`R_HAI`).
    pub hyper_increase: BitsPerSecond,
    /// Min rate after a cut.
    pub minimum_rate: BitsPerSecond,
    /// True if each cut lowers the target to the rate before the cut, as in the paper. Otherwise a cut that follows
    /// another before any rise keeps the target.
    pub clamp_target_rate: bool,
    /// True if a clock triggers the cuts, as in the HPCC simulator: it starts with the first CNP, which only sets alpha
    /// to 1, ticks every [`rate_decrease_interval`](Self::rate_decrease_interval), and cuts if a CNP came since its
    /// last tick. Otherwise a CNP cuts at once, as in the paper.
    pub clocked_cuts: bool,
    /// At most one notification per queue pair in this span; zero: one for every marked packet.
    pub notification_interval: Picos,
    /// Notification of the sender: by CNPs or ACKs.
    pub notification: Notification,
}

impl Parameters {
    /// The values of the HPCC artifact's simulator, given there at 100 Gbit/s.
    ///
    /// As in the other profiles, the steps of the target rate grow in proportion to the line rate; other values are
    /// fixed.
    pub fn hpcc(line_rate: BitsPerSecond) -> Self {
        let reference = BitsPerSecond(100 * GIGABIT);
        Self {
            alpha_interval: Picos(MICROSECOND),
            rate_decrease_interval: Picos(4 * MICROSECOND),
            rate_increase_interval: Picos(300 * MICROSECOND),
            rate_increase_bytes: None,
            alpha_gain: Fraction::from_ratio(1, 256),
            fast_recovery_stages: 1,
            additive_increase: scaled(20 * MEGABIT, line_rate, reference),
            hyper_increase: scaled(200 * MEGABIT, line_rate, reference),
            minimum_rate: BitsPerSecond(1000 * MEGABIT).min(line_rate),
            clamp_target_rate: false,
            clocked_cuts: true,
            notification_interval: Picos::ZERO,
            notification: Notification::Cnp,
        }
    }

    /// The values of the DCQCN paper, given there at 40 Gbit/s. The paper has no value for hyper increase: this is
    /// ten times the additive step, as in IEEE 802.1Qau, from which DCQCN takes its stages.
    pub fn paper(line_rate: BitsPerSecond) -> Self {
        let reference = BitsPerSecond(40 * GIGABIT);
        Self {
            alpha_interval: Picos(55 * MICROSECOND),
            rate_decrease_interval: Picos(50 * MICROSECOND),
            rate_increase_interval: Picos(55 * MICROSECOND),
            rate_increase_bytes: Some(Bytes(10_000_000)),
            alpha_gain: Fraction::from_ratio(1, 256),
            fast_recovery_stages: 5,
            additive_increase: scaled(40 * MEGABIT, line_rate, reference),
            hyper_increase: scaled(400 * MEGABIT, line_rate, reference),
            minimum_rate: BitsPerSecond(40 * MEGABIT).min(line_rate),
            clamp_target_rate: true,
            clocked_cuts: false,
            notification_interval: Picos(50 * MICROSECOND),
            notification: Notification::Cnp,
        }
    }

    /// The values of the ConWeave artifact's simulator, given there at 100 Gbit/s.
    pub fn conweave(line_rate: BitsPerSecond) -> Self {
        let reference = BitsPerSecond(100 * GIGABIT);
        Self {
            additive_increase: scaled(40 * MEGABIT, line_rate, reference),
            hyper_increase: scaled(100 * MEGABIT, line_rate, reference),
            minimum_rate: BitsPerSecond(100 * MEGABIT).min(line_rate),
            notification_interval: Picos(4 * MICROSECOND),
            ..Self::hpcc(line_rate)
        }
    }
}

/// `step` at `reference`, in proportion at `line_rate`, at least 1 bit/s.
fn scaled(step: u64, line_rate: BitsPerSecond, reference: BitsPerSecond) -> BitsPerSecond {
    let product = u128::from(step) * u128::from(line_rate.0);
    let scaled = u64::try_from(product / u128::from(reference.0)).unwrap_or(u64::MAX);
    BitsPerSecond(scaled.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each at the rate that it is given for; times in picoseconds, rates in bits per second.
    #[test]
    fn a_profile_has_the_values_of_its_source() {
        let alpha_gain = Fraction::from_ratio(1, 256);
        let hpcc = Parameters {
            alpha_interval: Picos(1_000_000),
            rate_decrease_interval: Picos(4_000_000),
            rate_increase_interval: Picos(300_000_000),
            rate_increase_bytes: None,
            alpha_gain,
            fast_recovery_stages: 1,
            additive_increase: BitsPerSecond(20_000_000),
            hyper_increase: BitsPerSecond(200_000_000),
            minimum_rate: BitsPerSecond(1_000_000_000),
            clamp_target_rate: false,
            clocked_cuts: true,
            notification_interval: Picos(0),
            notification: Notification::Cnp,
        };
        let conweave = Parameters {
            additive_increase: BitsPerSecond(40_000_000),
            hyper_increase: BitsPerSecond(100_000_000),
            minimum_rate: BitsPerSecond(100_000_000),
            notification_interval: Picos(4_000_000),
            ..hpcc
        };
        let paper = Parameters {
            alpha_interval: Picos(55_000_000),
            rate_decrease_interval: Picos(50_000_000),
            rate_increase_interval: Picos(55_000_000),
            rate_increase_bytes: Some(Bytes(10_000_000)),
            alpha_gain,
            fast_recovery_stages: 5,
            additive_increase: BitsPerSecond(40_000_000),
            hyper_increase: BitsPerSecond(400_000_000),
            minimum_rate: BitsPerSecond(40_000_000),
            clamp_target_rate: true,
            clocked_cuts: false,
            notification_interval: Picos(50_000_000),
            notification: Notification::Cnp,
        };
        assert_eq!(Parameters::hpcc(BitsPerSecond(100_000_000_000)), hpcc);
        assert_eq!(Parameters::conweave(BitsPerSecond(100_000_000_000)), conweave);
        assert_eq!(Parameters::paper(BitsPerSecond(40_000_000_000)), paper);
    }

    #[test]
    fn steps_grow_with_the_line_rate_and_nothing_else_does() {
        for (profile, reference, additive, hyper) in [
            (Parameters::hpcc as fn(_) -> _, 100 * GIGABIT, 20 * MEGABIT, 200 * MEGABIT),
            (Parameters::conweave, 100 * GIGABIT, 40 * MEGABIT, 100 * MEGABIT),
            (Parameters::paper, 40 * GIGABIT, 40 * MEGABIT, 400 * MEGABIT),
        ] {
            let given: Parameters = profile(BitsPerSecond(reference));
            for (rate, additive, hyper) in [
                (reference / 4, additive / 4, hyper / 4),
                (4 * reference, 4 * additive, 4 * hyper),
                // A step of less than a bit is one.
                (reference / (100 * MEGABIT), 1, hyper / (100 * MEGABIT)),
            ] {
                let expected = Parameters {
                    additive_increase: BitsPerSecond(additive),
                    hyper_increase: BitsPerSecond(hyper.max(1)),
                    minimum_rate: given.minimum_rate.min(BitsPerSecond(rate)),
                    ..given
                };
                assert_eq!(profile(BitsPerSecond(rate)), expected, "at {rate} bit/s");
            }
        }
    }

    #[test]
    fn the_minimum_is_never_above_the_line_rate() {
        let slow = BitsPerSecond(10 * MEGABIT);
        assert_eq!(Parameters::hpcc(slow).minimum_rate, slow);
        assert_eq!(Parameters::paper(slow).minimum_rate, slow);
        assert_eq!(Parameters::conweave(slow).minimum_rate, slow);
    }
}
