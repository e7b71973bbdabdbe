//! Departure: what the scheduler's choice of a packet does to the switch's state, at the instant
//! transmission starts. Runs in user space on the memory that arrival works on.

use crate::admission::release;
use crate::flow_control::{Ingress, Order, after_departure};
use crate::map_abi::{DESCRIPTOR_CONGESTED, DESCRIPTOR_ECN_CAPABLE};
use crate::marking::congested;
use crate::policy::{MarkingScheme, Policy};
use crate::slots;
use crate::tables::{Tables, egress_index, ingress_index};

/// A packet that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Where it had come in.
    pub ingress_port: u32,
    /// Its priority.
    pub priority: u32,
    /// Mark congestion in it before it goes out.
    pub mark: bool,
    /// A RESUME that is due at the ingress port.
    pub resume: Option<Order>,
}

/// Gives back what the packet in `slot` held, and the slot. `None` if the slot is no packet's.
#[inline(always)]
pub fn departure<T: Tables>(tables: &T, policy: Policy, slot: u32) -> Option<Departure> {
    let (config, switch) = (tables.config()?, tables.switch()?);
    let descriptor = tables.descriptor(slot)?;
    let flags = descriptor.flags.load();
    if flags == 0 {
        return None;
    }
    let length = u64::from(descriptor.length.load());
    let ingress_port = descriptor.ingress_port.load();
    let priority = descriptor.priority.load();
    let ingress = tables.ingress_queue(ingress_index(ingress_port, priority))?;
    let egress_port = descriptor.egress_port.load();
    let egress = tables.egress_queue(egress_index(egress_port, descriptor.queue.load()))?;

    let (port, out) = (tables.port(ingress_port)?, tables.port(egress_port)?);
    let lossless = config.lossless_classes >> priority & 1 != 0;
    release(policy, lossless, switch, port, ingress, length);
    let queue_bytes = egress.bytes.sub(length);
    switch.departed_bytes.add(length);
    descriptor.flags.store(0);
    slots::give_back(tables, config, switch, slot)?;

    let mark = flags & DESCRIPTOR_ECN_CAPABLE != 0
        && matches!(policy.marking(), MarkingScheme::AtDequeue)
        && congested(out, switch, queue_bytes);
    if mark && flags & DESCRIPTOR_CONGESTED == 0 {
        switch.ecn_marked.add(1);
    }
    let port_number = ingress_port;
    let queue = ingress;
    let at = Ingress { tables, policy, config, switch, port_number, port, queue, priority };
    let resume = after_departure(&at, lossless);
    Some(Departure { ingress_port, priority, mark, resume })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrival::{Outcome, arrival};
    use crate::frame::ByteFrame;
    use crate::policy::ThresholdScheme;
    use crate::tables::owned::{marking_switch, packet};
    use crate::units::Nanos;
    use crate::wire::roce::Ecn;

    #[test]
    fn a_packet_is_marked_for_what_it_leaves_behind() {
        let policy = Policy::new(ThresholdScheme::Static, MarkingScheme::AtDequeue);
        for (behind, expected) in [(0, false), (1000, false), (2000, false), (2001, true)] {
            let tables = marking_switch();
            let mut bytes = packet(0, 1, 3, Ecn::Capable0);
            let frame = &mut ByteFrame(bytes.as_mut_slice());
            let Outcome::Queued(queued) = arrival(frame, &tables, policy, 0, Nanos(7)) else {
                panic!("there is room for it")
            };
            tables.egress(1, 3).bytes.add(behind);
            let departed = departure(&tables, policy, queued.slot).unwrap();
            assert_eq!(departed.mark, expected, "{behind} bytes behind");
            assert_eq!(tables.switch.ecn_marked.load(), u64::from(expected));
            assert_eq!(tables.egress(1, 3).bytes.load(), behind);
            assert_eq!(departure(&tables, policy, queued.slot), None, "it has left");
        }
    }
}
