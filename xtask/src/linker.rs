//! bpf-linker, built once against the libLLVM that the pinned compiler brings along.
//!
//! Its LLVM must not be older than the compiler's (`Invalid record` otherwise), and another LLVM gives another object.
//! So only the compiler's own library is right, and no system package is needed.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::toolchain::{Toolchain, folder_entries};
use crate::{process, workspace};

const VERSION: &str = "0.13.0";
/// The major version of the pinned compiler's LLVM.
const LLVM_FEATURE: &str = "llvm-22";

/// The path of bpf-linker for `toolchain`; builds it if it is not there (half a minute).
pub fn install(toolchain: &Toolchain) -> Result<PathBuf> {
    let folder = workspace::target_dir().join(format!("bpf-linker-{VERSION}-{}", toolchain.name));
    let linker = folder.join("bin/bpf-linker");
    if process::succeeds(Command::new(&linker).arg("--version")) {
        return Ok(linker);
    }
    let prefix = link_llvm(toolchain, &folder)?;
    let rpath = format!("-C link-arg=-Wl,-rpath,{}", toolchain.libraries().display());
    let mut install = process::cargo("install");
    process::without_build_settings(&mut install)
        .args(["bpf-linker", "--version", VERSION, "--locked", "--force", "--no-default-features"])
        .args(["--features", LLVM_FEATURE, "--root"])
        .arg(&folder)
        .env("LLVM_PREFIX", prefix)
        .env("RUSTFLAGS", rpath);
    process::run(&mut install)
        .context("building bpf-linker (it needs a C linker and crates.io)")?;
    Ok(linker)
}

/// bpf-linker's build looks for `lib/libLLVM.so` below a prefix; the toolchain has it under a longer
/// name.
fn link_llvm(toolchain: &Toolchain, folder: &Path) -> Result<PathBuf> {
    let libraries = toolchain.libraries();
    let library = folder_entries(&libraries)?
        .into_iter()
        .find(|path| path.to_string_lossy().contains("/libLLVM.so."))
        .with_context(|| format!("no libLLVM.so.* in {}", libraries.display()))?;
    let prefix = folder.join("llvm");
    let link = prefix.join("lib/libLLVM.so");
    let making = || format!("linking {} to {}", link.display(), library.display());
    std::fs::create_dir_all(prefix.join("lib")).with_context(making)?;
    if link.is_symlink() {
        std::fs::remove_file(&link).with_context(making)?;
    }
    symlink(&library, &link).with_context(making)?;
    Ok(prefix)
}
