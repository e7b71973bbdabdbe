//! Events: what may happen, and its encoding in one word while it waits.

use fabric_core::map_abi::MAX_PORTS;
use topology::{MAX_HOSTS, MAX_SWITCHES};

use crate::datapath::FrameId;

/// What may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A frame has arrived whole.
    Arrival {
        /// The wire.
        wire: u32,
        /// The frame.
        frame: FrameId,
    },
    /// The switch port that sends onto a wire is free again.
    PortFree {
        /// The wire.
        wire: u32,
    },
    /// A host's port is free and may send a packet.
    HostReady {
        /// The host.
        host: u32,
    },
    /// A host has a timer.
    HostTimer {
        /// The host.
        host: u32,
    },
    /// The next flow begins.
    FlowStart,
    /// A switch has a deadline.
    SwitchTimer {
        /// The switch.
        switch: u32,
    },
    /// A pause that a switch port received has taken effect: nothing more of the class is on its way.
    PauseSettled {
        /// The wire that leaves that port.
        wire: u32,
        /// The class.
        class: u8,
    },
    /// Circles of paused queues are looked at again.
    DeadlockLook,
    /// Queues are sampled.
    Sample,
    /// Switches' thresholds are computed.
    ControlPlane,
    /// Switches measure their links.
    LinkDelays,
}

/// An event in a word: the kind in the low four bits, then wire, host or switch, then frame or class. Events are moved
/// several times, and a value that is stored in pieces and loaded whole stalls the processor each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Packed(pub(super) u64);

impl Packed {
    pub(super) const KIND_BITS: u32 = 4;
    pub(super) const NUMBER_BITS: u32 = 20;

    #[inline(always)]
    pub(super) fn new(event: Event) -> Self {
        let plain = |kind: u64, number: u32| {
            debug_assert!(number < 1 << Self::NUMBER_BITS);
            kind | u64::from(number) << Self::KIND_BITS
        };
        let with = |kind, number, rest: u64| {
            plain(kind, number) | rest << (Self::KIND_BITS + Self::NUMBER_BITS)
        };
        Self(match event {
            Event::Arrival { wire, frame } => with(0, wire, u64::from(frame.0)),
            Event::PortFree { wire } => plain(1, wire),
            Event::HostReady { host } => plain(2, host),
            Event::HostTimer { host } => plain(3, host),
            Event::FlowStart => plain(4, 0),
            Event::SwitchTimer { switch } => plain(5, switch),
            Event::PauseSettled { wire, class } => with(6, wire, u64::from(class)),
            Event::DeadlockLook => plain(7, 0),
            Event::Sample => plain(8, 0),
            Event::ControlPlane => plain(9, 0),
            Event::LinkDelays => plain(10, 0),
        })
    }

    #[inline(always)]
    pub(super) fn event(self) -> Event {
        let rest = self.0 >> Self::KIND_BITS;
        let number = rest as u32 & ((1 << Self::NUMBER_BITS) - 1);
        let rest = rest >> Self::NUMBER_BITS;
        let (wire, host, switch) = (number, number, number);
        match self.0 & ((1 << Self::KIND_BITS) - 1) {
            0 => Event::Arrival { wire, frame: FrameId(rest as u32) },
            1 => Event::PortFree { wire },
            2 => Event::HostReady { host },
            3 => Event::HostTimer { host },
            4 => Event::FlowStart,
            5 => Event::SwitchTimer { switch },
            6 => Event::PauseSettled { wire, class: rest as u8 },
            7 => Event::DeadlockLook,
            8 => Event::Sample,
            9 => Event::ControlPlane,
            _ => Event::LinkDelays,
        }
    }
}

const _: () = assert!(
    2 * MAX_HOSTS + MAX_SWITCHES * MAX_PORTS <= 1 << Packed::NUMBER_BITS,
    "a number names any wire and any host"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_holds_every_event() {
        let largest = (1 << Packed::NUMBER_BITS) - 1;
        let events = [
            Event::Arrival { wire: largest, frame: FrameId(u32::MAX) },
            Event::Arrival { wire: 0, frame: FrameId(1) },
            Event::PortFree { wire: 3 },
            Event::HostReady { host: largest },
            Event::HostTimer { host: 0 },
            Event::FlowStart,
            Event::SwitchTimer { switch: 9 },
            Event::PauseSettled { wire: largest, class: 7 },
            Event::PauseSettled { wire: 2, class: 0 },
            Event::DeadlockLook,
            Event::Sample,
            Event::ControlPlane,
            Event::LinkDelays,
        ];
        for event in events {
            assert_eq!(Packed::new(event).event(), event);
        }
    }
}
