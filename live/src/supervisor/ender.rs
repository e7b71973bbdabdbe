//! The process that requested the end of the fabric.

use std::fs;
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use terminal::say;

/// Max number of characters of a command that are reported.
const MAX_COMMAND: usize = 100;

/// First process that requested the end; a supervisor has one fabric, which ends once.
static ENDER: OnceLock<String> = OnceLock::new();

/// Stores and logs the process at the other end of a connection.
pub(super) fn note(connection: &UnixStream) {
    let Ok(peer) = getsockopt(connection, PeerCredentials) else { return };
    let command = fs::read(format!("/proc/{}/cmdline", peer.pid())).unwrap_or_default();
    let ender = described(peer.pid(), peer.uid(), &command);
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
fn described(process: i32, user: u32, command: &[u8]) -> String {
    let words: Vec<_> = command.split(|&byte| byte == 0).map(String::from_utf8_lossy).collect();
    let line = words.join(" ");
    let shown: String = line.trim_end().chars().take(MAX_COMMAND).collect();
    let shown = if shown.is_empty() { shown } else { format!(" ({})", shown.escape_debug()) };
    format!("process {process} of user {user}{shown}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_described_as_far_as_it_is_known() {
        let (one, _other) = UnixStream::pair().unwrap();
        let peer = getsockopt(&one, PeerCredentials).unwrap();
        assert_eq!(peer.pid().cast_unsigned(), std::process::id());
        assert_eq!(described(7, 0, b""), "process 7 of user 0");
        let process = described(7, 1000, b"xoff\0destroy\0lab\0");
        assert_eq!(process, "process 7 of user 1000 (xoff destroy lab)");
        assert!(described(7, 0, &[b'x'; 1000]).len() < 200);
    }
}
