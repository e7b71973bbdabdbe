//! Checks that a change must pass besides its tests.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{demo, ebpf, fuzz, packages, process, workspace};

const CARGO_DENY_VERSION: &str = "0.20.2";
/// Folders of the machines on which the project is written: no file may depend on them. In halves, so
/// that this file passes its own check.
const WORKPLACES: [&str; 2] = [concat!("/wo", "rk/"), concat!("/ro", "ot/")];

/// Runs every check, then reports the failed checks.
pub fn run_all() -> Result<()> {
    type Check = fn() -> Result<()>;
    let checks: [(&str, Check); 8] = [
        ("format", format),
        ("TOML", toml),
        ("paths", paths),
        ("lints", lints),
        ("lints of the eBPF programs", ebpf::lints),
        ("lints of the fuzz targets", fuzz::lints),
        ("documentation", documentation),
        ("eBPF object", ebpf::check),
    ];
    let mut failed = Vec::new();
    for (name, check) in checks {
        eprintln!("== {name} ==");
        if let Err(failure) = check() {
            eprintln!("failed: {failure:#}");
            failed.push(name);
        }
    }
    if !failed.is_empty() {
        bail!("{} of {} checks failed: {}", failed.len(), checks.len(), failed.join(", "));
    }
    eprintln!("all {} checks passed", checks.len());
    Ok(())
}

/// Checks the dependencies with cargo-deny, which is built on the first run.
pub fn dependencies() -> Result<()> {
    let cargo_deny = packages::cargo_program("cargo-deny", CARGO_DENY_VERSION, &[])?;
    process::run(Command::new(cargo_deny).arg("check").current_dir(workspace::root()))
}

fn format() -> Result<()> {
    process::run(process::cargo("fmt").args(["--all", "--check"]))?;
    for manifest in ["switch-ebpf/Cargo.toml", "fuzz/Cargo.toml"] {
        process::run(process::cargo("fmt").args(["--check", "--manifest-path", manifest]))?;
    }
    Ok(())
}

fn toml() -> Result<()> {
    let mut taplo = Command::new(packages::taplo()?);
    process::run(taplo.args(["format", "--check"]).current_dir(workspace::root()))
}

fn paths() -> Result<()> {
    let mut found = Vec::new();
    for file in workspace::files()? {
        let content = std::fs::read(workspace::root().join(&file))
            .with_context(|| format!("reading {}", file.display()))?;
        let lines = content.split(|&byte| byte == b'\n').enumerate();
        for (index, line) in
            lines.filter(|(_, line)| WORKPLACES.iter().any(|path| names(line, path)))
        {
            let text = String::from_utf8_lossy(line);
            found.push(format!("  {}:{}: {}", file.display(), index + 1, text.trim()));
        }
    }
    if !found.is_empty() {
        bail!("files speak of folders that only the author's machine has:\n{}", found.join("\n"));
    }
    Ok(())
}

/// Returns true if `line` holds the absolute path `folder`, and not as the tail of a longer path.
fn names(line: &[u8], folder: &str) -> bool {
    let starts = |at: &usize| line[*at..].starts_with(folder.as_bytes());
    let is_absolute = |at: usize| at == 0 || !is_part_of_path(line[at - 1]);
    (0..line.len()).filter(starts).any(is_absolute)
}

fn is_part_of_path(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._-~}".contains(&byte)
}

/// Features of `xoff` with the memory datapath alone.
const MEMORY_ALONE: &str = "xoff/import,xoff/papers,xoff/parquet";

fn lints() -> Result<()> {
    let mut clippy = process::cargo("clippy");
    process::run(clippy.args(["--workspace", "--all-targets", "--", "--deny", "warnings"]))?;
    // The memory datapath alone, as other systems than Linux build it.
    let mut clippy = process::cargo("clippy");
    for package in ["terminal", "sweep", "analysis", "papers", "xoff"] {
        clippy.args(["--package", package]);
    }
    clippy.args(["--no-default-features", "--all-targets"]);
    process::run(clippy.args(["--features", MEMORY_ALONE, "--", "--deny", "warnings"]))?;
    let mut clippy = process::cargo("clippy");
    clippy.args(["--package", "xoff"]).args(demo::FEATURES);
    process::run(clippy.args(["--", "--deny", "warnings"]))
}

fn documentation() -> Result<()> {
    let mut doc = process::cargo("doc");
    process::run(doc.args(["--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "--deny warnings"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workplace_is_distinguished_from_the_tail_of_another_path() {
        let workplace = WORKPLACES[0];
        assert!(names(format!("see {workplace}notes").as_bytes(), workplace));
        assert!(names(format!("{workplace}notes").as_bytes(), workplace));
        assert!(!names(format!("https://example.org{workplace}notes").as_bytes(), workplace));
        assert!(!names(b"a framework", workplace));
    }
}
