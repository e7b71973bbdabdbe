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
//!   read a flow file. `powertcp-evaluation-workload.cc` and vpi's program make their flows themselves, and ABM has none
//!   of these files. Reverie's program was not found, so the two further fields of its topologies' headers are not taken.

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
    /// The fields of a topology's first line.
    pub topology_header: &'static [&'static str],
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

const HPCC: Traits = Traits {
    name: "the HPCC simulator",
    program: "hpcc",
    keys: HPCC_AND_DATACENTER,
    unused: &["DATA_RATE", "LINK_DELAY"],
    topology_header: &["nodes", "switches", "links"],
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
    topology_header: &["nodes", "switches", "tors", "links"],
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
