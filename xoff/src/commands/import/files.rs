//! The files of an import: all of them, or none.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use scenario::Scenario;

use crate::import::ns3::{IMPORTED_FROM, Imported, LIST_HEADER};

/// A file to be written.
struct Output<'a> {
    path: PathBuf,
    text: &'a str,
    /// How the same file of an earlier import begins.
    beginning: &'static str,
}

/// Writes an imported scenario and its flow lists, after a check that the scenario can be loaded. With `force` they
/// replace those of an earlier import; an error leaves everything as it was.
pub fn write(imported: &Imported, out: &Path, force: bool) -> Result<Scenario, String> {
    let folder = out.parent().unwrap_or(Path::new(""));
    let list = |(name, text): &'_ (String, String)| (folder.join(name), text.clone());
    let lists: Vec<(PathBuf, String)> = imported.flow_lists.iter().map(list).collect();
    let mut outputs: Vec<Output<'_>> = lists
        .iter()
        .map(|(path, text)| Output { path: path.clone(), text, beginning: LIST_HEADER })
        .collect();
    outputs.push(Output { path: out.to_owned(), text: &imported.toml, beginning: IMPORTED_FROM });
    outputs.iter().try_for_each(|output| output.check(force))?;
    let scenario = load(&outputs, out)?;
    replace(&outputs)?;
    Ok(scenario)
}

/// The scenario that the outputs will be.
fn load(outputs: &[Output<'_>], out: &Path) -> Result<Scenario, String> {
    let read = |asked: &Path| {
        let output = outputs.iter().find(|output| output.path.file_name() == asked.file_name());
        output.map(|output| output.text.to_owned()).ok_or_else(|| io::ErrorKind::NotFound.into())
    };
    Scenario::read(out, &[], &read).map_err(|error| error.to_string())
}

impl Output<'_> {
    /// Whether it may be written: nothing is there, or with `force` what an import has written.
    fn check(&self, force: bool) -> Result<(), String> {
        let path = self.path.display();
        let wrong = |what: &str, help: &str| Err(format!("error: {path} {what}; {help}"));
        match fs::symlink_metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(format!("error: cannot look at {path}: {error}")),
            Ok(_) if !force => {
                let help = "name another file with --out, or write over it with --force";
                wrong("exists", help)
            }
            Ok(found) if !found.is_file() => wrong("is no file", "name another with --out"),
            Ok(_) => {
                let text = fs::read(&self.path)
                    .map_err(|error| format!("error: cannot read {path}: {error}"))?;
                if text.starts_with(self.beginning.as_bytes()) {
                    return Ok(());
                }
                wrong("was not written by an import", "name another file with --out")
            }
        }
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        self.path.with_file_name(format!(".{name}.{}.{suffix}", std::process::id()))
    }
}

/// Puts the new files in place of the old ones: all new ones are complete before the first one is moved, and the old
/// ones come back if a move fails.
fn replace(outputs: &[Output<'_>]) -> Result<(), String> {
    let (mut made, mut kept) = (Vec::new(), Vec::new());
    let moved = outputs
        .iter()
        .try_for_each(|output| complete(output, &mut made))
        .and_then(|()| outputs.iter().try_for_each(|output| put(output, &mut made, &mut kept)));
    // What cannot be removed or moved back is left: the first error is the one to show.
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

/// Writes a file beside its place.
fn complete(output: &Output<'_>, made: &mut Vec<PathBuf>) -> Result<(), String> {
    let path = output.beside("new");
    let failed = |error| format!("error: cannot write {}: {error}", output.path.display());
    let mut file = File::create_new(&path).map_err(failed)?;
    made.push(path);
    file.write_all(output.text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)
}

/// Moves a complete file to its place, and what is there aside.
fn put(
    output: &Output<'_>,
    made: &mut Vec<PathBuf>,
    kept: &mut Vec<(PathBuf, PathBuf)>,
) -> Result<(), String> {
    let failed = |error| format!("error: cannot replace {}: {error}", output.path.display());
    let old = output.beside("old");
    match fs::rename(&output.path, &old) {
        Ok(()) => kept.push((old, output.path.clone())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
    }
    fs::rename(output.beside("new"), &output.path).map_err(failed)?;
    made.push(output.path.clone());
    Ok(())
}
