//! The sequence of commands of a seed.

use std::time::Duration;

use crate::draw::Draw;

/// The names of the fabrics.
pub const NAMES: [&str; 2] = ["soak-a", "soak-b"];
/// The names of the hosts of each.
pub const HOSTS: [&str; 4] = ["h0", "h1", "h2", "h3"];
const LINKS: [&str; 6] =
    ["h0-leaf0", "h3-leaf1", "leaf0-spine0", "leaf1-spine1", "leaf0->spine1", "leaf1->h2"];
const ENDING: [libc::c_int; 3] = [libc::SIGTERM, libc::SIGHUP, libc::SIGINT];

/// A step of the sequence.
#[derive(Debug)]
pub struct Step {
    /// The first is 1.
    pub number: u64,
    /// The time before it.
    pub pause: Duration,
    /// The place of its fabric in [`NAMES`].
    pub fabric: usize,
    /// The action.
    pub act: Act,
}

/// Action of a step.
#[derive(Debug)]
pub enum Act {
    /// Starts a command.
    Client(Plan),
    /// Opens connections to a supervisor, which hang.
    Hang(Hang),
    /// Strikes a fabric.
    Blow(Blow),
}

/// A command, and its end.
#[derive(Debug)]
pub struct Plan {
    pub label: &'static str,
    pub arguments: Vec<String>,
    pub place: Place,
    pub end: End,
    /// Exit codes of a command that ends by itself.
    pub by_itself: &'static [i32],
    /// Exit codes of a command that a signal or a hang-up ends.
    pub ended: &'static [i32],
}

/// Place to which a command writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Nowhere.
    Nowhere,
    /// To a pipe.
    Pipe { is_read: bool },
    /// To a terminal, which is its standard input, too.
    Terminal { is_read: bool },
}

/// Event that ends a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Itself, before the time is over.
    Itself,
    /// A signal after a time.
    Signal(libc::c_int, Duration),
    /// The end of its pipe or terminal after a time.
    HangUp(Duration),
}

/// Connections that hang.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hang {
    /// Silent, half a request, rubbish, answers that are not read.
    Mixed(u64),
    /// More captures than a supervisor serves, without a reader.
    Captures,
}

/// Kill, stop or replacement of a fabric's processes.
#[derive(Debug)]
pub enum Blow {
    KillSupervisor,
    KillGuardian,
    KillBoth,
    Terminate,
    Stop(Duration),
    Destroy,
    Replace { buffer_kb: u64 },
    DeployAgain,
}

impl Blow {
    pub fn label(&self) -> &'static str {
        match self {
            Self::KillSupervisor => "kill -9 supervisor",
            Self::KillGuardian => "kill -9 guardian",
            Self::KillBoth => "kill -9 both",
            Self::Terminate => "kill -TERM supervisor",
            Self::Stop(_) => "stop supervisor",
            Self::Destroy => "destroy, deploy",
            Self::Replace { .. } => "deploy --replace",
            Self::DeployAgain => "deploy again",
        }
    }
}

/// The sequence.
#[derive(Debug)]
pub struct Steps {
    draw: Draw,
    number: u64,
}

impl Steps {
    /// A generator with this seed.
    pub const fn new(seed: u64) -> Self {
        Self { draw: Draw::new(seed), number: 0 }
    }

    /// The next step.
    pub fn next_step(&mut self) -> Step {
        self.number += 1;
        let draw = &mut self.draw;
        let pause = Duration::from_millis(draw.between(300, 1600));
        let place = draw.below(NAMES.len() as u64);
        let fabric = usize::try_from(place).expect("it is a place in memory");
        let act = match draw.below(100) {
            0..4 => Act::Blow(blow(draw)),
            4..7 => Act::Hang(Hang::Mixed(draw.between(1, 20))),
            7 => Act::Hang(Hang::Captures),
            _ => Act::Client(plan(draw, NAMES[fabric])),
        };
        Step { number: self.number, pause, fabric, act }
    }
}

fn blow(draw: &mut Draw) -> Blow {
    match draw.below(10) {
        0 | 1 => Blow::KillSupervisor,
        2 | 3 => Blow::KillGuardian,
        4 => Blow::KillBoth,
        5 => Blow::Terminate,
        6 => Blow::Stop(Duration::from_millis(draw.between(100, 1500))),
        7 => Blow::Destroy,
        8 => Blow::Replace { buffer_kb: draw.between(5, 15) * 100 },
        _ => Blow::DeployAgain,
    }
}

/// An end from outside, for a command that runs until then.
fn end(draw: &mut Draw, place: Place) -> End {
    let after = Duration::from_millis(draw.between(50, 8000));
    if place != Place::Nowhere && draw.once_in(2) {
        End::HangUp(after)
    } else {
        End::Signal(draw.choose(&ENDING), after)
    }
}

fn place(draw: &mut Draw) -> Place {
    let is_read = !draw.once_in(3);
    match draw.below(3) {
        0 => Place::Nowhere,
        1 => Place::Pipe { is_read },
        _ => Place::Terminal { is_read },
    }
}

fn plan(draw: &mut Draw, fabric: &str) -> Plan {
    let of = |label, arguments: &[&str], by_itself| Plan {
        label,
        arguments: arguments.iter().map(|&it| it.to_owned()).collect(),
        place: Place::Nowhere,
        end: End::Itself,
        by_itself,
        ended: &[],
    };
    let host = draw.choose(&HOSTS);
    let others: Vec<&str> = HOSTS.into_iter().filter(|&other| other != host).collect();
    let other = draw.choose(&others);
    let link = draw.choose(&LINKS);
    match draw.below(24) {
        0 => of("inspect", &["inspect", fabric], &[0]),
        1 => of("inspect", &["inspect", fabric, "--json"], &[0]),
        2 => of("list", &["list"], &[0]),
        3 => of("graph", &["graph", fabric], &[0]),
        4..8 => sends(draw, fabric, host, other),
        8 | 9 => {
            let time = format!("{}", draw.between(1, 3));
            let client = ["exec", fabric, host, "--", "iperf3", "--client", other, "--time", &time];
            let iperf3 = &[&client[..], &["--bitrate", "2M"]].concat();
            // A client whose server is gone may wait for ever and keep a processor busy.
            let end = End::Signal(libc::SIGKILL, Duration::from_secs(8));
            Plan { end, ..of("exec iperf3", iperf3, &[0, 1]) }
        }
        10 => {
            let ping = ["ping", "-n", "-c", "5", "-i", "0.2", "-W", "1", other];
            of("exec ping", &[&["exec", fabric, host, "--"][..], &ping].concat(), &[0, 1])
        }
        11 => {
            let state = draw.choose(&["up", "down", "down", "flap"]);
            let reroutes = draw.once_in(2) && state != "up";
            let more: &[&str] = if reroutes { &["--reroute"] } else { &[] };
            of("link", &[&["link", fabric, link, state][..], more].concat(), &[0])
        }
        12 => of("link", &["link", fabric, "*", "up"], &[0]),
        13 => {
            let set = draw.choose(&[["--loss", "1%"], ["--delay", "+1ms"], ["--rate", "5Mbps"]]);
            of("impair", &[&["impair", fabric, link][..], &set].concat(), &[0])
        }
        14 => of("impair", &["impair", fabric, "*", "--clear"], &[0]),
        15 => {
            let more: &[&str] = if draw.once_in(3) { &["--stop"] } else { &["--for", "200ms"] };
            of("storm", &[&["storm", fabric, host][..], more].concat(), &[0])
        }
        16 | 17 => {
            let place = Place::Terminal { is_read: !draw.once_in(3) };
            let ended = End::HangUp(Duration::from_millis(draw.between(200, 8000)));
            let end = if draw.once_in(2) { ended } else { end(draw, place) };
            let top = of("top", &["top", fabric, "--every", "500ms"], &[]);
            Plan { place, end, ended: &[0], ..top }
        }
        18 | 19 => watching(draw, of("watch", &["watch", fabric, "--every", "200ms"], &[0])),
        20 => of("watch -n", &["watch", fabric, "--json", "-n", "3", "--every", "300ms"], &[0]),
        21 => {
            let filter = draw.choose(&["all", "data", "pfc", "drops"]);
            let capture = of("capture", &["capture", fabric, "-w", "-", "--filter", filter], &[0]);
            let place = Place::Pipe { is_read: !draw.once_in(3) };
            Plan { place, end: end(draw, place), ended: &[0, 2], ..capture }
        }
        22 => {
            let file = ["capture", fabric, "-w", "/dev/null"];
            lasting(draw, of("capture", &file, &[0]))
        }
        _ => {
            let listen = ["metrics", fabric, "--listen", "127.0.0.1:0"];
            lasting(draw, of("metrics", &listen, &[0]))
        }
    }
}

/// A command that runs until it is ended, or until its reader is gone.
fn watching(draw: &mut Draw, plan: Plan) -> Plan {
    let place = place(draw);
    Plan { place, end: end(draw, place), ended: &[0], ..plan }
}

/// A command that runs until it is ended, or until its terminal is gone. It writes nothing to a pipe.
fn lasting(draw: &mut Draw, plan: Plan) -> Plan {
    let is_read = !draw.once_in(3);
    let place = draw.choose(&[Place::Nowhere, Place::Terminal { is_read }]);
    Plan { place, end: end(draw, place), ended: &[0], ..plan }
}

fn sends(draw: &mut Draw, fabric: &str, host: &str, other: &str) -> Plan {
    let bytes = format!("{}kB", draw.between(1, 200));
    let priority = draw.choose(&["0", "3", "3"]);
    let (label, mut arguments) = if draw.once_in(3) {
        ("incast", vec!["incast", fabric, host])
    } else {
        ("send", vec!["send", fabric, host, other])
    };
    arguments.extend(["--bytes", &bytes, "--priority", priority, "--timeout", "10s"]);
    let arguments = arguments.into_iter().map(str::to_owned).collect();
    let place = place(draw);
    let end = if draw.once_in(3) { end(draw, place) } else { End::Itself };
    // A client that leaves before its flow is done requests nothing more; 1 if the time is over.
    Plan { label, arguments, place, end, by_itself: &[0, 1], ended: &[0, 1, 130] }
}
