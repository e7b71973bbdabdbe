//! Sweeps on a Slurm of the test's own.

mod bad_input;
mod resubmission;
mod submission;
mod sweep;
