//! A live fabric for tests: deployed by the binary, on an isolated machine.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::thread;

use serde_json::Value;

use crate::command::{Finished, ScenarioFolder, finish, isolate, traces, xoff};

/// Four hosts on two leaves, slow enough for any machine.
pub const SLOW: &str = r#"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
host_link = { rate = "20Mbps", delay = "50us" }
fabric_link = { rate = "20Mbps", delay = "50us" }
[switch]
buffer = "1MB"
lossless = [3]
threshold = { kind = "dt", alpha = "1/2" }
headroom = { kind = "sih" }
[host]
payload = "1400B"
transport = { kind = "roce-rc", congestion_control = "none" }
retransmission_timeout = "1s"
"#;

/// A folder with a scenario in it, and the name of the fabric that is deployed from it.
pub struct Lab {
    /// The folder; the scenario is `lab.toml`.
    pub folder: ScenarioFolder,
    /// Traces that existed before the fabric.
    pub before: Vec<String>,
}

impl Lab {
    /// Deploys a fabric called `lab` on an isolated machine.
    pub fn deploy(scenario: &str, more: &[&str]) -> Self {
        let lab = Self::prepare(scenario);
        let file = lab.folder.path("lab.toml");
        let deployed = finish(&mut xoff(["deploy", &file].into_iter().chain(more.iter().copied())));
        assert_eq!(deployed.code, 0, "{deployed:?}");
        assert!(deployed.stdout.starts_with("lab is up: "), "{deployed:?}");
        lab
    }

    /// The machine and the folder, without a fabric yet.
    pub fn prepare(scenario: &str) -> Self {
        isolate();
        // What the first fabric makes for all.
        fs::create_dir_all("/run/netns").unwrap();
        fs::create_dir_all("/run/xoff/live").unwrap();
        let (before, folder) = (traces(), ScenarioFolder::new());
        folder.write("lab.toml", scenario);
        Self { folder, before }
    }

    /// Destroys it, and checks that nothing is left.
    pub fn destroy(&self) {
        let destroyed = finish(&mut xoff(["destroy", "lab"])).assert_code(0);
        assert_eq!(destroyed.stdout, "destroyed lab\n");
        self.assert_gone();
    }

    /// Checks that nothing is left of it.
    #[track_caller]
    pub fn assert_gone(&self) {
        assert_eq!(traces(), self.before);
        assert!(live().is_empty(), "{:?}", live());
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // A failing test leaves no supervisor in the background. Its error is reported, not the clean-up's.
        if thread::panicking() {
            let _ = xoff(["destroy", "--all"]).output();
        }
    }
}

/// The folders of live fabrics.
pub fn live() -> Vec<String> {
    let entries = fs::read_dir("/run/xoff/live").expect("it was made");
    entries.map(|entry| entry.expect("readable").file_name().display().to_string()).collect()
}

/// Runs a command of the binary to its end.
pub fn command(arguments: &[&str]) -> Finished {
    finish(&mut xoff(arguments.iter().copied()))
}

/// JSON output of such a command.
pub fn json(arguments: &[&str]) -> Value {
    let finished = command(arguments).assert_code(0);
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {finished:?}"))
}

/// Pings a host.
pub fn ping(host: &str, count: &str, from: &str) -> Finished {
    command(&["exec", "lab", from, "--", "ping", "-n", "-i", "0.1", "-c", count, "-W", "1", host])
}

/// The supervisor's process.
pub fn supervisor() -> u32 {
    let listed = json(&["list", "--json"]);
    listed[0]["fabric"]["process"].as_u64().expect("lab is up").try_into().unwrap()
}

/// Sends the supervisor a signal.
pub fn signal_supervisor(process: u32, signal: libc::c_int) {
    // SAFETY: sends a signal to a process that the test has started.
    let sent = unsafe { libc::kill(process.cast_signed(), signal) };
    assert_eq!(sent, 0, "{}", std::io::Error::last_os_error());
}

/// Runs `work` in the network of a host.
pub fn inside<R: Send>(host: usize, work: impl FnOnce() -> R + Send) -> R {
    let listed = json(&["list", "--json"]);
    let name = listed[0]["fabric"]["hosts"][host]["namespace"].as_str().unwrap().to_owned();
    let namespace = File::open(Path::new("/run/netns").join(name)).unwrap();
    thread::scope(|scope| {
        let inside = scope.spawn(move || {
            // SAFETY: the descriptor is open, and only this thread moves.
            let moved = unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) };
            assert_eq!(moved, 0, "{}", std::io::Error::last_os_error());
            work()
        });
        inside.join().unwrap()
    })
}
