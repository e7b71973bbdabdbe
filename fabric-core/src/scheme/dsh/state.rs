//! What DSH keeps: a line of settings, a line for each port and for each ingress queue; a block with the tables
//! of logarithms, and blocks with each port's steps.

use zerocopy::FromBytes;

use crate::cell::{Cell32, Cell64};
use crate::map_abi::{PRIORITIES, SCHEME_BLOCK_WORDS, SchemeBlock, SchemeLine, class_row};
use crate::scheme::Ingress;
use crate::scheme::state::Line;
use crate::tables::Tables;

/// How a switch's DSH is configured.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct SettingsLine {
    /// delta_p: X_pon lies this far below X_poff.
    pub port_xon_offset_bytes: Cell64,
    /// window_length in Algorithm 4.
    pub single_queue_window_ns: Cell64,
    /// -log2 of w_g in Eq. 5.
    pub gradient_weight_shift: Cell32,
    /// -log2 of w_v in Eq. 6.
    pub deviation_weight_shift: Cell32,
    /// log2 of k in Eq. 7.
    pub deviation_gain_shift: Cell32,
    /// Keeps the size a multiple of eight.
    pub reserved: Cell32,
}

/// One port.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct PortLine {
    /// Sum of omega_s over the lossless queues that came in here.
    pub shared_bytes: Cell64,
    /// Insurance headroom in use, the sum of omega_h over these queues.
    pub insurance_bytes: Cell64,
    /// start_time in Algorithm 4.
    pub single_queue_since_ns: Cell64,
    /// prev_queue_id in Algorithm 4, plus 1; 0 before the first packet.
    pub last_queue: Cell32,
    /// 1 if all lossless packets of a window went to one queue, so that tau is 0.
    pub single_queue: Cell32,
    /// 1 if the port is OFF: its neighbour has been paused in all lossless classes.
    /// [`OFF_WITHOUT_ROOM`](crate::map_abi::OFF_WITHOUT_ROOM) if a packet has found no room since.
    pub off: Cell32,
    /// Times that the port went to OFF.
    pub pauses: Cell32,
}

/// One ingress queue.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
pub struct QueueLine {
    /// When the queue's length was last measured.
    pub measured_ns: Cell64,
    /// The length that was measured, at most `u32::MAX`.
    pub measured_bytes: Cell32,
    /// g_avg in Eq. 5: a signed number, [`LINE_RATE`](super::estimation::LINE_RATE) being the port's.
    pub gradient_average: Cell32,
    /// v_avg in Eq. 6, in the same unit.
    pub gradient_deviation: Cell32,
    /// tau in Eq. 10: X_qoff lies this far below T(t). Set at arrival (Algorithm 4), or by the control plane
    /// where thresholds are periodic.
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

/// The settings.
#[inline(always)]
pub fn settings<T: Tables>(tables: &T) -> Option<&SettingsLine> {
    tables.scheme_line(SETTINGS).map(SchemeLine::view)
}

/// The port of an ingress queue.
#[inline(always)]
pub fn port<'a, T: Tables>(at: &Ingress<'a, T>) -> Option<&'a PortLine> {
    port_of(at.tables, at.port_number)
}

/// Port `number`.
#[inline(always)]
pub fn port_of<T: Tables>(tables: &T, number: u32) -> Option<&PortLine> {
    tables.scheme_line(FIRST_PORT.wrapping_add(number)).map(SchemeLine::view)
}

/// An ingress queue.
#[inline(always)]
pub fn queue<'a, T: Tables>(at: &Ingress<'a, T>) -> Option<&'a QueueLine> {
    let first = FIRST_PORT + at.config.ports;
    let row = class_row(at.port_number, at.priority);
    at.tables.scheme_line(first.wrapping_add(row)).map(SchemeLine::view)
}

/// Lines of ports and queues, and the settings', for a switch with so many ports.
pub const fn lines(ports: u32) -> u32 {
    FIRST_PORT + (1 + PRIORITIES as u32) * ports
}

/// Words of a table of logarithms: a byte indexes them.
pub const LOGARITHM_ENTRIES: usize = 256;
/// Steps of the function that maps a gradient to headroom (Fig. 12).
pub const STEPS: usize = 64;
/// Words that a port has in a block.
const PORT_WORDS: usize = 128;
const PORTS_IN_A_BLOCK: u32 = (SCHEME_BLOCK_WORDS / PORT_WORDS) as u32;
const _: () = assert!(2 + STEPS <= PORT_WORDS && 2 * LOGARITHM_ENTRIES == SCHEME_BLOCK_WORDS);

/// Logarithm and exponential to base 2 as look-up tables (Algorithm 3, line 2). Entry n stands for the middle of
/// the n-th of 256 intervals.
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

/// How one port turns a gradient into headroom.
#[derive(Clone, Copy, Debug)]
pub struct HeadroomSteps<'a> {
    block: &'a SchemeBlock,
    first: usize,
}

impl<'a> HeadroomSteps<'a> {
    /// log2 of the gradient of a queue that grows by a byte a nanosecond, in units of 2^-10.
    #[inline(always)]
    pub fn byte_per_ns_log2(self) -> &'a Cell32 {
        self.block.word(self.first)
    }

    /// Phi; 0 where shared headroom is switched off.
    #[inline(always)]
    pub fn phi_bytes(self) -> &'a Cell32 {
        self.block.word(self.first + 1)
    }

    /// phi-hat for gradients in the n-th of [`STEPS`] parts of the line rate (Fig. 12).
    #[inline(always)]
    pub fn bytes(self, step: usize) -> &'a Cell32 {
        self.block.word(self.first + 2 + (step & (STEPS - 1)))
    }
}

/// The tables of logarithms.
#[inline(always)]
pub fn logarithms<T: Tables>(tables: &T) -> Option<Logarithms<'_>> {
    tables.scheme_block(0).map(Logarithms)
}

/// The steps of port `number`.
#[inline(always)]
pub fn steps<T: Tables>(tables: &T, number: u32) -> Option<HeadroomSteps<'_>> {
    let block = tables.scheme_block((number / PORTS_IN_A_BLOCK).wrapping_add(1))?;
    Some(HeadroomSteps { block, first: (number % PORTS_IN_A_BLOCK) as usize * PORT_WORDS })
}

/// Blocks for a switch with so many ports.
pub const fn blocks(ports: u32) -> u32 {
    1 + ports.div_ceil(PORTS_IN_A_BLOCK)
}
