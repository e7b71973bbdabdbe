//! Running other programs: shown before they run, and an error with the whole line if they fail.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::workspace;

/// A cargo command in the workspace, with the toolchain that runs this program.
pub fn cargo(subcommand: &str) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.arg(subcommand).current_dir(workspace::root());
    cargo
}

/// Removes from `command` all settings of the caller's environment that affect Rust builds, so that
/// equal sources give equal bytes in every shell. Settings of cargo's caches and downloads stay.
pub fn without_build_settings(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        if is_build_setting(&name.to_string_lossy()) {
            command.env_remove(name);
        }
    }
    command
}

fn is_build_setting(name: &str) -> bool {
    const KEPT: [&str; 4] = ["CARGO_HOME", "CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTR"];
    if name.starts_with("CARGO_") {
        return !KEPT.iter().any(|kept| name.starts_with(kept));
    }
    name == "CARGO" || name.starts_with("RUSTC") || name.ends_with("FLAGS")
}

/// Shows and runs `command`; its output goes to the terminal.
pub fn run(command: &mut Command) -> Result<()> {
    let line = line_of(command);
    eprintln!("$ {line}");
    let status = command.stdin(Stdio::null()).status().with_context(|| not_started(command))?;
    if !status.success() {
        bail!("`{line}`: {status}");
    }
    Ok(())
}

/// Runs `command` without printing, and returns its standard output.
pub fn output(command: &mut Command) -> Result<Vec<u8>> {
    let ended = command.stdin(Stdio::null()).output().with_context(|| not_started(command))?;
    if !ended.status.success() {
        let complaint = String::from_utf8_lossy(&ended.stderr);
        bail!("`{}`: {}\n{}", line_of(command), ended.status, complaint.trim_end());
    }
    Ok(ended.stdout)
}

/// Returns true if `command` can be started and succeeds. Its output is dropped.
pub fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn not_started(command: &Command) -> String {
    format!("cannot start `{}`", command.get_program().display())
}

pub fn line_of(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_settings_are_distinguished_from_cargos_own_places() {
        for setting in ["CARGO", "CARGO_BUILD_RUSTFLAGS", "CARGO_TARGET_DIR", "RUSTFLAGS"] {
            assert!(is_build_setting(setting), "{setting}");
        }
        for setting in ["RUSTC_WRAPPER", "CARGO_PROFILE_RELEASE_LTO", "CARGO_ENCODED_RUSTFLAGS"] {
            assert!(is_build_setting(setting), "{setting}");
        }
        for place in ["CARGO_HOME", "CARGO_NET_OFFLINE", "RUSTUP_HOME", "PATH", "HOME"] {
            assert!(!is_build_setting(place), "{place}");
        }
    }

    #[test]
    fn a_failure_shows_the_whole_line() {
        let failure = run(Command::new("false").arg("--word")).unwrap_err();
        assert!(failure.to_string().contains("`false --word`"), "{failure}");
        assert!(run(&mut Command::new("true")).is_ok());
        assert!(!succeeds(&mut Command::new("/nowhere/at-all")));
    }
}
