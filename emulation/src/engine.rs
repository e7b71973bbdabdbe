//! The engine: it moves frames and time on any datapath, and decides nothing.
//!
//! The fabric is divided into parts ([`crate::partition`]), each of which one thread runs (`part`). No node can affect
//! another sooner than the shortest frame crosses the shortest wire. So all run by themselves through a window as long
//! as that, half open, and then frames change hands. A node runs its events in the order of their times; at one instant
//! a host takes commands, then its arrival, timers, transmissions, and a switch takes arrivals by port, timers, free
//! ports. Nobody asks who scheduled what first. What concerns the whole fabric happens between windows (`agenda`). What
//! nodes have to tell is sorted by time and node before the record gets it.
//!
//! So results are the same for any division, any number of threads and any length of windows: nothing depends on a
//! wall clock, threads or the iteration of hash maps.
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
mod flows;
mod headroom_study;
mod host_node;
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
mod told_flows;
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
use journal::Entry;
use load::Load;
use outages::Outages;
use part::{Opening, Part, Window};
use recorder::Recorder;
use rerouting::Rerouting;
use switch_node::SwitchNode;
use tally::Tally;
use wire_logger::Gathered;

/// Hops and windows between two looks at the interrupt flag and calls of the progress callback.
const STEPS_PER_LOOK: u64 = 1024;
/// No window is longer, so that a run can be interrupted. A run has ended when its last frame arrives, but nodes run on to
/// the end of that window.
const LONGEST_WINDOW: Picos = Picos::from_nanos(Nanos(100_000));

/// Why a run ended without results, or with those until then.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The substrate broke a promise. There are results, unless the caller wants none of a part of a run.
    #[error(transparent)]
    Datapath(#[from] DatapathError),
    /// Results could not be written.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The user asked for it before the fabric was up, or the caller wants no results of a part of a run.
    #[error("interrupted; nothing was written")]
    Interrupted,
    /// A live fabric cannot wait for programs and requests.
    #[cfg(feature = "kernel")]
    #[error("waiting for programs and requests: {0}")]
    Live(std::io::Error),
}

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Emulated time.
    pub now: Nanos,
    /// Flows that have completed.
    pub flows_completed: u64,
    /// Frames that have crossed a wire.
    pub packet_hops: u64,
}

/// Who watches a run.
pub struct Watch<'a> {
    /// Set when the run should end early.
    pub interrupted: &'a AtomicBool,
    /// Called now and then.
    pub progress: &'a mut dyn FnMut(Progress),
}

/// One run.
pub struct Engine<'a, W: Wires> {
    scenario: &'a Scenario,
    /// Flows that are still to start.
    stream: FlowStream,
    /// Flows that have started and are not done.
    active: BTreeMap<u32, Flow>,
    partition: Partition,
    // In boxes, because they move to the threads that run them.
    parts: Vec<Box<Part<W>>>,
    agenda: Agenda,
    /// Tasks that repeat as long as there are flows, with their periods, while there are none.
    resting: Vec<(Task, Picos)>,
    deadlocks: DeadlockWatch,
    rerouting: Rerouting,
    relinking: Outages,
    recorder: Recorder<'a>,
    /// Priorities that a packet, or the queue of one, has had, a bit each.
    classes: u8,
    /// The least time in which a node can affect another.
    lookahead: Picos,
    /// Windows are at most so long, and never longer than that.
    longest_window: Picos,
    /// Decides which windows run on several threads.
    load: Load,
    /// Threads that have had a part of some window.
    threads: u32,
    /// All that lies before it has happened.
    now: Picos,
    flows_completed: u64,
    /// Flows of the scenario's window that have started and are not done.
    flows_of_window: u64,
    /// Whether there was one.
    window_had_flows: bool,
    /// What the substrate did to the run.
    failure: Option<DatapathError>,
    /// The notes of a window; a field so that its memory is reused.
    entries: Vec<Entry>,
    /// What was put on wires in it; the same.
    logged: Gathered,
    /// What is known of a live fabric.
    #[cfg(feature = "kernel")]
    live: live::Live,
}

/// What a run leaves: its record, to be finished, what the engine counted, and the fabric.
pub struct Finished<W> {
    /// Rows and frames, streamed.
    pub record: Record,
    /// When the run ended.
    pub end: Picos,
    /// Counters.
    pub counted: Summary,
    /// The wires, still up.
    pub wires: W,
    /// The switches as they were left.
    pub switches: Vec<Switch<FrameId>>,
    /// Processor time of the threads besides the one that drove the run.
    pub others_cpu: Duration,
    /// Threads that had a part of some window.
    pub threads: u32,
    /// Why the run ended, if the substrate broke a promise: [`RunEnd::Failed`].
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
        let partition = Partition::of(fabric, threads.most);
        let mut tables: Vec<Option<SwitchTables>> = tables.into_iter().map(Some).collect();
        let media = wires.divide(frames, &partition);
        let parts = media.into_iter().zip(partition.members()).enumerate();
        let settings = HostSettings::of(scenario);
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
            rerouting: Rerouting::of(scenario),
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
        if let ThresholdUpdate::Period(period) = scenario.switch.thresholds {
            engine.agenda.schedule(period, Task::ControlPlane);
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

    /// Runs until every flow is done and the fabric has drained, the scenario's duration is over, it asks to stop at a
    /// deadlock or with the flows of its window, the watch interrupts, or the substrate breaks a promise.
    pub fn run(mut self, watch: &mut Watch<'_>) -> Result<Finished<W>, RunError> {
        let (end, others_cpu) = thread::scope(|scope| {
            let crew = Crew::start(scope, self.parts.len());
            let end = self.run_to_end(&crew, watch)?;
            Ok::<_, RunError>((end, crew.dismiss()))
        })?;
        (watch.progress)(self.progress());
        self.finish(end, others_cpu)
    }

    fn run_to_end(
        &mut self,
        crew: &Crew<'_, W>,
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
            self.tell_notes()?;
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

    /// Runs a window on all threads, or on this one if there is so little to do that the others would cost more.
    fn run_window(&mut self, crew: &Crew<'_, W>, window: Window) -> Result<(), DatapathError> {
        let on_their_way = self.parts.iter().map(|part| part.core.frames_on_their_way());
        let result = if self.load.is_worth_threads(on_their_way) {
            self.threads = crew.threads();
            crew.run(&mut self.parts, window)
        } else {
            self.parts.iter_mut().try_for_each(|part| part.run(window))
        };
        self.load.update(self.parts.iter().map(|part| part.core.tally.packet_hops));
        result
    }

    /// Ends the run in a window that the substrate did not let end. What nodes have done in it by then is in the results.
    fn fail(&mut self, failure: DatapathError, window_end: Picos) -> RunEnd {
        self.failure = Some(failure);
        self.now = window_end.min(self.scenario.duration);
        RunEnd::Failed
    }

    /// The next window, if it is not after the duration. What is due for the whole fabric at its beginning has been
    /// done, or is its opening.
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

    /// When something happens next.
    fn next_due(&self) -> Picos {
        let of_parts = self.parts.iter().map(|part| part.core.next()).min();
        let of_flows = self.stream.next_start();
        [of_parts, of_flows].into_iter().flatten().fold(self.agenda.next(), Picos::min)
    }

    /// Hands over the frames that have left their parts.
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

    /// Whether no flow is left and no frame is on its way.
    fn has_drained(&self) -> bool {
        self.stream.next_start().is_none() && self.has_drained_so_far()
    }

    /// Whether no flow is under way and no frame.
    fn has_drained_so_far(&self) -> bool {
        let is_empty = |part: &Part<W>| {
            part.core.frames_on_their_way() == 0
                && part.switches.iter().all(|node| node.switch.holds_no_packet())
                && part.hosts.iter().all(|node| node.host.is_idle())
        };
        self.active.is_empty() && self.parts.iter().all(|part| is_empty(part))
    }

    /// Whether the scenario asks to stop when the flows that start in its window are done, and they are; all that lies
    /// before `now` has happened.
    fn window_is_done(&self, now: Picos) -> bool {
        self.scenario.stop == Stop::Window
            && self.flows_of_window == 0
            && self.scenario.results.window.is_some_and(|window| now >= window.to)
    }

    /// What all parts have counted.
    fn tally(&self) -> Tally {
        self.parts.iter().fold(Tally::default(), |sum, part| sum.and(part.core.tally))
    }

    /// All switches in the order of their numbers.
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

    /// Has switches tell of pauses on the wires that the watch for deadlocks follows.
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
        self.parts.iter().flat_map(|part| &part.hosts).map(|node| node.host.counters())
    }
}
