//! Congestion control of senders, in doubles. Products and sums are contracted (fused multiply-add) where an optimised
//! build of the simulator contracts them.

pub mod dcqcn;
pub mod dctcp;
pub mod hpcc;
pub mod powertcp;
pub mod timely;

use units::BitsPerSecond;

use super::settings::{Control, Settings};

/// State of a sender.
#[derive(Debug)]
pub(super) enum Congestion {
    None,
    Dcqcn(dcqcn::State),
    Hpcc(Box<hpcc::State>),
    Timely(timely::State),
    Dctcp(dctcp::State),
    PowerTcp(Box<powertcp::State>),
}

impl Congestion {
    pub fn new(settings: &Settings, line: BitsPerSecond) -> Self {
        match settings.control {
            Control::None => Self::None,
            Control::Dcqcn => Self::Dcqcn(dcqcn::State::default()),
            Control::Hpcc => Self::Hpcc(Box::new(hpcc::State::new(line.0))),
            Control::Timely => Self::Timely(timely::State::default()),
            Control::Dctcp => Self::Dctcp(dctcp::State::default()),
            Control::PowerTcp | Control::ThetaPowerTcp => {
                Self::PowerTcp(Box::new(powertcp::State::new(line.0)))
            }
        }
    }
}

/// An ACK or NACK as congestion control sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Feedback {
    /// Next byte that the receiver expects.
    pub number: u32,
    /// Next byte to send.
    pub sent: u32,
    /// True if the packet that it answers was marked.
    pub marked: bool,
}
