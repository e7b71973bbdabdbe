//! The simulators whose files are read. They have one ancestor and differ in what is listed here.
//!
//! What files mean was read in the simulators' own sources:
//!
//! - HPCC: alibaba-edu/High-Precision-Congestion-Control, `simulation/scratch/third.cc`,
//!   `simulation/src/point-to-point/model/`, `mix/config_doc.txt`.
//! - `ConWeave`: conweave-project/conweave-ns3, `run.py` (the config), `traffic_gen/traffic_gen.py` (flows),
//!   `config/*.txt` (topologies), `scratch/network-load-balance.cc`, and in `src/point-to-point/model/` `switch-mmu`,
//!   `switch-node.cc`, `qbb-net-device.cc`, `rdma-hw.cc`, `rdma-queue-pair`, `qbb-header`.
//! - ns3-datacenter: inet-tub/ns3-datacenter, in `simulator/ns-3.39/examples/PowerTCP/` `config-*.txt`, `topology*.txt`,
//!   `flow-*.txt` and `powertcp-evaluation-{burst,fairness}.cc`, and in `simulator/ns-3.39/src/` `switch-mmu.cc`,
//!   `switch-node.cc`, `qbb-net-device.cc`, `rdma-hw.cc`, `int-header.h`, `seq-ts-header.cc`. These two programs
//!   read a flow file. `powertcp-evaluation-workload.cc`, `Reverie/reverie-evaluation-sigcomm2023.cc` and the programs of
//!   vpi and Queueing make their flows themselves, and ABM does not use these files. The first line of topologies of
//!   Reverie, vpi and Queueing ends in the rates of hosts' and of switches' links.
//! - SimAI and ASTRA-sim, forks of HPCC's: the first line of their topologies, as in `common.h` of
//!   astra-sim/astra-network-ns3.

use super::instant::Rounding;
use super::keys::{CONWEAVE, EVERYWHERE, HPCC_AND_DATACENTER, Key};

/// A simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Simulator {
    /// That of HPCC.
    Hpcc,
    /// That of `ConWeave`.
    ConWeave,
    /// ns3-datacenter: the programs of `PowerTCP`'s evaluation.
    Ns3Datacenter,
}

/// What a simulator's files and packets have of their own.
#[derive(Debug)]
pub struct Traits {
    /// In sentences.
    pub name: &'static str,
    /// What `xoff import` calls it.
    pub program: &'static str,
    /// Keys of the config beside those of [`EVERYWHERE`].
    pub keys: &'static [Key],
    /// Keys that have no effect, whatever their values.
    pub unused: &'static [&'static str],
    /// The fields of a topology's first line, in the forms that its programs and forks have.
    pub topology_headers: &'static [&'static [Field]],
    /// Rounding of seconds to nanoseconds: ns-3.18 and 3.19 cut, ns-3.39 rounds.
    pub rounding: Rounding,
    /// Whether rates without a unit are bit/s.
    pub bare_rates: bool,
    /// Whether flows have a destination port, between their priority group and size.
    pub destination_ports: bool,
    /// The most bytes of a flow.
    pub largest_flow: u64,
    /// Whether a flow of no bytes has one.
    pub empty_flows: bool,
    /// Rates of links that stamps can tell, Gbit/s.
    pub stamped_gigabits: &'static [u64],
    /// An ACK's own header, without telemetry.
    pub ack_header: u64,
    /// The time after which a receiver sends a NAK again.
    pub nak_again: &'static str,
}

/// A field of a topology's first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The count of all nodes.
    Nodes,
    /// A count of switches, whose ids the next lines have.
    Switches(&'static str),
    /// The count of links.
    Links,
    /// A count of something that changes nothing here.
    OtherCount(&'static str),
    /// A rate of links, which each link has, too.
    Rate(&'static str),
    /// A word.
    Word(&'static str),
}

impl Field {
    /// Its name in sentences.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nodes => "nodes",
            Self::Links => "links",
            Self::Switches(name) | Self::OtherCount(name) | Self::Rate(name) | Self::Word(name) => {
                name
            }
        }
    }
}

/// As the simulators of HPCC and `ConWeave` read it.
const THREE_FIELDS: &[Field] = &[Field::Nodes, Field::Switches("switches"), Field::Links];

const HPCC: Traits = Traits {
    name: "the HPCC simulator",
    program: "hpcc",
    keys: HPCC_AND_DATACENTER,
    unused: &["DATA_RATE", "LINK_DELAY"],
    topology_headers: &[
        THREE_FIELDS,
        // SimAI and ASTRA-sim: astra-sim/astra-network-ns3, aliyun/ns-3-alibabacloud.
        &[
            Field::Nodes,
            Field::OtherCount("GPUs-per-server"),
            Field::Switches("NVSwitches"),
            Field::Switches("switches"),
            Field::Links,
            Field::Word("GPU-type"),
        ],
    ],
    rounding: Rounding::Down,
    bare_rates: false,
    destination_ports: true,
    largest_flow: workload::LARGEST_SIZE,
    empty_flows: false,
    stamped_gigabits: &[25, 50, 100, 200, 400],
    ack_header: 12,
    nak_again: "500 us",
};

const CONWEAVE_TRAITS: Traits = Traits {
    name: "ConWeave's simulator",
    program: "conweave",
    keys: CONWEAVE,
    unused: &[
        "DATA_RATE",
        "LINK_DELAY",
        "LOAD",
        "FLOW_INPUT_FILE",
        "EST_ERROR_MON_FILE",
        "QLEN_MON_FILE",
        "QLEN_MON_START",
        "QLEN_MON_END",
    ],
    topology_headers: &[THREE_FIELDS],
    bare_rates: true,
    destination_ports: false,
    largest_flow: u32::MAX as u64,
    empty_flows: true,
    stamped_gigabits: &[25, 40, 50, 100, 200, 400],
    // With the place and the length of what a NAK of IRN reports.
    ack_header: 18,
    nak_again: "4 us",
    ..HPCC
};

const NS3_DATACENTER: Traits = Traits {
    name: "ns3-datacenter",
    program: "ns3-datacenter",
    unused: &[
        "DATA_RATE",
        "LINK_DELAY",
        "USE_DYNAMIC_PFC_THRESHOLD",
        "TRACE_FILE",
        "TRACE_OUTPUT_FILE",
        "ENABLE_TRACE",
        "PFC_OUTPUT_FILE",
        "QLEN_MON_FILE",
        "QLEN_MON_START",
        "QLEN_MON_END",
        "LINK_DOWN",
    ],
    topology_headers: &[
        &[Field::Nodes, Field::Switches("switches"), Field::OtherCount("tors"), Field::Links],
        // The programs of Reverie, vpi and Queueing.
        &[
            Field::Nodes,
            Field::Switches("switches"),
            Field::OtherCount("tors"),
            Field::Links,
            Field::Rate("host-rate"),
            Field::Rate("fabric-rate"),
        ],
    ],
    rounding: Rounding::Nearest,
    bare_rates: true,
    stamped_gigabits: &[25, 40, 50, 100, 200, 400],
    ..HPCC
};

impl Simulator {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Hpcc, Self::ConWeave, Self::Ns3Datacenter];

    /// What is its own.
    pub const fn traits(self) -> &'static Traits {
        match self {
            Self::Hpcc => &HPCC,
            Self::ConWeave => &CONWEAVE_TRAITS,
            Self::Ns3Datacenter => &NS3_DATACENTER,
        }
    }

    /// The keys of its config.
    pub fn keys(self) -> impl Iterator<Item = &'static Key> + Clone {
        EVERYWHERE.iter().chain(self.traits().keys)
    }
}
