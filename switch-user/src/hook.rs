//! Where in the kernel a switch's ports hand frames to its program.

use aya::programs::XdpMode;

/// A place on a frame's way in. The program decides the same at each; what a frame costs until it is there differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hook {
    /// Native XDP: in the driver, before the kernel has looked at the frame.
    #[default]
    Xdp,
    /// Generic XDP: in the stack, before packet taps, for drivers without XDP.
    XdpGeneric,
    /// TC ingress (clsact): in the stack, after packet taps.
    Tc,
}

impl Hook {
    /// Every hook, the default first.
    pub const ALL: [Self; 3] = [Self::Xdp, Self::XdpGeneric, Self::Tc];

    /// Which of XDP's it is; `None` at TC.
    pub fn xdp(self) -> Option<XdpHook> {
        match self {
            Self::Xdp => Some(XdpHook::Native),
            Self::XdpGeneric => Some(XdpHook::Generic),
            Self::Tc => None,
        }
    }

    /// What the hosts of a fabric use whose switches use this: AF_XDP sockets get their frames from XDP.
    pub fn of_hosts(self) -> XdpHook {
        self.xdp().unwrap_or_default()
    }
}

/// A hook of XDP. What stands alone has no other, because a TC program would stay at an interface after its process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum XdpHook {
    /// [`Hook::Xdp`].
    #[default]
    Native,
    /// [`Hook::XdpGeneric`].
    Generic,
}

impl XdpHook {
    /// How programs are attached.
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
