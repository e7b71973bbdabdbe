//! The commands of live fabrics, one file each.

pub mod capture;
pub mod deploy;
pub mod destroy;
pub mod exec;
pub mod impair;
pub mod link;
pub mod list;
pub mod metrics;
pub mod send;
pub mod storm;
pub mod top;
pub mod watch;

use std::fs::File;
use std::io;

use analysis::checked::checked;
use nix::unistd::dup2_stdout;
use terminal::{
    Exit, answer, complain, interrupt, json_errors, leave, prepare, print, refuse, say, tables,
    warn,
};

/// Lets readers of this process's output know that no more comes: from here on it goes nowhere.
fn close_output() -> io::Result<()> {
    let nowhere = File::options().write(true).open("/dev/null")?;
    Ok(dup2_stdout(nowhere)?)
}
