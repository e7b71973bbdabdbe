//! The dialect `ns3-datacenter`: what an import takes with it, and what keeps xoff's own rules.

use super::super::super::Imported;
use super::*;

fn with_dialect(words: &[&str], config: &str, topology: &str) -> Imported {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    let arguments = Arguments::parse(Simulator::Ns3Datacenter, &words).unwrap();
    let imported = super::super::super::import_texts(
        Simulator::Ns3Datacenter,
        arguments,
        Source::new("c.txt", config),
        &Source::new("t.txt", topology),
        &Source::new("f.txt", FLOWS),
        "c",
        Options::default(),
    );
    imported.unwrap_or_else(|error| panic!("{error}"))
}

fn has(imported: &Imported, line: &str) -> bool {
    imported.toml.lines().any(|other| other == line)
}

#[test]
fn a_plain_config_has_the_dialect() {
    let imported = with_dialect(&[], CONFIG, TOPOLOGY);
    assert_eq!(asked(&imported.remarks), [""; 0]);
    for line in [
        "dialect = \"ns3-datacenter\"",
        "buffer = \"4MiB\"",
        "private_per_queue = \"0B\"",
        "lossless = [3]",
        r#"threshold = { kind = "dt", alpha = "1/8", xon_offset = "2496B" }"#,
        r#"headroom = { kind = "sih", bandwidth_delays = 3 }"#,
        r#"ecn = { kmin = "100kB", kmax = "400kB", pmax = 0.2, mark_at = "enqueue" }"#,
        "control_priority = \"none\"",
        "ack_queue = 3",
        "telemetry_hops = 5",
        "control = \"powertcp\"",
        "window = true",
        "window_scales = true",
        "window_by_rtt = true",
        "utilisation = 0.95",
        "fast_reaction = true",
        "data_headers = \"90B\"",
        "ack = \"88B\"",
    ] {
        assert!(has(&imported, line), "{line}\n{}", imported.toml);
    }
    let known = "no run of it has been compared";
    assert!(imported.toml.contains(known), "{}", imported.toml);
    let notes = imported.remarks.note_lines().join("\n");
    assert!(notes.contains("switch.scheme.egress_alpha = 1"), "{notes}");
    let scenario = load(&imported).unwrap_or_else(|error| panic!("{error}\n{}", imported.toml));
    assert_eq!(scenario.dialect, Some(scenario::Dialect::Ns3Datacenter));
    let resolved = scenario.to_toml();
    for line in [
        "time = \"floored-nanoseconds\"",
        "kind = \"pfc-sonic-pools\"",
        "window_rate = \"line\"",
        "ports = \"pairs\"",
        "list = \"cleared\"",
    ] {
        assert!(resolved.lines().any(|other| other == line), "{line}\n{resolved}");
    }
    assert_eq!(scenario.results.hpcc.expect("its files").lines, scenario::HpccLines::Hpcc);
}

/// The command line chooses; `--wien` acts on windows whatever the algorithm.
#[test]
fn arguments_choose_the_control_and_the_windows() {
    for (words, control, by_rtt) in [
        (&["algorithm=1", "windowCheck=false", "wien=false"][..], "dcqcn", false),
        (&["algorithm=1"], "dcqcn", true),
        (&["wien=false"], "hpcc", false),
        (&["delayWien=true"], "theta-powertcp", true),
        (&["algorithm=7", "wien=false"], "timely", false),
        (&["algorithm=8", "wien=false"], "dctcp", false),
        (&["algorithm=0", "wien=false"], "none", false),
    ] {
        let imported = with_dialect(words, CONFIG, TOPOLOGY);
        assert_eq!(asked(&imported.remarks), [""; 0], "{words:?}");
        assert!(has(&imported, "dialect = \"ns3-datacenter\""), "{words:?}");
        assert!(has(&imported, &format!("control = \"{control}\"")), "{}", imported.toml);
        assert_eq!(has(&imported, "window_by_rtt = true"), by_rtt, "{words:?}");
        let window = !words.contains(&"windowCheck=false");
        assert!(has(&imported, &format!("window = {window}")), "{}", imported.toml);
        load(&imported).unwrap_or_else(|error| panic!("{words:?}: {error}"));
    }
    let marks = |words| with_dialect(words, CONFIG, TOPOLOGY).toml.contains("# marks by chance");
    assert!(marks(&["algorithm=1"]) && !marks(&[]), "only where marks matter");
}

/// Settings beyond xoff's own rules.
#[test]
fn settings_that_only_the_dialect_has_are_taken() {
    let config = |from: &str, to: &str| CONFIG.replace(from, to);
    for (words, config, topology, line) in [
        (
            &[][..],
            config("FAST_REACT 1", "FAST_REACT 0"),
            TOPOLOGY.to_owned(),
            "fast_reaction = false",
        ),
        (
            &["wien=false"],
            config("MULTI_RATE 0", "MULTI_RATE 1"),
            TOPOLOGY.to_owned(),
            "rate_per_hop = true",
        ),
        (&[], config("U_TARGET 0.95", "RATE_BOUND 0"), TOPOLOGY.to_owned(), "paced = false"),
        // Headroom of 937,500 B for eight queues of two ports is above 4 MiB: the pool wraps there and in the dialect.
        (&[], CONFIG.to_owned(), TOPOLOGY.replace("1us", "100us"), "lossless = [3]"),
    ] {
        let imported = with_dialect(words, &config, &topology);
        assert_eq!(asked(&imported.remarks), [""; 0], "{line}");
        assert!(has(&imported, line), "{line}\n{}", imported.toml);
        assert!(has(&imported, "dialect = \"ns3-datacenter\""), "{line}");
        load(&imported).unwrap_or_else(|error| panic!("{error}\n{}", imported.toml));
    }
}

#[test]
fn a_setting_beyond_the_dialect_is_named_and_keeps_xoffs_rules() {
    let forty = TOPOLOGY.replacen("2 3 25000000000 1us", "2 3 40000000000 1us", 1);
    let maps = CONFIG
        .replace("KMAX_MAP 1", "KMAX_MAP 2 40000000000 400")
        .replace("KMIN_MAP 1", "KMIN_MAP 2 40000000000 100")
        .replace("PMAX_MAP 1", "PMAX_MAP 2 40000000000 0.2");
    let long = TOPOLOGY.replacen("2 3 25000000000 1us", "2 3 25000000000 1ms", 1);
    for (config, topology, note) in [
        (maps.as_str(), &forty, "--argument algorithm=3: stamps of 40 Gbit/s"),
        (CONFIG, &long, "c.txt:28: BUFFER_SIZE 4: a buffer of which one queue's headroom"),
    ] {
        let imported = with_dialect(&[], config, topology);
        let notes = imported.remarks.note_lines().join("\n");
        assert!(notes.contains(note), "{note}: {notes}");
        assert!(notes.contains("the dialect ns3-datacenter does not have it"), "{notes}");
        assert!(!imported.toml.contains("dialect ="), "{}", imported.toml);
        load(&imported).unwrap_or_else(|error| panic!("{error}\n{}", imported.toml));
    }
    let dcqcn = with_dialect(&["algorithm=1"], &maps, &forty);
    assert!(has(&dcqcn, "dialect = \"ns3-datacenter\""), "only stamps matter");
}
