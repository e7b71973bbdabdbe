//! `[datapath]`: where switches run, and what links are made of.

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
