//! Samples of queue lengths: each is an event of the simulator, and inserts the next one.
//!
//! An instant's sample sees what the events of that instant with lower numbers have done. Samples are not in the queue,
//! because they change nothing; their numbers are taken when they would have run.

use scenario::Scenario;
use units::Picos;

use super::queue::{Event, Queue};
use crate::hpcc_options::queue_sampling;

/// The next sample and the latest one.
#[derive(Clone, Copy, Debug)]
pub struct Samples {
    next: Option<(Picos, u64)>,
    interval: Picos,
    stop: Picos,
    /// Instant of the latest sample.
    pub taken: Option<Picos>,
}

impl Samples {
    /// Samples as a scenario asks for them; the first has the number `serial`.
    pub fn new(scenario: &Scenario, serial: u64) -> Self {
        let sampling = queue_sampling(scenario);
        let picos = Picos::from_nanos;
        Self {
            next: sampling.map(|sampling| (picos(sampling.start), serial)),
            interval: sampling.map_or(Picos(1), |sampling| picos(sampling.interval)),
            stop: sampling.and_then(|sampling| sampling.stop).map_or(Picos::MAX, picos),
            taken: None,
        }
    }

    /// Takes the samples before an event.
    #[inline]
    pub fn take_before(&mut self, event: &Event, queue: &mut Queue) {
        while let Some((at, serial)) =
            self.next.filter(|(at, serial)| (at.0, *serial) < event.key())
        {
            debug_assert!(serial < u64::MAX);
            self.taken = Some(at);
            let later = at + self.interval;
            self.next = (at < self.stop).then(|| (later, queue.reserve()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::queue::What;
    use super::*;

    #[test]
    fn a_sample_comes_before_events_that_were_inserted_behind_it() {
        let mut queue = Queue::default();
        let serial = queue.reserve();
        let mut samples = Samples {
            next: Some((Picos(100), serial)),
            interval: Picos(100),
            stop: Picos(300),
            taken: None,
        };
        // The sample at 200 is inserted at 100, in front of the second event.
        for (at, inserted, expected) in
            [(100, 200, Some(100)), (150, 200, Some(100)), (200, 0, Some(200))]
        {
            queue.insert(Picos(at), 0, What::Starts);
            let event = queue.pop(Picos(at + 1)).expect("it is due");
            samples.take_before(&event, &mut queue);
            assert_eq!(samples.taken, expected.map(Picos), "{at}");
            if inserted > 0 {
                drop(queue.reserve().to_string());
            }
        }
        queue.insert(Picos(900), 0, What::Starts);
        let event = queue.pop(Picos(901)).expect("it is due");
        samples.take_before(&event, &mut queue);
        assert_eq!((samples.taken, samples.next), (Some(Picos(300)), None), "the last");
    }
}
