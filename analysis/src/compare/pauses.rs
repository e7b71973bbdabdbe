//! Pauses of both sides: counts by port, and the first difference.

use std::collections::BTreeMap;
use std::fmt;

use fabric_core::hop_control::PauseEvent;
use results::{PFC_FILE, PauseRow, Row};
use serde::{Serialize, Serializer};

use super::change;
use super::pair::Pair;
use super::side::{Numbering, Side};
use super::tolerance::Tolerance;
use super::{CompareError, First};

/// Port that pauses another, or that is paused.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// Node that pauses; `None` in a simulator's file without a scenario.
    pub node: Option<String>,
    /// Port of the node that pauses.
    pub port: Option<u16>,
    /// Paused node.
    pub paused: String,
    /// Interface of the paused node in a simulator's file without a scenario.
    pub interface: Option<u32>,
    /// Paused priority; `None` in a simulator's file.
    pub priority: Option<u8>,
}

impl Place {
    /// Makes the place of a paused interface whose neighbour is not known.
    pub const fn of_file(paused: String, interface: u32) -> Self {
        Self { node: None, port: None, paused, interface: Some(interface), priority: None }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(node), Some(port)) = (&self.node, self.port) {
            write!(f, "{node} port {port} to {}", self.paused)?;
        } else {
            f.write_str(&self.paused)?;
        }
        if let Some(interface) = self.interface {
            write!(f, " interface {interface}")?;
        }
        if let Some(priority) = self.priority {
            write!(f, " priority {priority}")?;
        }
        Ok(())
    }
}

/// Places, with a number for each.
#[derive(Clone, Debug, Default)]
pub struct Places(BTreeMap<Place, usize>);

impl Places {
    /// Returns the number of a place.
    pub fn number(&mut self, place: Place) -> usize {
        let next = self.0.len();
        *self.0.entry(place).or_insert(next)
    }
}

/// Decision about a pause, or its arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Instant.
    pub time_ns: i64,
    /// Number of the place in [`Places`].
    pub place: usize,
    /// Pause, refresh or resume.
    pub kind: PauseEvent,
}

/// Comparison of pauses.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct PausesComparison {
    /// File with the pauses: of decisions of switches, or of arrivals at paused nodes.
    pub file: &'static str,
    /// Counts of all ports.
    pub all: Counts,
    /// Counts by port, in the order of names.
    pub ports: Vec<PortPauses>,
    /// First difference. Events are compared port by port, in their order.
    pub first: Option<FirstPause>,
}

/// Numbers of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Pauses that began.
    #[serde(serialize_with = "change::counts")]
    pub pauses: Pair<u64>,
    /// Refreshes.
    #[serde(serialize_with = "change::counts")]
    pub refreshes: Pair<u64>,
    /// Resumes.
    #[serde(serialize_with = "change::counts")]
    pub resumes: Pair<u64>,
}

impl Counts {
    const fn of(&mut self, event: PauseEvent) -> &mut Pair<u64> {
        match event {
            PauseEvent::Pause => &mut self.pauses,
            PauseEvent::Refresh => &mut self.refreshes,
            PauseEvent::Resume => &mut self.resumes,
        }
    }
}

/// Counts of a port.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct PortPauses {
    /// The port.
    #[serde(flatten)]
    pub place: Place,
    /// Its counts.
    #[serde(flatten)]
    pub counts: Counts,
}

/// First difference of pauses: the first events of a port that differ.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct FirstPause {
    /// Instant of the earlier of both events.
    pub at_ns: i64,
    /// Instant in B less the instant in A, if both sides have an event.
    pub b_minus_a_ns: Option<i128>,
    /// Event in A; `None` after its last.
    pub a: Option<NamedEvent>,
    /// Event in B; `None` after its last.
    pub b: Option<NamedEvent>,
}

/// Event with the names of its port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NamedEvent {
    /// Instant.
    pub time_ns: i64,
    /// The port.
    #[serde(flatten)]
    pub place: Place,
    /// Pause, refresh or resume.
    #[serde(serialize_with = "by_name")]
    pub event: PauseEvent,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn by_name<S: Serializer>(event: &PauseEvent, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(event.name())
}

impl fmt::Display for NamedEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without a scenario only the paused port is known.
        let preposition = if self.place.node.is_some() { "by" } else { "at" };
        write!(f, "{} {preposition} {}", self.event.name(), self.place)
    }
}

/// Returns the file of pauses that both sides have: decisions of two runs, otherwise arrivals.
pub fn file(sides: &Pair<Side>) -> Option<&'static str> {
    let both = |there: Pair<bool>| there.a && there.b;
    if both(sides.as_ref().map(Side::has_decisions)) {
        return Some(PauseRow::FILE);
    }
    both(sides.as_ref().map(Side::has_arrivals)).then_some(PFC_FILE)
}

/// Returns a note if only one side has pauses.
pub fn one_sided(sides: &Pair<Side>) -> Option<String> {
    match sides.as_ref() {
        Pair { a: Side::Run(_), b: Side::Run(_) } => {
            super::one_sided(PauseRow::FILE, sides.as_ref().map(Side::has_decisions))
        }
        sides => super::one_sided(PFC_FILE, sides.map(Side::has_arrivals)),
    }
}

/// Compares the pauses in a file of both sides. Ids of a side have its own numbers, and times its own offset.
pub fn compare(
    file: &'static str,
    sides: &Pair<Side>,
    numbers: Pair<Option<&Numbering>>,
    tolerance: Tolerance,
) -> Result<PausesComparison, CompareError> {
    let mut places = Places::default();
    let mut read = |side: &Side, numbers| match file {
        PauseRow::FILE => side.read_decisions(&mut places),
        _ => side.read_arrivals(numbers, &mut places),
    };
    let events = Pair { a: read(&sides.a, numbers.a)?, b: read(&sides.b, numbers.b)? };
    Ok(PausesComparison::new(file, events, &places, tolerance))
}

impl PausesComparison {
    /// Compares events. At one instant their order is not compared.
    fn new(
        file: &'static str,
        mut events: Pair<Vec<Event>>,
        places: &Places,
        tolerance: Tolerance,
    ) -> Self {
        // In the order of ports, then of time.
        let mut ranks = vec![0; places.0.len()];
        for (rank, &number) in places.0.values().enumerate() {
            ranks[number] = rank;
        }
        let Pair { a, b } = events.as_mut().map(|events| {
            for event in &mut *events {
                event.place = ranks[event.place];
            }
            events.sort_by_key(|it| (it.place, it.time_ns, it.kind.name()));
            &events[..]
        });
        let mut all = Counts::default();
        let (mut ports, mut first) = (Vec::new(), None);
        for (number, place) in places.0.keys().enumerate() {
            let mut counts = Counts::default();
            let of_port = Pair { a: of_place(a, number), b: of_place(b, number) };
            for (event, side) in of_port
                .a
                .iter()
                .map(|event| (event, 0))
                .chain(of_port.b.iter().map(|event| (event, 1)))
            {
                for counts in [&mut counts, &mut all] {
                    let count = counts.of(event.kind);
                    *[&mut count.a, &mut count.b][side] += 1;
                }
            }
            let differs = FirstPause::find(place, of_port, tolerance);
            first = [first, differs].into_iter().flatten().min_by_key(|it: &FirstPause| it.at_ns);
            ports.push(PortPauses { place: place.clone(), counts });
        }
        Self { file, all, ports, first }
    }

    /// Returns the first difference.
    pub fn first(&self) -> Option<First> {
        let first = self.first.as_ref()?;
        Some(First { at_ns: first.at_ns, place: format!("a pause in {}", self.file) })
    }
}

impl FirstPause {
    /// Finds the first events of a port that differ.
    fn find(place: &Place, events: Pair<&[Event]>, tolerance: Tolerance) -> Option<Self> {
        let Pair { a, b } = events;
        let is_equal = |a: &Event, b: &Event| {
            let times = Pair { a: a.time_ns, b: b.time_ns };
            a.kind == b.kind && tolerance.accepts_instants(times)
        };
        let alike = a.iter().zip(b).take_while(|(a, b)| is_equal(a, b)).count();
        let name = |event: &Event| NamedEvent {
            time_ns: event.time_ns,
            place: place.clone(),
            event: event.kind,
        };
        let [a, b] = [a, b].map(|side| side.get(alike).map(name));
        let times = [&a, &b].map(|event| event.as_ref().map(|event| event.time_ns));
        let at_ns = times.into_iter().flatten().min()?;
        let b_minus_a_ns = times[0].zip(times[1]).map(|(a, b)| i128::from(b) - i128::from(a));
        Some(Self { at_ns, b_minus_a_ns, a, b })
    }
}

/// Returns the events of a port, by its rank. Events are in the order of ports.
fn of_place(events: &[Event], rank: usize) -> &[Event] {
    let from = events.partition_point(|event| event.place < rank);
    let to = events.partition_point(|event| event.place <= rank);
    &events[from..to]
}
