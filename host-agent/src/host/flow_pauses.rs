//! Flows that the neighbour has paused by themselves, and the senders that wait for it.

use std::collections::BTreeMap;

use fabric_core::hop_control::FLOW_PAUSE_PERIODS;
use fabric_core::priority::Priority;
use units::Picos;

use super::{Host, Sending};

/// Pauses of single flows by the neighbour.
#[derive(Debug, Default)]
pub(super) struct FlowPauses {
    /// Periods that have ended since the neighbour last named the flow, by priority and name of each paused flow.
    paused: BTreeMap<(u8, u32), u32>,
    /// Slots of senders whose turn came while their flow was paused.
    waiting: Vec<u32>,
}

impl FlowPauses {
    /// Returns true if the sender's flow is paused.
    #[inline]
    pub(super) fn stops(&self, sending: &Sending) -> bool {
        !self.paused.is_empty() && self.paused.contains_key(&key(sending))
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
            all.extend(keys.map(|key| (key, 0)));
            return;
        }
        self.counters.flow_resumes_received += 1;
        keys.for_each(|key| {
            all.remove(&key);
        });
        self.wake_flows(now);
    }

    /// Returns true if the neighbour has paused the flow of a name, by the frames received so far.
    pub fn holds_flow(&self, priority: Priority, name: u32) -> bool {
        self.flow_pauses.paused.contains_key(&(priority.number(), name))
    }

    /// Ends a period, for neighbours that repeat their pauses of flows. Resumes flows that were not named for
    /// [`FLOW_PAUSE_PERIODS`] and returns true if there are any.
    pub fn forget_flow_pauses(&mut self, now: Picos) -> bool {
        let all = &mut self.flow_pauses.paused;
        let before = all.len();
        all.retain(|_, age| {
            *age += 1;
            *age <= FLOW_PAUSE_PERIODS
        });
        let forgets = all.len() != before;
        if forgets {
            self.wake_flows(now);
        }
        forgets
    }

    /// Resumes all paused flows after the link went down or came up. Returns true if there are any.
    pub fn forget_all_flow_pauses(&mut self, now: Picos) -> bool {
        let forgets = !self.flow_pauses.paused.is_empty();
        self.flow_pauses.paused.clear();
        if forgets {
            self.wake_flows(now);
        }
        forgets
    }

    /// Schedules waiting senders whose flows are no longer paused.
    fn wake_flows(&mut self, now: Picos) {
        let waiting = std::mem::take(&mut self.flow_pauses.waiting);
        for slot in waiting {
            let sending = self.senders.occupant(slot);
            if self.flow_pauses.paused.contains_key(&key(sending)) {
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
