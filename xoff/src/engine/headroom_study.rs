//! Measurements of headroom and of paused ingress queues and ports, for those who ask: what DSH plots in
//! Fig. 6 to 10.
//!
//! Exact and driven by events: it is told of each packet that comes to or leaves an ingress queue, and
//! reads the tables right after.

use fabric_core::departure::Departure;
use fabric_core::headroom::PAUSE_WIRE_BYTES;
use fabric_core::map_abi::PRIORITIES;
use fabric_core::tables::{Tables, ingress_index};
use fabric_core::units::{Nanos, Picos};
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

#[derive(Debug)]
struct IngressQueue {
    reserved: u64,
    headroom: Level,
    state: OffState,
}

#[derive(Debug, Default)]
struct Switch {
    reserved: u64,
    headroom: Level,
    queues_off: u64,
    ports_off: u64,
    /// When `headroom`, `queues_off` or `ports_off` last changed.
    since: Nanos,
    /// By port, and there by priority.
    queues: Vec<IngressQueue>,
    /// By number; empty where ports do not pause.
    ports: Vec<OffState>,
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
            let effects = wires.iter().map(|out| effect(scenario, out.reverse()));
            let queues =
                effects.clone().zip(pools.headroom_by_port).flat_map(|(effect, reserved)| {
                    std::iter::repeat_with(move || IngressQueue {
                        reserved: reserved.0,
                        headroom: Level::default(),
                        state: OffState::new(OF_QUEUES, effect),
                    })
                    .take(PRIORITIES)
                });
            let ports = effects.map(|effect| OffState::new(OF_PORTS, effect));
            Switch {
                reserved: pools.headroom.0,
                queues: queues.collect(),
                ports: if ports_pause { ports.collect() } else { Vec::new() },
                ..Switch::default()
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
        let row = ingress_index(port, priority);
        let state = tables.ingress_queue(row).expect("the port is the switch's");
        let switch = &mut self.switches[switch as usize];
        let measured = &mut self.measured;
        switch.count_off(now.to_nanos(), measured);
        switch.headroom_moves_to(tables.state().headroom_bytes.load(), measured);
        let queue = &mut switch.queues[port as usize * PRIORITIES + priority as usize];
        if let Some(most) = queue.headroom.moves_to(state.headroom_bytes.load()) {
            measured.record(Measure::QueueHeadroom, share(most, queue.reserved), 1);
        }
        queue.state.count_passage(now, length, passage, measured);
        switch.queues_off -= u64::from(queue.state.is_off());
        queue.state.turn(state.off.load() != 0, now, measured);
        switch.queues_off += u64::from(queue.state.is_off());
        if let Some(port_state) = switch.ports.get_mut(port as usize) {
            port_state.count_passage(now, length, passage, measured);
            switch.turn_port(now, port, tables, measured);
        }
    }

    /// The pause of a port was about to run out: it may be ON now, without a packet having passed.
    pub fn observe_renewal(&mut self, now: Picos, switch: u32, tables: &SwitchTables, port: u32) {
        let switch = &mut self.switches[switch as usize];
        let measured = &mut self.measured;
        switch.count_off(now.to_nanos(), measured);
        switch.headroom_moves_to(tables.state().headroom_bytes.load(), measured);
        switch.turn_port(now, port, tables, measured);
    }

    /// The run is over: maxima and pauses that it left count as they are.
    pub fn finish(mut self, now: Picos) -> Measurements {
        let measured = &mut self.measured;
        for switch in &mut self.switches {
            switch.count_off(now.to_nanos(), measured);
            switch.headroom_moves_to(0, measured);
            for queue in &mut switch.queues {
                if let Some(most) = queue.headroom.moves_to(0) {
                    measured.record(Measure::QueueHeadroom, share(most, queue.reserved), 1);
                }
                queue.state.finish(now, measured);
            }
            for port in &mut switch.ports {
                port.finish(now, measured);
            }
        }
        self.measured
    }
}

impl Switch {
    /// Closes the interval in which the numbers of queues and ports in OFF were what they are.
    fn count_off(&mut self, now: Nanos, measured: &mut Measurements) {
        if self.headroom.value != 0 {
            let span = now.0 - self.since.0;
            measured.record(Measure::QueuesOff, self.queues_off, span);
            if !self.ports.is_empty() {
                measured.record(Measure::PortsOff, self.ports_off, span);
            }
        }
        self.since = now;
    }

    fn headroom_moves_to(&mut self, in_use: u64, measured: &mut Measurements) {
        if let Some(most) = self.headroom.moves_to(in_use) {
            measured.record(Measure::SwitchHeadroom, share(most, self.reserved), 1);
        }
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
        let state = &mut self.ports[port as usize];
        self.ports_off -= u64::from(state.is_off());
        state.turn(off, now, measured);
        self.ports_off += u64::from(state.is_off());
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
