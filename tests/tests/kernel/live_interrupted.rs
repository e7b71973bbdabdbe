//! Ctrl-C in commands of live fabrics: the remains, and the messages. Needs root.

use std::ffi::CString;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tests::command::{Running, await_that, unmount, xoff};
use tests::live::{Lab, SLOW, command, json, signal_supervisor, supervisor};

const OTHER: [&str; 3] = ["--set", "switch.buffer=600kB", "--replace"];

/// File with names of hosts, which supervisors read at the very end of a deployment.
const HOSTS: &str = "/etc/hosts";

/// Min time after which a signal counts as another interrupt.
const APART: Duration = Duration::from_millis(300);

/// The size of the first switch's buffer.
fn buffer() -> Value {
    json(&["inspect", "lab", "--json"])["switches"][0]["capacity_bytes"].clone()
}

fn replace(lab: &Lab) -> Running {
    let file = lab.folder.path("lab.toml");
    Running::start(&mut xoff(["deploy", &file].into_iter().chain(OTHER)))
}

/// Waits until a supervisor, which does not run, receives a request.
fn await_request() {
    let socket = "/run/xoff/live/lab/socket";
    // One line for the socket at which it listens, and one for each connection to it.
    let connections = || {
        let sockets = fs::read_to_string("/proc/thread-self/net/unix").unwrap();
        sockets.lines().filter(|line| line.ends_with(socket)).count()
    };
    await_that("the old fabric is asked to end", || connections() == 2);
}

/// A pipe in the place of the file that a supervisor reads last: it waits until somebody writes.
fn mount_pipe(lab: &Lab) {
    let pipe = lab.folder.path("pipe");
    let (source, target) =
        (CString::new(pipe).unwrap(), CString::new(HOSTS).expect("it has no zero"));
    // SAFETY: both paths outlive the calls, and the mount is in the namespace of this test.
    let mounted = unsafe {
        libc::mkfifo(source.as_ptr(), 0o600)
            | libc::mount(
                source.as_ptr(),
                target.as_ptr(),
                std::ptr::null(),
                libc::MS_BIND,
                std::ptr::null(),
            )
    };
    assert_eq!(mounted, 0, "{}", std::io::Error::last_os_error());
}

#[test]
fn an_interrupt_while_the_old_fabric_ends_brings_it_back() {
    let lab = Lab::deploy(SLOW, &[]);
    let (old, before) = (supervisor(), buffer());
    signal_supervisor(old, libc::SIGSTOP);
    let deploy = replace(&lab);
    await_request();
    // The interrupt is handled before the answer that the supervisor gives once it runs again.
    deploy.signal(libc::SIGINT);
    // As `timeout` does.
    deploy.signal(libc::SIGTERM);
    signal_supervisor(old, libc::SIGCONT);
    let ended = deploy.finish().assert_code(130);
    assert_eq!(ended.stdout, "");
    assert!(ended.stderr.contains("interrupted; lab is up again as it was"), "{ended:?}");
    assert_ne!(supervisor(), old);
    assert_eq!(buffer(), before);
    lab.destroy();
}

#[test]
fn two_interrupts_leave_neither_fabric_and_say_so() {
    let lab = Lab::deploy(SLOW, &[]);
    let old = supervisor();
    signal_supervisor(old, libc::SIGSTOP);
    let deploy = replace(&lab);
    await_request();
    deploy.signal(libc::SIGINT);
    // What comes at once is one interrupt.
    deploy.signal(libc::SIGTERM);
    thread::sleep(APART);
    deploy.signal(libc::SIGTERM);
    signal_supervisor(old, libc::SIGCONT);
    let ended = deploy.finish().assert_code(130);
    assert!(ended.stderr.contains("interrupted; lab, as it was, and the one"), "{ended:?}");
    await_that("both go", || command(&["list"]).stdout.contains("there is no live fabric"));
    lab.assert_gone();
}

#[test]
fn an_interrupt_while_the_new_fabric_comes_up_brings_the_old_one_back() {
    let lab = Lab::deploy(SLOW, &[]);
    let (old, before) = (supervisor(), buffer());
    mount_pipe(&lab);
    let deploy = replace(&lab);
    // Opened once the supervisor of the new fabric reads it.
    let pipe = fs::OpenOptions::new().write(true).open(HOSTS).unwrap();
    unmount(Path::new(HOSTS)).unwrap();
    deploy.signal(libc::SIGINT);
    drop(pipe);
    let ended = deploy.finish().assert_code(130);
    assert!(ended.stderr.contains("warning: interrupted; lab is deployed again"), "{ended:?}");
    assert!(ended.stderr.contains("interrupted; lab is up again as it was"), "{ended:?}");
    assert_ne!(supervisor(), old);
    assert_eq!(buffer(), before);
    lab.destroy();
}

#[test]
fn an_interrupted_deployment_leaves_nothing_and_says_so() {
    let lab = Lab::prepare(SLOW);
    mount_pipe(&lab);
    let deploy = Running::start(&mut xoff(["deploy", &lab.folder.path("lab.toml")]));
    let pipe = fs::OpenOptions::new().write(true).open(HOSTS).unwrap();
    unmount(Path::new(HOSTS)).unwrap();
    deploy.signal(libc::SIGINT);
    drop(pipe);
    let ended = deploy.finish().assert_code(130);
    assert_eq!(ended.stderr, "error: interrupted; nothing of lab is left\n");
    lab.assert_gone();
}

#[test]
fn flows_that_nobody_waits_for_any_longer_go_on_and_are_named() {
    let lab = Lab::deploy(SLOW, &[]);
    let under_way = |flows: u64| {
        let active = || json(&["inspect", "lab", "--json"])["active_flows"] == flows;
        await_that("flows are under way", active);
    };
    let send = Running::start(&mut xoff(["send", "lab", "h0", "h3", "--bytes", "1GB"]));
    under_way(1);
    send.signal(libc::SIGINT);
    let ended = send.finish().assert_code(130);
    assert!(ended.stderr.contains("interrupted; 1 of 1 flows goes on"), "{ended:?}");
    assert!(ended.stderr.ends_with(": h0 -> h3\n"), "{ended:?}");
    let incast = ["incast", "lab", "h0", "--bytes", "1GB"];
    let incast = Running::start(&mut xoff(incast.into_iter().chain(["--from", "h1,h2", "--json"])));
    under_way(3);
    incast.signal(libc::SIGTERM);
    let ended = incast.finish().assert_code(130);
    let error: Value = serde_json::from_str(&ended.stderr).unwrap();
    assert_eq!(error["under_way"][1]["src"], "h2", "{error}");
    let late = command(&["send", "lab", "h0", "h3", "--bytes", "1GB", "--timeout", "1ms"]);
    let late = late.assert_code(1);
    assert!(late.stderr.contains("the time is over; 1 of 1 flows goes on"), "{late:?}");
    under_way(4);
    lab.destroy();
}
