//! Frames from programs in the hosts of a live fabric.

use fabric_core::priority::Priority;
use topology::HostId;
use units::Picos;

use super::super::Engine;
use super::super::stack::{MAX_WAITING, StackFrame};
use crate::datapath::kernel::KernelWires;
use crate::live::stacks::{AT_ONCE, Sent, Stacks};
use crate::partition::Place;

impl Engine<'_, KernelWires> {
    /// Passes frames that programs have sent to their NICs, at `at`. Hosts whose NICs have no room have to wait for
    /// an event in the fabric that makes room.
    pub(super) fn take_of_programs(&mut self, stacks: &mut Stacks, at: Picos) {
        let (mut has_more, mut has_any) = (false, false);
        for place in 0..stacks.ready() {
            let number = stacks.ready_host(place);
            let host = HostId(number as u32);
            let node = self.host_node(host);
            let waiting = node.stack().map(|stack| stack.waiting_for_the_port(at, &node.host));
            if waiting.is_none_or(|waiting| waiting >= MAX_WAITING) {
                continue;
            }
            let mut taken = 0;
            while taken < AT_ONCE
                && let Some(sent) = stacks.receive(number)
            {
                taken += 1;
                self.take_of_program(host, sent, at);
            }
            has_more |= taken == AT_ONCE;
            has_any |= taken > 0;
        }
        stacks.taken(has_more);
        if has_any {
            self.wake_resting(at);
            self.exchange();
        }
    }

    fn take_of_program(&mut self, host: HostId, sent: Sent<'_>, at: Picos) {
        let Sent::Frame { bytes, priority } = sent else {
            return self.host_node_mut(host).refuse_of_stack();
        };
        let Place { part, index } = self.place_of(host);
        let part = &mut *self.parts[part as usize];
        let (frame, length) = part.core.frames.foreign(bytes);
        let frame = StackFrame { frame, length, priority: Priority::from_bits(priority) };
        let node = &mut part.hosts[index as usize];
        let next = node.send_of_stack(&mut part.core, at, frame);
        part.core.upcoming.wake(index, next);
    }
}
