//! A live fabric to test with, on a machine of its own.

use std::fs;

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
#[derive(Debug)]
pub struct Lab {
    /// Where the scenario lies, as `lab.toml`.
    pub folder: ScenarioFolder,
    /// What the machine had before.
    pub before: Vec<String>,
}

impl Lab {
    /// Deploys a fabric called `lab` on a machine of its own.
    pub fn deploy(scenario: &str, more: &[&str]) -> Self {
        isolate();
        // What the first fabric makes for all.
        fs::create_dir_all("/run/netns").unwrap();
        fs::create_dir_all("/run/xoff/live").unwrap();
        let (before, folder) = (traces(), ScenarioFolder::new());
        let file = folder.write("lab.toml", scenario);
        let deployed = finish(&mut xoff(["deploy", &file].into_iter().chain(more.iter().copied())));
        assert_eq!(deployed.code, 0, "{deployed:?}");
        assert!(deployed.stdout.starts_with("lab is up: "), "{deployed:?}");
        Self { folder, before }
    }

    /// Takes it down, and asserts that it has left nothing.
    pub fn destroy(&self) {
        let destroyed = finish(&mut xoff(["destroy", "lab"])).assert_code(0);
        assert_eq!(destroyed.stdout, "destroyed lab\n");
        assert_eq!(traces(), self.before);
        assert!(live().is_empty(), "{:?}", live());
    }
}

/// The folders of live fabrics.
pub fn live() -> Vec<String> {
    let entries = fs::read_dir("/run/xoff/live").expect("it was made");
    entries.map(|entry| entry.expect("readable").file_name().display().to_string()).collect()
}

/// Runs a command of `xoff`.
pub fn command(arguments: &[&str]) -> Finished {
    finish(&mut xoff(arguments.iter().copied()))
}

/// Runs one that answers in JSON, in a line or in all.
pub fn json(arguments: &[&str]) -> Value {
    let finished = command(arguments).assert_code(0);
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {finished:?}"))
}

/// Has a host ping another.
pub fn ping(host: &str, count: &str, from: &str) -> Finished {
    command(&["exec", "lab", from, "--", "ping", "-n", "-i", "0.1", "-c", count, "-W", "1", host])
}

/// The supervisor's process.
pub fn supervisor() -> u32 {
    let listed = json(&["list", "--json"]);
    listed[0]["fabric"]["process"].as_u64().expect("lab is up").try_into().unwrap()
}
