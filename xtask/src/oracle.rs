//! A record of everything that a change of the code's shape must not move: help, schemas, resolved scenarios, errors,
//! results on one and three threads and on the kernel datapath, the papers' numbers, generated documents, the eBPF object.
//!
//! The record is committed, a line for each thing with the hash of its bytes, so that the diff of a change lists what it moved.

mod probes;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use crate::{privilege, process, workspace};

/// The committed record, relative to the workspace.
const RECORD: &str = "xtask/src/oracle/record.txt";

/// The use of the record.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Action {
    /// Write the record of these sources
    Record,
    /// Compare these sources with the record, and list what has moved
    Check,
}

/// Names of things and hashes of their bytes.
type Record = BTreeMap<String, String>;

/// Records or checks, with a release build of these sources.
pub fn run(action: Action) -> Result<()> {
    privilege::require_root("the oracle", "oracle check", None)?;
    process::run(process::cargo("build").args(["--release", "--package", "xoff"]))?;
    let now = probes::take(&workspace::target_dir().join("release/xoff"))?;
    let path = workspace::root().join(RECORD);
    match action {
        Action::Record => {
            std::fs::write(&path, format(&now)).with_context(|| path.display().to_string())?;
            println!("{} things are recorded in {RECORD}", now.len());
            Ok(())
        }
        Action::Check => {
            let text = std::fs::read_to_string(&path)
                .with_context(|| format!("reading {RECORD}; make it with `oracle record`"))?;
            let moved = difference(&parse(&text), &now);
            if moved.is_empty() {
                println!("all {} things are as recorded", now.len());
                return Ok(());
            }
            let folder = moved_outputs();
            bail!(
                "{} of {} things have moved:\n  {}\nTheir bytes are in {}. If that is meant, run `cargo xtask oracle record`.",
                moved.len(),
                now.len(),
                moved.join("\n  "),
                folder.display()
            );
        }
    }
}

/// Folder of the last run's bytes.
fn moved_outputs() -> PathBuf {
    workspace::target_dir().join("oracle")
}

fn format(record: &Record) -> String {
    record.iter().fold(String::new(), |mut text, (name, hash)| {
        let _ = writeln!(text, "{hash} {name}");
        text
    })
}

fn parse(text: &str) -> Record {
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.map(|(hash, name)| (name.to_owned(), hash.to_owned())).collect()
}

/// Names whose hashes differ, or that only one of the records has.
fn difference(before: &Record, now: &Record) -> Vec<String> {
    let changed = now.iter().filter_map(|(name, hash)| match before.get(name) {
        None => Some(format!("{name} (new)")),
        Some(old) if old != hash => Some(name.clone()),
        Some(_) => None,
    });
    let gone = before.keys().filter(|name| !now.contains_key(*name));
    changed.chain(gone.map(|name| format!("{name} (gone)"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_read_back_differs_in_nothing() {
        let record = Record::from([("help/xoff run".to_owned(), "ab".to_owned())]);
        assert_eq!(difference(&parse(&format(&record)), &record), Vec::<String>::new());
    }

    #[test]
    fn changed_new_and_missing_things_are_listed() {
        let before = parse("1 same\n1 changed\n1 missing\n");
        let now = parse("1 same\n2 changed\n1 added\n");
        assert_eq!(difference(&before, &now), ["added (new)", "changed", "missing (gone)"]);
    }
}
