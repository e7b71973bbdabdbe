//! `xoff import`: another program's files into a scenario.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use scenario::Scenario;

use super::Exit;
use crate::import::hpcc::{self, Imported};

/// Arguments of `xoff import`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Whose files they are.
    #[arg(value_enum)]
    program: Program,
    /// A config file, or a folder with one config*.txt; the topology and the flows that it names are
    /// looked for there and one folder up.
    #[arg(value_name = "DIR")]
    path: PathBuf,
    /// The scenario to write, flow lists beside it. Default: the config file's name, with .toml, here.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Writes a scenario even if xoff cannot do all that the files ask for.
    #[arg(long)]
    lenient: bool,
}

/// A program whose files can be read.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Program {
    /// The HPCC simulator: ns-3, alibaba-edu/High-Precision-Congestion-Control.
    Hpcc,
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    let Program::Hpcc = arguments.program;
    let imported = hpcc::config_file(&arguments.path).and_then(|config| {
        let out = arguments.out.clone();
        let out = out.unwrap_or_else(|| Path::new(&stem(&config)).with_extension("toml"));
        Ok((hpcc::import(&config, &stem(&out))?, out))
    });
    let (imported, out) = match imported {
        Ok(imported) => imported,
        Err(error) => {
            super::say(error);
            return Exit::BadInput;
        }
    };
    for note in &imported.remarks.notes {
        super::say(format_args!("note: {note}"));
    }
    for line in imported.remarks.table() {
        super::say(line);
    }
    if !arguments.lenient && imported.remarks.any_asked() {
        for difference in imported.remarks.differences.iter().filter(|it| it.asked) {
            super::say(format_args!("error: {}: xoff cannot do that", difference.subject));
        }
        super::say(
            "help: results would not be the simulator's; --lenient writes the scenario anyway",
        );
        return Exit::BadInput;
    }
    match write(&imported, &out) {
        Ok(text) => super::print(&text, Exit::Success),
        Err(message) => {
            super::say(message);
            Exit::BadInput
        }
    }
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Writes all files and checks the scenario, or leaves nothing behind.
fn write(imported: &Imported, out: &Path) -> Result<String, String> {
    let folder = out.parent().unwrap_or(Path::new(""));
    let lists = imported.flow_lists.iter().map(|(name, text)| (folder.join(name), text));
    let files: Vec<(PathBuf, &String)> = lists.chain([(out.to_owned(), &imported.toml)]).collect();
    let mut made: Vec<&Path> = Vec::new();
    let mut write_all = || {
        for (path, text) in &files {
            let mut file = File::create_new(path).map_err(|error| {
                let path = path.display();
                format!("error: cannot create {path}: {error}; name another file with --out")
            })?;
            made.push(path);
            file.write_all(text.as_bytes())
                .map_err(|error| format!("error: cannot write {}: {error}", path.display()))?;
        }
        Scenario::load(out, &[]).map_err(|error| error.to_string())
    };
    match write_all() {
        Ok(scenario) => Ok(super::validate::describe(out, &scenario)),
        Err(message) => {
            for path in made {
                // What cannot be removed is left: the first error is the one to show.
                let _ = fs::remove_file(path);
            }
            Err(message)
        }
    }
}
