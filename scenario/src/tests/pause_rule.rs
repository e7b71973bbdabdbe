//! `switch.scheme`.

use fabric_core::scheme::{SchemeSettings, gfc, pfc_family};
use insta::assert_snapshot;
use topology::SwitchId;
use units::{Bytes, Nanos};

use super::{SMALL, parse, report};

/// OFC's thresholds, Section IV-A1.
const OFC: &str = "private_per_queue = \"0B\"\nthreshold = { kind = \"static\", xoff = \"75kB\", xon = \"45kB\" }";

fn with(keys: &str) -> String {
    format!("[switch]\n{OFC}\n{keys}\n{SMALL}")
}

fn settings(keys: &str) -> pfc_family::Settings {
    let scenario = parse(&with(keys)).unwrap_or_else(|error| panic!("{error}"));
    let written = scenario.to_toml();
    let again = parse(&written).unwrap_or_else(|error| panic!("{error}\n{written}"));
    assert_eq!(again, scenario, "{written}");
    assert_eq!(scenario.static_xoff(SwitchId(0)), Bytes(75_000));
    assert_eq!(scenario.switch.threshold.xon_offset(), Bytes(30_000));
    match scenario.scheme(SwitchId(0)) {
        SchemeSettings::PfcFamily(settings) => settings,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_key_is_heard() {
    use pfc_family::{MeanOf, Settings};
    let low = Bytes(68_000);
    for (keys, expected) in [
        (
            "kind = \"capfc\", xlow = \"68kB\", xegress = \"60kB\"",
            Settings::CongestionAware { low, egress: Bytes(60_000) },
        ),
        ("kind = \"p-pfc-ofc\", xlow = \"68kB\"", Settings::MeanOfEgress { low, of: MeanOf::All }),
        (
            "kind = \"p-pfc-ofc\", xlow = \"68kB\", mean_of = \"non-empty\"",
            Settings::MeanOfEgress { low, of: MeanOf::NonEmpty },
        ),
        (
            "kind = \"p-pfc-predict\", horizon = \"2us\"",
            Settings::Predictive { horizon: Nanos(2000), interval: Nanos(1000), weight_shift: 0 },
        ),
        (
            "kind = \"p-pfc-predict\", horizon = \"100ms\", interval = \"64ns\", weight = \"1/8\"",
            Settings::Predictive {
                horizon: Nanos(100_000_000),
                interval: Nanos(64),
                weight_shift: 3,
            },
        ),
        (
            "kind = \"g-pfc\", xlow = \"68kB\", low = [3]",
            Settings::PriorityAware { low, classes: 1 << 3 },
        ),
    ] {
        assert_eq!(settings(&format!("scheme = {{ {keys} }}")), expected);
    }
    let adaptive = "headroom = { kind = \"adaptive\" }\npause_rule = { kind = \"g-pfc\", xlow = \"75kB\", low = [3] }";
    assert_eq!(settings(adaptive), Settings::PriorityAware { low: Bytes(75_000), classes: 8 });
}

#[test]
fn both_forms_of_gfc_are_heard() {
    let gfc_of = |keys: &str| {
        let rule = format!("scheme = {{ {keys} }}");
        let scenario = parse(&with(&rule)).unwrap_or_else(|error| panic!("{error}"));
        let written = scenario.to_toml();
        assert_eq!(parse(&written).unwrap_or_else(|error| panic!("{error}\n{written}")), scenario);
        match scenario.scheme(SwitchId(0)) {
            SchemeSettings::Gfc(settings) => (settings, scenario.warnings_of_scheme()),
            other => panic!("{other:?}"),
        }
    };
    let paper = gfc::Settings {
        form: gfc::Form::Halving,
        first: Bytes(20_000),
        most: Bytes(75_000),
        stages: 8,
        overhead: Bytes(24),
    };
    let keys = "kind = \"gfc\", b1 = \"20kB\", bm = \"75kB\"";
    // 100 Gbit/s x 2 us is 25 kB; with two frames of 1098 B on the wire, twice that is 54,392 B.
    assert_eq!(gfc_of(keys), (paper, vec![]));
    let (settings, warnings) = gfc_of("kind = \"gfc\", b1 = \"20609B\", bm = \"75kB\", stages = 3");
    assert_eq!((settings.first, settings.stages), (Bytes(20_609), 3));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("`switch.scheme.b1` of 20608B or less"), "{warnings:?}");
    let ofc = gfc::Settings { form: gfc::Form::Linear, first: Bytes(60_000), stages: 4, ..paper };
    assert_eq!(gfc_of("kind = \"gfc-ofc\", b1 = \"60kB\""), (ofc, vec![]));
}

#[test]
fn stages_that_cannot_be() {
    let many = wrong("kind = \"gfc\", b1 = \"60kB\", bm = \"75kB\", stages = 15");
    assert_snapshot!(many, @r#"
    error: 15 stages
     --> bad.toml:4:61
      |
    4 | scheme = { kind = "gfc", b1 = "60kB", bm = "75kB", stages = 15 }
      |                                                             ^^
      |
      = help: write 1 to 14
    "#);
    let narrow = wrong("kind = \"gfc\", b1 = \"74kB\", bm = \"74500B\", stages = 10");
    assert_snapshot!(narrow, @r#"
    error: b1 (74kB) and bm (74500B) leave no room for 10 stages
     --> bad.toml:4:31
      |
    4 | scheme = { kind = "gfc", b1 = "74kB", bm = "74500B", stages = 10 }
      |                               ^^^^^^
      |
      = help: each stage has half of what is left to bm: write a smaller b1, or fewer stages
    "#);
    let above = wrong("kind = \"gfc\", b1 = \"60kB\", bm = \"76kB\"");
    assert_snapshot!(above, @r#"
    error: bm (76kB) is above X_off of `s0` (75kB)
     --> bad.toml:4:44
      |
    4 | scheme = { kind = "gfc", b1 = "60kB", bm = "76kB" }
      |                                            ^^^^^^
      |
      = help: the queue would pause before: write less
    "#);
    let empty = wrong("kind = \"gfc-ofc\", b1 = \"0B\"");
    assert_snapshot!(empty, @r#"
    error: a threshold of no bytes
     --> bad.toml:4:35
      |
    4 | scheme = { kind = "gfc-ofc", b1 = "0B" }
      |                                   ^^^^
      |
      = help: an empty queue would slow its neighbour down: write a size such as "60kB"
    "#);
    let upside_down = wrong("kind = \"gfc-ofc\", b1 = \"75kB\"");
    assert_snapshot!(upside_down, @r#"
    error: b1 (75kB) and X_off of `s0` (75kB) leave no room for 4 stages
     --> bad.toml:4:35
      |
    4 | scheme = { kind = "gfc-ofc", b1 = "75kB" }
      |                                   ^^^^^^
      |
      = help: write a smaller b1, or fewer stages
    "#);
    let rule = "scheme = { kind = \"gfc-ofc\", b1 = \"60kB\" }";
    assert_snapshot!(report(&format!("[switch]\n{rule}\n{SMALL}")), @r#"
    error: GFC as OFC describes it, and thresholds that move
     --> bad.toml:2:10
      |
    2 | scheme = { kind = "gfc-ofc", b1 = "60kB" }
      |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: its rate is zero at a fixed X_off: write threshold = { kind = "static", .. }
    "#);
}

fn wrong(rule: &str) -> String {
    report(&with(&format!("scheme = {{ {rule} }}")))
}

#[test]
fn a_lower_threshold_that_is_not_between_the_others() {
    let above = wrong("kind = \"capfc\", xlow = \"75001B\", xegress = \"60kB\"");
    assert_snapshot!(above, @r#"
    error: xlow (75001B) is above X_off of `s0` (75kB)
     --> bad.toml:4:35
      |
    4 | scheme = { kind = "capfc", xlow = "75001B", xegress = "60kB" }
      |                                   ^^^^^^^^
      |
      = help: PFC alone would pause earlier: write less
    "#);
    let below = wrong("kind = \"p-pfc-ofc\", xlow = \"45kB\"");
    assert_snapshot!(below, @r#"
    error: xlow (45kB) is not above X_on of `s0` (45kB)
     --> bad.toml:4:39
      |
    4 | scheme = { kind = "p-pfc-ofc", xlow = "45kB" }
      |                                       ^^^^^^
      |
      = help: a queue resumes at X_on: write more, or a lower X_on
    "#);
    let nothing = wrong("kind = \"g-pfc\", xlow = \"0B\", low = [3]");
    assert_snapshot!(nothing, @r#"
    error: a threshold of no bytes
     --> bad.toml:4:35
      |
    4 | scheme = { kind = "g-pfc", xlow = "0B", low = [3] }
      |                                   ^^^^
      |
      = help: a queue would never resume: write a size between `xon` and `xoff`
    "#);
    let rule = "scheme = { kind = \"p-pfc-ofc\", xlow = \"17MB\" }";
    let dynamic = report(&format!("[switch]\n{rule}\n{SMALL}"));
    assert_snapshot!(dynamic, @r#"
    error: xlow (17MB) is above the shared pool of `s0` (15894346B)
     --> bad.toml:2:39
      |
    2 | scheme = { kind = "p-pfc-ofc", xlow = "17MB" }
      |                                       ^^^^^^
      |
      = help: PFC alone would pause earlier: write less
    "#);
}

#[test]
fn an_egress_threshold_that_nothing_or_everything_reaches() {
    let above = wrong("kind = \"capfc\", xlow = \"68kB\", xegress = \"17MB\"");
    assert_snapshot!(above, @r#"
    error: xegress (17MB) is above the buffer of `s0` (16MB)
     --> bad.toml:4:53
      |
    4 | scheme = { kind = "capfc", xlow = "68kB", xegress = "17MB" }
      |                                                     ^^^^^^
      |
      = help: no egress queue could be congested: write less
    "#);
    let nothing = wrong("kind = \"capfc\", xlow = \"68kB\", xegress = \"0B\"");
    assert_snapshot!(nothing, @r#"
    error: a threshold of no bytes
     --> bad.toml:4:53
      |
    4 | scheme = { kind = "capfc", xlow = "68kB", xegress = "0B" }
      |                                                     ^^^^
      |
      = help: every egress queue would be congested: write a size such as "68kB"
    "#);
}

#[test]
fn predictions_of_no_time() {
    let now = wrong("kind = \"p-pfc-predict\", horizon = \"0s\"");
    assert_snapshot!(now, @r#"
    error: a horizon of 0ps
     --> bad.toml:4:46
      |
    4 | scheme = { kind = "p-pfc-predict", horizon = "0s" }
      |                                              ^^^^
      |
      = help: write a nanosecond to "100ms"; without one, write kind = "pfc"
    "#);
    let late = wrong("kind = \"p-pfc-predict\", horizon = \"101ms\"");
    assert_snapshot!(late, @r#"
    error: a horizon of 101ms
     --> bad.toml:4:46
      |
    4 | scheme = { kind = "p-pfc-predict", horizon = "101ms" }
      |                                              ^^^^^^^
      |
      = help: write a nanosecond to "100ms"; without one, write kind = "pfc"
    "#);
    let always = wrong("kind = \"p-pfc-predict\", horizon = \"1us\", interval = \"0ns\"");
    assert_snapshot!(always, @r#"
    error: an interval of less than a nanosecond
     --> bad.toml:4:64
      |
    4 | scheme = { kind = "p-pfc-predict", horizon = "1us", interval = "0ns" }
      |                                                                ^^^^^
      |
      = help: a switch counts nanoseconds: write a time such as "1us"
    "#);
    let weight = wrong("kind = \"p-pfc-predict\", horizon = \"1us\", weight = \"1/3\"");
    assert_snapshot!(weight, @r#"
    error: a weight of 1/3
     --> bad.toml:4:62
      |
    4 | scheme = { kind = "p-pfc-predict", horizon = "1us", weight = "1/3" }
      |                                                              ^^^^^
      |
      = help: a switch shifts instead of multiplying: write "1", "1/2", "1/4" .. "1/64"
    "#);
    let heavy = wrong("kind = \"p-pfc-predict\", horizon = \"1us\", weight = 2");
    assert_snapshot!(heavy, @r#"
    error: a weight of 2
     --> bad.toml:4:62
      |
    4 | scheme = { kind = "p-pfc-predict", horizon = "1us", weight = 2 }
      |                                                              ^
      |
      = help: a switch shifts instead of multiplying: write "1", "1/2", "1/4" .. "1/64"
    "#);
}

#[test]
fn low_priorities_that_nothing_pauses() {
    let lossy = wrong("kind = \"g-pfc\", xlow = \"68kB\", low = [3, 5]");
    assert_snapshot!(lossy, @r#"
    error: priority 5 is not lossless, so nothing pauses it
     --> bad.toml:4:49
      |
    4 | scheme = { kind = "g-pfc", xlow = "68kB", low = [3, 5] }
      |                                                 ^^^^^^
      |
      = help: name one or more of the lossless priorities
    "#);
    let none = wrong("kind = \"g-pfc\", xlow = \"68kB\", low = []");
    assert_snapshot!(none, @r#"
    error: no low priority
     --> bad.toml:4:49
      |
    4 | scheme = { kind = "g-pfc", xlow = "68kB", low = [] }
      |                                                 ^^
      |
      = help: name one or more of the lossless priorities
    "#);
}

#[test]
fn rules_need_a_lossless_priority() {
    let rule = "scheme = { kind = \"p-pfc-predict\", horizon = \"1us\" }";
    let report = report(&format!("[switch]\n{rule}\nlossless = []\n{SMALL}"));
    assert_snapshot!(report, @r#"
    error: a rule for pauses, and no lossless priority
     --> bad.toml:2:10
      |
    2 | scheme = { kind = "p-pfc-predict", horizon = "1us" }
      |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: only lossless priorities pause: name some in `switch.lossless`, or write another scheme
    "#);
}

#[test]
fn a_rule_that_dynamic_thresholds_never_reach_is_reported() {
    let warnings = |rule: &str, alpha: &str| {
        let threshold = format!("threshold = {{ kind = \"dt\", alpha = \"{alpha}\" }}");
        let text = format!("[switch]\n{threshold}\npause_rule = {{ {rule} }}\n{SMALL}");
        parse(&text).unwrap_or_else(|error| panic!("{error}")).warnings().join("\n")
    };
    let rules =
        ["kind = \"p-pfc-ofc\", xlow = \"1MB\"", "kind = \"gfc\", b1 = \"1MB\", bm = \"2MB\""];
    for (rule, key) in rules.into_iter().zip(["xlow", "b1"]) {
        // 15.9 MB of shared pool: at most 0.93 MB with 1/16, and 7.9 MB with 1.
        let idle = format!(
            "`switch.scheme.{key}` (1MB) is above the highest X_off that DT gives (934961B)"
        );
        assert!(warnings(rule, "1/16").contains(&idle), "{}", warnings(rule, "1/16"));
        assert!(!warnings(rule, "1").contains("above the highest"), "{}", warnings(rule, "1"));
    }
}
