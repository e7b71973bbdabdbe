//! Settings of hosts from a scenario: NIC, transport, congestion control.

use fabric_core::map_abi::FIRST_HOST_ADDRESS;
use fabric_core::priority::{self, Priority};
use fabric_core::queue::{FLOW_QUEUES, QueueRanges, one_per_priority, one_per_priority_from};
use host_agent::congestion_control::Link;
use host_agent::{FirstRttMarks, HostConfig, Protocol, WindowLimit, ns3, tcp};
use scenario::transport::{self, FirstRttLimit, Window, WindowSize};
use scenario::{AckPriority, PauseLasts, Scenario, Transport};
use topology::HostId;
use units::{BitsPerSecond, Bytes, Picos};

use crate::mac_addresses::mac_address;
use crate::path_groups::longest_base_rtt;
use crate::switch_settings;

/// Settings that the hosts of a scenario have in common.
#[derive(Debug)]
pub struct HostSettings<'a> {
    scenario: &'a Scenario,
    /// Base round-trip times by transport; zero for transports that do not use them.
    base_rtts: Vec<Picos>,
}

impl<'a> HostSettings<'a> {
    /// The settings of `scenario`.
    pub fn new(scenario: &'a Scenario) -> Self {
        // The search takes longer the more racks there are, and most scenarios do not need it.
        let needed = |transport: &Transport| {
            transport.congestion_control().needs_base_rtt()
                || transport.window().size == WindowSize::Bdp
                || transport.first_rtt().limit == FirstRttLimit::Auto
        };
        let base_rtt = |transport: &Transport| match transport.base_rtt() {
            Some(base_rtt) => base_rtt,
            None if needed(transport) => longest_base_rtt(scenario, transport),
            None => Picos::ZERO,
        };
        Self { scenario, base_rtts: scenario.transports().iter().map(base_rtt).collect() }
    }

    /// Configuration of a host's NIC.
    pub fn config(&self, host: HostId) -> HostConfig {
        let fabric = self.scenario.fabric();
        let settings = &self.scenario.host;
        let link_rate = self.link_rate(host);
        HostConfig {
            address: FIRST_HOST_ADDRESS + host.0,
            mac: mac_address(fabric, fabric.host_node(host), 0),
            link_rate,
            frame_time: self.scenario.frame_time(),
            frame_lengths: self.scenario.frames.lengths(),
            payload: settings.payload.0.try_into().expect("a payload is at most 3072 bytes"),
            ack_priority: match settings.ack_priority() {
                AckPriority::Data => None,
                AckPriority::Fixed(priority) => Some(Priority::new(priority)),
            },
            ack_queue: settings.ack_queue.map(|queue| Priority::new(queue.0)),
            cnp_priority: Priority::new(settings.cnp_priority.0),
            ack_interval: settings.ack_interval,
            retransmission_timeout: settings.retransmission_timeout,
            pause_response: settings.pause_response.at(link_rate),
            pauses_until_resume: self.scenario.switch.pause_lasts == PauseLasts::UntilResume,
            queues: self.queues(),
            names_queues: self.obeys_queue_pauses(),
            obeys_flow_pauses: self.scenario.switch.pauses_flows() && settings.flow_pauses,
            obeys_rates: self.scenario.switch.sends_rates(),
            keeps_incast_queue: self.obeys_queue_pauses() && self.scenario.labels_incasts(),
            scheduler: settings.scheduler(),
            sends_remaining: self.scenario.switch.scheduler == (scenario::Scheduler::Srf {}),
        }
    }

    /// The host of a simulator that stands in for this one.
    pub fn simulated(&self, host: HostId) -> Option<ns3::Host> {
        let settings = self.scenario.host.ns3?;
        let link = ns3::HostLink {
            address: FIRST_HOST_ADDRESS + host.0,
            rate: self.link_rate(host),
            payload: self.scenario.host.payload.0.try_into().expect("at most 3072 bytes"),
            lengths: self.scenario.frames.lengths(),
            ack_queue: Priority::new(self.scenario.host.ack_queue.map_or(0, |queue| queue.0)),
            pause: self.scenario.switch.pause_lasts.own_end().map(Picos::to_nanos),
            arithmetic: self.scenario.frames.time.simulated().unwrap_or_default(),
        };
        Some(ns3::Host::new(settings, link))
    }

    /// True if hosts pause single flow queues when switches pause these.
    fn obeys_queue_pauses(&self) -> bool {
        self.scenario.switch.pauses_queues() && self.scenario.host.queue_pauses
    }

    /// Transmit queues of a host: one per priority, or the queues of a switch.
    fn queues(&self) -> QueueRanges {
        if !self.obeys_queue_pauses() {
            return one_per_priority(None);
        }
        let spread = switch_settings::queues(self.scenario);
        let paused = self.scenario.switch.paused_parts().0;
        let mut queues = one_per_priority_from(FLOW_QUEUES, None);
        for priority in priority::in_mask(paused) {
            queues[priority.index()] = spread[priority.index()];
        }
        queues
    }

    /// Transports of a host, in the order in which flows name them.
    pub fn transports(&self, host: HostId) -> Vec<host_agent::Transport> {
        let link_rate = self.link_rate(host);
        let one = |(transport, base_rtt): (&Transport, &Picos)| {
            let payload = self.scenario.host.payload;
            let link = Link { rate: link_rate, base_rtt: *base_rtt, payload };
            host_agent::Transport {
                protocol: protocol(transport),
                congestion_control: transport.congestion_control().algorithm(&link),
                telemetry_hops: transport.telemetry_hops(),
                window: window(transport.window(), &link),
                window_overrun: transport.window().overrun,
                first_rtt: first_rtt(transport.first_rtt(), &link),
            }
        };
        self.scenario.transports().iter().zip(&self.base_rtts).map(one).collect()
    }

    fn link_rate(&self, host: HostId) -> BitsPerSecond {
        let fabric = self.scenario.fabric();
        fabric.wire(fabric.host(host).ports[0]).rate
    }
}

fn window(window: Window, link: &Link) -> Option<WindowLimit> {
    let bytes = match window.size {
        WindowSize::Unlimited => return None,
        WindowSize::Bdp => link.bandwidth_delay(),
        WindowSize::Bytes(bytes) => bytes,
    };
    Some(WindowLimit { bytes, scales: window.scales })
}

fn first_rtt(marks: transport::FirstRttMarks, link: &Link) -> FirstRttMarks {
    let limit = match marks.limit {
        FirstRttLimit::Off => Bytes(0),
        // On a path without delay, the first packet must still be allowed.
        FirstRttLimit::Auto => link.bandwidth_delay().max(Bytes(1)),
        FirstRttLimit::Bytes(bytes) => bytes,
    };
    FirstRttMarks { limit, acknowledgements: marks.acks }
}

/// A transport's protocol.
fn protocol(transport: &Transport) -> Protocol {
    match transport {
        Transport::RoceRc(roce) => Protocol::Roce { reliability: roce.reliability },
        Transport::Tcp(tcp) => Protocol::Tcp(tcp::Parameters {
            initial_timeout: tcp.initial_rto,
            minimum_timeout: tcp.minimum_rto,
            maximum_timeout: tcp.maximum_rto,
            loss_threshold: tcp.loss_threshold,
            tail_loss_probe: tcp.tail_loss_probe,
            delayed_ack: tcp.delayed_ack,
            handshake: tcp.handshake,
        }),
    }
}

/// Priorities of ACKs, NAKs and CNPs that differ from the priorities of data, one bit each.
pub fn control_classes(scenario: &Scenario) -> u8 {
    let ack = match scenario.host.ack_priority() {
        AckPriority::Data => 0,
        AckPriority::Fixed(priority) => 1 << priority,
    };
    ack | 1 << scenario.host.cnp_priority.0
}
