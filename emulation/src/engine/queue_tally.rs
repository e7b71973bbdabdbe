//! What the queues of a switch have seen: `counters.csv` with `results.queue_counters`.

use fabric_core::map_abi::{PRIORITIES, class_row};
use fabric_core::priority::Priority;
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
    /// Packets that the switch had marked when it was last looked at. It marks one at a time, so the next one to come or
    /// go is the one that was.
    marked: u64,
}

impl QueueTally {
    /// Of a switch that holds nothing.
    pub fn new(ports: usize) -> Self {
        let rows = ports * PRIORITIES;
        Self {
            counters: vec![QueueCounters::default(); rows].into(),
            waiting: vec![0; rows].into(),
            marked: 0,
        }
    }

    /// Of a (port, priority).
    pub fn of(&self, port: u16, priority: Priority) -> QueueCounters {
        self.counters[class_row(port.into(), priority) as usize]
    }

    /// A packet is buffered; the tables show it.
    pub fn admitted(&mut self, tables: &SwitchTables, packet: &Admitted) {
        let row = tables.descriptor(packet.slot).expect("a queued slot has a descriptor");
        let priority = row.priority();
        let held = tables.ingress(packet.port.into(), priority);
        let group = &mut self.counters[class_row(packet.port.into(), priority) as usize];
        group.shared_watermark = group.shared_watermark.max(held.shared_bytes.load());
        group.headroom_watermark = group.headroom_watermark.max(held.headroom_bytes.load());
        let egress = class_row(packet.egress.into(), priority) as usize;
        let waiting = &mut self.waiting[egress];
        *waiting += u64::from(packet.length);
        let queue = &mut self.counters[egress];
        queue.egress_watermark = queue.egress_watermark.max(*waiting);
        queue.marked += marked_since(&mut self.marked, tables);
    }

    /// A packet has left, or was dropped when its turn came; the tables show it.
    pub fn departed(&mut self, tables: &SwitchTables, packet: &Departed) {
        let egress = class_row(packet.port.into(), packet.priority) as usize;
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
