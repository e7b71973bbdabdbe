//! `[frames]`: accounted lengths of frames, if they differ from the real ones.

use host_agent::frame_length::FrameLengths;
use host_agent::ns3::time::Arithmetic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::document::Document;
use super::quantity;
use super::report::ScenarioError;

/// Maximum accounted bytes of headers and of frames without payload.
const MAX: u64 = 1000;
/// Minimum accounted bytes of a packet without payload: a switch has as many descriptors as such packets fit into its
/// buffer.
const MIN_ACK: u64 = 60;

/// Accounted lengths of frames on wires, and in buffers, queues and stamps, if they differ from the real ones. Bytes on
/// wires and in captures do not change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "FramesKeys")]
pub struct Frames {
    /// Headers of a packet with payload, "1B" to "1000B"; a packet counts at least 60 B. Default: the real headers,
    /// padding and ICRC.
    #[serde(skip_serializing_if = "Option::is_none")]
    data_headers: Option<Bytes>,
    /// Length of a packet without payload, such as an ACK, "60B" to "1000B". Default: the real frame without FCS.
    #[serde(skip_serializing_if = "Option::is_none")]
    ack: Option<Bytes>,
    /// Length of a hop control frame, such as PFC, "1B" to "1000B". Default: the real 60 bytes without FCS.
    #[serde(skip_serializing_if = "Option::is_none")]
    hop_control: Option<Bytes>,
    /// Resolution of the times for which frames occupy ports, and of the gaps between paced packets. "exact": a
    /// picosecond. "whole-nanoseconds": rounded down to a nanosecond, at least one. "truncated-doubles": a double in
    /// seconds, then a fixed-point number, both cut, as in ns-3.18: rounded down, and whole nanoseconds mostly one short;
    /// gaps of xoff's own hosts are rounded down. "floored-nanoseconds": rounded down to a nanosecond, to zero, too, as in
    /// ns3-datacenter. Default "exact".
    pub time: TimeOfFrames,
    /// Minimum length of a packet with payload, "1B" to "60B", where `data_headers` is set. Default "60B", Ethernet's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) shortest: Option<Bytes>,
}

/// Resolution of the times for which frames occupy ports, and of the gaps between paced packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimeOfFrames {
    /// A picosecond.
    #[default]
    Exact,
    /// A nanosecond: times are rounded down, to at least one.
    WholeNanoseconds,
    /// A nanosecond: doubles are cut.
    TruncatedDoubles,
    /// A nanosecond: times are rounded down, to zero, too.
    FlooredNanoseconds,
}

impl TimeOfFrames {
    /// Returns the arithmetic of a simulator whose times may be zero; `None` if the times are xoff's own.
    pub const fn simulated(self) -> Option<Arithmetic> {
        match self {
            Self::Exact | Self::WholeNanoseconds => None,
            Self::TruncatedDoubles => Some(Arithmetic::TruncatedDoubles),
            Self::FlooredNanoseconds => Some(Arithmetic::WholeNumbers),
        }
    }
}

impl Frames {
    /// Returns the accounted lengths on wires, and in buffers, queues and stamps.
    pub fn lengths(&self) -> FrameLengths {
        let length = |size: Option<Bytes>| {
            size.map(|size| u16::try_from(size.0).expect("at most 1000 bytes"))
        };
        FrameLengths {
            data_headers: length(self.data_headers),
            ack: length(self.ack),
            hop_control: length(self.hop_control),
            shortest: length(self.shortest),
        }
    }

    /// Returns true if `shortest` is given, and no length of packets that it could bound.
    pub(super) fn cuts_in_vain(&self) -> bool {
        self.shortest.is_some() && self.data_headers.is_none()
    }

    /// Checks the lengths.
    pub(super) fn check(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        for (key, given, least) in [
            ("data_headers", self.data_headers, 1),
            ("ack", self.ack, MIN_ACK),
            ("hop_control", self.hop_control, 1),
        ] {
            if let Some(size) = given.filter(|size| !(least..=MAX).contains(&size.0)) {
                let title = format!("`{key}` of {}", quantity::display(size));
                let help = format!("write \"{least}B\" to \"{MAX}B\"");
                return Err(document.error(&format!("frames.{key}"), &title, &help));
            }
        }
        match self.shortest {
            Some(size) if !(1..=MIN_ACK).contains(&size.0) => {
                let title = format!("a shortest packet of {}", quantity::display(size));
                Err(document.error("frames.shortest", &title, "write \"1B\" to \"60B\""))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Scenario;
    use super::*;

    fn scenario(sets: &[&str]) -> Result<Scenario, ScenarioError> {
        let text = "[topology]\nkind = \"star\"\nhosts = 2\nhost_link = { rate = \"100Gbps\", delay = \"1us\" }\n\
                    [[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1kB\"\n";
        let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
        Scenario::parse(text, Path::new("a.toml"), &sets)
    }

    #[test]
    fn frames_have_their_own_length_unless_configured() {
        let plain = scenario(&[]).unwrap();
        assert_eq!((plain.frames, plain.longest_frame()), (Frames::default(), Bytes(1074)));
        let sets = ["frames.data_headers=48B", "frames.ack=60B", "frames.hop_control=43B"];
        let configured =
            scenario(&[&sets[..], &["frames.time=whole-nanoseconds"]].concat()).unwrap();
        let lengths = FrameLengths {
            data_headers: Some(48),
            ack: Some(60),
            hop_control: Some(43),
            shortest: None,
        };
        assert_eq!(configured.frames.lengths(), lengths);
        assert_eq!(configured.frames.time, TimeOfFrames::WholeNanoseconds);
        assert_eq!(
            (configured.longest_frame(), configured.frame_time().whole_nanos),
            (Bytes(1048), true)
        );
        let again = Scenario::parse(&configured.to_toml(), Path::new("a.toml"), &[]).unwrap();
        assert_eq!(again, configured);
    }

    #[test]
    fn lengths_that_are_wrong() {
        for (set, words) in [
            ("frames.data_headers=0B", "`data_headers` of 0B"),
            ("frames.data_headers=1001B", "write \"1B\" to \"1000B\""),
            ("frames.ack=59B", "write \"60B\" to \"1000B\""),
            ("frames.hop_control=0B", "`hop_control` of 0B"),
            ("frames.time=coarse", "`whole-nanoseconds`"),
            ("switch.telemetry_steps.queue=0B", "a step of no bytes"),
            ("host.ack_priority=acks", "a priority from 0 to 7, or \"data\""),
            ("host.ack_queue=8", "there is no priority 8"),
        ] {
            let error = scenario(&[set]).unwrap_err().to_string();
            assert!(error.contains(words), "{set}: {error}");
        }
    }
}
