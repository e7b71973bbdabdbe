//! Writes what happens in switches to the record: rows, pool levels, and the measurements that a scenario asks for.

use std::collections::BTreeMap;

use fabric_core::drop_reason::{self, DropReason};
use fabric_core::hop_control::{HopControl, Order, PauseLevel};
use fabric_core::priority::{self, Priority};
use fabric_core::tables::Tables;
use results::{
    DropClass, DropRow, LinkDelayRow, PauseEvent, PauseReceived, PauseRow, PoolLevels, Record,
    ResultsError,
};
use scenario::Scenario;
use switch_user::link_delay::Measurement;
use switch_user::switch::{Admitted, ControlEvent, Departed, Observer};
use switch_user::tables::SwitchTables;
use topology::{SwitchId, WireId};
use units::{Bytes, Nanos, Picos};

use super::headroom_study::{HeadroomStudy, Passage};

/// The record of a run, and what is counted beside it.
pub struct Recorder<'a> {
    pub scenario: &'a Scenario,
    pub record: Record,
    /// If the scenario asks for it.
    pub study: Option<HeadroomStudy>,
    /// Lossless packets that switches dropped, by switch and reason.
    pub lossless_drops: BTreeMap<(u32, DropReason), u64>,
    /// Whether each packet that switches admit and send has to be reported here.
    follows_packets: bool,
}

impl<'a> Recorder<'a> {
    pub fn new(scenario: &'a Scenario, record: Record) -> Self {
        let study = scenario.results.distributions.then(|| HeadroomStudy::new(scenario));
        let follows_packets = study.is_some() || record.follows_pools() || record.follows_ports();
        Self { scenario, record, study, lossless_drops: BTreeMap::new(), follows_packets }
    }

    /// The observer of a switch.
    #[inline]
    pub fn of_switch(&mut self, switch: u32) -> SwitchRecorder<'_, 'a> {
        SwitchRecorder { recorder: self, switch }
    }

    /// A class of a PFC frame has crossed a wire; the pause ends at `until`, which for a RESUME is
    /// not after its arrival.
    pub fn pause_received(
        &mut self,
        now: Nanos,
        wire: WireId,
        priority: u8,
        until: Nanos,
    ) -> Result<(), ResultsError> {
        let fabric = self.scenario.fabric();
        let wire = fabric.wire(wire);
        let response = self.scenario.pause_response_ns(wire.to, wire.rate);
        self.record.pause_received(&PauseReceived {
            time: now,
            node: &fabric.node(wire.to).name,
            port: wire.to_port,
            by: &fabric.node(wire.from).name,
            priority,
            binds: Nanos(now.0 + response.0),
            until,
        })
    }
}

/// Tells the record what happens in one switch.
pub struct SwitchRecorder<'r, 'a> {
    recorder: &'r mut Recorder<'a>,
    switch: u32,
}

impl SwitchRecorder<'_, '_> {
    #[inline]
    fn pools(&mut self, now: Picos, tables: &SwitchTables) {
        let record = &mut self.recorder.record;
        if record.follows_pools() {
            let state = tables.state();
            let levels = PoolLevels {
                private: state.private_bytes.load(),
                shared: state.shared_bytes.load(),
                headroom: state.headroom_bytes.load(),
            };
            record.pools(self.switch, now, levels);
        }
    }

    /// The egress queues of a port hold `change` bytes more than before.
    #[inline]
    fn waiting(&mut self, now: Picos, port: u16, change: i64) -> Result<(), ResultsError> {
        let record = &mut self.recorder.record;
        if record.follows_ports() { record.waiting(now, self.switch, port, change) } else { Ok(()) }
    }
}

impl Observer for SwitchRecorder<'_, '_> {
    type Error = ResultsError;

    #[inline]
    fn admitted(
        &mut self,
        now: Picos,
        tables: &SwitchTables,
        packet: Admitted,
    ) -> Result<(), ResultsError> {
        if !self.recorder.follows_packets {
            return Ok(());
        }
        self.pools(now, tables);
        if let Some(study) = &mut self.recorder.study {
            let row = tables.descriptor(packet.slot).expect("a queued slot has a descriptor");
            let priority = Priority::of_bits(row.priority.load());
            let queue = (packet.port, priority);
            study.observe(now, self.switch, tables, queue, packet.length, Passage::Arrival);
        }
        self.waiting(now, packet.egress, i64::from(packet.length))
    }

    #[inline]
    fn departed(
        &mut self,
        now: Picos,
        tables: &SwitchTables,
        packet: Departed,
    ) -> Result<(), ResultsError> {
        if !self.recorder.follows_packets {
            return Ok(());
        }
        self.pools(now, tables);
        if let Some(study) = &mut self.recorder.study {
            let queue = (packet.ingress, packet.priority);
            study.observe(now, self.switch, tables, queue, packet.length, Passage::Departure);
        }
        self.waiting(now, packet.port, -i64::from(packet.length))
    }

    fn dropped(
        &mut self,
        now: Picos,
        port: u16,
        reason: DropReason,
        priority: Option<Priority>,
        length: u32,
    ) -> Result<(), ResultsError> {
        let Recorder { scenario, record, lossless_drops, .. } = &mut *self.recorder;
        let priority = priority.map(Priority::number);
        if priority.is_some_and(|priority| scenario.switch.lossless.contains(priority)) {
            *lossless_drops.entry((self.switch, reason)).or_default() += 1;
        }
        record.drop_event(&DropRow {
            time: now.to_nanos(),
            node: &scenario.fabric().switch(SwitchId(self.switch)).name,
            port: Some(port),
            priority,
            reason: reason.name(),
            class: drop_class(reason),
            bytes: Bytes(u64::from(length)),
        })
    }

    fn control_received(
        &mut self,
        now: Picos,
        tables: &SwitchTables,
        port: u16,
        control: &HopControl,
    ) -> Result<(), ResultsError> {
        let HopControl::Classes(pauses) = control else { return Ok(()) };
        let out = &self.recorder.scenario.fabric().switch(SwitchId(self.switch)).ports;
        let wire = out[usize::from(port)].reverse();
        for class in priority::of_mask(pauses.named) {
            let until = tables.pause_expiry(port.into(), class);
            self.recorder.pause_received(now.to_nanos(), wire, class.number(), until)?;
        }
        Ok(())
    }

    fn control_queued(&mut self, event: ControlEvent) {
        self.recorder.record.pause_frame(pause_event(event));
    }

    fn classes_told(
        &mut self,
        now: Picos,
        port: u16,
        order: &Order,
        classes: u8,
        event: ControlEvent,
    ) -> Result<(), ResultsError> {
        let fabric = self.recorder.scenario.fabric();
        let node = fabric.switch_node(SwitchId(self.switch));
        let peer = fabric.peer(node, port);
        for priority in priority::of_mask(classes) {
            self.recorder.record.pause(&PauseRow {
                time: now.to_nanos(),
                node: &fabric.node(node).name,
                port,
                peer: &fabric.node(peer.node).name,
                peer_port: peer.port,
                priority: priority.number(),
                event: pause_event(event),
                level: pause_level(order.level),
                occupancy: Bytes(order.occupancy_bytes),
                threshold: Bytes(order.threshold_bytes),
                shared_free: Bytes(order.shared_free_bytes),
            })?;
        }
        Ok(())
    }

    fn port_renewed(&mut self, now: Picos, tables: &SwitchTables, port: u16) {
        if let Some(study) = &mut self.recorder.study {
            study.observe_renewal(now, self.switch, tables, port);
        }
    }

    fn headroom_changed(
        &mut self,
        now: Picos,
        port: u16,
        headroom: Bytes,
        measured: Option<Measurement>,
    ) -> Result<(), ResultsError> {
        let fabric = self.recorder.scenario.fabric();
        let node = fabric.switch_node(SwitchId(self.switch));
        self.recorder.record.link_delay(&LinkDelayRow {
            time: now.to_nanos(),
            node: &fabric.node(node).name,
            port,
            peer: &fabric.node(fabric.peer(node, port).node).name,
            link_delay: measured.map(|measured| measured.link_delay()),
            response: measured.map(|measured| measured.response),
            headroom,
        })
    }
}

/// Who is to blame for a drop, as results say it.
pub fn drop_class(reason: DropReason) -> DropClass {
    match reason.class() {
        drop_reason::DropClass::Policy => DropClass::Policy,
        drop_reason::DropClass::Frame => DropClass::Frame,
        drop_reason::DropClass::Ignored => DropClass::Ignored,
        drop_reason::DropClass::Substrate => DropClass::Substrate,
        drop_reason::DropClass::Injected => DropClass::Injected,
    }
}

/// Whose occupancy decides, as results say it.
pub(super) fn pause_level(level: PauseLevel) -> results::PauseLevel {
    match level {
        PauseLevel::Queue => results::PauseLevel::Queue,
        PauseLevel::Port => results::PauseLevel::Port,
    }
}

/// Why a frame is sent, as results say it.
fn pause_event(event: ControlEvent) -> PauseEvent {
    match event {
        ControlEvent::Pause => PauseEvent::Xoff,
        ControlEvent::Resume => PauseEvent::Xon,
        ControlEvent::Renewal => PauseEvent::XoffRefresh,
    }
}
