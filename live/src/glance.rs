//! Activity of a live fabric between two views of it: rates and pauses.

use std::collections::BTreeMap;

use emulation::live::clock::Fidelity;
use emulation::live::view::{HostView, PortView, SwitchView, View};
use serde::Serialize;

/// See the module. Times are emulated, so that rates do not depend on the dilation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Glance {
    /// Emulated time since the fabric is up.
    pub emulated_ns: u64,
    /// Emulated time between the two views: the "period".
    pub period_ns: u64,
    /// Punctuality relative to the wall clock.
    pub fidelity: Fidelity,
    /// Flows that are under way.
    pub active_flows: u64,
    /// Flows that are done.
    pub completed_flows: u64,
    /// Ports of switches, then of hosts, in the order of the scenario.
    pub ports: Vec<PortGlance>,
    /// Priorities that were paused at some time in the period.
    pub holds: Vec<Hold>,
    /// Switches in the order of the scenario.
    pub switches: Vec<SwitchGlance>,
    /// Hosts in the order of the scenario.
    pub hosts: Vec<HostGlance>,
}

/// A port, of a switch or a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PortGlance {
    /// Name of the node.
    pub node: String,
    /// Name of the node at the other end.
    pub peer: String,
    /// Name of the wire out of the port.
    pub wire: String,
    /// Line rate in bit/s.
    pub rate_bps: u64,
    /// True if the wire out of the port carries frames.
    pub is_up: bool,
    /// Rate of sent bits in bit/s, as they count on the wire.
    pub out_bps: u64,
    /// Rate of received bits in bit/s.
    pub in_bps: u64,
    /// Bytes queued for sending, by priority; 0 for a host, whose flows wait for their turn.
    pub queued_bytes: [u64; 8],
    /// Bytes in the switch that arrived at the port, by priority; 0 for a host.
    pub ingress_bytes: [u64; 8],
    /// Priorities that the peer pauses now.
    pub paused: Vec<u8>,
    /// Time for which the peer paused each priority in the period, in nanoseconds.
    pub paused_ns: [u64; 8],
    /// PAUSE frames of the peer in the period, by paused priority.
    pub pause_frames: [u64; 8],
    /// Priorities in which traffic arriving at this port of a switch is a victim's, if the scheme has victims (SPFC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub victim: Option<Vec<u8>>,
}

/// A priority that a node has paused at a neighbour's port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hold {
    /// Node that sent the PAUSE.
    pub by: String,
    /// Wire on which the neighbour may not send.
    pub wire: String,
    /// Paused priority.
    pub priority: u8,
    /// True if the priority is paused now.
    pub now: bool,
    /// Paused time in the period, in nanoseconds.
    pub paused_ns: u64,
}

/// A switch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SwitchGlance {
    /// Name of the switch.
    pub name: String,
    /// Bytes in the buffer now.
    pub buffer_bytes: u64,
    /// Max bytes in the buffer so far.
    pub most_buffer_bytes: u64,
    /// Size of the buffer, in bytes.
    pub capacity_bytes: u64,
    /// Packets marked, in the period and since the fabric is up.
    pub ecn_marked: Count,
    /// Dropped frames, by reason.
    pub drops: BTreeMap<String, Count>,
}

/// A host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HostGlance {
    /// Name of the host.
    pub name: String,
    /// IPv4 address of the host.
    pub address: String,
    /// Frames sent by programs.
    pub programs_sent: Count,
    /// Frames delivered to programs.
    pub programs_received: Count,
    /// Frames of programs that were dropped, because they were too long or paused for too long.
    pub programs_dropped: Count,
    /// Frames of programs that wait for the port.
    pub programs_waiting: u64,
}

/// A count of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Count in the period.
    pub period: u64,
    /// Count since the fabric is up.
    pub all: u64,
}

impl Count {
    fn new(before: u64, now: u64) -> Self {
        Self { period: now.saturating_sub(before), all: now }
    }

    /// Returns the sum of counts.
    pub fn sum(counts: impl Iterator<Item = Self>) -> Self {
        let add = |one: Self, other: Self| Self {
            period: one.period + other.period,
            all: one.all + other.all,
        };
        counts.fold(Self::default(), add)
    }
}

impl Glance {
    /// Computes the activity from `before` to `now`, two views of one fabric.
    pub fn between(before: &View, now: &View) -> Self {
        let period_ns = now.emulated_ns.saturating_sub(before.emulated_ns);
        let mut ports = Vec::new();
        for (then, switch) in before.switches.iter().zip(&now.switches) {
            let of_port = |(then, port)| port_glance(&switch.name, then, port, period_ns);
            ports.extend(then.ports.iter().zip(&switch.ports).map(of_port));
        }
        let hosts = || before.hosts.iter().zip(&now.hosts);
        ports.extend(hosts().map(|(then, host)| nic_glance(then, host, period_ns)));
        let switches = before.switches.iter().zip(&now.switches);
        Self {
            emulated_ns: now.emulated_ns,
            period_ns,
            fidelity: now.fidelity.clone(),
            active_flows: now.active_flows,
            completed_flows: now.completed_flows,
            holds: ports.iter().flat_map(holds).collect(),
            ports,
            switches: switches.map(|(then, switch)| switch_glance(then, switch)).collect(),
            hosts: hosts().map(|(then, host)| host_glance(then, host)).collect(),
        }
    }

    /// Returns the rate at which hosts received bits, in bit/s.
    pub fn delivered_bps(&self) -> u64 {
        let nics = &self.ports[self.ports.len() - self.hosts.len()..];
        nics.iter().map(|port| port.in_bps).sum()
    }

    /// Returns the frames dropped by switches, by reason.
    pub fn drops(&self) -> BTreeMap<&str, Count> {
        let mut all: BTreeMap<&str, Count> = BTreeMap::new();
        for (reason, count) in self.switches.iter().flat_map(|switch| &switch.drops) {
            let sum = all.entry(reason).or_default();
            *sum = Count::sum([*sum, *count].into_iter());
        }
        all
    }

    /// Returns the packets marked by switches.
    pub fn ecn_marked(&self) -> Count {
        Count::sum(self.switches.iter().map(|switch| switch.ecn_marked))
    }
}

impl PortGlance {
    /// Returns the priorities that the peer pauses now, or has paused in the period.
    pub fn held(&self) -> impl Iterator<Item = u8> {
        (0..8u8).filter(|&priority| {
            self.paused_ns[usize::from(priority)] > 0 || self.paused.contains(&priority)
        })
    }
}

impl SwitchGlance {
    /// Returns the frames dropped by the switch.
    pub fn dropped(&self) -> Count {
        Count::sum(self.drops.values().copied())
    }
}

/// Returns a rate in bit/s.
fn rate(before: u64, now: u64, period_ns: u64) -> u64 {
    let bits = u128::from(now.saturating_sub(before)) * 8 * 1_000_000_000;
    u64::try_from(bits.checked_div(u128::from(period_ns)).unwrap_or(0)).unwrap_or(u64::MAX)
}

fn difference(before: [u64; 8], now: [u64; 8]) -> [u64; 8] {
    std::array::from_fn(|place| now[place].saturating_sub(before[place]))
}

fn port_glance(node: &str, then: &PortView, port: &PortView, period_ns: u64) -> PortGlance {
    PortGlance {
        node: node.to_owned(),
        peer: port.peer.clone(),
        wire: port.wire.clone(),
        rate_bps: port.rate_bps,
        is_up: port.wire_state.is_up,
        out_bps: rate(then.sent_bytes, port.sent_bytes, period_ns),
        in_bps: rate(then.received_bytes, port.received_bytes, period_ns),
        queued_bytes: port.queued_bytes,
        ingress_bytes: port.ingress_bytes,
        paused: port.paused.clone(),
        paused_ns: difference(then.paused_ns, port.paused_ns),
        pause_frames: difference(then.pause_frames, port.pause_frames),
        victim: port.victim.clone(),
    }
}

fn nic_glance(then: &HostView, host: &HostView, period_ns: u64) -> PortGlance {
    PortGlance {
        node: host.name.clone(),
        peer: host.peer.clone(),
        wire: host.wire.clone(),
        rate_bps: host.rate_bps,
        is_up: host.wire_state.is_up,
        out_bps: rate(then.sent_bytes, host.sent_bytes, period_ns),
        in_bps: rate(then.received_bytes, host.received_bytes, period_ns),
        queued_bytes: [0; 8],
        ingress_bytes: [0; 8],
        paused: host.paused.clone(),
        paused_ns: difference(then.paused_ns, host.paused_ns),
        pause_frames: difference(then.pause_frames, host.pause_frames),
        victim: None,
    }
}

fn holds(port: &PortGlance) -> impl Iterator<Item = Hold> {
    port.held().map(|priority| Hold {
        by: port.peer.clone(),
        wire: port.wire.clone(),
        priority,
        now: port.paused.contains(&priority),
        paused_ns: port.paused_ns[usize::from(priority)],
    })
}

fn switch_glance(then: &SwitchView, switch: &SwitchView) -> SwitchGlance {
    let drops = switch.drops.iter().map(|(reason, &frames)| {
        let before = then.drops.get(reason).copied().unwrap_or(0);
        (reason.clone(), Count::new(before, frames))
    });
    SwitchGlance {
        name: switch.name.clone(),
        buffer_bytes: switch.buffer_bytes,
        most_buffer_bytes: switch.most_buffer_bytes,
        capacity_bytes: switch.capacity_bytes,
        ecn_marked: Count::new(then.ecn_marked, switch.ecn_marked),
        drops: drops.collect(),
    }
}

fn host_glance(then: &HostView, host: &HostView) -> HostGlance {
    let dropped = |host: &HostView| host.program_frames_too_long + host.program_frames_dropped;
    HostGlance {
        name: host.name.clone(),
        address: host.address.clone(),
        programs_sent: Count::new(then.program_frames_sent, host.program_frames_sent),
        programs_received: Count::new(then.program_frames_received, host.program_frames_received),
        programs_dropped: Count::new(dropped(then), dropped(host)),
        programs_waiting: host.program_frames_waiting,
    }
}

#[cfg(test)]
pub mod fixture;

#[cfg(test)]
mod tests {
    use super::fixture::{before, now};
    use super::*;

    #[test]
    fn rates_are_differences_by_emulated_time() {
        let glance = Glance::between(&before(), &now());
        assert_eq!(glance.period_ns, 500_000_000);
        let port = &glance.ports[0];
        assert_eq!((port.wire.as_str(), port.out_bps, port.in_bps), ("leaf0->h0", 80_000_000, 0));
        assert_eq!(port.held().collect::<Vec<_>>(), [3]);
        assert_eq!(glance.delivered_bps(), 80_000_000);
        assert_eq!(glance.drops()["lossy-threshold"], Count { period: 7, all: 10 });
        assert_eq!(glance.ecn_marked(), Count { period: 40, all: 140 });
    }

    #[test]
    fn who_holds_whom_is_the_peer_of_a_port_that_is_paused() {
        let glance = Glance::between(&before(), &now());
        let holds: Vec<(&str, &str, u8, bool)> = glance
            .holds
            .iter()
            .map(|hold| (hold.by.as_str(), hold.wire.as_str(), hold.priority, hold.now))
            .collect();
        assert_eq!(
            holds,
            [
                ("h0", "leaf0->h0", 3, true),
                ("leaf0", "h1->leaf0", 3, true),
                ("leaf0", "h2->leaf0", 3, false)
            ]
        );
    }

    /// Victims are taken from the second view; hosts have no ingress queues, and most schemes no victims.
    #[test]
    fn victims_are_those_of_the_second_look() {
        let (mut then, mut view) = (before(), now());
        then.switches[0].ports[1].victim = Some(vec![]);
        then.switches[0].ports[2].victim = Some(vec![3]);
        view.switches[0].ports[1].victim = Some(vec![3, 4]);
        view.switches[0].ports[2].victim = Some(vec![]);
        let glance = Glance::between(&then, &view);
        let victims: Vec<_> = glance.ports.iter().map(|port| port.victim.as_deref()).collect();
        assert_eq!(victims, [None, Some(&[3, 4][..]), Some(&[]), None, None, None]);
        let json = |port: usize| serde_json::to_value(&glance.ports[port]).unwrap();
        assert_eq!(json(0).get("victim"), None);
        assert_eq!(json(1)["victim"], serde_json::json!([3, 4]));
    }

    /// Two views at one instant, or of a fabric that was deployed again.
    #[test]
    fn nothing_is_divided_by_zero_or_negative() {
        let glance = Glance::between(&now(), &now());
        assert!(glance.ports.iter().all(|port| port.out_bps == 0));
        let glance = Glance::between(&now(), &before());
        assert!(glance.ports.iter().all(|port| port.out_bps == 0 && port.paused_ns == [0; 8]));
    }
}
