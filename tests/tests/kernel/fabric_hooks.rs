//! The three hooks at which switches receive frames: the bytes are as in memory at each, for every run, and nothing is
//! left behind. Needs root and `tc`.

use std::process::Command;

use fabric_core::policy::{MarkingScheme, Policy, ThresholdScheme};
use switch_user::hook::Hook;
use switch_user::program::SwitchProgram;
use switch_user::tables::Capacity;
use tests::command::{finish, isolate, shipped as shipped_path, traces, xoff};
use tests::fabric::drawn::{PLAIN, scenarios};
use tests::fabric::{
    AT_OTHER_HOOKS, at_each_hook, backpressure, counted_frames, exactness, in_kernel_on, in_memory,
    shapes, shipped, shipped_files, tcp,
};
use tests::generated;

/// A case takes two seconds, most of it to make its fabrics.
const CASES: u32 = 8;
const REGRESSIONS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/kernel_hooks.txt");

#[test]
#[ignore = "long"]
fn every_shipped_scenario_runs_the_same_at_every_hook() {
    for file in shipped_files() {
        at_each_hook(&shipped(&file), &[]).assert_sound();
    }
}

#[test]
fn much_at_once_runs_the_same_at_every_hook() {
    for seed in 7..=8 {
        shapes::turmoil(at_each_hook, seed);
    }
}

#[test]
fn tcp_runs_the_same_at_every_hook() {
    tcp::without_loss(at_each_hook);
}

#[test]
fn pauses_of_queues_are_the_same_at_every_hook() {
    backpressure::over_pfc_and_over_a_small_buffer(at_each_hook);
}

#[test]
fn frames_that_count_other_lengths_are_the_same_at_every_hook() {
    counted_frames::two_to_one(at_each_hook);
}

#[test]
fn the_longest_frames_pass_at_every_hook() {
    exactness::assert_exact(at_each_hook, &exactness::chain(3072, true));
}

#[test]
fn threads_change_nothing_at_any_hook() {
    let memory = shapes::turmoil(in_memory, 9);
    shapes::turmoil(at_hook_on::<0, 2>, 9).assert_same_as(&memory);
    shapes::turmoil(at_hook_on::<0, 7>, 9).assert_same_as(&memory);
    shapes::turmoil(at_hook_on::<1, 2>, 9).assert_same_as(&memory);
    shapes::turmoil(at_hook_on::<1, 7>, 9).assert_same_as(&memory);
}

/// At one of the other hooks, on some threads.
fn at_hook_on<const HOOK: usize, const THREADS: usize>(
    text: &str,
    overrides: &[&str],
) -> tests::fabric::Run {
    in_kernel_on::<THREADS>(text, &[overrides, &[AT_OTHER_HOOKS[HOOK]]].concat())
}

/// `XOFF_CASES` replaces the number of cases.
#[test]
fn drawn_scenarios_run_the_same_at_every_hook() {
    generated::check(REGRESSIONS, generated::count(CASES), &scenarios(), |drawn| {
        drawn.run(at_each_hook, PLAIN, &[]);
        Ok(())
    });
}

/// TC's filters on the interfaces with indices 2 and 3, which are ports of switches in their namespaces.
fn filters() -> String {
    let show = |(interface, direction)| {
        let output = Command::new("tc")
            .args(["filter", "show", "dev", interface, direction])
            .output()
            .expect("this test needs the program tc");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("tc prints ASCII")
    };
    let places = [("own0", "ingress"), ("own0", "egress"), ("own1", "ingress"), ("own1", "egress")];
    places.map(show).concat()
}

/// The filters of the machine's own interfaces have the numbers that ports' filters get.
#[test]
fn a_run_leaves_the_filters_of_the_machine_alone() {
    isolate();
    let policy = Policy::new(ThresholdScheme::Dynamic, MarkingScheme::Off);
    let loaded = SwitchProgram::load(&[Capacity::new(2, 2, 64)], policy, Hook::Tc, None);
    let (mut program, _tables) = loaded.expect("root may load it").remove(0);
    for interface in [2, 3] {
        program.attach(interface).expect("own0 and own1 have these indices");
    }
    let (before, filters_before) = (traces(), filters());
    for program in [" name switch_port_tc ", " name egress_auditor "] {
        assert_eq!(filters_before.matches(program).count(), 2, "{filters_before}");
    }
    let scenario = shipped_path("single-flow");
    for hook in ["xdp", "xdp-generic", "tc"] {
        let set = format!("datapath.hook={hook}");
        let run = finish(&mut xoff(["run", &scenario, "--set", &set])).assert_code(0);
        let at = if hook == "xdp" { "kernel datapath," } else { &format!("datapath at {hook},") };
        assert!(run.stdout.replace("\n    ", " ").contains(at), "{run:?}");
        assert_eq!(filters(), filters_before, "after a run at {hook}");
        assert_eq!(traces(), before, "after a run at {hook}");
    }
}
