//! `fct.txt`, `pfc.txt` and `qlen.txt`: files in the format of the HPCC simulator (ns-3), with its columns, units and
//! numbers, so that analyses of its files read a run of xoff.
//!
//! Columns and formats: `simulation/scratch/third.cc` of alibaba-edu/High-Precision-Congestion-Control.

mod queue_lengths;
mod reader;

use std::collections::BTreeMap;
use std::io::Write;

use units::{Nanos, Picos};

use super::column::Key;
use super::error::ResultsError;
use super::pause_time::PauseReceived;
use super::staged_file::StagedFile;
use super::staging::Staging;
use super::tables::FlowRow;
use super::text_file::TextFile;
use queue_lengths::Dumps;
pub use queue_lengths::{QueueLengths, QueueSampling};
pub use reader::{FctLine, PfcLine, read_fct, read_pfc};

/// Name of the file of completed flows.
pub const FCT_FILE: &str = "fct.txt";
/// Name of the file of pauses.
pub const PFC_FILE: &str = "pfc.txt";
/// The first UDP source port of each pair of hosts.
pub const FIRST_SOURCE_PORT: u16 = 10_000;
/// Destination port of flows whose label has no port assigned: the simulator's analysis takes 100 for ordinary flows
/// and 200 for incasts.
pub const DESTINATION_PORT: u16 = 100;

/// The simulator's numbers of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HpccNode {
    /// The node's id.
    pub id: u32,
    /// True for a switch, false for a host.
    pub is_switch: bool,
    /// The interface of each port. Interfaces count from 1; 0 is the loopback.
    pub interfaces: Vec<u32>,
}

/// Options of the files.
#[derive(Clone, Debug)]
pub struct HpccOptions {
    /// Every node of the fabric, by name.
    pub nodes: BTreeMap<String, HpccNode>,
    /// The switches' names by their numbers.
    pub switches: Vec<String>,
    /// UDP destination ports by the label of a flow; [`DESTINATION_PORT`] for labels without one.
    pub destination_ports: BTreeMap<String, u16>,
    /// Added to every instant.
    pub time_offset: Nanos,
    /// Sampling of queues for `qlen.txt`.
    pub sampling: QueueSampling,
    /// True if `fct.txt` names hosts by their ids; otherwise by their addresses.
    pub hosts_by_id: bool,
    /// True if `pfc.txt` has each PFC frame; otherwise only those that begin or end a pause.
    pub every_pause: bool,
}

/// Completion time of a flow alone in the fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standalone {
    /// The time.
    pub time: Nanos,
    /// An instant, and the time of flows that complete at that instant or later.
    pub later: Option<(Nanos, Nanos)>,
}

impl Standalone {
    /// The time of a flow that completes at an instant.
    fn at(self, end: Nanos) -> Nanos {
        self.later.filter(|(from, _)| end >= *from).map_or(self.time, |(_, time)| time)
    }
}

impl From<Nanos> for Standalone {
    fn from(time: Nanos) -> Self {
        Self { time, later: None }
    }
}

/// A flow that begins.
#[derive(Clone, Copy, Debug)]
pub struct FlowStart<'a> {
    /// The flow's number.
    pub flow: u32,
    /// Label of the flow.
    pub label: &'a str,
    /// The sending host.
    pub src: &'a str,
    /// The receiving host.
    pub dst: &'a str,
    /// Value of `standalone_fct`, if it is not `ideal_ns`.
    pub standalone: Option<Standalone>,
    /// Source port.
    pub source_port: u16,
    /// Destination port, if it does not follow from the label.
    pub destination_port: Option<u16>,
}

/// A flow that has started: its ports, and its time alone.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    source_port: u16,
    /// `None` if it is the port of the flow's label.
    destination_port: Option<u16>,
    standalone: Option<Standalone>,
}

/// The three files being written. Memory grows with the ports and the flows under way.
pub struct HpccFiles {
    fct: TextFile<StagedFile>,
    pfc: TextFile<StagedFile>,
    qlen: TextFile<StagedFile>,
    nodes: BTreeMap<String, HpccNode>,
    destination_ports: BTreeMap<String, u16>,
    time_offset: Nanos,
    dumps: Dumps,
    /// Flows under way.
    under_way: BTreeMap<u32, UnderWay>,
    hosts_by_id: bool,
    every_pause: bool,
    /// Ends of pauses, by (node, port, priority).
    paused: BTreeMap<(u32, u16, u8), Nanos>,
}

impl HpccFiles {
    /// Names of the files.
    pub const FILES: [&str; 3] = [FCT_FILE, PFC_FILE, "qlen.txt"];

    /// Opens the files.
    pub fn create(staging: &Staging, options: HpccOptions) -> Result<Self, ResultsError> {
        let open = |name| Ok(TextFile::new(staging.create(name)?, &staging.path(name)));
        let [fct, pfc, qlen] = Self::FILES.map(open);
        let HpccOptions {
            nodes,
            switches,
            destination_ports,
            time_offset,
            sampling,
            hosts_by_id,
            every_pause,
        } = options;
        let switches: Vec<&HpccNode> = switches.iter().map(|name| &nodes[name]).collect();
        let dumps = Dumps::new(&switches, sampling, time_offset);
        Ok(Self {
            fct: fct?,
            pfc: pfc?,
            qlen: qlen?,
            nodes,
            destination_ports,
            time_offset,
            dumps,
            under_way: BTreeMap::new(),
            hosts_by_id,
            every_pause,
            paused: BTreeMap::new(),
        })
    }

    /// Gives a flow its ports.
    pub fn flow_started(&mut self, start: &FlowStart) {
        let flow = UnderWay {
            source_port: start.source_port,
            destination_port: start.destination_port,
            standalone: start.standalone,
        };
        self.under_way.insert(start.flow, flow);
    }

    /// Adds a flow, if it has completed.
    pub fn flow(&mut self, row: &FlowRow) -> Result<(), ResultsError> {
        let unknown =
            UnderWay { source_port: FIRST_SOURCE_PORT, destination_port: None, standalone: None };
        let UnderWay { source_port, destination_port, standalone } =
            self.under_way.remove(&row.flow).unwrap_or(unknown);
        let destination_port = destination_port.unwrap_or_else(|| {
            self.destination_ports.get(row.label).copied().unwrap_or(DESTINATION_PORT)
        });
        let Some(fct) = row.fct else { return Ok(()) };
        let host = |name| {
            let id = self.nodes[name].id;
            if self.hosts_by_id { id.to_string() } else { format!("{:08x}", host_address(id)) }
        };
        let (source, destination) = (host(row.src), host(row.dst));
        let (bytes, start) = (row.bytes.0, row.start.0 + self.time_offset.0);
        self.fct.write(|out| {
            writeln!(
                out,
                "{source} {destination} {source_port} {destination_port} {bytes} {start} \
                 {} {}",
                fct.0,
                standalone.map_or(row.ideal, |of| of.at(Nanos(row.start.0 + fct.0))).0
            )
        })
    }

    /// Adds a class of a PFC frame that reached the sender that it is about, if it stops the port or
    /// lets it go on: HPCC's simulator has no PAUSE that renews another. `ConWeave`'s has, and lists each frame.
    pub fn pause_received(&mut self, received: &PauseReceived) -> Result<(), ResultsError> {
        let PauseReceived { time, node, port, priority, until, .. } = *received;
        let HpccNode { id, is_switch, interfaces } = &self.nodes[node];
        let paused = self.paused.entry((*id, port, priority)).or_default();
        let (was, is) = (*paused > time, until > time);
        *paused = until;
        if was == is && !self.every_pause {
            return Ok(());
        }
        let (time, kind) = (time.0 + self.time_offset.0, u8::from(*is_switch));
        let interface = interfaces[usize::from(port)];
        self.pfc.write(|out| writeln!(out, "{time} {id} {kind} {interface} {}", u8::from(is)))
    }

    /// Instant of the next dump that [`Self::dump`] has to write; `None` if no dump is due before the run's end.
    pub fn next_dump(&self) -> Option<Picos> {
        self.dumps.next_due()
    }

    /// Writes the histograms that are due at `now`, or all that are left if the run ends then. `lengths` has the queue
    /// lengths of all switches in the order of their numbers.
    pub fn dump(
        &mut self,
        (now, ends): (Picos, bool),
        lengths: &mut [&mut QueueLengths],
    ) -> Result<(), ResultsError> {
        let dumps = &mut self.dumps;
        self.qlen.write(|out| {
            if ends { dumps.finish(now, lengths, out) } else { dumps.write_due(now, lengths, out) }
        })
    }

    /// Closes the files.
    pub fn finish(self) -> Result<(), ResultsError> {
        [self.fct, self.pfc, self.qlen].into_iter().try_for_each(TextFile::finish)
    }
}

/// The address of a host: 11.x.y.1, the id in x and y.
pub const fn host_address(id: u32) -> u32 {
    0x0b00_0001 + ((id / 256) << 16) + ((id % 256) << 8)
}

/// Documentation of the files: name, meaning of a line, fields.
pub const DOCUMENTATION: [(&str, &str, &[Key]); 3] = [
    (
        FCT_FILE,
        "Only with `results.hpcc` or `--format hpcc`. One line per completed flow, in the order of \
         completion; fields are separated by a space. This file and the two below have the columns \
         of the HPCC simulator (ns-3). Nodes have the ids that `results.hpcc.nodes` gives them; \
         else hosts come first, then switches, each in the order of the scenario. Interfaces of a \
         node count from 1 in the order of its links, failed ones included.",
        &[
            Key {
                name: "sip",
                about: "Address of the sender, eight hexadecimal digits: 11.x.y.1 with the id in x \
                        and y. With `results.hpcc.lines = \"conweave\"` the sender's id.",
            },
            Key { name: "dip", about: "Address or id of the receiver." },
            Key {
                name: "sport",
                about: "From 10000 up for each pair of hosts, in the order of start. Not the port of \
                        the frames. With `host.ns3` the port that is hashed.",
            },
            Key {
                name: "dport",
                about: "Port of the flow's label in `results.hpcc.destination_ports`; else 100. With \
                        `host.ns3` the port that is hashed.",
            },
            Key { name: "size", about: "`bytes` in `flows.csv`." },
            Key { name: "start_time", about: "`start_ns` plus `results.hpcc.time_offset`." },
            Key { name: "fct", about: "`fct_ns`." },
            Key {
                name: "standalone_fct",
                about: "`ideal_ns`: xoff's, so that `fct / standalone_fct` is the `slowdown` of \
                        `flows.csv`. With `results.hpcc.standalone_headers` the simulator's: twice the \
                        path's delay, a full payload on each link, and all bytes of the flow, with \
                        these headers of each packet, at the slowest rate.",
            },
        ],
    ),
    (
        PFC_FILE,
        "One line per PFC frame and class that stopped a port or let it go on, at its arrival. A \
         PAUSE that renews a running one has no line, nor has a pause that expires. With \
         `results.hpcc.lines = \"conweave\"` one line per frame.",
        &[
            Key { name: "time", about: "Nanoseconds, plus `results.hpcc.time_offset`." },
            Key { name: "node", about: "Id of the node that received the frame: the paused one." },
            Key { name: "node_type", about: "0 for a host, 1 for a switch." },
            Key { name: "if_index", about: "Its interface." },
            Key { name: "type", about: "1 for PAUSE, 0 for RESUME." },
        ],
    ),
    (
        "qlen.txt",
        "Histograms of the bytes that wait at each switch port, all priorities together. Every \
         `results.hpcc.qlen_interval` from `qlen_start` to the first sample at or after `qlen_stop` \
         each port is looked at, after all that happens at that instant; where the time is a \
         multiple of `qlen_dump_interval`, and at the last sample, a line `time: T` and a line for \
         each switch port follow, in the order of ids and interfaces. Counts are never reset.",
        &[
            Key { name: "node", about: "Id of the switch." },
            Key { name: "if_index", about: "Its interface." },
            Key {
                name: "counts",
                about: "From the third field on: samples that found at least 0, 1000, 2000, .. \
                        bytes and less than the next; up to the fullest seen.",
            },
        ],
    ),
];

#[cfg(test)]
mod tests;
