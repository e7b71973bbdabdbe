//! The preparation of a process for runs.

use std::sync::atomic::AtomicBool;

use crate::{abandoned, guardian, interrupt, open_files};

/// Prepares the process for runs: signals, limits, a guardian. If `fabrics` is true, the command may create fabrics, so
/// fabrics left by killed runs are removed first. Returns the flag that an interrupt sets.
pub fn prepare(fabrics: bool) -> Result<&'static AtomicBool, String> {
    let interrupted = interrupt::watch();
    // A fabric that needs more than the limit reports it itself.
    let _ = open_files::raise_limit();
    match guardian::start(fabrics) {
        Err(error) if fabrics => {
            return Err(format!(
                "cannot start the process that cleans up when a run is killed: {error}; raise the limits \
                 on processes and memory (`ulimit -u`, `ulimit -v`) and mount /proc"
            ));
        }
        // Without fabrics, a killed run leaves files only in its results folder, where the next run removes them.
        _ => {}
    }
    if fabrics {
        abandoned::remove_what_can_be();
    }
    Ok(interrupted)
}
