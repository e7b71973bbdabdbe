//! Programs that tests and checks call and that are not Rust: found, or installed, or an error.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{process, workspace};

const SCAPY: &str = "scapy==2.6.1";
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
    let apt = || {
        let mut apt = Command::new("apt-get");
        apt.env("DEBIAN_FRONTEND", "noninteractive").arg("--quiet=2");
        apt
    };
    let install =
        || process::run(apt().args(["install", "--yes", "--no-install-recommends", package]));
    // A fresh machine has no package lists, an old one has stale ones.
    install().or_else(|_| process::run(apt().arg("update")).and_then(|()| install()))
}
