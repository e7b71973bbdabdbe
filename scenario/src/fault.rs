//! `[[faults]]`: what goes wrong on wires on purpose.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitsPerSecond, Picos};

use super::glob;
use super::outage::{Flap, Outage, Span};
use super::quantity;
use super::ratio::FineProbability;

/// The most that the scenario's delays on a wire add together to the time that a frame is on its way, and the most of the
/// delay and of the jitter that a live fabric's user sets. With a slow port ([`LEAST_RATE`]) that is four seconds, within
/// which the auditor of the kernel datapath tells instants apart.
pub const MOST_DELAY: Picos = Picos(1_000_000_000_000);
/// The longest frame takes a second at this rate.
pub const LEAST_RATE: BitsPerSecond = BitsPerSecond(100_000);
/// No wire goes down more often.
pub const LEAST_PERIOD: Picos = Picos(1_000_000);

/// Something that goes wrong on wires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Fault {
    /// Frames vanish on the wire.
    Loss {
        /// Where and when.
        #[serde(flatten)]
        scope: Scope,
        /// Frames that count.
        r#match: FrameClass,
        /// Which of them vanish.
        #[serde(flatten)]
        selection: Selection,
    },
    /// Frames arrive with a wrong FCS.
    Corrupt {
        /// Where and when.
        #[serde(flatten)]
        scope: Scope,
        /// Frames that count.
        r#match: FrameClass,
        /// Which of them are damaged.
        #[serde(flatten)]
        selection: Selection,
    },
    /// Frames arrive later.
    Delay {
        /// Where and when.
        #[serde(flatten)]
        scope: Scope,
        /// By how much.
        #[serde(flatten)]
        lateness: Lateness,
    },
    /// The sender's port is slower than its link.
    Rate {
        /// Where and when.
        #[serde(flatten)]
        scope: Scope,
        /// Below the link's.
        #[serde(serialize_with = "quantity::serialize")]
        rate: BitsPerSecond,
    },
    /// The wire carries nothing.
    Down {
        /// Where and when.
        #[serde(flatten)]
        scope: Scope,
        /// Whether it comes up in between.
        #[serde(skip_serializing_if = "Option::is_none")]
        flap: Option<Flap>,
        /// Whether switches then use other routes.
        #[serde(flatten)]
        reroute: Reroute,
    },
}

/// Where and when a fault is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Scope {
    /// The wires.
    pub wire: WirePattern,
    /// Its beginning.
    #[serde(skip_serializing_if = "is_zero", serialize_with = "quantity::serialize")]
    pub at: Picos,
    /// How long it lasts; to the run's end if that is not said.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "quantity::serialize_option"
    )]
    pub r#for: Option<Picos>,
}

/// By how much frames arrive later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lateness {
    /// Each frame.
    #[serde(skip_serializing_if = "is_zero", serialize_with = "quantity::serialize")]
    pub delay: Picos,
    /// The most that a frame is later than that, drawn for each frame.
    #[serde(skip_serializing_if = "is_zero", serialize_with = "quantity::serialize")]
    pub jitter: Picos,
}

impl Lateness {
    /// The most that a frame is late.
    pub fn most(self) -> Picos {
        self.delay + self.jitter
    }
}

/// What switches make of a link that is down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reroute {
    /// Whether their routes avoid it.
    pub reroute: bool,
    /// How much later than the link goes down or comes up.
    #[serde(skip_serializing_if = "is_zero", serialize_with = "quantity::serialize")]
    pub reroute_after: Picos,
}

/// A pattern over the names of wires, or of links, which are both of their wires: see [`glob::matches_wire`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct WirePattern(pub(super) String);

/// Which frames of a class a fault takes, counted on each wire alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Selection {
    /// Each with this probability, drawn from the scenario's seed.
    Rate(FineProbability),
    /// These, counted from 1; ascending.
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
    /// PFC frames, of either kind.
    Pfc,
    /// PFC frames that pause.
    Pause,
    /// PFC frames that only resume.
    Resume,
    /// Hop control frames other than PFC: pauses of queues, and bitmaps of them.
    HopControl,
    /// Frames that measure links.
    LinkDelay,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn is_zero(time: &Picos) -> bool {
    *time == Picos::ZERO
}

impl WirePattern {
    /// Whether it is for the wire of this name.
    pub fn covers(&self, wire: &str) -> bool {
        glob::matches_wire(&self.0, wire)
    }
}

impl Scope {
    /// From when until when.
    pub fn span(&self) -> Span {
        let until = self.r#for.map_or(Picos::MAX, |time| self.at + time);
        Span { from: self.at, until }
    }
}

impl Fault {
    /// Where and when it is.
    pub const fn scope(&self) -> &Scope {
        match self {
            Self::Loss { scope, .. }
            | Self::Corrupt { scope, .. }
            | Self::Delay { scope, .. }
            | Self::Rate { scope, .. }
            | Self::Down { scope, .. } => scope,
        }
    }

    /// As files and results name its kind.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Loss { .. } => "loss",
            Self::Corrupt { .. } => "corrupt",
            Self::Delay { .. } => "delay",
            Self::Rate { .. } => "rate",
            Self::Down { .. } => "down",
        }
    }

    /// Whether the fault is on the wire of this name.
    pub fn covers(&self, wire: &str) -> bool {
        self.scope().wire.covers(wire)
    }

    /// When it takes wires down, and what switches make of that.
    pub fn outage(&self) -> Option<(Outage, Reroute)> {
        match self {
            Self::Down { scope, flap, reroute } => {
                Some((Outage { span: scope.span(), flap: *flap }, *reroute))
            }
            _ => None,
        }
    }
}
