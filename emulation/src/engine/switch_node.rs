//! A running switch: it receives arrivals and timers in order, and its frames are sent on wires.

mod unqueued;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use fabric_core::arrival::Outcome;
use fabric_core::queue::{QueueId, QueueSet};
use scenario::{CaptureFilter, Scenario, SimulatorRoutes};
use switch_user::switch::{
    ControlTransmission, Discarded, DroppedPacket, Due, Staged, Switch, Transmission,
};
use switch_user::tables::SwitchTables;
use topology::{NodeId, SwitchId, WireId};
use units::Picos;

use super::arrivals::{Arrival as WireArrival, PORT_BITS, port_key};
use super::core::Core;
use super::journal::{Journal, Note};
use super::sampler::Sampler;
use super::stamper::Stamper;
use super::switch_recorder::Followed;
use super::transmitter::{Receiver, Transmitter};
use crate::datapath::{Crossing, DatapathError, Departing, FrameId, FrameStore, Wires};
use crate::partition::Partition;
use crate::switch_settings::{self, switch_config};

/// Both directions of a port's link.
struct Port {
    out: Transmitter,
    inward: Receiver,
    /// Lossless classes, one bit each, if the deadlock watch follows the wire out of this port.
    watched: u8,
}

/// A switch and its wires.
pub struct SwitchNode {
    /// The switch.
    pub switch: Switch<FrameId>,
    /// Busy ports with more to send, by the instants at which they are free: see [`port_key`].
    wakes: BinaryHeap<Reverse<u64>>,
    ports: Box<[Port]>,
    /// Its number among switches.
    pub id: SwitchId,
    node: NodeId,
    /// Data of the switch that results follow.
    pub followed: Followed,
    sampler: Sampler,
    /// Stamper, if packets have telemetry.
    stamper: Option<Stamper>,
    /// Queues of each port that were paused one by one after the last hop control frame. Empty unless results
    /// follow the packets held by such pauses.
    paused: Box<[QueueSet]>,
    /// With events in the order of insertion: instant of the next event of the switch's timers.
    pub(super) timers_at: Picos,
    /// Routes of ns-3, if packets follow them instead of the switch's own.
    pub(super) routes: Option<Arc<SimulatorRoutes>>,
}

impl SwitchNode {
    /// An empty switch.
    pub fn new(
        scenario: &Scenario,
        id: SwitchId,
        tables: SwitchTables,
        partition: &Partition,
        captured: &[(WireId, CaptureFilter)],
    ) -> Self {
        let fabric = scenario.fabric();
        let port = |&wire: &WireId| Port {
            out: Transmitter::new(scenario, wire, partition.place(fabric.wire(wire).to), captured),
            inward: Receiver::new(scenario, wire.reverse(), captured),
            watched: 0,
        };
        let switch = Switch::new(switch_config(scenario, id), tables);
        let ports: Box<[Port]> = fabric.switch(id).ports.iter().map(port).collect();
        let spread = switch_settings::spread_classes(scenario);
        let sampler = Sampler::new(&switch, ports.len() as u16, spread, &scenario.results);
        let rates = ports.iter().map(|port| port.out.timing.rate);
        let stamper = scenario
            .transports()
            .iter()
            .any(|transport| transport.telemetry_hops() > 0)
            .then(|| Stamper::new(rates, scenario.switch.telemetry_steps));
        let paused =
            vec![QueueSet::EMPTY; if scenario.results.held_flows { ports.len() } else { 0 }];
        Self {
            switch,
            wakes: BinaryHeap::with_capacity(ports.len()),
            ports,
            id,
            node: fabric.switch_node(id),
            followed: Followed::new(scenario, id),
            sampler,
            stamper,
            paused: paused.into(),
            timers_at: Picos::MAX,
            routes: scenario.ecmp_routes().cloned(),
        }
    }

    /// Number of ports.
    pub fn ports(&self) -> u16 {
        self.ports.len() as u16
    }

    /// Both wire ends at a port: the leaving wire's sender and the arriving wire's receiver.
    pub fn wires(&self, port: u16) -> (&Transmitter, &Receiver) {
        let Port { out, inward, .. } = &self.ports[usize::from(port)];
        (out, inward)
    }

    /// Its number among nodes.
    pub const fn node(&self) -> NodeId {
        self.node
    }

    /// Sending end of the wire at a port, for a driver.
    #[inline]
    pub(super) fn out_of(&mut self, port: u16) -> &mut Transmitter {
        &mut self.ports[usize::from(port)].out
    }

    /// Receiving end of the wire at a port, for a driver.
    #[inline]
    pub(super) fn inward_of(&mut self, port: u16) -> &mut Receiver {
        &mut self.ports[usize::from(port)].inward
    }

    /// Sending end of the wire at a port, for changes.
    #[cfg(any(test, feature = "kernel"))]
    pub fn out_mut(&mut self, port: u16) -> &mut Transmitter {
        &mut self.ports[usize::from(port)].out
    }

    /// Receiving end of the wire at a port, for changes.
    #[cfg(feature = "kernel")]
    pub fn inward_mut(&mut self, port: u16) -> &mut Receiver {
        &mut self.ports[usize::from(port)].inward
    }

    /// Notes all changes of pauses of `classes` at a port from now on.
    pub fn watch(&mut self, port: u16, classes: u8) {
        self.ports[usize::from(port)].watched = classes;
    }

    /// Instant at which the next timer is due or the next busy port is free.
    pub fn next(&self) -> Picos {
        self.next_timer().min(self.next_wake())
    }

    #[inline]
    fn next_timer(&self) -> Picos {
        self.switch.next_deadline().unwrap_or(Picos::MAX)
    }

    #[inline]
    fn next_wake(&self) -> Picos {
        self.wakes.peek().map_or(Picos::MAX, |Reverse(key)| Picos(key >> PORT_BITS))
    }

    /// Runs all events before `end`, and returns the instant of the next one. At one instant arrivals come first,
    /// then timers, then free ports, each in the order of ports. Not inlined, so that it has all registers.
    #[inline(never)]
    pub fn run<W: Wires>(
        &mut self,
        core: &mut Core<W>,
        index: u32,
        end: Picos,
    ) -> Result<Picos, DatapathError> {
        let (due, later) = core.take_due(index, end);
        let mut arrivals = &due[..];
        loop {
            let (timer, wake) = (self.next_timer(), self.next_wake());
            let first = timer.min(wake);
            match arrivals {
                [arrival, rest @ ..] if arrival.at() <= first => {
                    self.arrive(core, arrival)?;
                    arrivals = rest;
                    if let [_, following, ..] = rest {
                        core.frames.prefetch(following.frame());
                    }
                }
                _ if first >= end => break,
                _ if timer <= wake => self.handle_deadline(core, timer),
                _ => {
                    let key = self.wakes.pop().map_or(0, |Reverse(key)| key);
                    let port = (key & ((1 << PORT_BITS) - 1)) as u16;
                    self.ports[usize::from(port)].out.wakes = false;
                    self.kick(core, wake, port);
                }
            }
        }
        core.give_back(index, due);
        Ok(later.min(self.next()))
    }

    #[inline(always)]
    fn arrive<W: Wires>(
        &mut self,
        core: &mut Core<W>,
        arrival: &WireArrival,
    ) -> Result<(), DatapathError> {
        let (now, port, frame) = (arrival.at(), arrival.port(), arrival.frame());
        let inward = &mut self.ports[usize::from(port)].inward;
        if arrival.is_damaged() {
            core.drop_damaged(now, self.node, inward, *arrival);
            return Ok(());
        }
        let crossing = core.arrive(now, self.node, inward, frame, arrival.length());
        core.orders.clear();
        let packet = (frame, crossing.length);
        let mut outcome = Outcome::UNKNOWN;
        self.cross(core, &crossing, frame, &mut outcome)?;
        let Outcome::Queued(queued) = outcome else {
            self.arrive_unqueued(core, (now, port), packet, &outcome);
            return Ok(());
        };
        let mut observer = self.followed.recorder(&mut core.journal, &mut core.measured);
        let [first, second] =
            self.switch.on_queued(now, port, packet, queued, &core.orders, &mut observer);
        if let Some(port) = first {
            self.take_discarded(core, now);
            self.kick(core, now, port);
        }
        if let Some(port) = second {
            self.kick(core, now, port);
        }
        Ok(())
    }

    /// Passes a frame to the switch, and writes the result to `outcome`.
    #[inline(always)]
    fn cross<W: Wires>(
        &self,
        core: &mut Core<W>,
        crossing: &Crossing,
        frame: FrameId,
        outcome: &mut Outcome,
    ) -> Result<(), DatapathError> {
        if self.routes.is_some() {
            return self.cross_by_routes(core, crossing, frame, outcome);
        }
        let tables = self.switch.tables();
        core.cross(crossing, frame, |medium, frames, orders| {
            let is_done =
                medium.poll_switch(frames, crossing, tables, frame, &mut *outcome, orders)?;
            Ok(is_done.then_some(()))
        })
    }

    /// Sends the next frame of a port, if the port is free and a frame may leave.
    #[inline(always)]
    fn kick<W: Wires>(&mut self, core: &mut Core<W>, now: Picos, port: u16) {
        if self.switch.has_device_queues() {
            self.fill_device_queue(core, now, port);
        }
        let out = &mut self.ports[usize::from(port)].out;
        if out.busy_until <= now {
            self.send_next(core, now, port);
        } else if !out.wakes && !self.switch.is_idle(port) {
            Self::push_wake(&mut self.wakes, out, port);
        }
    }

    /// Sends the next frame of a free port, if a frame may leave.
    fn send_next<W: Wires>(&mut self, core: &mut Core<W>, now: Picos, port: u16) {
        if let Some(control) = self.switch.poll_control(now, port) {
            let rests = self.switch.is_idle(port);
            let frame = match control {
                ControlTransmission::Built(frame) => frame,
                ControlTransmission::HopControl { source, control } => {
                    core.frames.hop_control(source, &control)
                }
                ControlTransmission::LinkDelay(message) => core.frames.link_delay(&message),
            };
            let length = self.switch.control_length();
            self.stamp(core, now, port, frame, length, None);
            return self.transmit(core, now, port, frame, length, !rests);
        }
        if self.switch.has_device_queues() {
            return self.send_staged(core, now, port);
        }
        let mut observer = self.followed.recorder(&mut core.journal, &mut core.measured);
        let sent = self.switch.poll_transmit::<W, _>(now, port, &mut observer);
        let has_news = self.switch.has_news();
        if let Some(Transmission { frame, length, queue, mark, more }) = sent {
            if mark {
                core.frames.mark(frame);
            }
            if let Some(logger) = &mut core.wire_logger {
                logger.left(frame, queue);
            }
            self.stamp(core, now, port, frame, length, Some(queue));
            self.transmit(core, now, port, frame, length, more);
            if more && let Some(next) = self.switch.prefetch_next(port) {
                core.frames.prefetch(next);
            }
        }
        if has_news {
            self.kick_woken(core, now);
        }
    }

    /// Sends a frame on the wire. If there is `more` to send, the port wakes when it is free.
    #[inline(always)]
    pub(super) fn transmit<W: Wires>(
        &mut self,
        core: &mut Core<W>,
        now: Picos,
        port: u16,
        frame: FrameId,
        length: u32,
        more: bool,
    ) {
        self.depart(core, now, port, frame, length);
        let out = &mut self.ports[usize::from(port)].out;
        core.transmit(now, self.node, out, frame, length);
        if more && !out.wakes {
            Self::push_wake(&mut self.wakes, out, port);
        }
    }

    /// Announces a frame to the datapath that a port begins to send.
    #[inline(always)]
    pub(super) fn depart<W: Wires>(
        &self,
        core: &mut Core<W>,
        now: Picos,
        port: u16,
        frame: FrameId,
        length: u32,
    ) {
        let departing = Departing {
            switch: self.id.0,
            tables: self.switch.tables(),
            port,
            length,
            now: now.to_nanos(),
        };
        core.medium.depart(&mut core.frames, &departing, frame);
    }

    /// Moves packets from a port's egress queues into the FIFO below them while it has room: they depart even if
    /// the port is busy.
    #[cold]
    fn fill_device_queue<W: Wires>(&mut self, core: &mut Core<W>, now: Picos, port: u16) {
        loop {
            let mut observer = self.followed.recorder(&mut core.journal, &mut core.measured);
            let staged = self.switch.poll_staged::<W, _>(now, port, &mut observer);
            let Some(Transmission { frame, length, queue, mark, .. }) = staged else { break };
            if mark {
                core.frames.mark(frame);
            }
            if let Some(logger) = &mut core.wire_logger {
                logger.left(frame, queue);
            }
            self.stamp(core, now, port, frame, length, Some(queue));
        }
        if self.switch.has_news() {
            self.kick_woken(core, now);
        }
    }

    /// Sends the next packet of a free port's FIFO, and refills the FIFO.
    #[cold]
    fn send_staged<W: Wires>(&mut self, core: &mut Core<W>, now: Picos, port: u16) {
        let Some(Staged { frame, length }) = self.switch.poll_device_queue(port) else { return };
        self.fill_device_queue(core, now, port);
        let more = !self.switch.is_idle(port);
        self.transmit(core, now, port, frame, length, more);
    }

    /// Stamps a frame that has left `queue`, if packets have telemetry.
    #[inline(always)]
    pub(super) fn stamp<W: Wires>(
        &mut self,
        core: &mut Core<W>,
        now: Picos,
        port: u16,
        frame: FrameId,
        length: u32,
        queue: Option<QueueId>,
    ) {
        if self.stamper.is_some() {
            self.stamp_and_count(core, now, port, frame, length, queue);
        }
    }

    /// Stamps a frame that has left `queue`, if it has telemetry. Counts it in any case.
    #[cold]
    fn stamp_and_count<W: Wires>(
        &mut self,
        core: &mut Core<W>,
        now: Picos,
        port: u16,
        frame: FrameId,
        length: u32,
        queue: Option<QueueId>,
    ) {
        let Some(stamper) = &mut self.stamper else { return };
        let number = usize::from(port);
        let queues = self.switch.queues();
        let waiting = queue.map_or(0, |queue| queues.queue_bytes(number, queue));
        let wire_length = self.ports[number].out.timing.on_the_wire(length);
        let stamp = stamper.transmit(now, port, wire_length, waiting);
        core.frames.stamp(frame, stamp);
    }

    /// Makes ports send hop control frames that departures have queued there.
    #[cold]
    fn kick_woken<W: Wires>(&mut self, core: &mut Core<W>, now: Picos) {
        self.take_discarded(core, now);
        while let Some(port) = self.switch.poll_woken() {
            self.kick(core, now, port);
        }
    }

    /// Handles timers that are due.
    #[cold]
    fn handle_deadline<W: Wires>(&mut self, core: &mut Core<W>, now: Picos) {
        let mut observer = self.followed.recorder(&mut core.journal, &mut core.measured);
        let due = self.switch.handle_deadline(now, &mut observer);
        let Some(Due { port, pauses_changed }) = due else { return };
        self.take_discarded(core, now);
        if pauses_changed {
            self.note_changed_pauses(&mut core.journal, now, port);
        }
        self.kick(core, now, port);
        if self.switch.has_news() {
            self.kick_woken(core, now);
        }
    }

    /// Requests the link's delay from the neighbour of every port.
    pub fn measure_links<W: Wires>(&mut self, now: Picos, core: &mut Core<W>) {
        for port in 0..self.ports() {
            let mut observer = self.followed.recorder(&mut core.journal, &mut core.measured);
            self.switch.measure_link(now, port, &mut observer);
            self.kick(core, now, port);
        }
    }

    /// Sends the scheme's announcements at every port, and resumes flows whose pauses were not repeated.
    pub fn announce<W: Wires>(&mut self, now: Picos, core: &mut Core<W>) {
        for port in 0..self.ports() {
            self.switch.announce(port);
            self.take_discarded(core, now);
            self.kick(core, now, port);
        }
    }

    /// Handles a link of a port that has gone down or come up.
    pub fn relinked<W: Wires>(&mut self, now: Picos, port: u16, core: &mut Core<W>) {
        self.switch.relinked(port);
        self.kick(core, now, port);
    }

    /// Takes a sample of the queues of `classes`.
    pub fn sample(&mut self, now: Picos, classes: u8, journal: &mut Journal) {
        self.sampler.sample(&self.switch, now, self.node, classes, journal);
    }

    /// Max bytes that the switch has buffered, and max bytes in headroom.
    pub fn most_buffered(&self) -> [u64; 2] {
        self.sampler.most(&self.switch)
    }

    pub(super) fn take_discarded<W: Wires>(&mut self, core: &mut Core<W>, now: Picos) {
        while let Some(Discarded { frame, dropped }) = self.switch.poll_discarded() {
            if let Some(DroppedPacket { ingress, egress, reason }) = dropped {
                let [inward, out] =
                    [ingress, egress].map(|port| &self.ports[usize::from(port)].inward);
                core.capture_dropped(now, self.node, inward, (frame, out.wire.reverse()), reason);
                core.log_dropped(now, [inward.wire, out.wire.reverse()], frame);
            }
            core.frames.discard(frame);
        }
    }

    /// Schedules a wake of a port when it is free, unless one is scheduled already.
    #[inline]
    fn push_wake(wakes: &mut BinaryHeap<Reverse<u64>>, out: &mut Transmitter, port: u16) {
        out.wakes = true;
        wakes.push(Reverse(port_key(out.busy_until, port)));
    }
}
