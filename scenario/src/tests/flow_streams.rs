//! Flows of whole scenarios: reproducible, and at the given load.

use std::path::Path;

use topology::{HostId, Racks};
use workload::Flow;

use super::super::Scenario;

const LEAF_SPINE: &str = "[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 4
hosts_per_leaf = 8\nhost_link = { rate = \"100Gbps\", delay = \"1us\" }
fabric_link = { rate = \"100Gbps\", delay = \"1us\" }\n";

fn scenario(head: &str, flows: &str) -> Scenario {
    let text = format!("{head}\n{LEAF_SPINE}\n{flows}");
    let scenario = Scenario::parse(&text, Path::new("flows.toml"), &[]);
    scenario.unwrap_or_else(|error| panic!("{error}"))
}

fn with(flows: &str) -> Scenario {
    scenario("duration = \"100ms\"", &format!("[[flows]]\n{flows}"))
}

/// FNV-1a over all fields of the flows.
fn fingerprint(flows: impl Iterator<Item = Flow>) -> u64 {
    flows.fold(0xcbf2_9ce4_8422_2325, |hash, flow| {
        let numbers = [
            u64::from(flow.id),
            u64::from(flow.source.0),
            u64::from(flow.destination.0),
            flow.bytes.0,
            flow.start.0,
            u64::from(flow.priority),
            u64::from(flow.long_lived),
        ];
        let bytes = numbers.iter().flat_map(|number| number.to_le_bytes());
        bytes.fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    })
}

/// Payload of the flows as a fraction of the capacity of all host links over the run.
fn host_load(scenario: &Scenario) -> f64 {
    let bytes: f64 = scenario.flow_stream().map(|flow| flow.bytes.0 as f64).sum();
    let seconds = scenario.duration.0 as f64 / 1e12;
    bytes * 8.0 / seconds / (f64::from(scenario.fabric().host_count()) * 1e11)
}

#[test]
fn a_seed_gives_the_same_flows_for_ever() {
    let kinds = [
        ("kind = \"poisson\"\nload = 0.5\nsizes = \"websearch\"", 3_234_701_506_332_429_042),
        (
            "kind = \"poisson\"\nload = 0.3\nof = \"core-links\"\nsizes = \"memcached\"
pairs = { kind = \"rack-to-rack\", from = \"leaf0\", to = \"leaf2\" }",
            9_638_999_808_222_697_631,
        ),
        (
            "kind = \"lognormal\"\nsigma = 2\nload = 0.5\nsizes = \"google-rpc\"
priorities = [1, 2, 3]",
            4_032_008_847_758_150_973,
        ),
        (
            "kind = \"periodic-incast\"\ndegree = 20\nbytes = \"500kB\"\nperiod = \"100us\"",
            15_532_469_305_958_976_943,
        ),
        (
            "kind = \"poisson-incast\"\ndegree = 5\nbytes = \"64kB\"\nload = 0.02",
            2_390_328_980_215_175_377,
        ),
        ("kind = \"permutation\"\nbytes = \"1MB\"", 10_968_887_661_903_263_029),
        (
            "kind = \"all-to-all\"\nbytes = \"unlimited\"\npriorities = [0, 7]",
            12_051_022_977_990_843_753,
        ),
    ];
    let found = kinds.map(|(flows, _)| fingerprint(with(flows).flow_stream().take(10_000)));
    assert_eq!(found, kinds.map(|(_, hash)| hash));
}

#[test]
fn numbers_are_dense_and_starts_in_order() {
    let scenario = scenario(
        "duration = \"2ms\"",
        "[[flows]]\nkind = \"poisson\"\nload = 0.4\nsizes = \"hadoop\"
[[flows]]\nkind = \"periodic-incast\"\ndegree = 3\nbytes = \"1kB\"\nperiod = \"10us\"
[[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h9\"\nbytes = \"1B\"\nstart = \"1ms\"
[[flows]]\nkind = \"permutation\"\nbytes = \"1B\"\nstart = \"1ms\"",
    );
    let flows: Vec<Flow> = scenario.flow_stream().collect();
    assert!(flows.iter().enumerate().all(|(place, flow)| flow.id as usize == place));
    assert!(flows.windows(2).all(|pair| pair[0].start <= pair[1].start));
    assert!(flows.iter().all(|flow| flow.source != flow.destination));
    assert!(flows.iter().all(|flow| flow.start < scenario.duration));
    let labels: Vec<&str> = flows
        .iter()
        .filter(|flow| flow.start.0 == 1_000_000_000)
        .map(|flow| &*flow.label)
        .collect();
    assert_eq!(
        labels[..5],
        ["periodic-incast", "periodic-incast", "periodic-incast", "one", "permutation"]
    );
    assert_eq!(labels.len(), 3 + 1 + 32);
    assert_eq!(scenario.flows(), flows);
}

#[test]
fn workloads_do_not_disturb_each_other() {
    let poisson = "[[flows]]\nkind = \"poisson\"\nload = 0.4\nsizes = \"hadoop\"\n";
    let incast = "[[flows]]\nkind = \"poisson-incast\"\ndegree = 3\nbytes = \"1kB\"
period = \"10us\"\n";
    let labelled = |flows: &str, label: &str| -> Vec<Flow> {
        let scenario = scenario("duration = \"1ms\"", flows);
        let flows = scenario.flow_stream().filter(|flow| &*flow.label == label);
        flows.map(|flow| Flow { id: 0, workload: 0, ..flow }).collect()
    };
    let both = format!("{incast}{poisson}");
    assert_eq!(labelled(poisson, "poisson"), labelled(&both, "poisson"));
    assert_eq!(labelled(incast, "poisson-incast"), labelled(&both, "poisson-incast"));
    let twice = labelled(&format!("{poisson}{poisson}"), "poisson");
    assert!(twice.len() > labelled(poisson, "poisson").len() * 3 / 2);
    assert!(twice.windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn another_seed_gives_other_flows() {
    let flows = "[[flows]]\nkind = \"permutation\"\nbytes = \"1B\"";
    let receivers = |seed: u32| -> Vec<HostId> {
        let scenario = scenario(&format!("seed = {seed}"), flows);
        scenario.flow_stream().map(|flow| flow.destination).collect()
    };
    assert_ne!(receivers(1), receivers(2));
    let mut sorted = receivers(1);
    sorted.sort();
    assert_eq!(sorted, (0..32).map(HostId).collect::<Vec<_>>());
}

#[test]
fn the_load_is_what_it_says() {
    let poisson = with("kind = \"poisson\"\nload = 0.5\nsizes = \"hadoop\"");
    assert!((host_load(&poisson) - 0.5).abs() < 0.015, "{}", host_load(&poisson));
    let fixed = with("kind = \"poisson\"\nload = 0.8\nsizes = \"10kB\"");
    assert!((host_load(&fixed) - 0.8).abs() < 0.002, "{}", host_load(&fixed));
    let bursty = with("kind = \"lognormal\"\nsigma = 1\nload = 0.3\nsizes = \"4kB\"");
    assert!((host_load(&bursty) - 0.3).abs() < 0.003, "{}", host_load(&bursty));
    let incasts = with("kind = \"periodic-incast\"\ndegree = 10\nbytes = \"100kB\"\nload = 0.1");
    assert!((host_load(&incasts) - 0.1).abs() < 1e-3, "{}", host_load(&incasts));
    let senders = with(
        "kind = \"periodic-incast\"\ndegree = 4\nbytes = \"100kB\"\nload = 0.4
of = \"sender-links\"\nsenders = [\"leaf0\"]\nreceivers = [\"leaf1\"]",
    );
    // 8 of the 32 hosts.
    assert!((host_load(&senders) - 0.1).abs() < 1e-3, "{}", host_load(&senders));
    let period = with("kind = \"poisson-incast\"\ndegree = 4\nbytes = \"100kB\"\nperiod = \"2us\"");
    let expected = 4.0 * 8e5 / 2e-6 / 3.2e12;
    assert!((host_load(&period) / expected - 1.0).abs() < 0.02, "{}", host_load(&period));
}

#[test]
fn a_load_of_the_core_is_one_of_its_wires() {
    let core = with("kind = \"poisson\"\nload = 0.5\nof = \"core-links\"\nsizes = \"10kB\"");
    let racks = Racks::new(core.fabric());
    let bytes: f64 = core
        .flow_stream()
        .filter(|flow| racks.rack_of(flow.source) != racks.rack_of(flow.destination))
        .map(|flow| flow.bytes.0 as f64)
        .sum();
    // 16 uplinks of 100 Gbit/s; each byte between racks crosses one.
    let load = bytes * 8.0 / 0.1 / 16e11;
    assert!((load - 0.5).abs() < 0.002, "{load}");
    let racks = with(
        "kind = \"poisson\"\nload = 0.5\nof = \"core-links\"\nsizes = \"10kB\"
pairs = { kind = \"rack-to-rack\", from = \"leaf1\", to = \"leaf3\" }",
    );
    let bytes: f64 = racks.flow_stream().map(|flow| flow.bytes.0 as f64).sum();
    let load = bytes * 8.0 / 0.1 / 4e11;
    assert!((load - 0.5).abs() < 0.003, "{load}");
}

#[test]
fn incasts_come_from_other_racks() {
    let scenario = with(
        "kind = \"periodic-incast\"\ndegree = 24\nbytes = \"1kB\"
period = \"10us\"\nstart = \"1us\"\nstop = \"21us\"",
    );
    let racks = Racks::new(scenario.fabric());
    let flows: Vec<Flow> = scenario.flow_stream().collect();
    assert_eq!(flows.len(), 48);
    for event in flows.chunks(24) {
        let receiver = event[0].destination;
        assert!(event.iter().all(|flow| flow.destination == receiver));
        assert!(event.windows(2).all(|pair| pair[0].source < pair[1].source));
        assert!(event.iter().all(|flow| racks.rack_of(flow.source) != racks.rack_of(receiver)));
    }
    assert_eq!((flows[0].start.0, flows[24].start.0), (1_000_000, 11_000_000));
}

#[test]
fn groups_bound_who_sends_to_whom() {
    let scenario = scenario(
        "duration = \"10ms\"",
        "[[flows]]\nkind = \"poisson\"\nload = 0.3\nsizes = \"10kB\"
pairs = { kind = \"groups\", from = [\"leaf0\", \"h30\"], to = [\"leaf0\", \"leaf1\"] }
[[flows]]\nkind = \"poisson-incast\"\nload = 0.3\nbytes = \"10kB\"
degree = { least = 2, most = 4 }\nsenders = [\"leaf1\", \"leaf2\"]\nreceivers = [\"leaf1\", \"h0\"]",
    );
    let flows: Vec<Flow> = scenario.flow_stream().collect();
    let of = |label: &'static str| flows.iter().filter(move |flow| &*flow.label == label);
    let mut to = [0u32; 16];
    for flow in of("poisson") {
        let (source, destination) = (flow.source.0, flow.destination.0);
        assert!(source < 8 || source == 30, "{source}");
        assert!(source != destination && destination < 16, "{destination}");
        if source == 3 {
            to[destination as usize] += 1;
        }
    }
    // 0.3 of 100 Gbit/s in 10 ms is 3750 flows, to 15 receivers.
    assert!(to.iter().enumerate().all(|(host, &flows)| match host {
        3 => flows == 0,
        _ => (180..330).contains(&flows),
    }));
    let mut degrees = [0u32; 5];
    let incasts: Vec<&Flow> = of("poisson-incast").collect();
    for event in incasts.chunk_by(|a, b| a.start == b.start) {
        degrees[event.len()] += 1;
        for flow in event {
            let (source, destination) = (flow.source.0, flow.destination.0);
            assert!(destination == 0 || (8..16).contains(&destination), "{destination}");
            assert!((8..24).contains(&source) && source / 8 != destination / 8, "{source}");
        }
    }
    // 9 receivers at 0.3 of their links in 10 ms: 33,750 flows, three at a time.
    assert!(degrees[2..].iter().all(|&events| (3500..4000).contains(&events)), "{degrees:?}");
    assert_eq!(degrees[..2], [0, 0]);
}

/// As in ABM: from all 8 hosts of the next rack, 0.3 of the 16 MB buffer in total.
#[test]
fn queries_come_by_poisson_processes_of_their_receivers() {
    let scenario = with(
        "kind = \"poisson-incast\"\ndegree = 8\nrate = 200\nnext_rack = true
total = { of_buffer = 0.3 }",
    );
    let flows: Vec<Flow> = scenario.flow_stream().collect();
    let mut queries = [0u32; 32];
    for query in flows.chunk_by(|a, b| a.start == b.start) {
        let receiver = query[0].destination.0;
        queries[receiver as usize] += 1;
        let next = (receiver / 8 + 1) % 4 * 8;
        let senders: Vec<u32> = query.iter().map(|flow| flow.source.0).collect();
        assert_eq!(senders, (next..next + 8).collect::<Vec<_>>());
        assert!(query.iter().all(|flow| flow.destination.0 == receiver));
        assert!(query.iter().all(|flow| flow.bytes.0 == 600_000));
    }
    // 20 are expected for each of 32 hosts: the sum deviates by 25, each by 4.5.
    let sum: u32 = queries.iter().sum();
    assert!((565..715).contains(&sum), "{sum}");
    assert!(queries.iter().all(|&count| (4..40).contains(&count)), "{queries:?}");
    assert!(scenario.sources()[0].expected_flows().abs_diff(640 * 8) <= 8);
}

#[test]
fn the_next_rack_gets_what_a_rack_sends() {
    let scenario = with(
        "kind = \"poisson\"\nload = 0.4\nof = \"core-links\"\nsizes = \"100kB\"\npairs = \"next-rack\"",
    );
    let flows: Vec<Flow> = scenario.flow_stream().collect();
    let mut counts = [0u32; 8];
    for flow in &flows {
        let (source, destination) = (flow.source.0, flow.destination.0);
        assert_eq!(destination / 8, (source / 8 + 1) % 4);
        counts[destination as usize % 8] += 1;
        assert!(scenario.sources()[0].may_send(flow.source, flow.destination));
    }
    assert!(!scenario.sources()[0].may_send(HostId(0), HostId(1)));
    let mean = u32::try_from(flows.len()).unwrap() / 8;
    assert!(counts.iter().all(|count| count.abs_diff(mean) < mean / 10), "{counts:?}");
    // Four uplinks for eight hosts: 0.4 of the uplinks is 0.2 of the hosts' links.
    assert!((host_load(&scenario) - 0.2).abs() < 0.004, "{}", host_load(&scenario));
}

#[test]
fn more_flows_than_senders_are_dealt_in_turn() {
    let scenario = with(
        "kind = \"periodic-incast\"\ndegree = 31\nflows = 64\nsizes = \"hadoop\"
own_rack = true\nperiod = \"10us\"\nstop = \"10us\"",
    );
    let flows: Vec<Flow> = scenario.flow_stream().collect();
    assert_eq!(flows.len(), 64);
    let receiver = flows[0].destination;
    let mut counts = [0u32; 32];
    for flow in &flows {
        counts[flow.source.0 as usize] += 1;
    }
    assert_eq!(counts[receiver.0 as usize], 0);
    let mut sorted = counts;
    sorted.sort_unstable();
    assert_eq!((sorted[1], sorted[29], sorted[30], sorted[31]), (2, 2, 3, 3));
    assert!(flows.iter().any(|flow| flow.bytes != flows[0].bytes));
}

#[test]
fn a_batch_starts_at_once_and_keeps_the_load() {
    let batches = with("kind = \"poisson\"\nload = 0.5\nsizes = \"10kB\"\nbatch = 8");
    assert!((host_load(&batches) - 0.5).abs() < 0.004, "{}", host_load(&batches));
    let flows: Vec<Flow> = batches.flow_stream().take(800).collect();
    for batch in flows.chunk_by(|a, b| a.start == b.start) {
        assert_eq!(batch.len() % 8, 0);
        assert!(batch[..8].iter().all(|flow| flow.source == batch[0].source));
        assert!(batch.iter().any(|flow| flow.destination != batch[0].destination));
    }
}

#[test]
fn long_lived_flows_cannot_end_before_the_run() {
    let scenario = with(
        "kind = \"long-lived\"\nsenders = [\"h1\", \"h2\"]\nreceiver = \"h0\"
start = \"50ms\"",
    );
    let flows: Vec<Flow> = scenario.flow_stream().collect();
    assert!(flows.iter().all(|flow| flow.long_lived && flow.bytes.0 == 625_000_000));
    assert_eq!(flows.len(), 2);
}

#[test]
fn a_matrix_weighs_pairs() {
    let folder = tempfile::tempdir().unwrap();
    let row = |place: usize| {
        let weight = |column| match (place, column) {
            (0, 1) => "3",
            (0, 31) | (2, 0) => "1",
            _ => "0",
        };
        (0..32).map(weight).collect::<Vec<_>>().join(",")
    };
    let matrix: Vec<String> = (0..32).map(row).collect();
    std::fs::write(folder.path().join("pairs.csv"), matrix.join("\n")).unwrap();
    let text = format!(
        "duration = \"10ms\"\n{LEAF_SPINE}[[flows]]\nkind = \"poisson\"\nload = 0.5
sizes = \"1kB\"\npairs = {{ kind = \"matrix\", file = \"pairs.csv\" }}"
    );
    let scenario = Scenario::parse(&text, &folder.path().join("x.toml"), &[]).unwrap();
    let mut counts = [0u32; 3];
    for flow in scenario.flow_stream() {
        let pair = (flow.source.0, flow.destination.0);
        let place = [(0, 1), (0, 31), (2, 0)].iter().position(|known| *known == pair);
        counts[place.expect("a pair of the matrix")] += 1;
    }
    // Two senders at half their links' rate: 125,000 flows in 10 ms.
    let expected = [93_750f64, 31_250.0, 31_250.0].map(|weight| weight * 125.0 / 156.25);
    for (count, expected) in counts.into_iter().zip(expected) {
        assert!((f64::from(count) / expected - 1.0).abs() < 0.03, "{counts:?}");
    }
    let again = Scenario::parse(&scenario.to_toml(), Path::new("elsewhere.toml"), &[]).unwrap();
    assert_eq!(again, scenario);
}

#[test]
fn no_incast_starts_at_the_stop() {
    let starts = |stop: &str| -> Vec<u64> {
        let incasts = with(&format!(
            "kind = \"periodic-incast\"\ndegree = 1\nbytes = \"1kB\"\nperiod = \"0.5ns\"
start = \"1ns\"\nstop = \"{stop}ns\"",
        ));
        incasts.flow_stream().map(|flow| flow.start.0).collect()
    };
    assert_eq!(starts("2.5"), [1000, 1500, 2000]);
    assert_eq!(starts("2.501"), [1000, 1500, 2000, 2500]);
}
