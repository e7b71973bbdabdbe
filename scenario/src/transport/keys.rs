//! Keys of a transport about congestion control.

/// Declares the keys of a transport: the given ones, `congestion_control`, and a table for each congestion control of the
/// [list](host_agent::congestion_controls) that can drive the transport.
macro_rules! keys {
    (tcp { $($tcp:tt)* } roce { $($roce:tt)* } both { $($both:tt)* } for tcp: $($keys:tt)*) => {
        $crate::transport::keys! {
            [$($tcp)* $($both)*] [$($roce)*] Cubic, "cubic", SlowStart,
            "cannot drive TCP: it waits for CNPs, which RoCEv2 has";
            $($keys)*
        }
    };
    (tcp { $($tcp:tt)* } roce { $($roce:tt)* } both { $($both:tt)* } for roce: $($keys:tt)*) => {
        $crate::transport::keys! {
            [$($roce)* $($both)*] [$($tcp)*] Dcqcn, "dcqcn", LineRate,
            "cannot drive RoCEv2, whose hosts take no loss for congestion";
            $($keys)*
        }
    };
    (
        [$($variant:ident = $module:ident, $name:literal, $title:literal $(, $feedback:ident)?;)+]
        [$($other:ident = $_module:ident, $_name:literal, $_title:literal $(, $_feedback:ident)?;)+]
        $usual:ident, $usual_name:literal, $start:ident, $refusal:literal;
        $(#[$about:meta])* pub struct $keys:ident { $($fields:tt)* }
    ) => {
        $(#[$about])*
        pub struct $keys {
            $($fields)*
            #[doc = concat!(
                "Congestion control: ", $("\"", $name, "\", ",)+ "or \"none\", which sends at line rate. Default \"",
                $usual_name, "\"."
            )]
            congestion_control: Option<host_agent::congestion_control::Name>,
            $(
                #[doc = concat!("Parameters of ", $title, ", used with `congestion_control = \"", $name, "\"`.")]
                $module: host_agent::congestion_control::$module::Settings,
            )+
        }

        impl $keys {
            /// Returns the congestion control with all defaults.
            fn congestion_control(
                &self,
                place: &$crate::transport::Place<'_>,
            ) -> Result<$crate::CongestionControl, $crate::report::ScenarioError> {
                use host_agent::congestion_control::dctcp::Start;
                use host_agent::congestion_control::{Complete as _, Name, Settings};
                const HELP: &str = concat!("write ", $("\"", $name, "\", ",)+ "or \"none\"");
                $(place.table(stringify!($module)).check(self.$module.check())?;)+
                Ok(match self.congestion_control.unwrap_or(Name::$usual) {
                    Name::None => Settings::None,
                    $(Name::$variant => Settings::$variant(self.$module.completed(Start::$start)),)+
                    $(Name::$other => {
                        let title = concat!($_name, " ", $refusal);
                        return Err(place.wrong("congestion_control", title, HELP));
                    })+
                })
            }
        }
    };
}
pub(super) use keys;
