//! Errors in a scenario, as readable reports.

use std::fmt;
use std::ops::Range;
use std::path::Path;

use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};
use units::printable::is_hidden;
pub use units::printable::{printable, printable_json, printable_lines};

/// An error in a scenario or a sweep: description, place and advice.
///
/// Its text is the whole report, with the faulty line and a caret under the place. Control characters are escaped in
/// it, so that text of a scenario cannot look like a place or advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError(Box<Parts>);

/// Parts of an error for its text and its JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Parts {
    title: String,
    file: String,
    spot: Option<Spot>,
    help: Option<String>,
}

/// A place in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Spot {
    /// Number of the line, from 1.
    number: usize,
    line: String,
    /// Bytes of the line.
    span: Range<usize>,
    is_shown: bool,
}

/// A place in a text that a user wrote.
pub struct Place<'a> {
    /// Name of the text: a path, or `--set`.
    pub name: &'a str,
    /// The whole text.
    pub text: &'a str,
    /// Bytes of `text`; `None`: the whole text.
    pub span: Option<Range<usize>>,
}

impl ScenarioError {
    /// Returns a report on one place; `help` is advice. A line of a private file is not shown.
    pub fn at(place: &Place<'_>, title: &str, help: Option<&str>) -> Self {
        Self::new(place, title, help, !is_private(Path::new(place.name)))
    }

    /// Returns a report that names the line but does not show it.
    pub fn near(place: &Place<'_>, title: &str, help: Option<&str>) -> Self {
        Self::new(place, title, help, false)
    }

    fn new(place: &Place<'_>, title: &str, help: Option<&str>, is_shown: bool) -> Self {
        let spot = place.span.as_ref().map(|span| {
            let (line, number, span) = line_of(place.text, span);
            Spot { number, line: line.to_owned(), span, is_shown }
        });
        Self(Box::new(Parts {
            title: title.to_owned(),
            file: place.name.to_owned(),
            spot,
            help: help.map(str::to_owned),
        }))
    }

    /// Returns the title: the error in a sentence.
    pub fn title(&self) -> &str {
        &self.0.title
    }

    /// Returns the name of the faulty text: a path, or `--set`.
    pub fn file(&self) -> &str {
        &self.0.file
    }

    /// Returns line and column of the faulty place, both from 1; `None` if the whole text is faulty.
    pub fn line_and_column(&self) -> Option<(usize, usize)> {
        self.0.spot.as_ref().map(|spot| (spot.number, spot.column()))
    }

    /// Returns the advice, if any.
    pub fn help(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// Returns the report without the word "error" before it.
    pub fn unlabelled(&self) -> String {
        self.rendered(Level::ERROR.no_name())
    }

    fn rendered(&self, level: Level<'_>) -> String {
        let Parts { title, file, spot, help } = &*self.0;
        let (title, file) = (printable(title), printable(file));
        let help = help.as_deref().map(printable);
        let line = spot.as_ref().map(|spot| snippet(&spot.line, &spot.span));
        let group = level.primary_title(&*title);
        let mut group = match (spot, &line) {
            (Some(spot), Some((line, span))) if spot.is_shown => group.element(
                Snippet::source(line)
                    .line_start(spot.number)
                    .path(&*file)
                    .annotation(AnnotationKind::Primary.span(span.clone())),
            ),
            (Some(spot), _) => {
                let origin = Origin::path(&*file).line(spot.number).char_column(spot.column());
                group.element(origin)
            }
            (None, _) => group.element(Origin::path(&*file)),
        };
        if let Some(help) = &help {
            group = group.element(Level::HELP.message(&**help));
        }
        Renderer::plain().render(&[group])
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rendered(Level::ERROR))
    }
}

impl std::error::Error for ScenarioError {}

impl Spot {
    /// Column in characters, from 1.
    fn column(&self) -> usize {
        self.line[..self.span.start].chars().count() + 1
    }
}

/// A line as a snippet shows it, with the span in it. A hidden character is one visible character, so columns stay what they
/// are in the file. Tabs are the renderer's.
fn snippet(line: &str, span: &Range<usize>) -> (String, Range<usize>) {
    let picture = |c: char| match c {
        '\t' => '\t',
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        c if is_hidden(c) => '\u{fffd}',
        c => c,
    };
    let shown = |part: &str| part.chars().map(picture).collect::<String>();
    let (before, rest) = line.split_at(line.floor_char_boundary(span.start));
    let (marked, after) = rest.split_at(rest.floor_char_boundary(span.end - before.len()));
    let (before, marked) = (shown(before), shown(marked));
    let span = before.len()..before.len() + marked.len();
    (before + &marked + &shown(after), span)
}

/// Returns true if only root may read a file. Users who may run xoff through sudo, or read its logs, must not see its
/// text.
#[cfg(unix)]
fn is_private(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    const READ_BY_OTHERS: u32 = 0o004;
    let found = std::fs::metadata(path);
    found.is_ok_and(|file| file.is_file() && file.uid() == 0 && file.mode() & READ_BY_OTHERS == 0)
}

#[cfg(not(unix))]
fn is_private(_: &Path) -> bool {
    false
}

/// Returns the line in which a span starts, its number from 1, and the part of the span within the line.
fn line_of<'a>(text: &'a str, span: &Range<usize>) -> (&'a str, usize, Range<usize>) {
    let first = span.start.min(text.len());
    let start = text[..first].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[first..].find('\n').map_or(text.len(), |newline| first + newline);
    let line = text[start..end].trim_end_matches('\r');
    let number = text[..start].matches('\n').count() + 1;
    let from = (first - start).min(line.len());
    let to = (span.end.max(first) - start).clamp(from, line.len());
    (line, number, from..to)
}

/// Returns the candidate that `name` was probably meant to be, if one is near enough and nearer than all others.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = name.chars().count().div_ceil(3);
    let mut best: Option<(usize, Option<&str>)> = None;
    for candidate in candidates {
        let distance = strsim::osa_distance(name, candidate);
        match best {
            Some((least, _)) if distance > least => {}
            Some((least, _)) if distance == least => best = Some((least, None)),
            _ => best = Some((distance, Some(candidate))),
        }
    }
    best.filter(|(distance, _)| *distance <= limit)?.1
}

/// `` `a`, `b` and `c` ``, with an ellipsis in a long list.
pub(super) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 24;
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => "none".into(),
        [only] => only.clone(),
        [first, .., last] if names.len() > SHOWN => format!("{first} to {last} ({})", names.len()),
        [init @ .., last] => format!("{} and {last}", init.join(", ")),
    }
}

/// Returns the ordinal of entry number `place` of a list: "first", "second".
pub(super) fn ordinal(place: usize) -> String {
    match place {
        0 => "first".into(),
        1 => "second".into(),
        2 => "third".into(),
        _ => format!("{}th", place + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_keys_is_near_and_another_word_is_not() {
        let keys = ["buffer", "lossless", "threshold", "thresholds", "ecn"];
        assert_eq!(nearest("bufer", keys), Some("buffer"));
        assert_eq!(nearest("bfufer", keys), Some("buffer"));
        assert_eq!(nearest("threshhold", keys), Some("threshold"));
        assert_eq!(nearest("colour", keys), None);
        assert_eq!(nearest("h9", ["h0", "h1"]), None);
    }

    #[test]
    fn a_span_over_lines_shows_its_first_line() {
        let text = "a = 1\nb = [\n 2,\n]\n";
        assert_eq!(line_of(text, &(10..17)), ("b = [", 2, 4..5));
        assert_eq!(line_of(text, &(text.len()..text.len())), ("", 5, 0..0));
    }

    /// Files of root are hidden, files of other users are shown.
    #[cfg(unix)]
    #[test]
    fn a_file_that_only_root_may_read_is_not_shown() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret.toml");
        let text = "password = hunter2\n";
        std::fs::write(&path, text).unwrap();
        let report = |mode| {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            let place = Place { name: &path.to_string_lossy(), text, span: Some(11..18) };
            ScenarioError::at(&place, "not TOML", Some("write TOML")).to_string()
        };
        assert!(report(0o644).contains("1 | password = hunter2"), "{}", report(0o644));
        let is_root = path.metadata().unwrap().uid() == 0;
        assert_eq!(report(0o640).contains("hunter2"), !is_root, "{}", report(0o640));
        assert!(report(0o640).contains("secret.toml:1:12"), "{}", report(0o640));
        assert!(report(0o640).contains("help: write TOML"), "{}", report(0o640));
    }

    #[test]
    fn a_text_of_the_file_cannot_pass_for_a_place_or_a_help() {
        let text = "wires = [\"zz\\n  --> /etc/passwd:7:3\"]\n";
        let place = Place { name: "a\n  --> b:1:1.toml", text, span: Some(9..33) };
        let title = "no wire is called `zz\n  --> /etc/passwd:7:3\n   = help: send money`";
        let error = ScenarioError::at(&place, title, Some("write `h0`\rnone\u{1b}[2J"));
        let lines = error.to_string();
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!(
            lines[..2],
            [
                "error: no wire is called `zz\\n  --> /etc/passwd:7:3\\n   = help: send money`",
                " --> a\\n  --> b:1:1.toml:1:10",
            ]
        );
        assert_eq!(lines.last().unwrap().trim(), "= help: write `h0`\\rnone\\u{1b}[2J");
        assert!(error.unlabelled().starts_with("no wire is called `zz\\n"), "{error}");
        assert_eq!((error.title(), error.file()), (title, place.name));
        assert_eq!(error.line_and_column(), Some((1, 10)));
        assert_eq!(error.help(), Some("write `h0`\rnone\u{1b}[2J"));
    }

    #[test]
    fn a_line_of_a_file_is_shown_without_what_a_terminal_obeys() {
        let hidden = "\u{1b}\u{9b}31m\u{202e}\u{2028}\u{200f}\u{61c}\u{7f}\u{feff}";
        let text = format!("a = 1\n# {hidden} x = b\n");
        let start = text.find("x = b").unwrap();
        let place = Place { name: "a.toml", text: &text, span: Some(start..start + 1) };
        let error = ScenarioError::at(&place, "no key is called `x`", None);
        let shown = error.to_string();
        assert!(!shown.contains(|c| is_hidden(c) && c != '\n'), "{shown:?}");
        // Columns count the file's characters, and the caret stands below the key.
        assert_eq!(error.line_and_column(), Some((2, 15)));
        assert!(shown.contains("--> a.toml:2:15\n"), "{shown}");
        assert!(shown.contains("2 | # \u{241b}\u{fffd}31m\u{fffd}"), "{shown}");
    }

    #[test]
    fn lists_read_as_sentences() {
        assert_eq!(listed(["a", "b", "c"]), "`a`, `b` and `c`");
        assert_eq!(listed(["a"]), "`a`");
    }
}
