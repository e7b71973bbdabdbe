//! Rings of switches, where packets wait for each other under PFC, OFC and GFC.

use std::cell::Cell;
use std::fmt::Write;
use std::ops::Range;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use results::RunEnd;

use super::one_switch::loss;
use super::{Run, Runner};
use crate::generated;

const OFC: &str = "scheme = { kind = \"ofc\" }";
const CASES: u32 = 30;

/// A ring in which each host sends 1 MB clockwise to the one `hops` switches further on.
fn ring(switches: usize, hops: usize, xon: &str, rule: &str) -> String {
    let name = |kind: char| {
        (0..switches).map(|it| format!("\"{kind}{it}\"")).collect::<Vec<_>>().join(", ")
    };
    let mut text = format!(
        "name = \"ring\"\nduration = \"2ms\"\nstop = \"deadlock\"
[topology]\nkind = \"custom\"\nswitches = [{}]\nhosts = [{}]\nlinks = [\n",
        name('s'),
        name('h')
    );
    for at in 0..switches {
        for other in [format!("h{at}"), format!("s{}", (at + 1) % switches)] {
            let link = "rate = \"40Gbps\", delay = \"20ns\"";
            writeln!(text, "{{ a = \"s{at}\", b = \"{other}\", {link} }},").expect("a string");
        }
    }
    text += "]\n";
    for at in 0..switches {
        let next = (at + 1) % switches;
        for to in (1..=hops).map(|hop| (at + hop) % switches) {
            writeln!(text, "[[routes]]\nat = \"s{at}\"\nto = \"h{to}\"\nvia = [\"s{next}\"]")
                .expect("a string");
        }
    }
    write!(
        text,
        "[switch]\nbuffer = \"2MB\"\nprivate_per_queue = \"0B\"\nlossless = [3]
threshold = {{ kind = \"static\", xoff = \"75kB\", xon = \"{xon}\" }}\n{rule}
[host]\ntransport = {{ kind = \"roce-rc\", congestion_control = \"none\" }}\n"
    )
    .expect("a string");
    for at in 0..switches {
        text += &flow(at, (at + hops) % switches, "1MB", "0ns");
    }
    text
}

fn flow(from: usize, to: usize, bytes: &str, start: &str) -> String {
    format!(
        "[[flows]]\nkind = \"one\"\nlabel = \"{from} to {to}\"\nsrc = \"h{from}\"\ndst = \"h{to}\"\n\
         bytes = \"{bytes}\"\nstart = \"{start}\"\n"
    )
}

/// Causes of the waits in the only cycle, if there is one; it is a deadlock that has lasted to the end.
fn deadlock(run: &Run) -> Option<Vec<String>> {
    let table = run.deadlocks();
    match table.rows() {
        [] => None,
        [cycle] => {
            assert!(cycle.text("end_ns").is_empty());
            assert!(cycle.number("onset_ns") < cycle.number("confirmed_ns"));
            assert_eq!(cycle.text("survives_refresh"), "1");
            assert_eq!((run.summary.deadlock.deadlocks, run.summary.deadlock.at_end), (1, true));
            Some(cycle.text("levels").split(' ').map(str::to_owned).collect())
        }
        several => panic!("{several:?}"),
    }
}

/// Flows that cross two links of the ring do not close a cycle of pauses of flows: the switches that pause them
/// received them from their hosts. Pauses of their class close a cycle.
pub fn flows_of_two_links(run: Runner) {
    let by_flows = run(&ring(4, 2, "45kB", OFC), &[]);
    by_flows.assert_lossless();
    assert_eq!(deadlock(&by_flows), None);
    assert_eq!((by_flows.summary.ended, by_flows.summary.flows_completed), (RunEnd::Drained, 4));
    let by_class = run(&ring(4, 2, "45kB", ""), &[]);
    by_class.assert_lossless();
    assert_eq!(deadlock(&by_class), Some(vec!["queue".to_owned(); 4]));
    assert_eq!((by_class.summary.ended, by_class.summary.flows_completed), (RunEnd::Deadlock, 0));
}

/// Flows that cross three links do, if so much of an ingress queue is paused that it stays above X_on. The run stops then; if
/// not, the deadlock lasts, and flows that are not paused go on.
pub fn flows_of_three_links(run: Runner) {
    let text = ring(6, 3, "10kB", OFC);
    let stopped = run(&text, &[]);
    stopped.assert_lossless();
    let flows = || Some(vec!["flows".to_owned(); 6]);
    assert_eq!(deadlock(&stopped), flows());
    assert_eq!(stopped.summary.pause_frames, 0, "no class is paused");
    assert_eq!((stopped.summary.ended, stopped.summary.flows_completed), (RunEnd::Deadlock, 0));

    let late: String = (0..6).map(|at| flow(at, (at + 1) % 6, "100kB", "300us")).collect();
    let lasts = run(&(text + &late), &["stop=done"]);
    assert!(lasts.summary.lossless && !lasts.is_sound());
    assert_eq!(deadlock(&lasts), flows());
    assert_eq!((lasts.summary.ended, lasts.summary.flows_completed), (RunEnd::Duration, 6));
    for row in lasts.flows().rows() {
        let at = row.text("label").as_bytes();
        let is_short = at[0] % 6 + 1 == at[5] % 6 || (at[0] % 6, at[5] % 6) == (5, 0);
        assert_eq!(row.text("fct_ns").is_empty(), !is_short, "{}", row.text("label"));
    }
    let said = lasts.summary.unfinished.as_deref().unwrap_or_default();
    assert!(said.contains("deadlocked since"), "{said}");

    // The ingress queues fall to X_on again and again.
    let moves = run(&ring(6, 3, "45kB", OFC), &[]);
    moves.assert_lossless();
    assert_eq!(deadlock(&moves), None);
    assert_eq!((moves.summary.ended, moves.summary.flows_completed), (RunEnd::Drained, 6));
}

/// A RESUME is lost. Its flow stays paused, although no switch keeps it paused: that is not a deadlock.
pub fn a_lost_resume(run: Runner) {
    let fault = loss("s1->s0", "hop-control", "nth = [2]");
    let run = run(&ring(4, 2, "45kB", OFC), &[&fault, "stop=done"]);
    run.assert_drops_only("injected-loss");
    assert_eq!((run.summary.ended, run.summary.flows_completed), (RunEnd::Duration, 3));
    assert_eq!(deadlock(&run), None);
}

/// Repeated pauses repair the loss of a RESUME or a PAUSE, at a switch and at a NIC. Nothing is reordered. Each frame
/// of `lost`, by index on a wire, is lost in its own run; some are RESUMEs.
pub fn lost_frames_and_repeated_pauses(run: Runner, lost: Range<u64>) {
    const REPEAT: &str = "scheme = { kind = \"ofc\", repeat = \"50us\" }";
    for wire in ["s1->s0", "s1->h1"] {
        let mut stuck = 0;
        for nth in lost.clone() {
            let fault = loss(wire, "hop-control", &format!("nth = [{nth}]"));
            let once = run(&ring(4, 2, "45kB", OFC), &[&fault, "stop=done"]);
            stuck += u32::from(once.summary.flows_completed < 4);
            let repeated = run(&ring(4, 2, "45kB", REPEAT), &[&fault, "stop=done"]);
            repeated.assert_complete();
            assert_eq!(repeated.summary.retransmitted_packets, 0);
            assert_eq!(repeated.summary.faults.expect("it has one").lost, 1);
        }
        assert!(stuck > 0, "{wire}: no lost frame stops a flow");
    }
}

/// GFC's rates are never zero, so a cycle of them is not a deadlock, however slow. PFC's PAUSE at X_off is one, under
/// GFC as OFC describes it and at the end of GFC's stages.
pub fn rates(run: Runner) {
    let gfc = |rule: &str| run(&ring(4, 2, "45kB", &format!("pause_rule = {{ {rule} }}")), &[]);
    let slow = gfc("kind = \"gfc\", b1 = \"50kB\", bm = \"70kB\"");
    assert_eq!(deadlock(&slow), None);
    assert_eq!(slow.summary.ended, RunEnd::Duration);
    let queue = || Some(vec!["queue".to_owned(); 4]);
    for rule in
        ["kind = \"gfc-ofc\", b1 = \"60kB\"", "kind = \"gfc\", b1 = \"68.6kB\", bm = \"75kB\""]
    {
        let stopped = gfc(rule);
        stopped.assert_lossless();
        assert_eq!(deadlock(&stopped), queue(), "{rule}");
        assert_eq!(stopped.summary.ended, RunEnd::Deadlock);
    }
}

/// Whatever the ring: no flow is reordered, nothing is lost, and either all flows complete or there is a deadlock, in which
/// they never do.
pub fn rings_at_random(run: Runner) {
    let rings =
        (3..8usize, 2..7usize, 1..7u64, select(vec!["19/20", "9/10"]), select(vec![1u32, 8, 256]));
    let late = vec((0..8usize, 1..8usize, 1..80u64, 0..60u64), 0..6);
    let (moved, deadlocked) = (Cell::new(0), Cell::new(0));
    let regressions = concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/rings.txt");
    let count = generated::count(CASES);
    generated::check(
        regressions,
        count,
        &(rings, late),
        |((switches, hops, xon, alpha, table), late)| {
            let hops = hops.min(switches - 1);
            let rule =
                format!("scheme = {{ kind = \"ofc\", alpha = \"{alpha}\", flow_table = {table} }}");
            let text = ring(switches, hops, &format!("{}kB", 10 * xon), &rule);
            let late: String = late
                .iter()
                .map(|&(from, hop, size, start)| {
                    let to = (from % switches + 1 + (hop - 1) % hops) % switches;
                    flow(from % switches, to, &format!("{size}kB"), &format!("{start}us"))
                })
                .collect();
            let text = text.replace("2ms", "6ms") + &late;
            let first = run(&text, &[]);
            prop_assert!(first.summary.lossless);
            prop_assert_eq!(first.summary.retransmitted_packets, 0);
            let is_deadlock = first.summary.ended == RunEnd::Deadlock;
            prop_assert_eq!(first.summary.deadlock.deadlocks > 0, is_deadlock);
            let met = if is_deadlock { &deadlocked } else { &moved };
            met.set(met.get() + 1);
            if is_deadlock {
                let on = run(&text, &["stop=done"]);
                prop_assert_eq!(on.summary.ended, RunEnd::Duration);
                prop_assert!(on.summary.flows_completed < on.summary.flows_total);
            } else {
                prop_assert_eq!(first.summary.ended, RunEnd::Drained);
            }
            Ok(())
        },
    );
    let met = (moved.get(), deadlocked.get());
    assert!(count < CASES || met.0 >= count / 5 && met.1 >= count / 5, "{met:?}");
}
