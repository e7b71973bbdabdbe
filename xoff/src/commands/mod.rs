//! The commands of the binary, one file each.

pub mod destroy;
pub mod doctor;
pub mod import;
pub mod inspect;
mod interrupt;
mod open_files;
pub mod reproduce;
pub mod run;
pub mod schema;
pub mod sweep;
mod sweep_progress;
pub mod validate;

use std::error::Error;
use std::io::{self, Write};

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

/// Writes what a command is asked for to standard output; `exit` is how the command ended so far.
fn print(text: &str, exit: Exit) -> Exit {
    let mut output = io::stdout().lock();
    match writeln!(output, "{}", text.trim_end()).and_then(|()| output.flush()) {
        // A reader that has gone away (`xoff run .. | head`) has seen what it wanted.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            eprintln!("error: cannot write to standard output: {error}; send it somewhere else");
            Exit::BadInput
        }
        _ => exit,
    }
}

/// Shows an error with those of its causes that its own text leaves out, and what to do about them.
fn complain(error: &dyn Error) {
    eprintln!("error: {}", with_causes(error));
}

fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    for cause in causes.map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    // Some libraries show the system's error without naming it as a cause.
    let is_at_limit =
        [libc::EMFILE, libc::ENFILE].iter().any(|it| text.contains(&format!("(os error {it})")));
    if is_at_limit && !text.contains(open_files::ADVICE) {
        text = format!("{text}; {}", open_files::ADVICE);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("making a map")]
    struct Outer(#[source] io::Error);

    #[test]
    fn an_error_shows_its_causes_once_and_what_to_do() {
        let error = Outer(io::Error::from_raw_os_error(libc::EMFILE));
        assert_eq!(
            with_causes(&error),
            format!("making a map: Too many open files (os error 24); {}", open_files::ADVICE)
        );
        let error = io::Error::other("it is broken");
        assert_eq!(with_causes(&error), "it is broken");
    }
}
