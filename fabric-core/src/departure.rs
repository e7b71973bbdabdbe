//! Departure: the change of the switch's state when the scheduler has chosen a packet, at the start
//! of its transmission. Runs in user space, on the memory that arrival works on.

use units::Nanos;

use crate::admission::release;
use crate::drop_reason::DropReason;
use crate::hop_control::Order;
use crate::lossy::{self, BufferManagement};
use crate::map_abi::{DESCRIPTOR_CONGESTED, DESCRIPTOR_ECN_CAPABLE, DESCRIPTOR_FIRST_RTT};
use crate::marking::congested;
use crate::policy::{MarkingScheme, Policy};
use crate::priority::Priority;
use crate::queue::QueueId;
use crate::scheme::{Ingress, Leaving, Scheme, Selected, Verdict};
use crate::slots;
use crate::tables::{Tables, count_drop};

/// Result of a packet's departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Port where the packet came in.
    pub ingress_port: u32,
    /// Its priority.
    pub priority: Priority,
    /// Decision about the packet.
    pub fate: Fate,
}

/// Decision about a packet that the scheduler chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet is sent.
    Sent {
        /// True if congestion must be marked in the packet before it is sent.
        mark: bool,
    },
    /// The packet is dropped and counted.
    Dropped(DropReason),
    /// The packet is still held in its slot, in another queue of its port.
    Requeued(QueueId),
}

/// Lets the scheme decide about the packet in `slot`. If the packet is sent or dropped, releases its buffer and its
/// slot. Passes the orders due at the packet's ingress port to `send`. Returns `None` if no packet is in the slot.
#[inline(always)]
pub fn departure<T: Tables>(
    tables: &T,
    policy: Policy,
    slot: u32,
    now: Nanos,
    send: &mut impl FnMut(&Order),
) -> Option<Departure> {
    Selected::depart(tables, &policy, slot, now, send)
}

/// Runs [`departure`] under the scheme `S`.
#[inline(always)]
pub(crate) fn departure_under<S: Scheme, T: Tables>(
    tables: &T,
    policy: Policy,
    slot: u32,
    now: Nanos,
    send: &mut impl FnMut(&Order),
) -> Option<Departure> {
    leave::<S, T>(tables, policy, slot, now, None, send)
}

/// Drops the packet in `slot` under the scheme `S`, for a reason that is not the scheme's. Releases
/// its buffer and its slot as if the scheme had dropped it, and counts the drop.
pub(crate) fn discard_under<S: Scheme, T: Tables>(
    tables: &T,
    policy: Policy,
    slot: u32,
    now: Nanos,
    reason: DropReason,
    send: &mut impl FnMut(&Order),
) -> Option<Departure> {
    leave::<S, T>(tables, policy, slot, now, Some(reason), send)
}

/// Departure of the packet in `slot`. `discarded`, if set, is the reason to drop the packet without the scheme's
/// decision.
#[inline(always)]
fn leave<S: Scheme, T: Tables>(
    tables: &T,
    policy: Policy,
    slot: u32,
    now: Nanos,
    discarded: Option<DropReason>,
    send: &mut impl FnMut(&Order),
) -> Option<Departure> {
    let descriptor = tables.descriptor(slot)?;
    let flags = descriptor.flags.load();
    if flags == 0 {
        return None;
    }
    let length = u64::from(descriptor.length.load());
    let priority = descriptor.priority();
    let ingress_port = descriptor.ingress_port.load();
    let ingress = Ingress::new(tables, policy, ingress_port, priority)?;
    let Ingress { config, switch, .. } = ingress;
    let egress_port = descriptor.egress_port.load();
    let queue = QueueId::from_bits(descriptor.queue.load());
    let egress = tables.egress_queue(config.queue_row(egress_port, queue))?;
    let out = tables.port(egress_port)?;
    let lossless = config.is_lossless(priority);
    let arrived = Nanos(descriptor.arrival_ns.load());

    let note = descriptor.note.load();
    let first_rtt = flags & DESCRIPTOR_FIRST_RTT != 0;
    let packet =
        Leaving { ingress, egress_port, queue, egress, length, arrived, now, note, first_rtt };
    let dropped = match discarded {
        None if !lossless => lossy::Selected::at_departure(&packet),
        _ => discarded,
    };
    let verdict = dropped.map_or_else(|| S::at_departure(&packet), Verdict::Drop);
    let changes = match verdict {
        Verdict::Send(changes) => Ok(changes),
        Verdict::Drop(reason) => Err(reason),
        Verdict::Requeue(queue) => {
            let target = tables.egress_queue(config.queue_row(egress_port, queue))?;
            egress.bytes.sub::<T>(length);
            target.bytes.add::<T>(length);
            descriptor.queue.store(queue.number().into());
            S::requeued(&packet, descriptor);
            let fate = Fate::Requeued(queue);
            return Some(Departure { ingress_port, priority, fate });
        }
    };

    // Must precede the release of the slot, whose next user writes the descriptor.
    descriptor.flags.store(0);
    slots::give_back(tables, config, switch, slot)?;
    let given_back = release(&packet.ingress, length);
    if lossless {
        S::release(&packet, given_back);
    } else if changes.is_ok() {
        lossy::Selected::sent(&packet);
    }
    let queue_bytes = egress.bytes.sub::<T>(length);
    switch.departed_bytes.add::<T>(length);

    let fate = match changes {
        Err(reason) => Fate::Dropped(count_drop(tables, reason)),
        Ok(changes) => {
            let capable = flags & DESCRIPTOR_ECN_CAPABLE != 0;
            let at_dequeue = matches!(policy.marking(), MarkingScheme::AtDequeue);
            let mark =
                capable && (changes.mark || (at_dequeue && congested(out, switch, queue_bytes)));
            if mark && flags & DESCRIPTOR_CONGESTED == 0 {
                switch.ecn_marked.add::<T>(1);
            }
            Fate::Sent { mark }
        }
    };
    if lossless {
        S::after_departure(&packet, send);
    }
    S::dequeued(&packet, send);
    Some(Departure { ingress_port, priority, fate })
}

#[cfg(test)]
mod tests {
    use units::Nanos;

    use super::*;
    use crate::arrival::{Outcome, arrival, arrival_under};
    use crate::frame::ByteFrame;
    use crate::map_abi::Pool;
    use crate::policy::ThresholdScheme;
    use crate::scheme::{Announces, Arriving, Changes, Watched};
    use crate::tables::owned::{OwnedTables, marking_switch, packet};
    use crate::wire::roce::Ecn;

    #[test]
    fn a_packet_is_marked_for_what_it_leaves_behind() {
        let policy = Policy::new(ThresholdScheme::Static, MarkingScheme::AtDequeue);
        for (behind, expected) in [(0, false), (1000, false), (2000, false), (2001, true)] {
            let tables = marking_switch();
            let mut bytes = packet(0, 1, 3, Ecn::Capable0);
            let frame = &mut ByteFrame(bytes.as_mut_slice());
            let Outcome::Queued(queued) = arrival(frame, &tables, policy, 0, Nanos(7), &mut |_| {})
            else {
                panic!("there is room for it")
            };
            tables.egress(1, 3).bytes.add::<OwnedTables>(behind);
            let departed = departure(&tables, policy, queued.slot, Nanos(8), &mut |_| {}).unwrap();
            assert_eq!(departed.fate, Fate::Sent { mark: expected }, "{behind} bytes behind");
            assert_eq!(tables.switch.ecn_marked.load(), u64::from(expected));
            assert_eq!(tables.egress(1, 3).bytes.load(), behind);
            let again = departure(&tables, policy, queued.slot, Nanos(9), &mut |_| {});
            assert_eq!(again, None, "it has left");
        }
    }

    /// Marks every packet that leaves.
    struct Marks;

    impl Announces for Marks {}

    impl Watched for Marks {}

    impl Scheme for Marks {
        fn admit<T: Tables>(_: &Arriving<'_, T>) -> Result<Pool, DropReason> {
            Ok(Pool::Shared)
        }

        fn after_arrival<T: Tables>(_: &Arriving<'_, T>, _: Pool, _: &mut impl FnMut(&Order)) {}

        fn at_departure<T: Tables>(_: &Leaving<'_, T>) -> Verdict {
            Verdict::Send(Changes { mark: true })
        }

        fn after_departure<T: Tables>(_: &Leaving<'_, T>, _: &mut impl FnMut(&Order)) {}

        fn resume<T: Tables>(_: &Ingress<'_, T>) -> Option<Order> {
            None
        }
    }

    #[test]
    fn a_verdict_marks_a_packet_that_may_be_marked() {
        let policy = Policy::new(ThresholdScheme::Static, MarkingScheme::Off);
        for (ecn, marked) in [(Ecn::Capable0, true), (Ecn::NotCapable, false)] {
            let tables = marking_switch();
            let mut bytes = packet(0, 1, 3, ecn);
            let frame = &mut ByteFrame(bytes.as_mut_slice());
            let Outcome::Queued(queued) =
                arrival_under::<Marks, _, _>(frame, &tables, policy, 0, Nanos(7), &mut |_| {})
            else {
                panic!("there is room for it")
            };
            let departed = Marks::depart(&tables, &policy, queued.slot, Nanos(8), &mut |_| {});
            assert_eq!(departed.unwrap().fate, Fate::Sent { mark: marked }, "{ecn:?}");
            assert_eq!(tables.switch.ecn_marked.load(), u64::from(marked));
        }
    }
}
