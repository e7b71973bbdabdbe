//! Retransmission timeout of a connection (RFC 6298).

use units::Picos;

use super::{Parameters, TICK};

/// Estimate of the round trip, and the timeout derived from it.
#[derive(Clone, Copy, Debug)]
pub struct RetransmissionTimeout {
    /// Smoothed round trip and its variation, once there is one (`SRTT`, `RTTVAR`).
    estimate: Option<(Picos, Picos)>,
    timeout: Picos,
    /// Expiries of the timer since the last sample. Each doubles the timeout.
    backoffs: u32,
}

impl RetransmissionTimeout {
    /// Before the first sample (2.1).
    pub fn new(parameters: &Parameters) -> Self {
        Self { estimate: None, timeout: parameters.initial_timeout, backoffs: 0 }
    }

    /// Adds a measured round trip (2.2, 2.3).
    pub fn sample(&mut self, round_trip: Picos, parameters: &Parameters) {
        let (smoothed, variation) = match self.estimate {
            None => (round_trip.0, round_trip.0 / 2),
            Some((Picos(smoothed), Picos(variation))) => {
                let deviation = smoothed.abs_diff(round_trip.0);
                let variation = variation - variation / 4 + deviation / 4;
                (smoothed - smoothed / 8 + round_trip.0 / 8, variation)
            }
        };
        self.estimate = Some((Picos(smoothed), Picos(variation)));
        self.backoffs = 0;
        // The variation counts as a tick of the clock at least (G in 2.3).
        let timeout = Picos(smoothed.saturating_add(variation.saturating_mul(4).max(TICK.0)));
        self.timeout = timeout.clamp(parameters.minimum_timeout, parameters.maximum_timeout);
    }

    /// Records an expiry of the timer (5.5).
    pub fn back_off(&mut self) {
        self.backoffs = (self.backoffs + 1).min(63);
    }

    /// The present timeout.
    #[inline]
    pub fn now(&self, parameters: &Parameters) -> Picos {
        if self.backoffs == 0 {
            return self.timeout;
        }
        let doubled = u128::from(self.timeout.0) << self.backoffs;
        Picos(u64::try_from(doubled).unwrap_or(u64::MAX)).min(parameters.maximum_timeout)
    }

    /// The smoothed round trip, if one was measured.
    #[inline]
    pub fn smoothed(&self) -> Option<Picos> {
        self.estimate.map(|(smoothed, _)| smoothed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::tests::PARAMETERS;

    #[test]
    fn the_timeout_follows_round_trips() {
        let us = |count: u64| Picos(count * TICK.0);
        let parameters = Parameters { minimum_timeout: TICK, ..PARAMETERS };
        let mut timeout = RetransmissionTimeout::new(&parameters);
        assert_eq!(timeout.now(&parameters), PARAMETERS.initial_timeout);
        timeout.sample(us(800), &parameters);
        assert_eq!(timeout.now(&parameters), us(800 + 4 * 400));
        timeout.sample(us(1600), &parameters);
        // RTTVAR = 3/4 400 + 1/4 800, SRTT = 7/8 800 + 1/8 1600.
        assert_eq!(timeout.smoothed(), Some(us(900)));
        assert_eq!(timeout.now(&parameters), us(900 + 4 * 500));
        timeout.back_off();
        timeout.back_off();
        assert_eq!(timeout.now(&parameters), us(4 * 2900));
        timeout.sample(us(900), &parameters);
        assert_eq!(timeout.now(&parameters), us(900 + 4 * 375), "a sample ends the backing off");
    }

    #[test]
    fn the_timeout_has_bounds() {
        let mut timeout = RetransmissionTimeout::new(&PARAMETERS);
        timeout.sample(Picos(8), &PARAMETERS);
        assert_eq!(timeout.now(&PARAMETERS), PARAMETERS.minimum_timeout);
        for _ in 0..100 {
            timeout.back_off();
        }
        assert_eq!(timeout.now(&PARAMETERS), PARAMETERS.maximum_timeout);
    }
}
