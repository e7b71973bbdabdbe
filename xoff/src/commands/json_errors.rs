//! Errors and warnings, as text or, where `--json` is asked for, as JSON. Both go to standard error, so that standard output
//! has results only.
//!
//! An error is one line, `{"error": ".."}`, a warning `{"warning": ".."}`, and the end of a
//! fabric that is watched `{"ended": ".."}`. An error that knows more has more keys.

use std::ffi::{OsStr, OsString};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use serde_json::{Value, json};

use super::{Arguments, Exit};

/// Whether this process answers in JSON. It runs one command.
static IN_JSON: AtomicBool = AtomicBool::new(false);

/// Says how the command answers.
pub fn answer_in_json(json: bool) {
    IN_JSON.store(json, Ordering::Relaxed);
}

/// Reads the command line of this process; an error of it is shown, and is how the process ends.
pub fn parse() -> Result<Arguments, Exit> {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    Arguments::try_parse_from(&arguments).map_err(|error| {
        if !error.use_stderr() || !asks_for_json(&arguments) {
            error.exit();
        }
        answer_in_json(true);
        let text = error.render().to_string();
        super::refuse(text.trim().strip_prefix("error: ").unwrap_or(&text))
    })
}

/// Whether the option is among these. What comes after `--` is another program's.
fn asks_for_json(arguments: &[OsString]) -> bool {
    arguments.iter().take_while(|it| *it != OsStr::new("--")).any(|it| it == OsStr::new("--json"))
}

/// Shows an error.
pub fn error(message: &str) {
    error_with(message, &Value::Null);
}

/// The same, with more keys of an object in JSON. The text has them already.
pub fn error_with(message: &str, more: &Value) {
    if IN_JSON.load(Ordering::Relaxed) {
        super::say(line("error", message, more));
    } else {
        super::say(format_args!("error: {message}"));
    }
}

/// Shows a warning.
pub fn warning(message: &str) {
    if IN_JSON.load(Ordering::Relaxed) {
        super::say(line("warning", message, &Value::Null));
    } else {
        super::say(format_args!("warning: {message}"));
    }
}

/// Says that what a command was about has ended, and the command with it.
#[cfg(feature = "kernel")]
pub fn ended(message: &str) {
    if IN_JSON.load(Ordering::Relaxed) {
        super::say(line("ended", message, &Value::Null));
    } else {
        super::say(message);
    }
}

fn line(key: &str, message: &str, more: &Value) -> Value {
    let mut line = json!({ key: message });
    if let (Some(line), Some(more)) = (line.as_object_mut(), more.as_object()) {
        line.extend(more.clone());
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_with_what_it_knows() {
        let more = json!({ "changes": [] });
        assert_eq!(line("error", "a\nb", &more).to_string(), r#"{"changes":[],"error":"a\nb"}"#);
        assert_eq!(line("warning", "a", &Value::Null).to_string(), r#"{"warning":"a"}"#);
    }

    #[test]
    fn what_another_program_is_asked_is_not_asked_of_xoff() {
        let asks =
            |text: &str| asks_for_json(&text.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert!(asks("xoff list --json") && asks("xoff exec lab h0 --json -- ip"));
        assert!(!asks("xoff exec lab h0 -- ip --json"));
    }
}
