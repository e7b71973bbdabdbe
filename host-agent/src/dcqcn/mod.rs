//! DCQCN (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015).
//!
//! The sender's [`ReactionPoint`] sets the rate, the receiver's [`NotificationPoint`] turns ECN
//! marks into CNPs. The congestion point, which marks, is the switch.

mod fraction;
mod notification_point;
mod parameters;
mod reaction_point;

pub use fraction::Fraction;
pub use notification_point::NotificationPoint;
pub use parameters::Parameters;
pub use reaction_point::ReactionPoint;
