//! A host of HPCC's simulator (ns-3, alibaba-edu/High-Precision-Congestion-Control): its NIC, its queue pairs and its
//! congestion control, with its rules for equal instants and its arithmetic. [`Settings::conweave`] has the differences of
//! `ConWeave`'s simulator (conweave-project/conweave-ns3), and [`Settings::datacenter`] those of ns3-datacenter
//! (inet-tub/ns3-datacenter); both are written from the simulators' sources, and no run of them has been compared.
//!
//! Rates and gaps follow from IEEE doubles, as there, so that results are the simulator's to the nanosecond. This is the
//! only module of this crate with floats. No other host uses it; [`time`] is also the time of frames with
//! `frames.time = "truncated-doubles"`.
//!
//! [`Host`] is sans-I/O. The driver calls [`Host::poll`] whenever the port is free and a call returns that the NIC
//! [looks](Reaction::looks) for a packet, and [`Host::handle_timer`] at the instants that the host has passed to
//! [`Schedule::schedule`], in the order of these calls where instants are equal.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the simulator cuts doubles to whole numbers, and counts in 32 bits"
)]

mod congestion;
mod host;
mod queue_pair;
mod receiver;
mod settings;
pub mod time;

pub use congestion::hpcc::{Hop, has_stamp};
pub use host::{Host, HostLink, Reaction};
pub use queue_pair::Flow;
pub use settings::{Control, List, Paths, Ports, Settings, Wake, WindowRate};

use units::Nanos;

/// Timer of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timer {
    /// Purpose of the timer.
    pub purpose: Purpose,
    /// Queue pair of the timer; 0 for [`Purpose::Wake`], and the class for [`Purpose::PauseEnd`].
    pub qp: u32,
    /// Number of the timer: a later timer of this purpose cancels an earlier one.
    pub number: u32,
}

/// Purpose of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The NIC looks for a packet.
    Wake,
    /// DCQCN updates alpha.
    Alpha,
    /// DCQCN may cut the rate.
    Decrease,
    /// DCQCN raises the rate.
    Increase,
    /// Nothing was acknowledged or sent for too long.
    Timeout,
    /// The pause of a class ends by itself.
    PauseEnd,
}

/// Queue of events of a host's driver.
pub trait Schedule {
    /// Adds a timer behind all events of its instant.
    fn schedule(&mut self, at: Nanos, timer: Timer);

    /// Takes a place in the order of insertion, for a timer that is added later.
    fn reserve(&mut self) -> u64;

    /// Adds a timer at a place that was reserved.
    fn schedule_as(&mut self, place: u64, at: Nanos, timer: Timer);
}
