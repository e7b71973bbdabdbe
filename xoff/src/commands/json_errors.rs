//! Errors and warnings, as text or, where `--json` is asked for, as JSON. Both go to standard error, so that standard output
//! has results only, which are JSON then, too.
//!
//! An error is one line, `{"error": "..", "code": 2, "message": "..", "file": "..", "line": 3, "column": 9, "hint": ".."}`: the
//! whole text, the exit code, and the parts of the [`Complaint`]. `file`, `line`, `column` and `hint` are there where it has them.
//! A warning has the same parts and begins with `warning`. The end of a fabric that is watched is `{"ended": ".."}`. An error
//! that knows more has more keys.

use std::ffi::{OsStr, OsString};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::FromArgMatches;
use clap::error::ContextValue;
use scenario::Refusal;
use scenario::report::printable;
use serde_json::Value;

use super::{Arguments, Exit};
use crate::complaint::Complaint;

/// Whether this process answers in JSON. It runs one command.
static IN_JSON: AtomicBool = AtomicBool::new(false);

/// Says how the command answers.
pub fn answer_in_json(json: bool) {
    IN_JSON.store(json, Ordering::Relaxed);
}

/// Whether the command answers in JSON.
pub fn answers_in_json() -> bool {
    IN_JSON.load(Ordering::Relaxed)
}

/// Reads the command line of this process; an error of it is shown, and is how the process ends.
pub fn parse() -> Result<Arguments, Exit> {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    answer_in_json(asks_for_json(&arguments));
    let mut command = super::command();
    let matches = command.try_get_matches_from_mut(&arguments);
    let read = matches.and_then(|matches| Arguments::from_arg_matches(&matches));
    read.map_err(|error| {
        let error = printed(error).format(&mut command);
        if !error.use_stderr() || !asks_for_json(&arguments) {
            error.exit();
        }
        super::refuse(complaint(&error))
    })
}

/// The error with the user's words on one line each.
fn printed(mut error: clap::Error) -> clap::Error {
    let own = |(kind, value): (_, &ContextValue)| {
        let value = match value {
            ContextValue::String(text) => ContextValue::String(printable(text).into_owned()),
            ContextValue::Strings(texts) => {
                ContextValue::Strings(texts.iter().map(|it| printable(it).into_owned()).collect())
            }
            _ => return None,
        };
        Some((kind, value))
    };
    let words: Vec<_> = error.context().filter_map(own).collect();
    for (kind, value) in words {
        error.insert(kind, value);
    }
    error
}

/// An error of the command line. clap writes what is wrong on the first line.
fn complaint(error: &clap::Error) -> Complaint {
    let text = error.render().to_string();
    let mut lines = text.trim().lines();
    let title = lines.next().unwrap_or_default();
    let complaint = Complaint::new(title.strip_prefix("error: ").unwrap_or(title));
    let refusal = std::error::Error::source(error).and_then(|it| it.downcast_ref::<Refusal>());
    let complaint = complaint.with_lines(lines);
    match refusal.and_then(Refusal::help) {
        Some(help) => complaint.hinting(help),
        None => complaint,
    }
}

/// Whether the option is among these. What comes after `--` is another program's.
fn asks_for_json(arguments: &[OsString]) -> bool {
    arguments.iter().take_while(|it| *it != OsStr::new("--")).any(|it| it == OsStr::new("--json"))
}

/// Shows an error, and says how the command ends for it.
pub fn error(complaint: impl Into<Complaint>, exit: Exit) -> Exit {
    show("error", &complaint.into().with("code", exit.code()));
    exit
}

/// Shows a warning.
pub fn warning(complaint: impl Into<Complaint>) {
    show("warning", &complaint.into());
}

fn show(level: &str, complaint: &Complaint) {
    if answers_in_json() {
        super::say(Value::Object(complaint.json(level)));
    } else {
        super::say(format_args!("{level}: {}", complaint.text()));
    }
}

/// Says that what a command was about has ended, and the command with it.
#[cfg(feature = "kernel")]
pub fn ended(message: &str) {
    if answers_in_json() {
        super::say(serde_json::json!({ "ended": message }));
    } else {
        super::say(message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_command_line_has_a_title_and_a_hint() {
        let read = |words: &[&str]| {
            let read = super::super::command().try_get_matches_from(words);
            complaint(&printed(read.expect_err("it is wrong")).format(&mut super::super::command()))
        };
        let forged = read(&["xoff", "list", "--zz\nhelp: a\n  --> /etc/passwd:7:3"]);
        let title = "unexpected argument '--zz\\nhelp: a\\n  --> /etc/passwd:7:3' found";
        let json = forged.json("error");
        assert_eq!(json["message"], Value::from(title));
        assert_eq!((json.get("hint"), json.get("file")), (None, None));
    }

    #[test]
    fn what_another_program_is_asked_is_not_asked_of_xoff() {
        let asks =
            |text: &str| asks_for_json(&text.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert!(asks("xoff list --json") && asks("xoff exec lab h0 --json -- ip"));
        assert!(!asks("xoff exec lab h0 -- ip --json"));
    }
}
