//! The choice of a queue pair's congestion control.

use enum_dispatch::enum_dispatch;
use schemars::JsonSchema;
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use units::BitsPerSecond;

use super::line_rate::LineRate;
use super::settings::{Link, Needs, Signal};
use crate::congestion_controls;

/// Documentation of a variant.
macro_rules! about {
    ($module:ident) => {
        concat!("See [`", stringify!($module), "`](super::", stringify!($module), ").")
    };
}

/// Declares the types of the [list](congestion_controls).
///
/// A module has `Settings` (keys of a file) with [`Complete`](super::Complete) and `parameters(&Link) -> Parameters`,
/// `needs(&Settings) -> Needs`, and `ends(Parameters, BitsPerSecond) -> (Control, feedback)` for a queue pair without
/// congestion. The table of the settings in a file is named like the module.
macro_rules! algorithms {
    ($($transports:ident {
        $($variant:ident = $module:ident, $name:literal, $title:literal $(, $feedback:ident)?;)+
    })+) => {
        /// Name of a congestion control in files.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
        #[schemars(rename = "CongestionControlKeys")]
        pub enum Name {
            #[serde(rename = "none")]
            #[expect(missing_docs, reason = "the name says it, and a schema would repeat it")]
            None,
            $($(
                #[serde(rename = $name)]
                #[expect(missing_docs, reason = "the name says it, and a schema would repeat it")]
                $variant,
            )+)+
        }

        /// Congestion control of a sender, as files have it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Settings {
            /// None: the sender sends at line rate.
            None,
            $($(#[doc = about!($module)] $variant(crate::congestion_control::$module::Settings),)+)+
        }

        impl Settings {
            /// Returns the algorithm with its parameters on a link.
            pub fn algorithm(&self, link: &Link) -> Algorithm {
                match self {
                    Self::None => Algorithm::LineRate,
                    $($(Self::$variant(it) => Algorithm::$variant(it.parameters(link)),)+)+
                }
            }

            /// Returns the name in files.
            pub const fn name(&self) -> &'static str {
                match self {
                    Self::None => "none",
                    $($(Self::$variant(_) => $name,)+)+
                }
            }

            const fn needs(&self) -> Needs {
                match self {
                    Self::None => Needs { base_rtt: false, signal: Signal::Nothing },
                    $($(Self::$variant(settings) => crate::congestion_control::$module::needs(settings),)+)+
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
                    $($(Self::$variant(settings) => {
                        map.serialize_entry(stringify!($module), settings)?;
                    })+)+
                }
                map.end()
            }
        }

        /// Congestion control of senders, with its parameters on a link.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Algorithm {
            /// Line rate always; receivers send no CNP.
            LineRate,
            $($(#[doc = about!($module)] $variant(crate::congestion_control::$module::Parameters),)+)+
        }

        impl Algorithm {
            /// The two ends of a queue pair that has seen no congestion, to be cloned for each.
            pub(crate) fn ends(&self, link_rate: BitsPerSecond) -> (Control, Feedback) {
                match *self {
                    Self::LineRate => (LineRate.into(), LineRate.into()),
                    $($(Self::$variant(parameters) => {
                        let (control, feedback) = crate::congestion_control::$module::ends(parameters, link_rate);
                        (control.into(), feedback.into())
                    })+)+
                }
            }
        }

        /// The sending end of any of them.
        #[enum_dispatch(CongestionControl)]
        #[derive(Clone, Debug)]
        pub(crate) enum Control {
            LineRate(LineRate),
            $($($variant(crate::congestion_control::$module::Control),)+)+
        }

        /// The receiving end of any of them: [`LineRate`] of those that send no feedback.
        #[enum_dispatch(CongestionFeedback)]
        #[derive(Clone, Debug)]
        pub(crate) enum Feedback {
            LineRate(LineRate),
            $($($($variant(crate::congestion_control::$module::$feedback),)?)+)+
        }
    };
}

congestion_controls!(algorithms);

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
