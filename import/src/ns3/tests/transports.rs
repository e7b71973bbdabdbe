//! Congestion controls, their parameters and windows.

use super::*;

/// The scenario loads with any links.
#[test]
fn bases_at_their_ends() {
    for link in ["1Tbps 0ns", "1kbps 86400s", "1kbps 0ns"] {
        let topology = TOPOLOGY.replace("100Gbps 1us", link);
        let rate = if link.starts_with("1T") { "1000000000000" } else { "1000" };
        let maps = ["KMIN_MAP", "KMAX_MAP", "PMAX_MAP"]
            .map(|key| format!("{key} 2 100000000000 0 {rate} 0"));
        for mode in ["CC_MODE 3\nMULTI_RATE 0", "CC_MODE 8", "CC_MODE 1"] {
            let lines =
                format!("{mode}\nPACKET_PAYLOAD_SIZE 1\nHAS_WIN 1\nVAR_WIN 1\n{}", maps.join("\n"));
            let [config, topology, flows] =
                [("c.txt", config_with(&lines).as_str()), ("t.txt", &topology), ("f.txt", FLOWS)]
                    .map(|(name, text)| Source::new(name, text));
            let imported = import_texts(config, &topology, &flows, "c");
            let imported = imported.unwrap_or_else(|error| panic!("{link}: {error}"));
            if let Err(error) = load(&imported) {
                let words = error.to_string();
                assert!(words.contains("headroom") || words.contains("delay"), "{link}: {words}");
            }
        }
    }
}

/// The transport that a config is imported with. Base round trips of the two hosts are 6.24 us, 78,000 B.
#[test]
fn every_mode_is_a_congestion_control_with_its_parameters() {
    let imported = |lines: &str| {
        let [config, topology, flows] =
            [("c.txt", config_with(lines).as_str()), ("t.txt", TOPOLOGY), ("f.txt", FLOWS)]
                .map(|(name, text)| Source::new(name, text));
        import_texts(config, &topology, &flows, "c").unwrap()
    };
    let hpcc = "CC_MODE 3\nMI_THRESH 2\nU_TARGET 0.9\nRATE_AI 40Mb/s\nMIN_RATE 1Gb/s\nFAST_REACT 0\n\
                HAS_WIN 1\nVAR_WIN 1\nMULTI_RATE 0";
    let timely = "CC_MODE 7\nRATE_AI 100Mb/s\nRATE_HAI 500Mb/s\nHAS_WIN 1";
    let dctcp =
        "CC_MODE 8\nEWMA_GAIN 0.0625\nDCTCP_RATE_AI 615Mb/s\nMIN_RATE 1Gb/s\nHAS_WIN 1\nVAR_WIN 1";
    for (lines, expected) in [
        ("CC_MODE 0", "congestion_control = \"none\"\n"),
        (
            "CC_MODE 1\nCLAMP_TARGET_RATE 1",
            "congestion_control = \"dcqcn\"

[host.transport.dcqcn]
profile = \"hpcc\"
notification = \"ack\"
alpha_update_interval = \"55us\"
rate_decrease_interval = \"4us\"
rate_increase_timer = \"300us\"
g = \"1/256\"
fast_recovery_stages = 5
additive_increase = \"20Mbps\"
hyper_increase = \"200Mbps\"
minimum_rate = \"100Mbps\"
clamp_target_rate = true
",
        ),
        (
            hpcc,
            "base_rtt = \"6240ns\"
congestion_control = \"hpcc\"

[host.transport.hpcc]
utilisation = 0.9
max_stage = 2
fast_reaction = false
additive_increase = \"31B\"
minimum_rate = \"1Gbps\"
",
        ),
        (
            timely,
            "base_rtt = \"6240ns\"
window = \"78kB\"
window_scales = false
congestion_control = \"timely\"

[host.transport.timely]
additive_increase = \"100Mbps\"
hyper_increase = \"500Mbps\"
minimum_rate = \"100Mbps\"
",
        ),
        (
            dctcp,
            "base_rtt = \"6240ns\"
congestion_control = \"dctcp\"

[host.transport.dctcp]
g = \"1/16\"
additive_increase = \"480B\"
minimum_window = \"780B\"
",
        ),
    ] {
        let imported = imported(lines);
        let expected =
            format!("[host.transport]\nkind = \"roce-rc\"\nwindow_overrun = true\n{expected}");
        assert!(imported.toml.contains(&expected), "{}", imported.toml);
        load(&imported).unwrap_or_else(|error| panic!("{error}\n{}", imported.toml));
    }
}

/// Flows within a rack and between racks have different bases if the config says so.
#[test]
fn windows_follow_paths_if_they_are_not_global() {
    let topology = TOPOLOGY.replacen("4 2 3", "5 2 4", 1) + "4 2 100Gbps 1us 0\n";
    let flows = "2\n0 1 3 100 1000 2.000001\n0 4 3 100 1000 2.00002\n";
    let lines = "GLOBAL_T 0\nHAS_WIN 1\nVAR_WIN 1";
    let [config, topology, flows] =
        [("c.txt", config_with(lines).as_str()), ("t.txt", &topology), ("f.txt", flows)]
            .map(|(name, text)| Source::new(name, text));
    let imported = import_texts(config, &topology, &flows, "c").unwrap();
    let names: Vec<&str> = imported.flow_lists.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["c-100-4160ns-52000B.csv", "c-100-6240ns-78000B.csv"]);
    let scenario = load(&imported).unwrap_or_else(|error| panic!("{error}\n{}", imported.toml));
    let windows = scenario.transports().iter().map(|transport| transport.window().size);
    let expected = [78_000, 52_000, 78_000].map(|bytes| WindowSize::Bytes(Bytes(bytes)));
    assert!(windows.clone().all(|window| expected.contains(&window)), "{windows:?}");
    assert!(windows.count() >= 2);
}
