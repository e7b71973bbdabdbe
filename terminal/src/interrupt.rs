//! Ctrl-C and its kin: an orderly return instead of a death that others have to clean up after.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Signals that ask a process to end, and end it if it does nothing about them; real-time signals do,
/// too. The rest say that the process is broken, or cannot be caught.
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
/// Shells start background jobs with these ignored. That is not a wish of the user, so they are caught
/// all the same.
const OF_THE_KEYBOARD: [libc::c_int; 2] = [libc::SIGINT, libc::SIGQUIT];

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static TIMES: AtomicU32 = AtomicU32::new(0);
/// When the last interrupt came that counts, in milliseconds.
static LAST: AtomicU64 = AtomicU64::new(0);
/// Signals that are so close together are one interrupt: `timeout` sends its own to the process, and then to its group.
const APART_MS: u64 = 200;

/// From now on signals that ask for the end set the flag that is returned, as often as they come.
/// Whoever started the process with one of them ignored, as `nohup` does with SIGHUP, meant it.
pub fn watch() -> &'static AtomicBool {
    for signal in ENDING.into_iter().chain(ending_here()) {
        if OF_THE_KEYBOARD.contains(&signal) || !is_ignored(signal) {
            catch(signal);
        }
    }
    &INTERRUPTED
}

/// How often this process was interrupted since it watches: some commands do one thing at the first time, and another one
/// at the second.
#[cfg(feature = "kernel")]
pub fn times() -> u32 {
    TIMES.load(Ordering::Relaxed)
}

/// What ends a process on this system alone.
#[cfg(target_os = "linux")]
fn ending_here() -> impl Iterator<Item = libc::c_int> {
    let named = [libc::SIGIO, libc::SIGPWR, libc::SIGSTKFLT];
    named.into_iter().chain(libc::SIGRTMIN()..=libc::SIGRTMAX())
}

/// What ends a process on this system alone.
#[cfg(not(target_os = "linux"))]
fn ending_here() -> impl Iterator<Item = libc::c_int> {
    std::iter::empty()
}

/// From now on a file that would grow beyond `ulimit -f` is an error of its writer, like a full disk.
pub fn survive_large_files() {
    // SAFETY: ignoring a signal installs no code.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
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

/// Since some instant. A signal handler may call it.
fn milliseconds() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time outlives the call, which may be made at any time.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec.cast_unsigned() * 1000 + now.tv_nsec.cast_unsigned() / 1_000_000
}

fn catch(signal: libc::c_int) {
    let handler: extern "C" fn(libc::c_int) = interrupt;
    // SAFETY: all-zero is a valid sigaction; the handler reads a clock and stores numbers, which it may at any time.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
    }
}

/// Returns true if the process was started with a signal ignored.
pub fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: all-zero is a valid sigaction; without a new action the call only fills in the old one.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}
