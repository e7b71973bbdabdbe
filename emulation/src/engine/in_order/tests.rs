//! Fabrics under the dialect `hpcc-ns3`: times that the simulator has, and what holds for any small fabric.

use proptest::prelude::*;
use results::RunEnd;

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

/// A flow alone has no ties that change its course, so that the order has no effect.
#[test]
fn a_lone_flow_of_own_hosts_takes_the_same_time_in_either_order() {
    for transport in OWN {
        let [nodes, insertion] = ["nodes", "insertion"].map(|order| {
            let done = finished(&own_star(order, transport, &flow(0, 0, 1, 70_123)));
            (done.end, done.counted.packet_hops)
        });
        assert_eq!(nodes, insertion, "{transport}");
    }
}

/// Two own hosts send to a third at one instant. By node the lower host's packet goes first, by insertion the one whose
/// flow comes first in the file.
#[test]
fn own_hosts_keep_the_order_of_their_starts() {
    for (order, expected) in [("insertion", [[0, 1], [0, 1]]), ("nodes", [[0, 1], [1, 0]])] {
        let orders = [0, 1].map(|first| {
            let flows = flow(0, first, 2, 1000) + &flow(0, 1 - first, 2, 1000);
            let scenario = scenario(&own_star(order, OWN[0], &flows));
            order_of_completion(&mut engine(&scenario))
        });
        assert_eq!(orders, expected, "{order}");
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

/// A small fabric and its traffic.
#[derive(Clone, Debug)]
struct Drawn {
    control: usize,
    window: bool,
    scales: bool,
    buffer_kib: u64,
    marks: (u64, u64),
    loss: bool,
    /// xoff's own transport, if hosts are xoff's own.
    own: Option<usize>,
    flows: Vec<(u64, u32, u32, u64)>,
}

/// Transports of xoff's own hosts.
const OWN: [&str; 5] = [
    "{ kind = \"roce-rc\", congestion_control = \"none\" }",
    "{ kind = \"roce-rc\", congestion_control = \"dcqcn\" }",
    "{ kind = \"roce-rc\", congestion_control = \"hpcc\" }",
    "{ kind = \"roce-rc\", congestion_control = \"none\", reliability = \"selective-repeat\" }",
    "{ kind = \"tcp\", congestion_control = \"dctcp\" }",
];

/// xoff's own hosts on one switch, with events in this order.
fn own_star(order: &str, transport: &str, rest: &str) -> String {
    format!(
        "order = \"{order}\"\nduration = \"100ms\"\n[datapath]\nkind = \"memory\"
[topology]\nkind = \"star\"\nhosts = 4\nhost_link = {{ rate = \"100Gbps\", delay = \"100ns\" }}
[switch]\nbuffer = \"1MB\"\nlossless = [3]
[host]\ntransport = {transport}\nretransmission_timeout = \"100us\"\n{rest}"
    )
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let flow = (0..4000_u64, 0..4_u32, 1..4_u32, 1..60_000_u64);
    let flow = flow.prop_map(|(at, src, step, bytes)| (at, src, (src + step) % 4, bytes));
    let flows = prop::collection::vec(flow, 1..8);
    let switch = (200..1000_u64, (0..40_000_u64, 0..40_000_u64), prop::bool::weighted(0.2));
    let own = prop::option::of(0..OWN.len());
    ((0..5_usize, any::<bool>(), any::<bool>()), switch, own, flows).prop_map(
        |((control, window, scales), (buffer_kib, marks, loss), own, flows)| Drawn {
            own,
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
        self.own.map_or_else(|| self.of_simulator(), |transport| self.of_own(OWN[transport]))
    }

    fn flows(&self) -> String {
        self.flows.iter().map(|(at, src, dst, bytes)| flow(*at, *src, *dst, *bytes)).collect()
    }

    /// Own hosts have faults and storms that the simulator does not have.
    fn of_own(&self, transport: &str) -> String {
        let mut rest = self.flows();
        if self.loss {
            rest.push_str("[[faults]]\nkind = \"loss\"\nrate = 0.01\n");
            rest.push_str("[[faults]]\nkind = \"delay\"\njitter = \"300ns\"\n");
        }
        if self.loss && !self.window {
            rest.push_str("[[faults]]\nkind = \"corrupt\"\nrate = 0.01\n");
        }
        if self.scales {
            rest.push_str("[[storms]]\nhost = \"h2\"\nat = \"1us\"\nfor = \"5us\"\n");
        }
        let text = own_star("insertion", transport, &rest);
        if !self.window {
            return text;
        }
        // Random numbers are the simulator's; the ECMP hash, too, except for TCP, which does not have it.
        let ecmp = if transport.contains("tcp") { "" } else { "ecmp = \"murmur3\"\n" };
        let (kmin, kmax) = self.marks;
        let ecn = format!("ecn = {{ kmin = \"{kmin}B\", kmax = \"{kmax}B\", pmax = 0.3 }}\n");
        let switch = format!("[switch]\n{ecmp}{ecn}");
        format!("numbers = \"mrg32k3a\"\n{text}").replace("[switch]\n", &switch)
    }

    fn of_simulator(&self) -> String {
        let control = ["none", "dcqcn", "hpcc", "timely", "dctcp"][self.control];
        let host = format!(
            "control = \"{control}\"\nwindow = {}\nwindow_scales = {}\nminimum_rate = \"1Gbps\"",
            self.window, self.scales
        );
        let (kmin, kmax) = self.marks;
        let mut flows = self.flows();
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
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Nothing panics, every frame is accounted for, the same run comes out again in windows of another length, and flows
    /// end unless frames are lost by hosts of the simulator, which have no timer.
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
        if *drops == 0 || drawn.own.is_some() {
            prop_assert!(matches!(ended, RunEnd::Drained), "flows end: {ended:?}");
        }
    }
}
