//! Turns of PFC frames and packets of the control queue at ports of switches. Both are in one queue of `ConWeave`'s simulator,
//! first in, first out; xoff's ports send PFC frames first.

use std::collections::{BTreeMap, VecDeque};

/// Control packets and PFC frames of a port.
#[derive(Debug, Default)]
struct Port {
    /// Control packets that have joined their queue.
    joined: u64,
    /// Control packets that have left it.
    left: u64,
    /// Of each waiting PFC frame, the control packets that had joined before it.
    frames: VecDeque<u64>,
}

/// See the module. Ports are pairs of node and port.
#[derive(Debug, Default)]
pub struct Turns(BTreeMap<(u32, u16), Port>);

impl Turns {
    /// A control packet joins its queue.
    pub fn packet_joins(&mut self, port: (u32, u16)) {
        self.0.entry(port).or_default().joined += 1;
    }

    /// A control packet leaves its queue.
    pub fn packet_leaves(&mut self, port: (u32, u16)) {
        self.0.entry(port).or_default().left += 1;
    }

    /// PFC frames join behind the control packets that wait.
    pub fn frames_join(&mut self, port: (u32, u16), count: usize) {
        let Port { joined, frames, .. } = self.0.entry(port).or_default();
        frames.extend(std::iter::repeat_n(*joined, count));
    }

    /// A PFC frame leaves.
    pub fn frame_leaves(&mut self, port: (u32, u16)) {
        self.0.entry(port).or_default().frames.pop_front();
    }

    /// True if a control packet goes before the next PFC frame.
    pub fn is_packets(&self, port: (u32, u16)) -> bool {
        let before = |port: &Port| port.frames.front().is_some_and(|before| *before > port.left);
        self.0.get(&port).is_some_and(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_to_join_is_the_first_to_leave() {
        const PORT: (u32, u16) = (4, 2);
        let mut turns = Turns::default();
        turns.packet_joins(PORT);
        turns.packet_joins(PORT);
        turns.frames_join(PORT, 2);
        turns.packet_joins(PORT);
        turns.frames_join(PORT, 1);
        let mut order = String::new();
        while order.len() < 6 {
            if turns.is_packets(PORT) {
                turns.packet_leaves(PORT);
                order.push('p');
            } else {
                turns.frame_leaves(PORT);
                order.push('f');
            }
        }
        assert_eq!(order, "ppffpf");
        assert!(!turns.is_packets(PORT) && !turns.is_packets((4, 3)));
    }
}
