//! `xoff send` and `xoff incast`: RoCE traffic in a live fabric.

use std::io::{self, Write};

use emulation::live::desk::Delivery;
use results::span;
use units::{Bytes, Nanos};

use super::Exit;
use crate::live::client::{self, Client};
use crate::live::protocol::{Answer, Flow, Request};
use crate::live::report;

/// Arguments of `xoff send`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The live fabric.
    name: String,
    /// The sender.
    src: String,
    /// The receiver.
    dst: String,
    #[command(flatten)]
    flow: FlowArguments,
    /// How many flows start at once.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    count: u32,
}

/// Arguments of `xoff incast`.
#[derive(Debug, clap::Args)]
pub struct IncastArguments {
    /// The live fabric.
    name: String,
    /// The receiver.
    dst: String,
    /// The senders. Default: all other hosts.
    #[arg(long, value_name = "HOST", value_delimiter = ',')]
    from: Vec<String>,
    #[command(flatten)]
    flow: FlowArguments,
}

/// What a flow is.
#[derive(Clone, Copy, Debug, clap::Args)]
struct FlowArguments {
    /// What each flow transfers, such as 64kB or 1MB.
    #[arg(long, value_name = "BYTES", default_value = "1MB", value_parser = bytes)]
    bytes: u64,
    /// Its priority, 0 to 7.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(0..8))]
    priority: u8,
    /// Prints a line of JSON for each flow.
    #[arg(long)]
    json: bool,
}

/// A number of bytes with its unit.
fn bytes(text: &str) -> Result<u64, String> {
    scenario::quantity::parse::<Bytes>(text).map(|bytes| bytes.0)
}

/// Runs `xoff send`.
pub fn execute(arguments: &Arguments) -> Exit {
    let Arguments { name, src, dst, flow, count } = arguments;
    super::json_errors::answer_in_json(flow.json);
    let flow_of =
        |_| Flow { src: src.clone(), dst: dst.clone(), bytes: flow.bytes, priority: flow.priority };
    send(name, (0..*count).map(flow_of).collect(), flow.json)
}

/// Runs `xoff incast`.
pub fn incast(arguments: &IncastArguments) -> Exit {
    let IncastArguments { name, dst, from, flow } = arguments;
    super::json_errors::answer_in_json(flow.json);
    let senders = if from.is_empty() {
        match client::find(name) {
            Ok((_, description)) => {
                let hosts = description.hosts.into_iter().map(|host| host.name);
                hosts.filter(|host| host != dst).collect()
            }
            Err(message) => return super::refuse(&message),
        }
    } else {
        from.clone()
    };
    let flow_of = |src| Flow { src, dst: dst.clone(), bytes: flow.bytes, priority: flow.priority };
    send(name, senders.into_iter().map(flow_of).collect(), flow.json)
}

fn send(name: &str, flows: Vec<Flow>, json: bool) -> Exit {
    let asked = Client::connect(name).and_then(|mut client| {
        client.ask(&Request::Send { flows })?;
        Ok(client)
    });
    let mut client = match asked {
        Ok(client) => client,
        Err(message) => return super::refuse(&message),
    };
    loop {
        let line = match client.answer() {
            Ok(Answer::Delivered(delivery)) if json => {
                serde_json::to_string(&delivery).expect("a delivery is plain data")
            }
            Ok(Answer::Delivered(delivery)) => line(&delivery),
            Ok(_) => return Exit::Success,
            Err(message) => return super::refuse(&message),
        };
        let mut output = io::stdout().lock();
        if writeln!(output, "{line}").and_then(|()| output.flush()).is_err() {
            return Exit::Success;
        }
    }
}

fn line(delivery: &Delivery) -> String {
    let Delivery { src, dst, bytes, priority, fct_ns, slowdown, fidelity, .. } = delivery;
    let retransmitted_packets = &delivery.retransmitted_packets;
    let gigabits = *bytes as f64 * 8.0 / (*fct_ns).max(1) as f64;
    let rate = if gigabits < 1.0 {
        format!("{:.3} Mbit/s", gigabits * 1000.0)
    } else {
        format!("{gigabits:.3} Gbit/s")
    };
    let again = match retransmitted_packets {
        0 => String::new(),
        packets => format!(", {packets} packets sent again"),
    };
    format!(
        "{src} -> {dst}: {bytes} B in priority {priority}, FCT {}, {rate}, slowdown {slowdown:.2}{again}; {}",
        span(Nanos(*fct_ns)),
        report::meanwhile(fidelity)
    )
}
