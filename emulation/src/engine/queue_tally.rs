//! Counters of a switch's queues: `counters.csv` with `results.queue_counters`.

use fabric_core::map_abi::{PRIORITIES, class_row};
use fabric_core::priority::{self, Priority};
use fabric_core::queue::{QueueId, QueueRanges, places};
use fabric_core::tables::Tables;
use results::QueueCounters;
use switch_user::switch::{Admitted, Departed};
use switch_user::tables::SwitchTables;

/// Counters of each (port, priority) of a switch. It does not allocate during a run.
#[derive(Debug)]
pub struct QueueTally {
    /// Counters in the order of [`class_row`].
    counters: Box<[QueueCounters]>,
    /// Bytes that wait to leave.
    waiting: Box<[u64]>,
    /// Priority of each egress queue, by its position at the port. A packet may be in a queue of another priority
    /// than its own, and counts there.
    owners: Box<[Priority]>,
    /// Number of packets that the switch had marked at the last call. It marks one at a time, so the next packet to
    /// come or go is the marked one.
    marked: u64,
}

impl QueueTally {
    /// Counters of an empty switch with these egress queues of each priority.
    pub fn new(ports: usize, queues: &QueueRanges) -> Self {
        let rows = ports * PRIORITIES;
        let mut owners = vec![Priority::new(0); places(queues)];
        for priority in priority::all() {
            for queue in queues[priority.index()].iter() {
                owners[queue.place()] = priority;
            }
        }
        Self {
            owners: owners.into(),
            counters: vec![QueueCounters::default(); rows].into(),
            waiting: vec![0; rows].into(),
            marked: 0,
        }
    }

    /// Counters of a (port, priority).
    pub fn counters(&self, port: u16, priority: Priority) -> QueueCounters {
        self.counters[class_row(port.into(), priority) as usize]
    }

    fn row_of(&self, port: u16, queue: QueueId) -> usize {
        class_row(port.into(), self.owners[queue.place()]) as usize
    }

    /// Counts an admitted packet. The tables already include it.
    pub fn admitted(&mut self, tables: &SwitchTables, packet: &Admitted) {
        let row = tables.descriptor(packet.slot).expect("a queued slot has a descriptor");
        let priority = row.priority();
        let held = tables.ingress(packet.port.into(), priority);
        let group = &mut self.counters[class_row(packet.port.into(), priority) as usize];
        group.shared_watermark = group.shared_watermark.max(held.shared_bytes.load());
        group.headroom_watermark = group.headroom_watermark.max(held.headroom_bytes.load());
        let queue = QueueId::from_bits(row.queue.load());
        let egress = self.row_of(packet.egress, queue);
        let waiting = &mut self.waiting[egress];
        *waiting += u64::from(packet.length);
        let queue = &mut self.counters[egress];
        queue.egress_watermark = queue.egress_watermark.max(*waiting);
        queue.marked += marked_since(&mut self.marked, tables);
    }

    /// Counts a packet that has left or was dropped at its turn. The tables no longer include it.
    pub fn departed(&mut self, tables: &SwitchTables, packet: &Departed) {
        let egress = self.row_of(packet.port, packet.queue);
        self.waiting[egress] -= u64::from(packet.length);
        let queue = &mut self.counters[egress];
        queue.packets += 1;
        queue.bytes += u64::from(packet.length);
        queue.marked += marked_since(&mut self.marked, tables);
    }
}

fn marked_since(before: &mut u64, tables: &SwitchTables) -> u64 {
    let now = tables.state().ecn_marked.load();
    now - std::mem::replace(before, now)
}
