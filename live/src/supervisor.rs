//! The process that runs a live fabric. `xoff deploy` starts it.

mod captures;
mod deliveries;
mod ender;
mod names;
mod storms;

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use analysis::inspect::LossyBuffer;
use emulation::live::desk::{Handle, Order, Request as Asked};
use emulation::live::impairment::{ImpairmentChange, LinkState};
use emulation::live::stacks::Waiting;
use emulation::live::thread::Priority;
use emulation::live::{self, Options, Up};
use nix::poll::PollFlags;
use nix::unistd::dup2_stderr;
use scenario::{MAX_LIFE, MIN_PERIOD, Scenario};
use terminal::guardian;
use terminal::{warn, with_causes};
use topology::{HostId, WireId};
use units::Picos;

use super::client;
use super::clients::{Connection, Newcomers};
use super::folder::{Claim, Description, HostDescription, LiveFolder};
use super::protocol::{Answer, MAX_REQUEST_LENGTH, Request};

use deliveries::report_deliveries;
use names::Names;

/// Max number of connections.
const MAX_CLIENTS: usize = 64;
/// Timeout of a client that neither sends a request nor reads.
const PATIENCE: Duration = Duration::from_secs(10);

/// Period of empty lines to a waiting client while nothing happens.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);

/// A client's connection.
type Client = Connection<UnixStream>;

const GONE: &str = "the fabric is gone";

/// Settings of a supervisor.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// The fabric's name.
    pub name: &'a str,
    /// Options of the live fabric.
    pub options: Options<'a>,
    /// True if messages go to the fabric's log once it is up; otherwise they stay on standard error.
    pub keeps_log: bool,
}

/// Runs a fabric until a request to stop, or until `interrupted`. Calls `ready` once it forwards.
///
/// # Errors
/// A sentence.
pub fn supervise(
    scenario: Scenario,
    settings: &Settings<'_>,
    interrupted: &AtomicBool,
    ready: impl FnOnce(),
) -> Result<(), String> {
    let Settings { name, options, keeps_log } = *settings;
    let claim = LiveFolder::new(name)?.claim().map_err(|error| error.to_string())?;
    claim
        .write("scenario.toml", &scenario.to_toml())
        .map_err(|error| cannot_write(&claim, &error))?;
    let listener = listen(&claim).map_err(|error| cannot_write(&claim, &error))?;
    let mut announced = Ok(());
    let up = |scenario: &Scenario, up: Up| {
        let log = || if keeps_log { log_from_now_on(claim.folder()) } else { Ok(()) };
        announced = announce(&claim, scenario, &options, &up)
            .and_then(|()| log())
            .map_err(|error| cannot_write(&claim, &error));
        if announced.is_err() {
            // The first and last request of this fabric.
            let _ = up.handle.ask(Asked::Stop);
            return;
        }
        let events = up.storm_events;
        // These threads end with the process.
        thread::spawn(move || storms::log(&events));
        let names = Arc::new(Names::new(scenario));
        thread::spawn(move || serve(&listener, &up.handle, &names));
        guardian::keep();
        ready();
    };
    let ending = || claim.withdraw();
    let served = live::serve(scenario, options, interrupted, up, ending);
    match served {
        Ok(()) => announced,
        // The deploying command has ended, so the message goes to the log, which stays.
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

/// Redirects messages to the fabric's log.
fn log_from_now_on(folder: &LiveFolder) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let log = options.create(true).append(true).mode(0o600).open(folder.file("log"))?;
    Ok(dup2_stderr(log)?)
}

fn listen(claim: &Claim) -> io::Result<UnixListener> {
    let socket = claim.folder().file("socket");
    let listener = UnixListener::bind(&socket)?;
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Writes the fabric's description.
fn announce(claim: &Claim, scenario: &Scenario, options: &Options<'_>, up: &Up) -> io::Result<()> {
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
        name: claim.folder().name().to_owned(),
        process: process::id(),
        fabric: up.fabric.to_string(),
        dilation: up.dilation.get(),
        calibration: up.calibration.as_ref().map(ToString::to_string),
        threads: options.threads.to_string(),
        busy_poll: options.waiting == Waiting::Spin,
        real_time: options.priority == Priority::RealTime,
        plays: options.plays,
        results: options.results.map(|folder| folder.display().to_string()),
        shape: scenario.shape.to_string(),
        lossy: LossyBuffer::new(scenario).map(|lossy| lossy.to_string()),
        hosts,
    };
    let text = serde_json::to_string_pretty(&description).expect("a description is plain data");
    claim.write("fabric.json", &text)
}

/// Answers all clients, each in a separate thread.
fn serve(listener: &UnixListener, handle: &Handle, names: &Arc<Names>) {
    // A blocking listener would delay clients that wait for room.
    if let Err(error) = listener.set_nonblocking(true) {
        warn(format!("no command can reach this fabric: {error}"));
        return;
    }
    let mut newcomers = Newcomers::new(MAX_CLIENTS);
    loop {
        client::is_ready(listener, PollFlags::POLLIN, newcomers.patience(PATIENCE));
        match listener.accept() {
            Ok((client, _)) => newcomers.add(client).iter().for_each(turn_away),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // For example too many open files: a later attempt may succeed.
            Err(_) => thread::sleep(Duration::from_millis(100)),
        }
        while let Some((client, admission)) = newcomers.decide() {
            let Some(admission) = admission else {
                turn_away(&client);
                continue;
            };
            let (handle, names) = (handle.clone(), Arc::clone(names));
            let client = Connection::new(client, admission);
            let of_client = move || {
                // A client that has disconnected needs no answer.
                let _ = converse(&client, &handle, &names);
            };
            // Without a thread, the client sees its connection closed.
            let _ = thread::Builder::new().spawn(of_client);
        }
    }
}

/// Refuses a client for lack of room.
fn turn_away(mut client: &UnixStream) {
    let why = "too many clients at once; try again".to_owned();
    // The socket has room for a line, because nothing was written to it yet.
    let _ = client.write_all(&line(&Answer::Refused { why, ended: false }));
}

/// Answers the requests of one client, one after another.
fn converse(client: &Client, handle: &Handle, names: &Names) -> io::Result<()> {
    client.stream.set_read_timeout(Some(PATIENCE))?;
    client.stream.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(&client.stream);
    loop {
        client.admission.ask();
        let mut line = String::new();
        if reader.by_ref().take(MAX_REQUEST_LENGTH).read_line(&mut line)? == 0 {
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
            Ok(view) => send_answer(client, &Answer::View(view)),
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
            match missing.sentence() {
                None => send_answer(client, &Answer::Done),
                Some(why) => send_answer(client, &refusal(&why, missing.has_ended())),
            }
        }
        Request::Link { wire, state, reroute } => {
            match set_links(handle, names, &wire, (state, reroute)) {
                Ok(wires) => send_answer(client, &wires),
                Err(why) => refuse(client, &why),
            }
        }
        Request::Impair { wire, change } => {
            let wires = names.wires(&wire);
            let wires = wires.and_then(|it| names.check_change(&it, change).map(|()| it));
            match wires.and_then(|wires| impair(handle, names, &wires, change)) {
                Ok(wires) => send_answer(client, &wires),
                Err(why) => refuse(client, &why),
            }
        }
        Request::Storm { host, priorities, span_ps } => {
            match names.begin_storm(handle, &host, &priorities, span_ps.map(Picos)) {
                Ok(spans) => send_answer(client, &storms::begun(spans)),
                Err(why) => refuse(client, &why),
            }
        }
        Request::EndStorm { host, priorities } => {
            match names.end_storm(handle, &host, &priorities) {
                Ok(classes) => send_answer(client, &storms::ended(classes)),
                Err(why) => refuse(client, &why),
            }
        }
        Request::Capture { wires, filter } => {
            let wires = match names.matching(&wires) {
                Ok(wires) => wires,
                Err(why) => return refuse(client, &why),
            };
            let described = wires.iter().map(|&(_, wire)| wire.clone()).collect();
            send_answer(client, &Answer::Capturing { wires: described })?;
            let wires = wires.into_iter().map(|(wire, _)| wire).collect();
            captures::stream(client, handle, wires, filter)
        }
        Request::Stop {} => {
            ender::note(&client.stream);
            send_answer(client, &Answer::Done)?;
            let _ = handle.ask(Asked::Stop);
            Ok(())
        }
    }
}

/// Takes wires down or up, and returns their new state.
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

/// Checks for values that no command sends.
fn check_state(state: LinkState) -> Result<(), String> {
    let LinkState::Flap { period_ps, down_for_ps, times } = state else { return Ok(()) };
    let is_right =
        (MIN_PERIOD.0..MAX_LIFE.0).contains(&period_ps) && (1..period_ps).contains(&down_for_ps);
    if is_right && times != Some(0) {
        return Ok(());
    }
    Err("a wire flaps at least once and every 1us at most, and is down for a part of each period"
        .into())
}

/// Changes the impairments of wires, and returns their new state.
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

fn refuse(client: &Client, why: &str) -> io::Result<()> {
    send_answer(client, &refusal(why, why == GONE))
}

/// Makes a refusal. `ended` is true if the fabric has ended.
fn refusal(why: &str, ended: bool) -> Answer {
    let why = if ended { ender::with_ender(why) } else { why.to_owned() };
    Answer::Refused { why, ended }
}

fn send_answer(client: &Client, answer: &Answer) -> io::Result<()> {
    client.write(&line(answer))
}

fn line(answer: &Answer) -> Vec<u8> {
    let mut line = serde_json::to_vec(answer).expect("an answer is plain data");
    line.push(b'\n');
    line
}
