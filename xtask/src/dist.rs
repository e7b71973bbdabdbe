//! The archive for distribution: static binaries with their manual pages, completions and documents. Equal sources give
//! equal bytes, wherever the sources are.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{process, static_build, workspace};

/// Binaries by their packages.
const BINARIES: [(&str, &str); 3] =
    [("xoff", "xoff"), ("standalone", "xoff-switch"), ("standalone", "xoff-host")];
/// Folders of completions below a prefix such as `/usr/local`, by shell.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/xoff"),
    ("zsh", "share/zsh/site-functions/_xoff"),
    ("fish", "share/fish/vendor_completions.d/xoff.fish"),
];
const DOCUMENTS: [&str; 5] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "docs"];

/// Makes the archive below the target folder. With `check`, makes it once more from a copy of the last commit in another
/// folder, and compares.
pub fn run(check: bool) -> Result<()> {
    let folder = workspace::target_dir().join("dist");
    if check {
        require_commit(&workspace::root())?;
    }
    let archive = make(&workspace::root(), &folder)?;
    if check {
        compare_with_copy(&archive, &folder)?;
    }
    let sum = process::output(Command::new("sha256sum").arg(&archive))?;
    print!("{}", String::from_utf8_lossy(&sum));
    Ok(())
}

/// Builds the sources at `sources`, and packs the result.
fn make(sources: &Path, folder: &Path) -> Result<PathBuf> {
    let commit = commit(sources)?;
    let binaries =
        static_build::build(sources, &folder.join("build"), &BINARIES, commit.as_deref())?;
    let version = env!("CARGO_PKG_VERSION");
    let name = format!("xoff-{version}-{}", static_build::TARGET);
    let tree = folder.join(&name);
    remove_trees(folder)?;
    for (_, binary) in BINARIES {
        copy(&binaries.join(binary), &tree.join("bin").join(binary))?;
    }
    let xoff = tree.join("bin/xoff");
    process::run(Command::new(&xoff).args(["man", "--out"]).arg(tree.join("share/man/man1")))?;
    for (shell, place) in COMPLETIONS {
        let script = process::output(Command::new(&xoff).args(["completions", shell]))?;
        write(&tree.join(place), &script)?;
    }
    let documents = tree.join("share/doc/xoff");
    for document in DOCUMENTS {
        copy(&sources.join(document), &documents.join(document))?;
    }
    copy(&sources.join("scenarios"), &tree.join("share/xoff/scenarios"))?;
    let archive = folder.join(format!("{name}.tar.gz"));
    pack(&tree, &archive)?;
    Ok(archive)
}

/// Removes the trees of earlier builds, including other versions, because the Containerfile takes the tree that exists.
fn remove_trees(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("{}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && name.starts_with("xoff-") && name.ends_with(static_build::TARGET) {
            fs::remove_dir_all(&path).with_context(|| format!("{}", path.display()))?;
        }
    }
    Ok(())
}

/// Packs a folder without machine-dependent data: order, times, owners, write permission.
fn pack(tree: &Path, archive: &Path) -> Result<()> {
    let (Some(parent), Some(name)) = (tree.parent(), tree.file_name()) else {
        bail!("{} has no name", tree.display());
    };
    let mut tar = Command::new("tar");
    tar.args(["--create", "--format=ustar", "--sort=name", "--mtime=@0", "--owner=0", "--group=0"])
        .args(["--numeric-owner", "--mode=u=rwX,go=rX", "--use-compress-program=gzip -n9"])
        .arg("--file")
        .arg(archive)
        .arg("--directory")
        .arg(parent)
        .arg(name);
    process::run(&mut tar)
}

/// Makes the archive from a copy of the last commit, and compares it with `archive`.
fn compare_with_copy(archive: &Path, folder: &Path) -> Result<()> {
    let root = workspace::root();
    let copy = folder.join("copy");
    if copy.exists() {
        fs::remove_dir_all(&copy).with_context(|| format!("{}", copy.display()))?;
    }
    let sources = copy.join("sources-elsewhere");
    process::run(Command::new("git").args(["clone", "--quiet"]).arg(&root).arg(&sources))?;
    let again = make(&sources, &copy)?;
    let same = process::succeeds(Command::new("cmp").arg(archive).arg(&again));
    if !same {
        bail!(
            "{} and {} differ, and have the same sources: `diffoscope` shows where",
            archive.display(),
            again.display()
        );
    }
    eprintln!("built twice, in two folders: the same bytes");
    fs::remove_dir_all(&copy).with_context(|| format!("{}", copy.display()))
}

/// The commit of the sources; `None` if files differ from it.
fn commit(sources: &Path) -> Result<Option<String>> {
    if !changes(sources)?.is_empty() {
        return Ok(None);
    }
    let head =
        process::output(Command::new("git").args(["rev-parse", "HEAD"]).current_dir(sources))?;
    Ok(Some(String::from_utf8_lossy(&head).trim().to_owned()))
}

/// Files that differ from the last commit, as git lists them.
fn changes(sources: &Path) -> Result<Vec<u8>> {
    process::output(Command::new("git").args(["status", "--porcelain"]).current_dir(sources))
}

/// Fails if the workspace is not its last commit.
fn require_commit(root: &Path) -> Result<()> {
    let changed = changes(root)?;
    if !changed.is_empty() {
        bail!(
            "--check builds the last commit once more, and these files differ from it; commit them first:\n{}",
            String::from_utf8_lossy(&changed).trim_end()
        );
    }
    Ok(())
}

/// Copies a file, or a folder with all below it.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    let parent = to.parent().unwrap_or(to);
    fs::create_dir_all(parent).with_context(|| format!("making {}", parent.display()))?;
    let mut cp = Command::new("cp");
    process::output(cp.args(["--recursive", "--no-target-directory"]).arg(from).arg(to)).map(drop)
}

/// Writes a file, and makes the folders above it.
pub fn write(file: &Path, content: &[u8]) -> Result<()> {
    let parent = file.parent().unwrap_or(file);
    fs::create_dir_all(parent).with_context(|| format!("making {}", parent.display()))?;
    fs::write(file, content).with_context(|| format!("writing {}", file.display()))
}
