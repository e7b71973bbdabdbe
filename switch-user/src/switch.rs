//! One switch without I/O: the counterpart of `host_agent::Host`.
//!
//! The driver runs the arrival pipeline on each frame (in eBPF or natively, on [`Switch::tables`]) and passes the
//! outcome to [`Switch::on_arrival`], or a queued packet to [`Switch::on_queued`]. After every call that names a port,
//! it calls [`Switch::poll_control`] and then [`Switch::poll_transmit`] for the port's next frame, if the port is free.
//! With FIFOs below the egress queues, [`Switch::poll_staged`] fills them first, and a free port sends the result of
//! [`Switch::poll_device_queue`]. The driver calls [`Switch::handle_deadline`] at [`Switch::next_deadline`]. The switch
//! reports events to an [`Observer`].
//!
//! `F` represents a frame that the driver stores: the switch moves it and never reads it.

mod config;
mod device_queue;
mod event;
mod exchange;
mod links;
mod orders;
mod pfc_sent;
mod port;
mod serving;
mod states;
mod storms;
#[cfg(test)]
mod tests;
mod timers;
mod upkeep;

use std::collections::VecDeque;
use std::marker::PhantomData;

use fabric_core::arrival::{Outcome, Queued};
use fabric_core::headroom::LinkFrames;
use fabric_core::hop_control::Order;
use fabric_core::policy::Policy;
use fabric_core::priority::Priority;
use fabric_core::queue::{QueueId, QueueSet};
use fabric_core::scheme::{FlowUse, PortUse, Scheme, Selected};
use fabric_core::tables::Tables;
use fabric_core::wire::{hop_control, link_delay, pfc};
use units::Picos;

use crate::tables::SwitchTables;
use crate::traffic_manager::{Scheduler, TrafficManager, Waiting};
use linux::region::prefetch;

pub use config::SwitchConfig;
use device_queue::DeviceQueues;
pub use device_queue::Staged;
pub use event::{Admitted, Departed, Event, Observer};
pub use exchange::{
    Arrival, ControlTransmission, Discarded, DroppedPacket, Due, Reaction, Transmission,
};
use orders::event_of;
pub use pfc_sent::PfcSent;
pub use port::PortConfig;
use port::{Ahead, ControlFrame, Ports};
use states::States;
use storms::Storms;
pub use storms::{Storm, StormHistory};
use timers::{Timer, Timers};

/// Length of frames that the switch originates, bytes.
pub const CONTROL_FRAME_LENGTH: u32 = 60;
const _: () = {
    let length = CONTROL_FRAME_LENGTH as usize;
    assert!(pfc::LEN == length && hop_control::LEN == length && link_delay::LEN == length);
};

/// One switch, under the scheme that its policy selects, or under a scheme of a test.
///
/// The fields needed for every packet come first, so that they share cache lines.
#[repr(C)]
pub struct Switch<F, S = Selected> {
    queues: TrafficManager<F>,
    ports: Ports<F>,
    /// FIFOs below `queues`, if configured.
    device_queues: Option<Box<DeviceQueues<F>>>,
    /// Orders of the last departure; a field so that its memory is reused.
    orders: Vec<Order>,
    /// Ports that may send since a packet departed.
    woken: VecDeque<u16>,
    /// Frames that the driver can discard.
    discarded: VecDeque<Discarded<F>>,
    tables: SwitchTables,
    config: SwitchConfig,
    timers: Timers,
    /// Indexed by port: time of the last timer for queues that the scheme holds back.
    reopenings: Vec<Picos>,
    states: States,
    /// Indexed by port; empty until one has sent a PFC frame.
    pfc_sent: Vec<PfcSent>,
    /// The watchdog and its storms, if configured.
    storms: Option<Box<Storms>>,
    scheme: PhantomData<S>,
}

impl<F: Copy + Default, S: Scheme> Switch<F, S> {
    /// Creates an empty switch on its configured tables.
    pub fn new(config: SwitchConfig, tables: SwitchTables) -> Self {
        let queues = std::iter::repeat_n(config.queues, config.ports.len());
        Self {
            queues: TrafficManager::new(config.slots, queues),
            ports: Ports::new(config.ports.len(), config.sends_superseded),
            device_queues: config
                .device_queue
                .map(|room| DeviceQueues::new(room, config.ports.len()).into()),
            storms: config.watchdog.map(|own| Storms::new(own, config.ports.len()).into()),
            timers: Timers::default(),
            reopenings: vec![Picos::ZERO; config.ports.len()],
            pfc_sent: Vec::new(),
            woken: VecDeque::new(),
            discarded: VecDeque::new(),
            orders: Vec::new(),
            states: States::new::<S>(config.policy, config.ports.len()),
            scheme: PhantomData,
            config,
            tables,
        }
    }

    /// Returns the tables, unchanged.
    pub fn into_tables(self) -> SwitchTables {
        self.tables
    }

    /// Returns the tables.
    #[inline]
    pub fn tables(&self) -> &SwitchTables {
        &self.tables
    }

    /// Returns the tables for the control plane. Call only while no frame is passed to the switch.
    pub fn tables_mut(&mut self) -> &mut SwitchTables {
        &mut self.tables
    }

    /// Returns the egress queues.
    #[inline]
    pub fn queues(&self) -> &TrafficManager<F> {
        &self.queues
    }

    /// Returns the queues of a port that the scheme, not PFC, forbids to start a transmission at `now`.
    pub fn paused_queues(&self, port: u16, now: Picos) -> QueueSet {
        let paused = S::paused(&self.tables, self.config.policy, port.into(), now.to_nanos());
        paused.unwrap_or(QueueSet::EMPTY)
    }

    /// Iterates over the frames in a queue of a port, first to leave first.
    pub fn waiting(&self, port: u16, queue: QueueId) -> impl Iterator<Item = &F> {
        self.queues.waiting(port.into(), queue).map(|packet| &packet.frame)
    }

    /// Returns the egress queues, for tests that queue packets without an arrival.
    #[doc(hidden)]
    pub fn queues_mut(&mut self) -> &mut TrafficManager<F> {
        &mut self.queues
    }

    /// Returns the schemes of the switch.
    #[inline]
    pub fn policy(&self) -> Policy {
        self.config.policy
    }

    /// Returns the schemes by which the control plane computes thresholds.
    pub fn computed_policy(&self) -> Policy {
        self.config.computed
    }

    /// Returns the bytes held by a port, if the scheme counts per port.
    pub fn port_use(&self, port: u16) -> PortUse {
        S::port_use(&self.tables, self.config.policy, port.into())
    }

    /// Returns the number of priorities with the min rate at a port's neighbour, if the scheme limits rates.
    pub fn slowest(&self, port: u16) -> Option<u32> {
        S::slowest(&self.tables, self.config.policy, port.into())
    }

    /// Returns the distribution of flows over the queues of a port, if the scheme assigns queues to flows.
    pub fn flow_use(&self, port: u16) -> Option<FlowUse> {
        S::flow_use(&self.tables, self.config.policy, port.into())
    }

    /// Handles that the link of a port has gone down or come up.
    pub fn relinked(&mut self, port: u16) {
        S::relinked(&self.tables, self.config.policy, port.into());
    }

    /// Returns the time of the next timer.
    #[inline]
    pub fn next_deadline(&self) -> Option<Picos> {
        self.timers.next()
    }

    /// Returns a frame that the driver can discard: a superseded hop control frame, or a packet
    /// that was dropped when its turn came.
    #[inline]
    pub fn poll_discarded(&mut self) -> Option<Discarded<F>> {
        self.discarded.pop_front()
    }

    /// Returns a port at which the last [`poll_transmit`](Self::poll_transmit) queued a hop control
    /// frame, possibly the polled port.
    #[inline]
    pub fn poll_woken(&mut self) -> Option<u16> {
        self.woken.pop_front()
    }

    /// True if [`poll_woken`](Self::poll_woken) or [`poll_discarded`](Self::poll_discarded) has a result.
    #[inline]
    pub fn has_news(&self) -> bool {
        !self.woken.is_empty() || !self.discarded.is_empty()
    }

    /// Returns the accounted length of frames that the switch originates, bytes.
    #[inline]
    pub const fn control_length(&self) -> u32 {
        self.config.frames.hop_control
    }

    /// True if a port has no frames to send, paused or not.
    #[inline]
    pub fn is_idle(&self, port: u16) -> bool {
        self.ports.is_idle(port)
            && self.queues.non_empty(usize::from(port)).is_empty()
            && self.device_queues.as_ref().is_none_or(|device| device.is_empty(port))
    }

    /// True if hop control frames or link delay frames wait at a port.
    pub fn has_control(&self, port: u16) -> bool {
        !self.ports.is_idle(port)
    }

    /// Prefetches the data of the packet that a port is likely to send next. Returns its frame.
    #[inline]
    pub fn prefetch_next(&self, port: u16) -> Option<F> {
        let Waiting { slot, frame, .. } = self.queues.prefetch_next(usize::from(port))?;
        if let Some(descriptor) = self.tables.rows.descriptors.get(*slot as usize) {
            prefetch(descriptor);
        }
        Some(*frame)
    }

    /// Handles a frame whose last bit has been received at `port`.
    #[inline(always)]
    pub fn on_arrival<O: Observer>(
        &mut self,
        now: Picos,
        port: u16,
        arrival: &Arrival<'_, F>,
        observer: &mut O,
    ) -> Reaction {
        let Arrival { frame, length, orders, .. } = *arrival;
        match arrival.outcome {
            Outcome::Queued(queued) => {
                let wake = self.on_queued(now, port, (frame, length), *queued, orders, observer);
                Reaction { keeps_frame: true, pauses_changed: false, wake }
            }
            Outcome::ControlReceived(control) => {
                self.receive_control(now, arrival.at, port, *control, observer);
                let wake = [Some(port), None];
                Reaction { keeps_frame: false, pauses_changed: true, wake }
            }
            Outcome::LinkDelayReceived => {
                if let Some(message) = arrival.link_delay {
                    self.receive_link_delay(now, port, message, observer);
                }
                Reaction { wake: [Some(port), None], ..Reaction::default() }
            }
            Outcome::Dropped(reason) => {
                let (reason, priority) = (*reason, arrival.priority);
                let dropped = Event::Dropped { port, reason, priority, length };
                observer.event(now, &self.tables, dropped);
                if orders.is_empty() {
                    return Reaction::default();
                }
                self.on_refused(now, port, orders, observer);
                Reaction { wake: [Some(port), None], ..Reaction::default() }
            }
        }
    }

    /// Handles a packet that the pipeline has queued. Returns the ports that may have frames to send, in this order.
    #[inline(always)]
    pub fn on_queued<O: Observer>(
        &mut self,
        now: Picos,
        port: u16,
        (frame, length): (F, u32),
        queued: Queued,
        orders: &[(Order, Option<F>)],
        observer: &mut O,
    ) -> [Option<u16>; 2] {
        let Queued { slot, egress_port, queue, .. } = queued;
        let egress = port_number(egress_port);
        let admitted = Admitted { port, egress, slot, length };
        observer.event(now, &self.tables, Event::Admitted(admitted));
        let packet = Waiting::new(slot, frame, length, self.rank(slot));
        self.queues.enqueue(egress_port as usize, queue, packet);
        let mut wake = [None, Some(egress)];
        for (order, built) in orders {
            let event = event_of(order);
            self.send_order(now, port, order, event, *built, observer);
            wake[0] = Some(port);
        }
        if !self.states.is_empty() {
            let priority = self.priority(slot);
            self.look_at_state(now, port, priority, observer);
        }
        wake
    }

    /// Returns a waiting hop control or link delay frame, which a port that is free at `now` sends
    /// ahead of its packets.
    #[inline]
    pub fn poll_control(&mut self, now: Picos, port: u16) -> Option<ControlTransmission<F>> {
        if self.ports.is_idle(port) {
            return None;
        }
        self.transmit_control(now, port)
    }

    /// Sets the backlog of a driver that is late: frames received after `heard` are not yet passed to the switch. So
    /// the watchdog knows pauses up to `heard`, and uses this as its time. `None`: no backlog.
    pub fn set_backlog(&mut self, heard: Option<Picos>) {
        if let Some(storms) = &mut self.storms {
            storms.set_backlog(heard);
        }
    }

    /// Runs the next timer that is due at `now`. Returns `None` if no timer is due.
    pub fn handle_deadline<O: Observer>(&mut self, now: Picos, observer: &mut O) -> Option<Due> {
        match self.timers.pop(now) {
            None => None,
            Some(Timer::PauseExpiry { port }) => Some(Due { port, pauses_changed: true }),
            Some(Timer::Reopening { port }) => Some(Due { port, pauses_changed: false }),
            Some(Timer::PauseRefresh { port, priority, pause }) => {
                self.refresh(now, port, priority, pause, observer);
                Some(Due { port, pauses_changed: false })
            }
            Some(Timer::PeriodEnd { port, priority }) => {
                self.end_period(now, port, priority, observer);
                Some(Due { port, pauses_changed: false })
            }
            Some(Timer::WatchdogLook) => {
                self.look_for_storms(now);
                self.handle_deadline(now, observer)
            }
            Some(Timer::Storm { port, priority, change }) => {
                self.storm_changes(now, port, priority, change, observer);
                Some(Due { port, pauses_changed: true })
            }
        }
    }

    /// Returns the scheduler's sort key of a packet: the bytes that its flow has left to send.
    #[inline]
    fn rank(&self, slot: u32) -> u16 {
        if self.config.queues.scheduler != Scheduler::ShortestRemaining {
            return 0;
        }
        self.tables.descriptor(slot).map_or(0, |descriptor| descriptor.remaining().to_wire())
    }

    /// Returns the priority of a packet.
    fn priority(&self, slot: u32) -> Priority {
        let descriptor = self.tables.descriptor(slot);
        descriptor.expect("a queued slot has a descriptor").priority()
    }

    #[cold]
    fn transmit_control(&mut self, now: Picos, port: u16) -> Option<ControlTransmission<F>> {
        let PortConfig { address: source, rate, .. } = self.config.ports[usize::from(port)];
        let ahead = self.ports.pop(port)?;
        self.count_pfc_sent(port, &ahead);
        Some(match ahead {
            Ahead::Control(ControlFrame { built: Some(frame), .. }) => {
                ControlTransmission::Built(frame)
            }
            Ahead::Control(ControlFrame { control, built: None }) => {
                ControlTransmission::HopControl { source, control }
            }
            Ahead::LinkDelay(mut message) => {
                let LinkFrames { time, hop_control, .. } = self.config.frames;
                message.stamp((now + time.serialise(rate, hop_control.into())).to_nanos());
                ControlTransmission::LinkDelay(message)
            }
        })
    }
}

/// Returns a function that discards superseded hop control frames.
fn superseded<F>(discarded: &mut VecDeque<Discarded<F>>) -> impl FnMut(F) {
    |frame| discarded.push_back(Discarded { frame, dropped: None })
}

/// Converts a port's number to the type in results. A switch has at most 256 ports.
#[inline]
fn port_number(port: u32) -> u16 {
    debug_assert!(port <= u16::MAX.into());
    (port & 0xffff) as u16
}
