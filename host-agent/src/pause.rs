//! Pauses that a NIC obeys, by queue: the receiver's side of PFC (IEEE 802.1Qbb, 36.2), of pauses of single queues and
//! of rates (`fabric_core::wire::hop_control`).

mod queue_pause;

use fabric_core::hop_control::{ClassPauses, LINE_RATE};
use fabric_core::map_abi::PRIORITIES;
use fabric_core::priority::{self, Priority};
use fabric_core::queue::{QueueId, QueueRange, QueueRanges, QueueSet, places};
use fabric_core::wire::pfc::quantum_duration;
use units::{BitsPerSecond, Picos};

use queue_pause::QueuePause;

/// The effect of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseOutcome {
    /// At least one of the classes or queues that it names is paused.
    Paused,
    /// All named classes or queues are resumed.
    Resumed,
    /// Ignored, because the frame names no class, or no queue that the NIC has.
    Nothing,
}

/// The rate at which the neighbour takes one priority, and the last packet of it (GFC).
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    /// Kilobits a second; 0: at line rate.
    kilobits_per_second: u32,
    started: Picos,
    /// On the wire.
    bytes: u64,
}

impl Pace {
    /// Earliest start of the next packet: the last packet's start plus its time on the wire at this rate, rounded up to
    /// a picosecond.
    fn opens(&self) -> Picos {
        if self.kilobits_per_second == 0 {
            return Picos::ZERO;
        }
        let picosecond_bits = u128::from(self.bytes) * 8_000_000_000;
        let time = picosecond_bits.div_ceil(self.kilobits_per_second.into());
        self.started + Picos(u64::try_from(time).unwrap_or(u64::MAX / 2))
    }
}

/// The pause timers of a port's queues. A queue stops while its class is paused, while it is paused itself, and in the gap
/// behind a packet of its priority if the neighbour has set a rate.
#[derive(Debug)]
pub struct PauseTimers {
    link_rate: BitsPerSecond,
    lasts: fn(BitsPerSecond, u16) -> Picos,
    response: Picos,
    queues: QueueRanges,
    /// By [`QueueId::place`].
    pauses: Box<[QueuePause]>,
    /// By priority.
    paces: [Pace; PRIORITIES],
}

impl PauseTimers {
    /// Timers without a paused queue. A PAUSE takes effect `response` after its reception.
    ///
    /// # Panics
    /// If two priorities share a queue: a resume of one would end the pause of the other.
    pub fn new(link_rate: BitsPerSecond, response: Picos, queues: QueueRanges) -> Self {
        let mut taken = QueueSet::EMPTY;
        for range in queues {
            assert!(taken.and(range.queues()).is_empty(), "a queue of a NIC serves one priority");
            taken = taken.or(range.queues());
        }
        let pauses = vec![QueuePause::default(); places(&queues)].into_boxed_slice();
        let paces = [Pace::default(); PRIORITIES];
        Self { link_rate, lasts: quantum_duration, response, queues, pauses, paces }
    }

    /// Sets the time of a pause at the link's rate, by its quanta.
    pub fn lasting(self, lasts: fn(BitsPerSecond, u16) -> Picos) -> Self {
        Self { lasts, ..self }
    }

    /// Entries of a table with one for each queue, by [`QueueId::place`].
    pub fn places(&self) -> usize {
        self.pauses.len()
    }

    /// The queues that serve `priority`.
    #[inline]
    pub fn queues(&self, priority: Priority) -> QueueRange {
        self.queues[priority.index()]
    }

    /// The priority that a queue serves.
    #[inline]
    pub fn priority_of(&self, queue: QueueId) -> Priority {
        let serves = |priority: &Priority| self.queues(*priority).queues().contains(queue);
        priority::all().find(serves).expect("a queue of the NIC serves a priority")
    }

    /// The first of them.
    #[inline]
    pub fn queue(&self, priority: Priority) -> QueueId {
        self.queues(priority).member(0)
    }

    /// Applies a PFC frame received at `now`.
    pub fn receive(&mut self, now: Picos, pauses: &ClassPauses) -> PauseOutcome {
        for priority in priority::in_mask(pauses.named) {
            let quanta = pauses.quanta[priority.index()];
            let until = now + (self.lasts)(self.link_rate, quanta);
            for queue in self.queues[priority.index()].queues().iter() {
                self.pauses[queue.place()].update(|pause| match quanta {
                    0 => pause.class.resume(now),
                    _ => pause.class.pause(now, now + self.response, until),
                });
            }
        }
        if pauses.named == 0 {
            PauseOutcome::Nothing
        } else if pauses.paused() != 0 {
            PauseOutcome::Paused
        } else {
            PauseOutcome::Resumed
        }
    }

    /// Applies a hop control frame received at `now` that is about the queues in `named`. Those in `paused` stop a
    /// response time later, until a frame resumes them; the others resume.
    pub fn receive_queues(
        &mut self,
        now: Picos,
        named: QueueSet,
        paused: QueueSet,
    ) -> PauseOutcome {
        let queues = self.queues.iter().fold(QueueSet::EMPTY, |all, range| all.or(range.queues()));
        let named = named.and(queues);
        let paused = named.and(paused);
        for queue in named.iter() {
            self.pauses[queue.place()].update(|pause| {
                if paused.contains(queue) {
                    pause.queue.pause(now, now + self.response, Picos::MAX);
                } else {
                    pause.queue.resume(now);
                }
            });
        }
        if named.is_empty() {
            PauseOutcome::Nothing
        } else if paused.is_empty() {
            PauseOutcome::Resumed
        } else {
            PauseOutcome::Paused
        }
    }

    /// Applies a rate received at any time, which also changes the gap behind the last packet of the priority. A rate
    /// of the link's rate or above ends the gap.
    pub fn receive_rate(&mut self, priority: Priority, kilobits_per_second: u32) -> PauseOutcome {
        let is_slow = kilobits_per_second != LINE_RATE
            && u64::from(kilobits_per_second) * 1000 < self.link_rate.0;
        let pace = &mut self.paces[priority.index()];
        if kilobits_per_second == 0 {
            return PauseOutcome::Nothing;
        }
        pace.kilobits_per_second = if is_slow { kilobits_per_second } else { 0 };
        self.set_gap(priority);
        if is_slow { PauseOutcome::Paused } else { PauseOutcome::Resumed }
    }

    /// Records the start of a packet of a priority, with `bytes` bytes on the wire.
    #[inline]
    pub fn started(&mut self, now: Picos, priority: Priority, bytes: u64) {
        let pace = &mut self.paces[priority.index()];
        (pace.started, pace.bytes) = (now, bytes);
        if pace.kilobits_per_second != 0 {
            self.set_gap(priority);
        }
    }

    #[cold]
    fn set_gap(&mut self, priority: Priority) {
        let opens = self.paces[priority.index()].opens();
        for queue in self.queues[priority.index()].queues().iter() {
            self.pauses[queue.place()].update(|pause| pause.gap = opens);
        }
    }

    /// The queues that are paused one by one, or will be when the response time is over.
    pub fn paused_queues(&self) -> QueueSet {
        let mut paused = QueueSet::EMPTY;
        for (place, pause) in self.pauses.iter().enumerate() {
            if pause.queue.until == Picos::MAX {
                paused.insert(QueueId::from_place(place));
            }
        }
        paused
    }

    /// Returns true if `queue` may not start a packet at `now`.
    #[inline]
    pub fn is_paused(&self, queue: QueueId, now: Picos) -> bool {
        self.pauses[queue.place()].forbids(now)
    }

    /// First instant from `from` on at which `queue` may start a packet, if nothing else arrives; `Picos::MAX` if its
    /// pause does not end by itself.
    #[inline]
    pub fn open_from(&self, queue: QueueId, from: Picos) -> Picos {
        self.pauses[queue.place()].open_from(from)
    }

    /// The first instant from `from` on at which a packet of `own` may start that waits in `queue`, if nothing else
    /// arrives: pauses stop it with `queue`, and the neighbour's rate paces its own priority.
    #[inline]
    pub fn open_apart(&self, queue: QueueId, own: QueueId, from: Picos) -> Picos {
        let gap = self.pauses[own.place()].gap;
        self.pauses[queue.place()].open_by_pauses(from.max(gap))
    }

    /// Returns the data queue in `waiting` with the lowest `number` that may start a packet at `now`.
    #[inline]
    pub fn first_open(
        &self,
        waiting: QueueSet,
        now: Picos,
        number: impl Fn(QueueId) -> u64,
    ) -> Option<QueueId> {
        first_of(waiting, number, |queue| !self.is_paused(queue, now))
    }
}

/// Returns the data queue in `waiting` with the lowest `number` that `is_open`.
#[inline]
pub fn first_of(
    waiting: QueueSet,
    number: impl Fn(QueueId) -> u64,
    is_open: impl Fn(QueueId) -> bool,
) -> Option<QueueId> {
    let mut first: Option<(u64, QueueId)> = None;
    waiting.for_each_data(|queue| {
        let number = number(queue);
        if first.is_none_or(|(lowest, _)| number < lowest) && is_open(queue) {
            first = Some((number, queue));
        }
    });
    first.map(|(_, queue)| queue)
}

#[cfg(test)]
mod tests {
    use fabric_core::queue::one_per_priority;

    use super::*;

    const QUANTUM: u64 = 5120; // 512 bits at 100 Gbit/s
    const RESPONSE: Picos = Picos(2000);

    fn timers() -> PauseTimers {
        PauseTimers::new(BitsPerSecond(100_000_000_000), RESPONSE, one_per_priority(None))
    }

    fn data_queue(priority: u8) -> QueueId {
        QueueId::data(priority)
    }

    #[test]
    fn a_pause_binds_after_the_response_time_and_expires_by_itself() {
        let mut timers = timers();
        assert_eq!(
            timers.receive(Picos(1000), &ClassPauses::xoff(1 << 3, 2)),
            PauseOutcome::Paused
        );
        assert!(!timers.is_paused(data_queue(3), Picos(2999)));
        assert!(timers.is_paused(data_queue(3), Picos(3000)));
        assert!(timers.is_paused(data_queue(3), Picos(1000 + 2 * QUANTUM - 1)));
        assert!(!timers.is_paused(data_queue(3), Picos(1000 + 2 * QUANTUM)));
        assert!(!timers.is_paused(data_queue(4), Picos(3000)));
        assert_eq!(timers.open_from(data_queue(3), Picos(1500)), Picos(1500));
        assert_eq!(timers.open_from(data_queue(3), Picos(4000)), Picos(1000 + 2 * QUANTUM));
    }

    #[test]
    fn a_refresh_extends_without_a_gap() {
        let mut timers = timers();
        timers.receive(Picos(0), &ClassPauses::xoff(1 << 3, 2));
        timers.receive(Picos(10_000), &ClassPauses::xoff(1 << 3, 2));
        assert!(timers.is_paused(data_queue(3), Picos(10_000)));
        assert!(timers.is_paused(data_queue(3), Picos(10_000 + 2 * QUANTUM - 1)));
        assert!(!timers.is_paused(data_queue(3), Picos(10_000 + 2 * QUANTUM)));
    }

    #[test]
    fn zero_quanta_resume_at_once_even_before_the_pause_binds() {
        let mut timers = timers();
        timers.receive(Picos(0), &ClassPauses::xoff(1 << 3, 100));
        assert_eq!(timers.receive(Picos(1000), &ClassPauses::xon(1 << 3)), PauseOutcome::Resumed);
        assert!(!timers.is_paused(data_queue(3), Picos(2000)));
        timers.receive(Picos(5000), &ClassPauses::xoff(1 << 3, 100));
        assert!(
            !timers.is_paused(data_queue(3), Picos(6999)),
            "a new pause has its own response time"
        );
        assert!(timers.is_paused(data_queue(3), Picos(7000)));
    }

    /// 1000 bytes take 80 ns at 100 Gbit/s, and 800 ns at 10 Gbit/s.
    #[test]
    fn a_rate_sets_the_gap_behind_the_last_packet_of_its_priority() {
        let mut timers = timers();
        let priority = Priority::new(3);
        let rate = |timers: &mut PauseTimers, gigabits: u32| {
            timers.receive_rate(priority, gigabits * 1_000_000)
        };
        timers.started(Picos(5000), priority, 1000);
        assert!(!timers.is_paused(data_queue(3), Picos(5000)));
        assert_eq!(rate(&mut timers, 10), PauseOutcome::Paused);
        assert!(timers.is_paused(data_queue(3), Picos(804_999)));
        assert!(!timers.is_paused(data_queue(3), Picos(805_000)));
        assert!(!timers.is_paused(data_queue(4), Picos(5000)), "another priority");
        assert_eq!(timers.open_from(data_queue(3), Picos(9000)), Picos(805_000));
        // A new rate changes the gap that is running.
        rate(&mut timers, 20);
        assert_eq!(timers.open_from(data_queue(3), Picos(9000)), Picos(405_000));
        timers.started(Picos(405_000), priority, 100);
        assert_eq!(timers.open_from(data_queue(3), Picos(405_000)), Picos(445_000));
        // A pause that is longer than the gap counts on.
        timers.receive(Picos(405_000), &ClassPauses::xoff(1 << 3, 100));
        assert_eq!(timers.open_from(data_queue(3), Picos(410_000)), Picos(405_000 + 100 * QUANTUM));
        timers.receive(Picos(420_000), &ClassPauses::xon(1 << 3));
        assert_eq!(timers.open_from(data_queue(3), Picos(420_000)), Picos(445_000));
        assert_eq!(rate(&mut timers, 100), PauseOutcome::Resumed);
        assert_eq!(timers.open_from(data_queue(3), Picos(420_000)), Picos(420_000));
        assert_eq!(timers.receive_rate(priority, 0), PauseOutcome::Nothing);
    }

    #[test]
    fn no_enabled_class_is_no_pause() {
        let mut timers = timers();
        assert_eq!(
            timers.receive(Picos(0), &ClassPauses { named: 0, quanta: [9; 8] }),
            PauseOutcome::Nothing
        );
        assert!((0..8).all(|priority| !timers.is_paused(data_queue(priority), Picos(3000))));
    }

    #[test]
    fn only_enabled_classes_change() {
        let mut timers = timers();
        timers.receive(Picos(0), &ClassPauses { named: 0b1000, quanta: [100; 8] });
        assert_eq!(
            timers.receive(Picos(1), &ClassPauses { named: 0b0100, quanta: [0; 8] }),
            PauseOutcome::Resumed
        );
        assert!(timers.is_paused(data_queue(3), Picos(2000)));
        assert!(!timers.is_paused(data_queue(0), Picos(2000)));
    }

    #[test]
    fn a_pause_at_the_instant_of_expiry_has_its_own_response_time() {
        let mut timers = timers();
        timers.receive(Picos(0), &ClassPauses::xoff(1 << 3, 2));
        let expiry = 2 * QUANTUM;
        timers.receive(Picos(expiry), &ClassPauses::xoff(1 << 3, 2));
        assert!(!timers.is_paused(data_queue(3), Picos(expiry)));
        assert!(!timers.is_paused(data_queue(3), Picos(expiry + 1999)));
        assert!(timers.is_paused(data_queue(3), Picos(expiry + 2000)));
    }

    #[test]
    fn a_class_stops_all_of_its_queues_and_no_other() {
        let mut queues = one_per_priority(None);
        queues[3] = QueueRange::flow_queues(8, 3);
        queues[4] = QueueRange::flow_queues(126, 2);
        let mut timers = PauseTimers::new(BitsPerSecond(100_000_000_000), RESPONSE, queues);
        let paused = |timers: &PauseTimers, now| -> Vec<u8> {
            (0..128).filter(|queue| timers.is_paused(QueueId::data(*queue), now)).collect()
        };
        timers.receive(Picos(0), &ClassPauses::xoff(1 << 3, 100));
        assert_eq!(paused(&timers, Picos(2000)), [8, 9, 10]);
        timers.receive(Picos(2000), &ClassPauses::xon(1 << 3).and_xoff(1 << 4, 100));
        assert_eq!(paused(&timers, Picos(4000)), [126, 127]);
    }

    #[test]
    #[should_panic(expected = "serves one priority")]
    fn two_priorities_share_no_queue() {
        let mut queues = one_per_priority(None);
        queues[3] = queues[4];
        PauseTimers::new(BitsPerSecond(100_000_000_000), RESPONSE, queues);
    }

    #[test]
    fn a_queue_stops_a_response_time_after_its_pause_until_it_is_resumed() {
        let mut timers = timers();
        let three = QueueSet::from_queue(data_queue(3));
        let pause = timers.receive_queues(Picos(1000), three, three);
        assert_eq!(pause, PauseOutcome::Paused);
        assert!(!timers.is_paused(data_queue(3), Picos(2999)));
        assert!(timers.is_paused(data_queue(3), Picos(3000)));
        assert!(timers.is_paused(data_queue(3), Picos(u64::MAX - 1)), "it does not expire");
        assert_eq!(timers.open_from(data_queue(3), Picos(2999)), Picos(2999));
        assert_eq!(timers.open_from(data_queue(3), Picos(3000)), Picos::MAX);
        assert!(!timers.is_paused(data_queue(4), Picos(3000)));
        let resume = timers.receive_queues(Picos(5000), three, QueueSet::EMPTY);
        assert_eq!(resume, PauseOutcome::Resumed);
        assert_eq!(timers.open_from(data_queue(3), Picos(5000)), Picos(5000));
    }

    #[test]
    fn a_repeated_pause_has_no_response_time_and_a_resume_before_it_binds_ends_it() {
        let mut timers = timers();
        let all = QueueSet::from_flow_queues(u128::MAX);
        timers.receive_queues(Picos(0), all, QueueSet::from_flow_queues(1 << 3));
        timers.receive_queues(Picos(1500), all, QueueSet::from_flow_queues(1 << 3 | 1 << 4));
        assert!(
            timers.is_paused(data_queue(3), Picos(2000))
                && !timers.is_paused(data_queue(4), Picos(2000))
        );
        timers.receive_queues(Picos(2500), all, QueueSet::from_flow_queues(1 << 3));
        assert!(
            timers.is_paused(data_queue(3), Picos(3500))
                && !timers.is_paused(data_queue(4), Picos(3500))
        );
    }

    #[test]
    fn a_queue_waits_for_the_end_of_both_of_its_pauses() {
        let mut timers = timers();
        let three = QueueSet::from_queue(data_queue(3));
        timers.receive(Picos(0), &ClassPauses::xoff(1 << 3, 2));
        let expiry = Picos(2 * QUANTUM);
        timers.receive_queues(Picos(7000), three, three);
        assert_eq!(
            timers.open_from(data_queue(3), Picos(7000)),
            Picos::MAX,
            "it binds before the expiry"
        );
        timers.receive_queues(Picos(8000), three, QueueSet::EMPTY);
        assert_eq!(timers.open_from(data_queue(3), Picos(8000)), expiry);
        timers.receive_queues(Picos(9000), three, three);
        assert_eq!(
            timers.open_from(data_queue(3), Picos(9000)),
            expiry,
            "a gap between two pauses"
        );
        assert!(
            !timers.is_paused(data_queue(3), expiry)
                && timers.is_paused(data_queue(3), Picos(11_000))
        );
        timers.receive(Picos(12_000), &ClassPauses::xon(1 << 3));
        assert!(timers.is_paused(data_queue(3), Picos(12_000)), "PFC does not resume a queue");
    }

    #[test]
    fn queues_that_the_nic_does_not_have_are_not_its_own() {
        let mut timers = timers();
        let ninth = QueueSet::from_queue(QueueId::data(8));
        assert_eq!(timers.receive_queues(Picos(0), ninth, ninth), PauseOutcome::Nothing);
        let all = QueueSet::from_flow_queues(u128::MAX);
        assert_eq!(timers.receive_queues(Picos(0), all, ninth), PauseOutcome::Resumed);
        assert_eq!(timers.receive_queues(Picos(0), all, all), PauseOutcome::Paused);
    }
}
