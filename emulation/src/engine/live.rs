//! The engine on the real clock: windows run when the wall clock has come to them. See [`crate::live`].

mod storms;
mod wires;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use fabric_core::priority::Priority;
use results::{FidelitySummary, FlowRow, ResultsError, RunEnd, Slowdown, is_good};
use scenario::{CaptureFilter, MAX_FLOWS, ON_DEMAND};
use topology::{HostId, WireId};
use units::Picos;
use workload::Flow;

use super::agenda::Task;
use super::crew::Crew;
use super::host_node::HostNode;
use super::journal::{Entry, Note};
use super::stack::{MOST_WAITING, StackFrame};
use super::transmitter::{Receiver, Transmitter};
use super::{Engine, Finished, RunError};
use crate::datapath::Wires;
use crate::datapath::kernel::KernelWires;
use crate::live::captures::{self, Captures};
use crate::live::clock::{RealClock, nanos, wall};
use crate::live::desk::{Delivery, Desk, Meanwhile, Order, Request};
use crate::live::lateness::{Count, Punctuality};
use crate::live::pauses::Pauses;
use crate::live::stacks::{AT_ONCE, Sent, Stacks};
use crate::partition::Place;

use storms::StormEvents;

/// Windows that run before programs and users are asked again, while the engine is behind the wall clock.
const WINDOWS_AT_ONCE: u32 = 16;
/// An idle fabric looks at least so often at whether it is interrupted.
const LONGEST_WAIT: Duration = Duration::from_millis(200);

/// What an engine knows of the live fabric that it is; nothing in a run.
#[derive(Debug, Default)]
pub struct Live {
    /// Who waits for flows, by their numbers.
    waiting: BTreeMap<u32, Waiter>,
    /// Who captures what crosses wires.
    captures: Captures,
    /// What neighbours hold.
    pub pauses: Option<Pauses>,
    /// Who hears of PFC storms.
    storm_events: Option<StormEvents>,
    /// How much the clock was set back so far.
    lost: Duration,
    /// Whether tasks rest while nothing changes.
    rests: bool,
    /// Where results go at the end.
    pub folder: Option<PathBuf>,
}

/// Who waits for a flow.
#[derive(Debug)]
struct Waiter {
    answer: Sender<Delivery>,
    /// How punctual the fabric was when the flow began.
    deadlines: Count,
    lost: Duration,
}

/// What a live engine works with.
pub struct Surroundings<'a> {
    /// Seconds of the wall clock in an emulated second.
    pub dilation: NonZeroU32,
    /// The emulated instant at which the clock starts; what is due before happens at once.
    pub from: Picos,
    /// How long it goes on, of the wall clock.
    pub time: Duration,
    /// Programs.
    pub stacks: &'a mut Stacks,
    /// Users.
    pub desk: &'a mut Desk,
    /// Ends it.
    pub interrupted: &'a AtomicBool,
}

/// How a live engine ended.
pub struct Ended {
    /// What it leaves.
    pub finished: Finished<KernelWires>,
    /// How punctual it was.
    pub fidelity: FidelitySummary,
    /// Wall time in which there was something to do.
    pub busy: Duration,
    /// Why there are no results, if the fabric was to leave some.
    pub lost_results: Option<ResultsError>,
}

impl Engine<'_, KernelWires> {
    /// Puts the kernel's network stacks behind the NICs.
    pub fn connect_stacks(&mut self, stacks: &Stacks) {
        for host in (0..self.scenario.fabric().host_count()).map(HostId) {
            let tap = stacks.tap(host.0 as usize);
            // An interface that is down, or deleted by its user, receives nothing.
            let to_stack = move |frame: &[u8]| drop(tap.deliver(frame));
            self.host_node_mut(host).connect_stack(Box::new(to_stack));
        }
    }

    /// Goes on without results that cannot be written, and says that they were to go to this folder.
    pub fn survive_loss_of(&mut self, folder: PathBuf) {
        self.recorder.survives = true;
        self.live.folder = Some(folder);
    }

    /// Runs until its time is over, or a request or an interrupt ends it.
    pub fn run_live(mut self, mut around: Surroundings<'_>) -> Result<Ended, RunError> {
        self.live.rests = true;
        self.live.pauses = Some(Pauses::new(self.scenario.fabric().wires().len()));
        let (others_cpu, mut clock, took) = thread::scope(|scope| {
            let crew = Crew::start(scope, self.parts.len());
            while self.next_due() < around.from {
                self.run_next_window(&crew)?;
            }
            let began = wall();
            let mut clock = RealClock::start(around.dilation, around.from);
            for part in &mut self.parts {
                let nodes = part.hosts.len() + part.switches.len();
                part.punctuality = Some(Box::new(Punctuality::new(clock.pace(), nodes)));
            }
            self.follow(&crew, &mut clock, &mut around)?;
            let took = wall().saturating_duration_since(began);
            Ok::<_, RunError>((crew.dismiss(), clock, took))
        })?;
        let busy = took.saturating_sub(clock.rested());
        let fidelity = self.fidelity_summary(&mut clock);
        let end = if self.stream.next_start().is_none() && self.is_at_rest() {
            self.now = self.tally().last_activity;
            RunEnd::Drained
        } else {
            RunEnd::Interrupted
        };
        let lost_results = self.recorder.lost.take();
        // From here on nothing goes on without results.
        self.recorder.survives = false;
        let finished = self.finish(end, others_cpu)?;
        Ok(Ended { finished, fidelity, busy, lost_results })
    }

    fn follow(
        &mut self,
        crew: &Crew<'_, KernelWires>,
        clock: &mut RealClock,
        around: &mut Surroundings<'_>,
    ) -> Result<(), RunError> {
        let Surroundings { stacks, desk, interrupted, time, .. } = around;
        let began = wall();
        // All that lies before it has happened.
        let mut done = Picos::ZERO;
        let mut wait = Duration::ZERO;
        while !interrupted.load(Ordering::Relaxed) {
            let left = time.saturating_sub(wall().saturating_duration_since(began));
            if left.is_zero() {
                return Ok(());
            }
            stacks.wait(wait.min(left), clock).map_err(RunError::Live)?;
            let at = self.next_due().min(clock.now()).max(done);
            self.now = at;
            while let Some(request) = desk.take() {
                if self.obey(request, at, clock).is_none() {
                    return Ok(());
                }
            }
            self.take_of_programs(stacks, at);
            for _ in 0..WINDOWS_AT_ONCE {
                let due = self.next_due();
                if due > clock.now() {
                    break;
                }
                done = self.run_due_window(crew, clock, due)?;
            }
            self.end_captures();
            wait = clock.until(self.next_due()).min(LONGEST_WAIT);
        }
        Ok(())
    }

    /// Does what a user asks for; nothing if that is the end.
    fn obey(&mut self, request: Request, at: Picos, clock: &mut RealClock) -> Option<()> {
        match request {
            Request::Look(answer) => {
                // Who asked may have gone.
                let _ = answer.send(Box::new(self.view(clock)));
            }
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
                self.begin_storm(at, host, classes, span);
                let _ = done.send(());
            }
            Request::EndStorm { host, classes, ended } => {
                let _ = ended.send(self.end_storm(at, host, classes));
            }
            Request::Capture { wires, filter, sink, reader } => {
                let interfaces = self.live.captures.add(wires, sink, reader);
                self.capture(interfaces.into_iter().flatten(), filter);
            }
            Request::Stop => return None,
        }
        Some(())
    }

    /// Runs the next window, which begins at `due`, and says when it ends. If it is far too late, the clock is set back.
    /// What the window's nodes do counts as late all the same.
    fn run_due_window(
        &mut self,
        crew: &Crew<'_, KernelWires>,
        clock: &mut RealClock,
        due: Picos,
    ) -> Result<Picos, RunError> {
        clock.serve(due);
        let done = self.run_next_window(crew)?;
        if clock.lost() != self.live.lost {
            self.live.lost = clock.lost();
            for punctuality in self.parts.iter_mut().filter_map(|part| part.punctuality.as_mut()) {
                punctuality.set_pace(clock.pace());
            }
        }
        Ok(done)
    }

    /// Runs the next window, and says when it ends.
    fn run_next_window(&mut self, crew: &Crew<'_, KernelWires>) -> Result<Picos, RunError> {
        let Some(mut window) = self.next_window()? else { return Err(RunError::LivedOut) };
        self.start_flows(&mut window);
        self.run_window(crew, window)?;
        self.exchange();
        self.tell_notes()?;
        Ok(window.end)
    }

    /// Hands what programs have sent to their NICs, at `at`. Hosts whose NICs have no room have to wait: until something
    /// happens in the fabric that makes some.
    fn take_of_programs(&mut self, stacks: &mut Stacks, at: Picos) {
        let (mut has_more, mut has_any) = (false, false);
        for place in 0..stacks.ready() {
            let number = stacks.ready_host(place);
            let host = HostId(number as u32);
            let node = self.host_node(host);
            let waiting = node.stack().map(|stack| stack.waiting_for_the_port(at, &node.host));
            if waiting.is_none_or(|waiting| waiting >= MOST_WAITING) {
                continue;
            }
            let mut taken = 0;
            while taken < AT_ONCE
                && let Some(sent) = stacks.receive(number)
            {
                taken += 1;
                self.take_of_program(host, sent, at);
            }
            has_more |= taken == AT_ONCE;
            has_any |= taken > 0;
        }
        stacks.taken(has_more);
        if has_any {
            self.wake_resting(at);
            self.exchange();
        }
    }

    fn take_of_program(&mut self, host: HostId, sent: Sent<'_>, at: Picos) {
        let Sent::Frame { bytes, priority } = sent else {
            return self.host_node_mut(host).refuse_of_stack();
        };
        let Place { part, index } = self.place_of(host);
        let part = &mut *self.parts[part as usize];
        let (frame, length) = part.core.frames.foreign(bytes);
        let frame = StackFrame { frame, length, priority: Priority::of_bits(priority) };
        let node = &mut part.hosts[index as usize];
        let next = node.send_of_stack(&mut part.core, at, frame);
        part.core.upcoming.wake(index, next);
    }

    /// Starts a flow that a user asks for.
    fn order(&mut self, at: Picos, order: &Order, answer: &Sender<Delivery>) {
        let Order { source, destination, bytes, priority } = *order;
        let pair = (source, destination);
        if self.stream.numbers_taken() as usize >= MAX_FLOWS {
            // Whoever waits sees that its channel is closed.
            return;
        }
        let mut flow = Flow::new(ON_DEMAND.into(), pair, bytes, at, priority);
        flow.id = self.stream.take_number();
        flow.workload = self.scenario.on_demand_workload();
        let (answer, deadlines) = (answer.clone(), self.deadlines());
        self.live.waiting.insert(flow.id, Waiter { answer, deadlines, lost: self.live.lost });
        self.start_flow(flow);
        self.wake_resting(at);
    }

    /// Schedules tasks again that rest while there is no traffic: when they would have been due without a rest.
    fn wake_resting(&mut self, at: Picos) {
        for (task, period) in std::mem::take(&mut self.resting) {
            let next = at.0.div_ceil(period.0).saturating_mul(period.0);
            self.agenda.schedule(Picos(next), task);
        }
    }

    /// Begins a capture. Whoever asked sees the end of one for which there was no room.
    fn capture(&mut self, interfaces: impl Iterator<Item = (WireId, u32)>, filter: CaptureFilter) {
        for (wire, interface) in interfaces {
            self.receiver_mut(wire).captures.push((interface, filter));
            if filter == CaptureFilter::Drops {
                self.transmitter_mut(wire).captures.push(interface);
            }
        }
    }

    /// Ends captures that nobody reads any more.
    fn end_captures(&mut self) {
        for (number, wires) in self.live.captures.remove_over() {
            for wire in wires {
                let is_other = |&interface: &u32| captures::number_of(interface) != number;
                self.receiver_mut(wire).captures.retain(|(interface, _)| is_other(interface));
                self.transmitter_mut(wire).captures.retain(is_other);
            }
        }
    }

    /// The sending end of a wire.
    fn transmitter_mut(&mut self, wire: WireId) -> &mut Transmitter {
        let fabric = self.scenario.fabric();
        let ends = fabric.ends(wire);
        let Place { part, index } = self.partition.place(fabric.wire(wire).from);
        let part = &mut self.parts[part as usize];
        let hosts = part.hosts.len();
        match (index as usize).checked_sub(hosts) {
            None => part.hosts[index as usize].out_mut(),
            Some(switch) => part.switches[switch].out_mut(ends.from_port),
        }
    }

    /// The receiving end of a wire.
    fn receiver_mut(&mut self, wire: WireId) -> &mut Receiver {
        let fabric = self.scenario.fabric();
        let ends = fabric.ends(wire);
        let Place { part, index } = self.partition.place(fabric.wire(wire).to);
        let part = &mut self.parts[part as usize];
        let hosts = part.hosts.len();
        match (index as usize).checked_sub(hosts) {
            None => part.hosts[index as usize].inward_mut(),
            Some(switch) => part.switches[switch].inward_mut(ends.to_port),
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
    /// What all nodes have counted so far.
    fn deadlines(&self) -> Count {
        let of_parts = self.parts.iter().filter_map(|part| part.punctuality.as_deref());
        of_parts.map(Punctuality::count).fold(Count::default(), Count::and)
    }

    /// Tells whoever follows the live fabric of a note. Whether that was meant for nobody else.
    pub(super) fn tell_followers(&mut self, entry: &Entry) -> bool {
        match entry.what {
            Note::Captured { interface, ref bytes, dropped } if !self.live.captures.is_empty() => {
                self.live.captures.take(interface, entry.at.to_nanos(), bytes, dropped);
                return true;
            }
            Note::PauseReceived { wire, priority, until } => {
                if let Some(pauses) = &mut self.live.pauses {
                    pauses.receive(wire, priority, entry.at.to_nanos(), until);
                }
            }
            Note::StormDetected(ref storm) | Note::StormRestored(ref storm) => {
                self.tell_of_storm(entry, storm);
            }
            _ => {}
        }
        false
    }

    /// Tells whoever waits for a flow that it is done.
    pub(super) fn tell_waiter(&mut self, row: &FlowRow<'_>) {
        let Some(Waiter { answer, deadlines, lost }) = self.live.waiting.remove(&row.flow) else {
            return;
        };
        let Count { deadlines, late } = self.deadlines().since(deadlines);
        let lost = self.live.lost.saturating_sub(lost);
        let is_good = lost.is_zero() && is_good(deadlines, late);
        let meanwhile = Meanwhile { is_good, deadlines, late, lost_ns: nanos(lost) };
        // Whoever asked for it may have gone.
        let _ = answer.send(delivery(row, meanwhile));
    }

    /// Whether a task of the whole fabric that is due now, and every `period`, rests: nothing that it looks at changes until
    /// something starts. If the next flow is known, the task is scheduled for its start.
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

    /// Whether no flow is under way, and no frame.
    fn is_at_rest(&self) -> bool {
        let waits = |node: &HostNode| node.stack().is_some_and(|stack| stack.waiting() > 0);
        self.has_drained_so_far() && !self.parts.iter().any(|part| part.hosts.iter().any(waits))
    }
}

/// What is told of a flow that is done.
fn delivery(row: &FlowRow<'_>, meanwhile: Meanwhile) -> Delivery {
    let fct = row.fct.unwrap_or_default();
    Delivery {
        flow: row.flow,
        src: row.src.to_owned(),
        dst: row.dst.to_owned(),
        bytes: row.bytes.0,
        priority: row.priority,
        fct_ns: fct.0,
        ideal_ns: row.ideal.0,
        slowdown: Slowdown::of(fct, row.ideal).into(),
        retransmitted_packets: row.retransmitted_packets,
        fidelity: meanwhile,
    }
}
