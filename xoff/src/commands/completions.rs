//! `xoff completions`: what a shell offers after `xoff`.

use clap::CommandFactory;
use clap_complete::Shell;

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
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut super::Arguments::command(), "xoff", &mut script);
    super::print(&String::from_utf8_lossy(&script), Exit::Success)
}
