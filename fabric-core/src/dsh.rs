//! DSH: dynamic and shared headroom (Shan et al., IEEE Transactions on Networking, 2025, Section IV).
//!
//! The buffer is private pools, insurance headroom (Phi for each port, Eq. 9) and the rest, which holds
//! shared footroom and shared headroom alike under DT (Eq. 2). [`estimation`] predicts how much headroom
//! a queue needs, [`activity`] tells whether it is the only one of its port, [`pools`] places packets and
//! [`two_level`] pauses queues (Eq. 10) and ports (Eq. 11).
//!
//! **No lossless packet is lost.** A port is ON only while its insurance headroom is empty: a packet that
//! goes there turns it OFF, and it turns ON again only when there is none. The packet that turns it OFF
//! comes first, and until the PAUSE of all classes binds no more follows than the link carries meanwhile:
//! that is Phi with the terms of [`crate::headroom`], whatever T(t), tau and the other ports do. Where
//! these packets go, shared or insurance, does not matter to the bound: a port that is OFF goes on to use
//! shared buffer that it is entitled to, as an ingress queue that is OFF does in Algorithm 1, and leaves
//! OFF the sooner.

pub mod activity;
pub mod estimation;
pub mod pools;
pub mod two_level;

pub use pools::TwoLevelPools;
pub use two_level::TwoLevel;
