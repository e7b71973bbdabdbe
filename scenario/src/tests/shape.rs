//! Files with wrong keys, kinds, types and units.

use insta::assert_snapshot;
use proptest::prelude::*;

use super::{INCAST, parse, report, report_on};

proptest! {
    #[test]
    fn a_damaged_file_is_an_error_or_a_scenario(
        start in 0..INCAST.len(),
        length in 0usize..40,
        text in "[\\PC\n]{0,12}",
    ) {
        let end = (start + length).min(INCAST.len());
        let damaged = format!("{}{text}{}", &INCAST[..start], &INCAST[end..]);
        if let Err(error) = parse(&damaged) {
            prop_assert!(error.to_string().starts_with("error: "));
        }
    }
}

#[test]
fn not_toml() {
    assert_snapshot!(report("name = \"x\nseed = 1"), @r#"
    error: not TOML: invalid basic string, expected `"`
     --> bad.toml:1:10
      |
    1 | name = "x
      |          ^
      |
      = help: texts and quantities stand in quotes; https://toml.io describes the rest
    "#);
}

#[test]
fn unknown_key() {
    assert_snapshot!(report_on("[switch]\nbufer = \"2MB\"\n"), @r#"
    error: unknown key `bufer` in `switch`
      --> bad.toml:13:1
       |
    13 | bufer = "2MB"
       | ^^^^^
       |
       = help: did you mean `buffer`? the keys here are `buffer` to `wire_overhead` (26)
    "#);
}

#[test]
fn unknown_key_of_a_kind() {
    let text =
        "[switch]\nthreshold = { kind = \"static\", xoff = \"2kB\", xon = \"1kB\", alpha = \"1\" }";
    assert_snapshot!(report_on(text), @r#"
    error: unknown key `alpha` in `switch.threshold`
      --> bad.toml:13:59
       |
    13 | threshold = { kind = "static", xoff = "2kB", xon = "1kB", alpha = "1" }
       |                                                           ^^^^^
       |
       = help: the keys here are `xoff` and `xon`
    "#);
}

#[test]
fn unknown_section() {
    assert_snapshot!(report_on("[swich]\nbuffer = \"2MB\"\n"), @r"
    error: unknown key `swich`
      --> bad.toml:12:2
       |
    12 | [swich]
       |  ^^^^^
       |
       = help: did you mean `switch`? the keys here are `name`, `dialect`, `order`, `numbers`, `seed`, `duration`, `stop`, `clock`, `datapath`, `topology`, `switch`, `switches`, `host`, `frames`, `flows`, `routes`, `captures`, `faults`, `storms`, `results` and `expect`
    ");
}

#[test]
fn unknown_kind() {
    assert_snapshot!(report_on("[switch]\nthreshold = { kind = \"td\" }\n"), @r#"
    error: `switch.threshold.kind` cannot be `td`
      --> bad.toml:13:22
       |
    13 | threshold = { kind = "td" }
       |                      ^^^^
       |
       = help: did you mean `dt`? it is one of `dt`, `static` and `equal-shares`
    "#);
}

#[test]
fn unknown_hook() {
    assert_snapshot!(report_on("[datapath]\nhook = \"xdpgeneric\"\n"), @r#"
    error: `datapath.hook` cannot be `xdpgeneric`
      --> bad.toml:13:8
       |
    13 | hook = "xdpgeneric"
       |        ^^^^^^^^^^^^
       |
       = help: did you mean `xdp-generic`? it is one of `xdp`, `xdp-generic` and `tc`
    "#);
}

#[test]
fn no_kind() {
    assert_snapshot!(report_on("[switch]\nscheduler = { quantum = \"1600B\" }\n"), @r#"
    error: `switch.scheduler`: the table has no `kind`
      --> bad.toml:13:13
       |
    13 | scheduler = { quantum = "1600B" }
       |             ^^^^^^^^^^^^^^^^^^^^^
       |
       = help: `kind` is one of `strict`, `dwrr`, `round-robin` and `srf`
    "#);
    assert_snapshot!(report_on("[switch]\nscheduler = \"strict\"\n"), @r#"
    error: `switch.scheduler` is the text "strict"
      --> bad.toml:13:13
       |
    13 | scheduler = "strict"
       |             ^^^^^^^^
       |
       = help: write a table: { kind = "strict", .. }
    "#);
}

#[test]
fn missing_key() {
    assert_snapshot!(report("[topology]\nkind = \"star\"\nhosts = 3\n"), @r"
    error: `topology` has no `host_link`
     --> bad.toml:1:1
      |
    1 | [topology]
      | ^^^^^^^^^^
      |
      = help: add `host_link`; `xoff schema` describes every key
    ");
    assert_snapshot!(report("name = \"x\"\n"), @r"
    error: the scenario has no `topology`
    --> bad.toml
     = help: add `topology`; `xoff schema` describes every key
    ");
}

#[test]
fn wrong_type() {
    assert_snapshot!(report_on("[host]\nack_interval = \"4\"\n"), @r#"
    error: `host.ack_interval` is the text "4"
      --> bad.toml:13:16
       |
    13 | ack_interval = "4"
       |                ^^^
       |
       = help: write a whole number without a sign
    "#);
    assert_snapshot!(report_on("[switch]\nlossless = 3\n"), @r"
    error: `switch.lossless` is the number 3
      --> bad.toml:13:12
       |
    13 | lossless = 3
       |            ^
       |
       = help: write a list in brackets
    ");
    assert_snapshot!(report("seed = -1\n"), @r"
    error: `seed` is the number -1
     --> bad.toml:1:8
      |
    1 | seed = -1
      |        ^^
      |
      = help: write a whole number from 0 up
    ");
    assert_snapshot!(report_on("[switch]\nthresholds = \"sometimes\"\n"), @r#"
    error: `switch.thresholds` is the text "sometimes"
      --> bad.toml:13:14
       |
    13 | thresholds = "sometimes"
       |              ^^^^^^^^^^^
       |
       = help: write "per-packet" or a period: { period = "10us" }
    "#);
}

#[test]
fn missing_unit() {
    assert_snapshot!(report_on("[switch]\nbuffer = 2000000\n"), @r#"
    error: `switch.buffer`: the size `2000000` has no unit
      --> bad.toml:13:10
       |
    13 | buffer = 2000000
       |          ^^^^^^^
       |
       = help: write a size such as "200kB"; units are B, kB, KiB, MB, MiB, GB, GiB, TB
    "#);
    assert_snapshot!(report("duration = \"20\"\n"), @r#"
    error: `duration`: the time `20` has no unit
     --> bad.toml:1:12
      |
    1 | duration = "20"
      |            ^^^^
      |
      = help: write a time such as "10us"; units are ps, ns, us, ms, s
    "#);
}

#[test]
fn unknown_unit() {
    assert_snapshot!(report_on("[switch]\nbuffer = \"2mb\"\n"), @r#"
    error: `switch.buffer`: `mb` in `2mb` is not a unit of sizes; `MB` is
      --> bad.toml:13:10
       |
    13 | buffer = "2mb"
       |          ^^^^^
       |
       = help: write a size such as "200kB"; units are B, kB, KiB, MB, MiB, GB, GiB, TB
    "#);
}
