//! One change of the code, as cargo-mutants describes it, and a sample of many.

use serde::Deserialize;

/// A change.
#[derive(Clone, Debug, Deserialize)]
pub struct Mutant {
    /// `file:line:column: change`.
    pub name: String,
    /// The file, relative to the workspace.
    pub file: String,
    span: Span,
    replacement: String,
}

/// Range of the replaced text, from `start` up to, not including, `end`.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Span {
    start: Place,
    end: Place,
}

/// Line and column, both from 1; columns are characters.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Place {
    line: usize,
    column: usize,
}

impl Mutant {
    /// Description of the change, without its place.
    pub fn change(&self) -> &str {
        self.name.split_once(": ").map_or(self.name.as_str(), |(_, change)| change)
    }

    /// The line of `source` where the change starts, without indentation.
    pub fn line<'a>(&self, source: &'a str) -> &'a str {
        source.lines().nth(self.span.start.line - 1).unwrap_or_default().trim()
    }

    /// `source` with the change; `None` if it has no such place.
    pub fn apply(&self, source: &str) -> Option<String> {
        let (start, end) = (offset(source, self.span.start)?, offset(source, self.span.end)?);
        let (before, after) = (source.get(..start)?, source.get(end..)?);
        // The spaces separate a replaced operator from the text behind it.
        Some(format!("{before} {} {after}", self.replacement))
    }
}

fn offset(source: &str, place: Place) -> Option<usize> {
    let lines = source.split_inclusive('\n');
    let start: usize = lines.clone().take(place.line - 1).map(str::len).sum();
    let line = lines.clone().nth(place.line - 1)?;
    let column = line.chars().take(place.column - 1).map(char::len_utf8).sum::<usize>();
    Some(start + column)
}

/// Draws `count` of the mutants whose names contain `text`, or all if `count` is 0, in order of their files.
pub fn sample(mut mutants: Vec<Mutant>, text: &str, count: usize, seed: u64) -> Vec<Mutant> {
    mutants.retain(|mutant| mutant.name.contains(text));
    if count > 0 {
        mutants.sort_by_cached_key(|mutant| (scatter(&mutant.name, seed), mutant.name.clone()));
        mutants.truncate(count);
    }
    mutants.sort_by_cached_key(|mutant| {
        let Place { line, column } = mutant.span.start;
        (mutant.file.clone(), line, column, mutant.name.clone())
    });
    mutants
}

/// A number independent of the order of names: FNV-1a, then the last step of `SplitMix64`.
fn scatter(name: &str, seed: u64) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hash = name
        .bytes()
        .fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ hash >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(file: &str, line: usize) -> Mutant {
        Mutant {
            name: format!("{file}:{line}:6: replace < with <= in f"),
            file: file.to_owned(),
            span: Span { start: Place { line, column: 6 }, end: Place { line, column: 7 } },
            replacement: "<=".to_owned(),
        }
    }

    fn mutants(count: usize) -> Vec<Mutant> {
        (0..count).map(|n| mutant(&format!("core/src/{}.rs", n % 3), n + 1)).collect()
    }

    fn names(mutants: &[Mutant]) -> Vec<&str> {
        mutants.iter().map(|mutant| mutant.name.as_str()).collect()
    }

    #[test]
    fn a_seed_draws_the_same_mutants_whatever_their_order() {
        let forward = sample(mutants(500), "", 20, 7);
        let mut reversed = mutants(500);
        reversed.reverse();
        assert_eq!(names(&forward), names(&sample(reversed, "", 20, 7)));
        assert_eq!(forward.len(), 20);
        assert_ne!(names(&forward), names(&sample(mutants(500), "", 20, 8)));
        let one = sample(mutants(500), "core/src/1.rs", 20, 7);
        assert!(one.iter().all(|mutant| mutant.file == "core/src/1.rs"));
        assert_eq!(sample(mutants(500), "", 0, 7).len(), 500);
    }

    #[test]
    fn a_change_is_made_at_its_place_only() {
        let source = "// é <\nif ä < b {\n}\n";
        let mutant = mutant("a.rs", 2);
        assert_eq!(mutant.apply(source).as_deref(), Some("// é <\nif ä  <=  b {\n}\n"));
        assert_eq!(mutant.line(source), "if ä < b {");
        assert_eq!(mutant.change(), "replace < with <= in f");
        assert_eq!(mutant.apply("one line"), None);
    }
}
