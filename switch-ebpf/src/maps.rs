//! The maps, as listed in `fabric_core::map_abi`. The loader sets capacities that depend on the
//! fabric; the numbers here are the min values that load.

use aya_ebpf::helpers::bpf_ktime_get_ns;
use aya_ebpf::macros::map;
use aya_ebpf::maps::lpm_trie::Key;
use aya_ebpf::maps::{Array, HashMap, LpmTrie, RingBuf, XskMap};
use fabric_core::cell::{Cell64, Sharing};
use fabric_core::drop_reason::DropReason;
use fabric_core::map_abi::{
    Clock, Descriptor, EgressClass, EgressQueue, FIRST_HOST_ADDRESS, IngressQueue,
    MAX_DROP_REASONS, NextHop, PolicyRoute, Port, Route, SchemeBlock, SchemeLine, Storm,
    SwitchConfig, SwitchState, Turn,
};
use fabric_core::policy::{MarkingScheme, Policy, ThresholdScheme};
use fabric_core::tables::Tables;

/// `BPF_F_MMAPABLE`: user space works on the same memory.
const MMAPABLE: u32 = 1024;

#[map]
static CLOCK: Array<Clock> = Array::with_max_entries(1, MMAPABLE);
#[map]
static CONFIG: Array<SwitchConfig> = Array::with_max_entries(1, MMAPABLE);
#[map]
static SWITCH: Array<SwitchState> = Array::with_max_entries(1, MMAPABLE);
#[map]
static PORTS: Array<Port> = Array::with_max_entries(1, MMAPABLE);
#[map]
static INGRESS_QUEUES: Array<IngressQueue> = Array::with_max_entries(1, MMAPABLE);
#[map]
static EGRESS_QUEUES: Array<EgressQueue> = Array::with_max_entries(1, MMAPABLE);
#[map]
static EGRESS_CLASSES: Array<EgressClass> = Array::with_max_entries(1, MMAPABLE);
#[map]
static STORMS: Array<Storm> = Array::with_max_entries(1, MMAPABLE);
#[map]
static ROUTES: Array<Route> = Array::with_max_entries(1, MMAPABLE);
#[map]
static NEXT_HOPS: Array<NextHop> = Array::with_max_entries(1, MMAPABLE);
#[map]
static POLICY_ROUTES: Array<PolicyRoute> = Array::with_max_entries(1, MMAPABLE);
#[map]
static DESCRIPTORS: Array<Descriptor> = Array::with_max_entries(1, MMAPABLE);
#[map]
static FREE_SLOTS: Array<Cell64> = Array::with_max_entries(1, MMAPABLE);
#[map]
static DROPS: Array<Cell64> = Array::with_max_entries(MAX_DROP_REASONS as u32, MMAPABLE);
#[map]
static LOSSY_LINES: Array<SchemeLine> = Array::with_max_entries(1, MMAPABLE);
#[map]
static SCHEME_LINES: Array<SchemeLine> = Array::with_max_entries(1, MMAPABLE);
#[map]
static SCHEME_BLOCKS: Array<SchemeBlock> = Array::with_max_entries(1, MMAPABLE);
#[map]
pub static EVENTS: RingBuf = RingBuf::with_byte_size(128 * 1024, 0);
#[map]
pub static SOCKETS: XskMap = XskMap::with_max_entries(1, 0);

#[map]
static TURN: Array<Turn> = Array::with_max_entries(1, MMAPABLE);
#[map]
static PORT_NUMBERS: HashMap<u32, u32> = HashMap::with_max_entries(1, 0);
#[map]
static PREFIXES: LpmTrie<[u8; 4], u32> = LpmTrie::with_max_entries(1, 0);

/// Not 0 at a standalone switch.
#[unsafe(no_mangle)]
static STANDALONE: u32 = 0;

#[unsafe(no_mangle)]
static POLICY: Policy = Policy::new(ThresholdScheme::Dynamic, MarkingScheme::Off);

/// Returns the schemes that the loader selected.
#[inline(always)]
pub fn policy() -> Policy {
    // SAFETY: a static that is never written; volatile because the loader replaces its value.
    unsafe { core::ptr::read_volatile(&raw const POLICY) }
}

/// True for a standalone switch: on the real clock, and on interfaces of any index. The verifier
/// knows this constant, and removes the code of the other kind of switch.
#[inline(always)]
pub fn stands_alone() -> bool {
    // SAFETY: as above.
    unsafe { core::ptr::read_volatile(&raw const STANDALONE) != 0 }
}

/// Returns the turn lock of a standalone switch.
#[inline(always)]
pub fn turn() -> Option<&'static Turn> {
    TURN.get(0)
}

/// Returns the port number of an interface, or an invalid number if the interface is not a port.
#[inline(always)]
pub fn port_of(interface: u32, config: &SwitchConfig) -> u32 {
    if !stands_alone() {
        return interface.wrapping_sub(config.first_interface_index);
    }
    // SAFETY: entries are written before the first frame, and never removed.
    unsafe { PORT_NUMBERS.get(interface) }.map_or(u32::MAX, |port| *port)
}

/// Returns the time of the switch, ns.
#[inline(always)]
pub fn clock() -> u64 {
    let now = CLOCK.get(0).map_or(0, |clock| clock.now_ns.load());
    if !stands_alone() {
        return now;
    }
    let began = now;
    // SAFETY: the helper has no arguments.
    unsafe { bpf_ktime_get_ns() }.wrapping_sub(began)
}

/// Returns the accounted length of a frame of `own` bytes.
#[inline(always)]
pub fn counted_length(own: u32) -> u32 {
    match CLOCK.get(0).map_or(0, |clock| clock.frame_length.load()) {
        0 => own,
        counted => counted as u32,
    }
}

/// Access to a switch's tables by map look-ups.
pub struct MapTables;

impl Sharing for MapTables {
    const SHARED: bool = true;
}

impl Tables for MapTables {
    #[inline(always)]
    fn config(&self) -> Option<&SwitchConfig> {
        CONFIG.get(0)
    }

    #[inline(always)]
    fn switch(&self) -> Option<&SwitchState> {
        SWITCH.get(0)
    }

    #[inline(always)]
    fn port(&self, port: u32) -> Option<&Port> {
        PORTS.get(port)
    }

    #[inline(always)]
    fn ingress_queue(&self, row: u32) -> Option<&IngressQueue> {
        INGRESS_QUEUES.get(row)
    }

    #[inline(always)]
    fn egress_queue(&self, row: u32) -> Option<&EgressQueue> {
        EGRESS_QUEUES.get(row)
    }

    #[inline(always)]
    fn egress_class(&self, row: u32) -> Option<&EgressClass> {
        EGRESS_CLASSES.get(row)
    }

    #[inline(always)]
    fn storm(&self, row: u32) -> Option<&Storm> {
        STORMS.get(row)
    }

    #[inline(always)]
    fn host_of(&self, destination: u32) -> u32 {
        if !stands_alone() {
            return destination.wrapping_sub(FIRST_HOST_ADDRESS);
        }
        let key = Key::new(32, destination.to_be_bytes());
        PREFIXES.get(&key).map_or(u32::MAX, |row| *row)
    }

    #[inline(always)]
    fn route(&self, host: u32) -> Option<&Route> {
        ROUTES.get(host)
    }

    #[inline(always)]
    fn next_hop(&self, index: u32) -> Option<&NextHop> {
        NEXT_HOPS.get(index)
    }

    #[inline(always)]
    fn policy_route(&self, index: u32) -> Option<&PolicyRoute> {
        POLICY_ROUTES.get(index)
    }

    #[inline(always)]
    fn descriptor(&self, slot: u32) -> Option<&Descriptor> {
        DESCRIPTORS.get(slot)
    }

    #[inline(always)]
    fn free_slot(&self, index: u32) -> Option<&Cell64> {
        FREE_SLOTS.get(index)
    }

    #[inline(always)]
    fn drops(&self, reason: DropReason) -> Option<&Cell64> {
        DROPS.get(reason as u32)
    }

    #[inline(always)]
    fn lossy_line(&self, index: u32) -> Option<&SchemeLine> {
        LOSSY_LINES.get(index)
    }

    #[inline(always)]
    fn scheme_line(&self, index: u32) -> Option<&SchemeLine> {
        SCHEME_LINES.get(index)
    }

    #[inline(always)]
    fn scheme_block(&self, index: u32) -> Option<&SchemeBlock> {
        SCHEME_BLOCKS.get(index)
    }
}
