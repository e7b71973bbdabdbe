//! The compiler of the eBPF programs, pinned to the day: the committed object is its output.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;

/// The toolchain's name for rustup.
const CHANNEL: &str = "nightly-2026-05-20";
/// Another name under which this compiler may be installed, which saves a download.
const ALSO_CALLED: &str = "nightly";
/// Output of `rustc --version` of that compiler.
const VERSION: &str = "rustc 1.97.0-nightly (e50aa6fba 2026-05-19)";

/// The pinned toolchain as it is installed here, with the standard library's sources.
pub struct Toolchain {
    /// Name of the toolchain in rustup.
    pub name: &'static str,
    /// Folder of the toolchain.
    pub sysroot: PathBuf,
}

impl Toolchain {
    /// Finds the pinned toolchain, or installs it.
    pub fn install() -> Result<Self> {
        if !process::succeeds(Command::new("rustup").arg("--version")) {
            bail!(
                "rebuilding the eBPF object needs rustup, to install {CHANNEL}: see \
                 https://rustup.rs (everything else uses the committed object and needs none)"
            );
        }
        let name = match [CHANNEL, ALSO_CALLED].into_iter().find(|name| is_pinned(name)) {
            Some(name) => name,
            None => download()?,
        };
        let sysroot = process::output(rustup_run(name, "rustc").args(["--print", "sysroot"]))?;
        let sysroot = String::from_utf8(sysroot).context("the toolchain's path is not UTF-8")?;
        let toolchain = Self { name, sysroot: PathBuf::from(sysroot.trim_end()) };
        toolchain.add_sources()?;
        Ok(toolchain)
    }

    /// A command of this toolchain, free of the caller's build settings.
    pub fn command(&self, program: &str) -> Command {
        rustup_run(self.name, program)
    }

    /// The folder of the compiler's own libraries, libLLVM among them.
    pub fn libraries(&self) -> PathBuf {
        self.sysroot.join("lib")
    }

    /// LLVM's objcopy, which rustc brings along. It finds libLLVM only through its environment.
    pub fn objcopy(&self) -> Result<Command> {
        let targets = self.libraries().join("rustlib");
        let path = folder_entries(&targets)?
            .into_iter()
            .map(|target| target.join("bin/rust-objcopy"))
            .find(|path| path.is_file())
            .with_context(|| format!("no rust-objcopy in {}", targets.display()))?;
        let mut command = Command::new(path);
        command.env("LD_LIBRARY_PATH", self.libraries());
        Ok(command)
    }

    /// `core` is built from source: the target has no precompiled one.
    fn add_sources(&self) -> Result<()> {
        if self.sysroot.join("lib/rustlib/src/rust/library/core/src/lib.rs").is_file() {
            return Ok(());
        }
        self.add_component("rust-src")
    }

    /// Adds a component; does nothing if it is there.
    pub fn add_component(&self, component: &str) -> Result<()> {
        let mut rustup = Command::new("rustup");
        process::run(rustup.args(["component", "add", component, "--toolchain", self.name]))
    }
}

/// The entries of `folder`, in order of their names.
pub fn folder_entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let reading = || format!("reading {}", folder.display());
    let entries = std::fs::read_dir(folder).with_context(reading)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<Result<Vec<_>, _>>().with_context(reading)?;
    paths.sort();
    Ok(paths)
}

fn download() -> Result<&'static str> {
    process::run(Command::new("rustup").args([
        "toolchain",
        "install",
        CHANNEL,
        "--profile",
        "minimal",
        "--component",
        "rust-src",
        "--no-self-update",
    ]))
    .with_context(|| {
        format!(
            "cannot install the pinned compiler: provide {VERSION} as {CHANNEL} or {ALSO_CALLED}"
        )
    })?;
    if !is_pinned(CHANNEL) {
        bail!("rustup's {CHANNEL} is not {VERSION}, with which the committed object was built");
    }
    Ok(CHANNEL)
}

fn is_pinned(name: &str) -> bool {
    process::output(rustup_run(name, "rustc").arg("--version"))
        .is_ok_and(|version| version.trim_ascii() == VERSION.as_bytes())
}

/// Disables automatic installation in `rustup run`: a probe must not download a compiler.
fn rustup_run(name: &str, program: &str) -> Command {
    let mut command = Command::new("rustup");
    process::without_build_settings(&mut command);
    command.env_remove("RUSTUP_TOOLCHAIN").env("RUSTUP_AUTO_INSTALL", "0");
    command.args(["run", name, program]);
    command
}
