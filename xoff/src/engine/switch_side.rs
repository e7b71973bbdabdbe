//! What the engine does with switches: arrivals into queues, queues onto wires, PAUSE and RESUME.

use fabric_core::arrival::Outcome;
use fabric_core::departure::departure;
use fabric_core::flow_control::{Level, Order, renewal};
use fabric_core::priority;
use fabric_core::tables::{Tables, ingress_index};
use fabric_core::units::{Bytes, Picos};
use fabric_core::wire::ethernet::MINIMUM_FRAME_LENGTH;
use fabric_core::wire::{PfcFrame, link_delay, pfc};
use switch_user::link_delay::LinkDelayMeter;
use switch_user::traffic_manager::{Selection, TrafficManager};

use super::event::Event;
use super::wire::Wire;
use super::{Engine, RunError};
use crate::datapath::{Crossing, Datapath, FrameId};
use crate::results::{PauseEvent, PauseRow};
use crate::topology::{NodeKind, SwitchId};

/// Length of what a MAC sends by itself.
const CONTROL_FRAME_LENGTH: u32 = MINIMUM_FRAME_LENGTH as u32;
const _: () = assert!(pfc::LEN == MINIMUM_FRAME_LENGTH && link_delay::LEN == MINIMUM_FRAME_LENGTH);

/// A switch's queues and the wires that leave its ports.
pub struct SwitchNode {
    /// Its egress queues.
    pub manager: TrafficManager<FrameId>,
    /// The number of the frame in each slot that holds a packet.
    pub buffered: Vec<u32>,
    /// The wire that each port sends on.
    pub wires: Box<[u32]>,
    /// The exchanges of each port that measures its link.
    pub meters: Box<[LinkDelayMeter]>,
}

impl<D: Datapath> Engine<'_, D> {
    pub(super) fn arrive_at_switch(
        &mut self,
        switch: u32,
        crossing: Crossing,
        frame: FrameId,
    ) -> Result<(), RunError> {
        let port = crossing.ends.to_port;
        let arrival = self.datapath.arrive_at_switch(crossing, frame)?;
        match arrival.outcome {
            Outcome::Queued(queued) => {
                self.record_pools(switch);
                self.study_arrival(switch, port, queued.slot, crossing.length);
                let length = i64::from(crossing.length);
                self.record_waiting(switch, queued.egress_port as u16, length)?;
                let SwitchNode { manager, buffered, .. } = &mut self.switches[switch as usize];
                buffered[queued.slot as usize] = frame.0;
                let egress = queued.egress_port as usize;
                manager.enqueue(egress, queued.queue as usize, queued.slot, crossing.length);
                if let (Some(order), Some(frame)) = (queued.pause, arrival.pause) {
                    self.enqueue_pfc(switch, port, order.class_enable, frame);
                    self.record.pause_frame(PauseEvent::Xoff);
                    self.pause_rows(switch, port, &order, PauseEvent::Xoff)?;
                    self.schedule_refresh(switch, port, order.level, order.class_enable);
                    self.kick_switch_port(switch, self.wire_from(switch, port))?;
                }
                self.kick_switch_port(switch, self.wire_from(switch, queued.egress_port as u16))
            }
            Outcome::PauseReceived { class_enable } => {
                self.datapath.discard(frame);
                let wire = self.wire_from(switch, port);
                for class in priority::of_mask(class_enable) {
                    let tables = self.datapath.tables(switch);
                    let until = tables.pause_expiry(u32::from(port), u32::from(class));
                    self.record_pause_received(crossing, class, until)?;
                    if until > crossing.now {
                        self.events.schedule(Picos::from_nanos(until), Event::PauseExpiry { wire });
                    }
                }
                self.pauses_changed(wire)?;
                self.kick_switch_port(switch, wire)
            }
            Outcome::LinkDelayReceived => {
                let received = self.datapath.read_link_delay(frame);
                self.datapath.discard(frame);
                self.receive_link_delay(switch, crossing, &received)
            }
            Outcome::Dropped(reason) => {
                let priority = self.datapath.priority(frame);
                self.datapath.discard(frame);
                self.count_lossless(switch, reason, priority);
                self.drop_row(crossing, reason, priority)
            }
        }
    }

    /// Sends the next frame of a switch port, if the port is free and has one that may go.
    pub(super) fn kick_switch_port(&mut self, switch: u32, number: u32) -> Result<(), RunError> {
        let SwitchNode { manager, buffered, .. } = &mut self.switches[switch as usize];
        let wire = &mut self.wires[number as usize];
        let port = wire.ends.from_port;
        if manager.is_idle(usize::from(port)) {
            return Ok(());
        }
        if wire.busy_until > self.now {
            self.wake_when_free(number);
            return Ok(());
        }
        let waiting = manager.non_empty(usize::from(port));
        let tables = self.datapath.tables(switch);
        let paused = tables.paused_queues(u32::from(port), waiting, self.now.to_nanos());
        match manager.select(usize::from(port), paused) {
            None => Ok(()),
            Some(Selection::MacControl(frame)) => {
                let busy = !manager.is_idle(usize::from(port));
                let sent = self.now + wire.serialise(CONTROL_FRAME_LENGTH);
                self.datapath.stamp(frame, sent.to_nanos());
                self.transmit(number, frame, CONTROL_FRAME_LENGTH)?;
                if busy {
                    self.wake_when_free(number);
                }
                Ok(())
            }
            Some(Selection::Packet { slot, length, .. }) => {
                let busy = !manager.is_idle(usize::from(port));
                let frame = FrameId(buffered[slot as usize]);
                let departure = departure(tables, self.policy, slot)
                    .expect("the traffic manager names slots that hold a packet");
                self.record_pools(switch);
                self.study_departure(switch, &departure, length);
                self.record_waiting(switch, port, -i64::from(length))?;
                if departure.mark {
                    self.datapath.mark(frame);
                }
                self.transmit(number, frame, length)?;
                if busy {
                    self.wake_when_free(number);
                }
                match departure.resume {
                    Some(order) => self.resume(switch, departure.ingress_port as u16, &order),
                    None => Ok(()),
                }
            }
        }
    }

    fn enqueue_pfc(&mut self, switch: u32, port: u16, classes: u8, frame: FrameId) {
        let manager = &mut self.switches[switch as usize].manager;
        manager.enqueue_mac_control(usize::from(port), classes, frame, |superseded| {
            self.datapath.discard(superseded);
        });
    }

    #[inline]
    fn wake_when_free(&mut self, number: u32) {
        let wire = &mut self.wires[number as usize];
        if !wire.free_scheduled {
            wire.free_scheduled = true;
            self.events.schedule(wire.busy_until, Event::PortFree { wire: number });
        }
    }

    /// Sends a RESUME. A port's renews the pauses of the classes that it leaves out: their queues are
    /// OFF, and the port's pause no longer covers them.
    fn resume(&mut self, switch: u32, port: u16, order: &Order) -> Result<(), RunError> {
        let wire = self.wire_from(switch, port);
        let source = self.wires[wire as usize].addresses.source;
        let settings = self.datapath.tables(switch).settings();
        let still_paused = match order.level {
            Level::Queue => 0,
            Level::Port => settings.lossless_classes & !order.class_enable,
        };
        let quanta = settings.pause_quanta;
        let mut frame = PfcFrame::xon(source, order.class_enable | still_paused);
        for class in priority::of_mask(still_paused).map(usize::from) {
            frame.quanta[class] = quanta;
        }
        let frame = self.datapath.pfc(&frame);
        self.enqueue_pfc(switch, port, order.class_enable | still_paused, frame);
        let resumes = order.class_enable != 0;
        self.record.pause_frame(if resumes { PauseEvent::Xon } else { PauseEvent::XoffRefresh });
        self.pause_rows(switch, port, order, PauseEvent::Xon)?;
        for class in priority::of_mask(still_paused) {
            let tables = self.datapath.tables(switch);
            let row = ingress_index(u32::from(port), u32::from(class));
            let pause = tables.ingress_queue(row).map_or(0, |queue| queue.pauses.load());
            let renewed = renewal(tables, self.policy, u32::from(port), Some(class), pause);
            let renewed = renewed.expect("its queue is OFF and its port is ON");
            self.pause_rows(switch, port, &renewed, PauseEvent::XoffRefresh)?;
        }
        self.schedule_refresh(switch, port, Level::Queue, still_paused);
        self.kick_switch_port(switch, wire)
    }

    /// Pauses again what would otherwise run out while the congestion lasts.
    pub(super) fn refresh_pause(
        &mut self,
        wire: u32,
        class: Option<u8>,
        pause: u32,
    ) -> Result<(), RunError> {
        let Wire { ends, addresses, .. } = &self.wires[wire as usize];
        let (port, source) = (ends.from_port, addresses.source);
        let NodeKind::Switch(SwitchId(switch)) = ends.from else {
            unreachable!("only switches pause")
        };
        let tables = self.datapath.tables(switch);
        let Some(order) = renewal(tables, self.policy, u32::from(port), class, pause) else {
            return Ok(());
        };
        if class.is_none() {
            self.study_renewal(switch, port);
        }
        if order.quanta == 0 {
            return self.resume(switch, port, &order);
        }
        let frame = self.datapath.pfc(&PfcFrame::xoff(source, order.class_enable, order.quanta));
        self.enqueue_pfc(switch, port, order.class_enable, frame);
        self.record.pause_frame(PauseEvent::XoffRefresh);
        self.pause_rows(switch, port, &order, PauseEvent::XoffRefresh)?;
        self.schedule_refresh(switch, port, order.level, order.class_enable);
        self.kick_switch_port(switch, wire)
    }

    fn schedule_refresh(&mut self, switch: u32, port: u16, level: Level, class_enable: u8) {
        let wire = self.wire_from(switch, port);
        let settings = &self.scenario.switch;
        let rate = self.wires[wire as usize].rate;
        let due = self.now + settings.pause_refresh.period(settings.pause_quanta, rate);
        let tables = self.datapath.tables(switch);
        let port = u32::from(port);
        match level {
            Level::Port => {
                let pause = tables.port(port).map_or(0, |port| port.pauses.load());
                self.events.schedule(due, Event::PauseRefresh { wire, class: None, pause });
            }
            Level::Queue => {
                for class in priority::of_mask(class_enable) {
                    let row = ingress_index(port, u32::from(class));
                    let pause = tables.ingress_queue(row).map_or(0, |queue| queue.pauses.load());
                    let class = Some(class);
                    self.events.schedule(due, Event::PauseRefresh { wire, class, pause });
                }
            }
        }
    }

    #[inline]
    pub(super) fn wire_from(&self, switch: u32, port: u16) -> u32 {
        self.switches[switch as usize].wires[usize::from(port)]
    }

    fn pause_rows(
        &mut self,
        switch: u32,
        port: u16,
        order: &Order,
        event: PauseEvent,
    ) -> Result<(), RunError> {
        let fabric = self.scenario.fabric();
        let node = fabric.switch_node(SwitchId(switch));
        let peer = fabric.peer(node, port);
        for priority in priority::of_mask(order.class_enable) {
            self.record.pause(&PauseRow {
                time: self.now.to_nanos(),
                node: &fabric.node(node).name,
                port,
                peer: &fabric.node(peer.node).name,
                peer_port: peer.port,
                priority,
                event,
                level: order.level,
                occupancy: Bytes(order.occupancy_bytes),
                threshold: Bytes(order.threshold_bytes),
                shared_free: Bytes(order.shared_free_bytes),
            })?;
        }
        Ok(())
    }
}
