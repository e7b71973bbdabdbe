//! Measurements of headroom and of paused ingress queues and ports, for those who ask: what DSH plots in
//! Fig. 6 to 10.
//!
//! Exact and driven by events: it is told of each packet that comes to or leaves an ingress queue, and
//! reads the tables right after.

use fabric_core::departure::Departure;
use fabric_core::headroom::PAUSE_WIRE_BYTES;
use fabric_core::map_abi::{self, PRIORITIES};
use fabric_core::tables::{Tables, ingress_index};
use fabric_core::units::{Bytes, Nanos, Picos};
use switch_user::tables::SwitchTables;

use super::Engine;
use super::off_state::{OffMeasures, OffState};
use crate::datapath::Datapath;
use crate::results::{Measure, Measurements};
use crate::scenario::{Headroom, Scenario};
use crate::topology::{SwitchId, WireId};

/// What a packet did to its ingress queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It was admitted.
    Arrival,
    /// Its transmission began.
    Departure,
}

/// Follows one level from maximum to maximum.
#[derive(Debug, Default)]
struct Level {
    value: u64,
    rising: bool,
}

impl Level {
    /// The maximum that was passed if the level has fallen.
    fn moves_to(&mut self, value: u64) -> Option<u64> {
        let before = std::mem::replace(&mut self.value, value);
        let passed = value < before && self.rising;
        self.rising = value > before || (value == before && self.rising);
        passed.then_some(before)
    }
}

/// How much of a reserve is in use.
#[derive(Debug)]
struct Reserve {
    measure: Measure,
    bytes: u64,
    in_use: Level,
}

impl Reserve {
    fn new(measure: Measure, bytes: Bytes) -> Self {
        Self { measure, bytes: bytes.0, in_use: Level::default() }
    }

    fn moves_to(&mut self, in_use: u64, measured: &mut Measurements) {
        if let Some(most) = self.in_use.moves_to(in_use) {
            measured.record(self.measure, share(most, self.bytes), 1);
        }
    }
}

/// How many are OFF, while a reserve is in use.
#[derive(Debug)]
struct Count {
    measure: Measure,
    off: u64,
    /// When `off`, or whether the reserve is in use, last changed.
    since: Nanos,
}

impl Count {
    const fn new(measure: Measure) -> Self {
        Self { measure, off: 0, since: Nanos(0) }
    }

    /// Closes the interval in which the number and `reserve` were what they are.
    fn close(&mut self, now: Nanos, reserve: &Reserve, measured: &mut Measurements) {
        if reserve.in_use.value != 0 {
            measured.record(self.measure, self.off, now.0 - self.since.0);
        }
        self.since = now;
    }

    fn turn(&mut self, before: bool, after: bool) {
        self.off = self.off - u64::from(before) + u64::from(after);
    }
}

#[derive(Debug)]
struct IngressQueue {
    headroom: Reserve,
    state: OffState,
}

#[derive(Debug)]
struct Port {
    headroom: Reserve,
    queues_off: Count,
    /// By priority.
    queues: [IngressQueue; PRIORITIES],
    /// Nothing where ports do not pause.
    state: Option<OffState>,
}

#[derive(Debug)]
struct Switch {
    headroom: Reserve,
    queues_off: Count,
    ports_off: Count,
    ports: Vec<Port>,
}

const OF_QUEUES: OffMeasures = OffMeasures {
    arrival_rate: Measure::ArrivalRate,
    departure_rate: Measure::DepartureRate,
    duration: Measure::PauseDuration,
};

const OF_PORTS: OffMeasures = OffMeasures {
    arrival_rate: Measure::PortArrivalRate,
    departure_rate: Measure::PortDepartureRate,
    duration: Measure::PortPauseDuration,
};

/// The state of all lossless ingress queues, and what was measured so far.
#[derive(Debug, Default)]
pub struct HeadroomStudy {
    switches: Vec<Switch>,
    lossless: u8,
    measured: Measurements,
}

impl HeadroomStudy {
    /// Before the first packet.
    pub fn new(scenario: &Scenario) -> Self {
        let fabric = scenario.fabric();
        let ports_pause = matches!(scenario.switch.headroom, Headroom::Dsh(_));
        let switches = (0..fabric.switch_count()).map(|number| {
            let pools = scenario.buffer_pools(SwitchId(number));
            let wires = &fabric.switch(SwitchId(number)).ports;
            let ports = wires.iter().zip(&pools.headroom_by_port).map(|(out, &reserved)| {
                let effect = effect(scenario, out.reverse());
                let queues =
                    if ports_pause { 1 } else { u64::from(scenario.switch.lossless.count()) };
                Port {
                    headroom: Reserve::new(Measure::PortHeadroom, Bytes(queues * reserved.0)),
                    queues_off: Count::new(Measure::PortQueuesOff),
                    queues: std::array::from_fn(|_| IngressQueue {
                        headroom: Reserve::new(Measure::QueueHeadroom, reserved),
                        state: OffState::new(OF_QUEUES, effect),
                    }),
                    state: ports_pause.then(|| OffState::new(OF_PORTS, effect)),
                }
            });
            Switch {
                headroom: Reserve::new(Measure::SwitchHeadroom, pools.headroom),
                queues_off: Count::new(Measure::QueuesOff),
                ports_off: Count::new(Measure::PortsOff),
                ports: ports.collect(),
            }
        });
        Self {
            switches: switches.collect(),
            lossless: scenario.switch.lossless.0,
            measured: Measurements::default(),
        }
    }

    /// A packet of `length` bytes came to or left the ingress queue (port, priority) of a switch, whose
    /// tables show it already.
    pub fn observe(
        &mut self,
        now: Picos,
        switch: u32,
        tables: &SwitchTables,
        (port, priority): (u32, u32),
        length: u32,
        passage: Passage,
    ) {
        if self.lossless >> priority & 1 == 0 {
            return;
        }
        let length = u64::from(length);
        let off = ingress_queue(tables, port, priority).off.load() != 0;
        let switch = &mut self.switches[switch as usize];
        let measured = &mut self.measured;
        switch.read_headroom(now, port, tables, measured);
        let port_study = &mut switch.ports[port as usize];
        let queue = &mut port_study.queues[priority as usize];
        queue.state.count_passage(now, length, passage, measured);
        let was_off = queue.state.is_off();
        queue.state.turn(off, now, measured);
        let is_off = queue.state.is_off();
        port_study.queues_off.turn(was_off, is_off);
        switch.queues_off.turn(was_off, is_off);
        if let Some(state) = &mut port_study.state {
            state.count_passage(now, length, passage, measured);
        }
        switch.turn_port(now, port, tables, measured);
    }

    /// The pause of a port was about to run out: it may be ON now, without a packet having passed.
    pub fn observe_renewal(&mut self, now: Picos, switch: u32, tables: &SwitchTables, port: u32) {
        let switch = &mut self.switches[switch as usize];
        let measured = &mut self.measured;
        switch.read_headroom(now, port, tables, measured);
        switch.turn_port(now, port, tables, measured);
    }

    /// The run is over: maxima and pauses that it left count as they are.
    pub fn finish(mut self, now: Picos) -> Measurements {
        let measured = &mut self.measured;
        for switch in &mut self.switches {
            for port in 0..switch.ports.len() as u32 {
                switch.close(now.to_nanos(), port, measured);
            }
            switch.headroom.moves_to(0, measured);
            for port in &mut switch.ports {
                port.headroom.moves_to(0, measured);
                for queue in &mut port.queues {
                    queue.headroom.moves_to(0, measured);
                    queue.state.finish(now, measured);
                }
                if let Some(state) = &mut port.state {
                    state.finish(now, measured);
                }
            }
        }
        self.measured
    }
}

impl Switch {
    /// Closes the interval in which the numbers in OFF of the switch and of a port were what they are.
    fn close(&mut self, now: Nanos, port: u32, measured: &mut Measurements) {
        self.queues_off.close(now, &self.headroom, measured);
        let port = &mut self.ports[port as usize];
        port.queues_off.close(now, &port.headroom, measured);
        if port.state.is_some() {
            self.ports_off.close(now, &self.headroom, measured);
        }
    }

    /// Headroom of the switch, and of a port and its queues, is in use as the tables show. Under DSH a packet
    /// of one queue moves bytes of others.
    fn read_headroom(
        &mut self,
        now: Picos,
        port: u32,
        tables: &SwitchTables,
        measured: &mut Measurements,
    ) {
        self.close(now.to_nanos(), port, measured);
        self.headroom.moves_to(tables.state().headroom_bytes.load(), measured);
        let study = &mut self.ports[port as usize];
        let mut of_port = 0;
        for (priority, queue) in (0..).zip(&mut study.queues) {
            let in_use = ingress_queue(tables, port, priority).headroom_bytes.load();
            queue.headroom.moves_to(in_use, measured);
            of_port += in_use;
        }
        study.headroom.moves_to(of_port, measured);
    }

    /// A port is in the state that the tables show.
    fn turn_port(
        &mut self,
        now: Picos,
        port: u32,
        tables: &SwitchTables,
        measured: &mut Measurements,
    ) {
        let off = tables.port(port).is_some_and(|port| port.off.load() != 0);
        let Some(state) = &mut self.ports[port as usize].state else { return };
        let was_off = state.is_off();
        state.turn(off, now, measured);
        self.ports_off.turn(was_off, state.is_off());
    }
}

impl<D: Datapath> Engine<'_, D> {
    /// A packet was admitted that came in by `port` and lies in `slot`.
    #[inline]
    pub(super) fn study_arrival(&mut self, switch: u32, port: u16, slot: u32, length: u32) {
        if let Some(study) = &mut self.study {
            let tables = self.datapath.tables(switch);
            let packet = tables.descriptor(slot).expect("a queued slot has a descriptor");
            let queue = (u32::from(port), packet.priority.load());
            study.observe(self.now, switch, tables, queue, length, Passage::Arrival);
        }
    }

    /// The pause of a port was to be renewed.
    pub(super) fn study_renewal(&mut self, switch: u32, port: u16) {
        if let Some(study) = &mut self.study {
            let tables = self.datapath.tables(switch);
            study.observe_renewal(self.now, switch, tables, u32::from(port));
        }
    }

    /// The transmission of a packet begins.
    #[inline]
    pub(super) fn study_departure(&mut self, switch: u32, departure: &Departure, length: u32) {
        if let Some(study) = &mut self.study {
            let tables = self.datapath.tables(switch);
            let queue = (departure.ingress_port, departure.priority);
            study.observe(self.now, switch, tables, queue, length, Passage::Departure);
        }
    }
}

fn ingress_queue(tables: &SwitchTables, port: u32, priority: u32) -> &map_abi::IngressQueue {
    tables.ingress_queue(ingress_index(port, priority)).expect("the port is the switch's")
}

/// From the decision to pause the sender of a wire until nothing more can arrive over it: the PAUSE waits for
/// the frame being sent and crosses the link, the sender may start its last frame when its response time
/// ends, and that one crosses the link.
fn effect(scenario: &Scenario, wire: WireId) -> Picos {
    let fabric = scenario.fabric();
    let wire = fabric.wire(wire);
    let response = scenario.pause_response(wire.from);
    let longest = scenario.longest_frame().0 + scenario.switch.wire_overhead.0;
    let serialisation = wire.rate.serialise(2 * longest + PAUSE_WIRE_BYTES);
    serialisation + wire.delay + wire.delay + response.at(wire.rate)
}

/// In 1/10000.
fn share(part: u64, whole: u64) -> u64 {
    part * 10_000 / whole.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maximum_is_passed_when_the_level_falls() {
        let mut level = Level::default();
        let passed: Vec<Option<u64>> =
            [5, 9, 9, 4, 2, 2, 6, 0, 0].into_iter().map(|value| level.moves_to(value)).collect();
        assert_eq!(passed, [None, None, None, Some(9), None, None, None, Some(6), None]);
    }

    #[test]
    fn a_share_is_in_ten_thousandths() {
        assert_eq!(share(32_218, 64_436), 5_000);
    }
}
