//! Division of buffers; switches with equal buffers are grouped.

use std::fmt;

use scenario::{BufferPools, Lossy, Scenario};
use topology::{SwitchId, Wire};
use units::{BitsPerSecond, Bytes, Picos};

use emulation::switch_settings;

use super::time;

/// Switches with equal buffers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchBuffers {
    /// Names of the switches.
    pub switches: Vec<String>,
    /// Pools of each switch.
    pub pools: BufferPools,
    /// Ports with links, grouped if alike.
    pub ports: Vec<PortGroup>,
    /// Number of ports without links for which a switch sets buffer aside, each as much as the linked port with the
    /// most headroom.
    pub unlinked_ports: u64,
}

/// Ports of one rate, delay and headroom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortGroup {
    /// Number of ports.
    pub count: u32,
    /// Rate of the link.
    pub rate: BitsPerSecond,
    /// Propagation delay of the link.
    pub delay: Picos,
    /// Headroom of each lossless ingress queue; under DSH, headroom of the port.
    pub headroom: Bytes,
    /// Headroom expected after measurement, without the rounding of time stamps; `None` if the link is not measured.
    pub once_measured: Option<Bytes>,
}

/// Sharing of the buffer by lossy priorities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LossyBuffer {
    /// `switch.lossy.kind`.
    pub kind: &'static str,
    /// Lossy priorities.
    pub priorities: Vec<u8>,
    /// Period in which congested queues are counted, if they are.
    pub period: Option<Picos>,
    /// True if `CoDel` drops packets that the buffer management admits.
    pub codel: bool,
}

impl LossyBuffer {
    /// Returns the sharing; `None` if each priority is lossless, or `switch.lossy` has its default.
    pub fn new(scenario: &Scenario) -> Option<Self> {
        let switch = &scenario.switch;
        let priorities: Vec<u8> =
            (0..8).filter(|&priority| !switch.lossless.contains(priority)).collect();
        let is_default = switch.lossy == Lossy::default();
        (!priorities.is_empty() && !is_default).then(|| Self {
            kind: switch.lossy.name(),
            priorities,
            period: scenario.lossy_period(),
            codel: switch.lossy.codel().is_some(),
        })
    }
}

impl fmt::Display for LossyBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, priorities, period, codel } = self;
        let priorities: Vec<String> = priorities.iter().map(ToString::to_string).collect();
        write!(f, "lossy priorities {}: {kind}", priorities.join(", "))?;
        if let Some(period) = period {
            write!(f, ", congested queues counted every {}", time(*period))?;
        }
        f.write_str(if *codel { ", CoDel at departure" } else { "" })
    }
}

/// Returns the groups, in the order of the first switch of each.
pub(super) fn switch_buffers(scenario: &Scenario) -> Vec<SwitchBuffers> {
    let fabric = scenario.fabric();
    let has_pfc = scenario.switch.lossless.count() > 0;
    let mut groups: Vec<SwitchBuffers> = Vec::new();
    for switch in (0..fabric.switch_count()).map(SwitchId) {
        let pools = scenario.buffer_pools(switch);
        let node = fabric.switch(switch);
        let mut ports: Vec<PortGroup> = Vec::new();
        for (&id, &headroom) in node.ports.iter().zip(&pools.headroom_by_port) {
            let wire = fabric.wire(id);
            let (rate, delay) = (wire.rate, wire.delay);
            let headroom = if has_pfc { headroom } else { Bytes(0) };
            let once_measured =
                switch_settings::measures_links(scenario).then(|| once_measured(scenario, wire));
            let port = PortGroup { count: 0, rate, delay, headroom, once_measured };
            let alike = |group: &&mut PortGroup| PortGroup { count: 0, ..**group } == port;
            match ports.iter_mut().find(alike) {
                Some(group) => group.count += 1,
                None => ports.push(PortGroup { count: 1, ..port }),
            }
        }
        let unlinked_ports = scenario.port_count(switch) - node.ports.len() as u64;
        let alike = |group: &&mut SwitchBuffers| {
            (&group.ports, group.unlinked_ports) == (&ports, unlinked_ports)
                && totals(&group.pools) == totals(&pools)
        };
        if let Some(group) = groups.iter_mut().find(alike) {
            group.switches.push(node.name.clone());
        } else {
            let switches = vec![node.name.clone()];
            groups.push(SwitchBuffers { switches, pools, ports, unlinked_ports });
        }
    }
    groups
}

fn totals(pools: &BufferPools) -> [Bytes; 4] {
    [pools.shared, pools.private, pools.headroom, pools.lossy]
}

/// Returns the headroom of a port with this wire to its neighbour, as an exchange would measure it.
fn once_measured(scenario: &Scenario, wire: &Wire) -> Bytes {
    let response = scenario.pause_response_ns(wire.to, wire.rate);
    let round_trip = Picos(2 * wire.delay.0).to_nanos_ceil();
    scenario.link_frames().measured_headroom(wire.rate, round_trip, response)
}
