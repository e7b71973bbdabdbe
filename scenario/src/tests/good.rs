//! Valid files.

use std::path::Path;

use host_agent::congestion_control::dcqcn::ByteCounter;
use topology::{HostId, SwitchId};
use units::checked::Checked;
use units::{BitsPerSecond, Bytes, Picos};

use super::super::{
    AckPriority, CongestionControl, EcnThresholds, Fault, Headroom, PauseResponse, Priorities,
    Reliability, Scenario, SelectiveRepeat, Stop, Threshold, ThresholdUpdate, Transport,
    json_schema,
};
use super::{INCAST, SMALL, parse, with};

#[test]
fn the_files_that_ship_load_and_come_back_from_their_own_text() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    assert!(files.len() >= 5);
    for file in files {
        let scenario = Scenario::load(&file, &[]).unwrap_or_else(|error| panic!("{error}"));
        let text = scenario.to_toml();
        let again = Scenario::parse(&text, Path::new("again.toml"), &[]);
        assert_eq!(again.unwrap_or_else(|error| panic!("{error}\n{text}")), scenario);
    }
}

#[test]
fn the_incast_is_what_its_file_says() {
    let scenario = Scenario::parse(INCAST, Path::new("incast.toml"), &[]).unwrap();
    assert_eq!(scenario.duration, Picos(20_000_000_000));
    assert_eq!(scenario.switch.buffer(), Bytes(2_000_000));
    assert_eq!(scenario.switch.lossless, Priorities(8));
    assert_eq!(scenario.switch.ecn.as_ref().unwrap().pmax.millionths, 200_000);
    assert_eq!(scenario.host.ack_priority(), AckPriority::Fixed(6));
    let flows = scenario.flows();
    assert_eq!(flows.len(), 8);
    assert_eq!((flows[0].source, flows[0].destination), (HostId(4), HostId(1)));
    assert_eq!((flows[1].id, &*flows[1].label, flows[1].source), (1, "incast", HostId(1)));
    let pools = scenario.buffer_pools(SwitchId(0));
    let (longest, pause) = (1074 + 24, 84);
    let per_queue = 2 * (12_500 + longest) + 3840 + longest + pause;
    assert_eq!(pools.headroom_by_port, [Bytes(per_queue); 6]);
    assert_eq!(pools.shared, Bytes(2_000_000 - 6 * per_queue - 6 * 3000));
}

/// Values that differ from the defaults, for as many keys as fit into one scenario.
const ALL_KEYS: &str = r#"
name = "all.keys_1"
seed = 9223372036854775807
stop = "deadlock"
[datapath]
kind = "memory"
links = "tap"
hook = "tc"
[topology]
kind = "custom"
switches = ["s0", "s1"]
hosts = ["a", "b"]
links = [
  { a = "a", b = "s0", rate = "2.5Gbps", delay = "350ps" },
  { a = "s0", b = "s1", rate = "400Mbps", delay = "0s" },
  { a = "s1", b = "b", rate = "10Gbps", delay = "1us" },
]
[switch]
lossless = []
threshold = { kind = "static", xoff = "200kB", xon = "190kB" }
headroom = { kind = "sih", bytes = "1KiB" }
ecn = { kmin = "0B", kmax = "1MiB", pmax = 1, mark_at = "enqueue", priorities = [7, 0] }
scheduler = { kind = "strict" }
control_priority = "none"
thresholds = { period = "10us" }
lossy = { kind = "dt", alpha = 2 }
pause_quanta = 100
pause_refresh = "1us"
pause_response = "10ns"
[host]
payload = "3072B"
ack_priority = 3
pause_response = "20ns"
transport = { kind = "roce-rc", dcqcn = { profile = "paper", byte_counter = "none", g = "1/16" } }
[[flows]]
kind = "list"
file = "flows.csv"
[results]
queue_period = "3us"
flow_size_bins = ["1B", "1GiB"]
size_classes = ["3kB"]
occupancy = true
link_bytes = true
distributions = true
throughput = { interval = "1us", labels = ["f?ows", "*"] }
flow_trace = { labels = ["fl*"] }
[[captures]]
wires = ["a->*", "?1->b"]
filter = "cnp"
[[faults]]
kind = "loss"
wire = "s0->s1"
match = "nak"
nth = [3, 1, 3]
[[faults]]
kind = "loss"
rate = 0.001
[[faults]]
kind = "corrupt"
wire = "s0-s1"
at = "1us"
for = "2us"
match = "data"
rate = 0.5
[[faults]]
kind = "down"
wire = "s1-s0"
at = "1ms"
reroute = true
reroute_after = "50us"
flap = { period = "1us", down_for = "1ns" }
"#;

#[test]
fn everything_written_out_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let rows = "start_ns,src,dst,bytes,priority\n2000,b,a,5,1\n1000,a,b,6,2\n";
    std::fs::write(folder.path().join("flows.csv"), rows).unwrap();
    let path = folder.path().join("all.toml");
    let scenario = Scenario::parse(ALL_KEYS, &path, &[]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        scenario.switch.headroom,
        Headroom::Sih { bytes: Some(Bytes(1024)), bandwidth_delays: None }
    );
    let ThresholdUpdate::Period(update) = scenario.switch.thresholds else { panic!("a period") };
    assert_eq!(update.period.get(), Picos(10_000_000));
    assert_eq!(scenario.switch.control_priority.0, None);
    assert_eq!(scenario.host.pause_response, PauseResponse::Time(Picos(20_000)));
    let transport = scenario.host.transport;
    let CongestionControl::Dcqcn(dcqcn) = transport.congestion_control() else { panic!("DCQCN") };
    assert_eq!(dcqcn.byte_counter, ByteCounter::try_from("none".to_owned()).ok());
    assert_eq!(dcqcn.fast_recovery_stages.map(Checked::get), Some(5));
    let Fault::Loss { nth, .. } = &scenario.faults[0] else { panic!("a loss") };
    assert_eq!(*nth, Some(vec![1, 3]));
    let covered = |fault: usize| {
        let names = scenario.fabric().wires().iter().map(|wire| wire.name.as_str());
        names.filter(|name| scenario.faults[fault].covers(name)).collect::<Vec<_>>()
    };
    assert_eq!(covered(0), ["s0->s1"]);
    assert_eq!(covered(2), ["s0->s1", "s1->s0"]);
    assert_eq!(covered(3), covered(2));
    let span = scenario.faults[2].span();
    assert_eq!((span.from, span.until), (Picos(1_000_000), Picos(3_000_000)));
    assert!(scenario.may_reroute());
    let flows = scenario.flows();
    assert_eq!((flows[0].start, &*flows[0].label), (Picos(1_000_000), "flows"));
    assert_eq!(scenario.fabric().wires()[2].rate, BitsPerSecond(400_000_000));
    let throughput = scenario.results.throughput.as_ref().unwrap();
    assert!(throughput.covers("flows") && scenario.results.occupancy);
    assert!(scenario.results.link_bytes);
    let trace = scenario.results.flow_trace.as_ref().unwrap();
    assert!(trace.covers("flows") && !trace.covers("others") && trace.rows == 100_000);
    assert!(scenario.results.distributions && scenario.stop == Stop::Deadlock);
    assert_eq!(scenario.results.flow_size_bins, [Bytes(1), Bytes(1 << 30)]);
    assert_eq!(scenario.results.size_classes, [Bytes(3000)]);
    let written = scenario.to_toml();
    let again = Scenario::parse(&written, Path::new("elsewhere/again.toml"), &[]);
    assert_eq!(again.unwrap_or_else(|error| panic!("{error}\n{written}")), scenario);
}

#[test]
fn overrides_replace_and_add() {
    assert_eq!(with("switch.buffer=4MB").unwrap().switch.buffer(), Bytes(4_000_000));
    assert_eq!(with("flows.0.bytes=2MB").unwrap().flows()[3].bytes, Bytes(2_000_000));
    assert_eq!(with("flows.0.senders=[\"h1\"]").unwrap().flows().len(), 2);
    assert_eq!(with("host.ack_interval=1").unwrap().host.ack_interval, 1);
    assert_eq!(with("name=a-name").unwrap().name, "a-name");
    let fixed = with("switch.threshold={kind=\"static\",xoff=\"200kB\",xon=\"1kB\"}").unwrap();
    let expected = Threshold::Static { xoff: Bytes(200_000), xon: Bytes(1000) };
    assert_eq!(fixed.switch.threshold, expected);
    let quiet = with("host.transport.congestion_control=none").unwrap().host.transport;
    let Transport::RoceRc(roce) = quiet else { panic!("RoCEv2") };
    assert_eq!(roce.reliability, Reliability::GoBackN);
    assert_eq!(*quiet.congestion_control(), CongestionControl::None);
}

#[test]
fn selective_repeat_has_the_published_timers_by_default() {
    for (keys, rto_low, rto_low_packets) in [
        ("", Picos(100_000_000), 3),
        (", rto_low = \"7us\", rto_low_packets = 9", Picos(7_000_000), 9),
    ] {
        let keys = format!(
            "host.transport={{ kind = \"roce-rc\", reliability = \"selective-repeat\"{keys} }}"
        );
        let scenario = with(&keys).unwrap();
        let Transport::RoceRc(transport) = scenario.host.transport else { panic!("RoCEv2") };
        let expected = SelectiveRepeat { rto_low, rto_low_packets };
        assert_eq!(transport.reliability, Reliability::SelectiveRepeat(expected));
        let again = Scenario::parse(&scenario.to_toml(), Path::new("again.toml"), &[]);
        assert_eq!(again.unwrap_or_else(|error| panic!("{error}")), scenario);
    }
}

/// A run of a sweep may take down the only links of a rate.
#[test]
fn failed_links_have_a_rate() {
    let text = r#"
[topology]
kind = "custom"
switches = ["s0", "s1", "s2"]
hosts = ["a", "b"]
links = [
  { a = "a", b = "s0", rate = "100Gbps", delay = "1us" },
  { a = "s0", b = "s1", rate = "400Gbps", delay = "1us" },
  { a = "s0", b = "s2", rate = "100Gbps", delay = "1us" },
  { a = "s2", b = "s1", rate = "100Gbps", delay = "1us" },
  { a = "s1", b = "b", rate = "100Gbps", delay = "1us" },
]
failed_links = [["s0", "s1"]]
[switch]
threshold = { kind = "dt", by_rate = [{ rate = "400Gbps", alpha = "1/2" }] }
[[flows]]
kind = "one"
src = "a"
dst = "b"
bytes = "1MB"
"#;
    Scenario::parse(text, Path::new("failed.toml"), &[]).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn ports_have_the_settings_of_their_rates() {
    let text = r#"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
host_link = { rate = "100Gbps", delay = "1us" }
fabric_link = { rate = "400Gbps", delay = "1us" }
[switch]
threshold = { kind = "dt", alpha = "1/8", by_rate = [{ rate = "0.4Tbps", alpha = "1/2" }] }
ecn = { kmin = "100kB", kmax = "400kB", pmax = 0.2, by_rate = [
  { rate = "400Gbps", kmin = "400kB", kmax = "1600kB" },
  { rate = "100Gbps", kmin = "1kB", kmax = "1kB", pmax = 0 },
] }
[[flows]]
kind = "one"
src = "h0"
dst = "h3"
bytes = "1MB"
"#;
    let parse = |text: &str, overrides: &[&str]| {
        let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
        Scenario::parse(text, Path::new("rates.toml"), &overrides)
            .unwrap_or_else(|error| panic!("{error}\n{text}"))
    };
    let scenario = parse(text, &[]);
    let [slow, fast] = [100, 400].map(|gigabits| BitsPerSecond(gigabits * 1_000_000_000));
    let alphas = |scenario: &Scenario| {
        [slow, fast].map(|rate| scenario.switch.threshold.alpha(rate).unwrap().to_string())
    };
    let ecn = |scenario: &Scenario| {
        let ecn = scenario.switch.ecn.as_ref().unwrap();
        [slow, fast].map(|rate| {
            let EcnThresholds { kmin, kmax, pmax } = ecn.thresholds(rate);
            [kmin.0, kmax.0, pmax.millionths.into()]
        })
    };
    assert_eq!(alphas(&scenario), ["1/8", "1/2"]);
    assert_eq!(ecn(&scenario), [[1000, 1000, 0], [400_000, 1_600_000, 200_000]]);
    let written = scenario.to_toml();
    assert_eq!(parse(&written, &[]), scenario, "{written}");

    let other =
        parse(text, &["switch.threshold.by_rate.0.alpha=1/4", "switch.ecn.by_rate.1.pmax=0.5"]);
    assert_eq!(alphas(&other), ["1/8", "1/4"]);
    assert_eq!(ecn(&other)[0], [1000, 1000, 500_000]);
    let plain = parse(text, &["switch.threshold.by_rate=[]", "switch.ecn.by_rate=[]"]);
    assert_eq!(alphas(&plain), ["1/8", "1/8"]);
    assert_eq!(ecn(&plain), [[100_000, 400_000, 200_000]; 2]);
}

#[test]
fn the_schema_describes_every_key() {
    fn describe(value: &serde_json::Value, path: &str, without: &mut Vec<String>) {
        if let Some(properties) = value["properties"].as_object() {
            for (key, schema) in properties {
                let referred = schema["description"].is_string() || key == "kind";
                if !referred {
                    without.push(format!("{path}/{key}"));
                }
            }
        }
        let children = value.as_object().into_iter().flatten();
        children.for_each(|(key, child)| describe(child, &format!("{path}/{key}"), without));
        let items = value.as_array().into_iter().flatten();
        items.for_each(|child| describe(child, path, without));
    }
    let schema = json_schema();
    let mut without = Vec::new();
    describe(&schema, "", &mut without);
    assert!(without.is_empty(), "keys without a description: {without:?}");
    assert!(!schema.to_string().contains("null"));
    assert_eq!(schema["properties"]["topology"]["$ref"], "#/$defs/TopologyKeys");
    let star = &schema["$defs"]["TopologyKeys"]["oneOf"][0];
    assert_eq!(star["properties"]["kind"]["const"], "star");
    assert_eq!(star["additionalProperties"], false);
    let results = &schema["$defs"]["ResultsKeys"]["properties"];
    assert_eq!(results["flow_size_bins"]["default"][8], "30MB");
    let switch = &schema["$defs"]["SwitchKeys"]["properties"];
    assert_eq!(switch["buffer"]["default"], "16MB");
    assert_eq!(schema["$defs"]["Time"]["pattern"], r"^[0-9]+(\.[0-9]+)? *(ps|ns|us|ms|s|µs|μs)$");
}

/// Each transport is kept once, and a scenario's written form loads into an equal scenario.
#[test]
fn flows_name_their_transports() {
    let hpcc = "transport = { kind = \"roce-rc\", congestion_control = \"hpcc\" }";
    let tcp = "transport = { kind = \"tcp\", congestion_control = \"dctcp\", dctcp = { start = \"line-rate\" }, \
               delayed_ack = \"40us\", handshake = false }";
    let flow = |start: u32, transport: &str| {
        format!(
            "[[flows]]\nkind = \"one\"\nsrc = \"h1\"\ndst = \"h2\"\nbytes = \"1kB\"\n\
             start = \"{start}us\"\n{transport}\n"
        )
    };
    let flows = [flow(1, hpcc), flow(2, tcp), flow(3, hpcc), flow(4, "")].concat();
    let scenario = parse(&format!("{SMALL}{flows}")).unwrap();
    let transports = scenario.transports();
    let controls: Vec<_> = transports.iter().map(|it| it.congestion_control().name()).collect();
    assert_eq!(controls, ["dcqcn", "hpcc", "dctcp"]);
    assert_eq!(transports.iter().map(Transport::telemetry_hops).collect::<Vec<_>>(), [0, 1, 0]);
    let places = scenario.flows().iter().map(|flow| scenario.transport_of(flow));
    assert_eq!(places.collect::<Vec<_>>(), [0, 1, 2, 1, 0]);
    let text = scenario.to_toml();
    let again = parse(&text).unwrap();
    assert_eq!(Scenario { name: scenario.name.clone(), ..again }, scenario, "{text}");
}
