//! Two hosts in memory: what the public interface of a host promises.

mod go_back_n;
mod nic;
mod selective_repeat;
mod tcp;
mod telemetry;
mod testbed;
mod trace;
