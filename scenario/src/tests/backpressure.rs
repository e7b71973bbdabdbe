//! `switch.scheme`.

use fabric_core::scheme::{SchemeSettings, bfc};
use topology::SwitchId;
use units::{Nanos, Picos};

use super::{SMALL, parse, report};
use crate::{FlowQueues, Priority};

fn with(keys: &str) -> String {
    format!("[switch]\n{keys}\n{SMALL}")
}

#[test]
fn bfc_has_the_papers_defaults_and_a_round_trip_of_the_longest_link() {
    let text = with("scheme = { kind = \"bfc\" }");
    let scenario = parse(&text).unwrap_or_else(|error| panic!("{error}"));
    let Some(bfc) = scenario.switch.bfc() else { panic!("BFC") };
    assert_eq!((bfc.queues, bfc.flow_table, bfc.priorities.0), (32, 100, 1 << 3));
    let spread: Vec<FlowQueues> = scenario.switch.spread().collect();
    assert_eq!(spread, [FlowQueues { priority: Priority(3), queues: 32 }]);
    let SchemeSettings::Bfc(bfc::Settings { options, sticky, threshold, .. }) =
        scenario.scheme(SwitchId(0))
    else {
        panic!("BFC")
    };
    // There and back 1 us each, 1098 B on the wire at 80 ps a byte, and 84 B.
    assert_eq!((threshold, sticky), (Nanos(2095), Nanos(4190)));
    assert_eq!((options.entries(), options.priorities), (3200, 1 << 3));
    let again = parse(&scenario.to_toml()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again.switch, scenario.switch);
    let given = with("scheme = { kind = \"bfc\", threshold = \"5us\", sticky = \"0us\" }");
    let given = parse(&given).unwrap_or_else(|error| panic!("{error}"));
    let SchemeSettings::Bfc(settings) = given.scheme(SwitchId(0)) else { panic!("BFC") };
    assert_eq!((settings.threshold, settings.sticky), (Nanos(5000), Nanos(0)));
    assert!(!settings.options.samples && !settings.options.incast_queue);
    let given = with("scheme = { kind = \"bfc\", sampling = 0.25, incast_labels = true }");
    let given = parse(&given).unwrap_or_else(|error| panic!("{error}"));
    let SchemeSettings::Bfc(settings) = given.scheme(SwitchId(0)) else { panic!("BFC") };
    assert!(settings.options.samples && settings.options.incast_queue);
    assert_eq!(settings.sampled, 1 << 30);
    let plain = parse(SMALL).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(plain.scheme(SwitchId(0)), SchemeSettings::default());
    assert_eq!((given.bitmap_period(), plain.bitmap_period()), (Some(Picos(10_000_000)), None));
}

#[test]
fn deadlocks_are_prevented_if_it_is_asked_for() {
    let elides = |keys: &str| {
        let scenario = parse(&with(&format!("scheme = {{ kind = \"bfc\"{keys} }}")));
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        let again = parse(&scenario.to_toml()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(again.switch, scenario.switch);
        assert!(scenario.to_toml().contains("prevent_deadlocks = "), "{}", scenario.to_toml());
        let SchemeSettings::Bfc(settings) = again.scheme(SwitchId(0)) else { panic!("BFC") };
        let order = scenario.deadlock_prevention();
        assert_eq!(order.is_some(), settings.options.elides);
        settings.options.elides
    };
    assert!(!elides(""));
    assert!(!elides(", prevent_deadlocks = false"));
    assert!(elides(", prevent_deadlocks = true"));
    assert_eq!(parse(SMALL).unwrap_or_else(|error| panic!("{error}")).deadlock_prevention(), None);
    let wrong = report(&with("scheme = { kind = \"bfc\", prevent_deadlocks = \"yes\" }"));
    let title = "error: `switch.scheme.prevent_deadlocks` is the text \"yes\"";
    assert!(wrong.contains(title) && wrong.contains("write a boolean"), "{wrong}");
}

/// 1 us and 10 Gbit/s at h0 to h2; 5 us and 100 Gbit/s between the switches; 2 us and 1 Gbit/s at h3.
const LINKS: &str = r#"
[topology]
kind = "custom"
switches = ["a", "b"]
hosts = ["h0", "h1", "h2", "h3"]
links = [
  { a = "h0", b = "a", rate = "10Gbps", delay = "1us" },
  { a = "h1", b = "a", rate = "10Gbps", delay = "1us" },
  { a = "a", b = "b", rate = "100Gbps", delay = "5us" },
  { a = "h2", b = "b", rate = "10Gbps", delay = "1us" },
  { a = "h3", b = "b", rate = "1Gbps", delay = "2us" },
]
[switch]
scheme = { kind = "bfc" }
[[flows]]
kind = "one"
src = "h0"
dst = "h2"
bytes = "1MB"
"#;

#[test]
fn the_link_with_the_longest_round_trip_and_the_slowest_port_count() {
    let scenario = parse(LINKS).unwrap_or_else(|error| panic!("{error}"));
    let threshold = |switch| match scenario.scheme(SwitchId(switch)) {
        SchemeSettings::Bfc(settings) => settings.threshold,
        other => panic!("{other:?}"),
    };
    // 10 us, 1098 B and 84 B at 100 Gbit/s; 4 us and these at 1 Gbit/s.
    assert_eq!([0, 1].map(threshold), [Nanos(10_095), Nanos(13_456)]);
    // A bitmap takes 672 ns at 1 Gbit/s.
    assert_eq!(scenario.bitmap_period(), Some(Picos(67_200_000)));
    let short = LINKS.replace("\"bfc\"", "\"bfc\", bitmap_period = \"6us\"");
    let report = report(&short);
    assert!(report.contains("error: bitmaps take more than a tenth of a port"), "{report}");
    assert!(report.contains("write \"6720ns\" or more"), "{report}");
}

#[test]
fn what_no_switch_can_do_is_an_error_at_its_key() {
    for (keys, title, at) in [
        ("scheme = { kind = \"bfc\", queues = 129 }", "129 queues for a priority", "queues"),
        ("scheme = { kind = \"bfc\", queues = 0 }", "0 queues for a priority", "queues"),
        (
            "scheme = { kind = \"bfc\", priorities = [3, 5], queues = 65 }",
            "65 queues for each of 2 priorities",
            "queues",
        ),
        ("scheme = { kind = \"bfc\", priorities = [] }", "no priority", "priorities"),
        ("scheme = { kind = \"bfc\", flow_table = 0 }", "a flow table of 0 entries", "flow_table"),
        (
            "scheme = { kind = \"bfc\", flow_table = 9000 }",
            "a flow table of 9000 entries",
            "flow_table",
        ),
        (
            "scheme = { kind = \"bfc\", bitmap_period = \"0us\" }",
            "bitmaps take more than a tenth of a port",
            "bitmap_period",
        ),
        ("scheme = { kind = \"bfc\", threshold = \"0us\" }", "a threshold of no time", "threshold"),
        (
            "scheme = { kind = \"bfc\", priorities = [6] }",
            "the control priority is not paused",
            "priorities",
        ),
        (
            "scheme = { kind = \"bfc\" }\nheadroom = { kind = \"adaptive\" }",
            "BFC, and headroom that is measured",
            "headroom",
        ),
        ("scheme = { kind = \"bfc\", sampling = 0 }", "no packet is counted", "sampling"),
        (
            "scheme = { kind = \"bfc\", queues = 1, incast_labels = true }",
            "labelled incasts, and one queue for all",
            "incast_labels",
        ),
        (
            "scheme = { kind = \"bfc\" }\nflow_queues = [{ priority = 3, queues = 2 }]",
            "priority 3 comes twice",
            "priority = 3",
        ),
        (
            "scheme = { kind = \"bfc\" }\n[host]\nack_priority = \"data\"",
            "ACKs or CNPs of a paused priority",
            "scheme",
        ),
        (
            "scheme = { kind = \"bfc\" }\n[host]\nqueue_pauses = false",
            "NICs that obey no pause of a queue, and flows without a window",
            "queue_pauses",
        ),
    ] {
        let report = report(&with(keys));
        assert!(report.contains(&format!("error: {title}")), "{keys}\n{report}");
        let shown = report.lines().nth(3).unwrap_or_default();
        assert!(shown.contains(at), "{keys}\n{report}");
    }
}

#[test]
fn a_window_is_enough_for_nics_that_take_no_part() {
    let capped = with(
        "scheme = { kind = \"bfc\" }\n[host]\nqueue_pauses = false\ntransport = { kind = \"roce-rc\", window = \"bdp\" }",
    );
    let scenario = parse(&capped).unwrap_or_else(|error| panic!("{error}"));
    let about = |warnings: Vec<String>| warnings.iter().any(|it| it.contains("host.queue_pauses"));
    assert!(!about(scenario.warnings()));
    let alone = parse(&capped.replace("scheme = { kind = \"bfc\" }", ""));
    assert!(about(alone.unwrap_or_else(|error| panic!("{error}")).warnings()));
}
