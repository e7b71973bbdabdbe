//! Configuration and state of a switch under BFC, as one plain value.

use fabric_core::priority;
use fabric_core::queue::{QueueId, QueueRange};
use fabric_core::scheme::Configure as _;
use fabric_core::scheme::bfc::{self, state as bfc_state};
use fabric_core::tables::Tables;
use switch_user::tables::SwitchTables;

use super::PORTS;
use super::row::BfcFlowRow;

/// BFC's state. Queues in use follow from the contents of the egress queues.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BfcState {
    /// The settings; the policy has the same options.
    pub settings: bfc::Settings,
    /// State of each port.
    pub ports: Vec<BfcPort>,
}

/// BFC's state of a port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BfcPort {
    /// Queues that the neighbour has paused, in words.
    pub paused: [u64; 2],
    /// Pause counters of queues of the neighbour that are not zero.
    pub counters: Vec<(QueueId, u32)>,
    /// Entries of the flow table, by number.
    pub flows: Vec<(u32, BfcFlowRow)>,
    /// Egress ports to which packets from this port trigger no backpressure, if the options have a table of them.
    pub elided: Vec<u32>,
}

impl BfcState {
    /// Nothing is paused or assigned.
    pub fn fresh(settings: bfc::Settings) -> Self {
        Self { settings, ports: vec![BfcPort::default(); PORTS as usize] }
    }

    /// Writes the state of ports into tables that are configured, whose egress queues are written, and whose scheme
    /// lines are zero apart from the settings.
    pub(super) fn write(&self, tables: &SwitchTables) {
        const ROOM: &str = "the tables have room for the scheme's state";
        let options = self.settings.options;
        let config = tables.config().expect("a switch has a configuration");
        let own = priority::all().filter(|&priority| options.is_backpressured(priority));
        let own: Vec<QueueId> =
            own.map(|priority| config.queues_of(priority)).flat_map(QueueRange::iter).collect();
        for (number, port) in (0..).zip(&self.ports) {
            // A case may use fewer ports than there are rows.
            let turns = port.elided.iter().map(|&egress| (number, egress));
            let turns = turns.filter(|turn| turn.0.max(turn.1) < config.ports);
            self.settings.elide(tables, turns);
            let line = bfc_state::port(tables, number).expect(ROOM);
            line.paused.store(port.paused);
            for &(queue, count) in &port.counters {
                bfc_state::counter(tables, number, queue).expect(ROOM).store(count);
                line.pausing.set(queue, true);
            }
            let active = port.flows.iter().filter(|(_, flow)| flow.packets != 0).count();
            line.flows.store(u32::try_from(active).expect("few flows"));
            for (entry, flow) in &port.flows {
                let row = bfc_state::flow(tables, options, config.ports, number, *entry);
                flow.store(row.expect(ROOM));
            }
            for &queue in &own {
                let egress = tables.egress_queue(config.queue_row(number, queue));
                line.set_in_use(queue, egress.expect("it has a row").bytes.load() != 0);
            }
        }
    }
}
