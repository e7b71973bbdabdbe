//! Programs that tests and checks call: found, or installed, or an error.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{process, workspace};

/// Tells tests which Python has scapy.
pub const PYTHON_VARIABLE: &str = "XOFF_PYTHON";
const SCAPY: &str = "scapy==2.6.1";
/// Tells tests which Python has what `docs/notebooks.md` imports.
pub const NOTEBOOK_PYTHON_VARIABLE: &str = "XOFF_NOTEBOOK_PYTHON";
const NOTEBOOK: [&str; 4] =
    ["pandas==3.1.1", "polars==2.1.0", "pyarrow==26.0.1", "matplotlib==3.11.2"];
const TAPLO: &str = "taplo==0.9.3";
/// Succeeds under a Python that has what the tests import.
const IMPORTS: &str = "import scapy.contrib.roce";

/// Makes sure that tshark can be called.
pub fn tshark() -> Result<()> {
    on_path("tshark", "--version", "tshark")
}

/// Makes sure that iproute2's `ip` can be called.
pub fn iproute() -> Result<()> {
    on_path("ip", "-Version", "iproute2")
}

/// Makes sure that `ping` can be called.
pub fn ping() -> Result<()> {
    on_path("ping", "-V", "iputils-ping")
}

/// Makes sure that `iperf3` can be called.
pub fn iperf3() -> Result<()> {
    on_path("iperf3", "--version", "iperf3")
}

/// Makes sure that C++ can be compiled.
pub fn cxx() -> Result<()> {
    on_path("c++", "--version", "g++")
}

/// Makes sure that a PC can be emulated.
pub fn qemu() -> Result<()> {
    on_path("qemu-system-x86_64", "--version", "qemu-system-x86")
}

/// Makes sure that a page can be opened in a browser.
pub fn chromium() -> Result<()> {
    on_path("chromium", "--version", "chromium")
}

/// Makes sure that debug information can be taken out of programs.
pub fn strip() -> Result<()> {
    on_path("strip", "--version", "binutils")
}

/// The folder below `folder` that holds the files of a Debian package, which is not installed.
pub fn unpacked(package: &str, folder: &Path) -> Result<PathBuf> {
    let target = folder.join(package);
    if target.exists() {
        return Ok(target);
    }
    let work = folder.join(format!("{package}.unpacking"));
    if work.exists() {
        std::fs::remove_dir_all(&work)?;
    }
    std::fs::create_dir_all(&work)?;
    let root = work.join("root");
    let mut download = apt();
    // apt's own user, who otherwise downloads for root, cannot write here.
    download.args(["--option", "APT::Sandbox::User=root", "download", package]);
    process::run(download.current_dir(&work))?;
    for entry in std::fs::read_dir(&work)? {
        process::run(Command::new("dpkg-deb").arg("--extract").arg(entry?.path()).arg(&root))?;
    }
    std::fs::rename(&root, &target)?;
    std::fs::remove_dir_all(&work)?;
    Ok(target)
}

/// Tries something with apt's packages, and once more after an update of its lists: a fresh machine has
/// none, and old ones name packages that are gone.
pub fn with_fresh_lists<T>(attempt: impl Fn() -> Result<T>) -> Result<T> {
    attempt().or_else(|failure| {
        process::run(apt().arg("update")).with_context(|| format!("{failure:#}"))?;
        attempt()
    })
}

/// The path of a Python with scapy's `RoCE` layer.
pub fn python_with_scapy() -> Result<PathBuf> {
    let own = environment().join("bin/python3");
    let candidates = [own.clone(), "python3".into(), "/usr/bin/python3".into()];
    if let Some(python) = candidates.into_iter().find(|python| has_scapy(python)) {
        return Ok(python);
    }
    let from_index = install_in_environment(SCAPY);
    if has_scapy(&own) {
        return Ok(own);
    }
    let from_distribution = install_package("python3-scapy");
    let system = PathBuf::from("/usr/bin/python3");
    if has_scapy(&system) {
        return Ok(system);
    }
    from_index.and(from_distribution)?;
    bail!("scapy is installed, and yet `{IMPORTS}` fails: install {SCAPY} for python3")
}

/// The path of a Python with pandas, polars, pyarrow and matplotlib, as `docs/notebooks.md` imports them.
pub fn python_for_notebooks() -> Result<PathBuf> {
    let python = environment().join("bin/python3");
    let names = NOTEBOOK.map(|it| it.split_once("==").map_or(it, |(name, _)| name));
    let imports = format!("import {}", names.join(", "));
    let imported = || process::succeeds(Command::new(&python).args(["-c", &imports]));
    if !imported() {
        for requirement in NOTEBOOK {
            install_in_environment(requirement)?;
        }
    }
    if imported() {
        return Ok(python);
    }
    bail!(
        "{} are installed, and yet `{imports}` fails: remove {}",
        names.join(", "),
        environment().display()
    )
}

/// The path of taplo, which checks TOML files.
pub fn taplo() -> Result<PathBuf> {
    let own = environment().join("bin/taplo");
    for taplo in [PathBuf::from("taplo"), own.clone()] {
        if process::succeeds(Command::new(&taplo).arg("--version")) {
            return Ok(taplo);
        }
    }
    install_in_environment(TAPLO)?;
    Ok(own)
}

/// The path of a program that cargo builds from crates.io, into a folder of its own in the target folder.
pub fn cargo_program(name: &str, version: &str) -> Result<PathBuf> {
    let folder = workspace::target_dir().join(format!("{name}-{version}"));
    let program = folder.join("bin").join(name);
    if !process::succeeds(Command::new(&program).arg("--help")) {
        let mut install = process::cargo("install");
        install.args([name, "--version", version, "--locked", "--root"]);
        process::run(install.arg(&folder)).with_context(|| format!("building {name}"))?;
    }
    Ok(program)
}

/// The Python environment in the target folder: nothing is installed into the system's Python.
fn environment() -> PathBuf {
    workspace::target_dir().join("python")
}

fn has_scapy(python: &Path) -> bool {
    process::succeeds(Command::new(python).args(["-c", IMPORTS]))
}

fn install_in_environment(requirement: &str) -> Result<()> {
    let folder = environment();
    let pip = folder.join("bin/pip");
    if !process::succeeds(Command::new(&pip).arg("--version")) {
        // Debian keeps ensurepip, without which an environment has no pip, in a package of its own.
        if !process::succeeds(Command::new("python3").args(["-c", "import ensurepip, venv"])) {
            install_package("python3-venv")?;
        }
        process::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    }
    process::run(Command::new(&pip).args(["install", "--quiet", requirement]))
        .with_context(|| format!("installing {requirement} from the Python package index"))
}

fn on_path(program: &str, probe: &str, package: &str) -> Result<()> {
    if process::succeeds(Command::new(program).arg(probe)) {
        return Ok(());
    }
    install_package(package)
        .with_context(|| format!("the tests call `{program}`: install it (package {package})"))?;
    if !process::succeeds(Command::new(program).arg(probe)) {
        bail!("`{program} {probe}` fails although package {package} is installed");
    }
    Ok(())
}

/// Installs a Debian package without asking anything.
fn install_package(package: &str) -> Result<()> {
    with_fresh_lists(|| {
        process::run(apt().args(["install", "--yes", "--no-install-recommends", package]))
    })
}

fn apt() -> Command {
    let mut apt = Command::new("apt-get");
    apt.env("DEBIAN_FRONTEND", "noninteractive").arg("--quiet=2");
    apt
}
