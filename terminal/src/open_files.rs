//! The limit on open files: a fabric needs some ten for each node and one for each interface.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Advice for a limit that is too low; `netns` has the same text.
pub const ADVICE: &str = "raise the limit on open files, for example with `ulimit -n 65536`";

/// Raises this process's soft limit to the hard limit. Shells start programs with 1024, the maximum for `select`, which
/// is not used here.
///
/// # Errors
/// The system's; the limit is then what it was.
pub fn raise_limit() -> nix::Result<()> {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard)
}
