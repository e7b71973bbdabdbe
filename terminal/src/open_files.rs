//! The limit on open files: a fabric needs some ten for each node and one for each interface.

use std::io;

/// Advice for a limit that is too low; `netns` has the same text.
pub const ADVICE: &str = "raise the limit on open files, for example with `ulimit -n 65536`";

/// Raises this process's soft limit to the hard limit. Shells start programs with 1024, the maximum for `select`, which
/// is not used here.
///
/// # Errors
/// The system's; the limit is then what it was.
pub fn raise_limit() -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call fills the structure.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: the call reads the structure.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
