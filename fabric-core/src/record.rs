//! Records that eBPF sends to user space through the ring: one for each received frame, and one
//! more for each hop control frame that is due.

use crate::arrival::{Outcome, Queued};
use crate::drop_reason::DropReason;
use crate::hop_control::{HopControl, Order, PauseLevel, Words};
use crate::queue::QueueId;
use crate::wire::link_delay;

/// Max length of a frame in a record: 3072 bytes of payload, all RoCEv2 headers, and telemetry of 8
/// hops. A native XDP frame on veth is linear up to about 3.5 kB.
pub const MAX_FRAME: usize = 3232;
/// Length of a record's header, before the frame's bytes.
pub const HEADER_LEN: usize = size_of::<Header>();
/// Max length of a record.
pub const RECORD_LEN: usize = HEADER_LEN + MAX_FRAME;

/// A packet is buffered; its bytes follow.
pub const KIND_QUEUED: u32 = 1;
/// A hop control frame has been received.
pub const KIND_CONTROL_RECEIVED: u32 = 2;
/// A frame was dropped.
pub const KIND_DROPPED: u32 = 3;
/// A hop control frame to send; its bytes follow.
pub const KIND_CONTROL: u32 = 4;
/// A link delay frame. Its first [`link_delay::LEN`] bytes follow.
pub const KIND_LINK_DELAY: u32 = 5;
/// A frame that eBPF left to user space because it did not get the turn: see `turn`. Its bytes follow unchanged.
pub const KIND_LEFT_ALONE: u32 = 6;

/// Flag of a queued packet that was marked.
pub const FLAG_MARKED: u32 = 1;
/// Flag of a hop control frame whose reason is the port's occupancy, not a queue's.
pub const FLAG_PORT_LEVEL: u32 = 2;
/// Flag of a hop control frame that is due because a queue or port turns ON.
pub const FLAG_RESUMES: u32 = 4;

/// The fixed part of a record.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// One of the `KIND_` constants.
    pub kind: u32,
    /// Port where the frame came in. For a hop control frame to send: port where it leaves.
    pub port: u32,
    /// Emulated time, ns.
    pub time_ns: u64,
    /// Number of bytes after the header.
    pub length: u32,
    /// `FLAG_` bits.
    pub flags: u32,
    /// Descriptor of a queued packet.
    pub slot: u32,
    /// Port by which a queued packet leaves.
    pub egress_port: u32,
    /// Egress queue of a queued packet, as a [`QueueId`]'s number.
    pub queue: u32,
    /// Number of a dropped frame's [`DropReason`].
    pub reason: u32,
    /// See [`Order::pause`].
    pub pause: u32,
    /// Number of [`KIND_CONTROL`] records that follow a queued or dropped packet.
    pub orders: u32,
    /// The message of a hop control frame, sent or received.
    pub control: Words,
    /// See [`Order::occupancy_bytes`].
    pub occupancy_bytes: u64,
    /// See [`Order::threshold_bytes`].
    pub threshold_bytes: u64,
    /// See [`Order::shared_free_bytes`].
    pub shared_free_bytes: u64,
}

const _: () = assert!(HEADER_LEN == 96);

impl Header {
    /// Creates the record of a buffered packet of `length` bytes. The records of `orders` hop control frames follow.
    #[inline(always)]
    pub fn for_queued(queued: &Queued, port: u32, time_ns: u64, length: u32, orders: u32) -> Self {
        let Queued { slot, egress_port, queue, marked } = queued;
        Self {
            kind: KIND_QUEUED,
            port,
            time_ns,
            length,
            slot: *slot,
            egress_port: *egress_port,
            queue: queue.number().into(),
            flags: if *marked { FLAG_MARKED } else { 0 },
            orders,
            ..Self::default()
        }
    }

    /// Creates the record of a received hop control frame.
    #[inline(always)]
    pub fn for_control_received(control: &HopControl, port: u32, time_ns: u64) -> Self {
        let control = control.to_words();
        Self { kind: KIND_CONTROL_RECEIVED, port, time_ns, control, ..Self::default() }
    }

    /// Creates the record of a received link delay frame.
    #[inline(always)]
    pub fn for_link_delay(port: u32, time_ns: u64) -> Self {
        Self {
            kind: KIND_LINK_DELAY,
            port,
            time_ns,
            length: link_delay::LEN as u32,
            ..Self::default()
        }
    }

    /// Creates the record of a dropped frame. The records of `orders` hop control frames follow.
    #[inline(always)]
    pub fn for_drop(reason: DropReason, port: u32, time_ns: u64, orders: u32) -> Self {
        Self { kind: KIND_DROPPED, port, time_ns, reason: reason as u32, orders, ..Self::default() }
    }

    /// Creates the record of a frame of `length` bytes that is left to user space.
    #[inline(always)]
    pub fn for_left_alone(port: u32, time_ns: u64, length: u32) -> Self {
        Self { kind: KIND_LEFT_ALONE, port, time_ns, length, ..Self::default() }
    }

    /// Creates the record of a hop control frame to send from `port`.
    #[inline(always)]
    pub fn for_order(order: &Order, port: u32, time_ns: u64, length: u32) -> Self {
        Self {
            kind: KIND_CONTROL,
            port,
            time_ns,
            length,
            flags: if matches!(order.level, PauseLevel::Port) { FLAG_PORT_LEVEL } else { 0 }
                | if order.resumes { FLAG_RESUMES } else { 0 },
            pause: order.pause,
            control: order.control.to_words(),
            occupancy_bytes: order.occupancy_bytes,
            threshold_bytes: order.threshold_bytes,
            shared_free_bytes: order.shared_free_bytes,
            ..Self::default()
        }
    }

    /// Returns the order in the record of a hop control frame. `None` if its message is not valid.
    pub fn order(&self) -> Option<Order> {
        let of_port = self.flags & FLAG_PORT_LEVEL != 0;
        Some(Order {
            control: HopControl::from_words(self.control)?,
            level: if of_port { PauseLevel::Port } else { PauseLevel::Queue },
            resumes: self.flags & FLAG_RESUMES != 0,
            pause: self.pause,
            occupancy_bytes: self.occupancy_bytes,
            threshold_bytes: self.threshold_bytes,
            shared_free_bytes: self.shared_free_bytes,
        })
    }

    /// Returns the outcome of a received frame. `None` if the record is not about a received frame.
    pub fn outcome(&self) -> Option<Outcome> {
        match self.kind {
            KIND_QUEUED => Some(Outcome::Queued(Queued {
                slot: self.slot,
                egress_port: self.egress_port,
                queue: QueueId::from_bits(self.queue),
                marked: self.flags & FLAG_MARKED != 0,
            })),
            KIND_CONTROL_RECEIVED => {
                HopControl::from_words(self.control).map(Outcome::ControlReceived)
            }
            KIND_LINK_DELAY => Some(Outcome::LinkDelayReceived),
            KIND_DROPPED => DropReason::from_number(self.reason).map(Outcome::Dropped),
            _ => None,
        }
    }

    /// Reads a header from the start of a record.
    pub fn read(record: &[u8]) -> Option<Self> {
        let bytes = record.get(..HEADER_LEN)?;
        // SAFETY: `Header` is plain integers without padding (96 bytes, asserted above), and
        // `bytes` has this length; `read_unaligned` requires no alignment.
        Some(unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hop_control::ClassPauses;
    use crate::wire::{bth, ethernet, icrc, ipv4, reth, telemetry, udp};

    const ORDER: Order = Order {
        control: HopControl::Classes(ClassPauses::xoff(0xa8, 0xfedc)),
        level: PauseLevel::Port,
        resumes: false,
        pause: 77_000,
        occupancy_bytes: 1 << 40,
        threshold_bytes: 2 << 40,
        shared_free_bytes: 3 << 40,
    };

    /// Reads a record as user space does after the ring.
    fn through_the_ring(header: Header) -> Header {
        // SAFETY: a header is plain integers without padding, HEADER_LEN bytes of them.
        let bytes = unsafe { core::mem::transmute::<Header, [u8; HEADER_LEN]>(header) };
        assert_eq!(Header::read(&bytes[..HEADER_LEN - 1]), None);
        Header::read(&[&bytes[..], &[7; 60]].concat()).expect("it is whole")
    }

    /// A packet with the longest headers: the first or only packet of a message.
    #[test]
    fn a_record_holds_its_header_and_the_longest_frame() {
        let headers = [ethernet::LEN, ipv4::LEN, udp::LEN, bth::LEN, reth::LEN, icrc::LEN];
        let telemetry = telemetry::surplus_length(telemetry::MAX_HOPS);
        assert!(3072 + headers.iter().sum::<usize>() + telemetry <= MAX_FRAME);
        assert_eq!(RECORD_LEN, 96 + 3232);
    }

    #[test]
    fn an_outcome_comes_out_of_its_record() {
        let queue = QueueId::data(127);
        for (marked, orders) in [(false, 0), (true, 0), (false, 1), (true, 2)] {
            let packet = Queued { slot: 70_000, egress_port: 255, queue, marked };
            let header = through_the_ring(Header::for_queued(&packet, 5, 77, 1058, orders));
            assert_eq!((header.port, header.time_ns, header.length), (5, 77, 1058));
            assert_eq!(header.orders, orders);
            assert_eq!(header.outcome(), Some(Outcome::Queued(packet)));
        }
        let control = ORDER.control;
        let received = through_the_ring(Header::for_control_received(&control, 5, 77));
        assert_eq!((received.port, received.time_ns, received.length), (5, 77, 0));
        assert_eq!(received.outcome(), Some(Outcome::ControlReceived(control)));
        let measured = through_the_ring(Header::for_link_delay(5, 77));
        assert_eq!((measured.port, measured.time_ns, measured.length), (5, 77, 60));
        assert_eq!(measured.outcome(), Some(Outcome::LinkDelayReceived));
        for reason in DropReason::ALL {
            let dropped = through_the_ring(Header::for_drop(*reason, 5, 77, 1));
            assert_eq!((dropped.port, dropped.time_ns, dropped.length), (5, 77, 0));
            assert_eq!(dropped.orders, 1);
            assert_eq!(dropped.outcome(), Some(Outcome::Dropped(*reason)));
        }
        assert_eq!(
            Header { reason: 99, ..Header::for_drop(DropReason::ALL[0], 5, 77, 0) }.outcome(),
            None
        );
        assert_eq!(Header { kind: 99, ..received }.outcome(), None);
    }

    #[test]
    fn an_order_comes_out_of_its_record() {
        for level in [PauseLevel::Queue, PauseLevel::Port] {
            let order = Order { level, resumes: level == PauseLevel::Queue, ..ORDER };
            let header = through_the_ring(Header::for_order(&order, 5, 77, 60));
            assert_eq!((header.kind, header.port, header.time_ns), (KIND_CONTROL, 5, 77));
            assert_eq!((header.length, header.order()), (60, Some(order)));
            assert_eq!(header.outcome(), None, "a frame has another outcome");
        }
    }
}
