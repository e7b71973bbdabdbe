//! A link that goes down as in HPCC's simulator, each rule walked by hand with numbers of its source: frames of 1048 B take
//! 83 ns at 100 Gbit/s and 838 ns at 10 Gbit/s, links 1 us.

use results::{RunEnd, Standalone};
use switch_user::switch::Event as SwitchEvent;
use topology::WireId;

use super::super::journal::{Entry, Note};
use super::super::tests::{engine, run, scenario};
use super::super::{Engine, Finished};
use super::*;
use crate::datapath::memory::MemoryWires;

/// Three switches in a triangle: h0 and h1 at s0, h2 at s1 behind a link of this rate. The way by s2 is longer, and at 40
/// Gbit/s.
fn triangle(rate: &str, host: &str, rest: &str) -> String {
    let link = |a: &str, b: &str, rate: &str| {
        format!("{{ a = \"{a}\", b = \"{b}\", rate = \"{rate}\", delay = \"1us\" }},")
    };
    let links = [
        link("h0", "s0", "100Gbps"),
        link("h1", "s0", "100Gbps"),
        link("h2", "s1", rate),
        link("s0", "s1", "100Gbps"),
        link("s0", "s2", "40Gbps"),
        link("s2", "s1", "40Gbps"),
    ];
    format!(
        "dialect = \"hpcc-ns3\"\nduration = \"1ms\"
[topology]\nkind = \"custom\"\nhosts = [\"h0\", \"h1\", \"h2\"]\nswitches = [\"s0\", \"s1\", \"s2\"]\nlinks = [{}]
[switch]\nbuffer = \"1MiB\"\nprivate_per_queue = \"4KiB\"\nprivate_fill = \"bytes\"\nlossless = [3]
threshold = {{ kind = \"dt\", alpha = \"1/8\", xon_offset = \"3KiB\" }}
headroom = {{ kind = \"sih\", bandwidth_delays = 3 }}\ncontrol_priority = \"none\"
pause_response = \"0s\"\nwire_overhead = \"0B\"\nresume_test = \"departure\"
[host]\npayload = \"1000B\"\nack_queue = 3\npause_response = \"0s\"\nack_interval = 1
[host.ns3]\ncontrol = \"none\"\n{host}
[frames]\ndata_headers = \"48B\"\nack = \"60B\"\nhop_control = \"43B\"
[results.hpcc]\nstandalone_headers = \"48B\"
{rest}",
        links.concat()
    )
}

fn flow(at: u64, src: u32, dst: u32, bytes: u64) -> String {
    format!(
        "[[flows]]\nkind = \"one\"\nstart = \"{at}ns\"\nsrc = \"h{src}\"\ndst = \"h{dst}\"\nbytes = \"{bytes}B\"\npriority = 3\n"
    )
}

fn down(at: u64) -> String {
    format!("[[faults]]\nkind = \"down\"\nwire = \"s0-s1\"\nat = \"{at}ns\"\nreroute = true\n")
}

fn finished(text: &str) -> Finished<MemoryWires> {
    let scenario = scenario(text);
    let done = run(engine(&scenario)).expect("memory");
    assert_eq!(done.counted.books, [""; 0], "{text}");
    done
}

fn wire(scenario: &Scenario, name: &str) -> WireId {
    let wires = scenario.fabric().wires();
    let place = wires.iter().position(|wire| wire.name == name).expect("a wire");
    WireId::at(place)
}

/// Runs window after window up to the end of events or an instant. Returns the engine and all notes.
fn notes(scenario: &Scenario, until: Picos) -> (Engine<'_, MemoryWires>, Vec<Entry>) {
    let mut engine = engine(scenario);
    let (mut entries, mut all) = (Vec::new(), Vec::new());
    while let Some(mut window) = engine.next_window().expect("nothing is written") {
        if window.start > until {
            break;
        }
        engine.start_flows(&mut window);
        engine.parts[0].run(window).expect("memory");
        engine.parts[0].core.journal.give(&mut entries);
        all.append(&mut entries);
    }
    (engine, all)
}

/// The event is inserted behind the start of flows and before the queue monitor.
#[test]
fn the_link_goes_down_before_other_events_of_its_instant() {
    let scenario = scenario(&triangle("100Gbps", "", &(down(5000) + &flow(0, 0, 2, 1000))));
    let (_, mut queue) = InOrder::new(&scenario).expect("it has the order");
    queue.insert(Picos(5_000_000), 0, What::Due);
    let event = queue.pop(Picos::MAX).expect("the failure");
    assert_eq!((event.what, event.key()), (What::LinkDown, (5_000_000, 1)));
    assert_eq!(queue.pop(Picos::MAX).map(|event| event.what), Some(What::Due));
}

/// The frame is at s0 at 1083 ns, leaves it at 1166, and is at s1 at 2166 and at h2 at 3249. The ACK of 60 B takes 4 ns on
/// each link and comes back by s1 at 4253, at s0 at 5257.
#[test]
fn frames_on_the_wire_are_lost_both_ways_if_they_have_not_arrived() {
    for (at, lost) in [
        (1082, [0, 0]),
        (1083, [0, 0]),
        (1084, [1, 0]),
        (2166, [1, 0]),
        (2167, [0, 0]),
        (4253, [0, 0]),
        (4254, [0, 1]),
        (5257, [0, 1]),
        (5258, [0, 0]),
    ] {
        let text = triangle("100Gbps", "", &(down(at) + &flow(0, 0, 2, 1000)));
        let done = finished(&text);
        let faults = done.counted.faults.expect("it has one");
        assert_eq!((faults.sent_while_down, faults.reroutes), (lost[0] + lost[1], 1), "{at}");
        // Without a retransmission timer, lost packets are not sent again.
        let is_whole = lost == [0, 0];
        assert_eq!(matches!(done.counted.ended, RunEnd::Drained), is_whole, "{at}");
        let scenario = scenario(&text);
        let (engine, _) = notes(&scenario, Picos(100_000_000));
        let order = engine.parts[0].in_order.as_ref().expect("events run in order");
        let tallies: Vec<(u32, u64)> = order.tallies().map(|(_, w, it)| (w, it.frames)).collect();
        let wires = ["s0->s1", "s1->s0"].map(|name| wire(&scenario, name).0);
        assert_eq!(tallies, [(wires[0], lost[0]), (wires[1], lost[1])], "{at}");
    }
}

/// Round the link a frame of 1048 B takes 209 ns on each of two links. Before its arrival at s0 at 1083 ns the link is down:
/// s2 has it at 2292 and s1 at 3501, h2 at 4584. The ACK of 60 B takes 4, 11, 11 and 4 ns.
#[test]
fn packets_that_come_later_go_round() {
    let done = finished(&triangle("100Gbps", "", &(down(1083) + &flow(0, 0, 2, 1000))));
    let back = 4 * 1000 + 4 + 11 + 11 + 4;
    assert_eq!(done.end.to_nanos().0, 1083 + 1209 + 1209 + 1083 + back);
}

/// Two hosts send 20 packets each at 100 Gbit/s into one link: it has taken 20 at 1083 + 20 * 83 ns, when the last come.
/// Packets that wait are lost and keep their buffer; the frame that is being sent is lost on the wire, as 13 others.
#[test]
fn packets_that_wait_at_a_dead_port_keep_their_buffer() {
    let flows = flow(0, 0, 2, 20_000) + &flow(0, 1, 2, 20_000);
    // All 40 packets have arrived at s0, and 20 of them have left its queue.
    let text = triangle("100Gbps", "", &(down(1084 + 19 * 83) + &flows));
    let scenario = scenario(&text);
    let (engine, entries) = notes(&scenario, Picos(100_000_000));
    let s0 = &engine.parts[0].switches[0];
    let port = scenario.fabric().wire(wire(&scenario, "s0->s1")).from_port;
    let queue = fabric_core::queue::QueueId::data(3);
    assert_eq!(s0.switch.queues().queue_packets(port.into(), queue), 20);
    assert_eq!(s0.switch.queues().total_packets(), 20);
    // Twice 10 packets in two ingress queues: they never come back to zero.
    let imbalances = s0.switch.tables().imbalances(s0.switch.policy());
    assert!(!imbalances.is_empty());
    let lost = |entry: &&Entry| matches!(entry.what, Note::Lost { .. });
    let lost: Vec<u64> = entries.iter().filter(lost).map(|entry| entry.at.to_nanos().0).collect();
    let at = |instant: u64| lost.iter().filter(|at| **at == instant).count();
    assert_eq!(at(1084 + 19 * 83), 20, "with the link: {lost:?}");
    // On the wire are packets that began at 1083 + 6 * 83 = 1581 or later, and arrive 1083 ns after that: 14 of 20.
    assert_eq!((lost.len() - 20, lost[20]), (14, 1581 + 1083), "{lost:?}");
}

/// s1 pauses s0 because of h2's slow link. The link goes down, s1 drains, and its RESUME is made at the dead port: it uses up a
/// random number, and s0 does not receive it.
#[test]
fn a_resume_at_a_dead_port_is_made_and_never_leaves() {
    let flows = flow(0, 0, 2, 300_000);
    let at = 40_000;
    let text = triangle("10Gbps", "", &(down(at) + &flows)).replace("\"1MiB\"", "\"240KiB\"");
    let scenario = scenario(&text);
    let (engine, entries) = notes(&scenario, Picos(900_000_000));
    let fabric = scenario.fabric();
    let [s0, s1] = ["s0->s1", "s1->s0"].map(|name| {
        let wire = fabric.wire(wire(&scenario, name));
        (wire.from, wire.from_port)
    });
    let of = |(node, of_port): (topology::NodeId, u16)| {
        let found = entries.iter().filter(move |entry| entry.node == node);
        found.filter_map(move |entry| match entry.what {
            Note::Switch(SwitchEvent::Pause { port, event, .. }) if port == of_port => {
                Some((entry.at.to_nanos().0, format!("{event:?}")))
            }
            Note::Switch(SwitchEvent::PauseReceived { port, quanta, .. }) if port == of_port => {
                Some((entry.at.to_nanos().0, format!("received {}", quanta != Some(0))))
            }
            _ => None,
        })
    };
    let (made, received): (Vec<_>, Vec<_>) = (of(s1).collect(), of(s0).collect());
    let later = |all: &[(u64, String)]| all.iter().filter(|(time, _)| *time >= at).count();
    assert_eq!(
        received.last().map(|(_, what)| what.as_str()),
        Some("received true"),
        "{received:?}"
    );
    assert_eq!((later(&made), later(&received)), (1, 0), "{made:?} {received:?}");
    drop(engine);
}

/// Delays of 3 us and 80 ns on each of three links: a round trip of 6240 ns at 100 Gbit/s. Later it stays, and the least rate
/// is 40 Gbit/s.
#[test]
fn the_time_of_a_flow_alone_has_the_old_round_trip_and_the_new_rate() {
    let scenario = scenario(&triangle("100Gbps", "", &(down(7000) + &flow(0, 0, 2, 2500))));
    let (order, _) = InOrder::new(&scenario).expect("it has the order");
    let expected = Standalone {
        time: Nanos(6240 + 2644 * 8 / 100),
        later: Some((Nanos(7000), Nanos(6240 + 2644 * 8 / 40))),
    };
    assert_eq!(order.standalone(&scenario, &scenario.flows()[0]), Some(expected));
}

/// The window stays the bandwidth-delay product of the old path, also for flows that start later: 78000 B.
#[test]
fn base_values_stay() {
    let host = "window = true\npaths = \"own\"";
    let flows = flow(20_000, 0, 2, 2500);
    let scenario = scenario(&triangle("100Gbps", host, &(down(7000) + &flows)));
    let (order, _) = InOrder::new(&scenario).expect("it has the order");
    let simulated = order.simulated.as_ref().expect("hosts are the simulator's");
    let request = simulated.request(&scenario, &scenario.flows()[0]);
    assert_eq!((request.window, request.base_rtt), (78_000, Nanos(6240)));
}

/// Two flows of h0 to h2 have the keys 0x0b000201 << 32 | port << 16 | 3 with ports 10000 and 10001. In a table of five the
/// keys differ by 65536, which is 1: each is alone in its bucket, so that the later one comes first.
#[test]
fn hosts_take_up_their_queue_pairs_in_the_order_of_the_hash_table() {
    let flows = flow(0, 0, 2, 30_000) + &flow(0, 0, 2, 30_000);
    // The tenth packet, of the second flow, is being sent from 747 to 830 ns. Its place in the list, 1, is then the first flow's.
    let text = triangle("100Gbps", "", &(flows.clone() + &down(790)));
    let first_of = |text: &str| {
        let scenario = scenario(text);
        let (engine, entries) = notes(&scenario, Picos(200_000_000));
        drop(engine);
        let completed = |entry: &Entry| match entry.what {
            Note::Host(host_agent::HostEvent::FlowCompleted { flow, at, .. }) => {
                Some((flow, at.to_nanos().0))
            }
            _ => None,
        };
        entries.iter().filter_map(completed).collect::<Vec<_>>()
    };
    // In turns from the start, the first flow is one packet ahead. With the list turned round the second flow sends twice in
    // a row, and is complete first.
    let usual = first_of(&triangle("100Gbps", "", &flows));
    let turned = first_of(&text);
    let order = |all: &[(u32, u64)]| all.iter().map(|(flow, _)| *flow).collect::<Vec<_>>();
    assert_eq!(order(&usual), [0, 1], "{usual:?}");
    assert_eq!(order(&turned), [1, 0], "{turned:?}");
}
