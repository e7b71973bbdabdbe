//! DCQCN (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015).
//!
//! The sender's [`ReactionPoint`] sets the rate, the receiver's [`NotificationPoint`] turns ECN
//! marks into CNPs. The congestion point, which marks, is the switch.
//!
//! The paper leaves open when a new rate begins. It holds from the next packet on, as in the HPCC simulator
//! (`rdma-hw.cc`).

use std::sync::Arc;

use units::{BitsPerSecond, Picos};

use super::settings::{Needs, Signal};
use super::{Acknowledged, CongestionControl, CongestionFeedback, Transmitted};

mod notification_point;
mod parameters;
mod reaction_point;
mod settings;

pub use notification_point::NotificationPoint;
pub use parameters::Parameters;
pub use reaction_point::ReactionPoint;
pub use settings::{ByteCounter, MAX_STAGES, Notification, Profile, Settings, Stages};

/// The reaction point of a queue pair, with the parameters that all of a host share.
#[derive(Clone, Debug)]
pub struct Control {
    point: ReactionPoint,
    parameters: Arc<Parameters>,
}

impl Control {
    /// A queue pair that has seen no congestion.
    pub fn new(link_rate: BitsPerSecond, parameters: Arc<Parameters>) -> Self {
        Self { point: ReactionPoint::new(link_rate), parameters }
    }
}

pub(super) const fn needs(_: &Settings) -> Needs {
    Needs { base_rtt: false, signal: Signal::Marks }
}

pub(super) fn ends(parameters: Parameters, link_rate: BitsPerSecond) -> (Control, Feedback) {
    let parameters = Arc::new(parameters);
    let feedback = Feedback::new(Arc::clone(&parameters));
    (Control::new(link_rate, parameters), feedback)
}

impl CongestionControl for Control {
    #[inline]
    fn transmitted(&mut self, now: Picos, packet: &Transmitted) {
        self.point.transmit(now, packet.wire, &self.parameters);
    }

    #[inline]
    fn acknowledged(&mut self, now: Picos, acknowledged: &Acknowledged<'_>) {
        if acknowledged.congestion_echo {
            self.notified(now);
        }
    }

    fn notified(&mut self, now: Picos) {
        self.point.receive_notification(now, &self.parameters);
    }

    /// alpha after the last CNP or, with clocked cuts, after the last tick that cut.
    #[inline]
    fn congestion(&self) -> Option<i64> {
        Some(self.point.alpha().millionths())
    }

    #[inline]
    fn rate(&mut self, now: Picos) -> BitsPerSecond {
        self.point.rate(now, &self.parameters)
    }

    #[inline]
    fn cuts(&self) -> u64 {
        self.point.cuts()
    }
}

/// The notification point of a queue pair, with the parameters that all of a host share.
#[derive(Clone, Debug)]
pub struct Feedback {
    point: NotificationPoint,
    /// True if the next ACK notifies the sender.
    due: bool,
    parameters: Arc<Parameters>,
}

impl Feedback {
    /// A queue pair that has notified of nothing.
    pub fn new(parameters: Arc<Parameters>) -> Self {
        Self { point: NotificationPoint::default(), due: false, parameters }
    }
}

impl CongestionFeedback for Feedback {
    #[inline]
    fn received(&mut self, now: Picos, marked: bool) -> bool {
        let notifies = marked && self.point.receive_marked(now, &self.parameters);
        match self.parameters.notification {
            Notification::Cnp => notifies,
            Notification::Ack => {
                self.due |= notifies;
                false
            }
        }
    }

    #[inline]
    fn echo(&mut self) -> bool {
        std::mem::take(&mut self.due)
    }
}

#[cfg(test)]
mod tests {
    use units::BitsPerSecond;

    use super::*;

    #[test]
    fn a_notification_is_a_cnp_or_part_of_the_next_ack() {
        for (notification, cnp, echo) in
            [(Notification::Cnp, true, false), (Notification::Ack, false, true)]
        {
            let published = Parameters::hpcc(BitsPerSecond(100_000_000_000));
            let mut feedback = Feedback::new(Parameters { notification, ..published }.into());
            assert_eq!((feedback.received(Picos(1), false), feedback.echo()), (false, false));
            assert_eq!((feedback.received(Picos(2), true), feedback.echo()), (cnp, echo));
            assert!(!feedback.echo(), "one ACK carries it");
        }
    }

    /// The sender reacts to an ACK that notifies as to a CNP.
    #[test]
    fn an_ack_notifies_as_a_cnp_does() {
        let rate = BitsPerSecond(100_000_000_000);
        let parameters = Parameters { clocked_cuts: false, ..Parameters::hpcc(rate) };
        let control = Control::new(rate, parameters.into());
        let [mut by_cnp, mut by_ack, mut by_none] = [control.clone(), control.clone(), control];
        let acknowledged = |congestion_echo| Acknowledged {
            bytes: units::Bytes(1000),
            round_trip: None,
            congestion_echo,
            telemetry: &[],
            telemetry_exceeded: false,
        };
        by_cnp.notified(Picos(5));
        by_ack.acknowledged(Picos(5), &acknowledged(true));
        by_none.acknowledged(Picos(5), &acknowledged(false));
        assert_eq!(by_ack.rate(Picos(6)), by_cnp.rate(Picos(6)));
        assert_eq!(by_none.rate(Picos(6)), rate);
        assert!(by_ack.rate(Picos(6)) < rate);
    }
}
