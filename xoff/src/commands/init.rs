//! `xoff init`: a scenario as a starting point.

use std::fs::{self, File};
use std::io::{self, Write};

use serde_json::json;
use terminal::Complaint;

use super::Exit;
use crate::init::{Kind, Template};

/// Max length of the name of a run or a live fabric, in bytes.
const MAX_NAME_LENGTH: usize = 64;

/// Arguments of `xoff init`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  xoff init lab && xoff run lab.toml --datapath memory
  xoff init alpha --kind sweep && xoff sweep alpha.toml --out alpha.sweep")]
pub struct Arguments {
    /// Name of the scenario, and of its file in this folder: 1 to 64 letters, digits, `-`, `_` and `.`. With --kind
    /// sweep the scenario that it varies is NAME-incast.toml.
    name: String,
    /// Kind of scenario.
    #[arg(long, value_enum, default_value_t = Kind::Incast)]
    kind: Kind,
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    let name = arguments.name.strip_suffix(".toml").unwrap_or(&arguments.name);
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if !begins || name.len() > MAX_NAME_LENGTH || !name.bytes().all(is_allowed) {
        let title = format!("`{name}` cannot name a scenario");
        return super::refuse(Complaint::new(title).with_help(format!(
            "write 1 to {MAX_NAME_LENGTH} letters, digits, `-`, `_` or `.`, a letter or a digit first; the file is made in \
             this folder"
        )));
    }
    let files = arguments.kind.files(name);
    match write(&files) {
        Ok(()) => {
            let names: Vec<&str> = files.iter().map(|it| it.file.as_str()).collect();
            let steps = arguments.kind.steps(name);
            let text = format!("wrote {}\n\nnext:\n{}", names.join(" and "), steps.join("\n"));
            let steps: Vec<&str> = steps.iter().map(|step| step.trim()).collect();
            super::answer(&text, &json!({ "files": names, "next": steps }), Exit::Success)
        }
        Err((file, error)) if error.kind() == io::ErrorKind::AlreadyExists => {
            let help = "choose another name, or move the file away; init replaces nothing";
            super::refuse(Complaint::new(format!("{file} is there already")).with_help(help))
        }
        Err((file, error)) => super::refuse(format!("cannot write {file}: {error}")),
    }
}

/// Writes all files or none. An error names its file.
fn write(files: &[Template]) -> Result<(), (String, io::Error)> {
    let mut made: Vec<&str> = Vec::with_capacity(files.len());
    for Template { file, text } in files {
        let written = File::create_new(file).and_then(|mut open| {
            made.push(file);
            open.write_all(text.as_bytes())
        });
        if let Err(error) = written {
            for file in made {
                // The first error is the one to report.
                let _ = fs::remove_file(file);
            }
            return Err((file.clone(), error));
        }
    }
    Ok(())
}
