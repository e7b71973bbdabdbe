//! Headroom by measured links, in memory: the exchanges, the headroom that they give in the worst case, and
//! the frames under tshark's eyes.

use tests::fabric::worst_case::{Trigger, WorstCase, assert_headroom_exhausted};
use tests::fabric::{CAPTURE_ALL, dissection, in_memory, link_delay};

/// h1's link in [`WorstCase`] takes milliseconds for an exchange; one is enough.
const ADAPTIVE: &str = "kind = \"adaptive\", period = \"20ms\"";
const PROMPT: &str = "host.pause_response=0ns";
const LOST: &str =
    r#"faults=[{ kind = "loss", wire = "h0->s0", match = "link-delay", nth = [1] }]"#;

fn case(gigabits: u64, delay_ns: u64, payload: u64) -> WorstCase {
    WorstCase { gigabits, delay_ns, payload, trigger: Trigger::InHeadroom }
}

/// DSH, Eq. 1's worst case: nothing drains, and the PAUSE waits behind a full frame.
#[test]
fn measured_headroom_never_loses() {
    for gigabits in [10, 40, 100, 400] {
        for delay_ns in [100, 1000, 5000] {
            for payload in [256, 1000, 3072] {
                let case = case(gigabits, delay_ns, payload);
                for (phase, overrides) in case.phases(8).flat_map(|phase| {
                    [&[][..], &[PROMPT], &[PROMPT, LOST]].map(|overrides| (phase, overrides))
                }) {
                    let run = case.run_scheme(in_memory, phase, ADAPTIVE, overrides);
                    let losses = u64::from(overrides.contains(&LOST));
                    let at = format!("{case:?}, {overrides:?} at phase {phase} ns");
                    assert_eq!(run.summary.drops.lost(), losses, "{at}");
                    assert_eq!(run.summary.pause_frames, 1, "{at}");
                    let measured = run.link_delays();
                    let row = measured.with("peer", "h0").next();
                    assert_eq!(row.is_none(), losses == 1, "{at}");
                    if let Some(row) = row {
                        let headroom = row.number("headroom_bytes");
                        assert!(run.summary.headroom_max_bytes["s0"] <= headroom, "{at}");
                    }
                }
            }
        }
    }
}

/// A neighbour that obeys at once needs 3840 bytes less than Eq. 1 counts, and it shows: with two frames
/// less than was measured packets are lost.
#[test]
fn measured_headroom_is_no_more_than_it_takes() {
    let case = case(100, 1000, 1000);
    let run = case.run_scheme(in_memory, 0, ADAPTIVE, &[PROMPT]);
    let measured = run.link_delays().only("peer", "h0").number("headroom_bytes");
    let longest = case.longest_on_the_wire().0;
    let lossless = case.eq_1() + longest + 84;
    // Two nanoseconds more for the rounding of stamps.
    assert_eq!(measured, lossless - 3840 + 25);
    let less = format!("kind = \"sih\", bytes = \"{}B\"", measured - 2 * longest);
    let starved: Vec<_> = case
        .phases(16)
        .map(|phase| case.run_scheme(in_memory, phase, &less, &[PROMPT]))
        .filter(|run| run.summary.drops.lost() != 0)
        .collect();
    assert!(!starved.is_empty(), "{less} lost nothing");
    starved.iter().for_each(assert_headroom_exhausted);
}

#[test]
fn tshark_dissects_link_delay_frames() {
    let run = in_memory(link_delay::CHAIN, &[CAPTURE_ALL]);
    run.assert_lossless();
    dissection::assert_tshark_agrees(&run);
    let frames = dissection::assert_dissector_agrees(&run);
    assert!(frames > 16, "{frames} link delay frames");
}
