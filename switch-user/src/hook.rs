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

    /// The mode in which XDP programs are attached; `None` at TC.
    pub(crate) fn xdp_mode(self) -> Option<XdpMode> {
        match self {
            Self::Xdp => Some(XdpMode::Driver),
            Self::XdpGeneric => Some(XdpMode::Skb),
            Self::Tc => None,
        }
    }

    /// The mode of the hosts' XDP program: AF_XDP sockets get their frames from XDP, whatever switches use.
    pub(crate) fn host_mode(self) -> XdpMode {
        self.xdp_mode().unwrap_or(XdpMode::Driver)
    }
}
