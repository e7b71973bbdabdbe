//! One switch three times: as the XDP program and as the TC program, run by `BPF_PROG_TEST_RUN` on tables in mapped
//! memory, and as the native functions on separate tables.
//!
//! [`Twins`] hands each frame and each departure to all and fails on the first difference: in the frame's outcome, in a
//! record's header or bytes, or in any row of any table.
#![expect(clippy::cast_possible_truncation, reason = "places in tables of a switch of four ports")]

mod bfc;
pub mod case;
pub mod frame;
mod kernel;
mod native;
mod row;
mod rule;
mod state;

use fabric_core::arrival::Outcome;
use fabric_core::departure::{Departure, departure};
use fabric_core::hop_control::Order;
use fabric_core::map_abi::{self, QUEUE_ROWS, port_shift};
use fabric_core::policy::Policy;
use fabric_core::priority::Priority;
use fabric_core::queue::QueueId;
use fabric_core::record::Header;
use fabric_core::scheme::Room;
use fabric_core::scheme::bfc::{Options as BfcOptions, state as bfc_state};
use fabric_core::scheme::dsh::state as dsh_state;
use fabric_core::scheme::ofc::{Options as OfcOptions, state as ofc_state};
use switch_user::hook::Hook;
use switch_user::tables::{Capacity, SwitchTables};
use units::Nanos;

pub use bfc::{BfcPort, BfcState};
pub use kernel::{KernelSwitch, TestRunTime, in_namespace};
pub use native::NativeSwitch;
pub use row::{
    AuditRow, BfcFlowRow, DescriptorRow, DshPortRow, DshQueueRow, EgressQueueRow, IngressQueueRow,
    PauseRow, PortRow, SpfcRow, StormRow, SwitchRow,
};
pub use rule::RuleState;
pub use state::{State, first_difference};

/// Ports of a switch under test: interfaces 2 to 5 of its namespace.
pub const PORTS: u32 = 4;
/// Interface index of port 0. The loopback has index 1 and is not a port.
pub const FIRST_INTERFACE: u32 = 2;
/// The number that a frame from the loopback gets.
pub const NO_PORT: u32 = 1u32.wrapping_sub(FIRST_INTERFACE);
/// Hosts of a switch under test; host n is behind port n modulo [`PORTS`].
pub const HOSTS: u32 = 8;
/// Size of the tables of a switch under test.
pub const CAPACITY: Capacity = Capacity {
    queues: QUEUE_ROWS as u32,
    next_hops: 256,
    policies: 64,
    scheme: Room {
        // The states of ports beside DSH are behind its own lines.
        lines: larger(
            dsh_state::lines(PORTS) + PORTS,
            larger(
                bfc_state::lines(BfcOptions::EVERY[2], PORTS),
                ofc_state::lines(OfcOptions::EVERY[1], PORTS),
            ),
        ),
        blocks: larger(dsh_state::blocks(PORTS), bfc_state::blocks(PORTS)),
    },
    lossy_flow_lines: 8,
    ..Capacity::new(PORTS, HOSTS, 64)
};

const fn larger(a: u32, b: u32) -> u32 {
    if a > b { a } else { b }
}

/// Row of (port, priority) in tables with one for each.
pub const fn class_row(port: u32, priority: u8) -> usize {
    map_abi::class_row(port, Priority::new(priority)) as usize
}

/// Row of (port, queue) in tables with one for each.
pub const fn queue_row(port: u32, queue: QueueId) -> usize {
    queue.place() << port_shift(PORTS) | port as usize
}

/// Results of one frame: its record, and the records of hop control frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Outcome of the frame.
    pub outcome: Outcome,
    /// Port by which it came in.
    pub port: u32,
    /// Instant of the arrival.
    pub time_ns: u64,
    /// For a queued packet or a link delay frame: the record's header and the frame, as rewritten.
    pub queued: Option<(Header, Vec<u8>)>,
    /// Hop control frames that are due: of each, the record's header and the whole frame.
    pub control: Vec<(Header, Vec<u8>)>,
}

impl Arrival {
    /// Orders of the hop control frames that are due.
    pub fn orders(&self) -> Vec<Order> {
        let order = |(header, _): &(Header, _)| header.order().expect("it says something");
        self.control.iter().map(order).collect()
    }

    /// Order of the hop control frame that is due, if there is one.
    ///
    /// # Panics
    /// If more than one is due, which happens only for BFC over PFC.
    pub fn order(&self) -> Option<Order> {
        assert!(self.control.len() <= 1);
        self.orders().first().copied()
    }
}

/// A switch in the kernel, at XDP and at TC, and an equal switch natively.
pub struct Twins {
    /// At XDP, through `BPF_PROG_TEST_RUN`.
    pub kernel: KernelSwitch,
    /// At TC, likewise.
    classifier: KernelSwitch,
    /// As native functions.
    pub native: NativeSwitch,
    policy: Policy,
}

impl Twins {
    /// Loads a switch of [`CAPACITY`] that runs `policy`. Call inside [`in_namespace`].
    pub fn load(policy: Policy) -> Self {
        Self {
            kernel: KernelSwitch::load(CAPACITY, policy, Hook::Xdp, None),
            classifier: KernelSwitch::load(CAPACITY, policy, Hook::Tc, None),
            native: NativeSwitch::new(CAPACITY, policy),
            policy,
        }
    }

    /// The policy that all run.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// Sets all switches to `state`, whatever their state before.
    pub fn reset(&mut self, state: &State) {
        state.write(self.kernel.tables_mut());
        state.write(self.classifier.tables_mut());
        state.write(self.native.tables_mut());
    }

    /// Hands a frame to all switches. If the kernel does not pass such a frame to a test run at TC, the native function
    /// handles it on that switch's tables, so that they stay in step.
    pub fn arrive(&mut self, port: u32, now: Nanos, frame: &[u8]) -> Result<Arrival, String> {
        let kernel = self.kernel.arrive(port, now, frame)?;
        let classifier = if is_for_tc(frame) {
            self.classifier.arrive(port, now, frame)?
        } else {
            native::arrive(self.classifier.tables(), self.policy, port, now, frame)
        };
        let native = self.native.arrive(port, now, frame);
        self.agree("arrival", [&kernel, &classifier], native)
    }

    /// Lets all give back `slot`.
    pub fn depart(
        &mut self,
        slot: u32,
        now: Nanos,
    ) -> Result<Option<(Departure, Vec<Order>)>, String> {
        let depart = |tables: &SwitchTables| {
            let mut due = Vec::new();
            let send = &mut |order: &Order| due.push(*order);
            let left = if tables.is_mapped() {
                departure(tables, self.policy, slot, now, send)
            } else {
                departure(tables.unshared(), self.policy, slot, now, send)
            };
            left.map(|left| (left, due))
        };
        let switches = [self.kernel.tables(), self.classifier.tables(), self.native.tables()];
        let [kernel, classifier, native] = switches.map(depart);
        self.agree("departure", [&kernel, &classifier], native)
    }

    /// Lets the control planes of all compute thresholds under `policy`.
    pub fn observe(&mut self, policy: Policy, now: Nanos) -> Result<(), String> {
        for tables in [self.kernel.tables(), self.classifier.tables(), self.native.tables()] {
            tables.observe(policy, now);
        }
        self.agree("control plane", [&(), &()], ())
    }

    /// Lets the control planes of all count congested queues and measure rates.
    pub fn update_lossy(&mut self, now: Nanos) -> Result<(), String> {
        for tables in [self.kernel.tables(), self.classifier.tables(), self.native.tables()] {
            tables.update_lossy(self.policy, now);
        }
        self.agree("lossy control plane", [&(), &()], ())
    }

    /// Shows the auditors of all a frame that leaves `port`, its transmission having begun at `started`. The
    /// switch's clock shows `now`, less than 4.29 s later.
    pub fn audit(
        &mut self,
        port: u32,
        now: Nanos,
        started: Nanos,
        frame: &[u8],
    ) -> Result<(), String> {
        self.kernel.audit(port, now, started, frame)?;
        self.classifier.audit(port, now, started, frame)?;
        self.native.audit(port, started, frame);
        self.agree("audit", [&(), &()], ())
    }

    /// Fails if the tables differ in a row that a port, host or slot has.
    pub fn check_tables(&self) -> Result<(), String> {
        for (hook, switch) in [("XDP", &self.kernel), ("TC", &self.classifier)] {
            let difference = first_difference(switch.tables(), self.native.tables(), CAPACITY);
            difference.map_or(Ok(()), |what| Err(format!("tables at {hook}: {what}")))?;
        }
        Ok(())
    }

    fn agree<T: PartialEq + std::fmt::Debug>(
        &self,
        what: &str,
        [kernel, classifier]: [&T; 2],
        native: T,
    ) -> Result<T, String> {
        for (hook, ours) in [("XDP", kernel), ("TC", classifier)] {
            if *ours != native {
                return Err(format!("{what}: eBPF at {hook} {ours:?}, native {native:?}"));
            }
        }
        self.check_tables().map_err(|difference| format!("after {what}, {difference}"))?;
        Ok(native)
    }
}

/// Returns true if `BPF_PROG_TEST_RUN` passes a frame to a TC program: data must follow the Ethernet header, for IPv4
/// and IPv6 the whole header, and frame and skb must fit a page.
fn is_for_tc(frame: &[u8]) -> bool {
    let shortest = match frame.get(12..14) {
        Some([0x08, 0x00]) => 14 + 20,
        Some([0x86, 0xdd]) => 14 + 40,
        _ => 14 + 1,
    };
    (shortest..=3700).contains(&frame.len())
}
