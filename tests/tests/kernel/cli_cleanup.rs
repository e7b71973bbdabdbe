//! Nothing is left behind by the binary, however it ends. Needs root and `ip`.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use tests::command::{
    ENDLESS, Finished, Running, ScenarioFolder, await_fabrics, await_that, fabrics, finish,
    guardian_of, isolate, json, kill, limit, mount_small_disk, shipped, take_interrupted, traces,
    unmount, xoff,
};

/// Nodes of `single-flow.toml` and `incast.toml`.
const SINGLE_FLOW_NODES: usize = 5;
const INCAST_NODES: usize = 12;

fn start(scenario: &str, more: &[&str]) -> Running {
    let scenario = shipped(scenario);
    Running::start(&mut xoff(["run", &scenario].into_iter().chain(more.iter().copied())))
}

fn endless(scenario: &str) -> Running {
    start(scenario, &ENDLESS)
}

#[track_caller]
fn assert_interrupted(finished: Finished) {
    let finished = finished.assert_code(130);
    assert!(!finished.stderr.contains("panicked"), "{}", finished.stderr);
    let measured = !finished.stdout.is_empty();
    let said = if measured { "interrupted at " } else { "interrupted; nothing was written" };
    // A signal that comes before the process catches it ends it at once.
    let killed = finished.stderr.is_empty() && !measured;
    assert!(killed || finished.stderr.starts_with(said), "{}", finished.stderr);
    assert_eq!(finished.stdout.contains("until the interrupt"), measured, "{}", finished.stdout);
}

#[test]
#[ignore = "long"]
fn success_leaves_nothing() {
    isolate();
    let before = traces();
    let run = start("incast", &["--json"]).finish().assert_code(0);
    assert!(run.stdout.contains("\"lossless\": true"), "{}", run.stdout);
    finish(&mut xoff(["doctor"])).assert_code(0);
    let found = json(&finish(&mut xoff(["doctor", "--json"])).assert_code(0).stdout);
    assert_eq!(found["able"], true, "{found}");
    // The directories stay, empty.
    assert_eq!(traces(), before);
}

#[test]
fn an_unsound_run_leaves_nothing() {
    isolate();
    let before = traces();
    start("incast", &["--set", "duration=50us"]).finish().assert_code(1);
    assert_eq!(traces(), before);
}

#[test]
fn an_error_in_the_middle_of_a_deployment_leaves_nothing() {
    isolate();
    let (before, folder) = (traces(), ScenarioFolder::new());
    // From the first namespaces over programs and attachments to the hosts' sockets.
    for files in [16, 20, 28, 36, 44, 52, 60, 68, 76, 84, 92] {
        let (scenario, out) = (shipped("incast"), folder.path("results"));
        let mut run = xoff(["run", &scenario, "--out", &out]);
        let finished = finish(limit(&mut run, libc::RLIMIT_NOFILE, files));
        finished.assert_refused(&["setting up the fabric", "Too many open files", "`ulimit -n"]);
        assert_eq!(traces(), before, "with {files} open files");
        assert!(folder.entries().is_empty(), "with {files} open files");
    }
}

#[test]
fn a_full_disk_leaves_nothing() {
    isolate();
    let (before, folder) = (traces(), ScenarioFolder::new());
    let disk = folder.path("disk");
    fs::create_dir(&disk).expect("the folder is ours");
    mount_small_disk(Path::new(&disk), 64 * 1024);
    let inside = format!("{disk}/results");
    // So many samples do not fit either way.
    let parquet = ["--format", "parquet", "--set", "results.queue_period=100ns"];
    for (out, more) in [(&disk, &[][..]), (&inside, &[]), (&inside, &parquet)] {
        start("incast", &[&["--out", out], more].concat()).finish().assert_refused(&[
            "cannot write",
            out,
            "No space left on device",
            "free some space or name another folder with --out",
        ]);
        assert_eq!(fs::read_dir(&disk).expect("it is mounted").count(), 0);
    }
    unmount(Path::new(&disk)).expect("it is mounted");
    assert_eq!(traces(), before);
}

#[test]
fn an_interrupt_at_any_time_leaves_nothing_half_written() {
    isolate();
    let (before, folder) = (traces(), ScenarioFolder::new());
    let out = folder.path("results");
    for step in 0..20 {
        let run = start("single-flow", &[&ENDLESS[..], &["--out", &out]].concat());
        // A deployment takes some 100 ms, and signals come before, in and after it.
        thread::sleep(Duration::from_millis(step * 9));
        run.signal(libc::SIGINT);
        let finished = run.finish();
        let measured = !finished.stdout.is_empty();
        assert_interrupted(finished);
        assert_eq!(traces(), before, "after {} ms", step * 9);
        assert_eq!(take_interrupted(&out), measured, "after {} ms", step * 9);
        assert!(folder.entries().is_empty(), "after {} ms", step * 9);
    }
}

#[test]
fn an_interrupt_while_cleaning_up_changes_nothing() {
    isolate();
    let before = traces();
    let mut run = endless("incast");
    await_fabrics(1, INCAST_NODES);
    while run.is_alive() {
        run.signal(libc::SIGINT);
        thread::sleep(Duration::from_millis(1));
    }
    assert_interrupted(run.finish());
    assert_eq!(traces(), before);
}

#[test]
fn nohup_outlives_a_hang_up() {
    isolate();
    let before = traces();
    let mut command = std::process::Command::new("nohup");
    let run = xoff(["run", &shipped("single-flow")]);
    command.arg(run.get_program()).args(run.get_args()).args(["--set", "flows.0.bytes=20MB"]);
    let run = Running::start(&mut command);
    await_fabrics(1, SINGLE_FLOW_NODES);
    run.signal(libc::SIGHUP);
    run.finish().assert_code(0);
    assert_eq!(traces(), before);
}

#[test]
fn destroy_removes_the_dead_and_leaves_the_living_alone() {
    isolate();
    let (before, folder) = (traces(), ScenarioFolder::new());
    let destroy = || finish(&mut xoff(["destroy"])).assert_code(0).stdout;
    let living = endless("single-flow");
    await_fabrics(1, SINGLE_FLOW_NODES);
    let living_fabric = fabrics().remove(0);
    // Runs to its end while another fabric is killed and destroyed.
    let sound = start("incast", &["--set", "flows.0.bytes=4MB"]);
    await_fabrics(2, SINGLE_FLOW_NODES + INCAST_NODES);
    let two = fabrics();
    let out = folder.path("results");
    let killed = start("single-flow", &[&ENDLESS[..], &["--out", &out]].concat());
    await_fabrics(3, 2 * SINGLE_FLOW_NODES + INCAST_NODES);
    let killed_fabric = fabrics().into_iter().find(|fabric| !two.contains(fabric));
    let killed_fabric = killed_fabric.expect("there are three");
    kill(guardian_of(killed.id()));
    killed.signal(libc::SIGKILL);
    killed.finish().assert_code(137);
    assert_eq!(fabrics().len(), 3, "what a run and its guardian leave stays until it is destroyed");

    let report = destroy();
    assert!(report.contains(&format!("removed fabric {killed_fabric}\n")), "{report}");
    assert!(report.contains(&format!("left fabric {living_fabric} alone")), "{report}");
    assert_eq!(report.matches("removed").count(), 1, "{report}");
    assert_eq!(await_fabrics(2, SINGLE_FLOW_NODES + INCAST_NODES).len(), 17);
    sound.finish().assert_code(0);
    living.signal(libc::SIGINT);
    assert_interrupted(living.finish());
    assert_eq!(destroy(), "nothing to remove\n");
    assert_eq!(traces(), before);
    // The killed run's partial files do not disturb a new run.
    start("single-flow", &["--out", &out]).finish().assert_code(0);
}

#[test]
fn a_deployment_that_is_killed_leaves_nothing() {
    isolate();
    let before = traces();
    for step in 0..8 {
        let run = endless("incast");
        thread::sleep(Duration::from_millis(step * 20));
        run.signal(libc::SIGKILL);
        run.finish().assert_code(137);
        await_that("a guardian removes half a fabric", || traces() == before);
    }
}

#[test]
fn two_fabrics_at_once_give_the_results_of_a_lone_one() {
    isolate();
    let (before, folder) = (traces(), ScenarioFolder::new());
    let outs = ["lone", "first", "second"].map(|name| folder.path(name));
    let run = |out: &String| start("incast", &["--out", out]);
    run(&outs[0]).finish().assert_code(0);
    let both = [run(&outs[1]), run(&outs[2])];
    await_fabrics(2, 2 * INCAST_NODES);
    for run in both {
        run.finish().assert_code(0);
    }
    for file in ["flows.csv", "pauses.csv", "queues.csv", "drops.csv", "capture.pcapng"] {
        let read = |out: &String| fs::read(Path::new(out).join(file)).expect("a run wrote it");
        assert!(read(&outs[0]) == read(&outs[1]), "{file} of the first differs");
        assert!(read(&outs[0]) == read(&outs[2]), "{file} of the second differs");
    }
    assert_eq!(traces(), before);
}
