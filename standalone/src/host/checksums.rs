//! Checksums of what an interface's stack sends, computed by the stack while a host is there.
//!
//! A veth has no hardware that would finish a checksum, and a switch in XDP would forward the packet without one. A
//! process that is killed cannot put that back, so another one does: this binary again (`xoff-host restore`), which reads a
//! pipe that ends with the host.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode, Stdio};

use crate::Error;
use crate::interface::{Interface, set_transmit_checksums};

/// See the module. What was there before comes back when it is dropped.
#[derive(Debug)]
pub struct SoftwareChecksums {
    interface: String,
    guardian: Child,
}

impl SoftwareChecksums {
    /// Starts the process that puts things back; `None` if the interface leaves nothing to hardware.
    pub fn prepare(interface: &Interface) -> Result<Option<Self>, Error> {
        if !interface.transmit_checksums().unwrap_or(false) {
            return Ok(None);
        }
        let mut command = Command::new("/proc/self/exe");
        command.arg0("xoff-host").args(["--interface", &interface.name, "restore"]);
        // Ctrl-C does not reach it, and nobody who reads what the host prints waits for it.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let guardian = command.spawn();
        let guardian = guardian.map_err(|source| Error::System { step: "start itself", source })?;
        Ok(Some(Self { interface: interface.name.clone(), guardian }))
    }

    /// Has the stack compute them.
    pub fn begin(&self) {
        // Where the driver refuses it, the hardware does them.
        let _ = set_transmit_checksums(&self.interface, false);
    }
}

impl Drop for SoftwareChecksums {
    fn drop(&mut self) {
        // The interface may be gone by now.
        let _ = set_transmit_checksums(&self.interface, true);
        drop(self.guardian.stdin.take());
        let _ = self.guardian.wait();
    }
}

/// Waits until standard input ends, and with it the host, and leaves checksums to an interface again.
pub fn restore_at_end(interface: &str) -> ExitCode {
    let _ = io::copy(&mut io::stdin(), &mut io::sink());
    match set_transmit_checksums(interface, true) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
