//! What an imported scenario does otherwise than the program whose files it is made of.

/// All that a user should know of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remarks {
    /// What is not as in the program, but changes nothing that happens.
    pub notes: Vec<String>,
    /// What happens otherwise.
    pub differences: Vec<Difference>,
}

/// Something that happens otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The setting that asks for it, with its file and line, or what it is about.
    pub subject: String,
    /// What the program does.
    pub there: String,
    /// What xoff does.
    pub here: String,
    /// Whether a setting asks for it. Otherwise the program does so whatever its files say.
    pub asked: bool,
}

impl Remarks {
    /// Adds a note about `place`.
    pub fn note(&mut self, place: &str, what: &str) {
        self.notes.push(format!("{place}: {what}"));
    }

    /// Adds a difference for which the setting at `place` asks.
    pub fn asked(&mut self, place: &str, there: &str, here: &str) {
        self.push(place, there, here, true);
    }

    /// Adds a difference that no setting asks for.
    pub fn inherent(&mut self, subject: &str, there: &str, here: &str) {
        self.push(subject, there, here, false);
    }

    /// Puts what is about a line of some file first, in the order of lines; `line` tells it from a subject.
    pub fn sort_by_line(&mut self, line: impl Fn(&str) -> Option<usize>) {
        let place = |text: &str| line(text).unwrap_or(usize::MAX);
        self.notes.sort_by_key(|note| place(note));
        self.differences.sort_by_key(|difference| place(&difference.subject));
    }

    /// Whether some setting asks for what xoff does otherwise.
    pub fn any_asked(&self) -> bool {
        self.differences.iter().any(|difference| difference.asked)
    }

    /// The differences as a table, a line each behind a line of titles; nothing if there are none.
    pub fn table(&self) -> Vec<String> {
        if self.differences.is_empty() {
            return Vec::new();
        }
        let titles = ["not as there", "there", "here"].map(String::from);
        let row = |it: &Difference| [&it.subject, &it.there, &it.here].map(String::clone);
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

    fn push(&mut self, subject: &str, there: &str, here: &str, asked: bool) {
        let [subject, there, here] = [subject, there, here].map(str::to_owned);
        self.differences.push(Difference { subject, there, here, asked });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_about_lines_comes_in_their_order() {
        let mut remarks = Remarks::default();
        for place in ["all", "9", "10", "9"] {
            remarks.note(place, &remarks.notes.len().to_string());
            remarks.asked(place, "", "");
        }
        remarks.sort_by_line(|subject| subject.split(':').next()?.parse().ok());
        assert_eq!(remarks.notes, ["9: 1", "9: 3", "10: 2", "all: 0"]);
        let subjects: Vec<_> = remarks.differences.iter().map(|it| it.subject.as_str()).collect();
        assert_eq!(subjects, ["9", "9", "10", "all"]);
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
