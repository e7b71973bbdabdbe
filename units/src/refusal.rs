//! Refusals of values by code that does not know the value's place in the file.

use std::fmt;

use crate::printable::printable;

/// A refusal of a value: the error, and advice.
///
/// Its text has the title on the first line and the help text on the second, and an empty line before them if the title
/// is a sentence. Control characters in both are escaped, so that line breaks always separate them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Description of the error in a sentence.
    pub title: String,
    /// Advice; may be empty.
    pub help: String,
    /// True if the title is understood without the name of the key that has the value.
    pub is_sentence: bool,
}

impl Refusal {
    /// Returns a refusal for a reason, with advice.
    pub fn new(title: impl Into<String>, help: impl Into<String>) -> Self {
        Self { title: title.into(), help: help.into(), is_sentence: false }
    }

    /// Returns a refusal whose title is understood without the name of the key that has the value.
    pub fn sentence(title: impl Into<String>, help: impl Into<String>) -> Self {
        Self { is_sentence: true, ..Self::new(title, help) }
    }

    /// Parses the text of a refusal, because serde passes only texts.
    pub fn from_text(text: &str) -> Self {
        let (is_sentence, text) = match text.strip_prefix('\n') {
            Some(text) => (true, text),
            None => (false, text),
        };
        let (title, help) = text.split_once('\n').unwrap_or((text, ""));
        Self { is_sentence, ..Self::new(title, help) }
    }

    /// Returns the advice, if any.
    pub fn help(&self) -> Option<&str> {
        Some(self.help.as_str()).filter(|help| !help.is_empty())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_sentence {
            f.write_str("\n")?;
        }
        f.write_str(&printable(&self.title))?;
        match self.help() {
            Some(help) => write!(f, "\n{}", printable(help)),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_cannot_pass_for_the_help() {
        let refusal = Refusal::new("`a\nhelp: b` is not a size", "write \"1MB\"");
        assert_eq!(refusal.to_string(), "`a\\nhelp: b` is not a size\nwrite \"1MB\"");
        let read = Refusal::from_text(&refusal.to_string());
        assert_eq!(
            (read.title, read.help.as_str()),
            ("`a\\nhelp: b` is not a size".into(), "write \"1MB\"")
        );
        assert_eq!(Refusal::new("a", "").to_string(), "a");
        let sentence = Refusal::sentence("a", "b");
        assert_eq!(Refusal::from_text(&sentence.to_string()), sentence);
    }
}
