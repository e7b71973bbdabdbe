//! One switch in user space.
//!
//! `program` loads the eBPF side, attaches it at a `hook` and reads its ring (`refusal` shortens
//! the verifier's log to its reason), [`tables`] are the maps as memory, [`control_plane`]
//! configures, reads and checks them ([`policy_table`] lays out one of them, [`prefix_table`]
//! another one of a standalone switch), [`traffic_manager`] contains the egress queues,
//! [`link_delay`] measures a port's link, and [`watchdog`] detects PFC storms. [`switch`] joins the
//! sans-I/O modules: it takes the outcomes of arrivals and returns the frames that its ports send.
//! Only `program` uses the kernel. Without the feature `kernel` the switch runs only in memory, on
//! any Unix.

#![forbid(unsafe_code)]

pub mod control_plane;
#[cfg(feature = "log-events")]
pub mod event_log;
#[cfg(feature = "kernel")]
pub mod hook;
pub mod link_delay;
pub mod policy_table;
pub mod prefix_table;
#[cfg(feature = "kernel")]
pub mod program;
#[cfg(feature = "kernel")]
pub mod refusal;
pub mod switch;
pub mod tables;
pub mod traffic_manager;
pub mod watchdog;
