//! `[datapath]`: where switches run, what links are made of, and where in the kernel frames come in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where switches run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Datapath {
    /// "kernel": namespaces, links and eBPF, as root. "memory": in this process, without privilege.
    /// Default "kernel".
    pub kind: DatapathKind,
    /// What links are made of on the kernel datapath; "memory" has none. "veth": veth pairs. "tap": pairs of tap
    /// devices, which take less time for a frame, with the same results; what other programs send goes nowhere.
    /// Default "veth".
    pub links: LinkKind,
    /// Where in the kernel the ports of switches take frames in, on the kernel datapath; "memory" has no such place.
    /// "xdp": native XDP, in the driver. "xdp-generic": generic XDP, in the stack, also at hosts' ports. "tc": TC
    /// ingress, in the stack, where tcpdump at a switch's port sees what comes in. With the same results.
    /// Default "xdp".
    pub hook: HookKind,
}

/// Where in the kernel the ports of switches take frames in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HookKind {
    /// Native XDP.
    #[default]
    Xdp,
    /// Generic XDP.
    XdpGeneric,
    /// TC ingress.
    Tc,
}

impl HookKind {
    /// Its name in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Xdp => "xdp",
            Self::XdpGeneric => "xdp-generic",
            Self::Tc => "tc",
        }
    }
}

/// What links of the kernel datapath are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinkKind {
    /// Veth pairs.
    #[default]
    Veth,
    /// Tap devices, one at each end.
    Tap,
}

/// A world for switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DatapathKind {
    /// Namespaces, links and eBPF programs.
    #[default]
    Kernel,
    /// The same logic, natively in this process.
    Memory,
}
