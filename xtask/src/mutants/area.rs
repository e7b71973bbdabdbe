//! Parts of the code whose tests are tried, each with the tests that should notice a change.

use clap::ValueEnum;

/// A part of the code.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Area {
    /// Time, bytes and rates
    Units,
    /// Wire formats and the switch's decisions
    FabricCore,
    /// Hosts
    HostAgent,
    /// Rings and memory that user space shares with the kernel
    Linux,
    /// The switch of switch-user, without the parts that only a kernel can run
    Switch,
    /// The event loop
    Engine,
    /// Results of a run: tables, summary, report
    Results,
    /// The sweeps of xoff
    Sweep,
}

/// Tests that run together.
#[derive(Clone, Copy)]
pub enum Tests {
    /// Tests of the mutant's own crate.
    OfCrate,
    /// Whole fabrics on the memory datapath.
    Memory,
}

impl Area {
    /// Every area.
    pub const ALL: &[Self] = &[
        Self::Units,
        Self::FabricCore,
        Self::HostAgent,
        Self::Linux,
        Self::Switch,
        Self::Engine,
        Self::Results,
        Self::Sweep,
    ];

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Units => "units",
            Self::FabricCore => "fabric-core",
            Self::HostAgent => "host-agent",
            Self::Linux => "linux",
            Self::Switch => "switch",
            Self::Engine => "engine",
            Self::Results => "results",
            Self::Sweep => "sweep",
        }
    }

    /// The package that has it.
    pub fn package(self) -> &'static str {
        match self {
            Self::Units => "units",
            Self::FabricCore => "fabric-core",
            Self::HostAgent => "host-agent",
            Self::Linux => "linux",
            Self::Switch => "switch-user",
            Self::Results => "results",
            Self::Engine => "emulation",
            Self::Sweep => "sweep",
        }
    }

    /// Files of the area, as a pattern.
    pub fn files(self) -> &'static str {
        match self {
            Self::Units => "units/src/**/*.rs",
            Self::FabricCore => "fabric-core/src/**/*.rs",
            Self::HostAgent => "host-agent/src/**/*.rs",
            Self::Linux => "linux/src/{af_xdp/{ring,umem,mapping},region}.rs",
            Self::Switch => {
                "switch-user/src/{switch,traffic_manager,control_plane,link_delay,refusal}{.rs,/**/*.rs}"
            }
            Self::Engine => "emulation/src/engine{.rs,/**/*.rs}",
            Self::Results => "results/src/**/*.rs",
            Self::Sweep => "sweep/src/**/*.rs",
        }
    }

    /// Tests of the area, cheapest first.
    pub fn tests(self) -> &'static [Tests] {
        match self {
            // The memory rung runs scenarios, neither sweeps nor sockets.
            Self::Sweep | Self::Linux => &[Tests::OfCrate],
            _ => &[Tests::OfCrate, Tests::Memory],
        }
    }
}

impl Tests {
    /// In words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::OfCrate => "the crate's own tests",
            Self::Memory => "the memory rung",
        }
    }
}
