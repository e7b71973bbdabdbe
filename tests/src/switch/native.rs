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

    /// Its tables.
    pub fn tables(&self) -> &SwitchTables {
        &self.tables
    }

    /// Its tables, to be configured.
    pub fn tables_mut(&mut self) -> &mut SwitchTables {
        &mut self.tables
    }

    /// What the program around the arrival pipeline does, natively.
    pub fn arrive(&mut self, port: u32, now: Nanos, frame: &[u8]) -> Arrival {
        let mut frame = frame.to_vec();
        let length = frame.len() as u32;
        let mut control = Vec::new();
        let outcome = if frame.len() > MAX_FRAME {
            Outcome::Dropped(count_drop(self.tables.unshared(), DropReason::TooLong))
        } else {
            let mut send = |order: &Order| control.push(self.control(order, port, now));
            let bytes = &mut ByteFrame(frame.as_mut_slice());
            arrival(bytes, self.tables.unshared(), self.policy, port, now, &mut send)
        };
        let queued = match &outcome {
            Outcome::Queued(packet) => {
                let orders = control.len() as u32;
                Some((Header::of_queued(packet, port, now.0, length, orders), frame))
            }
            Outcome::LinkDelayReceived => {
                frame.truncate(link_delay::LEN);
                Some((Header::of_link_delay(port, now.0), frame))
            }
            _ => None,
        };
        Arrival { outcome, port, time_ns: now.0, queued, control }
    }

    /// Shows the auditor a frame.
    pub fn audit(&mut self, port: u32, started: Nanos, frame: &[u8]) {
        let mut frame = frame.to_vec();
        audit(&ByteFrame(frame.as_mut_slice()), self.tables.unshared(), port, started);
    }

    fn control(&self, order: &Order, port: u32, now: Nanos) -> (Header, Vec<u8>) {
        let row = self.tables.port(port).expect("a packet came in at it");
        let source = address_from_u64(row.address.load());
        let mut frame = vec![0; hop_control::LEN];
        let bytes = frame.first_chunk_mut().expect("as long as a frame is");
        HopControlFrame { source, control: order.control }.emit(bytes);
        (Header::of_order(order, port, now.0, hop_control::LEN as u32), frame)
    }
}
