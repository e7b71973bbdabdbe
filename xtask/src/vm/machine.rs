//! A virtual machine without disk and network, from its kernel's first message to its end.
//!
//! The processor is emulated in software: distribution kernels hang under KVM on some of the machines on
//! which this runs, and short scenarios need no more.

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

/// A machine takes three to five minutes alone on a processor, and three times as long where it shares it.
const LIMIT: Duration = Duration::from_mins(20);
const POLL: Duration = Duration::from_millis(100);
const MEMORY: &str = "1024M";
/// Lines of the console that an error shows.
const TAIL_LINES: usize = 30;

/// Outcome of a machine.
#[derive(Debug)]
pub struct Ended {
    /// Output on the console.
    pub console: String,
    /// Reason of an early end, if it ended too early.
    pub failure: Option<String>,
}

/// Boots `kernel` with the archive `initramfs`. The console's output is also kept in the file `console`.
pub fn boot(kernel: &Path, initramfs: &[u8], console: &Path) -> Result<Ended> {
    // The file has no name from here on, so it is removed with this process, however that ends.
    let name = console.with_extension("initramfs");
    let mut archive =
        File::create(&name).with_context(|| format!("creating {}", name.display()))?;
    fs::remove_file(&name).with_context(|| format!("removing {}", name.display()))?;
    archive.write_all(initramfs).context("writing the file system of the virtual machine")?;
    let archive = format!("/proc/{}/fd/{}", std::process::id(), archive.as_raw_fd());

    let output =
        File::create(console).with_context(|| format!("creating {}", console.display()))?;
    // The machine dies with this process, too, even if that is killed.
    let mut qemu = Command::new("setpriv");
    qemu.args(["--pdeathsig", "KILL", "qemu-system-x86_64", "-accel", "tcg", "-cpu", "max"])
        .args(["-m", MEMORY, "-nodefaults", "-no-user-config", "-no-reboot"])
        .args(["-display", "none", "-serial", "stdio"])
        .args(["-append", "console=ttyS0 quiet panic=-1"])
        .arg("-kernel")
        .arg(kernel)
        .args(["-initrd", &archive])
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output);
    let mut machine = qemu.spawn().context("cannot start setpriv (package util-linux)")?;
    let ended = wait(&mut machine);
    if !matches!(ended, Ok(Some(_))) {
        machine.kill()?;
        machine.wait()?;
    }
    let failure = match ended? {
        Some(status) if status.success() => None,
        Some(status) => Some(format!("the virtual machine failed: {status}")),
        None => Some(format!("the virtual machine was not done after {} s", LIMIT.as_secs())),
    };
    Ok(Ended { console: String::from_utf8_lossy(&fs::read(console)?).into_owned(), failure })
}

/// Waits for the machine's end; `None` if it is not there in time.
fn wait(machine: &mut Child) -> Result<Option<ExitStatus>> {
    for _ in 0..LIMIT.as_millis() / POLL.as_millis() {
        if let Some(status) = machine.try_wait().context("waiting for qemu")? {
            return Ok(Some(status));
        }
        thread::sleep(POLL);
    }
    Ok(None)
}

/// The last lines of a console.
pub fn tail(console: &str) -> String {
    let lines: Vec<&str> = console.lines().map(str::trim_end).collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}
