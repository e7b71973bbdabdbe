//! Runs that end by a signal, a limit or a fault: their objects are removed by themselves if they still can, otherwise
//! by their guardian, otherwise by the next run. Needs root and `ip`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use tests::command::{
    BpfObjects, ENDING_SIGNALS, ENDLESS, Running, ScenarioFolder, await_fabrics, await_that,
    await_unloaded, bpf_objects_of, finish, guardian_of, isolate, kill, limit, shipped,
    take_interrupted, traces, xoff,
};
use tests::fabric::{AT_OTHER_HOOKS, OVER_TAPS};

/// Nodes of `single-flow.toml`.
const NODES: usize = 5;
/// Hosts among them.
const HOSTS: usize = 2;

/// A run inside its event loop, and the objects that it must not leave.
struct Endless {
    run: Running,
    guardian: u32,
    objects: BpfObjects,
}

fn endless(out: &str) -> Endless {
    endless_with(&[], NODES, out)
}

/// `sockets` is the number of sockets that it opens.
fn endless_with(set: &[&str], sockets: usize, out: &str) -> Endless {
    let scenario = shipped("single-flow");
    let arguments = ["run", &scenario, "--out", out];
    let arguments = arguments.into_iter().chain(ENDLESS).chain(set.iter().copied());
    let run = Running::start(&mut xoff(arguments));
    await_fabrics(1, NODES);
    let mut objects = BpfObjects::new();
    await_that("the last socket of a fabric is opened", || {
        objects.extend(bpf_objects_of(run.id()));
        sockets_of(run.id()) >= sockets
    });
    let guardian = guardian_of(run.id());
    assert!(objects.len() > 10, "{objects:?}");
    Endless { run, guardian, objects }
}

/// AF_XDP and AF_PACKET sockets, which are opened last, and sockets that the run inherited from other tests.
fn sockets_of(process: u32) -> usize {
    let Ok(entries) = fs::read_dir(format!("/proc/{process}/fd")) else { return 0 };
    let links = entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    links.filter(|link| link.as_os_str().to_string_lossy().starts_with("socket:")).count()
}

#[test]
#[ignore = "long"]
fn every_signal_that_asks_for_the_end_is_an_interrupt() {
    isolate();
    let (before, folder) = (traces(), ScenarioFolder::new());
    for signal in ENDING_SIGNALS {
        let Endless { run, objects, .. } = endless(&folder.path("results"));
        run.signal(signal);
        let finished = run.finish().assert_code(130);
        assert!(finished.stderr.starts_with("interrupted"), "{signal}: {finished:?}");
        // Nothing is left to the guardian.
        assert_eq!(traces(), before, "after signal {signal}");
        // The last socket is opened shortly before the event loop begins.
        let measured = finished.stderr.starts_with("interrupted at ");
        assert_eq!(take_interrupted(&folder.path("results")), measured, "after signal {signal}");
        assert!(folder.entries().is_empty(), "after signal {signal}");
        await_unloaded(&objects);
    }
}

#[test]
#[ignore = "long"]
fn what_a_crash_leaves_goes_with_the_guardian() {
    isolate();
    let (before, folder) = (traces(), ScenarioFolder::new());
    for signal in [
        libc::SIGKILL,
        libc::SIGABRT,
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGILL,
        libc::SIGFPE,
        libc::SIGTRAP,
        libc::SIGSYS,
    ] {
        let Endless { mut run, guardian, objects } = endless(&folder.path("results"));
        // Rust takes the first SIGSEGV or SIGBUS from another process for its own.
        while run.is_alive() {
            run.signal(signal);
        }
        run.finish().assert_code(128 + signal);
        await_that("a guardian ends", || !Path::new(&format!("/proc/{guardian}/fd/0")).exists());
        assert_eq!(traces(), before, "after signal {signal}");
        assert!(folder.entries().is_empty(), "after signal {signal}");
        await_unloaded(&objects);
    }
}

/// A tap device can outlive its process, but not its namespace.
#[test]
fn what_a_crash_leaves_of_tap_devices_goes_with_the_guardian() {
    isolate();
    let (before, folder) = (traces(), ScenarioFolder::new());
    let Endless { run, guardian, objects } =
        endless_with(&["--set", OVER_TAPS], HOSTS, &folder.path("results"));
    run.signal(libc::SIGKILL);
    run.finish().assert_code(137);
    await_that("a guardian ends", || !Path::new(&format!("/proc/{guardian}/fd/0")).exists());
    assert_eq!(traces(), before);
    await_unloaded(&objects);
}

#[test]
fn what_a_crash_leaves_at_other_hooks_goes_with_the_guardian() {
    isolate();
    let (before, folder) = (traces(), ScenarioFolder::new());
    for hook in AT_OTHER_HOOKS {
        let set = ["--set", hook];
        let Endless { run, guardian, objects } = endless_with(&set, NODES, &folder.path("results"));
        run.signal(libc::SIGKILL);
        run.finish().assert_code(137);
        await_that("a guardian ends", || !Path::new(&format!("/proc/{guardian}/fd/0")).exists());
        assert_eq!(traces(), before, "{hook}");
        await_unloaded(&objects);
    }
}

#[test]
fn a_signal_that_means_a_failed_write_ends_no_run() {
    isolate();
    let (before, folder) = (traces(), ScenarioFolder::new());
    let Endless { run, .. } = endless(&folder.path("results"));
    run.signal(libc::SIGPIPE);
    run.signal(libc::SIGXFSZ);
    run.signal(libc::SIGINT);
    run.finish().assert_code(130);
    assert_eq!(traces(), before);
}

#[test]
fn a_guardian_keeps_nothing_of_its_caller_in_use() {
    isolate();
    let folder = ScenarioFolder::new();
    let Endless { run, guardian, .. } = endless(&folder.path("results"));
    let open = fs::read_dir(format!("/proc/{guardian}/fd")).expect("it lives").flatten();
    let open: BTreeSet<(String, PathBuf)> = open
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
        .filter_map(|(name, path)| Some((name, fs::read_link(path).ok()?)))
        .collect();
    let names: Vec<&str> = open.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["0", "1", "2"], "{open:?}");
    for (name, target) in &open {
        assert!(name == "0" || target.as_os_str() == "/dev/null", "{open:?}");
    }
    let group = |process: u32| {
        let status = fs::read_to_string(format!("/proc/{process}/stat")).expect("it lives");
        status.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(2).map(str::to_owned))
    };
    assert_ne!(group(guardian), group(run.id()), "Ctrl-C reaches a whole group");
    run.signal(libc::SIGINT);
    run.finish().assert_code(130);
}

#[test]
fn the_next_run_removes_what_a_run_and_its_guardian_left() {
    isolate();
    let (before, folder) = (traces(), ScenarioFolder::new());
    let Endless { run, guardian, objects } = endless(&folder.path("results"));
    kill(guardian);
    run.signal(libc::SIGKILL);
    run.finish().assert_code(137);
    assert_ne!(traces(), before, "nobody is left who could clean up");
    let (scenario, out) = (shipped("single-flow"), folder.path("results"));
    finish(&mut xoff(["run", &scenario, "--out", &out])).assert_code(0);
    assert_eq!(traces(), before);
    assert_eq!(folder.entries(), ["results"]);
    assert!(!Path::new(&out).join(".xoff-partial").exists());
    await_unloaded(&objects);
}

#[test]
fn a_run_outlives_its_guardian() {
    isolate();
    let (before, folder) = (traces(), ScenarioFolder::new());
    let Endless { run, guardian, .. } = endless(&folder.path("results"));
    kill(guardian);
    run.signal(libc::SIGINT);
    run.finish().assert_code(130);
    assert_eq!(traces(), before);
    take_interrupted(&folder.path("results"));
    assert!(folder.entries().is_empty());
}

#[test]
fn a_limit_on_files_is_an_error_of_the_write() {
    isolate();
    let (before, folder) = (traces(), ScenarioFolder::new());
    let (scenario, out) = (shipped("incast"), folder.path("results"));
    let mut run = xoff(["run", &scenario, "--out", &out]);
    let finished = finish(limit(&mut run, libc::RLIMIT_FSIZE, 8 * 1024));
    finished.assert_refused(&["cannot write", &out, "File too large", "`ulimit -f unlimited`"]);
    assert_eq!(traces(), before);
    assert!(folder.entries().is_empty());
}

#[test]
#[ignore = "long"]
fn a_limit_on_memory_leaves_nothing() {
    isolate();
    let (before, folder) = (traces(), ScenarioFolder::new());
    let (scenario, out) = (shipped("incast"), folder.path("results"));
    let mut refused = 0;
    // From the program alone to a fabric that has all that it needs. Which limits are too low differs from
    // machine to machine, and a higher one may be: threads that find no room for a heap of their own share.
    // The program without optimisation takes 55 MB itself: below that, the kernel cannot map it.
    for megabytes in (70..=270).step_by(10) {
        let mut run = xoff(["run", &scenario, "--out", &out]);
        let finished = finish(limit(&mut run, libc::RLIMIT_AS, megabytes << 20));
        if finished.code == 0 {
            fs::remove_dir_all(&out).expect("the run made it");
            continue;
        }
        // Rust aborts if a new thread finds no room for its signal stack; every other failure is reported.
        if !finished.stderr.contains("failed to allocate an alternative stack") {
            finished.assert_refused(&["error: ", "ulimit -v"]);
        }
        refused += 1;
        await_that("a guardian removes what a run without memory left", || {
            traces() == before && folder.entries().is_empty()
        });
    }
    assert!(refused > 4, "{refused} limits were too low for a run");
}
