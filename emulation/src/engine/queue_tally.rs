//! What the queues of a switch have seen: `counters.csv` with `results.queue_counters`.

use fabric_core::map_abi::{PRIORITIES, class_row};
use fabric_core::priority::{self, Priority};
use fabric_core::queue::{QueueId, QueueRanges, places};
use fabric_core::tables::Tables;
use results::QueueCounters;
use switch_user::switch::{Admitted, Departed};
use switch_user::tables::SwitchTables;

/// Counters of each (port, priority) of a switch. Nothing here allocates while a run lasts.
#[derive(Debug)]
pub struct QueueTally {
    /// In the order of [`class_row`].
    counters: Box<[QueueCounters]>,
    /// Bytes that wait to leave.
    waiting: Box<[u64]>,
    /// By the place of an egress queue at its port: the priority that it belongs to. A packet may be in a queue of another
    /// priority than its own, and there it counts.
    owners: Box<[Priority]>,
    /// Packets that the switch had marked when it was last looked at. It marks one at a time, so the next one to come or
    /// go is the one that was.
    marked: u64,
}

impl QueueTally {
    /// Of a switch that holds nothing, with these egress queues of each priority.
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

    /// Of a (port, priority).
    pub fn of(&self, port: u16, priority: Priority) -> QueueCounters {
        self.counters[class_row(port.into(), priority) as usize]
    }

    fn row_of(&self, port: u16, queue: QueueId) -> usize {
        class_row(port.into(), self.owners[queue.place()]) as usize
    }

    /// A packet is buffered; the tables show it.
    pub fn admitted(&mut self, tables: &SwitchTables, packet: &Admitted) {
        let row = tables.descriptor(packet.slot).expect("a queued slot has a descriptor");
        let priority = row.priority();
        let held = tables.ingress(packet.port.into(), priority);
        let group = &mut self.counters[class_row(packet.port.into(), priority) as usize];
        group.shared_watermark = group.shared_watermark.max(held.shared_bytes.load());
        group.headroom_watermark = group.headroom_watermark.max(held.headroom_bytes.load());
        let queue = QueueId::of_bits(row.queue.load());
        let egress = self.row_of(packet.egress, queue);
        let waiting = &mut self.waiting[egress];
        *waiting += u64::from(packet.length);
        let queue = &mut self.counters[egress];
        queue.egress_watermark = queue.egress_watermark.max(*waiting);
        queue.marked += marked_since(&mut self.marked, tables);
    }

    /// A packet has left, or was dropped when its turn came; the tables show it.
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
