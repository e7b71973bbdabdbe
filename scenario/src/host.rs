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
use super::schema::in_words;
use super::switch::Scheduler;
use super::transport::{Transport, TransportKeys};

/// Maximum payload: a frame of a native XDP program is one linear piece of a page, which leaves about 3.5 kB for
/// headers and payload.
pub const MAX_PAYLOAD: Bytes = Bytes(3072);

/// NIC and transport of every host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, bound(deserialize = "T: Deserialize<'de> + Default"))]
#[schemars(rename = "HostKeys", bound = "T: JsonSchema + Default")]
pub struct Host<T = Transport> {
    /// Payload of a full data packet, "1B" to "3072B". Default "1000B".
    pub payload: Bytes,
    /// Priority of congestion notification packets (CNP), 0 to 7. Default 6.
    pub cnp_priority: Priority,
    /// Priority of ACKs and NAKs, 0 to 7, or "data": the priority of the acknowledged packet, so that a pause of one
    /// priority does not stop ACKs of another. Default: `cnp_priority`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ack_priority: Option<AckPriority>,
    /// Priority, 0 to 7, whose pauses stop all ACKs and NAKs in the transmit queues of NICs. ACKs and NAKs go ahead of
    /// data in any case, in the order of arrival among ones that are not paused, and switches queue them by
    /// `ack_priority`. A rate that a switch sets for a priority (GFC) also paces its ACKs. Default: pauses of each
    /// frame's priority stop it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_queue: Option<Priority>,
    /// Maximum number of data packets per ACK, from 1 up; a message's last packet is acknowledged at once. Default 4.
    #[schemars(range(min = 1))]
    pub ack_interval: u32,
    /// Room for stamps of switches in RoCEv2 data packets and their ACKs, 0 to 8: docs/telemetry.md. 0 disables
    /// telemetry. Default: the number of switches on the longest path if a flow's `congestion_control` needs telemetry,
    /// otherwise 0. TCP segments have room only if congestion control needs it, for at most 3 stamps.
    #[schemars(range(max = 8))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub telemetry_hops: Option<u8>,
    /// Time without progress after which a requester sends again from the oldest unacknowledged packet; above zero.
    /// Selective repeat sends only this packet (`RTO_high` in IRN, 320 us there). Default "4194us", InfiniBand's 4.096
    /// us x 2^10.
    pub retransmission_timeout: Picos,
    /// Time after a PAUSE in which a NIC may still start frames: "standard" (3840 B at line rate) or a shorter time.
    /// Default "standard".
    pub pause_response: PauseResponse,
    /// True if NICs obey pauses of single queues (`switch.scheme` of kind "bfc"). Each flow then gets a transmit queue,
    /// and its packets carry the queue's name to the switch. If false, flows need a window. Default true.
    pub queue_pauses: bool,
    /// True if NICs obey pauses of flows, which switches send under `switch.scheme` of kind "ofc". If false, a
    /// host's flows continue until PFC stops their class. Default true.
    pub flow_pauses: bool,
    /// Order in which a NIC serves flows that may send: "round-robin"; "strict", highest priority first; or "srf",
    /// shortest remaining flow first (BFC, Appendix A.2). Default: as `switch.scheduler`, and "round-robin" if that is
    /// "dwrr".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) scheduler: Option<NicScheduler>,
    /// Hosts of HPCC's simulator (ns-3) in place of xoff's own. Needs `order = "insertion"`. Default: none.
    #[schemars(skip_serializing_if = "in_words")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ns3: Option<host_agent::ns3::Settings>,
    /// Transport of flows. Default: kind "roce-rc" with its defaults, which include DCQCN with the profile "hpcc".
    #[schemars(skip_serializing_if = "in_words")]
    pub transport: T,
}

impl<T: Default> Default for Host<T> {
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
            ns3: None,
            transport: T::default(),
        }
    }
}

impl Host<TransportKeys> {
    /// Returns the defaults with another payload.
    pub(super) fn for_payload(payload: Bytes) -> Self {
        Self { payload, ..Self::default() }
    }

    /// Adds defaults, and checks the keys; `switch` is the scheduler of the switches, which decides a default.
    pub(super) fn complete(
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
        let acks = AckPriority::Fixed(self.cnp_priority.0);
        Ok(Host {
            payload: self.payload,
            cnp_priority: self.cnp_priority,
            ack_priority: Some(self.ack_priority.unwrap_or(acks)),
            ack_queue: self.ack_queue,
            ack_interval: self.ack_interval,
            telemetry_hops: self.telemetry_hops,
            retransmission_timeout: self.retransmission_timeout,
            pause_response: self.pause_response,
            queue_pauses: self.queue_pauses,
            flow_pauses: self.flow_pauses,
            scheduler: Some(self.scheduler.unwrap_or(usual_at(switch))),
            ns3: self.ns3,
            transport,
        })
    }
}

impl Host {
    /// Returns the priority of ACKs and NAKs.
    pub fn ack_priority(&self) -> AckPriority {
        self.ack_priority.expect("a scenario has all defaults")
    }

    /// Returns the order in which NICs serve flows.
    pub fn scheduler(&self) -> NicScheduler {
        self.scheduler.expect("a scenario has all defaults")
    }
}
