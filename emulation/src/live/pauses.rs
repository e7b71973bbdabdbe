//! PAUSE frames received on each wire, and the time for which they paused each priority.
//!
//! The engine adds them up as the notes of pauses reach the record, because views once a second would miss most pauses.

use topology::WireId;
use units::Nanos;

const PRIORITIES: usize = 8;

/// See the module.
#[derive(Debug)]
pub struct Pauses {
    /// Pauses by wire and priority.
    wires: Vec<[Pause; PRIORITIES]>,
}

/// Pauses of one priority, received on one wire.
#[derive(Clone, Copy, Debug, Default)]
struct Pause {
    /// Number of PAUSE frames for the priority, renewals included.
    frames: u64,
    /// Paused time before `since`.
    held: Nanos,
    /// Start and end of the last pause, unless another frame changes it.
    since: Nanos,
    until: Nanos,
}

impl Pause {
    fn receive(&mut self, now: Nanos, until: Nanos) {
        self.held = self.held_at(now);
        (self.since, self.until) = (now, until);
        self.frames += u64::from(until > now);
    }

    fn held_at(&self, now: Nanos) -> Nanos {
        Nanos(self.held.0 + self.until.min(now).0.saturating_sub(self.since.0))
    }
}

impl Pauses {
    /// No pauses, on `wires` wires.
    pub fn new(wires: usize) -> Self {
        Self { wires: vec![[Pause::default(); PRIORITIES]; wires] }
    }

    /// Records a PFC frame that pauses a priority until `until`; for a RESUME, `until` is not after `now`.
    pub fn receive(&mut self, wire: WireId, priority: u8, now: Nanos, until: Nanos) {
        self.wires[wire.0 as usize][usize::from(priority)].receive(now, until);
    }

    /// Number of PAUSE frames received on a wire, by priority.
    pub fn frames(&self, wire: WireId) -> [u64; PRIORITIES] {
        self.wires[wire.0 as usize].map(|pause| pause.frames)
    }

    /// Paused time by priority, ns, from PFC frames received on the wire.
    pub fn held_ns(&self, wire: WireId, now: Nanos) -> [u64; PRIORITIES] {
        self.wires[wire.0 as usize].map(|pause| pause.held_at(now).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_priority_is_held_from_a_pause_to_its_end_or_a_resume() {
        let mut pauses = Pauses::new(2);
        let held = |pauses: &Pauses, now| pauses.held_ns(WireId(1), Nanos(now))[3];
        pauses.receive(WireId(1), 3, Nanos(100), Nanos(300));
        assert_eq!([100, 150, 300, 900].map(|now| held(&pauses, now)), [0, 50, 200, 200]);
        // Renewed before its end, then resumed.
        pauses.receive(WireId(1), 3, Nanos(200), Nanos(400));
        pauses.receive(WireId(1), 3, Nanos(350), Nanos(350));
        assert_eq!(held(&pauses, 900), 250);
        // A RESUME of a priority that is not paused changes nothing; the next pause counts from its start.
        pauses.receive(WireId(1), 3, Nanos(500), Nanos(500));
        pauses.receive(WireId(1), 3, Nanos(800), Nanos(1000));
        assert_eq!(held(&pauses, 900), 350);
        assert_eq!(pauses.frames(WireId(1)), [0, 0, 0, 3, 0, 0, 0, 0]);
        assert_eq!(pauses.frames(WireId(0)), [0; 8]);
    }
}
