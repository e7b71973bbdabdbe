//! The process that requested the end of the fabric.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;

use terminal::say;

/// Max number of characters of a command that are reported.
const MAX_COMMAND: usize = 100;

/// First process that requested the end; a supervisor has one fabric, which ends once.
static ENDER: OnceLock<String> = OnceLock::new();

/// Stores and logs the process at the other end of a connection.
pub(super) fn note(connection: &UnixStream) {
    let Ok(peer) = credentials(connection) else { return };
    let command = fs::read(format!("/proc/{}/cmdline", peer.pid)).unwrap_or_default();
    let ender = described(peer.pid, peer.uid, &command);
    say(format_args!("the end was asked for by {ender}"));
    // The first process is kept.
    let _ = ENDER.set(ender);
}

/// Returns a sentence on the end of the fabric, with the process that requested it, if there is one.
pub(super) fn with_ender(sentence: &str) -> String {
    match ENDER.get() {
        None => sentence.to_owned(),
        Some(ender) => format!("{sentence}, as was asked for by {ender}"),
    }
}

/// Describes a process, with its command if known.
fn described(process: libc::pid_t, user: libc::uid_t, command: &[u8]) -> String {
    let words: Vec<_> = command.split(|&byte| byte == 0).map(String::from_utf8_lossy).collect();
    let line = words.join(" ");
    let shown: String = line.trim_end().chars().take(MAX_COMMAND).collect();
    let shown = if shown.is_empty() { shown } else { format!(" ({})", shown.escape_debug()) };
    format!("process {process} of user {user}{shown}")
}

fn credentials(connection: &UnixStream) -> io::Result<libc::ucred> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = libc::socklen_t::try_from(size_of_val(&peer)).expect("it is small");
    // SAFETY: pointer and length describe `peer`, which outlives the call.
    let asked = unsafe {
        libc::getsockopt(
            connection.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut length,
        )
    };
    if asked == -1 { Err(io::Error::last_os_error()) } else { Ok(peer) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_described_as_far_as_it_is_known() {
        let (one, _other) = UnixStream::pair().unwrap();
        let peer = credentials(&one).unwrap();
        assert_eq!(peer.pid.cast_unsigned(), std::process::id());
        assert_eq!(described(7, 0, b""), "process 7 of user 0");
        let process = described(7, 1000, b"xoff\0destroy\0lab\0");
        assert_eq!(process, "process 7 of user 1000 (xoff destroy lab)");
        assert!(described(7, 0, &[b'x'; 1000]).len() < 200);
    }
}
