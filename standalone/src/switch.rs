//! A switch on interfaces of this machine.
//!
//! eBPF runs the arrival pipeline when a frame comes in, on the real clock. `driver` lets packets depart at the
//! rates of their ports, and sends frames. The two take turns (`fabric_core::turn`). `setup` starts both from a
//! file, `port` has the driver's state of an interface, and `report` the counters.

mod counting;
mod driver;
mod frames;
mod port;
mod report;
mod setup;

use std::os::fd::AsFd;
use std::process::ExitCode;

use scenario::standalone::StandaloneSwitch;
use switch_user::hook::XdpHook;
use units::Picos;

use crate::Error;
use crate::clock::{MAX_LIFE, until};
use crate::wait::{SPIN, Waiter};

pub use report::Report;

/// Interval at which the switch checks its neighbours and interfaces.
const HOUSEKEEPING: Picos = Picos(200_000_000_000);

/// Runs a switch until a signal ends it. Calls `started` once it forwards. Calls `report` with its counters on each
/// SIGUSR1 and at the end.
pub fn run(
    settings: &StandaloneSwitch,
    hook: XdpHook,
    started: impl FnOnce(),
    mut report: impl FnMut(&Report),
) -> Result<ExitCode, Error> {
    let mut waiter = Waiter::new().map_err(|source| Error::System { step: "wait", source })?;
    let mut driver = setup::start(settings, hook)?;
    started();
    let mut housekeeping = Picos::ZERO;
    loop {
        let due = driver.run_once()?;
        let now = driver.now();
        if now >= housekeeping {
            driver.keep_house()?;
            housekeeping = now + HOUSEKEEPING;
        }
        if now > MAX_LIFE {
            return Err(Error::TooOld);
        }
        let span = until(now, due.min(housekeeping));
        let signals = if span < SPIN && due <= housekeeping {
            waiter.taken()
        } else {
            let woken = waiter.wait([driver.program().as_fd()], span);
            woken.map_err(|source| Error::System { step: "wait", source })?
        };
        if signals.report || signals.end {
            report(&driver.report());
        }
        if signals.end {
            return Ok(ExitCode::SUCCESS);
        }
    }
}
