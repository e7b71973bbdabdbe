//! The wire log of a run, so indexed that a packet is found on all its wires.

use std::collections::BTreeMap;

use results::{LoggedKind, WireLogRecord};
use units::Picos;

/// The queue of a packet of which it is not known: none that a neighbour can pause by itself.
pub const NO_QUEUE: u8 = u8::MAX;
/// Of a record that has none before it.
const NONE: u32 = u32::MAX;

/// A wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wire {
    /// As captures and faults name it.
    pub name: String,
    /// The node that sends on it.
    pub from: String,
    /// The node at its other end.
    pub to: String,
}

/// How packets were lost.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loss {
    /// A switch dropped them.
    Dropped(String),
    /// A fault took them on a wire.
    OnWire(String),
}

/// What `flows.csv` says of a flow's way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Course {
    /// The wires that its data crosses, first to last.
    pub wires: Vec<u32>,
    /// The priority of its data.
    pub priority: u8,
}

/// When a flow began and, unless it did not, completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// When its sender was given it.
    pub start: Picos,
    /// When its last ACK came.
    pub end: Option<Picos>,
}

/// See the module. Records are called by their numbers, which ascend with the instants at which they began.
#[derive(Debug)]
pub struct Log {
    records: Vec<WireLogRecord>,
    /// By their numbers; that of the other direction differs in the last bit.
    pub wires: Vec<Wire>,
    /// By flow.
    pub flows: BTreeMap<u32, Life>,
    /// By flow.
    courses: BTreeMap<u32, Course>,
    nodes: Nodes,
    by_wire: Vec<Vec<u32>>,
    by_flow: BTreeMap<u32, Vec<u32>>,
    /// The record of the same packet on the wire before.
    previous: Vec<u32>,
    /// Whether there is one on a wire after, or a drop.
    goes_on: Vec<bool>,
    /// By wire: the longest that a packet was held before it.
    longest_wait: Vec<Picos>,
    /// By wire: packets that waited before it and were dropped, and until when, in that order.
    dropped: Vec<Vec<(Picos, Waiting)>>,
    /// By node: packets that came to it, a switch, and have not left it.
    stuck: Vec<Vec<u32>>,
    /// By flow and node: the wire by which its data leaves.
    routes: BTreeMap<(u32, u32), u32>,
    /// By flow: packets that switches dropped, by switch, and that faults took, by wire.
    lost: BTreeMap<u32, BTreeMap<Loss, u64>>,
    /// By wire and length: the least that a transmission took.
    serialisations: BTreeMap<(u32, u32), Picos>,
    /// By wire: the least from the end of a transmission to the arrival.
    flights: Vec<Picos>,
    /// When the last thing happened.
    pub end: Picos,
}

/// Nodes by number.
#[derive(Debug)]
struct Nodes {
    /// By wire.
    from: Vec<u32>,
    /// By wire.
    to: Vec<u32>,
    /// By node: whether it is a host. Hosts have one port.
    hosts: Vec<bool>,
    numbers: BTreeMap<String, u32>,
    /// By node: the wires that leave it.
    out: Vec<Vec<u32>>,
}

impl Nodes {
    fn of(wires: &[Wire]) -> Result<Self, String> {
        let mut numbers = BTreeMap::new();
        let mut number = |name: &String| {
            if let Some(&number) = numbers.get(name) {
                return number;
            }
            let next = in_32_bits(numbers.len());
            numbers.insert(name.clone(), next);
            next
        };
        let from: Vec<u32> = wires.iter().map(|wire| number(&wire.from)).collect();
        let to: Vec<u32> = wires.iter().map(|wire| number(&wire.to)).collect();
        for (number, wire) in wires.iter().enumerate() {
            let other = wires.get(number ^ 1);
            if other.is_none_or(|other| (&other.from, &other.to) != (&wire.to, &wire.from)) {
                return Err(format!("links.csv has no other direction of {}", wire.name));
            }
        }
        let mut out = vec![Vec::new(); numbers.len()];
        for (wire, &node) in (0..).zip(&from) {
            out[node as usize].push(wire);
        }
        let hosts = out.iter().map(|wires: &Vec<u32>| wires.len() == 1).collect();
        Ok(Self { from, to, hosts, numbers, out })
    }
}

/// Packets after whose records they have neither been sent on nor dropped.
type Open = BTreeMap<(u32, LoggedKind, u64), Vec<u32>>;

impl Log {
    /// Indexes records. The run came to `end`.
    ///
    /// # Errors
    /// A sentence, if the records are not those of a run over these wires.
    pub fn new(
        records: Vec<WireLogRecord>,
        wires: Vec<Wire>,
        courses: BTreeMap<u32, Course>,
        end: Picos,
    ) -> Result<Self, String> {
        let nodes = Nodes::of(&wires)?;
        let mut log = Self {
            by_wire: vec![Vec::new(); wires.len()],
            longest_wait: vec![Picos::ZERO; wires.len()],
            dropped: vec![Vec::new(); wires.len()],
            flights: vec![Picos::MAX; wires.len()],
            stuck: vec![Vec::new(); nodes.out.len()],
            records: Vec::with_capacity(records.len()),
            wires,
            nodes,
            flows: BTreeMap::new(),
            courses,
            by_flow: BTreeMap::new(),
            previous: Vec::new(),
            goes_on: Vec::new(),
            routes: BTreeMap::new(),
            lost: BTreeMap::new(),
            serialisations: BTreeMap::new(),
            end,
        };
        let mut open = Open::new();
        for (place, record) in records.into_iter().enumerate() {
            log.add(record, &mut open).map_err(|what| format!("record {place}: {what}"))?;
        }
        let mut stuck: Vec<u32> = open.into_values().flatten().collect();
        stuck.sort_unstable();
        for number in stuck {
            let record = *log.record(number);
            if record.arrives <= end {
                log.stuck[log.nodes.to[record.wire as usize] as usize].push(number);
            }
        }
        Ok(log)
    }

    fn add(&mut self, record: WireLogRecord, open: &mut Open) -> Result<(), String> {
        if record.kind == LoggedKind::Flow {
            let end = (record.arrives != Picos::MAX).then_some(record.arrives);
            if end.is_some_and(|end| end < record.started) {
                return Err(format!("flow {} ends before it begins", record.flow));
            }
            self.flows.insert(record.flow, Life { start: record.started, end });
            return Ok(());
        }
        if record.wire as usize >= self.wires.len() {
            return Err(format!("there is no wire {}", record.wire));
        }
        self.check(&record)?;
        if record.kind == LoggedKind::Dropped {
            self.drop(&record, open);
            return Ok(());
        }
        let (wire, number) = (record.wire as usize, in_32_bits(self.records.len()));
        let mut previous = NONE;
        if is_packet(record.kind) {
            let key = (record.flow, record.kind, record.words[0]);
            let from = self.nodes.from[wire];
            let came = self.take(open, key, record.ready, |nodes, other| nodes.to[other] == from);
            if let Some(came) = came {
                previous = came;
                self.goes_on[previous as usize] = true;
                if record.kind == LoggedKind::Data {
                    self.routes.insert((record.flow, from), record.wire);
                }
                let waited = record.started.since(record.ready);
                self.longest_wait[wire] = self.longest_wait[wire].max(waited);
            }
            if record.arrives == Picos::MAX {
                let loss = Loss::OnWire(self.wires[wire].name.clone());
                *self.lost.entry(record.flow).or_default().entry(loss).or_default() += 1;
            } else if !self.nodes.hosts[self.nodes.to[wire] as usize] {
                open.entry(key).or_default().push(number);
            }
            self.by_flow.entry(record.flow).or_default().push(number);
            let took = record.ended.since(record.started);
            let least = self.serialisations.entry((record.wire, record.length)).or_insert(took);
            *least = took.min(*least);
            if record.arrives != Picos::MAX {
                let flight = record.arrives.since(record.ended);
                self.flights[wire] = self.flights[wire].min(flight);
            }
        }
        self.by_wire[wire].push(number);
        self.previous.push(previous);
        self.goes_on.push(false);
        self.records.push(record);
        Ok(())
    }

    /// Whether its instants are in order, and it comes behind what its wire carried before.
    fn check(&self, record: &WireLogRecord) -> Result<(), String> {
        let WireLogRecord { started, ready, ended, arrives, .. } = *record;
        let is_ready =
            ready == Picos::MAX || record.kind == LoggedKind::HopControl || ready <= started;
        let before = self.by_wire[record.wire as usize].last();
        let is_behind = before.is_none_or(|&before| self.record(before).ended <= started);
        let may_overlap = record.kind == LoggedKind::Dropped;
        if !is_ready || started > ended || ended > arrives || !(is_behind || may_overlap) {
            return Err("its instants are not those of a frame".to_owned());
        }
        Ok(())
    }

    /// A packet that a switch dropped.
    fn drop(&mut self, record: &WireLogRecord, open: &mut Open) {
        let waited = record.ready < record.started;
        let wire = &self.wires[record.wire as usize];
        let node = if waited { &wire.from } else { &wire.to };
        let loss = Loss::Dropped(node.clone());
        *self.lost.entry(record.flow).or_default().entry(loss).or_default() += 1;
        for kind in [LoggedKind::Data, LoggedKind::Ack, LoggedKind::Nak, LoggedKind::Cnp] {
            let key = (record.flow, kind, record.words[0]);
            let Some(came) = self.take(open, key, record.ready, |_, _| true) else { continue };
            self.goes_on[came as usize] = true;
            if waited {
                let came = self.records[came as usize];
                let waiting = Waiting { queue: record.queue, ..Waiting::of(&came) };
                let wire = record.wire as usize;
                self.dropped[wire].push((record.started, waiting));
                let waited = record.started.since(record.ready);
                self.longest_wait[wire] = self.longest_wait[wire].max(waited);
            }
            return;
        }
    }

    /// The record after which a packet came in at an instant, if there is one.
    fn take(
        &self,
        open: &mut Open,
        key: (u32, LoggedKind, u64),
        at: Picos,
        fits: impl Fn(&Nodes, usize) -> bool,
    ) -> Option<u32> {
        let waiting = open.get_mut(&key)?;
        let place = waiting.iter().position(|&other| {
            let other = self.record(other);
            other.arrives == at && fits(&self.nodes, other.wire as usize)
        })?;
        let taken = waiting.swap_remove(place);
        if waiting.is_empty() {
            open.remove(&key);
        }
        Some(taken)
    }

    /// Where packets of a flow were lost, and how many.
    pub fn losses(&self, flow: u32) -> impl Iterator<Item = (&Loss, u64)> {
        self.lost.get(&flow).into_iter().flatten().map(|(loss, packets)| (loss, *packets))
    }

    /// A record.
    pub fn record(&self, number: u32) -> &WireLogRecord {
        &self.records[number as usize]
    }

    /// A wire.
    pub fn wire(&self, number: u32) -> &Wire {
        &self.wires[number as usize]
    }

    /// What `flows.csv` says of a flow's way.
    pub fn course(&self, flow: u32) -> Option<&Course> {
        self.courses.get(&flow)
    }

    /// The same packet on the wire before.
    pub fn previous(&self, number: u32) -> Option<u32> {
        Some(self.previous[number as usize]).filter(|&previous| previous != NONE)
    }

    /// Whether it has been sent on, or dropped.
    pub fn goes_on(&self, number: u32) -> bool {
        self.goes_on[number as usize]
    }

    /// Whether a wire leads to a host.
    pub fn ends_at_host(&self, wire: u32) -> bool {
        self.nodes.hosts[self.nodes.to[wire as usize] as usize]
    }

    /// The records of a flow's packets.
    pub fn of_flow(&self, flow: u32) -> &[u32] {
        self.by_flow.get(&flow).map_or(&[], Vec::as_slice)
    }

    /// The records of a wire.
    pub fn of_wire(&self, wire: u32) -> &[u32] {
        &self.by_wire[wire as usize]
    }

    /// The wires that leave the node to which a wire leads.
    pub fn onward(&self, wire: u32) -> &[u32] {
        &self.nodes.out[self.nodes.to[wire as usize] as usize]
    }

    /// The wire that leads from one node to another; the first of several.
    pub fn between(&self, from: &str, to: &str) -> Option<u32> {
        let (from, to) = (self.nodes.numbers.get(from)?, self.nodes.numbers.get(to)?);
        let mut out = self.nodes.out[*from as usize].iter().copied();
        out.find(|&wire| self.nodes.to[wire as usize] == *to)
    }

    /// The frames that occupied a wire's port within `[from, to)`, in order.
    pub fn during(
        &self,
        wire: u32,
        from: Picos,
        to: Picos,
    ) -> impl Iterator<Item = &WireLogRecord> {
        let of_wire = self.of_wire(wire);
        let first = of_wire.partition_point(|&number| self.record(number).ended <= from);
        let records = of_wire[first..].iter().map(|&number| self.record(number));
        records.take_while(move |record| record.started < to)
    }

    /// Packets that waited before a wire within `[from, to]`: also those that were dropped there, or never left.
    pub fn waiting(&self, wire: u32, from: Picos, to: Picos) -> impl Iterator<Item = Waiting> {
        let number = wire as usize;
        let latest = Picos(to.0.saturating_add(self.longest_wait[number].0));
        let of_wire = self.of_wire(wire);
        let first = of_wire.partition_point(|&number| self.record(number).started < from);
        let sent = of_wire[first..]
            .iter()
            .take_while(move |&&number| self.record(number).started <= latest)
            .filter_map(move |&number| {
                let record = self.record(number);
                let came = self.record(self.previous(number)?);
                let waiting = Waiting { queue: record.queue, ..Waiting::of(came) };
                (record.ready <= to).then_some(waiting)
            });
        let dropped = &self.dropped[number];
        let first = dropped.partition_point(|(until, _)| *until < from);
        let dropped = dropped[first..].iter().take_while(move |(until, _)| *until <= latest);
        let dropped = dropped.map(|(_, waiting)| *waiting);
        let dropped = dropped.filter(move |waiting| waiting.since <= to);
        let node = self.nodes.from[number];
        let stuck = self.stuck[node as usize].iter().filter_map(move |&number| {
            let record = self.record(number);
            let waits = record.kind == LoggedKind::Data
                && record.arrives <= to
                && self.leaves_by(record.flow, node) == Some(wire);
            waits.then(|| Waiting::of(record))
        });
        sent.chain(dropped).chain(stuck)
    }

    /// The wire by which a flow's data leaves the node to which a wire leads.
    pub fn route(&self, flow: u32, came_by: u32) -> Option<u32> {
        self.leaves_by(flow, self.nodes.to[came_by as usize])
    }

    fn leaves_by(&self, flow: u32, node: u32) -> Option<u32> {
        self.routes.get(&(flow, node)).copied().or_else(|| {
            let wires = &self.courses.get(&flow)?.wires;
            wires.iter().copied().find(|&wire| self.nodes.from[wire as usize] == node)
        })
    }

    /// When a transmission would have ended, and the frame have arrived, if its wire had been as fast as it was at best for a frame of
    /// that length.
    pub fn at_best(&self, record: &WireLogRecord) -> (Picos, Picos) {
        let took = record.ended.since(record.started);
        let took = self.serialisations.get(&(record.wire, record.length)).copied().unwrap_or(took);
        let flight = self.flights[record.wire as usize].min(record.arrives.since(record.ended));
        (record.started + took, record.started + took + flight)
    }
}

/// A packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The wire that it came by.
    pub came_by: u32,
    /// The queue that it left there.
    pub came_from: u8,
    /// Its flow.
    pub flow: u32,
    /// Its priority.
    pub priority: u8,
    /// Its length.
    pub bytes: u32,
    /// The queue in which it waits; [`NO_QUEUE`] if it never left it.
    pub queue: u8,
    /// Since when.
    pub since: Picos,
}

impl Waiting {
    /// A packet that came in as this record says.
    const fn of(came: &WireLogRecord) -> Self {
        Self {
            came_by: came.wire,
            came_from: came.queue,
            flow: came.flow,
            priority: came.priority,
            bytes: came.length,
            queue: NO_QUEUE,
            since: came.arrives,
        }
    }
}

/// # Panics
/// Beyond 2^32, which is more records than memory.
fn in_32_bits(count: usize) -> u32 {
    u32::try_from(count).expect("a log in memory has fewer than 2^32 records")
}

/// Whether it is of a flow.
pub const fn is_packet(kind: LoggedKind) -> bool {
    matches!(kind, LoggedKind::Data | LoggedKind::Ack | LoggedKind::Nak | LoggedKind::Cnp)
}
