//! Hop control frames that a switch sends and receives, and the timers that renew and end pauses.
//!
//! An order of an arrival comes as a record with the frame that eBPF has built. An order of a departure is a plain
//! value, whose frame is built when it is sent.

use fabric_core::hop_control::{ClassPauses, HopControl, Order, PauseEvent, PauseLevel};
use fabric_core::priority::{self, Priority};
use fabric_core::scheme::{Ingress, Scheme};
use units::Picos;

use super::port::ControlFrame;
use super::timers::Timer;
use super::{Departed, Event, Observer, Switch, superseded};

impl<F: Copy + Default, S: Scheme> Switch<F, S> {
    /// Handles a hop control frame that was received at `at` and that the pipeline has applied to the tables.
    pub(super) fn receive_control<O: Observer>(
        &mut self,
        now: Picos,
        at: Picos,
        port: u16,
        control: HopControl,
        observer: &mut O,
    ) {
        if let HopControl::Classes(pauses) = control {
            for priority in priority::in_mask(pauses.named) {
                let until = self.tables.pause_expiry(port.into(), priority);
                let quanta = Some(pauses.quanta[priority.index()]);
                let received = Event::PauseReceived { port, priority, until, quanta };
                observer.event(now, &self.tables, received);
                if until > now.to_nanos() {
                    self.timers.set(Picos::from_nanos(until), Timer::PauseExpiry { port });
                }
            }
            if self.storms.is_some() {
                self.hear_of_pauses(now, at, port, &pauses);
            }
        }
    }

    /// Sends the hop control frames due at the ingress port of a packet that found no room.
    #[cold]
    pub(super) fn on_refused<O: Observer>(
        &mut self,
        now: Picos,
        port: u16,
        orders: &[(Order, Option<F>)],
        observer: &mut O,
    ) {
        observer.event(now, &self.tables, Event::PausesTested { port });
        for (order, built) in orders {
            self.send_order(now, port, order, event_of(order), *built, observer);
            if let HopControl::Classes(pauses) = order.control
                && !self.states.is_empty()
            {
                let class = Priority::from_bits(pauses.named.trailing_zeros());
                self.look_at_state(now, port, class, observer);
            }
        }
    }

    /// Renews a pause that would otherwise expire during the congestion.
    pub(super) fn refresh<O: Observer>(
        &mut self,
        now: Picos,
        port: u16,
        priority: Option<Priority>,
        pause: u32,
        observer: &mut O,
    ) {
        let level = if priority.is_some() { PauseLevel::Queue } else { PauseLevel::Port };
        let lossless = self.tables.settings().lossless_classes;
        let class = priority.unwrap_or(Priority::from_bits(lossless.trailing_zeros()));
        let Some(order) = self.renewal(now, port, class, level, pause) else { return };
        observer.event(now, &self.tables, Event::PausesTested { port });
        let event = if order.resumes { PauseEvent::Resume } else { PauseEvent::Refresh };
        self.send_order(now, port, &order, event, None, observer);
        if !self.states.is_empty() {
            self.look_at_state(now, port, class, observer);
        }
    }

    /// Ends the pause number `pause` of an ingress queue after the time for which the neighbour obeys it, without a frame. A
    /// later pause goes on.
    pub fn end_pause<O: Observer>(
        &mut self,
        now: Picos,
        port: u16,
        class: Priority,
        pause: u32,
        observer: &mut O,
    ) {
        let policy = self.config.policy;
        let Some(at) = Ingress::new(&self.tables, policy, port.into(), class) else { return };
        if at.queue.off.load() == 0 || at.queue.pauses.load() != pause {
            return;
        }
        at.queue.off.store(0);
        let order = at.resume_queue(S::threshold(&at));
        self.report_pause(now, port, &order, (class.bit(), PauseEvent::Resume), observer);
    }

    fn renewal(
        &self,
        now: Picos,
        port: u16,
        class: Priority,
        level: PauseLevel,
        pause: u32,
    ) -> Option<Order> {
        let at = Ingress::new(&self.tables, self.config.policy, port.into(), class)?;
        S::renewal(&at, level, pause, now.to_nanos())
    }

    /// Handles a packet that has released its buffer, sent or dropped: sends the hop control frames
    /// due, and reports changes of its ingress port's state.
    #[inline(always)]
    pub(super) fn has_left<O: Observer>(&mut self, now: Picos, packet: Departed, observer: &mut O) {
        observer.event(now, &self.tables, Event::Departed(packet));
        let Departed { ingress, priority, .. } = packet;
        if !self.orders.is_empty() {
            self.send_orders(now, ingress, observer);
        }
        if !self.states.is_empty() {
            self.look_at_state(now, ingress, priority, observer);
        }
    }

    /// Sends the hop control frames that are due after a departure at its ingress port.
    #[cold]
    fn send_orders<O: Observer>(&mut self, now: Picos, port: u16, observer: &mut O) {
        let orders = std::mem::take(&mut self.orders);
        for order in &orders {
            self.send_order(now, port, order, event_of(order), None, observer);
        }
        self.orders = orders;
        self.orders.clear();
        self.woken.push_back(port);
    }

    /// Queues a hop control frame, notifies the observer, and sets the timers that renew its pauses.
    #[cold]
    pub(super) fn send_order<O: Observer>(
        &mut self,
        now: Picos,
        port: u16,
        order: &Order,
        event: PauseEvent,
        built: Option<F>,
        observer: &mut O,
    ) {
        let Order { control, level, pause, resumes, .. } = *order;
        let frame = ControlFrame { control, built };
        self.ports.push_control(port, frame, &mut superseded(&mut self.discarded));
        let pauses = match control {
            HopControl::Classes(pauses) => pauses,
            HopControl::Queues { .. } => return,
            HopControl::Queue { .. } | HopControl::Flows { .. } | HopControl::Rate { .. } => {
                let ordered = Event::Ordered { port, order: *order };
                return observer.event(now, &self.tables, ordered);
            }
        };
        if resumes {
            return self.send_resume(now, port, order, &pauses, observer);
        }
        observer.event(now, &self.tables, Event::PfcQueued(event));
        self.report_pause(now, port, order, (pauses.named, event), observer);
        let due = now + self.config.ports[usize::from(port)].refresh_period;
        match level {
            PauseLevel::Port => {
                self.timers.set(due, Timer::PauseRefresh { port, priority: None, pause });
            }
            PauseLevel::Queue => {
                for priority in priority::in_mask(pauses.named) {
                    let priority = Some(priority);
                    self.timers.set(due, Timer::PauseRefresh { port, priority, pause });
                }
            }
        }
    }

    /// Notifies the observer of a RESUME. A port's RESUME also renews the pauses of classes whose
    /// queues are OFF, because the port's pause no longer covers them.
    fn send_resume<O: Observer>(
        &mut self,
        now: Picos,
        port: u16,
        order: &Order,
        pauses: &ClassPauses,
        observer: &mut O,
    ) {
        let resumed = pauses.resumed();
        let queued = if resumed == 0 { PauseEvent::Refresh } else { PauseEvent::Resume };
        observer.event(now, &self.tables, Event::PfcQueued(queued));
        self.report_pause(now, port, order, (resumed, PauseEvent::Resume), observer);
        let due = now + self.config.ports[usize::from(port)].refresh_period;
        for class in priority::in_mask(pauses.paused()) {
            let pause = self.tables.ingress(port.into(), class).pauses.load();
            let renewed = self
                .renewal(now, port, class, PauseLevel::Queue, pause)
                .expect("its queue is OFF and its port is ON");
            self.report_pause(now, port, &renewed, (class.bit(), PauseEvent::Refresh), observer);
            self.timers.set(due, Timer::PauseRefresh { port, priority: Some(class), pause });
        }
    }

    /// Notifies the observer of a decision about classes.
    fn report_pause<O: Observer>(
        &self,
        now: Picos,
        port: u16,
        order: &Order,
        (classes, event): (u8, PauseEvent),
        observer: &mut O,
    ) {
        let state = self.state_before(port, classes, event);
        let pause = Event::Pause { port, classes, event, state, order: *order };
        observer.event(now, &self.tables, pause);
    }
}

/// The decision of an order that an arrival or a departure caused.
pub(super) fn event_of(order: &Order) -> PauseEvent {
    if order.resumes { PauseEvent::Resume } else { PauseEvent::Pause }
}
