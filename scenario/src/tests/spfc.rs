//! `switch.threshold` for SPFC and its baselines.

use fabric_core::scheme::{SchemeSettings, spfc};
use insta::assert_snapshot;
use topology::SwitchId;
use units::{BitsPerSecond, Bytes, Nanos};

use super::{SMALL, parse, report};
use crate::ratio::Ratio;
use crate::{Scenario, Threshold};

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

fn settings(scenario: &Scenario) -> spfc::Settings {
    match scenario.scheme(SwitchId(0)) {
        SchemeSettings::Spfc(settings) => settings,
        other => panic!("{other:?}"),
    }
}

#[test]
fn spfc_has_the_papers_defaults_and_four_round_trips_of_the_longest_path() {
    let plain = good("scheme = { kind = \"spfc\" }");
    let of = settings(&plain);
    // Both ways over two links, 1 us each, with 1098 B on the wire at 80 ps per byte: 4 x 4 x 1.08784 us.
    assert_eq!(of.period, Nanos(17_406));
    assert_eq!(of.options.per, spfc::StateOf::Port);
    assert_eq!(of.threshold, spfc::Threshold::Part { numerator: 5, denominator: 1 });
    assert_eq!(of.overhead, Bytes(24));
    let dt = plain.switch.threshold.dt().expect("normal ports have DT");
    assert_eq!((dt.alpha, dt.xon_offset), (Some(Ratio::new(2, 1)), Bytes(0)));
    assert_eq!(plain.static_xoff(SwitchId(0)), Bytes(0));
    assert_eq!(plain.warnings_of_scheme(), [""; 0]);
}

#[test]
fn every_key_of_spfc_is_heard() {
    let scenario = good(
        "threshold = { kind = \"dt\", alpha = 1, xon_offset = \"3kB\" }\n\
         scheme = { kind = \"spfc\", k_spfc = \"9/2\", period = \"80us\", state_of = \"queue\" }",
    );
    let of = settings(&scenario);
    assert_eq!((of.period, of.options.per), (Nanos(80_000), spfc::StateOf::Queue));
    assert_eq!(of.threshold, spfc::Threshold::Part { numerator: 9, denominator: 2 });
    assert_eq!(scenario.switch.threshold.xon_offset(), Bytes(3000));
    let scenario = good("scheme = { kind = \"spfc\", counting_number = \"200kB\" }");
    assert_eq!(settings(&scenario).threshold, spfc::Threshold::Bytes(Bytes(200_000)));
    let adaptive = good("headroom = { kind = \"adaptive\" }\nscheme = { kind = \"spfc\" }");
    assert_eq!(settings(&adaptive).period, Nanos(17_406));
}

/// A detour over six links, by the route of a flow or of a pair of hosts.
#[test]
fn the_longest_path_may_be_that_of_one_flow() {
    const FABRIC: &str = "[switch]\nscheme = { kind = \"spfc\" }\n[topology]\nkind = \"leaf-spine\"\n\
        leaves = 3\nspines = 2\nhosts_per_leaf = 2\nhost_link = { rate = \"10Gbps\", delay = \"1us\" }\n\
        fabric_link = { rate = \"10Gbps\", delay = \"1us\" }\n\
        [[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h2\"\nbytes = \"1kB\"\n";
    let period = |frames: &str| {
        let route = |(at, via): (&str, &str)| {
            format!("[[routes]]\nat = \"{at}\"\n{frames}\nvia = [\"{via}\"]\n")
        };
        let detour = [("leaf0", "spine0"), ("spine0", "leaf2"), ("leaf2", "spine1")];
        let routes = if frames.is_empty() { String::new() } else { detour.map(route).concat() };
        let scenario = parse(&format!("{FABRIC}{routes}"));
        settings(&scenario.unwrap_or_else(|error| panic!("{error}"))).period
    };
    // 1 us, and 1098 B on the wire at 800 ps each, over four links or six: 4 x 2 x 4 x 1.8784 us.
    assert_eq!(period(""), Nanos(60_109));
    assert_eq!(period("flows = \"one\""), Nanos(90_164));
    assert_eq!(period("from = \"h0\"\nto = \"h2\""), Nanos(90_164));
}

/// Ports also have states under DSH.
#[test]
fn spfc_goes_with_the_headroom_of_dsh() {
    let dsh_keys = "kind = \"dsh\", shared_headroom = false";
    let scenario = good(&format!("scheme = {{ {dsh_keys}, victims = {{ k_spfc = 4 }} }}"));
    let SchemeSettings::Dsh(dsh) = scenario.scheme(SwitchId(0)) else { panic!("DSH") };
    assert!(dsh.options.victims && !dsh.options.shared_headroom);
    assert_eq!(dsh.spfc.threshold, spfc::Threshold::Part { numerator: 4, denominator: 1 });
    let plain = good(&format!("scheme = {{ {dsh_keys} }}"));
    let SchemeSettings::Dsh(dsh) = plain.scheme(SwitchId(0)) else { panic!("DSH") };
    assert!(!dsh.options.victims);
}

/// ST: B / N for each port.
#[test]
fn equal_shares_divide_the_shared_pool_among_ports_and_lossless_priorities() {
    for (keys, queues) in [("", 3), ("lossless = [3, 4]\n", 6), ("ports = 32\n", 32)] {
        let keys = format!("{keys}threshold = {{ kind = \"equal-shares\", xon_offset = \"3kB\" }}");
        let scenario = good(&keys);
        let Bytes(shared) = scenario.buffer_pools(SwitchId(0)).shared;
        assert_eq!(scenario.static_xoff(SwitchId(0)), Bytes(shared / queues), "{keys}");
        assert_eq!(scenario.switch.threshold.xon_offset(), Bytes(3000));
        assert_eq!(scenario.scheme(SwitchId(0)), SchemeSettings::default());
        assert_eq!(scenario.switch.threshold.alpha(BitsPerSecond(1)), None);
    }
    let fixed = good("threshold = { kind = \"static\", xoff = \"9kB\", xon = \"7kB\" }");
    assert_eq!(fixed.static_xoff(SwitchId(0)), Bytes(9000));
    assert_eq!(fixed.switch.threshold.xon_offset(), Bytes(2000));
    assert!(matches!(fixed.switch.threshold, Threshold::Static { .. }));
}

#[test]
fn a_period_or_a_counting_number_that_makes_little_sense_is_reported() {
    let reported =
        |keys: &str| good(&format!("scheme = {{ kind = \"spfc\", {keys} }}")).warnings_of_scheme();
    assert_snapshot!(reported("period = \"10us\"").join("\n"), @r#"
    SPFC counts departures for 10us, which is less than 4 round trips of the longest path (17405ns): the count then varies with the bursts of senders; write a longer `switch.scheme.period`, or leave it out
    "#);
    assert_snapshot!(reported("counting_number = \"300kB\"").join("\n"), @r#"
    ports of 100Gbps never send 300kB in 17406ns, so none of them is ever a victim: write a smaller `switch.scheme.counting_number`, or `k_spfc` instead
    "#);
    assert_eq!(reported("period = \"18us\", k_spfc = 1"), [""; 0]);
    assert_snapshot!(reported("counting_number = \"1B\"").join("\n"), @r#"
    a port of 100Gbps is a victim with 1B in 17406ns, which is less than one packet (1098B): each port that packets depart from is one; write a larger `switch.scheme.counting_number`, or a smaller `k_spfc`
    "#);
    assert_eq!(reported("k_spfc = 4000000000").len(), 1);
    assert_snapshot!(reported("period = \"86400s\"").join("\n"), @r#"
    ports of 100Gbps cannot send 216TB before the run ends at 1s, so none of them is ever a victim: write a shorter `switch.scheme.period`
    "#);
    let text = with("scheme = { kind = \"spfc\", counting_number = \"1B\" }");
    let all = parse(&text).unwrap_or_else(|error| panic!("{error}")).warnings();
    assert_eq!(all.iter().filter(|warning| warning.contains("1B")).count(), 1, "{all:?}");
}

#[test]
fn warnings_about_victims_of_dsh_name_their_table() {
    for (keys, part) in [
        ("period = \"10us\"", "write a longer `switch.scheme.victims.period`"),
        ("period = \"86400s\"", "write a shorter `switch.scheme.victims.period`"),
        ("counting_number = \"300kB\"", "write a smaller `switch.scheme.victims.counting_number`"),
        ("counting_number = \"1B\"", "write a larger `switch.scheme.victims.counting_number`"),
    ] {
        let scenario = good(&format!("scheme = {{ kind = \"dsh\", victims = {{ {keys} }} }}"));
        let warnings = scenario.warnings_of_scheme();
        assert!(warnings.len() == 1 && warnings[0].contains(part), "{keys}: {warnings:?}");
    }
}

/// Links in a chain, with a delay of a day each.
#[test]
fn a_default_period_of_more_than_a_day_is_refused() {
    for switches in [40, 150] {
        let nodes: Vec<String> = (0..switches).map(|number| format!("s{number}")).collect();
        let ends = ["h0".to_owned()].into_iter().chain(nodes.clone()).chain(["h1".to_owned()]);
        let ends: Vec<String> = ends.collect();
        let link = |ends: &[String]| {
            let [a, b] = [&ends[0], &ends[1]];
            format!("{{ a = \"{a}\", b = \"{b}\", rate = \"100Gbps\", delay = \"86400s\" }}")
        };
        let links: Vec<String> = ends.windows(2).map(link).collect();
        let text = |period: &str| {
            format!(
                "[switch]\nheadroom = {{ kind = \"sih\", bytes = \"9kB\" }}\n\
                 scheme = {{ kind = \"spfc\"{period} }}\n[topology]\nkind = \"custom\"\n\
                 hosts = [\"h0\", \"h1\"]\nswitches = {nodes:?}\nlinks = [{}]\n\
                 [[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"9kB\"\n",
                links.join(", ")
            )
        };
        let reported = report(&text(""));
        assert!(reported.contains("SPFC's period is longer than a day"), "{reported}");
        assert!(reported.contains("write a `period`"), "{reported}");
        assert!(parse(&text(", period = \"1ms\"")).is_ok());
    }
}

/// 1,018,000 B less six times 166,666 B of headroom and 3 kB of private pool leaves 4 B for 6 queues.
#[test]
fn shares_of_no_byte_are_refused_where_the_buffer_is() {
    let reported = report(&with(
        "lossless = [3, 4]\nbuffer = \"1018kB\"\nheadroom = { kind = \"sih\", bytes = \"166666B\" }\n\
         threshold = { kind = \"equal-shares\" }",
    ));
    assert_snapshot!(reported, @r#"
    error: switch `s0` has 4B of shared pool for 6 ingress queues
     --> bad.toml:3:10
      |
    3 | buffer = "1018kB"
      |          ^^^^^^^^
      |
      = help: no queue would have a share: write a larger buffer, or less headroom
    "#);
}

#[test]
fn what_spfc_cannot_be_is_an_error() {
    let wrong = |keys: &str| report(&with(&format!("scheme = {{ kind = \"spfc\", {keys} }}")));
    assert_snapshot!(wrong("k_spfc = \"1/2\""), @r#"
    error: a k_spfc of 1/2
     --> bad.toml:2:36
      |
    2 | scheme = { kind = "spfc", k_spfc = "1/2" }
      |                                    ^^^^^
      |
      = help: no port could send as much, so none would be a victim: write 1 or more
    "#);
    assert_snapshot!(wrong("k_spfc = 5, counting_number = \"9kB\""), @r#"
    error: two ways to a counting number
     --> bad.toml:2:57
      |
    2 | scheme = { kind = "spfc", k_spfc = 5, counting_number = "9kB" }
      |                                                         ^^^^^
      |
      = help: write this or `k_spfc`, which makes one for each rate
    "#);
    assert_snapshot!(wrong("counting_number = \"0B\""), @r#"
    error: a counting number of no bytes
     --> bad.toml:2:45
      |
    2 | scheme = { kind = "spfc", counting_number = "0B" }
      |                                             ^^^^
      |
      = help: every port would be a victim: write a size such as "200kB"
    "#);
    assert_snapshot!(wrong("period = \"0us\""), @r#"
    error: a period of less than a nanosecond
     --> bad.toml:2:36
      |
    2 | scheme = { kind = "spfc", period = "0us" }
      |                                    ^^^^^
      |
      = help: a switch counts nanoseconds: write a time such as "80us"
    "#);
    assert_snapshot!(wrong("xoff = \"9kB\""), @r#"
    error: unknown key `xoff` in `switch.scheme`
     --> bad.toml:2:27
      |
    2 | scheme = { kind = "spfc", xoff = "9kB" }
      |                           ^^^^
      |
      = help: the keys here are `k_spfc`, `counting_number`, `period` and `state_of`
    "#);
    let spfc = "scheme = { kind = \"spfc\" }";
    let fixed = "threshold = { kind = \"equal-shares\" }";
    assert_snapshot!(report(&with(&format!("{spfc}\n{fixed}"))), @r#"
    error: SPFC with fixed thresholds
     --> bad.toml:3:13
      |
    3 | threshold = { kind = "equal-shares" }
      |             ^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: normal ports have dynamic thresholds: write threshold = { kind = "dt" }
    "#);
    let queues = "scheme = { kind = \"dsh\", victims = { state_of = \"queue\" } }";
    assert_snapshot!(report(&with(queues)), @r#"
    error: unknown key `state_of` in `switch.scheme.victims`
     --> bad.toml:2:38
      |
    2 | scheme = { kind = "dsh", victims = { state_of = "queue" } }
      |                                      ^^^^^^^^
      |
      = help: the keys here are `k_spfc`, `counting_number` and `period`
    "#);
    let none = "scheme = { kind = \"dsh\", victims = { k_spfc = \"1/2\" } }";
    assert_snapshot!(report(&with(none)), @r#"
    error: a k_spfc of 1/2
     --> bad.toml:2:47
      |
    2 | scheme = { kind = "dsh", victims = { k_spfc = "1/2" } }
      |                                               ^^^^^
      |
      = help: no port could send as much, so none would be a victim: write 1 or more
    "#);
    let shares = "threshold = { kind = \"equal-shares\", xon_offset = \"16MB\" }";
    assert_snapshot!(report(&with(shares)), @r#"
    error: xon_offset (16MB) is as large as an ingress queue's share of switch `s0` (5298115B)
     --> bad.toml:2:51
      |
    2 | threshold = { kind = "equal-shares", xon_offset = "16MB" }
      |                                                   ^^^^^^
      |
      = help: the shared pool is divided evenly: write a smaller offset, or a larger buffer
    "#);
}
