//! `switch.lossy`.

use fabric_core::lossy::congestion::Congestion;
use fabric_core::lossy::{
    CoDel, FairDropping, FairShares, FlowTable, Kind, Prioritisation, Ratio, Settings,
};
use fabric_core::priority::Priority;
use insta::assert_snapshot;
use topology::SwitchId;
use units::{Bytes, Nanos};

use super::{SMALL, parse, report};
use crate::Scenario;

/// Marks packets of first round trips.
const MARKS: &str = "[host]\ntransport = { kind = \"roce-rc\", first_rtt_marks = \"auto\" }\n";

fn with(keys: &str) -> String {
    format!("[switch]\n{keys}\n{SMALL}")
}

fn good(keys: &str) -> Scenario {
    let scenario = parse(&with(keys)).unwrap_or_else(|error| panic!("{error}"));
    let written = scenario.to_toml();
    let again = parse(&written).unwrap_or_else(|error| panic!("{error}\n{written}"));
    assert_eq!(again, scenario, "{written}");
    scenario
}

const fn ratio(numerator: u32, denominator: u32) -> Ratio {
    Ratio { numerator, denominator }
}

const NINE_TENTHS: Congestion = Congestion::OfThreshold(ratio(9, 10));

#[test]
fn defaults_are_dt_with_alpha_1_in_the_shared_pool() {
    let plain = parse(SMALL).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(plain.lossy_settings(), Settings::default());
    assert_eq!(good("lossy = { kind = \"dt\" }"), plain);
    assert_eq!(plain.buffer_pools(SwitchId(0)).lossy, Bytes(0));
    assert_eq!(plain.lossy_period(), None);
    let cs = good("lossy = { kind = \"cs\" }");
    assert_eq!(
        cs.lossy_settings(),
        Settings { kind: Kind::CompleteSharing, ..Settings::default() }
    );
}

/// There and back over two links, 1 us each, with 1098 B on the wire at 80 ps a byte: 4 x 1.08784 us, rounded up.
#[test]
fn abm_and_bshare_count_once_in_the_longest_round_trip() {
    let period = Some(Nanos(4352));
    let abm = Settings { kind: Kind::Active(NINE_TENTHS), period, ..Settings::default() };
    assert_eq!(good("lossy = { kind = \"abm\" }").lossy_settings(), abm);
    let kind = Kind::Bshare { congestion: NINE_TENTHS, least_bytes: Bytes(0) };
    let bshare = Settings { kind, period, ..Settings::default() };
    assert_eq!(good("lossy = { kind = \"bshare\" }").lossy_settings(), bshare);
}

#[test]
fn every_key_is_heard() {
    let keys = "lossless = [3]\nlossy = { kind = \"bshare\", alpha = \"1/2\", alphas = [{ priority = 4, alpha = \"1/8\" }], \
                first_rtt_alpha = 1024, min_bytes = \"3kB\", congested = { of_buffer = \"4/5\" }, period = \"80us\", \
                pool = \"2MB\" }";
    let scenario = good(&format!("{keys}\n{MARKS}"));
    let of = scenario.lossy_settings();
    let congestion = Congestion::OfBuffer(ratio(4, 5));
    assert_eq!(of.kind, Kind::Bshare { congestion, least_bytes: Bytes(3000) });
    let mut alphas = [ratio(1, 2); 8];
    alphas[4] = ratio(1, 8);
    assert_eq!(of.alphas, alphas);
    assert_eq!(of.first_alphas, [ratio(1024, 1); 8]);
    assert_eq!(of.period, Some(Nanos(80_000)));
    let (own, plain) = (scenario.buffer_pools(SwitchId(0)), good("").buffer_pools(SwitchId(0)));
    assert_eq!((own.lossy, own.of_lossy()), (Bytes(2_000_000), Bytes(2_000_000)));
    assert_eq!(own.shared, Bytes(plain.shared.0 - 2_000_000));
    assert_eq!(plain.of_lossy(), plain.shared);

    let keys = "lossy = { kind = \"abm\", congested = { bytes = \"28kB\" }, alphas = [{ priority = 0, alpha = 2 }] }";
    let of = good(keys).lossy_settings();
    assert_eq!(of.kind, Kind::Active(Congestion::Bytes(28_000)));
    assert_eq!(of.first_alphas, of.alphas);
    assert_eq!((of.alphas[0], of.alphas[1]), (ratio(2, 1), Ratio::ONE));
}

#[test]
fn fab_and_ib_have_the_simulators_parameters_and_all_kinds_may_have_codel() {
    let fab = good("lossy = { kind = \"fab\" }").lossy_settings();
    let (short_bytes, flows) = (Bytes(21_000), FlowTable::DEFAULT);
    assert_eq!(fab.kind, Kind::FlowAware { short_bytes, flows });
    assert_eq!((fab.alphas, fab.first_alphas), ([Ratio::ONE; 8], [ratio(1024, 1); 8]));
    let keys = "lossy = { kind = \"fab\", short_alpha = 8, short_bytes = \"1kB\", flow_table = { flows = 8, idle = \"1ms\" } }";
    let (short_bytes, flows) = (Bytes(1000), FlowTable { flows: 8, idle: Nanos(1_000_000) });
    assert_eq!(good(keys).lossy_settings().kind, Kind::FlowAware { short_bytes, flows });

    let of = |fair_dropping, prioritisation| Kind::Intelligent {
        fair_dropping,
        prioritisation,
        flows: FlowTable::DEFAULT,
    };
    let ib = |keys: &str| good(&format!("lossy = {{ kind = \"ib\", {keys} }}")).lossy_settings();
    assert_eq!(ib("alpha = 1").kind, of(Some(FairDropping::DEFAULT), None));
    let keys = "fair_dropping = { shares = \"elephants\", elephant_bytes = \"1MB\", window = \"1us\", windows = 2, \
                first_share = \"3B\", desired = \"4B\", fall = 5, rise = 6, min_bytes = \"7B\" }";
    let fair = FairDropping {
        shares: FairShares::Elephants(Bytes(1_000_000)),
        window: Nanos(1000),
        windows: 2,
        first_share: Bytes(3),
        desired: Bytes(4),
        fall: ratio(5, 1),
        rise: ratio(6, 1),
        least_bytes: Bytes(7),
    };
    assert_eq!(ib(keys).kind, of(Some(fair), None));
    let keys = "fair_dropping = { shares = \"off\" }, prioritisation = { priority = 5 }";
    let first = Prioritisation { packets: 72, priority: Priority::new(5) };
    assert_eq!(ib(keys).kind, of(None, Some(first)));

    let rfc = CoDel { target: Nanos(5_000_000), interval: Nanos(100_000_000) };
    for kind in ["dt", "cs", "abm", "bshare", "fab", "ib"] {
        let with =
            |codel| good(&format!("lossy = {{ kind = \"{kind}\"{codel} }}")).lossy_settings();
        assert_eq!((with("").codel, with(", codel = {}").codel), (None, Some(rfc)), "{kind}");
    }
    let keys = "lossy = { kind = \"cs\", codel = { target = \"10us\", interval = \"80us\" } }";
    let own = CoDel { target: Nanos(10_000), interval: Nanos(80_000) };
    assert_eq!(good(keys).lossy_settings().codel, Some(own));
}

/// A switch is not asked more often than once in a microsecond.
#[test]
fn a_period_is_a_microsecond_at_least() {
    let fast = "[switch]\nlossy = { kind = \"abm\" }\n[host]\npayload = \"64B\"\n[topology]\nkind = \"star\"\nhosts = 2
host_link = { rate = \"8Tbps\", delay = \"1ns\" }\n[[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1kB\"";
    let scenario = parse(fast).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.lossy_settings().period, Some(Nanos(1000)));
}

/// Hosts of a live fabric, or around a switch that stands alone, may mark what they like.
#[test]
fn first_round_trips_need_marks_only_where_hosts_are_known() {
    let keys = with("lossy = { kind = \"abm\", first_rtt_alpha = 64 }");
    let live = Scenario::parse_live(&keys, std::path::Path::new("live.toml"), &[]);
    assert!(live.is_ok());
    assert!(parse(&keys).is_err());
}

#[test]
fn settings_that_do_nothing_are_told() {
    let warnings = |keys: &str| good(keys).warnings_of_lossy();
    assert_eq!(warnings("lossless = [3]"), [""; 0]);
    let told = warnings("lossy = { kind = \"cs\" }");
    assert!(told.len() == 1 && told[0].contains("no flow has a lossy priority"), "{told:?}");
    let told = warnings("lossless = [0, 1, 2, 3, 4, 5, 6, 7]\nlossy = { kind = \"cs\" }");
    assert!(told.len() == 1 && told[0].contains("every priority is lossless"), "{told:?}");
    assert_eq!(warnings("lossless = []\nlossy = { kind = \"cs\" }"), [""; 0]);
}

/// The report on these keys, a line for `lossy`.
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
      = help: write a ratio above zero such as "1/16" or "2"
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
    error: no host marks packets of a flow's first round trip
     --> bad.toml:2:46
      |
    2 | lossy = { kind = "bshare", first_rtt_alpha = 64 }
      |                                              ^^
      |
      = help: add first_rtt_marks = "auto" to `host.transport`, or to the transport of some [[flows]]
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
      = help: the keys here are `buffer`, `ports`, `private_per_queue`, `private_fill`, `lossless`, `threshold`, `headroom`, `backpressure`, `ecn`, `scheduler`, `flow_queues`, `control_priority`, `thresholds`, `lossy`, `pause_quanta`, `pause_refresh`, `resume_test`, `pause_response`, `watchdog`, `device_queue`, `telemetry_steps` and `wire_overhead`
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
    error: `switch.lossy.period`: `rtt` is not a time
     --> bad.toml:2:37
      |
    2 | lossy = { kind = "bshare", period = "rtt" }
      |                                     ^^^^^
      |
      = help: write a time such as "10us"; units are ps, ns, us, ms, s
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
