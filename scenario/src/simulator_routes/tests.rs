//! Next hops, their order, hashes and base values.

use std::path::Path;

use fabric_core::wire::roce::UDP_PORT;

use super::*;

/// A leaf-spine fabric with ids as in HPCC's files: hosts, then switches.
const LEAF_SPINE: &str = "dialect = \"hpcc-ns3\"
[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 3\nhosts_per_leaf = 2
host_link = { rate = \"100Gbps\", delay = \"1us\" }\nfabric_link = { rate = \"400Gbps\", delay = \"2us\" }
[host]\npayload = \"1000B\"
[[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h3\"\nbytes = \"1kB\"\n";

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, Path::new("x.toml"), &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn routes_of(scenario: &Scenario) -> &SimulatorRoutes {
    scenario.simulator_routes().expect("the dialect has them")
}

#[test]
fn next_hops_run_from_the_highest_id_down_unless_they_ascend() {
    let ports = |text: &str| {
        let scenario = scenario(text);
        let of = |switch, host| routes_of(&scenario).group(SwitchId(switch), HostId(host)).to_vec();
        // Leaf 0 has its hosts at ports 0 and 1, and the spines 6, 7 and 8 at the ports behind them.
        [of(0, 0), of(0, 3), of(1, 3), of(2, 3)]
    };
    assert_eq!(ports(LEAF_SPINE), [vec![0], vec![4, 3, 2], vec![1], vec![1]]);
    let ascending = LEAF_SPINE.replace("[host]", "[switch]\nnext_hops = \"ascending\"\n[host]");
    assert_eq!(ports(&ascending)[1], [2, 3, 4]);
}

#[test]
fn acks_are_hashed_by_their_own_header_and_the_switchs_id_is_the_seed() {
    // MurmurHash3_x86_32 of twelve bytes, from an independent program.
    let hashes = [([0; 3], 0), ([1, 2, 3], 7)].map(|(words, seed)| murmur(words, seed));
    assert_eq!(hashes, [0xd941_144b, 0x8cda_52d7]);
    let scenario = scenario(LEAF_SPINE);
    let (routes, fabric) = (routes_of(&scenario), scenario.fabric());
    let mut differ = 0;
    for port in 10_000..10_064 {
        let group = routes.group(SwitchId(0), HostId(3));
        let key = [0x0b00_0001, 0x0b00_0301, u32::from(port) | 100 << 16];
        let expected = group[murmur(key, 4) as usize % 3];
        let ends = [HostId(0), HostId(3)];
        assert_eq!(routes.port_between(SwitchId(0), ends, [port, 100]), Some(expected));
        let flow = Flow { source_port: Some(port), ..scenario.flows()[0].clone() };
        let (there, back) = scenario.path_of(&flow);
        assert_eq!((there.len(), back.len()), (4, 4));
        differ += usize::from(fabric.wire(there[1]).to != fabric.wire(back[1]).to);
    }
    assert!((20..64).contains(&differ), "two of three ACK paths are other ones: {differ}");
}

#[test]
fn source_ports_of_a_pair_count_up_for_the_simulators_hosts_only() {
    let flow = |to: &str| {
        format!("[[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"{to}\"\nbytes = \"1kB\"\n")
    };
    let text = format!("{LEAF_SPINE}{}{}", flow("h2"), flow("h3"));
    let ports = |scenario: &Scenario| {
        let flows = scenario.flows().iter();
        flows.map(|flow| scenario.udp_ports(flow)).collect::<Vec<_>>()
    };
    assert_eq!(ports(&scenario(&text)), [[10_000, 100], [10_000, 100], [10_001, 100]]);
    let own = text.replace("dialect = \"hpcc-ns3\"", "[datapath]\nkind = \"memory\"")
        + "[switch]\necmp = \"murmur3\"\n";
    for [source, destination] in ports(&scenario(&own)) {
        assert!(source >= 49_152, "drawn: {source}");
        assert_eq!(destination, UDP_PORT);
    }
}

#[test]
fn base_values_count_the_payload_on_each_link_and_the_delay_twice() {
    let scenario = scenario(LEAF_SPINE);
    let routes = routes_of(&scenario);
    // Delays of 1 + 2 + 2 + 1 us; 80 ns at hosts' links, 20 ns at the others.
    let base = routes.base(scenario.fabric(), [HostId(0), HostId(3)], 1000);
    assert_eq!((base.rtt, base.rate, base.product()), (12_200, 100_000_000_000, 152_500));
    let near = routes.base(scenario.fabric(), [HostId(0), HostId(1)], 1000);
    assert_eq!((near.rtt, near.product()), (4160, 52_000));
    assert_eq!(routes.longest, (12_200, 152_500));
    // 2500 B in three packets.
    assert_eq!(near.standalone(2500, 1000, 48), Nanos(4160 + 2644 * 8 / 100));
}
