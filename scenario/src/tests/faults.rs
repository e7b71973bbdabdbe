//! Invalid faults, each reported at its line.

use insta::assert_snapshot;

use super::{Scenario, parse, report, report_on};
use std::path::Path;

#[test]
fn faults_that_say_nothing() {
    assert_snapshot!(report_on("[[faults]]\nkind = \"loss\"\n"), @r"
    error: a loss without `rate` or `nth`
      --> bad.toml:12:1
       |
    12 | [[faults]]
       | ^^^^^^^^^^
       |
       = help: add rate = 0.001, or nth = [1]
    ");
}

/// Returns the title of the report on a fault, and the text that it points to.
fn wrong(fault: &str) -> (String, String) {
    wrong_with(fault, "")
}

fn wrong_with(fault: &str, more: &str) -> (String, String) {
    let report = report_on(&format!("[[faults]]\n{fault}\n{more}"));
    let title = report.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    let mut lines = report.lines().skip_while(|line| !line.trim_start().starts_with(['1', '2']));
    let (text, marks) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let from = marks.find('^').unwrap_or(0);
    (title, text[from..=marks.rfind('^').unwrap_or(from)].to_owned())
}

fn assert_wrong(fault: &str, title: &str, at: &str) {
    assert_eq!(wrong(fault), (title.to_owned(), at.to_owned()), "{fault}");
}

#[test]
fn wires_and_links_that_are_not_there() {
    let title = "no wire or link matches `h9-s0`";
    assert_wrong("kind = \"down\"\nwire = \"h9-s0\"", title, "\"h9-s0\"");
    let title = "no wire or link matches `s0->x*`";
    assert_wrong("kind = \"loss\"\nrate = 1\nwire = \"s0->x*\"", title, "\"s0->x*\"");
}

#[test]
fn spans_that_are_empty_or_never_begin() {
    let delay = "kind = \"delay\"\ndelay = \"5us\"\n";
    assert_wrong(&format!("{delay}for = \"0us\""), "a fault of no time", "\"0us\"");
    let (title, at) = wrong(&format!("{delay}at = \"2s\""));
    assert_eq!((&*title, &*at), ("the fault begins at 2s", "\"2s\""));
    let (title, at) = wrong(&format!("{delay}at = \"5\""));
    assert!(title.contains("the time `5` has no unit"), "{title}");
    assert_eq!(at, "\"5\"");
    // A live fabric has no `duration` that limits `at`.
    let live = format!("{}[[faults]]\n{delay}at = \"2s\"", super::SMALL);
    assert!(Scenario::parse_live(&live, Path::new("lab.toml"), &[]).is_ok());
}

#[test]
fn delays_that_are_none_or_too_long() {
    assert_wrong("kind = \"delay\"", "a delay of no time", "[[faults]]");
    let title = "frames on h0->s0 are up to 2s late";
    assert_wrong("kind = \"delay\"\njitter = \"2s\"", title, "[[faults]]");
    let title = "frames on s0->h1 are up to 1000001us late";
    let two = "kind = \"delay\"\nwire = \"s0-h1\"\njitter = \"1s\"\n[[faults]]
kind = \"delay\"\nwire = \"s0->*\"\ndelay = \"1us\"";
    assert_wrong(two, title, "[[faults]]");
    let (title, at) = wrong("kind = \"delay\"\ndelay = \"5Gbps\"");
    assert!(title.contains("not a unit of times"), "{title}");
    assert_eq!(at, "\"5Gbps\"");
}

#[test]
fn rates_that_are_no_slower() {
    for rate in ["200Gbps", "100Gbps"] {
        let title = format!("{rate} is not below the rate of h0->s0");
        let at = format!("{rate:?}");
        assert_wrong(&format!("kind = \"rate\"\nrate = {at}"), &title, &at);
    }
    assert_wrong("kind = \"rate\"\nrate = \"99kbps\"", "a port that sends at 99kbps", "\"99kbps\"");
    assert_wrong("kind = \"rate\"", "`faults.0` has no `rate`", "[[faults]]");
}

#[test]
fn wires_that_flap_strangely() {
    let down = "kind = \"down\"\nwire = \"h0-s0\"\n";
    let flap = |flap: &str| wrong(&format!("{down}flap = {{ {flap} }}"));
    for (keys, title) in [
        ("period = \"999ns\"", "a wire that goes down every 999ns"),
        ("period = \"1ms\", down_for = \"1ms\"", "down for 1ms of 1ms"),
        ("period = \"1ms\", down_for = \"0s\"", "down for 0ps of 1ms"),
    ] {
        assert_eq!(flap(keys).0, title);
    }
    let after = format!("{down}reroute_after = \"1us\"");
    assert_wrong(&after, "`reroute_after` without `reroute`", "\"1us\"");
}

#[test]
fn routes_that_cannot_change() {
    let down = "kind = \"down\"\nwire = \"h0-s0\"\nreroute = true";
    let bfc = "[switch]\nbackpressure = { kind = \"bfc\" }";
    let hpcc = "[host]\ntransport = { kind = \"roce-rc\", congestion_control = \"hpcc\" }";
    for (more, part) in [(bfc, "follows flows by their ports"), (hpcc, "stamps of a path")] {
        let (title, at) = wrong_with(down, more);
        assert!(title.contains(part), "{title}");
        assert_eq!(at, "true");
        let without = down.replace("true", "false");
        assert!(parse(&format!("{}[[faults]]\n{without}\n{more}", super::SMALL)).is_ok());
    }
    let leaves = "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 1
host_link = { rate = \"10Gbps\", delay = \"1us\" }\nfabric_link = { rate = \"10Gbps\", delay = \"1us\" }
[[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1kB\"
[[routes]]\nat = \"leaf0\"\nto = \"h1\"\nvia = [\"spine0\"]
[[faults]]\nkind = \"down\"\nwire = \"leaf0-spine1\"\nreroute = true";
    let report = report(leaves);
    assert!(report.contains("has routes of its own"), "{report}");
}

#[test]
fn late_frames_beside_what_counts_on_them() {
    let delay = "kind = \"delay\"\ndelay = \"1us\"";
    let (title, at) = wrong_with(delay, "[results]\ndistributions = true");
    assert_eq!((&*title, &*at), ("`distributions` beside faults that make frames late", "true"));
}

#[test]
fn late_frames_come_back_as_they_are_written() {
    let faults = "[[faults]]\nkind = \"delay\"\ndelay = \"3us\"\njitter = \"700ps\"
[[faults]]\nkind = \"delay\"\nwire = \"h1->*\"\njitter = \"900ms\"\nat = \"1ms\"
[[faults]]\nkind = \"rate\"\nwire = \"s0->h?\"\nrate = \"400Mbps\"\nfor = \"1ms\"";
    let scenario = parse(&format!("{}{faults}", super::SMALL)).unwrap();
    assert!(!scenario.may_reroute());
    let written = scenario.to_toml();
    assert!(
        written.contains("jitter = \"700ps\"") && !written.contains("at = \"0ps\""),
        "{written}"
    );
    let again = Scenario::parse(&written, Path::new("bad.toml"), &[]);
    assert_eq!(again.unwrap_or_else(|error| panic!("{error}")), scenario);
}
