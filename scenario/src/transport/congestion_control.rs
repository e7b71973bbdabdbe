//! Congestion control of a sender.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Cubic, Dcqcn, Dctcp, Hpcc, PowerTcp, RttTarget, Timely};

/// Congestion control of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionControl {
    /// None: the sender sends at line rate.
    None,
    /// Cubic.
    Cubic(Cubic),
    /// DCQCN.
    Dcqcn(Dcqcn),
    /// DCTCP.
    Dctcp(Dctcp),
    /// HPCC.
    Hpcc(Hpcc),
    /// PowerTCP.
    PowerTcp(PowerTcp),
    /// Control towards a target round-trip time.
    RttTarget(RttTarget),
    /// theta-PowerTCP.
    ThetaPowerTcp(PowerTcp),
    /// TIMELY.
    Timely(Timely),
}

impl CongestionControl {
    /// Returns the name in files.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Cubic(_) => "cubic",
            Self::Dcqcn(_) => "dcqcn",
            Self::Dctcp(_) => "dctcp",
            Self::Hpcc(_) => "hpcc",
            Self::PowerTcp(_) => "powertcp",
            Self::RttTarget(_) => "rtt-target",
            Self::ThetaPowerTcp(_) => "theta-powertcp",
            Self::Timely(_) => "timely",
        }
    }

    /// Returns true if it needs ECN marks.
    pub const fn needs_marks(&self) -> bool {
        matches!(self.need(), Need::Marks)
    }

    /// Returns true if only losses slow a sender down.
    pub const fn needs_losses(&self) -> bool {
        matches!(self.need(), Need::Losses)
    }

    /// Returns true if it needs telemetry that switches write into packets.
    pub const fn needs_telemetry(&self) -> bool {
        matches!(self.need(), Need::Telemetry)
    }

    /// Exhaustive, so that the compiler requires an entry for a new algorithm.
    const fn need(&self) -> Need {
        match self {
            Self::None | Self::RttTarget(_) | Self::ThetaPowerTcp(_) | Self::Timely(_) => {
                Need::Nothing
            }
            Self::Cubic(Cubic { ecn: false, .. }) => Need::Losses,
            Self::Cubic(Cubic { ecn: true, .. }) | Self::Dcqcn(_) | Self::Dctcp(_) => Need::Marks,
            Self::Hpcc(_) | Self::PowerTcp(_) => Need::Telemetry,
        }
    }
}

/// Signals that a congestion control needs besides ACKs and round-trip times.
#[derive(Clone, Copy)]
enum Need {
    Nothing,
    Losses,
    Marks,
    Telemetry,
}

/// Serialized as in a file: the name, and the parameters in a table of that name.
impl Serialize for CongestionControl {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut map = out.serialize_map(None)?;
        map.serialize_entry("congestion_control", self.name())?;
        match self {
            Self::None => {}
            Self::Cubic(parameters) => map.serialize_entry("cubic", parameters)?,
            Self::Dcqcn(parameters) => map.serialize_entry("dcqcn", parameters)?,
            Self::Dctcp(parameters) => map.serialize_entry("dctcp", parameters)?,
            Self::Hpcc(parameters) => map.serialize_entry("hpcc", parameters)?,
            Self::PowerTcp(parameters) => map.serialize_entry("powertcp", parameters)?,
            Self::RttTarget(parameters) => map.serialize_entry("rtt_target", parameters)?,
            Self::ThetaPowerTcp(parameters) => map.serialize_entry("theta_powertcp", parameters)?,
            Self::Timely(parameters) => map.serialize_entry("timely", parameters)?,
        }
        map.end()
    }
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum CongestionControlKeys {
    None,
    Cubic,
    #[default]
    Dcqcn,
    Dctcp,
    Hpcc,
    Powertcp,
    RttTarget,
    ThetaPowertcp,
    Timely,
}
