//! `link_priorities.csv` against `links.csv`, `drops.csv` and the capture.

use std::collections::BTreeMap;

use fabric_core::wire::Ecn;

use super::one_switch::{corrupt, flow, loss, star};
use super::{CAPTURE_ALL, Run, Runner};

/// Counts of a wire by priority; an empty string stands for frames without a priority.
type Counted = BTreeMap<(String, String), [u64; 3]>;

const ASKED: &str = "results.link_priorities=true";
const MARKING: &str =
    "switch.ecn={ kmin = \"10kB\", kmax = \"10kB\", pmax = 1.0, mark_at = \"enqueue\" }";

/// Checks of every run: the rows of a wire add up to its totals, and the drops of all wires to the run's drops.
pub fn assert_adds_up(run: &Run) {
    let columns = ["frames", "bytes", "wire_bytes", "lost", "damaged"];
    let rows = run.table("link_priorities.csv");
    let mut sums: BTreeMap<&str, [u64; 5]> = BTreeMap::new();
    let mut dropped = 0;
    for row in rows.rows() {
        let sum = sums.entry(row.text("wire")).or_default();
        for (sum, column) in sum.iter_mut().zip(columns) {
            *sum += row.number(column);
        }
        dropped += row.number("dropped");
        assert!(row.number("ecn_marked") <= row.number("frames"), "{row:?}");
    }
    for link in run.table("links.csv").rows() {
        let sum = sums.remove(link.text("wire")).unwrap_or_default();
        assert_eq!(sum, columns.map(|column| link.number(column)), "{link:?}");
    }
    assert!(sums.is_empty(), "{sums:?}");
    // Faults drop on the wire.
    let by_switches = run.drops();
    let by_switches = by_switches.rows().iter().filter(|row| {
        !row.text("priority").is_empty() && !["injected", "ignored"].contains(&row.text("class"))
    });
    assert_eq!(dropped, by_switches.count() as u64);
}

/// Frames, bytes and marks agree with the capture, if no frame is lost on wires.
fn assert_captured(run: &Run) {
    let fabric = run.scenario.fabric();
    let mut captured = Counted::new();
    for frame in run.frames() {
        let packet = frame.roce();
        let priority = packet.map_or_else(String::new, |packet| (packet.dscp >> 3).to_string());
        let key = (fabric.wire(frame.wire).name.clone(), priority);
        let [frames, bytes, marked] = captured.entry(key).or_default();
        *frames += 1;
        *bytes += frame.length;
        *marked += u64::from(packet.is_some_and(|it| it.ecn == Ecn::CongestionExperienced));
    }
    let table = run.table("link_priorities.csv");
    let counted: Counted = table
        .rows()
        .iter()
        .map(|row| {
            let key = ["wire", "priority"].map(|column| row.text(column).to_owned());
            (key.into(), ["frames", "bytes", "ecn_marked"].map(|column| row.number(column)))
        })
        .collect();
    assert_eq!(counted, captured);
}

/// Two priorities from two hosts to one, with pauses, marks, drops, and frames that are lost or damaged.
pub fn rows_add_up_to_the_links(run: Runner) {
    let flows = [flow("h1", "h0", 200, 3), flow("h2", "h0", 200, 5)].concat();
    let lossy = vec!["switch.lossless=[]".to_owned(), "switch.buffer=60kB".to_owned()];
    for (settings, is_faulty) in [
        (vec![MARKING.to_owned()], false),
        (lossy, false),
        (vec![loss("h1->s0", "data", "nth = [3, 5]")], true),
        (vec![corrupt("h2->s0")], true),
    ] {
        let settings: Vec<&str> =
            settings.iter().map(String::as_str).chain([ASKED, CAPTURE_ALL]).collect();
        let run = run(&star(3, &flows), &settings);
        assert_adds_up(&run);
        if !is_faulty {
            assert_captured(&run);
        }
        let table = run.table("link_priorities.csv");
        let total = |column| table.rows().iter().map(|row| row.number(column)).sum::<u64>();
        assert_eq!(total("ecn_marked") > 0, settings.contains(&MARKING), "{settings:?}");
        assert_eq!(total("dropped") > 0, settings.contains(&"switch.buffer=60kB"), "{settings:?}");
        assert_eq!(total("lost") + total("damaged") > 0, is_faulty, "{settings:?}");
        let has = |priority| table.with("priority", priority).next().is_some();
        assert!(has("3") && has("5"), "{settings:?}");
        assert_eq!(has(""), run.summary.pause_frames > 0, "{settings:?}");
    }
}
