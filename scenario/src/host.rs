//! `[host]`: NIC and transport of every host.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Picos};

use super::document::Document;
use super::pause::PauseResponse;
use super::priority::{AckPriority, Priority};
use super::quantity;
use super::report::ScenarioError;
use super::scheduling::{NicScheduler, usual_at};
use super::switch::Scheduler;
use super::transport::{Transport, TransportKeys};

/// Maximum payload: a frame of a native XDP program is one linear piece of a page, which leaves about 3.5 kB for
/// headers and payload.
pub const MAX_PAYLOAD: Bytes = Bytes(3072);

/// Configuration of the hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Host {
    /// Payload of a full data packet, 1 to 3072 bytes.
    pub payload: Bytes,
    /// Priority of congestion notification packets.
    pub cnp_priority: u8,
    /// Priority of ACKs and NAKs.
    pub ack_priority: AckPriority,
    /// Priority whose pauses stop all ACKs and NAKs at NICs; `None`: pauses of each frame's priority stop it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_queue: Option<u8>,
    /// Maximum number of data packets per ACK; a message's last packet is acknowledged at once.
    pub ack_interval: u32,
    /// Room for stamps of switches in each RoCEv2 data packet, 0 to 8. `None`: the number of switches on the longest
    /// path if congestion control needs telemetry, otherwise 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub telemetry_hops: Option<u8>,
    /// Time without progress after which a requester sends again from the oldest unacknowledged packet. Selective
    /// repeat sends only this packet.
    pub retransmission_timeout: Picos,
    /// Response time of the NIC to a PAUSE.
    pub pause_response: PauseResponse,
    /// True if the NIC obeys pauses of single queues, and gives each flow a queue.
    pub queue_pauses: bool,
    /// True if the NIC obeys pauses of flows.
    pub flow_pauses: bool,
    /// Order in which the NIC serves its flows.
    pub scheduler: NicScheduler,
    /// Transport of flows.
    pub transport: Transport,
}

/// NIC and transport of every host.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct HostKeys {
    /// Payload of a full data packet, "1B" to "3072B". Default "1000B".
    payload: Bytes,
    /// Priority of congestion notification packets (CNP), 0 to 7. Default 6.
    cnp_priority: Priority,
    /// Priority of ACKs and NAKs, 0 to 7, or "data": the priority of the acknowledged packet, so that a pause of one
    /// priority does not stop ACKs of another. Default: `cnp_priority`.
    ack_priority: Option<AckPriority>,
    /// Priority, 0 to 7, whose pauses stop all ACKs and NAKs in the transmit queues of NICs. ACKs and NAKs go ahead of
    /// data in any case, in the order of arrival among ones that are not paused, and switches queue them by
    /// `ack_priority`. A rate that a switch sets for a priority (GFC) also paces its ACKs. Default: pauses of each
    /// frame's priority stop it.
    ack_queue: Option<Priority>,
    /// Maximum number of data packets per ACK, from 1 up; a message's last packet is acknowledged at once. Default 4.
    #[schemars(range(min = 1))]
    ack_interval: u32,
    /// Room for stamps of switches in RoCEv2 data packets and their ACKs, 0 to 8: docs/telemetry.md. 0 disables
    /// telemetry. Default: the number of switches on the longest path if a flow's `congestion_control` needs telemetry,
    /// otherwise 0. TCP segments have room only if congestion control needs it, for at most 3 stamps.
    #[schemars(range(max = 8))]
    telemetry_hops: Option<u8>,
    /// Time without progress after which a requester sends again from the oldest unacknowledged packet; above zero.
    /// Selective repeat sends only this packet (`RTO_high` in IRN, 320 us there). Default "4194us", InfiniBand's 4.096
    /// us x 2^10.
    retransmission_timeout: Picos,
    /// Time after a PAUSE in which a NIC may still start frames: "standard" (3840 B at line rate) or a shorter time.
    /// Default "standard".
    pause_response: PauseResponse,
    /// True if NICs obey pauses of single queues (`switch.scheme` of kind "bfc"). Each flow then gets a transmit queue,
    /// and its packets carry the queue's name to the switch. If false, flows need a window. Default true.
    queue_pauses: bool,
    /// True if NICs obey pauses of flows, which switches send under `switch.scheme` of kind "ofc". If false, a
    /// host's flows continue until PFC stops their class. Default true.
    flow_pauses: bool,
    /// Order in which a NIC serves flows that may send: "round-robin"; "strict", highest priority first; or "srf",
    /// shortest remaining flow first (BFC, Appendix A.2). Default: as `switch.scheduler`, and "round-robin" if that is
    /// "dwrr".
    scheduler: Option<NicScheduler>,
    /// Transport of flows. Default: kind "roce-rc" with its defaults, which include DCQCN with the profile "hpcc".
    transport: TransportKeys,
}

impl Default for HostKeys {
    fn default() -> Self {
        Self {
            payload: Bytes(1000),
            cnp_priority: Priority(6),
            ack_priority: None,
            ack_queue: None,
            ack_interval: 4,
            telemetry_hops: None,
            retransmission_timeout: Picos(4_194_000_000),
            pause_response: PauseResponse::Standard,
            queue_pauses: true,
            flow_pauses: true,
            scheduler: None,
            transport: TransportKeys::default(),
        }
    }
}

impl HostKeys {
    /// Returns the defaults with another payload.
    pub(super) fn for_payload(payload: Bytes) -> Self {
        Self { payload, ..Self::default() }
    }

    /// Resolves the keys; `switch` is the scheduler of the switches, which decides a default.
    pub(super) fn resolve(
        self,
        switch: Scheduler,
        document: &Document<'_>,
    ) -> Result<Host, ScenarioError> {
        let wrong = |key: &str, title: &str, help: &str| {
            Err(document.error(&format!("host.{key}"), title, help))
        };
        if self.payload == Bytes(0) {
            return wrong("payload", "a payload of no bytes", "write \"1B\" to \"3072B\"");
        }
        if self.payload > MAX_PAYLOAD {
            let title = format!("a payload of {}", quantity::display(self.payload));
            let help = "write \"1B\" to \"3072B\": a native XDP program takes a frame as one \
                        linear piece of a page";
            return wrong("payload", &title, help);
        }
        if self.ack_interval == 0 {
            let help = "write 1 for an ACK to each packet";
            return wrong("ack_interval", "an ACK for every 0 packets", help);
        }
        if self.retransmission_timeout == Picos::ZERO {
            let help = "write a time well above the round trip, such as \"4194us\"";
            return wrong("retransmission_timeout", "a timeout of no time", help);
        }
        let transport =
            self.transport.resolve("host.transport", self.retransmission_timeout, document)?;
        Ok(Host {
            payload: self.payload,
            cnp_priority: self.cnp_priority.0,
            ack_priority: self.ack_priority.unwrap_or(AckPriority::Fixed(self.cnp_priority.0)),
            ack_queue: self.ack_queue.map(|queue| queue.0),
            ack_interval: self.ack_interval,
            telemetry_hops: self.telemetry_hops,
            retransmission_timeout: self.retransmission_timeout,
            pause_response: self.pause_response,
            queue_pauses: self.queue_pauses,
            flow_pauses: self.flow_pauses,
            scheduler: self.scheduler.unwrap_or(usual_at(switch)),
            transport,
        })
    }
}
