//! The descriptors and the end of this process, and the start of others.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::unistd::setsid;

/// Ends the process at once. No exit handler runs, so nothing that is locked or blocked delays the end.
pub fn exit_now(code: u8) -> ! {
    // SAFETY: the call takes a number and does not return.
    unsafe { libc::_exit(code.into()) }
}

/// Makes a process the leader of a new session when it starts, without a terminal.
pub fn lead_session(command: &mut Command) -> &mut Command {
    // SAFETY: `setsid` is called between fork and exec; it takes no lock and allocates nothing.
    unsafe { command.pre_exec(|| setsid().map(drop).map_err(io::Error::from)) }
}

/// Closes all descriptors above standard error. Call it while they all belong to the process's parent: before any code
/// of this process has opened one.
#[cfg(target_os = "linux")]
pub fn close_inherited() {
    let first = libc::STDERR_FILENO.cast_unsigned() + 1;
    // SAFETY: no descriptor in this range belongs to anything in this process. musl has no function for the call.
    unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) };
}

/// Closes descriptors above standard error, of which other systems have no list.
#[cfg(not(target_os = "linux"))]
pub fn close_inherited() {
    /// A process may have more descriptors, but a shell or a test passes lower ones.
    const MAX: libc::c_int = 4096;
    for descriptor in libc::STDERR_FILENO + 1..MAX {
        // SAFETY: no descriptor in this range belongs to anything in this process.
        unsafe { libc::close(descriptor) };
    }
}
