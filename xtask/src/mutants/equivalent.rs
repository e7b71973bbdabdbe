//! Mutants that behave as the original does, which no test can catch: a committed list with the reason
//! of each.

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::mutant::Mutant;
use crate::workspace;

const FILE: &str = "xtask/equivalent-mutants.toml";

/// The list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Equivalents {
    #[serde(default)]
    mutant: Vec<Equivalent>,
}

/// One or several mutants that are equivalent for one reason.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Equivalent {
    /// The file, relative to the workspace.
    file: String,
    /// The changed line of source, without its indentation. It identifies the place even if lines are added above it.
    line: String,
    /// The changes, as cargo-mutants words them.
    changes: Vec<String>,
    /// The reason why no test can detect the change.
    reason: String,
    /// Changes of `changes` that are in the code.
    #[serde(skip)]
    seen: Vec<String>,
}

impl Equivalents {
    /// Reads the committed list.
    pub fn load() -> Result<Self> {
        let text = std::fs::read_to_string(workspace::root().join(FILE));
        Self::parse(&text.with_context(|| format!("reading {FILE}"))?)
    }

    fn parse(text: &str) -> Result<Self> {
        let list: Self = toml::from_str(text).with_context(|| format!("reading {FILE}"))?;
        for Equivalent { file, line, reason, .. } in &list.mutant {
            if reason.trim().is_empty() {
                bail!("{FILE}: {file}, `{line}`: no reason is given");
            }
        }
        Ok(list)
    }

    /// Returns true if the list has `mutant`, which changes `line`.
    pub fn has(&mut self, mutant: &Mutant, line: &str) -> bool {
        let change = mutant.change();
        let entry = self.mutant.iter_mut().find(|entry| {
            entry.file == mutant.file
                && entry.line == line
                && entry.changes.iter().any(|listed| listed == change)
        });
        let Some(entry) = entry else { return false };
        entry.seen.push(change.to_owned());
        true
    }

    /// Fails unless each mutant of the list was queried: otherwise the code has changed since.
    pub fn refuse_unknown(&self) -> Result<()> {
        let unknown: Vec<String> = self
            .mutant
            .iter()
            .flat_map(|entry| {
                let missing = entry.changes.iter().filter(|change| !entry.seen.contains(change));
                missing.map(|change| format!("  {}: `{}`: {change}", entry.file, entry.line))
            })
            .collect();
        if !unknown.is_empty() {
            bail!("{FILE} has mutants that are not in the code:\n{}", unknown.join("\n"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = r#"
        [[mutant]]
        file = "a.rs"
        line = "if a < b {"
        changes = ["replace < with <= in f"]
        reason = "equal values take the same branch"
    "#;

    fn mutant(file: &str) -> Mutant {
        let json = format!(
            r#"{{"name": "{file}:3:6: replace < with <= in f", "file": "{file}", "replacement": "<=",
                "span": {{"start": {{"line": 3, "column": 6}}, "end": {{"line": 3, "column": 7}}}}}}"#
        );
        serde_json::from_str(&json).expect("a mutant")
    }

    #[test]
    fn a_mutant_is_known_by_file_line_of_source_and_change() {
        let mut list = Equivalents::parse(LIST).unwrap();
        assert!(!list.has(&mutant("b.rs"), "if a < b {"));
        assert!(!list.has(&mutant("a.rs"), "if a < c {"));
        assert!(list.refuse_unknown().is_err());
        assert!(list.has(&mutant("a.rs"), "if a < b {"));
        assert!(list.refuse_unknown().is_ok());
    }

    #[test]
    fn a_reason_is_needed() {
        assert!(
            Equivalents::parse(&LIST.replace("equal values take the same branch", " ")).is_err()
        );
    }

    #[test]
    fn the_committed_list_can_be_read() {
        Equivalents::load().unwrap();
    }
}
