//! Differences between an imported scenario and the program whose files were imported.

/// Remarks on an import for its user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remarks {
    /// Deviations that change no result.
    pub notes: Vec<String>,
    /// Deviations that change results.
    pub differences: Vec<Difference>,
}

/// A deviation that changes results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Setting that asks for the behaviour, with its file and line, or the subject.
    pub subject: String,
    /// Behaviour of the program.
    pub there: String,
    /// Behaviour of xoff.
    pub here: String,
    /// True if a setting asks for the program's behaviour. False if the program behaves this way regardless of its
    /// files.
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

    /// Sorts remarks about lines of a file first, in the order of lines. `line` returns the line of a remark, if it has
    /// one.
    pub fn sort_by_line(&mut self, line: impl Fn(&str) -> Option<usize>) {
        let place = |text: &str| line(text).unwrap_or(usize::MAX);
        self.notes.sort_by_key(|note| place(note));
        self.differences.sort_by_key(|difference| place(&difference.subject));
    }

    /// Returns true if a setting asks for behaviour that xoff does not have.
    pub fn any_asked(&self) -> bool {
        self.differences.iter().any(|difference| difference.asked)
    }

    /// Formats the differences as a table with a header line; empty if there are none.
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
