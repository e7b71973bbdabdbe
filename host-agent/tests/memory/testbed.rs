//! Two hosts and the wire between them, under a virtual clock.

use std::collections::BTreeMap;

use fabric_core::hop_control::HopControl;
use fabric_core::priority::Priority;
use fabric_core::wire::Packet;
use fabric_core::wire::psn::Psn;
use fabric_core::wire::roce::{Ecn, Opcode, RocePacket};
use host_agent::congestion_control::{Algorithm, Fraction, dctcp};
use host_agent::frame_length::FrameLengths;
use host_agent::{
    FirstRttMarks, FlowRequest, Host, HostConfig, HostEvent, Protocol, Reliability,
    ResponderRequest, Transport, tcp,
};
use units::{BitsPerSecond, Bytes, FrameTime, Picos};
use workload::random::mix;

pub const LINE_RATE: BitsPerSecond = BitsPerSecond(100_000_000_000);
pub const PROPAGATION: Picos = Picos(1_000_000);
pub const OVERHEAD: u64 = 24;

/// A wire, which may change or lose a packet.
pub trait Wire {
    /// The packet as it arrives, if it does.
    fn carry(&mut self, packet: Packet) -> Option<Packet>;
}

/// Delivers everything.
pub struct IdealWire;

impl Wire for IdealWire {
    fn carry(&mut self, packet: Packet) -> Option<Packet> {
        Some(packet)
    }
}

/// Loses packets at random, reproducibly for a seed.
pub struct LossyWire<W> {
    pub inner: W,
    pub per_million: u64,
    pub seed: u64,
    /// Random numbers so far.
    pub drawn: u64,
}

impl<W: Wire> Wire for LossyWire<W> {
    fn carry(&mut self, packet: Packet) -> Option<Packet> {
        let drawn = mix(self.seed, self.drawn);
        self.drawn += 1;
        if drawn % 1_000_000 < self.per_million { None } else { self.inner.carry(packet) }
    }
}

/// Loses the `nth` (from 0) of the packets that `matches` picks.
pub struct LosingWire<W> {
    pub inner: W,
    pub matches: fn(&Packet) -> bool,
    pub nth: usize,
}

impl<W: Wire> Wire for LosingWire<W> {
    fn carry(&mut self, packet: Packet) -> Option<Packet> {
        if (self.matches)(&packet) {
            if self.nth == 0 {
                self.nth = usize::MAX;
                return None;
            }
            self.nth -= 1;
        }
        self.inner.carry(packet)
    }
}

/// Marks every ECN-capable packet while `remaining` lasts.
pub struct MarkingWire<W> {
    pub inner: W,
    pub remaining: u64,
}

impl<W: Wire> Wire for MarkingWire<W> {
    fn carry(&mut self, mut packet: Packet) -> Option<Packet> {
        let ecn = match &mut packet {
            Packet::Roce(packet) => &mut packet.ecn,
            Packet::Tcp(segment) => &mut segment.ecn,
        };
        if *ecn != Ecn::NotCapable && self.remaining > 0 {
            self.remaining -= 1;
            *ecn = Ecn::CongestionExperienced;
        }
        self.inner.carry(packet)
    }
}

/// A PFC frame's fields.
#[derive(Clone, Copy, Debug)]
pub struct Pfc {
    pub class_enable: u8,
    pub quanta: [u16; 8],
}

enum Happening {
    PortFree,
    Arrival(Packet),
    PfcArrival(Pfc),
}

pub struct Testbed {
    pub hosts: [Host; 2],
    pub events: Vec<HostEvent>,
    /// Every packet that started, with its start and sender.
    pub sent: Vec<(Picos, usize, Packet)>,
    wire: Box<dyn Wire>,
    busy: [bool; 2],
    happenings: BTreeMap<(Picos, u64), (usize, Happening)>,
    sequence: u64,
    now: Picos,
}

pub fn config(host: usize) -> HostConfig {
    HostConfig {
        address: address(host),
        mac: [2, 1, 0, 0, 0, u8::try_from(host).expect("there are two")],
        link_rate: LINE_RATE,
        frame_time: FrameTime { overhead: OVERHEAD, whole_nanos: false },
        frame_lengths: FrameLengths::default(),
        payload: 1000,
        ack_priority: Some(Priority::new(5)),
        ack_queue: None,
        cnp_priority: Priority::new(6),
        ack_interval: 1,
        retransmission_timeout: Picos(100_000_000),
        pause_response: Picos::ZERO,
        queues: fabric_core::queue::one_per_priority(None),
        names_queues: false,
        keeps_incast_queue: false,
        obeys_flow_pauses: false,
        pauses_until_resume: false,
        obeys_rates: true,
        scheduler: host_agent::Scheduler::RoundRobin,
        sends_remaining: false,
    }
}

/// RoCEv2 at line rate with go-back-N.
pub const ROCE: Transport = Transport {
    protocol: Protocol::Roce { reliability: Reliability::GoBackN },
    telemetry_hops: 0,
    congestion_control: Algorithm::LineRate,
    window: None,
    window_overrun: false,
    first_rtt: FirstRttMarks::NONE,
};

/// TCP that acknowledges each segment.
pub const TCP: tcp::Parameters = tcp::Parameters {
    initial_timeout: Picos(100_000_000),
    minimum_timeout: Picos(100_000_000),
    maximum_timeout: Picos(60_000_000_000_000),
    loss_threshold: 3,
    tail_loss_probe: false,
    delayed_ack: Picos::ZERO,
    handshake: true,
};

/// A window that a loss halves, and that doubles each round trip at first.
pub fn slow_dctcp() -> Algorithm {
    Algorithm::Dctcp(dctcp::Parameters {
        gain: Fraction::from_ratio(1, 16),
        initial_window: Bytes(10_000),
        minimum_window: Bytes(1000),
        maximum_window: Bytes(u64::MAX),
        additive_increase: Bytes(1000),
        slow_start: true,
        pacing: None,
    })
}

/// A packet of RoCEv2.
pub fn roce(packet: &Packet) -> RocePacket {
    packet.roce().expect("nothing else is carried")
}

/// A RoCEv2 packet's opcode.
pub fn opcode(packet: &Packet) -> Opcode {
    roce(packet).opcode
}

pub fn address(host: usize) -> u32 {
    0x0a00_0101 + u32::try_from(host).expect("there are two")
}

impl Testbed {
    pub fn new(
        configure: impl Fn(&mut HostConfig, &mut Transport),
        wire: impl Wire + 'static,
    ) -> Self {
        let hosts = [0, 1].map(|host| {
            let (mut config, mut transport) = (config(host), ROCE);
            configure(&mut config, &mut transport);
            Host::new(config, &[transport])
        });
        Self {
            hosts,
            events: Vec::new(),
            sent: Vec::new(),
            wire: Box::new(wire),
            busy: [false; 2],
            happenings: BTreeMap::new(),
            sequence: 0,
            now: Picos::ZERO,
        }
    }

    /// Starts a flow of `bytes` from `host` to the other one now.
    pub fn start(&mut self, host: usize, flow: u32, priority: u8, bytes: u64) {
        let request = self.open(host, flow, priority, bytes);
        self.hosts[host].start_flow(self.now, &request);
    }

    /// Starts a traced flow.
    pub fn start_traced(&mut self, host: usize, flow: u32, priority: u8, bytes: u64) {
        let request = self.open(host, flow, priority, bytes);
        self.hosts[host].start_traced_flow(self.now, &request);
    }

    fn open(&mut self, host: usize, flow: u32, priority: u8, bytes: u64) -> FlowRequest {
        let initial_psn = Psn::new(0x00ff_fff0 + flow);
        let source_port = 0xc000 + u16::try_from(flow).expect("few flows");
        self.hosts[1 - host].open_responder(&ResponderRequest {
            qp: flow,
            transport: 0,
            peer: address(host),
            initial_psn,
            source_port,
            bytes,
        });
        let destination = address(1 - host);
        let priority = Priority::new(priority);
        FlowRequest {
            flow,
            transport: 0,
            destination,
            qp: flow,
            initial_psn,
            source_port,
            priority,
            bytes,
            is_incast: false,
        }
    }

    /// Lets a PFC frame arrive at `host`.
    pub fn pfc(&mut self, at: Picos, host: usize, frame: Pfc) {
        self.push(at, host, Happening::PfcArrival(frame));
    }

    /// Runs until nothing is left to do: no packet, no timer.
    pub fn run(&mut self) {
        self.run_until(Picos::MAX);
    }

    /// Runs all that happens up to `end`.
    pub fn run_until(&mut self, end: Picos) {
        loop {
            let deadlines = [0, 1].map(|host| self.pump(host));
            let happening = self.happenings.first_key_value().map(|(&(at, _), _)| at);
            let Some(next) = deadlines.into_iter().flatten().chain(happening).min() else {
                return;
            };
            if next > end {
                return;
            }
            self.now = next;
            if happening == Some(next) {
                let (_, (host, what)) = self.happenings.pop_first().expect("it was first");
                match what {
                    Happening::PortFree => self.busy[host] = false,
                    Happening::Arrival(Packet::Roce(packet)) => {
                        self.hosts[host].handle_packet(next, &packet);
                    }
                    Happening::Arrival(Packet::Tcp(segment)) => {
                        self.hosts[host].handle_segment(next, &segment, &[]);
                    }
                    Happening::PfcArrival(frame) => {
                        self.hosts[host].handle_hop_control(
                            next,
                            &HopControl::pfc(frame.class_enable, frame.quanta),
                        );
                    }
                }
            }
            for host in &mut self.hosts {
                host.handle_deadline(next);
            }
        }
    }

    /// Sends packets that `host` may send now, and returns its next deadline.
    fn pump(&mut self, host: usize) -> Option<Picos> {
        let now = self.now;
        while let Some(event) = self.hosts[host].poll_event() {
            self.events.push(event);
        }
        if self.busy[host] {
            return self.hosts[host].next_timer();
        }
        let Some(packet) = self.hosts[host].poll_transmit(now) else {
            let next = self.hosts[host].next_transmission(now);
            assert!(next.is_none_or(|at| at > now), "what may be sent now was sent");
            return next.into_iter().chain(self.hosts[host].next_timer()).min();
        };
        self.sent.push((now, host, packet));
        self.busy[host] = true;
        let end = now + LINE_RATE.serialise(packet.frame_length() as u64 + OVERHEAD);
        self.push(end, host, Happening::PortFree);
        if let Some(packet) = self.wire.carry(packet) {
            self.push(end + PROPAGATION, 1 - host, Happening::Arrival(packet));
        }
        self.hosts[host].next_timer()
    }

    fn push(&mut self, at: Picos, host: usize, what: Happening) {
        self.sequence += 1;
        self.happenings.insert((at, self.sequence), (host, what));
    }

    /// Asserts that `flows` (sender, flow, bytes) completed once each and were delivered in full,
    /// and that the responders can be closed.
    pub fn assert_delivered(&mut self, flows: &[(usize, u32, u64)]) {
        for &(host, flow, bytes) in flows {
            let completed = self.events.iter().filter(|event| {
                matches!(event, HostEvent::FlowCompleted { flow: other, .. } if *other == flow)
            });
            assert_eq!(completed.count(), 1, "flow {flow} completes once");
            let delivered = self.events.iter().filter(|event| {
                matches!(event, HostEvent::FlowDelivered { qp, bytes: all, .. }
                    if *qp == flow && *all == bytes)
            });
            assert_eq!(delivered.count(), 1, "flow {flow} is delivered once");
            assert_eq!(self.hosts[1 - host].close_responder(flow), Some(bytes), "flow {flow}");
        }
        for host in &self.hosts {
            assert!(host.is_idle(), "finished flows leave no packet and no timer");
            let counters = host.counters();
            assert_eq!(counters.message_mismatches, 0);
            assert_eq!(counters.acknowledgements_beyond_sent, 0);
            assert_eq!(counters.misdelivered, 0);
        }
    }
}
