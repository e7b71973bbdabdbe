//! `xoff-switch`: a lossless switch on interfaces of this machine. docs/standalone.md has examples.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use scenario::standalone::StandaloneSwitch;
use standalone::switch::{self, Report};
use standalone::{Error, exit, print_line};
use switch_user::hook::XdpHook;

/// A lossless Ethernet switch on interfaces of this machine and namespace, in eBPF.
///
/// On SIGUSR1 it prints its counters. On SIGINT and SIGTERM it prints them and ends.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// The switch: a TOML file with the section `[switch]` of a scenario and a table `[[ports]]` for each port.
    #[arg(required_unless_present = "schema")]
    file: Option<PathBuf>,
    /// Sets a key of the file, such as `switch.buffer=4MB`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Runs XDP in front of the stack instead of in the driver, for interfaces without native XDP.
    #[arg(long)]
    generic: bool,
    /// Prints the counters as a line of JSON.
    #[arg(long)]
    json: bool,
    /// Prints the JSON Schema of the file and ends.
    #[arg(long)]
    schema: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    exit("xoff-switch", run(&arguments))
}

fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    if arguments.schema {
        print(&format!("{:#}", StandaloneSwitch::json_schema()));
        return Ok(ExitCode::SUCCESS);
    }
    let file = arguments.file.as_deref().expect("clap asks for it");
    let settings = StandaloneSwitch::load(file, &arguments.overrides)?;
    let hook = if arguments.generic { XdpHook::Generic } else { XdpHook::Native };
    let names: Vec<&str> = settings.ports.iter().map(|port| port.interface.as_str()).collect();
    let started =
        || print_line(format_args!("xoff-switch: forwarding between {}", names.join(", ")));
    let report = |report: &Report| {
        if arguments.json {
            print(&serde_json::to_string(report).expect("a report is plain data"));
        } else {
            print(&report.to_string());
        }
    };
    switch::run(&settings, hook, started, report)
}

/// Prints a line. Ignores failed writes: a closed pipe does not end a switch.
fn print(text: &str) {
    let _ = writeln!(io::stdout(), "{text}");
}
