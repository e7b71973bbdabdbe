//! Explanations of slow flows, in memory.

use tests::fabric::{Run, explain, in_memory, in_memory_on};

#[test]
fn drops_of_an_instant_are_in_one_order() {
    let alone = in_memory(explain::DROPS, &[]);
    assert!(alone.summary.drops.lost() > 1000, "{:?}", alone.summary.drops);
    for run in [in_memory_on::<2>, in_memory_on::<3>] {
        run(explain::DROPS, &[]).assert_same_as(&alone);
    }
    let often = in_memory(explain::DROPS, &["results.queue_period=1us"]);
    let log =
        |run: &Run| std::fs::read(run.folder().join("wire_log.bin")).expect("it is asked for");
    assert!(log(&often) == log(&alone), "samples change the log");
}
