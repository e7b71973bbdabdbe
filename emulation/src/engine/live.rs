//! The engine on the real clock: each window runs when the wall clock reaches it. See [`crate::live`].
//!
//! An idle engine waits for taps, the desk's waker and its next event. Periodic tasks rest while nothing that they read
//! can change, and continue at their usual instants, so results of a live fabric have the rows of a run.

mod programs;
mod storms;
mod waiters;
mod wires;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use fabric_core::priority::Priority;
use host_agent::HostEvent;
use results::{DeadlineCount, FidelitySummary, ResultsError, RunEnd};
use scenario::CaptureFilter;
use switch_user::switch::Event;
use topology::{HostId, WireId};
use units::{Nanos, Picos};

use super::agenda::Task;
use super::crew::Crew;
use super::host_node::HostNode;
use super::journal::{Entry, Note};
use super::{Engine, Finished, RunError};
use crate::datapath::Wires;
use crate::datapath::kernel::KernelWires;
use crate::live::captures::{self, Captures};
use crate::live::clock::{RealClock, wall};
use crate::live::desk::{Desk, Request};
use crate::live::lateness::Punctuality;
use crate::live::pauses::Pauses;
use crate::live::stacks::Stacks;
use crate::live::view::View;
use crate::partition::Place;

use storms::StormEvents;
use waiters::Waiter;

/// Max number of windows between two polls of programs and users, while the engine is behind the wall clock.
const WINDOWS_AT_ONCE: u32 = 16;
/// Max time of these windows. In a large fabric it limits their number.
const MAX_BATCH: Duration = Duration::from_millis(5);
/// Max number of requests handled before the fabric goes on.
const REQUESTS_AT_ONCE: usize = 64;
/// Min number of deadlines in a trial, as a basis for a statement on punctuality.
const TRIAL_DEADLINES: u64 = 100;
/// Min number of windows in a trial, so that frames arrive and are acknowledged.
const TRIAL_WINDOWS: u64 = 2;
/// Interval at which a trial past its time checks whether it has enough deadlines.
const MOMENT: Duration = Duration::from_millis(1);
/// Interval at which an idle fabric checks for an interrupt, and checks its hosts' interfaces.
const MAX_WAIT: Duration = Duration::from_millis(200);

/// State of a live fabric; empty in a run.
#[derive(Debug, Default)]
pub struct Live {
    /// Clients that wait for flows, by flow number.
    waiting: BTreeMap<u32, Waiter>,
    /// Captures in progress.
    captures: Captures,
    /// Pauses received on each wire.
    pub pauses: Option<Pauses>,
    /// Recent events of PFC storms, and their subscriber.
    storm_events: Option<StormEvents>,
    /// Sleeps up to now.
    sleeps: DeadlineCount,
    /// Time by which the clock was set back up to now.
    lost: Duration,
    /// True if tasks rest while nothing changes.
    rests: bool,
    /// Folder for results at the end.
    pub folder: Option<PathBuf>,
}

/// Surroundings of a live engine.
pub struct Surroundings<'a> {
    /// Seconds of the wall clock per emulated second.
    pub dilation: NonZeroU32,
    /// Emulated instant at which the clock starts; earlier events run at once.
    pub from: Picos,
    /// Length of a trial; `None` outside of trials.
    pub trial: Option<Trial>,
    /// Frames of programs.
    pub stacks: &'a mut Stacks,
    /// Requests of users.
    pub desk: &'a mut Desk,
    /// Flag that ends the fabric.
    pub interrupted: &'a AtomicBool,
}

/// Length of a trial, wall clock.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// Min length. The trial ends after it, once there are enough deadlines.
    pub least: Duration,
    /// Max length. The trial ends after it in any case.
    pub most: Duration,
}

/// Reason why a live engine ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    /// A request or interrupt ended it, or it was a trial.
    Requested,
    /// Max lifetime reached.
    LivedOut,
    /// The substrate broke a promise.
    Failed,
}

/// Result of a live engine.
pub struct Ended {
    /// Record, counters and fabric.
    pub finished: Finished<KernelWires>,
    /// Punctuality from start to end.
    pub fidelity: FidelitySummary,
    /// Wall time in which there was work to do.
    pub busy: Duration,
    /// True if a trial had enough deadlines for a statement on punctuality.
    pub has_shown_enough: bool,
    /// Time from start to end, wall clock.
    pub took: Duration,
    /// Error that prevented results, if the fabric was to write results.
    pub lost_results: Option<ResultsError>,
}

impl Engine<'_, KernelWires> {
    /// Connects the kernel's network stacks to the NICs.
    pub fn connect_stacks(&mut self, stacks: &Stacks) {
        for host in (0..self.scenario.fabric().host_count()).map(HostId) {
            let tap = stacks.tap(host.0 as usize);
            // An interface that is down, or was deleted by its user, receives nothing.
            let to_stack = move |frame: &[u8]| drop(tap.deliver(frame));
            self.host_node_mut(host).connect_stack(Box::new(to_stack));
        }
    }

    /// Lets the fabric run on if results cannot be written. `folder` is shown as the intended folder of the
    /// results.
    pub fn survive_loss_of(&mut self, folder: PathBuf) {
        self.recorder.survives = true;
        self.live.folder = Some(folder);
    }

    /// Runs until a trial ends, a request or an interrupt ends the fabric, or its lifetime is over.
    pub fn run_live(mut self, mut around: Surroundings<'_>) -> Result<Ended, RunError> {
        self.live.rests = true;
        self.live.pauses = Some(Pauses::new(self.scenario.fabric().wires().len()));
        let (others_cpu, mut clock, took, over) = thread::scope(|scope| {
            let mut crew = Crew::new(scope);
            // Not in a window, whose deadlines are real.
            crew.start(self.parts.len());
            while self.next_due() < around.from && self.run_next_window(&mut crew)?.is_some() {}
            let began = wall();
            let mut clock = RealClock::start(around.dilation, around.from);
            for part in &mut self.parts {
                let nodes = part.hosts.len() + part.switches.len();
                part.punctuality = Some(Box::new(Punctuality::new(clock.pace(), nodes)));
            }
            let over = match self.follow(&mut crew, &mut clock, &mut around) {
                Err(RunError::Datapath(failure)) => {
                    self.fail(failure, clock.now());
                    Over::Failed
                }
                over => over?,
            };
            let took = wall().saturating_duration_since(began);
            Ok::<_, RunError>((crew.dismiss(), clock, took, over))
        })?;
        let busy = took.saturating_sub(clock.rested());
        let has_shown_enough =
            self.has_drained_for_good() || self.has_shown_enough(self.now, around.from);
        let fidelity = self.fidelity_summary(&mut clock);
        let end = if over == Over::LivedOut {
            self.now = self.scenario.duration;
            RunEnd::Duration
        } else if over == Over::Failed {
            RunEnd::Failed
        } else if self.has_drained_for_good() {
            self.now = self.tally().last_activity;
            RunEnd::Drained
        } else {
            RunEnd::Interrupted
        };
        let lost_results = self.recorder.lost.take();
        // From here on, an error of the record is an error of the engine.
        self.recorder.survives = false;
        let finished = self.finish(end, others_cpu)?;
        Ok(Ended { finished, fidelity, busy, has_shown_enough, took, lost_results })
    }

    fn follow(
        &mut self,
        crew: &mut Crew<'_, '_, KernelWires>,
        clock: &mut RealClock,
        around: &mut Surroundings<'_>,
    ) -> Result<Over, RunError> {
        let Surroundings { stacks, desk, interrupted, trial, from, .. } = around;
        let (least, most) = trial.map_or((Duration::MAX, Duration::MAX), |it| (it.least, it.most));
        let began = wall();
        let mut checked = began;
        // All events before this instant have been processed.
        let mut done = Picos::ZERO;
        let mut wait = Duration::ZERO;
        while !interrupted.load(Ordering::Relaxed) {
            let passed = wall().saturating_duration_since(began);
            if passed >= most || passed >= least && self.has_shown_enough(done, *from) {
                break;
            }
            // A trial past its min length checks often whether it may end.
            let left = least.saturating_sub(passed).max(MOMENT);
            stacks.wait(wait.min(left), clock).map_err(RunError::Live)?;
            self.live.sleeps = clock.sleeps();
            let at = self.next_due().min(clock.now()).max(done);
            self.now = at;
            let asked = wall();
            if wait == MAX_WAIT && asked.saturating_duration_since(checked) >= MAX_WAIT {
                self.check_hosts()?;
                checked = asked;
            }
            let Some(has_more) = self.obey_some(desk, at, clock) else { break };
            if trial.is_some() && self.has_drained_for_good() {
                break;
            }
            self.take_of_programs(stacks, at);
            // Frequent requests take at most half of the time.
            let served = wall();
            let at_least = served.saturating_duration_since(asked);
            for windows in 1.. {
                let due = self.next_due();
                if due > clock.now() {
                    break;
                }
                let Some(end) = self.run_due_window(crew, clock, due)? else {
                    return Ok(Over::LivedOut);
                };
                done = end;
                let took = wall().saturating_duration_since(served);
                let is_enough = windows >= WINDOWS_AT_ONCE && took >= at_least;
                if is_enough || took >= MAX_BATCH || interrupted.load(Ordering::Relaxed) {
                    break;
                }
            }
            self.end_captures();
            wait = if has_more { Duration::ZERO } else { clock.until(self.next_due()) };
            wait = wait.min(MAX_WAIT);
        }
        Ok(Over::Requested)
    }

    /// True if a trial that began at `from`, and has processed all events before `done`, had enough deadlines for a
    /// statement on punctuality.
    fn has_shown_enough(&self, done: Picos, from: Picos) -> bool {
        let has_load = done.0.saturating_sub(from.0) >= TRIAL_WINDOWS * self.longest_window.0;
        has_load && self.deadlines().deadlines >= TRIAL_DEADLINES && self.tally().packet_hops > 0
    }

    /// True if no traffic is in progress and none starts without a request.
    fn has_drained_for_good(&self) -> bool {
        self.stream.next_start().is_none() && self.is_at_rest()
    }

    /// Handles some requests. Returns true if there may be more, and `None` after `Stop`. All `Look` requests are
    /// answered with one view, made after the other requests.
    fn obey_some(&mut self, desk: &mut Desk, at: Picos, clock: &mut RealClock) -> Option<bool> {
        let mut looks = Vec::new();
        let mut has_more = true;
        for _ in 0..REQUESTS_AT_ONCE {
            let Some(request) = desk.take() else {
                has_more = false;
                break;
            };
            self.obey(request, at, &mut looks)?;
        }
        if !looks.is_empty() {
            let view = Box::new(self.view(clock));
            for answer in looks {
                // The client may have gone.
                let _ = answer.send(view.clone());
            }
        }
        Some(has_more)
    }

    /// Handles a request; returns `None` after `Stop`. `Look` is answered after the batch.
    fn obey(
        &mut self,
        request: Request,
        at: Picos,
        looks: &mut Vec<Sender<Box<View>>>,
    ) -> Option<()> {
        match request {
            Request::Look(answer) => looks.push(answer),
            Request::Send(orders, answer) => {
                for order in &orders {
                    self.order(at, order, &answer);
                }
            }
            Request::SetLinks { wires, state, reroute, done } => {
                let _ = done.send(self.set_links(&wires, state, reroute));
            }
            Request::Impair { wires, change, done } => {
                let _ = done.send(self.impair(&wires, change));
            }
            Request::Storm { host, classes, span, done } => {
                let _ = done.send(self.begin_storm(at, host, classes, span));
            }
            Request::EndStorm { host, classes, ended } => {
                let _ = ended.send(self.end_storm(at, host, classes));
            }
            Request::Capture { wires, filter, sink } => {
                let interfaces = self.live.captures.add(wires, sink);
                self.capture(interfaces.into_iter().flatten(), filter);
            }
            Request::Stop => return None,
        }
        Some(())
    }

    /// Runs the next window, which begins at `due`. Returns its end, or `None` if it lies beyond the fabric's
    /// lifetime. If the window is too late, sets the clock back; its events are still recorded as late.
    fn run_due_window(
        &mut self,
        crew: &mut Crew<'_, '_, KernelWires>,
        clock: &mut RealClock,
        due: Picos,
    ) -> Result<Option<Picos>, RunError> {
        clock.serve(wall(), due);
        let done = self.run_next_window(crew)?;
        if clock.lost() != self.live.lost {
            self.live.lost = clock.lost();
            for punctuality in self.parts.iter_mut().filter_map(|part| part.punctuality.as_mut()) {
                punctuality.set_pace(clock.pace());
            }
        }
        Ok(done)
    }

    /// Runs the next window. Returns its end, or `None` if it lies beyond the fabric's lifetime.
    fn run_next_window(
        &mut self,
        crew: &mut Crew<'_, '_, KernelWires>,
    ) -> Result<Option<Picos>, RunError> {
        let Some(mut window) = self.next_window()? else { return Ok(None) };
        self.start_flows(&mut window);
        self.run_window(crew, window)?;
        self.exchange();
        self.record_notes()?;
        Ok(Some(window.end))
    }

    /// Schedules resting tasks again, at the instants at which they would have been due without a rest.
    fn wake_resting(&mut self, at: Picos) {
        for (task, period) in std::mem::take(&mut self.resting) {
            let next = at.0.div_ceil(period.0).saturating_mul(period.0);
            self.agenda.schedule(Picos(next), task);
        }
    }

    /// Begins a capture. If there was no room for it, the client sees a capture that ends at once.
    fn capture(&mut self, interfaces: impl Iterator<Item = (WireId, u32)>, filter: CaptureFilter) {
        for (wire, interface) in interfaces {
            self.inward_mut(wire).captures.push((interface, filter));
            if filter == CaptureFilter::Drops {
                self.out_mut(wire).captures.push(interface);
            }
        }
    }

    /// Ends captures whose readers have gone.
    fn end_captures(&mut self) {
        for (number, wires) in self.live.captures.remove_over() {
            for wire in wires {
                let is_other = |&interface: &u32| captures::number_of(interface) != number;
                self.inward_mut(wire).captures.retain(|(interface, _)| is_other(interface));
                self.out_mut(wire).captures.retain(is_other);
            }
        }
    }

    fn place_of(&self, host: HostId) -> Place {
        self.partition.place(self.scenario.fabric().host_node(host))
    }

    pub(super) fn host_node(&self, host: HostId) -> &HostNode {
        let Place { part, index } = self.place_of(host);
        &self.parts[part as usize].hosts[index as usize]
    }

    fn host_node_mut(&mut self, host: HostId) -> &mut HostNode {
        let Place { part, index } = self.place_of(host);
        &mut self.parts[part as usize].hosts[index as usize]
    }
}

impl<W: Wires> Engine<'_, W> {
    /// Deadlines of all nodes up to now.
    fn deadlines(&self) -> DeadlineCount {
        let of_parts = self.parts.iter().filter_map(|part| part.punctuality.as_deref());
        of_parts.map(Punctuality::count).fold(DeadlineCount::default(), DeadlineCount::and)
    }

    /// Passes a note on to captures, pause counters and storm subscribers. Returns true if nothing else needs the
    /// note.
    pub(super) fn notify_followers(&mut self, entry: &Entry) -> bool {
        match entry.what {
            Note::Captured { interface, ref bytes, dropped } if !self.live.captures.is_empty() => {
                self.live.captures.take(interface, entry.at.to_nanos(), bytes, dropped);
                return true;
            }
            Note::Host(HostEvent::PauseReceived { priority, until, .. }) => {
                self.follow_pause(entry, 0, priority, until);
            }
            Note::Switch(Event::PauseReceived { port, priority, until, .. }) => {
                self.follow_pause(entry, port, priority, until);
            }
            Note::Switch(Event::StormDetected(ref storm) | Event::StormRestored(ref storm)) => {
                self.notify_storm(entry, storm);
            }
            _ => {}
        }
        false
    }

    fn follow_pause(&mut self, entry: &Entry, port: u16, priority: Priority, until: Nanos) {
        if let Some(pauses) = &mut self.live.pauses {
            let wire = self.scenario.fabric().node(entry.node).ports[usize::from(port)].reverse();
            pauses.receive(wire, priority.number(), entry.at.to_nanos(), until);
        }
    }

    /// True if a periodic task of the whole fabric, due now, rests because nothing that it reads can change before
    /// the next traffic. If the start of the next flow is known, schedules the task for it.
    pub(super) fn lets_rest(&mut self, task: Task, period: Picos) -> bool {
        if !self.live.rests || !self.is_at_rest() {
            return false;
        }
        match self.stream.next_start() {
            None => self.resting.push((task, period)),
            Some(start) => {
                let before = Picos(start.0 / period.0 * period.0);
                self.agenda.schedule(before.max(self.now + period), task);
            }
        }
        true
    }

    /// True if no flow and no frame is under way, frames of programs included.
    fn is_at_rest(&self) -> bool {
        let waits = |node: &HostNode| node.stack().is_some_and(|stack| stack.waiting() > 0);
        self.has_drained_so_far() && !self.parts.iter().any(|part| part.hosts.iter().any(waits))
    }
}
