//! The skeleton of SPFC, Selective-PFC (Huang et al., "Re-Architecting Buffer Management in Lossless Ethernet",
//! Section IV and V): a port that many packets depart from is a victim of congestion elsewhere, and its queues may
//! hold the whole shared pool until it pauses its neighbour itself.

use units::{BitsPerSecond, Bytes, Nanos};
use zerocopy::FromBytes;

use crate::arrival::{Outcome, Queued};
use crate::cell::{Cell32, Cell64};
use crate::departure::Fate;
use crate::drop_reason::DropReason;
use crate::frame::ByteFrame;
use crate::hop_control::{HopControl, Order};
use crate::map_abi::{Pool, SchemeLine, SwitchConfig};
use crate::policy::{MarkingScheme, Policy, ThresholdScheme};
use crate::priority::Priority;
use crate::scheme::pfc::{self, Pfc};
use crate::scheme::state::Line;
use crate::scheme::{Arriving, Changes, Ingress, Leaving, Room, Scheme, Verdict};
use crate::tables::Tables;
use crate::tables::owned::{OwnedTables, packet};
use crate::wire::roce::Ecn;

/// One port: clock, counter and state of Fig. 10.
#[repr(C)]
#[derive(Debug, Default, FromBytes)]
struct PortLine {
    /// TC: how long departures are counted.
    period_ns: Cell64,
    /// When the period began.
    since_ns: Cell64,
    /// The count at which the port is a victim: C TC / `K_spfc`.
    victim_bytes: Cell64,
    /// IRC: bytes that have departed in the period. The paper counts packets, of one length.
    departed_bytes: Cell64,
    /// Bit n: class n is paused. Holds SH reset.
    paused_classes: Cell32,
    /// SH: 1 if the port is a victim.
    victim: Cell32,
}

// SAFETY: `#[repr(C)]` and made of cells only.
unsafe impl Line for PortLine {}

fn line<T: Tables>(tables: &T, port: u32) -> Option<&PortLine> {
    tables.scheme_line(port).map(SchemeLine::view)
}

impl PortLine {
    /// Whether the port is a victim at `now`. In the next period the state is what the count of this one was; if
    /// that period is over, too, nothing has departed in it.
    fn is_victim(&self, now: Nanos) -> bool {
        match self.periods(now) {
            0 => self.victim.load() != 0,
            1 => self.paused_classes.load() == 0 && self.counts_a_victim(),
            _ => false,
        }
    }

    /// Begins another period if this one is over.
    fn tick(&self, now: Nanos) {
        if self.periods(now) > 0 {
            self.hold(self.is_victim(now));
            self.departed_bytes.store(0);
            self.since_ns.store(now.0);
        }
    }

    /// Periods that have passed since this one began.
    fn periods(&self, now: Nanos) -> u64 {
        now.0.saturating_sub(self.since_ns.load()) / self.period_ns.load()
    }

    fn counts_a_victim(&self) -> bool {
        self.departed_bytes.load() >= self.victim_bytes.load()
    }

    fn hold(&self, victim: bool) {
        self.victim.store(u32::from(victim && self.paused_classes.load() == 0));
    }

    fn change_paused(&self, change: impl FnOnce(u32) -> u32) {
        self.paused_classes.store(change(self.paused_classes.load()));
    }
}

/// How SPFC is configured.
struct Settings {
    /// TC.
    period: Nanos,
    /// `K_spfc`.
    rate_divisor: u64,
}

impl Settings {
    fn write<T: Tables>(&self, tables: &T, rates: &[BitsPerSecond]) {
        for (port, rate) in (0..).zip(rates) {
            let line = line(tables, port).expect("the tables have room for the scheme's state");
            let Bytes(most) = rate.bytes_in(units::Picos::from_nanos(self.period));
            line.period_ns.store(self.period.0);
            line.victim_bytes.store(most / self.rate_divisor);
        }
    }
}

struct Spfc;

/// Section IV-B: the whole buffer for a victim, DT for others.
fn threshold<T: Tables>(at: &Ingress<'_, T>, victim: bool) -> u64 {
    if victim { at.config.shared_pool_bytes } else { Pfc::threshold(at) }
}

impl Scheme for Spfc {
    fn threshold<T: Tables>(at: &Ingress<'_, T>) -> u64 {
        threshold(at, line(at.tables, at.port_number).is_some_and(|line| line.victim.load() != 0))
    }

    fn admit<T: Tables>(packet: &Arriving<'_, T>) -> Result<Pool, DropReason> {
        let at = &packet.ingress;
        let line = line(at.tables, at.port_number).ok_or(DropReason::BrokenTable)?;
        pfc::admit(packet, threshold(at, line.is_victim(packet.now)))
    }

    fn after_arrival<T: Tables>(
        packet: &Arriving<'_, T>,
        pool: Pool,
        send: &mut impl FnMut(&Order),
    ) {
        let at = &packet.ingress;
        let Some(line) = line(at.tables, at.port_number) else { return };
        line.tick(packet.now);
        if pfc::pause(at, Self::threshold(at), pool, send) {
            // Section V-A: a port that pauses in spite of all its buffer is normal until it resumes.
            line.change_paused(|classes| classes | u32::from(at.priority.bit()));
            line.hold(false);
        }
    }

    fn at_departure<T: Tables>(packet: &Leaving<'_, T>) -> Verdict {
        if let Some(line) = line(packet.ingress.tables, packet.ingress.port_number) {
            line.tick(packet.now);
            line.departed_bytes.add::<T>(packet.length);
            if line.counts_a_victim() {
                line.hold(true);
            }
        }
        Verdict::Send(Changes::default())
    }

    fn after_departure<T: Tables>(packet: &Leaving<'_, T>, send: &mut impl FnMut(&Order)) {
        if let Some(order) = Self::resume(&packet.ingress) {
            send(&order);
        }
    }

    fn resume<T: Tables>(at: &Ingress<'_, T>) -> Option<Order> {
        let line = line(at.tables, at.port_number)?;
        let order = pfc::resume::<Self, T>(at)?;
        line.change_paused(|classes| classes & !u32::from(at.priority.bit()));
        Some(order)
    }

    fn room(_policy: Policy, ports: u32) -> Room {
        Room { lines: ports, blocks: 1 }
    }
}

const CLASS: u8 = 3;
const LENGTH: u64 = 1058;
/// Room for three packets.
const POOL: u64 = 4000;
const POLICY: Policy = Policy::new(ThresholdScheme::Dynamic, MarkingScheme::Off);
const PERIOD: Nanos = Nanos(1000);

/// Ports of 100 Gbit/s, of which 12,500 bytes depart in a period at most; a victim's neighbour has sent a sixth of
/// that, two packets. DT allows one packet: alpha is 1/2.
fn tables() -> OwnedTables {
    let config = SwitchConfig {
        shared_pool_bytes: POOL,
        pause_quanta: 500,
        lossless_classes: 1 << CLASS,
        lossless_queues: 1,
        ..SwitchConfig::default()
    };
    let tables = OwnedTables::new(config, 5000);
    for port in &tables.ports {
        port.alpha_numerator.store(1);
        port.alpha_denominator.store(2);
    }
    let room = Spfc::room(POLICY, 2);
    assert!(tables.scheme_line(room.lines - 1).is_some());
    let rates = [0, 1].map(|port: usize| BitsPerSecond(tables.ports[port].rate_bps.load()));
    Settings { period: PERIOD, rate_divisor: 6 }.write(&tables, &rates);
    tables
}

/// A packet comes in at `port` and leaves by the other: its slot, and whether it pauses its class.
fn arrive(tables: &OwnedTables, port: u32, now: u64) -> (u32, bool) {
    let mut bytes = packet(port, 1 - port, CLASS, Ecn::NotCapable);
    let frame = &mut ByteFrame(bytes.as_mut_slice());
    let mut pauses = false;
    match Spfc::arrive(frame, tables, POLICY, port, Nanos(now), &mut |_| pauses = true) {
        Outcome::Queued(Queued { slot, .. }) => (slot, pauses),
        other => panic!("{other:?}"),
    }
}

/// The packet in `slot` is sent: whether that resumes its class.
fn depart(tables: &OwnedTables, slot: u32, now: u64) -> bool {
    let mut resumes = false;
    let mut send = |order: &Order| match order.control {
        HopControl::Classes(pauses) => {
            resumes = order.resumes && pauses.resumed() == 1 << CLASS;
        }
        other => panic!("{other:?}"),
    };
    let left = Spfc::depart(tables, POLICY, slot, Nanos(now), &mut send).expect("it is there");
    assert_eq!(left.fate, Fate::Sent { mark: false });
    resumes
}

/// So many packets come in at port 0 and leave at once.
fn pass(tables: &OwnedTables, packets: usize, now: u64) {
    for _ in 0..packets {
        let (slot, pauses) = arrive(tables, 0, now);
        assert!(!pauses && !depart(tables, slot, now));
    }
}

fn limit(tables: &OwnedTables, port: u32) -> u64 {
    let at = Ingress::of(tables, POLICY, port, Priority::new(CLASS)).expect("it has its rows");
    Spfc::threshold(&at)
}

#[test]
fn a_victim_port_gets_the_whole_buffer_and_others_what_dt_leaves() {
    let tables = tables();
    pass(&tables, 1, 0);
    assert_eq!([0, 1].map(|port| limit(&tables, port)), [POOL / 2; 2], "both are normal");
    pass(&tables, 1, 0);
    assert_eq!([0, 1].map(|port| limit(&tables, port)), [POOL, POOL / 2]);
    let pauses = [(); 3].map(|()| arrive(&tables, 0, 10).1);
    assert_eq!(pauses, [false; 3], "a normal port pauses with the second");
    assert_eq!(tables.queue(0, CLASS).shared_bytes.load(), 3 * LENGTH);
    assert_eq!([0, 1].map(|port| limit(&tables, port)), [POOL, (POOL - 3 * LENGTH) / 2]);
    assert!(arrive(&tables, 1, 10).1, "the other port pauses with its first");
}

#[test]
fn a_normal_port_pauses_by_dt() {
    let tables = tables();
    assert_eq!([(); 2].map(|()| arrive(&tables, 0, 0).1), [false, true]);
}

#[test]
fn a_victim_that_fills_the_buffer_is_normal_until_it_resumes() {
    let tables = tables();
    pass(&tables, 2, 0);
    let packets = [10; 4].map(|now| arrive(&tables, 0, now));
    assert_eq!(packets.map(|(_, pauses)| pauses), [false, false, false, true], "the pool is full");
    assert_eq!(limit(&tables, 0), (POOL - 3 * LENGTH) / 2);
    // More departs than makes a victim, but the port is paused until the end.
    let slots = packets.map(|(slot, _)| slot);
    let resumes = slots.map(|slot| {
        assert_ne!(limit(&tables, 0), POOL);
        depart(&tables, slot, 20)
    });
    // The third leaves one packet, which DT allows.
    assert_eq!(resumes, [false, false, true, false]);
    assert_eq!(limit(&tables, 0), POOL, "it departs as fast as before");
}

#[test]
fn a_port_stays_a_victim_for_a_period_after_its_last_fast_one() {
    let tables = tables();
    pass(&tables, 2, 0);
    let [first, second] = [500; 2].map(|now| arrive(&tables, 0, now).0);
    assert!(!depart(&tables, first, PERIOD.0));
    assert_eq!(limit(&tables, 0), POOL, "held from the first period");
    assert!(!arrive(&tables, 0, PERIOD.0 + 1).1);
    // One packet has departed in the second period.
    assert!(arrive(&tables, 0, 2 * PERIOD.0).1, "more than DT allows");
    assert_eq!(limit(&tables, 0), (POOL - 2 * LENGTH) / 2, "the packet went to headroom");
    assert!(!depart(&tables, second, 2 * PERIOD.0));
}

#[test]
fn a_port_that_nothing_departs_from_is_no_victim() {
    let tables = tables();
    pass(&tables, 2, 0);
    for (now, pauses) in [(10, false), (20, false), (2 * PERIOD.0, true)] {
        assert_eq!(arrive(&tables, 0, now).1, pauses, "at {now} ns");
    }
}
