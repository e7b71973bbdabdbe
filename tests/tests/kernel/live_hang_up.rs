//! Terminals that disappear, and terminals without a reader, end the commands on them. Needs root.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Stdio};

use tests::command::{await_that, terminal, xoff};
use tests::live::{Lab, SLOW, json};

/// Commands of the fabric `lab` that go on until they are ended, and the exit codes with which they then end.
const LASTING: [(&[&str], i32); 6] = [
    (&["top", "lab", "--every", "50ms"], 0),
    (&["watch", "lab", "--every", "50ms"], 0),
    (&["watch", "lab", "--every", "1000s"], 0),
    (&["metrics", "lab", "--socket", "/run/metrics.socket"], 0),
    (&["capture", "lab", "-w", "/dev/null"], 0),
    (&["send", "lab", "h0", "h3", "--bytes", "1GB"], 130),
];

/// A command on a terminal that is not the one that sends it signals.
fn on_terminal(arguments: &[&str], slave: &File) -> Ended {
    let side = || Stdio::from(slave.try_clone().expect("a descriptor can be copied"));
    let mut command = xoff(arguments.iter().copied());
    let child = command.stdin(side()).stdout(side()).stderr(side()).spawn();
    Ended(child.expect("it starts"))
}

/// Writes to a terminal until it has no room.
fn fill(slave: &File) {
    let path = format!("/proc/self/fd/{}", slave.as_raw_fd());
    let mut options = File::options();
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let mut again = options.write(true).custom_flags(flags).open(path).expect("it is a terminal");
    while again.write(&[b'x'; 1000]).is_ok() {}
}

/// Waits until a command handles signals: until then signals end it by default.
fn await_catching(child: &Child) {
    let status = format!("/proc/{}/status", child.id());
    await_that("it catches signals", || {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:\t"));
        let caught = caught.and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or(0);
        caught & 1 << (libc::SIGTERM - 1) != 0
    });
}

fn await_end(child: &mut Child, what: &str) -> i32 {
    let mut status = None;
    await_that(what, || {
        status = child.try_wait().expect("it is a child");
        status.is_some()
    });
    status.and_then(|status| status.code()).unwrap_or_else(|| panic!("a signal: {what}"))
}

/// Leaves no process behind if the test fails: a spinning process would keep a processor busy for ever.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn commands_end_with_their_terminal() {
    let lab = Lab::deploy(SLOW, &[]);
    for (arguments, code) in LASTING {
        let (mut master, slave) = terminal();
        let mut child = on_terminal(arguments, &slave);
        drop(slave);
        await_catching(&child.0);
        if arguments[0] == "top" {
            // The command reads keys by now.
            let mut seen = String::new();
            while !seen.contains("whom") {
                let mut part = [0; 4096];
                let read = master.read(&mut part).expect("it is shown");
                seen += &String::from_utf8_lossy(&part[..read]);
            }
        }
        drop(master);
        assert_eq!(await_end(&mut child.0, "it ends with its terminal"), code, "{arguments:?}");
    }
    lab.destroy();
}

#[test]
fn signals_end_commands_whose_terminal_nobody_reads() {
    let lab = Lab::deploy(SLOW, &[]);
    for (arguments, code) in LASTING {
        for signal in [libc::SIGTERM, libc::SIGHUP] {
            let (master, slave) = terminal();
            fill(&slave);
            let mut child = on_terminal(arguments, &slave);
            await_catching(&child.0);
            let is_stuck = || {
                let call = std::fs::read_to_string(format!("/proc/{}/syscall", child.0.id()));
                // A write to standard output.
                call.is_ok_and(|call| call.starts_with("1 0x1 "))
            };
            if ["top", "watch"].contains(&arguments[0]) && arguments[3] == "50ms" {
                await_that("the terminal has no room", is_stuck);
            }
            // SAFETY: sends a signal to a child that was not waited for.
            unsafe { libc::kill(child.0.id().cast_signed(), signal) };
            assert_eq!(await_end(&mut child.0, "a signal ends it"), code, "{arguments:?}");
            drop(master);
        }
    }
    lab.destroy();
}

/// As under `nohup`.
#[test]
fn a_command_that_ignores_hang_ups_outlives_its_terminal() {
    use std::os::unix::process::CommandExt;
    let lab = Lab::deploy(SLOW, &[]);
    let file = lab.folder.path("capture.pcapng");
    let (master, slave) = terminal();
    let mut command = xoff(["capture", "lab", "-w", &file, "-c", "2"]);
    // SAFETY: only `signal` is called between fork and exec, which takes no lock.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGHUP, libc::SIG_IGN);
            Ok(())
        })
    };
    command.stdin(slave.try_clone().unwrap()).stderr(slave);
    let mut child = Ended(command.spawn().expect("it starts"));
    drop(command);
    await_catching(&child.0);
    await_that("it captures", || std::fs::metadata(&file).is_ok_and(|file| file.len() > 0));
    drop(master);
    json(&["send", "lab", "h0", "h1", "--bytes", "1kB", "--json"]);
    assert_eq!(await_end(&mut child.0, "it has its frames"), 0);
    lab.destroy();
}
