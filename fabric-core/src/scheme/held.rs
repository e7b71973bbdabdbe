//! Test driver of schemes: packets enter and leave a switch with two ports.

use units::Nanos;

use super::Scheme;
use crate::arrival::{Outcome, Queued, arrival_under};
use crate::departure::Fate;
use crate::drop_reason::DropReason;
use crate::frame::ByteFrame;
use crate::hop_control::Order;
use crate::policy::Policy;
use crate::tables::owned::{OwnedTables, packet};
use crate::wire::roce::Ecn;

/// Packets in a switch, oldest first: port, class and slot of each.
#[derive(Default)]
pub struct Held(Vec<(u32, u8, u32)>);

impl Held {
    /// Number of packets.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the port and class of the oldest packet.
    pub fn first(&self) -> Option<(u32, u8)> {
        self.0.first().map(|&(port, class, _)| (port, class))
    }

    /// Receives a packet of `class` at `port`, bound for the other port. Returns the hop control
    /// frames due at `port`, or the reason for a drop.
    pub fn arrive<S: Scheme>(
        &mut self,
        tables: &OwnedTables,
        policy: Policy,
        (port, class): (u32, u8),
        now: u64,
    ) -> Result<Option<Order>, DropReason> {
        let mut bytes = packet(port, 1 - port, class, Ecn::NotCapable);
        let frame = &mut ByteFrame(bytes.as_mut_slice());
        let mut message = None;
        let send = &mut |order: &Order| message = Some(*order);
        match arrival_under::<S, _, _>(frame, tables, policy, port, Nanos(now), send) {
            Outcome::Queued(Queued { slot, .. }) => {
                self.0.push((port, class, slot));
                Ok(message)
            }
            Outcome::Dropped(reason) => Err(reason),
            other => panic!("{other:?}"),
        }
    }

    /// Drops the oldest packet for a reason that is not the scheme's. Returns the hop control frames due.
    pub fn discard<S: Scheme>(
        &mut self,
        tables: &OwnedTables,
        policy: Policy,
        now: u64,
    ) -> Option<Order> {
        let (.., slot) = self.0.remove(0);
        let mut message = None;
        let send = &mut |order: &Order| message = Some(*order);
        let reason = DropReason::WatchdogEgress;
        let left = S::discard(tables, policy, slot, Nanos(now), reason, send);
        assert_eq!(left.expect("it is there").fate, Fate::Dropped(reason));
        message
    }

    /// Sends the oldest packet of (`port`, `class`), if any, and returns the hop control frames due.
    pub fn depart<S: Scheme>(
        &mut self,
        tables: &OwnedTables,
        policy: Policy,
        (port, class): (u32, u8),
        now: u64,
    ) -> Option<Order> {
        let found = self.0.iter().position(|&(of, it, _)| (of, it) == (port, class))?;
        let (.., slot) = self.0.remove(found);
        let mut message = None;
        let send = &mut |order: &Order| message = Some(*order);
        let left = S::depart(tables, &policy, slot, Nanos(now), send);
        assert_eq!(left.expect("it is there").fate, Fate::Sent { mark: false });
        message
    }
}
