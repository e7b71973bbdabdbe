//! Fabrics under the dialect `hpcc-ns3`: times that the simulator has, and what holds for any small fabric.

use fabric_core::wire::RemainingSize;
use proptest::prelude::*;
use results::RunEnd;
use topology::{HostId, SwitchId};

use super::super::tests::{engine, run, scenario};
use super::super::{Engine, Finished};
use super::*;
use crate::datapath::memory::MemoryWires;

/// Hosts on one switch, with links of this rate and delay, and settings of hosts.
fn star(hosts: u32, link: &str, host: &str, flows: &str) -> String {
    format!(
        "dialect = \"hpcc-ns3\"\nduration = \"100ms\"
[topology]\nkind = \"star\"\nhosts = {hosts}\nhost_link = {link}
[switch]\nbuffer = \"32MiB\"\nprivate_per_queue = \"4KiB\"\nprivate_fill = \"bytes\"\nlossless = [3]
threshold = {{ kind = \"dt\", alpha = \"1/8\", xon_offset = \"3KiB\" }}
headroom = {{ kind = \"sih\", bandwidth_delays = 3 }}\ncontrol_priority = \"none\"
pause_response = \"0s\"\nwire_overhead = \"0B\"\nresume_test = \"departure\"
[host]\nack_queue = 3\npause_response = \"0s\"\nack_interval = 1
[host.ns3]\n{host}
[frames]\ndata_headers = \"48B\"\nack = \"60B\"\nhop_control = \"43B\"
{flows}"
    )
}

fn flow(at: u64, src: u32, dst: u32, bytes: u64) -> String {
    format!(
        "[[flows]]\nkind = \"one\"\nstart = \"{at}ns\"\nsrc = \"h{src}\"\ndst = \"h{dst}\"\nbytes = \"{bytes}B\"\npriority = 3\n"
    )
}

/// Runs a scenario. Its flows complete, and its books are in order.
fn finished(text: &str) -> Finished<MemoryWires> {
    let scenario = scenario(text);
    let done = run(engine(&scenario)).expect("memory");
    assert_eq!(done.counted.books, [""; 0], "{text}");
    assert!(matches!(done.counted.ended, RunEnd::Drained));
    done
}

/// Completion times that the simulator gave for one flow alone: the run ends with its last ACK.
#[test]
fn a_lone_flow_takes_the_simulators_time() {
    for (link, bytes, expected) in [
        ("{ rate = \"100Gbps\", delay = \"1us\" }", 10_452, 4960),
        ("{ rate = \"40Gbps\", delay = \"599ns\" }", 10_452, 4816),
        ("{ rate = \"40Gbps\", delay = \"599ns\" }", 1000, 2836),
    ] {
        let done = finished(&star(2, link, "", &flow(0, 0, 1, bytes)));
        assert_eq!(done.end.to_nanos().0, expected, "{bytes} B over {link}");
    }
}

/// Two hosts send to a third at one instant: the packet of the flow that comes first in the file goes first, whichever
/// host it is.
#[test]
fn arrivals_of_an_instant_keep_the_order_of_their_starts() {
    let link = "{ rate = \"100Gbps\", delay = \"1us\" }";
    for first in [0, 1] {
        let flows = flow(0, first, 2, 1000) + &flow(0, 1 - first, 2, 1000);
        let scenario = scenario(&star(3, link, "", &flows));
        let mut engine = engine(&scenario);
        let order = order_of_completion(&mut engine);
        assert_eq!(order, [0, 1], "by their numbers in the file");
    }
}

/// Runs window after window, and returns the flows in the order in which they complete.
fn order_of_completion(engine: &mut Engine<'_, MemoryWires>) -> Vec<u32> {
    use host_agent::HostEvent;

    use super::super::journal::Note;
    let mut order = Vec::new();
    let mut entries = Vec::new();
    while let Some(mut window) = engine.next_window().expect("nothing is written") {
        engine.start_flows(&mut window);
        engine.parts[0].run(window).expect("memory");
        engine.parts[0].core.journal.give(&mut entries);
        order.extend(entries.drain(..).filter_map(|entry| match entry.what {
            Note::Host(HostEvent::FlowCompleted { flow, .. }) => Some(flow),
            _ => None,
        }));
        if engine.parts[0].core.frames_on_their_way() == 0 && engine.stream.next_start().is_none() {
            break;
        }
    }
    order
}

/// A leaf-spine fabric with ids as in HPCC's files: hosts, then switches.
const LEAF_SPINE: &str = "dialect = \"hpcc-ns3\"
[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 3\nhosts_per_leaf = 2
host_link = { rate = \"100Gbps\", delay = \"1us\" }\nfabric_link = { rate = \"400Gbps\", delay = \"2us\" }
[host]\npayload = \"1000B\"
[[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h3\"\nbytes = \"1kB\"\n";

#[test]
fn next_hops_run_from_the_highest_id_down_unless_they_ascend() {
    let ports = |text: &str| {
        let scenario = scenario(text);
        let routes = Routes::new(&scenario);
        let of = |switch, host| routes.group(SwitchId(switch), HostId(host)).to_vec();
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
    let hashes = [([0; 3], 0), ([1, 2, 3], 7)].map(|(words, seed)| routes::murmur(words, seed));
    assert_eq!(hashes, [0xd941_144b, 0x8cda_52d7]);
    let scenario = scenario(LEAF_SPINE);
    let routes = Routes::new(&scenario);
    let fabric = scenario.fabric();
    let packet = |from: u32, to: u32, ports: [u16; 2]| fabric_core::wire::RocePacket {
        source: FIRST_HOST_ADDRESS + from,
        destination: FIRST_HOST_ADDRESS + to,
        source_port: ports[0],
        remaining: RemainingSize::from_wire(ports[1]),
        ..anything()
    };
    let mut differ = 0;
    for port in 10_000..10_064 {
        let group = routes.group(SwitchId(0), HostId(3));
        let key = [0x0b00_0001, 0x0b00_0301, u32::from(port) | 100 << 16];
        let expected = group[routes::murmur(key, 4) as usize % 3];
        assert_eq!(routes.port(SwitchId(0), &packet(0, 3, [port, 100])), Some(expected));
        let there = routes.path(fabric, [HostId(0), HostId(3)], [port, 100]);
        let back = routes.path(fabric, [HostId(3), HostId(0)], [100, port]);
        assert_eq!((there.len(), back.len()), (4, 4));
        differ += usize::from(fabric.wire(there[1]).to != fabric.wire(back[1]).to);
    }
    assert!((20..64).contains(&differ), "two of three ACK paths are other ones: {differ}");
}

fn anything() -> fabric_core::wire::RocePacket {
    let flow = host_agent::ns3::Flow {
        flow: 0,
        qp: 2,
        destination: 0,
        source_port: 0,
        destination_port: 0,
        priority: Priority::new(3),
        bytes: 1,
        window: 0,
        base_rtt: Nanos(1),
    };
    let lengths = host_agent::frame_length::FrameLengths::default();
    let link = host_agent::ns3::HostLink {
        address: 0,
        rate: units::BitsPerSecond(1_000_000_000),
        payload: 1000,
        lengths,
        ack_queue: Priority::new(3),
        pause: None,
    };
    let mut host = host_agent::ns3::Host::new(Settings::default(), link);
    host.start(Nanos(0), flow);
    let mut queue = Queue::default();
    host.poll(Nanos(0), &mut HostQueue { queue: &mut queue, node: 0 }).expect("a packet")
}

#[test]
fn base_values_count_the_payload_on_each_link_and_the_delay_twice() {
    let scenario = scenario(LEAF_SPINE);
    let routes = Routes::new(&scenario);
    // Delays of 1 + 2 + 2 + 1 us; 80 ns at hosts' links, 20 ns at the others.
    let base = routes.base(scenario.fabric(), [HostId(0), HostId(3)], 1000);
    assert_eq!((base.rtt, base.rate, base.product()), (12_200, 100_000_000_000, 152_500));
    let near = routes.base(scenario.fabric(), [HostId(0), HostId(1)], 1000);
    assert_eq!((near.rtt, near.product()), (4160, 52_000));
    assert_eq!(routes.longest, (12_200, 152_500));
    // 2500 B in three packets.
    assert_eq!(near.standalone(2500, 1000, 48), Nanos(4160 + 2644 * 8 / 100));
}

/// A small fabric and its traffic.
#[derive(Clone, Debug)]
struct Drawn {
    control: usize,
    window: bool,
    scales: bool,
    buffer_kib: u64,
    marks: (u64, u64),
    loss: bool,
    flows: Vec<(u64, u32, u32, u64)>,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let flow = (0..4000_u64, 0..4_u32, 1..4_u32, 1..60_000_u64);
    let flow = flow.prop_map(|(at, src, step, bytes)| (at, src, (src + step) % 4, bytes));
    let flows = prop::collection::vec(flow, 1..8);
    let switch = (200..1000_u64, (0..40_000_u64, 0..40_000_u64), prop::bool::weighted(0.2));
    ((0..5_usize, any::<bool>(), any::<bool>()), switch, flows).prop_map(
        |((control, window, scales), (buffer_kib, marks, loss), flows)| Drawn {
            control,
            window,
            scales,
            buffer_kib,
            marks: (marks.0, marks.0 + marks.1),
            loss,
            flows,
        },
    )
}

impl Drawn {
    fn text(&self) -> String {
        let control = ["none", "dcqcn", "hpcc", "timely", "dctcp"][self.control];
        let host = format!(
            "control = \"{control}\"\nwindow = {}\nwindow_scales = {}\nminimum_rate = \"1Gbps\"",
            self.window, self.scales
        );
        let (kmin, kmax) = self.marks;
        let mut flows = String::new();
        for (at, src, dst, bytes) in &self.flows {
            flows.push_str(&flow(*at, *src, *dst, *bytes));
        }
        if self.loss {
            flows.push_str("[[faults]]\nkind = \"loss\"\nwire = \"*\"\nrate = 0.01\n");
        }
        let link = "{ rate = \"100Gbps\", delay = \"100ns\" }";
        let buffer = format!("\"{}KiB\"", self.buffer_kib);
        let mut text = star(4, link, &host, &flows).replace("\"32MiB\"", &buffer);
        let ecn = format!("ecn = {{ kmin = \"{kmin}B\", kmax = \"{kmax}B\", pmax = 0.3 }}\n");
        text = text.replace("private_fill", &(ecn + "private_fill"));
        if control == "hpcc" {
            text = text.replace("\"48B\"", "\"90B\"").replace("ack = \"60B\"", "ack = \"88B\"");
        }
        text
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Nothing panics, every frame is accounted for, the same run comes out again in windows of another length, and flows
    /// end unless frames are lost, for which the simulator has no timer.
    #[test]
    fn small_fabrics_keep_their_books(drawn in drawn()) {
        let scenario = scenario(&drawn.text());
        let mut outcomes = Vec::new();
        for part in [1, 7] {
            let mut engine = engine(&scenario);
            engine.longest_window = Picos(engine.lookahead.0 / part);
            let done = run(engine).expect("memory");
            prop_assert_eq!(&done.counted.books, &[""; 0]);
            outcomes.push((
                done.end,
                done.counted.packet_hops,
                done.counted.drops.lost(),
                done.counted.ended,
            ));
        }
        prop_assert_eq!(&outcomes[0], &outcomes[1]);
        let (_, hops, drops, ended) = &outcomes[0];
        prop_assert!(*hops > 0);
        if *drops == 0 {
            prop_assert!(matches!(ended, RunEnd::Drained), "flows end: {ended:?}");
        }
    }
}
