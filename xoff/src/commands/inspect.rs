//! `xoff inspect`: properties of a scenario's fabric, or the state of a live one.

use std::path::PathBuf;

use analysis::inspect::{self, Asic};
#[cfg(feature = "live")]
use terminal::Complaint;

use super::Exit;

/// Arguments of `xoff inspect`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  xoff inspect scenario.toml --asic spectrum-3
  xoff inspect scenario.toml --asic spectrum-2,mtu=9100B
  xoff inspect scenario.toml --asic cell=254B,pipeline=20KiB,mac-phy=1KiB,small-packets=50")]
pub struct Arguments {
    /// The scenario, or the name of a live fabric.
    file: PathBuf,
    /// Replaces a key of the scenario, such as `switch.buffer=4MB`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// Also prints the headroom that SONiC would give a queue on this switch chip, and the difference. NAME is
    /// `spectrum`, `spectrum-2` or `spectrum-3`; a custom chip needs `cell` and `pipeline`. KEYs: `cell` (bytes of a
    /// buffer cell), `pipeline` (bytes that arrive during the chip's latency), `mac-phy` (during the latency of MAC and
    /// PHY), `gearbox` (during a gearbox's, one way), `response` (until the neighbour stops), `mtu` (of the port),
    /// `lossless-mtu` (of packets in lossless queues), `small-packets` (percent of packets that fill their cells
    /// worst), `lanes` (of the port). Default of both MTUs: the scenario's longest packet.
    #[arg(long, value_name = "NAME|KEY=VALUE,..")]
    asic: Option<Asic>,
    /// Prints JSON instead of text.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Exit {
    super::json_errors::answer_in_json(arguments.json);
    #[cfg(feature = "live")]
    match super::live_fabric(&arguments.file) {
        Ok(None) => {}
        Ok(Some(_)) if arguments.asic.is_some() => {
            let help = "--asic goes with a scenario's file";
            return super::refuse(
                Complaint::new("a live fabric is shown as it is").with_help(help),
            );
        }
        Ok(Some(folder)) => return look(folder.name(), arguments.json),
        Err(exit) => return exit,
    }
    match super::load_or_find(&arguments.file, &arguments.sets) {
        Ok(scenario) => {
            let report = if arguments.json { inspect::json } else { inspect::report };
            super::print(&report(&scenario, arguments.asic.as_ref()), Exit::Success)
        }
        Err(exit) => exit,
    }
}

/// Prints the state of a live fabric.
#[cfg(feature = "live")]
fn look(name: &str, json: bool) -> Exit {
    use live::client::{self, Client};
    use live::protocol::{Answer, Request};
    use live::report;

    let seen = Client::connect(name).and_then(|mut client| {
        let (_, description) = client::find(name)?;
        Ok((description, client.ask_once(&Request::Look {})?))
    });
    match seen {
        Ok((description, Answer::View(view))) if json => {
            let seen = report::Seen { calibration: description.calibration, view };
            let text = serde_json::to_string_pretty(&seen).expect("a view is plain data");
            super::print(&text, Exit::Success)
        }
        Ok((description, Answer::View(view))) => {
            super::print(&report::render(&description, &view), Exit::Success)
        }
        Ok(_) => super::refuse("the supervisor answered something else; is it of another version?"),
        Err(message) => super::refuse(message),
    }
}
