//! `xoff import conweave` and `xoff import ns3-datacenter`, whose files resemble those of HPCC's simulator, and the
//! handling of existing files by all imports. Needs no privilege.

use std::fs;

use tests::command::{Finished, ScenarioFolder, finish, xoff};

/// As `run.py` writes it, three folders below the working folder of the simulator.
const CONWEAVE: &str = include_str!("../../../fuzz/seeds/conweave/config.txt");
const DATACENTER: &str = include_str!("../../../fuzz/seeds/ns3-datacenter/config.txt");
/// Two leaves and two spines, with two hosts each.
const LEAF_SPINE: &str = "\
8 4 8
4 5 6 7
0 4 100Gbps 1000ns 0.000000
1 4 100Gbps 1000ns 0.000000
2 5 100Gbps 1000ns 0.000000
3 5 100Gbps 1000ns 0.000000
4 6 100Gbps 1000ns 0.000000
4 7 100Gbps 1000ns 0.000000
5 6 100Gbps 1000ns 0.000000
5 7 100Gbps 1000ns 0.000000
";

/// A folder of `ConWeave`'s simulator.
fn conweave(config: &str, topology: &str, flows: &str) -> ScenarioFolder {
    let folder = ScenarioFolder::new();
    for path in ["ns3/config", "ns3/mix/output/7"] {
        fs::create_dir_all(folder.path(path)).expect("a folder can be made");
    }
    folder.write("ns3/mix/output/7/config.txt", config);
    folder.write("ns3/config/leaf_spine_128_100G_OS2.txt", topology);
    folder.write("ns3/config/flow.txt", flows);
    folder
}

/// A folder of ns3-datacenter.
fn datacenter(config: &str, topology: &str, flows: &str) -> ScenarioFolder {
    let folder = ScenarioFolder::new();
    fs::create_dir_all(folder.path("ns3/examples/PowerTCP")).expect("a folder can be made");
    for (name, text) in [("config.txt", config), ("topology.txt", topology), ("flow.txt", flows)] {
        folder.write(&format!("ns3/examples/PowerTCP/{name}"), text);
    }
    folder
}

fn import(folder: &ScenarioFolder, program: &str, more: &[&str]) -> Finished {
    let path = match program {
        "conweave" => "ns3/mix/output/7",
        _ => "ns3/examples/PowerTCP",
    };
    let (path, out) = (folder.path(path), folder.path("x.toml"));
    let arguments =
        ["import", program, &path, "--out", &out].into_iter().chain(more.iter().copied());
    finish(&mut xoff(arguments))
}

/// Runs the imported scenario.
fn run(folder: &ScenarioFolder) {
    let (scenario, out) = (folder.path("x.toml"), folder.path("results"));
    finish(&mut xoff(["validate", &scenario])).assert_code(0);
    let run = ["run", &scenario, "--datapath", "memory", "--format", "hpcc", "--out", &out];
    finish(&mut xoff(run)).assert_code(0);
}

/// Completion times in the order of the flows' starts.
fn completion_times(folder: &ScenarioFolder) -> Vec<u64> {
    let text = fs::read_to_string(folder.path("results/fct.txt")).expect("it is written");
    let mut times: Vec<(u64, u64)> = text
        .lines()
        .map(|line| {
            let field = |number| line.split(' ').nth(number).and_then(|it| it.parse().ok());
            (field(5).expect("a start"), field(6).expect("a time"))
        })
        .collect();
    times.sort_by_key(|(start, _)| *start);
    times.into_iter().map(|(_, time)| time).collect()
}

fn marks(folder: &ScenarioFolder) -> String {
    let text = fs::read_to_string(folder.path("results/summary.json")).expect("it is written");
    let line = text.lines().find(|line| line.contains("\"ecn_marked\"")).expect("it is counted");
    line.trim().trim_end_matches(',').to_owned()
}

#[test]
fn a_folder_of_conweaves_simulator_becomes_a_run() {
    let flows = "3 \n0 2 3 100000 2.000001000\n1 2 3 100000 2.000001000\n3 0 3 1000 2.000020000\n";
    let folder = conweave(CONWEAVE, LEAF_SPINE, flows);
    let imported = import(&folder, "conweave", &[]).assert_code(0);
    assert!(imported.stdout.contains("4 switches, 4 hosts, 3 flows"), "{}", imported.stdout);
    for words in ["config.txt:5: VOQ_MON_FILE", "no run of it has been compared"] {
        assert!(imported.stderr.contains(words), "{words:?}: {}", imported.stderr);
    }
    run(&folder);
    let fct = fs::read_to_string(folder.path("results/fct.txt")).expect("it is written");
    // Ids, and ports by hosts: flow 1 is the second to host 2.
    assert!(fct.lines().any(|line| line.starts_with("1 2 10000 101 100000 2000001000 ")), "{fct}");
    let folder = conweave(CONWEAVE, LEAF_SPINE, flows);
    let imported = import(&folder, "conweave", &["--no-dialect"]).assert_code(0);
    for words in ["config.txt:5: VOQ_MON_FILE", "ACKs  ", "PAUSE  ", "another hash"] {
        assert!(imported.stderr.contains(words), "{words:?}: {}", imported.stderr);
    }
    run(&folder);
    assert_eq!(completion_times(&folder).len(), 3);
    // IRN, in place of PFC.
    let irn = CONWEAVE.replace("ENABLE_PFC 1\nENABLE_IRN 0", "ENABLE_PFC 0\nENABLE_IRN 1");
    let folder = conweave(&irn, LEAF_SPINE, flows);
    import(&folder, "conweave", &[]).assert_code(0);
    run(&folder);
    assert_eq!(completion_times(&folder).len(), 3);
}

#[test]
fn a_folder_of_ns3_datacenter_becomes_a_run() {
    let topology =
        LEAF_SPINE.replacen("8 4 8", "8 4 2 8", 1).replace("100Gbps 1000ns", "25000000000.0 1us");
    let flows = "2\n0 2 3 10000 100000 0.1\n1 2 3 10001 2800 0.1001\n";
    for arguments in [
        &[][..],
        &["--no-dialect"],
        &["--argument", "delayWien=true"],
        &["--argument", "delayWien=true", "--no-dialect"],
        &["--argument", "wien=false"],
    ] {
        let folder = datacenter(DATACENTER, &topology, flows);
        let imported = import(&folder, "ns3-datacenter", arguments).assert_code(0);
        assert!(imported.stdout.contains("4 switches, 4 hosts, 2 flows"), "{}", imported.stdout);
        assert!(imported.stderr.contains("config.txt:8: CC_MODE 3: the command line has it"));
        let known = imported.stderr.contains("no run of it has been compared");
        assert_eq!(known, !arguments.contains(&"--no-dialect"), "{}", imported.stderr);
        run(&folder);
        assert_eq!(completion_times(&folder).len(), 2, "{arguments:?}");
    }
}

#[test]
fn load_balancing_and_arguments_are_refused() {
    let flows = "1 \n0 2 3 1000 2\n";
    let folder = conweave(&CONWEAVE.replace("LB_MODE 0", "LB_MODE 9"), LEAF_SPINE, flows);
    let words = ["config.txt:15: LB_MODE 9: xoff cannot do that", "ConWeave  ", "--lenient"];
    import(&folder, "conweave", &[]).assert_refused(&words);
    assert_eq!(folder.entries(), ["ns3"]);
    import(&folder, "conweave", &["--lenient"]).assert_code(0);
    let words = ["an argument `wien=true` for ConWeave's simulator", "help: "];
    import(&folder, "conweave", &["--argument", "wien=true"]).assert_refused(&words);
}

/// Hosts 2 and 3 send three packets each to host 1, so that its port has a queue when the ACK of a packet from host 1
/// to host 0 comes there. At 100 Gbit/s 1048 B take 83 ns, 548 B 43 ns, an ACK of 60 B 4 ns, all rounded down to a
/// nanosecond.
///
/// The packet of host 1 is at the switch at 1083 ns and at host 0 at 2166; its ACK is at the switch at 3170. There
/// packets of hosts 2 and 3 leave from 3083 and from 3166 on, and two more wait behind the second one. In ConWeave's
/// simulator the ACK goes next, from 3249 to 3253 ns. In HPCC's it goes behind the two, from 3415 to 3419. The last
/// packets are at host 1 at 4462 and 4505 ns in both, so their ACKs are back after 4470 and 4513 ns.
#[test]
fn acks_go_ahead_of_data_in_conweaves_switches() {
    let star = "5 1 4\n4\n0 4 100Gbps 1000ns 0\n1 4 100Gbps 1000ns 0\n2 4 100Gbps 1000ns 0\n\
                3 4 100Gbps 1000ns 0\n";
    let flows = "3\n1 0 3 1000 2\n2 1 3 2500 2.0000020001\n3 1 3 2500 2.0000020001\n";
    for more in [&[][..], &["--no-dialect"]] {
        let folder = conweave(&CONWEAVE.replace("CC_MODE 1", "CC_MODE 0"), star, flows);
        import(&folder, "conweave", more).assert_code(0);
        run(&folder);
        assert_eq!(completion_times(&folder), [4253, 4470, 4513], "{more:?}");
    }

    let folder = datacenter(&hpcc("CC_MODE 0", 100), star, &flows.replace(" 3 ", " 3 100 "));
    import(&folder, "hpcc", &[]).assert_code(0);
    run(&folder);
    assert_eq!(completion_times(&folder), [4419, 4470, 4513]);
}

/// The config of ns3-datacenter for HPCC's simulator, with links of `gigabits` Gbit/s.
fn hpcc(mode: &str, gigabits: u32) -> String {
    DATACENTER
        .replace("CC_MODE 3", mode)
        .replace("HAS_WIN 1", "HAS_WIN 0")
        .replace("SIMULATOR_STOP_TIME 0.2", "SIMULATOR_STOP_TIME 2.2")
        .replace("1 25000000000", &format!("1 {gigabits}000000000"))
}

/// Hosts 1 and 2 send five packets each at 25 Gbit/s, where a packet takes 335 ns, to host 0 at 10 Gbit/s, where it
/// takes 838 ns; host 2 begins 100 ns later. At ports of 10 Gbit/s all packets are marked above 3000 B. Packets come to
/// the port in turns from 1335 ns on, every 100 and 235 ns, and leave at 1335, 2173 and 3011 ns, when all are there.
///
/// ns3-datacenter counts an arriving packet: queues are 1, 1, 2, 3, 4, 5, 5, 6, 7 and 8 packets, so seven are marked.
/// HPCC's simulator counts the packets behind a departing one: 0, 4, 7, 6, 5, 4, 3, 2, 1 and 0 packets, so six are
/// marked.
#[test]
fn ns3_datacenter_marks_what_comes_in() {
    let star = "4 1 3\n3\n0 3 10Gbps 1us 0\n1 3 25Gbps 1us 0\n2 3 25Gbps 1us 0\n";
    let flows = "2\n1 0 3 100 5000 2\n2 0 3 100 5000 2.0000001\n";
    let maps = "KMAX_MAP 2 10000000000 3 25000000000 400\nKMIN_MAP 2 10000000000 3 25000000000 100\n\
                PMAX_MAP 2 10000000000 1 25000000000 0.2\n";
    let config = hpcc("CC_MODE 1", 25);
    let others = config.lines().filter(|line| !line.contains("_MAP "));
    let config = others.fold(maps.to_owned(), |text, line| text + line + "\n");
    let algorithm = ["--argument", "algorithm=1", "--argument", "windowCheck=false"];
    for arguments in [&algorithm[..], &[&algorithm[..], &["--no-dialect"]].concat()] {
        let folder = datacenter(&config, &star.replacen("4 1 3", "4 1 1 3", 1), flows);
        import(&folder, "ns3-datacenter", arguments).assert_code(0);
        run(&folder);
        assert_eq!(marks(&folder), "\"ecn_marked\": 7", "{arguments:?}");
    }

    let folder = datacenter(&config, star, flows);
    import(&folder, "hpcc", &[]).assert_code(0);
    run(&folder);
    assert_eq!(marks(&folder), "\"ecn_marked\": 6");
}

#[test]
fn an_import_is_replaced_on_request() {
    let folder = conweave(CONWEAVE, LEAF_SPINE, "1 \n0 2 3 1000 2\n");
    let read = |name: &str| fs::read_to_string(folder.path(name)).expect("it is written");
    import(&folder, "conweave", &[]).assert_code(0);
    let first = [read("x.toml"), read("x.csv")];
    import(&folder, "conweave", &[]).assert_refused(&["x.toml exists", "--out", "--force"]);

    // Nothing is lost if the files are wrong.
    folder.write("ns3/config/flow.txt", "1 \n0 9 3 1000 2\n");
    import(&folder, "conweave", &["--force"]).assert_refused(&["there is no node 9"]);
    let islands = "4 2 2\n2 3\n0 2 100Gbps 1000ns 0\n1 3 100Gbps 1000ns 0\n";
    folder.write("ns3/config/flow.txt", "1 \n0 1 3 1000 2\n");
    folder.write("ns3/config/leaf_spine_128_100G_OS2.txt", islands);
    import(&folder, "conweave", &["--force"]).assert_refused(&["no path leads from"]);
    assert_eq!([read("x.toml"), read("x.csv")], first);
    assert_eq!(folder.entries(), ["ns3", "x.csv", "x.toml"]);

    folder.write("ns3/config/leaf_spine_128_100G_OS2.txt", LEAF_SPINE);
    folder.write("ns3/config/flow.txt", "2 \n0 2 3 1000 2\n1 3 3 1000 2\n");
    let imported = import(&folder, "conweave", &["--force"]).assert_code(0);
    assert!(imported.stdout.contains("2 flows"), "{}", imported.stdout);
    assert!(read("x.csv").contains("0,h1,h3,1000,3"));
    assert_eq!(folder.entries(), ["ns3", "x.csv", "x.toml"]);

    // Lists that only the earlier import named are removed, and so are the remains of a killed import.
    let other = read("x.toml").replace("x.csv", "y.csv");
    folder.write("x.toml", &(other + "# y.csv\n"));
    fs::rename(folder.path("x.csv"), folder.path("y.csv")).expect("a file can be moved");
    for left_over in [".x.toml.4194305.new", ".x.csv.4194305.old", ".x.csv.mine.old"] {
        folder.write(left_over, "");
    }
    import(&folder, "conweave", &["--force"]).assert_code(0);
    assert_eq!(folder.entries(), [".x.csv.mine.old", "ns3", "x.csv", "x.toml"]);
}

#[test]
fn what_no_import_has_written_stays() {
    let folder = conweave(CONWEAVE, LEAF_SPINE, "1 \n0 2 3 1000 2\n");
    let read = |name: &str| fs::read_to_string(folder.path(name)).expect("it is there");
    let mine = "start_ns,src,dst,bytes,priority\n5,h0,h1,77,3\n";
    folder.write("x.csv", mine);
    let refused = |words: &[&str]| import(&folder, "conweave", &["--force"]).assert_refused(words);
    refused(&["x.csv is no flow list of an earlier import", "--out"]);
    assert_eq!(
        (folder.entries(), read("x.csv")),
        (vec!["ns3".into(), "x.csv".into()], mine.into())
    );

    fs::remove_file(folder.path("x.csv")).expect("it is there");
    folder.write("x.toml", "# mine\n");
    refused(&["x.toml was not written by an import"]);
    assert_eq!(read("x.toml"), "# mine\n");
}

#[test]
fn a_scenario_in_a_folder_that_is_missing_is_refused() {
    let folder = conweave(CONWEAVE, LEAF_SPINE, "1 \n0 2 3 1000 2\n");
    let import = |out: &str| {
        let arguments = ["import", "conweave", &folder.path("ns3/mix/output/7"), "--out", out];
        finish(&mut xoff(arguments)).assert_refused(&["cannot ", "help: ", "name another file"]);
        assert_eq!(folder.entries(), ["ns3"]);
    };
    import(&folder.path("missing/x.toml"));
    import(&folder.path("ns3/config/flow.txt/x.toml"));
}
