//! Estimate of the headroom that a queue needs: phi-hat (Section IV-C), in two forms.
//!
//! A gradient is a fraction of the line rate C in units of 2^-16 ([`LINE_RATE`]). Phi is the number of bytes that
//! arrive at line rate during the delay D until a PAUSE takes effect, so Eq. 8 is `phi-hat = (g / C) Phi` and needs no
//! D. It is clamped to 0..=Phi: a queue that shrinks needs no headroom, and no queue needs more than the worst case.
//!
//! The forms differ in the division that computes a gradient and in the multiplication of Eq. 8. The averages of Eq. 5
//! to 7, in between, are common to both; their weights are powers of two, so that they need only shifts.
//!
//! A gradient by look-up is within 1/128 of the quotient. The error is the sum of half an interval of each table, 1/512
//! of an octave in the exponential and 1/512 of the number in both logarithms, and of the rounding of the entries. The
//! averages cannot amplify it, Eq. 7 adds `1 + 2 k` such errors, and Fig. 12 adds a step. So phi-hat differs by at most
//! `((1 + 2 k) G / 128 + 1/64) Phi`, G being the max gradient so far, plus the rounding of shifts (0.1 % of Phi with
//! the paper's parameters). This holds for changes of less than 16 MB in less than eight seconds; the division clamps
//! larger changes to these.

use units::Nanos;

use super::settings::{Estimation, Options};
use super::state::{
    self, HeadroomSteps, Logarithms, QueueLine, STEPS, SettingsLine, logarithms, steps,
};
use crate::map_abi::{IngressQueue, Port};
use crate::scheme::Ingress;
use crate::tables::Tables;

/// Gradient of a queue that grows at its port's line rate.
pub const LINE_RATE: i64 = 1 << 16;
/// Max gradient, rising or falling: 16 times the line rate, at which a queue of a 16-port switch
/// falls when all of its packets leave at once.
pub const STEEPEST: i64 = 16 * LINE_RATE;
/// Fractional bits of a logarithm.
const LOG_FRACTION_BITS: u32 = 10;

/// Division and multiplication of one form.
pub trait EstimationArithmetic {
    /// Returns `bytes / ns` as a fraction of the line rate, at most [`STEEPEST`].
    fn gradient(bytes: u64, ns: u64, operands: &Operands<'_>) -> i64;
    /// Returns the headroom of Eq. 8 for a gradient of 1 to [`LINE_RATE`].
    fn headroom(gradient: u64, operands: &Operands<'_>) -> u32;
}

/// Inputs of both forms.
#[derive(Debug)]
pub struct Operands<'a> {
    /// The port.
    pub port: &'a Port,
    /// Look-up table from the port's gradients to headroom.
    pub steps: HeadroomSteps<'a>,
    /// Tables of logarithm and exponential.
    pub logarithms: Logarithms<'a>,
}

/// Algorithm 2: division and multiplication.
#[derive(Debug)]
pub struct Conceptual;

impl EstimationArithmetic for Conceptual {
    #[inline(always)]
    fn gradient(bytes: u64, ns: u64, operands: &Operands<'_>) -> i64 {
        // 2^16 bytes x 8 bits x 10^6 per kbit/s and ns: below 2^63 with 24 bits of bytes, and the divisor
        // below 2^63 with 33 bits of time.
        let bytes = bytes.min((1 << 24) - 1);
        let kilobits_per_second = (operands.port.rate_bps.load() / 1000).min(1 << 30);
        let divisor = (ns.min(1 << 33) * kilobits_per_second).max(1);
        let gradient = (bytes << 16) * 8_000_000 / divisor;
        gradient.min(STEEPEST.cast_unsigned()).cast_signed()
    }

    #[inline(always)]
    fn headroom(gradient: u64, operands: &Operands<'_>) -> u32 {
        let phi = u64::from(operands.steps.phi_bytes().load());
        // Rounded up: an estimate that is too low pauses the port.
        ((gradient * phi + (LINE_RATE.cast_unsigned() - 1)) >> 16) as u32
    }
}

/// Algorithm 3: look-ups in tables computed by the control plane.
#[derive(Debug)]
pub struct Practical;

impl EstimationArithmetic for Practical {
    #[inline(always)]
    fn gradient(bytes: u64, ns: u64, operands: &Operands<'_>) -> i64 {
        if bytes == 0 {
            return 0;
        }
        let Operands { steps, logarithms, .. } = *operands;
        let logarithm = log2(logarithms, bytes) + i64::from(steps.byte_per_ns_log2().load())
            - log2(logarithms, ns);
        if logarithm < 0 {
            return 0;
        }
        let exponent = logarithm >> LOG_FRACTION_BITS;
        if exponent >= i64::from(STEEPEST.trailing_zeros()) {
            return STEEPEST;
        }
        let fraction = logarithm.cast_unsigned() >> (LOG_FRACTION_BITS - 8);
        let mantissa = u64::from(logarithms.exp2(fraction).load());
        (mantissa << exponent >> 16).cast_signed()
    }

    #[inline(always)]
    fn headroom(gradient: u64, operands: &Operands<'_>) -> u32 {
        let step = gradient / (LINE_RATE.cast_unsigned() / STEPS as u64);
        operands.steps.bytes((step as usize).min(STEPS - 1)).load()
    }
}

/// Returns log2 of `value`, which is not 0.
#[inline(always)]
fn log2(logarithms: Logarithms<'_>, value: u64) -> i64 {
    let leading = value.leading_zeros();
    let fraction = (value << leading) >> 55;
    (i64::from(63 - leading) << LOG_FRACTION_BITS) + i64::from(logarithms.log2(fraction).load())
}

/// Inputs of the estimate of one queue.
#[derive(Debug)]
pub struct Estimator<'a> {
    /// The weights of the averages.
    pub settings: &'a SettingsLine,
    /// The averages.
    pub queue: &'a QueueLine,
    form: Estimation,
    operands: Operands<'a>,
}

impl<'a> Estimator<'a> {
    /// Creates the estimator of the queue `at`. Needs four look-ups in maps.
    #[inline(always)]
    pub fn new<T: Tables>(at: &Ingress<'a, T>) -> Option<Self> {
        Some(Self {
            settings: state::settings(at.tables)?,
            queue: state::queue(at)?,
            form: Options::from_bits(at.policy.options).estimation,
            operands: Operands {
                port: at.port,
                steps: steps(at.tables, at.port_number)?,
                logarithms: logarithms(at.tables)?,
            },
        })
    }

    /// Measures the length of `queue` and updates the averages (Algorithm 2 and 3, lines 2 to 5).
    #[inline(always)]
    pub fn measure(&self, queue: &IngressQueue, now: Nanos) {
        let Self { settings, queue: line, form, ref operands } = *self;
        let length =
            queue.private_bytes.load() + queue.shared_bytes.load() + queue.headroom_bytes.load();
        let length = length.min(u64::from(u32::MAX));
        let before = u64::from(line.measured_bytes.load());
        // Packets of the same nanosecond count as one nanosecond apart.
        let ns = now.0.saturating_sub(line.measured_ns.load()).max(1);
        line.measured_bytes.store(length as u32);
        line.measured_ns.store(now.0);
        let change = length.abs_diff(before);
        let steepness = match form {
            Estimation::Practical => Practical::gradient(change, ns, operands),
            Estimation::Conceptual => Conceptual::gradient(change, ns, operands),
        };
        average(settings, line, if length < before { -steepness } else { steepness });
    }

    /// Returns phi-hat: Eq. 7, and Eq. 8 or the function of Fig. 12; 0..=Phi.
    #[inline(always)]
    pub fn headroom(&self) -> u32 {
        let (mean, deviation) = averages(self.queue);
        let gradient = mean + (deviation << self.settings.deviation_gain_shift.load());
        if gradient <= 0 {
            return 0;
        }
        let gradient = gradient.min(LINE_RATE).cast_unsigned();
        match self.form {
            Estimation::Practical => Practical::headroom(gradient, &self.operands),
            Estimation::Conceptual => Conceptual::headroom(gradient, &self.operands),
        }
    }
}

/// Updates the averages with a gradient. Line 4 of Algorithm 3 reads `g_avg - w_g v`, but v has lost the sign of `g -
/// g_avg`, so a rising queue would lower its average. This function implements Eq. 5.
#[inline(always)]
fn average(settings: &SettingsLine, queue: &QueueLine, gradient: i64) {
    let (mean, deviation) = averages(queue);
    let off = gradient - mean;
    let mean = mean + (off >> settings.gradient_weight_shift.load());
    let deviation = deviation + ((off.abs() - deviation) >> settings.deviation_weight_shift.load());
    queue.gradient_average.store(mean.cast_unsigned() as u32);
    queue.gradient_deviation.store(deviation.cast_unsigned() as u32);
}

/// Returns the averages of Eq. 5 and 6.
#[inline(always)]
fn averages(queue: &QueueLine) -> (i64, i64) {
    let signed = |word: u32| i64::from(word.cast_signed());
    (signed(queue.gradient_average.load()), signed(queue.gradient_deviation.load()))
}

#[cfg(test)]
mod tests {
    use super::super::settings::Settings;
    use super::*;
    use crate::map_abi::SwitchConfig;
    use crate::policy::{MarkingScheme, Policy, SchemeKind, ThresholdScheme};
    use crate::priority::Priority;
    use crate::scheme::Configure as _;
    use crate::tables::owned::OwnedTables;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use units::{BitsPerSecond, Bytes};

    const PHI: u64 = 60_000;
    const FORMS: [Estimation; 2] = [Estimation::Conceptual, Estimation::Practical];

    fn tables(
        [gradient_weight_shift, deviation_weight_shift, deviation_gain_shift]: [u8; 3],
    ) -> OwnedTables {
        let tables = OwnedTables::new(SwitchConfig::default(), PHI);
        let settings = Settings {
            gradient_weight_shift,
            deviation_weight_shift,
            deviation_gain_shift,
            ..Settings::default()
        };
        settings.write(&tables, [(BitsPerSecond(100_000_000_000), Bytes(PHI)); 2]);
        tables
    }

    fn ingress(tables: &OwnedTables, form: Estimation) -> Ingress<'_, OwnedTables> {
        let policy = Policy::new(ThresholdScheme::Dynamic, MarkingScheme::Off).with_scheme(
            SchemeKind::Dsh,
            Options { estimation: form, ..Options::default() }.to_bits(),
        );
        Ingress::new(tables, policy, 0, Priority::new(0)).unwrap()
    }

    /// Returns phi-hat after each of `lengths`: (ns since the last measurement, length of the queue).
    fn estimates(shifts: [u8; 3], form: Estimation, lengths: &[(u64, u64)]) -> Vec<u32> {
        let tables = tables(shifts);
        let at = ingress(&tables, form);
        let mut now = 0;
        let estimate = |&(ns, length): &(u64, u64)| {
            now += ns;
            at.queue.shared_bytes.store(length);
            let estimator = Estimator::new(&at).unwrap();
            estimator.measure(at.queue, Nanos(now));
            estimator.headroom()
        };
        lengths.iter().map(estimate).collect()
    }

    /// By hand, at 12.5 bytes a nanosecond, w = 1/4 and k = 1: 1250 bytes in 1000 ns are g = 0.1.
    /// g_avg = v_avg = 0.025, phi-hat = 0.05 Phi. Then 2400 bytes in 400 ns, g = 0.48: v = 0.455,
    /// g_avg = 0.13875, v_avg = 0.1325, phi-hat = 0.27125 Phi. Then 625 bytes less in 100 ns, g = -0.5:
    /// v = 0.63875, g_avg = -0.0209375, v_avg = 0.2590625, phi-hat = 0.238125 Phi.
    #[test]
    fn algorithm_2_by_hand() {
        let lengths = [(1000, 1250), (400, 3650), (100, 3025)];
        let [conceptual, practical] = FORMS.map(|form| estimates([2, 2, 0], form, &lengths));
        for (got, expected) in conceptual.iter().zip([3000, 16_275, 14_288]) {
            assert!(got.abs_diff(expected) <= 4, "{conceptual:?}");
        }
        // Upper ends of the steps of Phi / 64 = 937.5 in Fig. 12 that contain the conceptual values.
        assert_eq!(practical, [3750, 16_875, 15_000]);
    }

    /// The case above with w_v = 1/2: v_avg = 0.05, then 0.05 + (0.455 - 0.05) / 2 = 0.2525, then
    /// 0.2525 + (0.63875 - 0.2525) / 2 = 0.445625; g_avg is unchanged.
    #[test]
    fn gradient_and_deviation_have_weights_of_their_own() {
        let lengths = [(1000, 1250), (400, 3650), (100, 3025)];
        let estimates = estimates([2, 1, 0], Estimation::Conceptual, &lengths);
        for (got, expected) in estimates.iter().zip([4500, 23_475, 25_481]) {
            assert!(got.abs_diff(expected) <= 4, "{estimates:?}");
        }
    }

    #[test]
    fn a_queue_at_line_rate_needs_phi_and_one_that_drains_nothing() {
        for form in FORMS {
            let rising: Vec<_> = (1..40).map(|packet| (80, packet * 1000)).collect();
            assert_eq!(*estimates([2, 2, 2], form, &rising).last().unwrap(), PHI as u32);
            let drained = (0..40u64).map(|packet| (160, 40_000 - packet * 1000));
            let steady: Vec<_> = [(1 << 30, 40_000)].into_iter().chain(drained).collect();
            assert_eq!(*estimates([2, 2, 2], form, &steady).last().unwrap(), 0);
        }
    }

    /// Line 4 of Algorithm 3 as printed would lower the average of a rising queue.
    #[test]
    fn the_average_follows_the_sign_of_the_gradient() {
        for form in FORMS {
            let tables = tables([2, 2, 2]);
            let at = ingress(&tables, form);
            let estimator = Estimator::new(&at).unwrap();
            at.queue.shared_bytes.store(1250);
            estimator.measure(at.queue, Nanos(1000));
            let (rising, _) = averages(estimator.queue);
            at.queue.shared_bytes.store(0);
            estimator.measure(at.queue, Nanos(1500));
            let (falling, _) = averages(estimator.queue);
            assert!(rising > 0 && falling < 0, "{rising}, {falling}");
        }
    }

    #[test]
    fn packets_of_one_nanosecond_and_long_silences_are_no_exception() {
        let lengths = [(0, 5_000_000_000), (0, 0), (1 << 62, 1), (1, 1), (1 << 40, 30_000_000)];
        for form in FORMS {
            for estimate in estimates([0, 6, 6], form, &lengths) {
                assert!(estimate <= PHI as u32);
            }
        }
    }

    /// Values up to 2^24 - 1 bytes, 2^33 ns and 2^30 kbit/s are not clamped.
    #[test]
    fn the_quotient_takes_larger_operands_for_the_largest() {
        let tables = tables([2, 2, 2]);
        let at = ingress(&tables, Estimation::Conceptual);
        let Estimator { operands, .. } = Estimator::new(&at).unwrap();
        let gradient = |bytes, ns, bits_per_second| {
            operands.port.rate_bps.store(bits_per_second);
            Conceptual::gradient(bytes, ns, &operands)
        };
        // 2^24 bytes in 2^30 ns are 2^19 times 2^-16 of this rate.
        let rate = 15_625_000;
        let of_bytes = [(1 << 24) - 1, 1 << 24, u64::MAX].map(|n| gradient(n, 1 << 30, rate));
        assert_eq!(of_bytes, [(1 << 19) - 1; 3]);
        let of_ns = [1 << 32, 1 << 33, 1 << 34, u64::MAX].map(|n| gradient(1 << 23, n, rate));
        assert_eq!(of_ns, [1 << 16, 1 << 15, 1 << 15, 1 << 15]);
        let rates = [1000 << 29, 1000 << 30, 1000 << 31, u64::MAX];
        let of_rate = rates.map(|rate| gradient(1 << 23, 15_625, rate));
        assert_eq!(of_rate, [1 << 19, 1 << 18, 1 << 18, 1 << 18]);
        assert_eq!(gradient(1, 1, 0), STEEPEST, "a rate of zero divides nothing");
    }

    /// A byte per nanosecond has the gradient 2^`log2`.
    #[test]
    fn a_look_up_spans_gradients_from_one_to_the_steepest() {
        let tables = tables([2, 2, 2]);
        let at = ingress(&tables, Estimation::Practical);
        let Estimator { operands, .. } = Estimator::new(&at).unwrap();
        for (log2, expected) in
            [(0, 1), (1, 2), (16, LINE_RATE), (19, STEEPEST / 2), (20, STEEPEST), (21, STEEPEST)]
        {
            operands.steps.byte_per_ns_log2().store(log2 << LOG_FRACTION_BITS);
            let found = Practical::gradient(1, 1, &operands);
            assert!(found >= expected && found <= expected + expected / 128, "{found}, 2^{log2}");
        }
        operands.steps.byte_per_ns_log2().store(0);
        let below_one =
            [(0, 1), (1, 2)].map(|(bytes, ns)| Practical::gradient(bytes, ns, &operands));
        assert_eq!(below_one, [0, 0]);
    }

    /// Phi-hat of both forms is 0 below a gradient of 1 and Phi from the line rate on.
    #[test]
    fn headroom_is_proportional_to_the_gradient_and_rounded_up() {
        let tables = tables([2, 2, 0]);
        for (gradient, conceptual, practical) in [
            (0, 0, 0),
            (1, 1, 938),
            (1023, 937, 938),
            (1024, 938, 1875),
            (LINE_RATE / 2, 30_000, 30_938),
            (LINE_RATE - 1, 60_000, 60_000),
            (LINE_RATE, 60_000, 60_000),
            (2 * LINE_RATE, 60_000, 60_000),
            (-LINE_RATE, 0, 0),
        ] {
            for (form, expected) in FORMS.into_iter().zip([conceptual, practical]) {
                let at = ingress(&tables, form);
                let estimator = Estimator::new(&at).unwrap();
                let mean = i32::try_from(gradient).unwrap();
                estimator.queue.gradient_average.store(mean.cast_unsigned());
                assert_eq!(estimator.headroom(), expected, "{gradient}, {form:?}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn a_look_up_is_within_a_128th_of_the_quotient(
            bytes in 1..1u64 << 24,
            ns in 1..1u64 << 33,
        ) {
            let tables = tables([2, 2, 2]);
            let at = ingress(&tables, Estimation::Practical);
            let Estimator { operands, .. } = Estimator::new(&at).unwrap();
            let exact = Conceptual::gradient(bytes, ns, &operands);
            let looked_up = Practical::gradient(bytes, ns, &operands);
            prop_assert!(exact.abs_diff(looked_up) <= exact.cast_unsigned() / 128 + 1, "{exact}, {looked_up}");
        }

        /// The bound of the module's documentation; a shift rounds down, by a unit of 2^-16 a time.
        #[test]
        fn both_forms_estimate_the_same_within_the_bound(
            shifts in [0..=6u8, 0..=6u8, 0..=6u8],
            lengths in vec((1..100_000u64, 0..2_000_000u64), 1..200),
        ) {
            let [conceptual, practical] = FORMS.map(|form| estimates(shifts, form, &lengths));
            let gain = 1u64 << shifts[2];
            let rounding = 2 + (2u64 << shifts[0]) + gain * ((2 << shifts[0]) + (1 << shifts[1]) + 2);
            let (mut steepest, mut before) = (0, 0);
            for (&(ns, length), (exact, looked_up)) in
                lengths.iter().zip(conceptual.iter().zip(&practical))
            {
                let gradient = length.abs_diff(before) * LINE_RATE.cast_unsigned() * 2 / (25 * ns);
                steepest = steepest.max(gradient.min(STEEPEST.cast_unsigned()));
                before = length;
                let units = (1 + 2 * gain) * steepest.div_ceil(128) + rounding + LINE_RATE.cast_unsigned() / 64;
                let bound = (PHI * units).div_ceil(LINE_RATE.cast_unsigned()) + 1;
                prop_assert!(u64::from(exact.abs_diff(*looked_up)) <= bound, "{exact}, {looked_up}");
            }
        }
    }
}
