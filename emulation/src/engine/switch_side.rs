//! How the engine drives switches: it hands them arrivals and timers, and puts what they send onto wires.

use fabric_core::arrival::Outcome;
use fabric_core::priority::Priority;
use scenario::Scenario;
use switch_user::switch::{
    Arrival, CONTROL_FRAME_LENGTH, ControlTransmission, Due, Switch, Transmission,
};
use switch_user::tables::SwitchTables;
use topology::SwitchId;
use units::Picos;

use super::event::Event;
use super::{Engine, RunError};
use crate::datapath::{Crossing, FrameId, FrameStore, Wires};
use crate::switch_settings::switch_config;

/// A switch and the wires that leave its ports.
pub struct SwitchNode {
    /// The switch.
    pub switch: Switch<FrameId>,
    /// The wire that each port sends on.
    wires: Box<[u32]>,
}

impl SwitchNode {
    /// A switch that holds nothing.
    pub fn new(scenario: &Scenario, id: SwitchId, tables: SwitchTables) -> Self {
        let wires = &scenario.fabric().switch(id).ports;
        Self {
            switch: Switch::new(switch_config(scenario, id), tables),
            wires: wires.iter().map(|wire| wire.0).collect(),
        }
    }

    /// Ports.
    pub fn ports(&self) -> u16 {
        self.wires.len().try_into().expect("a switch has at most 256 ports")
    }
}

impl<W: Wires> Engine<'_, W> {
    #[inline(always)]
    pub(super) fn arrive_at_switch(
        &mut self,
        number: u32,
        crossing: &Crossing,
        frame: FrameId,
    ) -> Result<(), RunError> {
        self.orders.clear();
        let outcome = self.cross_to_switch(number, crossing, frame)?;
        let (mut link_delay, mut priority) = (None, None);
        match outcome {
            Outcome::LinkDelayReceived => link_delay = Some(self.frames.read_link_delay(frame)),
            Outcome::Dropped(_) => {
                priority = self.frames.priority(frame).map(|class| Priority::of_bits(class.into()));
            }
            Outcome::Queued(_) | Outcome::ControlReceived(_) => {}
        }
        let length = crossing.length;
        let (outcome, orders) = (&outcome, &self.orders[..]);
        let link_delay = link_delay.as_ref();
        let arrival = Arrival { frame, length, outcome, orders, link_delay, priority };
        let port = crossing.ends.to_port;
        let node = &mut self.switches[number as usize];
        let mut observer = self.recorder.of_switch(number);
        let reaction = node.switch.on_arrival(self.now, port, &arrival, &mut observer)?;
        if !reaction.keeps_frame {
            self.frames.discard(frame);
        }
        let [first, second] = reaction.wake;
        if let Some(port) = first {
            self.take_discarded(number);
            self.schedule_deadlines(number);
            if reaction.pauses_changed {
                self.pauses_changed(self.wire_from(number, port))?;
            }
            self.kick_switch_port(number, self.wire_from(number, port))?;
        }
        match second {
            Some(port) => self.kick_switch_port(number, self.wire_from(number, port)),
            None => Ok(()),
        }
    }

    /// Hands a frame to the switch at the end of its wire.
    #[inline(always)]
    fn cross_to_switch(
        &mut self,
        number: u32,
        crossing: &Crossing,
        frame: FrameId,
    ) -> Result<Outcome, RunError> {
        self.send(crossing, frame)?;
        let mut attempts = 0;
        loop {
            let tables = self.switches[number as usize].switch.tables();
            let (frames, orders) = (&mut self.frames, &mut self.orders);
            let polled = self.medium.poll_switch(frames, crossing, tables, frame, orders)?;
            if let Some(outcome) = polled {
                return Ok(outcome);
            }
            self.medium.wait(crossing, attempts)?;
            attempts += 1;
        }
    }

    /// Sends the next frame of a switch port, if the port is free and has one that may go.
    pub(super) fn kick_switch_port(&mut self, number: u32, wire: u32) -> Result<(), RunError> {
        let switch = &mut self.switches[number as usize].switch;
        let transmitter = &self.transmitters[wire as usize];
        let port = transmitter.ends.from_port;
        if transmitter.busy_until > self.now {
            if !switch.is_idle(port) {
                self.wake_when_free(wire);
            }
            return Ok(());
        }
        if let Some(control) = switch.poll_control(self.now, port) {
            let rests = switch.is_idle(port);
            self.transmit_control(wire, control)?;
            if !rests {
                self.wake_when_free(wire);
            }
            return Ok(());
        }
        let mut observer = self.recorder.of_switch(number);
        let sent = switch.poll_transmit::<W, _>(self.now, port, &mut observer)?;
        let has_news = switch.has_news();
        if let Some(Transmission { frame, length, mark, more }) = sent {
            if mark {
                self.frames.mark(frame);
            }
            self.transmit(wire, frame, length)?;
            if more {
                self.wake_when_free(wire);
            }
        }
        if has_news { self.kick_woken(number) } else { Ok(()) }
    }

    fn transmit_control(
        &mut self,
        wire: u32,
        control: ControlTransmission<FrameId>,
    ) -> Result<(), RunError> {
        let frame = match control {
            ControlTransmission::Built(frame) => frame,
            ControlTransmission::HopControl { source, control } => {
                self.frames.hop_control(source, &control)
            }
            ControlTransmission::LinkDelay(message) => self.frames.link_delay(&message),
        };
        self.transmit(wire, frame, CONTROL_FRAME_LENGTH)
    }

    /// Lets ports send hop control frames that a departure has queued there.
    #[cold]
    fn kick_woken(&mut self, number: u32) -> Result<(), RunError> {
        self.take_discarded(number);
        while let Some(port) = self.switches[number as usize].switch.poll_woken() {
            self.schedule_deadlines(number);
            self.kick_switch_port(number, self.wire_from(number, port))?;
        }
        Ok(())
    }

    /// A timer of a switch is due.
    pub(super) fn switch_timer(&mut self, number: u32) -> Result<(), RunError> {
        let switch = &mut self.switches[number as usize].switch;
        let mut observer = self.recorder.of_switch(number);
        let due = switch.handle_deadline(self.now, &mut observer)?;
        let Due { port, pauses_changed } = due.expect("each timer has an event of its own");
        self.take_discarded(number);
        self.schedule_deadlines(number);
        let wire = self.wire_from(number, port);
        if pauses_changed {
            self.pauses_changed(wire)?;
        }
        self.kick_switch_port(number, wire)
    }

    /// Schedules an event for each deadline that a switch has set.
    fn schedule_deadlines(&mut self, number: u32) {
        while let Some(at) = self.switches[number as usize].switch.poll_deadline() {
            self.events.schedule(at, Event::SwitchTimer { switch: number });
        }
    }

    fn take_discarded(&mut self, number: u32) {
        while let Some(frame) = self.switches[number as usize].switch.poll_discarded() {
            self.frames.discard(frame);
        }
    }

    #[inline]
    fn wake_when_free(&mut self, wire: u32) {
        let transmitter = &mut self.transmitters[wire as usize];
        if !transmitter.free_scheduled {
            transmitter.free_scheduled = true;
            self.events.schedule(transmitter.busy_until, Event::PortFree { wire });
        }
    }

    /// Every port of every switch asks its neighbour for the link's delay; again after a period, as long as there
    /// are flows.
    pub(super) fn measure_links(&mut self, period: Picos) -> Result<(), RunError> {
        for number in 0..self.switches.len() as u32 {
            for port in 0..self.switches[number as usize].ports() {
                let switch = &mut self.switches[number as usize].switch;
                let mut observer = self.recorder.of_switch(number);
                switch.measure_link(self.now, port, &mut observer)?;
                self.kick_switch_port(number, self.wire_from(number, port))?;
            }
        }
        if !self.active.is_empty() || self.stream.next_start().is_some() {
            self.events.schedule(self.now + period, Event::LinkDelays);
        }
        Ok(())
    }

    #[inline]
    fn wire_from(&self, switch: u32, port: u16) -> u32 {
        self.switches[switch as usize].wires[usize::from(port)]
    }
}
