//! The files of an import, written all or not at all.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use import::ns3::{IMPORTED_FROM, Imported};
use scenario::Scenario;
use terminal::Complaint;

use super::super::Exit;

/// Suffixes of names of files that are not yet, or no longer, in place.
const NEW: &str = "new";
const OLD: &str = "old";

/// Reason why nothing was written.
#[derive(Debug)]
pub struct Failure {
    /// Message for the user.
    pub complaint: Complaint,
    /// Exit status of the command.
    pub exit: Exit,
}

impl From<Complaint> for Failure {
    fn from(complaint: Complaint) -> Self {
        Self { complaint, exit: Exit::BadInput }
    }
}

/// A file to be written.
struct Output<'a> {
    path: PathBuf,
    text: &'a str,
}

/// Writes an imported scenario and its flow lists, after a check that the scenario can be loaded. With `force` they
/// replace the files of an earlier import; an error leaves everything as it was. Once the first file is in place, an
/// interrupt takes effect only after the last one.
pub fn write(
    imported: &Imported,
    out: &Path,
    force: bool,
    interrupted: &AtomicBool,
) -> Result<Scenario, Failure> {
    super::super::require_place(out)?;
    let folder = out.parent().unwrap_or(Path::new(""));
    let lists = imported.flow_lists.iter();
    let mut outputs: Vec<Output<'_>> =
        lists.map(|(name, text)| Output { path: folder.join(name), text }).collect();
    if outputs.iter().any(|list| list.path == out) {
        let message = format!(
            "{} is the name of a flow list, too; name the scenario with .toml",
            out.display()
        );
        return Err(Complaint::new(message).into());
    }
    outputs.push(Output { path: out.to_owned(), text: &imported.toml });
    let earlier = earlier_lists(out, force)?;
    for list in &outputs[..imported.flow_lists.len()] {
        check_list(&list.path, &earlier, out, force)?;
    }
    let scenario = load(imported, &outputs, out)?;
    replace(&outputs, interrupted)?;
    let written: BTreeSet<&Path> = outputs.iter().map(|output| output.path.as_path()).collect();
    // A list that cannot be removed is left: the import is complete.
    for list in earlier.iter().filter(|list| !written.contains(list.as_path())) {
        let _ = fs::remove_file(list);
    }
    for path in written.into_iter().chain(earlier.iter().map(PathBuf::as_path)) {
        remove_left_over(path);
    }
    Ok(scenario)
}

/// Checks that `out` may be written. Returns the flow lists of the import that wrote it, empty if there is no such
/// file.
fn earlier_lists(out: &Path, force: bool) -> Result<BTreeSet<PathBuf>, Complaint> {
    let path = out.display();
    if !may_replace(out, force)? {
        return Ok(BTreeSet::new());
    }
    let text = fs::read(out).map_err(|error| failed("read", out, &error))?;
    if !text.starts_with(IMPORTED_FROM.as_bytes()) {
        return Err(
            format!("{path} was not written by an import; name another file with --out").into()
        );
    }
    let text = String::from_utf8_lossy(&text);
    let table: toml::Table = text.parse().map_err(|error| {
        let help = "name another file with --out";
        let error: toml::de::Error = error;
        let title = format!("cannot read {path}, which an import wrote: {}", error.message());
        Complaint::new(title).with_help(help)
    })?;
    let flows = table.get("flows").and_then(toml::Value::as_array).into_iter().flatten();
    let names = flows.filter_map(|entry| entry.get("file")?.as_str());
    // A list lies beside its scenario.
    let names = names.filter(|name| Path::new(name).file_name() == Some(OsStr::new(name)));
    Ok(names.map(|name| out.with_file_name(name)).collect())
}

/// Checks that a flow list may be written: the path is free, or holds a list of the earlier import.
fn check_list(
    list: &Path,
    earlier: &BTreeSet<PathBuf>,
    out: &Path,
    force: bool,
) -> Result<(), Complaint> {
    if may_replace(list, force)? && !earlier.contains(list) {
        return Err(format!(
            "{} is no flow list of an earlier import to {}; name another file with --out",
            list.display(),
            out.display()
        )
        .into());
    }
    Ok(())
}

/// Returns the error of an `action` that failed on a file.
fn failed(action: &str, path: &Path, error: &io::Error) -> Complaint {
    let path = path.display();
    Complaint::new(format!("cannot {action} {path}: {error}"))
        .with_help("name another file with --out")
}

/// Returns true if there is a file that `force` may replace, and false if the path is free.
fn may_replace(path: &Path, force: bool) -> Result<bool, Complaint> {
    let shown = path.display();
    let wrong = |what: &str, help: &str| Err(format!("{shown} {what}; {help}").into());
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(failed("look at", path, &error)),
        Ok(found) if !found.is_file() => wrong("is no file", "name another with --out"),
        Ok(_) if !force => {
            wrong("exists", "name another file with --out, or write over it with --force")
        }
        Ok(found) if found.permissions().readonly() => {
            wrong("is write-protected", "name another file with --out")
        }
        Ok(_) => Ok(true),
    }
}

/// Loads the scenario from the outputs, before they are written.
fn load(imported: &Imported, outputs: &[Output<'_>], out: &Path) -> Result<Scenario, Complaint> {
    let read = |asked: &Path| {
        let output = outputs.iter().find(|output| output.path.file_name() == asked.file_name());
        output.map(|output| output.text.to_owned()).ok_or_else(|| io::ErrorKind::NotFound.into())
    };
    Scenario::read(out, &[], &read).map_err(|error| {
        let help = "xoff takes no scenario that is made of these files; change them";
        Complaint::new(format!("{}: {}", imported.config, error.title())).with_help(help)
    })
}

impl Output<'_> {
    fn beside(&self, end: &str) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        self.path.with_file_name(format!(".{name}.{}.{end}", std::process::id()))
    }
}

/// Puts the new files in place of the old ones. All new files are complete before the first one is moved, and the old
/// ones are restored if a move fails.
fn replace(outputs: &[Output<'_>], interrupted: &AtomicBool) -> Result<(), Failure> {
    let (mut made, mut kept) = (Vec::new(), Vec::new());
    let moved = outputs
        .iter()
        .try_for_each(|output| complete(output, interrupted, &mut made))
        .and_then(|()| outputs.iter().try_for_each(|output| put(output, &mut made, &mut kept)));
    // A file that cannot be removed or moved back is left: the first error is the one to report.
    if moved.is_err() {
        for path in made {
            let _ = fs::remove_file(path);
        }
        for (old, path) in kept {
            let _ = fs::rename(old, path);
        }
    } else {
        for (old, _) in kept {
            let _ = fs::remove_file(old);
        }
    }
    moved
}

/// Writes a file beside its final path.
fn complete(
    output: &Output<'_>,
    interrupted: &AtomicBool,
    made: &mut Vec<PathBuf>,
) -> Result<(), Failure> {
    if interrupted.load(Ordering::Relaxed) {
        let complaint = "interrupted: nothing was written".into();
        return Err(Failure { complaint, exit: Exit::Interrupted });
    }
    let path = output.beside(NEW);
    let failed = |error| failed("write", &output.path, &error);
    let mut file = File::create_new(&path).map_err(failed)?;
    made.push(path);
    file.write_all(output.text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
    Ok(())
}

/// Moves a complete file to its final path. A copy of the file that it replaces is kept.
fn put(
    output: &Output<'_>,
    made: &mut Vec<PathBuf>,
    kept: &mut Vec<(PathBuf, PathBuf)>,
) -> Result<(), Failure> {
    let failed = |error| failed("replace", &output.path, &error);
    let old = output.beside(OLD);
    // Some file systems have no hard links.
    let copied = || fs::copy(&output.path, &old).map(drop);
    match fs::hard_link(&output.path, &old).or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Err(error),
        _ => copied(),
    }) {
        Ok(()) => kept.push((old, output.path.clone())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => made.push(output.path.clone()),
        Err(error) => return Err(failed(error).into()),
    }
    fs::rename(output.beside(NEW), &output.path).map_err(failed)?;
    Ok(())
}

/// Removes leftovers of killed imports beside a file.
fn remove_left_over(path: &Path) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beginning = format!(".{name}.");
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let Ok(entries) = fs::read_dir(folder.unwrap_or(Path::new("."))) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let rest = name.to_str().and_then(|name| name.strip_prefix(&beginning));
        let Some((process, NEW | OLD)) = rest.and_then(|rest| rest.split_once('.')) else {
            continue;
        };
        let lives = process
            .parse::<u32>()
            .map_or(true, |id| Path::new("/proc").join(id.to_string()).exists());
        if !lives {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scenario and its list, as replacements in a folder.
    fn outputs(folder: &Path) -> [Output<'static>; 2] {
        [("x.csv", "new list"), ("x.toml", "new scenario")]
            .map(|(name, text)| Output { path: folder.join(name), text })
    }

    fn entries(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_move_that_fails_takes_back_those_before_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("x.csv"), "old list").unwrap();
        // No file can take the place of a folder.
        fs::create_dir(folder.path().join("x.toml")).unwrap();
        let failure =
            replace(&outputs(folder.path()), &AtomicBool::new(false)).expect_err("it fails");
        assert!(failure.complaint.text().contains("x.toml"), "{}", failure.complaint.text());
        assert_eq!(fs::read_to_string(folder.path().join("x.csv")).unwrap(), "old list");
        assert_eq!(entries(folder.path()), ["x.csv", "x.toml"]);

        // Files that did not exist before do not exist after the failure.
        fs::remove_file(folder.path().join("x.csv")).unwrap();
        replace(&outputs(folder.path()), &AtomicBool::new(false)).expect_err("it fails");
        assert_eq!(entries(folder.path()), ["x.toml"]);
    }

    #[test]
    fn an_interrupted_import_writes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("x.csv"), "old list").unwrap();
        let failure =
            replace(&outputs(folder.path()), &AtomicBool::new(true)).expect_err("it ends");
        assert!(matches!(failure.exit, Exit::Interrupted));
        assert_eq!(entries(folder.path()), ["x.csv"]);
    }
}
