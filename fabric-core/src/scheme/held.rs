//! For tests of schemes: packets come into a switch of two ports and leave it.

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

/// Packets that a switch holds of each port and class, the oldest first: with the slot of each.
#[derive(Default)]
pub struct Held(Vec<(u32, u8, u32)>);

impl Held {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The port and class of the oldest.
    pub fn first(&self) -> Option<(u32, u8)> {
        self.0.first().map(|&(port, class, _)| (port, class))
    }

    /// A packet of `class` comes in at `port` and is bound for the other: what the neighbour at `port` is told, or why
    /// it is dropped.
    pub fn arrive<S: Scheme>(
        &mut self,
        tables: &OwnedTables,
        policy: Policy,
        (port, class): (u32, u8),
        now: u64,
    ) -> Result<Option<Order>, DropReason> {
        let mut bytes = packet(port, 1 - port, class, Ecn::NotCapable);
        let frame = &mut ByteFrame(bytes.as_mut_slice());
        let mut told = None;
        let send = &mut |order: &Order| told = Some(*order);
        match arrival_under::<S, _, _>(frame, tables, policy, port, Nanos(now), send) {
            Outcome::Queued(Queued { slot, .. }) => {
                self.0.push((port, class, slot));
                Ok(told)
            }
            Outcome::Dropped(reason) => Err(reason),
            other => panic!("{other:?}"),
        }
    }

    /// The oldest packet of all is dropped, for a reason that is not the scheme's: what its neighbour is told.
    pub fn discard<S: Scheme>(
        &mut self,
        tables: &OwnedTables,
        policy: Policy,
        now: u64,
    ) -> Option<Order> {
        let (.., slot) = self.0.remove(0);
        let mut told = None;
        let send = &mut |order: &Order| told = Some(*order);
        let reason = DropReason::WatchdogEgress;
        let left = S::discard(tables, policy, slot, Nanos(now), reason, send);
        assert_eq!(left.expect("it is there").fate, Fate::Dropped(reason));
        told
    }

    /// The oldest packet of (`port`, `class`) is sent, if there is one: what the neighbour is told.
    pub fn depart<S: Scheme>(
        &mut self,
        tables: &OwnedTables,
        policy: Policy,
        (port, class): (u32, u8),
        now: u64,
    ) -> Option<Order> {
        let found = self.0.iter().position(|&(of, it, _)| (of, it) == (port, class))?;
        let (.., slot) = self.0.remove(found);
        let mut told = None;
        let send = &mut |order: &Order| told = Some(*order);
        let left = S::depart(tables, &policy, slot, Nanos(now), send);
        assert_eq!(left.expect("it is there").fate, Fate::Sent { mark: false });
        told
    }
}
