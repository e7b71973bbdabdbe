//! `host.transport`: protocol of the flows, repair of losses, and congestion control.

mod first_rtt;
mod keys;
mod tcp;
mod window;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Picos;
use units::checked::Misfit;

use super::document::Document;
use super::quantity;
use super::reliability::{self, Reliability, ReliabilityKey};
use super::report::ScenarioError;
use super::schema::{in_words, without_default_tables};

use crate::refusal::Refusal;
pub use first_rtt::{FirstRttLimit, FirstRttMarks};
pub use host_agent::congestion_control::Settings as CongestionControl;
pub use host_agent::congestion_control::dcqcn::MAX_STAGES;
use host_agent::congestion_controls;
use keys::keys;
pub use tcp::Tcp;
pub use window::{Window, WindowSize};

/// Protocol of the flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Transport {
    /// RoCEv2 reliable connections: a queue pair for each flow, RDMA WRITE.
    RoceRc(RoceRc),
    /// TCP: a connection for each flow.
    Tcp(Tcp),
}

impl Transport {
    /// Returns the name in files.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::RoceRc(_) => "roce-rc",
            Self::Tcp(_) => "tcp",
        }
    }

    /// Returns true if flows are TCP connections.
    pub const fn is_tcp(&self) -> bool {
        matches!(self, Self::Tcp(_))
    }

    /// Returns the congestion control.
    pub const fn congestion_control(&self) -> &CongestionControl {
        match self {
            Self::RoceRc(roce) => &roce.congestion_control,
            Self::Tcp(tcp) => &tcp.congestion_control,
        }
    }

    /// Returns the number of stamps of switches that fit into data packets, up to 8, or 3 for TCP; 0: no telemetry.
    pub const fn telemetry_hops(&self) -> u8 {
        match self {
            Self::RoceRc(roce) => roce.telemetry_hops,
            Self::Tcp(tcp) => tcp.telemetry_hops,
        }
    }

    /// Returns the round-trip time from which windows are computed; `None`: the longest of the fabric's idle paths.
    pub const fn base_rtt(&self) -> Option<Picos> {
        match self {
            Self::RoceRc(roce) => roce.base_rtt,
            Self::Tcp(tcp) => tcp.base_rtt,
        }
    }

    /// Returns the limit of unacknowledged bytes in addition to congestion control.
    pub const fn window(&self) -> Window {
        match self {
            Self::RoceRc(roce) => roce.window,
            Self::Tcp(tcp) => tcp.window,
        }
    }

    /// Returns true if data packets of a flow's first round trip are marked.
    pub fn marks_first_rtt(&self) -> bool {
        self.first_rtt().limit != FirstRttLimit::Off
    }

    /// Returns the rule that marks packets of a flow's first round trip.
    pub const fn first_rtt(&self) -> FirstRttMarks {
        match self {
            Self::RoceRc(roce) => roce.first_rtt,
            Self::Tcp(tcp) => tcp.first_rtt,
        }
    }
}

/// `RoCEv2` reliable connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RoceRc {
    /// Repair of losses.
    #[serde(flatten)]
    pub reliability: Reliability,
    /// Congestion control.
    #[serde(flatten)]
    pub congestion_control: CongestionControl,
    /// Round-trip time from which windows are computed; `None`: the longest of the fabric's idle paths.
    #[serde(serialize_with = "serialize_base_rtt")]
    pub base_rtt: Option<Picos>,
    /// Limit of unacknowledged bytes in addition to congestion control.
    #[serde(flatten)]
    pub window: Window,
    /// Marks of packets of a flow's first round trip.
    #[serde(flatten)]
    pub first_rtt: FirstRttMarks,
    /// Number of stamps of switches that fit into data packets, 0 to 8, from `host.telemetry_hops`; 0: no telemetry.
    #[serde(skip)]
    pub telemetry_hops: u8,
}

/// Protocol of the flows.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind")]
pub enum TransportKeys {
    /// RoCEv2 reliable connections: a queue pair for each flow, RDMA WRITE.
    RoceRc(RoceRcKeys),
    /// TCP: a connection for each flow (docs/tcp.md).
    Tcp(tcp::TcpKeys),
}

congestion_controls! { keys for roce:
    /// RoCEv2 reliable connections.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
    #[serde(default, deny_unknown_fields)]
    #[schemars(transform = without_default_tables)]
    pub struct RoceRcKeys {
        /// Repair of losses: "go-back-n", or "selective-repeat" as in IRN (docs/selective-repeat.md), with a RETH in each
        /// packet. Default "go-back-n".
        reliability: ReliabilityKey,
        /// Selective repeat: retransmission timeout while few packets are in flight, above zero and at most
        /// `host.retransmission_timeout`, which applies otherwise. Default "100us".
        rto_low: Option<Picos>,
        /// Selective repeat: number of packets in flight below which `rto_low` applies; 0: never. Default 3.
        rto_low_packets: Option<u32>,
        /// Round-trip time from which windows are computed, above zero, or "auto": the longest of the fabric's idle paths,
        /// for a full packet and its ACK. Default "auto".
        base_rtt: BaseRtt,
        /// Limit of unacknowledged bytes in addition to `congestion_control`: "none", "bdp" (line rate x `base_rtt`), or a
        /// size above zero. Default "none".
        #[schemars(skip_serializing_if = "in_words")]
        window: WindowSize,
        /// True if `window` shrinks in proportion to the rate that `congestion_control` sets. Default false.
        window_scales: bool,
        /// True if a packet may exceed a window, `window` or the window of `congestion_control`, as long as the window is
        /// not full. Default false.
        window_overrun: bool,
        /// Marks of data packets of a flow's first round trip (docs/flow-hints.md). "off": none. A size above zero: packets
        /// are marked until the flow has sent this much payload, including retransmissions. "auto": this size is line rate
        /// x `base_rtt`. Default "off".
        #[schemars(skip_serializing_if = "in_words")]
        first_rtt_marks: FirstRttLimit,
        /// True if all ACKs and NAKs carry this mark as well, as in ABM's simulator. Default false.
        first_rtt_acks: bool,
    }
}

/// A time above zero, or "auto".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct BaseRtt(Option<Picos>);

impl TryFrom<String> for BaseRtt {
    type Error = Refusal;
    fn try_from(text: String) -> Result<Self, Refusal> {
        match text.as_str() {
            "auto" => Ok(Self(None)),
            text => match quantity::parse(text)? {
                Picos::ZERO => {
                    Err(Refusal::new("a round-trip time of no time", "write \"auto\" or a time"))
                }
                span => Ok(Self(Some(span))),
            },
        }
    }
}

impl JsonSchema for BaseRtt {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "BaseRtt".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let time = generator.subschema_for::<Picos>();
        schemars::json_schema!({ "oneOf": [{ "const": "auto" }, time] })
    }
}

#[expect(clippy::ref_option, reason = "serde hands a reference to the field")]
fn serialize_base_rtt<S: serde::Serializer>(
    value: &Option<Picos>,
    out: S,
) -> Result<S::Ok, S::Error> {
    out.serialize_str(&value.map_or_else(|| "auto".into(), quantity::display))
}

impl Default for TransportKeys {
    fn default() -> Self {
        Self::RoceRc(RoceRcKeys::default())
    }
}

impl TransportKeys {
    /// Resolves the keys at `path`.
    pub(super) fn resolve(
        self,
        path: &str,
        retransmission_timeout: Picos,
        document: &Document<'_>,
    ) -> Result<Transport, ScenarioError> {
        let place = Place { document, path };
        Ok(match self {
            Self::RoceRc(keys) => Transport::RoceRc(keys.resolve(&place, retransmission_timeout)?),
            Self::Tcp(keys) => Transport::Tcp(keys.resolve(&place)?),
        })
    }
}

impl RoceRcKeys {
    fn resolve(
        &self,
        place: &Place<'_>,
        retransmission_timeout: Picos,
    ) -> Result<RoceRc, ScenarioError> {
        let reliability = self.reliability.resolve(self.rto_low, self.rto_low_packets, place)?;
        reliability::check(reliability, retransmission_timeout, place)?;
        let congestion_control = self.congestion_control(place)?;
        let window =
            Window { size: self.window, scales: self.window_scales, overrun: self.window_overrun };
        let base_rtt = self.base_rtt.0;
        let first_rtt = FirstRttMarks { limit: self.first_rtt_marks, acks: self.first_rtt_acks }
            .check(place)?;
        Ok(RoceRc {
            reliability,
            congestion_control,
            base_rtt,
            window,
            first_rtt,
            telemetry_hops: 0,
        })
    }
}

/// A table of the file and its path.
pub(super) struct Place<'a> {
    document: &'a Document<'a>,
    path: &'a str,
}

/// A table within a table.
struct Inner<'a> {
    document: &'a Document<'a>,
    path: String,
}

impl<'a> Place<'a> {
    pub(super) fn wrong(&self, key: &str, title: &str, help: &str) -> ScenarioError {
        self.document.error(&format!("{}.{key}", self.path), title, help)
    }

    /// Returns a table within this table.
    fn table(&self, key: &str) -> Inner<'a> {
        Inner { document: self.document, path: format!("{}.{key}", self.path) }
    }
}

impl Inner<'_> {
    /// Returns an error about keys that do not fit together, at the first of them that the file has.
    fn check(&self, checked: Result<(), Misfit>) -> Result<(), ScenarioError> {
        checked.map_err(|Misfit { keys, refusal }| {
            let paths: Vec<String> =
                keys.iter().map(|key| format!("{}.{key}", self.path)).collect();
            let written = paths.iter().find(|path| self.document.node(path).is_some());
            let path = written.or(paths.last()).expect("a misfit is of some keys");
            self.document.error(path, &refusal.title, &refusal.help)
        })
    }
}
