//! Other kernels: the distribution's, booted in virtual machines, run scenarios on the kernel datapath, at each of its
//! hooks, and have to give the bytes of the memory datapath.

mod initramfs;
mod kernel_package;
mod machine;
mod verdict;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::{packages, process, workspace};
use initramfs::Initramfs;
use kernel_package::KernelPackage;
use machine::Ended;
use verdict::Results;

/// Short scenarios that together use PFC, ECN, ECMP and both levels of DSH's pauses.
const SCENARIOS: [&str; 3] = ["victim", "dsh-incast", "bfc"];
/// Values of `datapath.hook`.
const HOOKS: [&str; 3] = ["xdp", "xdp-generic", "tc"];
/// What a fabric needs of the kernel and distributions build as modules.
const MODULES: [&str; 3] = ["veth", "sch_ingress", "cls_bpf"];
const INIT: &str = include_str!("vm/init.sh");
const DIGEST: &str = include_str!("vm/digest.sh");

/// The machines' folders and programs.
struct Laboratory {
    folder: PathBuf,
    xoff: PathBuf,
    busybox: PathBuf,
}

/// Boots the newest kernel of each of these series, such as `6.1`, and runs the scenarios there.
pub fn run(series: &[String]) -> Result<()> {
    if cfg!(not(target_arch = "x86_64")) {
        bail!("`cargo xtask vm` boots kernels for x86-64 and copies this machine's xoff into them");
    }
    packages::qemu()?;
    packages::strip()?;
    process::run(process::cargo("build").args(["--package", "xoff"]))?;
    let folder = workspace::target_dir().join("vm");
    let busybox = packages::with_fresh_lists(|| packages::unpacked("busybox-static", &folder))?;
    let busybox = busybox.join("bin/busybox");
    // Debug information is three quarters of the file, and unpacking it half of a boot.
    let xoff = folder.join("xoff");
    let built = workspace::target_dir().join("debug/xoff");
    process::run(Command::new("strip").arg("-o").arg(&xoff).arg(built))?;
    let laboratory = Laboratory { folder, xoff, busybox };
    let mut references = BTreeMap::new();
    for scenario in SCENARIOS {
        let reference = laboratory.reference(scenario)?;
        let at = |hook| (format!("{scenario}/{hook}"), reference.clone());
        references.extend(HOOKS.map(at));
    }
    let kernels = series.iter().map(|series| KernelPackage::fetch(series, &laboratory.folder));
    let kernels = kernels.collect::<Result<Vec<_>>>()?;
    let mut rows = Vec::new();
    let mut sound = true;
    for kernel in &kernels {
        let Ended { console, failure } = laboratory.boot(kernel)?;
        let judged = verdict::judge(&console, &references);
        if failure.is_some() || !judged.iter().all(|row| row.verdict.holds()) {
            sound = false;
            eprintln!("Linux {}: the end of its console:", kernel.release());
            eprintln!("{}\n{}", machine::tail(&console), failure.unwrap_or_default());
        }
        rows.extend(judged);
    }
    print!("{}", verdict::table(&rows));
    if !sound {
        bail!(
            "not every kernel does what the memory datapath does; whole consoles are in {}",
            laboratory.folder.display()
        );
    }
    Ok(())
}

impl Laboratory {
    /// What the memory datapath gives on this machine.
    fn reference(&self, scenario: &str) -> Result<Results> {
        let results = self.folder.join("memory").join(scenario);
        fs::create_dir_all(&results)?;
        let mut xoff = Command::new(&self.xoff);
        xoff.arg("run").arg(scenario_file(scenario)).args(["--datapath", "memory", "--out"]);
        process::output(xoff.arg(&results))?;
        let mut digest = Command::new(&self.busybox);
        let output = process::output(digest.args(["sh", "-c", DIGEST, "digest"]).arg(&results))?;
        Ok(Results::parse(&String::from_utf8_lossy(&output)))
    }

    fn boot(&self, kernel: &KernelPackage) -> Result<Ended> {
        let console = self.folder.join(format!("console-{}.log", kernel.release()));
        machine::boot(&kernel.image(), &self.initramfs(kernel)?, &console)
    }

    fn initramfs(&self, kernel: &KernelPackage) -> Result<Vec<u8>> {
        let mut initramfs = Initramfs::default();
        for folder in ["/dev", "/proc", "/sys", "/run", "/tmp"] {
            initramfs.directory(Path::new(folder));
        }
        initramfs.file("/init", INIT.as_bytes());
        initramfs.file("/digest.sh", DIGEST.as_bytes());
        initramfs.file("/bin/busybox", &fs::read(&self.busybox)?);
        initramfs.program("/bin/xoff", &self.xoff)?;
        let mut order = String::new();
        for (name, bytes) in kernel.modules(&MODULES, &self.busybox)? {
            initramfs.file(format!("/modules/{name}"), &bytes);
            order.extend([&name, "\n"]);
        }
        initramfs.file("/modules/order", order.as_bytes());
        initramfs.file("/hooks", HOOKS.map(|hook| format!("{hook}\n")).concat().as_bytes());
        for scenario in SCENARIOS {
            let content = fs::read(scenario_file(scenario))?;
            initramfs.file(format!("/scenarios/{scenario}.toml"), &content);
        }
        Ok(initramfs.finish())
    }
}

fn scenario_file(scenario: &str) -> PathBuf {
    workspace::root().join("scenarios").join(format!("{scenario}.toml"))
}
