//! Errors and warnings, as text or, where `--json` is asked for, as JSON. Both go to standard error, so that standard output
//! has results only, which are JSON then, too.
//!
//! An error is one line, `{"error": "..", "code": 2, "message": "..", "file": "..", "line": 3, "column": 9, "hint": ".."}`: the
//! whole text, the exit code, and the parts of the [`Complaint`]. `file`, `line`, `column` and `hint` are there where it has them.
//! A warning has the same parts and begins with `warning`. The end of a fabric that is watched is `{"ended": ".."}`. An error
//! that knows more has more keys.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::{Complaint, Exit};

/// True if this process, which runs one command, answers in JSON.
static IN_JSON: AtomicBool = AtomicBool::new(false);

/// Sets the format of the command's answers.
pub fn answer_in_json(json: bool) {
    IN_JSON.store(json, Ordering::Relaxed);
}

/// Returns true if the command answers in JSON.
pub fn answers_in_json() -> bool {
    IN_JSON.load(Ordering::Relaxed)
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
