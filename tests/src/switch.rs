//! One switch twice: as the loaded eBPF program, run by `BPF_PROG_TEST_RUN` on tables in mapped
//! memory, and as the native functions on tables of their own.
//!
//! [`Twins`] hands each frame and each departure to both and fails on the first difference: in what
//! became of the frame, in a record's header or bytes, in any row of any table.
#![expect(clippy::cast_possible_truncation, reason = "places in tables of a switch of four ports")]

pub mod case;
pub mod frame;
mod kernel;
mod native;
mod row;
mod state;

use fabric_core::arrival::Outcome;
use fabric_core::departure::{Departure, departure};
use fabric_core::policy::Policy;
use fabric_core::record::Header;
use fabric_core::units::Nanos;
use switch_user::tables::Capacity;

pub use kernel::{KernelSwitch, TestRunTime, in_namespace};
pub use native::NativeSwitch;
pub use row::{
    AuditRow, DescriptorRow, EgressQueueRow, IngressQueueRow, PauseRow, PortRow, SwitchRow,
};
pub use state::{State, first_difference, first_used};

/// Ports of a switch under test: interfaces 2 to 5 of its namespace.
pub const PORTS: u32 = 4;
/// Interface index of port 0. The loopback has index 1 and is no port.
pub const FIRST_INTERFACE: u32 = 2;
/// The number that a frame from the loopback gets.
pub const NO_PORT: u32 = 1u32.wrapping_sub(FIRST_INTERFACE);
/// Hosts of a switch under test; host n is behind port n modulo [`PORTS`].
pub const HOSTS: u32 = 8;
/// Size of the tables of a switch under test.
pub const CAPACITY: Capacity = Capacity { ports: PORTS, hosts: HOSTS, slots: 64 };

/// What one frame left behind: its record, and the record of a PAUSE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// What became of it.
    pub outcome: Outcome,
    /// Where it came in.
    pub port: u32,
    /// When.
    pub time_ns: u64,
    /// Of a queued packet or a link delay frame: the record's header and the frame, as rewritten.
    pub queued: Option<(Header, Vec<u8>)>,
    /// Of a PAUSE that is due: the record's header and the whole PAUSE frame.
    pub pause: Option<(Header, Vec<u8>)>,
}

/// A switch in the kernel and the same switch natively.
pub struct Twins {
    /// Through `BPF_PROG_TEST_RUN`.
    pub kernel: KernelSwitch,
    /// As functions.
    pub native: NativeSwitch,
    policy: Policy,
}

impl Twins {
    /// Loads a switch of [`CAPACITY`] that runs `policy`. Call inside [`in_namespace`].
    pub fn load(policy: Policy) -> Self {
        Self {
            kernel: KernelSwitch::load(CAPACITY, policy, None),
            native: NativeSwitch::new(CAPACITY, policy),
            policy,
        }
    }

    /// Puts both into `state`, whatever they were in before.
    pub fn reset(&mut self, state: &State) {
        state.write(self.kernel.tables_mut());
        state.write(self.native.tables_mut());
    }

    /// Hands a frame to both.
    pub fn arrive(&mut self, port: u32, now: Nanos, frame: &[u8]) -> Result<Arrival, String> {
        let kernel = self.kernel.arrive(port, now, frame)?;
        let native = self.native.arrive(port, now, frame);
        self.agree("arrival", &kernel, native)
    }

    /// Lets both give back `slot`.
    pub fn depart(&mut self, slot: u32) -> Result<Option<Departure>, String> {
        let kernel = departure(self.kernel.tables(), self.policy, slot);
        let native = departure(self.native.tables(), self.policy, slot);
        self.agree("departure", &kernel, native)
    }

    /// Lets the control planes of both compute thresholds under `policy`.
    pub fn set_thresholds(&mut self, policy: Policy) -> Result<(), String> {
        self.kernel.tables().set_thresholds(policy);
        self.native.tables().set_thresholds(policy);
        self.agree("control plane", &(), ())
    }

    /// Shows the auditors of both a frame that leaves `port`, its transmission having begun `age` before
    /// `now`.
    pub fn audit(&mut self, port: u32, now: Nanos, age: u32, frame: &[u8]) -> Result<(), String> {
        self.kernel.audit(port, now, age, frame)?;
        self.native.audit(port, now, age, frame);
        self.agree("audit", &(), ())
    }

    /// Fails if the tables differ in a row that a port, host or slot has.
    pub fn check_tables(&self) -> Result<(), String> {
        first_difference(self.kernel.tables(), self.native.tables(), CAPACITY)
            .map_or(Ok(()), |difference| Err(format!("tables: {difference}")))
    }

    /// Fails if the program wrote to a row of a port that there is not.
    pub fn check_unused_rows(&self) -> Result<(), String> {
        first_used(self.kernel.tables(), CAPACITY)
            .map_or(Ok(()), |row| Err(format!("a row without a port is used: {row}")))
    }

    fn agree<T: PartialEq + std::fmt::Debug>(
        &self,
        what: &str,
        kernel: &T,
        native: T,
    ) -> Result<T, String> {
        if *kernel != native {
            return Err(format!("{what}: eBPF {kernel:?}, native {native:?}"));
        }
        self.check_tables().map_err(|difference| format!("after {what}, {difference}"))?;
        Ok(native)
    }
}
