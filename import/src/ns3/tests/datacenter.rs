//! Files of ns3-datacenter.

use super::*;

mod dialect;

/// A config like the ones of `PowerTCP`'s evaluation.
const CONFIG: &str = "\
ENABLE_QCN 1
USE_DYNAMIC_PFC_THRESHOLD 1
PACKET_PAYLOAD_SIZE 1000
TOPOLOGY_FILE examples/PowerTCP/t.txt
FLOW_FILE examples/PowerTCP/f.txt
TRACE_FILE mix/trace.txt
FCT_OUTPUT_FILE mix/fct.txt
SIMULATOR_STOP_TIME 0.4
CC_MODE 1
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
RP_TIMER 900
EWMA_GAIN 0.00390625
FAST_RECOVERY_TIMES 1
RATE_AI 50Mb/s
RATE_HAI 100Mb/s
MIN_RATE 100Mb/s
L2_ACK_INTERVAL 1
HAS_WIN 0
GLOBAL_T 1
VAR_WIN 1
FAST_REACT 1
U_TARGET 0.95
MULTI_RATE 0
KMAX_MAP 1 25000000000 400 100000000000 1600
KMIN_MAP 1 25000000000 100
PMAX_MAP 1 25000000000 0.2
BUFFER_SIZE 4
LINK_DOWN 0 0 0
";
const TOPOLOGY: &str = "\
4 2 1 3
2 3
0 2 25000000000.0 1us 0
2 3 25000000000 1us 0
1 3 25Gbps 1us 0
";
const FLOWS: &str = "2\n0 1 3 10000 1000000000000 0.13\n1 0 3 10001 2800 0.15";

fn import(
    words: &[&str],
    config: &str,
    topology: &str,
    flows: &str,
) -> Result<super::super::Imported, scenario::ScenarioError> {
    import_of(Simulator::Ns3Datacenter, words, [config, topology, flows])
}

/// The default command line is `PowerTCP` with a window. A base round trip is 6 us and three payloads of 320 ns.
#[test]
fn a_plain_config_is_taken() {
    let imported = import(&[], CONFIG, TOPOLOGY, FLOWS).unwrap();
    assert_eq!(asked(&imported.remarks), [""; 0]);
    for line in [
        "# Imported from c.txt of ns3-datacenter.",
        r#"duration = "400ms""#,
        r#"buffer = "4MiB""#,
        r#"private_per_queue = "0B""#,
        "lossless = [0, 1, 2, 3, 4, 5, 6, 7]",
        r#"threshold = { kind = "dt", alpha = "1/8", xon_offset = "2496B" }"#,
        r#"headroom = { kind = "sih", bandwidth_delays = 3 }"#,
        // Without a full packet of 1000 + 48 + 42 B.
        r#"ecn = { kmin = "98910B", kmax = "398910B", pmax = 0.2, mark_at = "enqueue" }"#,
        r#"control_priority = "none""#,
        r#"ack_priority = "data""#,
        "ack_queue = 3",
        r#"data_headers = "90B""#,
        r#"ack = "88B""#,
    ] {
        assert!(imported.toml.lines().any(|other| other == line), "{line}\n{}", imported.toml);
    }
    let transport = "base_rtt = \"6960ns\"\ncongestion_control = \"powertcp\"\n\n[host.transport.powertcp]\n\
                     gain = 0.9\nutilisation = 0.95\nadditive_increase = \"131B\"\nminimum_rate = \"100Mbps\"\n";
    assert!(imported.toml.contains(transport), "{}", imported.toml);
    let scenario = load(&imported).unwrap_or_else(|error| panic!("{error}\n{}", imported.toml));
    assert_eq!(scenario.flows().len(), 2);
    let notes = imported.remarks.note_lines().join("\n");
    for note in [
        "c.txt:2: USE_DYNAMIC_PFC_THRESHOLD 1: the simulator does not use it",
        "c.txt:6: TRACE_FILE",
        "c.txt:9: CC_MODE 1: the command line has it",
        "c.txt:19: HAS_WIN 0: the command line has it",
        "c.txt:25: KMAX_MAP 1 25000000000 400: the count says",
        "c.txt:29: LINK_DOWN",
    ] {
        assert!(notes.contains(note), "{note}: {notes}");
    }
    let lines: Vec<_> = imported.remarks.notes.iter().filter_map(|it| it.subject.line).collect();
    assert!(lines.len() > 6 && lines.is_sorted(), "{notes}");
}

/// The command line overrides the config.
#[test]
fn arguments_choose_the_congestion_control() {
    let window = "window = \"bdp\"\nwindow_scales = true\n";
    for (words, expected, has_window) in [
        (&["algorithm=1", "windowCheck=false"][..], "congestion_control = \"dcqcn\"", false),
        (&["algorithm=1"], "congestion_control = \"dcqcn\"", true),
        (&["wien=false"], "congestion_control = \"hpcc\"", false),
        (&["wien=false", "delayWien=true"], "congestion_control = \"hpcc\"", false),
        (&["delayWien=true"], "[host.transport.theta_powertcp]\ngain = 0.7\nadditive", false),
        (&["algorithm=7", "windowCheck=false"], "congestion_control = \"timely\"", false),
        (&["algorithm=8"], "congestion_control = \"dctcp\"", false),
        (&["algorithm=0"], "congestion_control = \"none\"", true),
    ] {
        let imported = import(words, CONFIG, TOPOLOGY, FLOWS).unwrap();
        assert_eq!(asked(&imported.remarks), [""; 0], "{words:?}");
        assert!(imported.toml.contains(expected), "{words:?}: {}", imported.toml);
        assert_eq!(imported.toml.contains(window), has_window, "{words:?}: {}", imported.toml);
        load(&imported).unwrap_or_else(|error| panic!("{error}\n{}", imported.toml));
    }
}

#[test]
fn what_xoff_cannot_do_is_named() {
    // Six products of 100 Gbit/s and 5 us, and eight queues.
    let long = TOPOLOGY.replace("1us", "100us");
    let config = |from: &str, to: &str| CONFIG.replace(from, to);
    for (words, config, topology, flows, expected) in [
        (
            &["windowCheck=0"][..],
            CONFIG.into(),
            TOPOLOGY,
            FLOWS,
            "windowCheck=false: no window; PowerTCP's window",
        ),
        (&["algorithm=10"], CONFIG.into(), TOPOLOGY, FLOWS, "--argument algorithm=10: HPCC-PINT"),
        (
            &[],
            config("FAST_REACT 1", "FAST_REACT 0"),
            TOPOLOGY,
            FLOWS,
            "once a round trip; at each ACK",
        ),
        (&[], config("VAR_WIN 1", "VAR_WIN 0"), TOPOLOGY, FLOWS, "a window of one size"),
        (&[], CONFIG.into(), TOPOLOGY, "2\n0 1 3 1 9 0.1\n0 1 4 1 9 0.1\n", "take turns by packet"),
        (
            &[],
            CONFIG.into(),
            &long,
            FLOWS,
            "c.txt:28: BUFFER_SIZE 4: headroom of 8 queues, 15MB at switch 2,",
        ),
    ] {
        let imported = import(words, &config, topology, flows).unwrap();
        let found = asked(&imported.remarks);
        assert!(found.len() == 1 && found[0].contains(expected), "{expected}: {found:?}");
    }
}

/// If a switch would set aside more than its buffer, scenarios have the headroom of the groups that flows use.
#[test]
fn headroom_above_the_buffer() {
    let long = TOPOLOGY.replace("1us", "50us");
    let imported = import(&[], CONFIG, &long, FLOWS).unwrap();
    assert!(imported.toml.contains("\nlossless = [3]\n"), "{}", imported.toml);
    load(&imported).unwrap_or_else(|error| panic!("{error}\n{}", imported.toml));
}

#[test]
fn files_that_are_wrong() {
    for (topology, line, title) in [
        (TOPOLOGY.replacen("4 2 1 3", "4 2 3", 1), "1", "a header of 3 fields"),
        (TOPOLOGY.replacen("4 2 1 3", "4 2 few 3", 1), "1", "the count of tors is `few`"),
        (TOPOLOGY.replacen("1 3 25Gbps", "9 3 25Gbps", 1), "5", "there is no node 9"),
        (TOPOLOGY.replacen("25000000000.0", "25.0.0", 1), "3", "`25.0.0` is not a rate"),
        (TOPOLOGY.replacen("25000000000.0", "0.5", 1), "3", "the rate is zero"),
    ] {
        let expected = (line.to_owned(), title.to_owned());
        assert_eq!(fault(import(&[], CONFIG, &topology, FLOWS)), expected, "{topology}");
    }
    let bare = import(&[], CONFIG, &TOPOLOGY.replacen("25Gbps", "25", 1), FLOWS);
    let report = bare.unwrap_err().to_string();
    let help = "help: the smallest rate is \"1kbps\"; a rate without a unit is in bit/s";
    assert!(report.contains("`25bps` is too small") && report.contains(help), "{report}");
    // The header of Reverie's topologies has two extra rates, not one.
    let one_rate = TOPOLOGY.replacen("4 2 1 3", "4 2 1 3 25000000000", 1);
    assert_eq!(fault(import(&[], CONFIG, &one_rate, FLOWS)).1, "a header of 5 fields");
    for (flows, title) in [
        ("1\n0 1 3 100 2500\n", "a flow of 5 fields"),
        ("1\n0 2 3 100 2500 0.1\n", "node 2 is a switch"),
        ("1\n0 1 3 100 0 0.1\n", "a flow of no bytes"),
        ("2\n0 1 3 100 1 0.1\n", "1 flows; the header counts 2"),
    ] {
        assert_eq!(fault(import(&[], CONFIG, TOPOLOGY, flows)).1, title, "{flows}");
    }
    for (from, to, line, title) in [
        ("CC_MODE 1", "LB_MODE 0", "9", "unknown key `LB_MODE`"),
        ("PMAX_MAP 1", "PMAX_MAP 2", "27", "`PMAX_MAP` with 3 values"),
        ("U_TARGET 0.95", "U_TARGET 0", "23", "U_TARGET is 0"),
        (
            "SIMULATOR_STOP_TIME 0.4",
            "SIMULATOR_STOP_TIME 0.1",
            "8",
            "the simulator stops before the first flow starts",
        ),
    ] {
        let found = fault(import(&[], &CONFIG.replace(from, to), TOPOLOGY, FLOWS));
        assert_eq!(found, (line.to_owned(), title.to_owned()), "{to}");
    }
    let conweave = import(&[], &CONFIG.replace("CC_MODE 1", "LB_MODE 0"), TOPOLOGY, FLOWS);
    let report = conweave.unwrap_err().to_string();
    let help =
        "help: it is a key of ConWeave's simulator (`xoff import conweave`); --lenient leaves out";
    assert!(report.contains(help), "{report}");
}
