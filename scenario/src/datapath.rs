//! `[datapath]`: environment of the switches, devices of the links, and the kernel hook for arriving frames.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Environment in which switches run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Datapath {
    /// Environment of the switches. "kernel": namespaces, links and eBPF, as root. "memory": in this process, without
    /// privilege. Default "kernel".
    pub kind: DatapathKind,
    /// Devices that links consist of, on the kernel datapath only. "veth": veth pairs. "tap": pairs of tap devices.
    /// They take less time per frame and give equal results, but frames that other programs send are discarded. Default
    /// "veth".
    pub links: LinkKind,
    /// Kernel hook at which ports of switches receive frames, on the kernel datapath only. "xdp": native XDP, in the
    /// driver. "xdp-generic": generic XDP, in the stack, also at hosts' ports. "tc": TC ingress, in the stack, where
    /// tcpdump at a switch's port sees arriving frames. Results do not depend on the hook. Default "xdp".
    pub hook: HookKind,
}

/// Kernel hook at which ports of switches receive frames.
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
    /// Returns the hook's name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Xdp => "xdp",
            Self::XdpGeneric => "xdp-generic",
            Self::Tc => "tc",
        }
    }
}

/// Devices that links of the kernel datapath consist of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinkKind {
    /// Veth pairs.
    #[default]
    Veth,
    /// Tap devices, one at each end.
    Tap,
}

/// Environment in which switches run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DatapathKind {
    /// Namespaces, links and eBPF programs.
    #[default]
    Kernel,
    /// One process that runs the switches' code natively.
    Memory,
}
