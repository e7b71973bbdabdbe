//! Headroom that PFC needs: DSH, Eq. 1, in the worst case and over its parameters.

use tests::fabric::worst_case::{
    Trigger, WorstCase, assert_headroom_exhausted, assert_sufficient_and_necessary, pause_wait_ns,
};
use tests::fabric::{CAPTURE_ALL, in_memory, summarised};

const GIGABITS: [u64; 4] = [10, 40, 100, 400];
const DELAYS_NS: [u64; 3] = [100, 1000, 5000];
const PAYLOADS: [u64; 3] = [256, 1000, 3072];

fn cases(trigger: Trigger) -> impl Iterator<Item = WorstCase> {
    let rates = GIGABITS.into_iter().flat_map(|rate| DELAYS_NS.map(|delay| (rate, delay)));
    let cases = rates.flat_map(|(rate, delay)| PAYLOADS.map(|payload| (rate, delay, payload)));
    cases.map(move |(gigabits, delay_ns, payload)| WorstCase {
        gigabits,
        delay_ns,
        payload,
        trigger,
    })
}

const STANDARD: WorstCase =
    WorstCase { gigabits: 100, delay_ns: 1000, payload: 1000, trigger: Trigger::InShared };

#[test]
fn the_worst_case_is_one() {
    let frame_ns = (1058 + 24) * 8 / 100;
    let waits: Vec<u64> = STANDARD
        .phases(16)
        .map(|phase| {
            let run = STANDARD.run(
                |text, more| in_memory(text, &[more, &[CAPTURE_ALL]].concat()),
                phase,
                None,
            );
            assert_eq!(run.summary.pause_frames, 1, "nothing drains: one PAUSE, no RESUME");
            pause_wait_ns(&run)
        })
        .collect();
    let longest = *waits.iter().max().unwrap();
    assert!(longest * 16 >= frame_ns * 15, "PAUSE waits behind a full frame: {waits:?}");
}

#[test]
fn eq_1_is_sufficient_and_necessary() {
    assert_sufficient_and_necessary(in_memory, STANDARD, 16);
    for (gigabits, delay_ns, payload) in
        [(100, 1000, 3072), (40, 1000, 1000), (10, 5000, 1000), (400, 100, 3072), (10, 100, 256)]
    {
        let case = WorstCase { gigabits, delay_ns, payload, ..STANDARD };
        assert_sufficient_and_necessary(in_memory, case, 8);
    }
}

/// Eq. 1 counts `L_MTU` as it occupies the wire, whereas buffers hold frames without their 24 bytes of preamble, FCS
/// and gap: the surplus exceeds the 84 bytes of the PAUSE itself.
#[test]
fn eq_1_is_sufficient_where_the_packet_that_pauses_lies_in_the_shared_pool() {
    for case in cases(Trigger::InShared) {
        for phase in case.phases(8) {
            let run = case.run(summarised, phase, Some(case.eq_1()));
            assert_eq!(run.summary.drops.lost(), 0, "{case:?} at phase {phase} ns");
            assert_eq!(run.summary.pause_frames, 1);
        }
    }
}

/// A packet that finds the shared pool closed takes headroom before PAUSE is even decided on, which Eq. 1
/// does not count. It shows where 24 bytes a frame do not make up for a frame: large frames, short links.
#[test]
fn eq_1_alone_loses_a_frame_where_the_packet_that_pauses_lies_in_headroom() {
    for (gigabits, delay_ns, payload) in
        [(10, 100, 1000), (10, 5000, 1000), (100, 100, 3072), (100, 1000, 3072)]
    {
        let case = WorstCase { gigabits, delay_ns, payload, trigger: Trigger::InHeadroom };
        let runs: Vec<_> = case
            .phases(16)
            .map(|phase| case.run(in_memory, phase, Some(case.eq_1())))
            .filter(|run| run.summary.drops.lost() != 0)
            .collect();
        assert!(!runs.is_empty(), "Eq. 1 alone is enough for {case:?}");
        for run in &runs {
            assert_headroom_exhausted(run);
            assert_eq!(run.summary.drops.lost(), 1, "one frame, as Eq. 1 leaves out one frame");
        }
    }
}

/// `measure` fails on a loss.
#[test]
fn the_default_headroom_never_loses_and_is_used_but_for_two_frames() {
    for case in cases(Trigger::InShared).chain(cases(Trigger::InHeadroom)) {
        let used = case.measure(summarised, 8);
        let unframed = case.eq_1() * case.payload / (case.payload + 58 + 24);
        let two_frames = 2 * case.longest_on_the_wire().0;
        assert!(used + two_frames >= unframed, "{case:?} uses {used} of {}", case.eq_1());
    }
}

/// A RESUME that counts 1000 B is under way when the next PAUSE is due, and packets count 60 B.
#[test]
fn control_frames_that_are_longer_than_packets_lose_nothing() {
    let text = r#"duration = "2ms"
[topology]
kind = "star"
hosts = 6
host_link = { rate = "100Gbps", delay = "0s" }
[switch]
lossless = [3]
private_per_queue = "0B"
[host]
payload = "4B"
transport = { kind = "roce-rc", congestion_control = "none" }
[[flows]]
kind = "incast"
senders = ["h1", "h2", "h3", "h4", "h5"]
receiver = "h0"
bytes = "100kB"
"#;
    let adaptive = "switch.headroom={ kind = \"adaptive\", period = \"50us\" }";
    let prompt = [adaptive, "switch.pause_response=0s", "host.pause_response=0s"];
    let bare = [adaptive, "switch.wire_overhead=0B", "frames.hop_control=500B"];
    for sets in [&prompt, &bare] {
        for buffer in ["switch.buffer=200kB", "switch.buffer=400kB"] {
            let sets = [&["frames.hop_control=1000B", buffer], &sets[..]].concat();
            let run = in_memory(text, &sets);
            assert!(run.summary.lossless, "{sets:?}: {:?}", run.summary.drops);
            assert!(run.summary.pause_frames > 0, "{sets:?}");
        }
    }
}
