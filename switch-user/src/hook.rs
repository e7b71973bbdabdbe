//! Hooks in the kernel at which a switch's ports pass frames to its program.
//!
//! # Adding a hook
//!
//! 1. A `Hook` in `switch-ebpf/src/hook.rs` and its entry in `switch-ebpf/src/main.rs`.
//! 2. A variant of `Hook` here and of `HookKind` in `scenario/src/datapath.rs`.
//! 3. Not checked by the compiler: `AT_OTHER_HOOKS` in `tests/src/fabric.rs`, `HOOKS` in `xtask/src/vm.rs`, `probe` of
//!    `xoff doctor`, and docs/hooks.md.

use aya::programs::XdpMode;

/// A point on a frame's receive path. The program decides equally at each; the cost of a frame up to that point
/// differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hook {
    /// Native XDP: in the driver, before the kernel's stack.
    #[default]
    Xdp,
    /// Generic XDP: in the stack, before packet taps, for drivers without XDP.
    XdpGeneric,
    /// TC ingress (clsact): in the stack, after packet taps.
    Tc,
}

impl Hook {
    /// All hooks, default first.
    pub const ALL: [Self; 3] = [Self::Xdp, Self::XdpGeneric, Self::Tc];

    /// Returns the kind of XDP hook; `None` for TC.
    pub fn xdp(self) -> Option<XdpHook> {
        match self {
            Self::Xdp => Some(XdpHook::Native),
            Self::XdpGeneric => Some(XdpHook::Generic),
            Self::Tc => None,
        }
    }

    /// Returns the hosts' hook in a fabric whose switches use this hook: AF_XDP sockets receive their frames from XDP.
    pub fn host_hook(self) -> XdpHook {
        self.xdp().unwrap_or_default()
    }
}

/// A hook of XDP. Standalone programs use only XDP, because a TC program would stay attached after its process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum XdpHook {
    /// [`Hook::Xdp`].
    #[default]
    Native,
    /// [`Hook::XdpGeneric`].
    Generic,
}

impl XdpHook {
    /// Returns the mode in which programs are attached.
    pub(crate) fn mode(self) -> XdpMode {
        match self {
            Self::Native => XdpMode::Driver,
            Self::Generic => XdpMode::Skb,
        }
    }
}

impl From<XdpHook> for Hook {
    fn from(hook: XdpHook) -> Self {
        match hook {
            XdpHook::Native => Self::Xdp,
            XdpHook::Generic => Self::XdpGeneric,
        }
    }
}
