//! Reasons for drops: one list for counters, results, documents and tests.

use core::fmt;

/// Cause of a drop: the part of the emulation that is responsible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropClass {
    /// The switch's buffer policy.
    Policy,
    /// The frame itself: malformed, or not addressed to this switch.
    Frame,
    /// Not a loss: a control frame that was consumed without effect.
    Ignored,
    /// The machine that runs the emulation.
    Substrate,
    /// A fault that the scenario injects.
    Injected,
    /// The watchdog of a switch, in a PFC storm.
    Watchdog,
}

macro_rules! drop_reasons {
    ($($(#[doc = $doc:literal])+ $variant:ident = $number:literal, $name:literal, $class:ident;)+) => {
        /// Reason why a frame was dropped.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u32)]
        pub enum DropReason {
            $($(#[doc = $doc])+ $variant = $number,)+
        }

        impl DropReason {
            /// All reasons, in ascending order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Returns the reason with this number, as found in counters and records.
            pub const fn from_number(number: u32) -> Option<Self> {
                match number {
                    $($number => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// Name in results.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// Returns the cause of the drop.
            pub const fn class(self) -> DropClass {
                match self {
                    $(Self::$variant => DropClass::$class,)+
                }
            }
        }
    };
}

drop_reasons! {
    /// Shorter than its headers announce.
    Truncated = 0, "truncated", Frame;
    /// Longer than a record can hold.
    TooLong = 1, "too-long", Frame;
    /// Came in at an interface that is not a port of this switch.
    UnknownPort = 2, "unknown-port", Frame;
    /// Addressed to another MAC address.
    NotForThisRouter = 3, "not-for-this-router", Frame;
    /// Neither IPv4 nor MAC control nor a protocol of xoff.
    UnknownEtherType = 4, "unknown-ethertype", Frame;
    /// IPv4 version, header length or total length is wrong.
    BadIpv4Header = 5, "bad-ipv4-header", Frame;
    /// IPv4 options, which a switch's fast path does not parse.
    Ipv4Options = 6, "ipv4-options", Frame;
    /// IPv4 header checksum is wrong.
    BadIpv4Checksum = 7, "bad-ipv4-checksum", Frame;
    /// Time to live ran out.
    TtlExpired = 8, "ttl-expired", Frame;
    /// No route to the destination.
    NoRoute = 9, "no-route", Frame;
    /// A MAC control opcode that is neither PFC nor PAUSE.
    UnknownMacControl = 10, "unknown-mac-control", Ignored;
    /// A global PAUSE, which a PFC port ignores (IEEE 802.1Qbb, 36.1.1).
    GlobalPause = 11, "global-pause", Ignored;
    /// A PFC frame that enables no class.
    EmptyPfc = 12, "empty-pfc", Ignored;
    /// A lossless packet found private pool, shared pool and its queue's headroom full (DSH,
    /// Algorithm 1, line 11).
    HeadroomExhausted = 13, "headroom-exhausted", Policy;
    /// A lossy packet found its egress queue at its threshold.
    LossyThreshold = 14, "lossy-threshold", Policy;
    /// All packet descriptors are taken.
    NoDescriptor = 15, "no-descriptor", Policy;
    /// The ring to user space was full.
    RingFull = 16, "ring-full", Substrate;
    /// A veth, a socket or a queue below the emulation lost a frame.
    SubstrateLoss = 17, "substrate-loss", Substrate;
    /// A fault of the scenario dropped the frame on the wire.
    InjectedLoss = 18, "injected-loss", Injected;
    /// A map look-up failed, which loading makes impossible.
    BrokenTable = 19, "broken-table", Substrate;
    /// Headroom that is oversubscribed ran out: the queue may hold more, but the pool is empty.
    HeadroomPoolExhausted = 20, "headroom-pool-exhausted", Policy;
    /// A lossless packet found its port's insurance headroom full (DSH, Section IV-B) or of size zero.
    InsuranceExhausted = 21, "insurance-exhausted", Policy;
    /// A frame of the experimental EtherType that is not hop control, and whose address, protocol
    /// or kind is not valid for link delay.
    BadLinkDelay = 22, "bad-link-delay", Frame;
    /// A hop control frame of a kind that does not exist, or that contradicts itself.
    BadHopControl = 23, "bad-hop-control", Frame;
    /// A hop control frame of a kind that this switch's scheme does not use.
    UnexpectedHopControl = 24, "unexpected-hop-control", Ignored;
    /// A packet for an egress queue in a PFC storm, dropped by the watchdog. The packet waited when
    /// the storm was detected, or arrived later.
    WatchdogEgress = 25, "watchdog-egress", Watchdog;
    /// A packet from a neighbour whose PFC storm the watchdog acts on, in a priority of that storm.
    WatchdogIngress = 26, "watchdog-ingress", Watchdog;
    /// A fault damaged the frame on the wire, and the receiving MAC found a wrong FCS.
    Corrupted = 27, "corrupted", Injected;
    /// A fault has taken the wire down.
    LinkDown = 28, "link-down", Injected;
    /// Faults have taken down all links to the host, and the switch knows it.
    Unreachable = 29, "unreachable", Injected;
    /// A lossy packet found no free buffer, though its egress queue was below its threshold, if the queue has one.
    LossyBufferFull = 30, "lossy-buffer-full", Policy;
    /// A lossy packet had waited in its egress queue for the max sojourn time when its turn came.
    SojournTime = 31, "sojourn-time", Policy;
    /// Approximate fair dropping drew a lossy packet of a flow or queue that had sent more than its fair share.
    FairDrop = 32, "fair-drop", Policy;
    /// CoDel dropped a lossy packet when its turn came, because its queue's delay had been too high for too long.
    Codel = 33, "codel", Policy;
    /// A lossless packet's egress queue would have held more than its pool had left (simulators of `ConWeave` and
    /// ns3-datacenter).
    EgressPoolExhausted = 34, "egress-pool-exhausted", Policy;
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl DropClass {
    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Frame => "frame",
            Self::Ignored => "ignored",
            Self::Substrate => "substrate",
            Self::Injected => "injected",
            Self::Watchdog => "watchdog",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_dense_and_names_unique() {
        for (index, reason) in DropReason::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, index);
            assert_eq!(DropReason::from_number(index as u32), Some(*reason));
            assert!(DropReason::ALL[..index].iter().all(|other| other.name() != reason.name()));
            assert_eq!(reason.to_string(), reason.name());
        }
        assert_eq!(DropReason::from_number(DropReason::ALL.len() as u32), None);
    }
}
