//! A host's kernel network stack behind its NIC, used by programs in the host's namespace. The NIC sends their
//! frames at its line rate, in turns with its own packets, and stops them while their class is paused.
//!
//! The stack is at a separate tap device, whose descriptor the engine has, and not at the host's port. There its
//! frames would run the switch's XDP program at any instant, also during a departure, and the switch's cells rely on
//! turns (`fabric_core::cell`). The host's XDP program passes all frames to its AF_XDP socket (`whole_host_port`), and
//! frames for a stack are written to its tap device. The store of frames marks frames of programs; their bytes do not
//! matter, so they cannot be taken for packets of the emulation.

use std::collections::VecDeque;

use fabric_core::priority::{self, Priority};
use host_agent::Host;
use units::Picos;

use crate::datapath::FrameId;

/// Max number of frames that wait in a NIC for the port, and max number per class while it is paused. Further
/// frames wait in the stack's interface, or are dropped if their class is paused.
pub const MAX_WAITING: usize = 1024;

/// Passes a frame to the stack.
pub type ToStack = Box<dyn FnMut(&[u8]) + Send>;

/// A frame of a program.
#[derive(Clone, Copy, Debug)]
pub struct StackFrame {
    /// The frame.
    pub frame: FrameId,
    /// Accounted length, bytes.
    pub length: u32,
    /// Priority from its DSCP.
    pub priority: Priority,
}

/// See the module.
pub struct Stack {
    programs: ToStack,
    /// Frames that wait for the port, by priority.
    queues: [VecDeque<StackFrame>; 8],
    waiting: usize,
    /// Priority served last.
    served: u8,
    /// True if the last frame that left the port was the stack's.
    had_turn: bool,
    /// Counters of the stack.
    pub counters: StackCounters,
}

/// Counters of a stack's frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackCounters {
    /// Frames accepted from programs.
    pub sent: u64,
    /// Frames passed to programs.
    pub received: u64,
    /// Frames of programs dropped because they exceed the max length of the fabric.
    pub too_long: u64,
    /// Frames of programs dropped because too many of their class waited for the end of its pause.
    pub dropped: u64,
}

impl Stack {
    /// An empty stack.
    pub fn new(to_stack: ToStack) -> Self {
        Self {
            programs: to_stack,
            queues: Default::default(),
            waiting: 0,
            served: 0,
            had_turn: false,
            counters: StackCounters::default(),
        }
    }

    /// Number of frames that wait for the port.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Number of waiting frames whose classes are not paused at `now`.
    pub fn waiting_for_the_port(&self, now: Picos, host: &Host) -> usize {
        if self.waiting < MAX_WAITING {
            return self.waiting;
        }
        let open = priority::all().filter(|&priority| host.open_from(priority, now) <= now);
        open.map(|priority| self.queues[priority.index()].len()).sum()
    }

    /// Queues a program's frame, or returns it if the queue is full and its class is paused.
    pub fn enqueue(&mut self, now: Picos, host: &Host, frame: StackFrame) -> Option<FrameId> {
        let queue = &mut self.queues[frame.priority.index()];
        if queue.len() >= MAX_WAITING && host.open_from(frame.priority, now) > now {
            self.counters.dropped += 1;
            return Some(frame.frame);
        }
        queue.push_back(frame);
        self.waiting += 1;
        self.counters.sent += 1;
        None
    }

    /// Passes a frame to the programs.
    pub fn deliver(&mut self, bytes: &[u8]) {
        self.counters.received += 1;
        (self.programs)(bytes);
    }

    /// True if the stack has the turn before the NIC's own packets.
    pub fn is_first(&self) -> bool {
        !self.had_turn
    }

    /// Records that the NIC has sent its own packet.
    pub fn let_pass(&mut self) {
        self.had_turn = false;
    }

    /// Takes the frame that starts on the free port at `now`, if one may: priorities take turns.
    pub fn pop(&mut self, now: Picos, host: &Host) -> Option<StackFrame> {
        if self.waiting == 0 {
            return None;
        }
        let next = (1..=8).map(|step| Priority::from_bits(u32::from(self.served) + step)).find(
            |&priority| {
                !self.queues[priority.index()].is_empty() && host.open_from(priority, now) <= now
            },
        )?;
        self.served = next.number();
        self.had_turn = true;
        self.waiting -= 1;
        self.queues[next.index()].pop_front()
    }

    /// Earliest instant from `from` on at which [`pop`](Self::pop) returns a frame, if nothing arrives before.
    pub fn next_transmission(&self, from: Picos, host: &Host) -> Picos {
        if self.waiting == 0 {
            return Picos::MAX;
        }
        let waiting = priority::all().filter(|it| !self.queues[it.index()].is_empty());
        waiting.map(|priority| host.open_from(priority, from)).min().unwrap_or(Picos::MAX)
    }
}
