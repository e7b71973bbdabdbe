//! Which congestion control a host runs: the one place that names them all.

use std::sync::Arc;

use units::{BitsPerSecond, Bytes, Picos};

use super::dcqcn;
use super::line_rate::LineRate;
use super::{Acknowledged, CongestionControl, CongestionFeedback, Loss, Transmitted};

/// How senders set their rate, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Line rate always; receivers send no CNP.
    LineRate,
    /// DCQCN.
    Dcqcn(dcqcn::Parameters),
}

impl Algorithm {
    /// The two ends of a queue pair that has seen no congestion, to be cloned for each.
    pub(crate) fn ends(&self, link_rate: BitsPerSecond) -> (Control, Feedback) {
        match self {
            Self::LineRate => (Control::LineRate(LineRate), Feedback::LineRate(LineRate)),
            Self::Dcqcn(parameters) => {
                let parameters = Arc::new(*parameters);
                let feedback = dcqcn::Feedback::new(Arc::clone(&parameters));
                (
                    Control::Dcqcn(dcqcn::Control::new(link_rate, parameters)),
                    Feedback::Dcqcn(feedback),
                )
            }
        }
    }
}

/// The sending end of any of them.
#[derive(Clone, Debug)]
pub(crate) enum Control {
    LineRate(LineRate),
    Dcqcn(dcqcn::Control),
}

#[deny(clippy::missing_trait_methods)]
impl CongestionControl for Control {
    #[inline]
    fn transmitted(&mut self, now: Picos, packet: &Transmitted) {
        match self {
            Self::LineRate(control) => control.transmitted(now, packet),
            Self::Dcqcn(control) => control.transmitted(now, packet),
        }
    }

    #[inline]
    fn acknowledged(&mut self, now: Picos, acknowledged: &Acknowledged<'_>) {
        match self {
            Self::LineRate(control) => control.acknowledged(now, acknowledged),
            Self::Dcqcn(control) => control.acknowledged(now, acknowledged),
        }
    }

    #[inline]
    fn notified(&mut self, now: Picos) -> bool {
        match self {
            Self::LineRate(control) => control.notified(now),
            Self::Dcqcn(control) => control.notified(now),
        }
    }

    #[inline]
    fn lost(&mut self, now: Picos, loss: Loss) {
        match self {
            Self::LineRate(control) => control.lost(now, loss),
            Self::Dcqcn(control) => control.lost(now, loss),
        }
    }

    #[inline]
    fn rate(&mut self, now: Picos) -> BitsPerSecond {
        match self {
            Self::LineRate(control) => control.rate(now),
            Self::Dcqcn(control) => control.rate(now),
        }
    }

    #[inline]
    fn window(&self, now: Picos) -> Option<Bytes> {
        match self {
            Self::LineRate(control) => control.window(now),
            Self::Dcqcn(control) => control.window(now),
        }
    }

    #[inline]
    fn measures_round_trips(&self) -> bool {
        match self {
            Self::LineRate(control) => control.measures_round_trips(),
            Self::Dcqcn(control) => control.measures_round_trips(),
        }
    }
}

/// The receiving end of any of them.
#[derive(Clone, Debug)]
pub(crate) enum Feedback {
    LineRate(LineRate),
    Dcqcn(dcqcn::Feedback),
}

#[deny(clippy::missing_trait_methods)]
impl CongestionFeedback for Feedback {
    #[inline]
    fn received(&mut self, now: Picos, marked: bool) -> bool {
        match self {
            Self::LineRate(feedback) => feedback.received(now, marked),
            Self::Dcqcn(feedback) => feedback.received(now, marked),
        }
    }

    #[inline]
    fn echo(&mut self) -> bool {
        match self {
            Self::LineRate(feedback) => feedback.echo(),
            Self::Dcqcn(feedback) => feedback.echo(),
        }
    }
}
