//! Stubs of the kernel datapath's commands, for a build without it.

use std::ffi::OsString;

use emulation::NO_KERNEL_DATAPATH;

use super::Exit;

/// Arguments of a command that needs the kernel: anything is accepted.
#[derive(Debug, clap::Args)]
pub struct Anything {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    arguments: Vec<OsString>,
}

/// Refuses the command.
pub fn refuse(_: &Anything) -> Exit {
    super::refuse(NO_KERNEL_DATAPATH)
}

/// In place of `xoff deploy`.
pub mod deploy {
    pub use super::{Anything as Arguments, Anything as SuperviseArguments};
    pub use super::{refuse as execute, refuse as supervise};

    /// Name of the supervisor's command.
    pub const SUPERVISE: &str = "supervise";
}

/// In place of `xoff list`.
pub mod list {
    pub use super::{Anything as Arguments, refuse as execute};
}

/// In place of `xoff exec`.
pub mod exec {
    pub use super::{Anything as Arguments, refuse as execute};
}

/// In place of `xoff send` and `xoff incast`.
pub mod send {
    pub use super::{Anything as Arguments, Anything as IncastArguments};
    pub use super::{refuse as execute, refuse as incast};
}

/// In place of `xoff capture`.
pub mod capture {
    pub use super::{Anything as Arguments, refuse as execute};
}

/// In place of `xoff top`.
pub mod top {
    pub use super::{Anything as Arguments, refuse as execute};
}

/// In place of `xoff watch`.
pub mod watch {
    pub use super::{Anything as Arguments, refuse as execute};
}

/// In place of `xoff metrics`.
pub mod metrics {
    pub use super::{Anything as Arguments, refuse as execute};
}

/// In place of `xoff link`.
pub mod link {
    pub use super::{Anything as Arguments, refuse as execute};
}

/// In place of `xoff storm`.
pub mod storm {
    pub use super::{Anything as Arguments, refuse as execute};
}

/// In place of `xoff impair`.
pub mod impair {
    pub use super::{Anything as Arguments, refuse as execute};
}

/// In place of `xoff selftest`.
pub mod selftest {
    pub use super::{Anything as Arguments, refuse as execute};
}

/// In place of `xoff destroy`.
pub mod destroy {
    pub use super::{Anything as Arguments, refuse as execute};
}

/// In place of `xoff doctor`.
pub mod doctor {
    use emulation::NO_KERNEL_DATAPATH;

    use super::super::Exit;

    /// Arguments of `xoff doctor`, as in a build with the kernel datapath.
    #[derive(Debug, clap::Args)]
    pub struct Arguments {
        /// Prints the verifier's whole log after the checks, if it refuses a program.
        #[arg(long)]
        verifier_log: bool,
        /// Loads each switch program, and prints how many instructions the verifier processes (limit: one million) and
        /// how long that takes; checks nothing else.
        #[arg(long, conflicts_with = "verifier_log")]
        programs: bool,
    }

    /// Runs the command.
    pub fn execute(_: &Arguments) -> Exit {
        super::super::refuse(NO_KERNEL_DATAPATH)
    }
}
