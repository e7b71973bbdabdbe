//! The eBPF object: built with a pinned compiler and linker, stripped of DWARF, with equal bytes from every folder and
//! machine. `switch-user` embeds the committed object.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::toolchain::Toolchain;
use crate::{crate_metadata, linker, process, workspace};

/// Path of the committed object, relative to the workspace.
pub const COMMITTED: &str = "switch-user/ebpf/xoff.bpf.o";
/// The binary target of `switch-ebpf`.
const BINARY: &str = "xoff";

/// Builds the object and puts it where it is committed.
pub fn build_committed() -> Result<()> {
    let built = build(&["--locked"], "xoff.bpf.o")?;
    let committed = workspace::root().join(COMMITTED);
    if let Some(folder) = committed.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let bytes = std::fs::copy(&built, &committed)
        .with_context(|| format!("writing {}", committed.display()))?;
    eprintln!("{COMMITTED}: {bytes} bytes");
    Ok(())
}

/// Builds the object with events over aya-log, beside the committed one.
pub fn build_with_events() -> Result<()> {
    let built = build(&["--locked", "--features", "log-events"], "xoff.log-events.bpf.o")?;
    eprintln!("{}: {} bytes", built.display(), std::fs::metadata(&built)?.len());
    Ok(())
}

/// Fails unless a fresh build gives the committed object, byte for byte.
pub fn check() -> Result<()> {
    let committed = workspace::root().join(COMMITTED);
    let expected = std::fs::read(&committed).with_context(|| {
        format!("reading {COMMITTED}, the committed object (`cargo xtask build-ebpf` makes it)")
    })?;
    let built = build(&["--locked"], "xoff.bpf.o")?;
    let actual = std::fs::read(&built).with_context(|| format!("reading {}", built.display()))?;
    if actual == expected {
        eprintln!("{COMMITTED} is what its sources give: {} bytes", expected.len());
        return Ok(());
    }
    process::run(Command::new("sha256sum").arg(&committed).arg(&built))?;
    let common = expected.iter().zip(&actual).take_while(|(left, right)| left == right).count();
    bail!(
        "{COMMITTED} is not what its sources give: {} bytes are committed, {} were built, and they \
         differ from byte {common} on; run `cargo xtask build-ebpf` and commit its result",
        expected.len(),
        actual.len()
    );
}

/// Lints the eBPF programs with their own compiler's clippy: for the host they do not compile.
pub fn lints() -> Result<()> {
    let toolchain = Toolchain::install()?;
    toolchain.add_component("clippy")?;
    let mut clippy = cargo(&toolchain, "clippy")?;
    process::run(clippy.args(["--locked", "--", "--deny", "warnings"]))
}

/// Builds `switch-ebpf` and returns the stripped object's path in the target folder.
fn build(options: &[&str], name: &str) -> Result<PathBuf> {
    let toolchain = Toolchain::install()?;
    process::run(cargo(&toolchain, "build")?.args(options)).context("building switch-ebpf")?;

    let target_dir = target_dir();
    let linked = target_dir.join(crate_metadata::TARGET).join("release").join(BINARY);
    let stripped = target_dir.join(name);
    process::run(toolchain.objcopy()?.arg("--strip-debug").args([&linked, &stripped]))?;
    refuse_local_paths(&stripped, &local_folders(&toolchain)?)?;
    Ok(stripped)
}

/// A cargo command on `switch-ebpf` with everything that the object depends on.
fn cargo(toolchain: &Toolchain, subcommand: &str) -> Result<Command> {
    let linker = linker::install(toolchain)?;
    let mut cargo = toolchain.command("cargo");
    cargo
        .args([subcommand, "--release", "--bin", BINARY, "--target", crate_metadata::TARGET])
        .args(["-Z", "build-std=core"])
        .current_dir(workspace::root().join("switch-ebpf"))
        .env("CARGO_TARGET_DIR", target_dir())
        .env("CARGO_TARGET_BPFEL_UNKNOWN_NONE_LINKER", linker)
        .env("CARGO_ENCODED_RUSTFLAGS", compiler_flags(toolchain)?.join("\x1f"));
    crate_metadata::wrap(&mut cargo)?;
    Ok(cargo)
}

/// The eBPF build's own target folder: plain cargo commands must not meet its artefacts.
fn target_dir() -> PathBuf {
    workspace::target_dir().join("ebpf")
}

/// DWARF is requested because BTF is made from it; the DWARF itself is stripped afterwards.
///
/// bpf-linker makes LLVM expand copies in order, and in this mode LLVM does not expand `memset`: it becomes a call of a
/// loop that writes one byte per iteration. A record's header has dozens of zero bytes.
fn compiler_flags(toolchain: &Toolchain) -> Result<Vec<String>> {
    let linker = ["-Clink-arg=--btf", "-Clink-arg=--disable-expand-memcpy-in-order"];
    let mut flags = ["-Ctarget-cpu=v3", "-Cdebuginfo=2"].map(String::from).to_vec();
    flags.extend(linker.map(String::from));
    // aya-ebpf's build script would take this from the host. XDP and TC use no registers, so a fixed value for every
    // host keeps the object equal and costs nothing.
    flags.extend(["--cfg".to_owned(), "bpf_target_arch=\"x86_64\"".to_owned()]);
    for (folder, name) in local_folders(toolchain)? {
        flags.push(format!("--remap-path-prefix={}={name}", folder.display()));
    }
    Ok(flags)
}

/// Folders whose paths differ from machine to machine, and their names in the object. Of several that
/// match, the compiler takes the last: the outermost comes first.
fn local_folders(toolchain: &Toolchain) -> Result<[(PathBuf, &'static str); 3]> {
    let cargo_home = match std::env::var_os("CARGO_HOME").filter(|path| !path.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None => std::env::home_dir().context("neither CARGO_HOME nor HOME is set")?.join(".cargo"),
    };
    let sysroot = toolchain.sysroot.clone();
    Ok([(workspace::root(), "/xoff"), (cargo_home, "/cargo"), (sysroot, "/rust")])
}

fn refuse_local_paths(object: &Path, folders: &[(PathBuf, &str)]) -> Result<()> {
    let bytes = std::fs::read(object).with_context(|| format!("reading {}", object.display()))?;
    for (folder, _) in folders {
        let path = folder.as_os_str().as_encoded_bytes();
        if bytes.windows(path.len()).any(|window| window == path) {
            bail!("{} contains {}, a path of this machine", object.display(), folder.display());
        }
    }
    Ok(())
}
