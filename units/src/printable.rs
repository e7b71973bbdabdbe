//! Texts of files and networks on a terminal.

use std::borrow::Cow;
use std::fmt::Write;

/// Returns a text on one line. Control characters, and characters that change the direction of writing, are escaped as
/// in Rust.
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, is_hidden, |shown, c| shown.extend(c.escape_default()))
}

/// A text of several lines, escaped as [`printable`] does it; ends of lines and tabs stay.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    let is_escaped = |c| is_hidden(c) && !matches!(c, '\n' | '\t');
    escaped(text, is_escaped, |shown, c| shown.extend(c.escape_default()))
}

/// JSON whose texts have no such characters: JSON has escapes of its own for them.
pub fn printable_json(json: &str) -> Cow<'_, str> {
    let is_escaped = |c| is_hidden(c) && !matches!(c, '\n' | '\t');
    let escape = |shown: &mut String, c| {
        write!(shown, "\\u{:04x}", u32::from(c)).expect("a String takes every write");
    };
    escaped(json, is_escaped, escape)
}

/// Characters that a terminal obeys, and those that turn the direction of writing.
pub fn is_hidden(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns || matches!(c, '\u{2028}'..='\u{202e}')
}

fn escaped(
    text: &str,
    is_escaped: impl Fn(char) -> bool,
    escape: impl Fn(&mut String, char),
) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_escaped(c) {
            escape(&mut shown, c);
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_escaped_as_the_reader_reads_them() {
        let text = "a\u{9b}2J\n\tb\u{202e}";
        assert_eq!(printable(text), "a\\u{9b}2J\\n\\tb\\u{202e}");
        assert_eq!(printable_lines(text), "a\\u{9b}2J\n\tb\\u{202e}");
        let json = serde_json::json!({ "key": text });
        let shown = printable_json(&format!("{json:#}")).into_owned();
        assert!(!shown.contains(|c| is_hidden(c) && c != '\n'), "{shown:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), json);
    }
}
