//! `xoff doctor`: can this machine run fabrics on the kernel datapath?

use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use fabric_core::policy::{MarkingScheme, Policy, ThresholdScheme};
use switch_user::program::SwitchProgram;
use switch_user::tables::Capacity;

use super::Exit;
use crate::engine::Watch;
use crate::run;
use crate::scenario::Scenario;

/// TCX, which carries the egress auditor, came with Linux 6.6.
const OLDEST_KERNEL: (u32, u32) = (6, 6);
/// The smallest run: two hosts, one switch, one flow.
const PROBE: &str = "\
name = \"doctor\"
seed = 1
duration = \"1ms\"
[topology]
kind = \"star\"
hosts = 2
host_link = { rate = \"100Gbps\", delay = \"1us\" }
[[flows]]
kind = \"one\"
src = \"h0\"
dst = \"h1\"
bytes = \"10kB\"
start = \"0us\"
priority = 3
";

/// Capabilities that the kernel datapath uses, with their numbers in `linux/capability.h`.
const CAPABILITIES: [(&str, u32); 4] =
    [("CAP_NET_ADMIN", 12), ("CAP_NET_RAW", 13), ("CAP_SYS_ADMIN", 21), ("CAP_BPF", 39)];

type Check = (&'static str, fn() -> Result<String, String>);

const CHECKS: [Check; 4] = [
    ("kernel", kernel),
    ("privileges", privileges),
    ("eBPF: ring buffer, mapped arrays", programs),
    ("veth, native XDP, TCX, AF_XDP: a run", probe),
];

/// Runs the command.
pub fn execute() -> Exit {
    let mut exit = Exit::Success;
    for (name, check) in CHECKS {
        match check() {
            Ok(found) => println!("ok    {name}: {found}"),
            Err(problem) => {
                println!("FAIL  {name}: {problem}");
                exit = Exit::BadInput;
            }
        }
    }
    if exit == Exit::Success {
        println!("this machine runs fabrics on the kernel datapath");
    } else {
        println!("`--datapath memory` runs the same scenarios here, without privilege");
    }
    exit
}

/// What must hold before a fabric is deployed; a sentence with what to do if it does not.
pub fn require_kernel_datapath() -> Result<(), String> {
    kernel()?;
    privileges()?;
    Ok(())
}

fn kernel() -> Result<String, String> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease")
        .map_err(|error| format!("/proc/sys/kernel/osrelease: {error}; is /proc mounted?"))?;
    check_release(release.trim())
}

fn check_release(release: &str) -> Result<String, String> {
    let mut numbers = release.split(['.', '-']).map(|part| part.parse::<u32>().ok());
    let version = numbers.next().flatten().zip(numbers.next().flatten());
    let (major, minor) = OLDEST_KERNEL;
    match version {
        None => Err(format!("the kernel calls itself {release:?}, which is no version")),
        Some(version) if version < OLDEST_KERNEL => Err(format!(
            "Linux {release} is too old: the egress auditor needs TCX, so boot Linux {major}.{minor} \
             or later, or use `--datapath memory`"
        )),
        Some(_) => Ok(format!("Linux {release}")),
    }
}

fn privileges() -> Result<String, String> {
    let status = fs::read_to_string("/proc/self/status")
        .map_err(|error| format!("/proc/self/status: {error}; is /proc mounted?"))?;
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|value| u64::from_str_radix(value.trim(), 16).ok())
        .ok_or("/proc/self/status has no CapEff line")?;
    check_capabilities(effective)
}

fn check_capabilities(effective: u64) -> Result<String, String> {
    let missing: Vec<&str> = CAPABILITIES
        .iter()
        .filter(|(_, number)| effective >> number & 1 == 0)
        .map(|(name, _)| *name)
        .collect();
    if missing.is_empty() {
        Ok(CAPABILITIES.map(|(name, _)| name).join(", "))
    } else {
        Err(format!(
            "the kernel datapath needs {}: run it as root (sudo), or use `--datapath memory`",
            missing.join(", ")
        ))
    }
}

fn programs() -> Result<String, String> {
    let capacity = Capacity { ports: 2, hosts: 2, slots: 64 };
    let policy = Policy::new(ThresholdScheme::Dynamic, MarkingScheme::Off);
    SwitchProgram::load(&[capacity], policy, None)
        .map(|_| "the switch's programs load".to_owned())
        .map_err(|error| {
            format!("{error}; look at `dmesg` and at kernel.unprivileged_bpf_disabled")
        })
}

fn probe() -> Result<String, String> {
    let outcome = probe_run().map_err(|error| error.to_string())?;
    let summary = &outcome.report.summary;
    if outcome.is_sound() {
        Ok(format!("{} frames crossed, none was lost", summary.packet_hops))
    } else {
        Err(format!(
            "the probe run was not sound: {} of {} flows, books: {:?}; is another program using the \
             namespaces?",
            summary.flows_completed, summary.flows_total, summary.books
        ))
    }
}

fn probe_run() -> Result<run::Outcome, Box<dyn std::error::Error>> {
    let scenario = Scenario::parse(PROBE, Path::new("doctor.toml"), &[])
        .map_err(|error| io::Error::other(error.to_string()))?;
    let interrupted = AtomicBool::new(false);
    let mut watch = Watch { interrupted: &interrupted, progress: &mut |_| {} };
    Ok(run::run(&scenario, None, &mut watch)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_kernel_is_named_with_what_to_do() {
        let message = check_release("5.15.0-91-generic").expect_err("5.15 has no TCX");
        assert!(message.contains("5.15.0-91-generic") && message.contains("6.6"), "{message}");
        assert!(check_release("6.18.44-fc").is_ok());
        assert!(check_release("6.6").is_ok());
        assert!(check_release("what").is_err());
    }

    #[test]
    fn a_missing_capability_is_named_with_what_to_do() {
        let message = check_capabilities(!(1 << 39)).expect_err("no CAP_BPF");
        assert!(message.contains("CAP_BPF") && message.contains("root"), "{message}");
        assert!(check_capabilities(u64::MAX).is_ok());
    }
}
