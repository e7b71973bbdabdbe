//! The supported simulators. They have a common ancestor; this module lists their differences.
//!
//! Sources for the meaning of the files are the simulators' own sources:
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
    /// The HPCC simulator.
    Hpcc,
    /// The `ConWeave` simulator.
    ConWeave,
    /// ns3-datacenter: the programs of `PowerTCP`'s evaluation.
    Ns3Datacenter,
}

/// Differences of a simulator's files and packets.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a difference by itself")]
pub struct Traits {
    /// Name for sentences.
    pub name: &'static str,
    /// Name in `xoff import`.
    pub program: &'static str,
    /// Keys of the config in addition to [`EVERYWHERE`].
    pub keys: &'static [Key],
    /// Keys that never have an effect.
    pub unused: &'static [&'static str],
    /// Fields of a topology's first line, in the variants of the simulator's programs and forks.
    pub topology_headers: &'static [&'static [Field]],
    /// Rounding of seconds to nanoseconds: ns-3.18 and 3.19 cut, ns-3.39 rounds.
    pub rounding: Rounding,
    /// True if rates without a unit are in bit/s.
    pub bare_rates: bool,
    /// True if flows have a destination port between their priority group and size.
    pub destination_ports: bool,
    /// Max size of a flow, in bytes.
    pub largest_flow: u64,
    /// True if a flow of zero bytes sends one byte.
    pub empty_flows: bool,
    /// Link rates that stamps can encode, in Gbit/s.
    pub stamped_gigabits: &'static [u64],
    /// Length of an ACK's own header, without telemetry.
    pub ack_header: u64,
    /// Time after which a receiver repeats a NAK.
    pub nak_again: &'static str,
    /// True if delays of links are doubles that are cut, too.
    pub cuts_delays: bool,
    /// Name of the dialect that has the simulator's rules.
    pub dialect: Option<&'static str>,
}

/// A field of a topology's first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Number of all nodes.
    Nodes,
    /// Number of switches, whose ids the next lines list.
    Switches(&'static str),
    /// Number of links.
    Links,
    /// A number without an effect here.
    OtherCount(&'static str),
    /// A rate of links, which each link repeats.
    Rate(&'static str),
    /// A word.
    Word(&'static str),
}

impl Field {
    /// Returns the field's name for sentences.
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

/// Header in the simulators of HPCC and `ConWeave`.
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
    largest_flow: workload::MAX_SIZE,
    empty_flows: false,
    stamped_gigabits: &[25, 50, 100, 200, 400],
    ack_header: 12,
    nak_again: "500 us",
    cuts_delays: true,
    dialect: Some("hpcc-ns3"),
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
    // Includes the place and the length that a NAK of IRN reports.
    ack_header: 18,
    nak_again: "4 us",
    cuts_delays: false,
    dialect: Some("conweave-ns3"),
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
        // Programs of Reverie, vpi and Queueing.
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
    cuts_delays: false,
    dialect: Some("ns3-datacenter"),
    bare_rates: true,
    stamped_gigabits: &[25, 40, 50, 100, 200, 400],
    ..HPCC
};

impl Simulator {
    /// All simulators.
    pub const ALL: [Self; 3] = [Self::Hpcc, Self::ConWeave, Self::Ns3Datacenter];

    /// Returns the differences of the simulator.
    pub const fn traits(self) -> &'static Traits {
        match self {
            Self::Hpcc => &HPCC,
            Self::ConWeave => &CONWEAVE_TRAITS,
            Self::Ns3Datacenter => &NS3_DATACENTER,
        }
    }

    /// Returns the keys of the simulator's config.
    pub fn keys(self) -> impl Iterator<Item = &'static Key> + Clone {
        EVERYWHERE.iter().chain(self.traits().keys)
    }
}
