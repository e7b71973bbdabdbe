//! `xoff import hpcc` and `xoff run --format hpcc`, from the simulator's files to the simulator's
//! files. Needs no privilege.

use std::fs;

use tests::command::{Finished, ScenarioFolder, finish, xoff};
use tests::fabric::results::Table;

const CONFIG: &str = include_str!("../../../fuzz/seeds/hpcc/config.txt");
/// Switches 3 and 0, hosts 1, 2, 4 and 5.
const TOPOLOGY: &str = include_str!("../../../fuzz/seeds/hpcc/topology.txt");
const FLOWS: &str = include_str!("../../../fuzz/seeds/hpcc/flow.txt");

/// A folder of the simulator, with some file changed.
fn mix(name: &str, text: &str) -> ScenarioFolder {
    let folder = ScenarioFolder::new();
    fs::create_dir(folder.path("mix")).expect("a folder can be made");
    for (file, shipped) in [("config.txt", CONFIG), ("topology.txt", TOPOLOGY), ("flow.txt", FLOWS)]
    {
        folder.write(&format!("mix/{file}"), if file == name { text } else { shipped });
    }
    folder
}

fn import(folder: &ScenarioFolder, more: &[&str]) -> Finished {
    let (mix, out) = (folder.path("mix"), folder.path("small.toml"));
    let arguments = ["import", "hpcc", &mix, "--out", &out].into_iter().chain(more.iter().copied());
    finish(&mut xoff(arguments))
}

fn lines(folder: &ScenarioFolder, name: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(folder.path(&format!("results/{name}"))).expect("it is written");
    text.lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
}

#[test]
fn a_small_folder_becomes_a_run_with_the_simulators_files() {
    let folder = mix("", "");
    let imported = import(&folder, &[]).assert_code(0);
    assert!(imported.stdout.contains("2 switches, 4 hosts, 5 flows"), "{}", imported.stdout);
    for words in ["config.txt:5: TRACE_FILE", "flow.txt:7: from here on", "it is fct.txt"] {
        assert!(imported.stderr.contains(words), "{words:?}: {}", imported.stderr);
    }
    assert_eq!(folder.entries(), ["mix", "small.csv", "small.toml"]);
    let (scenario, out) = (folder.path("small.toml"), folder.path("results"));
    finish(&mut xoff(["validate", &scenario])).assert_code(0);
    let run = ["run", &scenario, "--datapath", "memory", "--format", "hpcc", "--out", &out];
    finish(&mut xoff(run)).assert_code(0);

    let flows = fs::read_to_string(folder.path("results/flows.csv")).expect("it is written");
    let flows = Table::parse(&flows);
    let fct = lines(&folder, "fct.txt");
    assert_eq!(fct.len(), flows.rows().len());
    for (line, row) in fct.iter().zip(flows.rows()) {
        let id = |name: &str| row.text(name)[1..].parse::<u32>().expect("a name ends in its id");
        let address = |id: u32| format!("0b00{id:02x}01");
        let port = row.text("label").trim_start_matches("dport-");
        assert_eq!(line[..2], [address(id("src")), address(id("dst"))]);
        assert_eq!(line[3..5], [port, row.text("bytes")]);
        assert_eq!(line[5], (row.number("start_ns") + 2_000_000_000).to_string());
        // Links of 1 us and 100 Gbit/s: three if a host on switch 0 sends to one on switch 3.
        let links = if id("dst") == 4 && id("src") < 4 || id("src") == 1 { 3 } else { 2 };
        let bytes = row.number("bytes") + 48 * row.number("bytes").div_ceil(1000);
        let standalone = links * (2000 + 80) + bytes * 8 / 100;
        assert_eq!(line[6..], [row.text("fct_ns"), &standalone.to_string()]);
    }
    // The third flow of a pair would have 10002: ports count by pairs of hosts.
    let mut ports: Vec<&str> = fct.iter().map(|line| line[2].as_str()).collect();
    ports.sort_unstable();
    assert_eq!(ports, ["10000", "10000", "10000", "10000", "10001"]);

    let pauses = fs::read_to_string(folder.path("results/pauses.csv")).expect("it is written");
    let pauses = Table::parse(&pauses);
    let stops = pauses.with("event", "xoff").count();
    let pfc = lines(&folder, "pfc.txt");
    assert!(stops > 0);
    assert_eq!(pfc.iter().filter(|line| line[4] == "1").count(), stops);
    // Switch 0 is the third link of itself and the first of switch 3.
    let switch_stop = ["0", "1", "3", "1"].map(str::to_owned);
    assert!(pfc.iter().any(|line| line[1..] == switch_stop), "{pfc:?}");

    let qlen = lines(&folder, "qlen.txt");
    let places: Vec<String> = qlen.iter().map(|line| line[..2].join(" ")).collect();
    let ports = ["0 1", "0 2", "0 3", "3 1", "3 2", "3 3"];
    assert_eq!(places[..7], [&["time: 2000000000"][..], &ports].concat());
    assert_eq!(places[7..], [&["time: 2001000000"][..], &ports].concat());
    for line in &qlen[8..] {
        let looks: u64 = line[2..].iter().map(|count| count.parse::<u64>().expect("a count")).sum();
        assert_eq!(looks, 10_001);
    }
}

#[test]
fn what_xoff_cannot_do_is_refused_unless_accepted() {
    let folder = mix("config.txt", &CONFIG.replace("CC_MODE 1", "CC_MODE 10"));
    let words = ["config.txt:8: CC_MODE 10: xoff cannot do that", "HPCC-PINT  ", "--lenient"];
    import(&folder, &[]).assert_refused(&words);
    assert_eq!(folder.entries(), ["mix"]);
    let imported = import(&folder, &["--lenient"]).assert_code(0);
    let text = fs::read_to_string(folder.path("small.toml")).expect("it is written");
    for line in imported.stderr.lines().filter(|line| !line.starts_with("note: ")) {
        assert!(text.contains(&format!("# {line}\n")), "{line} is not in {text}");
    }
    assert!(text.contains("CC_MODE 10  "), "{text}");
    // What is there is not overwritten.
    import(&folder, &["--lenient"]).assert_refused(&["small.toml exists", "--out", "--force"]);
}

/// Files of a fork with links of 1 ms: deviations that a user has to accept are listed, and the scenario runs to its
/// end.
#[test]
fn a_fork_with_long_links_runs() {
    let fork = format!("{CONFIG}NIC_TOTAL_PAUSE_TIME 0\nBW_OUTPUT_FILE mix/bw.txt\n");
    let folder = mix("config.txt", &fork);
    let long = TOPOLOGY.replacen("0 3 100Gb/s 1us", "0 3 100Gb/s 1ms", 1);
    folder.write("mix/topology.txt", long.replacen("6 2 5", "6 1 0 2 5 A100", 1));
    folder.write("mix/flow.txt", "2\n1 4 3 100 20000 2.000033361\n4 1 3 100 1000000000000 2.05\n");
    let words = ["unknown key `NIC_TOTAL_PAUSE_TIME`", "--lenient leaves out"];
    import(&folder, &[]).assert_refused(&words);
    assert_eq!(folder.entries(), ["mix"]);
    let imported = import(&folder, &["--lenient"]).assert_code(0);
    for words in
        ["NIC_TOTAL_PAUSE_TIME 0  ", "mix/bw.txt: not taken", "wraps to 4 GiB", "unlimited"]
    {
        assert!(imported.stderr.contains(words), "{words}: {}", imported.stderr);
    }
    let (scenario, out) = (folder.path("small.toml"), folder.path("results"));
    let run = ["run", &scenario, "--datapath", "memory", "--format", "hpcc", "--out", &out];
    finish(&mut xoff(run)).assert_code(0);
    let fct = lines(&folder, "fct.txt");
    assert_eq!((fct.len(), fct[0][5].as_str()), (1, "2000033360"));
}

/// An error that only the whole scenario shows names the config, not a scenario that was never written.
#[test]
fn what_the_scenario_refuses_is_said_of_the_config() {
    let apart = TOPOLOGY.replacen("6 2 5", "6 2 4", 1).replacen("0 3 100Gb/s 1us 0\n", "", 1);
    let folder = mix("topology.txt", &apart);
    let refused = import(&folder, &[]);
    assert!(!refused.stderr.contains("small.toml"), "{}", refused.stderr);
    refused.assert_refused(&["config.txt: no path leads from", "made of these files"]);
    assert_eq!(folder.entries(), ["mix"]);
}

/// Hosts 1 and 2 send three packets each to host 0, at once, without control: completion times by hand, by the
/// simulator's rules. At 100 Gbit/s 1048 B take 83 ns, 548 B 43 ns, an ACK of 60 B 4 ns, all rounded down to a
/// nanosecond.
///
/// Packets of both come to the switch at 1083, 1166 and 1209 ns, and leave it from 1083 to 1501 ns without a gap, in
/// turns. The last packet of host 1 is at host 0 at 2458 ns, host 2's at 2501 ns. ACKs take 4 + 1000 ns over each of
/// two links.
#[test]
fn a_few_packets_take_what_they_take_there() {
    let folder = mix("config.txt", &CONFIG.replace("CC_MODE 1", "CC_MODE 0"));
    folder.write(
        "mix/topology.txt",
        "4 1 3\n3\n0 3 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 100Gbps 1us 0\n",
    );
    folder.write("mix/flow.txt", "2\n1 0 3 100 2500 2\n2 0 3 100 2500 2\n");
    import(&folder, &[]).assert_code(0);
    let (scenario, out) = (folder.path("small.toml"), folder.path("results"));
    let run = ["run", &scenario, "--datapath", "memory", "--format", "hpcc", "--out", &out];
    finish(&mut xoff(run)).assert_code(0);
    let fct = lines(&folder, "fct.txt");
    let times: Vec<&str> = fct.iter().map(|line| line[6].as_str()).collect();
    assert_eq!(times, ["4466", "4509"]);
}

/// Marking, alpha and headroom go by the link.
#[test]
fn links_of_two_rates() {
    let folder = mix("topology.txt", &TOPOLOGY.replacen("0 3 100Gb/s 1us", "0 3 400Gb/s 1us", 1));
    let config = ["400", "100", "0.2"].iter().zip(["1600", "400", "0.2"]).fold(
        CONFIG.to_owned(),
        |config, (slow, fast)| {
            let map = |count, more: &str| format!("_MAP {count} 100000000000 {slow}{more}\n");
            config.replacen(&map(1, ""), &map(2, &format!(" 400000000000 {fast}")), 1)
        },
    );
    folder.write("mix/config.txt", &config);
    import(&folder, &[]).assert_code(0);
    let text = fs::read_to_string(folder.path("small.toml")).expect("it is written");
    for words in [
        "bandwidth_delays = 3",
        "by_rate = [{ rate = \"400Gbps\", alpha = \"1/2\" }]",
        "by_rate = [{ rate = \"400Gbps\", kmin = \"400kB\", kmax = \"1600kB\", pmax = 0.2 }]",
    ] {
        assert!(text.contains(words), "{words:?} is not in {text}");
    }
    let (scenario, out) = (folder.path("small.toml"), folder.path("results"));
    let run = ["run", &scenario, "--datapath", "memory", "--format", "hpcc", "--out", &out];
    finish(&mut xoff(run)).assert_code(0);
}

/// The simulator's routes know the last of parallel links; xoff's ECMP spreads flows over both.
#[test]
fn links_between_the_same_two_nodes() {
    let doubled = TOPOLOGY.replacen("6 2 5", "6 2 6", 1) + "3 0 100Gbps 1us 0\n";
    let folder = mix("topology.txt", &doubled);
    import(&folder, &["--no-dialect"])
        .assert_refused(&["topology.txt:8: a second link", "--lenient"]);
    import(&folder, &["--no-dialect", "--lenient"]).assert_code(0);
    import(&folder, &["--force"]).assert_code(0);
    let (scenario, out) = (folder.path("small.toml"), folder.path("results"));
    let run = ["run", &scenario, "--datapath", "memory", "--format", "hpcc", "--out", &out];
    finish(&mut xoff(run)).assert_code(0);
}

#[test]
fn wrong_files_are_refused_at_their_place() {
    for (name, from, to, words) in [
        ("config.txt", "CC_MODE 1", "CC_MOD 1", ["config.txt:8:1", "did you mean `CC_MODE`?"]),
        ("config.txt", "topology.txt", "topo.txt", ["config.txt:3:15", "there is no file"]),
        ("config.txt", "SIZE 1000", "SIZE 4096", ["config.txt:2:21", "from 1 to 3072"]),
        ("config.txt", "RP_TIMER 300\n", "", ["config.txt", "no `RP_TIMER`"]),
        ("topology.txt", "6 2 5", "6 2 6", ["topology.txt:7", "the header counts 6"]),
        ("topology.txt", "3 4 100Gbps", "3 9 100Gbps", ["topology.txt:6:3", "no node 9"]),
        ("topology.txt", "1us", "1light-year", ["topology.txt:3:13", "not a unit of times"]),
        ("flow.txt", "2.00002", "2.00001", ["flow.txt:6:16", "before the one above"]),
        ("flow.txt", "5 4 3 200", "3 4 3 200", ["flow.txt:4:1", "node 3 is a switch"]),
        ("flow.txt", "5\n1", "7\n1", ["flow.txt", "the header counts 7"]),
    ] {
        let shipped = match name {
            "config.txt" => CONFIG,
            "topology.txt" => TOPOLOGY,
            _ => FLOWS,
        };
        assert!(shipped.contains(from), "{from}");
        let folder = mix(name, &shipped.replacen(from, to, 1));
        import(&folder, &[]).assert_refused(&["help: ", words[0], words[1]]);
        assert_eq!(folder.entries(), ["mix"], "{to} left something behind");
    }
    let folder = ScenarioFolder::new();
    fs::create_dir(folder.path("mix")).expect("a folder can be made");
    import(&folder, &[]).assert_refused(&["no file here is called config*.txt"]);
    folder.write("mix/config_a.txt", "");
    folder.write("mix/config_b.txt", "");
    import(&folder, &[]).assert_refused(&["2 config files", "config_a.txt, config_b.txt"]);
}
