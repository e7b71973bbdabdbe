//! Files of `ConWeave`'s simulator, without a dialect and with it.

mod dialect;

use super::*;

/// A config as `run.py` writes it, with fewer outputs.
const CONFIG: &str = "\
TOPOLOGY_FILE config/leaf_spine_128_100G_OS2.txt
FLOW_FILE config/f.txt

CNP_OUTPUT_FILE mix/output/1/cnp.txt
FCT_OUTPUT_FILE mix/output/1/fct.txt
QLEN_MON_START 2.0
SW_MONITORING_INTERVAL 10000
FLOWGEN_START_TIME 2.0
FLOWGEN_STOP_TIME 2.1
BUFFER_SIZE 9

CC_MODE 1
LB_MODE 0
ENABLE_PFC 1
ENABLE_IRN 0

CONWEAVE_TX_EXPIRY_TIME 1000
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
RP_TIMER 300
FAST_RECOVERY_TIMES 1
EWMA_GAIN 0.00390625
RATE_AI 40.0Mb/s
RATE_HAI 100.0Mb/s
MIN_RATE 100Mb/s
L2_ACK_INTERVAL 1
HAS_WIN 0
VAR_WIN 0
KMAX_MAP 2 100000000000 400 400000000000 400
KMIN_MAP 2 100000000000 100 400000000000 100
PMAX_MAP 2 100000000000 0.2 400000000000 0.20
LOAD 40
RANDOM_SEED 1
";
const TOPOLOGY: &str = "\
4 2 3
2 3
0 2 100Gbps 1000ns 0.000000
2 3 100Gbps 1000ns 0.000000
1 3 100Gbps 1000ns 0.000000
";
const FLOWS: &str = "2 \n0 1 3 2500 2.000001000\n1 0 3 0 2.000002000\n";

fn import(
    config: &str,
    topology: &str,
    flows: &str,
) -> Result<super::super::Imported, scenario::ScenarioError> {
    import_of(Simulator::ConWeave, &[], [config, topology, flows])
}

/// Returns the config with `from` replaced, which it must contain.
fn with(from: &str, to: &str) -> String {
    assert!(CONFIG.contains(from), "{from}");
    CONFIG.replace(from, to)
}

#[test]
fn a_plain_config_is_taken() {
    let imported = import(CONFIG, TOPOLOGY, FLOWS).unwrap();
    assert_eq!(asked(&imported.remarks), [""; 0]);
    let (name, list) = &imported.flow_lists[0];
    assert_eq!(name, "c.csv");
    // A flow of zero bytes sends one byte there.
    assert_eq!(list, "start_ns,src,dst,bytes,priority\n1000,h0,h1,2500,3\n1999,h1,h0,1,3\n");
    assert!(imported.toml.contains("# egress queue  "), "{}", imported.toml);
    for line in [
        "# Imported from c.txt of ConWeave's simulator.",
        r#"duration = "10100ms""#,
        r#"buffer = "9MiB""#,
        r#"private_per_queue = "2097B""#,
        "lossless = [3]",
        r#"threshold = { kind = "dt", alpha = "1/16", xon_offset = "1B" }"#,
        // 2 x 12,500 + 2 x 1048, and the eight frames of the port's queues without the private two.
        r#"headroom = { kind = "sih", bytes = "33383B" }"#,
        r#"ecn = { kmin = "101049B", kmax = "401049B", pmax = 0.2, mark_at = "dequeue" }"#,
        "control_priority = 0",
        "ack_priority = 0",
        "ack_queue = 0",
        r#"retransmission_timeout = "4ms""#,
        r#"data_headers = "48B""#,
        r#"ack = "60B""#,
        r#"additive_increase = "40Mbps""#,
    ] {
        assert!(imported.toml.lines().any(|other| other == line), "{line}\n{}", imported.toml);
    }
    let scenario = load(&imported).unwrap_or_else(|error| panic!("{error}\n{}", imported.toml));
    assert_eq!(scenario.flows().len(), 2);
    let notes = imported.remarks.note_lines().join("\n");
    for note in [
        "f.txt: flows of 0 bytes (1)",
        "c.txt:4: CNP_OUTPUT_FILE",
        "c.txt:6: QLEN_MON_START",
        "c.txt:32: LOAD 40",
    ] {
        assert!(notes.contains(note), "{note}: {notes}");
    }
}

#[test]
fn files_that_are_wrong() {
    for (text, line, title) in [
        (with("LB_MODE 0", "LB_MODE 5"), "13", "LB_MODE is `5`"),
        (with("LB_MODE 0", "LB_MOD 0"), "13", "unknown key `LB_MOD`"),
        (with("ENABLE_IRN 0", "ENABLE_IRN 2"), "15", "ENABLE_IRN is `2`"),
        (with("BUFFER_SIZE 9", "ACK_HIGH_PRIO 1"), "10", "unknown key `ACK_HIGH_PRIO`"),
        (with("STOP_TIME 2.1", "STOP_TIME soon"), "9", "FLOWGEN_STOP_TIME is `soon`"),
        (
            with("RATE_AI 40.0Mb/s", "RATE_AI 40Mbit"),
            "23",
            "`Mbit` in `40Mbit` is not a unit of rates",
        ),
    ] {
        let expected = (line.to_owned(), title.to_owned());
        assert_eq!(fault(import(&text, TOPOLOGY, FLOWS)), expected, "{text}");
    }
    let hpcc = import(&with("BUFFER_SIZE 9", "ACK_HIGH_PRIO 1"), TOPOLOGY, FLOWS);
    let report = hpcc.unwrap_err().to_string();
    let help = "it is a key of the HPCC simulator (`xoff import hpcc`) and of ns3-datacenter";
    assert!(report.contains(help), "{report}");
    for (flows, line, title) in [
        ("1\n0 1 3 100 2500 2\n", "2", "a flow of 6 fields"),
        ("1\n0 1 3 2\n", "2", "a flow of 4 fields"),
        ("1\n0 4 3 2500 2\n", "2", "there is no node 4"),
        ("1\n0 1 3 4294967296 2\n", "2", "the size is `4294967296`"),
        ("2\n0 1 3 1 2.1\n0 1 3 1 2\n", "3", "a flow that starts before the one above it"),
    ] {
        let expected = (line.to_owned(), title.to_owned());
        assert_eq!(fault(import(CONFIG, TOPOLOGY, flows)), expected, "{flows}");
    }
    let four = TOPOLOGY.replacen("4 2 3", "4 2 2 3", 1);
    assert_eq!(fault(import(CONFIG, &four, FLOWS)).1, "a header of 4 fields");
}

#[test]
fn what_xoff_cannot_do_is_named() {
    let mixed = TOPOLOGY.replacen("2 3 100Gbps", "2 3 400Gbps", 1);
    let larger = TOPOLOGY.replacen("4 2 3", "5 2 4", 1) + "4 2 100Gbps 1000ns 0\n";
    for (config, topology, flows, words) in [
        (with("LB_MODE 0", "LB_MODE 2"), TOPOLOGY, FLOWS, "LB_MODE 2: DRILL; ECMP"),
        (with("LB_MODE 0", "LB_MODE 3"), TOPOLOGY, FLOWS, "CONGA"),
        (with("LB_MODE 0", "LB_MODE 6"), TOPOLOGY, FLOWS, "LetFlow"),
        (with("LB_MODE 0", "LB_MODE 9"), TOPOLOGY, FLOWS, "LB_MODE 9: ConWeave; ECMP"),
        (CONFIG.into(), &mixed, FLOWS, "headroom of ports: by the rates"),
        (with("BUFFER_SIZE 9", "BUFFER_SIZE 0"), &larger, FLOWS, "375 kB for each port"),
        (CONFIG.into(), TOPOLOGY, "1\n0 1 0 9 2\n", "group 0 takes no buffer"),
        (CONFIG.into(), TOPOLOGY, "2\n0 1 3 9 2\n0 1 4 9 2\n", "group 1 has pools of its own"),
        (with("L2_ACK_INTERVAL 1", "L2_ACK_INTERVAL 0"), TOPOLOGY, FLOWS, "L2_ACK_INTERVAL 0"),
        (
            with("CC_MODE 1", "CC_MODE 3\nMULTI_RATE 0"),
            TOPOLOGY,
            FLOWS,
            "HAS_WIN 0: queues are divided",
        ),
    ] {
        let imported = import(&config, topology, flows).unwrap();
        let found = asked(&imported.remarks);
        assert!(found.len() == 1 && found[0].contains(words), "{words}: {found:?}");
    }
    let both = with("LB_MODE 0", "LB_MODE 9").replace("ACK_INTERVAL 1", "ACK_INTERVAL 0");
    let [balancing, acks] = &asked(&import(&both, TOPOLOGY, FLOWS).unwrap().remarks)[..] else {
        panic!("two differ")
    };
    assert!(balancing.starts_with("c.txt:13: LB_MODE") && acks.starts_with("c.txt:26: L2_ACK"));
    let even = import(&with("BUFFER_SIZE 9", "BUFFER_SIZE 0"), TOPOLOGY, FLOWS).unwrap();
    assert!(
        even.toml.contains("buffer = \"750kB\"") && asked(&even.remarks).is_empty(),
        "{}",
        even.toml
    );
}

/// Base round trips of the two hosts are 6.24 us, 78,000 B.
#[test]
fn irn_is_selective_repeat_with_a_window() {
    let lossy = with("ENABLE_IRN 0", "ENABLE_IRN 1").replace("ENABLE_PFC 1", "ENABLE_PFC 0");
    let imported = import(&lossy, TOPOLOGY, FLOWS).unwrap();
    assert_eq!(asked(&imported.remarks), [""; 0]);
    for lines in [
        "reliability = \"selective-repeat\"\nrto_low = \"100us\"\nrto_low_packets = 5\n\
         base_rtt = \"6240ns\"\nwindow = \"78kB\"\nwindow_scales = false\n",
        "retransmission_timeout = \"320us\"",
        "lossless = []",
        "mark_at = \"dequeue\", priorities = [3] }",
        "# NAK of a loss (IRN)",
    ] {
        assert!(imported.toml.contains(lines), "{lines}\n{}", imported.toml);
    }
    load(&imported).unwrap_or_else(|error| panic!("{error}\n{}", imported.toml));
    // With PFC, IRN's timers have no effect there.
    let both = import(&with("ENABLE_IRN 0", "ENABLE_IRN 1"), TOPOLOGY, FLOWS).unwrap();
    for line in ["rto_low_packets = 0", "retransmission_timeout = \"10100ms\""] {
        assert!(both.toml.contains(line), "{line}\n{}", both.toml);
    }
    let notes = both.remarks.note_lines().join("\n");
    assert!(notes.contains("c.txt:15: ENABLE_IRN 1: run.py refuses"), "{notes}");
    load(&both).unwrap_or_else(|error| panic!("{error}\n{}", both.toml));
    // Without IRN, losses are repaired by go-back-N.
    let dropping = import(&with("ENABLE_PFC 1", "ENABLE_PFC 0"), TOPOLOGY, FLOWS).unwrap();
    assert!(dropping.toml.contains("# NAK of a loss "), "{}", dropping.toml);
    load(&dropping).unwrap_or_else(|error| panic!("{error}\n{}", dropping.toml));
}

#[test]
fn links_go_down_after_the_flows_begin() {
    let down = with("FLOWGEN_START_TIME 2.0", "FLOWGEN_START_TIME 2.0\nLINK_DOWN 5 2 3");
    let found = asked(&import(&down, TOPOLOGY, FLOWS).unwrap().remarks);
    assert_eq!(
        found,
        ["c.txt:9: LINK_DOWN 5 2 3: the link goes down while flows run; it stays up"]
    );
    // The time counts from the start of the flows: 1 s and 5 us are before all of these.
    let early = down.replace("START_TIME 2.0", "START_TIME 1.0");
    let imported = import(&early, TOPOLOGY, FLOWS).unwrap();
    assert!(imported.toml.contains("failed_links = [[\"s2\", \"s3\"]]"), "{}", imported.toml);
}

/// The simulator's ACK has 18 extra bytes, and telemetry.
#[test]
fn frames_have_the_simulators_lengths() {
    for (mode, data, ack) in [("7", 56, 60), ("3\nMULTI_RATE 0", 90, 94), ("8", 48, 60)] {
        let config = with("CC_MODE 1", &format!("CC_MODE {mode}"))
            .replace("HAS_WIN 0\nVAR_WIN 0", "HAS_WIN 1\nVAR_WIN 1");
        let imported = import(&config, TOPOLOGY, FLOWS).unwrap();
        assert_eq!(asked(&imported.remarks), [""; 0]);
        let lines = format!("data_headers = \"{data}B\"\nack = \"{ack}B\"\n");
        assert!(imported.toml.contains(&lines), "{mode}: {}", imported.toml);
        load(&imported).unwrap_or_else(|error| panic!("{error}\n{}", imported.toml));
    }
}

#[test]
fn topologies_that_the_simulator_does_not_know_are_noted() {
    let notes = |config: &str, topology: &str| {
        import(config, topology, FLOWS).unwrap().remarks.note_lines().join("\n")
    };
    assert!(!notes(CONFIG, TOPOLOGY).contains("the simulator runs"));
    let other = with("leaf_spine_128_100G_OS2", "fat_k4_100G_OS2");
    assert!(notes(&other, TOPOLOGY).contains("c.txt:1: TOPOLOGY_FILE"));
    let longer = TOPOLOGY.replacen("1000ns", "2us", 1);
    assert!(notes(CONFIG, &longer).contains("links of 1000ns only"));
}
