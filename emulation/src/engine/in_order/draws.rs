//! Random numbers in the order of events, as ns-3 draws them: marks, losses, and numbers that PFC frames use up.
//!
//! In HPCC's simulator each number for a mark is the first of a new stream. Streams count up over the whole run. In
//! `ConWeave`'s each switch has a copy of one stream from its start, and PFC frames have no effect. Losses have one stream,
//! with a copy for each link that has an own rate, and one for all others. ns3-datacenter marks packets that come in.

use scenario::{Fault, MarkAt, Numbers, Scenario};
use topology::WireId;

use super::mrg32k3a::{Generator, Jump};
use crate::engine::faults::FaultTally;
use crate::switch_settings;

/// Stream of losses.
const LOSS_STREAM: u64 = (1 << 63) + 50;
/// Stream of marks, of which each switch of `ConWeave`'s simulator has a copy.
const MARK_STREAM: u64 = 1 << 63;
/// Streams that the simulator uses up before a run: of each node, and beside them.
const STREAMS_PER_NODE: u64 = 6;
const OTHER_STREAMS: u64 = 2;
/// Streams that a link with an own rate uses up.
const STREAMS_PER_LOSSY_LINK: u64 = 2;

/// Marking at a port, in doubles.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks {
    kmin: u64,
    kmax: u64,
    pmax: f64,
}

/// Losses on a link.
#[derive(Clone, Copy, Debug)]
struct Losses {
    rate: f64,
    /// Place of the generator.
    generator: usize,
    /// True if the rate is the link's own.
    own: bool,
    /// Index of the fault in the scenario that covers each wire.
    faults: [u32; 2],
    /// Counters of both wires.
    tallies: [FaultTally; 2],
}

/// Numbers for marks.
#[derive(Debug)]
enum Source {
    /// A stream for each number.
    Streams {
        /// Generator of the next stream.
        next: Generator,
        to_next: Jump,
    },
    /// A stream for each switch.
    Switches(Box<[Generator]>),
}

/// See the module.
#[derive(Debug)]
pub struct Draws {
    source: Source,
    /// Instant of marks.
    pub mark_at: MarkAt,
    /// By switch and port; empty if nothing is marked.
    marks: Vec<Box<[Marks]>>,
    /// By link.
    losses: Box<[Option<Losses>]>,
    generators: Vec<Generator>,
}

impl Draws {
    /// The numbers of a run.
    pub fn new(scenario: &Scenario) -> Self {
        let fabric = scenario.fabric();
        let of_switches = scenario.numbers == Numbers::Mrg32k3aOfSwitches;
        let seed = if of_switches { scenario.seed as u32 } else { 1 };
        let links = fabric.wires().len() / 2;
        let mut losses: Vec<Option<Losses>> = vec![None; links];
        let mut generators = Vec::new();
        let lost = |fault: &Fault| match fault {
            Fault::Loss { rate: Some(rate), nth: None, .. } => Some(rate.trillionths as f64 / 1e12),
            _ => None,
        };
        let mut of_own = 0;
        // A fault of all wires is the simulator's common rate; others are a link's own.
        for (index, fault) in (0..).zip(&scenario.faults) {
            let Some(rate) = lost(fault) else { continue };
            let covered: Vec<usize> = (0..links)
                .filter(|&link| {
                    let wire = WireId::at(2 * link);
                    [wire, wire.reverse()].iter().any(|&it| fault.covers(&fabric.wire(it).name))
                })
                .collect();
            let own = covered.len() < links;
            for (number, &link) in covered.iter().enumerate() {
                if let Some(known) = &mut losses[link]
                    && known.own
                    && own
                    && known.rate.total_cmp(&rate).is_eq()
                {
                    // The entry of the link's other wire.
                    let wire = WireId::at(2 * link).reverse();
                    let is_second = fault.covers(&fabric.wire(wire).name);
                    known.faults[usize::from(is_second)] = index;
                    continue;
                }
                if number == 0 || own {
                    generators.push(Generator::seeded(seed, LOSS_STREAM));
                    of_own += u64::from(own);
                }
                losses[link] = Some(Losses {
                    rate,
                    generator: generators.len() - 1,
                    own,
                    faults: [index; 2],
                    tallies: [FaultTally::default(); 2],
                });
            }
        }
        let nodes = fabric.nodes().len() as u64;
        let first = STREAMS_PER_NODE * nodes + OTHER_STREAMS + STREAMS_PER_LOSSY_LINK * of_own;
        let source = if of_switches {
            let of_switch = Generator::seeded(seed, MARK_STREAM);
            Source::Switches(vec![of_switch; fabric.switch_count() as usize].into())
        } else {
            Source::Streams { next: Generator::of_stream(first), to_next: Jump::to_next_stream() }
        };
        let marks = switch_settings::marks(scenario);
        let marks = marks.into_iter().map(|ports| {
            let of = |marking: switch_user::control_plane::Marking| Marks {
                kmin: marking.kmin.0,
                kmax: marking.kmax.0,
                pmax: f64::from(marking.pmax_millionths) / 1e6,
            };
            ports.into_iter().map(of).collect()
        });
        let mark_at = scenario.switch.ecn.as_ref().map(|ecn| ecn.mark_at).unwrap_or_default();
        Self { source, mark_at, marks: marks.collect(), losses: losses.into(), generators }
    }

    /// Uses up numbers whose values have no effect.
    pub fn skip(&mut self, count: usize) {
        if let Source::Streams { next, to_next } = &mut self.source {
            (0..count).for_each(|_| next.jump(to_next));
        }
    }

    /// Decides about a mark of a packet whose queue has `bytes`: without the packet if it leaves, with it if it comes in.
    pub fn marks(&mut self, switch: u32, port: u16, bytes: u64) -> bool {
        let Some(ports) = self.marks.get(switch as usize) else { return false };
        let Marks { kmin, kmax, pmax } = ports[usize::from(port)];
        if bytes > kmax {
            return true;
        }
        if bytes <= kmin {
            return false;
        }
        let (above, range) = ((bytes - kmin) as f64, (kmax - kmin) as f64);
        match &mut self.source {
            Source::Streams { next, to_next } => {
                let mut stream = *next;
                next.jump(to_next);
                stream.draw() < pmax * above / range
            }
            Source::Switches(generators) => {
                generators[switch as usize].draw() < above / range * pmax
            }
        }
    }

    /// Decides about the loss of a frame that arrives by a wire.
    #[inline]
    pub fn loses(&mut self, wire: WireId) -> bool {
        let Some(losses) = &mut self.losses[(wire.0 / 2) as usize] else { return false };
        let is_lost = self.generators[losses.generator].draw() < losses.rate;
        let tally = &mut losses.tallies[(wire.0 % 2) as usize];
        tally.seen += 1;
        tally.frames += u64::from(is_lost);
        is_lost
    }

    /// Counters of losses, by the fault's index and the wire.
    pub fn tallies(&self) -> impl Iterator<Item = (u32, u32, FaultTally)> {
        let losses = (0..).zip(&self.losses);
        losses.filter_map(|(link, losses)| Some((link, losses.as_ref()?))).flat_map(
            |(link, losses): (u32, &Losses)| {
                let wires = (2 * link..).zip(losses.tallies);
                losses
                    .faults
                    .into_iter()
                    .zip(wires)
                    .map(|(fault, (wire, tally))| (fault, wire, tally))
            },
        )
    }
}
