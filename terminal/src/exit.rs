//! The exit codes of commands.

/// Exit status of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Success.
    Success,
    /// The command ran, and its result is negative.
    Unsound,
    /// The input or the machine does not allow it.
    BadInput,
    /// Nothing could be done here: a skip, in the terms of kernel developers.
    Skipped,
    /// The program to start cannot be executed.
    NotExecutable,
    /// The program to start does not exist.
    NotFound,
    /// The user interrupted it.
    Interrupted,
}

impl Exit {
    /// The process's exit code.
    pub const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Unsound => 1,
            Self::BadInput => 2,
            // KSFT_SKIP of the kernel's selftests.
            Self::Skipped => 4,
            // As in shells and `ip netns exec`.
            Self::NotExecutable => 126,
            Self::NotFound => 127,
            // 128 + SIGINT, as shells report it.
            Self::Interrupted => 130,
        }
    }
}
