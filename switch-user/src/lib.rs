//! One switch in user space.
//!
//! [`program`] loads the eBPF side and reads its ring ([`refusal`] shortens the verifier's log to its
//! reason), [`tables`] are the maps as memory, [`control_plane`] their verbs ([`estimation_tables`] what it
//! computes for DSH, [`link_delay`] how it measures links), [`traffic_manager`] the egress queues, and
//! [`packet_socket`] the way onto a wire.
//! Only `program`, `region` and `packet_socket` touch the kernel.

pub mod control_plane;
pub mod estimation_tables;
#[cfg(feature = "log-events")]
pub mod event_log;
pub mod link_delay;
pub mod packet_socket;
pub mod program;
pub mod refusal;
pub mod region;
pub mod tables;
pub mod traffic_manager;
