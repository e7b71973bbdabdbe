//! Which frames injected faults take.

use super::{engine, flow, out, star};
use crate::datapath::FrameKind;

/// A fault on the wires from h1 and h2.
fn fault(which: &str) -> String {
    format!("[[faults]]\nkind = \"loss\"\nwire = \"h*->s0\"\nmatch = \"data\"\n{which}\n")
}

/// Which of 64 data packets the wires from h0, h1 and h2 lose, a bit each.
fn lost(seed: u64, faults: &str) -> [u64; 3] {
    let scenario = star(&format!("seed = {seed}"), &(flow("h1", "h0", 1) + faults));
    let mut engine = engine(&scenario);
    ["h0->s0", "h1->s0", "h2->s0"].map(|name| {
        let wire = out(&mut engine, name);
        (0..64).fold(0, |lost, packet| {
            assert!(!wire.loses(FrameKind::Ack), "only data packets count");
            lost | u64::from(wire.loses(FrameKind::Data)) << packet
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

/// What a fault matches of each kind of frame.
#[test]
fn a_fault_takes_the_frames_of_its_class() {
    const KINDS: [FrameKind; 7] = [
        FrameKind::Data,
        FrameKind::Ack,
        FrameKind::Nak,
        FrameKind::Cnp,
        FrameKind::Pause,
        FrameKind::Resume,
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
        ("link-delay", &[FrameKind::LinkDelay]),
    ] {
        let fault = fault("nth = [1]").replace("\"data\"", &format!("{class:?}"));
        let scenario = star("", &(flow("h1", "h0", 1) + &fault));
        let takes = |kind| out(&mut engine(&scenario), "h1->s0").loses(kind);
        let lost: Vec<FrameKind> = KINDS.into_iter().filter(|&kind| takes(kind)).collect();
        assert_eq!(lost, expected, "{class}");
    }
}

/// Those of a seed are the same in every version, and differ from what else is drawn from the seed.
#[test]
fn the_losses_of_a_seed_are_known() {
    let [_, h1, h2] = lost(1, &fault("rate = 0.25"));
    assert_eq!([h1, h2], [0x5ea4_0008_10e0_8218, 0x0452_812d_0080_a058]);
}
