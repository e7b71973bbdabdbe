//! The eBPF programs one frame at a time, through `BPF_PROG_TEST_RUN`. Needs root.
#![expect(
    clippy::cast_possible_truncation,
    reason = "fields of frames and places in tables, drawn to fit"
)]

mod audit;
mod bfc;
mod differential;
mod dsh;
mod flow_lists;
mod parse;
mod pools;
mod random;
mod routes;
mod standalone;
mod storms;
mod verifier;
