//! Flows that the neighbour has paused by themselves (OFC, Section III), and the senders that wait for it.

use std::collections::BTreeSet;

use fabric_core::priority::Priority;
use units::Picos;

use super::{Host, Sending};

/// What the neighbour has said of flows.
#[derive(Debug, Default)]
pub(super) struct FlowPauses {
    /// The paused flows, of each priority and name.
    paused: BTreeSet<(u8, u32)>,
    /// The slots of senders whose turn it was while their flow was paused.
    waiting: Vec<u32>,
}

impl FlowPauses {
    /// Whether a sender's flow is paused.
    #[inline]
    pub(super) fn stops(&self, sending: &Sending) -> bool {
        !self.paused.is_empty() && self.paused.contains(&key(sending))
    }

    /// A sender waits.
    pub(super) fn wait(&mut self, slot: u32) {
        self.waiting.push(slot);
    }

    /// A sender waits no more: its flow has ended.
    pub(super) fn forget(&mut self, slot: u32) {
        self.waiting.retain(|&waiting| waiting != slot);
    }
}

fn key(sending: &Sending) -> (u8, u32) {
    (sending.end.request().priority.number(), sending.name)
}

impl Host {
    /// The neighbour pauses or resumes flows of a priority. They stop with their next packet, without a response time.
    pub(super) fn handle_flow_pause(
        &mut self,
        now: Picos,
        priority: Priority,
        paused: bool,
        names: &[u32],
    ) {
        let all = &mut self.flow_pauses.paused;
        let keys = names.iter().map(|&name| (priority.number(), name));
        if paused {
            self.counters.flow_pauses_received += 1;
            all.extend(keys);
            return;
        }
        self.counters.flow_resumes_received += 1;
        keys.for_each(|key| {
            all.remove(&key);
        });
        let waiting = std::mem::take(&mut self.flow_pauses.waiting);
        for slot in waiting {
            let sending = self.senders.occupant(slot);
            if self.flow_pauses.paused.contains(&key(sending)) {
                self.flow_pauses.waiting.push(slot);
            } else {
                sending.waits = false;
                let since = sending.since;
                self.schedule(now, slot);
                self.senders.occupant(slot).since = since;
            }
        }
    }
}
