//! Measurements of headroom and of paused ingress queues, for those who ask: what DSH plots in
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
use crate::datapath::Datapath;
use crate::results::{Measure, Measurements};
use crate::scenario::Scenario;
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

/// What passes an ingress queue until its PAUSE must have taken effect.
#[derive(Clone, Copy, Debug)]
struct Window {
    end: Picos,
    arrived_bytes: u64,
    departed_bytes: u64,
}

#[derive(Debug, Default)]
struct IngressQueue {
    reserved: u64,
    headroom: Level,
    /// How long a PAUSE takes until nothing more comes in.
    effect: Picos,
    /// When it was paused that is in state OFF.
    paused: Option<Picos>,
    window: Option<Window>,
}

#[derive(Debug, Default)]
struct Switch {
    reserved: u64,
    headroom: Level,
    queues_off: u64,
    /// When `headroom` or `queues_off` last changed.
    since: Nanos,
    /// By [`ingress_index`].
    queues: Vec<IngressQueue>,
}

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
        let switches = (0..fabric.switch_count()).map(|number| {
            let pools = scenario.buffer_pools(SwitchId(number));
            let ports = fabric.switch(SwitchId(number)).ports.iter().zip(pools.headroom_by_port);
            let queues = ports.flat_map(|(out, reserved)| {
                let effect = effect(scenario, out.reverse());
                std::iter::repeat_with(move || IngressQueue {
                    reserved: reserved.0,
                    effect,
                    ..IngressQueue::default()
                })
                .take(PRIORITIES)
            });
            Switch { reserved: pools.headroom.0, queues: queues.collect(), ..Switch::default() }
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
        switch.count_queues_off(now.to_nanos(), measured);
        let in_use = tables.state().headroom_bytes.load();
        if let Some(most) = switch.headroom.moves_to(in_use) {
            measured.record(Measure::SwitchHeadroom, share(most, switch.reserved), 1);
        }
        let queue = &mut switch.queues[row as usize];
        if let Some(most) = queue.headroom.moves_to(state.headroom_bytes.load()) {
            measured.record(Measure::QueueHeadroom, share(most, queue.reserved), 1);
        }
        queue.count_passage(now, length, passage, measured);
        match (state.off.load() != 0, queue.paused) {
            (true, None) => {
                queue.paused = Some(now);
                let end = now + queue.effect;
                queue.window.get_or_insert(Window { end, arrived_bytes: 0, departed_bytes: 0 });
                switch.queues_off += 1;
            }
            (false, Some(since)) => {
                measured.record(Measure::PauseDuration, (now - since).to_nanos().0, 1);
                queue.paused = None;
                switch.queues_off -= 1;
            }
            _ => {}
        }
    }

    /// The run is over: maxima and pauses that it left count as they are.
    pub fn finish(mut self, now: Picos) -> Measurements {
        let measured = &mut self.measured;
        for switch in &mut self.switches {
            switch.count_queues_off(now.to_nanos(), measured);
            if let Some(most) = switch.headroom.moves_to(0) {
                measured.record(Measure::SwitchHeadroom, share(most, switch.reserved), 1);
            }
            for queue in &mut switch.queues {
                if let Some(most) = queue.headroom.moves_to(0) {
                    measured.record(Measure::QueueHeadroom, share(most, queue.reserved), 1);
                }
                queue.close_window(now, measured);
                if let Some(since) = queue.paused {
                    measured.record(Measure::PauseDuration, (now - since).to_nanos().0, 1);
                }
            }
        }
        self.measured
    }
}

impl Switch {
    /// Closes the interval in which the number of queues in OFF was what it is.
    fn count_queues_off(&mut self, now: Nanos, measured: &mut Measurements) {
        if self.headroom.value != 0 {
            measured.record(Measure::QueuesOff, self.queues_off, now.0 - self.since.0);
        }
        self.since = now;
    }
}

impl IngressQueue {
    fn count_passage(
        &mut self,
        now: Picos,
        length: u64,
        passage: Passage,
        measured: &mut Measurements,
    ) {
        self.close_window(now, measured);
        if let Some(window) = &mut self.window {
            match passage {
                Passage::Arrival => window.arrived_bytes += length,
                Passage::Departure => window.departed_bytes += length,
            }
        }
    }

    /// Takes the rates of a window that ended before `now`.
    fn close_window(&mut self, now: Picos, measured: &mut Measurements) {
        if let Some(window) = self.window.take_if(|window| window.end < now) {
            let rate = |bytes| megabits(bytes, self.effect);
            measured.record(Measure::ArrivalRate, rate(window.arrived_bytes), 1);
            measured.record(Measure::DepartureRate, rate(window.departed_bytes), 1);
        }
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

/// Mbit/s.
fn megabits(bytes: u64, span: Picos) -> u64 {
    const BITS_IN_A_MICROSECOND: u128 = 8_000_000;
    (u128::from(bytes) * BITS_IN_A_MICROSECOND / u128::from(span.0)) as u64
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
    fn a_byte_in_80_picoseconds_is_100_gigabits_a_second() {
        assert_eq!(megabits(1000, Picos(80_000)), 100_000);
        assert_eq!(share(32_218, 64_436), 5_000);
    }
}
