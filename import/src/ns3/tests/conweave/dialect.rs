//! The dialect `conweave-ns3`: what an import takes with it, and what keeps xoff's own rules.

use super::super::super::Imported;
use super::*;

fn with_dialect(config_text: &str, topology_text: &str) -> Imported {
    imported(config_text, topology_text).unwrap_or_else(|error| panic!("{error}"))
}

fn imported(config_text: &str, topology_text: &str) -> Result<Imported, scenario::ScenarioError> {
    let source = |name, text: &str| Source::new(name, text);
    super::super::super::import_texts(
        Simulator::ConWeave,
        Arguments::default(),
        source("c.txt", config_text),
        &source("t.txt", topology_text),
        &source("f.txt", FLOWS),
        "c",
        Options::default(),
    )
}

fn has(imported: &Imported, line: &str) -> bool {
    imported.toml.lines().any(|other| other == line)
}

#[test]
fn a_plain_config_has_the_dialect() {
    let imported = with_dialect(CONFIG, TOPOLOGY);
    assert_eq!(asked(&imported.remarks), [""; 0]);
    for line in [
        "dialect = \"conweave-ns3\"",
        "seed = 1",
        "pause_lasts = \"5us\"",
        "buffer = \"9MiB\"",
        "private_per_queue = \"0B\"",
        "lossless = [3]",
        r#"threshold = { kind = "dt", alpha = "1/16", xon_offset = "1B" }"#,
        r#"headroom = { kind = "sih", bandwidth_delays = 2 }"#,
        // 1049 B of a queue do not count.
        r#"ecn = { kmin = "101049B", kmax = "401049B", pmax = 0.2, mark_at = "dequeue" }"#,
        "control_priority = 0",
        "ack_queue = 0",
        "control = \"dcqcn\"",
        "alpha_update_interval = \"1us\"",
        "data_headers = \"48B\"",
        "ack = \"60B\"",
    ] {
        assert!(has(&imported, line), "{line}\n{}", imported.toml);
    }
    let known = "no run of it has been compared";
    assert!(imported.toml.contains(known), "{}", imported.toml);
    let scenario = load(&imported).unwrap_or_else(|error| panic!("{error}\n{}", imported.toml));
    assert_eq!(scenario.dialect, Some(scenario::Dialect::ConweaveNs3));
    let resolved = scenario.to_toml();
    for line in ["timeout = \"4ms\"", "list = \"kept\"", "wake = \"next\"", "ports = \"hosts\""] {
        assert!(resolved.lines().any(|other| other == line), "{line}\n{resolved}");
    }
    let lines = scenario.results.hpcc.expect("its files").lines;
    assert_eq!(lines, scenario::HpccLines::Conweave);
}

#[test]
fn settings_of_the_config_are_taken() {
    let config = with("RANDOM_SEED 1", "RANDOM_SEED 77\nPAUSE_TIME 7.9").replace("LOAD 40\n", "");
    let imported = with_dialect(&config, TOPOLOGY);
    // The simulator cuts the pause to whole microseconds.
    for line in ["seed = 77", "pause_lasts = \"7us\""] {
        assert!(has(&imported, line), "{line}\n{}", imported.toml);
    }
    load(&imported).unwrap_or_else(|error| panic!("{error}"));
    // Two switches of two ports, and one of three.
    let larger = TOPOLOGY.replacen("4 2 3", "5 2 4", 1) + "4 2 100Gbps 1000ns 0\n";
    let imported = with_dialect(&with("BUFFER_SIZE 9", "BUFFER_SIZE 0"), &larger);
    assert_eq!(asked(&imported.remarks), [""; 0]);
    let scenario = load(&imported).unwrap_or_else(|error| panic!("{error}\n{}", imported.toml));
    let buffers = [0, 1].map(|switch| scenario.switch_at(topology::SwitchId(switch)).buffer().0);
    assert_eq!(buffers, [1_125_000, 750_000]);
    for mode in ["CC_MODE 3\nMULTI_RATE 0\nHAS_WIN 1", "CC_MODE 7", "CC_MODE 8", "CC_MODE 0"] {
        let config =
            with("CC_MODE 1", mode).replacen("HAS_WIN 0\n", "", usize::from(mode.len() > 9));
        let imported = with_dialect(&config, TOPOLOGY);
        assert!(has(&imported, "dialect = \"conweave-ns3\""), "{mode}");
        load(&imported).unwrap_or_else(|error| panic!("{mode}: {error}"));
    }
}

#[test]
fn a_setting_beyond_the_dialect_is_named_and_keeps_xoffs_rules() {
    let forty = TOPOLOGY.replacen("2 3 100Gbps", "2 3 40Gbps", 1);
    let marks = |text: String| {
        text.replace("KMAX_MAP 2", "KMAX_MAP 3 40000000000 400")
            .replace("KMIN_MAP 2", "KMIN_MAP 3 40000000000 100")
            .replace("PMAX_MAP 2", "PMAX_MAP 3 40000000000 0.2")
    };
    let hpcc = with("CC_MODE 1", "CC_MODE 3\nMULTI_RATE 0").replace("HAS_WIN 0", "HAS_WIN 1");
    for (config, topology, note) in [
        (with("ENABLE_IRN 0", "ENABLE_IRN 1"), TOPOLOGY, "c.txt:15: ENABLE_IRN 1: IRN"),
        (
            with("ENABLE_PFC 1", "ENABLE_PFC 0"),
            TOPOLOGY,
            "c.txt:14: ENABLE_PFC 0: switches without",
        ),
        (with("LB_MODE 0", "LB_MODE 9"), TOPOLOGY, "c.txt:13: LB_MODE 9: another load balancing"),
        (with("LOAD 40", "PAUSE_TIME 1"), TOPOLOGY, "PAUSE_TIME 1: pauses that are shorter"),
        (with("RANDOM_SEED 1", "RANDOM_SEED 0"), TOPOLOGY, "RANDOM_SEED 0: a seed"),
        (marks(hpcc.clone()), &forty, "CC_MODE 3: HPCC's stamps of 40 Gbit/s"),
    ] {
        let imported = with_dialect(&config, topology);
        let notes = imported.remarks.note_lines().join("\n");
        assert!(notes.contains(note), "{note}: {notes}");
        assert!(notes.contains("the dialect conweave-ns3 does not have it"), "{notes}");
        assert!(!imported.toml.contains("dialect ="), "{}", imported.toml);
        load(&imported).unwrap_or_else(|error| panic!("{error}\n{}", imported.toml));
    }
    let dcqcn = with_dialect(&marks(CONFIG.to_owned()), &forty);
    assert!(has(&dcqcn, "dialect = \"conweave-ns3\""), "only stamps matter");
}

#[test]
fn a_pause_time_above_32_bits_is_an_error_at_its_line() {
    for (time, is_there) in [("4294967295", true), ("4294967296", false), ("5000000000.5", false)] {
        let config = format!("{CONFIG}PAUSE_TIME {time}\n");
        let line = config.lines().count().to_string();
        match imported(&config, TOPOLOGY) {
            Ok(imported) => {
                assert!(is_there, "{time}");
                load(&imported).unwrap_or_else(|error| panic!("{error}"));
            }
            error => {
                let expected = (line, format!("PAUSE_TIME is `{time}`"));
                assert!(!is_there, "{time}: {error:?}");
                assert_eq!(fault(error), expected);
            }
        }
    }
}
