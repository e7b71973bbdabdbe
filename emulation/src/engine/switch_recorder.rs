//! Records events in a switch: notes for the record, pool levels, and measurements that a scenario asks for.

use std::convert::Infallible;

use fabric_core::drop_reason::DropReason;
use fabric_core::hop_control::{FlowList, HopControl, LINE_RATE, Order, PauseEvent};
use fabric_core::port_state::{PortState, StateCause};
use fabric_core::priority::{self, Priority};
use fabric_core::queue::QueueId;
use fabric_core::tables::Tables;
use results::{Measurements, Occupancy, PoolLevels, QueueLengths};
use scenario::Scenario;
use switch_user::link_delay::Measurement;
use switch_user::switch::{Admitted, Departed, Observer, Storm};
use switch_user::tables::SwitchTables;
use topology::{NodeId, SwitchId, WireId};
use units::{Bytes, Picos};

use super::headroom_study::{HeadroomStudy, Passage};
use super::journal::{FlowsTold, Journal, Note};
use super::queue_tally::QueueTally;
use crate::hpcc_options::queue_sampling;
use crate::switch_settings;

/// Data of a switch that results follow.
pub struct Followed {
    /// The switch.
    node: NodeId,
    /// True if admitted and sent packets are recorded one by one.
    packets: bool,
    /// Occupancy of its pools.
    pub occupancy: Option<Box<Occupancy>>,
    /// Counters of its queues.
    pub queues: Option<Box<QueueTally>>,
    /// Measurements of its headroom.
    pub study: Option<Box<HeadroomStudy>>,
    /// Queue lengths of its ports, for files in the format of HPCC's simulator.
    pub lengths: Option<Box<QueueLengths>>,
    /// The arriving wire of each port.
    wires: Box<[WireId]>,
}

impl Followed {
    /// The recordings of a switch that a scenario asks for.
    pub fn new(scenario: &Scenario, switch: SwitchId) -> Self {
        let results = &scenario.results;
        let window = crate::run::window(results);
        let occupancy = || Box::new(Occupancy::new(scenario.switch_at(switch).buffer, window));
        let occupancy = results.occupancy.then(occupancy);
        let study = results.distributions.then(|| HeadroomStudy::new(scenario, switch).into());
        let ports = scenario.fabric().switch(switch).ports.len();
        let queues = || QueueTally::new(ports, &switch_settings::queues(scenario)).into();
        let queues = results.queue_counters.then(queues);
        let sampling = queue_sampling(scenario);
        let lengths = sampling.map(|sampling| QueueLengths::new(ports, sampling).into());
        let wires = &scenario.fabric().switch(switch).ports;
        Self {
            node: scenario.fabric().switch_node(switch),
            packets: occupancy.is_some()
                || study.is_some()
                || queues.is_some()
                || lengths.is_some(),
            occupancy,
            queues,
            study,
            lengths,
            wires: wires.iter().map(|wire| wire.reverse()).collect(),
        }
    }
}

impl Followed {
    /// The observer of the switch.
    #[inline]
    pub fn recorder<'a>(
        &'a mut self,
        journal: &'a mut Journal,
        measured: &'a mut Option<Box<Measurements>>,
    ) -> SwitchRecorder<'a> {
        SwitchRecorder { followed: self, journal, measured }
    }
}

/// The observer of a switch.
pub struct SwitchRecorder<'a> {
    /// Data of the switch that results follow.
    pub followed: &'a mut Followed,
    /// Journal for the notes.
    pub journal: &'a mut Journal,
    /// Measurements of headroom.
    pub measured: &'a mut Option<Box<Measurements>>,
}

impl SwitchRecorder<'_> {
    #[inline]
    fn pools(&mut self, now: Picos, tables: &SwitchTables) {
        if let Some(occupancy) = &mut self.followed.occupancy {
            let state = tables.state();
            let levels = PoolLevels {
                private: state.private_bytes.load(),
                shared: state.shared_bytes.load(),
                headroom: state.headroom_bytes.load(),
                lossy: state.lossy_bytes.load(),
            };
            occupancy.observe(now, levels);
        }
    }

    /// Adds `change` bytes to the egress queues of a port.
    #[inline]
    fn waiting(&mut self, now: Picos, port: u16, change: i64) {
        if let Some(lengths) = &mut self.followed.lengths {
            lengths.change(now, port, change);
        }
    }

    #[inline(never)]
    fn follow_admitted(&mut self, now: Picos, tables: &SwitchTables, packet: &Admitted) {
        self.pools(now, tables);
        if let (Some(study), Some(measured)) = (&mut self.followed.study, &mut *self.measured) {
            let row = tables.descriptor(packet.slot).expect("a queued slot has a descriptor");
            let priority = row.priority();
            let queue = (packet.port, priority);
            study.observe(now, tables, queue, packet.length, Passage::Arrival, measured);
        }
        if let Some(queues) = &mut self.followed.queues {
            queues.admitted(tables, packet);
        }
        self.waiting(now, packet.egress, i64::from(packet.length));
    }

    #[inline(never)]
    fn follow_departed(&mut self, now: Picos, tables: &SwitchTables, packet: &Departed) {
        self.pools(now, tables);
        if let (Some(study), Some(measured)) = (&mut self.followed.study, &mut *self.measured) {
            let queue = (packet.ingress, packet.priority);
            study.observe(now, tables, queue, packet.length, Passage::Departure, measured);
        }
        if let Some(queues) = &mut self.followed.queues {
            queues.departed(tables, packet);
        }
        self.waiting(now, packet.port, -i64::from(packet.length));
    }
}

impl Observer for SwitchRecorder<'_> {
    type Error = Infallible;

    #[inline(always)]
    fn admitted(
        &mut self,
        now: Picos,
        tables: &SwitchTables,
        packet: Admitted,
    ) -> Result<(), Infallible> {
        if self.followed.packets {
            // The copy is made here only: a reference to `packet` itself would keep every packet out of registers.
            self.follow_admitted(now, tables, &{ packet });
        }
        Ok(())
    }

    #[inline(always)]
    fn departed(
        &mut self,
        now: Picos,
        tables: &SwitchTables,
        packet: Departed,
    ) -> Result<(), Infallible> {
        if self.followed.packets {
            self.follow_departed(now, tables, &{ packet });
        }
        Ok(())
    }

    fn dropped(
        &mut self,
        now: Picos,
        port: u16,
        reason: DropReason,
        priority: Option<Priority>,
        length: u32,
    ) -> Result<(), Infallible> {
        let priority = priority.map(Priority::number);
        self.journal.note(
            now,
            self.followed.node,
            Note::Dropped { port, priority, reason, length },
        );
        Ok(())
    }

    fn control_received(
        &mut self,
        now: Picos,
        tables: &SwitchTables,
        port: u16,
        control: &HopControl,
    ) -> Result<(), Infallible> {
        let HopControl::Classes(pauses) = control else { return Ok(()) };
        let wire = self.followed.wires[usize::from(port)];
        for class in priority::of_mask(pauses.named) {
            let until = tables.pause_expiry(port.into(), class);
            let (priority, quanta) = (class.number(), Some(pauses.quanta[class.index()]));
            let what = Note::PauseReceived { wire, priority, until, quanta };
            self.journal.note(now, self.followed.node, what);
        }
        Ok(())
    }

    fn control_queued(&mut self, event: PauseEvent) {
        self.journal.frames.count(event);
    }

    fn classes_told(
        &mut self,
        now: Picos,
        port: u16,
        order: &Order,
        classes: u8,
        event: PauseEvent,
        state: Option<PortState>,
    ) -> Result<(), Infallible> {
        let what = Note::Told { port, classes, event, state, reason: order.into() };
        self.journal.note(now, self.followed.node, what);
        Ok(())
    }

    fn queue_told(
        &mut self,
        now: Picos,
        port: u16,
        order: &Order,
        queue: QueueId,
        paused: bool,
    ) -> Result<(), Infallible> {
        let (queue, reason) = (queue.number(), order.into());
        self.journal.note(now, self.followed.node, Note::QueueTold { port, queue, paused, reason });
        Ok(())
    }

    fn rate_told(
        &mut self,
        now: Picos,
        port: u16,
        order: &Order,
        priority: Priority,
        kilobits_per_second: u32,
    ) -> Result<(), Infallible> {
        let told = if kilobits_per_second == LINE_RATE { 0 } else { kilobits_per_second };
        let what = Note::RateTold {
            port,
            priority: priority.number(),
            kilobits_per_second: told,
            reason: order.into(),
        };
        self.journal.note(now, self.followed.node, what);
        Ok(())
    }

    fn flows_told(
        &mut self,
        now: Picos,
        port: u16,
        order: &Order,
        priority: Priority,
        flows: &FlowList,
        paused: bool,
    ) -> Result<(), Infallible> {
        let told = FlowsTold {
            port,
            priority: priority.number(),
            paused,
            flows: *flows,
            occupancy: order.occupancy_bytes,
            threshold: order.threshold_bytes,
        };
        self.journal.note(now, self.followed.node, Note::FlowsTold(Box::new(told)));
        Ok(())
    }

    fn state_changed(
        &mut self,
        now: Picos,
        port: u16,
        priority: Option<Priority>,
        cause: StateCause,
    ) -> Result<(), Infallible> {
        let priority = priority.map(Priority::number);
        self.journal.note(now, self.followed.node, Note::StateChanged { port, priority, cause });
        Ok(())
    }

    fn pauses_tested(&mut self, now: Picos, tables: &SwitchTables, port: u16) {
        if let (Some(study), Some(measured)) = (&mut self.followed.study, &mut *self.measured) {
            study.observe_test(now, tables, port, measured);
        }
    }

    fn pause_ignored(
        &mut self,
        now: Picos,
        port: u16,
        priority: Priority,
    ) -> Result<(), Infallible> {
        // For followers of pauses, the pause ends here.
        let (wire, priority) = (self.followed.wires[usize::from(port)], priority.number());
        let what = Note::PauseReceived { wire, priority, until: now.to_nanos(), quanta: None };
        self.journal.note(now, self.followed.node, what);
        Ok(())
    }

    fn storm_detected(&mut self, now: Picos, storm: &Storm) -> Result<(), Infallible> {
        self.journal.note(now, self.followed.node, Note::StormDetected(Box::new(*storm)));
        Ok(())
    }

    fn storm_restored(&mut self, now: Picos, storm: &Storm) -> Result<(), Infallible> {
        self.journal.note(now, self.followed.node, Note::StormRestored(Box::new(*storm)));
        Ok(())
    }

    fn headroom_changed(
        &mut self,
        now: Picos,
        port: u16,
        headroom: Bytes,
        measured: Option<Measurement>,
    ) -> Result<(), Infallible> {
        self.journal.note(now, self.followed.node, Note::LinkDelay { port, headroom, measured });
        Ok(())
    }
}
