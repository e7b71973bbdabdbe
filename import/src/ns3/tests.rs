//! Good and bad files: the error and its place, and the translation of settings.

mod conweave;
mod datacenter;
mod dialect;
mod forks;
mod transports;

use std::path::Path;

use scenario::Scenario;
use scenario::transport::WindowSize;
use units::Bytes;

use super::Options;
use super::arguments::Arguments;
use super::config::Config;
use super::control::Control;
use super::flows::Flows;
use super::simulator::Simulator;
use super::topology::Topology;
use super::translation::Translation;
use crate::{Remarks, Source};

/// Without a dialect.
const OWN_RULES: Options = Options { lenient: false, own_rules: true };

const CONFIG: &str = "\
TOPOLOGY_FILE mix/t.txt
FLOW_FILE mix/f.txt
SIMULATOR_STOP_TIME 2.1
CC_MODE 1
RP_TIMER 300
EWMA_GAIN 0.00390625
RATE_AI 20Mb/s
RATE_HAI 200Mb/s
L2_ACK_INTERVAL 1
HAS_WIN 0
KMAX_MAP 2 100000000000 400 400000000000 1600
KMIN_MAP 2 100000000000 100 400000000000 400
PMAX_MAP 2 100000000000 0.2 400000000000 0.20
";
const TOPOLOGY: &str = "\
4 2 3
2 3
0 2 100Gbps 1us 0
2 3 100Gbps 0.001ms 0
3 1 100Gb/s 1000ns 0
";
const FLOWS: &str = "2\n0 1 3 100 1000 2.000001\n1 0 3 100 1000 2.00002\n";

/// Line and title of an error.
fn fault<T: std::fmt::Debug>(result: Result<T, scenario::ScenarioError>) -> (String, String) {
    let report = result.expect_err("a file that is wrong").to_string();
    let title = report.lines().next().unwrap_or_default().trim_start_matches("error: ");
    let place = report.lines().nth(1).unwrap_or_default();
    let line = place.rsplit(':').nth(1).unwrap_or_default();
    assert!(report.contains("help: "), "{report}");
    (line.to_owned(), title.to_owned())
}

fn topology(text: &str) -> Result<Topology, scenario::ScenarioError> {
    Topology::parse(&Source::new("t.txt", text), Simulator::Hpcc.traits())
}

fn flows(text: &str) -> Result<Flows, scenario::ScenarioError> {
    let traits = Simulator::Hpcc.traits();
    Flows::parse(&Source::new("f.txt", text), &topology(TOPOLOGY).unwrap(), traits)
}

fn config(text: &str) -> Result<Config, scenario::ScenarioError> {
    Config::parse(Simulator::Hpcc, Arguments::default(), Source::new("c.txt", text), OWN_RULES)
}

/// Translates the three texts.
fn translate(
    config_text: &str,
    topology_text: &str,
    flow_text: &str,
) -> Result<Translation, scenario::ScenarioError> {
    let topology = topology(topology_text).unwrap();
    let traits = Simulator::Hpcc.traits();
    let flows = Flows::parse(&Source::new("f.txt", flow_text), &topology, traits).unwrap();
    Translation::new(&config(config_text)?, &topology, &flows)
}

/// Returns the config with lines that replace the lines of their keys, or are appended. Of several lines with one key,
/// the first is used.
fn config_with(lines: &str) -> String {
    let mut keys = std::collections::BTreeSet::new();
    let first = |line: &&str| keys.insert(line.split(' ').next().unwrap().to_owned());
    let given: Vec<&str> = lines.lines().filter(first).collect();
    let others = CONFIG.lines().filter(|line| !keys.contains(line.split(' ').next().unwrap()));
    others.chain(given.iter().copied()).chain([""]).collect::<Vec<_>>().join("\n")
}

#[test]
fn topologies_that_are_wrong() {
    for (from, to, line, title) in [
        ("4 2 3", "4 2", "1", "a header of 2 fields"),
        ("4 2 3", "4 two 3", "1", "the count of switches is `two`"),
        ("4 2 3", "4 3 3", "3", "2 ids of switches; the header counts 3"),
        ("4 2 3", "4 1 3", "2", "more ids of switches than the 1 of the header"),
        ("4 2 3", "4 2 4", "5", "3 links; the header counts 4"),
        ("4 2 3", "5 2 3", "1", "node 4 has no link"),
        ("\n2 3\n", "\n2 4\n", "2", "there is no node 4"),
        ("\n2 3\n", "\n2 2\n", "2", "switch 2 is listed twice"),
        ("0 2 100Gbps 1us 0", "0 2 100Gbps 1us", "3", "a link of 4 fields"),
        ("0 2 100Gbps 1us 0", "7 2 100Gbps 1us 0", "3", "there is no node 7"),
        ("0 2 100Gbps 1us 0", "2 2 100Gbps 1us 0", "3", "a link from node 2 to itself"),
        ("0 2 100Gbps 1us 0", "0 1 100Gbps 1us 0", "3", "a link between the hosts 0 and 1"),
        ("0 2 100Gbps", "0 2 100Gbit", "3", "`Gbit` in `100Gbit` is not a unit of rates"),
        ("0 2 100Gbps", "0 2 100", "3", "the rate `100` has no unit"),
        ("1us 0\n", "1parsec 0\n", "3", "`parsec` in `1parsec` is not a unit of times"),
        ("1us 0\n", "1us 1.5\n", "3", "the error rate is `1.5`"),
        ("1us 0\n", "1us 1e-13\n", "3", "the error rate is `1e-13`"),
        ("2 3 100Gbps", "0 3 100Gbps", "4", "host 0 has more than 1 links"),
    ] {
        let text = TOPOLOGY.replacen(from, to, 1);
        assert_eq!(fault(topology(&text)), (line.into(), title.into()), "{text}");
    }
    assert_eq!(fault(topology("\n")).1, "a topology file without a header");
    let many: Vec<String> = (1..=257).map(|host| format!("0 {host} 1Gbps 1us 0")).collect();
    let (line, title) = fault(topology(&format!("258 1 257\n0\n{}", many.join("\n"))));
    assert_eq!((line.as_str(), title.as_str()), ("259", "switch 0 has more than 256 links"));
}

#[test]
fn flows_that_are_wrong() {
    for (from, to, line, title) in [
        ("2\n", "two\n", "1", "the count of flows is `two`"),
        ("2\n", "0\n", "1", "a flow file without flows"),
        ("2\n", "3\n", "3", "2 flows; the header counts 3"),
        ("2\n", "2 1\n", "1", "a header of 2 fields"),
        ("0 1 3 100 1000 2.000001", "0 1 3 100 1000", "2", "a flow of 5 fields"),
        ("0 1 3", "0 9 3", "2", "there is no node 9"),
        ("0 1 3", "0 2 3", "2", "node 2 is a switch"),
        ("0 1 3", "0 0 3", "2", "a flow from host 0 to itself"),
        ("0 1 3", "0 1 8", "2", "the priority group is `8`"),
        ("100 1000", "65536 1000", "2", "the destination port is `65536`"),
        ("100 1000", "100 0", "2", "a flow of no bytes"),
        ("2.000001", "soon", "2", "the time is `soon`"),
        ("2.000001", "2.1", "3", "a flow that starts before the one above it"),
    ] {
        let text = FLOWS.replacen(from, to, 1);
        assert_eq!(fault(flows(&text)), (line.into(), title.into()), "{text}");
    }
    assert_eq!(fault(flows("")).1, "a flow file without a count");
    // Lines beyond the header's count are not read, as in the simulator.
    let more = flows(&format!("{FLOWS}what follows 1 2 3 is prose\n")).unwrap();
    assert_eq!((more.list.len(), more.unread_from), (2, Some(4)));
}

#[test]
fn configs_that_are_wrong() {
    for (lines, title) in [
        ("CC_MOD 1", "unknown key `CC_MOD`"),
        ("CC_MODE one", "CC_MODE is `one`"),
        ("CC_MODE", "`CC_MODE` with 0 values"),
        ("HAS_WIN 2", "HAS_WIN is `2`"),
        ("INT_MULTI 0\nCC_MODE 3", "INT_MULTI is `0`"),
        ("U_TARGET 0\nCC_MODE 3", "U_TARGET is 0"),
        ("MI_THRESH 4294967296\nCC_MODE 3", "MI_THRESH is `4294967296`"),
        ("RATE_AI 20Mbit", "`Mbit` in `20Mbit` is not a unit of rates"),
        ("U_TARGET high", "U_TARGET is `high`"),
        ("LINK_DOWN 1 2", "`LINK_DOWN` with 2 values"),
        ("KMIN_MAP 2 100000000000 100", "`KMIN_MAP` with 3 values"),
        ("PMAX_MAP 1 100000000000 2", "PMAX_MAP is `2`"),
        ("KMIN_MAP 1 100000000000 4294968", "KMIN_MAP is `4294968`"),
        ("KMIN_MAP 1 25000000000 100", "KMIN_MAP has no value for links of 100000000000 bit/s"),
        ("EWMA_GAIN 2", "EWMA_GAIN is `2`"),
        ("RP_TIMER 0.9", "RP_TIMER is `0.9`"),
        ("LINK_DOWN 9 4294967296 2", "LINK_DOWN is `4294967296`"),
        ("LINK_DOWN 9 0 3", "no link joins the nodes 0 and 3"),
        ("SIMULATOR_STOP_TIME 2", "the simulator stops before the first flow starts"),
        ("KMAX_MAP 1 100000000000 99", "kmin of 100000000000 bit/s is above kmax"),
    ] {
        let (text, line) = (config_with(lines), lines.lines().next().unwrap());
        let number = text.lines().position(|other| other == line).unwrap() + 1;
        let (place, found) = fault(translate(&text, TOPOLOGY, FLOWS));
        assert_eq!(found, title, "{text}");
        // The smaller threshold of the two maps is shown.
        if !line.starts_with("KMAX_MAP") {
            assert_eq!(place, number.to_string(), "{line}");
        }
    }
    assert_eq!(fault(config(&format!("{CONFIG}CC_MODE 1\n"))).1, "`CC_MODE` comes twice");
    let without = CONFIG.replace("RP_TIMER 300\n", "");
    assert_eq!(fault(translate(&without, TOPOLOGY, FLOWS)).1, "no `RP_TIMER`");
}

#[test]
fn a_plain_config_differs_in_nothing() {
    let plain = translate(CONFIG, TOPOLOGY, FLOWS).unwrap();
    assert!(!plain.remarks.any_asked(), "{:?}", plain.remarks);
    assert_eq!(plain.time_offset.0, 2_000_000_000);
    assert_eq!(plain.duration.0, 100_000_000);
    assert_eq!((plain.qlen_start.0, plain.qlen_stop.0), (0, 100_000_000));
    assert_eq!(plain.buffers.alpha_shift, 3);
    let Control::Dcqcn(dcqcn) = plain.transport.control else { panic!("CC_MODE 1 is DCQCN") };
    assert_eq!((dcqcn.g, dcqcn.alpha_update_interval.0), ((1, 256), 55_000_000));
    assert_eq!(plain.ecn.unwrap().kmin.0, 100_000);
    let (lossy, rate) =
        (TOPOLOGY.replacen("1us 0\n", "1us 0.01\n", 1), config_with("ERROR_RATE_PER_LINK 0.002"));
    let losses = translate(&rate, &lossy, FLOWS).unwrap().losses;
    let thousandth = 1_000_000_000;
    let expected = [("h0->s2", 10), ("s2->h0", 10), ("s2->s3", 2), ("s3->s2", 2)];
    assert_eq!(losses[..4], expected.map(|(wire, rate)| (wire.to_owned(), rate * thousandth)));
    let everywhere = translate(&rate, TOPOLOGY, FLOWS).unwrap().losses;
    assert_eq!(everywhere, [("*".to_owned(), 2 * thousandth)]);
}

/// Ports at 40 Gbit/s have alpha and marking of the hosts' rate.
#[test]
fn ports_keep_the_thresholds_of_their_rates() {
    let topology = "\
7 5 6
2 3 4 5 6
0 2 100Gbps 1us 0
1 3 100Gbps 1us 0
2 3 400Gbps 1us 0
2 4 40Gbps 2500ns 0
2 5 200Gbps 500ns 0
2 6 800Gbps 125ns 0
";
    let map = |key, values: [&str; 5]| {
        let rates = ["40", "100", "200", "400", "800"];
        let pairs =
            rates.iter().zip(values).map(|(rate, value)| format!("{rate}000000000 {value}"));
        format!("{key} 5 {}", pairs.collect::<Vec<_>>().join(" "))
    };
    let maps = [
        map("KMIN_MAP", ["100", "100", "100", "400", "0"]),
        map("KMAX_MAP", ["400", "400", "400", "1600", "4294967"]),
        map("PMAX_MAP", ["0.2", "0.2", "0.1", "0.2", "1"]),
    ];
    let others = CONFIG.lines().filter(|line| !line.contains("_MAP "));
    let config_text = others.chain(maps.iter().map(String::as_str)).collect::<Vec<_>>().join("\n");
    let topology = self::topology(topology).unwrap();
    let flows = flows(FLOWS).unwrap();
    let config = config(&config_text).unwrap();
    let translation = Translation::new(&config, &topology, &flows).unwrap();
    assert!(!translation.remarks.any_asked());
    let toml = super::scenario::write(&config, &topology, &flows, translation, "mix").toml;
    for line in [
        r#"private_per_queue = "4KiB""#,
        r#"private_fill = "bytes""#,
        r#"headroom = { kind = "sih", bandwidth_delays = 3 }"#,
        concat!(
            r#"threshold = { kind = "dt", alpha = "1/8", xon_offset = "3KiB", by_rate = ["#,
            r#"{ rate = "200Gbps", alpha = "1/4" }, { rate = "400Gbps", alpha = "1/2" }, "#,
            r#"{ rate = "800Gbps", alpha = "1/1" }] }"#,
        ),
        concat!(
            r#"ecn = { kmin = "100kB", kmax = "400kB", pmax = 0.2, mark_at = "dequeue", by_rate = ["#,
            r#"{ rate = "200Gbps", kmin = "100kB", kmax = "400kB", pmax = 0.1 }, "#,
            r#"{ rate = "400Gbps", kmin = "400kB", kmax = "1600kB", pmax = 0.2 }, "#,
            r#"{ rate = "800Gbps", kmin = "0B", kmax = "4294967kB", pmax = 1.0 }] }"#,
        ),
    ] {
        assert!(toml.lines().any(|other| other == line), "no line {line} in {toml}");
    }
}

/// Imports texts of a config, topology and flows.
fn import_of(
    simulator: Simulator,
    words: &[&str],
    [config, topology, flows]: [&str; 3],
) -> Result<super::Imported, scenario::ScenarioError> {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    let arguments = Arguments::parse(simulator, &words).unwrap();
    let [config, topology, flows] = [("c.txt", config), ("t.txt", topology), ("f.txt", flows)]
        .map(|(name, text)| Source::new(name, text));
    super::import_texts(simulator, arguments, config, &topology, &flows, "c", OWN_RULES)
}

/// Returns the differences that settings ask for.
fn asked(remarks: &Remarks) -> Vec<String> {
    let asked = remarks.differences.iter().filter(|difference| difference.asked);
    asked.map(|it| format!("{}: {}; {}", it.subject, it.there, it.here)).collect()
}

#[test]
fn what_xoff_cannot_do_is_named() {
    let hpcc = |line: &str| format!("{line}\nCC_MODE 3\nMULTI_RATE 0\nHAS_WIN 1\nVAR_WIN 1");
    let dctcp = "CC_MODE 8\nHAS_WIN 1\nVAR_WIN 1";
    for (lines, flows, words) in [
        (
            "CC_MODE 10\nMULTI_RATE 0\nHAS_WIN 1\nVAR_WIN 1",
            FLOWS,
            "CC_MODE 10: HPCC-PINT; HPCC (3)",
        ),
        (&hpcc("MULTI_RATE 1"), FLOWS, "MULTI_RATE 1: a rate for each link"),
        (&hpcc("SAMPLE_FEEDBACK 1"), FLOWS, "SAMPLE_FEEDBACK 1: links without a queue"),
        (&hpcc("VAR_WIN 0"), FLOWS, "VAR_WIN 0: a window of one size; HPCC's window"),
        (&hpcc("HAS_WIN 0"), FLOWS, "HAS_WIN 0: queues are divided"),
        (
            &dctcp.replace("VAR_WIN 1", "VAR_WIN 0"),
            FLOWS,
            "VAR_WIN 0: a window of one size; DCTCP's",
        ),
        ("RATE_BOUND 0\nHAS_WIN 1", FLOWS, "RATE_BOUND 0: rates change windows"),
        ("L2_BACK_TO_ZERO 1", FLOWS, "L2_BACK_TO_ZERO 1"),
        ("L2_ACK_INTERVAL 0", FLOWS, "L2_ACK_INTERVAL 0"),
        ("L2_ACK_INTERVAL 1001", FLOWS, "up to so many bytes"),
        ("PAUSE_TIME 0.5", FLOWS, "PAUSE stops nobody"),
        ("LINK_DOWN 5 2 3", FLOWS, "it stays up"),
        ("CC_MODE 1", "2\n0 1 3 1 9 2\n1 0 4 1 9 2\n", "priority groups 3, 4"),
        ("CC_MODE 1", "1\n0 1 0 1 9 2\n", "group 0 takes no buffer"),
    ] {
        let found = asked(&translate(&config_with(lines), TOPOLOGY, flows).unwrap().remarks);
        assert!(found.len() == 1 && found[0].contains(words), "{lines}: {found:?}");
    }
    for lines in
        [hpcc("U_TARGET 0.9").as_str(), dctcp, "CC_MODE 7", "CC_MODE 0", "CC_MODE 5", "HAS_WIN 1"]
    {
        let found = asked(&translate(&config_with(lines), TOPOLOGY, FLOWS).unwrap().remarks);
        assert_eq!(found, Vec::<String>::new(), "{lines}");
    }
    let late = FLOWS.replace("2.00000", "2.00001");
    let down = translate(&config_with("LINK_DOWN 5 2 3"), TOPOLOGY, &late).unwrap();
    assert_eq!((down.failed_link, asked(&down.remarks)), (Some((2, 3)), vec![]));
}

/// The size and shape of the fat tree that the simulator ships: 320 hosts on 20 switches, five pods of four with four
/// above them, and 16 at the top, at 100 and 400 Gbit/s.
#[test]
fn a_fat_tree_of_320_hosts() {
    let switches: Vec<String> = (320..376).map(|id| id.to_string()).collect();
    let mut links: Vec<String> = (0..320)
        .map(|host| format!("{host} {} 100Gbps 1000ns 0.000000", 320 + host / 16))
        .collect();
    let fast = |a: u32, b: u32| format!("{a} {b} 400Gbps 1000ns 0.000000");
    for edge in 0..20 {
        links.extend((0..4).map(|upper| fast(320 + edge, 340 + edge / 4 * 4 + upper)));
    }
    for upper in 0..20 {
        links.extend((0..4).map(|core| fast(340 + upper, 360 + upper % 4 * 4 + core)));
    }
    let topology =
        format!("376 56 {}\n{}\n{}\n", links.len(), switches.join(" "), links.join("\n"));
    let flows: Vec<String> = (2..258).map(|host| format!("{host} 1 3 100 200000000 2")).collect();
    let sources = [
        ("c.txt", config_with("CC_MODE 3\nMULTI_RATE 0\nHAS_WIN 1\nVAR_WIN 1")),
        ("t.txt", topology),
        ("f.txt", format!("2\n{}\n\nFirst line: # of flows\n", flows.join("\n"))),
    ];
    let [config, topology, flows] = sources.map(|(name, text)| Source::new(name, &text));
    let imported = import_texts(config, &topology, &flows, "fat").unwrap();
    assert!(!imported.remarks.any_asked());
    let scenario = load(&imported).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((scenario.fabric().host_count(), scenario.fabric().switch_count()), (320, 56));
    // Twelve delays, and the time of a payload on two slow and four fast links.
    assert_eq!(scenario.host.transport.base_rtt().unwrap().to_nanos().0, 12_240);
    assert_eq!(scenario.flows().len(), 2, "the header counts two");
    assert!(imported.toml.contains("# ECMP"), "{}", imported.toml);
}

/// The simulator's routes know one link between two nodes, the last.
#[test]
fn links_between_the_same_two_nodes() {
    let doubled = TOPOLOGY.replacen("4 2 3", "4 2 4", 1) + "3 2 50Gbps 2us 0.01\n";
    let maps = "KMAX_MAP 2 100000000000 400 50000000000 200";
    let config = config_with(maps)
        .replace(
            "KMIN_MAP 2 100000000000 100 400000000000 400",
            "KMIN_MAP 2 100000000000 100 50000000000 50",
        )
        .replace(
            "PMAX_MAP 2 100000000000 0.2 400000000000 0.20",
            "PMAX_MAP 2 100000000000 0.2 50000000000 0.2",
        );
    let found = translate(&config, &doubled, FLOWS).unwrap();
    let expected = "t.txt:6: a second link between two nodes: the last of such links is used; all are, by ECMP";
    assert_eq!(asked(&found.remarks), [expected]);
    let losses = [("s3->s2#2", 10_000_000_000), ("s2->s3#2", 10_000_000_000)];
    assert_eq!(found.losses, losses.map(|(wire, rate)| (wire.to_owned(), rate)));
    let import = |config: &str, flows: &str| {
        let [config, doubled, flows] = [("c.txt", config), ("t.txt", &doubled), ("f.txt", flows)]
            .map(|(name, text)| Source::new(name, text));
        import_texts(config, &doubled, &flows, "c").unwrap()
    };
    let fabric = load(&import(&config, FLOWS)).unwrap();
    let fabric = fabric.fabric();
    assert_eq!(fabric.wires().last().unwrap().name, "s2->s3#2");
    let to_h1 = fabric.shortest_routes(topology::SwitchId(0)).ports_to(topology::HostId(1));
    assert_eq!(to_h1, [1, 2]);
    // Both links are down before the first flow: the simulator has no other path either.
    let late = FLOWS.replace("2.00000", "2.00001");
    let down = config + "LINK_DOWN 5 3 2\n";
    assert!(
        import(&down, &late).toml.contains("failed_links = [[\"s3\", \"s2\"], [\"s3\", \"s2\"]]")
    );
}

/// Names of files may contain any character.
#[test]
fn what_is_written_loads_whatever_the_files_are_called() {
    for stem in
        ["a b", "it's", "\"quoted\"", "back\\slash", "e\u{301}", "\u{7f}", "two\nlines", "\r"]
    {
        let config = Source::new(&format!("{stem}.txt"), &config_with("CC_MODE 3"));
        let (topology, flows) = (Source::new("t.txt", TOPOLOGY), Source::new("f.txt", FLOWS));
        let imported = import_texts(config, &topology, &flows, stem).unwrap();
        load(&imported).unwrap_or_else(|error| panic!("{stem:?}: {error}\n{}", imported.toml));
    }
}

/// A value is refused at its place, or written as one that a scenario accepts.
#[test]
fn values_at_their_ends() {
    for (line, taken) in [
        ("BUFFER_SIZE 18446744073709551615", false),
        ("FAST_RECOVERY_TIMES 0", true),
        ("FAST_RECOVERY_TIMES 65536", true),
        ("FAST_RECOVERY_TIMES 65537", false),
        ("QLEN_MON_START 0", true),
        ("QLEN_MON_START 18446744073709551615", true),
        ("QLEN_MON_END 0", true),
        ("QLEN_MON_END 18446744073709551615", true),
        ("RATE_AI 0bps", true),
        ("RATE_HAI 1000Tbps", false),
        ("MIN_RATE 1kbps", true),
        ("EWMA_GAIN 1", true),
        ("EWMA_GAIN 0.00000000023283064365386962890625", false),
        ("RP_TIMER 1000000000", true),
        ("PACKET_PAYLOAD_SIZE 1", true),
        ("PACKET_PAYLOAD_SIZE 3072", true),
        ("SIMULATOR_STOP_TIME 86400", true),
        ("LINK_DOWN 4294967295 2 3", true),
        ("ERROR_RATE_PER_LINK 1", true),
        ("L2_ACK_INTERVAL 18446744073709551615", true),
        ("CC_MODE 18446744073709551615", true),
        ("CC_MODE 3", true),
        ("INT_MULTI 1048576\nCC_MODE 3", true),
        ("U_TARGET 1.1", true),
    ] {
        let text = config_with(line);
        let (topology, flows) = (Source::new("t.txt", TOPOLOGY), Source::new("f.txt", FLOWS));
        let imported = import_texts(Source::new("c.txt", &text), &topology, &flows, "x");
        if taken {
            let imported = imported.unwrap_or_else(|error| panic!("{error}"));
            load(&imported).unwrap_or_else(|error| panic!("{line}: {error}\n{}", imported.toml));
        } else {
            assert_eq!(fault(imported).0, text.lines().count().to_string(), "{line}");
        }
    }
}

/// Texts of HPCC's simulator.
fn import_texts(
    config: Source,
    topology: &Source,
    flows: &Source,
    stem: &str,
) -> Result<super::Imported, scenario::ScenarioError> {
    let arguments = Arguments::default();
    super::import_texts(Simulator::Hpcc, arguments, config, topology, flows, stem, OWN_RULES)
}

fn load(imported: &super::Imported) -> Result<Scenario, scenario::ScenarioError> {
    let path = Path::new("/import/x.toml");
    let read = |asked: &Path| {
        let is_asked = |(name, _): &&(String, String)| asked.ends_with(name);
        let list = imported.flow_lists.iter().find(is_asked).map(|(_, text)| text);
        let text = if asked == path { Some(&imported.toml) } else { list };
        text.cloned().ok_or_else(|| std::io::ErrorKind::NotFound.into())
    };
    Scenario::read(path, &[], &read)
}
