//! The wire log of a run, so indexed that a packet is found on all its wires.

use std::collections::{BTreeMap, HashMap};

use results::{LoggedKind, WireLogRecord};
use units::Picos;

/// The queue of a packet of which it is not known: none that a neighbour can pause by itself.
pub const NO_QUEUE: u8 = u8::MAX;
/// Of a record that has none before or after it.
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
    pub flows: HashMap<u32, Life>,
    by_wire: Vec<Vec<u32>>,
    by_flow: HashMap<u32, Vec<u32>>,
    /// The record of the same packet on the wire before.
    previous: Vec<u32>,
    /// Whether there is one on a wire after, or a drop.
    goes_on: Vec<bool>,
    /// By wire: the longest that a packet was held before it.
    longest_wait: Vec<Picos>,
    /// Packets that came to a switch and have not left it.
    stuck: Vec<u32>,
    /// By flow and node: the wire by which its data leaves.
    routes: HashMap<(u32, String), u32>,
    /// By flow: packets that switches dropped, by switch, and that faults took, by wire.
    lost: BTreeMap<u32, BTreeMap<Loss, u64>>,
    /// When the last thing happened.
    pub end: Picos,
}

impl Log {
    /// Indexes records. The run came to `end`.
    ///
    /// # Errors
    /// A sentence, if a record is of a wire that does not exist.
    pub fn new(records: Vec<WireLogRecord>, wires: Vec<Wire>, end: Picos) -> Result<Self, String> {
        let mut log = Self {
            by_wire: vec![Vec::new(); wires.len()],
            longest_wait: vec![Picos::ZERO; wires.len()],
            records: Vec::with_capacity(records.len()),
            wires,
            flows: HashMap::new(),
            by_flow: HashMap::new(),
            previous: Vec::new(),
            goes_on: Vec::new(),
            stuck: Vec::new(),
            routes: HashMap::new(),
            lost: BTreeMap::new(),
            end,
        };
        // By packet: records after which it has neither been sent on nor dropped.
        let mut open: HashMap<(u32, LoggedKind, u64), Vec<u32>> = HashMap::new();
        for record in records {
            log.add(record, &mut open)?;
        }
        let mut stuck: Vec<u32> = open.into_values().flatten().collect();
        stuck.retain(|&number| {
            let record = log.record(number);
            record.arrives <= end && !log.is_host(&log.wire(record.wire).to)
        });
        stuck.sort_unstable();
        log.stuck = stuck;
        Ok(log)
    }

    fn add(
        &mut self,
        record: WireLogRecord,
        open: &mut HashMap<(u32, LoggedKind, u64), Vec<u32>>,
    ) -> Result<(), String> {
        if record.kind == LoggedKind::Flow {
            let end = (record.arrives != Picos::MAX).then_some(record.arrives);
            self.flows.insert(record.flow, Life { start: record.started, end });
            return Ok(());
        }
        let Some(wire) = self.wires.get(record.wire as usize) else {
            return Err(format!("there is no wire {}", record.wire));
        };
        let number = self.records.len() as u32;
        let mut previous = NONE;
        if record.kind == LoggedKind::Dropped {
            let node = if record.ready == record.started { &wire.to } else { &wire.from };
            let loss = Loss::Dropped(node.clone());
            *self.lost.entry(record.flow).or_default().entry(loss).or_default() += 1;
            let of = [LoggedKind::Data, LoggedKind::Ack, LoggedKind::Nak, LoggedKind::Cnp];
            for kind in of {
                let waiting = open.get_mut(&(record.flow, kind, record.words[0]));
                let Some(waiting) = waiting else { continue };
                let at = waiting
                    .iter()
                    .position(|&other| self.records[other as usize].arrives == record.ready);
                if let Some(at) = at {
                    self.goes_on[waiting.swap_remove(at) as usize] = true;
                    break;
                }
            }
            return Ok(());
        }
        if is_packet(record.kind) {
            let waiting = open.entry((record.flow, record.kind, record.words[0])).or_default();
            let at = waiting.iter().position(|&other| {
                let other = &self.records[other as usize];
                other.arrives == record.ready && self.wires[other.wire as usize].to == wire.from
            });
            if let Some(at) = at {
                previous = waiting.swap_remove(at);
                self.goes_on[previous as usize] = true;
                if record.kind == LoggedKind::Data {
                    self.routes.insert((record.flow, wire.from.clone()), record.wire);
                }
                let waited = record.started.since(record.ready);
                let longest = &mut self.longest_wait[record.wire as usize];
                *longest = (*longest).max(waited);
            }
            if record.arrives == Picos::MAX {
                let loss = Loss::OnWire(wire.name.clone());
                *self.lost.entry(record.flow).or_default().entry(loss).or_default() += 1;
            } else {
                waiting.push(number);
            }
            self.by_flow.entry(record.flow).or_default().push(number);
        }
        self.by_wire[record.wire as usize].push(number);
        self.previous.push(previous);
        self.goes_on.push(false);
        self.records.push(record);
        Ok(())
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

    /// The same packet on the wire before.
    pub fn previous(&self, number: u32) -> Option<u32> {
        Some(self.previous[number as usize]).filter(|&previous| previous != NONE)
    }

    /// Whether it has been sent on, or dropped.
    pub fn goes_on(&self, number: u32) -> bool {
        self.goes_on[number as usize]
    }

    /// Hosts have one port.
    pub fn is_host(&self, node: &str) -> bool {
        self.wires.iter().filter(|wire| wire.from == node).count() == 1
    }

    /// The records of a flow's packets.
    pub fn of_flow(&self, flow: u32) -> &[u32] {
        self.by_flow.get(&flow).map_or(&[], Vec::as_slice)
    }

    /// The records of a wire.
    pub fn of_wire(&self, wire: u32) -> &[u32] {
        &self.by_wire[wire as usize]
    }

    /// The wires that leave a node.
    pub fn wires_from<'a>(&'a self, node: &'a str) -> impl Iterator<Item = u32> + 'a {
        let of_node = (0..).zip(&self.wires).filter(move |(_, wire)| wire.from == node);
        of_node.map(|(number, _)| number)
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

    /// The packets of a priority that waited before a wire at an instant; those that never left it come without it.
    pub fn waiting(&self, wire: u32, priority: u8, at: Picos) -> impl Iterator<Item = Waiting> {
        let of_wire = self.of_wire(wire);
        let first = of_wire.partition_point(|&number| self.record(number).started <= at);
        let latest = Picos(at.0.saturating_add(self.longest_wait[wire as usize].0));
        let sent = of_wire[first..]
            .iter()
            .take_while(move |&&number| self.record(number).started <= latest)
            .filter_map(move |&number| {
                let record = self.record(number);
                let came_by = self.previous(number).map(|number| self.record(number).wire)?;
                let waits = record.ready <= at && record.priority == priority;
                waits.then_some(Waiting {
                    came_by,
                    flow: record.flow,
                    bytes: record.length,
                    queue: record.queue,
                    since: record.ready,
                })
            });
        let node = self.wire(wire).from.as_str();
        let stuck = self.stuck.iter().filter_map(move |&number| {
            let record = self.record(number);
            let waits = record.arrives <= at
                && record.kind == LoggedKind::Data
                && record.priority == priority
                && self.wire(record.wire).to == node
                && self.route(record.flow, node) == Some(wire);
            waits.then_some(Waiting {
                came_by: record.wire,
                flow: record.flow,
                bytes: record.length,
                queue: NO_QUEUE,
                since: record.arrives,
            })
        });
        sent.chain(stuck)
    }

    /// The wire by which a flow's data leaves a node, if any has.
    pub fn route(&self, flow: u32, node: &str) -> Option<u32> {
        self.routes.get(&(flow, node.to_owned())).copied()
    }
}

/// A packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The wire that it came by.
    pub came_by: u32,
    /// Its flow.
    pub flow: u32,
    /// Its length.
    pub bytes: u32,
    /// The queue that it left; [`NO_QUEUE`] if it did not.
    pub queue: u8,
    /// Since when.
    pub since: Picos,
}

/// Whether it is of a flow.
pub const fn is_packet(kind: LoggedKind) -> bool {
    matches!(kind, LoggedKind::Data | LoggedKind::Ack | LoggedKind::Nak | LoggedKind::Cnp)
}
