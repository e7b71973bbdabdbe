//! Settings of a sender's congestion control, as files have them.

use serde::ser::{Serialize, SerializeMap, Serializer};
use units::checked::SomeBytes;
use units::{BitsPerSecond, Bytes, Picos};

use super::{Algorithm, cubic, dcqcn, dctcp, hpcc, powertcp, rtt_target, timely};

/// Number of payloads in the initial window of a flow with slow start (RFC 6928).
const INITIAL_PAYLOADS: u64 = 10;

/// Congestion control of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settings {
    /// None: the sender sends at line rate.
    None,
    /// Cubic.
    Cubic(cubic::Settings),
    /// DCQCN.
    Dcqcn(dcqcn::Settings),
    /// DCTCP.
    Dctcp(dctcp::Settings),
    /// HPCC.
    Hpcc(hpcc::Settings),
    /// PowerTCP.
    PowerTcp(powertcp::Settings),
    /// Control towards a target round-trip time.
    RttTarget(rtt_target::Settings),
    /// theta-PowerTCP.
    ThetaPowerTcp(powertcp::Settings),
    /// TIMELY.
    Timely(timely::Settings),
}

/// Link of a host, and the flows on it: the values from which an algorithm computes its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Rate of the link.
    pub rate: BitsPerSecond,
    /// Base round-trip time; zero if the algorithm [needs none](Settings::needs_base_rtt).
    pub base_rtt: Picos,
    /// Payload of a full packet, above zero.
    pub payload: Bytes,
}

impl Link {
    /// Returns the bandwidth-delay product.
    pub const fn bandwidth_delay(&self) -> Bytes {
        self.rate.bytes_in(self.base_rtt)
    }

    /// Returns `numerator / denominator` of the bandwidth-delay product, at least one byte.
    pub(super) fn part_of_bandwidth_delay(&self, numerator: u64, denominator: u64) -> Bytes {
        let product = u128::from(self.bandwidth_delay().0) * u128::from(numerator);
        Bytes(u64::try_from(product / u128::from(denominator)).unwrap_or(u64::MAX).max(1))
    }

    /// Returns the initial window of a flow with slow start.
    pub(super) fn initial_window(&self, given: Option<SomeBytes>) -> Bytes {
        given.map_or(Bytes(self.payload.0 * INITIAL_PAYLOADS), SomeBytes::get)
    }
}

impl Settings {
    /// Returns the algorithm with its parameters on a link.
    pub fn algorithm(&self, link: &Link) -> Algorithm {
        match self {
            Self::None => Algorithm::LineRate,
            Self::Cubic(settings) => Algorithm::Cubic(settings.parameters(link)),
            Self::Dcqcn(settings) => Algorithm::Dcqcn(settings.parameters(link.rate)),
            Self::Dctcp(settings) => Algorithm::Dctcp(settings.parameters(link)),
            Self::Hpcc(settings) => Algorithm::Hpcc(settings.parameters(link)),
            Self::PowerTcp(settings) => Algorithm::PowerTcp(settings.parameters(link)),
            Self::RttTarget(settings) => Algorithm::RttTarget(settings.parameters(link)),
            Self::ThetaPowerTcp(settings) => Algorithm::ThetaPowerTcp(settings.parameters(link)),
            Self::Timely(settings) => Algorithm::Timely(settings.parameters(link)),
        }
    }

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

    /// Returns true if parameters depend on a base round-trip time.
    pub const fn needs_base_rtt(&self) -> bool {
        !matches!(self, Self::None | Self::Cubic(_) | Self::Dcqcn(_) | Self::Timely(_))
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
            Self::Cubic(cubic::Settings { ecn: false, .. }) => Need::Losses,
            Self::Cubic(cubic::Settings { ecn: true, .. }) | Self::Dcqcn(_) | Self::Dctcp(_) => {
                Need::Marks
            }
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
impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut map = out.serialize_map(None)?;
        map.serialize_entry("congestion_control", self.name())?;
        match self {
            Self::None => {}
            Self::Cubic(settings) => map.serialize_entry("cubic", settings)?,
            Self::Dcqcn(settings) => map.serialize_entry("dcqcn", settings)?,
            Self::Dctcp(settings) => map.serialize_entry("dctcp", settings)?,
            Self::Hpcc(settings) => map.serialize_entry("hpcc", settings)?,
            Self::PowerTcp(settings) => map.serialize_entry("powertcp", settings)?,
            Self::RttTarget(settings) => map.serialize_entry("rtt_target", settings)?,
            Self::ThetaPowerTcp(settings) => map.serialize_entry("theta_powertcp", settings)?,
            Self::Timely(settings) => map.serialize_entry("timely", settings)?,
        }
        map.end()
    }
}
