//! Results on standard output; errors, warnings and notes on standard error.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::Display;
use std::io::{self, Write};

use scenario::report::{printable_json, printable_lines};
use serde_json::Value;

use crate::{Complaint, Exit, json_errors};

/// Prints a command's output to standard output, with hidden characters of names escaped. `exit` is the command's exit
/// status so far.
pub fn print(text: &str, exit: Exit) -> Exit {
    print_document(&legible(text), exit)
}

/// Like [`print()`], for a text in a format of its own, or with styles.
pub fn print_document(text: &str, exit: Exit) -> Exit {
    let mut output = io::stdout().lock();
    match writeln!(output, "{}", text.trim_end()).and_then(|()| output.flush()) {
        // The reader has closed the pipe (`xoff run .. | head`): not an error.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            refuse(format!("cannot write to standard output: {error}; send it somewhere else"))
        }
        _ => exit,
    }
}

/// Prints a command's answer to standard output, as text or as JSON.
pub fn answer(text: &str, json: &Value, exit: Exit) -> Exit {
    if json_errors::answers_in_json() {
        print(&format!("{json:#}"), exit)
    } else {
        print(text, exit)
    }
}

/// Returns the text, or the JSON where that is asked for, without characters that a terminal obeys.
fn legible(text: &str) -> Cow<'_, str> {
    if json_errors::answers_in_json() { printable_json(text) } else { printable_lines(text) }
}

/// Prints an error and returns the exit status of a refused command.
pub fn refuse(complaint: impl Into<Complaint>) -> Exit {
    json_errors::error(complaint, Exit::BadInput)
}

/// Prints a warning.
pub fn warn(complaint: impl Into<Complaint>) {
    json_errors::warning(complaint);
}

/// Writes a line to standard error. A write error does not change the command's exit status.
pub fn say(line: impl Display) {
    let _ = writeln!(io::stderr(), "{}", legible(&line.to_string()));
}

/// Prints an error with its causes and its advice. Returns `exit`, the command's exit status.
pub fn complain(error: &(dyn Error + 'static), exit: Exit) -> Exit {
    json_errors::error(Complaint::from_error(error), exit)
}
