//! Pauses of single queues.

use scenario::Scenario;
use topology::SwitchId;
use units::{BitsPerSecond, Bytes, Nanos, Picos};

/// Parameters of queue pauses; switches with equal parameters are grouped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuePauses {
    /// Priorities whose queues are paused.
    pub priorities: Vec<u8>,
    /// Queues of each priority at a port.
    pub queues: u32,
    /// Entries of a port's flow table.
    pub flow_entries: u32,
    /// Size of a port's flow table.
    pub flow_table: Bytes,
    /// Time from one bitmap of paused queues to the next.
    pub bitmap_period: Picos,
    /// Groups of switches.
    pub switches: Vec<PausingSwitches>,
}

/// Switches with equal parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PausingSwitches {
    /// Names of the switches.
    pub switches: Vec<String>,
    /// Rates of the ports, each once, with the threshold Th of a queue that is the only active one of its port.
    pub thresholds: Vec<(BitsPerSecond, Bytes)>,
    /// Time for which a flow without packets in the switch keeps its queue.
    pub sticky: Nanos,
}

impl QueuePauses {
    /// Returns the queue pauses of a scenario, if it has backpressure.
    pub(super) fn new(scenario: &Scenario) -> Option<Self> {
        let bitmap_period = scenario.bitmap_period()?;
        let fabric = scenario.fabric();
        let mut groups: Vec<PausingSwitches> = Vec::new();
        let mut tables = None;
        for switch in (0..fabric.switch_count()).map(SwitchId) {
            let settings = scenario.queue_pauses(switch)?;
            tables = Some((settings.flow_entries, settings.flow_table));
            let node = fabric.switch(switch);
            let mut rates: Vec<_> = node.ports.iter().map(|&wire| fabric.wire(wire).rate).collect();
            rates.sort();
            rates.dedup();
            let threshold =
                |rate: BitsPerSecond| rate.bytes_in(Picos::from_nanos(settings.threshold));
            let thresholds: Vec<_> =
                rates.into_iter().map(|rate| (rate, threshold(rate))).collect();
            let alike = |group: &&mut PausingSwitches| {
                (&group.thresholds, group.sticky) == (&thresholds, settings.sticky)
            };
            if let Some(group) = groups.iter_mut().find(alike) {
                group.switches.push(node.name.clone());
            } else {
                let switches = vec![node.name.clone()];
                groups.push(PausingSwitches { switches, thresholds, sticky: settings.sticky });
            }
        }
        let (flow_entries, flow_table) = tables?;
        Some(Self {
            priorities: scenario.switch.paused_parts().iter().collect(),
            queues: scenario.switch.spread().next()?.queues,
            flow_entries,
            flow_table,
            bitmap_period,
            switches: groups,
        })
    }
}
