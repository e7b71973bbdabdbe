//! `xoff graph`: a drawing of a scenario's fabric.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use analysis::graph::{Graph, Hosts, dot, mermaid, svg};
use clap::ValueEnum;
use serde_json::json;

use super::Exit;

/// Arguments of `xoff graph`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The scenario, or the name of a live fabric.
    file: PathBuf,
    /// Replaces a key of the scenario, such as `topology.leaves=4`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// Format of the drawing.
    #[arg(long, value_name = "FORMAT", default_value = "svg")]
    format: Format,
    /// Hosts to draw as separate nodes. Default: all, if there are at most 64; otherwise one node for the hosts of each
    /// switch.
    #[arg(long, value_name = "WHICH")]
    hosts: Option<Which>,
    /// Writes to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    /// SVG, for browsers
    Svg,
    /// DOT, for Graphviz
    Dot,
    /// Mermaid flowchart, for Markdown
    Mermaid,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Which {
    /// A node for each host
    All,
    /// A node for the hosts of each switch
    Racks,
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    let scenario = match super::load_or_find(&arguments.file, &arguments.sets) {
        Ok(scenario) => scenario,
        Err(exit) => return exit,
    };
    let hosts = match arguments.hosts {
        None => Hosts::IfFew,
        Some(Which::All) => Hosts::All,
        Some(Which::Racks) => Hosts::Racks,
    };
    let graph = Graph::new(&scenario, hosts);
    let text = match arguments.format {
        Format::Svg => svg(&graph),
        Format::Dot => dot(&graph),
        Format::Mermaid => mermaid(&graph),
    };
    let format = arguments.format.to_possible_value().expect("no format is hidden");
    let Some(out) = &arguments.out else {
        if !super::json_errors::answers_in_json() {
            return super::print_document(&text, Exit::Success);
        }
        let json = json!({ "format": format.get_name(), "drawing": text });
        return super::print(&format!("{json:#}"), Exit::Success);
    };
    let written = super::require_place(out).and_then(|()| {
        write(out, &(text.trim_end().to_owned() + "\n"))
            .map_err(|error| format!("cannot write {}: {error}", out.display()).into())
    });
    match written {
        Ok(()) if super::json_errors::answers_in_json() => {
            let out = out.display().to_string();
            super::print(
                &json!({ "format": format.get_name(), "file": out }).to_string(),
                Exit::Success,
            )
        }
        Ok(()) => Exit::Success,
        Err(error) => super::refuse(error),
    }
}

/// Writes a file. If the write fails, as on a full disk, a new file is removed again.
fn write(out: &Path, text: &str) -> io::Result<()> {
    match File::create_new(out) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => fs::write(out, text),
        file => file?.write_all(text.as_bytes()).inspect_err(|_| {
            // The first error is the one to report.
            let _ = fs::remove_file(out);
        }),
    }
}
