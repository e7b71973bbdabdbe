//! Final counters of each port and priority: `counters.csv`.

use fabric_core::priority::{self, Priority};
use results::{PortCounters, QueueCounters};
use switch_user::switch::PfcSent;
use topology::NodeId;

use super::Engine;
use crate::datapath::Wires;

impl<W: Wires> Engine<'_, W> {
    /// Counters of all nodes, by (node, port, priority). Rows of zeros are left out: a large fabric has many.
    pub(super) fn port_counters(&self) -> Vec<PortCounters> {
        let mut counted = Vec::new();
        for host in self.parts.iter().flat_map(|part| &part.hosts) {
            let none = QueueCounters::default();
            let of = |class| self.counters_of((host.node(), 0), class, &host.pfc_sent(), none);
            counted.extend(priority::all().filter_map(of).map(|row| (host.node(), row)));
        }
        for node in self.switches() {
            let id = self.scenario.fabric().switch_node(node.id);
            for port in 0..node.ports() {
                let sent = node.switch.pfc_sent(port);
                let of = |class| {
                    let queues = node.followed.queues.as_ref();
                    let queue =
                        queues.map_or_else(QueueCounters::default, |it| it.counters(port, class));
                    self.counters_of((id, port), class, &sent, queue)
                };
                counted.extend(priority::all().filter_map(of).map(|row| (id, row)));
            }
        }
        counted.sort_by_key(|(node, row)| (node.0, row.port, row.priority));
        counted.into_iter().map(|(_, row)| row).collect()
    }

    fn counters_of(
        &self,
        (node, port): (NodeId, u16),
        class: Priority,
        sent: &PfcSent,
        queue: QueueCounters,
    ) -> Option<PortCounters> {
        let fabric = self.scenario.fabric();
        let (name, priority) = (&fabric.node(node).name, class.number());
        let (peer, place) = (fabric.peer(node, port), class.index());
        let peer_name = &fabric.node(peer.node).name;
        let record = &self.recorder.record;
        let is_counted = sent.pauses[place] + sent.resumes[place] > 0
            || queue != QueueCounters::default()
            || record.has_counted(name, port, priority)
            || record.has_counted(peer_name, peer.port, priority);
        is_counted.then(|| PortCounters {
            node: name.clone(),
            port,
            peer: peer_name.clone(),
            peer_port: peer.port,
            priority,
            pauses_sent: sent.pauses[place],
            resumes_sent: sent.resumes[place],
            queue,
        })
    }
}
