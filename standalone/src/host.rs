//! A RoCEv2 host on an interface of this machine.
//!
//! `driver` moves frames between the sans-I/O host and an `AF_XDP` socket, and waits; `setup` opens the socket.
//! [`send`](fn@send) and [`receive`](fn@receive) are the two ends of transfers. They agree on queue pairs through a TCP
//! connection of the kernel's stack ([`agreement`]), as RDMA programs do. `report` has their counters.

pub mod agreement;
mod checksums;
mod driver;
mod receiver;
mod report;
mod sender;
mod setup;

pub use checksums::restore_at_end;
pub use driver::Driver;
pub use receiver::{Receiving, receive};
pub use report::{DriverReport, ReceiverReport, SenderReport, Transfer};
pub use sender::{Sending, send};
pub use setup::{Settings, start};
