//! `transport = { kind = "tcp" }`.

use host_agent::congestion_controls;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Picos;

use super::{
    BaseRtt, CongestionControl, FirstRttLimit, FirstRttMarks, Place, Window, WindowSize, keys,
    serialize_base_rtt,
};
use crate::quantity;
use crate::report::ScenarioError;
use crate::schema::{in_words, without_default_tables};

/// TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Tcp {
    /// Retransmission timeout until a round trip has been measured.
    pub initial_rto: Picos,
    /// Minimum retransmission timeout.
    pub minimum_rto: Picos,
    /// Maximum retransmission timeout.
    pub maximum_rto: Picos,
    /// Number of SACKed segments behind a missing one after which it counts as lost.
    pub loss_threshold: u32,
    /// True if a tail loss probe is sent before the timeout.
    pub tail_loss_probe: bool,
    /// Time for which an ACK may wait for a second segment; zero: an ACK for each segment.
    pub delayed_ack: Picos,
    /// True if SYNs open connections. If false, connections are open when flows start.
    pub handshake: bool,
    /// Congestion control.
    #[serde(flatten)]
    pub congestion_control: CongestionControl,
    /// Round-trip time from which windows are computed; `None`: the longest of the fabric's idle paths.
    #[serde(serialize_with = "serialize_base_rtt")]
    pub base_rtt: Option<Picos>,
    /// Limit of unacknowledged bytes in addition to congestion control.
    #[serde(flatten)]
    pub window: Window,
    /// Marks of segments of a flow's first round trip.
    #[serde(flatten)]
    pub first_rtt: FirstRttMarks,
    /// Number of stamps of switches that fit into data segments, 0 to 3; 0: no telemetry.
    #[serde(skip)]
    pub telemetry_hops: u8,
}

congestion_controls! { keys for tcp:
    /// TCP: SACK (RFC 2018, 6675), time stamps and window scale (RFC 7323), docs/tcp.md.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
    #[serde(default, deny_unknown_fields)]
    #[schemars(transform = without_default_tables)]
    pub struct TcpKeys {
        /// Retransmission timeout until a round trip has been measured, at least `minimum_rto`. Default "10ms" or
        /// `minimum_rto`, whichever is longer; RFC 6298 has 1 s.
        initial_rto: Option<Picos>,
        /// Minimum retransmission timeout, above zero. Default "10ms", as in ABM's simulator; RFC 6298 has 1 s.
        minimum_rto: Option<Picos>,
        /// Maximum retransmission timeout, at least `initial_rto` and `minimum_rto`. Default "60s".
        maximum_rto: Option<Picos>,
        /// Number of SACKed segments behind a missing one after which it counts as lost (DupThresh in RFC 6675), from 1 up.
        /// Default 3.
        #[schemars(range(min = 1))]
        loss_threshold: Option<u32>,
        /// True to send the last segment again, or a new one, after two round trips without an ACK (tail loss probe; RFC
        /// 8985, 7). Default false.
        tail_loss_probe: bool,
        /// Time for which an ACK may wait for a second segment, below `minimum_rto`; "0s": an ACK for each segment. Default
        /// "0s".
        delayed_ack: Picos,
        /// True if SYNs open connections, within a flow's completion time. If false, connections are open when flows start.
        /// Default true.
        handshake: Option<bool>,
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
        /// Marks of data segments and SYNs of a flow's first round trip (docs/flow-hints.md). "off": none. A size above
        /// zero: segments are marked until the flow has sent this much payload, including retransmissions. "auto": this
        /// size is line rate x `base_rtt`. Default "off".
        #[schemars(skip_serializing_if = "in_words")]
        first_rtt_marks: FirstRttLimit,
        /// True if all ACKs carry this mark as well, as in ABM's simulator. Default false.
        first_rtt_acks: bool,
    }
}

impl TcpKeys {
    pub(super) fn resolve(&self, place: &Place<'_>) -> Result<Tcp, ScenarioError> {
        const MILLISECOND: u64 = 1_000_000_000;
        let timeout = |key: &str, given: Option<Picos>, default: u64| match given {
            Some(Picos::ZERO) => {
                let help = "write a time above the round trip, such as \"10ms\"";
                Err(place.wrong(key, "a timeout of no time", help))
            }
            given => Ok(given.unwrap_or(Picos(default))),
        };
        let minimum_rto = timeout("minimum_rto", self.minimum_rto, 10 * MILLISECOND)?;
        let usual = minimum_rto.0.max(10 * MILLISECOND);
        let initial_rto = timeout("initial_rto", self.initial_rto, usual)?;
        let maximum_rto = timeout("maximum_rto", self.maximum_rto, 60_000 * MILLISECOND)?;
        for (key, other, given) in [
            ("minimum_rto", minimum_rto, self.minimum_rto.is_some()),
            ("initial_rto", initial_rto, self.initial_rto.is_some()),
        ] {
            if other > maximum_rto {
                let title = format!(
                    "`{key}` of {} above `maximum_rto` of {}",
                    quantity::display(other),
                    quantity::display(maximum_rto)
                );
                let key = if given { key } else { "maximum_rto" };
                let help = "write `maximum_rto` at least as long as the other two";
                return Err(place.wrong(key, &title, help));
            }
        }
        let delayed_ack = self.delayed_ack;
        if delayed_ack >= minimum_rto {
            let [wait, timeout] = [delayed_ack, minimum_rto].map(quantity::display);
            let title = format!("ACKs that wait {wait}, and a `minimum_rto` of {timeout}");
            let help =
                "a lone segment would time out before its ACK goes: write a shorter `delayed_ack`";
            return Err(place.wrong("delayed_ack", &title, help));
        }
        if initial_rto < minimum_rto {
            let [initial, minimum] = [initial_rto, minimum_rto].map(quantity::display);
            let title =
                format!("an `initial_rto` of {initial} below the `minimum_rto` of {minimum}");
            let key = if self.initial_rto.is_some() { "initial_rto" } else { "minimum_rto" };
            return Err(place.wrong(key, &title, "write `initial_rto` at least as long"));
        }
        if self.loss_threshold == Some(0) {
            let help = "write 1 for a path that keeps order, or RFC 6675's 3";
            return Err(place.wrong(
                "loss_threshold",
                "a loss behind which nothing has arrived",
                help,
            ));
        }
        Ok(Tcp {
            initial_rto,
            minimum_rto,
            maximum_rto,
            loss_threshold: self.loss_threshold.unwrap_or(3),
            tail_loss_probe: self.tail_loss_probe,
            delayed_ack,
            handshake: self.handshake.unwrap_or(true),
            congestion_control: self.congestion_control(place)?,
            base_rtt: self.base_rtt.0,
            window: Window {
                size: self.window,
                scales: self.window_scales,
                overrun: self.window_overrun,
            },
            first_rtt: FirstRttMarks { limit: self.first_rtt_marks, acks: self.first_rtt_acks }
                .check(place)?,
            telemetry_hops: 0,
        })
    }
}
