//! The choice of a queue pair's congestion control: the one place that names all algorithms.

use std::sync::Arc;

use enum_dispatch::enum_dispatch;
use units::BitsPerSecond;

use super::line_rate::LineRate;
use super::{cubic, dcqcn, dctcp, hpcc, powertcp, rtt_target, theta_powertcp, timely};

/// Congestion control algorithm of senders, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Line rate always; receivers send no CNP.
    LineRate,
    /// Cubic.
    Cubic(cubic::Parameters),
    /// DCQCN.
    Dcqcn(dcqcn::Parameters),
    /// DCTCP.
    Dctcp(dctcp::Parameters),
    /// HPCC.
    Hpcc(hpcc::Parameters),
    /// PowerTCP.
    PowerTcp(powertcp::Parameters),
    /// A round-trip time to aim at.
    RttTarget(rtt_target::Parameters),
    /// theta-PowerTCP.
    ThetaPowerTcp(powertcp::Parameters),
    /// TIMELY.
    Timely(timely::Parameters),
}

impl Algorithm {
    /// The two ends of a queue pair that has seen no congestion, to be cloned for each.
    pub(crate) fn ends(&self, link_rate: BitsPerSecond) -> (Control, Feedback) {
        match *self {
            Self::LineRate => (LineRate.into(), LineRate.into()),
            Self::Cubic(parameters) => {
                (cubic::Control::new(parameters.into()).into(), LineRate.into())
            }
            Self::Dcqcn(parameters) => {
                let parameters = Arc::new(parameters);
                let feedback = dcqcn::Feedback::new(Arc::clone(&parameters));
                (dcqcn::Control::new(link_rate, parameters).into(), feedback.into())
            }
            Self::Dctcp(parameters) => {
                (dctcp::Control::new(parameters.into()).into(), dctcp::Feedback::default().into())
            }
            Self::Hpcc(parameters) => {
                (hpcc::Control::new(parameters.into()).into(), LineRate.into())
            }
            Self::PowerTcp(parameters) => {
                (powertcp::Control::new(parameters.into()).into(), LineRate.into())
            }
            Self::RttTarget(parameters) => {
                (rtt_target::Control::new(parameters.into()).into(), LineRate.into())
            }
            Self::ThetaPowerTcp(parameters) => {
                (theta_powertcp::Control::new(parameters.into()).into(), LineRate.into())
            }
            Self::Timely(parameters) => {
                (timely::Control::new(parameters.into()).into(), LineRate.into())
            }
        }
    }
}

/// The sending end of any of them.
#[enum_dispatch(CongestionControl)]
#[derive(Clone, Debug)]
pub(crate) enum Control {
    LineRate(LineRate),
    Cubic(cubic::Control),
    Dcqcn(dcqcn::Control),
    Dctcp(dctcp::Control),
    Hpcc(hpcc::Control),
    PowerTcp(powertcp::Control),
    RttTarget(rtt_target::Control),
    ThetaPowerTcp(theta_powertcp::Control),
    Timely(timely::Control),
}

/// The receiving end of any of them.
#[enum_dispatch(CongestionFeedback)]
#[derive(Clone, Debug)]
pub(crate) enum Feedback {
    LineRate(LineRate),
    Dcqcn(dcqcn::Feedback),
    Dctcp(dctcp::Feedback),
}
