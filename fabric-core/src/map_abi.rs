//! The maps of a switch: every name, value, capacity, writer and reader, in one place.
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
//! | `LOSSY_LINES` | [`SchemeLine`] | what the buffer management asks for | both | both |
//! | `SCHEME_LINES` | [`SchemeLine`] | what the scheme asks for, at least 1 | both | both |
//! | `SCHEME_BLOCKS` | [`SchemeBlock`] | what the scheme asks for, at least 1 | control plane | both |
//! | `EVENTS` | ring of records | see `record` | eBPF | user space |
//!
//! Those of a switch that stands alone, on interfaces of any index:
//!
//! | map | value | entries | written by | read by |
//! | --- | --- | --- | --- | --- |
//! | `TURN` | [`Turn`] | 1 | both | both |
//! | `PORT_NUMBERS` | a port's number, by the index of its interface | ports | control plane | eBPF |
//! | `PREFIXES` | a row of `ROUTES`, by the longest prefix of an address | prefixes | control plane | eBPF |
//!
//! Where a table has a row for each (port, priority), those of a port lie together: [`class_row`]. Where it has one
//! for each (port, queue), those of a queue do, and ports are rounded up to a power of two:
//! [`SwitchConfig::queue_row`].
//!
//! All arrays are `BPF_F_MMAPABLE`: user space works on the memory that eBPF works on.

pub mod names;
mod routes;

use core::mem::offset_of;

use crate::cell::{Cell32, Cell64};
use crate::priority::Priority;
use crate::queue::{QueueId, QueueRange, QueueRanges};
use crate::wire::RemainingSize;

pub use routes::{FlowKey, NextHop, POLICY_FLOWS, POLICY_PAIRS, PolicyRoute, Route};

/// Ports a switch may have: what a byte of its station addresses tells apart.
pub const MAX_PORTS: usize = 256;
/// Priorities of IEEE 802.1Q.
pub const PRIORITIES: usize = 8;
/// Queues a port may have: 136 that carry data, and the control queue.
pub const QUEUE_ROWS: usize = 137;
/// Hosts a fabric may have.
pub const MAX_HOSTS: usize = 4096;
/// Descriptors a switch may have: a buffer of 1 GB full of minimum-size frames, several times that of the
/// largest chips without external memory. The kernel allocates a BPF array whole: 40 bytes a slot, here
/// 671 MB.
pub const MAX_SLOTS: usize = 1 << 24;
/// Capacity of `DROPS`: room for reasons to come.
pub const MAX_DROP_REASONS: usize = 64;
/// The address of host 0, 10.0.1.1; host n has the address n further on.
pub const FIRST_HOST_ADDRESS: u32 = 0x0a00_0101;

/// What the engine tells eBPF of the frame that it sends: when it arrives, and how long it counts.
#[repr(C)]
#[derive(Debug, Default, zerocopy::FromBytes)]
pub struct Clock {
    /// Nanoseconds since the run's start. In a switch that stands alone: what `CLOCK_MONOTONIC` showed when its time
    /// began.
    pub now_ns: Cell64,
    /// How long the frame counts that comes next, in wires and buffers; 0: as long as it is.
    pub frame_length: Cell64,
}

/// Whose turn it is at a switch that stands alone: see `turn`.
#[repr(C, align(64))]
#[derive(Debug, Default, zerocopy::FromBytes)]
pub struct Turn {
    /// Who works on the tables.
    pub holder: Cell64,
    /// Frames in the ring that eBPF has left to user space.
    pub left_alone: Cell64,
    /// To the end of the cache line.
    pub unused: [Cell64; 6],
}

/// What the control plane tells a switch. Written before the first frame; the sizes of pools also later,
/// where headroom is measured.
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
    /// Headroom of all queues together; where it is oversubscribed, less than the sum of what each may
    /// hold.
    pub headroom_pool_bytes: u64,
    /// Bytes of the buffer that lossy packets have for themselves; 0 if they share the shared pool.
    pub lossy_pool_bytes: u64,
    /// Salts the ECMP hash, so that switches choose independently.
    pub ecmp_seed: u32,
    /// Interface index of port 0; port n has the index n further on.
    pub first_interface_index: u32,
    /// Ports in use.
    pub ports: u32,
    /// Hosts that have a route.
    pub hosts: u32,
    /// A power of two, at least the number of descriptors.
    pub slots: u32,
    /// N_q in DSH: lossless queues of a port.
    pub lossless_queues: u32,
    /// The egress queues of each priority.
    pub queues: QueueRanges,
    /// Bit n: priority n is lossless.
    pub lossless_classes: u8,
    /// Bit n: packets of priority n may be marked.
    pub ecn_classes: u8,
    /// Quanta of a PAUSE frame.
    pub pause_quanta: u16,
    /// log2 of the ports that tables have room for.
    pub port_shift: u8,
    /// 1 if a queue's pause is also tested whenever it is renewed, 0 if only at departures of its own packets.
    pub tests_renewed_pauses: u8,
    /// [`POLICY_FLOWS`] and [`POLICY_PAIRS`]: what there are policy routes for.
    pub policies: u8,
    /// log2 of the rows of the table of policy routes.
    pub policy_shift: u8,
    /// 1 if private buffers are filled to the byte, so that a packet may lie in two pools, 0 if packets lie whole in
    /// one.
    pub splits_packets: u8,
}

impl SwitchConfig {
    /// Row of (port, queue) in tables that have one for each. For a port that does not exist, the row of another port
    /// or beyond the table.
    #[inline(always)]
    pub const fn queue_row(&self, port: u32, queue: QueueId) -> u32 {
        (queue.place() as u32) << (self.port_shift & 31) | port
    }

    /// The egress queues of a priority.
    #[inline(always)]
    pub const fn queues_of(&self, priority: Priority) -> QueueRange {
        self.queues[priority.index()]
    }

    /// Whether a priority is lossless.
    #[inline(always)]
    pub const fn is_lossless(&self, priority: Priority) -> bool {
        priority.is_in(self.lossless_classes)
    }
}

/// Row of (port, priority) in tables that have one for each.
#[inline(always)]
pub const fn class_row(port: u32, priority: Priority) -> u32 {
    port << 3 | priority.index() as u32
}

/// [`SwitchConfig::port_shift`] for a switch with so many ports.
pub const fn port_shift(ports: u32) -> u8 {
    ports.next_power_of_two().trailing_zeros() as u8
}

/// One switch's totals and its free list.
#[repr(C)]
#[derive(Debug, Default, zerocopy::FromBytes)]
pub struct SwitchState {
    /// Bytes in all private pools.
    pub private_bytes: Cell64,
    /// Bytes in the shared pool, lossless and lossy.
    pub shared_bytes: Cell64,
    /// Bytes in all headroom pools.
    pub headroom_bytes: Cell64,
    /// Bytes in the lossy packets' own pool.
    pub lossy_bytes: Cell64,
    /// The most bytes that were buffered since user space last set it: at each sample, like a watermark that is read.
    pub buffer_max_bytes: Cell64,
    /// The most bytes that were in headroom, likewise.
    pub headroom_max_bytes: Cell64,
    /// State of the random numbers, of marking and of fair dropping; never zero.
    pub random: Cell64,
    /// Slots in use, which is where in `FREE_SLOTS` the next one to take stands.
    pub slots_taken: Cell64,
    /// What `slots_taken` cannot exceed: all descriptors.
    pub slots_limit: Cell64,
    /// Packets marked so far that did not arrive with Congestion Experienced.
    pub ecn_marked: Cell64,
    /// Frames that came in.
    pub received_frames: Cell64,
    /// Bytes of data packets that were admitted.
    pub admitted_bytes: Cell64,
    /// Bytes of data packets that departed.
    pub departed_bytes: Cell64,
    /// PFC frames with a zero source address, which are honoured and counted.
    pub zero_source_pfc: Cell64,
    /// Class-enable bits of lossy priorities in PFC frames, which stop nothing.
    pub lossy_pauses_ignored: Cell64,
}

impl SwitchState {
    /// Bytes that are buffered.
    #[inline(always)]
    pub fn buffered_bytes(&self) -> u64 {
        let Self { private_bytes, shared_bytes, headroom_bytes, lossy_bytes, .. } = self;
        private_bytes.load() + shared_bytes.load() + headroom_bytes.load() + lossy_bytes.load()
    }
}

/// One port. Aligned, so that what every packet needs lies in one cache line.
#[repr(C, align(64))]
#[derive(Debug, Default, zerocopy::FromBytes)]
pub struct Port {
    /// Bytes of headroom: of each lossless ingress queue (Phi in DSH, Eq. 1), or of the port itself where the
    /// scheme reserves it by port.
    pub headroom_bytes: Cell64,
    /// This port's address, in the low six bytes, first byte lowest.
    pub address: Cell64,
    /// The neighbour's address, in the same form.
    pub peer_address: Cell64,
    /// Frames that came in here.
    pub received_frames: Cell64,
    /// PFC frames that came in here.
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
    /// How long a PAUSE that came in may go unanswered (802.1Qbb, at most 3840 B / C).
    pub response_ns: Cell64,
    /// One quantum, 512 bit times, in picoseconds.
    pub quantum_ps: Cell64,
}

/// The MMU's counters for one (ingress port, priority). Aligned: a row is a cache line.
#[repr(C, align(64))]
#[derive(Debug, Default, zerocopy::FromBytes)]
pub struct IngressQueue {
    /// omega_p in DSH.
    pub private_bytes: Cell64,
    /// omega_s in DSH.
    pub shared_bytes: Cell64,
    /// omega_h in DSH; the queue's part of its port's headroom where that is reserved by port.
    pub headroom_bytes: Cell64,
    /// T(t) as the control plane last computed it; used where thresholds are periodic.
    pub stored_threshold_bytes: Cell64,
    /// 1 in state OFF of DSH, Fig. 3: the neighbour has been paused. [`OFF_WITHOUT_ROOM`] if a packet has found no room
    /// since.
    pub off: Cell32,
    /// PAUSEs of this queue, refreshes not counted: tells one pause from the next.
    pub pauses: Cell32,
}

/// State OFF of an ingress queue, or under DSH of a port, that has refused a packet since its PAUSE.
pub const OFF_WITHOUT_ROOM: u32 = 2;

impl IngressQueue {
    /// Bytes that it holds in all pools.
    #[inline(always)]
    pub fn held_bytes(&self) -> u64 {
        self.private_bytes.load() + self.shared_bytes.load() + self.headroom_bytes.load()
    }
}

/// One (egress port, queue).
#[repr(C)]
#[derive(Debug, Default, zerocopy::FromBytes)]
pub struct EgressQueue {
    /// Bytes queued.
    pub bytes: Cell64,
}

/// Where an admitted packet's bytes are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    /// The ingress queue's own.
    Private,
    /// Everyone's, under a threshold; for lossy packets their own, where they have one.
    Shared,
    /// What is left of the ingress queue's own, then everyone's.
    PrivateAndShared,
    /// Beyond X_off.
    Headroom,
}

/// What the switch knows of a packet that it holds.
#[repr(C)]
#[derive(Debug, Default, zerocopy::FromBytes)]
pub struct Descriptor {
    /// When it was admitted.
    pub arrival_ns: Cell64,
    /// Frame length.
    pub length: Cell32,
    /// Port where it came in.
    pub ingress_port: Cell32,
    /// Port where it leaves.
    pub egress_port: Cell32,
    /// Queue of the egress port.
    pub queue: Cell32,
    /// What the scheme keeps of it.
    pub note: Cell32,
    /// In the low half what the flow has left to send; then [`DESCRIPTOR_ECN_CAPABLE`], [`DESCRIPTOR_IN_USE`],
    /// [`DESCRIPTOR_CONGESTED`] and [`DESCRIPTOR_FIRST_RTT`], and from bit 24 on the priority. The low half, because LLVM reads
    /// two bytes that are shifted up as four, and the processor cannot forward them from the store that wrote two.
    pub flags: Cell32,
}

impl Descriptor {
    /// Its priority.
    #[inline(always)]
    pub fn priority(&self) -> Priority {
        Priority::of_bits(self.flags.load() >> DESCRIPTOR_PRIORITY_AT)
    }

    /// What its flow has left to send, as the packet says.
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
/// The bit of the flags from which on they have the priority.
pub const DESCRIPTOR_PRIORITY_AT: u32 = 24;

/// One priority of an egress port: whether PFC lets it send, and what it sent. In one row, because sending a packet
/// and auditing it read the same fields.
#[repr(C, align(64))]
#[derive(Debug, Default, zerocopy::FromBytes)]
pub struct EgressClass {
    /// What the neighbour allows.
    pub pause: PauseState,
    /// What left.
    pub audit: AuditCounters,
}

/// What a neighbour's PFC frames have told one (port, priority); see `pause_state`.
#[repr(C)]
#[derive(Debug, Default, zerocopy::FromBytes)]
pub struct PauseState {
    /// When the latest pause took effect: reception of its first PAUSE plus the port's response time.
    pub binds_ns: Cell64,
    /// When it ends, or ended: expiry, or reception of XON.
    pub until_ns: Cell64,
    /// The pause before that, for frames that were on the wire when a new one began.
    pub previous_binds_ns: Cell64,
    /// Its end.
    pub previous_until_ns: Cell64,
}

/// One (port, priority) under the switch's watchdog; see `watchdog`. Counts go on from storm to storm.
#[repr(C)]
#[derive(Debug, Default, zerocopy::FromBytes)]
pub struct Storm {
    /// 1 while the watchdog acts on a storm of the neighbour's.
    pub active: Cell64,
    /// Packets of the priority that were to leave by the port and were dropped.
    pub egress_packets: Cell64,
    /// Their bytes.
    pub egress_bytes: Cell64,
    /// Packets of the priority that came in at the port and were dropped.
    pub ingress_packets: Cell64,
    /// Their bytes.
    pub ingress_bytes: Cell64,
}

/// State of the scheme that the switch runs, in cache lines; `crate::scheme::state` gives it its types.
#[repr(C, align(64))]
#[derive(Debug, Default, zerocopy::FromBytes)]
pub struct SchemeLine(pub [Cell64; 8]);

/// Look-up tables of the scheme that the switch runs, written by the control plane.
#[repr(C, align(64))]
#[derive(Debug, zerocopy::FromBytes)]
pub struct SchemeBlock(pub [Cell32; SCHEME_BLOCK_WORDS]);

/// Words of a [`SchemeBlock`].
pub const SCHEME_BLOCK_WORDS: usize = 512;

/// What the auditor saw leave one (port, priority).
#[repr(C)]
#[derive(Debug, Default, zerocopy::FromBytes)]
pub struct AuditCounters {
    /// Frames, PFC and link delay frames not counted.
    pub frames: Cell64,
    /// Their bytes.
    pub bytes: Cell64,
    /// Frames whose transmission began while the priority was paused and the response time was over.
    pub violations: Cell64,
    /// PFC and link delay frames (in the row of priority 0).
    pub mac_control_frames: Cell64,
}

/// A six-byte address as [`Port::address`] holds it.
#[inline(always)]
pub const fn address_to_u64(address: [u8; 6]) -> u64 {
    u64::from_le_bytes([
        address[0], address[1], address[2], address[3], address[4], address[5], 0, 0,
    ])
}

/// The inverse of [`address_to_u64`].
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

    /// The kernel's table of descriptors is allocated whole, and a smaller one would drop minimum-size frames.
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
