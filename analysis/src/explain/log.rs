//! The wire log of a run, indexed so that a packet can be followed across its wires.

use std::collections::BTreeMap;

use results::{LoggedKind, WireLogRecord};
use units::Picos;

/// Queue of a packet if it is unknown; no neighbour can pause this number individually.
pub const NO_QUEUE: u8 = u8::MAX;
/// Placeholder of a record without a predecessor.
const NONE: u32 = u32::MAX;

/// A wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wire {
    /// Name in captures and faults.
    pub name: String,
    /// Node that sends on the wire.
    pub from: String,
    /// Node that receives from the wire.
    pub to: String,
}

/// Kinds of packet losses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loss {
    /// A switch dropped the packets.
    Dropped(String),
    /// A fault lost the packets on a wire.
    OnWire(String),
}

/// Path of a flow according to `flows.csv`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Course {
    /// Wires that the flow's data crosses, first to last.
    pub wires: Vec<u32>,
    /// Priority of the flow's data.
    pub priority: u8,
}

/// Start of a flow and, if it completed, its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// Instant at which the sender got the flow.
    pub start: Picos,
    /// Arrival of the last ACK.
    pub end: Option<Picos>,
}

/// See the module. Records are identified by numbers, which ascend with the instants at which the records began.
#[derive(Debug)]
pub struct Log {
    records: Vec<WireLogRecord>,
    /// Wires by number; the number of the opposite direction differs in the last bit.
    pub wires: Vec<Wire>,
    /// Start and end, by flow.
    pub flows: BTreeMap<u32, Life>,
    /// Paths by flow.
    courses: BTreeMap<u32, Course>,
    nodes: Nodes,
    by_wire: Vec<Vec<u32>>,
    by_flow: BTreeMap<u32, Vec<u32>>,
    /// Record of the packet on the wire before, by record.
    previous: Vec<u32>,
    /// True if the packet has a record on a later wire, or was dropped; by record.
    goes_on: Vec<bool>,
    /// Longest wait of a packet before the wire, by wire.
    longest_wait: Vec<Picos>,
    /// Packets that waited before the wire and were dropped, with the instant, in that order; by wire.
    dropped: Vec<Vec<(Picos, Waiting)>>,
    /// Packets that arrived at a switch and have not left it, by node.
    stuck: Vec<Vec<u32>>,
    /// Wire by which a flow's data leaves a node, by flow and node.
    routes: BTreeMap<(u32, u32), u32>,
    /// Packets that switches dropped or faults lost, by flow.
    lost: BTreeMap<u32, BTreeMap<Loss, u64>>,
    /// Shortest transmission, by wire and length.
    serialisations: BTreeMap<(u32, u32), Picos>,
    /// Shortest time from the end of a transmission to the arrival, by wire.
    flights: Vec<Picos>,
    /// End of the run.
    pub end: Picos,
}

/// Nodes by number.
#[derive(Debug)]
struct Nodes {
    /// Sending node, by wire.
    from: Vec<u32>,
    /// Receiving node, by wire.
    to: Vec<u32>,
    /// True if the node is a host, by node. Hosts have one port.
    hosts: Vec<bool>,
    numbers: BTreeMap<String, u32>,
    /// Outgoing wires, by node.
    out: Vec<Vec<u32>>,
}

impl Nodes {
    fn new(wires: &[Wire]) -> Result<Self, String> {
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

/// Records of packets that have since been neither sent on nor dropped.
type Open = BTreeMap<(u32, LoggedKind, u64), Vec<u32>>;

impl Log {
    /// Indexes the records of a run that ended at `end`.
    ///
    /// # Errors
    /// A sentence, if the records are not those of a run over these wires.
    pub fn new(
        records: Vec<WireLogRecord>,
        wires: Vec<Wire>,
        courses: BTreeMap<u32, Course>,
        end: Picos,
    ) -> Result<Self, String> {
        let nodes = Nodes::new(&wires)?;
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

    /// Checks that the record's instants are in order, and that it comes after the previous record of its wire.
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

    /// Adds a packet that a switch dropped.
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
                let waiting = Waiting { queue: record.queue, ..Waiting::new(&came) };
                let wire = record.wire as usize;
                self.dropped[wire].push((record.started, waiting));
                let waited = record.started.since(record.ready);
                self.longest_wait[wire] = self.longest_wait[wire].max(waited);
            }
            return;
        }
    }

    /// Removes and returns the record of a packet that arrived at an instant, if there is one.
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

    /// Returns the places where packets of a flow were lost, with the number of packets.
    pub fn losses(&self, flow: u32) -> impl Iterator<Item = (&Loss, u64)> {
        self.lost.get(&flow).into_iter().flatten().map(|(loss, packets)| (loss, *packets))
    }

    /// Returns a record.
    pub fn record(&self, number: u32) -> &WireLogRecord {
        &self.records[number as usize]
    }

    /// Returns a wire.
    pub fn wire(&self, number: u32) -> &Wire {
        &self.wires[number as usize]
    }

    /// Returns the path of a flow according to `flows.csv`.
    pub fn course(&self, flow: u32) -> Option<&Course> {
        self.courses.get(&flow)
    }

    /// Returns the packet's record on the wire before.
    pub fn previous(&self, number: u32) -> Option<u32> {
        Some(self.previous[number as usize]).filter(|&previous| previous != NONE)
    }

    /// Returns true if the packet has been sent on or dropped.
    pub fn goes_on(&self, number: u32) -> bool {
        self.goes_on[number as usize]
    }

    /// Returns true if a wire leads to a host.
    pub fn ends_at_host(&self, wire: u32) -> bool {
        self.nodes.hosts[self.nodes.to[wire as usize] as usize]
    }

    /// Returns the records of a flow's packets.
    pub fn flow_records(&self, flow: u32) -> &[u32] {
        self.by_flow.get(&flow).map_or(&[], Vec::as_slice)
    }

    /// Returns the records of a wire.
    pub fn wire_records(&self, wire: u32) -> &[u32] {
        &self.by_wire[wire as usize]
    }

    /// Returns the outgoing wires of the node to which a wire leads.
    pub fn onward(&self, wire: u32) -> &[u32] {
        &self.nodes.out[self.nodes.to[wire as usize] as usize]
    }

    /// Returns the wire from one node to another; the first of parallel wires.
    pub fn between(&self, from: &str, to: &str) -> Option<u32> {
        let (from, to) = (self.nodes.numbers.get(from)?, self.nodes.numbers.get(to)?);
        let mut out = self.nodes.out[*from as usize].iter().copied();
        out.find(|&wire| self.nodes.to[wire as usize] == *to)
    }

    /// Returns the frames that occupied a wire's port within `[from, to)`, in order.
    pub fn during(
        &self,
        wire: u32,
        from: Picos,
        to: Picos,
    ) -> impl Iterator<Item = &WireLogRecord> {
        let of_wire = self.wire_records(wire);
        let first = of_wire.partition_point(|&number| self.record(number).ended <= from);
        let records = of_wire[first..].iter().map(|&number| self.record(number));
        records.take_while(move |record| record.started < to)
    }

    /// Returns the packets that waited before a wire within `[from, to]`, including packets that were dropped there or
    /// never left.
    pub fn waiting(&self, wire: u32, from: Picos, to: Picos) -> impl Iterator<Item = Waiting> {
        let number = wire as usize;
        let latest = Picos(to.0.saturating_add(self.longest_wait[number].0));
        let of_wire = self.wire_records(wire);
        let first = of_wire.partition_point(|&number| self.record(number).started < from);
        let sent = of_wire[first..]
            .iter()
            .take_while(move |&&number| self.record(number).started <= latest)
            .filter_map(move |&number| {
                let record = self.record(number);
                let came = self.record(self.previous(number)?);
                let waiting = Waiting { queue: record.queue, ..Waiting::new(came) };
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
            waits.then(|| Waiting::new(record))
        });
        sent.chain(dropped).chain(stuck)
    }

    /// Returns the wire by which a flow's data leaves the node to which the wire `came_by` leads.
    pub fn route(&self, flow: u32, came_by: u32) -> Option<u32> {
        self.leaves_by(flow, self.nodes.to[came_by as usize])
    }

    fn leaves_by(&self, flow: u32, node: u32) -> Option<u32> {
        self.routes.get(&(flow, node)).copied().or_else(|| {
            let wires = &self.courses.get(&flow)?.wires;
            wires.iter().copied().find(|&wire| self.nodes.from[wire as usize] == node)
        })
    }

    /// Returns the end of the transmission and the arrival of a frame if its wire had been as fast as at its best for a
    /// frame of this length.
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
    /// Wire on which the packet arrived.
    pub came_by: u32,
    /// Queue that the packet left at the wire's sender.
    pub came_from: u8,
    /// Flow of the packet.
    pub flow: u32,
    /// Priority of the packet.
    pub priority: u8,
    /// Length of the packet.
    pub bytes: u32,
    /// Queue in which the packet waits; [`NO_QUEUE`] if it never left it.
    pub queue: u8,
    /// Start of the wait.
    pub since: Picos,
}

impl Waiting {
    /// Makes a waiting packet from the record of its arrival.
    const fn new(came: &WireLogRecord) -> Self {
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

/// Returns true if the record belongs to a flow.
pub const fn is_packet(kind: LoggedKind) -> bool {
    matches!(kind, LoggedKind::Data | LoggedKind::Ack | LoggedKind::Nak | LoggedKind::Cnp)
}
