//! Files of forks and of long links: keys that HPCC's simulator does not have, other headers of topologies, values at
//! the limits.

use super::super::Imported;
use super::*;

/// Makes both links of switch 2 as long as `delay`.
fn long(delay: &str) -> String {
    TOPOLOGY.replace("0 2 100Gbps 1us", &format!("0 2 100Gbps {delay}")).replace("0.001ms", delay)
}

fn imported(
    simulator: Simulator,
    config_text: &str,
    topology_text: &str,
    flow_text: &str,
    lenient: bool,
) -> Result<Imported, scenario::ScenarioError> {
    let source = |name, text: &str| Source::new(name, text);
    super::super::import_texts(
        simulator,
        Arguments::default(),
        source("c.txt", config_text),
        &source("t.txt", topology_text),
        &source("f.txt", flow_text),
        "c",
        Options { lenient, own_rules: true },
    )
}

fn import_hpcc(config_text: &str, topology_text: &str, flow_text: &str) -> Imported {
    imported(Simulator::Hpcc, config_text, topology_text, flow_text, true).unwrap()
}

fn scenario_of(imported: &Imported) -> Scenario {
    load(imported).unwrap()
}

fn asked_of(imported: &Imported) -> Vec<String> {
    let asked = imported.remarks.differences.iter().filter(|difference| difference.asked);
    asked.map(|it| format!("{}: {}; {}", it.subject, it.there, it.here)).collect()
}

#[test]
fn unknown_keys_are_left_out_only_if_that_is_asked_for() {
    let text = config_with("NIC_TOTAL_PAUSE_TIME 0\nGPU_KIND A100 8");
    let refused = imported(Simulator::Hpcc, &text, TOPOLOGY, FLOWS, false).unwrap_err();
    assert_eq!(refused.title(), "unknown key `NIC_TOTAL_PAUSE_TIME`");
    assert!(refused.to_string().contains("--lenient leaves out"), "{refused}");
    let taken = import_hpcc(&text, TOPOLOGY, FLOWS);
    let lines = text.lines().count();
    let key = |line, words| format!("c.txt:{line}: {words}: a key of another program; not taken");
    let expected = [key(lines - 1, "NIC_TOTAL_PAUSE_TIME 0"), key(lines, "GPU_KIND A100 8")];
    assert_eq!(asked_of(&taken), expected);
}

#[test]
fn keys_that_name_outputs_are_noted() {
    for key in ["BW_OUTPUT_FILE", "RATE_MON_FILE", "THROUGHPUT_FILE", "DIR"] {
        let text = config_with(&format!("{key} mix/x"));
        let taken = imported(Simulator::Hpcc, &text, TOPOLOGY, FLOWS, false).unwrap();
        let note = taken.remarks.note_lines().into_iter().find(|note| note.contains(key));
        assert!(note.is_some_and(|note| note.contains("it names an output")), "{key}");
        assert!(!taken.remarks.any_asked());
    }
}

/// 1 ms at 100 Gbit/s is 12.5 MB, three times at each of two ports: beyond 32 MiB.
#[test]
fn the_pool_of_a_switch_with_long_links_wraps_as_there() {
    let text = config_with("BUFFER_SIZE 32");
    let taken = import_hpcc(&text, &long("1ms"), FLOWS);
    let line = text.lines().count();
    let expected = format!(
        "c.txt:{line}: BUFFER_SIZE 32: headroom, 75008192B at switch 2, exceeds the buffer: the shared pool's size wraps \
         to 4 GiB, no PAUSE; the buffer is larger there: a shared pool of 512MiB"
    );
    assert_eq!(asked_of(&taken)[0], expected);
    let scenario = scenario_of(&taken);
    let fabric = scenario.fabric();
    let buffers: Vec<u64> = (0..2)
        .map(topology::SwitchId)
        .map(|switch| scenario.switch_at(switch).buffer().0)
        .collect();
    assert_eq!(fabric.switch(topology::SwitchId(0)).name, "s2");
    assert_eq!(buffers, [75_008_192 + (512 << 20), 37_545_692 + (512 << 20)]);
    // The simulator's limit is strict, and switch 3 of one long link just fits.
    assert_eq!(asked_of(&import_hpcc(&text, &long("1us"), FLOWS)), Vec::<String>::new());
}

/// Headroom beyond the largest buffer is an error at the line of the config.
#[test]
fn links_that_are_longer_than_any_buffer_are_refused_where_they_are_written() {
    let text = config_with("BUFFER_SIZE 32");
    let line = text.lines().count().to_string();
    let error = imported(Simulator::Hpcc, &text, &long("20ms"), FLOWS, true);
    let title = "switch 2 sets aside 1500008192B of its 33554432B";
    assert_eq!(fault(error), (line, title.into()));
}

#[test]
fn a_buffer_beyond_the_largest_is_the_largest() {
    let taken = import_hpcc(&config_with("BUFFER_SIZE 1000"), TOPOLOGY, FLOWS);
    assert_eq!(taken.toml.matches("buffer = \"960MiB\"").count(), 1);
    assert!(asked_of(&taken)[0].ends_with("a buffer of 1000 MiB; 960 MiB, the largest buffer"));
    let error = imported(Simulator::Hpcc, &config_with("BUFFER_SIZE 4096"), TOPOLOGY, FLOWS, true);
    assert_eq!(fault(error).1, "BUFFER_SIZE is `4096`");
}

#[test]
fn an_increase_may_be_nothing() {
    for (control, key, expected) in [
        ("CC_MODE 3\nMULTI_RATE 0\nHAS_WIN 1\nVAR_WIN 1", "RATE_AI", "\"0B\""),
        ("CC_MODE 1", "RATE_AI", "\"0bps\""),
        ("CC_MODE 7", "RATE_AI", "\"0bps\""),
        ("CC_MODE 8\nHAS_WIN 1\nVAR_WIN 1", "DCTCP_RATE_AI", "\"0B\""),
    ] {
        let taken = import_hpcc(&config_with(&format!("{key} 0Mb/s\n{control}")), TOPOLOGY, FLOWS);
        let line = format!("additive_increase = {expected}");
        assert!(taken.toml.lines().any(|other| other == line), "{control}: {}", taken.toml);
        scenario_of(&taken);
    }
    for wrong in ["0", "0 Mb/s", "0parsec"] {
        let text = config_with(&format!("RATE_AI {wrong}"));
        assert!(imported(Simulator::Hpcc, &text, TOPOLOGY, FLOWS, true).is_err(), "{wrong}");
    }
}

#[test]
fn rates_of_loss_are_as_fine_as_they_are_written() {
    let taken = import_hpcc(CONFIG, &TOPOLOGY.replacen("1us 0\n", "1us 1E-7\n", 1), FLOWS);
    assert_eq!(taken.toml.matches("rate = 1e-7").count(), 2, "{}", taken.toml);
    let faults = &scenario_of(&taken).faults;
    let rate = scenario::FineProbability { trillionths: 100_000 };
    let is_that = |fault: &scenario::Fault| matches!(fault, scenario::Fault::Loss { rate: Some(it), .. } if *it == rate);
    assert!(faults.len() == 2 && faults.iter().all(is_that), "{faults:?}");
}

/// SimAI's header also counts GPUs of a server and NVSwitches; Reverie's ends in two rates.
#[test]
fn headers_of_six_fields_are_read() {
    let plain = import_hpcc(CONFIG, TOPOLOGY, FLOWS).toml;
    for header in ["4 1 0 2 3 A100", "4 2 1 1 3 H800"] {
        let text = TOPOLOGY.replacen("4 2 3", header, 1);
        assert_eq!(import_hpcc(CONFIG, &text, FLOWS).toml, plain, "{header}");
    }
    for (header, title) in [
        ("4 1 0 2 3", "a header of 5 fields"),
        ("4 1 two 2 3 A100", "the count of NVSwitches is `two`"),
        ("4 1 0 x 3 A100", "the count of switches is `x`"),
    ] {
        assert_eq!(
            fault(topology(&TOPOLOGY.replacen("4 2 3", header, 1))),
            ("1".into(), title.into())
        );
    }
    let datacenter = |header: &str| {
        let text = TOPOLOGY.replacen("4 2 3", header, 1);
        Topology::parse(&Source::new("t.txt", &text), Simulator::Ns3Datacenter.traits())
    };
    for right in ["4 2 1 3", "4 2 1 3 25000000000 100000000000.0"] {
        assert_eq!(datacenter(right).unwrap().links.len(), 3, "{right}");
    }
    assert_eq!(fault(datacenter("4 2 1 3 25000000000 fast")).0, "1");
}

/// A terabyte takes 80 s, and 0.1 s are left.
#[test]
fn flows_that_cannot_end_have_no_end() {
    let flows = "3\n0 1 3 100 1000 2\n0 1 3 100 1000000000000 2\n1 0 3 100 1250000001 2\n";
    let taken = import_hpcc(CONFIG, TOPOLOGY, flows);
    let (_, list) = &taken.flow_lists[0];
    let rows: Vec<&str> = list.lines().skip(1).collect();
    assert_eq!(rows, ["0,h0,h1,1000,3", "0,h0,h1,unlimited,3", "0,h1,h0,unlimited,3"]);
    assert!(
        taken
            .remarks
            .note_lines()
            .iter()
            .any(|note| note.starts_with("f.txt: flows (2) with more"))
    );
    assert!(!taken.remarks.any_asked());
    let scenario = scenario_of(&taken);
    let long_lived: Vec<bool> = scenario.flows().iter().map(|flow| flow.long_lived).collect();
    assert_eq!(long_lived, [false, true, true]);
}
