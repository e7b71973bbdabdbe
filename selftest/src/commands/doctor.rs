//! `xoff doctor`: checks that this machine can run fabrics on the kernel datapath.

mod programs;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use emulation::engine::Watch;
use emulation::requirements::{self, check_capabilities, effective_capabilities};
use emulation::run::{self, Threads};
use fabric_core::policy::{MarkingScheme, Policy, ThresholdScheme};
use linux::af_xdp;
use netns::{Deployment, EndSpec, LinkSpec, NamespaceSpec, Plan};
use scenario::{HookKind, Scenario};
use serde_json::{Value, json};
use switch_user::hook::Hook;
use switch_user::program::ProgramError;

use super::Exit;

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

/// Index of both ends of the veth pair on which hooks and sockets are tried.
const PAIR_INTERFACE: u32 = 2;

/// Capabilities that a standalone node needs.
const OF_STANDALONE_SWITCH: [(&str, u32); 4] =
    [("CAP_NET_ADMIN", 12), ("CAP_NET_RAW", 13), ("CAP_PERFMON", 38), ("CAP_BPF", 39)];
const OF_STANDALONE_HOST: [(&str, u32); 4] =
    [("CAP_NET_ADMIN", 12), ("CAP_NET_RAW", 13), ("CAP_IPC_LOCK", 14), ("CAP_BPF", 39)];
/// Number of `CAP_SYS_ADMIN`, which includes the capabilities in [`OF_SYS_ADMIN`].
const SYS_ADMIN: u32 = 21;
const OF_SYS_ADMIN: [&str; 2] = ["CAP_PERFMON", "CAP_BPF"];

/// A requirement of fabrics.
struct Check {
    name: &'static str,
    /// Runs the check. Returns a finding or a problem.
    look: fn() -> Result<String, Problem>,
    /// Advice for a problem whose message has none.
    advice: &'static str,
}

/// A failed check.
#[derive(Debug)]
struct Problem {
    message: String,
    /// The verifier's log, if the verifier refused the program.
    verifier_log: Option<String>,
}

impl From<String> for Problem {
    fn from(message: String) -> Self {
        Self { message, verifier_log: None }
    }
}

impl From<ProgramError> for Problem {
    fn from(error: ProgramError) -> Self {
        let verifier_log = error.verifier_log().map(str::to_owned);
        Self { message: super::with_causes(&error), verifier_log }
    }
}

/// Checks in order; each one relies on the checks before it.
const CHECKS: [Check; 7] = [
    Check { name: "kernel", look: || Ok(requirements::kernel()?), advice: "" },
    Check { name: "privileges", look: || Ok(privileges_of_all()?), advice: "" },
    Check {
        name: "eBPF: verifier, ring buffer, mapped arrays",
        look: programs::load_all,
        advice: "the kernel needs CONFIG_BPF_SYSCALL, CONFIG_BPF_JIT and CONFIG_DEBUG_INFO_BTF (Linux 5.18: \
                 `bpf_xdp_load_bytes`); look at `dmesg`",
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
        advice: "the kernel needs XDP links (Linux 5.9), CONFIG_NET_CLS_BPF and CONFIG_NET_SCH_INGRESS \
                 (`modprobe cls_bpf sch_ingress`)",
    },
    Check {
        name: "AF_XDP",
        look: af_xdp,
        advice: "the kernel needs CONFIG_XDP_SOCKETS (Linux 4.18); `ulimit -l unlimited` if memory is short",
    },
    Check {
        name: "a run of all of them",
        look: probe,
        advice: "end programs that use the fabric's namespaces, then try again",
    },
];

/// Arguments of `xoff doctor`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Prints the verifier's whole log after the checks, if it refuses a program.
    #[arg(long)]
    verifier_log: bool,
    /// Loads each switch program, and prints how many instructions the verifier processes (limit: one million) and how
    /// long that takes; checks nothing else.
    #[arg(long, conflicts_with = "verifier_log")]
    programs: bool,
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    if let Err(message) = super::prepare(true) {
        return super::refuse(message);
    }
    if arguments.programs {
        return programs::print_table();
    }
    let findings = CHECKS.iter().scan(true, |able, check| {
        let finding = able.then(|| (check.look)());
        *able = matches!(finding, Some(Ok(_)));
        Some((check, finding))
    });
    let findings: Vec<_> = findings.collect();
    let json = as_json(&findings);
    let (text, exit) = report(findings, arguments.verifier_log);
    super::answer(&text, &json, exit)
}

/// Formats the checks as JSON: `ok` (null if not tried), and the finding or problem. A verifier log is included
/// whenever the verifier refused a program.
fn as_json(findings: &[(&Check, Option<Result<String, Problem>>)]) -> Value {
    let check =
        |(Check { name, advice, .. }, finding): &(&Check, Option<Result<String, Problem>>)| {
            let (found, log) = match finding {
                None => (None, None),
                Some(Ok(found)) => (Some(found), None),
                Some(Err(problem)) => (Some(&problem.message), problem.verifier_log.as_ref()),
            };
            let advice = Some(advice)
                .filter(|it| matches!(finding, Some(Err(_))) && !it.is_empty() && log.is_none());
            json!({
                "name": name,
                "ok": finding.as_ref().map(Result::is_ok),
                "message": found,
                "hint": advice,
                "verifier_log": log,
            })
        };
    let able = findings.iter().all(|(_, finding)| matches!(finding, Some(Ok(_))));
    json!({ "able": able, "checks": findings.iter().map(check).collect::<Vec<_>>() })
}

/// Formats the checks as lines, and returns the exit code. Checks after a failure were not tried.
fn report<'a>(
    findings: impl IntoIterator<Item = (&'a Check, Option<Result<String, Problem>>)>,
    with_verifier_log: bool,
) -> (String, Exit) {
    let mut lines = Vec::new();
    let mut problem = None;
    for (Check { name, advice, .. }, finding) in findings {
        lines.push(match finding {
            None => format!("-     {name}: not tried, it stands on the check that failed"),
            Some(Ok(found)) => format!("ok    {name}: {found}"),
            Some(Err(found)) => {
                let Problem { message, verifier_log } = problem.insert(found);
                // No kernel setting fixes a program that the verifier refuses.
                let has_advice = !advice.is_empty() && verifier_log.is_none();
                let (separator, advice) = if has_advice { ("; ", *advice) } else { ("", "") };
                format!("FAIL  {name}: {message}{separator}{advice}")
            }
        });
    }
    let Some(problem) = problem else {
        lines.push("this machine runs fabrics on the kernel datapath".to_owned());
        return (lines.join("\n"), Exit::Success);
    };
    lines.push("`--datapath memory` runs the same scenarios here, without privilege".to_owned());
    if let Some(log) = problem.verifier_log.filter(|_| with_verifier_log) {
        lines.push(format!("the verifier's log:\n{log}"));
    }
    (lines.join("\n"), Exit::BadInput)
}

/// Checks the privileges of fabrics, and of `xoff-switch` and `xoff-host`, which may differ.
fn privileges_of_all() -> Result<String, String> {
    let effective = effective_capabilities()?;
    let standalone = check_standalone(effective);
    let add = |found| format!("{found}; {standalone}");
    check_capabilities(effective).map(add).map_err(add)
}

/// Returns the names of missing capabilities.
fn missing_of(needed: &[(&'static str, u32)], effective: u64) -> Vec<&'static str> {
    let has = |number: u32| effective >> number & 1 != 0;
    let missing = needed
        .iter()
        .filter(|(name, number)| !(has(*number) || has(SYS_ADMIN) && OF_SYS_ADMIN.contains(name)));
    missing.map(|(name, _)| *name).collect()
}

fn check_standalone(effective: u64) -> String {
    let node = |name: &str, needed: &[_]| match &missing_of(needed, effective)[..] {
        [] => format!("`{name}` has all"),
        missing => format!("`{name}` lacks {}", missing.join(", ")),
    };
    let [switch, host] =
        [node("xoff-switch", &OF_STANDALONE_SWITCH), node("xoff-host", &OF_STANDALONE_HOST)];
    let without = if host.contains("CAP_IPC_LOCK") { " (or `ulimit -l` of 16 MiB)" } else { "" };
    format!("{switch}, {host}{without}")
}

fn namespaces() -> Result<String, Problem> {
    // Few runs need TAP links, and opening the device loads its module.
    let taps = match fs::OpenOptions::new().read(true).write(true).open("/dev/net/tun") {
        Ok(_) => "`datapath.links = \"tap\"` will do, too".to_owned(),
        Err(error) => {
            format!(
                "no `datapath.links = \"tap\"`: /dev/net/tun: {error} (CONFIG_TUN, `modprobe tun`)"
            )
        }
    };
    Ok(format!("fabric {} of two came and went; {taps}", pair()?.fabric()))
}

fn hooks() -> Result<String, Problem> {
    let policy = Policy::new(ThresholdScheme::Dynamic, MarkingScheme::Off);
    let mut program = programs::switch(policy, Hook::Xdp)?;
    let attached = pair()?.namespace(0).enter(|| program.attach(PAIR_INTERFACE));
    attached.map_err(|error| super::with_causes(&error))??;
    Ok("attached to a port".to_owned())
}

fn af_xdp() -> Result<String, Problem> {
    let opened = pair()?.namespace(1).enter(|| af_xdp::Socket::open(PAIR_INTERFACE, 0).map(drop));
    opened
        .map_err(|error| super::with_causes(&error))?
        .map_err(|error| super::with_causes(&error))?;
    Ok("a socket opens".to_owned())
}

/// Creates two namespaces with a veth pair between them, which exist until the deployment is dropped.
fn pair() -> Result<Deployment, String> {
    let end = |namespace: usize| EndSpec {
        namespace,
        interface: "port".to_owned(),
        index: Some(PAIR_INTERFACE),
        mac: [0x02, 0, 0, 0, 0, u8::try_from(namespace).expect("there are two")],
        ..EndSpec::default()
    };
    let namespace = |name: &str| NamespaceSpec { name: name.to_owned(), forwarding: false };
    let plan = Plan {
        namespaces: vec![namespace("switch"), namespace("host")],
        links: vec![LinkSpec { a: end(0), b: end(1), mtu: 1500 }],
        ..Plan::default()
    };
    netns::deploy(&plan).map_err(|error| super::with_causes(&error))
}

fn probe() -> Result<String, Problem> {
    let found = probe_at(HookKind::Xdp)?;
    // Few runs use these hooks.
    let others = [HookKind::XdpGeneric, HookKind::Tc].map(|hook| match probe_at(hook) {
        Ok(_) => format!("`datapath.hook = {:?}` will do, too", hook.name()),
        Err(problem) => format!("no `datapath.hook = {:?}`: {}", hook.name(), problem.message),
    });
    Ok(format!("{found}; {}", others.join("; ")))
}

fn probe_at(hook: HookKind) -> Result<String, Problem> {
    let outcome = probe_run(hook).map_err(|error| super::with_causes(&*error))?;
    let summary = &outcome.report.summary;
    if outcome.is_sound() {
        Ok(format!("{} frames crossed, none was lost", summary.packet_hops))
    } else {
        Err(Problem::from(format!(
            "it was not sound: {} of {} flows, unfinished: {:?}, books: {:?}",
            summary.flows_completed, summary.flows_total, summary.unfinished, summary.books
        )))
    }
}

fn probe_run(hook: HookKind) -> Result<run::Outcome, Box<dyn std::error::Error>> {
    let hook = format!("datapath.hook={:?}", hook.name());
    let scenario = Scenario::parse(PROBE, Path::new("doctor.toml"), &[hook])
        .map_err(|error| io::Error::other(error.to_string()))?;
    let interrupted = AtomicBool::new(false);
    let mut watch = Watch { interrupted: &interrupted, progress: &mut |_| {} };
    Ok(run::run(&scenario, None, Threads::ONE, &mut watch)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns doctor's output for a failed third check with `verifier_log`.
    fn refused(verifier_log: Option<&str>, with_verifier_log: bool) -> String {
        let findings = CHECKS.iter().enumerate().map(|(index, check)| {
            let problem = Problem {
                message: "R4 invalid zero-sized read".to_owned(),
                verifier_log: verifier_log.map(str::to_owned),
            };
            let finding = match index {
                0 | 1 => Some(Ok("good".to_owned())),
                2 => Some(Err(problem)),
                _ => None,
            };
            (check, finding)
        });
        let (text, exit) = report(findings, with_verifier_log);
        assert_eq!(exit, Exit::BadInput);
        text
    }

    #[test]
    fn a_verifiers_log_is_shown_on_request_alone() {
        let log = "0: (bf) r9 = r1\nR4 invalid zero-sized read\n";
        let short = refused(Some(log), false);
        assert_eq!(short.lines().count(), CHECKS.len() + 1, "{short}");
        assert!(!short.contains("r9 = r1") && !short.contains("CONFIG_BPF_SYSCALL"), "{short}");
        let whole = refused(Some(log), true);
        assert!(whole.starts_with(&short) && whole.ends_with(log), "{whole}");
        let other = refused(None, true);
        assert!(other.contains("read; the kernel needs CONFIG_BPF_SYSCALL"), "{other}");
    }

    #[test]
    fn what_stands_on_a_failed_check_is_not_tried() {
        let text = refused(None, false);
        let starts: Vec<&str> = text.lines().map(|line| &line[..4]).collect();
        assert_eq!(starts, ["ok  ", "ok  ", "FAIL", "-   ", "-   ", "-   ", "-   ", "`--d"]);
        assert!(text.contains("not tried"), "{text}");
    }

    #[test]
    fn what_nodes_that_stand_alone_lack_is_named() {
        let all = "`xoff-switch` has all, `xoff-host` has all";
        assert_eq!(check_standalone(u64::MAX), all);
        assert_eq!(check_standalone(!(1 << 38 | 1 << 39)), all, "CAP_SYS_ADMIN includes them");
        let said = check_standalone(1 << 12 | 1 << 13 | 1 << 39);
        assert!(said.contains("`xoff-switch` lacks CAP_PERFMON, "), "{said}");
        assert!(said.contains("`xoff-host` lacks CAP_IPC_LOCK (or `ulimit -l`"), "{said}");
        let said = check_standalone(1 << 12 | 1 << 38 | 1 << 14);
        assert!(said.contains("`xoff-switch` lacks CAP_NET_RAW, CAP_BPF"), "{said}");
    }
}
