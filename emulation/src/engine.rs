//! The engine: it moves frames and time on any datapath, and makes no decisions about packets.
//!
//! The fabric is divided into parts ([`crate::partition`]); one thread runs each part (`part`). No node can affect
//! another one sooner than the shortest frame crosses the shortest wire. So all parts run independently through a
//! window of this length, half open, and then exchange frames. A node runs its events in the order of their times.
//! At one instant a host handles commands, then its arrival, timers and transmissions; a switch handles arrivals by
//! port, timers, then free ports. The order in which events were scheduled has no influence. Tasks of the whole
//! fabric run between windows (`agenda`). Notes of nodes are sorted by time and node before they reach the record.
//!
//! So results do not depend on the division, the number of threads or the length of windows: nothing depends on a
//! wall clock, threads or the iteration of hash maps.
//!
//! A window is at most 100 us, and a few nanoseconds in a fabric without delays, which therefore runs slowly.
//! Conservative parallel simulation by windows is as in UNISON (`EuroSys` 2024). Arrivals come before transmissions, so a
//! PAUSE stops a transmission of the same instant if the response time is zero.
#![expect(
    clippy::cast_possible_truncation,
    reason = "ports, priorities, slots and lengths are packed into events and rows on every hop; what \
              is packed was checked when the fabric was built"
)]

mod agenda;
mod arrivals;
mod books;
mod core;
mod crew;
mod deadlock;
mod faults;
mod flow_decisions;
mod flows;
mod headroom_study;
mod host_node;
mod in_order;
mod journal;
mod link_tally;
#[cfg(feature = "kernel")]
mod live;
#[cfg(feature = "kernel")]
mod live_view;
pub(crate) mod load;
mod losses;
mod notes;
mod off_state;
mod outages;
mod part;
mod paused_lanes;
mod port_counters;
mod queue_dumps;
mod queue_tally;
pub(crate) mod recorder;
mod relinking;
mod rerouting;
mod sampler;
#[cfg_attr(
    not(feature = "kernel"),
    expect(dead_code, reason = "live fabrics run on the kernel datapath")
)]
mod stack;
mod stamper;
mod switch_node;
mod switch_recorder;
mod tally;
#[cfg(test)]
mod tests;
mod transmitter;
mod upcoming;
mod wait_graph;
mod wire_logger;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use host_agent::HostCounters;
use results::{Record, ResultsError, RunEnd, Summary};
use scenario::{CaptureFilter, Scenario, Stop, ThresholdUpdate};
use switch_user::switch::Switch;
use switch_user::tables::SwitchTables;
use topology::{SwitchId, WireId};
use units::{Nanos, Picos};
use workload::{Flow, FlowStream};

use crate::datapath::{DatapathError, Deployed, FrameId, Wires};
use crate::host_settings::{self, HostSettings};
use crate::partition::{Partition, Place};
use crate::switch_settings;

#[cfg(feature = "kernel")]
pub use live::{Ended, Surroundings, Trial};
pub use load::ThreadUse;

use agenda::{Agenda, Task};
use crew::Crew;
use deadlock::DeadlockWatch;
use host_node::HostNode;
use journal::Entry;
use load::Load;
use outages::Outages;
use part::{Opening, Part, Window};
use recorder::Recorder;
use rerouting::Rerouting;
use switch_node::SwitchNode;
use tally::Tally;
use wire_logger::Gathered;

/// Hops and windows between two checks of the interrupt flag, with calls of the progress callback.
const STEPS_PER_LOOK: u64 = 1024;
/// Max length of a window, so that a run can be interrupted. A run ends when its last frame arrives, but nodes run
/// on to the end of that window.
const MAX_WINDOW: Picos = Picos::from_nanos(Nanos(100_000));

/// Reason why a run ended without results, or with partial results.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The substrate broke a promise. There are results, unless the caller discards partial results.
    #[error(transparent)]
    Datapath(#[from] DatapathError),
    /// Results could not be written.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The user interrupted the run before the fabric was up, or the caller discards partial results.
    #[error("interrupted; nothing was written")]
    Interrupted,
    /// A live fabric could not wait for programs and requests.
    #[cfg(feature = "kernel")]
    #[error("waiting for programs and requests: {0}")]
    Live(std::io::Error),
}

/// Progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Emulated time.
    pub now: Nanos,
    /// Flows that have completed.
    pub flows_completed: u64,
    /// Number of frames that have crossed a wire, counted on each wire.
    pub packet_hops: u64,
}

/// Interrupt flag and progress callback of a run.
pub struct Watch<'a> {
    /// Set to end the run early.
    pub interrupted: &'a AtomicBool,
    /// Called from time to time.
    pub progress: &'a mut dyn FnMut(Progress),
}

/// One run.
pub struct Engine<'a, W: Wires> {
    scenario: &'a Scenario,
    /// Flows that have not started yet.
    stream: FlowStream,
    /// Flows in progress, by number.
    active: BTreeMap<u32, Flow>,
    partition: Partition,
    // Boxed, because parts move to the threads that run them.
    parts: Vec<Box<Part<W>>>,
    agenda: Agenda,
    /// Periodic tasks that rest while there are no flows, with their periods.
    resting: Vec<(Task, Picos)>,
    deadlocks: DeadlockWatch,
    rerouting: Rerouting,
    relinking: Outages,
    recorder: Recorder<'a>,
    /// Priorities that any packet, or its queue, has had, one bit each.
    classes: u8,
    /// Min time in which a node can affect another one.
    lookahead: Picos,
    /// Max length of windows; at most `lookahead`.
    longest_window: Picos,
    /// Decides which windows run on several threads.
    load: Load,
    /// Number of threads that have run a part of some window.
    threads: u32,
    /// All events before this instant have been processed.
    now: Picos,
    flows_completed: u64,
    /// Number of flows in progress that started in the scenario's window.
    flows_of_window: u64,
    /// True if a flow started in the scenario's window.
    window_had_flows: bool,
    /// Failure of the substrate that ends the run.
    failure: Option<DatapathError>,
    /// Notes of a window; a field so that its memory is reused.
    entries: Vec<Entry>,
    /// Frames sent in a window; a field so that its memory is reused.
    logged: Gathered,
    /// State of a live fabric.
    #[cfg(feature = "kernel")]
    live: live::Live,
}

/// Result of a run: its unfinished record, the engine's counters, and the fabric.
pub struct Finished<W> {
    /// Rows and frames, written as a stream.
    pub record: Record,
    /// Instant at which the run ended.
    pub end: Picos,
    /// Counters.
    pub counted: Summary,
    /// The wires, still up.
    pub wires: W,
    /// The switches in their final state.
    pub switches: Vec<Switch<FrameId>>,
    /// Processor time of all threads except the thread that drove the run.
    pub others_cpu: Duration,
    /// Number of threads that ran a part of some window.
    pub threads: u32,
    /// Failure of the substrate that ended the run: [`RunEnd::Failed`].
    pub failure: Option<DatapathError>,
}

impl<'a, W: Wires> Engine<'a, W> {
    /// A run of `scenario` on a configured fabric. `captured` are the wires of the capture, in order.
    pub fn new(
        scenario: &'a Scenario,
        fabric: Deployed<W>,
        record: Record,
        captured: &[(WireId, CaptureFilter)],
        threads: ThreadUse,
    ) -> Self {
        let Deployed { frames, wires, tables } = fabric;
        let as_agreed = |tables: &SwitchTables| tables.is_mapped() == W::SHARED;
        assert!(
            tables.iter().all(as_agreed),
            "eBPF works on the tables of a datapath or it does not"
        );
        let fabric = scenario.fabric();
        let partition = Partition::new(fabric, threads.most);
        let mut tables: Vec<Option<SwitchTables>> = tables.into_iter().map(Some).collect();
        let media = wires.divide(frames, &partition);
        let parts = media.into_iter().zip(partition.members()).enumerate();
        let settings = HostSettings::new(scenario);
        let parts = parts.map(|(number, (medium, members))| {
            let of_part = members
                .switches
                .iter()
                .map(|switch| tables[switch.0 as usize].take().expect("a switch is in one part"));
            let tables = of_part.collect();
            Box::new(Part::new(scenario, &partition, number, tables, medium, captured, &settings))
        });
        let parts = parts.collect();
        let lookahead = load::lookahead(scenario);
        let load = Load::new(partition.parts(), threads.least_frames);
        let mut engine = Self {
            scenario,
            stream: scenario.flow_stream(),
            active: BTreeMap::new(),
            partition,
            parts,
            agenda: Agenda::default(),
            resting: Vec::new(),
            deadlocks: DeadlockWatch::new(fabric, scenario.may_reroute()),
            rerouting: Rerouting::new(scenario),
            relinking: relinking::outages(scenario),
            recorder: Recorder::new(scenario, record),
            classes: host_settings::control_classes(scenario)
                | switch_settings::prioritising_classes(scenario),
            lookahead,
            longest_window: lookahead,
            load,
            threads: 1,
            now: Picos::ZERO,
            flows_completed: 0,
            flows_of_window: 0,
            window_had_flows: false,
            failure: None,
            entries: Vec::new(),
            logged: Gathered::default(),
            #[cfg(feature = "kernel")]
            live: live::Live::default(),
        };
        for part in &mut engine.parts {
            part.core.set_longest_window(lookahead);
        }
        engine.watch_pauses();
        engine.plan_relinks();
        engine.announce_storms();
        engine.agenda.schedule(Picos::ZERO, Task::Sample);
        engine.plan_queue_dump();
        if switch_settings::measures_links(scenario) {
            // Before the first flow, so that ports measure their links before they send packets.
            engine.agenda.schedule(Picos::ZERO, Task::LinkDelays);
        }
        if let ThresholdUpdate::Period(update) = scenario.switch.thresholds {
            engine.agenda.schedule(update.period.get(), Task::ControlPlane);
        }
        if let Some(period) = scenario.lossy_period() {
            engine.agenda.schedule(period, Task::BufferManagement);
        }
        engine.plan_looks();
        engine.plan_reroutes();
        if let Some(period) = scenario.announcement_period() {
            engine.agenda.schedule(period, Task::Announcements);
        }
        engine
    }

    /// Runs until every flow is done and the fabric has drained, or the scenario's duration is over, or it stops at
    /// a deadlock or with the flows of its window, or the watch interrupts it, or the substrate breaks a promise.
    pub fn run(mut self, watch: &mut Watch<'_>) -> Result<Finished<W>, RunError> {
        let (end, others_cpu) = thread::scope(|scope| {
            let mut crew = Crew::new(scope);
            let end = self.run_to_end(&mut crew, watch)?;
            Ok::<_, RunError>((end, crew.dismiss()))
        })?;
        (watch.progress)(self.progress());
        self.finish(end, others_cpu)
    }

    fn run_to_end(
        &mut self,
        crew: &mut Crew<'_, '_, W>,
        watch: &mut Watch<'_>,
    ) -> Result<RunEnd, RunError> {
        let mut looked_at = 0;
        let mut others = 0;
        loop {
            let Some(mut window) = self.next_window()? else {
                self.now = self.scenario.duration;
                return Ok(RunEnd::Duration);
            };
            if self.scenario.stop == Stop::Deadlock && self.deadlocks.is_deadlocked() {
                return Ok(RunEnd::Deadlock);
            }
            others += self.start_flows(&mut window);
            if let Err(failure) = self.run_window(crew, window) {
                return Ok(self.fail(failure, window.end));
            }
            self.exchange();
            self.record_notes()?;
            if self.has_drained() {
                self.now = self.tally().last_activity;
                return Ok(RunEnd::Drained);
            }
            if self.window_is_done(window.end) {
                self.now = window.end.min(self.scenario.duration);
                return Ok(RunEnd::Window);
            }
            others += 1;
            // Windows and starts of flows are steps, too.
            let steps = self.tally().packet_hops + others;
            if steps - looked_at >= STEPS_PER_LOOK {
                looked_at = steps;
                if watch.interrupted.load(Ordering::Relaxed) {
                    self.now = window.end.min(self.scenario.duration);
                    return Ok(RunEnd::Interrupted);
                }
                (watch.progress)(self.progress());
            }
        }
    }

    /// Runs a window on all threads, or on this one if there is too little work to pay for the others.
    fn run_window(
        &mut self,
        crew: &mut Crew<'_, '_, W>,
        window: Window,
    ) -> Result<(), DatapathError> {
        let on_their_way = self.parts.iter().map(|part| part.core.frames_on_their_way());
        let result = if self.load.is_worth_threads(on_their_way) {
            let result = crew.run(&mut self.parts, window);
            self.threads = crew.threads();
            result
        } else {
            self.parts.iter_mut().try_for_each(|part| part.run(window))
        };
        self.load.update(self.parts.iter().map(|part| part.core.tally.packet_hops));
        result
    }

    /// Ends the run in a window in which the substrate failed. The results include the events of this window up to
    /// the failure.
    fn fail(&mut self, failure: DatapathError, window_end: Picos) -> RunEnd {
        self.failure = Some(failure);
        self.now = window_end.min(self.scenario.duration);
        RunEnd::Failed
    }

    /// The next window; `None` if it begins after the duration. Tasks of the whole fabric due at its beginning have
    /// run, or are in its opening.
    fn next_window(&mut self) -> Result<Option<Window>, RunError> {
        let start = self.next_due();
        let duration = self.scenario.duration;
        if start > duration {
            return Ok(None);
        }
        debug_assert!(start >= self.now, "time does not run backwards");
        self.now = start;
        let mut opening = Opening::default();
        while let Some(task) = self.agenda.pop(start) {
            self.perform(task, &mut opening)?;
        }
        let end = (start + self.longest_window).min(self.agenda.next()).min(duration + Picos(1));
        Ok(Some(Window { start, end, opening }))
    }

    /// Instant of the next event.
    fn next_due(&self) -> Picos {
        let of_parts = self.parts.iter().map(|part| part.next()).min();
        let of_flows = self.stream.next_start();
        [of_parts, of_flows].into_iter().flatten().fold(self.agenda.next(), Picos::min)
    }

    /// Exchanges frames between parts.
    fn exchange(&mut self) {
        for from in 0..self.parts.len() {
            for to in 0..self.parts.len() {
                if from != to {
                    let mail = self.parts[from].core.post(to);
                    self.parts[to].core.receive_mail(mail);
                }
            }
        }
    }

    fn progress(&self) -> Progress {
        Progress {
            now: self.now.to_nanos(),
            flows_completed: self.flows_completed,
            packet_hops: self.tally().packet_hops,
        }
    }

    /// True if no flow is left to start and the fabric has drained.
    fn has_drained(&self) -> bool {
        self.stream.next_start().is_none() && self.has_drained_so_far()
    }

    /// True if no flow is in progress and no frame is under way.
    fn has_drained_so_far(&self) -> bool {
        let is_empty = |part: &Part<W>| {
            part.core.frames_on_their_way() == 0
                && part.switches.iter().all(|node| part.holds_no_packet(node))
                && part.hosts.iter().all(HostNode::is_idle)
        };
        self.active.is_empty() && self.parts.iter().all(|part| is_empty(part))
    }

    /// True if the scenario stops with the flows of its window and all of them are done. All events before `now`
    /// have been processed.
    fn window_is_done(&self, now: Picos) -> bool {
        self.scenario.stop == Stop::Window
            && self.flows_of_window == 0
            && self.scenario.results.window().is_some_and(|window| now >= window.to)
    }

    /// Counters of all parts together.
    fn tally(&self) -> Tally {
        self.parts.iter().fold(Tally::default(), |sum, part| sum.and(part.core.tally))
    }

    /// All switches by number.
    fn switches(&self) -> impl Iterator<Item = &SwitchNode> {
        (0..self.scenario.fabric().switch_count()).map(|number| self.switch_node(SwitchId(number)))
    }

    fn switch_node(&self, switch: SwitchId) -> &SwitchNode {
        let fabric = self.scenario.fabric();
        let Place { part, index } = self.partition.place(fabric.switch_node(switch));
        let part = &self.parts[part as usize];
        &part.switches[index as usize - part.hosts.len()]
    }

    fn switch(&self, switch: SwitchId) -> &Switch<FrameId> {
        &self.switch_node(switch).switch
    }

    #[cfg(test)]
    fn switch_mut(&mut self, switch: SwitchId) -> &mut Switch<FrameId> {
        let node = self.scenario.fabric().switch_node(switch);
        let Place { part, index } = self.partition.place(node);
        let part = &mut self.parts[part as usize];
        &mut part.switches[index as usize - part.hosts.len()].switch
    }

    /// Makes switches report pauses on the wires that the deadlock watch follows.
    fn watch_pauses(&mut self) {
        let fabric = self.scenario.fabric();
        let lossless = self.scenario.switch.lossless.0;
        for node in self.parts.iter_mut().flat_map(|part| &mut part.switches) {
            for (port, wire) in (0..).zip(&fabric.switch(node.id).ports) {
                if self.deadlocks.follows(wire.0) {
                    node.watch(port, lossless);
                }
            }
        }
    }

    fn host_totals(&self) -> impl Iterator<Item = &HostCounters> {
        self.parts.iter().flat_map(|part| &part.hosts).map(HostNode::counters)
    }
}
