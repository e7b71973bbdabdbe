//! Causes of slow flows and of pauses, from a run's wire log (`results.explain`).
//!
//! [`log`] tracks packets across their wires, [`pauses`] lists the pauses, [`journey`] breaks down a flow's time, and
//! [`root`] follows a pause to its cause. This module combines them into answers, as values for JSON and as [`text`].
//!
//! All input is frames on wires, so the answers are equal on both datapaths, and no scheme is known by name: PFC, BFC,
//! OFC and GFC appear as a pause of a class or a queue, or as a port that stands idle while packets wait.
//!
//! The wire log is `results/src/wire_log.rs`, written by `emulation/src/engine/wire_logger.rs`. A new answer needs
//! docs/explain.md and a scenario with a known cause in `tests/src/fabric/explain.rs`.

mod answer;
pub mod journey;
pub mod log;
pub mod pauses;
pub mod root;
pub mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use results::query::rows;
use results::{LoggedKind, TableError, WIRE_LOG_FILE, read_wire_log};
use units::Picos;

use crate::report::{self, ReportError};
pub use answer::{ExplainedPause, Explanation, Lost, Overview, Part, RootCause, Share, Tree};
use journey::{Span, What};
use log::{Course, Log, Loss, Wire};
use pauses::Pauses;
use root::{Root, Stop, Trace};

/// Number of flows in an overview.
pub const FLOWS_SHOWN: usize = 5;
/// Max number of flows listed with their shares.
const SHARES: usize = 8;

/// Reason why a question cannot be answered.
#[derive(Debug, thiserror::Error)]
pub enum ExplainError {
    /// The run did not keep a wire log.
    #[error(
        "{} has no {WIRE_LOG_FILE}: run the scenario with `--set results.explain=true --out DIR`, or write `explain = true` \
         under [results]",
        .0.display()
    )]
    NoLog(PathBuf),
    /// The log cannot be read.
    #[error("{0}")]
    Log(String),
    /// A table cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// There are no results.
    #[error(transparent)]
    Results(#[from] ReportError),
    /// The flow does not exist.
    #[error("there is no flow {flow}: flows.csv has {flows}")]
    NoFlow {
        /// Number of the requested flow.
        flow: u32,
        /// Range of the existing flows.
        flows: String,
    },
    /// The pause does not exist.
    #[error("{0}")]
    NoPause(String),
}

/// A flow with its names from `flows.csv`.
#[derive(Clone, Debug)]
struct Named {
    label: String,
    source: String,
    destination: String,
    ideal_ns: u64,
}

/// A run's logs, ready for questions.
#[derive(Debug)]
pub struct Explainer {
    log: Log,
    pauses: Pauses,
    flows: BTreeMap<u32, Named>,
    /// Neighbours by switch and port, as far as `pauses.csv` names them.
    peers: BTreeMap<(String, String), String>,
}

impl Explainer {
    /// Reads a run's folder.
    pub fn read(folder: &Path) -> Result<Self, ExplainError> {
        let file = "manifest.json";
        if let Err(source) = std::fs::metadata(folder.join(file)) {
            return Err(ReportError::NoResults { folder: folder.to_owned(), file, source }.into());
        }
        let path = folder.join(WIRE_LOG_FILE);
        let mut wires = Vec::new();
        rows(folder, "links.csv", ["wire", "from", "to"], |row| {
            let [name, from, to] = [0, 1, 2].map(|column| row.text(column).to_owned());
            wires.push(Wire { name, from, to });
            Ok(())
        })?;
        if !path.exists() {
            return Err(ExplainError::NoLog(folder.to_owned()));
        }
        let mut flows = BTreeMap::new();
        let columns = ["flow", "label", "src", "dst", "ideal_ns", "priority", "path"];
        let mut paths = Vec::new();
        rows(folder, "flows.csv", columns, |row| {
            let named = Named {
                label: row.text(1).to_owned(),
                source: row.text(2).to_owned(),
                destination: row.text(3).to_owned(),
                ideal_ns: row.exact(4)?,
            };
            paths.push((row.exact(0)?, row.exact(5)?, row.text(6).to_owned()));
            flows.insert(row.exact(0)?, named);
            Ok(())
        })?;
        let mut peers = BTreeMap::new();
        rows(folder, "pauses.csv", ["node", "port", "peer"], |row| {
            let [node, port, peer] = [0, 1, 2].map(|column| row.text(column).to_owned());
            peers.insert((node, port), peer);
            Ok(())
        })?;
        let end = report::summary(folder)?;
        let records = read_wire_log(&path).map_err(ExplainError::Log)?;
        let last = records.iter().map(|record| record.started).max().unwrap_or(Picos::ZERO);
        let end = last.max(Picos(end.emulated_ns.saturating_mul(1000)));
        let courses = courses(&wires, &paths);
        let log = Log::new(records, wires, courses, end)
            .map_err(|what| ExplainError::Log(format!("{}: {what}", path.display())))?;
        let pauses = Pauses::new(&log);
        Ok(Self { log, pauses, flows, peers })
    }

    /// Explains a flow's completion time.
    pub fn flow(&self, flow: u32) -> Result<Explanation, ExplainError> {
        let mut traces = BTreeMap::new();
        self.explain(flow, &mut traces).ok_or_else(|| {
            let (first, last) = (self.flows.keys().next(), self.flows.keys().next_back());
            let flows = match first.zip(last) {
                Some((first, last)) => format!("{first} to {last}"),
                None => "none".to_owned(),
            };
            ExplainError::NoFlow { flow, flows }
        })
    }

    /// Returns the spans of a flow, from its start to its end.
    pub fn spans(&self, flow: u32) -> Option<Vec<Span>> {
        journey::flow_spans(&self.log, &self.pauses, flow)
    }

    /// Returns the name of a wire of [`spans`](Self::spans).
    pub fn wire(&self, wire: u32) -> &str {
        self.log.wires.get(wire as usize).map_or("", |wire| &wire.name)
    }

    /// Returns the flows that suffered most, and the causes.
    pub fn overview(&self) -> Overview {
        let mut traces = BTreeMap::new();
        let mut all: Vec<Explanation> =
            self.flows.keys().filter_map(|&flow| self.explain(flow, &mut traces)).collect();
        all.retain(|flow| !flow.parts.is_empty());
        let beyond = |flow: &Explanation| flow.time_ps.saturating_sub(flow.own_ps);
        all.sort_by_key(|flow| {
            let by_size = (std::cmp::Reverse(flow.victim_ps), std::cmp::Reverse(beyond(flow)));
            (by_size, flow.flow)
        });
        all.truncate(FLOWS_SHOWN);
        Overview { flows: all, trees: self.trees(&mut traces) }
    }

    /// Returns the pause of a priority that `switch` sent from its `port` (a number or the neighbour's name): the pause
    /// in effect at an instant, or else the next one.
    pub fn pause(
        &self,
        switch: &str,
        port: &str,
        priority: u8,
        at: Picos,
    ) -> Result<ExplainedPause, ExplainError> {
        let peer = self.peers.get(&(switch.to_owned(), port.to_owned()));
        let peer = peer.map_or(port, String::as_str);
        let wire = self.log.between(peer, switch).ok_or_else(|| {
            ExplainError::NoPause(format!(
                "{switch} has sent no pause from port {port}: name the switch, and its port as in pauses.csv or the neighbour there"
            ))
        })?;
        let pauses = self.pauses.class_pauses(wire, priority);
        let pause = pauses.iter().find(|pause| at < pause.to).copied().ok_or_else(|| {
            let last = pauses.last().map_or_else(
                || "no pause of that priority came to it".to_owned(),
                |pause| format!("the last pause of it ended at {} ns", pause.to.to_nanos().0),
            );
            ExplainError::NoPause(format!(
                "no pause of priority {priority} holds {peer} at {} ns or later: {last}",
                at.to_nanos().0
            ))
        })?;
        let stop = Stop { wire, priority, queue: None, at: root::moment(&self.log, &pause) };
        let trace = root::trace_pause(&self.log, &self.pauses, stop);
        let mut victims = BTreeSet::new();
        // At a switch, flows with waiting packets; at a host, whose NIC keeps no packets, flows that were held when
        // they would have sent.
        let waiting = self.log.waiting(wire, pause.from, pause.to);
        let waiting = waiting.filter(|packet| packet.priority == priority);
        let sent = self.log.wire_records(wire).iter().map(|&number| self.log.record(number));
        let sent = sent.filter(|record| {
            record.kind == LoggedKind::Data
                && record.priority == priority
                && record.ready < pause.to
                && record.started > pause.from
        });
        for flow in waiting.map(|packet| packet.flow).chain(sent.map(|record| record.flow)) {
            if !self.leads_to(flow, &trace.root) {
                victims.insert(flow);
            }
        }
        Ok(ExplainedPause {
            wire: self.name(wire),
            priority,
            from_ps: pause.from.0,
            to_ps: pause.to.0,
            root: self.cause(&trace),
            victims: victims.into_iter().collect(),
        })
    }

    fn explain(&self, flow: u32, traces: &mut Traces) -> Option<Explanation> {
        let spans = self.spans(flow)?;
        let named = self.flows.get(&flow)?;
        let life = self.log.flows.get(&flow)?;
        let mut own = 0;
        let mut victim = 0;
        let mut groups: BTreeMap<(&'static str, u32, Option<Place>), Group> = BTreeMap::new();
        for span in &spans {
            let took = span.to.since(span.from).0;
            let Some(cause) = cause(span.what) else {
                own += took;
                continue;
            };
            let trace = matches!(span.what, What::Paused | What::HeldBack)
                .then(|| self.trace(span, traces));
            let place = trace.as_ref().map(|trace| self.place(&trace.root));
            let group = groups.entry((cause, span.wire, place)).or_default();
            group.ps += took;
            group.first = group.first.min(span.from.0);
            if let What::Behind(other) = span.what {
                *group.flows.entry(other).or_default() += took;
            }
            if let Some(trace) = trace {
                if !self.leads_to(flow, &trace.root) {
                    victim += took;
                }
                if took > group.longest {
                    (group.longest, group.trace) = (took, Some(trace));
                }
            }
        }
        let mut parts: Vec<Part> = groups
            .into_iter()
            .map(|((cause, wire, _), group)| {
                let (flows, flows_total) = shares(group.flows);
                let root = group.trace.map(|trace| self.cause(&trace));
                let (ps, first_ps) = (group.ps, group.first);
                Part { cause, wire: self.name(wire), ps, first_ps, flows, flows_total, root }
            })
            .collect();
        parts.sort_by(|a, b| b.ps.cmp(&a.ps).then_with(|| a.first_ps.cmp(&b.first_ps)));
        Some(Explanation {
            flow,
            label: named.label.clone(),
            src: named.source.clone(),
            dst: named.destination.clone(),
            start_ps: life.start.0,
            completed: life.end.is_some(),
            time_ps: spans.iter().map(|span| span.to.since(span.from).0).sum(),
            ideal_ps: named.ideal_ns.saturating_mul(1000),
            own_ps: own,
            parts,
            lost: self.log.losses(flow).map(lost).collect(),
            victim_ps: victim,
            way: root::way(&self.log, flow).into_iter().map(|wire| self.name(wire)).collect(),
        })
    }

    /// Traces the pause in a span; for an idle port, traces the flow pause or rate that held the packet.
    fn trace(&self, span: &Span, traces: &mut Traces) -> Trace {
        let Span { wire, priority, queue, from, .. } = *span;
        let class = self.pauses.class_at(wire, priority, from);
        let own = self.pauses.queue_at(wire, queue, from);
        let of_queue = if class.is_none() && own.is_some() { root::known(queue) } else { None };
        let at = class.or(own).map_or(from, |pause| root::moment(&self.log, &pause));
        self.traced(Stop { wire, priority, queue: of_queue, at }, traces)
    }

    fn traced(&self, stop: Stop, traces: &mut Traces) -> Trace {
        let trace = || root::trace_pause(&self.log, &self.pauses, stop);
        traces.entry(stop).or_insert_with(trace).clone()
    }

    /// Returns true if a flow contributes to the cause of a pause, as far as is known.
    fn leads_to(&self, flow: u32, root: &Root) -> bool {
        let touches = |wires: &[u32]| {
            let way = root::way(&self.log, flow);
            wires.iter().any(|wire| way.contains(wire))
        };
        match root {
            Root::Host(host) => self.flows.get(&flow).is_some_and(|flow| &flow.destination == host),
            Root::Queue(queue) => touches(&[queue.wire]),
            Root::Deadlock(wires) | Root::Cycle(wires) => touches(wires),
            Root::Nothing(_) => true,
        }
    }

    fn trees(&self, traces: &mut Traces) -> Vec<Tree> {
        let mut trees: BTreeMap<(Place, u8), Growing> = BTreeMap::new();
        for (wire, priority, queue, pause) in self.pauses.all() {
            if pause.from >= self.log.end {
                continue;
            }
            let (from, to, at) = (pause.from, pause.to, root::moment(&self.log, &pause));
            let trace = self.traced(Stop { wire, priority, queue, at }, traces);
            let tree = trees.entry((self.place(&trace.root), priority)).or_default();
            let took = to.since(from).0;
            tree.pauses += 1;
            tree.paused += took;
            tree.from = tree.from.min(from.0);
            tree.to = tree.to.max(to.0);
            tree.depth = tree.depth.max(trace.wires.len());
            tree.wires.insert(wire);
            if tree.trace.is_none() || took > tree.longest {
                (tree.longest, tree.trace) = (took, Some(trace));
            }
        }
        let finish = |((_, priority), tree): ((Place, u8), Growing)| {
            Some(Tree {
                priority,
                root: self.cause(tree.trace.as_ref()?),
                pauses: tree.pauses,
                paused_ps: tree.paused,
                from_ps: tree.from,
                to_ps: tree.to,
                wires: tree.wires.iter().map(|&wire| self.name(wire)).collect(),
                depth: tree.depth,
            })
        };
        let mut trees: Vec<Tree> = trees.into_iter().filter_map(finish).collect();
        trees.sort_by(|a, b| b.paused_ps.cmp(&a.paused_ps).then_with(|| a.root.at.cmp(&b.root.at)));
        trees
    }

    /// Returns the kind of a root and its location.
    fn place(&self, root: &Root) -> Place {
        match root {
            Root::Host(host) => ("host", host.clone()),
            Root::Queue(queue) => ("queue", self.name(queue.wire)),
            Root::Deadlock(wires) => ("deadlock", self.cycle(wires)),
            Root::Cycle(wires) => ("circle", self.cycle(wires)),
            Root::Nothing(switch) => ("buffer", switch.clone()),
        }
    }

    fn cause(&self, trace: &Trace) -> RootCause {
        let (kind, at) = self.place(&trace.root);
        let paused = trace.wires.iter().map(|&wire| self.name(wire)).collect();
        let mut cause = RootCause {
            kind,
            at,
            paused,
            bytes: 0,
            flows: Vec::new(),
            flows_total: 0,
            since_ps: None,
        };
        if let Root::Queue(queue) = &trace.root {
            (cause.flows, cause.flows_total) = shares(queue.flows.iter().copied());
            (cause.bytes, cause.since_ps) = (queue.bytes, Some(queue.since.0));
        }
        cause
    }

    /// Names the wires of a cycle, starting with the lowest number.
    fn cycle(&self, wires: &[u32]) -> String {
        let first = wires.iter().enumerate().min_by_key(|(_, wire)| **wire).map_or(0, |(at, _)| at);
        let wires = wires.iter().cycle().skip(first).take(wires.len());
        wires.map(|&wire| self.wire(wire)).collect::<Vec<_>>().join(", ")
    }

    fn name(&self, wire: u32) -> String {
        self.wire(wire).to_owned()
    }
}

/// Traces of pauses that have already been followed.
type Traces = BTreeMap<Stop, Trace>;

/// Kind of a root, and its location.
type Place = (&'static str, String);

/// Returns the paths of flows, as wires between the nodes that `flows.csv` names, as far as they exist.
fn courses(wires: &[Wire], paths: &[(u32, u8, String)]) -> BTreeMap<u32, Course> {
    let mut between = BTreeMap::new();
    for (number, wire) in (0..).zip(wires) {
        between.entry((wire.from.as_str(), wire.to.as_str())).or_insert(number);
    }
    let course = |(flow, priority, path): &(u32, u8, String)| {
        let nodes: Vec<&str> = path.split('>').collect();
        let hop = |pair: &[&str]| between.get(&(pair[0], pair[1])).copied();
        (*flow, Course { wires: nodes.windows(2).filter_map(hop).collect(), priority: *priority })
    };
    paths.iter().map(course).collect()
}

struct Group {
    ps: u64,
    first: u64,
    flows: BTreeMap<u32, u64>,
    longest: u64,
    trace: Option<Trace>,
}

impl Default for Group {
    fn default() -> Self {
        Self { ps: 0, first: u64::MAX, flows: BTreeMap::new(), longest: 0, trace: None }
    }
}

struct Growing {
    pauses: usize,
    paused: u64,
    from: u64,
    to: u64,
    depth: usize,
    wires: BTreeSet<u32>,
    longest: u64,
    trace: Option<Trace>,
}

impl Default for Growing {
    fn default() -> Self {
        Self {
            pauses: 0,
            paused: 0,
            from: u64::MAX,
            to: 0,
            depth: 0,
            wires: BTreeSet::new(),
            longest: 0,
            trace: None,
        }
    }
}

fn lost((loss, packets): (&Loss, u64)) -> Lost {
    let (how, at) = match loss {
        Loss::Dropped(switch) => ("dropped", switch.clone()),
        Loss::OnWire(wire) => ("fault", wire.clone()),
    };
    Lost { how, at, packets }
}

/// Returns the largest shares, and the total number of shares.
fn shares(flows: impl IntoIterator<Item = (u32, u64)>) -> (Vec<Share>, usize) {
    let all = flows.into_iter().map(|(flow, amount)| Share { flow, amount });
    let mut all: Vec<Share> = all.collect();
    let total = all.len();
    all.sort_by_key(|share| (std::cmp::Reverse(share.amount), share.flow));
    all.truncate(SHARES);
    (all, total)
}

/// Returns the name of a part; `None` for time that an idle fabric takes, too.
const fn cause(what: What) -> Option<&'static str> {
    match what {
        What::Sending | What::Way | What::OwnAhead => None,
        What::Pace => Some("paced"),
        What::Retransmission => Some("retransmission"),
        What::SlowWire => Some("slow-wire"),
        What::Behind(_) => Some("behind-others"),
        What::BehindControl => Some("behind-control"),
        What::Paused => Some("paused"),
        What::HeldBack => Some("held-back"),
        What::Receiver => Some("receiver"),
        What::Unknown => Some("unknown"),
    }
}
