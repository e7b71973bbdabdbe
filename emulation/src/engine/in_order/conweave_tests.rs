//! Fabrics under the dialect `conweave-ns3`. Times follow by hand from the simulator's rules; no run of it has been
//! compared.

use host_agent::HostEvent;
use results::RunEnd;

use super::super::Engine;
use super::super::journal::Note;
use super::super::tests::{engine, run, scenario};
use super::*;
use crate::datapath::memory::MemoryWires;

/// Three hosts on one switch, at 100 Gbit/s and 1 us. The ports set 93,940 B aside: headroom of 27,096 B at two, 14,596 B
/// in place of the third's, and 24 frames.
fn star(pool: u64, switch: &str, host: &str, flows: &str) -> String {
    format!(
        "dialect = \"conweave-ns3\"\nduration = \"100ms\"
[topology]\nkind = \"star\"\nhosts = 3\nhost_link = {{ rate = \"100Gbps\", delay = \"1us\" }}
[switch]\nbuffer = \"{}B\"\nlossless = [3]\npause_response = \"0s\"\nwire_overhead = \"0B\"
resume_test = \"departure\"\n{switch}
[host]\npause_response = \"0s\"\nack_interval = 1
[host.ns3]\n{host}
[frames]\ndata_headers = \"48B\"\nack = \"60B\"\nhop_control = \"43B\"
{flows}",
        93_940 + pool
    )
}

pub(super) fn flow(at: u64, src: u32, dst: u32, bytes: u64) -> String {
    format!(
        "[[flows]]\nkind = \"one\"\nstart = \"{at}ns\"\nsrc = \"h{src}\"\ndst = \"h{dst}\"\nbytes = \"{bytes}B\"\npriority = 3\n"
    )
}

/// Runs window after window, and returns the notes of hosts.
pub(super) fn host_events(engine: &mut Engine<'_, MemoryWires>) -> Vec<(u32, HostEvent)> {
    let mut events = Vec::new();
    let mut entries = Vec::new();
    while let Some(mut window) = engine.next_window().expect("nothing is written") {
        engine.start_flows(&mut window);
        engine.parts[0].run(window).expect("memory");
        engine.parts[0].core.journal.give(&mut entries);
        events.extend(entries.drain(..).filter_map(|entry| match entry.what {
            Note::Host(event) => Some((entry.node.0, event)),
            _ => None,
        }));
        if engine.parts[0].core.frames_on_their_way() == 0 && engine.stream.next_start().is_none() {
            break;
        }
    }
    events
}

/// As alone in HPCC's simulator: no rule that differs has an effect.
#[test]
fn a_lone_flow_takes_its_frames_and_the_ack() {
    let scenario = scenario(&star(20_000, "", "", &flow(0, 0, 1, 10_452)));
    let done = run(engine(&scenario)).expect("memory");
    assert_eq!((done.end.to_nanos().0, done.counted.books.len()), (4960, 0));
}

/// Frame k of h0 and of h1 arrives at 1083 + 83 k ns, and h2's link takes one of the two.
///
/// In frames, behind the arrival of frame k: the port of h1 holds k / 2 + 1 rounded up of k + 2, and the port of h0, before
/// h1's comes, k / 2 + 1 rounded down of k + 1. With three frames 16 x 1048 = 16,768 is above 20,000 - 5 x 1048 = 14,760,
/// for h1 first at k = 3 and for h0 at k = 4. A PAUSE takes 3 ns and 1 us, and ends 5 us later.
#[test]
fn each_packet_above_the_threshold_sends_a_pause_of_its_own() {
    let flows = flow(0, 0, 2, 40_000) + &flow(0, 1, 2, 40_000);
    let scenario = scenario(&star(20_000, "", "", &flows));
    let events = host_events(&mut engine(&scenario));
    let pauses = |host: u32| -> Vec<(u64, u64)> {
        let of_host = events.iter().filter_map(|(node, event)| match event {
            HostEvent::PauseReceived { at, until, quanta: 1, .. } if *node == host => {
                Some((at.to_nanos().0, until.0 - at.to_nanos().0))
            }
            _ => None,
        });
        of_host.take(3).collect()
    };
    let at = |frame: u64| (1083 + 83 * frame + 3 + 1000, 5000);
    assert_eq!(pauses(1), [at(3), at(4), at(5)]);
    assert_eq!(pauses(0), [at(4), at(5), at(6)]);
}

/// Source ports count for each sender, destination ports for each receiver.
#[test]
fn ports_count_by_hosts() {
    let flows = [(0, 1), (0, 2), (1, 2), (0, 2)];
    let text: String = flows.iter().map(|(src, dst)| flow(0, *src, *dst, 1000)).collect();
    let scenario = scenario(&star(20_000, "", "", &text));
    let ports: Vec<_> = scenario.flow_stream().map(|flow| scenario.udp_ports(&flow)).collect();
    assert_eq!(ports, [[10_000, 100], [10_001, 100], [10_000, 101], [10_002, 102]]);
}

/// Losses are repaired by NACKs or by the timer, so that all flows end, with all algorithms, pauses and marks.
#[test]
fn runs_end_with_balanced_books() {
    let flows: String = (0..6)
        .map(|number| flow(number * 300, (number % 3) as u32, ((number + 1) % 3) as u32, 30_000))
        .chain([flow(0, 0, 2, 90_000), flow(0, 1, 2, 90_000)])
        .collect();
    let ecn = "ecn = { kmin = \"3000B\", kmax = \"20kB\", pmax = 0.5, mark_at = \"dequeue\" }";
    for (control, loss) in
        [("none", 0.0), ("none", 0.02), ("dcqcn", 0.02), ("timely", 0.0), ("dctcp", 0.02)]
    {
        let faults = match loss {
            0.0 => String::new(),
            rate => format!("[[faults]]\nkind = \"loss\"\nwire = \"*\"\nrate = {rate}\n"),
        };
        let host = format!("control = \"{control}\"\nminimum_rate = \"1Gbps\"");
        let scenario = scenario(&star(20_000, ecn, &host, &(flows.clone() + &faults)));
        let mut outcomes = Vec::new();
        for part in [1, 7] {
            let mut engine = engine(&scenario);
            engine.longest_window = Picos(engine.lookahead.0 / part);
            let done = run(engine).expect("memory");
            assert_eq!(done.counted.books, [""; 0], "{control}, {loss}");
            assert!(matches!(done.counted.ended, RunEnd::Drained), "{control}, {loss}");
            outcomes.push((done.end, done.counted.packet_hops));
        }
        assert_eq!(outcomes[0], outcomes[1], "{control}, {loss}");
    }
}

/// Hosts 1 and 2 send three packets each to host 0, so that its port has a queue when the ACK of a packet from host 0 to
/// host 1 comes there. The packet is at the switch at 1083 ns and at host 1 at 2166, its ACK is at the switch at 3170. The
/// port of host 0 sends packets from 3083 and from 3166 on; the ACK goes next, from 3249 to 3253 ns.
#[test]
fn acks_go_ahead_of_data_at_switches() {
    let flows = flow(0, 0, 1, 1000) + &flow(2000, 1, 0, 2500) + &flow(2000, 2, 0, 2500);
    let scenario = scenario(&star(20_000, "", "", &flows));
    let ends =
        host_events(&mut engine(&scenario)).into_iter().filter_map(|(_, event)| match event {
            HostEvent::FlowCompleted { flow, at, .. } => Some((flow, at.to_nanos().0)),
            _ => None,
        });
    assert_eq!(ends.collect::<Vec<_>>()[0], (0, 4253));
}
