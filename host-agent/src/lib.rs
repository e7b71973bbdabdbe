//! One host: a NIC, its RoCEv2 queue pairs and TCP connections, and their congestion control.
//!
//! ```text
//!   start_flow -> sending end --+                        +-- receiving end <- open_responder
//!                               v                        v
//!              nic: control packets first, then flows in turn, paced and unless paused
//!                               |                        ^
//!                         poll_transmit     handle_packet, handle_segment, handle_hop_control
//! ```
//!
//! A flow names its transport. Each end of a queue pair is made of two parts: reliability chooses the next packet and
//! the answers, [`congestion_control`] sets rate and window. Both are traits, and the host does not depend on any
//! algorithm. [`tcp`] has its own reliability.
//!
//! [`Host`] is sans-I/O: packets and instants in, packets, events and deadlines out. It reads no
//! clock, allocates nothing per packet and touches only the queue pair that a packet names. The
//! memory datapath drives it directly, and the kernel datapath through AF_XDP sockets (`linux`).

#![forbid(unsafe_code)]

pub mod congestion_control;
mod counters;
mod first_rtt;
mod flow;
mod flow_trace;
pub mod frame_length;
mod host;
mod nic;
pub mod ns3;
mod packet_set;
mod pause;
mod queue_pair_table;
mod regulator;
mod reliability;
mod requester;
mod responder;
mod round_trip;
mod segmentation;
mod storm;
pub mod tcp;
mod transport;

pub use counters::HostCounters;
pub use first_rtt::FirstRttMarks;
pub use flow::{FlowRequest, Placement};
pub use flow_trace::SenderState;
pub use host::{Host, HostConfig, HostEvent, SenderCounts};
pub use nic::Scheduler;
pub use regulator::WindowLimit;
pub use reliability::{Reliability, SelectiveRepeat};
pub use responder::ResponderRequest;
pub use segmentation::{Message, Segmentation};
pub use transport::{Protocol, Transport};
