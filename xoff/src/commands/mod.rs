//! The commands of the binary, one file each.

pub mod destroy;
pub mod doctor;
pub mod run;
pub mod schema;
pub mod validate;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It did what it says.
    Success,
    /// It ran, and what it found is not right.
    Unsound,
    /// The input or the machine does not allow it.
    BadInput,
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
            // 128 + SIGINT, as shells report it.
            Self::Interrupted => 130,
        }
    }
}
