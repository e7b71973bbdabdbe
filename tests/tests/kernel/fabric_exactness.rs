//! A run on the real kernel depends only on its scenario, and equals the run in memory. Needs root.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tests::fabric::{
    CAPTURE_ALL, exactness, in_kernel, in_kernel_on, in_memory, on_both, over_taps_on, shapes,
    shipped, shipped_files,
};

#[test]
fn a_flow_alone_takes_its_ideal_time() {
    for text in [
        exactness::star("10Gbps", "137ns", 256),
        exactness::star("400Gbps", "1us", 1000),
        exactness::leaf_spine(("100Gbps", "1us"), ("100Gbps", "1us"), 1000),
        exactness::leaf_spine(("25Gbps", "137ns"), ("40Gbps", "10us"), 3072),
        exactness::chain(1000, false),
        exactness::chain(3072, true),
    ] {
        exactness::assert_exact(on_both, &text);
    }
}

#[test]
fn every_shipped_scenario_runs_as_in_memory() {
    for file in shipped_files() {
        on_both(&shipped(&file), &[]).assert_sound();
    }
}

#[test]
fn much_at_once_runs_as_in_memory() {
    for seed in 1..=4 {
        shapes::turmoil(on_both, seed);
    }
}

#[test]
fn threads_change_nothing() {
    for file in shipped_files() {
        let text = shipped(&file);
        in_kernel_on::<2>(&text, &[]).assert_same_as(&in_memory(&text, &[]));
    }
    let memory = shapes::turmoil(in_memory, 6);
    let over_veths = [in_kernel_on::<2>, in_kernel_on::<3>, in_kernel_on::<7>];
    for run in over_veths.into_iter().chain([over_taps_on::<2>, over_taps_on::<7>]) {
        shapes::turmoil(run, 6).assert_same_as(&memory);
    }
}

/// Every core has something else to do, so that the kernel takes the processor away at any moment.
#[test]
fn two_runs_are_the_same_byte_for_byte_also_on_a_busy_machine() {
    let quiet = shapes::turmoil(in_kernel, 5);
    let incast =
        shipped(shipped_files().iter().find(|path| path.ends_with("incast.toml")).unwrap());
    let quiet_incast = in_kernel(&incast, &[CAPTURE_ALL]);
    let done = AtomicBool::new(false);
    let (busy, busy_incast) = thread::scope(|scope| {
        for _ in 0..2 * thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let _release = Release(&done);
        (shapes::turmoil(in_kernel, 5), in_kernel(&incast, &[CAPTURE_ALL]))
    });
    busy.assert_same_as(&quiet);
    busy_incast.assert_same_as(&quiet_incast);
}

/// Ends the busy threads, also when a run panics: the scope waits for them.
struct Release<'a>(&'a AtomicBool);

impl Drop for Release<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
