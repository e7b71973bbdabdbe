//! Stubs of the commands whose features are off.

use std::ffi::OsString;

use emulation::NO_KERNEL_DATAPATH;

use super::Exit;

/// Arguments of a command that is left out: anything is accepted.
#[derive(Debug, clap::Args)]
pub struct Anything {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    arguments: Vec<OsString>,
}

/// Refuses a command of the feature `name`.
fn refuse(name: &str) -> Exit {
    if !cfg!(feature = "kernel") && matches!(name, "live" | "selftest") {
        return super::refuse(NO_KERNEL_DATAPATH);
    }
    super::refuse(format!(
        "this xoff was built without `{name}`; `cargo build --release` in its sources builds all commands"
    ))
}

/// Stubs of a feature's commands, each a module with `Arguments` and `execute`.
macro_rules! stubs {
    ($feature:literal: $($command:ident),+) => {$(
        #[cfg(not(feature = $feature))]
        pub mod $command {
            pub use super::Anything as Arguments;

            /// Refuses the command.
            pub fn execute(_: &Arguments) -> crate::commands::Exit {
                super::refuse($feature)
            }
        }
    )+};
}

stubs!("import": import);
stubs!("papers": reproduce);
stubs!("selftest": doctor, selftest);
stubs!("live": capture, destroy, exec, impair, link, list, metrics, storm, top, watch);

/// In place of `xoff deploy` and its supervisor.
#[cfg(not(feature = "live"))]
pub mod deploy {
    pub use super::{Anything as Arguments, Anything as SuperviseArguments};

    use super::Exit;

    /// Name of the supervisor's command.
    pub const SUPERVISE: &str = "supervise";

    /// Refuses the command.
    pub fn execute(_: &Arguments) -> Exit {
        super::refuse("live")
    }

    /// Refuses the command.
    pub fn supervise(_: &SuperviseArguments) -> Exit {
        super::refuse("live")
    }
}

/// In place of `xoff send` and `xoff incast`.
#[cfg(not(feature = "live"))]
pub mod send {
    pub use super::{Anything as Arguments, Anything as IncastArguments};

    use super::Exit;

    /// Refuses the command.
    pub fn execute(_: &Arguments) -> Exit {
        super::refuse("live")
    }

    /// Refuses the command.
    pub fn incast(_: &IncastArguments) -> Exit {
        super::refuse("live")
    }
}
