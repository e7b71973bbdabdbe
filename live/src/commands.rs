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

use analysis::checked::checked;
use terminal::{
    Exit, answer, complain, interrupt, json_errors, leave, prepare, print, refuse, say, tables,
    warn,
};

/// Lets whoever waits for this process's output know that no more comes.
fn close_output() {
    // SAFETY: both descriptors are open for as long as they are used; from here on standard output goes nowhere.
    unsafe {
        let nowhere = libc::open(c"/dev/null".as_ptr(), libc::O_WRONLY);
        libc::dup2(nowhere, libc::STDOUT_FILENO);
        libc::close(nowhere);
    }
}
