//! Paths of the workspace, its target folder and its files.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::process;

/// The folder of the workspace's `Cargo.toml`.
///
/// `cargo run` names the package's folder at run time. That path has precedence: two clones that
/// share a target folder share this program, and the path compiled in may be the other clone's.
pub fn root() -> PathBuf {
    let running = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let xtask = running.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    let root = xtask.parent();
    root.expect("xtask is a folder of the workspace").to_path_buf()
}

/// Cargo's target folder: `CARGO_TARGET_DIR`, or `target` in the workspace.
pub fn target_dir() -> PathBuf {
    let chosen = std::env::var_os("CARGO_TARGET_DIR").filter(|path| !path.is_empty());
    root().join(chosen.map_or_else(|| PathBuf::from("target"), PathBuf::from))
}

/// Every file of the project: files that git tracks or would track, relative to the root.
pub fn files() -> Result<Vec<PathBuf>> {
    let listing = process::output(
        Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root()),
    )?;
    let names = listing.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    let files = names.map(|name| PathBuf::from(OsStr::from_bytes(name)));
    Ok(files.filter(|file| root().join(file).is_file()).collect())
}
