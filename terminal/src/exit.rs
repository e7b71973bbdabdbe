//! The exit codes of commands.

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It did what it says.
    Success,
    /// It ran, and what it found is not right.
    Unsound,
    /// The input or the machine does not allow it.
    BadInput,
    /// Nothing of it could be done here; what kernel developers call a skip.
    Skipped,
    /// The program that it was to start cannot be executed.
    NotExecutable,
    /// The program that it was to start does not exist.
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
            // As shells and `ip netns exec` have them.
            Self::NotExecutable => 126,
            Self::NotFound => 127,
            // 128 + SIGINT, as shells report it.
            Self::Interrupted => 130,
        }
    }
}
