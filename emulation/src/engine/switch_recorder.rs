//! Records events in a switch: notes for the record, pool levels, and measurements that a scenario asks for.

use fabric_core::tables::Tables;
use results::{Measurements, Occupancy, PoolLevels, QueueLengths};
use scenario::Scenario;
use switch_user::switch::{Admitted, Departed, Event, Observer};
use switch_user::tables::SwitchTables;
use topology::{NodeId, SwitchId};
use units::Picos;

use super::headroom_study::{HeadroomStudy, Passage};
use super::journal::{Journal, Note};
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
    /// True if the sample of queue lengths at this instant has been taken already.
    pub is_sampled: bool,
}

impl Followed {
    /// The recordings of a switch that a scenario asks for.
    pub fn new(scenario: &Scenario, switch: SwitchId) -> Self {
        let results = &scenario.results;
        let window = crate::run::window(results);
        let occupancy = || Box::new(Occupancy::new(scenario.switch_at(switch).buffer(), window));
        let occupancy = results.occupancy.then(occupancy);
        let study = results.distributions.then(|| HeadroomStudy::new(scenario, switch).into());
        let ports = scenario.fabric().switch(switch).ports.len();
        let queues = || QueueTally::new(ports, &switch_settings::queues(scenario)).into();
        let queues = results.queue_counters.then(queues);
        let sampling = queue_sampling(scenario);
        let lengths = sampling.map(|sampling| QueueLengths::new(ports, sampling).into());
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
            is_sampled: false,
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
            // The next picosecond is behind the sample.
            let now = now + Picos(u64::from(self.followed.is_sampled));
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

    fn follow_test(&mut self, now: Picos, tables: &SwitchTables, port: u16) {
        if let (Some(study), Some(measured)) = (&mut self.followed.study, &mut *self.measured) {
            study.observe_test(now, tables, port, measured);
        }
    }

    #[inline(never)]
    fn note(&mut self, now: Picos, event: Event) {
        self.journal.note(now, self.followed.node, Note::Switch(event));
    }
}

impl Observer for SwitchRecorder<'_> {
    #[inline(always)]
    fn event(&mut self, now: Picos, tables: &SwitchTables, event: Event) {
        match event {
            Event::Admitted(packet) => {
                if self.followed.packets {
                    // The copy is made here only: a reference to `packet` itself would keep every packet out of
                    // registers.
                    self.follow_admitted(now, tables, &{ packet });
                }
            }
            Event::Departed(packet) => {
                if self.followed.packets {
                    self.follow_departed(now, tables, &{ packet });
                }
            }
            Event::PausesTested { port } => self.follow_test(now, tables, port),
            Event::PfcQueued(event) => self.journal.frames.count(event),
            event => self.note(now, event),
        }
    }
}
