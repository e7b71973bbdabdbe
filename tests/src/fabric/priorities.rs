//! Separation of priorities by PFC: the stopped priorities, the unaffected priorities, and the order of service.

use std::collections::{BTreeMap, BTreeSet};

use fabric_core::wire::roce::{Opcode, RocePacket};

use super::capture::wire_named;
use super::one_switch::{PACKET_NS, flow, star};
use super::pause_obedience::assert_obeyed;
use super::{Run, Runner};

/// The priorities that were ever paused.
fn paused(run: &Run) -> BTreeSet<u64> {
    run.pauses().numbers("priority").into_iter().collect()
}

fn fct(run: &Run, label: &str) -> u64 {
    run.flows().only("label", label).number("fct_ns")
}

fn ideal(run: &Run, label: &str) -> u64 {
    run.flows().only("label", label).number("ideal_ns")
}

/// h1, h2 and h4 overwhelm h0 in priority 3; h1 also sends to h3, whose port is idle, in `priority`.
fn with_victim(run: Runner, priority: u8) -> Run {
    let flows = ["h1", "h2", "h4"].map(|host| flow(host, "h0", 300, 3)).concat();
    let victim = flow("h1", "h3", 300, priority).replace("label = \"h1\"", "label = \"victim\"");
    let run = run(&star(5, &(flows + &victim)), &["switch.lossless=[3, 4]"]);
    run.assert_lossless();
    run
}

/// PAUSE stops its class and no other: a flow of another lossless priority goes on through the port, and a flow of the
/// paused priority waits, although its own path is free.
pub fn pause_stops_only_its_class(run: Runner) {
    let apart = with_victim(run, 4);
    assert_eq!(paused(&apart), [3].into());
    let uplink = wire_named(apart.scenario.fabric(), "h1->s0");
    let stops: Vec<_> =
        assert_obeyed(&apart).into_iter().filter(|stop| stop.wire == uplink).collect();
    let meanwhile = apart.frames().into_iter().filter(|frame| {
        let victim = frame.wire == uplink && frame.data().is_some_and(|data| data.dscp == 4 << 3);
        let start = frame.start_ns;
        victim && stops.iter().any(|stop| (stop.binds_ns..stop.ends_ns).contains(&start))
    });
    assert!(meanwhile.count() > 10, "priority 4 goes on while priority 3 is stopped");

    let together = with_victim(run, 3);
    let (free, blocked) = (fct(&apart, "victim"), fct(&together, "victim"));
    // Its port is shared with h1's other flow only: half the line, and all of it during stops.
    assert!(free <= 2 * ideal(&apart, "victim"), "{free}");
    assert!(blocked > free, "head-of-line blocking: {blocked} against {free}");
}

/// Max time that the ACKs of a priority waited at h0, after the last bit of the packet that they answer.
fn longest_wait_of_acks(run: &Run, priority: u8) -> u64 {
    let fabric = run.scenario.fabric();
    let (downlink, uplink) = (wire_named(fabric, "s0->h0"), wire_named(fabric, "h0->s0"));
    let frames = run.frames();
    let of_priority = |packet: &RocePacket| packet.dscp == priority << 3;
    let arrivals: BTreeMap<u32, u64> = frames
        .iter()
        .filter(|frame| frame.wire == downlink)
        .filter_map(|frame| Some((frame.data().filter(of_priority)?.psn.value(), frame.arrival_ns)))
        .collect();
    let acks = frames.iter().filter(|frame| frame.wire == uplink).filter_map(|frame| {
        let ack = frame.roce().filter(of_priority)?;
        (ack.opcode == Opcode::Acknowledge).then(|| frame.start_ns - arrivals[&ack.psn.value()])
    });
    acks.max().expect("h0 acknowledges data of this priority")
}

/// h0 is paused in priority 3, in which it sends to h2, and receives in priorities 3 and 4. Its ACKs of priority 3 wait
/// for the RESUME; its ACKs of priority 4 wait at most for the frame on the wire and for earlier ACKs.
pub fn pause_stops_only_acks_of_its_class(run: Runner) {
    let into_h0 = flow("h3", "h0", 300, 3) + &flow("h4", "h0", 300, 4);
    let text = star(5, &(flow("h0", "h2", 300, 3) + &flow("h1", "h2", 300, 3) + &into_h0));
    let settings = ["switch.lossless=[3, 4]", "host.ack_priority=\"data\""];
    let apart = run(&text, &settings);
    apart.assert_lossless();
    assert_obeyed(&apart);
    let [paused, free] = [3, 4].map(|priority| longest_wait_of_acks(&apart, priority));
    assert!(paused > 4 * PACKET_NS, "priority 3 waits for its RESUME: {paused} ns");
    assert!(free < 2 * PACKET_NS, "priority 4 does not: {free} ns");

    let together = run(&text, &[&settings[..], &["host.ack_queue=3"]].concat());
    together.assert_lossless();
    assert_obeyed(&together);
    let waits = longest_wait_of_acks(&together, 4);
    assert!(waits > 4 * PACKET_NS, "in one queue they wait together: {waits} ns");
}

/// A lossy priority that is congested drops at its threshold and never pauses anybody, and the lossless
/// priority beside it loses nothing.
pub fn lossy_never_pauses(run: Runner) {
    let flows = flow("h1", "h0", 300, 0) + &flow("h2", "h0", 300, 0) + &flow("h3", "h0", 100, 3);
    let run = run(&star(4, &flows), &["switch.buffer=150kB"]);
    run.assert_sound();
    run.assert_drops_only("lossy-threshold");
    assert!(!run.summary.lossless);
    assert!(paused(&run).is_subset(&[3].into()));
    for frame in run.frames().iter().filter_map(super::capture::CapturedFrame::pfc) {
        assert_eq!(frame.class_enable, 1 << 3, "no PFC frame names a lossy class");
    }
    let lossless = run.flows();
    assert_eq!(lossless.only("label", "h3").number("retransmitted_packets"), 0);
    assert!(lossless.only("label", "h1").number("retransmitted_packets") > 0);
}

/// Without any lossless priority there is no PFC at all.
pub fn no_lossless_class(run: Runner) {
    let flows = flow("h1", "h0", 300, 3) + &flow("h2", "h0", 300, 3);
    let run = run(&star(3, &flows), &["switch.lossless=[]", "switch.buffer=150kB"]);
    run.assert_sound();
    run.assert_drops_only("lossy-threshold");
    assert_eq!(run.summary.pause_frames + run.summary.resume_frames, 0);
    assert!(run.frames().iter().all(|frame| frame.pfc().is_none()));
}

/// h1 and h2 to h0 in each of these priorities, 60 kB a flow.
fn in_all(priorities: &[u8]) -> String {
    let both = |priority: &u8| ["h1", "h2"].map(|host| flow(host, "h0", 60, *priority)).concat();
    star(3, &priorities.iter().map(both).collect::<String>())
}

/// Several lossless classes among lossy ones: each is paused for itself.
pub fn several_lossless(run: Runner) {
    let threshold = "switch.threshold={ kind = \"static\", xoff = \"4kB\", xon = \"3kB\" }";
    let settings = ["switch.lossless=[1, 3, 5]", "switch.control_priority=none", threshold];
    let run = run(&in_all(&[1, 3, 5]), &settings);
    run.assert_lossless();
    assert_eq!(paused(&run), [1, 3, 5].into());
    assert_obeyed(&run);
}

/// All eight priorities lossless, ACKs among them, under each scheduler.
pub fn all_eight_lossless(run: Runner) {
    let threshold = "switch.threshold={ kind = \"static\", xoff = \"4kB\", xon = \"3kB\" }";
    let text = in_all(&[0, 1, 2, 3, 4, 5, 6, 7]);
    for scheduler in ["{ kind = \"strict\" }", "{ kind = \"dwrr\", quantum = \"1600B\" }"] {
        for control in ["6", "none"] {
            let scheduler = format!("switch.scheduler={scheduler}");
            let control = format!("switch.control_priority={control}");
            let lossless = "switch.lossless=[0, 1, 2, 3, 4, 5, 6, 7]";
            let run = run(&text, &[lossless, threshold, &scheduler, &control]);
            run.assert_lossless();
            assert_obeyed(&run);
            if control.ends_with("none") && scheduler.contains("dwrr") {
                assert_eq!(paused(&run), (0..8).collect(), "equal shares: each is congested");
            }
        }
    }
}

/// Strict: the higher priority has the whole line, except for one frame that may be on the wire; the lower priority
/// gets the rest.
pub fn strict_scheduler(run: Runner) {
    let settings = ["switch.lossless=[2, 3]", "switch.scheduler={ kind = \"strict\" }"];
    let run = run(&star(3, &(flow("h1", "h0", 200, 2) + &flow("h2", "h0", 200, 3))), &settings);
    run.assert_lossless();
    let high = fct(&run, "h2");
    assert!(high <= ideal(&run, "h2") + PACKET_NS + 16, "{high} of {}", ideal(&run, "h2"));
    assert!(fct(&run, "h1") >= 2 * high * 95 / 100);
    assert_eq!(paused(&run), [2].into(), "only what waits is paused");
}

/// DWRR: equal shares, independent of priority numbers and packet sizes.
pub fn dwrr_scheduler(run: Runner) {
    for priorities in [(2, 3), (0, 7)] {
        let lossless = format!("switch.lossless=[{}, {}]", priorities.0, priorities.1);
        let flows = flow("h1", "h0", 200, priorities.0) + &flow("h2", "h0", 200, priorities.1);
        let run = run(&star(3, &flows), &[&lossless]);
        run.assert_lossless();
        let (one, other) = (fct(&run, "h1"), fct(&run, "h2"));
        assert!(one.abs_diff(other) * 100 <= 2 * one.max(other), "{one} and {other}");
    }
}

/// The control priority goes ahead of all others, including higher ones.
pub fn control_priority(run: Runner) {
    let flows = flow("h1", "h0", 200, 1) + &flow("h2", "h0", 200, 7);
    let text = star(3, &flows);
    for scheduler in ["{ kind = \"strict\" }", "{ kind = \"dwrr\", quantum = \"1600B\" }"] {
        let scheduler = format!("switch.scheduler={scheduler}");
        let run = run(&text, &["switch.lossless=[1, 7]", "switch.control_priority=1", &scheduler]);
        run.assert_lossless();
        let control = fct(&run, "h1");
        assert!(control <= ideal(&run, "h1") + PACKET_NS + 16, "{control}");
        assert!(fct(&run, "h2") >= 2 * control * 95 / 100);
    }
}
