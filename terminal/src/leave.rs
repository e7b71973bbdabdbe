//! The end of commands that watch a fabric, or wait for it, and store nothing: `top`, `watch`, `metrics`, `capture`,
//! `send`.
//!
//! A signal ends these commands, and so does the end of their terminal, even if no shell is left to send the signal.
//! They notice it within moments. A command that cannot notice it, for example because it is blocked on a terminal that
//! nobody reads, is ended.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread;
use std::time::Duration;

use linux::interrupt;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::isatty;
use ratatui::crossterm::terminal::disable_raw_mode;

use super::{Exit, guardian};

/// Timeout of one poll of the terminals, after which the flag is checked.
const MOMENT: Duration = Duration::from_millis(100);
/// Time after which a command that has not ended is stuck.
const GRACE: Duration = Duration::from_secs(2);

/// Copies of the standard descriptors that were terminals when the command began.
static TERMINALS: OnceLock<Vec<OwnedFd>> = OnceLock::new();

/// Exit code of a stuck command.
static STUCK: AtomicU8 = AtomicU8::new(0);

/// Starts to watch for signals and the end of a terminal, and returns the flag that they set. A command that does not
/// end by itself then ends with `stuck`. With SIGHUP ignored, as by `nohup`, the command outlives its terminal, unless
/// it `needs_terminal`.
pub fn watch(stuck: Exit, needs_terminal: bool) -> &'static AtomicBool {
    end_stuck_with(stuck);
    let outlives = !needs_terminal && interrupt::ignores_hang_up();
    let interrupted = interrupt::watch();
    let terminals = TERMINALS.get_or_init(|| {
        let (input, output, errors) = (io::stdin(), io::stdout(), io::stderr());
        let standard = [input.as_fd(), output.as_fd(), errors.as_fd()];
        let terminals = standard.into_iter().filter(|it| is_terminal(it));
        terminals.filter_map(|it| it.try_clone_to_owned().ok()).collect()
    });
    let watched = if outlives { &[][..] } else { terminals };
    thread::spawn(move || {
        while !interrupted.load(Ordering::Relaxed) {
            if has_hung_up(watched, MOMENT) {
                interrupted.store(true, Ordering::Relaxed);
            }
        }
        thread::sleep(GRACE);
        // Leaves raw mode. Other state of the terminal cannot be restored, because writing may block.
        let _ = disable_raw_mode();
        guardian::dismiss();
        linux::process::exit_now(STUCK.load(Ordering::Relaxed))
    });
    interrupted
}

/// Sets the exit code of a command that gets stuck from now on: its work may be done, with only a message left to
/// write.
pub fn end_stuck_with(exit: Exit) {
    STUCK.store(exit.code(), Ordering::Relaxed);
}

/// Returns true for a terminal, even one that has already hung up.
fn is_terminal(descriptor: impl AsFd) -> bool {
    matches!(isatty(descriptor), Ok(true) | Err(Errno::EIO))
}

/// Returns true if a terminal of this command has hung up.
pub fn is_terminal_gone() -> bool {
    TERMINALS.get().is_some_and(|terminals| has_hung_up(terminals, Duration::ZERO))
}

/// Returns true for the error of a write whose reader has ended.
pub fn is_of_gone_reader(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
        || error.raw_os_error() == Some(Errno::EIO as i32) && is_terminal_gone()
}

/// Waits at most `most` for a terminal to hang up. Returns true if one has.
fn has_hung_up(terminals: &[OwnedFd], most: Duration) -> bool {
    let polled = terminals.iter().map(|it| PollFd::new(it.as_fd(), PollFlags::empty()));
    let mut polled: Vec<PollFd<'_>> = polled.collect();
    let timeout = PollTimeout::try_from(most).unwrap_or(PollTimeout::MAX);
    poll(&mut polled, timeout).is_ok_and(|ready| ready > 0)
        && polled
            .iter()
            .filter_map(PollFd::revents)
            .any(|it| it.intersects(PollFlags::POLLHUP | PollFlags::POLLERR))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use nix::pty::openpty;

    use super::*;

    #[test]
    fn a_terminal_whose_other_end_is_closed_has_hung_up() {
        let pair = openpty(None, None).unwrap();
        let terminals = [pair.slave];
        assert!(is_terminal(&terminals[0]) && !has_hung_up(&terminals, Duration::ZERO));
        drop(pair.master);
        assert!(is_terminal(&terminals[0]), "it was one");
        assert!(!is_terminal(File::open("/dev/null").unwrap()));
        assert!(has_hung_up(&terminals, Duration::from_secs(10)));
        assert!(!has_hung_up(&[], Duration::ZERO));
    }
}
