//! The command line of this process, and what is wrong with it.

use std::ffi::{OsStr, OsString};

use clap::FromArgMatches;
use clap::error::ContextValue;
use scenario::Refusal;
use scenario::report::printable;
use terminal::json_errors::answer_in_json;
use terminal::{Complaint, Exit};

use super::Arguments;

/// Parses the command line of this process. An error is printed and returned as the exit status.
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

/// Returns the error with line breaks in the user's words escaped.
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

/// Converts an error of the command line. clap writes the problem on the first line.
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

/// Returns true if the arguments contain `--json`. Arguments after `--` belong to another program.
fn asks_for_json(arguments: &[OsString]) -> bool {
    arguments.iter().take_while(|it| *it != OsStr::new("--")).any(|it| it == OsStr::new("--json"))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

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
