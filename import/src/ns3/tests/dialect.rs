//! The dialect `hpcc-ns3`: what an import takes with it, and what it leaves out without it.

use super::super::Imported;
use super::*;

fn with_dialect(config_text: &str, topology_text: &str, flow_text: &str) -> Imported {
    let source = |name, text: &str| Source::new(name, text);
    let [config, topology, flows] =
        [("c.txt", config_text), ("t.txt", topology_text), ("f.txt", flow_text)]
            .map(|(name, text)| source(name, text));
    let arguments = Arguments::default();
    let options = Options::default();
    let imported = super::super::import_texts(
        Simulator::Hpcc,
        arguments,
        config,
        &topology,
        &flows,
        "c",
        options,
    );
    imported.unwrap_or_else(|error| panic!("{error}"))
}

fn lines<'a>(text: &'a str, table: &str) -> Vec<&'a str> {
    let from = text.find(table).unwrap_or_else(|| panic!("{table} is not in {text}"));
    text[from + table.len()..].lines().skip(1).take_while(|line| !line.is_empty()).collect()
}

#[test]
fn hosts_have_the_configs_own_numbers() {
    let dcqcn = config_with("GLOBAL_T 0\nVAR_WIN 1\nHAS_WIN 1\nRATE_BOUND 0\nL2_ACK_INTERVAL 4000");
    let imported = with_dialect(&dcqcn, TOPOLOGY, FLOWS);
    assert!(imported.remarks.differences.is_empty(), "{:?}", imported.remarks.differences);
    assert_eq!(
        lines(&imported.toml, "[host.ns3]"),
        [
            "control = \"dcqcn\"",
            "window = true",
            "paths = \"own\"",
            "window_scales = true",
            "paced = false",
            "ack_from = \"4kB\"",
            "chunk = \"1B\"",
            "repeats_chunk = false",
            "gain = \"1/256\"",
            "alpha_update_interval = \"55us\"",
            "rate_decrease_interval = \"4us\"",
            "rate_increase_timer = \"300us\"",
            "additive_increase = \"20Mbps\"",
            "hyper_increase = \"200Mbps\"",
            "minimum_rate = \"100Mbps\"",
            "fast_recovery_stages = 5",
            "clamp_target_rate = false",
        ]
    );
    let scenario = load(&imported).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.dialect, Some(scenario::Dialect::HpccNs3));
    // What happens at the simulator's stop does not run.
    assert_eq!(scenario.duration.to_nanos().0, 99_999_999);
}

#[test]
fn all_of_hpccs_variants_are_taken() {
    let hpcc = config_with("CC_MODE 3\nMULTI_RATE 1\nSAMPLE_FEEDBACK 1\nINT_MULTI 4\nMI_THRESH 0");
    let imported = with_dialect(&hpcc, TOPOLOGY, FLOWS);
    assert!(imported.remarks.differences.is_empty());
    for line in ["rate_per_hop = true", "skips_empty_queues = true", "stamp_multiple = 4"] {
        assert!(lines(&imported.toml, "[host.ns3]").contains(&line), "{}", imported.toml);
    }
    assert!(imported.toml.contains("dialect = \"hpcc-ns3\""));
    for mode in ["CC_MODE 7", "CC_MODE 8", "CC_MODE 0"] {
        let imported = with_dialect(&config_with(mode), TOPOLOGY, FLOWS);
        load(&imported).unwrap_or_else(|error| panic!("{mode}: {error}"));
    }
}

#[test]
fn flows_stay_in_one_list_with_their_ports_and_classes() {
    let flows = "3\n0 1 3 100 1000 2\n1 0 4 200 1000 2\n0 1 5 100 1000 2\n";
    let imported = with_dialect(CONFIG, TOPOLOGY, flows);
    assert!(imported.remarks.differences.is_empty());
    let list = "start_ns,src,dst,bytes,priority,label\n0,h0,h1,1000,3,\n\
                0,h1,h0,1000,4,dport-200\n0,h0,h1,1000,5,\n";
    assert_eq!(imported.flow_lists, [("c.csv".to_owned(), list.to_owned())]);
    let ports = "destination_ports = { dport-100 = 100, dport-200 = 200 }";
    assert!(imported.toml.contains(ports), "{}", imported.toml);
    let scenario = load(&imported).unwrap_or_else(|error| panic!("{error}"));
    let labels: Vec<&str> = scenario.flows().iter().map(|flow| &*flow.label).collect();
    assert_eq!(labels, ["dport-100", "dport-200", "dport-100"]);
}

#[test]
fn links_with_rates_of_their_own_lose_apart_from_the_others() {
    let topology = TOPOLOGY.replace("0 2 100Gbps 1us 0", "0 2 100Gbps 1us 0.01");
    let config = config_with("ERROR_RATE_PER_LINK 0.5");
    let imported = with_dialect(&config, &topology, FLOWS);
    let wires: Vec<&str> =
        imported.toml.lines().filter(|line| line.starts_with("wire = ")).collect();
    assert_eq!(wires, ["wire = \"*\"", "wire = \"h0->s2\"", "wire = \"s2->h0\""]);
    let scenario = load(&imported).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.faults.len(), 3);
}

#[test]
fn delays_are_cut_as_starts_are() {
    let topology = TOPOLOGY.replace("0 2 100Gbps 1us", "0 2 100Gbps 0.6us");
    let imported = with_dialect(CONFIG, &topology, FLOWS);
    assert!(imported.toml.contains("delay = \"599ns\""), "{}", imported.toml);
}

#[test]
fn what_no_dialect_has_is_still_a_difference() {
    let differences = |config: &str, flows: &str| -> Vec<String> {
        let imported = with_dialect(config, TOPOLOGY, flows);
        imported.remarks.differences.iter().map(|it| it.subject.to_string()).collect()
    };
    assert_eq!(differences(&config_with("CC_MODE 10"), FLOWS), ["c.txt:13: CC_MODE 10"]);
    let group = FLOWS.replace("0 1 3", "0 1 0");
    assert_eq!(differences(CONFIG, &group), ["f.txt: priority groups 0, 3"]);
}

/// Switches 2, 3 and 4 in a triangle, with two links between 2 and 3.
const TRIANGLE: &str = "5 3 6\n2 3 4\n0 2 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 100Gbps 1us 0
2 4 100Gbps 1us 0\n4 3 100Gbps 1us 0\n3 2 100Gbps 1us 0\n";

/// The link is the last of parallel ones, and its time counts from 2 s.
#[test]
fn a_link_goes_down_while_flows_run() {
    let imported = with_dialect(&config_with("LINK_DOWN 50 2 3"), TRIANGLE, FLOWS);
    assert!(imported.remarks.differences.is_empty(), "{:?}", imported.remarks.differences);
    assert_eq!(
        lines(&imported.toml, "[[faults]]"),
        ["kind = \"down\"", "wire = \"s3-s2#2\"", "at = \"50us\"", "reroute = true"]
    );
    let scenario = load(&imported).unwrap_or_else(|error| panic!("{error}"));
    let failure = scenario.link_failure().expect("a link fails");
    assert_eq!(scenario.fabric().wire(failure.link).name, "s3->s2#2");
    // Before the first second of flows the link is down from the start, with the base values of the fabric as it was.
    let later = FLOWS.replace(" 2.0000", " 3.0000");
    let config = config_with("LINK_DOWN 50 2 3").replace("STOP_TIME 2.1", "STOP_TIME 3.1");
    let early = with_dialect(&config, TRIANGLE, &later);
    assert!(!early.toml.contains("failed_links"), "{}", early.toml);
    let scenario = load(&early).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.link_failure().map(|failure| failure.at.0), Some(0));
    // After the stop it does not go down.
    let never = with_dialect(&config_with("LINK_DOWN 4000000 2 3"), TRIANGLE, FLOWS);
    assert!(!never.toml.contains("[[faults]]"), "{}", never.toml);
}

fn error_of(config_text: &str, topology_text: &str) -> (String, String) {
    let [config, topology, flows] =
        [("c.txt", config_text), ("t.txt", topology_text), ("f.txt", FLOWS)]
            .map(|(name, text)| Source::new(name, text));
    let arguments = Arguments::default();
    let options = Options::default();
    fault(super::super::import_texts(
        Simulator::Hpcc,
        arguments,
        config,
        &topology,
        &flows,
        "c",
        options,
    ))
}

/// Without the link the simulator would choose a port from an empty list.
#[test]
fn a_link_that_is_the_last_way_of_a_flow_is_an_error_at_its_line() {
    let (line, title) = error_of(&config_with("LINK_DOWN 50 2 3"), TOPOLOGY);
    let expected = "without this link flows have no way from node 0 to 1";
    assert_eq!((line.as_str(), title.as_str()), ("14", expected));
}
