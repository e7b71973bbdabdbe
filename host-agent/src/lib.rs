//! One RoCEv2 host: a NIC, its queue pairs and their congestion control.
//!
//! ```text
//!   start_flow -> requester --+                        +-- responder <- open_responder
//!                             v                        v
//!            nic: control packets first, then queue pairs in turn, paced and unless paused
//!                             |                        ^
//!                       poll_transmit            handle_packet, handle_pfc
//! ```
//!
//! [`Host`] is sans-I/O: packets and instants in, packets, events and deadlines out. It reads no
//! clock, allocates nothing per packet and touches only the queue pair that a packet names. The
//! memory datapath drives it directly; the kernel datapath through [`af_xdp`].

pub mod af_xdp;
mod counters;
pub mod dcqcn;
mod host;
mod nic;
mod pause;
mod queue_pair_table;
mod requester;
mod responder;
mod segmentation;

pub use counters::HostCounters;
pub use host::{CongestionControl, Host, HostConfig, HostEvent};
pub use requester::FlowRequest;
pub use responder::ResponderRequest;
pub use segmentation::{Message, Segmentation};
