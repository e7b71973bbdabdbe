//! A flow alone takes its ideal time, and a run is a function of its scenario: the whole matrix, in memory.

use tests::fabric::exactness::{self, DELAYS, PAYLOADS, RATES};
use tests::fabric::lone_flow::lone_paths;
use tests::fabric::{CAPTURE_ALL, in_memory, in_memory_on, shapes, shipped, shipped_files};
use tests::generated;

/// Generated paths; `XOFF_CASES` replaces the number.
const PATHS: u32 = 300;
const REGRESSIONS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/exactness.txt");

#[test]
fn a_flow_alone_on_a_star() {
    for rate in RATES {
        for delay in DELAYS {
            for payload in PAYLOADS {
                exactness::assert_exact(in_memory, &exactness::star(rate, delay, payload));
            }
        }
    }
}

#[test]
fn a_flow_alone_on_a_leaf_spine() {
    for (number, host) in RATES.iter().enumerate() {
        for (fabric, payload) in RATES.iter().zip([256, 1000, 3072, 64, 999]) {
            let delays = (DELAYS[number % 4], DELAYS[(number + 1) % 4]);
            let text = exactness::leaf_spine((host, delays.0), (fabric, delays.1), payload);
            exactness::assert_exact(in_memory, &text);
        }
    }
}

#[test]
fn a_flow_alone_on_a_chain_of_different_links() {
    for payload in PAYLOADS {
        for slow_first in [false, true] {
            exactness::assert_exact(in_memory, &exactness::chain(payload, slow_first));
        }
    }
}

#[test]
fn flows_alone_on_generated_paths() {
    generated::check(REGRESSIONS, generated::count(PATHS), &lone_paths(), |path| {
        exactness::on_path(in_memory, &path);
        Ok(())
    });
}

#[test]
fn a_flow_of_two_messages() {
    exactness::two_messages(in_memory);
}

#[test]
fn two_runs_of_a_scenario_are_the_same_byte_for_byte() {
    for file in shipped_files() {
        let text = shipped(&file);
        let (first, second) = (in_memory(&text, &[CAPTURE_ALL]), in_memory(&text, &[CAPTURE_ALL]));
        first.assert_sound();
        first.assert_same_as(&second);
    }
}

#[test]
fn threads_change_nothing() {
    for file in shipped_files() {
        let text = shipped(&file);
        let alone = in_memory(&text, &[CAPTURE_ALL]);
        for run in [in_memory_on::<2>, in_memory_on::<3>, in_memory_on::<7>] {
            run(&text, &[CAPTURE_ALL]).assert_same_as(&alone);
        }
    }
    for seed in 1..=4 {
        let alone = shapes::turmoil(in_memory, seed);
        for run in [in_memory_on::<2>, in_memory_on::<3>, in_memory_on::<7>] {
            shapes::turmoil(run, seed).assert_same_as(&alone);
        }
    }
}

#[test]
fn another_seed_is_another_run() {
    let text = shipped(shipped_files().iter().find(|path| path.ends_with("incast.toml")).unwrap());
    let (first, second) = (in_memory(&text, &[]), in_memory(&text, &["seed=2"]));
    assert_ne!(first.flows().numbers("fct_ns"), second.flows().numbers("fct_ns"));
}
