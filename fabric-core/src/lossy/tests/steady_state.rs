//! Compares queue lengths under constant overload with the steady states of BSHARE (Section IV) and ABM (Section 3.2).
//!
//! The papers use a fluid model; these tests use packets of 1000 bytes, in queues of hundreds of them.
//!
//! In BSHARE's Eq. 9 a queue holds the bytes that C sends in theta. A queue really holds the bytes
//! that arrive in theta, so the equations apply to queues that each receive a port's line rate. For
//! `load` times this rate, replace Delta by `load` times Delta.

use std::collections::VecDeque;

use super::*;
use crate::queue::QueueRange;

const BUFFER: u64 = 6_000_000;
const LENGTH: u64 = 1000;
/// Time of a packet of 1000 bytes at 100 Gbit/s.
const STEP: u64 = 80;
const PERIOD: u64 = 20_000;

/// One queue under overload.
struct Queue {
    port: u32,
    id: QueueId,
    class: u8,
    packets: VecDeque<Nanos>,
    /// Thousandths of a packet that have arrived.
    due: u64,
    /// Sum of the queue's packets over all measured steps.
    held: u64,
}

/// A priority: alpha, and its numbers of queues at ports 0 and 1.
type Class = (Ratio, [u8; 2]);

struct Simulation {
    tables: OwnedTables,
    policy: Policy,
    queues: Vec<Queue>,
    turns: [usize; 2],
    /// Max sojourn time of packets sent during the measurement.
    longest: u64,
    measured: u64,
}

impl Simulation {
    fn new(kind: Kind, classes: &[Class]) -> Self {
        let mut tables =
            idle(SwitchConfig { shared_pool_bytes: BUFFER, ..SwitchConfig::default() }, 0);
        let mut alphas = [Ratio::ONE; 8];
        let mut queues = Vec::new();
        let mut first = 0;
        for (class, (alpha, counts)) in (0..).zip(classes) {
            alphas[usize::from(class)] = *alpha;
            let count = counts[0].max(counts[1]);
            tables.config.queues[usize::from(class)] = QueueRange::flow_queues(first, count);
            for (port, count) in (0..).zip(counts) {
                queues.extend((first..first + count).map(|number| Queue {
                    port,
                    id: QueueId::data(number),
                    class,
                    packets: VecDeque::new(),
                    due: 0,
                    held: 0,
                }));
            }
            first += count;
        }
        for class in classes.len()..8 {
            tables.config.queues[class] = QueueRange::one(QueueId::data(128 + class as u8));
        }
        Settings { kind, alphas, first_alphas: alphas, ..Settings::default() }.write(&tables);
        Self { tables, policy: policy(kind), queues, turns: [0; 2], longest: 0, measured: 0 }
    }

    /// Runs for one millisecond, then measures for another. Each queue starts with a burst that
    /// fills it, and then receives `load` thousandths of its port's rate.
    fn run(&mut self, load: u64) {
        for step in 0..25_000 {
            let now = Nanos(step * STEP);
            if now.0.is_multiple_of(PERIOD) {
                Selected::update(&self.tables, self.policy, now);
            }
            let is_measured = step >= 12_500;
            for queue in &mut self.queues {
                queue.due += if step < 5000 { load.max(2000) } else { load };
                while queue.due >= 1000 {
                    queue.due -= 1000;
                    arrive(&self.tables, self.policy, queue, now);
                }
                queue.held += if is_measured { queue.packets.len() as u64 } else { 0 };
            }
            self.measured += u64::from(is_measured);
            for port in 0..2 {
                self.serve(port, now, is_measured);
            }
        }
    }

    /// Round robin: sends one packet, after the packets that the scheme drops.
    fn serve(&mut self, port: u32, now: Nanos, is_measured: bool) {
        let count = self.queues.len();
        for _ in 0..count {
            let turn = &mut self.turns[port as usize];
            *turn = (*turn + 1) % count;
            let queue = &mut self.queues[*turn];
            if queue.port != port {
                continue;
            }
            while let Some(arrived) = queue.packets.pop_front() {
                if is_sent(&self.tables, self.policy, queue, arrived, now) {
                    let sojourn = now.0 - arrived.0;
                    self.longest = self.longest.max(if is_measured { sojourn } else { 0 });
                    return;
                }
            }
        }
    }

    /// Mean length of a queue, bytes.
    fn held(&self, queue: &Queue) -> u64 {
        queue.held * LENGTH / self.measured
    }

    fn held_by(&self, class: u8) -> u64 {
        self.queues.iter().filter(|queue| queue.class == class).map(|queue| self.held(queue)).sum()
    }

    fn congested(&self, class: u8) -> u32 {
        state::priority(&self.tables, Priority::new(class)).unwrap().congested.load() / ONE_QUEUE
    }
}

fn arrive(tables: &OwnedTables, policy: Policy, queue: &mut Queue, now: Nanos) {
    let packet = arriving(tables, SchemeKind::Pfc, 0, LENGTH);
    let row = tables.config.queue_row(queue.port, queue.id);
    let egress = tables.egress_queue(row).unwrap();
    let ingress = Ingress { policy, priority: Priority::new(queue.class), ..packet.ingress };
    let (egress_port, id) = (queue.port, queue.id);
    let packet = Arriving { ingress, egress_port, queue: id, egress, now, ..packet };
    if Selected::admit(&packet).is_ok() {
        egress.bytes.add::<OwnedTables>(LENGTH);
        tables.switch.shared_bytes.add::<OwnedTables>(LENGTH);
        queue.packets.push_back(now);
    }
}

/// Returns true if a packet is sent, false if dropped. Its buffer is released in both cases.
fn is_sent(
    tables: &OwnedTables,
    policy: Policy,
    queue: &Queue,
    arrived: Nanos,
    now: Nanos,
) -> bool {
    let egress = tables.egress_queue(tables.config.queue_row(queue.port, queue.id)).unwrap();
    let ingress = arriving(tables, SchemeKind::Pfc, 0, LENGTH).ingress;
    let leaving = Leaving {
        ingress: Ingress { policy, priority: Priority::new(queue.class), ..ingress },
        egress_port: queue.port,
        queue: queue.id,
        egress,
        length: LENGTH,
        arrived,
        now,
        note: 0,
        first_rtt: false,
    };
    let dropped = Selected::at_departure(&leaving);
    if dropped.is_none() {
        Selected::sent(&leaving);
    }
    egress.bytes.sub::<OwnedTables>(LENGTH);
    tables.switch.shared_bytes.sub::<OwnedTables>(LENGTH);
    dropped.is_none()
}

/// Asserts a value within 5 %.
#[track_caller]
fn near(what: &str, got: u64, numerator: u64, denominator: u64) {
    let expected = u128::from(BUFFER) * u128::from(numerator) / u128::from(denominator);
    let off = u128::from(got).abs_diff(expected);
    assert!(off * 20 <= expected, "{what}: {got} bytes, and not {expected}");
}

const BSHARE: Kind = Kind::Bshare { congestion: NINE_TENTHS, least_bytes: Bytes(0) };
const ABM: Kind = Kind::Active(NINE_TENTHS);

/// alphas of 1/2, 1/4 and 1: their sum is 7/4.
const CLASSES: [Class; 3] = [(ratio(1, 2), [2, 1]), (ratio(1, 4), [1, 1]), (ratio(1, 1), [1, 2])];

/// Eq. 6, 7 and 8, and the minimum of Eq. 11, because all priorities are congested.
#[test]
fn bshare_holds_what_its_equations_say() {
    let mut simulation = Simulation::new(BSHARE, &CLASSES);
    simulation.run(1000);
    assert_eq!([0, 1, 2].map(|class| simulation.congested(class)), [3, 2, 3]);
    let all = [0, 1, 2].map(|class| simulation.held_by(class));
    // In elevenths, because 1 + 7/4 is eleven quarters.
    near("Q, Eq. 6", all.iter().sum(), 7, 11);
    near("B - Q, Eq. 7", BUFFER - all.iter().sum::<u64>(), 4, 11);
    for (class, minimum) in [(0, 2), (1, 1), (2, 4)] {
        near("minimum, Eq. 11", all[class], minimum, 11);
    }
    for queue in &simulation.queues {
        let (part, of) = [(2, 3), (1, 2), (4, 3)][usize::from(queue.class)];
        near("a queue, Eq. 8", simulation.held(queue), part, 11 * of);
    }
}

/// Eq. 13: bytes of a single active priority, which are also its max besides other priorities.
#[test]
fn bshare_keeps_a_priority_below_its_maximum() {
    for (alpha, part) in [(ratio(1, 4), (1, 5)), (ratio(1, 2), (1, 3)), (ratio(1, 1), (1, 2))] {
        for queues in [[2, 0], [2, 2], [3, 1], [4, 4]] {
            let mut simulation = Simulation::new(BSHARE, &[(alpha, queues)]);
            // A queue that is alone at its port stays full because of the load beyond the port's rate.
            simulation.run(1030);
            near("maximum, Eq. 13", simulation.held_by(0), part.0, part.1);
        }
    }
}

/// Eq. 14: a packet of a priority with a single active queue waits for the time in which C drains B
/// alpha / (1 + alpha), and no packet waits longer.
#[test]
fn bshare_bounds_the_time_that_packets_wait() {
    for (alpha, part) in [(ratio(1, 4), 5), (ratio(1, 2), 3), (ratio(1, 1), 2)] {
        let bound = BUFFER / part * STEP / LENGTH;
        for (queues, is_reached) in [([1, 0], true), ([2, 0], false), ([2, 3], false)] {
            let mut simulation = Simulation::new(BSHARE, &[(alpha, queues)]);
            simulation.run(1030);
            let longest = simulation.longest;
            assert!(longest <= bound * 21 / 20, "{longest} of {bound} ns with {queues:?}");
            assert_eq!(longest >= bound * 19 / 20, is_reached, "{longest} of {bound} ns");
        }
    }
}

/// Each queue receives twice its port's rate: Eq. 6 with twice every Delta.
#[test]
fn what_bshare_holds_grows_with_what_arrives() {
    let mut simulation = Simulation::new(BSHARE, &CLASSES);
    simulation.run(2000);
    near("Q at load 2", [0, 1, 2].map(|class| simulation.held_by(class)).iter().sum(), 7, 9);
}

/// ABM's steady state: Eq. 6 to 8, with Delta times the fraction of its port's rate at which a
/// queue drains. Under round robin all fractions of a port are equal.
#[test]
fn abm_holds_what_its_equations_say() {
    let mut simulation = Simulation::new(ABM, &CLASSES);
    simulation.run(1500);
    assert_eq!([0, 1, 2].map(|class| simulation.congested(class)), [3, 2, 3]);
    // Four queues at each port drain at a quarter of its rate each.
    let all = [0, 1, 2].map(|class| simulation.held_by(class));
    // 1 + 7/16, in sixteenths.
    near("Q", all.iter().sum(), 7, 23);
    near("B - Q", BUFFER - all.iter().sum::<u64>(), 16, 23);
    for (class, part) in [(0, 2), (1, 1), (2, 4)] {
        near("a priority", all[class], part, 23);
    }
    for queue in &simulation.queues {
        let (part, of) = [(2, 3), (1, 2), (4, 3)][usize::from(queue.class)];
        near("a queue", simulation.held(queue), part, 23 * of);
    }
}

/// Each queue has a separate port: the minimum B alpha / (1 + sum of alphas), and for a single queue the maximum B
/// alpha / (1 + alpha).
#[test]
fn abm_gives_priorities_their_minimum_and_no_more_than_their_maximum() {
    let mut simulation = Simulation::new(ABM, &[(ratio(1, 2), [1, 0]), (ratio(1, 4), [0, 1])]);
    simulation.run(1500);
    near("minimum", simulation.held_by(0), 2, 7);
    near("minimum", simulation.held_by(1), 1, 7);
    for (alpha, part) in [(ratio(1, 4), 5), (ratio(1, 2), 3), (ratio(1, 1), 2)] {
        for queues in [[1, 0], [1, 1]] {
            let mut simulation = Simulation::new(ABM, &[(alpha, queues)]);
            simulation.run(1500);
            near("maximum", simulation.held_by(0), 1, part);
        }
    }
}

/// B alpha / (C (1 + alpha)) is the max time to drain a queue, whatever other queues do. A queue that is alone reaches
/// it.
#[test]
fn abm_bounds_the_time_that_a_queue_drains() {
    for (alpha, part) in [(ratio(1, 4), 5), (ratio(1, 2), 3), (ratio(1, 1), 2)] {
        let bound = BUFFER / part * STEP / LENGTH;
        for (queues, is_reached) in [([1, 0], true), ([2, 0], false), ([2, 3], false)] {
            let mut simulation = Simulation::new(ABM, &[(alpha, queues)]);
            simulation.run(1500);
            let longest = simulation.longest;
            assert!(longest <= bound * 21 / 20, "{longest} of {bound} ns with {queues:?}");
            assert_eq!(longest >= bound * 19 / 20, is_reached, "{longest} of {bound} ns");
        }
    }
}
