//! State OFF of an ingress queue or a port, and its traffic until its PAUSE must have taken effect.

use results::{Measure, Measurements};
use units::Picos;

use super::headroom_study::Passage;

/// Distributions that collect the measurements of a state.
#[derive(Clone, Copy, Debug)]
pub struct OffMeasures {
    /// Arriving traffic, Mbit/s.
    pub arrival_rate: Measure,
    /// Departing traffic, Mbit/s.
    pub departure_rate: Measure,
    /// Time from OFF to ON, ns.
    pub duration: Measure,
}

/// The traffic until a PAUSE must have taken effect.
#[derive(Clone, Copy, Debug)]
struct Window {
    end: Picos,
    arrived_bytes: u64,
    departed_bytes: u64,
}

/// Follows one state from OFF to ON.
#[derive(Clone, Copy, Debug)]
pub struct OffState {
    measures: OffMeasures,
    /// Max time after a PAUSE in which packets may still arrive.
    effect: Picos,
    /// Instant of the decision to pause; `None` in state ON.
    since: Option<Picos>,
    window: Option<Window>,
}

impl OffState {
    /// State ON.
    pub const fn new(measures: OffMeasures, effect: Picos) -> Self {
        Self { measures, effect, since: None, window: None }
    }

    /// True in state OFF.
    pub const fn is_off(&self) -> bool {
        self.since.is_some()
    }

    /// Counts a packet of `length` bytes that comes or leaves, before it changes the state.
    pub fn count_passage(
        &mut self,
        now: Picos,
        length: u64,
        passage: Passage,
        measured: &mut Measurements,
    ) {
        self.close_window(now, measured);
        if let Some(window) = &mut self.window {
            match passage {
                Passage::Arrival => window.arrived_bytes += length,
                Passage::Departure => window.departed_bytes += length,
            }
        }
    }

    /// Sets the state from `now` on: OFF or ON.
    pub fn turn(&mut self, off: bool, now: Picos, measured: &mut Measurements) {
        match (off, self.since) {
            (true, None) => {
                self.since = Some(now);
                let end = now + self.effect;
                self.window.get_or_insert(Window { end, arrived_bytes: 0, departed_bytes: 0 });
            }
            (false, Some(since)) => {
                measured.record(self.measures.duration, (now - since).to_nanos().0, 1);
                self.since = None;
            }
            _ => {}
        }
    }

    /// Ends the run. A pause that has not ended counts with its length up to now.
    pub fn finish(&mut self, now: Picos, measured: &mut Measurements) {
        self.close_window(now, measured);
        self.turn(false, now, measured);
    }

    /// Records the rates of a window that ended before `now`.
    fn close_window(&mut self, now: Picos, measured: &mut Measurements) {
        if let Some(window) = self.window.take_if(|window| window.end < now) {
            let rate = |bytes| megabits(bytes, self.effect);
            measured.record(self.measures.arrival_rate, rate(window.arrived_bytes), 1);
            measured.record(self.measures.departure_rate, rate(window.departed_bytes), 1);
        }
    }
}

/// Converts bytes in a span to Mbit/s.
fn megabits(bytes: u64, span: Picos) -> u64 {
    const BITS_IN_A_MICROSECOND: u128 = 8_000_000;
    (u128::from(bytes) * BITS_IN_A_MICROSECOND / u128::from(span.0)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_in_80_picoseconds_is_100_gigabits_a_second() {
        assert_eq!(megabits(1000, Picos(80_000)), 100_000);
    }

    /// If a PAUSE takes 1000 ps, its effect begins after these, not before.
    #[test]
    fn what_passes_at_the_end_of_the_window_counts() {
        let of_queues = OffMeasures {
            arrival_rate: Measure::ArrivalRate,
            departure_rate: Measure::DepartureRate,
            duration: Measure::PauseDuration,
        };
        let mut measured = Measurements::default();
        let mut state = OffState::new(of_queues, Picos(1000));
        state.turn(true, Picos(500), &mut measured);
        for (now, passage) in [
            (1500, Passage::Arrival),
            (1500, Passage::Departure),
            (1500, Passage::Departure),
            (1501, Passage::Arrival),
            (1501, Passage::Departure),
        ] {
            state.count_passage(Picos(now), 1, passage, &mut measured);
        }
        state.finish(Picos(9500), &mut measured);
        let values: Vec<_> =
            measured.rows().iter().map(|row| (row.measure, row.value, row.weight)).collect();
        // A byte in 1000 ps is 8000 Mbit/s, in a bucket from 8000 on; two are 16,000.
        assert_eq!(
            values,
            [
                (Measure::ArrivalRate, 8000, 1),
                (Measure::DepartureRate, 16_000, 1),
                (Measure::PauseDuration, 9, 1)
            ]
        );
    }
}
