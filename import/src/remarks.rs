//! Differences between an imported scenario and the program whose files were imported.

use std::fmt;

use scenario::report::printable;
use serde::Serialize;

/// Remarks on an import for its user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remarks {
    /// Deviations that change no result.
    pub notes: Vec<Note>,
    /// Deviations that change results.
    pub differences: Vec<Difference>,
    /// Keys that the program does not have. Each has a note or a difference, too.
    pub unknown_keys: Vec<Subject>,
}

/// Subject of a remark. Its text is `FILE:LINE: TEXT`, with the parts that it has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Subject {
    /// A setting with its values, a part of a file, or a matter; empty: the whole file, or all from the line on.
    #[serde(rename = "subject")]
    pub text: String,
    /// The file that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

/// Something that is not as in the program, but changes nothing that happens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// Subject of the note.
    #[serde(flatten)]
    pub subject: Subject,
    /// Text of the note.
    pub note: String,
}

/// A deviation that changes results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The setting that asks for it, or what it is about.
    #[serde(flatten)]
    pub subject: Subject,
    /// Behaviour of the program.
    pub there: String,
    /// Behaviour of xoff.
    pub here: String,
    /// True if a setting asks for the program's behaviour. False if the program behaves this way regardless of its
    /// files.
    pub asked: bool,
}

impl Subject {
    /// A part of a file, or all of it if `text` is empty.
    pub fn for_file(file: &str, line: Option<usize>, text: impl Into<String>) -> Self {
        Self { text: text.into(), file: Some(file.to_owned()), line }
    }
}

impl From<&str> for Subject {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), file: None, line: None }
    }
}

impl From<&String> for Subject {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<&Self> for Subject {
    fn from(subject: &Self) -> Self {
        subject.clone()
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        match &self.file {
            None => f.write_str(&self.text),
            Some(file) if self.text.is_empty() => write!(f, "{file}{line}"),
            Some(file) => write!(f, "{file}{line}: {}", self.text),
        }
    }
}

impl Remarks {
    /// Adds a note.
    pub fn note(&mut self, subject: impl Into<Subject>, what: &str) {
        self.notes.push(Note { subject: subject.into(), note: what.to_owned() });
    }

    /// Adds a difference for which the setting `place` asks.
    pub fn asked(&mut self, place: impl Into<Subject>, there: &str, here: &str) {
        self.push(place, there, here, true);
    }

    /// Adds a difference that no setting asks for.
    pub fn inherent(&mut self, subject: impl Into<Subject>, there: &str, here: &str) {
        self.push(subject, there, here, false);
    }

    /// Puts what is about a line of `file` first, in the order of lines.
    pub fn sort_by_line(&mut self, file: &str) {
        let place = |subject: &Subject| {
            let line = subject.line.filter(|_| subject.file.as_deref() == Some(file));
            line.unwrap_or(usize::MAX)
        };
        self.notes.sort_by_key(|note| place(&note.subject));
        self.differences.sort_by_key(|difference| place(&difference.subject));
    }

    /// Returns true if a setting asks for behaviour that xoff does not have.
    pub fn any_asked(&self) -> bool {
        self.differences.iter().any(|difference| difference.asked)
    }

    /// The notes, a line each.
    pub fn note_lines(&self) -> Vec<String> {
        let line = |Note { subject, note }: &Note| format!("{subject}: {note}");
        self.notes.iter().map(|it| printable(&line(it)).into_owned()).collect()
    }

    /// Formats the differences as a table with a header line; empty if there are none.
    pub fn table(&self) -> Vec<String> {
        if self.differences.is_empty() {
            return Vec::new();
        }
        let titles = ["not as there", "there", "here"].map(String::from);
        let row = |it: &Difference| {
            let cells = [&it.subject.to_string(), &it.there, &it.here];
            cells.map(|cell| printable(cell).into_owned())
        };
        let rows: Vec<_> = [titles].into_iter().chain(self.differences.iter().map(row)).collect();
        let width = |column: usize| {
            rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
        };
        let widths = [width(0), width(1)];
        let line = |[subject, there, here]: &[String; 3]| {
            format!("{subject:0$}  {there:1$}  {here}", widths[0], widths[1])
        };
        rows.iter().map(line).collect()
    }

    fn push(&mut self, subject: impl Into<Subject>, there: &str, here: &str, asked: bool) {
        let subject = subject.into();
        let [there, here] = [there, here].map(str::to_owned);
        self.differences.push(Difference { subject, there, here, asked });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_about_lines_comes_in_their_order() {
        let mut remarks = Remarks::default();
        for (file, line) in
            [("c", None), ("c", Some(9)), ("c", Some(10)), ("d", Some(1)), ("c", Some(9))]
        {
            let subject = Subject::for_file(file, line, "");
            remarks.note(&subject, &remarks.notes.len().to_string());
            remarks.asked(&subject, "", "");
        }
        remarks.sort_by_line("c");
        assert_eq!(remarks.note_lines(), ["c:9: 1", "c:9: 4", "c:10: 2", "c: 0", "d:1: 3"]);
        let subjects = remarks.differences.iter().map(|it| it.subject.to_string());
        assert_eq!(subjects.collect::<Vec<_>>(), ["c:9", "c:9", "c:10", "c", "d:1"]);
    }

    #[test]
    fn what_a_file_has_cannot_command_a_terminal() {
        let mut remarks = Remarks::default();
        remarks.note(Subject::for_file("c\n.txt", Some(2), "DIR \u{1b}[2J"), "not taken");
        remarks.asked(Subject::for_file("c.txt", Some(3), "X \u{9b}2J\u{202e}"), "a", "b");
        assert_eq!(remarks.note_lines(), ["c\\n.txt:2: DIR \\u{1b}[2J: not taken"]);
        assert_eq!(remarks.table()[1], "c.txt:3: X \\u{9b}2J\\u{202e}  a      b");
    }

    #[test]
    fn a_table_has_columns() {
        let mut remarks = Remarks::default();
        assert_eq!(remarks.table(), Vec::<String>::new());
        remarks.inherent("ECMP", "a hash", "another");
        assert!(!remarks.any_asked());
        remarks.asked("c.txt:7: X 1", "it", "that");
        assert!(remarks.any_asked());
        let expected = [
            "not as there  there   here",
            "ECMP          a hash  another",
            "c.txt:7: X 1  it      that",
        ];
        assert_eq!(remarks.table(), expected);
    }
}
