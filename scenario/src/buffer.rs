//! Division of a switch's buffer into pools, from the switch's links.

use fabric_core::headroom::LinkFrames;
use fabric_core::wire::hop_control;
use fabric_core::wire::tcp;
use host_agent::frame_length::{ack_frame, data_frame};
use topology::{NodeId, NodeKind, SwitchId, Wire};
use units::{BitsPerSecond, Bytes, Nanos, Picos};

use super::document::Document;
use super::quantity::display;
use super::report::ScenarioError;
use super::{Order, PauseResponse, Reserves, Scenario, Threshold, Transport};

/// Length of a hop control frame, without FCS.
const HOP_CONTROL: u32 = 60;
const _: () = assert!(HOP_CONTROL as usize == hop_control::LEN);

/// Pools of one switch, which together are its buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferPools {
    /// Headroom by port: of each lossless ingress queue, or of the port if `insurance`. Phi in DSH.
    pub headroom_by_port: Vec<Bytes>,
    /// True if `headroom_by_port` is insurance headroom of the port, not headroom of a queue.
    pub insurance: bool,
    /// Total headroom: `B_h` in DSH (Eq. 3), a fraction of it if oversubscribed, `B_i` under DSH (Eq. 9).
    pub headroom: Bytes,
    /// Private buffer of all lossless ingress queues, `B_p` in DSH.
    pub private: Bytes,
    /// Buffer reserved for lossy packets; zero if they share `shared`.
    pub lossy: Bytes,
    /// Remaining buffer, shared by all queues: `B_s` in DSH.
    pub shared: Bytes,
}

impl Scenario {
    /// Response time to a PAUSE of a node's port with this rate, as in tables and results. At least 1 ns for a switch:
    /// within the nanosecond in which the PAUSE arrives, its auditor cannot determine whether a frame began before it,
    /// unless events run in the order of their insertion.
    pub fn pause_response_ns(&self, node: NodeId, rate: BitsPerSecond) -> Nanos {
        let response = self.pause_response(node).at(rate).to_nanos_ceil();
        match self.fabric.node(node).kind {
            NodeKind::Switch(_) if self.order == Order::Nodes => response.max(Nanos(1)),
            NodeKind::Switch(_) | NodeKind::Host(_) => response,
        }
    }

    /// Accounted length of the fabric's longest frame, without FCS. This is a full payload behind a RETH and telemetry
    /// or behind TCP's headers, or, with the smallest payloads, an ACK with SACK blocks.
    pub fn longest_frame(&self) -> Bytes {
        let (payload, lengths) = (self.host.payload, self.frames.lengths());
        let longest = |transport: &Transport| {
            let hops = transport.telemetry_hops();
            let (data, ack) = match transport {
                Transport::RoceRc(_) => (data_frame(payload, true, hops).0, ack_frame(hops).0),
                Transport::Tcp(_) => (tcp::frame_length(payload.0, hops), tcp::MAX_ACK_LENGTH),
            };
            Bytes(lengths.packet(payload.0, data).max(lengths.packet(0, ack)))
        };
        self.transports().iter().map(longest).max().unwrap_or_default()
    }

    /// Response time of a node to a PAUSE.
    pub fn pause_response(&self, node: NodeId) -> PauseResponse {
        match self.fabric.node(node).kind {
            NodeKind::Switch(_) => self.switch.pause_response,
            NodeKind::Host(_) => self.host.pause_response,
        }
    }

    /// Accounted lengths and times of the frames on links.
    pub fn link_frames(&self) -> LinkFrames {
        LinkFrames {
            time: self.frame_time(),
            longest: self.longest_frame(),
            hop_control: self.frames.lengths().hop_control(HOP_CONTROL),
            lossless_classes: self.switch.lossless.count().into(),
        }
    }

    /// Returns the pools of a switch; for measured headroom, the pools before the first measurement.
    pub fn buffer_pools(&self, switch: SwitchId) -> BufferPools {
        let (headroom_by_port, headroom, private) = self.reserved(switch);
        let buffer = self.switch_at(switch).buffer();
        let lossy = self.switch.lossy.pool().own();
        let shared = Bytes(buffer.0.saturating_sub(headroom.0 + private.0 + lossy.0));
        let insurance = self.switch.scheme.has_port_headroom();
        BufferPools { headroom_by_port, insurance, headroom, private, lossy, shared }
    }

    /// Returns phi by port, total headroom and total private buffer; sums saturate.
    fn reserved(&self, switch: SwitchId) -> (Vec<Bytes>, Bytes, Bytes) {
        let queues = u64::from(self.switch.lossless.count());
        let frames = self.link_frames();
        let setting = self.switch.headroom;
        let ports = &self.fabric.switch(switch).ports;
        let of_port = |wire: &Wire| match (setting.given_bandwidth_delays(), setting.given_bytes())
        {
            (Some(times), _) => bandwidth_delays(wire, times),
            (None, Some(bytes)) => bytes,
            (None, None) => frames.headroom(wire.rate, wire.delay),
        };
        let by_port: Vec<Bytes> =
            ports.iter().map(|&id| of_port(self.fabric.wire(id.reverse()))).collect();
        let port_count = self.port_count(switch);
        let unlinked = port_count - ports.len() as u64;
        let largest = by_port.iter().max().copied().unwrap_or_default();
        let of_unlinked = Bytes(largest.0.saturating_mul(unlinked));
        let phi = by_port.iter().copied().chain([of_unlinked]);
        let reserved = match self.switch.reserves {
            Reserves::Queues => queues,
            Reserves::Ports => queues.min(1),
        };
        let all = self.switch.scheme.total_headroom(phi, reserved);
        let private =
            self.switch_at(switch).private_per_queue.0.saturating_mul(port_count * reserved);
        (by_port, all, Bytes(private))
    }

    /// X_off of the switch's lossless ingress queues if it is fixed; otherwise 0.
    pub fn static_xoff(&self, switch: SwitchId) -> Bytes {
        match self.switch.threshold {
            Threshold::Static { xoff, .. } => xoff,
            Threshold::EqualShares { .. } => {
                let queues = self.port_count(switch) * u64::from(self.switch.lossless.count());
                Bytes(self.buffer_pools(switch).shared.0.checked_div(queues).unwrap_or(0))
            }
            Threshold::Dt(_) => Bytes(0),
        }
    }

    /// Ports of a switch that have buffer reserved, with or without a link.
    pub fn port_count(&self, switch: SwitchId) -> u64 {
        let linked = self.fabric.switch(switch).ports.len() as u64;
        self.switch_at(switch).ports.map_or(linked, |ports| linked.max(ports.into()))
    }

    /// Checks that reserved buffer fits into every switch, and that fixed thresholds can be reached.
    pub(super) fn check_buffers(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        for switch in (0..self.fabric.switch_count()).map(SwitchId) {
            self.check_buffer(switch, document)?;
        }
        self.check_period(document)?;
        self.check_declared_responses(document)?;
        self.check_scheme_at_switches(document)
    }

    /// Checks that response times to a PAUSE are within the range that neighbours can declare.
    fn check_declared_responses(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        if self.switch.headroom.measurement_period().is_none() {
            return Ok(());
        }
        let response = |wire: &Wire| self.pause_response_ns(wire.from, wire.rate);
        let slowest = self.fabric.wires().iter().rev().max_by_key(|wire| response(wire));
        match slowest {
            Some(wire) if response(wire).0 > u64::from(u32::MAX) => {
                let time = display(Picos::from_nanos(response(wire)));
                let title = format!("`{}` obeys a PAUSE after up to {time}", wire.name);
                let help = "a neighbour declares up to 4.29 s, 32 bits of nanoseconds: use faster \
                            links, a shorter `pause_response`, or headroom of another kind";
                Err(document.error("switch.headroom.kind", &title, help))
            }
            _ => Ok(()),
        }
    }

    /// Checks that each delay measurement ends before the next begins.
    fn check_period(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        let Some(period) = self.switch.headroom.measurement_period() else { return Ok(()) };
        // Each of the two frames may wait for a frame that is being sent.
        let frames = self.link_frames();
        let time = |wire: &Wire, length: Bytes| frames.time.serialise(wire.rate, length.0);
        let way = |wire: &Wire| {
            wire.delay + time(wire, frames.longest) + time(wire, Bytes(frames.hop_control.into()))
        };
        let exchange = |wire: &Wire| Picos(2 * way(wire).0);
        let longest = self.fabric.wires().iter().rev().max_by_key(|wire| exchange(wire));
        match longest {
            Some(wire) if exchange(wire) >= period => {
                let title = format!(
                    "a period of {}, in which no exchange ends on `{}`",
                    display(period),
                    wire.name
                );
                let time = display(Picos::from_nanos(exchange(wire).to_nanos_ceil()));
                let help =
                    format!("an exchange takes up to {time} there: write more, \"100us\" say");
                Err(document.error("switch.headroom.period", &title, &help))
            }
            _ => Ok(()),
        }
    }

    fn check_buffer(&self, switch: SwitchId, document: &Document<'_>) -> Result<(), ScenarioError> {
        let node = self.fabric.switch(switch);
        let (name, linked) = (&node.name, node.ports.len());
        if let Some(ports) = self.switch_at(switch).ports
            && (ports as usize) < linked
        {
            let title = format!("switch `{name}` has {linked} links, and {ports} ports");
            let help = format!("write {linked} or more, or leave the key out");
            let path = self.switch_kinds.ports_path(switch);
            return Err(document.error(&path, &title, &help));
        }
        let ports = self.port_count(switch);
        let (by_port, headroom, private) = self.reserved(switch);
        let buffer = self.switch_at(switch).buffer();
        let queues = ports * u64::from(self.switch.lossless.count());
        let needed = Bytes(headroom.0.saturating_add(private.0));
        if needed > buffer {
            let largest = display(by_port.iter().max().copied().unwrap_or_default());
            let title = format!(
                "switch `{name}` sets aside {} of its {}: {} of headroom and {} of private pools",
                display(needed),
                display(buffer),
                display(headroom),
                display(private),
            );
            let (each, equations) = self.switch.scheme.headroom_in_words(&largest);
            let help = format!(
                "it has {ports} ports x {} lossless priorities = {queues} ingress queues, {each} \
                 ({equations}): write a buffer of at least {}, or less headroom",
                self.switch.lossless.count(),
                display(needed),
            );
            let path = self.switch_kinds.buffer_path(switch);
            return Err(document.error(&path, &title, &help));
        }
        if self.switch.scheme.has_port_headroom()
            && let Some(&largest) = by_port.iter().max()
            && largest > buffer
        {
            let title = format!(
                "a queue of switch `{name}` may ask for {} of headroom; its buffer is {}",
                display(largest),
                display(buffer),
            );
            let help = "write fewer `bytes` of headroom, a larger buffer, or links with less delay";
            return Err(document.error("switch.headroom", &title, help));
        }
        let left = Bytes(buffer.0 - needed.0);
        self.check_lossy_pool(switch, left, document)?;
        let shared = Bytes(left.0 - self.switch.lossy.pool().own().0);
        match self.switch.threshold {
            Threshold::Static { xoff, .. } if xoff > shared => {
                let title = format!(
                    "xoff ({}) is above the shared pool of switch `{name}` ({})",
                    display(xoff),
                    display(shared),
                );
                let help = "no PAUSE would be sent before the shared pool is full: write less";
                Err(document.error("switch.threshold.xoff", &title, help))
            }
            Threshold::EqualShares { xon_offset } => {
                let share = self.static_xoff(switch);
                if share > xon_offset || self.switch.lossless.count() == 0 {
                    return Ok(());
                }
                if share == Bytes(0) {
                    let title = format!(
                        "switch `{name}` has {} of shared pool for {queues} ingress queues",
                        display(self.buffer_pools(switch).shared),
                    );
                    let help =
                        "no queue would have a share: write a larger buffer, or less headroom";
                    let path = self.switch_kinds.buffer_path(switch);
                    return Err(document.error(&path, &title, help));
                }
                let title = format!(
                    "xon_offset ({}) is as large as an ingress queue's share of switch `{name}` ({})",
                    display(xon_offset),
                    display(share),
                );
                let help =
                    "the shared pool is divided evenly: write a smaller offset, or a larger buffer";
                Err(document.error("switch.threshold.xon_offset", &title, help))
            }
            _ => Ok(()),
        }
    }
}

/// Product of a link's rate and delay in whole bytes, multiplied by `times`; saturates.
fn bandwidth_delays(wire: &Wire, times: u32) -> Bytes {
    const PICOSECOND_BITS: u128 = 8_000_000_000_000;
    let bytes = u128::from(wire.rate.0) * u128::from(wire.delay.0) / PICOSECOND_BITS;
    Bytes(u64::try_from(bytes * u128::from(times)).unwrap_or(u64::MAX))
}
