//! Invalid keys of `switch.lossy`.

use insta::assert_snapshot;

use super::super::report;
use super::with;

/// Returns the report on these keys, one line for `lossy`.
fn report_on(lossy: &str) -> String {
    report(&with(&format!("lossy = {{ {lossy} }}")))
}

#[test]
fn alphas_that_no_switch_has() {
    assert_snapshot!(report_on("kind = \"dt\", alpha = 0"), @r#"
    error: `switch.lossy.alpha`: a ratio of 0
     --> bad.toml:2:32
      |
    2 | lossy = { kind = "dt", alpha = 0 }
      |                                ^
      |
      = help: write a ratio above zero such as "1/16", "0.5" or "2"
    "#);
    assert_snapshot!(report_on("kind = \"bshare\", alpha = \"131073/2\""), @r#"
    error: an alpha of 131073/2
     --> bad.toml:2:36
      |
    2 | lossy = { kind = "bshare", alpha = "131073/2" }
      |                                    ^^^^^^^^^^
      |
      = help: a queue may then hold all that is free: write at most 65536
    "#);
    assert_snapshot!(report_on("kind = \"abm\", first_rtt_alpha = 65537"), @r#"
    error: an alpha of 65537
     --> bad.toml:2:43
      |
    2 | lossy = { kind = "abm", first_rtt_alpha = 65537 }
      |                                           ^^^^^
      |
      = help: a queue may then hold all that is free: write at most 65536
    "#);
    assert_snapshot!(report_on("kind = \"dt\", alphas = [{ priority = 1, alpha = 65537 }]"), @r#"
    error: an alpha of 65537
     --> bad.toml:2:58
      |
    2 | lossy = { kind = "dt", alphas = [{ priority = 1, alpha = 65537 }] }
      |                                                          ^^^^^
      |
      = help: a queue may then hold all that is free: write at most 65536
    "#);
    assert_snapshot!(report_on("kind = \"dt\", alphas = [{ priority = 3, alpha = 1 }]"), @r#"
    error: priority 3 is lossless
     --> bad.toml:2:47
      |
    2 | lossy = { kind = "dt", alphas = [{ priority = 3, alpha = 1 }] }
      |                                               ^
      |
      = help: PFC protects those of `switch.lossless`; `switch.lossy` is for the others
    "#);
    assert_snapshot!(report_on("kind = \"dt\", alphas = [{ priority = 1, alpha = 1 }, { priority = 1, alpha = 2 }]"), @r#"
    error: priority 1 comes twice
     --> bad.toml:2:76
      |
    2 | lossy = { kind = "dt", alphas = [{ priority = 1, alpha = 1 }, { priority = 1, alpha = 2 }] }
      |                                                                            ^
      |
      = help: write one entry for each priority
    "#);
    assert_snapshot!(report_on("kind = \"bshare\", first_rtt_alpha = 64"), @r#"
    error: no lossy packet is marked as one of its flow's first round trip
     --> bad.toml:2:46
      |
    2 | lossy = { kind = "bshare", first_rtt_alpha = 64 }
      |                                              ^^
      |
      = help: add first_rtt_marks = "auto" to `host.transport`, or to the transport of [[flows]] of a lossy priority
    "#);
}

#[test]
fn keys_of_another_kind() {
    assert_snapshot!(report_on("kind = \"dt\", min_bytes = \"1kB\""), @r#"
    error: unknown key `min_bytes` in `switch.lossy`
     --> bad.toml:2:24
      |
    2 | lossy = { kind = "dt", min_bytes = "1kB" }
      |                        ^^^^^^^^^
      |
      = help: the keys here are `alpha`, `alphas`, `pool` and `codel`
    "#);
    assert_snapshot!(report_on("kind = \"cs\", alpha = 1"), @r#"
    error: unknown key `alpha` in `switch.lossy`
     --> bad.toml:2:24
      |
    2 | lossy = { kind = "cs", alpha = 1 }
      |                        ^^^^^
      |
      = help: the keys here are `pool` and `codel`
    "#);
    assert_snapshot!(report_on("kind = \"abm\", min_bytes = \"1kB\""), @r#"
    error: unknown key `min_bytes` in `switch.lossy`
     --> bad.toml:2:25
      |
    2 | lossy = { kind = "abm", min_bytes = "1kB" }
      |                         ^^^^^^^^^
      |
      = help: the keys here are `alpha`, `alphas`, `first_rtt_alpha`, `congested`, `period`, `pool` and `codel`
    "#);
    assert_snapshot!(report_on("kind = \"cs\", period = \"1us\""), @r#"
    error: unknown key `period` in `switch.lossy`
     --> bad.toml:2:24
      |
    2 | lossy = { kind = "cs", period = "1us" }
      |                        ^^^^^^
      |
      = help: the keys here are `pool` and `codel`
    "#);
    assert_snapshot!(report_on("kind = \"red\""), @r#"
    error: `switch.lossy.kind` cannot be `red`
     --> bad.toml:2:18
      |
    2 | lossy = { kind = "red" }
      |                  ^^^^^
      |
      = help: it is one of `dt`, `cs`, `abm`, `bshare`, `fab` and `ib`
    "#);
    assert_snapshot!(report_on("alpha = 1"), @r"
    error: `switch.lossy`: the table has no `kind`
     --> bad.toml:2:9
      |
    2 | lossy = { alpha = 1 }
      |         ^^^^^^^^^^^^^
      |
      = help: `kind` is one of `dt`, `cs`, `abm`, `bshare`, `fab` and `ib`
    ");
    assert_snapshot!(report(&with("lossy_threshold = { alpha = 1 }")), @r"
    error: unknown key `lossy_threshold` in `switch`
     --> bad.toml:2:1
      |
    2 | lossy_threshold = { alpha = 1 }
      | ^^^^^^^^^^^^^^^
      |
      = help: the keys here are `buffer` to `wire_overhead` (26)
    ");
}

#[test]
fn queues_that_are_never_congested_or_always() {
    assert_snapshot!(report_on("kind = \"abm\", congested = { of_threshold = \"11/10\" }"), @r#"
    error: a queue is congested from 11/10 of its threshold on
     --> bad.toml:2:54
      |
    2 | lossy = { kind = "abm", congested = { of_threshold = "11/10" } }
      |                                                      ^^^^^^^
      |
      = help: no queue holds more than the whole: write a ratio up to 1
    "#);
    assert_snapshot!(report_on("kind = \"abm\", congested = { of_buffer = 2 }"), @r#"
    error: a queue is congested from 2 of the buffer on
     --> bad.toml:2:51
      |
    2 | lossy = { kind = "abm", congested = { of_buffer = 2 } }
      |                                                   ^
      |
      = help: no queue holds more than the whole: write a ratio up to 1
    "#);
    assert_snapshot!(report_on("kind = \"abm\", congested = { bytes = \"0B\" }"), @r#"
    error: a congested queue holds no bytes
     --> bad.toml:2:47
      |
    2 | lossy = { kind = "abm", congested = { bytes = "0B" } }
      |                                               ^^^^
      |
      = help: each queue would count as one: write a size such as "28kB"
    "#);
    assert_snapshot!(report_on("kind = \"abm\", congested = { bytes = \"4GiB\" }"), @r#"
    error: a congested queue holds 4294967296B
     --> bad.toml:2:47
      |
    2 | lossy = { kind = "abm", congested = { bytes = "4GiB" } }
      |                                               ^^^^^^
      |
      = help: write a size below "4GiB", such as "28kB"
    "#);
    assert_snapshot!(report_on("kind = \"abm\", congested = { of_threshold = 1, bytes = \"1kB\" }"), @r#"
    error: not one rule for congested queues
     --> bad.toml:2:37
      |
    2 | lossy = { kind = "abm", congested = { of_threshold = 1, bytes = "1kB" } }
      |                                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: write one of `of_threshold`, `of_buffer` and `bytes`
    "#);
    assert_snapshot!(report_on("kind = \"abm\", congested = {}"), @r#"
    error: not one rule for congested queues
     --> bad.toml:2:37
      |
    2 | lossy = { kind = "abm", congested = {} }
      |                                     ^^
      |
      = help: write one of `of_threshold`, `of_buffer` and `bytes`
    "#);
    assert_snapshot!(report_on("kind = \"abm\", congested = \"9/10\""), @r#"
    error: `switch.lossy.congested` is the text "9/10"
     --> bad.toml:2:37
      |
    2 | lossy = { kind = "abm", congested = "9/10" }
      |                                     ^^^^^^
      |
      = help: write a table with its keys
    "#);
}

#[test]
fn periods_that_are_too_short() {
    assert_snapshot!(report_on("kind = \"bshare\", period = \"999ns\""), @r#"
    error: congested queues are counted every 999ns
     --> bad.toml:2:37
      |
    2 | lossy = { kind = "bshare", period = "999ns" }
      |                                     ^^^^^^^
      |
      = help: write "1us" or more, or "round-trip"
    "#);
    assert_snapshot!(report_on("kind = \"bshare\", period = \"rtt\""), @r#"
    error: `switch.lossy.period`: no period is called `rtt`
     --> bad.toml:2:37
      |
    2 | lossy = { kind = "bshare", period = "rtt" }
      |                                     ^^^^^
      |
      = help: write "round-trip", or a time such as "80us"
    "#);
}

#[test]
fn pools_and_queues_that_are_larger_than_the_buffer() {
    assert_snapshot!(report_on("kind = \"cs\", pool = \"16MB\""), @r#"
    error: lossy packets have 16MB for themselves, where switch `s0` has 15894346B left
     --> bad.toml:2:31
      |
    2 | lossy = { kind = "cs", pool = "16MB" }
      |                               ^^^^^^
      |
      = help: that is its buffer without headroom and private pools, of which something has to remain for the shared pool: write less, or "shared"
    "#);
    assert_snapshot!(report_on("kind = \"cs\", pool = \"0B\""), @r#"
    error: `switch.lossy.pool`: a pool of no bytes
     --> bad.toml:2:31
      |
    2 | lossy = { kind = "cs", pool = "0B" }
      |                               ^^^^
      |
      = help: write a size above zero, or "shared", or make each priority lossless
    "#);
    assert_snapshot!(report_on("kind = \"bshare\", pool = \"1MB\", min_bytes = \"1000001B\""), @r#"
    error: a queue that holds less than 1000001B drops nothing, and lossy packets of switch `s0` have 1MB
     --> bad.toml:2:54
      |
    2 | lossy = { kind = "bshare", pool = "1MB", min_bytes = "1000001B" }
      |                                                      ^^^^^^^^^^
      |
      = help: no packet would ever be dropped for its wait: write less
    "#);
    assert_snapshot!(report_on("kind = \"bshare\", min_bytes = \"16MB\""), @r#"
    error: a queue that holds less than 16MB drops nothing, and lossy packets of switch `s0` have 15894346B
     --> bad.toml:2:40
      |
    2 | lossy = { kind = "bshare", min_bytes = "16MB" }
      |                                        ^^^^^^
      |
      = help: no packet would ever be dropped for its wait: write less
    "#);
}

#[test]
fn settings_that_nothing_can_come_of() {
    for (keys, title, help) in [
        ("kind = \"cs\", pool = \"share\"", "no pool is called `share`", "write \"shared\""),
        ("kind = \"cs\", pool = \"1073B\"", "1073B for packets of up to 1074B", "write more"),
        (
            "kind = \"fab\", flow_table = { idle = \"999ps\" }",
            "a flow that is silent for 999ps",
            "write \"1ns\" or more",
        ),
        (
            "kind = \"dt\", codel = { target = \"2us\", interval = \"1us\" }",
            "a target of 2us, above the interval of 1us",
            "write a part of it",
        ),
    ] {
        let report = report_on(keys);
        assert!(report.contains(title) && report.contains(help), "{keys}: {report}");
        assert!(report.contains("bad.toml:2"), "{keys}: {report}");
    }
    for keys in [
        "kind = \"cs\", pool = \"1074B\"",
        "kind = \"fab\", flow_table = { idle = \"1ns\" }",
        "kind = \"dt\", codel = { target = \"1us\", interval = \"1us\" }",
    ] {
        super::good(&format!("lossy = {{ {keys} }}"));
    }
}

/// PFC protects the only flow with marks; its ACKs are lossy.
#[test]
fn marks_of_lossless_flows_are_none_but_for_their_acks() {
    let keys = |lossless: u8, marks: &str| {
        let lossy = "lossy = { kind = \"abm\", first_rtt_alpha = 64 }";
        format!("lossless = [{lossless}]\n{lossy}\n{marks}")
    };
    let report = report(&with(&keys(3, super::MARKS)));
    assert!(report.contains("no lossy packet is marked"), "{report}");
    assert!(report.contains("give them one that `switch.lossless` does not name"), "{report}");
    super::good(&keys(5, super::MARKS));
    let acks = super::MARKS.replace("\"auto\"", "\"auto\", first_rtt_acks = true");
    super::good(&keys(3, &acks));
}

/// Under DT the limit is half of a pool of one packet; BSHARE admits it.
#[test]
fn a_threshold_below_a_packet_is_reported() {
    let warnings = |keys: &str| {
        super::good(&format!("lossless = [5]\nlossy = {{ {keys}, pool = \"1074B\" }}")).warnings()
    };
    let reported = warnings("kind = \"dt\", alpha = \"1/2\"").join("\n");
    let expected = "priority 3 and 1074B are always dropped by switch `s0`, where alpha 1/2 leaves a queue at most 537B";
    assert!(reported.contains(expected), "{reported}");
    for keys in
        ["kind = \"dt\"", "kind = \"bshare\", alpha = \"1/2\"", "kind = \"fab\", alpha = \"1/2\""]
    {
        assert!(!warnings(keys).join("").contains("always dropped"), "{keys}");
    }
}

#[test]
fn flows_that_fab_and_ib_cannot_count() {
    assert_snapshot!(report_on("kind = \"fab\", flow_table = { flows = 1000 }"), @r#"
    error: a table of 1000 flows
     --> bad.toml:2:48
      |
    2 | lossy = { kind = "fab", flow_table = { flows = 1000 } }
      |                                                ^^^^
      |
      = help: write a power of two from 4 to 1048576
    "#);
    assert_snapshot!(report_on("kind = \"ib\", flow_table = { flows = 2097152 }"), @r#"
    error: a table of 2097152 flows
     --> bad.toml:2:47
      |
    2 | lossy = { kind = "ib", flow_table = { flows = 2097152 } }
      |                                               ^^^^^^^
      |
      = help: write a power of two from 4 to 1048576
    "#);
    assert_snapshot!(report_on("kind = \"fab\", short_bytes = \"0B\""), @r#"
    error: a short flow of no bytes
     --> bad.toml:2:39
      |
    2 | lossy = { kind = "fab", short_bytes = "0B" }
      |                                       ^^^^
      |
      = help: no flow would be short: write a size such as "21kB", or kind = "dt"
    "#);
    assert_snapshot!(report_on("kind = \"fab\", short_alpha = 65537"), @r#"
    error: an alpha of 65537
     --> bad.toml:2:39
      |
    2 | lossy = { kind = "fab", short_alpha = 65537 }
      |                                       ^^^^^
      |
      = help: a queue may then hold all that is free: write at most 65536
    "#);
    assert_snapshot!(report_on("kind = \"ib\", prioritisation = { priority = 3 }"), @r#"
    error: priority 3 is lossless
     --> bad.toml:2:54
      |
    2 | lossy = { kind = "ib", prioritisation = { priority = 3 } }
      |                                                      ^
      |
      = help: lossy packets join queues of lossy priorities only: name another one
    "#);
    assert_snapshot!(report_on("kind = \"ib\", prioritisation = { priority = 2, packets = 0 }"), @r#"
    error: no packet is prioritised
     --> bad.toml:2:67
      |
    2 | lossy = { kind = "ib", prioritisation = { priority = 2, packets = 0 } }
      |                                                                   ^
      |
      = help: write 1 or more, or leave `prioritisation` out
    "#);
    assert_snapshot!(report_on("kind = \"ib\", fair_dropping = { shares = \"off\" }"), @r#"
    error: IB without fair dropping and prioritisation
     --> bad.toml:2:51
      |
    2 | lossy = { kind = "ib", fair_dropping = { shares = "off" } }
      |                                                   ^^^^^
      |
      = help: add `prioritisation`, or write kind = "dt"
    "#);
    assert_snapshot!(report_on("kind = \"ib\", fair_dropping = { window = \"1ps\" }"), @r#"
    error: a window of less than a nanosecond
     --> bad.toml:2:51
      |
    2 | lossy = { kind = "ib", fair_dropping = { window = "1ps" } }
      |                                                   ^^^^^
      |
      = help: write a time such as "50us"
    "#);
    assert_snapshot!(report_on("kind = \"ib\", fair_dropping = { windows = 0 }"), @r#"
    error: no window is compared with the fair share
     --> bad.toml:2:52
      |
    2 | lossy = { kind = "ib", fair_dropping = { windows = 0 } }
      |                                                    ^
      |
      = help: nothing would be above its share: write 1 or more, or shares = "off"
    "#);
    assert_snapshot!(report_on("kind = \"ib\", fair_dropping = { desired = \"4GiB\" }"), @r#"
    error: a queue of 4294967296B
     --> bad.toml:2:52
      |
    2 | lossy = { kind = "ib", fair_dropping = { desired = "4GiB" } }
      |                                                    ^^^^^^
      |
      = help: write a size below "4GiB", such as "100kB"
    "#);
    assert_snapshot!(report_on("kind = \"dt\", codel = { interval = \"0s\" }"), @r#"
    error: an interval of 0ps
     --> bad.toml:2:45
      |
    2 | lossy = { kind = "dt", codel = { interval = "0s" } }
      |                                             ^^^^
      |
      = help: write a time from "1ns" to "1000s", such as "100ms"
    "#);
}

#[test]
fn numbers_of_ib_that_cannot_be_compared() {
    for (keys, title) in [
        ("windows = 1001", "more windows than can be compared"),
        ("first_share = \"4GiB\"", "a share of"),
        ("fall = 1001", "a share that changes faster than any queue"),
        ("rise = \"2001/2\"", "a share that changes faster than any queue"),
    ] {
        let report = report_on(&format!("kind = \"ib\", fair_dropping = {{ {keys} }}"));
        assert!(report.contains(title) && report.contains("bad.toml:2"), "{keys}: {report}");
    }
    for keys in ["windows = 1000", "fall = 1000, rise = \"1/1000\"", "first_share = \"4GB\""] {
        super::good(&format!("lossy = {{ kind = \"ib\", fair_dropping = {{ {keys} }} }}"));
    }
}

/// Less than the whole buffer always waits behind a packet.
#[test]
fn min_bytes_of_the_whole_buffer_never_drop() {
    let keys = |bytes: u64| {
        format!(
            "lossless = []\nbuffer = \"1MB\"\nlossy = {{ kind = \"bshare\", min_bytes = \"{bytes}B\" }}"
        )
    };
    super::good(&keys(999_999));
    assert!(report(&with(&keys(1_000_000))).contains("drops nothing"));
}
