//! `switch.scheme` of kind "ofc".

use std::path::Path;

use fabric_core::scheme::{SchemeSettings, ofc};
use topology::SwitchId;
use units::{Bytes, Picos};

use crate::{FlowQueues, Priority, Scenario};

const KEYS: &str = "threshold = { kind = \"static\", xoff = \"75kB\", xon = \"45kB\" }";

fn with(switch: &str) -> String {
    format!(
        "[topology]\nkind = \"star\"\nhosts = 2\nhost_link = {{ rate = \"40Gbps\", delay = \"20ns\" }}\n\
         [[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1kB\"\npriority = 3\n\
         [switch]\n{switch}\n"
    )
}

fn parse(text: &str) -> Result<Scenario, crate::ScenarioError> {
    Scenario::parse(text, Path::new("ofc.toml"), &[])
}

fn settings(backpressure: &str) -> ofc::Settings {
    let text = with(&format!("{KEYS}\nbackpressure = {backpressure}"));
    let scenario = parse(&text).unwrap_or_else(|error| panic!("{error}"));
    let again = parse(&scenario.to_toml()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again, scenario, "a resolved scenario is itself");
    match scenario.scheme(SwitchId(0)) {
        SchemeSettings::Ofc(settings) => settings,
        other => panic!("{other:?}"),
    }
}

#[test]
fn pauses_are_repeated_if_asked_for() {
    let period = |keys: &str| {
        let text = with(&format!("{KEYS}\nbackpressure = {{ kind = \"ofc\"{keys} }}"));
        parse(&text).map(|scenario| scenario.announcement_period())
    };
    assert_eq!(period("").unwrap(), None);
    assert_eq!(period(", repeat = \"10us\"").unwrap(), Some(Picos(10_000_000)));
    settings("{ kind = \"ofc\", repeat = \"1ms\" }");
    let error = period(", repeat = \"9999ns\"").unwrap_err().to_string();
    assert!(error.contains("flows are named again every 9999ns"), "{error}");
}

#[test]
fn the_threshold_for_flows_is_a_part_of_xoff_or_a_size() {
    let plain = settings("{ kind = \"ofc\" }");
    assert_eq!(plain.congested, Bytes(67_500));
    assert_eq!(plain.options, ofc::Options::new(1 << 3, 256).unwrap());
    assert_eq!(settings("{ kind = \"ofc\", alpha = \"0.8\" }").congested, Bytes(60_000));
    assert_eq!(settings("{ kind = \"ofc\", alpha = \"4/5\" }").congested, Bytes(60_000));
    let sized = settings("{ kind = \"ofc\", congested = \"68kB\", flow_table = 10 }");
    assert_eq!((sized.congested, sized.options.flow_lines), (Bytes(68_000), 3));
}

#[test]
fn each_priority_has_three_queues_and_nics_one() {
    let text = with(&format!(
        "{KEYS}\nlossless = [3, 4]\nbackpressure = {{ kind = \"ofc\", priorities = [3, 4] }}"
    ));
    let scenario = parse(&text).unwrap_or_else(|error| panic!("{error}"));
    let spread: Vec<FlowQueues> = scenario.switch.spread().collect();
    assert_eq!(
        spread,
        [3, 4].map(|priority| FlowQueues { priority: Priority(priority), queues: 3 })
    );
    assert!(!scenario.switch.pauses_queues() && scenario.bitmap_period().is_none());
}

#[test]
fn what_no_switch_can_do_is_an_error_at_its_key() {
    let ofc = |keys: &str| format!("{KEYS}\nbackpressure = {{ kind = \"ofc\"{keys} }}");
    let between = "flows are paused from";
    for (keys, title, at) in [
        (ofc(", alpha = \"3/5\""), between, "alpha"),
        (ofc(", alpha = 1"), between, "alpha"),
        (ofc(", alpha = 2"), between, "alpha"),
        (ofc(", congested = \"45kB\""), between, "congested"),
        (ofc(", congested = \"75kB\""), between, "congested"),
        (ofc(", alpha = \"4/5\", congested = \"60kB\""), "two thresholds for flows", "congested"),
        (ofc(", priorities = []"), "no priority", "priorities"),
        (
            ofc(", priorities = [4]"),
            "flows of priority 4 are paused, and it is lossy",
            "priorities",
        ),
        (
            ofc(", priorities = [6]") + "\nlossless = [6]",
            "the control priority is not paused",
            "priorities",
        ),
        (ofc(", flow_table = 0"), "a flow table of 0 entries", "flow_table"),
        (ofc(", flow_table = 4097"), "a flow table of 4097 entries", "flow_table"),
        (
            ofc("") + "\nheadroom = { kind = \"adaptive\" }",
            "OFC, and headroom that is measured",
            "headroom",
        ),
        (
            ofc("") + "\nflow_queues = [{ priority = 3, queues = 2 }]",
            "priority 3 comes twice",
            "priority = 3",
        ),
        (
            "threshold = { kind = \"dt\" }\nbackpressure = { kind = \"ofc\" }".to_owned(),
            "OFC without a fixed `xoff` and `xon`",
            "threshold",
        ),
        ("scheme = { kind = \"spfc\" }\nbackpressure = { kind = \"ofc\" }".to_owned(), "", ""),
    ] {
        let report = parse(&with(&keys)).expect_err(&keys).to_string();
        assert!(report.contains(&format!("error: {title}")), "{keys}\n{report}");
        let shown = report.lines().nth(3).unwrap_or_default();
        assert!(shown.contains(at), "{keys}\n{report}");
    }
}

#[test]
fn nics_that_obey_no_pauses_of_flows_are_reported_where_there_are_none() {
    let about = |switch: &str| {
        let text = with(switch) + "[host]\nflow_pauses = false\n";
        let scenario = parse(&text).unwrap_or_else(|error| panic!("{error}"));
        scenario.warnings().iter().any(|it| it.contains("host.flow_pauses"))
    };
    assert!(about(KEYS));
    assert!(!about(&format!("{KEYS}\nbackpressure = {{ kind = \"ofc\" }}")));
}
