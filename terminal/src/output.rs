//! Results on standard output; errors, warnings and notes on standard error.

use std::error::Error;
use std::fmt::Display;
use std::io::{self, Write};

use serde_json::Value;

use crate::{Complaint, Exit, json_errors};

/// Writes what a command is asked for to standard output; `exit` is how the command ended so far.
pub fn print(text: &str, exit: Exit) -> Exit {
    let mut output = io::stdout().lock();
    match writeln!(output, "{}", text.trim_end()).and_then(|()| output.flush()) {
        // A reader that has gone away (`xoff run .. | head`) has seen what it wanted.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            refuse(format!("cannot write to standard output: {error}; send it somewhere else"))
        }
        _ => exit,
    }
}

/// Writes what a command has found to standard output: as text or, where that is asked for, as JSON.
pub fn answer(text: &str, json: &Value, exit: Exit) -> Exit {
    if json_errors::answers_in_json() {
        print(&format!("{json:#}"), exit)
    } else {
        print(text, exit)
    }
}

/// Says why a command does nothing.
pub fn refuse(complaint: impl Into<Complaint>) -> Exit {
    json_errors::error(complaint, Exit::BadInput)
}

/// Says what is hardly meant.
pub fn warn(complaint: impl Into<Complaint>) {
    json_errors::warning(complaint);
}

/// Writes a line to standard error. Whether anyone can read it changes nothing about how a command ends.
pub fn say(line: impl Display) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Shows an error with its causes, and what to do about them. `exit` is how the command ends.
pub fn complain(error: &(dyn Error + 'static), exit: Exit) -> Exit {
    json_errors::error(Complaint::of(error), exit)
}
