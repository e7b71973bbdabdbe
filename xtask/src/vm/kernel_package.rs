//! A kernel for a virtual machine: a package that apt offers, unpacked instead of installed, or a kernel of the user's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::apt::{self, Apt};
use crate::process;

/// Kernels for virtual machines are the smallest that the distribution builds.
const FLAVOUR: &str = "-cloud-amd64";

/// Stands for the newest of all series.
const NEWEST: &str = "newest";

/// A kernel, unpacked.
#[derive(Debug)]
pub struct KernelPackage {
    /// Folders of its packages; empty for an image alone, which has no modules.
    folders: Vec<PathBuf>,
    image: PathBuf,
    release: String,
}

impl KernelPackage {
    /// The kernel that `wanted` names: the newest of a series (`6.1`) that this machine's sources offer or another suite does
    /// (`7.2@testing`, `newest@bookworm-backports`), a package's file (`linux-image-..deb`), or the path of an image.
    pub fn fetch(wanted: &str, folder: &Path) -> Result<Self> {
        let file = Path::new(wanted);
        if file.extension().is_some_and(|extension| extension == "deb") {
            return Self::from_packages(vec![apt::unpacked_file(file, folder)?]);
        }
        if wanted.contains('/') {
            return Self::from_image(file);
        }
        let (series, apt) = match wanted.split_once('@') {
            None => (wanted, Apt::default()),
            Some((series, suite)) => (series, Apt::for_suite(suite, folder)?),
        };
        let packages = apt.with_fresh_lists(|apt| {
            let name = offered(apt, series)?;
            let image = apt.unpacked(&name, folder)?;
            if image.join("boot").is_dir() {
                return Ok(vec![image]);
            }
            // Since Linux 7 the image's package is empty, and needs these.
            let release = name.trim_start_matches("linux-image-");
            let parts = ["linux-binary-", "linux-modules-"].map(|part| format!("{part}{release}"));
            parts.iter().map(|part| apt.unpacked(part, folder)).collect()
        })?;
        Self::from_packages(packages)
    }

    fn from_packages(folders: Vec<PathBuf>) -> Result<Self> {
        let mut files = Vec::new();
        for folder in &folders {
            collect_files(folder, &mut files)?;
        }
        // `boot/vmlinuz-RELEASE`, and since Linux 7 `usr/lib/modules/RELEASE/vmlinuz`.
        let image_of = |file: &PathBuf| {
            let name = file.file_name()?.to_str()?;
            let release = match name.strip_prefix("vmlinuz")? {
                "" => file.parent()?.file_name()?.to_str()?,
                suffix => suffix.strip_prefix('-')?,
            };
            Some((release.to_owned(), file.clone()))
        };
        let Some((release, image)) = files.iter().find_map(image_of) else {
            let names: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
            bail!("no vmlinuz is in {}: this is no package of a kernel", names.join(", "));
        };
        Ok(Self { folders, image, release })
    }

    fn from_image(image: &Path) -> Result<Self> {
        let image = image.canonicalize().with_context(|| format!("{}", image.display()))?;
        let release = image.to_string_lossy().trim_start_matches('/').replace('/', "-");
        Ok(Self { folders: Vec::new(), image, release })
    }

    /// Release of the kernel; for an image, the file's name.
    pub fn release(&self) -> &str {
        &self.release
    }

    /// The bootable image.
    pub fn image(&self) -> &Path {
        &self.image
    }

    /// Files of the modules `names` and of their dependencies, decompressed, in the order in which they have to be
    /// loaded. Built-in modules are left out; an image alone must have all of them built in.
    pub fn modules(&self, names: &[&str], busybox: &Path) -> Result<Vec<(String, Vec<u8>)>> {
        if self.folders.is_empty() {
            return Ok(Vec::new());
        }
        // Since the file systems of distributions have merged, modules may be below `usr`.
        let places = ["lib/modules", "usr/lib/modules"];
        let mut folders = self
            .folders
            .iter()
            .flat_map(|folder| places.map(|place| folder.join(place).join(&self.release)));
        let Some(folder) = folders.find(|folder| folder.join("kernel").is_dir()) else {
            bail!("the package of Linux {} has no modules", self.release);
        };
        let mut files = Vec::new();
        collect_files(&folder.join("kernel"), &mut files)?;
        let built_in = fs::read_to_string(folder.join("modules.builtin")).unwrap_or_default();
        let find = |name: &str| {
            if built_in.lines().any(|line| module_name(Path::new(line)) == name) {
                return Ok(None);
            }
            let Some(file) = files.iter().find(|file| module_name(file) == name) else {
                bail!("the package of Linux {} has no module {name}", self.release);
            };
            decompressed(file, busybox).map(Some)
        };
        let mut loaded = Vec::new();
        for name in names {
            add_module(name, &find, &mut loaded)?;
        }
        Ok(loaded)
    }
}

/// Adds a module to `loaded`, after its dependencies.
fn add_module(
    name: &str,
    find: &impl Fn(&str) -> Result<Option<Vec<u8>>>,
    loaded: &mut Vec<(String, Vec<u8>)>,
) -> Result<()> {
    if loaded.iter().any(|(other, _)| other == name) {
        return Ok(());
    }
    let Some(bytes) = find(name)? else { return Ok(()) };
    for needed in dependencies(&bytes) {
        add_module(&needed, find, loaded)?;
    }
    loaded.push((name.to_owned(), bytes));
    Ok(())
}

/// Dependencies of a module, from its `.modinfo`.
fn dependencies(module: &[u8]) -> Vec<String> {
    const KEY: &[u8] = b"\0depends=";
    let Some(at) = module.windows(KEY.len()).position(|window| window == KEY) else {
        return Vec::new();
    };
    let value = module[at + KEY.len()..].split(|&byte| byte == 0).next().unwrap_or_default();
    let names = String::from_utf8_lossy(value);
    names.split(',').filter(|name| !name.is_empty()).map(module_name_of).collect()
}

/// A module's name, from its file's: `sch_ingress` of `sch-ingress.ko.xz`.
fn module_name(file: &Path) -> String {
    let name = file.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    module_name_of(name.split('.').next().unwrap_or_default())
}

fn module_name_of(text: &str) -> String {
    text.replace('-', "_")
}

fn decompressed(file: &Path, busybox: &Path) -> Result<Vec<u8>> {
    let applet = match file.extension().and_then(|extension| extension.to_str()) {
        Some("ko") => return fs::read(file).with_context(|| format!("{}", file.display())),
        Some("xz") => "xzcat",
        Some("gz") => "zcat",
        _ => bail!("{}: busybox cannot decompress this module", file.display()),
    };
    process::output(Command::new(busybox).arg(applet).arg(file))
}

fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("{}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            collect_files(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// The package that apt offers for `series`.
fn offered(apt: &Apt, series: &str) -> Result<String> {
    let listing = apt.search(&format!("^linux-image-[0-9].*{FLAVOUR}$"))?;
    if let Some(name) = newest(&listing, series) {
        return Ok(name.to_owned());
    }
    let mut others: Vec<String> = listing.lines().filter_map(series_of).collect();
    others.sort();
    others.dedup();
    bail!(
        "apt offers no linux-image-{series}.*{FLAVOUR}; name a suite that has one (7.2@testing, \
         newest@bookworm-backports), a package's file or an image, or another version: here are {}",
        if others.is_empty() { "none".to_owned() } else { others.join(" and ") }
    );
}

/// The newest package of `series` in a listing of `apt-cache search`. Names change with each update of a
/// kernel, and are ordered by the numbers in them.
fn newest<'a>(listing: &'a str, series: &str) -> Option<&'a str> {
    let names = listing.lines().filter_map(|line| line.split(' ').next());
    let fits = |found: String| series == NEWEST || found == series;
    let of_series = names.filter(|name| series_of(name).is_some_and(fits));
    of_series.max_by_key(|name| age(name))
}

/// Sort key of releases: the numbers before the distribution's suffix, true for a release (false for a candidate), and
/// all numbers.
fn age(name: &str) -> (Vec<u32>, bool, Vec<u32>) {
    let upstream = name.split(['+', '~']).next().unwrap_or_default();
    let version = upstream.split("-rc").next().unwrap_or_default();
    (numbers(version), version == upstream, numbers(name))
}

/// The first two numbers of a package's name; `None` if it names no exact kernel.
fn series_of(name: &str) -> Option<String> {
    let version = name.strip_prefix("linux-image-")?;
    match numbers(version)[..] {
        [major, minor, _, ..] => Some(format!("{major}.{minor}")),
        _ => None,
    }
}

fn numbers(text: &str) -> Vec<u32> {
    let release = text.split(FLAVOUR).next().unwrap_or_default();
    release
        .split(|letter: char| !letter.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = "\
linux-image-6.1.0-9-cloud-amd64 - Linux 6.1 for x86-64 cloud (signed)
linux-image-6.1.0-56-cloud-amd64 - Linux 6.1 for x86-64 cloud (signed)
linux-image-6.12-cloud-amd64 - Linux for x86-64 cloud (meta-package)
linux-image-6.12.107+deb12-cloud-amd64 - Linux 6.12 for x86-64 cloud (signed)
linux-image-6.12.94+deb12-cloud-amd64 - Linux 6.12 for x86-64 cloud (signed)
";

    #[test]
    fn the_newest_kernel_of_a_series_is_found_by_its_numbers() {
        assert_eq!(newest(LISTING, "6.1"), Some("linux-image-6.1.0-56-cloud-amd64"));
        assert_eq!(newest(LISTING, "6.12"), Some("linux-image-6.12.107+deb12-cloud-amd64"));
        assert_eq!(newest(LISTING, "6.18"), None);
        assert_eq!(newest(LISTING, NEWEST), newest(LISTING, "6.12"));
        for (older, newer) in [
            ("6.18+deb14", "6.18.5+deb14"),
            ("7.3-rc4+deb14", "7.3.1+deb14"),
            ("7.3-rc4+deb14", "7.3-rc5+deb14"),
            ("7.3-rc4+deb14", "7.3+deb14"),
        ] {
            let name = |version| format!("linux-image-{version}-cloud-amd64");
            let listing = format!("{} - a\n{} - b\n", name(newer), name(older));
            assert_eq!(newest(&listing, NEWEST), Some(&*name(newer)));
        }
    }

    #[test]
    fn a_module_comes_after_those_that_it_needs() {
        let find = |name: &str| {
            Ok(match name {
                "veth" => Some(b"license=GPL\0depends=pool,net-core\0intree=Y\0".to_vec()),
                "pool" => Some(b"\0depends=net_core\0".to_vec()),
                "net_core" => Some(b"license=GPL\0depends=\0".to_vec()),
                _ => None,
            })
        };
        let mut loaded = Vec::new();
        for name in ["veth", "built_in", "pool"] {
            add_module(name, &find, &mut loaded).unwrap();
        }
        let names: Vec<&str> = loaded.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["net_core", "pool", "veth"]);
        assert_eq!(module_name(Path::new("kernel/net/sched/sch-ingress.ko.xz")), "sch_ingress");
    }
}
