//! Compares OFC with a model that has a queue for each flow, under arrivals, departures, pauses and resumes in any
//! order.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::held::{Flow, Held, LENGTH, Thresholds, names};
use crate::hop_control::HopControl;

#[derive(Clone, Copy, Debug)]
enum Event {
    Arrival(Flow),
    Departure {
        port: u32,
    },
    /// The neighbour at the flow's egress port pauses the flow, or resumes it if paused.
    Toggled(Flow),
    /// The neighbour at `port` pauses or resumes all flows.
    All {
        port: u32,
        paused: bool,
    },
}

fn any_flow(numbers: u16) -> impl Strategy<Value = Flow> {
    (0..2u32, prop_oneof![1 => Just(0), 4 => Just(1u32)], 0..numbers)
        .prop_map(|(from, to, number)| Flow { from, to, number })
}

fn any_event(numbers: u16) -> impl Strategy<Value = Event> {
    prop_oneof![
        5 => any_flow(numbers).prop_map(Event::Arrival),
        4 => (0..2u32).prop_map(|port| Event::Departure { port }),
        3 => any_flow(numbers).prop_map(Event::Toggled),
        1 => (0..2u32, any::<bool>()).prop_map(|(port, paused)| Event::All { port, paused }),
    ]
}

/// Thresholds in packets: X_on from 0 to 5, `X_off^c` above it, and `X_off` above that.
fn any_thresholds() -> impl Strategy<Value = Thresholds> {
    (0..6u64, 1..5u64, 1..5u64).prop_map(|(xon, congested, xoff)| Thresholds {
        xon: xon * LENGTH,
        congested: (xon + congested) * LENGTH,
        xoff: (xon + congested + xoff) * LENGTH,
    })
}

/// The flows that neighbours have paused, and the flows reported to neighbours.
struct Model {
    held: Held,
    thresholds: Thresholds,
    numbers: u16,
    paused: BTreeSet<Flow>,
    reported: BTreeSet<(u32, u32)>,
    /// True if every flow finds an entry.
    has_room: bool,
}

impl Model {
    fn new(flow_lines: u16, thresholds: Thresholds, numbers: u16, has_room: bool) -> Self {
        let (paused, reported) = Default::default();
        Self {
            held: Held::with(flow_lines, thresholds),
            thresholds,
            numbers,
            paused,
            reported,
            has_room,
        }
    }

    fn flows(&self, port: u32) -> Vec<Flow> {
        let flow = |from, number| Flow { from, to: port, number };
        (0..2).flat_map(|from| (0..self.numbers).map(move |number| flow(from, number))).collect()
    }

    fn is_local(&self, port: u32) -> bool {
        self.paused.iter().any(|flow| flow.to == port)
    }

    fn receive(&mut self, port: u32, flows: &[Flow], paused: bool) {
        let changes: Vec<Flow> =
            flows.iter().copied().filter(|flow| self.paused.contains(flow) != paused).collect();
        for list in changes.chunks(4) {
            self.held.receive(port, paused, list);
        }
        for flow in changes {
            if paused {
                self.paused.insert(flow)
            } else {
                self.paused.remove(&flow)
            };
        }
        let count = self.paused.iter().filter(|flow| flow.to == port).count();
        assert_eq!(self.held.class(port).paused_flows.load() as usize, count);
    }

    fn arrive(&mut self, flow: Flow) {
        let was_off = self.held.is_off(flow.from);
        let Ok(orders) = self.held.arrive(flow) else { return };
        for name in names(&orders, true) {
            assert!(self.reported.insert((flow.from, name)), "this flow was reported before");
        }
        assert!(names(&orders, false).is_empty());
        let turned_off = orders.iter().any(|order| matches!(order.control, HopControl::Classes(_)));
        assert_eq!(turned_off, self.held.is_off(flow.from) && !was_off);
        let (q_in, q_out) = (self.held.q_in(flow.from), self.held.q_out(flow.to));
        if !self.has_room {
            return;
        }
        assert_eq!(turned_off, !was_off && q_in >= self.thresholds.xoff);
        let threshold = self.thresholds.congested;
        let congested = q_in >= threshold && q_out >= threshold && !self.held.is_off(flow.from);
        let cause = !self.is_local(flow.to) || self.paused.contains(&flow);
        if congested && cause {
            assert!(self.reported.contains(&(flow.from, flow.name())));
        } else {
            assert!(names(&orders, true).is_empty());
        }
    }

    /// Sends a packet. Returns true if one has left.
    fn depart(&mut self, port: u32) -> bool {
        let Some((flow, orders)) = self.held.depart(port) else {
            if self.has_room {
                let waiting = self.held.waiting(port);
                assert!(waiting.is_subset(&self.paused), "{waiting:?} may go");
            }
            return false;
        };
        assert!(!self.paused.contains(&flow), "{flow:?} is paused");
        for name in names(&orders, false) {
            assert!(self.reported.remove(&(flow.from, name)), "nobody paused that");
        }
        if self.held.q_in(flow.from) <= self.thresholds.xon {
            assert!(!self.reported.iter().any(|(port, _)| *port == flow.from));
            assert!(!self.held.is_off(flow.from));
        }
        true
    }

    fn apply(&mut self, event: Event) {
        match event {
            Event::Arrival(flow) => self.arrive(flow),
            Event::Departure { port } => {
                self.depart(port);
            }
            Event::Toggled(flow) => {
                let paused = !self.paused.contains(&flow);
                self.receive(flow.to, &[flow], paused);
            }
            Event::All { port, paused } => self.receive(port, &self.flows(port), paused),
        }
    }

    /// Resumes all flows and sends all packets.
    fn drain(&mut self) {
        for port in 0..2 {
            self.receive(port, &self.flows(port), false);
            while self.depart(port) {}
        }
        assert!(self.reported.is_empty());
        self.held.assert_empty();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 512 }))]

    /// Each flow keeps its order and loses no packet; packets of paused flows stay and all others may leave; a flow is
    /// reported once and resumed when X_on is reached; the tables are empty at the end.
    #[test]
    fn flows_have_queues_of_their_own(
        thresholds in any_thresholds(),
        events in proptest::collection::vec(any_event(4), 0..200),
    ) {
        let mut model = Model::new(8, thresholds, 4, true);
        for event in events {
            model.apply(event);
        }
        model.drain();
    }

    /// With room for four of 24 flows, too, packets of paused flows stay, no packet is reordered or
    /// lost, and no packet remains at the end.
    #[test]
    fn a_full_table_loses_nothing(
        thresholds in any_thresholds(),
        events in proptest::collection::vec(any_event(12), 0..200),
    ) {
        let mut model = Model::new(1, thresholds, 12, false);
        for event in events {
            model.apply(event);
        }
        model.drain();
    }
}
