//! A process beside a run that removes what the run leaves behind when it dies.
//!
//! A process that is killed, that crashes or that has no memory left runs none of its own code any
//! more, so another one has to clean up. The guardian is this binary again (`xoff guardian`), started
//! before the run makes anything. It reads a pipe of which only the run holds the other end, and which
//! therefore ends with the run, whatever ends that. After an orderly end nothing is left to remove, and the
//! run ends its guardian. If the guardian itself is killed, the next run does its work; that of a live
//! fabric is replaced ([`keep`]).

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, BufRead, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, parent_id};
use std::path::{Path, PathBuf, absolute};
use std::process::{self, Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use results::{Keeper, ResultsFolder};

use crate::abandoned;

/// Name of the guardian's command.
pub const COMMAND: &str = "guardian";
/// Time between two looks at a run whose end of the pipe is closed and which is about to be gone.
const LOOK_INTERVAL: Duration = Duration::from_millis(1);
/// Time between two tries to remove a fabric whose lock is held although its owner is gone.
const TRY_INTERVAL: Duration = Duration::from_secs(1);
/// Such tries: a minute.
const TRIES: u32 = 60;
/// Time before a guardian is replaced.
#[cfg(feature = "kernel")]
const REST: Duration = Duration::from_millis(100);
/// What a message ends with: no path has it.
const END: u8 = 0;
/// What a message begins with: a folder in which the run writes now, or does no longer.
const ENTRUSTED: u8 = b'+';
const RELEASED: u8 = b'-';
/// As `ps` and `top` show it: at most 15 characters.
#[cfg(target_os = "linux")]
const PROCESS_NAME: &std::ffi::CStr = c"xoff-guardian";

/// This process's guardian.
static GUARDIAN: OnceLock<Mutex<Guardian>> = OnceLock::new();

/// A guardian, and what it was told.
#[derive(Debug)]
struct Guardian {
    /// The process, with the pipe to it; none once it was dismissed.
    process: Option<Child>,
    /// The folders that are entrusted to it, and how many of each path were made.
    folders: BTreeMap<PathBuf, usize>,
}

/// Arguments of the guardian's command.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The process that it watches.
    run: u32,
    /// Also removes fabrics without an owner.
    #[arg(long)]
    fabrics: bool,
}

/// Starts this process's guardian. `fabrics`: whether the process may make some.
///
/// # Errors
/// The system's, when no process can be started.
pub fn start(fabrics: bool) -> io::Result<()> {
    let process = Some(spawn(fabrics)?);
    let guardian = Guardian { process, folders: BTreeMap::new() };
    GUARDIAN.set(Mutex::new(guardian)).expect("a process starts one guardian");
    results::appoint(Keeper { begin: entrust, end: release });
    Ok(())
}

fn spawn(fabrics: bool) -> io::Result<Child> {
    let mut command = Command::new(own_binary()?);
    command.arg0("xoff").arg(COMMAND).arg(process::id().to_string());
    if fabrics {
        command.arg("--fabrics");
    }
    // A group of its own, so that Ctrl-C does not reach it. Whoever reads what the run prints must not
    // wait for the guardian's end, too.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn()
}

/// From now on a guardian that ends, because others killed it, is replaced: a process that lives for long may need it long
/// after that.
#[cfg(feature = "kernel")]
pub fn keep() {
    thread::spawn(|| {
        while await_end() {
            // One that always ends at once must not keep a processor busy.
            thread::sleep(REST);
            let Some(mut guardian) = guardian() else { return };
            match guardian.replace() {
                Ok(false) => return,
                Ok(true) => crate::warn(
                    "the process that cleans up if this one is killed was itself killed; another one does its work",
                ),
                // As long as there is no memory, say.
                Err(_) => {}
            }
        }
    });
}

/// Waits until the guardian has ended, without taking notice of it; says whether there was one.
#[cfg(feature = "kernel")]
fn await_end() -> bool {
    let process = guardian().and_then(|it| it.process.as_ref().map(Child::id));
    let Some(process) = process else { return false };
    // SAFETY: all-zero is a valid siginfo_t, which outlives the call. That fails if the child was waited for: then it has ended.
    unsafe {
        let mut ended: libc::siginfo_t = std::mem::zeroed();
        let options = libc::WEXITED | libc::WNOWAIT;
        while libc::waitid(libc::P_PID, process, &raw mut ended, options) == -1
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
    }
    true
}

/// This process's guardian, unless it never had one.
fn guardian() -> Option<MutexGuard<'static, Guardian>> {
    Some(GUARDIAN.get()?.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Guardian {
    /// Starts another one in the place of a live fabric's that has ended, unless it was dismissed.
    #[cfg(feature = "kernel")]
    fn replace(&mut self) -> io::Result<bool> {
        let Some(ended) = &mut self.process else { return Ok(false) };
        // It was not dismissed, so nobody else has waited for it, or the last try to replace it has.
        let _ = ended.wait();
        self.process = Some(spawn(true)?);
        for (folder, made) in self.folders.clone() {
            self.tell(ENTRUSTED, &made.to_string(), &folder);
        }
        Ok(true)
    }

    fn tell(&mut self, kind: u8, number: &str, folder: &Path) {
        let message = [&[kind], number.as_bytes(), folder.as_os_str().as_bytes(), &[END]].concat();
        if let Some(pipe) = self.process.as_mut().and_then(|process| process.stdin.as_mut()) {
            // The guardian of a run is not replaced when it is killed: the next run cleans up instead.
            let _ = pipe.write_all(&message);
        }
    }
}

/// This binary's path; on Linux one that names it even after its file was replaced.
fn own_binary() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() }
}

/// Ends the guardian, if there is one, when nothing is left to it: a process that nobody waits for stays a
/// zombie where no init reaps it, as in many containers.
pub fn dismiss() {
    let Some(mut process) = guardian().and_then(|mut guardian| guardian.process.take()) else {
        return;
    };
    // It may have been killed by others.
    let _ = process.kill();
    let _ = process.wait();
}

/// Tells the guardian, if there is one, that results grow in `folder`, and that the innermost `made`
/// folders of this path were made for them.
fn entrust(folder: &Path, made: usize) {
    let (Some(mut guardian), Ok(folder)) = (guardian(), absolute(folder)) else { return };
    guardian.tell(ENTRUSTED, &made.to_string(), &folder);
    guardian.folders.insert(folder, made);
}

/// Tells the guardian that nothing half-written is in `folder`.
fn release(folder: &Path) {
    let (Some(mut guardian), Ok(folder)) = (guardian(), absolute(folder)) else { return };
    guardian.tell(RELEASED, "", &folder);
    guardian.folders.remove(&folder);
}

/// Is the guardian: waits for the end of the run and removes what that left. Returns whether nothing is left.
pub fn watch(arguments: &Arguments) -> bool {
    detach();
    let folders = entrusted(&mut io::stdin().lock());
    // The kernel closes files one by one: locks may be held for a moment after the pipe has ended.
    while parent_id() == arguments.run {
        thread::sleep(LOOK_INTERVAL);
    }
    for (folder, made) in folders {
        let _ = ResultsFolder::clear_abandoned(&folder, made);
    }
    // There is nobody to tell. A fabric that cannot be removed is for the next run to find.
    !(arguments.fabrics && leaves_fabric_of(arguments.run))
}

/// Removes abandoned fabrics. Returns whether one of the process `run` is left.
fn leaves_fabric_of(run: u32) -> bool {
    for _ in 1..TRIES {
        if !abandoned::leaves_fabric_of(run) {
            return false;
        }
        thread::sleep(TRY_INTERVAL);
    }
    abandoned::leaves_fabric_of(run)
}

/// Makes this process independent of what may have ended the run, and of what the run was given.
fn detach() {
    let unlimited = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: none of these calls takes memory but the limit, which outlives them.
    unsafe {
        for signal in 1..=last_signal() {
            libc::signal(signal, libc::SIG_IGN);
        }
        // Where this is not allowed, the little that is needed has to fit the run's own limit.
        libc::setrlimit(libc::RLIMIT_AS, &raw const unlimited);
        libc::setrlimit(libc::RLIMIT_DATA, &raw const unlimited);
    }
    be_named();
    close_inherited();
    // The run's folder is not kept in use; messages have absolute paths.
    let _ = std::env::set_current_dir("/");
}

#[cfg(target_os = "linux")]
fn last_signal() -> libc::c_int {
    libc::SIGRTMAX()
}

/// Signals above have no names that all systems share.
#[cfg(not(target_os = "linux"))]
fn last_signal() -> libc::c_int {
    31
}

#[cfg(target_os = "linux")]
fn be_named() {
    // SAFETY: the name outlives the call.
    unsafe { libc::prctl(libc::PR_SET_NAME, PROCESS_NAME.as_ptr()) };
}

/// Elsewhere it keeps the name of its binary.
#[cfg(not(target_os = "linux"))]
fn be_named() {}

/// Closes descriptors above standard error, which are those of the run's caller: nothing here has opened any.
#[cfg(target_os = "linux")]
fn close_inherited() {
    let first = libc::STDERR_FILENO.cast_unsigned() + 1;
    // SAFETY: no descriptor in this range belongs to anything in this process. musl has no function for the call.
    unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) };
}

#[cfg(not(target_os = "linux"))]
fn close_inherited() {
    /// A process may have more; one that a shell or a test gave to the run is below.
    const MOST: libc::c_int = 4096;
    for descriptor in libc::STDERR_FILENO + 1..MOST {
        // SAFETY: no descriptor in this range belongs to anything in this process.
        unsafe { libc::close(descriptor) };
    }
}

/// Reads messages to the pipe's end: the folders in which the run wrote when it died, and how many of
/// each path were made.
fn entrusted(pipe: &mut impl BufRead) -> BTreeMap<PathBuf, usize> {
    let mut folders = BTreeMap::new();
    let mut message = Vec::new();
    while pipe.read_until(END, &mut message).is_ok_and(|length| length > 0) {
        // A message without its end is that of a run which died over it, before it made anything.
        if let [kind, text @ .., END] = &message[..]
            && let Some(start) = text.iter().position(|&byte| byte == b'/')
        {
            let (number, path) = text.split_at(start);
            let path = PathBuf::from(OsStr::from_bytes(path));
            if *kind == ENTRUSTED {
                let made = str::from_utf8(number).ok().and_then(|number| number.parse().ok());
                folders.insert(path, made.unwrap_or(0));
            } else {
                folders.remove(&path);
            }
        }
        message.clear();
    }
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_entrusted_until_they_are_released_by_whole_messages() {
        let mut pipe: &[u8] =
            b"+0/out/a\0+2/out/b\nwith a line\0-/out/a\0-/out/c\0+1/out/\xff\0+1/out/cut off";
        let folders: Vec<_> = entrusted(&mut pipe).into_iter().collect();
        let odd = PathBuf::from(OsStr::from_bytes(b"/out/\xff"));
        assert_eq!(folders, [("/out/b\nwith a line".into(), 2), (odd, 1)]);
    }
}
