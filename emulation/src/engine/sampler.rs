//! Samples of buffers and queues: a row for each counter that has changed since the last sample.

use fabric_core::map_abi::PRIORITIES;
use fabric_core::priority::{self, Priority};
use fabric_core::queue::places;
use fabric_core::scheme::{Ingress, Scheme, Selected};
use results::{EgressQueueRow, QueueKind, QueueRow, Record, ResultsError};
use topology::{Fabric, SwitchId};
use units::{Bytes, Nanos};

use super::switch_side::SwitchNode;

/// Counters of one (port, priority): ingress, ingress headroom, ingress shared headroom, egress.
const PER_PORT_PRIORITY: usize = 4;
/// Counters of one port: headroom of the port and those of its priorities.
const PER_PORT: usize = 1 + PRIORITIES * PER_PORT_PRIORITY;
/// Counters of one switch: buffer, shared, private, headroom.
const PER_SWITCH: usize = 4;

/// The values of the last sample.
#[derive(Debug)]
pub struct Sampler {
    last: Vec<Vec<u64>>,
    /// The last sample of the queues of spread priorities, if there are any.
    last_of_queues: Vec<Vec<u64>>,
    spread: u8,
}

impl Sampler {
    /// All counters zero. `spread` are the priorities whose queues have a table of their own.
    pub fn new(switches: &[SwitchNode], spread: u8) -> Self {
        let counters = |node: &SwitchNode| PER_SWITCH + usize::from(node.ports()) * PER_PORT;
        let queues = |node: &SwitchNode| match spread {
            0 => 0,
            _ => usize::from(node.ports()) * places(&node.switch.tables().settings().queues),
        };
        Self {
            last: switches.iter().map(|node| vec![0; counters(node)]).collect(),
            last_of_queues: switches.iter().map(|node| vec![0; queues(node)]).collect(),
            spread,
        }
    }

    /// Takes a sample. `classes` are the priorities of which a packet may ever have been buffered.
    pub fn sample(
        &mut self,
        fabric: &Fabric,
        time: Nanos,
        switches: &[SwitchNode],
        classes: u8,
        record: &mut Record,
    ) -> Result<(), ResultsError> {
        for ((number, last), switch_node) in (0..).zip(&mut self.last).zip(switches) {
            let switch = &switch_node.switch;
            let tables = switch.tables();
            let node = &fabric.switch(SwitchId(number)).name;
            let mut counter = |place: usize, kind, port, priority, value: u64| {
                let known = &mut last[place];
                if *known == value {
                    return Ok(());
                }
                *known = value;
                record.queue(&QueueRow { time, node, kind, port, priority, bytes: Bytes(value) })
            };
            let state = tables.state();
            let (private, shared) = (state.private_bytes.load(), state.shared_bytes.load());
            let headroom = state.headroom_bytes.load();
            counter(0, QueueKind::Headroom, None, None, headroom)?;
            counter(1, QueueKind::Shared, None, None, shared)?;
            counter(2, QueueKind::Private, None, None, private)?;
            counter(3, QueueKind::Buffer, None, None, private + shared + headroom)?;
            for port in 0..switch_node.ports() {
                let port_row = PER_SWITCH + usize::from(port) * PER_PORT;
                let of_port = switch.port_use(port).headroom_bytes;
                counter(port_row, QueueKind::Insurance, Some(port), None, of_port)?;
                let first = Ingress::of(tables, switch.policy(), port.into(), Priority::new(0))
                    .expect("the port is the switch's");
                for class in priority::of_mask(classes) {
                    let at = first.sibling(class).expect("the port is the switch's");
                    let in_headroom = at.queue.headroom_bytes.load();
                    let ingress =
                        at.queue.private_bytes.load() + at.queue.shared_bytes.load() + in_headroom;
                    let margin = Selected::margin(&at);
                    let queues = at.config.queues_of(class);
                    let egress =
                        queues.iter().map(|queue| tables.egress_bytes(port.into(), queue)).sum();
                    let place = port_row + 1 + class.index() * PER_PORT_PRIORITY;
                    let (port, priority) = (Some(port), Some(class.number()));
                    counter(place, QueueKind::Ingress, port, priority, ingress)?;
                    counter(place + 1, QueueKind::IngressHeadroom, port, priority, in_headroom)?;
                    counter(place + 2, QueueKind::IngressSharedHeadroom, port, priority, margin)?;
                    counter(place + 3, QueueKind::Egress, port, priority, egress)?;
                }
            }
        }
        if self.spread & classes != 0 {
            self.sample_queues(fabric, time, switches, classes, record)?;
        }
        Ok(())
    }

    /// Samples each queue of the priorities that have several.
    fn sample_queues(
        &mut self,
        fabric: &Fabric,
        time: Nanos,
        switches: &[SwitchNode],
        classes: u8,
        record: &mut Record,
    ) -> Result<(), ResultsError> {
        for ((number, last), node) in (0..).zip(&mut self.last_of_queues).zip(switches) {
            let tables = node.switch.tables();
            let settings = tables.settings();
            let places = places(&settings.queues);
            let name = &fabric.switch(SwitchId(number)).name;
            for port in 0..node.ports() {
                for class in priority::of_mask(self.spread & classes) {
                    for queue in settings.queues_of(class).queues().iter() {
                        let bytes = tables.egress_bytes(port.into(), queue);
                        let known = &mut last[usize::from(port) * places + queue.place()];
                        if std::mem::replace(known, bytes) == bytes {
                            continue;
                        }
                        record.egress_queue(&EgressQueueRow {
                            time,
                            node: name,
                            port,
                            priority: class.number(),
                            queue: queue.number(),
                            bytes: Bytes(bytes),
                        })?;
                    }
                }
            }
        }
        Ok(())
    }
}
