//! Files with invalid values.

use insta::assert_snapshot;

use super::{SMALL, report, report_on, with};

#[test]
fn zero_rate() {
    let text = SMALL.replace("100Gbps", "0Gbps");
    assert_snapshot!(report(&text), @r#"
    error: `topology.host_link.rate`: the rate is zero
     --> bad.toml:5:22
      |
    5 | host_link = { rate = "0Gbps", delay = "1us" }
      |                      ^^^^^^^
      |
      = help: write a rate above zero such as "100Gbps"; units are bps, kbps, Mbps, Gbps, Tbps
    "#);
}

#[test]
fn more_than_ten_hours() {
    assert_snapshot!(report(&format!("duration = \"36001s\"\n{SMALL}")), @r#"
    error: a run of more than 10 hours
     --> bad.toml:1:12
      |
    1 | duration = "36001s"
      |            ^^^^^^^^
      |
      = help: write at most 36000s
    "#);
    let text = format!("duration = \"36000s\"\n{SMALL}");
    assert!(crate::Scenario::parse(&text, std::path::Path::new("good.toml"), &[]).is_ok());
}

#[test]
fn zero_duration() {
    assert_snapshot!(report(&format!("duration = \"0s\"\n{SMALL}")), @r#"
    error: a run of no time
     --> bad.toml:1:12
      |
    1 | duration = "0s"
      |            ^^^^
      |
      = help: write a time such as "20ms"; the run ends earlier when every flow is done
    "#);
}

#[test]
fn unknown_stop() {
    assert_snapshot!(report(&format!("stop = \"deadlok\"\n{SMALL}")), @r#"
    error: `stop` cannot be `deadlok`
     --> bad.toml:1:8
      |
    1 | stop = "deadlok"
      |        ^^^^^^^^^
      |
      = help: did you mean `deadlock`? it is one of `done`, `deadlock` and `window`
    "#);
}

#[test]
fn zero_alpha() {
    let text = "[switch]\nthreshold = { kind = \"dt\", alpha = \"0\" }\n";
    assert_snapshot!(report_on(text), @r#"
    error: `switch.threshold.alpha`: a ratio of 0
      --> bad.toml:13:36
       |
    13 | threshold = { kind = "dt", alpha = "0" }
       |                                    ^^^
       |
       = help: write a ratio above zero such as "1/16", "0.5" or "2"
    "#);
    let text = "[switch]\nthreshold = { kind = \"dt\", alpha = -0.5 }\n";
    assert_snapshot!(report_on(text), @r#"
    error: `switch.threshold.alpha`: `-0.5` is not a ratio of numbers below 2^32
      --> bad.toml:13:36
       |
    13 | threshold = { kind = "dt", alpha = -0.5 }
       |                                    ^^^^
       |
       = help: write a ratio above zero such as "1/16", "0.5" or "2"
    "#);
}

#[test]
fn headroom_beyond_the_buffer() {
    assert_snapshot!(report_on("[switch]\nbuffer = \"100kB\"\n"), @r#"
    error: switch `s0` sets aside 105654B of its 100kB: 96654B of headroom and 9kB of private pools
      --> bad.toml:13:10
       |
    13 | buffer = "100kB"
       |          ^^^^^^^
       |
       = help: it has 3 ports x 1 lossless priorities = 3 ingress queues, each with up to 32218B of headroom (DSH Eq. 1, 3): write a buffer of at least 105654B, or less headroom
    "#);
    let text =
        "[switch]\nlossless = [0, 1, 2, 3, 4]\nheadroom.kind = \"sih\"\nheadroom.bytes = \"2MB\"";
    assert_snapshot!(report_on(text), @r"
    error: switch `s0` sets aside 30045kB of its 16MB: 30MB of headroom and 45kB of private pools
      --> bad.toml:12:1
       |
    12 | [switch]
       | ^^^^^^^^
       |
       = help: it has 3 ports x 5 lossless priorities = 15 ingress queues, each with up to 2MB of headroom (DSH Eq. 1, 3): write a buffer of at least 30045kB, or less headroom (`switch.buffer` is not set)
    ");
}

#[test]
fn a_buffer_that_could_hold_more_packets_than_there_are_descriptors() {
    assert!(with("switch.buffer=1006632960B").is_ok());
    assert!(with("switch.buffer=1006632961B").is_err());
    assert_snapshot!(report_on("[switch]\nbuffer = \"3GB\"\n"), @r#"
    error: a buffer of 3GB
      --> bad.toml:13:10
       |
    13 | buffer = "3GB"
       |          ^^^^^
       |
       = help: write at most "1006632960B", which is 16777216 frames of 60 bytes: a switch has a descriptor for each
    "#);
}

#[test]
fn lossless_priority_beyond_seven() {
    let twice = report_on("[switch]\nlossless = [3, 3]\n");
    assert!(twice.contains("priority 3 comes twice") && twice.contains("bad.toml:13:"), "{twice}");
    assert_snapshot!(report_on("[switch]\nlossless = [3, 8]\n"), @r"
    error: `switch.lossless.1`: there is no priority 8
      --> bad.toml:13:16
       |
    13 | lossless = [3, 8]
       |                ^
       |
       = help: Ethernet has the priorities 0 to 7
    ");
}

#[test]
fn thresholds_upside_down() {
    let text = "[switch]\nthreshold = { kind = \"static\", xoff = \"190kB\", xon = \"200kB\" }\n";
    assert_snapshot!(report_on(text), @r#"
    error: xon (200kB) is above xoff (190kB)
      --> bad.toml:13:54
       |
    13 | threshold = { kind = "static", xoff = "190kB", xon = "200kB" }
       |                                                      ^^^^^^^
       |
       = help: a queue resumes at or below the threshold at which it pauses
    "#);
    let text = "[switch]\necn = { kmin = \"400kB\", kmax = \"100kB\", pmax = 0.2 }\n";
    assert_snapshot!(report_on(text), @r#"
    error: kmin (400kB) is above kmax (100kB)
      --> bad.toml:13:16
       |
    13 | ecn = { kmin = "400kB", kmax = "100kB", pmax = 0.2 }
       |                ^^^^^^^
       |
       = help: marking starts at kmin and is certain above kmax: kmin is the smaller one
    "#);
    let text = "[switch]\necn = { kmin = \"5GB\", kmax = \"5GB\", pmax = 1 }\n";
    assert_snapshot!(report_on(text), @r#"
    error: kmax is 5GB, longer than any queue
      --> bad.toml:13:30
       |
    13 | ecn = { kmin = "5GB", kmax = "5GB", pmax = 1 }
       |                              ^^^^^
       |
       = help: a switch counts it in 32 bits: write a size below "4GiB"
    "#);
    let text = "[switch]\necn = { kmin = \"1kB\", kmax = \"100kB\", pmax = 20 }\n";
    assert_snapshot!(report_on(text), @r#"
    error: `switch.ecn.pmax` is the number 20
      --> bad.toml:13:46
       |
    13 | ecn = { kmin = "1kB", kmax = "100kB", pmax = 20 }
       |                                              ^^
       |
       = help: write a number from 0 to 1 such as 0.2
    "#);
}

/// Returns the report for a fabric with links of 100 and 400 Gbit/s.
fn report_on_two_rates(switch: &str) -> String {
    let bottleneck = "left = 2\nright = 1\nbottleneck = { rate = \"400Gbps\", delay = \"1us\" }";
    let text = SMALL.replace("star", "dumbbell").replace("hosts = 3", bottleneck);
    report(&format!("[switch]\n{switch}\n{text}"))
}

#[test]
fn rates_that_no_link_has_or_that_come_twice() {
    let alpha = |rates: [&str; 2]| {
        let [one, two] = rates.map(|rate| format!("{{ rate = \"{rate}\", alpha = \"1/2\" }}"));
        report_on_two_rates(&format!("threshold = {{ kind = \"dt\", by_rate = [{one}, {two}] }}"))
    };
    assert_snapshot!(alpha(["100Gbps", "40Gbps"]), @r#"
    error: no link has a rate of 40Gbps
     --> bad.toml:2:85
      |
    2 | threshold = { kind = "dt", by_rate = [{ rate = "100Gbps", alpha = "1/2" }, { rate = "40Gbps", alpha = "1/2" }] }
      |                                                                                     ^^^^^^^^
      |
      = help: links have `100Gbps` and `400Gbps`
    "#);
    assert_snapshot!(alpha(["400Gbps", "0.4Tbps"]), @r#"
    error: 400Gbps comes twice
     --> bad.toml:2:85
      |
    2 | threshold = { kind = "dt", by_rate = [{ rate = "400Gbps", alpha = "1/2" }, { rate = "0.4Tbps", alpha = "1/2" }] }
      |                                                                                     ^^^^^^^^^
      |
      = help: write one entry for each rate
    "#);
    let ecn = |rates: [&str; 2]| {
        let [one, two] =
            rates.map(|rate| format!("{{ rate = \"{rate}\", kmin = \"1kB\", kmax = \"2kB\" }}"));
        report_on_two_rates(&format!(
            "ecn = {{ kmin = \"1kB\", kmax = \"2kB\", pmax = 1, by_rate = [{one}, {two}] }}"
        ))
    };
    assert_snapshot!(ecn(["10Gbps", "100Gbps"]), @r#"
    error: no link has a rate of 10Gbps
     --> bad.toml:2:67
      |
    2 | ecn = { kmin = "1kB", kmax = "2kB", pmax = 1, by_rate = [{ rate = "10Gbps", kmin = "1kB", kmax = "2kB" }, { rate = "100Gbps", kmin = ...
      |                                                                   ^^^^^^^^
      |
      = help: links have `100Gbps` and `400Gbps`
    "#);
    assert_snapshot!(ecn(["100Gbps", "100Gbps"]), @r#"
    error: 100Gbps comes twice
     --> bad.toml:2:117
      |
    2 | ecn = { kmin = "1kB", kmax = "2kB", pmax = 1, by_rate = [{ rate = "100Gbps", kmin = "1kB", kmax = "2kB" }, { rate = "100Gbps", kmin =...
      |                                                                                                                     ^^^^^^^^^
      |
      = help: write one entry for each rate
    "#);
}

#[test]
fn thresholds_of_a_rate_that_cannot_be() {
    let alpha = "threshold = { kind = \"dt\", by_rate = [{ rate = \"400Gbps\", alpha = \"0\" }] }";
    assert_snapshot!(report_on_two_rates(alpha), @r#"
    error: `switch.threshold.by_rate.0.alpha`: a ratio of 0
     --> bad.toml:2:67
      |
    2 | threshold = { kind = "dt", by_rate = [{ rate = "400Gbps", alpha = "0" }] }
      |                                                                   ^^^
      |
      = help: write a ratio above zero such as "1/16", "0.5" or "2"
    "#);
    let fixed = "threshold = { kind = \"static\", xoff = \"2kB\", xon = \"1kB\", by_rate = [] }";
    assert_snapshot!(report_on_two_rates(fixed), @r#"
    error: unknown key `by_rate` in `switch.threshold`
     --> bad.toml:2:59
      |
    2 | threshold = { kind = "static", xoff = "2kB", xon = "1kB", by_rate = [] }
      |                                                           ^^^^^^^
      |
      = help: the keys here are `xoff` and `xon`
    "#);
    let ecn = |of_rate: &str| {
        report_on_two_rates(&format!(
            "ecn = {{ kmin = \"1kB\", kmax = \"2kB\", pmax = 1, by_rate = [{{ rate = \"400Gbps\", \
             {of_rate} }}] }}"
        ))
    };
    assert_snapshot!(ecn("kmin = \"3kB\", kmax = \"2kB\""), @r#"
    error: kmin (3kB) is above kmax (2kB)
     --> bad.toml:2:85
      |
    2 | ecn = { kmin = "1kB", kmax = "2kB", pmax = 1, by_rate = [{ rate = "400Gbps", kmin = "3kB", kmax = "2kB" }] }
      |                                                                                     ^^^^^
      |
      = help: marking starts at kmin and is certain above kmax: kmin is the smaller one
    "#);
    assert_snapshot!(ecn("kmin = \"3kB\", kmax = \"4GiB\""), @r#"
    error: kmax is 4294967296B, longer than any queue
     --> bad.toml:2:99
      |
    2 | ecn = { kmin = "1kB", kmax = "2kB", pmax = 1, by_rate = [{ rate = "400Gbps", kmin = "3kB", kmax = "4GiB" }] }
      |                                                                                                   ^^^^^^
      |
      = help: a switch counts it in 32 bits: write a size below "4GiB"
    "#);
    assert_snapshot!(ecn("kmin = \"3kB\""), @r#"
    error: `switch.ecn.by_rate.0` has no `kmax`
     --> bad.toml:2:58
      |
    2 | ecn = { kmin = "1kB", kmax = "2kB", pmax = 1, by_rate = [{ rate = "400Gbps", kmin = "3kB" }] }
      |                                                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: add `kmax`; `xoff schema` describes every key
    "#);
}

#[test]
fn payload_beyond_a_linear_frame() {
    assert_snapshot!(report_on("[host]\npayload = \"4096B\"\n"), @r#"
    error: a payload of 4096B
      --> bad.toml:13:11
       |
    13 | payload = "4096B"
       |           ^^^^^^^
       |
       = help: write "1B" to "3072B": a native XDP program takes a frame as one linear piece of a page
    "#);
}

#[test]
fn pauses_out_of_the_standard() {
    assert_snapshot!(report_on("[switch]\npause_response = \"1us\"\n"), @r#"
    error: a pause response of 1us is longer than 802.1Qbb allows at 100Gbps
      --> bad.toml:13:18
       |
    13 | pause_response = "1us"
       |                  ^^^^^
       |
       = help: it is at most 3840 B at line rate, 307200ps here; "standard" is just that
    "#);
    assert_snapshot!(report_on("[switch]\npause_quanta = 10\npause_refresh = \"100us\"\n"), @r#"
    error: a PAUSE would be refreshed after 100us
      --> bad.toml:14:17
       |
    14 | pause_refresh = "100us"
       |                 ^^^^^^^
       |
       = help: its 10 quanta last 51200ps at 100Gbps: refresh later than at once and earlier than that
    "#);
}
