//! What the commands of the kernel datapath say in a build that has none.

/// In place of `xoff destroy`.
pub mod destroy {
    use emulation::NO_KERNEL_DATAPATH;

    use super::super::{Exit, say};

    /// Nothing: a run in memory leaves no namespace.
    pub fn remove_what_can_be() {}

    /// Runs the command.
    pub fn execute() -> Exit {
        say(format_args!("error: {NO_KERNEL_DATAPATH}"));
        Exit::BadInput
    }
}

/// In place of `xoff doctor`.
pub mod doctor {
    use emulation::NO_KERNEL_DATAPATH;

    use super::super::{Exit, say};

    /// Arguments of `xoff doctor`: the same in every build.
    #[derive(Debug, clap::Args)]
    pub struct Arguments {
        /// Where the kernel's verifier refuses a program, prints its whole log after the checks.
        #[arg(long)]
        verifier_log: bool,
    }

    /// Runs the command.
    pub fn execute(_: &Arguments) -> Exit {
        say(format_args!("error: {NO_KERNEL_DATAPATH}"));
        Exit::BadInput
    }

    /// Refuses: a sentence with what to do.
    pub fn require_kernel_datapath() -> Result<(), String> {
        Err(NO_KERNEL_DATAPATH.to_owned())
    }
}
