//! `[[switches]]`: switches that differ from `[switch]`.

use std::path::Path;

use insta::assert_snapshot;
use topology::SwitchId;
use units::Bytes;

use super::{Scenario, parse, report};

/// Two leaves and two spines, with entries of `switches`.
fn fabric(switches: &str) -> String {
    format!(
        r#"[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 1
host_link = {{ rate = "100Gbps", delay = "1us" }}
fabric_link = {{ rate = "100Gbps", delay = "1us" }}
[switch]
buffer = "1MB"
private_per_queue = "3000B"
[[flows]]
kind = "one"
src = "h0"
dst = "h1"
bytes = "1kB"
{switches}"#
    )
}

fn loaded(switches: &str) -> Scenario {
    parse(&fabric(switches)).unwrap_or_else(|error| panic!("{error}"))
}

fn reported(switches: &str) -> String {
    report(&fabric(switches))
}

/// Buffer, ports and private buffer of the leaves and the spines.
fn of_all(scenario: &Scenario) -> [(u64, Option<u32>, u64); 4] {
    [0, 1, 2, 3].map(|switch| {
        let own = scenario.switch_at(SwitchId(switch));
        (own.buffer().0, own.ports, own.private_per_queue.0)
    })
}

#[test]
fn a_switch_has_what_the_entries_that_name_it_say_and_otherwise_what_all_have() {
    let plain = (1_000_000, None, 3000);
    assert_eq!(of_all(&loaded("")), [plain; 4]);
    let scenario = loaded(
        "[[switches]]\nat = \"spine*\"\nbuffer = \"32MiB\"\nports = 64\n
[[switches]]\nat = [\"leaf1\", \"spine0\"]\nprivate_per_queue = \"4KiB\"\n
[[switches]]\nat = \"spine1\"\nbuffer = \"32MiB\"",
    );
    let spine = (32 << 20, Some(64), 3000);
    let expected = [plain, (1_000_000, None, 4096), (32 << 20, Some(64), 4096), spine];
    assert_eq!(of_all(&scenario), expected);
    assert_eq!(scenario.switch.buffer(), Bytes(1_000_000));

    let again = Scenario::parse(&scenario.to_toml(), Path::new("again.toml"), &[]);
    assert_eq!(again.unwrap_or_else(|error| panic!("{error}")), scenario);
}

/// Leaves have four ports of 100 Gbit/s. Spines have two with a link, and two without.
#[test]
fn buffers_by_rate_come_back_as_bytes() {
    let scenario = parse(
        &fabric(
            "[[switches]]\nat = \"spine*\"\nbuffer = \"1kB/port/Gbps\"\nports = 4
[[switches]]\nat = \"leaf1\"\nbuffer = \"2MB\"",
        )
        .replace("buffer = \"1MB\"", "buffer = \"tomahawk\"")
        .replace("hosts_per_leaf = 1", "hosts_per_leaf = 2"),
    );
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let (leaf, spine) = (400 * 5120 * 1024 / 1000, (400_000, Some(4), 3000));
    let expected = [(leaf, None, 3000), (2_000_000, None, 3000), spine, spine];
    assert_eq!(of_all(&scenario), expected);
    let written = scenario.to_toml();
    for line in ["buffer = \"2097152B\"", "buffer = \"400kB\"", "buffer = \"2MB\""] {
        assert!(written.lines().any(|it| it == line), "{written}");
    }
    let again = Scenario::parse(&written, Path::new("again.toml"), &[]);
    assert_eq!(again.unwrap_or_else(|error| panic!("{error}")), scenario);
}

/// A chip keeps its buffer when a link fails.
#[test]
fn a_failed_link_takes_nothing_of_a_buffer_by_rate() {
    let buffers = |failed: &str| {
        let text = fabric("").replace("buffer = \"1MB\"", "buffer = \"trident2\"");
        let text = text.replace("kind = \"leaf-spine\"", &format!("kind = \"leaf-spine\"{failed}"));
        let scenario = parse(&text).unwrap_or_else(|error| panic!("{error}"));
        of_all(&scenario)
    };
    assert_eq!(buffers("\nfailed_links = [[\"leaf0\", \"spine0\"]]"), buffers(""));
}

#[test]
fn buffers_by_rate_that_cannot_be() {
    let entry = |buffer: &str| {
        let report = reported(&format!("[[switches]]\nat = \"leaf0\"\nbuffer = \"{buffer}\""));
        report.lines().take(2).map(str::trim).collect::<Vec<_>>().join(" ")
    };
    let place = "--> bad.toml:18:10";
    assert_eq!(
        entry("tofino2"),
        format!("error: `switches.0.buffer`: no chip is called `tofino2` {place}")
    );
    assert_eq!(entry("0B/port/Gbps"), format!("error: a buffer of no bytes {place}"));
    assert_eq!(entry("1GB/port/Gbps"), format!("error: a buffer of 300GB {place}"));
}

#[test]
fn pools_are_those_of_the_switch() {
    let entry =
        "[[switches]]\nat = \"spine0\"\nbuffer = \"2MB\"\nports = 3\nprivate_per_queue = \"5kB\"";
    let [plain, own] = ["", entry].map(loaded);
    for switch in [0, 1, 3].map(SwitchId) {
        assert_eq!(own.buffer_pools(switch), plain.buffer_pools(switch));
    }
    let spine = SwitchId(2);
    let (plain, own) = (plain.buffer_pools(spine), own.buffer_pools(spine));
    assert_eq!((plain.private, own.private), (Bytes(2 * 3000), Bytes(3 * 5000)));
    assert_eq!(own.headroom.0 * 2, plain.headroom.0 * 3);
    assert_eq!(own.shared.0, 2_000_000 - own.private.0 - own.headroom.0);
    assert_eq!(own.headroom_by_port, plain.headroom_by_port);
}

#[test]
fn overrides_set_the_keys_of_an_entry() {
    let text = fabric("[[switches]]\nat = \"spine*\"\nbuffer = \"2MB\"");
    let set = |change: &str| Scenario::parse(&text, Path::new("set.toml"), &[change.to_owned()]);
    let of_spine = |change: &str| {
        set(change).unwrap_or_else(|error| panic!("{error}")).switch_at(SwitchId(3)).buffer()
    };
    assert_eq!(of_spine("switches.0.buffer=4MB"), Bytes(4_000_000));
    assert_eq!(of_spine("switch.buffer=4MB"), Bytes(2_000_000));
    assert_eq!(of_spine("switches.0.at=leaf0"), Bytes(1_000_000));
}

#[test]
fn no_switch_of_that_name() {
    assert_snapshot!(reported("[[switches]]\nat = \"spin?\"\nbuffer = \"2MB\""), @r#"
    error: no switch matches `spin?`
      --> bad.toml:17:6
       |
    17 | at = "spin?"
       |      ^^^^^^^
       |
       = help: the switches are `leaf0`, `leaf1`, `spine0` and `spine1`
    "#);
    assert_snapshot!(reported("[[switches]]\nat = [\"leaf0\", \"h0\"]\nbuffer = \"2MB\""), @r#"
    error: no switch is called `h0`
      --> bad.toml:17:16
       |
    17 | at = ["leaf0", "h0"]
       |                ^^^^
       |
       = help: the switches are `leaf0`, `leaf1`, `spine0` and `spine1`
    "#);
}

#[test]
fn two_values_for_one_switch() {
    let entries = "[[switches]]\nat = \"*\"\nports = 8\n[[switches]]\nat = \"spine*\"\nbuffer = \"2MB\"\nports = 4";
    assert_snapshot!(reported(entries), @r"
    error: switch `spine0` has two values of `ports`
      --> bad.toml:22:9
       |
    22 | ports = 4
       |         ^
       |
       = help: the other one is in the first entry of [[switches]]: leave one out, or name the switch in one entry only
    ");
}

#[test]
fn an_entry_that_says_nothing() {
    assert_snapshot!(reported("[[switches]]\nat = \"spine*\""), @r"
    error: this entry sets nothing for `spine*`
      --> bad.toml:16:1
       |
    16 | [[switches]]
       | ^^^^^^^^^^^^
       |
       = help: add what they have instead of what `[switch]` says: `buffer`, `ports` or `private_per_queue`
    ");
}

#[test]
fn a_buffer_too_small_for_what_is_set_aside() {
    assert_snapshot!(reported("[[switches]]\nat = \"spine1\"\nbuffer = \"50kB\""), @r#"
    error: switch `spine1` sets aside 70436B of its 50kB: 64436B of headroom and 6kB of private pools
      --> bad.toml:18:10
       |
    18 | buffer = "50kB"
       |          ^^^^^^
       |
       = help: it has 2 ports x 1 lossless priorities = 2 ingress queues, each with up to 32218B of headroom (DSH Eq. 1, 3): write a buffer of at least 70436B, or less headroom
    "#);
    assert_snapshot!(reported("[[switches]]\nat = \"spine*\"\nports = 64"), @r"
    error: switch `spine0` sets aside 2253952B of its 1MB: 2061952B of headroom and 192kB of private pools
      --> bad.toml:16:1
       |
    16 | [[switches]]
       | ^^^^^^^^^^^^
       |
       = help: it has 64 ports x 1 lossless priorities = 64 ingress queues, each with up to 32218B of headroom (DSH Eq. 1, 3): write a buffer of at least 2253952B, or less headroom (`switches.0.buffer` is not set)
    ");
}

#[test]
fn a_buffer_that_no_switch_has() {
    assert_snapshot!(reported("[[switches]]\nat = \"spine1\"\nbuffer = \"0B\""), @r#"
    error: a buffer of no bytes
      --> bad.toml:18:10
       |
    18 | buffer = "0B"
       |          ^^^^
       |
       = help: write a size such as "16MB"
    "#);
    assert_snapshot!(reported("[[switches]]\nat = \"spine1\"\nbuffer = \"3GB\""), @r#"
    error: a buffer of 3GB
      --> bad.toml:18:10
       |
    18 | buffer = "3GB"
       |          ^^^^^
       |
       = help: write at most "1006632960B", which is 16777216 frames of 60 bytes: a switch has a descriptor for each
    "#);
}

#[test]
fn fewer_ports_than_links() {
    assert_snapshot!(reported("[[switches]]\nat = \"leaf1\"\nports = 2"), @r"
    error: switch `leaf1` has 3 links, and 2 ports
      --> bad.toml:18:9
       |
    18 | ports = 2
       |         ^
       |
       = help: write 3 or more, or leave the key out
    ");
}

#[test]
fn keys_that_are_the_same_for_all() {
    assert_snapshot!(reported("[[switches]]\nat = \"leaf1\"\nlossless = [3]"), @r"
    error: unknown key `lossless` in `switches.0`
      --> bad.toml:18:1
       |
    18 | lossless = [3]
       | ^^^^^^^^
       |
       = help: the keys here are `at`, `buffer`, `ports` and `private_per_queue`
    ");
}
