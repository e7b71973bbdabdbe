//! The switch as native functions on memory of their own.

use fabric_core::arrival::{Outcome, arrival};
use fabric_core::audit::audit;
use fabric_core::drop_reason::DropReason;
use fabric_core::frame::ByteFrame;
use fabric_core::hop_control::Order;
use fabric_core::map_abi::address_from_u64;
use fabric_core::policy::Policy;
use fabric_core::record::{Header, MAX_FRAME};
use fabric_core::tables::{Tables, count_drop};
use fabric_core::wire::{HopControlFrame, hop_control, link_delay};
use switch_user::tables::{Capacity, SwitchTables};
use units::Nanos;

use super::Arrival;

/// A switch without a kernel.
pub struct NativeSwitch {
    tables: SwitchTables,
    policy: Policy,
}

impl NativeSwitch {
    /// A switch whose tables are zero.
    pub fn new(capacity: Capacity, policy: Policy) -> Self {
        let tables = SwitchTables::owned(capacity).expect("memory for a switch's tables");
        Self { tables, policy }
    }

    /// The switch's tables.
    pub fn tables(&self) -> &SwitchTables {
        &self.tables
    }

    /// The switch's tables, mutable.
    pub fn tables_mut(&mut self) -> &mut SwitchTables {
        &mut self.tables
    }

    /// Hands a frame to the pipeline.
    pub fn arrive(&mut self, port: u32, now: Nanos, frame: &[u8]) -> Arrival {
        arrive(self.tables.unshared(), self.policy, port, now, frame)
    }

    /// Shows the auditor a frame.
    pub fn audit(&mut self, port: u32, started: Nanos, frame: &[u8]) {
        let mut frame = frame.to_vec();
        audit(&ByteFrame(frame.as_mut_slice()), self.tables.unshared(), port, started);
    }
}

/// Native counterpart of the program around the arrival pipeline.
pub fn arrive(
    tables: &impl Tables,
    policy: Policy,
    port: u32,
    now: Nanos,
    frame: &[u8],
) -> Arrival {
    let mut frame = frame.to_vec();
    let length = frame.len() as u32;
    let mut orders = Vec::new();
    let outcome = if frame.len() > MAX_FRAME {
        Outcome::Dropped(count_drop(tables, DropReason::TooLong))
    } else {
        let mut send = |order: &Order| orders.push(control(tables, order, port, now));
        arrival(&mut ByteFrame(frame.as_mut_slice()), tables, policy, port, now, &mut send)
    };
    let queued = match &outcome {
        Outcome::Queued(packet) => {
            let count = orders.len() as u32;
            Some((Header::for_queued(packet, port, now.0, length, count), frame))
        }
        Outcome::LinkDelayReceived => {
            frame.truncate(link_delay::LEN);
            Some((Header::for_link_delay(port, now.0), frame))
        }
        _ => None,
    };
    Arrival { outcome, port, time_ns: now.0, queued, control: orders }
}

fn control(tables: &impl Tables, order: &Order, port: u32, now: Nanos) -> (Header, Vec<u8>) {
    let row = tables.port(port).expect("a packet came in at it");
    let source = address_from_u64(row.address.load());
    let mut frame = vec![0; hop_control::LEN];
    let bytes = frame.first_chunk_mut().expect("as long as a frame is");
    HopControlFrame { source, control: order.control }.emit(bytes);
    (Header::for_order(order, port, now.0, hop_control::LEN as u32), frame)
}
