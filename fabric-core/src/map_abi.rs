//! The maps of a switch: name, value, capacity, writer and reader of each.
//!
//! | map | value | entries | written by | read by |
//! | --- | --- | --- | --- | --- |
//! | `CLOCK` | [`Clock`] | 1, shared by the fabric | engine | eBPF |
//! | `CONFIG` | [`SwitchConfig`] | 1 | control plane | both |
//! | `SWITCH` | [`SwitchState`] | 1 | both | both |
//! | `PORTS` | [`Port`] | ports | control plane; counters: eBPF | both |
//! | `INGRESS_QUEUES` | [`IngressQueue`] | ports x 8 | both | both |
//! | `EGRESS_QUEUES` | [`EgressQueue`] | ports x queues | both | both |
//! | `EGRESS_CLASSES` | [`EgressClass`] | ports x 8 | eBPF; counters: TC egress | both |
//! | `STORMS` | [`Storm`] | ports x 8 | both | both |
//! | `ROUTES` | [`Route`] | hosts | control plane | eBPF |
//! | `NEXT_HOPS` | [`NextHop`] | members of all ECMP groups | control plane | eBPF |
//! | `POLICY_ROUTES` | [`PolicyRoute`] | a power of two, see `routing` | control plane | eBPF |
//! | `DESCRIPTORS` | [`Descriptor`] | slots | eBPF | user space |
//! | `FREE_SLOTS` | [`Cell64`] | slots | user space | eBPF |
//! | `DROPS` | [`Cell64`] | [`MAX_DROP_REASONS`] | both | user space |
//! | `LOSSY_LINES` | [`SchemeLine`] | as the buffer management needs | both | both |
//! | `SCHEME_LINES` | [`SchemeLine`] | as the scheme needs, at least 1 | both | both |
//! | `SCHEME_BLOCKS` | [`SchemeBlock`] | as the scheme needs, at least 1 | control plane | both |
//! | `EVENTS` | ring of records | see `record` | eBPF | user space |
//!
//! Maps of a standalone switch only, whose interfaces may have any index:
//!
//! | map | value | entries | written by | read by |
//! | --- | --- | --- | --- | --- |
//! | `TURN` | [`Turn`] | 1 | both | both |
//! | `PORT_NUMBERS` | a port's number, by the index of its interface | ports | control plane | eBPF |
//! | `PREFIXES` | a row of `ROUTES`, by the longest prefix of an address | prefixes | control plane | eBPF |
//!
//! In tables with a row for each (port, priority), the rows of a port are adjacent: [`class_row`].
//! In tables with a row for each (port, queue), the rows of a queue are adjacent, and the number of
//! ports is rounded up to a power of two: [`SwitchConfig::queue_row`].
//!
//! All arrays are `BPF_F_MMAPABLE`: user space and eBPF work on the same memory.

pub mod names;
mod routes;

use core::mem::offset_of;

use crate::cell::{Cell32, Cell64};
use crate::priority::Priority;
use crate::queue::{QueueId, QueueRange, QueueRanges};
use crate::wire::RemainingSize;

pub use routes::{FlowKey, NextHop, POLICY_FLOWS, POLICY_PAIRS, PolicyRoute, Route};

/// Max ports of a switch: one byte of the switch's MAC addresses holds the port number.
pub const MAX_PORTS: usize = 256;
/// Number of priorities of IEEE 802.1Q.
pub const PRIORITIES: usize = 8;
/// Max queues of a port: 136 data queues and the control queue.
pub const QUEUE_ROWS: usize = 137;
/// Max hosts of a fabric.
pub const MAX_HOSTS: usize = 4096;
/// Max descriptors of a switch: enough for a buffer of 1 GB full of minimum-size frames, several
/// times the buffer of the largest chips without external memory. The kernel allocates a BPF array
/// whole: 40 bytes per slot, here 671 MB.
pub const MAX_SLOTS: usize = 1 << 24;
/// Capacity of `DROPS`, with room for future reasons.
pub const MAX_DROP_REASONS: usize = 64;
/// Address of host 0, 10.0.1.1. Host n has this address plus n.
pub const FIRST_HOST_ADDRESS: u32 = 0x0a00_0101;

/// Arrival time and accounted length of the next frame, which the engine sets for eBPF before it sends the frame.
#[repr(C)]
#[derive(Debug, Default, zerocopy::FromBytes)]
pub struct Clock {
    /// Nanoseconds since the start of the run. At a standalone switch, the value of
    /// `CLOCK_MONOTONIC` at the start of the switch's time.
    pub now_ns: Cell64,
    /// Accounted length of the next frame in wires and buffers, bytes; 0 means its real length.
    pub frame_length: Cell64,
}

/// Holder of the turn at a standalone switch: see `turn`.
#[repr(C, align(64))]
#[derive(Debug, Default, zerocopy::FromBytes)]
pub struct Turn {
    /// The side that works on the tables.
    pub holder: Cell64,
    /// Frames in the ring that eBPF has left to user space.
    pub left_alone: Cell64,
    /// Padding to the end of the cache line.
    pub unused: [Cell64; 6],
}

/// Configuration of a switch by the control plane. Written before the first frame; the sizes of
/// pools also later, if headroom is measured.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, zerocopy::FromBytes)]
pub struct SwitchConfig {
    /// B_s in DSH: bytes of the shared pool.
    pub shared_pool_bytes: u64,
    /// rho in DSH: private bytes of each lossless ingress queue.
    pub private_bytes: u64,
    /// X_off of static thresholds, bytes of shared occupancy.
    pub static_xoff_bytes: u64,
    /// delta in PFC: X_on of an ingress queue lies this far below X_off.
    pub xon_offset_bytes: u64,
    /// Headroom of all queues together, bytes. If oversubscribed, this is less than the sum of the
    /// queues' headroom.
    pub headroom_pool_bytes: u64,
    /// Bytes of the pool for lossy packets only; 0 if lossy packets use the shared pool.
    pub lossy_pool_bytes: u64,
    /// Salt of the ECMP hash, so that switches choose independently.
    pub ecmp_seed: u32,
    /// Interface index of port 0. Port n has this index plus n.
    pub first_interface_index: u32,
    /// Number of ports in use.
    pub ports: u32,
    /// Number of hosts that have a route.
    pub hosts: u32,
    /// Size of the stack of free slots: a power of two, at least the number of descriptors.
    pub slots: u32,
    /// N_q in DSH: number of lossless queues of a port.
    pub lossless_queues: u32,
    /// Egress queues of each priority.
    pub queues: QueueRanges,
    /// Bit n: priority n is lossless.
    pub lossless_classes: u8,
    /// Bit n: packets of priority n may be marked.
    pub ecn_classes: u8,
    /// Quanta in a PAUSE frame.
    pub pause_quanta: u16,
    /// log2 of the number of ports in tables by (port, queue).
    pub port_shift: u8,
    /// 1 if a queue's pause is also tested at each renewal; 0 if only at departures of the queue's own packets.
    pub tests_renewed_pauses: u8,
    /// [`POLICY_FLOWS`] and [`POLICY_PAIRS`]: the kinds of policy routes in the table.
    pub policies: u8,
    /// log2 of the number of rows in the table of policy routes.
    pub policy_shift: u8,
    /// 1 if private buffers are filled to the byte, so that a packet may occupy two pools; 0 if
    /// each packet occupies one pool.
    pub splits_packets: u8,
}

impl SwitchConfig {
    /// Row of (port, queue) in tables with one row for each. For a port that does not exist, the
    /// row is another port's or beyond the table.
    #[inline(always)]
    pub const fn queue_row(&self, port: u32, queue: QueueId) -> u32 {
        (queue.place() as u32) << (self.port_shift & 31) | port
    }

    /// Returns the egress queues of a priority.
    #[inline(always)]
    pub const fn queues_of(&self, priority: Priority) -> QueueRange {
        self.queues[priority.index()]
    }

    /// True if a priority is lossless.
    #[inline(always)]
    pub const fn is_lossless(&self, priority: Priority) -> bool {
        priority.is_in(self.lossless_classes)
    }
}

/// Row of (port, priority) in tables with one row for each.
#[inline(always)]
pub const fn class_row(port: u32, priority: Priority) -> u32 {
    port << 3 | priority.index() as u32
}

/// Returns [`SwitchConfig::port_shift`] for a switch with `ports` ports.
pub const fn port_shift(ports: u32) -> u8 {
    ports.next_power_of_two().trailing_zeros() as u8
}

/// Totals of one switch, and its free list.
#[repr(C)]
#[derive(Debug, Default, zerocopy::FromBytes)]
pub struct SwitchState {
    /// Bytes in all private pools.
    pub private_bytes: Cell64,
    /// Bytes in the shared pool, lossless and lossy.
    pub shared_bytes: Cell64,
    /// Bytes in all headroom pools.
    pub headroom_bytes: Cell64,
    /// Bytes in the pool for lossy packets only.
    pub lossy_bytes: Cell64,
    /// Max of the buffered bytes since user space last reset it, at each sample, like a clear-on-read watermark.
    pub buffer_max_bytes: Cell64,
    /// Max of the bytes in headroom, with the same resets.
    pub headroom_max_bytes: Cell64,
    /// State of the random number generator for marking and fair dropping; never 0.
    pub random: Cell64,
    /// Slots in use, and so the position in `FREE_SLOTS` of the next slot to take.
    pub slots_taken: Cell64,
    /// Max of `slots_taken`: the number of descriptors.
    pub slots_limit: Cell64,
    /// Packets marked by this switch, without packets that arrived with Congestion Experienced.
    pub ecn_marked: Cell64,
    /// Frames received.
    pub received_frames: Cell64,
    /// Bytes of admitted data packets.
    pub admitted_bytes: Cell64,
    /// Bytes of departed data packets.
    pub departed_bytes: Cell64,
    /// PFC frames with a zero source address, which are applied and counted.
    pub zero_source_pfc: Cell64,
    /// Class-enable bits of lossy priorities in PFC frames; such bits have no effect.
    pub lossy_pauses_ignored: Cell64,
}

impl SwitchState {
    /// Returns the number of buffered bytes.
    #[inline(always)]
    pub fn buffered_bytes(&self) -> u64 {
        let Self { private_bytes, shared_bytes, headroom_bytes, lossy_bytes, .. } = self;
        private_bytes.load() + shared_bytes.load() + headroom_bytes.load() + lossy_bytes.load()
    }
}

/// One port. Aligned so that the fields needed for every packet lie in one cache line.
#[repr(C, align(64))]
#[derive(Debug, Default, zerocopy::FromBytes)]
pub struct Port {
    /// Bytes of headroom: of each lossless ingress queue (Phi in DSH, Eq. 1), or of the whole port
    /// if the scheme reserves headroom per port.
    pub headroom_bytes: Cell64,
    /// MAC address of this port in the low six bytes, first byte lowest.
    pub address: Cell64,
    /// MAC address of the neighbour, in the form of `address`.
    pub peer_address: Cell64,
    /// Frames received at this port.
    pub received_frames: Cell64,
    /// PFC frames received at this port.
    pub received_pfc: Cell64,
    /// alpha of the ingress queues in DT (DSH, Eq. 2), numerator.
    pub alpha_numerator: Cell32,
    /// alpha in DT, denominator.
    pub alpha_denominator: Cell32,
    /// K_min of the egress queues in DCQCN, bytes.
    pub ecn_kmin_bytes: Cell32,
    /// K_max in DCQCN, bytes.
    pub ecn_kmax_bytes: Cell32,
    /// Marking probability per byte above K_min, in units of 2^-48.
    pub ecn_slope_q48: Cell64,
    /// Line rate, bits per second.
    pub rate_bps: Cell64,
    /// Max delay until a received PAUSE takes effect, ns (802.1Qbb: at most 3840 B / C).
    pub response_ns: Cell64,
    /// One quantum, 512 bit times, in picoseconds.
    pub quantum_ps: Cell64,
}

/// The MMU's counters for one (ingress port, priority). Aligned so that a row is a cache line.
#[repr(C, align(64))]
#[derive(Debug, Default, zerocopy::FromBytes)]
pub struct IngressQueue {
    /// omega_p in DSH.
    pub private_bytes: Cell64,
    /// omega_s in DSH.
    pub shared_bytes: Cell64,
    /// omega_h in DSH; if headroom is reserved per port, the queue's part of it.
    pub headroom_bytes: Cell64,
    /// T(t) as last stored by the control plane, bytes; used with periodic thresholds.
    pub stored_threshold_bytes: Cell64,
    /// 1 in state OFF of DSH, Fig. 3: the neighbour has been paused. [`OFF_WITHOUT_ROOM`] if a packet has found no room
    /// since.
    pub off: Cell32,
    /// PAUSEs of this queue without refreshes. Numbers the pauses.
    pub pauses: Cell32,
}

/// State OFF of an ingress queue, or under DSH of a port, that has refused a packet since its PAUSE.
pub const OFF_WITHOUT_ROOM: u32 = 2;

impl IngressQueue {
    /// Returns the queue's bytes in all pools.
    #[inline(always)]
    pub fn held_bytes(&self) -> u64 {
        self.private_bytes.load() + self.shared_bytes.load() + self.headroom_bytes.load()
    }
}

/// State of one (egress port, queue).
#[repr(C)]
#[derive(Debug, Default, zerocopy::FromBytes)]
pub struct EgressQueue {
    /// Bytes queued.
    pub bytes: Cell64,
}

/// Pool that counts an admitted packet's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    /// The ingress queue's private buffer.
    Private,
    /// The shared pool, under a threshold. For lossy packets their separate pool, if the switch has one.
    Shared,
    /// The rest of the ingress queue's private buffer, then the shared pool.
    PrivateAndShared,
    /// Headroom, beyond X_off.
    Headroom,
}

/// State of a packet in the buffer.
#[repr(C)]
#[derive(Debug, Default, zerocopy::FromBytes)]
pub struct Descriptor {
    /// Time of admission, ns.
    pub arrival_ns: Cell64,
    /// Frame length, bytes.
    pub length: Cell32,
    /// Ingress port.
    pub ingress_port: Cell32,
    /// Egress port.
    pub egress_port: Cell32,
    /// Queue of the egress port, as a [`QueueId`]'s number.
    pub queue: Cell32,
    /// The scheme's note about the packet.
    pub note: Cell32,
    /// Low half: bytes that the flow has left to send, where LLVM's half-word load can be forwarded
    /// from a half-word store. Above: [`DESCRIPTOR_ECN_CAPABLE`], [`DESCRIPTOR_IN_USE`],
    /// [`DESCRIPTOR_CONGESTED`] and [`DESCRIPTOR_FIRST_RTT`]. From bit 24: the priority.
    pub flags: Cell32,
}

impl Descriptor {
    /// Returns the packet's priority.
    #[inline(always)]
    pub fn priority(&self) -> Priority {
        Priority::from_bits(self.flags.load() >> DESCRIPTOR_PRIORITY_AT)
    }

    /// Returns the bytes that the packet's flow has left to send, as encoded in the packet.
    #[inline(always)]
    pub fn remaining(&self) -> RemainingSize {
        RemainingSize::from_wire(self.flags.load() as u16)
    }
}

/// The packet may be marked.
pub const DESCRIPTOR_ECN_CAPABLE: u32 = 1 << 16;
/// The slot is taken.
pub const DESCRIPTOR_IN_USE: u32 = 1 << 17;
/// The packet arrived with Congestion Experienced.
pub const DESCRIPTOR_CONGESTED: u32 = 1 << 18;
/// The packet is of its flow's first round trip.
pub const DESCRIPTOR_FIRST_RTT: u32 = 1 << 19;
/// Position of the priority's lowest bit in the flags.
pub const DESCRIPTOR_PRIORITY_AT: u32 = 24;

/// One priority of an egress port: its pause state and its counters. Sending a packet and auditing
/// it read the same fields, so they share a row.
#[repr(C, align(64))]
#[derive(Debug, Default, zerocopy::FromBytes)]
pub struct EgressClass {
    /// Pauses by the neighbour.
    pub pause: PauseState,
    /// Counts of the frames that left.
    pub audit: AuditCounters,
}

/// Pauses of one (port, priority) by the neighbour's PFC frames; see `pause_state`.
#[repr(C)]
#[derive(Debug, Default, zerocopy::FromBytes)]
pub struct PauseState {
    /// Start of the latest pause, ns: reception of its first PAUSE plus the port's response time.
    pub binds_ns: Cell64,
    /// End of the latest pause, ns: expiry, or reception of XON.
    pub until_ns: Cell64,
    /// Start of the pause before the latest, ns, for frames that were on the wire when the latest began.
    pub previous_binds_ns: Cell64,
    /// End of the pause before the latest, ns.
    pub previous_until_ns: Cell64,
}

/// One (port, priority) under the switch's watchdog; see `watchdog`. The counts cover all storms.
#[repr(C)]
#[derive(Debug, Default, zerocopy::FromBytes)]
pub struct Storm {
    /// 1 while the watchdog acts on a storm of the neighbour.
    pub active: Cell64,
    /// Dropped packets of the priority that were to leave by the port.
    pub egress_packets: Cell64,
    /// Bytes of the packets in `egress_packets`.
    pub egress_bytes: Cell64,
    /// Dropped packets of the priority that came in at the port.
    pub ingress_packets: Cell64,
    /// Bytes of the packets in `ingress_packets`.
    pub ingress_bytes: Cell64,
}

/// State of the switch's scheme, in cache lines; `crate::scheme::state` defines the types in it.
#[repr(C, align(64))]
#[derive(Debug, Default, zerocopy::FromBytes)]
pub struct SchemeLine(pub [Cell64; 8]);

/// Look-up tables of the switch's scheme, written by the control plane.
#[repr(C, align(64))]
#[derive(Debug, zerocopy::FromBytes)]
pub struct SchemeBlock(pub [Cell32; SCHEME_BLOCK_WORDS]);

/// Number of words in a [`SchemeBlock`].
pub const SCHEME_BLOCK_WORDS: usize = 512;

/// The auditor's counts for one (port, priority).
#[repr(C)]
#[derive(Debug, Default, zerocopy::FromBytes)]
pub struct AuditCounters {
    /// Frames that left, without PFC and link delay frames.
    pub frames: Cell64,
    /// Bytes of these frames.
    pub bytes: Cell64,
    /// Frames whose transmission began while the priority was paused and after the response time.
    pub violations: Cell64,
    /// PFC and link delay frames (in the row of priority 0).
    pub mac_control_frames: Cell64,
}

/// Packs a six-byte MAC address as in [`Port::address`].
#[inline(always)]
pub const fn address_to_u64(address: [u8; 6]) -> u64 {
    u64::from_le_bytes([
        address[0], address[1], address[2], address[3], address[4], address[5], 0, 0,
    ])
}

/// Unpacks an address that [`address_to_u64`] packed.
#[inline(always)]
pub const fn address_from_u64(value: u64) -> [u8; 6] {
    let bytes = value.to_le_bytes();
    [bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5]]
}

const _: () = {
    assert!(size_of::<SwitchConfig>() == 104);
    assert!(size_of::<SwitchState>() == 120);
    assert!(size_of::<Port>() == 128);
    assert!(offset_of!(Port, rate_bps) == 64);
    assert!(size_of::<IngressQueue>() == 64);
    assert!(size_of::<EgressQueue>() == 8);
    assert!(size_of::<Descriptor>() == 32);
    assert!(size_of::<EgressClass>() == 64);
    assert!(size_of::<Storm>() == 40);
    assert!(size_of::<Route>() == 8);
    assert!(size_of::<SchemeLine>() == 64);
    assert!(size_of::<SchemeBlock>() == 2048);
};

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel allocates the table of descriptors whole; a smaller table would drop minimum-size frames.
    #[test]
    fn the_slots_hold_a_gigabyte_of_minimum_size_frames() {
        assert_eq!(MAX_SLOTS * crate::wire::ethernet::MINIMUM_FRAME_LENGTH, 1_006_632_960);
        assert_eq!(MAX_SLOTS * (size_of::<Descriptor>() + size_of::<Cell64>()), 671_088_640);
    }

    #[test]
    fn every_queue_of_a_port_has_a_row_of_its_own() {
        let config = SwitchConfig { port_shift: port_shift(33), ..SwitchConfig::default() };
        let row = |port, priority| class_row(port, Priority::new(priority));
        assert_eq!([row(0, 0), row(0, 7), row(1, 0), row(255, 7)], [0, 7, 8, 2047]);
        let row = |port, queue| config.queue_row(port, queue);
        assert_eq!([row(5, QueueId::CONTROL), row(0, QueueId::data(0))], [5, 64]);
        assert_eq!(row(63, QueueId::data(135)), 137 * 64 - 1);
        assert_eq!([1, 2, 3, 255, 256].map(port_shift), [0, 1, 2, 8, 8]);
    }

    #[test]
    fn an_address_is_a_word_with_its_first_byte_lowest() {
        let address = [2, 1, 0, 3, 4, 0xff];
        assert_eq!(address_to_u64(address), 0xff04_0300_0102);
        assert_eq!(address_from_u64(0xff04_0300_0102), address);
        assert_eq!(address_from_u64(0xabcd_ff04_0300_0102), address, "the rest is not looked at");
    }
}
