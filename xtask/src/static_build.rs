//! Static binaries: musl's library inside, no loader, no shared library, and no path of the machine that built them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{packages, process};

/// Package and binary of xoff, for callers that need no other binary.
pub const XOFF: &[(&str, &str)] = &[("xoff", "xoff")];

/// Target triple of the binaries.
pub const TARGET: &str = "x86_64-unknown-linux-musl";
/// Variable with the commit for a build, by which its runs in sweeps are named.
const COMMIT_VARIABLE: &str = "XOFF_GIT_COMMIT";
/// The profile of `Cargo.toml`.
const PROFILE: &str = "dist";
/// Bytes that a binary may have: initramfs and test machines are small.
const LIMIT: u64 = 20_000_000;

/// Builds the packages of `binaries` from the workspace at `sources` into `target_dir`; returns the folder of the
/// binaries. With `commit` they are a release of that commit, otherwise a development build.
pub fn build(
    sources: &Path,
    target_dir: &Path,
    binaries: &[(&str, &str)],
    commit: Option<&str>,
) -> Result<PathBuf> {
    if cfg!(not(target_arch = "x86_64")) {
        bail!("static binaries are built on x86-64 and for it: this machine is another one");
    }
    add_target()?;
    let home = std::env::home_dir().unwrap_or_default();
    let cargo_home = std::env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), Into::into);
    // If two prefixes match, the later one counts.
    let remapped = [(cargo_home.as_path(), "/cargo"), (sources, "/xoff")];
    let flags = remapped.map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()));
    let mut cargo = process::cargo("build");
    process::without_build_settings(&mut cargo)
        .current_dir(sources)
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
        .args(["--locked", "--profile", PROFILE, "--target", TARGET, "--target-dir"])
        .arg(target_dir);
    cargo.envs(commit.map(|commit| (COMMIT_VARIABLE, commit)));
    cargo.args(binaries.iter().flat_map(|(package, _)| ["--package", package]));
    process::run(&mut cargo)?;
    packages::binutils()?;
    let stripped = target_dir.join("stripped");
    fs::create_dir_all(&stripped)?;
    for (_, binary) in binaries {
        let built = target_dir.join(TARGET).join(PROFILE).join(binary);
        let stripped = stripped.join(binary);
        // A profile's `strip` is forgotten for packages that have settings of their own (cargo 1.95).
        process::run(Command::new("strip").arg("-o").arg(&stripped).arg(&built))?;
        check(&stripped)?;
    }
    Ok(stripped)
}

/// Refuses a binary that needs a loader or is too large.
fn check(binary: &Path) -> Result<()> {
    let headers =
        process::output(Command::new("readelf").args(["--wide", "--program-headers"]).arg(binary))?;
    if String::from_utf8_lossy(&headers).contains("INTERP") {
        bail!("{} asks for a loader: it is not static", binary.display());
    }
    let length = fs::metadata(binary).with_context(|| format!("{}", binary.display()))?.len();
    if length > LIMIT {
        bail!("{} has {length} bytes, and at most {LIMIT} are wanted", binary.display());
    }
    Ok(())
}

/// Makes sure that the compiler has musl's library.
fn add_target() -> Result<()> {
    let folder = process::output(Command::new("rustc").args([
        "--print",
        "target-libdir",
        "--target",
        TARGET,
    ]))?;
    if Path::new(String::from_utf8_lossy(&folder).trim_end()).is_dir() {
        return Ok(());
    }
    process::run(Command::new("rustup").args(["target", "add", TARGET])).with_context(|| {
        format!("static binaries need the standard library for {TARGET}, which rustup installs")
    })
}
