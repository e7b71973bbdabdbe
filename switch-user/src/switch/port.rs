//! Ports of a switch: the frames that they send ahead of packets.

use std::collections::VecDeque;

use fabric_core::hop_control::HopControl;
use fabric_core::map_abi::MAX_PORTS;
use fabric_core::wire::LinkDelayFrame;
use units::{BitsPerSecond, Bytes, Nanos, Picos};

use crate::link_delay::LinkDelayMeter;

/// The configuration of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortConfig {
    /// MAC address of the port.
    pub address: [u8; 6],
    /// Line rate.
    pub rate: BitsPerSecond,
    /// Max delay until a received PAUSE takes effect.
    pub response: Nanos,
    /// Time after which a sent PAUSE is renewed.
    pub refresh_period: Picos,
    /// Headroom of each lossless ingress queue while the link is not measured.
    pub headroom: Bytes,
}

/// A waiting hop control frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ControlFrame<F> {
    /// The message.
    pub control: HopControl,
    /// The frame, if the pipeline has built it.
    pub built: Option<F>,
}

/// A frame that a port sends ahead of its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ahead<F> {
    /// Sent first, even if the port is paused.
    Control(ControlFrame<F>),
    /// Sent after hop control frames, so that no PAUSE waits for it.
    LinkDelay(LinkDelayFrame),
}

#[derive(Debug)]
struct Port<F> {
    control: VecDeque<ControlFrame<F>>,
    link_delay: VecDeque<LinkDelayFrame>,
    meter: LinkDelayMeter,
}

/// The ports of a switch.
#[derive(Debug)]
pub(super) struct Ports<F> {
    all: Box<[Port<F>]>,
    /// Bit n: a frame waits at port n. Every packet reads this; all ports share one cache line.
    waiting: [u64; MAX_PORTS / 64],
    /// True if superseded frames are sent.
    sends_superseded: bool,
}

impl<F: Copy> Ports<F> {
    /// Creates ports without waiting frames; `sends_superseded` is as in the switch's configuration.
    ///
    /// # Panics
    /// If there are more than [`MAX_PORTS`].
    pub(super) fn new(count: usize, sends_superseded: bool) -> Self {
        assert!(count <= MAX_PORTS, "a switch has at most {MAX_PORTS} ports, not {count}");
        let port = |_| Port {
            control: VecDeque::new(),
            link_delay: VecDeque::new(),
            meter: LinkDelayMeter::default(),
        };
        let all = (0..count).map(port).collect();
        Self { all, waiting: [0; MAX_PORTS / 64], sends_superseded }
    }

    /// True if no frame waits at a port.
    #[inline]
    pub(super) fn is_idle(&self, port: u16) -> bool {
        self.waiting[usize::from(port) / 64] >> (port % 64) & 1 == 0
    }

    /// Queues a hop control frame, PFC ahead of the other kinds, and removes waiting frames that it supersedes. So the
    /// latest state of a class never waits behind earlier ones, however often the class is paused and resumed.
    pub(super) fn push_control(
        &mut self,
        port: u16,
        frame: ControlFrame<F>,
        superseded: &mut impl FnMut(F),
    ) {
        let control = &mut self.all[usize::from(port)].control;
        control.retain(|earlier| {
            let obsolete = !self.sends_superseded && frame.control.supersedes(&earlier.control);
            if obsolete {
                earlier.built.into_iter().for_each(&mut *superseded);
            }
            !obsolete
        });
        // Headroom has no room for other frames that delay a PAUSE.
        let is_pfc = |frame: &ControlFrame<F>| matches!(frame.control, HopControl::Classes(_));
        let ahead = if is_pfc(&frame) {
            control.iter().take_while(|earlier| is_pfc(earlier)).count()
        } else {
            control.len()
        };
        control.insert(ahead, frame);
        self.mark(port);
    }

    /// Appends a link delay frame.
    pub(super) fn push_link_delay(&mut self, port: u16, message: LinkDelayFrame) {
        self.all[usize::from(port)].link_delay.push_back(message);
        self.mark(port);
    }

    /// Takes the next frame that a port sends ahead of its packets.
    pub(super) fn pop(&mut self, port: u16) -> Option<Ahead<F>> {
        let Port { control, link_delay, .. } = &mut self.all[usize::from(port)];
        let next = match control.pop_front() {
            Some(frame) => Some(Ahead::Control(frame)),
            None => link_delay.pop_front().map(Ahead::LinkDelay),
        };
        if control.is_empty() && link_delay.is_empty() {
            self.waiting[usize::from(port) / 64] &= !(1 << (port % 64));
        }
        next
    }

    /// Returns the meter of a port's link.
    pub(super) fn meter(&mut self, port: u16) -> &mut LinkDelayMeter {
        &mut self.all[usize::from(port)].meter
    }

    fn mark(&mut self, port: u16) {
        self.waiting[usize::from(port) / 64] |= 1 << (port % 64);
    }
}

#[cfg(test)]
mod tests {
    use fabric_core::hop_control::ClassPauses;

    use super::*;

    #[test]
    fn a_frame_takes_the_place_of_those_that_it_supersedes() {
        let frame = |classes, built| {
            let control = HopControl::Classes(ClassPauses::xoff(classes, 9));
            ControlFrame { control, built }
        };
        let mut ports = Ports::new(MAX_PORTS, false);
        let mut superseded = Vec::new();
        for (classes, built) in [(0b01, Some(1)), (0b10, None), (0b100, Some(3)), (0b11, Some(4))] {
            ports.push_control(200, frame(classes, built), &mut |frame| superseded.push(frame));
        }
        assert_eq!(superseded, [1], "the other was not built");
        let left = [frame(0b100, Some(3)), frame(0b11, Some(4))].map(Ahead::Control);
        assert_eq!([(); 2].map(|()| ports.pop(200).unwrap()), left);
    }

    #[test]
    fn pfc_goes_ahead_of_other_hop_control() {
        let pfc = |classes| HopControl::Classes(ClassPauses::xoff(classes, 9));
        let all = HopControl::Queues { paused: [1, 0] };
        let mut ports = Ports::<u32>::new(1, false);
        for control in [all, pfc(1), pfc(2)] {
            ports.push_control(0, ControlFrame { control, built: None }, &mut |_| {});
        }
        let order = [pfc(1), pfc(2), all].map(|control| ControlFrame { control, built: None });
        assert_eq!([(); 3].map(|()| ports.pop(0).unwrap()), order.map(Ahead::Control));
    }

    #[test]
    fn a_port_is_idle_once_all_that_waited_is_taken() {
        let control = HopControl::Classes(ClassPauses::xon(1));
        let control = ControlFrame::<u32> { control, built: None };
        let message = LinkDelayFrame::request([2, 0, 0, 0, 0, 1], 7);
        let mut ports = Ports::new(MAX_PORTS, false);
        for port in [0, 63, 64, 255] {
            ports.push_link_delay(port, message);
            ports.push_control(port, control, &mut |_| {});
            for expected in [Ahead::Control(control), Ahead::LinkDelay(message)] {
                assert!((0..=255).all(|other| ports.is_idle(other) == (other != port)));
                assert_eq!(ports.pop(port), Some(expected));
            }
            assert!(ports.is_idle(port));
            assert_eq!(ports.pop(port), None);
        }
    }
}
