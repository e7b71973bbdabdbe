//! BFC in a drawn scenario.

use super::{Drawn, DrawnFlow, Headroom};

/// `switch.backpressure`.
#[derive(Clone, Debug)]
pub struct Backpressure {
    /// The priorities whose queues are paused: priorities of flows, but not of ACKs and CNPs.
    pub priorities: Vec<u8>,
    /// Queues of each.
    pub queues: u32,
    /// Rule by which a flow gets a queue.
    pub assignment: &'static str,
    /// Part of the packets that are counted.
    pub sampling: &'static str,
    /// True if turns down and up again trigger no backpressure.
    pub prevents_deadlocks: bool,
    /// True if these priorities are lossy.
    pub is_lossy: bool,
}

impl DrawnFlow {
    /// The keys of `switch.scheduler` of a scenario with BFC, by its first flow, if they replace the drawn keys.
    /// Segments of TCP do not carry the remaining bytes.
    pub(super) fn scheduler(&self, beside: Option<&str>) -> Option<&'static str> {
        (beside.is_none() && self.distance % 3 == 1).then_some("kind = \"srf\"")
    }
}

impl Backpressure {
    /// BFC for a quarter of the scenarios with other priorities than those of ACKs and CNPs, by their first flow. No
    /// random number is drawn for it, so that other scenarios stay the same.
    pub fn new(first: &DrawnFlow, priorities: &[u8]) -> Option<Self> {
        let [_, inner @ .., _] = priorities else { return None };
        let form = first.distance;
        (!inner.is_empty() && first.source.is_multiple_of(4)).then(|| Self {
            priorities: inner.to_vec(),
            queues: [1, 2, 5, 20][form as usize % 4],
            assignment: if (form / 4).is_multiple_of(3) { "stochastic" } else { "dynamic" },
            sampling: if form % 5 == 2 { "0.5" } else { "1" },
            prevents_deadlocks: form % 5 < 2,
            is_lossy: (first.source / 4).is_multiple_of(3),
        })
    }

    /// Its line in the section of the switch.
    pub fn line(&self, bitmap_period: &str) -> String {
        let Self { priorities, queues, assignment, sampling, prevents_deadlocks, .. } = self;
        format!(
            "backpressure = {{ kind = \"bfc\", priorities = {priorities:?}, queues = {queues}, \
             assignment = \"{assignment}\", sampling = {sampling}, prevent_deadlocks = {prevents_deadlocks}, \
             bitmap_period = \"{bitmap_period}\" }}\n"
        )
    }
}

impl Drawn {
    /// Returns true if no packet may be lost.
    pub fn is_lossless(&self) -> bool {
        self.headroom != Headroom::Oversubscribed && !self.loses
    }

    /// The lossless priorities of switches: all, or those of ACKs and CNPs.
    pub(super) fn without_loss(&self) -> Vec<u8> {
        match self.lossless[..] {
            [first, .., last] if self.loses => vec![first, last],
            _ => self.lossless.clone(),
        }
    }
}
