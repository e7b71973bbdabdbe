//! `xoff completions`: completion scripts for shells.

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use serde_json::json;

use super::Exit;

/// Arguments of `xoff completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  xoff completions bash > /etc/bash_completion.d/xoff
  xoff completions zsh > \"${fpath[1]}/_xoff\"
  xoff completions fish > ~/.config/fish/completions/xoff.fish")]
pub struct Arguments {
    /// The shell.
    shell: Shell,
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    // Shells would complete hidden commands, too.
    let all = super::Arguments::command();
    let shown = all.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    let mut shown = Command::new("xoff").version("").subcommands(shown);
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut shown, "xoff", &mut script);
    let script = String::from_utf8_lossy(&script);
    let json = json!({ "shell": arguments.shell.to_string(), "script": script });
    super::answer(&script, &json, Exit::Success)
}
