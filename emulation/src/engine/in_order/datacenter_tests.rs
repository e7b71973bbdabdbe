//! Fabrics under the dialect `ns3-datacenter`. Times follow by hand from the simulator's rules; no run of it has been compared.

use host_agent::HostEvent;
use host_agent::ns3::Control;
use results::RunEnd;

use super::super::tests::{engine, run, scenario};
use super::conweave_tests::{flow, host_events};
use super::switch::stamped_bytes;
use super::*;

/// Three hosts on one switch, at 100 Gbit/s and 1 us. Headroom of 3 x 12,500 B for eight queues of each port is set aside.
fn star(pool: u64, switch: &str, host: &str, flows: &str) -> String {
    format!(
        "dialect = \"ns3-datacenter\"\nduration = \"100ms\"
[topology]\nkind = \"star\"\nhosts = 3\nhost_link = {{ rate = \"100Gbps\", delay = \"1us\" }}
[switch]\nbuffer = \"{}B\"\nlossless = [3]\npause_response = \"0s\"\nwire_overhead = \"0B\"
resume_test = \"departure\"\ncontrol_priority = \"none\"\n{switch}
[host]\npause_response = \"0s\"\nack_interval = 1\nack_priority = \"data\"\nack_queue = 3
[host.ns3]\n{host}
[frames]\ndata_headers = \"48B\"\nack = \"60B\"\nhop_control = \"43B\"
{flows}",
        900_000 + pool
    )
}

/// Ten frames of 1048 B, 83 ns each, and one of 500 B. The last starts at 830 ns, and is at the switch at 1870. The frame before
/// it leaves there from 1830 to 1913 ns. So the last is at its host at 2953, and its ACK takes twice 4 + 1000 ns. With times
/// that are one short it were 39 ns, and the end at 4960.
#[test]
fn whole_nanoseconds_are_not_one_short() {
    let scenario = scenario(&star(20_000, "", "", &flow(0, 0, 1, 10_452)));
    let done = run(engine(&scenario)).expect("memory");
    assert_eq!((done.end.to_nanos().0, done.counted.books.len()), (4961, 0));
}

/// Frame k of h0 and of h1 arrives at 1083 + 83 k ns, h0's first, and before h2's link takes one of the two from k = 1 on.
///
/// In frames, with frame k: h0's port holds k / 2 + 1 rounded down of k + 1, and h1's k / 2 + 1 rounded up of k + 2. An eighth
/// of what 20,000 B have left is 2107 B with three frames and 1976 B with four, of which two frames are above the second. So
/// h1's frame 2 is in headroom, and pauses. It is not in the pool, so that h0 has three frames there with frame 3, and four
/// with frame 4, of which three are its own. A PAUSE takes 3 ns and 1 us.
#[test]
fn the_frame_above_the_threshold_pauses() {
    let flows = flow(0, 0, 2, 40_000) + &flow(0, 1, 2, 40_000);
    let scenario = scenario(&star(20_000, "", "", &flows));
    let events = host_events(&mut engine(&scenario));
    let first = |host: u32| {
        events.iter().find_map(|(node, event)| match event {
            HostEvent::PauseReceived { at, quanta: 1.., .. } if *node == host => {
                Some(at.to_nanos().0)
            }
            _ => None,
        })
    };
    let at = |frame: u64| Some(1083 + 83 * frame + 3 + 1000);
    assert_eq!([first(1), first(0)], [at(2), at(4)]);
}

/// Behind frames 0, the port of h2 holds k frames when frame k of h0 comes, and k + 1 when h1's comes. With the frame that comes,
/// more than two frames are marked: h0's from frame 2 on, and h1's from frame 1 on.
#[test]
fn marks_count_the_packet_that_comes_in() {
    let flows = flow(0, 0, 2, 3000) + &flow(0, 1, 2, 3000);
    let marks = |mark_at: &str| {
        let ecn = format!("ecn = {{ kmin = \"2096B\", kmax = \"2096B\", pmax = 1{mark_at} }}");
        let scenario = scenario(&star(90_000, &ecn, "", &flows));
        let mut marks = [0; 2];
        for (_, event) in host_events(&mut engine(&scenario)) {
            if let HostEvent::FlowCompleted { flow, counts, .. } = event {
                marks[flow as usize] = counts.notifications;
            }
        }
        marks
    };
    assert_eq!(marks(""), [1, 2]);
    // Behind h0's frame 1 there are three, and behind h1's frame 1 two.
    assert_eq!(marks(", mark_at = \"dequeue\""), [1, 0]);
}

#[test]
fn stamps_have_what_came_in_for_powertcp_and_what_left_for_hpcc() {
    assert_eq!(stamped_bytes(Control::Hpcc, 5000, 1090, 3270), 5000);
    for control in [Control::PowerTcp, Control::ThetaPowerTcp] {
        assert_eq!(stamped_bytes(control, 5000, 1090, 3270), 9360);
        assert_eq!(stamped_bytes(control, (1 << 32) - 1000, 1090, 0), 90, "in 32 bits");
    }
}

/// All algorithms, with pauses and marks.
#[test]
fn runs_end_with_balanced_books() {
    let flows: String = (0..6)
        .map(|number| flow(number * 300, (number % 3) as u32, ((number + 1) % 3) as u32, 30_000))
        .chain([flow(0, 0, 2, 90_000), flow(0, 1, 2, 90_000)])
        .collect();
    let ecn = "ecn = { kmin = \"3000B\", kmax = \"20kB\", pmax = 0.5 }";
    for control in ["none", "dcqcn", "hpcc", "timely", "dctcp", "powertcp", "theta-powertcp"] {
        let by_rtt = control.contains("power");
        let host = format!(
            "control = \"{control}\"\nminimum_rate = \"1Gbps\"\nwindow = true\nwindow_scales = true\nwindow_by_rtt = {by_rtt}"
        );
        let scenario = scenario(&star(20_000, ecn, &host, &flows));
        let mut outcomes = Vec::new();
        for part in [1, 7] {
            let mut engine = engine(&scenario);
            engine.longest_window = Picos(engine.lookahead.0 / part);
            let done = run(engine).expect("memory");
            assert_eq!(done.counted.books, [""; 0], "{control}");
            assert!(matches!(done.counted.ended, RunEnd::Drained), "{control}");
            outcomes.push((done.end, done.counted.packet_hops));
        }
        assert_eq!(outcomes[0], outcomes[1], "{control}");
    }
}
