//! The eBPF programs one frame at a time, through `BPF_PROG_TEST_RUN`. Needs root.

mod audit;
mod differential;
mod dsh;
mod parse;
mod pools;
mod random;
