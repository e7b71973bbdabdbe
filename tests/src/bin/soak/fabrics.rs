//! The fabrics, the commands that strike them, and the check that they are as at the start.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use emulation::live::view::View;
use tests::command::{BpfObjects, ScenarioFolder, bpf_objects_of, guardian_of, loaded_of, traces};
use tests::live::SLOW;

use crate::counters::{self, Counters};
use crate::processes::{self, Usage};
use crate::steps::{Blow, HOSTS, NAMES, Step};
use crate::tally::Tally;
use crate::{binary, now, xoff};

/// Time for changes that take a moment on an idle machine.
const PATIENCE: Duration = Duration::from_mins(1);
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// Time that an idle fabric is watched.
const IDLE: Duration = Duration::from_secs(2);
/// The share of a processor that an idle supervisor, or a guardian, may want.
const MAX_IDLE: f64 = 0.4;
/// Growth of a supervisor's memory since it was first idle, in kB, that its heap explains: once it has served 64 captures under
/// traffic, glibc keeps up to 230 MB for its threads. More captures then add nothing.
const MAX_GROWTH: u64 = 384 << 10;

/// See the module.
pub struct Fabrics {
    all: Vec<Fabric>,
    folder: ScenarioFolder,
    before: Vec<String>,
    /// BPF objects that supervisors have loaded.
    objects: BpfObjects,
}

/// A fabric that is up.
struct Fabric {
    name: &'static str,
    supervisor: u32,
    /// Number of blows that ended its commands.
    strikes: u64,
    /// Programs that serve iperf3 in its hosts.
    servers: Vec<Child>,
    interfaces: Vec<String>,
    fresh: Usage,
    /// Resident memory when it was first idle, in kB.
    memory_kb: Option<u64>,
    counters: Counters,
    buffer_kb: u64,
}

impl Fabrics {
    /// Deploys them.
    pub fn deploy() -> Result<Self> {
        fs::create_dir_all("/run/netns")?;
        fs::create_dir_all("/run/xoff/live")?;
        let set = std::process::Command::new("ip").args(["link", "set", "lo", "up"]).status();
        ensure!(set.context("ip")?.success(), "ip link set lo up");
        let folder = ScenarioFolder::new();
        folder.write("lab.toml", SLOW);
        let before = traces();
        let mut fabrics = Self { all: Vec::new(), folder, before, objects: BpfObjects::new() };
        for name in NAMES {
            let deployed = run(&["deploy", &fabrics.folder.path("lab.toml"), "--name", name])?;
            ensure!(deployed.0 == 0, "{}", deployed.1);
            let fabric = fabrics.found(name, 0, 1000)?;
            fabrics.all.push(fabric);
        }
        Ok(fabrics)
    }

    /// Returns the number of blows to a fabric that ended its commands.
    pub fn strikes(&self, place: usize) -> u64 {
        self.all[place].strikes
    }

    /// A fabric that has just been deployed.
    fn found(&mut self, name: &'static str, strikes: u64, buffer_kb: u64) -> Result<Fabric> {
        let supervisor = supervisor_of(name)?.with_context(|| format!("{name} is not up"))?;
        let host = |host| {
            let mut server = xoff(["exec", name, host, "--", "iperf3", "--server"]);
            server.stdout(Stdio::null()).stderr(Stdio::null()).spawn()
        };
        let servers = HOSTS.map(host).into_iter().collect::<Result<_, _>>()?;
        // Clients that have looked are gone by then.
        thread::sleep(IDLE);
        let fresh = processes::usage(supervisor).with_context(|| format!("{name} has died"))?;
        self.objects.extend(bpf_objects_of(supervisor));
        let interfaces = interfaces(name)?;
        let counters = Counters::default();
        let memory_kb = None;
        Ok(Fabric {
            name,
            supervisor,
            strikes,
            servers,
            interfaces,
            fresh,
            memory_kb,
            counters,
            buffer_kb,
        })
    }

    /// Strikes a fabric, and restores it.
    pub fn strike(&mut self, step: &Step, blow: &Blow, tally: &mut Tally) -> Result<()> {
        let place = step.fabric;
        let Fabric { name, supervisor, mut buffer_kb, .. } = self.all[place];
        let file = self.folder.path("lab.toml");
        let number = step.number;
        match *blow {
            Blow::KillGuardian => {
                let guardian = guardian_of(supervisor);
                signal(guardian, libc::SIGKILL);
                return await_or("another guardian", || {
                    processes::usage(guardian).is_none() && guardian_of(supervisor) != guardian
                })
                .or_else(|error| {
                    tally.fail(number, format!("{name}: {error:#}"));
                    Ok(())
                });
            }
            Blow::Stop(span) => {
                signal(supervisor, libc::SIGSTOP);
                thread::sleep(span);
                signal(supervisor, libc::SIGCONT);
                return Ok(());
            }
            Blow::DeployAgain => {
                let buffer = format!("switch.buffer={buffer_kb}kB");
                let again = run(&["deploy", &file, "--name", name, "--set", &buffer])?;
                if again.0 != 0 || !again.1.contains("nothing has changed") {
                    tally.fail(number, again.1);
                }
                return Ok(());
            }
            _ => {}
        }
        self.all[place].strikes += 1;
        self.all[place].end_servers();
        match *blow {
            Blow::KillSupervisor => signal(supervisor, libc::SIGKILL),
            Blow::KillBoth => {
                let guardian = guardian_of(supervisor);
                signal(guardian, libc::SIGKILL);
                signal(supervisor, libc::SIGKILL);
            }
            Blow::Terminate => signal(supervisor, libc::SIGTERM),
            Blow::Replace { buffer_kb: kb } => buffer_kb = kb,
            _ => {}
        }
        let buffer = format!("switch.buffer={buffer_kb}kB");
        let mut deploy = vec!["deploy", &file, "--name", name, "--set", &buffer];
        match blow {
            Blow::Replace { .. } => deploy.push("--replace"),
            Blow::Terminate => {
                let ended =
                    await_or("it ends", || supervisor_of(name).is_ok_and(|it| it.is_none()));
                if let Err(error) = ended {
                    tally.fail(number, format!("{name} after SIGTERM: {error:#}"));
                }
                // Whoever looks too early sees that it is being taken down.
                await_or("it is gone", || !Path::new("/run/xoff/live").join(name).exists())?;
            }
            _ => {
                let (code, said) = run(&["destroy", name])?;
                if code != 0 || !said.ends_with(&format!("destroyed {name}\n")) {
                    tally.fail(number, format!("exit code {code}: {said}"));
                }
            }
        }
        let (code, said) = run(&deploy)?;
        if code != 0 {
            tally.fail(number, format!("exit code {code}: {said}"));
            bail!("{name} cannot be deployed again");
        }
        let strikes = self.all[place].strikes;
        self.all[place] = self.found(name, strikes, buffer_kb)?;
        Ok(())
    }

    /// Checks that all is as at the start, after commands and traffic have ended.
    pub fn check(&mut self, tally: &mut Tally) -> Result<()> {
        tally.check();
        let step = tally.last_step();
        for fabric in &self.all {
            let quiet = |host| vec!["storm", fabric.name, host, "--stop"];
            let up = vec!["link", fabric.name, "*", "up"];
            let reset = vec!["impair", fabric.name, "*", "--clear"];
            for arguments in [up, reset].into_iter().chain(HOSTS.map(quiet)) {
                let (code, said) = run(&arguments)?;
                if code != 0 && !said.contains("no storm to stop") {
                    tally.fail(step, format!("exit code {code}: {said}"));
                }
            }
        }
        for fabric in &mut self.all {
            fabric.check(tally)?;
        }
        let expected: BTreeSet<u32> = self
            .all
            .iter()
            .flat_map(|fabric| [fabric.supervisor, guardian_of(fabric.supervisor)])
            .collect();
        let binary = binary()?;
        let processes = || processes::run_by_binary(&binary);
        if await_or("other processes end", || processes() == expected).is_err() {
            let found = processes();
            tally.fail(step, format!("processes of xoff are {found:?} instead of {expected:?}"));
        }
        Self::be_idle(&expected, tally);
        let names = fs::read_dir("/run/netns")?.count();
        let expected = self.all.iter().map(|fabric| fabric.interfaces.len()).sum::<usize>();
        if names != expected {
            tally.fail(step, format!("there are {names} namespaces instead of {expected}"));
        }
        Ok(())
    }

    /// Measures the processor time of supervisors and guardians that have nothing to do.
    fn be_idle(processes: &BTreeSet<u32>, tally: &mut Tally) {
        let look = || processes.iter().map(|it| (*it, processes::times(*it)));
        let (begun, before): (_, Vec<_>) = (now(), look().collect());
        thread::sleep(IDLE);
        for ((process, after), (_, before)) in look().zip(before) {
            let (Some(after), Some(before)) = (after, before) else { continue };
            let [ran, share] = after.shares_since(before, begun.elapsed());
            tally.measure("processor when idle", ran * 100.0, "%");
            if share > MAX_IDLE {
                let why =
                    format!("idle process {process} wants {:.0} % of a processor", share * 100.0);
                tally.fail(tally.last_step(), why);
            }
        }
    }

    /// Destroys all fabrics, and checks that nothing is left.
    pub fn destroy(&mut self, tally: &mut Tally) -> Result<()> {
        for fabric in &mut self.all {
            fabric.end_servers();
        }
        let (code, said) = run(&["destroy", NAMES[0], NAMES[1]])?;
        if code != 0 {
            tally.fail(tally.last_step(), format!("exit code {code}: {said}"));
        }
        let binary = binary()?;
        let all_ended = || processes::run_by_binary(&binary).is_empty();
        if await_or("processes end", all_ended).is_err() {
            tally.fail(tally.last_step(), "processes of xoff are left");
        }
        let left = traces();
        if left != self.before {
            tally.fail(tally.last_step(), format!("left: {left:?}, before: {:?}", self.before));
        }
        if fs::read_dir("/run/xoff/live")?.count() > 0 {
            tally.fail(tally.last_step(), "a folder of a live fabric is left");
        }
        if await_or("BPF objects go", || loaded_of(&self.objects).is_empty()).is_err() {
            let left = loaded_of(&self.objects);
            tally.fail(tally.last_step(), format!("BPF objects are left: {left:?}"));
        }
        tally.measure("BPF objects", self.objects.len() as f64, "");
        Ok(())
    }
}

/// Runs a command to its end. Returns its exit code and its output.
fn run(arguments: &[&str]) -> Result<(i32, String)> {
    let output = xoff(arguments.iter().copied()).output().context("xoff")?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let code = output.status.code().unwrap_or(-1);
    Ok((code, format!("xoff {}: {said}", arguments.join(" "))))
}

impl Fabric {
    /// Checks that the fabric is as at its start.
    fn check(&mut self, tally: &mut Tally) -> Result<()> {
        let Self { name, supervisor, fresh, .. } = *self;
        let step = tally.last_step();
        let mut last = None;
        let is_quiet = || {
            let Ok((view, counters)) = counters::look(name) else { return false };
            let is_quiet = view.active_flows == 0 && is_without_faults(&view);
            last = Some(counters);
            is_quiet
        };
        if await_or("flows end", is_quiet).is_err() {
            tally.fail(step, format!("{name}: flows do not end, or wires are not as they were"));
        }
        let counters = last.with_context(|| format!("nobody can look at {name}"))?;
        for shrunk in counters.shrunk_since(&self.counters) {
            tally.fail(step, format!("{name}: {shrunk}"));
        }
        self.counters = counters;
        let mut usage = fresh;
        // A client may still have been connected when the fabric was fresh.
        let is_fresh = || {
            usage = processes::usage(supervisor).unwrap_or(usage);
            usage.descriptors <= fresh.descriptors && usage.threads <= fresh.threads
        };
        if await_or("connections are closed", is_fresh).is_err() {
            tally.fail(
                step,
                format!("{name}: it has {usage:?}, and had {fresh:?} when it was fresh"),
            );
        }
        tally.measure("descriptors", usage.descriptors as f64, "");
        tally.measure("threads", usage.threads as f64, "");
        tally.measure("memory", usage.memory_kb as f64 / 1024.0, "MiB");
        let first = *self.memory_kb.get_or_insert(usage.memory_kb);
        if usage.memory_kb > first + MAX_GROWTH {
            tally.fail(
                step,
                format!("{name}: memory grew from {first} kB to {} kB", usage.memory_kb),
            );
        }
        let found = interfaces(name)?;
        if found != self.interfaces {
            tally.fail(step, format!("{name}: {found:?} instead of {:?}", self.interfaces));
        }
        Ok(())
    }

    fn end_servers(&mut self) {
        for mut server in self.servers.drain(..) {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

impl Drop for Fabrics {
    fn drop(&mut self) {
        self.all.iter_mut().for_each(Fabric::end_servers);
    }
}

fn is_without_faults(view: &View) -> bool {
    let hosts = view.hosts.iter().map(|host| host.wire_state);
    let ports = view.switches.iter().flat_map(|switch| &switch.ports).map(|port| port.wire_state);
    hosts.chain(ports).all(|wire| wire.is_up && !wire.is_flapping && !wire.is_avoided)
}

/// By namespace of a fabric: the names of its interfaces.
fn interfaces(name: &str) -> Result<Vec<String>> {
    let listed = listed(name)?.with_context(|| format!("{name} is not up"))?;
    let fabric = listed["fabric"]["fabric"].as_str().context("it has an identifier")?.to_owned();
    let prefix = format!("xoff-{fabric}-");
    let mut found = Vec::new();
    for entry in fs::read_dir("/run/netns")? {
        let namespace = entry?.file_name().display().to_string();
        if !namespace.starts_with(&prefix) {
            continue;
        }
        let links =
            std::process::Command::new("ip").args(["-n", &namespace, "-br", "link"]).output();
        let links = String::from_utf8(links.context("ip")?.stdout)?;
        let mut names: Vec<&str> =
            links.lines().filter_map(|line| line.split_whitespace().next()).collect();
        names.sort_unstable();
        found.push(format!("{}: {}", &namespace[prefix.len()..], names.join(" ")));
    }
    found.sort();
    Ok(found)
}

/// Returns the line of `xoff list --json` for a fabric.
fn listed(name: &str) -> Result<Option<serde_json::Value>> {
    let output = xoff(["list", "--json"]).output().context("xoff list")?;
    let listed: Vec<serde_json::Value> =
        serde_json::from_slice(&output.stdout).with_context(|| format!("{output:?}"))?;
    Ok(listed.into_iter().find(|it| it["name"] == name))
}

fn supervisor_of(name: &str) -> Result<Option<u32>> {
    let Some(listed) = listed(name)? else { return Ok(None) };
    let process = listed["fabric"]["process"].as_u64();
    process.map(|it| u32::try_from(it).context("a process number")).transpose()
}

fn signal(process: u32, signal: libc::c_int) {
    // SAFETY: sends a signal to a process that this one has started.
    unsafe { libc::kill(process.cast_signed(), signal) };
}

fn await_or(what: &str, mut done: impl FnMut() -> bool) -> Result<()> {
    let end = now() + PATIENCE;
    while !done() {
        ensure!(now() < end, "waited in vain: {what}");
        thread::sleep(LOOK_INTERVAL);
    }
    Ok(())
}
