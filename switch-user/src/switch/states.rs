//! States of ingress ports or queues, if the scheme has states: reports changes to the observer.
//!
//! A state is a function of time, so any reader computes it, and nothing runs at the end of a period. Only the observer
//! needs the instant of a change: each victim has a timer for it. `results/src/tables/pauses.rs` has the rows. A change of
//! SPFC's circuit also changes the model in `fabric-core/src/scheme/spfc/tests/properties.rs`.

use fabric_core::hop_control::{PauseEvent, PauseLevel};
use fabric_core::map_abi::PRIORITIES;
use fabric_core::policy::Policy;
use fabric_core::port_state::{PortState, StateCause};
use fabric_core::priority::Priority;
use fabric_core::scheme::{IngressState, Scheme};
use units::Picos;

use super::timers::{Timer, Timers};
use super::{Event, Observer, Switch};

/// States that were reported to the observer.
#[derive(Debug, Default)]
pub(super) struct States {
    /// Level of the states, and all states by port; empty if the scheme has no states.
    level: Option<PauseLevel>,
    known: Vec<Known>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    victim: bool,
    paused: bool,
    /// True if a timer checks the state at the end of the period.
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

    /// True if the scheme has no states.
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

    /// Returns the priority of a state; `None` for a port's state.
    fn priority(&self, priority: Priority) -> Option<Priority> {
        (self.level == Some(PauseLevel::Queue)).then_some(priority)
    }
}

impl<F: Copy + Default, S: Scheme> Switch<F, S> {
    /// Returns the state of a port, or of one of its ingress queues, if the scheme has states.
    pub fn state(&self, port: u16, priority: Priority) -> Option<IngressState> {
        S::state(&self.tables, self.config.policy, port.into(), priority)
    }

    /// Returns the level of the states. `None` if the scheme has no states.
    pub fn states(&self) -> Option<PauseLevel> {
        self.states.level
    }

    /// Returns the state of a port, or of its queue of the first of `classes`, when it decided to send them to its
    /// neighbour. `None` if the scheme has no states. A PAUSE has changed the state since.
    pub(super) fn state_before(
        &self,
        port: u16,
        classes: u8,
        event: PauseEvent,
    ) -> Option<PortState> {
        if self.states.is_empty() {
            return None;
        }
        let state = self.state(port, Priority::from_bits(classes.trailing_zeros()))?;
        let IngressState { victim, victim_before_pause, .. } = state;
        let victim = if event == PauseEvent::Pause { victim_before_pause } else { victim };
        Some(if victim { PortState::Victim } else { PortState::Normal })
    }

    /// Reports the state of an ingress queue, or of its port, to the observer if the last event has
    /// changed it. Usually the state is unchanged, and each packet pays only for this comparison.
    #[inline]
    pub(super) fn look_at_state<O: Observer>(
        &mut self,
        now: Picos,
        port: u16,
        priority: Priority,
        observer: &mut O,
    ) {
        let Some(state) = self.state(port, priority) else { return };
        let Known { victim, paused, waits } = self.states.known[self.states.place(port, priority)];
        if (state.victim, state.paused) == (victim, paused) && waits >= victim {
            return;
        }
        self.note_state(now, port, priority, &state, observer);
    }

    #[cold]
    fn note_state<O: Observer>(
        &mut self,
        now: Picos,
        port: u16,
        priority: Priority,
        state: &IngressState,
        observer: &mut O,
    ) {
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
            return;
        }
        let cause = match *state {
            IngressState { victim: true, .. } if before.paused => StateCause::Resume,
            IngressState { victim: true, .. } => StateCause::Fast,
            IngressState { paused: true, victim_before_pause: true, .. } => StateCause::Pause,
            _ => StateCause::Slow,
        };
        let priority = self.states.priority(priority);
        observer.event(now, &self.tables, Event::StateChanged { port, priority, cause });
    }

    /// Handles the end of a victim's period.
    pub(super) fn end_period<O: Observer>(
        &mut self,
        now: Picos,
        port: u16,
        priority: Priority,
        observer: &mut O,
    ) {
        S::tick(&self.tables, self.config.policy, port.into(), priority, now.to_nanos());
        let place = self.states.place(port, priority);
        self.states.known[place].waits = false;
        self.look_at_state(now, port, priority, observer);
    }
}

impl Timers {
    fn set_period_end(&mut self, port: u16, priority: Priority, state: &IngressState) {
        self.set(Picos::from_nanos(state.period_ends), Timer::PeriodEnd { port, priority });
    }
}
