//! The binary `xoff` as a test runs it.

mod isolation;
mod remains;
mod scenario_folder;

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

pub use isolation::{await_fabrics, fabrics, isolate, mount_small_disk, traces, unmount};
pub use remains::{
    BpfObjects, await_that, await_unloaded, bpf_objects_of, guard, guardian_of, loaded_of,
    take_interrupted,
};
pub use scenario_folder::{ScenarioFolder, shipped, shipped_scenarios, shipped_sweep};

/// Checks of a running binary before it counts as hung: ten minutes, however loaded the machine.
const LOOKS: u32 = 120_000;
const LOOK_INTERVAL: Duration = Duration::from_millis(5);
/// One more than the last capability of `linux/capability.h`; kernels ignore what they lack.
const CAPABILITIES: libc::c_ulong = 64;

/// Makes a run of a shipped scenario outlast any test.
pub const ENDLESS: [&str; 4] = ["--set", "flows.0.bytes=100GB", "--set", "duration=1000s"];
/// Signals that end a process without a handler, and do not indicate a defect. The last two are the first and last
/// real-time signals, of which the C library keeps the first two for itself.
pub const ENDING_SIGNALS: [libc::c_int; 15] = [
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
    libc::SIGIO,
    libc::SIGPWR,
    libc::SIGSTKFLT,
    34,
    64,
];

/// Outcome of the binary.
#[derive(Debug)]
pub struct Finished {
    /// The exit code; 128 and the signal's number if a signal ended it.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// A binary that may still run.
#[derive(Debug)]
pub struct Running {
    child: Child,
    outputs: [JoinHandle<String>; 2],
}

/// A command of `xoff`: the binary that `cargo build -p xoff` puts beside the tests of its profile.
pub fn xoff<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    run_as_a_user(Command::new(binary("xoff", "xoff")), arguments)
}

/// The folder of the binaries `xoff-switch` and `xoff-host`, which `cargo build -p standalone` makes.
pub fn standalone_binaries() -> PathBuf {
    let host = binary("xoff-host", "standalone");
    host.parent().expect("it lies in a folder").to_owned()
}

/// A command as a user runs it.
pub fn run_as_a_user<'a>(
    mut command: Command,
    arguments: impl IntoIterator<Item = &'a str>,
) -> Command {
    command.args(arguments).stdin(Stdio::null());
    // Nothing of the caller's terminal reaches a result.
    command.env_remove("NO_COLOR").env("TERM", "xterm");
    // The result must not depend on how the tests were started: a shell's background job ignores interrupts, `nohup`
    // hang-ups, and a child inherits that.
    // SAFETY: only `signal` is called between fork and exec, which takes no lock.
    unsafe {
        command.pre_exec(|| {
            for signal in ENDING_SIGNALS {
                libc::signal(signal, libc::SIG_DFL);
            }
            Ok(())
        })
    };
    command
}

/// Folder of the binaries of this executable's profile.
fn profile_folder() -> PathBuf {
    let this = std::env::current_exe().expect("Linux names the running executable");
    let folder = this.parent().expect("it lies in a folder");
    let is_test = folder.ends_with("deps");
    let profile = if is_test { folder.parent().expect("it lies in target") } else { folder };
    profile.to_owned()
}

fn binary(name: &str, package: &str) -> PathBuf {
    let profile = profile_folder();
    let binary = profile.join(name);
    let release = if profile.ends_with("release") { " --release" } else { "" };
    assert!(
        binary.is_file(),
        "{} is missing: run `cargo build -p {package}{release}` first, or `cargo xtask test`",
        binary.display()
    );
    binary
}

/// Drops every capability, so that root has no privileges. Other users are not affected.
pub fn without_capabilities(command: &mut Command) -> &mut Command {
    with_capabilities(command, &[])
}

/// Drops every capability except these, by their numbers in `linux/capability.h`.
pub fn with_capabilities<'a>(
    command: &'a mut Command,
    kept: &'static [libc::c_ulong],
) -> &'a mut Command {
    // SAFETY: only `prctl` is called between fork and exec, which takes no lock.
    unsafe {
        command.pre_exec(|| {
            for capability in (0..CAPABILITIES).filter(|number| !kept.contains(number)) {
                libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0);
            }
            Ok(())
        })
    }
}

/// Lets the command have `most` of a resource, such as `RLIMIT_NOFILE`.
pub fn limit(
    command: &mut Command,
    resource: libc::__rlimit_resource_t,
    most: u64,
) -> &mut Command {
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: only `setrlimit` is called between fork and exec, which takes no lock.
    unsafe {
        command.pre_exec(move || match libc::setrlimit(resource, &raw const limit) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        })
    }
}

/// Kills a process that is not a child, such as a run's guardian.
pub fn kill(process: u32) {
    // SAFETY: sends a signal, and touches no memory.
    let sent = unsafe { libc::kill(process.cast_signed(), libc::SIGKILL) };
    assert_eq!(sent, 0, "{}", io::Error::last_os_error());
    await_that("a killed process goes", || !Path::new(&format!("/proc/{process}/fd/0")).exists());
}

/// Runs a command to its end.
pub fn finish(command: &mut Command) -> Finished {
    Running::start(command).finish()
}

/// Parses a command's output as JSON.
///
/// # Panics
/// If it is not JSON.
pub fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A pseudo-terminal: the user's end, and the program's end.
pub fn terminal() -> (File, File) {
    let (mut master, mut slave) = (0, 0);
    let size = libc::winsize { ws_row: 24, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the call fills in two descriptors and reads the size.
    let opened = unsafe {
        libc::openpty(
            &raw mut master,
            &raw mut slave,
            std::ptr::null_mut(),
            std::ptr::null(),
            &raw const size,
        )
    };
    assert_eq!(opened, 0, "a pseudo-terminal: {}", io::Error::last_os_error());
    // A program that inherited the other end would keep the terminal.
    for descriptor in [master, slave] {
        // SAFETY: the descriptor was just opened.
        unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    // SAFETY: both were just opened and have no other owner.
    unsafe { (owned(master), owned(slave)) }
}

/// # Safety
/// `descriptor` is open and has no other owner.
unsafe fn owned(descriptor: libc::c_int) -> File {
    use std::os::fd::FromRawFd;
    // SAFETY: as the caller promises.
    unsafe { File::from_raw_fd(descriptor) }
}

impl Running {
    /// Starts a command.
    pub fn start(command: &mut Command) -> Self {
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary can be started");
        let stdout = child.stdout.take().expect("it is piped");
        let stderr = child.stderr.take().expect("it is piped");
        Self { child, outputs: [collect(stdout), collect(stderr)] }
    }

    /// Process number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: libc::c_int) {
        // SAFETY: the child has not been waited for, so its number is its own.
        unsafe { libc::kill(self.child.id().cast_signed(), signal) };
    }

    /// Returns true while it runs.
    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().expect("it is a child").is_none()
    }

    /// Waits for its end.
    pub fn finish(mut self) -> Finished {
        let mut status = None;
        for _ in 0..LOOKS {
            status = self.child.try_wait().expect("it is a child");
            if status.is_some() {
                break;
            }
            thread::sleep(LOOK_INTERVAL);
        }
        if status.is_none() {
            self.signal(libc::SIGTERM);
            thread::sleep(LOOK_INTERVAL * 200);
            self.signal(libc::SIGKILL);
        }
        let [stdout, stderr] = self.outputs.map(|output| output.join().expect("it reads a pipe"));
        let status = status.unwrap_or_else(|| {
            panic!("the binary hung, having written\n{stdout}\nand\n{stderr}");
        });
        Finished { code: code(status), stdout, stderr }
    }
}

impl Finished {
    /// Asserts the exit code.
    #[track_caller]
    #[expect(clippy::return_self_not_must_use, reason = "many tests ask for no more")]
    pub fn assert_code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Asserts that the input was refused by a message that has all of `words`.
    #[track_caller]
    pub fn assert_refused(self, words: &[&str]) {
        let finished = self.assert_code(2);
        assert_eq!(finished.stdout, "", "a refusal goes to standard error");
        for word in words {
            let message = &finished.stderr;
            assert!(message.contains(word), "{word:?} is not in this message:\n{message}");
        }
    }
}

fn collect(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // A pipe that breaks has ended.
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().or(status.signal().map(|signal| 128 + signal)).expect("it ended somehow")
}
