//! Links measured on purpose: switches ask their neighbours, answer them, and size headroom by what they
//! learn (`headroom = { kind = "adaptive" }`; docs/link-delay.md).

use fabric_core::tables::Tables;
use fabric_core::units::{Bytes, Nanos};
use fabric_core::wire::LinkDelayFrame;
use fabric_core::wire::link_delay::Kind;
use switch_user::link_delay::Measurement;

use super::event::Event;
use super::{Engine, RunError};
use crate::datapath::{Crossing, Datapath};
use crate::results::LinkDelayRow;
use crate::scenario::Headroom;
use crate::topology::SwitchId;

impl<D: Datapath> Engine<'_, D> {
    /// Every port of every switch asks its neighbour; again after a period, as long as there are flows.
    pub(super) fn measure_links(&mut self) -> Result<(), RunError> {
        let Headroom::Adaptive { period, .. } = self.scenario.switch.headroom else {
            unreachable!("only switches with adaptive headroom measure their links")
        };
        for switch in 0..self.switches.len() as u32 {
            for port in 0..self.switches[switch as usize].meters.len() as u16 {
                self.measure_link(switch, port)?;
            }
        }
        if !self.active.is_empty() || self.stream.next_start().is_some() {
            self.events.schedule(self.now + period, Event::LinkDelays);
        }
        Ok(())
    }

    fn measure_link(&mut self, switch: u32, port: u16) -> Result<(), RunError> {
        let wire = self.wire_from(switch, port);
        let source = self.wires[wire as usize].addresses.source;
        let meter = &mut self.switches[switch as usize].meters[usize::from(port)];
        let request = meter.request(source);
        if meter.is_out_of_date() {
            let configured = self.scenario.buffer_pools(SwitchId(switch)).headroom_by_port;
            self.set_headroom(switch, port, configured[usize::from(port)], None)?;
        }
        self.send_link_delay(switch, port, &request)
    }

    /// A link delay frame has come in at a switch.
    pub(super) fn receive_link_delay(
        &mut self,
        switch: u32,
        crossing: Crossing,
        frame: &LinkDelayFrame,
    ) -> Result<(), RunError> {
        let port = crossing.ends.to_port;
        if frame.kind == Kind::Request {
            let source = self.wires[crossing.wire.0 as usize].addresses.destination;
            let row = self.datapath.tables(switch).port(u32::from(port));
            let response = Nanos(row.map_or(0, |row| row.response_ns.load()));
            return self.send_link_delay(
                switch,
                port,
                &frame.answer(source, crossing.now, response),
            );
        }
        let meter = self.switches[switch as usize].meters.get_mut(usize::from(port));
        let Some(measured) = meter.and_then(|meter| meter.receive(frame, crossing.now)) else {
            return Ok(());
        };
        let rate = self.wires[crossing.wire.0 as usize].rate;
        let wanted = measured.headroom(rate, self.scenario.longest_on_the_wire());
        self.set_headroom(switch, port, wanted, Some(measured))
    }

    /// Changes the headroom of a port's queues because of what was measured, or is not known any more.
    fn set_headroom(
        &mut self,
        switch: u32,
        port: u16,
        wanted: Bytes,
        measured: Option<Measurement>,
    ) -> Result<(), RunError> {
        let headroom = self.datapath.tables_mut(switch).set_headroom(u32::from(port), wanted);
        let fabric = self.scenario.fabric();
        let node = fabric.switch_node(SwitchId(switch));
        self.record.link_delay(&LinkDelayRow {
            time: self.now.to_nanos(),
            node: &fabric.node(node).name,
            port,
            peer: &fabric.node(fabric.peer(node, port).node).name,
            link_delay: measured.map(|measured| measured.link_delay()),
            response: measured.map(|measured| measured.response),
            headroom,
        })?;
        Ok(())
    }

    fn send_link_delay(
        &mut self,
        switch: u32,
        port: u16,
        frame: &LinkDelayFrame,
    ) -> Result<(), RunError> {
        let frame = self.datapath.link_delay(frame);
        self.switches[switch as usize].manager.enqueue_link_delay(usize::from(port), frame);
        self.kick_switch_port(switch, self.wire_from(switch, port))
    }
}
