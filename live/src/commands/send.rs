//! `xoff send` and `xoff incast`: RoCE traffic in a live fabric.

use std::io::{self, Write};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use emulation::live::desk::Delivery;
use results::span;
use scenario::Refusal;
use scenario::whole_number::between;
use serde_json::json;
use terminal::Complaint;
use units::{Bytes, Nanos, Picos};

use super::{Exit, json_errors, leave};
use crate::client::{self, Client};
use crate::protocol::{Answer, Flow, Request};
use crate::report;

/// Time between two checks for the end of the wait, while no flow completes.
const MOMENT: Duration = Duration::from_millis(100);
/// Max number of unfinished flows that are listed by name.
const MAX_NAMED: usize = 8;

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
    /// Number of flows that start at the same time.
    #[arg(long, default_value_t = 1, value_parser = between(1u32, 4096), allow_hyphen_values = true)]
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

/// Options of a flow.
#[derive(Clone, Copy, Debug, clap::Args)]
struct FlowArguments {
    /// Size of each flow, such as 64kB or 1MB.
    #[arg(long, value_name = "BYTES", default_value = "1MB", value_parser = bytes, allow_hyphen_values = true)]
    bytes: u64,
    /// Priority of the flows, 0 to 7.
    #[arg(long, default_value_t = 3, value_parser = between(0u8, 7), allow_hyphen_values = true)]
    priority: u8,
    /// Max wait in wall-clock time, such as 10s; unfinished flows then continue. Default: until all flows are done.
    #[arg(long, value_name = "TIME", value_parser = timeout, allow_hyphen_values = true)]
    timeout: Option<Duration>,
    /// Prints one line of JSON per flow.
    #[arg(long)]
    json: bool,
}

/// Parses a number of bytes with its unit.
fn bytes(text: &str) -> Result<u64, Refusal> {
    scenario::quantity::parse::<Bytes>(text).map(|bytes| bytes.0)
}

/// Parses a time with its unit, above zero.
fn timeout(text: &str) -> Result<Duration, Refusal> {
    match scenario::quantity::parse::<Picos>(text)? {
        Picos::ZERO => {
            Err(Refusal::new("the time is zero", "write a time above zero, such as 10s"))
        }
        Picos(picos) => Ok(Duration::from_nanos(picos / 1000)),
    }
}

/// Runs `xoff send`.
pub fn execute(arguments: &Arguments) -> Exit {
    let Arguments { name, src, dst, flow, count } = arguments;
    json_errors::answer_in_json(flow.json);
    let flow_of =
        |_| Flow { src: src.clone(), dst: dst.clone(), bytes: flow.bytes, priority: flow.priority };
    send(name, (0..*count).map(flow_of).collect(), *flow)
}

/// Runs `xoff incast`.
pub fn incast(arguments: &IncastArguments) -> Exit {
    let IncastArguments { name, dst, from, flow } = arguments;
    json_errors::answer_in_json(flow.json);
    let senders = if from.is_empty() {
        match client::find(name) {
            Ok((_, description)) => {
                let hosts = description.hosts.into_iter().map(|host| host.name);
                hosts.filter(|host| host != dst).collect()
            }
            Err(message) => return super::refuse(message),
        }
    } else {
        from.clone()
    };
    let flow_of = |src| Flow { src, dst: dst.clone(), bytes: flow.bytes, priority: flow.priority };
    send(name, senders.into_iter().map(flow_of).collect(), *flow)
}

fn send(name: &str, flows: Vec<Flow>, arguments: FlowArguments) -> Exit {
    let interrupted = leave::watch(Exit::Interrupted, false);
    let asked = Client::connect(name).and_then(|mut client| {
        client.ask(&Request::Send { flows: flows.clone() })?;
        Ok(client)
    });
    let mut client = match asked {
        Ok(client) => client,
        Err(message) => return super::refuse(message),
    };
    let begun = now();
    let mut under_way = UnderWay { asked: flows.len(), flows };
    loop {
        if interrupted.load(Ordering::Relaxed) {
            under_way.stop_waiting("interrupted", Exit::Interrupted);
            return Exit::Interrupted;
        }
        if arguments.timeout.is_some_and(|timeout| begun.elapsed() >= timeout) {
            under_way.stop_waiting("the time is over", Exit::Unsound);
            return Exit::Unsound;
        }
        let delivery = match client.answer_within(MOMENT) {
            Ok(None) => continue,
            Ok(Some(Answer::Delivered(delivery))) => delivery,
            Ok(Some(_)) => return Exit::Success,
            Err(message) => return super::refuse(message),
        };
        under_way.remove(&delivery);
        let line = if arguments.json {
            serde_json::to_string(&delivery).expect("a delivery is plain data")
        } else {
            line(&delivery)
        };
        let mut output = io::stdout().lock();
        if writeln!(output, "{line}").and_then(|()| output.flush()).is_err() {
            return Exit::Success;
        }
    }
}

/// Flows that were requested and are not done.
struct UnderWay {
    asked: usize,
    flows: Vec<Flow>,
}

impl UnderWay {
    /// Removes a flow that is done.
    fn remove(&mut self, delivery: &Delivery) {
        let ends = |flow: &Flow| flow.src == delivery.src && flow.dst == delivery.dst;
        if let Some(place) = self.flows.iter().position(ends) {
            self.flows.remove(place);
        }
    }

    /// Prints that the command no longer waits for the remaining flows.
    fn stop_waiting(&self, why: &str, exit: Exit) {
        let flows = &self.flows;
        let complaint = Complaint::new(format!("{why}; {}", self.sentence()));
        json_errors::error(complaint.with("under_way", json!(flows)), exit);
    }

    fn sentence(&self) -> String {
        let Self { asked, flows } = self;
        let (go, wait) = if flows.len() == 1 { ("goes", "waits") } else { ("go", "wait") };
        let mut named: Vec<String> =
            flows.iter().map(|flow| format!("{} -> {}", flow.src, flow.dst)).collect();
        if named.len() > MAX_NAMED {
            let others = named.split_off(MAX_NAMED - 1).len();
            named.push(format!("{others} others"));
        }
        format!(
            "{} of {asked} flows {go} on, or {wait} for a way, without this command: {}",
            flows.len(),
            named.join(", ")
        )
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

#[expect(clippy::disallowed_methods, reason = "how long to wait, never what is sent")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_that_go_on_are_named_up_to_a_number() {
        let flow = |number| Flow {
            src: format!("h{number}"),
            dst: "h0".to_owned(),
            bytes: 1,
            priority: 3,
        };
        let sentence = |flows| UnderWay { asked: 12, flows }.sentence();
        let one = sentence(vec![flow(1)]);
        assert_eq!(
            one,
            "1 of 12 flows goes on, or waits for a way, without this command: h1 -> h0"
        );
        let many = sentence((1..=10).map(flow).collect());
        assert!(many.ends_with("h6 -> h0, h7 -> h0, 3 others"), "{many}");
        assert!(!sentence((1..=8).map(flow).collect()).contains("others"));
    }

    #[test]
    fn a_time_to_wait_has_a_unit_and_is_some_time() {
        assert_eq!(timeout("10s"), Ok(Duration::from_secs(10)));
        for wrong in ["10", "0s", "-1s", ""] {
            assert!(timeout(wrong).is_err(), "{wrong}");
        }
    }
}
