//! `switch.headroom`.

use insta::assert_snapshot;
use topology::SwitchId;
use units::{Bytes, Picos};

use super::{SMALL, report_on};
use crate::ratio::Ratio;
use crate::{Dsh, Estimation, Headroom, LeftShift, RightShift, Scenario, Scheme};

fn parse(text: &str) -> Scenario {
    super::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn dsh_has_the_papers_defaults() {
    let scenario = parse(&format!("{SMALL}[switch]\nscheme = {{ kind = \"dsh\" }}\n"));
    let expected = Dsh {
        gradient_weight: RightShift::within(Ratio::new(1, 4)),
        deviation_weight: RightShift::within(Ratio::new(1, 4)),
        deviation_gain: LeftShift::within(Ratio::new(4, 1)),
        single_queue_window: Picos(10_000_000_000),
        port_xon_offset: Bytes(0),
        shared_headroom: true,
        insurance_headroom: true,
        estimation: Estimation::Practical,
        victims: None,
    };
    assert_eq!(scenario.switch.scheme, Scheme::Dsh(expected));
}

#[test]
fn every_key_of_dsh() {
    let text = r#"[switch]
lossless = [1, 2, 3]
headroom = { kind = "sih", bytes = "10kB" }
scheme = { kind = "dsh", gradient_weight = "1/8", deviation_weight = 1, deviation_gain = 8,
             single_queue_window = "1ms", port_xon_offset = "2kB", shared_headroom = false,
             insurance_headroom = false, estimation = "conceptual" }
"#;
    let scenario = parse(&format!("{SMALL}{text}"));
    let expected = Dsh {
        gradient_weight: RightShift::within(Ratio::new(1, 8)),
        deviation_weight: RightShift::within(Ratio::new(1, 1)),
        deviation_gain: LeftShift::within(Ratio::new(8, 1)),
        single_queue_window: Picos(1_000_000_000),
        port_xon_offset: Bytes(2000),
        shared_headroom: false,
        insurance_headroom: false,
        estimation: Estimation::Conceptual,
        victims: None,
    };
    assert_eq!(scenario.switch.scheme, Scheme::Dsh(expected));
    assert_eq!(
        parse(&scenario.to_toml()).switch,
        scenario.switch,
        "the resolved file says the same"
    );
}

/// Three ports and three classes of 10 kB each: Eq. 3, a fraction of it, Eq. 9, and nothing.
#[test]
fn each_kind_sets_aside_its_own() {
    for (headroom, expected) in [
        ("kind = \"sih\"", 90_000),
        ("kind = \"adaptive\"", 90_000),
        ("kind = \"oversubscribed\"", 72_000),
        ("kind = \"oversubscribed\", ratio = 3", 30_000),
        ("kind = \"dsh\"", 30_000),
        ("kind = \"dsh\", shared_headroom = false", 30_000),
        ("kind = \"dsh\", insurance_headroom = false", 0),
    ] {
        let text = format!(
            "{SMALL}[switch]\nlossless = [1, 2, 3]\nheadroom = {{ {headroom}, bytes = \"10kB\" }}\n"
        );
        let pools = parse(&text).buffer_pools(SwitchId(0));
        assert_eq!(pools.headroom, Bytes(expected), "{headroom}");
        assert_eq!(pools.shared.0, 16_000_000 - expected - pools.private.0, "{headroom}");
        assert_eq!(pools.headroom_by_port, [Bytes(10_000); 3], "{headroom}");
    }
}

/// A Tomahawk has 32 ports, with or without links: DSH, section V-A.
#[test]
fn ports_without_a_link_have_headroom_and_private_pools() {
    let pools = |headroom: &str| {
        let text = format!(
            "{SMALL}[switch]\nlossless = [1, 2, 3, 4, 5, 6, 7]\nports = 32\nbuffer = \"16MiB\"
private_per_queue = \"3KiB\"\nheadroom = {{ {headroom}, bytes = \"60000B\" }}\n"
        );
        parse(&text).buffer_pools(SwitchId(0))
    };
    let sih = pools("kind = \"sih\"");
    assert_eq!((sih.headroom, sih.private), (Bytes(13_440_000), Bytes(688_128)));
    assert_eq!(sih.shared, Bytes(16 * (1 << 20) - 13_440_000 - 688_128));
    assert_eq!(sih.headroom_by_port.len(), 3);
    assert_eq!(pools("kind = \"dsh\"").headroom, Bytes(1_920_000));
    assert_snapshot!(report_on("[switch]\nports = 1\n"), @r"
    error: switch `s0` has 3 links, and 1 ports
      --> bad.toml:13:9
       |
    13 | ports = 1
       |         ^
       |
       = help: write 3 or more, or leave the key out
    ");
}

/// DSH, Section III-A: Trident2 has 12 MB and 32 ports of 40 Gbit/s, for which Eq. 1 and 3 give 5.33 MiB. xoff adds the
/// wire overhead of frames, and the terms that Eq. 1 misses.
#[test]
fn trident2_gives_almost_half_of_its_buffer_to_headroom() {
    let text = r#"[topology]
kind = "star"
hosts = 32
host_link = { rate = "40Gbps", delay = "1500ns" }
[switch]
buffer = "12MiB"
lossless = [0, 1, 2, 3, 4, 5, 6, 7]
private_per_queue = "0B"
[host]
payload = "1440B"
[[flows]]
kind = "one"
src = "h1"
dst = "h0"
bytes = "1kB"
"#;
    let of = |headroom: &str| {
        let text = text.replace("private", &format!("headroom = {{ {headroom} }}\nprivate"));
        parse(&text).buffer_pools(SwitchId(0)).headroom
    };
    assert_eq!(of("kind = \"sih\", bytes = \"21840B\""), Bytes(5_591_040));
    assert_eq!(of("kind = \"dsh\", bytes = \"21840B\""), Bytes(698_880));
    assert_eq!(of("kind = \"sih\", bandwidth_delays = 3"), Bytes(256 * 3 * 7500));
    // The longest frame: 1440 B of payload, 58 of headers, 16 of RETH, 24 around it.
    let queue = 2 * (7500 + 1538) + 3840 + 1538 + 84;
    assert_eq!(of("kind = \"sih\""), Bytes(256 * queue));
    assert_eq!(of("kind = \"dsh\""), Bytes(32 * queue));
}

/// Rounded down before multiplication, as in the HPCC simulator.
#[test]
fn products_of_rate_and_delay_are_each_links_own() {
    let text = r#"[topology]
kind = "leaf-spine"
leaves = 2
spines = 1
hosts_per_leaf = 1
host_link = { rate = "100Gbps", delay = "999ps" }
fabric_link = { rate = "400Gbps", delay = "2us" }
[switch]
headroom = { kind = "sih", bandwidth_delays = 3 }
[[flows]]
kind = "one"
src = "h1"
dst = "h0"
bytes = "1kB"
"#;
    let scenario = parse(text);
    let pools = scenario.buffer_pools(SwitchId(0));
    assert_eq!(pools.headroom_by_port, [Bytes(3 * 12), Bytes(3 * 100_000)]);
    assert_eq!(parse(&scenario.to_toml()).switch, scenario.switch);
}

#[test]
fn products_of_rate_and_delay_are_one_size_in_range() {
    let text = "[switch]\nheadroom = { kind = \"sih\", bytes = \"1kB\", bandwidth_delays = 3 }\n";
    assert_snapshot!(report_on(text), @r#"
    error: two sizes of headroom
      --> bad.toml:13:62
       |
    13 | headroom = { kind = "sih", bytes = "1kB", bandwidth_delays = 3 }
       |                                                              ^
       |
       = help: write this or `bytes`
    "#);
    let text = "[switch]\nheadroom = { kind = \"sih\", bandwidth_delays = 0 }\n";
    assert_snapshot!(report_on(text), @r#"
    error: headroom of none or of too many bandwidth-delay products
      --> bad.toml:13:47
       |
    13 | headroom = { kind = "sih", bandwidth_delays = 0 }
       |                                               ^
       |
       = help: write 1 to 1000
    "#);
}

#[test]
fn weights_that_no_shift_gives() {
    let text = "[switch]\nheadroom = { kind = \"dsh\", gradient_weight = \"1/3\" }\n";
    assert_snapshot!(report_on(text), @r#"
    error: a weight of 1/3
      --> bad.toml:13:46
       |
    13 | headroom = { kind = "dsh", gradient_weight = "1/3" }
       |                                              ^^^^^
       |
       = help: a switch shifts instead of multiplying: write "1", "1/2", "1/4" .. "1/64"
    "#);
    let text = "[switch]\nheadroom = { kind = \"dsh\", deviation_weight = \"2\" }\n";
    assert_snapshot!(report_on(text), @r#"
    error: a weight of 2
      --> bad.toml:13:47
       |
    13 | headroom = { kind = "dsh", deviation_weight = "2" }
       |                                               ^^^
       |
       = help: a switch shifts instead of multiplying: write "1", "1/2", "1/4" .. "1/64"
    "#);
    let text = "[switch]\nheadroom = { kind = \"dsh\", deviation_gain = 3 }\n";
    assert_snapshot!(report_on(text), @r#"
    error: a gain of 3
      --> bad.toml:13:45
       |
    13 | headroom = { kind = "dsh", deviation_gain = 3 }
       |                                             ^
       |
       = help: a switch shifts instead of multiplying: write 1, 2, 4 .. 64
    "#);
}

#[test]
fn a_window_of_no_time() {
    let text = "[switch]\nheadroom = { kind = \"dsh\", single_queue_window = \"0ms\" }\n";
    assert_snapshot!(report_on(text), @r#"
    error: a window of no time
      --> bad.toml:13:50
       |
    13 | headroom = { kind = "dsh", single_queue_window = "0ms" }
       |                                                  ^^^^^
       |
       = help: write a time such as "10ms"
    "#);
}

#[test]
fn headroom_that_is_more_than_subscribed() {
    let text = "[switch]\nheadroom = { kind = \"oversubscribed\", ratio = \"4/5\" }\n";
    assert_snapshot!(report_on(text), @r#"
    error: headroom that is oversubscribed 4/5 times
      --> bad.toml:13:47
       |
    13 | headroom = { kind = "oversubscribed", ratio = "4/5" }
       |                                               ^^^^^
       |
       = help: a ratio of "2" sets aside half of the headroom; write 1 or more
    "#);
}

#[test]
fn an_unknown_key_of_dsh() {
    let text = "[switch]\nheadroom = { kind = \"dsh\", alpha = \"1/8\" }\n";
    assert_snapshot!(report_on(text), @r#"
    error: unknown key `alpha` in `switch.scheme`
      --> bad.toml:13:28
       |
    13 | headroom = { kind = "dsh", alpha = "1/8" }
       |                            ^^^^^
       |
       = help: the keys here are `gradient_weight`, `deviation_weight`, `deviation_gain`, `single_queue_window`, `port_xon_offset`, `shared_headroom`, `insurance_headroom`, `estimation` and `victims`
    "#);
}

#[test]
fn insurance_beyond_the_buffer() {
    let text = "[switch]\nbuffer = \"90kB\"\nlossless = [3, 4]\nheadroom = { kind = \"dsh\" }\n";
    assert_snapshot!(report_on(text), @r#"
    error: switch `s0` sets aside 114654B of its 90kB: 96654B of headroom and 18kB of private pools
      --> bad.toml:13:10
       |
    13 | buffer = "90kB"
       |          ^^^^^^
       |
       = help: it has 3 ports x 2 lossless priorities = 6 ingress queues, and up to 32218B of insurance headroom for each port (DSH Eq. 1, 9): write a buffer of at least 114654B, or less headroom
    "#);
    let text = "[switch]\nbuffer = \"90kB\"\nlossless = [3, 4]\nheadroom = { kind = \"oversubscribed\" }\n";
    assert_snapshot!(report_on(text), @r#"
    error: switch `s0` sets aside 172646B of its 90kB: 154646B of headroom and 18kB of private pools
      --> bad.toml:13:10
       |
    13 | buffer = "90kB"
       |          ^^^^^^
       |
       = help: it has 3 ports x 2 lossless priorities = 6 ingress queues, each with up to 32218B of headroom that is divided by 5/4 (DSH Eq. 1, 3): write a buffer of at least 172646B, or less headroom
    "#);
}

#[test]
fn adaptive_headroom_measures_every_100_us() {
    let parsed = |keys: &str| {
        let text = format!("{SMALL}[switch]\nheadroom = {{ kind = \"adaptive\"{keys} }}\n");
        let scenario = parse(&text);
        assert_eq!(parse(&scenario.to_toml()).switch, scenario.switch);
        scenario.switch.headroom
    };
    let usual = Headroom::Adaptive { bytes: None, period: Picos(100_000_000) };
    assert_eq!(parsed(""), usual);
    let given = Headroom::Adaptive { bytes: Some(Bytes(60_000)), period: Picos(5_000_000) };
    assert_eq!(parsed(", bytes = \"60kB\", period = \"5us\""), given);
}

#[test]
fn a_period_of_no_time() {
    let text = "[switch]\nheadroom = { kind = \"adaptive\", period = \"0us\" }\n";
    assert_snapshot!(report_on(text), @r#"
    error: a period of no time
      --> bad.toml:13:42
       |
    13 | headroom = { kind = "adaptive", period = "0us" }
       |                                          ^^^^^
       |
       = help: write a time such as "100us"
    "#);
}

/// 2 x (1 us + 1182 B at 100 Gbit/s).
#[test]
fn a_period_in_which_no_exchange_ends() {
    let of = |period: u32| {
        format!("[switch]\nheadroom = {{ kind = \"adaptive\", period = \"{period}ns\" }}\n")
    };
    parse(&format!("{SMALL}{}", of(2190)));
    assert_snapshot!(report_on(&of(2189)), @r#"
    error: a period of 2189ns, in which no exchange ends on `h0->s0`
      --> bad.toml:13:42
       |
    13 | headroom = { kind = "adaptive", period = "2189ns" }
       |                                          ^^^^^^^^
       |
       = help: an exchange takes up to 2190ns there: write more, "100us" say
    "#);
}

#[test]
fn an_unknown_key_of_adaptive_headroom() {
    let text = "[switch]\nheadroom = { kind = \"adaptive\", interval = \"1us\" }\n";
    assert_snapshot!(report_on(text), @r#"
    error: unknown key `interval` in `switch.headroom`
      --> bad.toml:13:33
       |
    13 | headroom = { kind = "adaptive", interval = "1us" }
       |                                 ^^^^^^^^
       |
       = help: the keys here are `bytes` and `period`
    "#);
}
