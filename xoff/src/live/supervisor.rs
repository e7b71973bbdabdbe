//! The process that keeps a live fabric up. `xoff deploy` starts it.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::num::NonZeroU32;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use emulation::live::desk::{CapturedFrame, Delivery, Handle, Order, Request as Asked};
use emulation::live::impairment::{ImpairmentChange, LinkState};
use emulation::live::view::WireView;
use emulation::live::{self, Up};
use emulation::run::Threads;
use scenario::quantity::display;
use scenario::{LEAST_PERIOD, LEAST_RATE, LONGEST_LIFE, MOST_DELAY, Scenario, glob};
use topology::{HostId, WireId};
use units::{BitsPerSecond, Bytes};

use super::clients::{Clients, Connection};
use super::folder::{Claim, Description, HostDescription, LiveFolder};
use super::protocol::{Answer, Flow, LONGEST_REQUEST, NamedWire, Request, Wire};
use crate::commands::with_causes;

/// Connections at a time.
const MOST_CLIENTS: usize = 64;
/// A client that neither asks nor reads for so long is left alone.
const PATIENCE: Duration = Duration::from_secs(10);

/// Frames of a capture that wait for its client.
const MOST_FRAMES: usize = 8192;
/// How often a client that waits hears of it if nothing happens.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);

/// A client, and its place among all.
type Client = Connection<UnixStream>;

/// Bytes of a flow, as in a scenario.
const MOST_BYTES: u64 = 1_000_000_000_000_000;

const GONE: &str = "the fabric is gone";

/// What a supervisor is told.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// The fabric's name.
    pub name: &'a str,
    /// Seconds of the wall clock in an emulated second.
    pub dilation: NonZeroU32,
    /// Threads that run the fabric.
    pub threads: Threads,
    /// Whether the scenario's flows start.
    pub plays: bool,
    /// Whether messages go to the fabric's log once it is up; otherwise they stay on standard error.
    pub keeps_log: bool,
}

/// Keeps a fabric up until it is told to stop, or `interrupted`. Calls `ready` once it forwards.
///
/// # Errors
/// A sentence.
pub fn supervise(
    scenario: Scenario,
    settings: &Settings<'_>,
    interrupted: &AtomicBool,
    ready: impl FnOnce(),
) -> Result<(), String> {
    let claim = LiveFolder::of(settings.name)?.claim().map_err(|error| error.to_string())?;
    claim
        .write("scenario.toml", &scenario.to_toml())
        .map_err(|error| cannot_write(&claim, &error))?;
    let listener = listen(&claim).map_err(|error| cannot_write(&claim, &error))?;
    let mut told = Ok(());
    let up = |scenario: &Scenario, up: Up| {
        let log = || if settings.keeps_log { log_from_now_on(claim.folder()) } else { Ok(()) };
        told = announce(&claim, settings, scenario, &up)
            .and_then(|()| log())
            .map_err(|error| cannot_write(&claim, &error));
        if told.is_err() {
            // It is the fabric's first and last request.
            let _ = up.handle.ask(Asked::Stop);
            return;
        }
        let names = Arc::new(Names::of(scenario));
        // The thread ends with the process.
        thread::spawn(move || serve(&listener, &up.handle, &names));
        ready();
    };
    let ending = || claim.withdraw();
    let pace = (settings.dilation, settings.threads);
    let served = live::serve(scenario, settings.plays, pace, interrupted, up, ending);
    match served {
        Ok(()) => told,
        // Nobody waits for the message any more: it goes to the log, which stays.
        Err(error) if claim.folder().file("log").exists() => {
            claim.abandon();
            Err(with_causes(&error))
        }
        Err(error) => Err(with_causes(&error)),
    }
}

fn cannot_write(claim: &Claim, error: &io::Error) -> String {
    format!("{}: {error}", claim.folder().file("").display())
}

/// From now on messages go to the fabric's log.
fn log_from_now_on(folder: &LiveFolder) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let log = options.create(true).append(true).mode(0o600).open(folder.file("log"))?;
    // SAFETY: both descriptors are open; the second one is replaced.
    match unsafe { libc::dup2(log.as_raw_fd(), libc::STDERR_FILENO) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn listen(claim: &Claim) -> io::Result<UnixListener> {
    let socket = claim.folder().file("socket");
    let listener = UnixListener::bind(&socket)?;
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Writes down that the fabric is up.
fn announce(
    claim: &Claim,
    settings: &Settings<'_>,
    scenario: &Scenario,
    up: &Up,
) -> io::Result<()> {
    let fabric = scenario.fabric();
    let hosts = (0..fabric.host_count()).map(HostId).zip(&up.namespaces);
    let hosts: Vec<HostDescription> = hosts
        .map(|(host, namespace)| HostDescription {
            name: fabric.host(host).name.clone(),
            address: live::address(host).to_string(),
            namespace: namespace.clone(),
        })
        .collect();
    let mut names = fs::read_to_string("/etc/hosts").unwrap_or_default();
    names.push('\n');
    for host in &hosts {
        writeln!(names, "{}\t{}", host.address, host.name).expect("a String takes every write");
    }
    claim.write("hosts", &names)?;
    let description = Description {
        name: settings.name.to_owned(),
        process: process::id(),
        fabric: up.fabric.to_string(),
        dilation: settings.dilation.get(),
        threads: settings.threads.to_string(),
        plays: settings.plays,
        shape: scenario.shape.to_string(),
        hosts,
    };
    let text = serde_json::to_string_pretty(&description).expect("a description is plain data");
    claim.write("fabric.json", &text)
}

/// From names to numbers.
#[derive(Debug)]
struct Names {
    hosts: Vec<String>,
    wires: Vec<Wire>,
}

impl Names {
    fn of(scenario: &Scenario) -> Self {
        let fabric = scenario.fabric();
        let hosts = (0..fabric.host_count()).map(|host| fabric.host(HostId(host)).name.clone());
        let wires = fabric.wires().iter();
        let wires = wires.map(|wire| Wire { name: wire.name.clone(), rate_bps: wire.rate.0 });
        Self { hosts: hosts.collect(), wires: wires.collect() }
    }

    fn host(&self, name: &str) -> Result<HostId, String> {
        let found = (0..).zip(&self.hosts).find(|(_, known)| *known == name);
        let (first, last) = (self.hosts.first(), self.hosts.last());
        found.map(|(number, _)| HostId(number)).ok_or_else(|| {
            let known =
                first.zip(last).map(|(first, last)| format!("; its hosts are {first} to {last}"));
            format!("the fabric has no host {name:?}{}", known.unwrap_or_default())
        })
    }

    /// The wires of a pattern over their names, or over those of links, "h0-leaf0".
    fn wires(&self, pattern: &str) -> Result<Vec<WireId>, String> {
        let names = self.wires.iter().map(|wire| wire.name.as_str());
        let wires: Vec<WireId> = glob::wires(pattern, names).into_iter().map(WireId::at).collect();
        if wires.is_empty() { Err(self.no_wire(pattern)) } else { Ok(wires) }
    }

    /// Checks what is to be set on wires: that none is slower, and what no command asks for.
    fn check_change(&self, wires: &[WireId], change: ImpairmentChange) -> Result<(), String> {
        let ImpairmentChange { loss_millionths, corrupt_millionths, delay_ps, jitter_ps, rate_bps } =
            change;
        if [loss_millionths, corrupt_millionths].into_iter().flatten().any(|it| it > 1_000_000) {
            return Err("no more than all frames can be lost or damaged".into());
        }
        if [delay_ps, jitter_ps].into_iter().flatten().any(|it| it > MOST_DELAY.0) {
            return Err("an impairment delays frames by at most 1s".into());
        }
        let Some(rate) = rate_bps.filter(|&rate| rate != 0) else { return Ok(()) };
        if rate < LEAST_RATE.0 {
            return Err("an impairment leaves at least 100kbps".into());
        }
        match wires.iter().map(|it| &self.wires[it.0 as usize]).find(|it| it.rate_bps < rate) {
            None => Ok(()),
            Some(Wire { name, rate_bps }) => {
                let [rate, own] = [rate, *rate_bps].map(|rate| display(BitsPerSecond(rate)));
                Err(format!(
                    "{name} carries {own}; {rate} is more, and an impairment only slows it"
                ))
            }
        }
    }

    /// Gives wires their names.
    fn named(&self, wires: &[WireId], views: Vec<WireView>) -> Answer {
        let named = |(wire, view): (&WireId, WireView)| NamedWire {
            wire: self.wires[wire.0 as usize].name.clone(),
            view,
        };
        Answer::Wires { wires: wires.iter().zip(views).map(named).collect() }
    }

    /// The wires whose names match any of these patterns.
    fn matching(&self, patterns: &[String]) -> Result<Vec<(WireId, &Wire)>, String> {
        for pattern in patterns {
            if self.matching_by(|wire| glob::matches(pattern, wire)).next().is_none() {
                return Err(self.no_wire(pattern));
            }
        }
        let matches = |wire: &str| patterns.iter().any(|pattern| glob::matches(pattern, wire));
        Ok(self.matching_by(matches).collect())
    }

    fn matching_by(
        &self,
        is_meant: impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = (WireId, &Wire)> {
        let wires = (0..).map(WireId).zip(&self.wires);
        wires.filter(move |(_, wire)| is_meant(&wire.name))
    }

    fn no_wire(&self, name: &str) -> String {
        let first = self.wires.first().map_or("", |wire| wire.name.as_str());
        format!("the fabric has no wire {name:?}; a wire is named like {first}")
    }

    fn order(&self, flow: &Flow) -> Result<Order, String> {
        let Flow { src, dst, bytes, priority } = flow;
        let (source, destination) = (self.host(src)?, self.host(dst)?);
        if source == destination {
            return Err(format!("{src} sends to itself; name another receiver"));
        }
        if *bytes == 0 {
            return Err(format!("a flow of no bytes from {src} to {dst}; give it some"));
        }
        if *bytes > MOST_BYTES {
            return Err(format!("a flow of {bytes} bytes; at most 1000 TB are allowed"));
        }
        if *priority > 7 {
            return Err(format!("there is no priority {priority}; priorities are 0 to 7"));
        }
        Ok(Order { source, destination, bytes: Bytes(*bytes), priority: *priority })
    }
}

/// Answers all clients, each in a thread of its own.
fn serve(listener: &UnixListener, handle: &Handle, names: &Arc<Names>) {
    let clients = Clients::at_most(MOST_CLIENTS);
    for client in listener.incoming() {
        // Such as too many open files: the next client may have more luck.
        let Ok(client) = client else {
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        let Some(admission) = clients.admit(&client) else {
            let why = "too many clients at once; try again".to_owned();
            // It has room for a line, as nothing was written to it yet.
            let _ = (&client).write_all(&line(&Answer::Refused { why }));
            continue;
        };
        let (handle, names) = (handle.clone(), Arc::clone(names));
        let client = Connection { stream: client, admission };
        let of_client = move || {
            // A client that goes away wants no answer.
            let _ = converse(&client, &handle, &names);
        };
        // Without a thread for it, the client sees that its connection is closed.
        let _ = thread::Builder::new().spawn(of_client);
    }
}

/// Answers the requests of one client, one after another.
fn converse(client: &Client, handle: &Handle, names: &Names) -> io::Result<()> {
    client.stream.set_read_timeout(Some(PATIENCE))?;
    client.stream.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(&client.stream);
    loop {
        client.admission.ask();
        let mut line = String::new();
        if reader.by_ref().take(LONGEST_REQUEST).read_line(&mut line)? == 0 {
            return Ok(());
        }
        client.admission.serve();
        match serde_json::from_str(&line) {
            Ok(request) => answer(client, handle, names, request)?,
            Err(error) => {
                return refuse(client, &format!("this is no request: {error}"));
            }
        }
    }
}

fn answer(client: &Client, handle: &Handle, names: &Names, request: Request) -> io::Result<()> {
    match request {
        Request::Look {} => match handle.look() {
            Ok(view) => tell(client, &Answer::View(view)),
            Err(_) => refuse(client, GONE),
        },
        Request::Send { flows } => {
            let orders: Result<Vec<Order>, String> =
                flows.iter().map(|flow| names.order(flow)).collect();
            let orders = match orders {
                Ok(orders) => orders,
                Err(why) => return refuse(client, &why),
            };
            let (sender, deliveries) = mpsc::channel();
            if handle.ask(Asked::Send(orders, sender)).is_err() {
                return refuse(client, GONE);
            }
            let missing = report_deliveries(client, &deliveries, flows.len())?;
            if missing == 0 {
                return tell(client, &Answer::Done);
            }
            let flows = flows.len();
            refuse(
                client,
                &format!(
                    "{missing} of {flows} flows were not done when the fabric ended, or its numbers for flows"
                ),
            )
        }
        Request::Link { wire, state, reroute } => {
            match set_links(handle, names, &wire, (state, reroute)) {
                Ok(wires) => tell(client, &wires),
                Err(why) => refuse(client, &why),
            }
        }
        Request::Impair { wire, change } => {
            let wires = names.wires(&wire);
            let wires = wires.and_then(|it| names.check_change(&it, change).map(|()| it));
            match wires.and_then(|wires| impair(handle, names, &wires, change)) {
                Ok(wires) => tell(client, &wires),
                Err(why) => refuse(client, &why),
            }
        }
        Request::Capture { wires, filter } => {
            let wires = match names.matching(&wires) {
                Ok(wires) => wires,
                Err(why) => return refuse(client, &why),
            };
            let described = wires.iter().map(|&(_, wire)| wire.clone()).collect();
            tell(client, &Answer::Capturing { wires: described })?;
            let (sink, frames) = mpsc::sync_channel(MOST_FRAMES);
            let wires = wires.into_iter().map(|(wire, _)| wire).collect();
            let this = Arc::new(());
            let reader = Arc::downgrade(&this);
            if handle.ask(Asked::Capture { wires, filter, sink, reader }).is_err() {
                return refuse(client, GONE);
            }
            stream(client, &frames)
        }
        Request::Stop {} => {
            tell(client, &Answer::Done)?;
            let _ = handle.ask(Asked::Stop);
            Ok(())
        }
    }
}

/// Takes wires down, or up again, and says how they then are.
fn set_links(
    handle: &Handle,
    names: &Names,
    pattern: &str,
    (state, reroute): (LinkState, bool),
) -> Result<Answer, String> {
    check_state(state)?;
    let wires = names.wires(pattern)?;
    let (done, is_done) = mpsc::channel();
    let set = Asked::SetLinks { wires: wires.clone(), state, reroute, done };
    handle.ask(set).map_err(|_| GONE)?;
    is_done.recv().map_err(|_| GONE)??;
    impair(handle, names, &wires, ImpairmentChange::default())
}

/// Checks what no command asks for.
fn check_state(state: LinkState) -> Result<(), String> {
    let LinkState::Flap { period_ps, down_for_ps, times } = state else { return Ok(()) };
    let is_right = (LEAST_PERIOD.0..LONGEST_LIFE.0).contains(&period_ps)
        && (1..period_ps).contains(&down_for_ps);
    if is_right && times != Some(0) {
        return Ok(());
    }
    Err("a wire flaps at least once and every 1us at most, and is down for a part of each period"
        .into())
}

/// Changes what goes wrong on wires, and says how they then are.
fn impair(
    handle: &Handle,
    names: &Names,
    wires: &[WireId],
    change: ImpairmentChange,
) -> Result<Answer, String> {
    let (done, views) = mpsc::channel();
    handle.ask(Asked::Impair { wires: wires.to_owned(), change, done }).map_err(|_| GONE)?;
    Ok(names.named(wires, views.recv().map_err(|_| GONE)?))
}

/// Tells of `flows` flows as they are done, and says how many are missing when no more come. Fails if the client goes.
fn report_deliveries(
    client: &Client,
    deliveries: &Receiver<Delivery>,
    flows: usize,
) -> io::Result<usize> {
    let mut missing = flows;
    loop {
        match deliveries.recv_timeout(SIGN_OF_LIFE) {
            Ok(delivery) => {
                missing -= 1;
                tell(client, &Answer::Delivered(delivery))?;
            }
            Err(RecvTimeoutError::Timeout) => client.write(b"\n")?,
            Err(RecvTimeoutError::Disconnected) => return Ok(missing),
        }
    }
}

/// Tells of frames as they come, until the client goes or the fabric does.
fn stream(client: &Client, frames: &Receiver<CapturedFrame>) -> io::Result<()> {
    loop {
        match frames.recv_timeout(SIGN_OF_LIFE) {
            Ok(CapturedFrame { wire, time, bytes, dropped, lost }) => {
                let mut digits = String::with_capacity(2 * bytes.len());
                for byte in &bytes {
                    write!(digits, "{byte:02x}").expect("a String takes every write");
                }
                let (time_ns, bytes) = (time.0, digits);
                let dropped = dropped.map(|reason| reason.name().to_owned());
                tell(client, &Answer::Frame { wire, time_ns, bytes, dropped, lost })?;
            }
            // Fails if the client has gone.
            Err(RecvTimeoutError::Timeout) => client.write(b"\n")?,
            Err(RecvTimeoutError::Disconnected) => return tell(client, &Answer::Done),
        }
    }
}

fn refuse(client: &Client, why: &str) -> io::Result<()> {
    tell(client, &Answer::Refused { why: why.to_owned() })
}

fn tell(client: &Client, answer: &Answer) -> io::Result<()> {
    client.write(&line(answer))
}

fn line(answer: &Answer) -> Vec<u8> {
    let mut line = serde_json::to_vec(answer).expect("an answer is plain data");
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let text = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let wire = |name: &str| Wire { name: name.to_owned(), rate_bps: 1 };
        let wires = ["h0->a-b", "a-b->h0", "a-b->c"].map(wire).into();
        Names { hosts: text(&["h0", "h1"]), wires }
    }

    #[test]
    fn a_link_is_both_of_its_wires() {
        let numbers = |name| names().wires(name).map(|wires| wires.iter().map(|it| it.0).collect());
        assert_eq!(numbers("h0->a-b"), Ok(vec![0]));
        assert_eq!(numbers("h0-a-b"), Ok(vec![0, 1]));
        assert_eq!(numbers("a-b-h0"), Ok(vec![0, 1]));
        assert_eq!(numbers("a-b-c"), Ok(vec![2]));
        for unknown in ["h0", "h0-", "", "h1->a-b"] {
            let error = numbers(unknown).expect_err(unknown);
            assert!(error.contains("a wire is named like h0->a-b"), "{error}");
        }
    }

    #[test]
    fn a_flow_has_two_hosts_bytes_and_a_priority() {
        let flow = |src: &str, dst: &str, bytes, priority| {
            let (src, dst) = (src.to_owned(), dst.to_owned());
            names().order(&Flow { src, dst, bytes, priority }).map(|order| order.destination.0)
        };
        assert_eq!(flow("h0", "h1", 1, 7), Ok(1));
        for (asked, why) in [
            (flow("h2", "h1", 1, 0), "no host \"h2\"; its hosts are h0 to h1"),
            (flow("h1", "h1", 1, 0), "sends to itself"),
            (flow("h0", "h1", 0, 0), "no bytes"),
            (flow("h0", "h1", 1, 8), "no priority 8"),
        ] {
            let error = asked.expect_err(why);
            assert!(error.contains(why), "{error}");
        }
    }
}
