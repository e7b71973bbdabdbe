//! The PFC watchdog of a switch: detects the beginning and end of a storm at a (port, priority).
//!
//! Polls periodically. A storm is detected if the queue was paused and had packets at each poll for
//! the detection time, and sent none: one pause lasted from the first poll to the last. The storm
//! is over if no pause was in force for the restoration time. The times of polls are multiples of
//! the poll interval, and nothing else affects them. There are no polls while no queue is paused.
//!
//! The watchdog uses the content of PFC frames, not the switch's reaction: under [`StormAction::Forward`] the switch
//! ignores them.
//!
//! Pauses are judged by the instants of their frames (`Arrival::at`). A driver with unread frames reports the instant
//! up to which it has read (`Switch::set_backlog`), so a late process sees the storm that the link saw.

use std::collections::BTreeSet;

use fabric_core::map_abi::{PRIORITIES, class_row};
use fabric_core::policy::StormAction;
use fabric_core::priority::Priority;
use units::Picos;

/// Settings of a switch's watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchdogConfig {
    /// Action during a storm.
    pub action: StormAction,
    /// Time for which a queue is held until this counts as a storm.
    pub detection: Picos,
    /// Time without a pause in force until a storm is over.
    pub restoration: Picos,
    /// Time between polls, above zero.
    pub poll_interval: Picos,
}

/// Change found by a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// The neighbour's pauses are a storm.
    Detected,
    /// The storm is over.
    Restored,
}

/// State of one (port, priority).
#[derive(Clone, Copy, Debug, Default)]
struct Watched {
    /// Start of the latest pause.
    binds: Picos,
    /// End of the latest pause.
    until: Picos,
    state: State,
}

impl Watched {
    fn is_in_force(&self, now: Picos) -> bool {
        self.binds <= now && now < self.until
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Calm,
    /// The pause that took effect at `binds` holds packets, first found at `since`.
    Held { since: Picos, binds: Picos },
    /// The watchdog acts on a storm.
    Storm,
}

/// The watchdog of one switch; see the module.
#[derive(Debug)]
pub struct Watchdog {
    config: WatchdogConfig,
    /// Indexed by [`class_row`].
    watched: Box<[Watched]>,
    /// Ports and priorities that the next poll checks.
    suspects: BTreeSet<(u16, Priority)>,
    /// True if a poll is scheduled.
    looks: bool,
}

impl Watchdog {
    /// Creates the watchdog of a switch with `ports` ports, none of whose queues is paused.
    ///
    /// # Panics
    /// If the poll interval is zero.
    pub fn new(config: WatchdogConfig, ports: usize) -> Self {
        assert!(config.poll_interval > Picos::ZERO, "looks have a distance in time");
        let watched = vec![Watched::default(); ports * PRIORITIES].into();
        Self { config, watched, suspects: BTreeSet::new(), looks: false }
    }

    /// Records a PFC frame received at `now`, after which (port, priority) is paused from `binds` to `until`; for a
    /// RESUME `until` is `now`. A running pause keeps its start. Call [`look_again`](Self::look_again) afterwards.
    pub fn hear(&mut self, now: Picos, port: u16, priority: Priority, binds: Picos, until: Picos) {
        let watched = &mut self.watched[class_row(port.into(), priority) as usize];
        let was_running = watched.until > now;
        if !was_running && until <= now {
            return;
        }
        if !was_running {
            watched.binds = binds;
        }
        watched.until = until;
        self.suspects.insert((port, priority));
    }

    /// True if a pause of (port, priority) is in force.
    pub fn pauses(&self, now: Picos, port: u16, priority: Priority) -> bool {
        self.watched[class_row(port.into(), priority) as usize].is_in_force(now)
    }

    /// Schedules the next poll and returns its time, if one is needed and none is scheduled. Call
    /// it after each poll, and after a PFC frame was received.
    pub fn look_again(&mut self, now: Picos) -> Option<Picos> {
        if self.looks || self.suspects.is_empty() {
            return None;
        }
        self.looks = true;
        let interval = self.config.poll_interval.0;
        Some(Picos((now.0 / interval + 1) * interval))
    }

    /// Polls all queues that need it; `holds` returns true if packets of (port, priority) wait.
    /// Returns the changes, in the order of ports and priorities.
    pub fn look(
        &mut self,
        now: Picos,
        holds: impl Fn(u16, Priority) -> bool,
    ) -> Vec<(u16, Priority, Change)> {
        self.looks = false;
        let mut changes = Vec::new();
        let WatchdogConfig { detection, restoration, .. } = self.config;
        let watched = &mut self.watched;
        self.suspects.retain(|&(port, priority)| {
            let watched = &mut watched[class_row(port.into(), priority) as usize];
            let is_in_force = watched.is_in_force(now);
            let Watched { binds, until, state } = watched;
            let has_ended = *until <= now;
            match *state {
                State::Storm if has_ended && now.since(*until) >= restoration => {
                    *state = State::Calm;
                    changes.push((port, priority, Change::Restored));
                }
                State::Storm => {}
                _ if !is_in_force || !holds(port, priority) => *state = State::Calm,
                State::Held { since, binds: same } if same == *binds => {
                    if now.since(since) >= detection {
                        *state = State::Storm;
                        changes.push((port, priority, Change::Detected));
                    }
                }
                State::Held { .. } | State::Calm => {
                    *state = State::Held { since: now, binds: *binds };
                }
            }
            *state != State::Calm || !has_ended
        });
        changes
    }

    /// Returns the action during a storm.
    pub const fn action(&self) -> StormAction {
        self.config.action
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: WatchdogConfig = WatchdogConfig {
        action: StormAction::Drop,
        detection: Picos(300),
        restoration: Picos(200),
        poll_interval: Picos(100),
    };
    const CLASS: Priority = Priority::new(3);
    const FOREVER: Picos = Picos(1_000_000);

    fn watchdog() -> Watchdog {
        Watchdog::new(CONFIG, 2)
    }

    /// Receives a frame at port 1.
    fn hear(watchdog: &mut Watchdog, now: u64, until: Picos) -> Option<u64> {
        let at = Picos(now);
        watchdog.hear(at, 1, CLASS, Picos(now + 10), until);
        watchdog.look_again(at).map(|at| at.0)
    }

    /// Polls from the first time to the last, and returns the changes with their times. Packets
    /// wait at the polls that `holds` accepts.
    fn looks(
        watchdog: &mut Watchdog,
        (first, last): (u64, u64),
        holds: impl Fn(u64) -> bool,
    ) -> Vec<(u64, Change)> {
        let mut changes = Vec::new();
        let mut at = Some(first);
        while let Some(now) = at.filter(|&now| now <= last) {
            for (port, priority, change) in watchdog.look(Picos(now), |_, _| holds(now)) {
                assert_eq!((port, priority), (1, CLASS));
                changes.push((now, change));
            }
            at = watchdog.look_again(Picos(now)).map(|at| at.0);
        }
        changes
    }

    #[test]
    fn looks_are_at_multiples_of_the_interval_and_only_while_there_is_a_reason() {
        let mut watchdog = watchdog();
        assert_eq!(hear(&mut watchdog, 40, Picos(40)), None, "a RESUME of what is not paused");
        assert_eq!(hear(&mut watchdog, 50, Picos(150)), Some(100));
        assert_eq!(hear(&mut watchdog, 60, Picos(160)), None, "it is settled");
        assert!(watchdog.look(Picos(100), |_, _| true).is_empty());
        assert_eq!(watchdog.look_again(Picos(100)), Some(Picos(200)));
        assert!(watchdog.look(Picos(200), |_, _| true).is_empty());
        assert_eq!(watchdog.look_again(Picos(200)), None, "the pause has run out");
        assert_eq!(hear(&mut watchdog, 200, Picos(250)), Some(300), "later than now");
    }

    #[test]
    fn a_pause_that_holds_packets_for_the_detection_time_is_a_storm() {
        let mut watchdog = watchdog();
        hear(&mut watchdog, 50, FOREVER);
        let found = looks(&mut watchdog, (100, 1000), |_| true);
        assert_eq!(found, [(400, Change::Detected)]);
    }

    #[test]
    fn the_detection_time_begins_when_packets_wait() {
        let mut watchdog = watchdog();
        hear(&mut watchdog, 50, FOREVER);
        assert_eq!(looks(&mut watchdog, (100, 400), |_| false), []);
        assert_eq!(looks(&mut watchdog, (500, 700), |now| now != 600), []);
        assert_eq!(looks(&mut watchdog, (800, 2000), |_| true), [(1000, Change::Detected)]);
    }

    #[test]
    fn a_queue_that_was_allowed_to_send_in_between_is_in_no_storm() {
        let mut watchdog = watchdog();
        hear(&mut watchdog, 50, FOREVER);
        assert_eq!(looks(&mut watchdog, (100, 300), |_| true), []);
        hear(&mut watchdog, 310, Picos(310));
        hear(&mut watchdog, 320, FOREVER);
        assert_eq!(looks(&mut watchdog, (400, 1500), |_| true), [(700, Change::Detected)]);
    }

    #[test]
    fn a_pause_that_is_renewed_in_time_goes_on() {
        let mut watchdog = watchdog();
        hear(&mut watchdog, 50, Picos(250));
        assert_eq!(looks(&mut watchdog, (100, 200), |_| true), []);
        hear(&mut watchdog, 240, Picos(440));
        assert_eq!(looks(&mut watchdog, (300, 300), |_| true), []);
        hear(&mut watchdog, 390, FOREVER);
        assert_eq!(looks(&mut watchdog, (400, 1000), |_| true), [(400, Change::Detected)]);
    }

    /// A pause includes its first instant and excludes its last.
    #[test]
    fn a_pause_takes_effect_at_an_instant_and_ends_before_one() {
        let mut watchdog = watchdog();
        watchdog.hear(Picos(50), 1, CLASS, Picos(100), Picos(400));
        assert_eq!(looks(&mut watchdog, (100, 1000), |_| true), [], "it ends at 400");
        watchdog.hear(Picos(1050), 1, CLASS, Picos(1100), Picos(1401));
        let found = looks(&mut watchdog, (1100, 1400), |_| true);
        assert_eq!(found, [(1400, Change::Detected)]);
    }

    #[test]
    fn a_storm_is_over_when_no_pause_was_in_force_for_the_restoration_time() {
        let mut watchdog = watchdog();
        hear(&mut watchdog, 50, FOREVER);
        assert_eq!(looks(&mut watchdog, (100, 900), |_| true), [(400, Change::Detected)]);
        // Ended by a RESUME, begun again, and expired between two polls.
        hear(&mut watchdog, 950, Picos(950));
        assert_eq!(looks(&mut watchdog, (1000, 1100), |_| false), []);
        hear(&mut watchdog, 1110, Picos(1140));
        let found = looks(&mut watchdog, (1200, 5000), |_| false);
        assert_eq!(found, [(1400, Change::Restored)], "200 after 1140, at the next look");
        assert_eq!(watchdog.look_again(Picos(1400)), None);
    }

    #[test]
    fn a_queue_can_be_held_by_a_second_storm() {
        let mut watchdog = watchdog();
        hear(&mut watchdog, 50, Picos(500));
        let found = looks(&mut watchdog, (100, 5000), |_| true);
        assert_eq!(found, [(400, Change::Detected), (700, Change::Restored)]);
        assert_eq!(hear(&mut watchdog, 6000, FOREVER), Some(6100));
        let found = looks(&mut watchdog, (6100, 7000), |_| true);
        assert_eq!(found, [(6400, Change::Detected)]);
    }

    #[test]
    fn queues_are_distinguished_and_reported_in_order() {
        let mut watchdog = watchdog();
        for (port, class) in [(1, 4), (0, 5), (1, 3), (0, 3)] {
            watchdog.hear(Picos(50), port, Priority::new(class), Picos(60), FOREVER);
        }
        let holds = |port, priority: Priority| (port, priority.number()) != (0, 5);
        let mut found = Vec::new();
        for now in [100, 200, 300, 400] {
            found.extend(watchdog.look(Picos(now), holds));
        }
        let found: Vec<_> = found.iter().map(|(port, class, _)| (*port, class.number())).collect();
        assert_eq!(found, [(0, 3), (1, 3), (1, 4)]);
    }
}
