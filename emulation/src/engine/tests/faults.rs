//! Frames affected by injected faults.

use fabric_core::drop_reason::DropReason;
use units::Picos;

use super::{engine, flow, out, star};
use crate::datapath::FrameKind;
use crate::engine::faults::{Fate, Passage};
use crate::engine::transmitter::Transmitter;

/// True if a wire loses the next frame.
fn loses(wire: &mut Transmitter, kind: FrameKind) -> bool {
    matches!(wire.start_faulty(Picos::ZERO, 1058, kind).fate, Fate::Lost(_))
}

/// A fault on the wires from h1 and h2.
fn fault(which: &str) -> String {
    format!("[[faults]]\nkind = \"loss\"\nwire = \"h*->s0\"\nmatch = \"data\"\n{which}\n")
}

/// The packets of 64 that the wires from h0, h1 and h2 lose, one bit each.
fn lost(seed: u64, faults: &str) -> [u64; 3] {
    let scenario = star(&format!("seed = {seed}"), &(flow("h1", "h0", 1) + faults));
    let mut engine = engine(&scenario);
    ["h0->s0", "h1->s0", "h2->s0"].map(|name| {
        let wire = out(&mut engine, name);
        (0..64).fold(0, |lost, packet| {
            assert!(!loses(wire, FrameKind::Ack), "only data packets count");
            lost | u64::from(loses(wire, FrameKind::Data)) << packet
        })
    })
}

/// The first takes the first packet, which is the first of the second, too.
#[test]
fn every_fault_counts_every_frame() {
    let both = fault("nth = [1, 4]") + &fault("nth = [2, 4, 6]");
    assert_eq!(lost(1, &both), [0b10_1011; 3]);
}

#[test]
fn random_losses_follow_from_the_seed_the_wire_and_the_fault() {
    let half = fault("rate = 0.5");
    let [first, again, other] = [1, 1, 2].map(|seed| lost(seed, &half));
    assert_eq!(first, again);
    for wire in 0..3 {
        assert!((16..48).contains(&first[wire].count_ones()), "{first:?}");
        assert_ne!(first[wire], other[wire], "another seed");
        assert_ne!(first[wire], first[(wire + 1) % 3], "another wire");
    }
    let second = lost(1, &(fault("nth = [1]") + &half));
    assert!((0..3).all(|wire| second[wire] | 1 != first[wire] | 1), "another fault");
}

/// The kinds of frames that a fault matches.
#[test]
fn a_fault_takes_the_frames_of_its_class() {
    const KINDS: [FrameKind; 8] = [
        FrameKind::Data,
        FrameKind::Ack,
        FrameKind::Nak,
        FrameKind::Cnp,
        FrameKind::Pause,
        FrameKind::Resume,
        FrameKind::HopControl,
        FrameKind::LinkDelay,
    ];
    for (class, expected) in [
        ("all", &KINDS[..]),
        ("data", &[FrameKind::Data]),
        ("ack", &[FrameKind::Ack]),
        ("nak", &[FrameKind::Nak]),
        ("cnp", &[FrameKind::Cnp]),
        ("pfc", &[FrameKind::Pause, FrameKind::Resume]),
        ("pause", &[FrameKind::Pause]),
        ("resume", &[FrameKind::Resume]),
        ("hop-control", &[FrameKind::HopControl]),
        ("link-delay", &[FrameKind::LinkDelay]),
    ] {
        let fault = fault("nth = [1]").replace("\"data\"", &format!("{class:?}"));
        let scenario = star("", &(flow("h1", "h0", 1) + &fault));
        let takes = |kind| loses(out(&mut engine(&scenario), "h1->s0"), kind);
        let lost: Vec<FrameKind> = KINDS.into_iter().filter(|&kind| takes(kind)).collect();
        assert_eq!(lost, expected, "{class}");
    }
}

/// Losses of a seed are equal in all versions, and independent of other numbers drawn from the seed.
#[test]
fn the_losses_of_a_seed_are_known() {
    let [_, h1, h2] = lost(1, &fault("rate = 0.25"));
    assert_eq!([h1, h2], [0x5ea4_0008_10e0_8218, 0x0452_812d_0080_a058]);
}

const DATA: FrameKind = FrameKind::Data;

/// Passages of frames of 1058 bytes, 1082 ns at 8 Gbit/s, that h1 sends back to back from `from` on, in
/// microseconds.
fn passages(from: u64, frames: usize, faults: &str) -> Vec<Passage> {
    let scenario = star("", &(flow("h1", "h0", 1) + faults));
    let mut engine = engine(&scenario);
    let wire = out(&mut engine, "h1->s0");
    let mut now = Picos(from * 1_000_000);
    let mut pass = || {
        let passage = wire.start_faulty(now, 1058, DATA);
        now = passage.busy_until;
        passage
    };
    (0..frames).map(|_| pass()).collect()
}

fn on_h1(kind: &str, keys: &str) -> String {
    format!("[[faults]]\nkind = \"{kind}\"\nwire = \"h1-s0\"\n{keys}\n")
}

#[test]
fn a_fault_is_about_frames_that_begin_while_it_lasts() {
    let fault = on_h1("loss", "rate = 1\nat = \"2us\"\nfor = \"3us\"");
    let lost = |passage: &Passage| passage.fate == Fate::Lost(DropReason::InjectedLoss);
    // They begin at 0, 1.082, 2.164, 3.246, 4.328 and 5.41 us.
    let fates: Vec<bool> = passages(0, 6, &fault).iter().map(lost).collect();
    assert_eq!(fates, [false, false, true, true, true, false]);
    assert!(lost(&passages(2, 1, &fault)[0]) && !lost(&passages(5, 1, &fault)[0]));
    let flapping = "at = \"1us\"\nfor = \"4us\"\nflap = { period = \"2us\" }";
    let down = on_h1("down", flapping);
    let fates = (0..6).map(|us| passages(us, 1, &down)[0].fate == Fate::Lost(DropReason::LinkDown));
    assert!(fates.eq([false, true, false, true, false, false]));
}

#[test]
fn a_damaged_frame_arrives_and_a_lost_one_is_not_damaged() {
    let both = on_h1("corrupt", "nth = [1, 2]") + &on_h1("loss", "nth = [2]");
    let fates: Vec<Fate> = passages(0, 3, &both).iter().map(|passage| passage.fate).collect();
    let lost = Fate::Lost(DropReason::InjectedLoss);
    assert_eq!(fates, [Fate::Damaged, lost, Fate::Whole]);
}

/// A delay that ends lets frames arrive one after another, and no faster than the link carries them.
#[test]
fn frames_that_are_late_stay_in_order() {
    let late = on_h1("delay", "delay = \"5us\"\nfor = \"2us\"");
    let arrivals: Vec<u64> = passages(0, 8, &late).iter().map(|it| it.arrival.0 / 1000).collect();
    let expected = [7082, 8164, 9246, 10_328, 11_410, 12_492, 13_574, 14_656];
    assert_eq!(arrivals, expected);
    let jitter = on_h1("delay", "delay = \"1us\"\njitter = \"20us\"");
    let passages = passages(0, 500, &jitter);
    let gaps = passages.windows(2).map(|pair| pair[1].arrival.0 - pair[0].arrival.0);
    assert!(gaps.clone().all(|gap| gap >= 1_082_000), "no frame meets another");
    assert!(gaps.into_iter().any(|gap| gap > 2_000_000), "and not all are equally late");
    let late = |passage: &Passage| (1_000_000..21_000_001).contains(&passage.late.0);
    assert!(passages.iter().all(late));
}

/// A lost frame delays no other frame, and adds no time.
#[test]
fn a_lost_frame_is_not_late() {
    let faults = on_h1("delay", "delay = \"5us\"\nfor = \"1us\"") + &on_h1("loss", "nth = [1]");
    let scenario = star("", &(flow("h1", "h0", 1) + &faults));
    let mut engine = engine(&scenario);
    let wire = out(&mut engine, "h1->s0");
    assert!(loses(wire, DATA));
    // The next one begins once the delay is over.
    assert_eq!(wire.start_faulty(Picos(1_082_000), 1058, DATA).late, Picos::ZERO);
    let tallies: Vec<_> = wire.tallies().map(|(_, it)| (it.seen, it.frames, it.added)).collect();
    assert_eq!(tallies, [(1, 0, 0), (2, 1, 0)]);
    assert_eq!((wire.sent, wire.sent_bytes), (2, 2 * 1058));
}

#[test]
fn a_jitter_of_a_picosecond_has_two_values() {
    let jitter = on_h1("delay", "jitter = \"1ps\"");
    // In different runs, so that no frame waits for an earlier one.
    let scenario = star("", &(flow("h1", "h0", 1) + &jitter));
    let mut engine = engine(&scenario);
    let wire = out(&mut engine, "h1->s0");
    let late = (1..=64).map(|us| wire.start_faulty(Picos(us * 2_000_000), 60, DATA).late.0);
    let late: Vec<u64> = late.collect();
    assert!(late.iter().all(|late| *late <= 1));
    assert!((16..48).contains(&late.iter().sum::<u64>()), "{late:?}");
}

#[test]
fn a_slower_port_is_busy_for_longer_and_the_slowest_rate_counts() {
    let slow = on_h1("rate", "rate = \"4Gbps\"\nfor = \"5us\"")
        + &on_h1("rate", "rate = \"2Gbps\"\nfor = \"4us\"");
    let passages = passages(0, 3, &slow);
    let times: Vec<(u64, u64)> =
        passages.iter().map(|it| (it.busy_until.0 / 1000, it.late.0 / 1000)).collect();
    // 4328 ns at 2 Gbit/s, 2164 at 4, 1082 at 8.
    assert_eq!(times, [(4328, 3246), (6492, 1082), (7574, 0)]);
    assert!(passages.iter().all(|it| it.arrival == it.busy_until + Picos(1_000_000)));
}

#[test]
fn no_frame_is_longer_on_its_way_than_the_longest_flight() {
    let all = on_h1("rate", "rate = \"1Gbps\"\nat = \"5us\"\nfor = \"20us\"")
        + &on_h1("delay", "delay = \"2us\"\njitter = \"9us\"\nfor = \"200us\"")
        + &on_h1("delay", "jitter = \"1us\"\nat = \"50us\"");
    let scenario = star("", &(flow("h1", "h0", 1) + &all));
    let mut engine = engine(&scenario);
    let wire = out(&mut engine, "h1->s0");
    let longest = wire.longest_flight(1058);
    assert_eq!(longest, Picos(8 * 1_082_000 + 1_000_000 + 12_000_000));
    let mut now = Picos::ZERO;
    for _ in 0..400 {
        let passage = wire.start_faulty(now, 1058, DATA);
        assert!(passage.arrival <= now + longest);
        now = passage.busy_until;
    }
}
