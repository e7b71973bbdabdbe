//! Samples of buffers and queues: a row for each counter that has changed since the last sample.

use fabric_core::map_abi::PRIORITIES;
use fabric_core::priority;
use fabric_core::tables::{Tables, ingress_index};
use fabric_core::units::{Bytes, Nanos};

use crate::datapath::Datapath;
use crate::results::{QueueKind, QueueRow, Record, ResultsError};
use crate::topology::{Fabric, SwitchId};

/// Counters of one (port, priority): ingress, ingress headroom, ingress shared headroom, egress.
const PER_PORT_PRIORITY: usize = 4;
/// Counters of one port: insurance headroom and those of its priorities.
const PER_PORT: usize = 1 + PRIORITIES * PER_PORT_PRIORITY;
/// Counters of one switch: buffer, shared, private, headroom.
const PER_SWITCH: usize = 4;

/// The values of the last sample.
#[derive(Debug)]
pub struct Sampler {
    last: Vec<Vec<u64>>,
}

impl Sampler {
    /// All counters zero. `ports` tells how many ports a switch has.
    pub fn new(fabric: &Fabric, ports: impl Fn(u32) -> u32) -> Self {
        let counters = |switch| PER_SWITCH + ports(switch) as usize * PER_PORT;
        Self { last: (0..fabric.switch_count()).map(|switch| vec![0; counters(switch)]).collect() }
    }

    /// Takes a sample. `classes` are the priorities of which a packet may ever have been buffered.
    pub fn sample<D: Datapath>(
        &mut self,
        fabric: &Fabric,
        time: Nanos,
        datapath: &D,
        classes: u8,
        record: &mut Record,
    ) -> Result<(), ResultsError> {
        for (number, last) in (0..).zip(&mut self.last) {
            let tables = datapath.tables(number);
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
            for port in 0..tables.settings().ports {
                let port_row = PER_SWITCH + port as usize * PER_PORT;
                let insurance = tables.port(port).map_or(0, |row| row.insurance_bytes.load());
                counter(port_row, QueueKind::Insurance, Some(port as u16), None, insurance)?;
                for class in priority::of_mask(classes) {
                    let priority = u32::from(class);
                    let row = ingress_index(port, priority);
                    let queue = tables.ingress_queue(row).expect("the port is the switch's");
                    let in_headroom = queue.headroom_bytes.load();
                    let ingress =
                        queue.private_bytes.load() + queue.shared_bytes.load() + in_headroom;
                    let tau = u64::from(queue.tau_bytes.load());
                    let egress = tables.egress_bytes(port, priority);
                    let place = port_row + 1 + priority as usize * PER_PORT_PRIORITY;
                    let (port, priority) = (Some(port as u16), Some(class));
                    counter(place, QueueKind::Ingress, port, priority, ingress)?;
                    counter(place + 1, QueueKind::IngressHeadroom, port, priority, in_headroom)?;
                    counter(place + 2, QueueKind::IngressSharedHeadroom, port, priority, tau)?;
                    counter(place + 3, QueueKind::Egress, port, priority, egress)?;
                }
            }
        }
        Ok(())
    }
}
