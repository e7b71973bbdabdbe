//! The end of a run: counters into the summary, and the books checked.

use std::collections::BTreeMap;

use fabric_core::drop_reason::DropReason;
use results::{DropTotals, RunEnd, Summary};
use switch_user::tables::SwitchTables;
use topology::{NodeKind, SwitchId, Wire};

use super::event::Event;
use super::recorder::drop_class;
use super::{Engine, Finished, RunError, flow_row};
use crate::datapath::Wires;

impl<W: Wires> Engine<'_, W> {
    pub(super) fn finish(mut self, end: RunEnd) -> Result<Finished<W>, RunError> {
        for flow in self.active.values() {
            self.recorder.record.flow(&flow_row(self.scenario, flow, None))?;
        }
        let missing = self.active.values().filter(|flow| !flow.long_lived).count();
        let substrate_losses = self.medium.substrate_losses();
        let mut books = std::mem::take(&mut self.misdelivered);
        let deadlock = self.finish_deadlocks()?;
        if let Some(study) = self.recorder.study.take() {
            self.recorder.record.measurements(&study.finish(self.now))?;
        }
        if end == RunEnd::Drained {
            self.check_drained(&mut books);
        }
        self.check_always(&mut books);
        let mut counted = self.summary(end, books, substrate_losses);
        let lasts = missing == 0 && !self.active.is_empty() && deadlock.is_none();
        if end == RunEnd::Duration && !lasts {
            let left = match missing {
                0 => "the fabric had not drained".to_owned(),
                flows => {
                    format!("{} had not completed", results::counted(flows as u64, "flow"))
                }
            };
            let deadlock = deadlock.map(|what| format!(", {what}")).unwrap_or_default();
            let duration = self.scenario.duration.to_nanos().0;
            counted.unfinished =
                Some(format!("{left} when the duration of {duration} ns was over{deadlock}"));
        }
        Ok(Finished {
            record: self.recorder.record,
            end: self.now,
            counted,
            wires: self.medium,
            switches: self.switches.into_iter().map(|node| node.switch).collect(),
        })
    }

    fn tables(&self) -> impl Iterator<Item = (&str, &SwitchTables)> {
        let fabric = self.scenario.fabric();
        (0..).zip(&self.switches).map(move |(number, node)| {
            (fabric.switch(SwitchId(number)).name.as_str(), node.switch.tables())
        })
    }

    /// Every counter of a drained fabric is back at zero.
    fn check_drained(&self, books: &mut Vec<String>) {
        for ((name, tables), node) in self.tables().zip(&self.switches) {
            let found = tables.imbalances(node.switch.policy());
            books.extend(found.iter().map(|what| format!("{name}: {what}")));
        }
    }

    /// What holds at every instant: no frame left a paused priority; every frame that was sent was received,
    /// counts as lost or is on its way; and the switches counted every frame that was received.
    fn check_always(&self, books: &mut Vec<String>) {
        for (name, tables) in self.tables() {
            let violations = tables.violations();
            if violations != 0 {
                books.push(format!(
                    "{name}: the egress auditor saw {violations} frames leave a paused priority"
                ));
            }
        }
        let mut flying = vec![0; self.transmitters.len()];
        for event in self.events.remaining() {
            if let Event::Arrival { wire, .. } = event {
                flying[wire as usize] += 1;
            }
        }
        let wires = self.transmitters.iter().zip(self.scenario.fabric().wires());
        for ((wire, Wire { name, .. }), flying) in wires.zip(flying) {
            if wire.sent != wire.received + wire.lost + flying {
                books.push(format!(
                    "wire {name}: {} frames sent, {} received, {} lost by faults, {flying} on their way",
                    wire.sent, wire.received, wire.lost
                ));
            }
            if let NodeKind::Switch(SwitchId(switch)) = wire.ends.to {
                let port = u32::from(wire.ends.to_port);
                let seen = self.switches[switch as usize].switch.tables().received_frames(port);
                if seen != wire.received {
                    books.push(format!(
                        "wire {name}: {} frames arrived and the switch saw {seen}",
                        wire.received
                    ));
                }
            }
        }
    }

    fn drops(&self, substrate_losses: u64) -> DropTotals {
        let mut drops = DropTotals::default();
        for reason in DropReason::ALL {
            let frames = match reason {
                DropReason::InjectedLoss => self.injected_losses,
                DropReason::SubstrateLoss => substrate_losses,
                _ => self.tables().map(|(_, tables)| tables.dropped(*reason)).sum(),
            };
            drops.add(reason.name(), drop_class(*reason), frames);
        }
        drops
    }

    fn summary(&self, ended: RunEnd, books: Vec<String>, substrate_losses: u64) -> Summary {
        let by_switch = |value: fn(&SwitchTables) -> u64| -> BTreeMap<String, u64> {
            self.tables().map(|(name, tables)| (name.to_owned(), value(tables))).collect()
        };
        Summary {
            scenario: self.scenario.name.clone(),
            seed: self.scenario.seed,
            ecn_marked: self.tables().map(|(_, tables)| tables.state().ecn_marked.load()).sum(),
            cnps: self.host_totals().map(|counters| counters.cnps_sent).sum(),
            retransmitted_packets: self
                .host_totals()
                .map(|counters| counters.retransmitted_packets)
                .sum(),
            drops: self.drops(substrate_losses),
            buffer_max_bytes: by_switch(|tables| tables.state().buffer_max_bytes.load()),
            headroom_max_bytes: by_switch(|tables| tables.state().headroom_max_bytes.load()),
            packet_hops: self.packet_hops,
            emulated_ns: self.now.to_nanos().0,
            ended,
            books,
            limits_reached: self.limits_reached(),
            ..Summary::default()
        }
    }
}
