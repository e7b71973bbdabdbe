//! The NIC's transmit side: control packets first, then queue pairs in turn.
//!
//! A queue pair with something to send is in one of two places of its priority: `ready` (it may go
//! when its turn comes) or `paced` (its rate forbids it until an instant). Packets of queue pairs
//! are made when their turn comes, so nothing here is proportional to what waits.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use fabric_core::units::Picos;
use fabric_core::wire::LinkDelayFrame;
use fabric_core::wire::roce::RocePacket;

use crate::pause::PauseTimers;

/// A queue pair's place in the round: lower turns go first, whatever their priority.
#[derive(Clone, Copy, Debug)]
struct Turn {
    number: u64,
    slot: u32,
}

/// Transmit queues of one port.
#[derive(Debug)]
pub struct Nic {
    /// Pause timers of the port.
    pub pause: PauseTimers,
    link_delay_responses: VecDeque<LinkDelayFrame>,
    notifications: VecDeque<RocePacket>,
    acknowledgements: VecDeque<RocePacket>,
    ready: [VecDeque<Turn>; 8],
    /// Earliest first; equal instants in the order of their scheduling.
    paced: [BinaryHeap<Reverse<(Picos, u64, u32)>>; 8],
    /// Bit n: `paced[n]` is not empty.
    paced_priorities: u8,
    /// Bit n: `ready[n]` is not empty.
    ready_priorities: u8,
    next_turn: u64,
}

impl Nic {
    /// An idle port.
    pub fn new(pause: PauseTimers) -> Self {
        Self {
            pause,
            link_delay_responses: VecDeque::new(),
            notifications: VecDeque::new(),
            acknowledgements: VecDeque::new(),
            ready: Default::default(),
            paced: Default::default(),
            paced_priorities: 0,
            ready_priorities: 0,
            next_turn: 0,
        }
    }

    /// Queues an answer to the neighbour's question for the link delay. It goes before all packets, as MAC
    /// control frames do, and nothing pauses it.
    pub fn queue_link_delay_response(&mut self, frame: LinkDelayFrame) {
        self.link_delay_responses.push_back(frame);
    }

    /// Takes the next of these answers.
    #[inline]
    pub fn pop_link_delay_response(&mut self) -> Option<LinkDelayFrame> {
        self.link_delay_responses.pop_front()
    }

    /// Queues a CNP. CNPs go before ACKs: they are what ends congestion.
    pub fn queue_notification(&mut self, packet: RocePacket) {
        self.notifications.push_back(packet);
    }

    /// Queues an ACK or NAK.
    pub fn queue_acknowledgement(&mut self, packet: RocePacket) {
        self.acknowledgements.push_back(packet);
    }

    /// Puts a queue pair at the end of the round.
    #[inline]
    pub fn schedule(&mut self, priority: u8, slot: u32) {
        let number = self.take_turn();
        self.ready[usize::from(priority)].push_back(Turn { number, slot });
        self.ready_priorities |= 1 << priority;
    }

    /// Keeps a queue pair out of the round until `at`.
    pub fn schedule_at(&mut self, priority: u8, slot: u32, at: Picos) {
        let number = self.take_turn();
        self.paced[usize::from(priority)].push(Reverse((at, number, slot)));
        self.paced_priorities |= 1 << priority;
    }

    /// The control packet that may start at `now`.
    #[inline]
    pub fn pop_control(&mut self, now: Picos) -> Option<RocePacket> {
        for queue in [&mut self.notifications, &mut self.acknowledgements] {
            if let Some(packet) = queue.front()
                && !self.pause.is_paused(priority_of(packet), now)
            {
                return queue.pop_front();
            }
        }
        None
    }

    /// Takes the queue pair whose turn it is at `now` out of the round: its slot.
    #[inline]
    pub fn pop_queue_pair(&mut self, now: Picos) -> Option<u32> {
        self.admit_paced(now);
        let mut first: Option<(u64, u8)> = None;
        for priority in bits(self.ready_priorities) {
            let turn = self.ready[usize::from(priority)].front().expect("its bit says not empty");
            if first.is_none_or(|(number, _)| turn.number < number)
                && !self.pause.is_paused(priority, now)
            {
                first = Some((turn.number, priority));
            }
        }
        let (_, priority) = first?;
        let queue = &mut self.ready[usize::from(priority)];
        let turn = queue.pop_front();
        if queue.is_empty() {
            self.ready_priorities &= !(1 << priority);
        }
        turn.map(|turn| turn.slot)
    }

    /// The earliest instant from `from` on at which a packet may start, as things stand: `from` itself,
    /// the end of a pause or of a pacing gap.
    #[inline]
    pub fn next_transmission(&self, from: Picos) -> Option<Picos> {
        if !self.link_delay_responses.is_empty() {
            return Some(from);
        }
        let mut waiting = self.ready_priorities;
        for queue in [&self.notifications, &self.acknowledgements] {
            waiting |= queue.front().map_or(0, |packet| 1 << priority_of(packet));
        }
        let mut next: Option<Picos> = None;
        for priority in bits(waiting) {
            let open = self.pause.open_from(priority, from);
            next = Some(next.map_or(open, |next| next.min(open)));
        }
        for priority in bits(self.paced_priorities) {
            let first = self.paced[usize::from(priority)].peek();
            let Reverse((at, _, _)) = first.expect("its bit says not empty");
            let open = self.pause.open_from(priority, from.max(*at));
            next = Some(next.map_or(open, |next| next.min(open)));
        }
        next
    }

    /// Moves queue pairs whose gap has passed into the round.
    fn admit_paced(&mut self, now: Picos) {
        for priority in bits(self.paced_priorities) {
            while let Some(&Reverse((at, _, slot))) = self.paced[usize::from(priority)].peek()
                && at <= now
            {
                self.paced[usize::from(priority)].pop();
                self.schedule(priority, slot);
            }
            if self.paced[usize::from(priority)].is_empty() {
                self.paced_priorities &= !(1 << priority);
            }
        }
    }

    fn take_turn(&mut self) -> u64 {
        self.next_turn += 1;
        self.next_turn
    }
}

fn priority_of(packet: &RocePacket) -> u8 {
    (packet.dscp >> 3) & 7
}

/// The numbers of the bits set, lowest first.
fn bits(mut mask: u8) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        // At most 8.
        let bit = mask.trailing_zeros().to_le_bytes()[0];
        (mask != 0).then(|| {
            mask &= mask - 1;
            bit
        })
    })
}

#[cfg(test)]
mod tests {
    use fabric_core::units::BitsPerSecond;
    use fabric_core::wire::psn::Psn;
    use fabric_core::wire::roce::{Ecn, Opcode};

    use super::*;

    fn nic() -> Nic {
        Nic::new(PauseTimers::new(BitsPerSecond(100_000_000_000), Picos::ZERO))
    }

    fn control(opcode: Opcode, priority: u8) -> RocePacket {
        RocePacket {
            source: 1,
            destination: 2,
            source_port: 3,
            dscp: priority * 8,
            ecn: Ecn::NotCapable,
            ttl: 64,
            opcode,
            ack_request: false,
            destination_qp: 4,
            psn: Psn::new(0),
            reth: None,
            aeth: None,
            payload_length: 0,
        }
    }

    fn pause(nic: &mut Nic, now: Picos, priority: u8) {
        nic.pause.receive(now, 1 << priority, &[1000; 8]);
    }

    fn resume(nic: &mut Nic, now: Picos, priority: u8) {
        nic.pause.receive(now, 1 << priority, &[0; 8]);
    }

    #[test]
    fn the_round_crosses_priorities() {
        let mut nic = nic();
        for (priority, slot) in [(3, 10), (5, 11), (3, 12)] {
            nic.schedule(priority, slot);
        }
        let mut order = Vec::new();
        for _ in 0..6 {
            let slot = nic.pop_queue_pair(Picos(1)).expect("three are ready");
            order.push(slot);
            nic.schedule(if slot == 11 { 5 } else { 3 }, slot);
        }
        assert_eq!(order, [10, 11, 12, 10, 11, 12]);
    }

    #[test]
    fn a_paused_priority_is_skipped_and_its_end_is_the_deadline() {
        let mut nic = nic();
        nic.schedule(3, 10);
        nic.schedule(5, 11);
        pause(&mut nic, Picos(0), 3);
        assert_eq!(nic.pop_queue_pair(Picos(1)), Some(11));
        assert_eq!(nic.pop_queue_pair(Picos(1)), None);
        assert_eq!(nic.next_transmission(Picos(1)), Some(Picos(5_120_000)));
        assert_eq!(nic.pop_queue_pair(Picos(5_120_000)), Some(10));
        assert_eq!(nic.next_transmission(Picos(5_120_000)), None);
    }

    #[test]
    fn paced_queue_pairs_wait_for_their_instant_in_order() {
        let mut nic = nic();
        nic.schedule_at(3, 10, Picos(200));
        nic.schedule_at(3, 11, Picos(100));
        nic.schedule_at(3, 12, Picos(100));
        assert_eq!(nic.pop_queue_pair(Picos(99)), None);
        assert_eq!(nic.next_transmission(Picos(99)), Some(Picos(100)));
        assert_eq!(
            nic.next_transmission(Picos(150)),
            Some(Picos(150)),
            "the port falls free later"
        );
        assert_eq!(nic.pop_queue_pair(Picos(100)), Some(11));
        assert_eq!(nic.pop_queue_pair(Picos(100)), Some(12));
        assert_eq!(nic.pop_queue_pair(Picos(100)), None);
        assert_eq!(nic.next_transmission(Picos(100)), Some(Picos(200)));
        assert_eq!(nic.pop_queue_pair(Picos(200)), Some(10));
        assert_eq!(nic.next_transmission(Picos(200)), None, "nobody waits");
    }

    #[test]
    fn the_earliest_of_all_that_wait_is_the_next() {
        let mut nic = nic();
        nic.schedule_at(2, 10, Picos(300));
        nic.schedule_at(7, 11, Picos(200));
        assert_eq!(nic.next_transmission(Picos(0)), Some(Picos(200)));
        nic.schedule(4, 12);
        assert_eq!(nic.next_transmission(Picos(50)), Some(Picos(50)));
        pause(&mut nic, Picos(0), 4);
        assert_eq!(nic.next_transmission(Picos(50)), Some(Picos(200)));
        pause(&mut nic, Picos(0), 7);
        assert_eq!(nic.next_transmission(Picos(50)), Some(Picos(300)));
        nic.queue_acknowledgement(control(Opcode::Acknowledge, 1));
        assert_eq!(nic.next_transmission(Picos(50)), Some(Picos(50)));
        assert_eq!(nic.pop_queue_pair(Picos(300)), Some(10), "the others are paused");
        assert_eq!(nic.pop_queue_pair(Picos(300)), None);
        let end = Picos(5_120_000);
        assert_eq!([0; 2].map(|_| nic.pop_queue_pair(end)), [Some(12), Some(11)]);
    }

    #[test]
    fn every_priority_has_a_round_of_its_own() {
        let mut nic = nic();
        for priority in 0..8 {
            nic.schedule(priority, 10 + u32::from(priority));
            nic.schedule_at(priority, 20 + u32::from(priority), Picos(100));
        }
        for (now, slots) in [(Picos(99), 10), (Picos(100), 20)] {
            for priority in [7_u8, 0, 3, 5, 1, 6, 2, 4] {
                nic.pause.receive(now, 1 << priority, &[0; 8]);
                nic.pause.receive(now, !(1 << priority), &[1000; 8]);
                assert_eq!(nic.pop_queue_pair(now), Some(slots + u32::from(priority)));
                assert_eq!(nic.pop_queue_pair(now), None, "the others are paused");
            }
        }
    }

    #[test]
    fn a_gap_that_ends_within_a_pause_ends_with_the_pause() {
        let mut nic = nic();
        nic.schedule_at(3, 10, Picos(200));
        pause(&mut nic, Picos(0), 3);
        assert_eq!(nic.next_transmission(Picos(0)), Some(Picos(5_120_000)));
    }

    #[test]
    fn control_goes_first_cnp_before_ack_unless_paused() {
        let mut nic = nic();
        nic.queue_acknowledgement(control(Opcode::Acknowledge, 3));
        nic.queue_notification(control(Opcode::Cnp, 6));
        pause(&mut nic, Picos(0), 3);
        assert_eq!(nic.pop_control(Picos(0)).map(|packet| packet.opcode), Some(Opcode::Cnp));
        assert_eq!(nic.pop_control(Picos(0)), None);
        assert_eq!(nic.next_transmission(Picos(0)), Some(Picos(5_120_000)));
        resume(&mut nic, Picos(1), 3);
        assert_eq!(
            nic.pop_control(Picos(1)).map(|packet| packet.opcode),
            Some(Opcode::Acknowledge)
        );
    }
}
