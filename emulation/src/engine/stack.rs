//! The kernel's network stack of a host, behind its NIC: what programs in the host's namespace send and receive. The
//! NIC sends their frames at its line rate, in turns with its own packets, and stops them while their class is paused.

use std::collections::VecDeque;

use fabric_core::priority::{self, Priority};
use host_agent::Host;
use units::Picos;

use crate::datapath::FrameId;

/// Frames that a NIC keeps for the port, and of each class while that is paused. What programs send in addition waits in their
/// interface, or is dropped if its class is paused.
pub const MOST_WAITING: usize = 1024;

/// Receives a frame for the stack.
pub type ToStack = Box<dyn FnMut(&[u8]) + Send>;

/// A frame of a program.
#[derive(Clone, Copy, Debug)]
pub struct StackFrame {
    /// The frame.
    pub frame: FrameId,
    /// How long it counts.
    pub length: u32,
    /// By its DSCP.
    pub priority: Priority,
}

/// See the module.
pub struct Stack {
    programs: ToStack,
    /// By priority: frames that wait for the port.
    queues: [VecDeque<StackFrame>; 8],
    waiting: usize,
    /// The priority that was served last.
    served: u8,
    /// Whether the last frame that left the port was the stack's.
    had_turn: bool,
    /// What was counted.
    pub counters: StackCounters,
}

/// What a stack has sent and received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackCounters {
    /// Frames that programs have sent.
    pub sent: u64,
    /// Frames that were handed to them.
    pub received: u64,
    /// Frames of programs that were dropped because they are longer than any of the fabric.
    pub too_long: u64,
    /// Frames of programs that were dropped because too many of their class waited for the end of its pause.
    pub dropped: u64,
}

impl Stack {
    /// Nothing waits.
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

    /// Frames that wait for the port.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Those of them whose classes are not paused at `now`.
    pub fn waiting_for_the_port(&self, now: Picos, host: &Host) -> usize {
        if self.waiting < MOST_WAITING {
            return self.waiting;
        }
        let open = priority::all().filter(|&priority| host.open_from(priority, now) <= now);
        open.map(|priority| self.queues[priority.index()].len()).sum()
    }

    /// Takes a frame that a program sends, or gives it back if there is no room for it.
    pub fn enqueue(&mut self, now: Picos, host: &Host, frame: StackFrame) -> Option<FrameId> {
        let queue = &mut self.queues[frame.priority.index()];
        if queue.len() >= MOST_WAITING && host.open_from(frame.priority, now) > now {
            self.counters.dropped += 1;
            return Some(frame.frame);
        }
        queue.push_back(frame);
        self.waiting += 1;
        self.counters.sent += 1;
        None
    }

    /// Hands a frame to the programs.
    pub fn deliver(&mut self, bytes: &[u8]) {
        self.counters.received += 1;
        (self.programs)(bytes);
    }

    /// Whether it is the stack's turn before the NIC's own packets.
    pub fn is_first(&self) -> bool {
        !self.had_turn
    }

    /// The NIC has sent a packet of its own.
    pub fn let_pass(&mut self) {
        self.had_turn = false;
    }

    /// The frame that starts onto the free port at `now`, if one may: of the priorities in turn.
    pub fn pop(&mut self, now: Picos, host: &Host) -> Option<StackFrame> {
        if self.waiting == 0 {
            return None;
        }
        let next = (1..=8).map(|step| Priority::of_bits(u32::from(self.served) + step)).find(
            |&priority| {
                !self.queues[priority.index()].is_empty() && host.open_from(priority, now) <= now
            },
        )?;
        self.served = next.number();
        self.had_turn = true;
        self.waiting -= 1;
        self.queues[next.index()].pop_front()
    }

    /// The earliest instant from `from` on at which [`pop`](Self::pop) has something, if nothing arrives before.
    pub fn next_transmission(&self, from: Picos, host: &Host) -> Picos {
        if self.waiting == 0 {
            return Picos::MAX;
        }
        let waiting = priority::all().filter(|it| !self.queues[it.index()].is_empty());
        waiting.map(|priority| host.open_from(priority, from)).min().unwrap_or(Picos::MAX)
    }
}
