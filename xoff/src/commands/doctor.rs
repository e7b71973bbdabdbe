//! `xoff doctor`: can this machine run fabrics on the kernel datapath?

use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use fabric_core::policy::{MarkingScheme, Policy, ThresholdScheme};
use host_agent::af_xdp;
use netns::{Deployment, EndSpec, LinkSpec, NamespaceSpec, Plan};
use switch_user::program::SwitchProgram;
use switch_user::tables::Capacity;

use super::Exit;
use crate::engine::Watch;
use crate::run;
use crate::scenario::Scenario;

/// `bpf_xdp_load_bytes`, which copies a frame into its record, came with this one. The run at the end of
/// the checks is what shows that a kernel serves.
const OLDEST_KERNEL: (u32, u32) = (5, 18);
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

/// Index of both ends of the veth pair with which hooks and sockets are tried.
const PAIR_INTERFACE: u32 = 2;

/// Capabilities that the kernel datapath uses, with their numbers in `linux/capability.h`.
const CAPABILITIES: [(&str, u32); 4] =
    [("CAP_NET_ADMIN", 12), ("CAP_NET_RAW", 13), ("CAP_SYS_ADMIN", 21), ("CAP_BPF", 39)];

/// One thing that a fabric needs.
struct Check {
    name: &'static str,
    /// What was found, or what is wrong.
    look: fn() -> Result<String, String>,
    /// What to do if it is wrong, where `look` does not say it.
    advice: &'static str,
}

/// Each stands on those before it.
const CHECKS: [Check; 7] = [
    Check { name: "kernel", look: kernel, advice: "" },
    Check { name: "privileges", look: privileges, advice: "" },
    Check {
        name: "eBPF: verifier, ring buffer, mapped arrays",
        look: programs,
        advice: "the kernel needs CONFIG_BPF_SYSCALL, CONFIG_BPF_JIT and CONFIG_DEBUG_INFO_BTF; \
                 look at `dmesg`",
    },
    Check {
        name: "namespaces and veth",
        look: namespaces,
        advice: "the kernel needs CONFIG_NET_NS and CONFIG_VETH (`modprobe veth`); a container needs \
                 to be privileged",
    },
    Check {
        name: "native XDP and TC on veth",
        look: hooks,
        advice: "the kernel needs CONFIG_NET_CLS_BPF and CONFIG_NET_SCH_INGRESS \
                 (`modprobe cls_bpf sch_ingress`)",
    },
    Check {
        name: "AF_XDP",
        look: af_xdp,
        advice: "the kernel needs CONFIG_XDP_SOCKETS; `ulimit -l unlimited` if memory is short",
    },
    Check {
        name: "a run of all of them",
        look: probe,
        advice: "end programs that use the fabric's namespaces, then try again",
    },
];

/// Runs the command.
pub fn execute() -> Exit {
    if let Err(message) = super::interrupt::watch() {
        eprintln!("error: {message}");
        return Exit::BadInput;
    }
    let _ = super::open_files::raise_limit();
    let mut lines = Vec::new();
    let mut exit = Exit::Success;
    for Check { name, look, advice } in CHECKS {
        if exit == Exit::BadInput {
            lines.push(format!("-     {name}: not tried, it stands on the check that failed"));
            continue;
        }
        lines.push(match look() {
            Ok(found) => format!("ok    {name}: {found}"),
            Err(problem) => {
                exit = Exit::BadInput;
                let separator = if advice.is_empty() { "" } else { "; " };
                format!("FAIL  {name}: {problem}{separator}{advice}")
            }
        });
    }
    let verdict = if exit == Exit::Success {
        "this machine runs fabrics on the kernel datapath"
    } else {
        "`--datapath memory` runs the same scenarios here, without privilege"
    };
    lines.push(verdict.to_owned());
    super::print(&lines.join("\n"), exit)
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
            "Linux {release} is too old, it has no bpf_xdp_load_bytes: boot Linux {major}.{minor} or later, or use \
             `--datapath memory`"
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
    switch_program().map(|_| "the switch's programs load".to_owned())
}

fn switch_program() -> Result<SwitchProgram, String> {
    let capacity = Capacity { ports: 2, hosts: 2, slots: 64 };
    let policy = Policy::new(ThresholdScheme::Dynamic, MarkingScheme::Off);
    let loaded = SwitchProgram::load(&[capacity], policy, None);
    let mut loaded = loaded.map_err(|error| super::with_causes(&error))?;
    Ok(loaded.remove(0).0)
}

fn namespaces() -> Result<String, String> {
    pair().map(|pair| format!("fabric {} of two came and went", pair.fabric()))
}

fn hooks() -> Result<String, String> {
    let mut program = switch_program()?;
    pair()?
        .namespace(0)
        .enter(|| program.attach(PAIR_INTERFACE).map(|_| "attached to a port".to_owned()))
        .map_err(|error| super::with_causes(&error))?
        .map_err(|error| super::with_causes(&error))
}

fn af_xdp() -> Result<String, String> {
    pair()?
        .namespace(1)
        .enter(|| af_xdp::Socket::open(PAIR_INTERFACE, 0).map(|_| "a socket opens".to_owned()))
        .map_err(|error| super::with_causes(&error))?
        .map_err(|error| super::with_causes(&error))
}

/// Two namespaces and a veth pair between them; they go when the deployment is dropped.
fn pair() -> Result<Deployment, String> {
    let end = |namespace: usize| EndSpec {
        namespace,
        interface: "port".to_owned(),
        index: Some(PAIR_INTERFACE),
        mac: [0x02, 0, 0, 0, 0, namespace as u8],
        ..EndSpec::default()
    };
    let namespace = |name: &str| NamespaceSpec { name: name.to_owned(), forwarding: false };
    let plan = Plan {
        namespaces: vec![namespace("switch"), namespace("host")],
        links: vec![LinkSpec { a: end(0), b: end(1), mtu: 1500 }],
    };
    netns::deploy(&plan).map_err(|error| super::with_causes(&error))
}

fn probe() -> Result<String, String> {
    let outcome = probe_run().map_err(|error| super::with_causes(&*error))?;
    let summary = &outcome.report.summary;
    if outcome.is_sound() {
        Ok(format!("{} frames crossed, none was lost", summary.packet_hops))
    } else {
        Err(format!(
            "it was not sound: {} of {} flows, books: {:?}",
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
        let message =
            check_release("5.15.0-91-generic").expect_err("5.15 has no bpf_xdp_load_bytes");
        assert!(message.contains("5.15.0-91-generic") && message.contains("5.18"), "{message}");
        assert!(check_release("6.18.44-fc").is_ok());
        assert!(check_release("5.18").is_ok());
        assert!(check_release("what").is_err());
    }

    #[test]
    fn a_missing_capability_is_named_with_what_to_do() {
        let message = check_capabilities(!(1 << 39)).expect_err("no CAP_BPF");
        assert!(message.contains("CAP_BPF") && message.contains("root"), "{message}");
        assert!(check_capabilities(u64::MAX).is_ok());
    }
}
