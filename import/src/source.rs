//! A text file of another program, as lines of words with their positions.

use std::fmt::Display;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;

use scenario::ScenarioError;
use scenario::report::Place;

/// A file's name and text.
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    text: String,
}

/// A word with its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word<'a> {
    /// The word.
    pub text: &'a str,
    start: usize,
}

/// The words of a line; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Line number, from 1.
    pub number: usize,
    /// Words from left to right.
    pub words: Vec<Word<'a>>,
}

impl Word<'_> {
    /// Returns the word's range of bytes in the file.
    pub const fn span(&self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }
}

impl Line<'_> {
    /// Returns the range of bytes in the file from the first word to the last.
    pub fn span(&self) -> Range<usize> {
        let (first, last) = (&self.words[0], &self.words[self.words.len() - 1]);
        first.span().start..last.span().end
    }
}

impl Source {
    /// Reads a file. `noun` names it in an error.
    pub fn read(path: &Path, noun: &str) -> Result<Self, ScenarioError> {
        let name = path.display().to_string();
        // A device may be endless.
        let text = match std::fs::metadata(path) {
            Ok(found) if !found.is_file() => Err(io::Error::other("it is no file")),
            _ => std::fs::read_to_string(path),
        };
        match text {
            // Some editors write a byte order mark at the start of a file.
            Ok(text) => Ok(Self { name, text: text.trim_start_matches('\u{feff}').to_owned() }),
            Err(error) => {
                let place = Place { name: &name, text: "", span: None };
                let help = "give a folder or a config file of the simulator";
                let title = format!("cannot read the {noun}: {error}");
                Err(ScenarioError::at(&place, &title, Some(help)))
            }
        }
    }

    /// Makes a source of a text. `name` is its name in errors.
    pub fn new(name: &str, text: &str) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// Returns the name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the word at a range that was a word's span.
    pub fn word(&self, span: &Range<usize>) -> Word<'_> {
        Word { text: &self.text[span.clone()], start: span.start }
    }

    /// Returns the lines that have words. Text after `#`, or in `{..}` up to the end of a line, is a comment.
    pub fn lines(&self) -> Vec<Line<'_>> {
        let mut start = 0;
        let mut lines = Vec::new();
        for (number, whole) in (1..).zip(self.text.split_inclusive('\n')) {
            let kept = whole.split(['#', '{']).next().unwrap_or_default();
            let place = |word: &str| start + (word.as_ptr().addr() - whole.as_ptr().addr());
            let words: Vec<Word> =
                kept.split_whitespace().map(|text| Word { text, start: place(text) }).collect();
            if !words.is_empty() {
                lines.push(Line { number, words });
            }
            start += whole.len();
        }
        lines
    }

    /// Returns an error at a part of the text.
    pub fn error(&self, span: Range<usize>, title: &str, help: &str) -> ScenarioError {
        let place = Place { name: &self.name, text: &self.text, span: Some(span) };
        ScenarioError::at(&place, title, Some(help))
    }

    /// Returns an error at the end of the text, where something is missing.
    pub fn error_at_end(&self, title: &str, help: &str) -> ScenarioError {
        let end = self.text.trim_end().len();
        self.error(end..end, title, help)
    }

    /// Returns an error of the whole text, in which something is missing.
    pub fn error_of_whole(&self, title: &str, help: &str) -> ScenarioError {
        let place = Place { name: &self.name, text: &self.text, span: None };
        ScenarioError::at(&place, title, Some(help))
    }

    /// Parses a decimal whole number.
    pub fn number<T>(&self, word: Word<'_>, what: &str, largest: T) -> Result<T, ScenarioError>
    where
        T: Copy + FromStr + PartialOrd + Display,
    {
        let digits = word.text.bytes().all(|byte| byte.is_ascii_digit());
        let number = word.text.parse().ok().filter(|number| digits && *number <= largest);
        number.ok_or_else(|| {
            let title = format!("{what} is `{}`", word.text);
            self.error(word.span(), &title, &format!("write a whole number from 0 to {largest}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_know_their_places_and_comments_are_none() {
        let source = Source::new("f", "a  1 {one}\n\n# none\r\n b 2 # two\r\n");
        let lines = source.lines();
        let words = |line: &Line| line.words.iter().map(|word| word.text.to_owned()).collect();
        let found: Vec<(usize, Vec<String>)> =
            lines.iter().map(|line| (line.number, words(line))).collect();
        assert_eq!(found, [(1, vec!["a".into(), "1".into()]), (4, vec!["b".into(), "2".into()])]);
        assert_eq!(lines[0].words[1].span(), 3..4);
        assert_eq!(&source.text[lines[1].span()], "b 2");
    }

    #[test]
    fn numbers_are_whole_and_within_bounds() {
        for (text, expected) in
            [("7", Some(7)), ("8", None), ("-1", None), ("1.0", None), ("+1", None), ("0x1", None)]
        {
            let source = Source::new("f", text);
            let number = source.number(source.lines()[0].words[0], "it", 7u8).ok();
            assert_eq!(number, expected, "{text}");
        }
    }
}
