//! Checksums of packets that an interface's stack sends, computed in software while a host runs.
//!
//! A veth has no hardware that would complete a checksum, and a switch in XDP would forward the packet without one.
//! A process that is killed cannot restore the setting, so another one does: this binary (`xoff-host restore`),
//! which reads a pipe that ends with the host. Host and guardian share a lock, held until both have ended, so that
//! the next host finds the interface in its original state.

use std::io;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use crate::Error;
use crate::interface::{Interface, set_transmit_checksums};
use crate::wait::Waiter;

/// Polling of a guardian that is still running: interval, and number of polls, 3 s in total.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);
const LOOKS: u32 = 300;

/// See the module. Dropping it restores the setting.
#[derive(Debug)]
pub struct SoftwareChecksums {
    interface: String,
    guardian: Child,
    _lock: UnixDatagram,
}

impl SoftwareChecksums {
    /// Starts the guardian. Returns `None` if the interface leaves no checksums to hardware. Waits until the
    /// guardian of a host that was killed has ended.
    pub fn prepare(interface: &Interface, waiter: &mut Waiter) -> Result<Option<Self>, Error> {
        let lock = take_lock(interface, waiter)?;
        if !interface.transmit_checksums().unwrap_or(false) {
            return Ok(None);
        }
        let failed = |source| Error::System { step: "start itself", source };
        let shared = OwnedFd::from(lock.try_clone().map_err(failed)?);
        let mut command = Command::new("/proc/self/exe");
        command.arg0("xoff-host").args(["--interface", &interface.name, "restore"]);
        // Ctrl-C must not reach the guardian, and readers of the host's output must not wait for it. The guardian
        // prints nothing, so its standard output is the descriptor of the lock.
        command.process_group(0).stdin(Stdio::piped()).stdout(shared).stderr(Stdio::null());
        let guardian = command.spawn().map_err(failed)?;
        Ok(Some(Self { interface: interface.name.clone(), guardian, _lock: lock }))
    }

    /// Makes the stack compute checksums.
    pub fn begin(&self) {
        // If the driver refuses it, the hardware computes them.
        let _ = set_transmit_checksums(&self.interface, false);
    }
}

/// Takes a socket name of which the namespace has only one. The name is free again once the last descriptor of the
/// socket is closed.
fn take_lock(interface: &Interface, waiter: &mut Waiter) -> Result<UnixDatagram, Error> {
    let failed = |source| Error::System { step: "lock its interface", source };
    let name = format!("xoff-host checksums of {}", interface.name);
    let address = SocketAddr::from_abstract_name(name).map_err(failed)?;
    for _ in 0..LOOKS {
        match UnixDatagram::bind_addr(&address) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            bound => return bound.map_err(failed),
        }
        waiter.wait([], LOOK_INTERVAL).map_err(failed)?.or_end()?;
    }
    // A running host has the lock.
    Err(Error::Taken(interface.name.clone()))
}

impl Drop for SoftwareChecksums {
    fn drop(&mut self) {
        // The interface may be gone by now.
        let _ = set_transmit_checksums(&self.interface, true);
        drop(self.guardian.stdin.take());
        let _ = self.guardian.wait();
    }
}

/// Waits until standard input ends, and with it the host, then leaves checksums to the interface again.
pub fn restore_at_end(interface: &str) -> ExitCode {
    let _ = io::copy(&mut io::stdin(), &mut io::sink());
    match set_transmit_checksums(interface, true) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
