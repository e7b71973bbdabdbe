//! The end of a run: counters into the summary, and the books checked.
//!
//! At the end of a drained run every counter of a switch is zero, every descriptor is free, and the frames sent are the
//! frames received plus those that faults took. `summary.json` lists differences under `books`; the run then fails.
//! Lossless packets that switches dropped do not violate the books: they are under `limits_reached`
//! (`losses.rs`), and the run fails, too.

use std::collections::BTreeMap;
use std::time::Duration;

use fabric_core::drop_reason::DropReason;
use fabric_core::lossy::flow_table::replaced_flows;
use fabric_core::priority;
use fabric_core::scheme::{Selected, Watched};
use results::{
    DropTotals, FaultRow, FaultTotals, FlowPauseTotals, FlowQueueTotals, LinkBytes,
    LinkPriorityRow, LinkRow, Measurements, RunEnd, Summary,
};
use scenario::Stop;
use switch_user::tables::SwitchTables;
use topology::{NodeKind, WireId};
use units::Nanos;

use super::faults::FaultTally;
use super::flow_decisions::sentence;
use super::host_node::HostNode;
use super::link_tally::{LinkCount, LinkTally};
use super::part::Part;
use super::switch_node::SwitchNode;
use super::transmitter::{Receiver, Transmitter};
use super::{Engine, Finished, RunError};
use crate::datapath::Wires;

impl<W: Wires> Engine<'_, W> {
    pub(super) fn finish(
        mut self,
        end: RunEnd,
        others_cpu: Duration,
    ) -> Result<Finished<W>, RunError> {
        for part in &mut self.parts {
            for host in &mut part.hosts {
                host.close_all(&mut part.core);
            }
            part.core.journal.sort();
        }
        self.record_notes()?;
        self.hear_of_last_pauses()?;
        self.record_unfinished()?;
        let missing = self.active.values().filter(|flow| !flow.long_lived).count();
        let substrate_losses =
            self.parts.iter_mut().map(|part| part.core.medium.substrate_losses()).sum();
        let mut books = std::mem::take(&mut self.recorder.misdelivered);
        let deadlock = self.finish_deadlocks()?;
        self.finish_measurements()?;
        self.dump_queues(true)?;
        self.finish_storms()?;
        let faults = self.fault_rows();
        let links = self.link_rows();
        let by_priority = self.scenario.results.link_priorities;
        let link_priorities = if by_priority { self.link_priority_rows() } else { Vec::new() };
        let record = &mut self.recorder.record;
        faults.iter().try_for_each(|row| record.add(row))?;
        links.iter().try_for_each(|row| record.add(row))?;
        link_priorities.iter().try_for_each(|row| record.add(row))?;
        let counters = self.port_counters();
        self.recorder.record.counters(counters);
        if end == RunEnd::Drained {
            self.check_drained(&mut books);
        }
        match &self.failure {
            // Frames under way in the unfinished window cannot be counted.
            Some(_) => books.push("not checked, because the run failed".to_owned()),
            None => self.check_always(&mut books),
        }
        let mut counted = self.summary(end, books, substrate_losses);
        counted.faults = self.fault_totals(&faults);
        let lasts = missing == 0 && !self.active.is_empty() && deadlock.is_none();
        let unfinished = match end {
            RunEnd::Duration if !lasts => {
                let left = match missing {
                    0 => "the fabric had not drained".to_owned(),
                    flows => {
                        format!("{} had not completed", results::counted(flows as u64, "flow"))
                    }
                };
                let duration = self.scenario.duration.to_nanos().0;
                Some(format!("{left} when the duration of {duration} ns was over"))
            }
            RunEnd::Interrupted => {
                let flows = results::counted(self.active.len() as u64, "flow");
                let now = self.now.to_nanos().0;
                Some(format!("the run was interrupted at {now} ns, with {flows} under way"))
            }
            RunEnd::Failed => {
                let failure = self.failure.as_ref().map(ToString::to_string).unwrap_or_default();
                let now = self.now.to_nanos().0;
                Some(format!("the run failed at {now} ns: {failure}"))
            }
            RunEnd::Drained | RunEnd::Duration | RunEnd::Deadlock | RunEnd::Window => None,
        };
        // A run that stops with its window's flows expects some flows.
        let unfinished = unfinished.or_else(|| {
            let window = self.scenario.results.window()?;
            let waits = self.scenario.stop == Stop::Window && end != RunEnd::Deadlock;
            let (from, to) = (window.from.to_nanos().0, window.to.to_nanos().0);
            (waits && !self.window_had_flows).then(|| {
                format!("no flow started in the window from {from} to {to} ns, for which the run was to last")
            })
        });
        let deadlock = deadlock.map(|what| format!(", {what}")).unwrap_or_default();
        let unresumed = match &counted.flow_pauses {
            Some(pauses) => sentence(&pauses.unresumed),
            None => String::new(),
        };
        counted.unfinished = unfinished.map(|what| what + &deadlock + &unresumed);
        let mut switches = Vec::new();
        let mut wires = Vec::new();
        for part in self.parts {
            let Part { switches: of_part, core, .. } = *part;
            switches.extend(of_part.into_iter().map(|node| (node.id, node.switch)));
            wires.push(core.medium);
        }
        switches.sort_by_key(|(id, _)| id.0);
        Ok(Finished {
            record: self.recorder.record,
            end: self.now,
            counted,
            wires: W::join(wires),
            switches: switches.into_iter().map(|(_, switch)| switch).collect(),
            others_cpu,
            threads: self.threads,
            failure: self.failure,
        })
    }

    /// Passes measurements from inside switches to the record.
    fn finish_measurements(&mut self) -> Result<(), RunError> {
        let fabric = self.scenario.fabric();
        let mut all: Option<Measurements> = None;
        let mut occupancies = Vec::new();
        for part in &mut self.parts {
            part.core.journal.frames.add_to(&mut self.recorder.record);
            let Some(measured) = &mut part.core.measured else { continue };
            for node in &mut part.switches {
                if let Some(study) = node.followed.study.take() {
                    study.finish(self.now, measured);
                }
            }
            all.get_or_insert_default().add(measured);
        }
        for node in self.parts.iter_mut().flat_map(|part| &mut part.switches) {
            occupancies.extend(node.followed.occupancy.take().map(|it| (node.id, it)));
        }
        occupancies.sort_by_key(|(id, _)| id.0);
        for (id, occupancy) in occupancies {
            self.recorder.record.occupancy(&fabric.switch(id).name, *occupancy, self.now);
        }
        let rows = all.map(|all| all.rows()).unwrap_or_default();
        Ok(rows.iter().try_for_each(|row| self.recorder.record.add(row))?)
    }

    /// Records PFC storms that are not over, by switch.
    fn finish_storms(&mut self) -> Result<(), RunError> {
        let fabric = self.scenario.fabric();
        let of_switch = |node: &SwitchNode| {
            node.switch.storms().map(|storm| (node.id, storm)).collect::<Vec<_>>()
        };
        let storms: Vec<_> = self.switches().flat_map(of_switch).collect();
        for (switch, storm) in storms {
            self.recorder.storm(fabric.switch_node(switch), &storm, self.now)?;
        }
        Ok(())
    }

    /// Both wire ends at each port: the leaving wire's sender and the arriving wire's receiver.
    fn ends(&self) -> impl Iterator<Item = (&Transmitter, &Receiver)> {
        let hosts = self.parts.iter().flat_map(|part| &part.hosts).map(HostNode::wires);
        let switches = self.switches();
        hosts.chain(switches.flat_map(|node| (0..node.ports()).map(move |port| node.wires(port))))
    }

    /// The sending ends of all wires.
    pub(super) fn transmitters(&self) -> impl Iterator<Item = &Transmitter> {
        self.ends().map(|(out, _)| out)
    }

    /// Traffic of each wire, by wire.
    fn link_rows(&self) -> Vec<LinkRow> {
        let fabric = self.scenario.fabric();
        let mut at_end = vec![(0, 0); fabric.wires().len()];
        for (_, inward) in self.ends() {
            at_end[inward.wire.0 as usize] = (inward.damaged, inward.lost);
        }
        let mut senders: Vec<_> = self.transmitters().collect();
        senders.sort_by_key(|out| out.wire.0);
        let row = |out: &Transmitter| {
            let wire = fabric.wire(out.wire);
            let name = |node| fabric.node(node).name.clone();
            let (damaged, lost) = at_end[out.wire.0 as usize];
            LinkRow {
                wire: wire.name.clone(),
                from: name(wire.from),
                to: name(wire.to),
                rate: wire.rate,
                frames: out.sent,
                bytes: out.sent_bytes,
                wire_bytes: out.sent_on_the_wire(),
                lost: out.lost + lost,
                damaged,
                end: self.now,
            }
        };
        senders.into_iter().map(row).collect()
    }

    /// Traffic of each wire and priority, by wire.
    fn link_priority_rows(&self) -> Vec<LinkPriorityRow> {
        let fabric = self.scenario.fabric();
        let mut all = LinkTally::new(fabric.wires().len());
        for tally in self.parts.iter().filter_map(|part| part.core.link_tally.as_deref()) {
            all.add(tally);
        }
        let mut gaps = vec![0; fabric.wires().len()];
        for out in self.transmitters() {
            gaps[out.wire.0 as usize] = out.timing.on_the_wire(0);
        }
        let row = |(wire, priority, count): (WireId, Option<u8>, LinkCount)| {
            let gap = gaps[wire.0 as usize];
            let wire = fabric.wire(wire);
            let name = |node| fabric.node(node).name.clone();
            LinkPriorityRow {
                wire: wire.name.clone(),
                from: name(wire.from),
                to: name(wire.to),
                priority,
                rate: wire.rate,
                frames: count.frames,
                bytes: count.bytes,
                wire_bytes: count.bytes + count.frames * gap,
                marked: count.marked,
                lost: count.lost,
                damaged: count.damaged,
                dropped: count.dropped,
                end: self.now,
            }
        };
        all.counted().map(row).collect()
    }

    /// Effects of the scenario's faults on each wire, by fault and wire.
    fn fault_rows(&self) -> Vec<FaultRow> {
        let fabric = self.scenario.fabric();
        let of_wire = |out: &Transmitter| {
            let wire = out.wire;
            out.tallies().map(move |(fault, tally)| (fault, wire.0, tally)).collect::<Vec<_>>()
        };
        let mut tallies: Vec<_> = self.transmitters().flat_map(of_wire).collect();
        let in_order = self.parts.iter().filter_map(|part| part.in_order.as_ref());
        tallies.extend(in_order.flat_map(|order| order.tallies()));
        tallies.sort_by_key(|&(fault, wire, _)| (fault, wire));
        let row = |(fault, wire, tally): (u32, u32, FaultTally)| FaultRow {
            fault,
            kind: self.scenario.faults[fault as usize].kind(),
            wire: fabric.wire(WireId(wire)).name.clone(),
            seen: tally.seen,
            frames: tally.frames,
            added: Nanos(u64::try_from(tally.added.div_ceil(1000)).unwrap_or(u64::MAX)),
            most_added: tally.most_added.to_nanos_ceil(),
        };
        tallies.into_iter().map(row).collect()
    }

    fn fault_totals(&self, rows: &[FaultRow]) -> Option<FaultTotals> {
        let in_order = self.parts.iter().filter_map(|part| part.in_order.as_ref());
        let failed: u64 = in_order.map(|order| u64::from(order.has_failed())).sum();
        let reroutes = self.rerouting.changes + failed;
        let mut totals = FaultTotals { reroutes, ..FaultTotals::default() };
        for row in rows {
            totals.add(row);
        }
        (!self.scenario.faults.is_empty()).then_some(totals)
    }

    fn tables(&self) -> impl Iterator<Item = (&str, &SwitchTables)> {
        let fabric = self.scenario.fabric();
        self.switches()
            .map(move |node| (fabric.switch(node.id).name.as_str(), node.switch.tables()))
    }

    /// Checks that every counter of a drained fabric is back at zero.
    fn check_drained(&self, books: &mut Vec<String>) {
        for ((name, tables), node) in self.tables().zip(self.switches()) {
            if !node.switch.holds_no_packet() {
                // Its link has failed, and packets at the port keep their buffer.
                continue;
            }
            let found = tables.imbalances(node.switch.policy());
            books.extend(found.iter().map(|what| format!("{name}: {what}")));
        }
    }

    /// Checks the rules of every instant: no frame left a paused priority; every sent frame was received, is
    /// counted as lost or is on its way; the switches counted every received frame.
    fn check_always(&self, books: &mut Vec<String>) {
        for (name, tables) in self.tables() {
            let violations = tables.violations();
            if violations != 0 {
                books.push(format!(
                    "{name}: the egress auditor saw {violations} frames leave a paused priority"
                ));
            }
        }
        let fabric = self.scenario.fabric();
        let wires = fabric.wires().len();
        let (mut sent, mut received) = (vec![(0, 0); wires], vec![(0, 0); wires]);
        let mut flying = vec![0; wires];
        for part in &self.parts {
            let of_hosts = part.hosts.iter().map(HostNode::wires);
            let of_switches = part
                .switches
                .iter()
                .flat_map(|node| (0..node.ports()).map(move |port| node.wires(port)));
            for (out, inward) in of_hosts.chain(of_switches) {
                sent[out.wire.0 as usize] = (out.sent, out.lost);
                received[inward.wire.0 as usize] = (inward.received, inward.damaged + inward.lost);
            }
            for (index, port) in part.on_their_way() {
                flying[part.inward(index, port).wire.0 as usize] += 1;
            }
        }
        let wires = (0..).zip(fabric.wires()).zip(sent).zip(received).zip(flying);
        for ((((number, wire), (sent, lost)), (received, lost_there)), flying) in wires {
            let (name, lost) = (&wire.name, lost + lost_there);
            if sent != received + lost + flying {
                books.push(format!(
                    "wire {name}: {sent} frames sent, {received} received, {lost} lost by faults, {flying} on their way"
                ));
            }
            let ends = fabric.ends(WireId(number));
            if let NodeKind::Switch(switch) = ends.to {
                let seen = self.switch(switch).tables().received_frames(ends.to_port.into());
                if seen != received {
                    books.push(format!(
                        "wire {name}: {received} frames arrived and the switch saw {seen}"
                    ));
                }
            }
        }
    }

    fn drops(&self, substrate_losses: u64) -> DropTotals {
        let mut drops = DropTotals::default();
        for reason in DropReason::ALL {
            let frames = match reason {
                DropReason::InjectedLoss => self.tally().injected_losses,
                DropReason::LinkDown => self.tally().sent_in_vain,
                DropReason::Corrupted => self.tally().damaged,
                DropReason::SubstrateLoss => substrate_losses,
                _ => self.tables().map(|(_, tables)| tables.dropped(*reason)).sum(),
            };
            drops.add(*reason, frames);
        }
        drops
    }

    /// Number of ports and priorities whose neighbours have the min rate; `None` if switches set no rates.
    fn slowest_ports(&self) -> Option<u64> {
        let ports = self.switches().flat_map(|node| {
            (0..node.ports()).filter_map(|port| node.switch.slowest(port)).map(u64::from)
        });
        ports.fold(None, |all: Option<u64>, port| Some(all.unwrap_or_default() + port))
    }

    fn flow_queues(&self) -> Option<FlowQueueTotals> {
        let switches = self.switches().map(|node| (&node.switch, node.ports()));
        let ports = switches
            .flat_map(|(switch, ports)| (0..ports).filter_map(move |port| switch.flow_use(port)));
        ports.fold(None, |totals: Option<FlowQueueTotals>, port| {
            let mut totals = totals.unwrap_or_default();
            totals.activations += u64::from(port.activations);
            totals.collisions += u64::from(port.collisions);
            Some(totals)
        })
    }

    /// Totals of the switches' pauses of flows.
    fn flow_pauses(&self) -> FlowPauseTotals {
        let mut totals =
            FlowPauseTotals { unresumed: self.unresumed_flows(), ..FlowPauseTotals::default() };
        let ports = self.switches().flat_map(|node| {
            let ports = node.switch.tables().settings().ports;
            (0..ports).map(move |port| (&node.switch, port))
        });
        for (switch, port) in ports {
            for class in priority::all() {
                let of_class = Selected::flow_pauses(switch.tables(), switch.policy(), port, class);
                totals.pause_frames += u64::from(of_class.pause_frames);
                totals.flows += u64::from(of_class.flows);
                totals.resume_frames += u64::from(of_class.resume_frames);
                totals.class_pauses += u64::from(of_class.class_pauses);
                totals.unnamed_packets += u64::from(of_class.unnamed_packets);
            }
        }
        totals
    }

    /// Bytes on the links of each switch.
    fn link_bytes(&self) -> BTreeMap<String, LinkBytes> {
        let fabric = self.scenario.fabric();
        let of_switch = |node: &SwitchNode| {
            let mut bytes = LinkBytes::default();
            for port in 0..node.ports() {
                let out = node.wires(port).0;
                let rate = fabric.wire(out.wire).rate;
                let (sent, capacity) = out.link_bytes(rate, self.now);
                let to_host = matches!(fabric.ends(out.wire).to, NodeKind::Host(_));
                bytes.add(to_host, sent, capacity);
            }
            (fabric.switch(node.id).name.clone(), bytes)
        };
        let asked = self.scenario.results.link_bytes;
        self.switches().filter(|_| asked).map(of_switch).collect()
    }

    fn summary(&self, ended: RunEnd, books: Vec<String>, substrate_losses: u64) -> Summary {
        let most = |place: usize| -> BTreeMap<String, u64> {
            let name = |node: &SwitchNode| self.scenario.fabric().switch(node.id).name.clone();
            self.switches().map(|node| (name(node), node.most_buffered()[place])).collect()
        };
        Summary {
            scenario: self.scenario.name.clone(),
            seed: self.scenario.seed,
            ecn_marked: self.tables().map(|(_, tables)| tables.state().ecn_marked.load()).sum(),
            replaced_flows: (self.scenario.lossy_settings().flow_lines() != 0)
                .then(|| self.tables().map(|(_, tables)| replaced_flows(tables)).sum()),
            slowest_ports: self.slowest_ports(),
            flow_pauses: self.scenario.switch.pauses_flows().then(|| self.flow_pauses()),
            cnps: self.host_totals().map(|counters| counters.cnps_sent).sum(),
            retransmitted_packets: self
                .host_totals()
                .map(|counters| counters.retransmitted_packets)
                .sum(),
            drops: self.drops(substrate_losses),
            buffer_max_bytes: most(0),
            headroom_max_bytes: most(1),
            flow_queues: self.flow_queues(),
            link_bytes: self.link_bytes(),
            packet_hops: self.tally().packet_hops,
            emulated_ns: self.now.to_nanos().0,
            ended,
            books,
            limits_reached: self.limits_reached(),
            ..Summary::default()
        }
    }
}
