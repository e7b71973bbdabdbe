//! Random variates in integers: exponential, normal and lognormal.

use super::logarithm::{FRACTION_BITS, exponential, negative_ln};
use super::random::RandomStream;

/// Distribution of the gaps between arrivals about their mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// Constant gaps.
    Even,
    /// Exponential gaps: arrivals are a Poisson process.
    Exponential,
    /// Lognormal gaps; sigma is the standard deviation of the gap's logarithm.
    Lognormal {
        /// Thousandths of sigma, at most 10,000.
        sigma_thousandths: u32,
    },
}

impl Gaps {
    /// Draws a gap whose expectation is `mean`, which is below 2^80.
    pub fn draw(self, mean: u128, stream: &mut RandomStream) -> u128 {
        match self {
            Self::Even => mean,
            Self::Exponential => {
                // Of a variate below 45, 46 bits remain, and 40 of them are its fraction.
                let variate = negative_ln(stream.bits().max(1)) >> (FRACTION_BITS - 40);
                (mean * u128::from(variate)) >> 40
            }
            Self::Lognormal { sigma_thousandths } => {
                let sigma = i128::from(sigma_thousandths);
                // E[exp(sigma Z)] = exp(sigma^2 / 2): with this subtracted, the mean is one.
                let power = sigma * i128::from(normal(stream)) / 1000
                    - ((sigma * sigma) << FRACTION_BITS) / 2_000_000;
                exponential(power).scale(mean)
            }
        }
    }
}

/// Draws a standard normal variate with 48 fractional bits, by Marsaglia's polar method: for a
/// point (u, v) in the unit cycle with s = u^2 + v^2, it is u / sqrt(s) x sqrt(-2 ln s).
fn normal(stream: &mut RandomStream) -> i64 {
    loop {
        let [u, v] = [0; 2].map(|_| i128::from(stream.bits().cast_signed()));
        let square = (u * u + v * v).unsigned_abs();
        let Ok(s @ 1..) = u64::try_from(square >> 62) else { continue };
        let radius = (u128::from(2 * negative_ln(s)) << 64).isqrt();
        let variate = u * radius.cast_signed() / square.isqrt().cast_signed();
        return (variate >> 8).try_into().expect("a variate is below 10, with 48 bits");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: u64 = 200_000;

    /// Mean and variance of the gaps over a mean of 2^40.
    fn moments(gaps: Gaps) -> (f64, f64) {
        let mut stream = RandomStream::new(11, 0, 0);
        let mean = 1u128 << 40;
        let draws: Vec<f64> =
            (0..COUNT).map(|_| gaps.draw(mean, &mut stream) as f64 / mean as f64).collect();
        let average = draws.iter().sum::<f64>() / COUNT as f64;
        let variance = draws.iter().map(|draw| (draw - average).powi(2)).sum::<f64>();
        (average, variance / COUNT as f64)
    }

    #[test]
    fn exponential_gaps_have_their_moments() {
        let (mean, variance) = moments(Gaps::Exponential);
        assert!((mean - 1.0).abs() < 0.007, "{mean}");
        assert!((variance - 1.0).abs() < 0.02, "{variance}");
    }

    #[test]
    fn lognormal_gaps_have_their_moments() {
        let (mean, variance) = moments(Gaps::Lognormal { sigma_thousandths: 500 });
        assert!((mean - 1.0).abs() < 0.004, "{mean}");
        assert!((variance - (0.25f64.exp() - 1.0)).abs() < 0.01, "{variance}");
        let (mean, _) = moments(Gaps::Lognormal { sigma_thousandths: 2000 });
        assert!((mean - 1.0).abs() < 0.06, "{mean}");
    }

    #[test]
    fn normal_variates_have_their_moments_and_tails() {
        let mut stream = RandomStream::new(5, 0, 0);
        let draws: Vec<f64> = (0..COUNT)
            .map(|_| normal(&mut stream) as f64 / (1u64 << FRACTION_BITS) as f64)
            .collect();
        let moment = |power| draws.iter().map(|draw| draw.powi(power)).sum::<f64>() / COUNT as f64;
        assert!(moment(1).abs() < 0.01);
        assert!((moment(2) - 1.0).abs() < 0.01);
        assert!(moment(3).abs() < 0.03);
        assert!((moment(4) - 3.0).abs() < 0.08);
        let beyond = draws.iter().filter(|draw| draw.abs() > 1.959_964).count() as f64;
        assert!((beyond / COUNT as f64 - 0.05).abs() < 0.002);
    }
}
