//! State of DSH: a line of settings; a line for each port and for each ingress queue; a block with
//! the tables of logarithms; and blocks with each port's steps.

use zerocopy::FromBytes;

use crate::cell::{Cell32, Cell64};
use crate::map_abi::{PRIORITIES, SCHEME_BLOCK_WORDS, SchemeBlock, SchemeLine, class_row};
use crate::scheme::Ingress;
use crate::scheme::state::Line;
use crate::tables::Tables;

/// Settings of a switch's DSH.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct SettingsLine {
    /// delta_p: X_poff minus X_pon.
    pub port_xon_offset_bytes: Cell64,
    /// window_length in Algorithm 4.
    pub single_queue_window_ns: Cell64,
    /// -log2 of w_g in Eq. 5.
    pub gradient_weight_shift: Cell32,
    /// -log2 of w_v in Eq. 6.
    pub deviation_weight_shift: Cell32,
    /// log2 of k in Eq. 7.
    pub deviation_gain_shift: Cell32,
    /// Padding to a multiple of eight bytes.
    pub reserved: Cell32,
}

/// State of one port.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct PortLine {
    /// Sum of omega_s over the lossless ingress queues of the port.
    pub shared_bytes: Cell64,
    /// Insurance headroom in use: sum of omega_h over the lossless ingress queues of the port.
    pub insurance_bytes: Cell64,
    /// start_time in Algorithm 4.
    pub single_queue_since_ns: Cell64,
    /// prev_queue_id in Algorithm 4, plus 1; 0 before the first packet.
    pub last_queue: Cell32,
    /// 1 if all lossless packets of a window belonged to one queue, so that tau is 0.
    pub single_queue: Cell32,
    /// 1 if the port is OFF: its neighbour has been paused in all lossless classes.
    /// [`OFF_WITHOUT_ROOM`](crate::map_abi::OFF_WITHOUT_ROOM) if a packet has found no room since.
    pub off: Cell32,
    /// Times that the port turned OFF.
    pub pauses: Cell32,
}

/// State of one ingress queue.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct QueueLine {
    /// Time of the last measurement of the queue's length, ns.
    pub measured_ns: Cell64,
    /// Queue length at the last measurement, at most `u32::MAX`.
    pub measured_bytes: Cell32,
    /// g_avg in Eq. 5: a signed number in which [`LINE_RATE`](super::estimation::LINE_RATE) is the port's line rate.
    pub gradient_average: Cell32,
    /// v_avg in Eq. 6, in the unit of `gradient_average`.
    pub gradient_deviation: Cell32,
    /// tau in Eq. 10: T(t) minus X_qoff. Set at arrival (Algorithm 4), or by the control plane if
    /// thresholds are periodic.
    pub tau_bytes: Cell32,
}

// SAFETY: `#[repr(C)]` and made of cells only.
unsafe impl Line for SettingsLine {}
// SAFETY: as above.
unsafe impl Line for PortLine {}
// SAFETY: as above.
unsafe impl Line for QueueLine {}

const SETTINGS: u32 = 0;
const FIRST_PORT: u32 = 1;

/// Returns the settings.
#[inline(always)]
pub fn settings<T: Tables>(tables: &T) -> Option<&SettingsLine> {
    tables.scheme_line(SETTINGS).map(SchemeLine::view)
}

/// Returns the port of an ingress queue.
#[inline(always)]
pub fn port<'a, T: Tables>(at: &Ingress<'a, T>) -> Option<&'a PortLine> {
    port_of(at.tables, at.port_number)
}

/// Returns port `number`.
#[inline(always)]
pub fn port_of<T: Tables>(tables: &T, number: u32) -> Option<&PortLine> {
    tables.scheme_line(FIRST_PORT.wrapping_add(number)).map(SchemeLine::view)
}

/// Returns an ingress queue.
#[inline(always)]
pub fn queue<'a, T: Tables>(at: &Ingress<'a, T>) -> Option<&'a QueueLine> {
    let first = FIRST_PORT + at.config.ports;
    let row = class_row(at.port_number, at.priority);
    at.tables.scheme_line(first.wrapping_add(row)).map(SchemeLine::view)
}

/// Number of lines for the ports and queues of a switch with `ports` ports, and for the settings.
pub const fn lines(ports: u32) -> u32 {
    FIRST_PORT + (1 + PRIORITIES as u32) * ports
}

/// Entries of a table of logarithms, indexed by a byte.
pub const LOGARITHM_ENTRIES: usize = 256;
/// Steps of the function that maps a gradient to headroom (Fig. 12).
pub const STEPS: usize = 64;
/// Words of a port's part of a block.
const PORT_WORDS: usize = 128;
const PORTS_IN_A_BLOCK: u32 = (SCHEME_BLOCK_WORDS / PORT_WORDS) as u32;
const _: () = assert!(2 + STEPS <= PORT_WORDS && 2 * LOGARITHM_ENTRIES == SCHEME_BLOCK_WORDS);

/// Logarithm and exponential to base 2 as look-up tables (Algorithm 3, line 2). Entry n represents
/// the middle of the n-th of 256 intervals.
#[derive(Clone, Copy, Debug)]
pub struct Logarithms<'a>(&'a SchemeBlock);

impl<'a> Logarithms<'a> {
    /// log2 of 1 + n/256, in units of 2^-10.
    #[inline(always)]
    pub fn log2(self, entry: u64) -> &'a Cell32 {
        self.0.word(entry as usize & (LOGARITHM_ENTRIES - 1))
    }

    /// 2 to the power of n/256, in units of 2^-16.
    #[inline(always)]
    pub fn exp2(self, entry: u64) -> &'a Cell32 {
        self.0.word(LOGARITHM_ENTRIES + (entry as usize & (LOGARITHM_ENTRIES - 1)))
    }
}

/// A port's look-up table from gradients to headroom.
#[derive(Clone, Copy, Debug)]
pub struct HeadroomSteps<'a> {
    block: &'a SchemeBlock,
    first: usize,
}

impl<'a> HeadroomSteps<'a> {
    /// log2 of the gradient of a queue that grows by one byte per ns, in units of 2^-10.
    #[inline(always)]
    pub fn byte_per_ns_log2(self) -> &'a Cell32 {
        self.block.word(self.first)
    }

    /// Phi; 0 if shared headroom is disabled.
    #[inline(always)]
    pub fn phi_bytes(self) -> &'a Cell32 {
        self.block.word(self.first + 1)
    }

    /// phi-hat for gradients in the n-th of [`STEPS`] intervals of the line rate (Fig. 12).
    #[inline(always)]
    pub fn bytes(self, step: usize) -> &'a Cell32 {
        self.block.word(self.first + 2 + (step & (STEPS - 1)))
    }
}

/// Returns the tables of logarithms.
#[inline(always)]
pub fn logarithms<T: Tables>(tables: &T) -> Option<Logarithms<'_>> {
    tables.scheme_block(0).map(Logarithms)
}

/// Returns the steps of port `number`.
#[inline(always)]
pub fn steps<T: Tables>(tables: &T, number: u32) -> Option<HeadroomSteps<'_>> {
    let block = tables.scheme_block((number / PORTS_IN_A_BLOCK).wrapping_add(1))?;
    Some(HeadroomSteps { block, first: (number % PORTS_IN_A_BLOCK) as usize * PORT_WORDS })
}

/// Number of blocks for a switch with `ports` ports.
pub const fn blocks(ports: u32) -> u32 {
    1 + ports.div_ceil(PORTS_IN_A_BLOCK)
}
