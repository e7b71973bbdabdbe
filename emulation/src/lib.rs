//! A scenario at work: nodes with their settings, wires, the engine that runs them, and the datapath below it.
//!
//! [`run`] takes a scenario to its report. [`switch_settings`] and [`host_settings`] have the settings of its
//! nodes, [`mac_addresses`] and [`queue_pairs`] their addresses. A [`datapath`] carries frames. The [`engine`] moves
//! frames and time, and reports events to the results' record. [`paths`] has the path of a flow, and [`ideal`] its
//! completion time without other traffic.
//!
//! Nothing here reads a file, a command line or a signal, or prints: callers of `run` do. With the feature `kernel`
//! (Linux, on by default) fabrics can also run in network namespaces, and stay up there (`live`). Without it they
//! run in memory only.

#![forbid(unsafe_code)]

mod closing;
pub mod cpu_time;
pub mod datapath;
pub mod engine;
pub mod host_settings;
pub mod hpcc_options;
pub mod ideal;
#[cfg(feature = "kernel")]
pub mod live;
pub mod mac_addresses;
pub mod partition;
pub mod path_groups;
pub mod paths;
pub mod queue_pairs;
#[cfg(feature = "kernel")]
pub mod requirements;
pub mod run;
pub mod summary_keys;
pub mod switch_settings;
pub mod tables;
mod threads;
mod wire_timing;

/// The message of a build without the kernel datapath when it is asked for.
pub const NO_KERNEL_DATAPATH: &str = "this xoff was built without the kernel datapath: run \
    scenarios with `--datapath memory`, or build it on Linux with the feature `kernel`, which is on by \
    default (`cargo build --release -p xoff`)";

#[cfg(feature = "kernel")]
pub use requirements::require_kernel_datapath;

/// Refuses: a sentence with what to do.
#[cfg(not(feature = "kernel"))]
pub fn require_kernel_datapath() -> Result<(), String> {
    Err(NO_KERNEL_DATAPATH.to_owned())
}
