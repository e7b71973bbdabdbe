//! Complaints: errors and warnings for users, in parts.
//!
//! A complaint keeps its parts from where they are known to where it is shown, as text or as JSON. Nothing reads them out of a
//! text, so a name in a scenario or a path with an end of a line in it cannot pass for another part. Control characters are
//! escaped in the text, the message and the hint; `file` is the path as it is.

use std::error::Error;

use scenario::report::printable;
use scenario::{Refusal, ScenarioError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An error or a warning in parts: the fault, its place, and advice.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Complaint(Box<Parts>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Parts {
    /// Whole text, without a level.
    text: String,
    /// Fault, as a sentence.
    message: String,
    place: Option<Place>,
    /// Advice on the correct form.
    hint: Option<String>,
    /// Further keys of the JSON.
    more: Map<String, Value>,
}

/// A file, with an optional position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    file: String,
    /// Line and column, from 1.
    line_and_column: Option<(usize, usize)>,
}

impl Complaint {
    /// Makes a complaint of one sentence.
    pub fn new(message: impl Into<String>) -> Self {
        let message = message.into();
        let text = printable(&message).into_owned();
        Self(Box::new(Parts { text, message, place: None, hint: None, more: Map::new() }))
    }

    /// Makes a complaint about an error, with the causes that the error's text leaves out, and with advice.
    pub fn from_error(error: &(dyn Error + 'static)) -> Self {
        match error.downcast_ref::<ScenarioError>() {
            Some(error) => error.into(),
            None => Self::new(crate::with_causes(error)),
        }
    }

    /// Adds advice.
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        let help = help.into();
        self.0.text = format!("{}\nhelp: {}", self.0.text, printable(&help));
        self.0.hint = Some(help);
        self
    }

    /// Adds advice that the text already contains.
    pub fn hinting(mut self, help: &str) -> Self {
        self.0.hint = Some(help.to_owned());
        self
    }

    /// Appends lines to the text.
    pub fn with_lines<T: AsRef<str>>(mut self, lines: impl IntoIterator<Item = T>) -> Self {
        for line in lines {
            self.0.text = format!("{}\n{}", self.0.text, printable(line.as_ref()));
        }
        self
    }

    /// Adds a key to the JSON; the text already contains its value.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.more.insert(key.to_owned(), value.into());
        self
    }

    /// Prefixes the text with a subject.
    pub fn about(mut self, subject: &str) -> Self {
        self.0.text = format!("{}: {}", printable(subject), self.0.text);
        self.0.message = format!("{subject}: {}", self.0.message);
        self
    }

    /// Returns the whole text, without a level.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Returns the fault as a sentence.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the JSON of the complaint, whose text has the key `level`.
    pub fn json(&self, level: &str) -> Map<String, Value> {
        let mut json = Map::new();
        json.insert(level.to_owned(), self.0.text.as_str().into());
        json.insert("message".into(), printable(&self.0.message).into());
        if let Some(Place { file, line_and_column }) = &self.0.place {
            json.insert("file".into(), file.as_str().into());
            if let Some((line, column)) = *line_and_column {
                json.insert("line".into(), line.into());
                json.insert("column".into(), column.into());
            }
        }
        if let Some(hint) = &self.0.hint {
            json.insert("hint".into(), printable(hint).into());
        }
        json.extend(self.0.more.clone());
        json
    }
}

impl From<&str> for Complaint {
    fn from(message: &str) -> Self {
        Self::new(message)
    }
}

impl From<String> for Complaint {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

impl From<&String> for Complaint {
    fn from(message: &String) -> Self {
        Self::new(message.as_str())
    }
}

impl From<&ScenarioError> for Complaint {
    fn from(error: &ScenarioError) -> Self {
        let place =
            Place { file: error.file().to_owned(), line_and_column: error.line_and_column() };
        Self(Box::new(Parts {
            text: error.unlabelled(),
            message: error.title().to_owned(),
            place: Some(place),
            hint: error.help().map(str::to_owned),
            more: Map::new(),
        }))
    }
}

impl From<ScenarioError> for Complaint {
    fn from(error: ScenarioError) -> Self {
        Self::from(&error)
    }
}

impl From<Refusal> for Complaint {
    fn from(Refusal { title, help, .. }: Refusal) -> Self {
        let complaint = Self::new(title);
        if help.is_empty() { complaint } else { complaint.with_help(help) }
    }
}

#[cfg(test)]
mod tests {
    use scenario::report::Place as Spot;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_cannot_pass_for_other_parts() {
        let complaint = Complaint::new("no file a\n  --> /etc/passwd:7:3\nhelp: b");
        assert_eq!(complaint.text(), "no file a\\n  --> /etc/passwd:7:3\\nhelp: b");
        assert_eq!(
            Value::Object(complaint.json("error")),
            json!({
                "error": "no file a\\n  --> /etc/passwd:7:3\\nhelp: b",
                "message": "no file a\\n  --> /etc/passwd:7:3\\nhelp: b",
            })
        );
    }

    #[test]
    fn parts_are_kept() {
        let complaint = Complaint::new("it is there already")
            .with_lines(["a", "b"])
            .with_help("choose another name")
            .with("changes", json!([]));
        assert_eq!(complaint.text(), "it is there already\na\nb\nhelp: choose another name");
        let json = json!({
            "error": complaint.text(),
            "message": "it is there already",
            "hint": "choose another name",
            "changes": [],
        });
        assert_eq!(Value::Object(complaint.json("error")), json);
    }

    #[test]
    fn an_error_of_a_scenario_has_its_place() {
        let spot = Spot { name: "dir/a:b.toml", text: "a = 1\n  b = 2\n", span: Some(8..9) };
        let error = ScenarioError::at(&spot, "a key that no one knows", Some("leave it out"));
        let complaint = Complaint::from_error(&error);
        assert_eq!(format!("error: {}", complaint.text()), error.to_string());
        let json = json!({
            "warning": complaint.text(),
            "message": "a key that no one knows",
            "file": "dir/a:b.toml",
            "line": 2,
            "column": 3,
            "hint": "leave it out",
        });
        assert_eq!(Value::Object(complaint.json("warning")), json);
        let whole = ScenarioError::at(&Spot { span: None, ..spot }, "it cannot be read", None);
        let json = json!({
            "error": whole.unlabelled(), "message": "it cannot be read", "file": "dir/a:b.toml"
        });
        assert_eq!(Value::Object(Complaint::from_error(&whole).json("error")), json);
    }
}
