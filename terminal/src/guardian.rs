//! A process that removes a run's leftovers when the run dies.
//!
//! A process that is killed, that crashes or that is out of memory executes no more code, so another process has to
//! clean up. The guardian is this binary again (`xoff guardian`), started before the run creates anything. It reads a
//! pipe whose other end only the run holds, and which therefore ends with the run, for any reason. After an orderly end
//! nothing is left to remove, and the run ends its guardian. If the guardian itself is killed, the next run cleans up;
//! a live fabric's guardian is replaced ([`keep`]).

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

use linux::interrupt;
#[cfg(feature = "kernel")]
use nix::errno::Errno;
use nix::sys::resource::{RLIM_INFINITY, Resource, setrlimit};
#[cfg(feature = "kernel")]
use nix::sys::wait::{Id, WaitPidFlag, waitid};
#[cfg(feature = "kernel")]
use nix::unistd::Pid;
use results::{Keeper, ResultsError, ResultsFolder};

use crate::abandoned::{self, Process};

/// Name of the guardian's command.
pub const COMMAND: &str = "guardian";
/// Time between two checks of a run whose end of the pipe is closed and which is about to end.
const LOOK_INTERVAL: Duration = Duration::from_millis(1);
/// Time between two attempts to remove a fabric or a folder whose lock is held although its owner is gone.
const TRY_INTERVAL: Duration = Duration::from_secs(1);
/// Number of attempts: at least one minute.
const TRIES: u32 = 60;
/// Time before a guardian is replaced.
#[cfg(feature = "kernel")]
const REST: Duration = Duration::from_millis(100);
/// Last byte of a message; no path contains it.
const END: u8 = 0;
/// First byte of a message: a folder in which the run writes from now on, or no longer.
const ENTRUSTED: u8 = b'+';
const RELEASED: u8 = b'-';
/// Name in `ps` and `top`: at most 15 characters.
#[cfg(target_os = "linux")]
const PROCESS_NAME: &std::ffi::CStr = c"xoff-guardian";

/// This process's guardian.
static GUARDIAN: OnceLock<Mutex<Guardian>> = OnceLock::new();

/// A guardian and its entrusted folders.
#[derive(Debug)]
struct Guardian {
    /// Process with its pipe; `None` once it was dismissed.
    process: Option<Child>,
    /// Entrusted folders, with the number of created folders in each path.
    folders: BTreeMap<PathBuf, usize>,
}

/// Arguments of the guardian's command.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Process number of the run.
    run: u32,
    /// Also removes fabrics without an owner.
    #[arg(long)]
    fabrics: bool,
}

/// Starts this process's guardian. `fabrics` is true if the process may create fabrics.
///
/// # Errors
/// The system's error, if no process can be started.
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
    // In a separate process group, so that Ctrl-C does not reach it. A reader of the run's output must not wait for the
    // guardian's end.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn()
}

/// Replaces the guardian from now on if it is killed: a long-lived process may need it much later.
#[cfg(feature = "kernel")]
pub fn keep() {
    thread::spawn(|| {
        while await_end() {
            // A guardian that always ends at once must not keep a processor busy.
            thread::sleep(REST);
            let Some(mut guardian) = guardian() else { return };
            match guardian.replace() {
                Ok(false) => return,
                Ok(true) => crate::warn(
                    "the process that cleans up if this one is killed was itself killed; another one does its work",
                ),
                // For example because memory is short at the moment.
                Err(_) => {}
            }
        }
    });
}

/// Waits until the guardian has ended, without reaping it. Returns true if there was one.
#[cfg(feature = "kernel")]
fn await_end() -> bool {
    let process = guardian().and_then(|it| it.process.as_ref().map(Child::id));
    let Some(process) = process else { return false };
    let process = Pid::from_raw(process.cast_signed());
    let options = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    // Any other error means that the child was waited for: then it has ended.
    while waitid(Id::Pid(process), options) == Err(Errno::EINTR) {}
    true
}

/// Returns this process's guardian, unless it never had one.
fn guardian() -> Option<MutexGuard<'static, Guardian>> {
    Some(GUARDIAN.get()?.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Guardian {
    /// Starts a new guardian if this one has ended. Returns false if it was dismissed.
    #[cfg(feature = "kernel")]
    fn replace(&mut self) -> io::Result<bool> {
        let Some(ended) = &mut self.process else { return Ok(false) };
        // The guardian was not dismissed, so only an earlier attempt to replace it may have waited for it.
        let _ = ended.wait();
        self.process = Some(spawn(true)?);
        for (folder, made) in self.folders.clone() {
            self.send(ENTRUSTED, &made.to_string(), &folder);
        }
        Ok(true)
    }

    fn send(&mut self, kind: u8, number: &str, folder: &Path) {
        let message = [&[kind], number.as_bytes(), folder.as_os_str().as_bytes(), &[END]].concat();
        if let Some(pipe) = self.process.as_mut().and_then(|process| process.stdin.as_mut()) {
            // The guardian of a run is not replaced when it is killed: the next run cleans up instead.
            let _ = pipe.write_all(&message);
        }
    }
}

/// Returns this binary's path; on Linux a path that stays valid after the file was replaced.
fn own_binary() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() }
}

/// Ends the guardian, if there is one, when it has nothing left to do. It is reaped, because an unreaped process stays
/// a zombie without an init that reaps it, as in many containers.
pub fn dismiss() {
    let Some(mut process) = guardian().and_then(|mut guardian| guardian.process.take()) else {
        return;
    };
    // The guardian may have been killed already.
    let _ = process.kill();
    let _ = process.wait();
}

/// Informs the guardian, if there is one, that results are being written to `folder`, and that the innermost `made`
/// folders of this path were created for them.
fn entrust(folder: &Path, made: usize) {
    let (Some(mut guardian), Ok(folder)) = (guardian(), absolute(folder)) else { return };
    guardian.send(ENTRUSTED, &made.to_string(), &folder);
    guardian.folders.insert(folder, made);
}

/// Informs the guardian that `folder` has no partial files any more.
fn release(folder: &Path) {
    let (Some(mut guardian), Ok(folder)) = (guardian(), absolute(folder)) else { return };
    guardian.send(RELEASED, "", &folder);
    guardian.folders.remove(&folder);
}

/// Runs the guardian: waits for the end of the run and removes its leftovers. Returns true if nothing is left.
pub fn watch(arguments: &Arguments) -> bool {
    detach();
    // Once it has ended, its number may be another's.
    let run = Process::new(arguments.run);
    let mut folders = entrusted(&mut io::stdin().lock());
    // The kernel closes files one by one, a socket in some milliseconds: locks may be held after the pipe has ended, and
    // even after the thread that started this process has ended, if the run has others.
    while parent_id() == arguments.run {
        thread::sleep(LOOK_INTERVAL);
    }
    // Nobody reads an error here. A fabric that cannot be removed is found by the next run, and so is a folder.
    for _ in 0..TRIES {
        folders.retain(|folder, made| {
            matches!(ResultsFolder::clear_abandoned(folder, *made), Err(ResultsError::Busy(_)))
        });
        let leaves_fabric = arguments.fabrics && abandoned::leaves_fabric_of(run);
        if folders.is_empty() && !leaves_fabric {
            return true;
        }
        thread::sleep(TRY_INTERVAL);
    }
    false
}

/// Detaches this process from causes that may have ended the run, and from the run's resources.
fn detach() {
    interrupt::ignore_all();
    // If this is not allowed, the guardian's small need has to fit the run's own limit.
    for memory in [Resource::RLIMIT_AS, Resource::RLIMIT_DATA] {
        let _ = setrlimit(memory, RLIM_INFINITY, RLIM_INFINITY);
    }
    // On other systems the process keeps the name of its binary.
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_name(PROCESS_NAME);
    // They belong to the run's caller: no code here has opened any.
    linux::process::close_inherited();
    // The run's folder must not be kept in use; messages have absolute paths.
    let _ = std::env::set_current_dir("/");
}

/// Reads messages to the pipe's end. Returns the folders in which the run wrote when it died, with the number of
/// created folders in each path.
fn entrusted(pipe: &mut impl BufRead) -> BTreeMap<PathBuf, usize> {
    let mut folders = BTreeMap::new();
    let mut message = Vec::new();
    while pipe.read_until(END, &mut message).is_ok_and(|length| length > 0) {
        // An incomplete message comes from a run that died while writing it, before it created anything.
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
