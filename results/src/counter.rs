//! Counters of ports.

use std::collections::BTreeMap;

use units::Nanos;

use super::pause_time::PauseReceived;
use super::tables::{CounterRow, DropRow, PauseTimeRow};

/// A counter of a (node, port, priority). The names are those of SAI's port, priority group and queue statistics as
/// `SONiC` shows them: without their first words, and with the priority in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counter {
    /// PAUSE frames that the port sent.
    PfcSent,
    /// PAUSE frames that it received.
    PfcReceived,
    /// RESUME frames that it sent.
    ResumesSent,
    /// RESUME frames that it received.
    ResumesReceived,
    /// Time in which it paused its neighbour.
    PauseSent,
    /// Time in which it was paused.
    PauseReceived,
    /// Frames that came in and went no further.
    Discarded,
    /// Packets that left its queues.
    Packets,
    /// Bytes of these packets.
    Bytes,
    /// Packets that were marked on their way through its queues.
    Marked,
    /// Max bytes in its queues.
    QueueWatermark,
    /// Max bytes that its received packets held in the shared pool.
    SharedWatermark,
    /// Max bytes that its received packets held in headroom.
    HeadroomWatermark,
}

impl Counter {
    /// All counters.
    pub const ALL: [Self; 13] = [
        Self::PfcSent,
        Self::PfcReceived,
        Self::ResumesSent,
        Self::ResumesReceived,
        Self::PauseSent,
        Self::PauseReceived,
        Self::Discarded,
        Self::Packets,
        Self::Bytes,
        Self::Marked,
        Self::QueueWatermark,
        Self::SharedWatermark,
        Self::HeadroomWatermark,
    ];

    /// Name in the table, for a priority.
    pub fn name(self, priority: u8) -> String {
        let (before, behind) = self.words();
        format!("{before}_{priority}_{behind}")
    }

    /// Before and behind the priority.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::PfcSent => ("PFC", "TX_PKTS"),
            Self::PfcReceived => ("PFC", "RX_PKTS"),
            Self::ResumesSent => ("PFC", "TX_XON_PKTS"),
            Self::ResumesReceived => ("PFC", "RX_XON_PKTS"),
            Self::PauseSent => ("PFC", "TX_PAUSE_DURATION_NS"),
            Self::PauseReceived => ("PFC", "RX_PAUSE_DURATION_NS"),
            Self::Discarded => ("PG", "DROPPED_PACKETS"),
            Self::Packets => ("QUEUE", "PACKETS"),
            Self::Bytes => ("QUEUE", "BYTES"),
            Self::Marked => ("QUEUE", "WRED_ECN_MARKED_PACKETS"),
            Self::QueueWatermark => ("QUEUE", "SHARED_WATERMARK_BYTES"),
            Self::SharedWatermark => ("PG", "SHARED_WATERMARK_BYTES"),
            Self::HeadroomWatermark => ("PG", "XOFF_ROOM_WATERMARK_BYTES"),
        }
    }
}

/// Counters of one queue, or priority group, of a switch port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounters {
    /// Packets that left.
    pub packets: u64,
    /// Bytes of these packets.
    pub bytes: u64,
    /// Packets that were marked, each counted where it was marked first.
    pub marked: u64,
    /// Max bytes that waited to leave.
    pub egress_watermark: u64,
    /// Max bytes that received packets held in the shared pool.
    pub shared_watermark: u64,
    /// Max bytes of headroom that received packets held.
    pub headroom_watermark: u64,
}

/// The engine's counters of a (node, port, priority) at the run's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortCounters {
    /// The node.
    pub node: String,
    /// The node's port.
    pub port: u16,
    /// The neighbour there.
    pub peer: String,
    /// The neighbour's port.
    pub peer_port: u16,
    /// The priority.
    pub priority: u8,
    /// Frames that it sent and that paused the priority.
    pub pauses_sent: u64,
    /// Frames that it sent and that resumed it.
    pub resumes_sent: u64,
    /// Counters of its queues; all 0 if queues are not followed.
    pub queue: QueueCounters,
}

/// Frames received at a (port, priority).
#[derive(Clone, Copy, Debug, Default)]
struct Received {
    pauses: u64,
    resumes: u64,
    discarded: u64,
}

/// Counts by (node, port, priority) while the run lasts. Memory grows with their number.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    nodes: BTreeMap<String, BTreeMap<(u16, u8), Received>>,
    /// Counters of the engine.
    engine: Vec<PortCounters>,
}

impl Counters {
    /// Counts a class of a PFC frame.
    pub fn receive(&mut self, received: &PauseReceived) {
        let PauseReceived { node, port, priority, quanta, .. } = *received;
        let Some(quanta) = quanta else { return };
        let counted = self.received_mut(node, (port, priority));
        *if quanta > 0 { &mut counted.pauses } else { &mut counted.resumes } += 1;
    }

    /// Counts a frame that went no further, if its place and priority are known.
    pub fn discard(&mut self, row: &DropRow) {
        if let (Some(port), Some(priority)) = (row.port, row.priority) {
            self.received_mut(row.node, (port, priority)).discarded += 1;
        }
    }

    /// Returns true if PFC or discarded frames were counted at a (port, priority) of a node.
    pub fn has(&self, node: &str, key: (u16, u8)) -> bool {
        self.nodes.get(node).is_some_and(|ports| ports.contains_key(&key))
    }

    /// Sets the counters of the engine.
    pub fn take(&mut self, counted: Vec<PortCounters>) {
        self.engine = counted;
    }

    fn received_mut(&mut self, node: &str, key: (u16, u8)) -> &mut Received {
        // The borrowed name of a row is copied only where it is new.
        if !self.nodes.contains_key(node) {
            self.nodes.insert(node.to_owned(), BTreeMap::new());
        }
        let ports = self.nodes.get_mut(node).expect("the line above put it there");
        ports.entry(key).or_default()
    }

    /// The rows, in the order of the engine's counters.
    pub fn finish(self, pauses: &[PauseTimeRow]) -> Vec<CounterRow> {
        let pauses: BTreeMap<(&str, u16, u8), &PauseTimeRow> =
            pauses.iter().map(|row| ((&*row.node, row.port, row.priority), row)).collect();
        let mut rows = Vec::new();
        for of_port in self.engine {
            let PortCounters { node, port, peer, peer_port, priority, queue, .. } = of_port;
            let received = self.nodes.get(&node).and_then(|ports| ports.get(&(port, priority)));
            let received = received.copied().unwrap_or_default();
            let lasted = |node: &str, port, time: fn(&PauseTimeRow) -> Nanos| {
                pauses.get(&(node, port, priority)).map_or(0, |row| time(row).0)
            };
            let values = [
                (Counter::PfcSent, of_port.pauses_sent),
                (Counter::PfcReceived, received.pauses),
                (Counter::ResumesSent, of_port.resumes_sent),
                (Counter::ResumesReceived, received.resumes),
                (Counter::PauseSent, lasted(&peer, peer_port, |row| row.ordered.total.paused)),
                (Counter::PauseReceived, lasted(&node, port, |row| row.imposed.paused)),
                (Counter::Discarded, received.discarded),
                (Counter::Packets, queue.packets),
                (Counter::Bytes, queue.bytes),
                (Counter::Marked, queue.marked),
                (Counter::QueueWatermark, queue.egress_watermark),
                (Counter::SharedWatermark, queue.shared_watermark),
                (Counter::HeadroomWatermark, queue.headroom_watermark),
            ];
            let row = |(counter, value)| CounterRow {
                node: node.clone(),
                port,
                peer: peer.clone(),
                priority,
                counter,
                value,
            };
            rows.extend(values.into_iter().filter(|(_, value)| *value > 0).map(row));
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use fabric_core::drop_reason::DropReason;
    use units::Bytes;

    use super::*;
    use crate::csv::line;

    #[test]
    fn a_counter_has_its_name_and_one_that_is_zero_no_row() {
        let mut counters = Counters::default();
        let pause = |time, until, quanta| PauseReceived {
            time: Nanos(time),
            node: "h1",
            port: 0,
            by: "s0",
            priority: 3,
            binds: Nanos(time),
            until: Nanos(until),
            quanta,
        };
        // A refresh, a RESUME, and a pause that a watchdog ends.
        for (until, quanta) in [(900, Some(9)), (950, Some(9)), (500, Some(0)), (400, None)] {
            counters.receive(&pause(500, until, quanta));
        }
        let (time, bytes) = (Nanos(1), Bytes(64));
        let reason = DropReason::LossyThreshold;
        let drop = DropRow { time, node: "h1", port: Some(0), priority: Some(3), reason, bytes };
        counters.discard(&drop);
        counters.discard(&DropRow { priority: None, ..drop });
        let queue = QueueCounters { headroom_watermark: 7, ..QueueCounters::default() };
        counters.take(vec![
            PortCounters {
                node: "h1".into(),
                port: 0,
                peer: "s0".into(),
                peer_port: 1,
                priority: 3,
                pauses_sent: 0,
                resumes_sent: 0,
                queue: QueueCounters::default(),
            },
            PortCounters {
                node: "s0".into(),
                port: 1,
                peer: "h1".into(),
                peer_port: 0,
                priority: 3,
                pauses_sent: 2,
                resumes_sent: 1,
                queue,
            },
        ]);
        let text: String = counters.finish(&[]).iter().map(line).collect();
        assert_eq!(
            text,
            "h1,0,s0,3,PFC_3_RX_PKTS,2\nh1,0,s0,3,PFC_3_RX_XON_PKTS,1\nh1,0,s0,3,PG_3_DROPPED_PACKETS,1\n\
             s0,1,h1,3,PFC_3_TX_PKTS,2\ns0,1,h1,3,PFC_3_TX_XON_PKTS,1\ns0,1,h1,3,PG_3_XOFF_ROOM_WATERMARK_BYTES,7\n"
        );
    }
}
