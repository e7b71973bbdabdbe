//! Errors and warnings, as text or, where `--json` is asked for, as JSON. Both go to standard error, so that standard output
//! has results only, which are JSON then, too.
//!
//! An error is one line, `{"error": "..", "code": 2, "message": "..", "file": "..", "line": 3, "column": 9, "hint": ".."}`: the
//! whole text, the exit code, and the parts of the text. `file`, `line`, `column` and `hint` are there where the text
//! has them. A warning is `{"warning": ".."}`, and the end of a fabric that is watched `{"ended": ".."}`. An error that
//! knows more has more keys.

use std::ffi::{OsStr, OsString};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::FromArgMatches;
use serde_json::{Map, Value, json};

use super::{Arguments, Exit};

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
        let error = error.format(&mut command);
        if !error.use_stderr() || !asks_for_json(&arguments) {
            error.exit();
        }
        let text = error.render().to_string();
        super::refuse(text.trim().strip_prefix("error: ").unwrap_or(&text))
    })
}

/// Whether the option is among these. What comes after `--` is another program's.
fn asks_for_json(arguments: &[OsString]) -> bool {
    arguments.iter().take_while(|it| *it != OsStr::new("--")).any(|it| it == OsStr::new("--json"))
}

/// Shows an error, and says how the command ends for it.
pub fn error(message: &str, exit: Exit) {
    error_with(message, exit, &Value::Null);
}

/// The same, with more keys of an object in JSON. The text has them already.
pub fn error_with(message: &str, exit: Exit, more: &Value) {
    if answers_in_json() {
        let mut parts = parts(message);
        parts.insert("code".into(), exit.code().into());
        if let Some(more) = more.as_object() {
            parts.extend(more.clone());
        }
        super::say(line("error", message, &Value::Object(parts)));
    } else {
        super::say(format_args!("error: {message}"));
    }
}

/// What a text says: its first line, the place that it points at, and what would be right.
fn parts(text: &str) -> Map<String, Value> {
    let mut parts = Map::new();
    parts.insert("message".into(), text.lines().next().unwrap_or_default().into());
    let lines = || text.lines().skip(1).map(str::trim);
    if let Some(place) = lines().find_map(|line| line.strip_prefix("--> ")) {
        let mut rest = place.rsplitn(3, ':');
        let numbers = [rest.next(), rest.next()].map(|it| it.and_then(|it| it.parse::<u64>().ok()));
        match (numbers, rest.next()) {
            ([Some(column), Some(line)], Some(file)) => {
                parts.insert("file".into(), file.into());
                parts.insert("line".into(), line.into());
                parts.insert("column".into(), column.into());
            }
            _ => {
                parts.insert("file".into(), place.into());
            }
        }
    }
    let hint = lines().find_map(|line| line.trim_start_matches("= ").strip_prefix("help: "));
    if let Some(hint) = hint {
        parts.insert("hint".into(), hint.into());
    }
    parts
}

/// Shows a warning.
pub fn warning(message: &str) {
    if answers_in_json() {
        super::say(line("warning", message, &Value::Null));
    } else {
        super::say(format_args!("warning: {message}"));
    }
}

/// Says that what a command was about has ended, and the command with it.
#[cfg(feature = "kernel")]
pub fn ended(message: &str) {
    if answers_in_json() {
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
    fn a_text_has_parts() {
        let report = "a key that no one knows\n  --> dir/a:b.toml:13:9\n   |\n13 | x = 1\n   | ^\n   |\n   = help: leave it out";
        let expected = json!({
            "message": "a key that no one knows",
            "file": "dir/a:b.toml",
            "line": 13,
            "column": 9,
            "hint": "leave it out",
        });
        assert_eq!(Value::Object(parts(report)), expected);
        let whole =
            "cannot read the scenario\n --> x.toml\n  |\n  = help: give the path of a scenario";
        let found = parts(whole);
        assert_eq!((&found["file"], found.get("line")), (&json!("x.toml"), None));
        let plain = parts("it is there already\nhelp: choose another name");
        assert_eq!(
            Value::Object(plain),
            json!({ "message": "it is there already", "hint": "choose another name" })
        );
    }

    #[test]
    fn what_another_program_is_asked_is_not_asked_of_xoff() {
        let asks =
            |text: &str| asks_for_json(&text.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert!(asks("xoff list --json") && asks("xoff exec lab h0 --json -- ip"));
        assert!(!asks("xoff exec lab h0 -- ip --json"));
    }
}
