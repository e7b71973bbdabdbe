//! The choice of a queue pair's congestion control.

use enum_dispatch::enum_dispatch;
use schemars::JsonSchema;
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use units::BitsPerSecond;

use super::line_rate::LineRate;
use super::settings::{Link, Needs, Signal};
use super::{cubic, dcqcn, dctcp, hpcc, powertcp, rtt_target, theta_powertcp, timely};

/// Declares the algorithms: a variant, the module that has the types and functions below, and the name in files.
///
/// A module has `Settings` (keys of a file) with `parameters(&Link) -> Parameters`, `needs(&Settings) -> Needs`, and
/// `ends(Parameters, BitsPerSecond) -> (Control, feedback)` for a queue pair without congestion. The table of the
/// settings in a file is named like the module.
macro_rules! algorithms {
    ($($(#[$about:meta])+ $variant:ident = $module:ident, $name:literal;)+) => {
        /// Name of a congestion control in files.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
        #[schemars(rename = "CongestionControlKeys")]
        pub enum Name {
            #[serde(rename = "none")]
            #[expect(missing_docs, reason = "the name says it, and a schema would repeat it")]
            None,
            $(#[serde(rename = $name)] #[expect(missing_docs, reason = "the name says it, and a schema would repeat it")] $variant,)+
        }

        /// Congestion control of a sender, as files have it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Settings {
            /// None: the sender sends at line rate.
            None,
            $($(#[$about])+ $variant($module::Settings),)+
        }

        impl Settings {
            /// Returns the algorithm with its parameters on a link.
            pub fn algorithm(&self, link: &Link) -> Algorithm {
                match self {
                    Self::None => Algorithm::LineRate,
                    $(Self::$variant(settings) => Algorithm::$variant(settings.parameters(link)),)+
                }
            }

            /// Returns the name in files.
            pub const fn name(&self) -> &'static str {
                match self {
                    Self::None => "none",
                    $(Self::$variant(_) => $name,)+
                }
            }

            const fn needs(&self) -> Needs {
                match self {
                    Self::None => Needs { base_rtt: false, signal: Signal::Nothing },
                    $(Self::$variant(settings) => $module::needs(settings),)+
                }
            }
        }

        /// Serialized as in a file: the name, and the parameters in a table of that name.
        impl Serialize for Settings {
            fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
                let mut map = out.serialize_map(None)?;
                map.serialize_entry("congestion_control", self.name())?;
                match self {
                    Self::None => {}
                    $(Self::$variant(settings) => {
                        map.serialize_entry(stringify!($module), settings)?;
                    })+
                }
                map.end()
            }
        }

        /// Congestion control of senders, with its parameters on a link.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Algorithm {
            /// Line rate always; receivers send no CNP.
            LineRate,
            $($(#[$about])+ $variant($module::Parameters),)+
        }

        impl Algorithm {
            /// The two ends of a queue pair that has seen no congestion, to be cloned for each.
            pub(crate) fn ends(&self, link_rate: BitsPerSecond) -> (Control, Feedback) {
                match *self {
                    Self::LineRate => (LineRate.into(), LineRate.into()),
                    $(Self::$variant(parameters) => {
                        let (control, feedback) = $module::ends(parameters, link_rate);
                        (control.into(), feedback.into())
                    })+
                }
            }
        }

        /// The sending end of any of them.
        #[enum_dispatch(CongestionControl)]
        #[derive(Clone, Debug)]
        pub(crate) enum Control {
            LineRate(LineRate),
            $($variant($module::Control),)+
        }
    };
}

algorithms! {
    /// Cubic.
    Cubic = cubic, "cubic";
    /// DCQCN.
    Dcqcn = dcqcn, "dcqcn";
    /// DCTCP.
    Dctcp = dctcp, "dctcp";
    /// HPCC.
    Hpcc = hpcc, "hpcc";
    /// PowerTCP.
    PowerTcp = powertcp, "powertcp";
    /// Control towards a target round-trip time.
    RttTarget = rtt_target, "rtt-target";
    /// theta-PowerTCP.
    ThetaPowerTcp = theta_powertcp, "theta-powertcp";
    /// TIMELY.
    Timely = timely, "timely";
}

/// The receiving end of any of them: [`LineRate`] of those that send no feedback.
#[enum_dispatch(CongestionFeedback)]
#[derive(Clone, Debug)]
pub(crate) enum Feedback {
    LineRate(LineRate),
    Dcqcn(dcqcn::Feedback),
    Dctcp(dctcp::Feedback),
}

impl Settings {
    /// Returns true if parameters depend on a base round-trip time.
    pub const fn needs_base_rtt(&self) -> bool {
        self.needs().base_rtt
    }

    /// Returns true if it needs ECN marks.
    pub const fn needs_marks(&self) -> bool {
        matches!(self.needs().signal, Signal::Marks)
    }

    /// Returns true if only losses slow a sender down.
    pub const fn needs_losses(&self) -> bool {
        matches!(self.needs().signal, Signal::Losses)
    }

    /// Returns true if it needs telemetry that switches write into packets.
    pub const fn needs_telemetry(&self) -> bool {
        matches!(self.needs().signal, Signal::Telemetry)
    }
}
