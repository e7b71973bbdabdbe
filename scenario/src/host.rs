//! `[host]`: the NIC and the transport of every host.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Picos};

use super::document::Document;
use super::pause::PauseResponse;
use super::priority::{AckPriority, Priority};
use super::quantity::{self, Quantity, Size, Time};
use super::report::ScenarioError;
use super::scheduling::NicScheduler;
use super::switch::Scheduler;
use super::transport::{Transport, TransportKeys};

/// Largest payload: a frame of a native XDP program is one linear piece of a page, which leaves
/// some 3.5 kB for headers and payload.
pub const MAX_PAYLOAD: Bytes = Bytes(3072);

/// The hosts' configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Host {
    /// Payload of a full data packet, 1 to 3072 bytes.
    #[serde(serialize_with = "quantity::serialize")]
    pub payload: Bytes,
    /// Priority of congestion notification packets.
    pub cnp_priority: u8,
    /// Priority of ACKs and NAKs.
    pub ack_priority: AckPriority,
    /// The priority whose pauses stop all ACKs and NAKs at NICs; `None`: each stops with its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_queue: Option<u8>,
    /// Data packets that one ACK may cover; a message's last packet is acknowledged at once.
    pub ack_interval: u32,
    /// Stamps of switches for which each RoCEv2 data packet has room, 0 to 8; `None`: as many as the longest path has
    /// switches, if its congestion control needs them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub telemetry_hops: Option<u8>,
    /// Time without progress after which a requester sends again from the oldest unacknowledged
    /// packet; selective repeat sends that packet alone.
    #[serde(serialize_with = "quantity::serialize")]
    pub retransmission_timeout: Picos,
    /// How fast the NIC obeys a PAUSE.
    pub pause_response: PauseResponse,
    /// Whether the NIC obeys pauses of single queues, and gives each flow a queue.
    pub queue_pauses: bool,
    /// Whether the NIC obeys pauses of flows.
    pub flow_pauses: bool,
    /// How the NIC chooses among its flows.
    pub scheduler: NicScheduler,
    /// What carries flows.
    pub transport: Transport,
}

/// The NIC and the transport of every host.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct HostKeys {
    /// Payload of a full data packet, "1B" to "3072B". Default "1000B".
    payload: Size,
    /// Priority of congestion notification packets (CNP), 0 to 7. Default 6.
    cnp_priority: Priority,
    /// Priority of ACKs and NAKs, 0 to 7, or "data": that of the packet that they answer, so that a pause of one priority
    /// does not hold up ACKs of another. Default: `cnp_priority`.
    ack_priority: Option<AckPriority>,
    /// The transmit queue of NICs in which all ACKs and NAKs wait: the priority, 0 to 7, whose pauses stop them there.
    /// They go ahead of data in any case, in the order of arrival among those that are not paused, and switches queue them
    /// by `ack_priority`. A rate that a switch sets for a priority (GFC) paces its ACKs all the same. Default: each waits in the queue of its own priority.
    ack_queue: Option<Priority>,
    /// Data packets that one ACK may cover, from 1 up; a message's last packet is acknowledged at
    /// once. Default 4.
    #[schemars(range(min = 1))]
    ack_interval: u32,
    /// Stamps of switches for which RoCEv2 data packets and their ACKs have room, 0 to 8: docs/telemetry.md. 0 is no
    /// telemetry. Default: as many as the longest path has switches where a flow's `congestion_control` needs them, or
    /// else 0. TCP segments have room where congestion control needs it, for 3 where this is more.
    #[schemars(range(max = 8))]
    telemetry_hops: Option<u8>,
    /// Time without progress after which a requester sends again from the oldest unacknowledged
    /// packet (selective repeat: that packet alone; `RTO_high` in IRN, 320 us there); above zero. Default
    /// "4194us", InfiniBand's 4.096 us x 2^10.
    retransmission_timeout: Time,
    /// How long after a PAUSE a NIC may still start frames: "standard" (3840 B at line rate) or a
    /// shorter time. Default "standard".
    pause_response: PauseResponse,
    /// Whether NICs take part in `switch.backpressure`: each flow gets a transmit queue, its packets name it to the switch,
    /// and the NIC obeys pauses of queues. If not, flows need a window. Default true.
    queue_pauses: bool,
    /// Whether NICs obey pauses of flows, which switches send under `switch.backpressure` of kind "ofc". If not, a host's
    /// flows go on until PFC stops their class. Default true.
    flow_pauses: bool,
    /// How a NIC chooses among the flows that may send: "round-robin"; "strict", those of the highest priority first; or
    /// "srf", shortest remaining flow first (BFC, Appendix A.2). Default: as `switch.scheduler`, and "round-robin" for
    /// "dwrr" too.
    scheduler: Option<NicScheduler>,
    /// What carries flows. Default: kind "roce-rc" with its own defaults, DCQCN of the profile
    /// "hpcc".
    transport: TransportKeys,
}

impl Default for HostKeys {
    fn default() -> Self {
        Self {
            payload: Quantity(Bytes(1000)),
            cnp_priority: Priority(6),
            ack_priority: None,
            ack_queue: None,
            ack_interval: 4,
            telemetry_hops: None,
            retransmission_timeout: Quantity(Picos(4_194_000_000)),
            pause_response: PauseResponse::Standard,
            queue_pauses: true,
            flow_pauses: true,
            scheduler: None,
            transport: TransportKeys::default(),
        }
    }
}

impl HostKeys {
    /// The defaults, with another payload.
    pub(super) fn of_payload(payload: Bytes) -> Self {
        Self { payload: Quantity(payload), ..Self::default() }
    }

    /// At switches with this scheduler.
    pub(super) fn resolve(
        self,
        switch: Scheduler,
        document: &Document<'_>,
    ) -> Result<Host, ScenarioError> {
        let wrong = |key: &str, title: &str, help: &str| {
            Err(document.error(&format!("host.{key}"), title, help))
        };
        if self.payload.0 == Bytes(0) {
            return wrong("payload", "a payload of no bytes", "write \"1B\" to \"3072B\"");
        }
        if self.payload.0 > MAX_PAYLOAD {
            let title = format!("a payload of {}", quantity::display(self.payload.0));
            let help = "write \"1B\" to \"3072B\": a native XDP program takes a frame as one \
                        linear piece of a page";
            return wrong("payload", &title, help);
        }
        if self.ack_interval == 0 {
            let help = "write 1 for an ACK to each packet";
            return wrong("ack_interval", "an ACK for every 0 packets", help);
        }
        if self.retransmission_timeout.0 == Picos::ZERO {
            let help = "write a time well above the round trip, such as \"4194us\"";
            return wrong("retransmission_timeout", "a timeout of no time", help);
        }
        let transport =
            self.transport.resolve("host.transport", self.retransmission_timeout.0, document)?;
        Ok(Host {
            payload: self.payload.0,
            cnp_priority: self.cnp_priority.0,
            ack_priority: self.ack_priority.unwrap_or(AckPriority::Fixed(self.cnp_priority.0)),
            ack_queue: self.ack_queue.map(|queue| queue.0),
            ack_interval: self.ack_interval,
            telemetry_hops: self.telemetry_hops,
            retransmission_timeout: self.retransmission_timeout.0,
            pause_response: self.pause_response,
            queue_pauses: self.queue_pauses,
            flow_pauses: self.flow_pauses,
            scheduler: self.scheduler.unwrap_or(NicScheduler::usual(switch)),
            transport,
        })
    }
}
