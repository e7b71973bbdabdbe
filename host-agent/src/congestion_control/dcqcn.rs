//! DCQCN (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015).
//!
//! The sender's [`ReactionPoint`] sets the rate, the receiver's [`NotificationPoint`] turns ECN
//! marks into CNPs. The congestion point, which marks, is the switch.

use std::sync::Arc;

use units::{BitsPerSecond, Picos};

use super::{CongestionControl, CongestionFeedback, Transmitted};

mod notification_point;
mod parameters;
mod reaction_point;

pub use notification_point::NotificationPoint;
pub use parameters::Parameters;
pub use reaction_point::ReactionPoint;

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

impl CongestionControl for Control {
    #[inline]
    fn transmitted(&mut self, now: Picos, packet: &Transmitted) {
        self.point.transmit(now, packet.wire, &self.parameters);
    }

    fn notified(&mut self, now: Picos) {
        self.point.receive_notification(now, &self.parameters);
    }

    /// alpha, as of the last CNP or, with a clock of its own, its last tick that cut.
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
    parameters: Arc<Parameters>,
}

impl Feedback {
    /// A queue pair that has sent no CNP.
    pub fn new(parameters: Arc<Parameters>) -> Self {
        Self { point: NotificationPoint::default(), parameters }
    }
}

impl CongestionFeedback for Feedback {
    #[inline]
    fn received(&mut self, now: Picos, marked: bool) -> bool {
        marked && self.point.receive_marked(now, &self.parameters)
    }
}
