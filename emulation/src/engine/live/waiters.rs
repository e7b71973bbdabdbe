//! Flows that users request, and clients that wait for their ends.

use std::sync::mpsc::Sender;
use std::time::Duration;

use results::{DeadlineCount, FlowRow, Slowdown, is_good};
use scenario::{MAX_FLOWS, ON_DEMAND};
use units::Picos;
use workload::Flow;

use super::super::Engine;
use super::Live;
use crate::datapath::Wires;
use crate::datapath::kernel::KernelWires;
use crate::live::clock::nanos;
use crate::live::desk::{Delivery, Meanwhile, NoNumber, Order};

/// A client that waits for a flow.
#[derive(Debug)]
pub(super) struct Waiter {
    answer: Sender<Result<Delivery, NoNumber>>,
    /// Deadlines, sleeps and lost time up to the start of the flow.
    deadlines: DeadlineCount,
    sleeps: DeadlineCount,
    lost: Duration,
}

impl Engine<'_, KernelWires> {
    /// Starts a flow that a user requests.
    pub(super) fn order(
        &mut self,
        at: Picos,
        order: &Order,
        answer: &Sender<Result<Delivery, NoNumber>>,
    ) {
        let Order { source, destination, bytes, priority } = *order;
        let pair = (source, destination);
        if self.stream.numbers_taken() as usize >= MAX_FLOWS {
            // The client may have gone.
            let _ = answer.send(Err(NoNumber));
            return;
        }
        let mut flow = Flow::new(ON_DEMAND.into(), pair, bytes, at, priority);
        flow.id = self.stream.take_number();
        flow.workload = self.scenario.on_demand_workload();
        let (deadlines, Live { sleeps, lost, .. }) = (self.deadlines(), &self.live);
        let waiter = Waiter { answer: answer.clone(), deadlines, sleeps: *sleeps, lost: *lost };
        self.live.waiting.insert(flow.id, waiter);
        self.start_flow(flow);
        self.wake_resting(at);
    }
}

impl<W: Wires> Engine<'_, W> {
    /// Sends a completed flow to the client that waits for it.
    pub(in super::super) fn notify_waiter(&mut self, row: &FlowRow<'_>) {
        let Some(waiter) = self.live.waiting.remove(&row.flow) else { return };
        let Waiter { answer, deadlines, sleeps, lost } = waiter;
        let deadlines = self.deadlines().since(deadlines);
        let sleeps = self.live.sleeps.since(sleeps);
        let lost = self.live.lost.saturating_sub(lost);
        let meanwhile = Meanwhile {
            is_good: is_good(deadlines, sleeps, lost),
            deadlines: deadlines.deadlines,
            late: deadlines.late,
            sleeps: sleeps.deadlines,
            late_sleeps: sleeps.late,
            lost_ns: nanos(lost),
        };
        // The client may have gone.
        let _ = answer.send(Ok(delivery(row, meanwhile)));
    }
}

/// Report of a completed flow.
fn delivery(row: &FlowRow<'_>, meanwhile: Meanwhile) -> Delivery {
    let fct = row.fct.unwrap_or_default();
    Delivery {
        flow: row.flow,
        src: row.src.to_owned(),
        dst: row.dst.to_owned(),
        bytes: row.bytes.0,
        priority: row.priority,
        fct_ns: fct.0,
        ideal_ns: row.ideal.0,
        slowdown: Slowdown::new(fct, row.ideal).into(),
        retransmitted_packets: row.retransmitted_packets,
        fidelity: meanwhile,
    }
}
