//! The flow file: a count, then a line `source destination pg dport bytes start_seconds` for each flow; only some
//! simulators have `dport`.

use results::DESTINATION_PORT;
use scenario::{MAX_FLOWS, ScenarioError};
use units::Nanos;

use super::instant::seconds;
use super::simulator::Traits;
use super::topology::Topology;
use crate::Source;
use crate::source::{Line, Word};

/// Flows counted by the header, in the order of their start.
#[derive(Clone, Debug)]
pub struct Flows {
    name: String,
    /// Flows in the file's order.
    pub list: Vec<FlowLine>,
    /// First line after the flows that the header counts, if there are more lines.
    pub unread_from: Option<usize>,
    /// Number of flows with 0 bytes in the file; they have one byte here.
    pub empty: usize,
}

/// A flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowLine {
    /// The sending host.
    pub source: u32,
    /// The receiving host.
    pub destination: u32,
    /// Priority group, 0 to 7.
    pub group: u8,
    /// UDP destination port.
    pub destination_port: u16,
    /// Bytes to transfer.
    pub bytes: u64,
    /// Start of the flow.
    pub start: Nanos,
}

impl Flows {
    /// Parses a flow file for the hosts of `topology`.
    pub fn parse(
        source: &Source,
        topology: &Topology,
        traits: &Traits,
    ) -> Result<Self, ScenarioError> {
        let lines = source.lines();
        let Some(header) = lines.first() else {
            return Err(source.error_at_end("a flow file without a count", "write the count first"));
        };
        let &[count] = header.words.as_slice() else {
            let title = format!("a header of {} fields", header.words.len());
            return Err(source.error(header.span(), &title, "write the count of flows alone"));
        };
        let count = source.number(count, "the count of flows", MAX_FLOWS)?;
        if count == 0 {
            let help = "count the flows that follow";
            return Err(source.error(header.span(), "a flow file without flows", help));
        }
        let rest = &lines[1..];
        if rest.len() < count {
            let title = format!("{} flows; the header counts {count}", rest.len());
            return Err(source.error_at_end(&title, "write a line for each flow"));
        }
        let mut list: Vec<FlowLine> = Vec::with_capacity(count);
        let mut empty = 0;
        for line in &rest[..count] {
            let mut flow = flow(source, line, topology, traits)?;
            empty += usize::from(flow.bytes == 0);
            flow.bytes = flow.bytes.max(1);
            if let Some(before) = list.last()
                && flow.start < before.start
            {
                // The simulator would schedule an event in the past, and crash or lose the flow.
                let title = "a flow that starts before the one above it";
                let help = "order the flows by their start, as the simulator needs them";
                let start = line.words.last().map_or(line.span(), Word::span);
                return Err(source.error(start, title, help));
            }
            list.push(flow);
        }
        let unread_from = rest.get(count).map(|line| line.number);
        Ok(Self { name: source.name().to_owned(), list, unread_from, empty })
    }

    /// Returns the name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }
}

fn flow(
    source: &Source,
    line: &Line<'_>,
    topology: &Topology,
    traits: &Traits,
) -> Result<FlowLine, ScenarioError> {
    let (from, to, group, port, bytes, start) =
        match (line.words.as_slice(), traits.destination_ports) {
            (&[from, to, group, port, bytes, start], true) => {
                (from, to, group, Some(port), bytes, start)
            }
            (&[from, to, group, bytes, start], false) => (from, to, group, None, bytes, start),
            (words, ports) => {
                let title = format!("a flow of {} fields", words.len());
                let help = if ports {
                    "write six: source destination pg dport bytes start_seconds"
                } else {
                    "write five: source destination pg bytes start_seconds"
                };
                return Err(source.error(line.span(), &title, help));
            }
        };
    let (sender, receiver) = (host(source, from, topology)?, host(source, to, topology)?);
    if sender == receiver {
        let title = format!("a flow from host {sender} to itself");
        return Err(source.error(to.span(), &title, "name two different hosts"));
    }
    let size = source.number(bytes, "the size", traits.largest_flow)?;
    if size == 0 && !traits.empty_flows {
        return Err(source.error(bytes.span(), "a flow of no bytes", "write at least 1"));
    }
    let port =
        port.map(|port| source.number(port, "the destination port", u16::MAX)).transpose()?;
    Ok(FlowLine {
        source: sender,
        destination: receiver,
        group: source.number(group, "the priority group", 7)?,
        destination_port: port.unwrap_or(DESTINATION_PORT),
        bytes: size,
        start: seconds(source, start, traits.rounding)?,
    })
}

fn host(source: &Source, word: Word<'_>, topology: &Topology) -> Result<u32, ScenarioError> {
    let id = source.number(word, "the host", u32::MAX)?;
    if topology.is_switch(id) {
        let title = format!("node {id} is a switch");
        return Err(source.error(word.span(), &title, "flows go from host to host"));
    }
    if topology.nodes().contains(&id) {
        return Ok(id);
    }
    let help = format!("the nodes are 0 to {}", topology.nodes().end.saturating_sub(1));
    Err(source.error(word.span(), &format!("there is no node {id}"), &help))
}
