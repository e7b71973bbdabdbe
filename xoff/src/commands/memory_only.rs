//! What the commands of the kernel datapath say in a build that has none.

use std::ffi::OsString;

use emulation::NO_KERNEL_DATAPATH;

use super::Exit;

/// Arguments of a command that needs the kernel: any.
#[derive(Debug, clap::Args)]
pub struct Anything {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    arguments: Vec<OsString>,
}

/// Refuses.
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

    /// Arguments of `xoff doctor`: the same in every build.
    #[derive(Debug, clap::Args)]
    pub struct Arguments {
        /// Where the kernel's verifier refuses a program, prints its whole log after the checks.
        #[arg(long)]
        verifier_log: bool,
        /// Loads each program of switches and prints how many instructions the verifier follows in it, of a million that it may, and
        /// for how long; nothing else is checked.
        #[arg(long, conflicts_with = "verifier_log")]
        programs: bool,
    }

    /// Runs the command.
    pub fn execute(_: &Arguments) -> Exit {
        super::super::refuse(NO_KERNEL_DATAPATH)
    }
}
