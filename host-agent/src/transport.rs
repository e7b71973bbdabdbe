//! Transports of flows: the one place that names all transports.
//!
//! # Adding one
//!
//! 1. Its two ends in files or a folder here, and arms in this module.
//! 2. If its packets are of another kind: a variant of `Packet` in `fabric-core/src/wire/packet.rs` and of
//!    `MemoryFrame` in `emulation/src/datapath/memory.rs`.
//! 3. A kind of `TransportKeys` in `scenario/src/transport.rs`, and its line of `protocol` in
//!    `emulation/src/host_settings.rs`.
//! 4. Not checked by the compiler: `Frames` in `emulation/src/ideal.rs`, the NIC's filter in `switch-ebpf/src/main.rs`,
//!    and a document in `docs/`.

use fabric_core::map_abi::FlowKey;
use fabric_core::wire::roce::UDP_PORT;
use fabric_core::wire::tcp::{Direction, Ports};
use fabric_core::wire::{Packet, ipv4};
use units::{BitsPerSecond, Picos};

use crate::congestion_control::{Algorithm, CongestionControl, Control, Feedback};
use crate::first_rtt::FirstRttMarks;
use crate::flow::{Flow, FlowRequest};
use crate::flow_trace::SenderState;
use crate::host::{HostConfig, SenderCounts};
use crate::regulator::{Regulator, WindowLimit};
use crate::reliability::{self, Reliability};
use crate::requester::Requester;
use crate::responder::{Responder, ResponderRequest};
use crate::tcp;

/// Transport of a flow, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transport {
    /// The protocol.
    pub protocol: Protocol,
    /// Congestion control of senders.
    pub congestion_control: Algorithm,
    /// Stamps of switches for which each data packet has room, up to 8, or 3 for TCP; 0 for no telemetry. Each takes 8
    /// bytes of the packet and of its ACK, and the option around them a few more.
    pub telemetry_hops: u8,
    /// Limit of a flow's unacknowledged bytes, in addition to congestion control.
    pub window: Option<WindowLimit>,
    /// True if a packet may exceed a window, this one or congestion control's, unless the window is full.
    pub window_overrun: bool,
    /// Rule for marking packets of a first round trip.
    pub first_rtt: FirstRttMarks,
}

/// A transport protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Reliable connections of RoCEv2.
    Roce {
        /// Scheme by which queue pairs repair losses.
        reliability: Reliability,
    },
    /// TCP.
    Tcp(tcp::Parameters),
}

/// A transport, and the two ends of its congestion control that have seen no congestion.
#[derive(Debug)]
pub struct FreshTransport {
    transport: Transport,
    line_rate: BitsPerSecond,
    control: Control,
    feedback: Feedback,
}

impl FreshTransport {
    /// Transport for a host with this link.
    pub fn new(transport: Transport, line_rate: BitsPerSecond) -> Self {
        let (control, feedback) = transport.congestion_control.ends(line_rate);
        Self { transport, line_rate, control, feedback }
    }

    /// The sending end of a flow that has sent nothing.
    pub fn sending_end(&self, request: &FlowRequest, config: &HostConfig) -> SendingEnd {
        let Transport { protocol, window, window_overrun, telemetry_hops, first_rtt, .. } =
            self.transport;
        let first_rtt = first_rtt.of_sender();
        let regulator = Regulator::new(
            self.control.clone(),
            window,
            window_overrun,
            self.line_rate,
            config.frame_time,
        );
        match protocol {
            Protocol::Roce { reliability } => {
                let placement = reliability.placement();
                let flow = Flow::new(request, config.address, config.payload, placement);
                let sender = reliability.sender(config);
                SendingEnd::Roce(Requester::new(flow, sender, regulator, telemetry_hops, first_rtt))
            }
            Protocol::Tcp(parameters) => {
                let sender = tcp::Sender::new(
                    request,
                    config,
                    parameters,
                    regulator,
                    telemetry_hops,
                    first_rtt,
                );
                SendingEnd::Tcp(Box::new(sender))
            }
        }
    }

    /// The receiving end of a flow of which nothing has arrived.
    pub fn receiving_end(&self, request: &ResponderRequest, config: &HostConfig) -> ReceivingEnd {
        let ack_bits = self.transport.first_rtt.of_acknowledgements();
        match &self.transport.protocol {
            Protocol::Roce { reliability } => {
                let receiver = reliability.receiver(request, config);
                ReceivingEnd::Roce(Responder::new(
                    request,
                    receiver,
                    self.feedback.clone(),
                    ack_bits,
                ))
            }
            Protocol::Tcp(parameters) => {
                let ecn = self.control.tcp_ecn();
                ReceivingEnd::Tcp(Box::new(tcp::Receiver::new(
                    request, config, parameters, ecn, ack_bits,
                )))
            }
        }
    }
}

/// The sending end of a flow.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a box would cost each RoCEv2 packet a cache line")]
pub enum SendingEnd {
    /// A queue pair.
    Roce(Requester<reliability::Sender, Control>),
    /// A connection. In a box, so that it does not make every queue pair longer.
    Tcp(Box<tcp::Sender<Control>>),
}

impl SendingEnd {
    /// The request that started the flow.
    #[inline]
    pub fn request(&self) -> &FlowRequest {
        match self {
            Self::Roce(requester) => requester.request(),
            Self::Tcp(sender) => sender.request(),
        }
    }

    /// The five-tuple of its data packets, sent by the host at `source`.
    pub fn flow_key(&self, source: u32) -> FlowKey {
        let request = self.request();
        let (ports, protocol) = match self {
            Self::Roce(_) => {
                (Ports { source: request.source_port, destination: UDP_PORT }, ipv4::PROTOCOL_UDP)
            }
            Self::Tcp(_) => {
                (Ports::for_connection(request.qp, Direction::FromClient), ipv4::PROTOCOL_TCP)
            }
        };
        FlowKey {
            source,
            destination: request.destination,
            ports: u32::from(ports.source) << 16 | u32::from(ports.destination),
            protocol: protocol.into(),
        }
    }

    /// Returns true if a packet is ready and the window has room for it. Pacing is not considered.
    #[inline]
    pub fn can_send(&self, now: Picos) -> bool {
        match self {
            Self::Roce(requester) => requester.can_send(now),
            Self::Tcp(sender) => sender.can_send(now),
        }
    }

    /// Bytes left to send; for a connection, all bytes of its flow.
    #[inline]
    pub fn remaining(&self) -> u64 {
        match self {
            Self::Roce(requester) => requester.remaining(),
            Self::Tcp(sender) => sender.request().bytes,
        }
    }

    /// Earliest start of the next packet by pacing.
    #[inline]
    pub fn next_start(&self) -> Picos {
        match self {
            Self::Roce(requester) => requester.next_start(),
            Self::Tcp(sender) => sender.next_start(),
        }
    }

    /// Returns true if the last packet is acknowledged.
    #[inline]
    pub fn is_complete(&self) -> bool {
        match self {
            Self::Roce(requester) => requester.is_complete(),
            Self::Tcp(sender) => sender.is_complete(),
        }
    }

    /// Instant at which the retransmission timer expires, if it runs.
    #[inline]
    pub fn deadline(&self) -> Option<Picos> {
        match self {
            Self::Roce(requester) => requester.retransmission_deadline(),
            Self::Tcp(sender) => sender.deadline(),
        }
    }

    /// Handles an expiry of the retransmission timer; true unless it was for a probe of the tail.
    pub fn expire(&mut self, now: Picos) -> bool {
        match self {
            Self::Roce(requester) => {
                requester.expire(now);
                true
            }
            Self::Tcp(sender) => sender.expire(now) == tcp::Expiry::Timeout,
        }
    }

    /// Returns the next packet, which starts at `now`, and true if it is a retransmission. Requires
    /// [`can_send`](Self::can_send).
    #[inline]
    pub fn transmit(&mut self, now: Picos, config: &HostConfig) -> (Packet, bool) {
        match self {
            Self::Roce(requester) => {
                let (packet, again) = requester.transmit(now, config);
                (Packet::Roce(packet), again)
            }
            Self::Tcp(sender) => {
                let (segment, again) = sender.transmit(now, config);
                (Packet::Tcp(segment), again)
            }
        }
    }

    /// Cuts of the rate that have not been counted yet.
    #[inline]
    pub fn take_cuts(&mut self) -> u64 {
        match self {
            Self::Roce(requester) => requester.take_cuts(),
            Self::Tcp(sender) => sender.take_cuts(),
        }
    }

    /// Traces the flow from now on, before its first packet.
    pub fn trace(&mut self) {
        match self {
            Self::Roce(requester) => requester.trace(),
            Self::Tcp(sender) => sender.trace(),
        }
    }

    /// See [`Regulator::poll_trace`].
    #[inline]
    pub fn poll_trace(&mut self, now: Picos) -> Option<SenderState> {
        match self {
            Self::Roce(requester) => requester.poll_trace(now),
            Self::Tcp(sender) => sender.poll_trace(now),
        }
    }

    /// Counters of the flow's sender.
    pub fn counts(&self) -> SenderCounts {
        match self {
            Self::Roce(requester) => requester.counts(),
            Self::Tcp(sender) => sender.counts(),
        }
    }
}

/// The receiving end of a flow.
#[derive(Debug)]
pub enum ReceivingEnd {
    /// A queue pair.
    Roce(Responder<reliability::Receiver, Feedback>),
    /// A connection.
    Tcp(Box<tcp::Receiver>),
}

impl ReceivingEnd {
    /// Payload bytes received in order.
    pub fn delivered_bytes(&self) -> u64 {
        match self {
            Self::Roce(responder) => responder.delivered_bytes(),
            Self::Tcp(receiver) => receiver.delivered_bytes(),
        }
    }

    /// Deadline of a waiting ACK, if one waits.
    #[inline]
    pub fn deadline(&self) -> Option<Picos> {
        match self {
            Self::Roce(_) => None,
            Self::Tcp(receiver) => receiver.deadline(),
        }
    }
}
