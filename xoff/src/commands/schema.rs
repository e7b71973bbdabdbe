//! `xoff schema`: the JSON Schema of scenarios and sweeps for editors, and its sections for people.

mod section;

use terminal::Complaint;

use super::Exit;
use section::Section;
pub use section::markdown;

/// Arguments of `xoff schema`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  xoff schema > scenario.schema.json
  xoff schema switch.ecn
  xoff schema flows.poisson
  xoff schema sweep.axes")]
pub struct Arguments {
    /// `scenario` or `sweep`: prints the JSON Schema of such files. Or a section of a scenario, such as `switch.ecn`,
    /// or of a sweep, such as `sweep.axes`: prints its keys as text. A step may also be the kind of a table, such as
    /// `host.transport.tcp`.
    #[arg(value_name = "FILE|SECTION", default_value = "scenario")]
    of: String,
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    let of = arguments.of.as_str();
    let (schema, path) = match of.strip_prefix("sweep") {
        Some("") => (sweep::json_schema(), None),
        Some(rest) if rest.starts_with('.') => (sweep::json_schema(), Some(&rest[1..])),
        _ => (scenario::json_schema(), Some(of).filter(|of| *of != "scenario")),
    };
    let Some(path) = path else {
        return super::print_document(&format!("{schema:#}"), Exit::Success);
    };
    match Section::find(&schema, path) {
        Ok(section) => super::answer(&section.text(of), &section.json(), Exit::Success),
        Err((title, help)) => super::refuse(Complaint::new(title).with_help(help)),
    }
}
