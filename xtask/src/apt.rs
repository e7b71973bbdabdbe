//! The distribution's packages, by apt: installed, or unpacked into a folder without being installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;

/// apt with this machine's sources, or with another suite of the same archive.
#[derive(Clone, Debug, Default)]
pub struct Apt {
    options: Vec<String>,
}

impl Apt {
    /// The suite `name` (such as `testing`) of the archive that this machine uses; lists go to `folder`, and nothing of the
    /// machine's own changes.
    pub fn for_suite(name: &str, folder: &Path) -> Result<Self> {
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c)) {
            bail!("`{name}` is no name of a suite such as testing or bookworm-backports");
        }
        let folder = folder.join(format!("apt-{name}"));
        fs::create_dir_all(folder.join("lists/partial"))
            .with_context(|| format!("making {}", folder.display()))?;
        let sources = folder.join("sources.list");
        let archive = Self::default().archive()?;
        fs::write(&sources, format!("deb {archive} {name} main\n"))
            .with_context(|| format!("writing {}", sources.display()))?;
        let options = [
            format!("Dir::Etc::SourceList={}", sources.display()),
            "Dir::Etc::SourceParts=/dev/null".to_owned(),
            format!("Dir::State::Lists={}", folder.join("lists").display()),
            "Dir::Cache::pkgcache=".to_owned(),
            "Dir::Cache::srcpkgcache=".to_owned(),
            "APT::Sandbox::User=root".to_owned(),
        ];
        Ok(Self { options: options.into() })
    }

    /// Runs `attempt`, and once more after an update of apt's lists if it fails: a fresh machine has no lists, and old
    /// lists name packages that are gone.
    pub fn with_fresh_lists<T>(&self, attempt: impl Fn(&Self) -> Result<T>) -> Result<T> {
        attempt(self).or_else(|failure| {
            process::run(self.get().arg("update")).with_context(|| format!("{failure:#}"))?;
            attempt(self)
        })
    }

    /// Installs a package without asking anything.
    pub fn install(&self, package: &str) -> Result<()> {
        self.with_fresh_lists(|apt| {
            process::run(apt.get().args(["install", "--yes", "--no-install-recommends", package]))
        })
    }

    /// The folder below `folder` that holds the files of a package, which is not installed.
    pub fn unpacked(&self, package: &str, folder: &Path) -> Result<PathBuf> {
        unpacked(package, folder, |work| {
            let mut download = self.get();
            // apt's own user, by which root downloads otherwise, cannot write here.
            download.args(["--option", "APT::Sandbox::User=root", "download", package]);
            process::run(download.current_dir(work))
        })
    }

    /// Unpacks a package together with its dependencies that are not installed.
    pub fn unpacked_with_dependencies(&self, package: &str, folder: &Path) -> Result<PathBuf> {
        unpacked(package, folder, |work| {
            fs::create_dir(work.join("partial"))?;
            let archives = format!("Dir::Cache::archives={}", work.display());
            let mut download = self.get();
            download.args(["--option", "APT::Sandbox::User=root", "--option", &archives]);
            download.args(["install", "--yes", "--no-install-recommends", "--download-only"]);
            process::run(download.arg(package))
        })
    }

    /// Packages whose names match a regular expression: name and description, a line each.
    pub fn search(&self, expression: &str) -> Result<String> {
        let mut search = self.command("apt-cache");
        let listing = process::output(search.args(["search", "--names-only", expression]))?;
        Ok(String::from_utf8_lossy(&listing).into_owned())
    }

    /// Address of Debian's archive, as this machine's apt lists it; not the security archive, which lacks suites.
    fn archive(&self) -> Result<String> {
        let mut targets = self.get();
        let listing =
            process::output(targets.args(["indextargets", "--format", "$(ORIGIN) $(REPO_URI)"]))?;
        let listing = String::from_utf8_lossy(&listing);
        let mut places = listing.lines().filter_map(|line| line.strip_prefix("Debian "));
        let place = places.find(|place| !place.contains("security"));
        // Without lists apt knows no origins.
        Ok(place.unwrap_or("http://deb.debian.org/debian").to_owned())
    }

    fn get(&self) -> Command {
        let mut apt = self.command("apt-get");
        apt.env("DEBIAN_FRONTEND", "noninteractive").arg("--quiet=2");
        apt
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(self.options.iter().flat_map(|option| ["--option", option]));
        command
    }
}

/// The folder below `folder` that holds the files of the package file `deb`. Different builds have different folders,
/// even if their files have equal names.
pub fn unpacked_file(deb: &Path, folder: &Path) -> Result<PathBuf> {
    let name = deb.file_stem().context("a package's file has a name")?.to_string_lossy();
    let digest = process::output(Command::new("sha256sum").arg("--").arg(deb))?;
    let digest = String::from_utf8_lossy(&digest);
    // A name with a backslash or an end of line has a backslash before its line.
    let digest: String = digest.trim_start_matches('\\').chars().take(16).collect();
    let name = format!("{name}-{digest}");
    unpacked(&name, folder, |work| process::run(Command::new("cp").arg(deb).arg(work)))
}

/// Unpacks the package file that `get` puts into a folder.
fn unpacked(name: &str, folder: &Path, get: impl Fn(&Path) -> Result<()>) -> Result<PathBuf> {
    let target = folder.join(name);
    if target.exists() {
        return Ok(target);
    }
    let work = folder.join(format!("{name}.unpacking"));
    if work.exists() {
        fs::remove_dir_all(&work)?;
    }
    fs::create_dir_all(&work)?;
    let root = work.join("root");
    get(&work)?;
    for entry in fs::read_dir(&work)? {
        let path = entry?.path();
        // Beside packages, apt leaves a lock.
        if path.extension().is_some_and(|extension| extension == "deb") {
            process::run(Command::new("dpkg-deb").arg("--extract").arg(path).arg(&root))?;
        }
    }
    fs::rename(&root, &target)?;
    fs::remove_dir_all(&work)?;
    Ok(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(folder: &Path, content: &str) -> PathBuf {
        let tree = folder.join("tree");
        fs::create_dir_all(tree.join("DEBIAN")).unwrap();
        let control = "Package: kernel\nVersion: 1\nArchitecture: all\nMaintainer: nobody\nDescription: none\n";
        fs::write(tree.join("DEBIAN/control"), control).unwrap();
        fs::write(tree.join("vmlinuz"), content).unwrap();
        let deb = folder.join("kernel.deb");
        let mut dpkg = Command::new("dpkg-deb");
        process::output(dpkg.arg("--build").arg(&tree).arg(&deb)).unwrap();
        deb
    }

    #[test]
    fn a_package_that_was_built_again_is_unpacked_again() {
        let temp = tempfile::tempdir().unwrap();
        for content in ["first", "second", "first"] {
            let root = unpacked_file(&build(temp.path(), content), temp.path()).unwrap();
            assert_eq!(fs::read_to_string(root.join("vmlinuz")).unwrap(), content);
        }
    }
}
