//! Interrupts such as Ctrl-C: an orderly return, so that no cleanup is left to others.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};

/// Signals that ask a process to end, and whose default action ends it; real-time signals are added separately. The
/// remaining signals mean a broken process, or cannot be caught.
const ENDING: [libc::c_int; 10] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGALRM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGXCPU,
    libc::SIGVTALRM,
    libc::SIGPROF,
];
/// Signals that shells ignore in background jobs. The user did not ask for this, so they are caught anyway.
const OF_THE_KEYBOARD: [libc::c_int; 2] = [libc::SIGINT, libc::SIGQUIT];

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static TIMES: AtomicU32 = AtomicU32::new(0);
/// Time of the last interrupt that was counted, in milliseconds.
static LAST: AtomicU64 = AtomicU64::new(0);
/// Signals closer together than this are one interrupt: `timeout` sends its signal to the process, and then to its
/// group.
const APART_MS: u64 = 200;

/// Catches signals that ask for the end, from now on, and returns the flag that they set. A signal that was ignored at
/// the process's start, as by `nohup`, stays ignored.
pub fn watch() -> &'static AtomicBool {
    for signal in ENDING.into_iter().chain(ending_here()) {
        if OF_THE_KEYBOARD.contains(&signal) || !is_ignored(signal) {
            catch(signal);
        }
    }
    &INTERRUPTED
}

/// Returns the number of interrupts since [`watch`]. Some commands react differently to the second one.
pub fn times() -> u32 {
    TIMES.load(Ordering::Relaxed)
}

/// Returns the signals that end a process on Linux only.
#[cfg(target_os = "linux")]
fn ending_here() -> impl Iterator<Item = libc::c_int> {
    let named = [libc::SIGIO, libc::SIGPWR, libc::SIGSTKFLT];
    named.into_iter().chain(libc::SIGRTMIN()..=libc::SIGRTMAX())
}

/// Returns the signals that end a process on this system only: none.
#[cfg(not(target_os = "linux"))]
fn ending_here() -> impl Iterator<Item = libc::c_int> {
    std::iter::empty()
}

/// Makes writes beyond `ulimit -f` fail with an error, like a full disk, instead of ending the process.
pub fn survive_large_files() {
    ignore(libc::SIGXFSZ);
}

/// Ignores all signals that can be ignored, from now on.
pub fn ignore_all() {
    (1..=last_signal()).for_each(ignore);
}

fn ignore(signal: libc::c_int) {
    // SAFETY: ignoring a signal installs no code.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}

#[cfg(target_os = "linux")]
fn last_signal() -> libc::c_int {
    libc::SIGRTMAX()
}

/// Higher signals have no names common to all systems.
#[cfg(not(target_os = "linux"))]
fn last_signal() -> libc::c_int {
    31
}

extern "C" fn interrupt(_signal: libc::c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed);
    let now = milliseconds();
    let counts = now.saturating_sub(LAST.load(Ordering::Relaxed)) >= APART_MS;
    if counts || TIMES.load(Ordering::Relaxed) == 0 {
        LAST.store(now, Ordering::Relaxed);
        TIMES.fetch_add(1, Ordering::Relaxed);
    }
}

/// Returns milliseconds of the monotonic clock. Safe in a signal handler.
fn milliseconds() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap_or(TimeSpec::new(0, 0));
    now.tv_sec().cast_unsigned() * 1000 + now.tv_nsec().cast_unsigned() / 1_000_000
}

fn catch(signal: libc::c_int) {
    let handler: extern "C" fn(libc::c_int) = interrupt;
    // SAFETY: all-zero is a valid sigaction; the handler reads a clock and stores numbers, which is async-signal-safe.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
    }
}

/// Returns true if the end of the terminal ends no process: SIGHUP is ignored, as by `nohup`.
pub fn ignores_hang_up() -> bool {
    is_ignored(libc::SIGHUP)
}

/// Returns true if the process was started with a signal ignored.
fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: all-zero is a valid sigaction; without a new action the call only fills in the old one.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}
