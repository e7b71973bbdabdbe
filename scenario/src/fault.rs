//! `[[faults]]`: deliberate faults on wires.
//!
//! # Adding a kind, or a class of frames
//!
//! 1. A variant of `Fault` or `FrameClass` here and of `FaultKeys` in `fault_keys.rs`, whose documentation lists
//!    the names; its effect in `emulation/src/engine/faults.rs`.
//! 2. `FaultTotals` in `results/src/fault.rs`, and docs/faults.md.
//! 3. In live fabrics: `emulation/src/live/impairment.rs`, `emulation/src/engine/faults/own.rs`, and `impair.rs` of the
//!    commands.
//! 4. For captures: `capture.rs` here, and `captured_by` in `emulation/src/engine/core.rs`. Frames that end neither by
//!    `Outcome::Dropped` nor on a wire need a call of `Core::capture_dropped`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitsPerSecond, Picos};

use super::glob;
use super::outage::{Flap, Outage, Span};
use super::ratio::FineProbability;

/// Maximum sum of the scenario's delays and jitters on a wire, and maximum delay and jitter that a user of a live
/// fabric may set. Together with a slow port ([`MIN_RATE`]) a frame may be four seconds late; within this time the
/// auditor of the kernel datapath can distinguish instants.
pub const MAX_DELAY: Picos = Picos(1_000_000_000_000);
/// Minimum rate of a slow port, at which the longest frame takes a second.
pub const MIN_RATE: BitsPerSecond = BitsPerSecond(100_000);
/// Minimum period of a flapping wire.
pub const MIN_PERIOD: Picos = Picos(1_000_000);

/// A deliberate fault on wires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Fault {
    /// Frames vanish on the wire.
    Loss {
        /// Wires and time span.
        #[serde(flatten)]
        scope: Scope,
        /// Class of frames that the fault selects from.
        r#match: FrameClass,
        /// Selection of the frames that vanish.
        #[serde(flatten)]
        selection: Selection,
    },
    /// Frames arrive with a wrong FCS.
    Corrupt {
        /// Wires and time span.
        #[serde(flatten)]
        scope: Scope,
        /// Class of frames that the fault selects from.
        r#match: FrameClass,
        /// Selection of the frames that are damaged.
        #[serde(flatten)]
        selection: Selection,
    },
    /// Frames arrive later.
    Delay {
        /// Wires and time span.
        #[serde(flatten)]
        scope: Scope,
        /// Delay and jitter.
        #[serde(flatten)]
        lateness: Lateness,
    },
    /// The sender's port is slower than its link.
    Rate {
        /// Wires and time span.
        #[serde(flatten)]
        scope: Scope,
        /// Rate of the port, below the rate of the link.
        rate: BitsPerSecond,
    },
    /// The wire carries no frames.
    Down {
        /// Wires and time span.
        #[serde(flatten)]
        scope: Scope,
        /// Period in which the wire goes down and up; `None`: it stays down.
        #[serde(skip_serializing_if = "Option::is_none")]
        flap: Option<Flap>,
        /// Reaction of the switches' routes.
        #[serde(flatten)]
        reroute: Reroute,
    },
}

/// Wires and time span of a fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Scope {
    /// Wires of the fault.
    pub wire: WirePattern,
    /// Start of the fault.
    #[serde(skip_serializing_if = "is_zero")]
    pub at: Picos,
    /// Duration of the fault; `None`: to the run's end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#for: Option<Picos>,
}

/// Additional delay of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lateness {
    /// Delay added to each frame.
    #[serde(skip_serializing_if = "is_zero")]
    pub delay: Picos,
    /// Maximum of a random delay, drawn for each frame and added to `delay`.
    #[serde(skip_serializing_if = "is_zero")]
    pub jitter: Picos,
}

impl Lateness {
    /// Maximum additional delay of a frame.
    pub fn most(self) -> Picos {
        self.delay + self.jitter
    }
}

/// Reaction of the switches' routes to a link that is down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reroute {
    /// True if routes avoid the link.
    pub reroute: bool,
    /// Time from a change of the link to the change of the routes.
    #[serde(skip_serializing_if = "is_zero")]
    pub reroute_after: Picos,
}

/// Pattern of wire names, or of link names, which select both wires of a link: see [`glob::matches_wire`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct WirePattern(pub(super) String);

/// Selection of frames from a class, counted on each wire separately.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn is_zero(time: &Picos) -> bool {
    *time == Picos::ZERO
}

impl WirePattern {
    /// Returns true if the pattern selects the wire of this name.
    pub fn covers(&self, wire: &str) -> bool {
        glob::matches_wire(&self.0, wire)
    }
}

impl Scope {
    /// Returns the time span of the fault.
    pub fn span(&self) -> Span {
        let until = self.r#for.map_or(Picos::MAX, |time| self.at + time);
        Span { from: self.at, until }
    }
}

impl Fault {
    /// Returns the wires and the time span.
    pub const fn scope(&self) -> &Scope {
        match self {
            Self::Loss { scope, .. }
            | Self::Corrupt { scope, .. }
            | Self::Delay { scope, .. }
            | Self::Rate { scope, .. }
            | Self::Down { scope, .. } => scope,
        }
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
        self.scope().wire.covers(wire)
    }

    /// Returns the outage of the wires and the reaction of routes, if the fault takes wires down.
    pub fn outage(&self) -> Option<(Outage, Reroute)> {
        match self {
            Self::Down { scope, flap, reroute } => {
                Some((Outage { span: scope.span(), flap: *flap }, *reroute))
            }
            _ => None,
        }
    }
}
