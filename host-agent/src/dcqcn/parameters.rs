//! What can be tuned in DCQCN, and the three sets of values in use.

use fabric_core::units::{BitsPerSecond, Bytes, Picos};

use super::Fraction;

const MICROSECOND: u64 = 1_000_000;
const MEGABIT: u64 = 1_000_000;
const GIGABIT: u64 = 1_000 * MEGABIT;

/// Parameters of the reaction and notification points. All intervals of the reaction point are
/// positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// How often alpha is updated (K in the paper, its Eq. 2).
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
    /// No cut goes below it.
    pub minimum_rate: BitsPerSecond,
    /// Whether each cut lowers the target to the rate before the cut, as in the paper. Otherwise a
    /// cut that follows another before any rise keeps the target.
    pub clamp_target_rate: bool,
    /// At most one CNP per queue pair in this span; zero: one for every marked packet.
    pub notification_interval: Picos,
}

impl Parameters {
    /// The values of the HPCC artifact's simulator, given there at 100 Gbit/s.
    ///
    /// Here as in the other profiles, the steps of the target rate grow in proportion to the line
    /// rate, and all else stays.
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
            notification_interval: Picos::ZERO,
        }
    }

    /// The values of the DCQCN paper, given there at 40 Gbit/s. It names no hyper increase: this is
    /// ten times the additive one, as in IEEE 802.1Qau, from which DCQCN has its stages.
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
            notification_interval: Picos(50 * MICROSECOND),
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
    BitsPerSecond(((product / u128::from(reference.0)) as u64).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_scale_with_the_line_rate() {
        let at_25g = Parameters::hpcc(BitsPerSecond(25 * GIGABIT));
        assert_eq!(at_25g.additive_increase, BitsPerSecond(5 * MEGABIT));
        assert_eq!(at_25g.hyper_increase, BitsPerSecond(50 * MEGABIT));
        assert_eq!(at_25g.minimum_rate, BitsPerSecond(GIGABIT));
        let paper = Parameters::paper(BitsPerSecond(100 * GIGABIT));
        assert_eq!(paper.additive_increase, BitsPerSecond(100 * MEGABIT));
        let conweave = Parameters::conweave(BitsPerSecond(100 * GIGABIT));
        assert_eq!(conweave.hyper_increase, BitsPerSecond(100 * MEGABIT));
        assert_eq!(conweave.rate_increase_interval, Picos(300 * MICROSECOND));
    }

    #[test]
    fn the_minimum_is_never_above_the_line_rate() {
        let slow = BitsPerSecond(10 * MEGABIT);
        assert_eq!(Parameters::hpcc(slow).minimum_rate, slow);
        assert_eq!(Parameters::paper(slow).minimum_rate, slow);
        assert_eq!(Parameters::conweave(slow).minimum_rate, slow);
    }
}
