//! Drawn scenarios with settings on top, of every kind that scenarios can have.
//!
//! A scenario takes the settings that it can have, one after the other: an error refuses the others.

use std::path::Path;

use proptest::prelude::*;
use scenario::Scenario;

use super::{Drawn, PLAIN, scenarios};
use crate::fabric::{Run, Runner};

/// Settings by subject, some of several lines. A scenario gets at most one of each subject.
pub const SETTINGS: [&[&str]; 12] = [
    &[
        r#"switch.headroom={ kind = "dsh", port_xon_offset = "2kB", single_queue_window = "50us" }"#,
        r#"switch.headroom={ kind = "dsh", estimation = "conceptual", single_queue_window = "50us" }"#,
        r#"switch.headroom={ kind = "dsh", insurance_headroom = false }"#,
        r#"switch.headroom={ kind = "sih", bandwidth_delays = 3 }"#,
        r#"switch.headroom={ kind = "adaptive", period = "20us" }"#,
        r#"switch.headroom={ kind = "oversubscribed", ratio = "2" }"#,
    ],
    &[
        r#"switch.threshold={ kind = "equal-shares" }"#,
        r#"switch.threshold={ kind = "spfc", period = "3us", alpha = "1/8", k_spfc = 4 }"#,
        r#"switch.threshold={ kind = "spfc", period = "8us", alpha = "1/2", state_of = "queue" }"#,
        r#"switch.threshold={ kind = "static", xoff = "6kB", xon = "2kB" }"#,
    ],
    &[
        r#"switch.pause_rule={ kind = "gfc", b1 = "2kB", bm = "4kB" }"#,
        r#"switch.pause_rule={ kind = "gfc-ofc", b1 = "2kB", stages = 3 }"#,
        r#"switch.pause_rule={ kind = "capfc", xlow = "1kB", xegress = "2kB" }"#,
        r#"switch.pause_rule={ kind = "g-pfc", xlow = "3kB", low = [3] }"#,
        r#"switch.pause_rule={ kind = "p-pfc-predict", horizon = "2us" }"#,
    ],
    &[
        r#"switch.backpressure={ kind = "bfc", priorities = [3], queues = 4, flow_table = 1, threshold = "1us" }"#,
        r#"switch.backpressure={ kind = "bfc", priorities = [3], queues = 3, incast_labels = true, sticky = "0ns" }"#,
        r#"switch.backpressure={ kind = "bfc", priorities = [3], queues = 100, bitmap_period = "30us" }"#,
        r#"switch.backpressure={ kind = "ofc", priorities = [3], flow_table = 16, repeat = "10us" }"#,
        r#"switch.backpressure={ kind = "ofc", priorities = [3], congested = "8kB" }"#,
        r"switch.flow_queues=[{ priority = 3, queues = 4 }]",
    ],
    &[r"switch.lossless=[]", r"switch.lossless=[3]", r"switch.lossless=[0, 7]"],
    &[
        r#"switch.lossy={ kind = "cs", codel = { target = "5us", interval = "30us" } }"#,
        concat!(
            r#"switch.lossy={ kind = "abm", first_rtt_alpha = 64, codel = { target = "5us", interval = "30us" } }"#,
            "\nhost.transport={ kind = \"roce-rc\", congestion_control = \"none\", first_rtt_marks = \"auto\" }",
        ),
        r#"switch.lossy={ kind = "abm", congested = { bytes = "4kB" }, period = "20us" }"#,
        concat!(
            r#"switch.lossy={ kind = "bshare", first_rtt_alpha = 64, codel = { target = "9us", interval = "30us" } }"#,
            "\nhost.transport={ kind = \"tcp\", first_rtt_marks = \"auto\" }",
        ),
        r#"switch.lossy={ kind = "bshare", alpha = 4, period = "20us" }"#,
        r#"switch.lossy={ kind = "fab", short_bytes = "5kB", codel = { target = "5us", interval = "30us" } }"#,
        r#"switch.lossy={ kind = "ib", fair_dropping = { shares = "elephants", elephant_bytes = "9kB" } }"#,
        r#"switch.lossy={ kind = "ib", prioritisation = { priority = 2, packets = 9 }, fair_dropping = { shares = "off" } }"#,
        r#"switch.lossy={ kind = "ib", prioritisation = { priority = 6, packets = 3 }, codel = { target = "5us", interval = "30us" } }"#,
        r#"switch.lossy={ kind = "dt", alphas = [{ priority = 2, alpha = "1/8" }], pool = "30kB" }"#,
    ],
    &[
        r"switch.control_priority=7",
        r"switch.control_priority=2",
        r"switch.pause_quanta=200",
        r#"switch.pause_refresh="9/10""#,
        r#"switch.resume_test="departure""#,
        r#"switch.pause_response="1ns""#,
        "switch.lossless=[]\nswitch.device_queue=3",
        r#"switch.wire_overhead="0B""#,
    ],
    // Keys of simulators that both datapaths have.
    &[
        r#"switch.reserves="ports""#,
        r#"switch.pause_lasts="until-resume""#,
        r#"switch.scheduler={ kind = "round-robin" }"#,
        r#"switch.scheme={ kind = "pfc-reached" }"#,
        r#"switch.private_fill="bytes""#,
        r#"frames.time="truncated-doubles""#,
        "frames.data_headers=\"48B\"\nframes.shortest=\"1B\"",
        concat!(
            "switch.reserves=\"ports\"\nswitch.scheme={ kind = \"pfc-reached\" }\n",
            "switch.pause_lasts=\"until-resume\"\nframes.time=\"truncated-doubles\"",
        ),
    ],
    &[
        r#"host.transport={ kind = "roce-rc", congestion_control = "dcqcn", dcqcn = { profile = "conweave" } }"#,
        r#"host.transport={ kind = "roce-rc", congestion_control = "none", reliability = "selective-repeat" }"#,
        r#"host.transport={ kind = "roce-rc", congestion_control = "powertcp", window = "bdp", reliability = "selective-repeat" }"#,
        r#"host.transport={ kind = "roce-rc", congestion_control = "rtt-target", window = "bdp", first_rtt_marks = "auto" }"#,
        r#"host.transport={ kind = "tcp" }"#,
        r#"host.transport={ kind = "tcp", congestion_control = "cubic", handshake = false }"#,
        r#"host.transport={ kind = "tcp", congestion_control = "rtt-target", loss_threshold = 1 }"#,
    ],
    &[
        r"host.ack_queue=5",
        r#"host.scheduler="strict""#,
        r#"host.scheduler="srf""#,
        r#"host.pause_response="1ns""#,
        r"host.queue_pauses=false",
        r"host.flow_pauses=false",
        r"host.ack_priority=1",
    ],
    &[
        r#"faults=[{ kind = "loss", match = "data", rate = 0.01 }]"#,
        r#"faults=[{ kind = "loss", match = "pfc", rate = 0.1 }]"#,
        r#"faults=[{ kind = "loss", match = "hop-control", rate = 0.1 }, { kind = "corrupt", match = "ack", nth = [2, 3] }]"#,
        r#"faults=[{ kind = "delay", delay = "2us", jitter = "1us", at = "3us", for = "40us" }]"#,
        r#"faults=[{ kind = "rate", rate = "500Mbps", at = "5us", for = "200us" }]"#,
        r#"faults=[{ kind = "down", wire = "h1*", at = "10us", for = "30us" }]"#,
    ],
    &[
        r#"storms=[{ host = "h0", at = "5us", for = "300us" }]"#,
        r#"storms=[{ host = "h2", for = "2ms" }]"#,
    ],
];

/// Actions of a watchdog in a storm.
const WATCHDOGS: [&str; 4] = [
    r#"switch.watchdog={ action = "drop", detection_time = "50us", restoration_time = "40us", poll_interval = "20us" }"#,
    r#"switch.watchdog={ action = "forward", detection_time = "50us", restoration_time = "40us", poll_interval = "20us" }"#,
    r#"switch.watchdog={ action = "alert", detection_time = "20us", restoration_time = "20us", poll_interval = "20us" }"#,
    "",
];

/// Ends a run that losses would make long.
const SHORT: [&str; 2] = ["duration=6ms", "host.retransmission_timeout=200us"];

/// A drawn scenario and settings on top.
#[derive(Clone, Debug)]
pub struct Varied {
    /// The scenario.
    pub drawn: Drawn,
    /// Settings, some of which it may not have.
    wanted: Vec<&'static str>,
}

/// Any scenario with settings on top.
pub fn varied() -> impl Strategy<Value = Varied> {
    let choices = prop::collection::vec((any::<bool>(), any::<usize>()), SETTINGS.len());
    (scenarios(), choices, 0..WATCHDOGS.len()).prop_map(|(drawn, choices, watchdog)| {
        let groups = SETTINGS.into_iter().zip(choices).filter(|(_, (is_wanted, _))| *is_wanted);
        let mut wanted: Vec<&str> =
            groups.map(|(group, (_, choice))| group[choice % group.len()]).collect();
        wanted.extend(Some(WATCHDOGS[watchdog]).filter(|setting| !setting.is_empty()));
        Varied { drawn, wanted }
    })
}

impl Varied {
    /// The settings that the scenario can have.
    pub fn settings(&self) -> Vec<&'static str> {
        let mut settings = SHORT.to_vec();
        for setting in &self.wanted {
            let before = settings.len();
            settings.extend(setting.lines());
            if !self.can_have(&settings) {
                settings.truncate(before);
            }
        }
        settings
    }

    /// Returns true if the scenario accepts these settings, with a large buffer and with its drawn one.
    fn can_have(&self, settings: &[&str]) -> bool {
        let accepts = |text: &str, buffer: &str| {
            let settings: Vec<String> =
                settings.iter().chain([&buffer]).map(ToString::to_string).collect();
            Scenario::parse(text, Path::new("varied.toml"), &settings).is_ok()
        };
        if !accepts(&self.drawn.text(PLAIN), "switch.buffer=1GB") {
            return false;
        }
        let (text, buffer) = self.drawn.file(PLAIN, settings);
        accepts(&text, &buffer)
    }

    /// Runs it with these settings and more.
    pub fn run(&self, run: Runner, settings: &[&str], more: &[&str]) -> Run {
        self.drawn.run(run, PLAIN, &[settings, more].concat())
    }
}
