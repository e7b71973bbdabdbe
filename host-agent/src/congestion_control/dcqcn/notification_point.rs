//! The notification point: decides when a receiver notifies a sender of congestion.

use units::Picos;

use super::Parameters;

/// Notification point of one queue pair.
#[derive(Clone, Copy, Debug, Default)]
pub struct NotificationPoint {
    next_notification: Picos,
}

impl NotificationPoint {
    /// Handles a packet marked congestion experienced that arrives at `now`. Returns true if a CNP
    /// is due.
    pub fn receive_marked(&mut self, now: Picos, parameters: &Parameters) -> bool {
        if now < self.next_notification {
            return false;
        }
        self.next_notification = now + parameters.notification_interval;
        true
    }
}

#[cfg(test)]
mod tests {
    use units::BitsPerSecond;

    use super::*;

    const LINE_RATE: BitsPerSecond = BitsPerSecond(100_000_000_000);

    #[test]
    fn one_notification_per_interval() {
        let parameters = Parameters::paper(LINE_RATE);
        let mut point = NotificationPoint::default();
        let notified = [0, 1, 49_999_999, 50_000_000, 60_000_000, 130_000_000]
            .map(|now| point.receive_marked(Picos(now), &parameters));
        assert_eq!(notified, [true, false, false, true, false, true]);
    }

    #[test]
    fn an_interval_of_zero_notifies_of_every_mark() {
        let parameters = Parameters::hpcc(LINE_RATE);
        let mut point = NotificationPoint::default();
        assert!([0, 0, 1, 2].into_iter().all(|now| point.receive_marked(Picos(now), &parameters)));
    }
}
