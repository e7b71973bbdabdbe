//! BFC's variants: orders among queues, labels of incasts, sampling, and the end-to-end control beside it.

use fabric_core::wire::RemainingSize;
use fabric_core::wire::ipv4::INCAST_LABEL;

use super::backpressure::{assert_paired, dumbbell};
use super::one_switch::flow;
use super::{CAPTURE_ALL, Run, Runner};

fn completion(run: &Run, label: &str) -> u64 {
    run.flows().only("label", label).number("fct_ns")
}

/// An entry of `[[flows]]` with its own label.
fn labelled(label: &str, src: &str, dst: &str, kilobytes: u64, priority: u8) -> String {
    flow(src, dst, kilobytes, priority)
        .replace(&format!("label = \"{src}\""), &format!("label = \"{label}\""))
}

/// Three flows of different lengths share the link to h4: the shortest finishes first, and each has all of the link
/// while it is the shortest. Packets carry the remaining bytes, and the NIC of h0 also sends a short flow ahead of a
/// long one.
pub fn shortest_remaining_first(run: Runner) {
    let flows = labelled("long", "h0", "h4", 800, 3)
        + &labelled("middle", "h1", "h4", 400, 3)
        + &labelled("short", "h5", "h4", 200, 3)
        + &labelled("tiny", "h0", "h6", 20, 3);
    let text = dumbbell(&flows);
    let turns = run(&text, &[]);
    let srf = run(&text, &["switch.scheduler.kind=srf", CAPTURE_ALL]);
    for run in [&turns, &srf] {
        run.assert_lossless();
        assert_paired(run);
    }
    let slowdown = |run: &Run, label| {
        let flows = run.flows();
        let row = flows.only("label", label);
        row.number("fct_ns") * 100 / row.number("ideal_ns")
    };
    assert!(slowdown(&srf, "short") < 110, "{}", slowdown(&srf, "short"));
    assert!(slowdown(&srf, "tiny") < 110, "{}", slowdown(&srf, "tiny"));
    // After 200 kB of the short flow: three halves of its own time.
    assert!((145..165).contains(&slowdown(&srf, "middle")), "{}", slowdown(&srf, "middle"));
    assert!(slowdown(&turns, "short") > 150, "others go between: {}", slowdown(&turns, "short"));
    let left = |frame: &super::capture::CapturedFrame| frame.data().map(|packet| packet.remaining);
    let frames = srf.frames();
    let of_short = super::capture::wire_named(srf.scenario.fabric(), "h5->s1");
    let sent: Vec<u64> = frames
        .iter()
        .filter(|frame| frame.wire == of_short)
        .filter_map(left)
        .map(RemainingSize::bytes)
        .collect();
    assert_eq!(sent.len(), 200);
    let expected =
        |packet: usize| RemainingSize::from_bytes(200_000 - 1000 * packet as u64).bytes();
    assert!(sent.iter().enumerate().all(|(packet, bytes)| *bytes == expected(packet)), "{sent:?}");
}

/// Two classes with four queues each: flows of the higher one have the link to themselves.
pub fn strict_classes(run: Runner) {
    let high = |source| labelled("high", source, "h4", 300, 5);
    let flows = high("h0") + &high("h1") + &high("h5") + &labelled("low", "h2", "h4", 300, 3);
    let text = dumbbell(&flows);
    let settings = [
        "switch.scheme.priorities=[3, 5]",
        "switch.scheme.queues=4",
        "switch.scheduler.kind=strict",
    ];
    let run = run(&text, &settings);
    run.assert_lossless();
    assert_paired(&run);
    let flows = run.flows();
    let times: Vec<u64> = flows.with("label", "high").map(|row| row.number("fct_ns")).collect();
    // Three times 300 kB and headers.
    let all = 3 * 300 * 1098 * 8 / 100;
    assert!(times.iter().all(|time| *time < all * 12 / 10), "nothing goes between: {times:?}");
    let last = times.iter().max().expect("three flows");
    assert!(completion(&run, "low") > *last, "it waits for all of them");
}

/// An incast of more flows than there are queues, and another flow to the same host: with labels the incast has one
/// queue, so the flow has half of the link, and its packets are not distinguished from others by their DSCP.
pub fn labelled_incasts(run: Runner) {
    let incast = "[[flows]]\nkind = \"incast\"\nsenders = [\"h0\", \"h1\", \"h2\", \"h5\", \"h6\", \"h7\"]\n\
                  receiver = \"h4\"\nbytes = \"200kB\"\n";
    let text = dumbbell(&(incast.to_owned() + &labelled("beside", "h3", "h4", 200, 3)));
    let settings = ["switch.scheme.queues=4", CAPTURE_ALL];
    let mixed = run(&text, &settings);
    let labels = "switch.scheme.incast_labels=true";
    let apart = run(&text, &[&settings[..], &[labels]].concat());
    for run in [&mixed, &apart] {
        run.assert_lossless();
        assert_paired(run);
    }
    let times = [&mixed, &apart].map(|run| completion(run, "beside"));
    // At s0 it shares a link with the incast's queue, at s1 with that queue again: half of the link.
    let half = 2 * 200 * 1098 * 8 / 100;
    assert!(times[1] < half * 14 / 10, "{times:?}");
    assert!(times[0] > times[1], "{times:?}");
    let dscps = |run: &Run| {
        let mut dscps: Vec<(u32, u8)> = run
            .frames()
            .iter()
            .filter_map(|frame| frame.data().map(|packet| (packet.source, packet.dscp)))
            .collect();
        dscps.sort_unstable();
        dscps.dedup();
        dscps
    };
    let beside = fabric_core::map_abi::FIRST_HOST_ADDRESS + 3;
    assert!(dscps(&mixed).iter().all(|(_, dscp)| *dscp == 24));
    for (source, dscp) in dscps(&apart) {
        let label = if source == beside { 0 } else { INCAST_LABEL };
        assert_eq!(dscp, 24 + label, "{source:#x}");
    }
}

/// A switch that counts half of the packets still pauses, and packets lost to reordering are sent again.
pub fn sampled_departures(run: Runner) {
    let flows: String = (0..4)
        .flat_map(|source| (0..6).map(move |_| flow(&format!("h{source}"), "h4", 100, 3)))
        .collect();
    let text = dumbbell(&flows);
    let all = run(&text, &[]);
    let half = run(&text, &["switch.scheme.sampling=0.5", CAPTURE_ALL]);
    for run in [&all, &half] {
        run.assert_complete();
        assert!(run.summary.lossless && run.summary.books.is_empty());
        assert_paired(run);
    }
    assert_eq!(all.summary.retransmitted_packets, 0);
    assert!(half.summary.queue_pauses.is_some_and(|totals| totals.pauses > 0));
}

/// More flows than queues, with and without Algorithm 1 beside BFC: their windows shrink, so that
/// switches pause their queues less.
pub fn end_to_end_control(run: Runner) {
    let flows: String = (0..4)
        .flat_map(|source| (0..10).map(move |_| flow(&format!("h{source}"), "h4", 400, 3)))
        .collect();
    let text = dumbbell(&flows);
    let queues = "switch.scheme.queues=4";
    let alone = run(&text, &[queues]);
    let beside = run(&text, &[queues, "host.transport.congestion_control=rtt-target", CAPTURE_ALL]);
    for run in [&alone, &beside] {
        run.assert_lossless();
        assert_paired(run);
    }
    let paused = |run: &Run| run.summary.queue_pauses.expect("BFC").ordered_ns;
    assert!(paused(&beside) < paused(&alone), "{} and {} ns", paused(&beside), paused(&alone));
    let end = |run: &Run| run.summary.emulated_ns;
    assert!(end(&beside) < end(&alone) * 11 / 10, "the link is as busy");
}
