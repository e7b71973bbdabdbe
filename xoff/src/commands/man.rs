//! `xoff man`: manual pages.

use std::path::PathBuf;

use clap_mangen::Man;
use scenario::document::suggestion;
use serde_json::json;
use terminal::Complaint;

use super::Exit;

/// Arguments of `xoff man`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  xoff man run | man -l -
  xoff man --out /usr/local/share/man/man1")]
pub struct Arguments {
    /// Command whose page is printed. Default: the overview page.
    command: Option<String>,
    /// Writes the pages of all commands to this folder instead, made if it is missing.
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    out: Option<PathBuf>,
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    let mut all = super::command().disable_help_subcommand(true).propagate_version(true);
    all.build();
    if let Some(folder) = &arguments.out {
        if folder.exists() && !folder.is_dir() {
            let message =
                format!("{} is not a folder: name another one with --out", folder.display());
            return super::refuse(message);
        }
        let written =
            std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(all, folder));
        return match written {
            Ok(()) if super::json_errors::answers_in_json() => {
                let folder = folder.display().to_string();
                super::print(&json!({ "folder": folder }).to_string(), Exit::Success)
            }
            Ok(()) => Exit::Success,
            Err(error) => super::refuse(format!("cannot write {}: {error}", folder.display())),
        };
    }
    let page = match &arguments.command {
        None => all,
        Some(name) => {
            let shown = || all.get_subcommands().filter(|command| !command.is_hide_set());
            let Some(command) = shown().find(|command| command.get_name() == name) else {
                let names: Vec<&str> = shown().map(clap::Command::get_name).collect();
                let help = suggestion(name, "the commands are", names);
                let title = format!("xoff has no command `{name}`");
                return super::refuse(Complaint::new(title).with_help(help));
            };
            command.clone()
        }
    };
    let mut text = Vec::new();
    Man::new(page).render(&mut text).expect("a Vec takes every write");
    let text = String::from_utf8_lossy(&text);
    super::answer(&text, &json!({ "command": arguments.command, "page": text }), Exit::Success)
}
