//! Optional measurements of headroom and of paused ingress queues and ports, for DSH's Fig. 6 to 10.
//!
//! Exact and event-driven: it is called for each packet that enters or leaves an ingress queue, and reads the
//! tables right after.

use fabric_core::map_abi::PRIORITIES;
use fabric_core::policy::Policy;
use fabric_core::priority::{self, Priority};
use fabric_core::scheme::{Selected, Watched};
use results::{Measure, Measurements};
use scenario::Scenario;
use switch_user::tables::SwitchTables;
use topology::{SwitchId, WireId};
use units::{Bytes, Nanos, Picos};

use super::off_state::{OffMeasures, OffState};
use crate::switch_settings;

/// Event of a packet at its ingress queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// The packet was admitted.
    Arrival,
    /// Its transmission began.
    Departure,
}

/// Finds the local maxima of a number.
#[derive(Debug, Default)]
struct Peaks {
    value: u64,
    rising: bool,
}

impl Peaks {
    /// The last maximum, if the value has just begun to fall.
    fn moves_to(&mut self, value: u64) -> Option<u64> {
        let before = std::mem::replace(&mut self.value, value);
        let passed = value < before && self.rising;
        self.rising = value > before || (value == before && self.rising);
        passed.then_some(before)
    }
}

/// Use of a reserve.
#[derive(Debug)]
struct Reserve {
    measure: Measure,
    bytes: u64,
    in_use: Peaks,
}

impl Reserve {
    fn new(measure: Measure, bytes: Bytes) -> Self {
        Self { measure, bytes: bytes.0, in_use: Peaks::default() }
    }

    fn moves_to(&mut self, in_use: u64, measured: &mut Measurements) {
        if let Some(most) = self.in_use.moves_to(in_use) {
            measured.record(self.measure, share(most, self.bytes), 1);
        }
    }
}

/// Number of OFF queues or ports, while a reserve is in use.
#[derive(Debug)]
struct Count {
    measure: Measure,
    off: u64,
    /// Last change of `off`, or of the reserve's state of use.
    since: Nanos,
}

impl Count {
    const fn new(measure: Measure) -> Self {
        Self { measure, off: 0, since: Nanos(0) }
    }

    /// Ends the interval in which the number and `reserve` were constant.
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
struct QueueStudy {
    headroom: Reserve,
    state: OffState,
}

#[derive(Debug)]
struct PortStudy {
    headroom: Reserve,
    queues_off: Count,
    /// Studies by priority.
    queues: [QueueStudy; PRIORITIES],
    /// `None` if ports do not pause.
    state: Option<OffState>,
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

/// The state of the lossless ingress queues of a switch.
#[derive(Debug)]
pub struct HeadroomStudy {
    headroom: Reserve,
    queues_off: Count,
    ports_off: Count,
    ports: Vec<PortStudy>,
    policy: Policy,
    lossless: u8,
}

impl HeadroomStudy {
    /// The study before the first packet.
    pub fn new(scenario: &Scenario, switch: SwitchId) -> Self {
        let policy = switch_settings::policy(scenario);
        let ports_pause = Selected::pauses_ports(policy);
        let pools = scenario.buffer_pools(switch);
        let wires = &scenario.fabric().switch(switch).ports;
        let ports = wires.iter().zip(&pools.headroom_by_port).map(|(out, &reserved)| {
            let effect = effect(scenario, out.reverse());
            let queues = if ports_pause { 1 } else { u64::from(scenario.switch.lossless.count()) };
            PortStudy {
                headroom: Reserve::new(Measure::PortHeadroom, Bytes(queues * reserved.0)),
                queues_off: Count::new(Measure::PortQueuesOff),
                queues: std::array::from_fn(|_| QueueStudy {
                    headroom: Reserve::new(Measure::QueueHeadroom, reserved),
                    state: OffState::new(OF_QUEUES, effect),
                }),
                state: ports_pause.then(|| OffState::new(OF_PORTS, effect)),
            }
        });
        Self {
            headroom: Reserve::new(Measure::SwitchHeadroom, pools.headroom),
            queues_off: Count::new(Measure::QueuesOff),
            ports_off: Count::new(Measure::PortsOff),
            ports: ports.collect(),
            policy,
            lossless: scenario.switch.lossless.0,
        }
    }

    /// Records that a packet of `length` bytes entered or left an ingress queue (port, priority). The tables
    /// already include it.
    pub fn observe(
        &mut self,
        now: Picos,
        tables: &SwitchTables,
        (port, priority): (u16, Priority),
        length: u32,
        passage: Passage,
        measured: &mut Measurements,
    ) {
        if !priority.is_in(self.lossless) {
            return;
        }
        let length = u64::from(length);
        self.read_headroom(now, port, tables, measured);
        let port_study = &mut self.ports[usize::from(port)];
        let queue = &mut port_study.queues[priority.index()];
        queue.state.count_passage(now, length, passage, measured);
        if let Some(state) = &mut port_study.state {
            state.count_passage(now, length, passage, measured);
        }
        self.turn(now, port, tables, measured);
    }

    /// Records a test of a port's pauses without an arrival or departure: the port or its queues may have turned ON
    /// or OFF.
    pub fn observe_test(
        &mut self,
        now: Picos,
        tables: &SwitchTables,
        port: u16,
        measured: &mut Measurements,
    ) {
        self.read_headroom(now, port, tables, measured);
        self.turn(now, port, tables, measured);
    }

    /// Ends the run. Maxima and pauses that have not ended count with their values up to now.
    pub fn finish(mut self, now: Picos, measured: &mut Measurements) {
        for port in 0..self.ports.len() {
            self.close(now.to_nanos(), port, measured);
        }
        self.headroom.moves_to(0, measured);
        for port in &mut self.ports {
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

    /// Ends the interval in which the numbers of OFF queues and ports were constant.
    fn close(&mut self, now: Nanos, port: usize, measured: &mut Measurements) {
        self.queues_off.close(now, &self.headroom, measured);
        let port = &mut self.ports[port];
        port.queues_off.close(now, &port.headroom, measured);
        if port.state.is_some() {
            self.ports_off.close(now, &self.headroom, measured);
        }
    }

    /// Reads from the tables how much headroom the switch, a port and its queues use. It reads all queues of the
    /// port, because under DSH a packet of one queue can move bytes of the others.
    fn read_headroom(
        &mut self,
        now: Picos,
        port: u16,
        tables: &SwitchTables,
        measured: &mut Measurements,
    ) {
        self.close(now.to_nanos(), port.into(), measured);
        self.headroom.moves_to(tables.state().headroom_bytes.load(), measured);
        let study = &mut self.ports[usize::from(port)];
        let mut of_port = 0;
        for (priority, queue) in priority::all().zip(&mut study.queues) {
            let in_use = tables.ingress(port.into(), priority).headroom_bytes.load();
            queue.headroom.moves_to(in_use, measured);
            of_port += in_use;
        }
        study.headroom.moves_to(of_port, measured);
    }

    /// Updates the state of a port and its queues from the tables. It updates all queues of the port, because a
    /// departure may resume queues of other priorities.
    fn turn(&mut self, now: Picos, port: u16, tables: &SwitchTables, measured: &mut Measurements) {
        let study = &mut self.ports[usize::from(port)];
        for priority in priority::in_mask(self.lossless) {
            let off = tables.ingress(port.into(), priority).off.load() != 0;
            let state = &mut study.queues[priority.index()].state;
            let was_off = state.is_off();
            state.turn(off, now, measured);
            study.queues_off.turn(was_off, state.is_off());
            self.queues_off.turn(was_off, state.is_off());
        }
        let Some(state) = &mut study.state else { return };
        let was_off = state.is_off();
        state.turn(is_port_off(self.policy, tables, port), now, measured);
        self.ports_off.turn(was_off, state.is_off());
    }
}

fn is_port_off(policy: Policy, tables: &SwitchTables, port: u16) -> bool {
    Selected::port_use(tables, policy, port.into()).off
}

/// Time from the decision to pause the sender of a wire until no more frames can arrive over it: the PAUSE waits
/// for the frame being sent and crosses the link, the sender may start its last frame when its response time ends,
/// and that frame crosses the link.
fn effect(scenario: &Scenario, wire: WireId) -> Picos {
    let fabric = scenario.fabric();
    let wire = fabric.wire(wire);
    let response = scenario.pause_response(wire.from);
    let frames = scenario.link_frames();
    let time = |length: Bytes| frames.time.serialise(wire.rate, length.0);
    let frames =
        time(frames.longest) + time(frames.longest) + time(Bytes(frames.hop_control.into()));
    frames + wire.delay + wire.delay + response.at(wire.rate)
}

/// A share in units of 1/10000.
fn share(part: u64, whole: u64) -> u64 {
    part * 10_000 / whole.max(1)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_maximum_is_passed_when_the_level_falls() {
        let mut level = Peaks::default();
        let passed: Vec<Option<u64>> =
            [5, 9, 9, 4, 2, 2, 6, 0, 0].into_iter().map(|value| level.moves_to(value)).collect();
        assert_eq!(passed, [None, None, None, Some(9), None, None, None, Some(6), None]);
    }

    /// At 100 Gbit/s, with 1 us each way: two frames of max length, a PAUSE, and 3840 B within the host's response
    /// time.
    #[test]
    fn a_pause_has_its_effect_after_frames_as_long_as_they_count() {
        let effect = |more: &str| {
            let text = format!(
                "[topology]\nkind = \"star\"\nhosts = 2\nhost_link = {{ rate = \"100Gbps\", delay = \"1us\" }}
[[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1kB\"\n{more}"
            );
            let scenario = Scenario::parse(&text, Path::new("effect.toml"), &[]);
            super::effect(&scenario.unwrap_or_else(|error| panic!("{error}")), WireId(0))
        };
        let (both_ways, response) = (2_000_000, 307_200);
        // Frames of 1074 B and 60 B, with 24 B of overhead each.
        assert_eq!(effect(""), Picos(2 * 87_840 + 6_720 + both_ways + response));
        let frames = "[frames]\ndata_headers = \"48B\"\nhop_control = \"43B\"\n";
        assert_eq!(effect(frames), Picos(2 * 85_760 + 5_360 + both_ways + response));
        let cut = frames.to_owned() + "time = \"whole-nanoseconds\"\n";
        assert_eq!(effect(&cut), Picos(2 * 85_000 + 5_000 + both_ways + response));
    }

    #[test]
    fn a_share_is_in_ten_thousandths() {
        assert_eq!(share(32_218, 64_436), 5_000);
    }
}
