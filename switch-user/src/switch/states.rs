//! States of ingress ports or queues, where the scheme has states: when they change, for the observer.

use fabric_core::hop_control::PauseLevel;
use fabric_core::map_abi::PRIORITIES;
use fabric_core::policy::Policy;
use fabric_core::priority::Priority;
use fabric_core::scheme::{IngressState, Scheme};
use units::Picos;

use super::timers::{Timer, Timers};
use super::{ControlEvent, Observer, StateChange, Switch};

/// The states as the observer knows them.
#[derive(Debug, Default)]
pub(super) struct States {
    /// What has a state, and all of them by port; empty if nothing has one.
    level: Option<PauseLevel>,
    known: Vec<Known>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    victim: bool,
    paused: bool,
    /// Whether a timer looks at it at the end of the period.
    waits: bool,
}

impl States {
    pub(super) fn new<S: Scheme>(policy: Policy, ports: usize) -> Self {
        let level = S::states(policy);
        let states = match level {
            None => 0,
            Some(PauseLevel::Port) => ports,
            Some(PauseLevel::Queue) => ports * PRIORITIES,
        };
        Self { level, known: vec![Known::default(); states] }
    }

    /// Whether nothing has a state.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    fn place(&self, port: u16, priority: Priority) -> usize {
        match self.level {
            Some(PauseLevel::Queue) => usize::from(port) * PRIORITIES + priority.index(),
            _ => port.into(),
        }
    }

    /// The priority that a state is of, if it is of one.
    fn priority(&self, priority: Priority) -> Option<Priority> {
        (self.level == Some(PauseLevel::Queue)).then_some(priority)
    }
}

impl<F: Copy + Default, S: Scheme> Switch<F, S> {
    /// Whether a port, or one of its ingress queues, is a victim, if the scheme has states.
    pub fn state(&self, port: u16, priority: Priority) -> Option<IngressState> {
        S::state(&self.tables, self.config.policy, port.into(), priority)
    }

    /// What has a state, if something has.
    pub fn states(&self) -> Option<PauseLevel> {
        self.states.level
    }

    /// Whether a port was a victim, or its queue of the first of these classes, when it decided to tell its neighbour of
    /// them, if the scheme has states. A PAUSE has changed the state since.
    pub(super) fn was_victim(&self, port: u16, classes: u8, event: ControlEvent) -> Option<bool> {
        if self.states.is_empty() {
            return None;
        }
        let state = self.state(port, Priority::of_bits(classes.trailing_zeros()))?;
        Some(if event == ControlEvent::Pause { state.victim_before_pause } else { state.victim })
    }

    /// Tells the observer if the state of an ingress queue, or of its port, has changed with what has just happened.
    /// Most of the time it has not: only that is looked at for each packet.
    #[inline]
    pub(super) fn look_at_state<O: Observer>(
        &mut self,
        now: Picos,
        port: u16,
        priority: Priority,
        observer: &mut O,
    ) -> Result<(), O::Error> {
        let Some(state) = self.state(port, priority) else { return Ok(()) };
        let Known { victim, paused, waits } = self.states.known[self.states.place(port, priority)];
        if (state.victim, state.paused) == (victim, paused) && waits >= victim {
            return Ok(());
        }
        self.note_state(now, port, priority, &state, observer)
    }

    #[cold]
    fn note_state<O: Observer>(
        &mut self,
        now: Picos,
        port: u16,
        priority: Priority,
        state: &IngressState,
        observer: &mut O,
    ) -> Result<(), O::Error> {
        let place = self.states.place(port, priority);
        let known = &mut self.states.known[place];
        let before = std::mem::replace(
            known,
            Known { victim: state.victim, paused: state.paused, waits: known.waits },
        );
        if state.victim && !known.waits {
            known.waits = true;
            self.timers.set_period_end(port, priority, state);
        }
        if state.victim == before.victim {
            return Ok(());
        }
        let change = match *state {
            IngressState { victim: true, .. } if before.paused => StateChange::Resumed,
            IngressState { victim: true, .. } => StateChange::Fast,
            IngressState { paused: true, victim_before_pause: true, .. } => StateChange::Paused,
            _ => StateChange::Slow,
        };
        observer.state_changed(now, port, self.states.priority(priority), change)
    }

    /// A period of a victim has ended.
    pub(super) fn end_period<O: Observer>(
        &mut self,
        now: Picos,
        port: u16,
        priority: Priority,
        observer: &mut O,
    ) -> Result<(), O::Error> {
        S::tick(&self.tables, self.config.policy, port.into(), priority, now.to_nanos());
        let place = self.states.place(port, priority);
        self.states.known[place].waits = false;
        self.look_at_state(now, port, priority, observer)
    }
}

impl Timers {
    fn set_period_end(&mut self, port: u16, priority: Priority, state: &IngressState) {
        self.set(Picos::from_nanos(state.period_ends), Timer::PeriodEnd { port, priority });
    }
}
