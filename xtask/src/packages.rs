//! Programs that tests and checks call: found, or installed, or an error.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::apt::Apt;
use crate::{process, workspace};

/// Variable with the Python that has scapy, for tests.
pub const PYTHON_VARIABLE: &str = "XOFF_PYTHON";
const SCAPY: &str = "scapy==2.6.1";
/// Variable with the Python that has the modules of `docs/notebooks.md` and the schemas of Kubernetes, for tests.
pub const TOOLS_PYTHON_VARIABLE: &str = "XOFF_TOOLS_PYTHON";
const TOOLS: [&str; 5] = [
    "pandas==3.1.1",
    "polars==2.1.0",
    "pyarrow==26.0.1",
    "matplotlib==3.11.2",
    "kubernetes-validate==1.37.0",
];
/// Variable with the folder `tools/testing` of the kernel's source, for tests.
pub const KERNEL_TESTING_VARIABLE: &str = "XOFF_KERNEL_TESTING";
/// The distribution's package of a kernel's source, and the tools that its test runner and parsers need.
const KERNEL_SOURCE: &str = "linux-source-6.12";
const KERNEL_PARTS: [&str; 8] = [
    "scripts/subarch.include",
    "tools/scripts",
    "tools/testing/kunit",
    "tools/testing/selftests/Makefile",
    "tools/testing/selftests/lib.mk",
    "tools/testing/selftests/kselftest",
    "tools/testing/selftests/kselftest_install.sh",
    "tools/testing/selftests/run_kselftest.sh",
];
/// Variable with the root folder of Slurm, for tests.
pub const SLURM_VARIABLE: &str = "XOFF_SLURM_ROOT";
const TAPLO: &str = "taplo==0.9.3";
/// Script that succeeds under a Python with the modules that the tests import.
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

/// Makes sure that Perl is here with its parser of TAP.
pub fn perl() -> Result<()> {
    on_path("perl", "-MTAP::Parser", "perl")
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

/// Makes sure that instructions can be counted.
pub fn valgrind() -> Result<()> {
    on_path("valgrind", "--version", "valgrind")
}

/// Makes sure that programs can be looked into.
pub fn binutils() -> Result<()> {
    on_path("readelf", "--version", "binutils")
}

/// Makes sure that the kernel's selftests can be made and installed.
pub fn make_and_rsync() -> Result<()> {
    on_path("make", "--version", "make")?;
    on_path("rsync", "--version", "rsync")
}

/// Root folder of Slurm and munge: `/` if they are installed. Otherwise their packages are unpacked into the target
/// folder, because installed packages would start services.
pub fn slurm() -> Result<PathBuf> {
    let programs = ["slurmctld", "slurmd", "sbatch", "munged"];
    if programs.into_iter().all(|it| process::succeeds(Command::new(it).arg("-V"))) {
        return Ok(PathBuf::from("/"));
    }
    let folder = workspace::target_dir().join("slurm");
    let root = Apt::default()
        .with_fresh_lists(|apt| apt.unpacked_with_dependencies("slurm-wlm", &folder))?;
    // The program names are Debian's alternatives, which are links that an installation makes.
    for name in ["slurmctld", "slurmd", "slurmstepd"] {
        let link = root.join("usr/sbin").join(name);
        if !link.exists() {
            symlink(format!("{name}-wlm"), &link)
                .with_context(|| format!("making {}", link.display()))?;
        }
    }
    Ok(root)
}

/// The folder `tools/testing` of the kernel's source: runner and parsers of its tests.
pub fn kernel_testing() -> Result<PathBuf> {
    let folder = workspace::target_dir().join("kernel-source");
    let testing = folder.join(KERNEL_SOURCE).join("tools/testing");
    if testing.is_dir() {
        return Ok(testing);
    }
    let package = Apt::default()
        .with_fresh_lists(|apt| apt.unpacked(KERNEL_SOURCE, &folder.join("package")))?;
    on_path("xz", "--version", "xz-utils")?;
    let work = folder.join("unpacking");
    if work.exists() {
        std::fs::remove_dir_all(&work)?;
    }
    std::fs::create_dir_all(&work)?;
    let archive = package.join("usr/src").join(format!("{KERNEL_SOURCE}.tar.xz"));
    let below = |path: &str| format!("{KERNEL_SOURCE}/{path}");
    let mut tar = Command::new("tar");
    tar.arg("--extract").arg("--file").arg(&archive).arg("--directory").arg(&work);
    process::run(tar.args(KERNEL_PARTS.map(below)))?;
    std::fs::rename(work.join(KERNEL_SOURCE), folder.join(KERNEL_SOURCE))?;
    // Only these parts are needed, and the archive is large.
    std::fs::remove_dir_all(folder.join("package"))?;
    std::fs::remove_dir_all(&work)?;
    Ok(testing)
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
    let from_distribution = Apt::default().install("python3-scapy");
    let system = PathBuf::from("/usr/bin/python3");
    if has_scapy(&system) {
        return Ok(system);
    }
    from_index.and(from_distribution)?;
    bail!("scapy is installed, and yet `{IMPORTS}` fails: install {SCAPY} for python3")
}

/// The path of a Python with pandas, polars, pyarrow and matplotlib, as `docs/notebooks.md` imports them, and with the schemas of
/// Kubernetes.
pub fn python_with_tools() -> Result<PathBuf> {
    let python = environment().join("bin/python3");
    let names = TOOLS.map(|it| it.split_once("==").map_or(it, |(name, _)| name));
    let imports = format!("import {}", names.join(", ").replace('-', "_"));
    let imported = || process::succeeds(Command::new(&python).args(["-c", &imports]));
    if !imported() {
        for requirement in TOOLS {
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

/// Path of a program that cargo builds from crates.io with `features`, into its own folder in the target folder.
pub fn cargo_program(name: &str, version: &str, features: &[&str]) -> Result<PathBuf> {
    let folder = workspace::target_dir().join(format!("{name}-{version}"));
    let program = folder.join("bin").join(name);
    if !process::succeeds(Command::new(&program).arg("--help")) {
        let mut install = process::cargo("install");
        install.args([name, "--version", version, "--locked", "--root"]);
        process::run(install.arg(&folder).args(features))
            .with_context(|| format!("building {name}"))?;
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
        // Debian packages ensurepip separately, without which an environment has no pip.
        if !process::succeeds(Command::new("python3").args(["-c", "import ensurepip, venv"])) {
            Apt::default().install("python3-venv")?;
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
    Apt::default()
        .install(package)
        .with_context(|| format!("the tests call `{program}`: install it (package {package})"))?;
    if !process::succeeds(Command::new(program).arg(probe)) {
        bail!("`{program} {probe}` fails although package {package} is installed");
    }
    Ok(())
}
