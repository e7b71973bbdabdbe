//! Which priorities a NIC may not send: the receiver's side of PFC (IEEE 802.1Qbb, 36.2).

use fabric_core::units::{BitsPerSecond, Picos};
use fabric_core::wire::pfc::quantum_duration;

/// What a PFC frame meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseOutcome {
    /// At least one priority is paused.
    Paused,
    /// Every enabled priority is resumed.
    Resumed,
    /// No class is enabled: ignored.
    NoClass,
}

/// One priority sends nothing in `[binds_at, expires_at)`.
#[derive(Clone, Copy, Debug, Default)]
struct PriorityPause {
    binds_at: Picos,
    expires_at: Picos,
}

/// The pause timers of a port's eight priorities.
#[derive(Debug)]
pub struct PauseTimers {
    link_rate: BitsPerSecond,
    response: Picos,
    priorities: [PriorityPause; 8],
}

impl PauseTimers {
    /// No priority paused; a first PAUSE binds `response` after its reception.
    pub fn new(link_rate: BitsPerSecond, response: Picos) -> Self {
        Self { link_rate, response, priorities: Default::default() }
    }

    /// Takes the fields of a PFC frame received at `now`.
    pub fn receive(&mut self, now: Picos, class_enable: u8, quanta: &[u16; 8]) -> PauseOutcome {
        if class_enable == 0 {
            return PauseOutcome::NoClass;
        }
        let mut outcome = PauseOutcome::Resumed;
        for (priority, &quanta) in quanta.iter().enumerate() {
            if class_enable & (1 << priority) == 0 {
                continue;
            }
            let pause = &mut self.priorities[priority];
            if quanta == 0 {
                *pause = PriorityPause::default();
                continue;
            }
            outcome = PauseOutcome::Paused;
            if pause.expires_at <= now {
                pause.binds_at = now + self.response;
            }
            pause.expires_at = now + quantum_duration(self.link_rate, quanta);
        }
        outcome
    }

    /// Whether `priority` may not start a packet at `now`.
    pub fn is_paused(&self, priority: u8, now: Picos) -> bool {
        let pause = &self.priorities[usize::from(priority)];
        pause.binds_at <= now && now < pause.expires_at
    }

    /// When the last pause of `priority` ends or ended, unless a frame changes it.
    pub fn expires_at(&self, priority: u8) -> Picos {
        self.priorities[usize::from(priority)].expires_at
    }

    /// The first instant from `from` on at which `priority` may start a packet.
    pub fn open_from(&self, priority: u8, from: Picos) -> Picos {
        if self.is_paused(priority, from) { self.expires_at(priority) } else { from }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUANTUM: u64 = 5120; // 512 bits at 100 Gbit/s
    const RESPONSE: Picos = Picos(2000);

    fn timers() -> PauseTimers {
        PauseTimers::new(BitsPerSecond(100_000_000_000), RESPONSE)
    }

    fn quanta(priority: usize, value: u16) -> [u16; 8] {
        let mut quanta = [0; 8];
        quanta[priority] = value;
        quanta
    }

    #[test]
    fn a_pause_binds_after_the_response_time_and_expires_by_itself() {
        let mut timers = timers();
        assert_eq!(timers.receive(Picos(1000), 1 << 3, &quanta(3, 2)), PauseOutcome::Paused);
        assert!(!timers.is_paused(3, Picos(2999)));
        assert!(timers.is_paused(3, Picos(3000)));
        assert!(timers.is_paused(3, Picos(1000 + 2 * QUANTUM - 1)));
        assert!(!timers.is_paused(3, Picos(1000 + 2 * QUANTUM)));
        assert!(!timers.is_paused(4, Picos(3000)));
        assert_eq!(timers.open_from(3, Picos(1500)), Picos(1500));
        assert_eq!(timers.open_from(3, Picos(4000)), Picos(1000 + 2 * QUANTUM));
    }

    #[test]
    fn a_refresh_extends_without_a_gap() {
        let mut timers = timers();
        timers.receive(Picos(0), 1 << 3, &quanta(3, 2));
        timers.receive(Picos(10_000), 1 << 3, &quanta(3, 2));
        assert!(timers.is_paused(3, Picos(10_000)));
        assert!(timers.is_paused(3, Picos(10_000 + 2 * QUANTUM - 1)));
        assert!(!timers.is_paused(3, Picos(10_000 + 2 * QUANTUM)));
    }

    #[test]
    fn zero_quanta_resume_at_once_even_before_the_pause_binds() {
        let mut timers = timers();
        timers.receive(Picos(0), 1 << 3, &quanta(3, 100));
        assert_eq!(timers.receive(Picos(1000), 1 << 3, &quanta(3, 0)), PauseOutcome::Resumed);
        assert!(!timers.is_paused(3, Picos(2000)));
        timers.receive(Picos(5000), 1 << 3, &quanta(3, 100));
        assert!(!timers.is_paused(3, Picos(6999)), "a new pause has its own response time");
        assert!(timers.is_paused(3, Picos(7000)));
    }

    #[test]
    fn no_enabled_class_is_no_pause() {
        let mut timers = timers();
        assert_eq!(timers.receive(Picos(0), 0, &[9; 8]), PauseOutcome::NoClass);
        assert!((0..8).all(|priority| !timers.is_paused(priority, Picos(3000))));
    }

    #[test]
    fn only_enabled_classes_change() {
        let mut timers = timers();
        timers.receive(Picos(0), 0b1000, &[100; 8]);
        assert_eq!(timers.receive(Picos(1), 0b0100, &[0; 8]), PauseOutcome::Resumed);
        assert!(timers.is_paused(3, Picos(2000)));
        assert!(!timers.is_paused(0, Picos(2000)));
    }

    #[test]
    fn a_pause_at_the_instant_of_expiry_has_its_own_response_time() {
        let mut timers = timers();
        timers.receive(Picos(0), 1 << 3, &quanta(3, 2));
        let expiry = 2 * QUANTUM;
        timers.receive(Picos(expiry), 1 << 3, &quanta(3, 2));
        assert!(!timers.is_paused(3, Picos(expiry)));
        assert!(!timers.is_paused(3, Picos(expiry + 1999)));
        assert!(timers.is_paused(3, Picos(expiry + 2000)));
    }
}
