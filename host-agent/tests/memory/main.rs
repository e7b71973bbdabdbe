//! Two hosts in memory: tests of a host's public interface.

mod go_back_n;
mod nic;
mod selective_repeat;
mod tcp;
mod telemetry;
mod testbed;
mod trace;
