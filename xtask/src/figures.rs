//! Figures of the papers at the scale that ships with its numbers, repeated by the optimised binary. A change that moves
//! results shows here: `xoff reproduce PAPER --write-check` and the document are to follow.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{process, static_build, workspace};

/// The file in a paper's folder of scenarios that has the numbers.
const NUMBERS: &str = "check.csv";

/// Repeats the figures of every paper that has numbers; one that fails does not hide the next.
pub fn run() -> Result<()> {
    let build = workspace::target_dir().join("dist/build");
    let xoff =
        static_build::build(&workspace::root(), &build, static_build::XOFF, None)?.join("xoff");
    let mut failed = Vec::new();
    for paper in papers()? {
        let out = workspace::target_dir().join("figures").join(&paper);
        // Runs of an earlier build would be taken for this one's.
        if out.exists() {
            fs::remove_dir_all(&out).with_context(|| format!("{}", out.display()))?;
        }
        let mut reproduce = Command::new(&xoff);
        reproduce.args(["reproduce", &paper, "--check", "--out"]).arg(&out);
        if process::run(reproduce.current_dir(workspace::root())).is_err() {
            failed.push(paper);
        }
    }
    if !failed.is_empty() {
        bail!("figures differ from the numbers that ship: {}", failed.join(", "));
    }
    Ok(())
}

/// Names of the papers, sorted.
fn papers() -> Result<Vec<String>> {
    let folder = workspace::root().join("scenarios");
    let entries = fs::read_dir(&folder).with_context(|| format!("{}", folder.display()))?;
    let with_numbers = entries.flatten().filter(|entry| entry.path().join(NUMBERS).is_file());
    let mut papers: Vec<String> =
        with_numbers.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    papers.sort();
    Ok(papers)
}

#[cfg(test)]
mod tests {
    #[test]
    fn five_papers_have_numbers() {
        let papers = super::papers().expect("the scenarios are there");
        assert_eq!(papers, ["bfc", "bshare", "dsh", "ofc", "spfc"]);
    }
}
