//! Victims: cases computed by hand, and random traffic.

use proptest::prelude::*;
use units::{BitsPerSecond, Bytes, Nanos};

use super::super::Settings;
use super::*;
use crate::drop_reason::DropReason;
use crate::hop_control::{HopControl, Order, PauseLevel};
use crate::map_abi::SwitchConfig;
use crate::policy::{MarkingScheme, SchemeKind, ThresholdScheme};
use crate::priority::Priority;
use crate::scheme::Configure as _;
use crate::scheme::held::Held;
use crate::scheme::spfc::state::StateLine;
use crate::scheme::spfc::{self, Threshold};
use crate::scheme::{Ingress, Room, Scheme, Watched};
use crate::tables::owned::{MAX_SLOTS, OwnedTables};

const CLASS: u8 = 3;
const OTHER: u8 = 4;
const LENGTH: u64 = 1058;
/// Time of a packet at 100 Gbit/s, rounded up.
const GAP: u64 = 85;
/// Insurance of a port: the packet that triggers its PAUSE, and three after it.
const PHI: u64 = 5 * LENGTH;
/// Two departures within it make a port a victim.
const PERIOD: u64 = 10_000;

struct Bench {
    tables: OwnedTables,
    held: Held,
}

/// Level, paused classes, resumed classes.
type Sent = Option<(PauseLevel, u8, u8)>;

impl Bench {
    /// A switch with a shared pool for `room` packets; under DT a queue may hold a quarter of the free bytes.
    fn new(room: u64) -> Self {
        let config = SwitchConfig {
            shared_pool_bytes: room * LENGTH,
            pause_quanta: 500,
            lossless_classes: 1 << CLASS | 1 << OTHER,
            lossless_queues: 2,
            ..SwitchConfig::default()
        };
        let mut tables = OwnedTables::new(config, PHI);
        tables.config.slots = MAX_SLOTS as u32;
        tables.switch.slots_limit.store(MAX_SLOTS as u64);
        for port in &tables.ports {
            port.alpha_numerator.store(1);
            port.alpha_denominator.store(4);
        }
        let settings = Settings {
            options: Options { victims: true, ..Options::default() },
            single_queue_window: Nanos(10_000_000),
            gradient_weight_shift: 2,
            deviation_weight_shift: 2,
            deviation_gain_shift: 2,
            spfc: spfc::Settings {
                period: Nanos(PERIOD),
                threshold: Threshold::Bytes(Bytes(2 * (LENGTH + 24))),
                ..spfc::Settings::default()
            },
            ..Settings::default()
        };
        settings.write(&tables, [(BitsPerSecond(100_000_000_000), Bytes(PHI)); 2]);
        Self { tables, held: Held::default() }
    }

    fn policy() -> Policy {
        let options = Options { victims: true, ..Options::default() };
        Policy::new(ThresholdScheme::Dynamic, MarkingScheme::Off)
            .with_scheme(SchemeKind::Dsh, options.to_bits())
    }

    fn line(&self, port: u32) -> &StateLine {
        let line = circuits(2).line(&self.tables, port, Priority::new(CLASS));
        line.expect("it has its line")
    }

    fn arrive(&mut self, port: u32, class: u8, now: u64) -> Result<Sent, DropReason> {
        let sent = self.held.arrive::<Dsh>(&self.tables, Self::policy(), (port, class), now);
        Ok(sent?.map(said))
    }

    fn depart(&mut self, port: u32, class: u8, now: u64) -> Sent {
        let sent = self.held.depart::<Dsh>(&self.tables, Self::policy(), (port, class), now);
        sent.map(said)
    }

    /// Acts as if two packets had departed.
    fn make_victim(&self, port: u32, now: u64) {
        let line = self.line(port);
        line.tick(Nanos(now));
        for _ in 0..2 {
            line.count::<OwnedTables>(LENGTH);
        }
        assert!(line.is_victim(Nanos(now)));
    }

    /// Sends packets of `class` at line rate until a hop control frame is due. Returns their number, and the frame.
    fn fill(&mut self, port: u32, class: u8, now: u64) -> (u64, Sent) {
        for packets in 1.. {
            let sent = self.arrive(port, class, now + packets * GAP).expect("nothing is dropped");
            if sent.is_some() {
                return (packets, sent);
            }
        }
        unreachable!("a switch has an end")
    }
}

fn said(order: Order) -> (PauseLevel, u8, u8) {
    let HopControl::Classes(pauses) = order.control else { panic!("{order:?}") };
    (order.level, pauses.paused(), pauses.resumed())
}

const QUEUE_PAUSES: Sent = Some((PauseLevel::Queue, 1 << CLASS, 0));
const ALL: u8 = 1 << CLASS | 1 << OTHER;
const PORT_PAUSES: Sent = Some((PauseLevel::Port, ALL, 0));

/// X_qoff of a normal port: T - tau, with T = (14 - n) / 4 packets and a tau of up to 5. A victim fills the pool, in
/// which another port holds 6 packets, and its insurance takes the packets in flight.
#[test]
fn a_victim_pauses_its_port_when_the_pool_is_full() {
    let mut bench = Bench::new(14);
    assert_eq!(bench.fill(0, CLASS, 0), (1, QUEUE_PAUSES), "a normal port's queue");

    let mut bench = Bench::new(14);
    bench.tables.switch.shared_bytes.store(6 * LENGTH);
    bench.make_victim(0, 0);
    assert_eq!(bench.fill(0, CLASS, 0), (9, PORT_PAUSES));
    assert!(!bench.line(0).is_victim(Nanos(9 * GAP)), "a PAUSE makes it normal");
    for packets in 10..=12 {
        assert_eq!(bench.arrive(0, CLASS, packets * GAP), Ok(None));
    }
    assert_eq!(state::port_of(&bench.tables, 0).unwrap().insurance_bytes.load(), 4 * LENGTH);
}

/// A victim's queue, alone in the switch, reaches X_qoff, the pool's size minus tau. Then its port
/// is above the limit of a normal port, so that its next packet pauses the port.
#[test]
fn shared_headroom_of_a_victim_is_of_no_use_once_it_is_normal() {
    let mut bench = Bench::new(14);
    bench.make_victim(0, 0);
    assert_eq!(bench.fill(0, CLASS, 0), (10, QUEUE_PAUSES));
    assert_eq!(u64::from(state::queue(&bench.at(CLASS)).unwrap().tau_bytes.load()), PHI);
    assert_eq!(bench.arrive(0, CLASS, 11 * GAP), Ok(PORT_PAUSES));
}

/// Another port holds the whole pool: the victim's packet goes to insurance, and all classes stop.
#[test]
fn a_pause_of_the_port_resets_the_state_until_all_classes_resume() {
    let mut bench = Bench::new(8);
    bench.make_victim_of_insurance();
    let shown = Dsh::state(&bench.tables, Bench::policy(), 0, Priority::new(OTHER)).unwrap();
    assert!(shown.paused && shown.victim_before_pause && !shown.victim);
    assert_eq!(u64::from(bench.line(0).paused_classes.load()), u64::from(ALL));
    bench.tables.switch.shared_bytes.store(0);
    let sent = bench.depart(0, CLASS, 20);
    assert_eq!(sent, Some((PauseLevel::Port, 0, ALL)));
    let line = bench.line(0);
    assert_eq!((line.paused_classes.load(), line.is_victim(Nanos(20))), (0, true));
    Dsh::tick(&bench.tables, Bench::policy(), 0, Priority::new(CLASS), Nanos(3 * PERIOD));
    assert!(!Dsh::state(&bench.tables, Bench::policy(), 0, Priority::new(CLASS)).unwrap().victim);
}

impl Bench {
    /// Makes port 0 a victim that pauses with a packet without room in the shared pool, which others fill.
    fn make_victim_of_insurance(&mut self) {
        self.tables.switch.shared_bytes.store(8 * LENGTH);
        self.make_victim(0, 2);
        assert_eq!(self.arrive(0, CLASS, 3), Ok(Some((PauseLevel::Port, ALL, 0))));
    }

    fn at(&self, class: u8) -> Ingress<'_, OwnedTables> {
        Ingress::new(&self.tables, Self::policy(), 0, Priority::new(class)).unwrap()
    }
}

#[test]
fn a_renewal_that_resumes_the_port_releases_the_state() {
    let mut bench = Bench::new(8);
    bench.make_victim_of_insurance();
    bench.tables.switch.shared_bytes.store(0);
    let renewed = Dsh::renewal(&bench.at(CLASS), PauseLevel::Port, 1, Nanos(30)).unwrap();
    assert!(renewed.resumes, "insurance moves to the pool, which has room");
    assert!(bench.line(0).is_victim(Nanos(30)));
    assert_eq!(Dsh::renewal(&bench.at(CLASS), PauseLevel::Port, 1, Nanos(30)), None);
}

/// The count belongs to the previous period.
#[test]
fn a_renewal_in_a_later_period_makes_no_victim() {
    let mut bench = Bench::new(8);
    bench.make_victim_of_insurance();
    bench.tables.switch.shared_bytes.store(0);
    let now = Nanos(PERIOD + 5);
    let renewed = Dsh::renewal(&bench.at(CLASS), PauseLevel::Port, 1, now).unwrap();
    assert!(renewed.resumes && !bench.line(0).is_victim(now));
}

/// The threshold for an arrival's pause is the threshold at the time of the arrival.
#[test]
fn an_arrival_in_a_later_period_finds_the_port_normal() {
    let mut bench = Bench::new(14);
    bench.make_victim(0, 0);
    assert_eq!(Dsh::threshold(&bench.at(CLASS)), 14 * LENGTH);
    assert_eq!(bench.arrive(0, CLASS, 3 * PERIOD), Ok(None));
    assert_eq!(Dsh::threshold(&bench.at(CLASS)), 13 * LENGTH / 4);
}

#[test]
fn ports_have_the_counting_numbers_of_their_rates() {
    let bench = Bench::new(8);
    let settings = Settings {
        options: Options { victims: true, ..Options::default() },
        spfc: spfc::Settings { period: Nanos(1000), ..spfc::Settings::default() },
        ..Settings::default()
    };
    let rates = [100, 400].map(|gigabits| BitsPerSecond(gigabits * 1_000_000_000));
    settings.write(&bench.tables, rates.map(|rate| (rate, Bytes(PHI))));
    assert_eq!([0, 1].map(|port| bench.line(port).victim_bytes.load()), [2500, 10_000]);
}

#[test]
fn the_control_plane_stores_dt_for_a_victim() {
    let bench = Bench::new(40);
    bench.make_victim(0, 0);
    let at = bench.at(CLASS);
    assert_eq!(Dsh::threshold(&at), 40 * LENGTH);
    Dsh::observe(&at, Nanos(0));
    assert_eq!(at.queue.stored_threshold_bytes.load(), 10 * LENGTH);
}

#[test]
fn without_the_option_there_are_no_states_and_no_room_for_them() {
    let plain = Bench::policy().with_scheme(SchemeKind::Dsh, Options::default().to_bits());
    let bench = Bench::new(8);
    assert_eq!(Dsh::states(plain), None);
    assert_eq!(Dsh::state(&bench.tables, plain, 0, Priority::new(CLASS)), None);
    assert_eq!(Dsh::states(Bench::policy()), Some(PauseLevel::Port));
    let Room { lines, .. } = Dsh::room(Bench::policy(), 2);
    assert_eq!(lines, Dsh::room(plain, 2).lines + 2);
}

proptest! {
    /// A neighbour sends three more packets after a PAUSE of its port, and three of a class after a
    /// PAUSE of the class.
    #[test]
    fn any_traffic_is_kept(
        events in prop::collection::vec(
            (0..2u32, prop::sample::select(vec![CLASS, OTHER]), 0..5u8, 0..200u64),
            1..400,
        ),
        room in 4..20u64,
    ) {
        let mut bench = Bench::new(room);
        // Indexed by port: paused classes, packets after the PAUSE of each class, and packets after the PAUSE of the
        // port.
        let mut paused = [0u8; 2];
        let mut of_class = [[0; 8]; 2];
        let mut of_port = [0; 2];
        let mut now = 0;
        for (port, class, kind, gap) in events {
            now += gap;
            let at = port as usize;
            let sent = if kind < 3 {
                let is_paused = paused[at] >> class & 1 != 0;
                if is_paused && (of_class[at][usize::from(class)] == 3 || of_port[at] == 3) {
                    continue;
                }
                of_class[at][usize::from(class)] += u8::from(is_paused);
                of_port[at] += u8::from(is_paused && paused[at] == ALL);
                let sent = bench.arrive(port, class, now);
                prop_assert!(sent.is_ok(), "a lossless packet is dropped: {sent:?}");
                sent.unwrap()
            } else {
                bench.depart(port, class, now)
            };
            if let Some((_, pauses, resumes)) = sent {
                paused[at] = (paused[at] | pauses) & !resumes;
                (of_class[at], of_port[at]) = ([0; 8], 0);
            }
            for port in 0..2 {
                let line = bench.line(port);
                prop_assert_eq!(line.paused_classes.load(), u32::from(paused[port as usize]));
                prop_assert!(paused[port as usize] == 0 || !line.is_victim(Nanos(now)));
                let silent = Nanos((now / PERIOD + 2) * PERIOD);
                prop_assert!(!line.is_victim(silent), "a port without traffic is normal");
            }
        }
    }
}
