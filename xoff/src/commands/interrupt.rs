//! Ctrl-C and its kin: an orderly return instead of a death that leaves namespaces behind.

use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on SIGINT, SIGTERM and SIGHUP set the flag that is returned, as often as they come.
///
/// # Errors
/// A sentence, when the handler cannot be installed.
pub fn watch() -> Result<&'static AtomicBool, String> {
    // `nohup` starts programs with SIGHUP ignored, and means it.
    let hangup_ignored = is_ignored(libc::SIGHUP);
    ctrlc::set_handler(|| INTERRUPTED.store(true, Ordering::Relaxed))
        .map_err(|error| format!("cannot prepare for Ctrl-C: {error}"))?;
    if hangup_ignored {
        // SAFETY: ignoring a signal installs no code.
        unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
    }
    Ok(&INTERRUPTED)
}

fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: all-zero is a valid sigaction; without a new action the call only fills in the old one.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}
