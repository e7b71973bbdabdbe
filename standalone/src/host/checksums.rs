//! Checksums of what an interface's stack sends, computed by the stack while a host is there.
//!
//! A veth has no hardware that would finish a checksum, and a switch in XDP would forward the packet without one. A
//! process that is killed cannot put that back, so another one does: this binary again (`xoff-host restore`), which reads a
//! pipe that ends with the host. Host and guardian hold one lock, until the last of the two has ended. So the next host finds the
//! interface as it was.

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

/// How often a host looks whether a guardian is done, and how many times: 3 s.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);
const LOOKS: u32 = 300;

/// See the module. What was there before comes back when it is dropped.
#[derive(Debug)]
pub struct SoftwareChecksums {
    interface: String,
    guardian: Child,
    _lock: UnixDatagram,
}

impl SoftwareChecksums {
    /// Starts the process that puts things back; `None` if the interface leaves nothing to hardware. The guardian of a host
    /// that was killed has to be done first.
    pub fn prepare(interface: &Interface, waiter: &mut Waiter) -> Result<Option<Self>, Error> {
        let lock = take_lock(interface, waiter)?;
        if !interface.transmit_checksums().unwrap_or(false) {
            return Ok(None);
        }
        let failed = |source| Error::System { step: "start itself", source };
        let shared = OwnedFd::from(lock.try_clone().map_err(failed)?);
        let mut command = Command::new("/proc/self/exe");
        command.arg0("xoff-host").args(["--interface", &interface.name, "restore"]);
        // Ctrl-C does not reach it, and nobody who reads what the host prints waits for it. It prints nothing itself, so
        // its standard output is where it holds the lock.
        command.process_group(0).stdin(Stdio::piped()).stdout(shared).stderr(Stdio::null());
        let guardian = command.spawn().map_err(failed)?;
        Ok(Some(Self { interface: interface.name.clone(), guardian, _lock: lock }))
    }

    /// Has the stack compute them.
    pub fn begin(&self) {
        // Where the driver refuses it, the hardware does them.
        let _ = set_transmit_checksums(&self.interface, false);
    }
}

/// A name that one socket of the namespace can have; it goes with the last descriptor of the socket.
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
    // A host that runs has it.
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

/// Waits until standard input ends, and with it the host, and leaves checksums to an interface again.
pub fn restore_at_end(interface: &str) -> ExitCode {
    let _ = io::copy(&mut io::stdin(), &mut io::sink());
    match set_transmit_checksums(interface, true) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
