//! Facts that the engine tells the record, but for rows.

use fabric_core::units::Nanos;

use super::{Engine, RunError};
use crate::datapath::{Crossing, Datapath};
use crate::results::{PauseReceived, PoolLevels};

impl<D: Datapath> Engine<'_, D> {
    /// A packet has come into a switch's buffer or left it.
    #[inline]
    pub(super) fn record_pools(&mut self, switch: u32) {
        if !self.record.follows_pools() {
            return;
        }
        let state = self.datapath.tables(switch).state();
        let levels = PoolLevels {
            private: state.private_bytes.load(),
            shared: state.shared_bytes.load(),
            headroom: state.headroom_bytes.load(),
        };
        self.record.pools(switch, self.now, levels);
    }

    /// The egress queues of a switch's port have come to hold `change` bytes more.
    #[inline]
    pub(super) fn record_waiting(
        &mut self,
        switch: u32,
        port: u16,
        change: i64,
    ) -> Result<(), RunError> {
        if self.record.follows_ports() {
            self.record.waiting(self.now, switch, port, change)?;
        }
        Ok(())
    }

    /// A class of a PFC frame has crossed a wire; the pause ends at `until`, which for a RESUME is
    /// not after its arrival.
    pub(super) fn record_pause_received(
        &mut self,
        crossing: Crossing,
        priority: u8,
        until: Nanos,
    ) -> Result<(), RunError> {
        let fabric = self.scenario.fabric();
        let wire = fabric.wire(crossing.wire);
        let response = self.scenario.pause_response_ns(wire.to, wire.rate);
        self.record.pause_received(&PauseReceived {
            time: crossing.now,
            node: &fabric.node(wire.to).name,
            port: wire.to_port,
            by: &fabric.node(wire.from).name,
            priority,
            binds: Nanos(crossing.now.0 + response.0),
            until,
        })?;
        Ok(())
    }
}
