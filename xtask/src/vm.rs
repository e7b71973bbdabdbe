//! Other kernels, the distribution's or somebody's own, booted in virtual machines: they run `xoff selftest`, and scenarios on the
//! kernel datapath at each of its hooks, which have to give the bytes of the memory datapath; and their logs have to be quiet.

mod initramfs;
mod kernel_package;
mod machine;
mod verdict;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Result, bail};

use crate::apt::Apt;
use crate::{packages, process, static_build, workspace};
use initramfs::Initramfs;
use kernel_package::KernelPackage;
use machine::Ended;
use verdict::Results;

/// Short scenarios that together use PFC, ECN, ECMP and both levels of DSH's pauses.
const SCENARIOS: [&str; 3] = ["victim", "dsh-incast", "bfc"];
/// Values of `datapath.hook`.
const HOOKS: [&str; 3] = ["xdp", "xdp-generic", "tc"];
/// Kernel modules that a fabric needs; distributions do not build them in.
const MODULES: [&str; 4] = ["veth", "sch_ingress", "cls_bpf", "tun"];
const INIT: &str = include_str!("vm/init.sh");
const DIGEST: &str = include_str!("vm/digest.sh");

/// The machines' folders and programs.
struct Laboratory {
    folder: PathBuf,
    xoff: PathBuf,
    busybox: PathBuf,
}

/// Boots the kernels that `wanted` names ([`KernelPackage::fetch`]). With `programs`, their verifiers' results for each
/// program are shown as well.
pub fn run(wanted: &[String], programs: bool) -> Result<()> {
    packages::qemu()?;
    let folder = workspace::target_dir().join("vm");
    fs::create_dir_all(&folder)?;
    let apt = Apt::default();
    let busybox = apt.with_fresh_lists(|apt| apt.unpacked("busybox-static", &folder))?;
    let busybox = busybox.join("bin/busybox");
    let build = workspace::target_dir().join("dist/build");
    let xoff =
        static_build::build(&workspace::root(), &build, static_build::XOFF, None)?.join("xoff");
    let laboratory = Laboratory { folder, xoff, busybox };
    let mut references = BTreeMap::new();
    for scenario in SCENARIOS {
        let reference = laboratory.reference(scenario)?;
        let at = |hook| (format!("{scenario}/{hook}"), reference.clone());
        references.extend(HOOKS.map(at));
    }
    let kernels = wanted.iter().map(|wanted| KernelPackage::fetch(wanted, &laboratory.folder));
    let mut kernels = kernels.collect::<Result<Vec<_>>>()?;
    distinguish(&mut kernels)?;
    let mut rows = Vec::new();
    let mut sound = true;
    for (kernel, ended) in laboratory.boot_all(&kernels, programs) {
        let Ended { console, failure } = ended?;
        let judged = verdict::judge(&console, &references);
        let tap = laboratory.folder.join(format!("selftest-{}.tap", kernel.release()));
        fs::write(&tap, verdict::tap(&console))?;
        for line in verdict::programs(&console).lines() {
            println!("{:<30}{line}", kernel.release());
        }
        if failure.is_some() || !judged.iter().all(|row| row.verdict.holds()) {
            sound = false;
            eprint!("{}", verdict::failed_tests(&console));
            eprintln!("Linux {}: the end of its console:", kernel.release());
            eprintln!("{}\n{}", machine::tail(&console), failure.unwrap_or_default());
        }
        rows.extend(judged);
    }
    print!("{}", verdict::table(&rows));
    if !sound {
        bail!(
            "not every kernel does what it should; whole consoles and what selftest said are in {}",
            laboratory.folder.display()
        );
    }
    Ok(())
}

/// Boots a kernel that is named twice, as by its series and as the newest, once. Consoles and reports are called by releases, so two
/// kernels of one are refused.
fn distinguish(kernels: &mut Vec<KernelPackage>) -> Result<()> {
    let mut images: Vec<PathBuf> = Vec::new();
    kernels.retain(|kernel| {
        let image = kernel.image().to_owned();
        let is_new = !images.contains(&image);
        images.push(image);
        is_new
    });
    for (number, kernel) in kernels.iter().enumerate() {
        if kernels[..number].iter().any(|earlier| earlier.release() == kernel.release()) {
            bail!(
                "two kernels call themselves {}: boot them one after the other",
                kernel.release()
            );
        }
    }
    Ok(())
}

impl Laboratory {
    /// Results of the memory datapath on this machine.
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

    /// Boots all, as many at once as there are processors: each emulates one.
    fn boot_all<'a>(
        &self,
        kernels: &'a [KernelPackage],
        programs: bool,
    ) -> Vec<(&'a KernelPackage, Result<Ended>)> {
        let at_once = thread::available_parallelism().map_or(1, usize::from);
        let mut all = Vec::new();
        for some in kernels.chunks(at_once) {
            thread::scope(|scope| {
                let booted: Vec<_> = some
                    .iter()
                    .map(|kernel| (kernel, scope.spawn(|| self.boot(kernel, programs))))
                    .collect();
                let joined = booted.into_iter().map(|(kernel, machine)| {
                    (kernel, machine.join().expect("what waits for a machine does not panic"))
                });
                all.extend(joined);
            });
        }
        all
    }

    fn boot(&self, kernel: &KernelPackage, programs: bool) -> Result<Ended> {
        let console = self.folder.join(format!("console-{}.log", kernel.release()));
        machine::boot(kernel.image(), &self.initramfs(kernel, programs)?, &console)
    }

    fn initramfs(&self, kernel: &KernelPackage, programs: bool) -> Result<Vec<u8>> {
        let mut initramfs = Initramfs::default();
        for folder in ["/dev", "/proc", "/sys", "/run", "/tmp"] {
            initramfs.directory(Path::new(folder));
        }
        initramfs.file("/init", INIT.as_bytes());
        initramfs.file("/digest.sh", DIGEST.as_bytes());
        initramfs.file("/bin/busybox", &fs::read(&self.busybox)?);
        initramfs.file("/bin/xoff", &fs::read(&self.xoff)?);
        if programs {
            initramfs.file("/programs", b"");
        }
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
