//! One switch without I/O: the peer of `host_agent::Host`.
//!
//! Its driver runs the arrival pipeline on each frame (in eBPF or natively, on [`Switch::tables`]) and
//! hands the outcome to [`Switch::on_arrival`], or what was queued to [`Switch::on_queued`]. After every call that names a port, it asks
//! [`Switch::poll_control`] and then [`Switch::poll_transmit`] for the port's next frame, if the port is free. With FIFOs
//! below the egress queues, [`Switch::poll_staged`] fills them first, and a free port sends what
//! [`Switch::poll_device_queue`] returns. The driver calls [`Switch::handle_deadline`] at [`Switch::next_deadline`]. The
//! switch tells an [`Observer`] what happens.
//!
//! `F` stands for a frame that the driver keeps: the switch moves it and never looks into it.

mod config;
mod device_queue;
mod exchange;
mod links;
mod observer;
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

use crate::region::prefetch;
use crate::tables::SwitchTables;
use crate::traffic_manager::{Scheduler, TrafficManager, Waiting};

pub use config::SwitchConfig;
use device_queue::DeviceQueues;
pub use device_queue::Staged;
pub use exchange::{
    Arrival, ControlTransmission, Discarded, DroppedPacket, Due, Reaction, Transmission,
};
pub use observer::{Admitted, ControlEvent, Departed, Observer, StateChange};
pub use pfc_sent::PfcSent;
pub use port::PortConfig;
use port::{Ahead, ControlFrame, Ports};
use states::States;
use storms::Storms;
pub use storms::{Storm, StormHistory, Traffic};
use timers::{Timer, Timers};

/// Length of the frames that a switch makes itself.
pub const CONTROL_FRAME_LENGTH: u32 = 60;
const _: () = {
    let length = CONTROL_FRAME_LENGTH as usize;
    assert!(pfc::LEN == length && hop_control::LEN == length && link_delay::LEN == length);
};

/// One switch, under the scheme that its policy names, or under a scheme of a test.
///
/// The fields that every packet needs come first, so that they share cache lines.
#[repr(C)]
pub struct Switch<F, S = Selected> {
    queues: TrafficManager<F>,
    ports: Ports<F>,
    /// What is below `queues`, if something is.
    device_queues: Option<Box<DeviceQueues<F>>>,
    /// Orders of the last departure; a field so that its memory is reused.
    orders: Vec<Order>,
    /// Ports that have something to send since a packet departed.
    woken: VecDeque<u16>,
    /// Frames that are not needed any more.
    discarded: VecDeque<Discarded<F>>,
    tables: SwitchTables,
    config: SwitchConfig,
    timers: Timers,
    /// By port: the instant of the last timer for queues that the scheme keeps back.
    reopenings: Vec<Picos>,
    states: States,
    /// By port; empty until one has sent a PFC frame.
    pfc_sent: Vec<PfcSent>,
    /// If there is a watchdog.
    storms: Option<Box<Storms>>,
    scheme: PhantomData<S>,
}

impl<F: Copy + Default, S: Scheme> Switch<F, S> {
    /// A switch that holds nothing, on its configured tables.
    pub fn new(config: SwitchConfig, tables: SwitchTables) -> Self {
        let queues = std::iter::repeat_n(config.queues, config.ports.len());
        Self {
            queues: TrafficManager::new(config.slots, queues),
            ports: Ports::new(config.ports.len()),
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

    /// Leaves its tables behind, as they are.
    pub fn into_tables(self) -> SwitchTables {
        self.tables
    }

    /// Its tables.
    #[inline]
    pub fn tables(&self) -> &SwitchTables {
        &self.tables
    }

    /// The same for the control plane, while no frame is being handed to the switch.
    pub fn tables_mut(&mut self) -> &mut SwitchTables {
        &mut self.tables
    }

    /// Its egress queues.
    #[inline]
    pub fn queues(&self) -> &TrafficManager<F> {
        &self.queues
    }

    /// The queues of a port that the scheme, not PFC, keeps from starting a transmission at `now`.
    pub fn paused_queues(&self, port: u16, now: Picos) -> QueueSet {
        let paused = S::paused(&self.tables, self.config.policy, port.into(), now.to_nanos());
        paused.unwrap_or(QueueSet::EMPTY)
    }

    /// The frames that wait in a queue of a port, the first to leave first.
    pub fn waiting(&self, port: u16, queue: QueueId) -> impl Iterator<Item = &F> {
        self.queues.waiting(port.into(), queue).map(|packet| &packet.frame)
    }

    /// Its egress queues, for tests that queue packets without an arrival.
    #[doc(hidden)]
    pub fn queues_mut(&mut self) -> &mut TrafficManager<F> {
        &mut self.queues
    }

    /// The schemes that it runs.
    #[inline]
    pub fn policy(&self) -> Policy {
        self.config.policy
    }

    /// The schemes by which its control plane computes thresholds.
    pub fn computed_policy(&self) -> Policy {
        self.config.computed
    }

    /// What a port holds, if the scheme counts by port.
    pub fn port_use(&self, port: u16) -> PortUse {
        S::port_use(&self.tables, self.config.policy, port.into())
    }

    /// Number of priorities of a port's neighbour that have the lowest rate that there is, if the scheme tells rates.
    pub fn slowest(&self, port: u16) -> Option<u32> {
        S::slowest(&self.tables, self.config.policy, port.into())
    }

    /// How flows are spread over the queues of a port, if the scheme gives flows queues.
    pub fn flow_use(&self, port: u16) -> Option<FlowUse> {
        S::flow_use(&self.tables, self.config.policy, port.into())
    }

    /// The link of a port has gone down or come up.
    pub fn relinked(&mut self, port: u16) {
        S::relinked(&self.tables, self.config.policy, port.into());
    }

    /// When the next timer is due.
    #[inline]
    pub fn next_deadline(&self) -> Option<Picos> {
        self.timers.next()
    }

    /// A frame that the driver can discard: a superseded hop control frame, or a packet that was dropped when its
    /// turn came.
    #[inline]
    pub fn poll_discarded(&mut self) -> Option<Discarded<F>> {
        self.discarded.pop_front()
    }

    /// A port at which the last [`poll_transmit`](Self::poll_transmit) queued a hop control frame; it may be the port
    /// that was polled.
    #[inline]
    pub fn poll_woken(&mut self) -> Option<u16> {
        self.woken.pop_front()
    }

    /// Whether [`poll_woken`](Self::poll_woken) or [`poll_discarded`](Self::poll_discarded) returns something.
    #[inline]
    pub fn has_news(&self) -> bool {
        !self.woken.is_empty() || !self.discarded.is_empty()
    }

    /// How long the frames count that it makes itself.
    #[inline]
    pub const fn control_length(&self) -> u32 {
        self.config.frames.hop_control
    }

    /// Whether a port has nothing to send, paused or not.
    #[inline]
    pub fn is_idle(&self, port: u16) -> bool {
        self.ports.is_idle(port)
            && self.queues.non_empty(usize::from(port)).is_empty()
            && self.device_queues.as_ref().is_none_or(|device| device.is_empty(port))
    }

    /// Whether hop control frames or messages about the link wait at a port.
    pub fn has_control(&self, port: u16) -> bool {
        !self.ports.is_idle(port)
    }

    /// Has the processor load what is needed of the packet that a port is likely to send next. Returns its frame.
    #[inline]
    pub fn prefetch_next(&self, port: u16) -> Option<F> {
        let Waiting { slot, frame, .. } = self.queues.prefetch_next(usize::from(port))?;
        if let Some(descriptor) = self.tables.rows.descriptors.get(*slot as usize) {
            prefetch(descriptor);
        }
        Some(*frame)
    }

    /// Takes a frame whose last bit has come in at `port`.
    #[inline(always)]
    pub fn on_arrival<O: Observer>(
        &mut self,
        now: Picos,
        port: u16,
        arrival: &Arrival<'_, F>,
        observer: &mut O,
    ) -> Result<Reaction, O::Error> {
        let Arrival { frame, length, orders, .. } = *arrival;
        match arrival.outcome {
            Outcome::Queued(queued) => {
                let wake = self.on_queued(now, port, (frame, length), *queued, orders, observer)?;
                Ok(Reaction { keeps_frame: true, pauses_changed: false, wake })
            }
            Outcome::ControlReceived(control) => {
                self.receive_control(now, arrival.at, port, *control, observer)?;
                let wake = [Some(port), None];
                Ok(Reaction { keeps_frame: false, pauses_changed: true, wake })
            }
            Outcome::LinkDelayReceived => {
                if let Some(message) = arrival.link_delay {
                    self.receive_link_delay(now, port, message, observer)?;
                }
                Ok(Reaction { wake: [Some(port), None], ..Reaction::default() })
            }
            Outcome::Dropped(reason) => {
                observer.dropped(now, port, *reason, arrival.priority, length)?;
                if orders.is_empty() {
                    return Ok(Reaction::default());
                }
                self.on_refused(now, port, orders, observer)?;
                Ok(Reaction { wake: [Some(port), None], ..Reaction::default() })
            }
        }
    }

    /// The same of a packet that was queued. Returns the ports that may have something to send, in this order.
    #[inline(always)]
    pub fn on_queued<O: Observer>(
        &mut self,
        now: Picos,
        port: u16,
        (frame, length): (F, u32),
        queued: Queued,
        orders: &[(Order, Option<F>)],
        observer: &mut O,
    ) -> Result<[Option<u16>; 2], O::Error> {
        let Queued { slot, egress_port, queue, .. } = queued;
        let egress = port_number(egress_port);
        observer.admitted(now, &self.tables, Admitted { port, egress, slot, length })?;
        let packet = Waiting::new(slot, frame, length, self.rank(slot));
        self.queues.enqueue(egress_port as usize, queue, packet);
        let mut wake = [None, Some(egress)];
        for (order, built) in orders {
            let event = ControlEvent::of(order);
            self.send_order(now, port, order, event, *built, observer)?;
            wake[0] = Some(port);
        }
        if !self.states.is_empty() {
            let priority = self.priority(slot);
            self.look_at_state(now, port, priority, observer)?;
        }
        Ok(wake)
    }

    /// What a port that is free at `now` sends ahead of its packets: a hop control frame or one that measures the
    /// link, if one waits.
    #[inline]
    pub fn poll_control(&mut self, now: Picos, port: u16) -> Option<ControlTransmission<F>> {
        if self.ports.is_idle(port) {
            return None;
        }
        self.transmit_control(now, port)
    }

    /// For a driver that is late: frames that came in after `heard` are still to be handed over. So the watchdog knows
    /// pauses up to there, and that is the instant at which it looks. `None`: all were handed over.
    pub fn set_backlog(&mut self, heard: Option<Picos>) {
        if let Some(storms) = &mut self.storms {
            storms.set_backlog(heard);
        }
    }

    /// Runs the next timer that is due at `now`; `None` if no timer is due.
    pub fn handle_deadline<O: Observer>(
        &mut self,
        now: Picos,
        observer: &mut O,
    ) -> Result<Option<Due>, O::Error> {
        match self.timers.pop(now) {
            None => Ok(None),
            Some(Timer::PauseExpiry { port }) => Ok(Some(Due { port, pauses_changed: true })),
            Some(Timer::Reopening { port }) => Ok(Some(Due { port, pauses_changed: false })),
            Some(Timer::PauseRefresh { port, priority, pause }) => {
                self.refresh(now, port, priority, pause, observer)?;
                Ok(Some(Due { port, pauses_changed: false }))
            }
            Some(Timer::PeriodEnd { port, priority }) => {
                self.end_period(now, port, priority, observer)?;
                Ok(Some(Due { port, pauses_changed: false }))
            }
            Some(Timer::WatchdogLook) => {
                self.look_for_storms(now);
                self.handle_deadline(now, observer)
            }
            Some(Timer::Storm { port, priority, change }) => {
                self.storm_changes(now, port, priority, change, observer)?;
                Ok(Some(Due { port, pauses_changed: true }))
            }
        }
    }

    /// What the scheduler orders a packet by: what its flow has left to send.
    #[inline]
    fn rank(&self, slot: u32) -> u16 {
        if self.config.queues.scheduler != Scheduler::ShortestRemaining {
            return 0;
        }
        self.tables.descriptor(slot).map_or(0, |descriptor| descriptor.remaining().to_wire())
    }

    /// The priority of a packet.
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

/// What becomes of hop control frames that later ones supersede.
fn superseded<F>(discarded: &mut VecDeque<Discarded<F>>) -> impl FnMut(F) {
    |frame| discarded.push_back(Discarded { frame, dropped: None })
}

/// A port's number as results have it. A switch has at most 256.
#[inline]
fn port_number(port: u32) -> u16 {
    debug_assert!(port <= u16::MAX.into());
    (port & 0xffff) as u16
}
