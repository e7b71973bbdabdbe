//! `[[faults]]`: deliberate faults on wires.
//!
//! # Adding a kind, or a class of frames
//!
//! 1. A variant of `Fault` or `FrameClass` here, whose documentation lists the names; its checks in
//!    `fault/checks.rs`; its effect in `emulation/src/engine/faults.rs`.
//! 2. `FaultTotals` in `results/src/fault.rs`, and docs/faults.md.
//! 3. In live fabrics: `emulation/src/live/impairment.rs`, `emulation/src/engine/faults/own.rs`, and `impair.rs` of the
//!    commands.
//! 4. For captures: `capture.rs` here, and `captured_by` in `emulation/src/engine/core.rs`. Frames that end neither by
//!    `Outcome::Dropped` nor on a wire need a call of `Core::capture_dropped`.

mod checks;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitsPerSecond, Picos};

use super::glob;
use super::kind::by_kind;
use super::outage::{Flap, Outage, Span};
use super::ratio::FineProbability;

pub(super) use checks::FaultPlace;
pub use checks::NoReroute;

/// Maximum sum of the scenario's delays and jitters on a wire, and maximum delay and jitter that a user of a live
/// fabric may set. Together with a slow port ([`MIN_RATE`]) a frame may be four seconds late; within this time the
/// auditor of the kernel datapath can distinguish instants.
pub const MAX_DELAY: Picos = Picos(1_000_000_000_000);
/// Minimum rate of a slow port, at which the longest frame takes a second.
pub const MIN_RATE: BitsPerSecond = BitsPerSecond(100_000);
/// Minimum period of a flapping wire.
pub const MIN_PERIOD: Picos = Picos(1_000_000);

/// A deliberate fault on wires. It affects frames whose transmission begins during the fault; frames already in flight
/// arrive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, remote = "Self")]
#[schemars(tag = "kind", rename = "FaultKeys")]
pub enum Fault {
    /// Frames vanish on the wire. Give either `rate` or `nth`.
    Loss {
        /// Wires by name, such as "h0->leaf0"; `*` stands for any text. A link's name, such as "h0-leaf0", selects both
        /// of its wires. Default "*".
        #[serde(default = "every_wire")]
        wire: WirePattern,
        /// Start of the fault. Default "0s".
        #[serde(skip_serializing_if = "Option::is_none")]
        at: Option<Picos>,
        /// Duration of the fault. Default: to the run's end.
        #[serde(skip_serializing_if = "Option::is_none")]
        r#for: Option<Picos>,
        /// Class of frames that the fault selects from: "all", "data" (over TCP the first one is the SYN), "ack",
        /// "nak", "cnp", "pfc", "pause", "resume", "hop-control" (frames of xoff beyond PFC: pauses of queues and
        /// flows, and rates) or "link-delay". Default "all".
        #[serde(default)]
        r#match: FrameClass,
        /// Probability with which each of these frames vanishes, 0 to 1, drawn from the scenario's seed.
        #[serde(skip_serializing_if = "Option::is_none")]
        rate: Option<FineProbability>,
        /// Numbers of the frames that vanish, counted from 1 on each wire.
        #[serde(skip_serializing_if = "Option::is_none")]
        nth: Option<Vec<u64>>,
    },
    /// Frames arrive with a wrong FCS, and the receiver drops them. Give either `rate` or `nth`.
    Corrupt {
        /// Wires by name, such as "h0->leaf0"; `*` stands for any text. A link's name, such as "h0-leaf0", selects both
        /// of its wires. Default "*".
        #[serde(default = "every_wire")]
        wire: WirePattern,
        /// Start of the fault. Default "0s".
        #[serde(skip_serializing_if = "Option::is_none")]
        at: Option<Picos>,
        /// Duration of the fault. Default: to the run's end.
        #[serde(skip_serializing_if = "Option::is_none")]
        r#for: Option<Picos>,
        /// Class of frames that the fault selects from, as for kind "loss". Default "all".
        #[serde(default)]
        r#match: FrameClass,
        /// Probability with which each of these frames is damaged, 0 to 1, drawn from the scenario's seed.
        #[serde(skip_serializing_if = "Option::is_none")]
        rate: Option<FineProbability>,
        /// Numbers of the frames that are damaged, counted from 1 on each wire.
        #[serde(skip_serializing_if = "Option::is_none")]
        nth: Option<Vec<u64>>,
    },
    /// Frames take longer on the wire. They stay in order, and arrive no faster than the link carries them. Headroom
    /// does not include the delay unless it is measured (`"adaptive"`).
    Delay {
        /// Wires by name, such as "h0->leaf0"; `*` stands for any text. A link's name, such as "h0-leaf0", selects both
        /// of its wires. Default "*".
        #[serde(default = "every_wire")]
        wire: WirePattern,
        /// Start of the fault. Default "0s".
        #[serde(skip_serializing_if = "Option::is_none")]
        at: Option<Picos>,
        /// Duration of the fault. Default: to the run's end.
        #[serde(skip_serializing_if = "Option::is_none")]
        r#for: Option<Picos>,
        /// Delay added to each frame. The delays and jitters of a wire may add up to "1s" at most. Default "0s".
        #[serde(skip_serializing_if = "Option::is_none")]
        delay: Option<Picos>,
        /// Maximum of a random delay that is added to `delay`, drawn uniformly for each frame from the scenario's seed.
        /// Default "0s".
        #[serde(skip_serializing_if = "Option::is_none")]
        jitter: Option<Picos>,
    },
    /// The sending port is slower than its link, so that frames occupy it for longer. Values that switches and hosts
    /// compute from the link's rate do not change.
    Rate {
        /// Wires by name, such as "h0->leaf0"; `*` stands for any text. A link's name, such as "h0-leaf0", selects both
        /// of its wires. Default "*".
        #[serde(default = "every_wire")]
        wire: WirePattern,
        /// Start of the fault. Default "0s".
        #[serde(skip_serializing_if = "Option::is_none")]
        at: Option<Picos>,
        /// Duration of the fault. Default: to the run's end.
        #[serde(skip_serializing_if = "Option::is_none")]
        r#for: Option<Picos>,
        /// Rate of the port: at least "100kbps", and below the links' rate.
        rate: BitsPerSecond,
    },
    /// The wire loses every frame. With `dialect = "hpcc-ns3"` the link goes down as in HPCC's simulator: for good, with
    /// `reroute`, and with the frames on the wire.
    Down {
        /// Wires by name, such as "h0->leaf0"; `*` stands for any text. A link's name, such as "h0-leaf0", selects both
        /// of its wires.
        wire: WirePattern,
        /// Start of the outage. Default "0s".
        #[serde(skip_serializing_if = "Option::is_none")]
        at: Option<Picos>,
        /// Duration of the outage, after which the wire stays up. Default: to the run's end.
        #[serde(skip_serializing_if = "Option::is_none")]
        r#for: Option<Picos>,
        /// True if the routes of all switches avoid the link while one of its wires is down. Packets without a route
        /// are dropped. Default false: routes do not change.
        #[serde(default)]
        reroute: bool,
        /// Time after which routes change, both after the link goes down and after it comes up. Only with `reroute`.
        /// Default "0s".
        #[serde(skip_serializing_if = "Option::is_none")]
        reroute_after: Option<Picos>,
        /// Period in which the wire goes down and up during the outage. Default: it stays down.
        #[serde(skip_serializing_if = "Option::is_none")]
        flap: Option<Flap>,
    },
}

by_kind!(Fault);

fn every_wire() -> WirePattern {
    WirePattern("*".into())
}

/// Additional delay of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// Delay added to each frame.
    pub delay: Picos,
    /// Maximum of a random delay, drawn for each frame and added to `delay`.
    pub jitter: Picos,
}

impl Lateness {
    /// Returns the values of two keys.
    pub fn new(delay: Option<Picos>, jitter: Option<Picos>) -> Self {
        Self { delay: delay.unwrap_or_default(), jitter: jitter.unwrap_or_default() }
    }

    /// Maximum additional delay of a frame.
    pub fn most(self) -> Picos {
        self.delay + self.jitter
    }
}

/// Reaction of the switches' routes to a link that is down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reroute {
    /// True if routes avoid the link.
    pub reroute: bool,
    /// Time from a change of the link to the change of the routes.
    pub reroute_after: Picos,
}

/// Pattern of wire names, or of link names, which select both wires of a link: see [`glob::matches_wire`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct WirePattern(String);

/// Selection of frames from a class, counted on each wire separately.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Each frame with this probability, drawn from the scenario's seed.
    Rate(FineProbability),
    /// Frames with these numbers, counted from 1; ascending.
    Nth(Vec<u64>),
}

/// A class of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FrameClass {
    /// Every frame.
    #[default]
    All,
    /// Data packets, and the SYNs before them.
    Data,
    /// Positive acknowledgements, and the answers to SYNs.
    Ack,
    /// Negative acknowledgements.
    Nak,
    /// Congestion notification packets.
    Cnp,
    /// PFC frames of both kinds.
    Pfc,
    /// PFC frames that pause.
    Pause,
    /// PFC frames that only resume.
    Resume,
    /// Hop control frames other than PFC: pauses of queues and flows, and rates.
    HopControl,
    /// Frames that measure links.
    LinkDelay,
}

impl Selection {
    /// Returns the selection of a fault with one of these keys.
    pub fn new(rate: Option<FineProbability>, nth: Option<&[u64]>) -> Self {
        rate.map_or_else(|| Self::Nth(nth.unwrap_or_default().into()), Self::Rate)
    }
}

impl WirePattern {
    /// Returns true if the pattern selects the wire of this name.
    pub fn covers(&self, wire: &str) -> bool {
        glob::matches_wire(&self.0, wire)
    }
}

impl Fault {
    /// Returns the wires of the fault.
    pub const fn wire(&self) -> &WirePattern {
        match self {
            Self::Loss { wire, .. }
            | Self::Corrupt { wire, .. }
            | Self::Delay { wire, .. }
            | Self::Rate { wire, .. }
            | Self::Down { wire, .. } => wire,
        }
    }

    /// Returns the time span of the fault.
    pub fn span(&self) -> Span {
        let (Self::Loss { at, r#for, .. }
        | Self::Corrupt { at, r#for, .. }
        | Self::Delay { at, r#for, .. }
        | Self::Rate { at, r#for, .. }
        | Self::Down { at, r#for, .. }) = self;
        let from = at.unwrap_or_default();
        Span { from, until: r#for.map_or(Picos::MAX, |time| from + time) }
    }

    /// Returns the kind's name in files and results.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Loss { .. } => "loss",
            Self::Corrupt { .. } => "corrupt",
            Self::Delay { .. } => "delay",
            Self::Rate { .. } => "rate",
            Self::Down { .. } => "down",
        }
    }

    /// Returns true if the fault affects the wire of this name.
    pub fn covers(&self, wire: &str) -> bool {
        self.wire().covers(wire)
    }

    /// Returns the outage of the wires and the reaction of routes, if the fault takes wires down.
    pub fn outage(&self) -> Option<(Outage, Reroute)> {
        match self {
            Self::Down { flap, reroute, reroute_after, .. } => {
                let reroute_after = reroute_after.unwrap_or_default();
                let reroute = Reroute { reroute: *reroute, reroute_after };
                Some((Outage { span: self.span(), flap: *flap }, reroute))
            }
            _ => None,
        }
    }
}
