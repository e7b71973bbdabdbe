//! The end of commands that watch a fabric, or wait for it, and store nothing: `top`, `watch`, `metrics`, `capture`,
//! `send`.
//!
//! A signal ends these commands, and so does the end of their terminal, even if no shell is left to send the signal.
//! They notice it within moments. A command that cannot notice it, for example because it is blocked on a terminal that
//! nobody reads, is ended.

use std::io;
use std::os::fd::RawFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread;
use std::time::Duration;

use ratatui::crossterm::terminal::disable_raw_mode;

use super::{Exit, guardian, interrupt};

/// Timeout of one poll of the terminals, after which the flag is checked.
const MOMENT: Duration = Duration::from_millis(100);
/// Time after which a command that has not ended is stuck.
const GRACE: Duration = Duration::from_secs(2);

/// Standard descriptors that were terminals when the command began.
static TERMINALS: OnceLock<Vec<RawFd>> = OnceLock::new();

/// Exit code of a stuck command.
static STUCK: AtomicU8 = AtomicU8::new(0);

/// Starts to watch for signals and the end of a terminal, and returns the flag that they set. A command that does not
/// end by itself then ends with `stuck`. With SIGHUP ignored, as by `nohup`, the command outlives its terminal, unless
/// it `needs_terminal`.
pub fn watch(stuck: Exit, needs_terminal: bool) -> &'static AtomicBool {
    end_stuck_with(stuck);
    let outlives = !needs_terminal && interrupt::is_ignored(libc::SIGHUP);
    let interrupted = interrupt::watch();
    let standard = [libc::STDIN_FILENO, libc::STDOUT_FILENO, libc::STDERR_FILENO];
    let terminals =
        TERMINALS.get_or_init(|| standard.into_iter().filter(|it| is_terminal(*it)).collect());
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
        // SAFETY: ends the process.
        unsafe { libc::_exit(STUCK.load(Ordering::Relaxed).into()) }
    });
    interrupted
}

/// Sets the exit code of a command that gets stuck from now on: its work may be done, with only a message left to
/// write.
pub fn end_stuck_with(exit: Exit) {
    STUCK.store(exit.code(), Ordering::Relaxed);
}

/// Returns true for a terminal, even one that has already hung up.
fn is_terminal(descriptor: RawFd) -> bool {
    // SAFETY: asks about a number.
    let is_there = unsafe { libc::isatty(descriptor) } == 1;
    is_there || io::Error::last_os_error().raw_os_error() == Some(libc::EIO)
}

/// Returns true if a terminal of this command has hung up.
pub fn is_terminal_gone() -> bool {
    TERMINALS.get().is_some_and(|terminals| has_hung_up(terminals, Duration::ZERO))
}

/// Returns true for the error of a write whose reader has ended.
pub fn is_of_gone_reader(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
        || error.raw_os_error() == Some(libc::EIO) && is_terminal_gone()
}

/// Waits at most `most` for a terminal to hang up. Returns true if one has.
fn has_hung_up(terminals: &[RawFd], most: Duration) -> bool {
    let polled = |fd: &RawFd| libc::pollfd { fd: *fd, events: 0, revents: 0 };
    let mut polled: Vec<libc::pollfd> = terminals.iter().map(polled).collect();
    let (count, millis) = (polled.len() as libc::nfds_t, most.as_millis());
    let millis = millis.try_into().unwrap_or(libc::c_int::MAX);
    // SAFETY: the array has `count` entries and outlives the call.
    let ready = unsafe { libc::poll(polled.as_mut_ptr(), count, millis) };
    ready > 0 && polled.iter().any(|it| it.revents & (libc::POLLHUP | libc::POLLERR) != 0)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::{AsRawFd, FromRawFd};

    use super::*;

    #[test]
    fn a_terminal_whose_other_end_is_closed_has_hung_up() {
        let (mut master, mut slave) = (0, 0);
        let none = std::ptr::null_mut();
        // SAFETY: the call fills in two descriptors, which have no other owner.
        let (master, slave) = unsafe {
            let opened = libc::openpty(
                &raw mut master,
                &raw mut slave,
                none,
                std::ptr::null(),
                std::ptr::null(),
            );
            assert_eq!(opened, 0);
            (File::from_raw_fd(master), File::from_raw_fd(slave))
        };
        let terminals = [slave.as_raw_fd()];
        assert!(is_terminal(slave.as_raw_fd()) && !has_hung_up(&terminals, Duration::ZERO));
        drop(master);
        assert!(is_terminal(slave.as_raw_fd()), "it was one");
        assert!(!is_terminal(File::open("/dev/null").unwrap().as_raw_fd()));
        assert!(has_hung_up(&terminals, Duration::from_secs(10)));
        assert!(!has_hung_up(&[], Duration::ZERO));
    }
}
