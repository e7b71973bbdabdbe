//! A switch without a driver: frames are numbers, and an observer records its events.

mod device_queue;
mod link_delay;
mod log;
mod orders;
mod states;
mod storms;
mod verdicts;

use fabric_core::cell::Sharing;
use fabric_core::drop_reason::DropReason;
use fabric_core::frame::{Frame, Ipv4Fields, Parsed, PfcFields};
use fabric_core::hop_control::{ClassPauses, HopControl, Order, PauseEvent, PauseLevel};
use fabric_core::map_abi::{self, FIRST_HOST_ADDRESS, address_to_u64, port_shift};
use fabric_core::policy::{MarkingScheme, StormAction, ThresholdScheme};
use fabric_core::port_state::{PortState, StateCause};
use fabric_core::priority::Priority;
use fabric_core::queue::{QueueId, one_per_priority};
use fabric_core::scheme::{Room, SchemeSettings};
use fabric_core::watchdog::Traffic;
use units::{BitsPerSecond, Bytes, FrameTime, Nanos};

use super::*;
use crate::control_plane::{Marking, PortSettings};
use crate::link_delay::Measurement;
use crate::policy_table::PolicyTable;
use crate::tables::{Capacity, Rows};
use crate::traffic_manager::PortQueues;
use crate::traffic_manager::Scheduler;
use crate::watchdog::WatchdogConfig;

use log::{Log, decided};

/// Host n is behind port n.
const PORTS: u8 = 3;
/// Ingress and egress port of most packets.
const IN: u16 = 0;
const OUT: u16 = 2;
/// The lossless classes.
const CLASS: Priority = Priority::new(3);
/// The queue of [`CLASS`].
const QUEUE: QueueId = QueueId::data(3);
const OTHER: Priority = Priority::new(4);
/// The queue of [`OTHER`].
const OTHER_QUEUE: QueueId = QueueId::data(4);
/// A lossy class, for which the switch has no room.
const LOSSY: Priority = Priority::new(0);
const LENGTH: u32 = 1000;
/// Two packets of [`LENGTH`] fit below X_off. The third turns their ingress queue OFF, and the first that leaves
/// turns it ON.
const XOFF: u64 = 2500;
const XON: u64 = 2000;
const HEADROOM: Bytes = Bytes(10_000);
const FRAMES: LinkFrames = LinkFrames {
    time: FrameTime { overhead: 24, whole_nanos: false },
    longest: Bytes(1500),
    hop_control: CONTROL_FRAME_LENGTH,
    lossless_classes: 8,
};
const QUANTA: u16 = 1000;
/// [`QUANTA`] at 100 Gbit/s.
const PAUSE: Picos = Picos(5_120_000);
const REFRESH: Picos = Picos(3_000_000);
const RATE: BitsPerSecond = BitsPerSecond(100_000_000_000);
const RESPONSE: Nanos = Nanos(50);
const DATA_QUEUES: u8 = 16;

/// The driver's number of the control frame that the pipeline built besides frame `number`.
const fn built(number: u32) -> u32 {
    1000 + number
}

const fn address(port: u16) -> [u8; 6] {
    let [high, low] = port.to_be_bytes();
    [2, 1, 0, 0, high, low]
}

/// A frame in the pipeline: its parsed content and its length.
struct Said(Parsed, u32);

impl Frame for Said {
    fn length(&self) -> u32 {
        self.1
    }

    fn parse(&self) -> Result<Parsed, DropReason> {
        Ok(self.0)
    }

    fn forward(&mut self, _: u64, _: u64, _: &Ipv4Fields) -> Result<(), DropReason> {
        Ok(())
    }

    fn mark_congestion(&mut self, _: &Ipv4Fields) -> Result<(), DropReason> {
        Ok(())
    }
}

/// A frame that a port sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    Control(ControlTransmission<u32>),
    Packet(Transmission<u32>),
}

/// A switch and its driver, which numbers the received frames from 1.
struct Bench<S = Selected> {
    switch: Switch<u32, S>,
    log: Log,
    frames: u32,
    /// True if the pipeline builds the control frames that are due, as eBPF does.
    builds: bool,
}

impl Bench {
    /// Creates a switch under PFC.
    fn new() -> Self {
        Self::with(&SchemeSettings::default())
    }
}

impl<S: Scheme> Bench<S> {
    fn with(scheme: &SchemeSettings) -> Self {
        Self::watched(scheme, None)
    }

    fn watched(scheme: &SchemeSettings, watchdog: Option<WatchdogConfig>) -> Self {
        let action = watchdog.map_or(StormAction::None, |watchdog| watchdog.action);
        let policy = scheme.select(Policy::new(ThresholdScheme::Static, MarkingScheme::Off));
        let policy = policy.with_storm_action(action);
        let ports = u32::from(PORTS);
        let Room { lines, blocks } = S::room(policy, ports);
        let capacity = Capacity {
            queues: u32::from(DATA_QUEUES) + 1,
            scheme: Room { lines, blocks },
            ..Capacity::new(ports, ports, 16)
        };
        let mut tables = SwitchTables::owned(capacity).expect("memory for a switch's tables");
        // Lossy packets have no room.
        let config = map_abi::SwitchConfig {
            lossy_pool_bytes: 1,
            shared_pool_bytes: 100_000,
            static_xoff_bytes: XOFF,
            xon_offset_bytes: XOFF - XON,
            headroom_pool_bytes: 6 * HEADROOM.0,
            ports,
            hosts: ports,
            slots: 16,
            lossless_queues: 2,
            queues: one_per_priority(None),
            lossless_classes: CLASS.bit() | OTHER.bit(),
            pause_quanta: QUANTA,
            port_shift: port_shift(ports),
            ..map_abi::SwitchConfig::default()
        };
        let settings = |port| PortSettings {
            rate: RATE,
            headroom: HEADROOM,
            required_headroom: HEADROOM,
            alpha: [1, 1],
            marking: Marking::default(),
            response: Nanos(0),
            quantum: fabric_core::wire::pfc::quantum_duration(RATE, 1),
            address: address(port),
            peer_address: [0; 6],
        };
        tables.configure(
            config,
            &[0, 1, 2].map(settings),
            scheme,
            &fabric_core::lossy::Settings::default(),
            1,
        );
        tables.install_routes(&[0, 1, 2].map(|port| vec![port]), 0..3, &PolicyTable::new(&[]));
        let port = |port| PortConfig {
            address: address(port),
            rate: RATE,
            response: RESPONSE,
            refresh_period: REFRESH,
            headroom: HEADROOM,
        };
        let config = SwitchConfig {
            policy,
            computed: policy,
            queues: PortQueues {
                data_queues: DATA_QUEUES.into(),
                scheduler: Scheduler::Strict { quantum: Scheduler::DEFAULT_QUANTUM },
                ..PortQueues::default()
            },
            slots: 16,
            ports: [0, 1, 2].map(port).to_vec(),
            frames: FRAMES,
            measures_links: true,
            device_queue: None,
            sends_superseded: false,
            watchdog,
        };
        let switch = Switch::new(config, tables);
        Self { switch, log: Log::default(), frames: 0, builds: false }
    }

    /// Receives a frame at `port`.
    fn arrive(&mut self, now: Picos, port: u16, said: Parsed, length: u32) -> Reaction {
        self.arrive_late(now, now, port, said, length)
    }

    /// Receives a frame at `port` at `at`, and passes it to the switch at `now`.
    fn arrive_late(
        &mut self,
        now: Picos,
        at: Picos,
        port: u16,
        said: Parsed,
        length: u32,
    ) -> Reaction {
        self.frames += 1;
        let frame = self.frames;
        let mut said = Said(said, length);
        let tables = self.switch.tables();
        let policy = self.switch.policy();
        let built = self.builds.then_some(built(frame));
        let mut orders = Vec::new();
        let mut send = |order: &Order| orders.push((*order, built));
        let mut outcome = Outcome::UNKNOWN;
        let place = (port.into(), at.to_nanos());
        S::arrive_to(&mut said, tables, &policy, place, &mut send, &mut outcome);
        let priority = match said.0 {
            Parsed::Ipv4(fields) => Some(fields.priority()),
            _ => None,
        };
        let (outcome, orders) = (&outcome, &orders[..]);
        let arrival = Arrival { frame, at, length, outcome, orders, link_delay: None, priority };
        self.switch.on_arrival(now, port, &arrival, &mut self.log)
    }

    /// Receives a packet at port `from` that leaves by port `to`.
    fn packet(
        &mut self,
        now: Picos,
        [from, to]: [u16; 2],
        class: Priority,
        length: u32,
    ) -> Reaction {
        let fields = Ipv4Fields {
            mac: address_to_u64(address(from)),
            destination: FIRST_HOST_ADDRESS + u32::from(to),
            type_of_service: class.number() << 5,
            ttl: 64,
            ..Ipv4Fields::default()
        };
        self.arrive(now, from, Parsed::Ipv4(fields), length)
    }

    /// Receives three packets from [`IN`] to [`OUT`], which turn their ingress queue OFF.
    fn burst(&mut self, now: Picos) -> [Reaction; 3] {
        [(); 3].map(|()| self.packet(now, [IN, OUT], CLASS, LENGTH))
    }

    /// Receives a PFC frame at `port` that pauses `classes`; 0 quanta resume them.
    fn paused(&mut self, now: Picos, port: u16, classes: u8, quanta: u16) -> Reaction {
        self.paused_late(now, now, port, classes, [quanta; 8])
    }

    /// Receives a PFC frame at `at`, and passes it to the switch at `now`.
    fn paused_late(
        &mut self,
        now: Picos,
        at: Picos,
        port: u16,
        class_enable: u8,
        quanta: [u16; 8],
    ) -> Reaction {
        let said = PfcFields { source: 1, class_enable, quanta };
        self.arrive_late(now, at, port, Parsed::Pfc(said), CONTROL_FRAME_LENGTH)
    }

    fn sends(&mut self, now: Picos, port: u16) -> Option<Sent> {
        self.sends_as::<Rows>(now, port)
    }

    fn sends_as<D: Sharing>(&mut self, now: Picos, port: u16) -> Option<Sent> {
        let control = |switch: &mut Switch<_, _>| switch.poll_control(now, port).map(Sent::Control);
        if let Some(control) = control(&mut self.switch) {
            return Some(control);
        }
        let packet = self.switch.poll_transmit::<D, _>(now, port, &mut self.log);
        // A dropped packet may have left a RESUME to be sent.
        packet.map(Sent::Packet).or_else(|| control(&mut self.switch))
    }

    fn due(&mut self, now: Picos) -> Option<Due> {
        self.switch.handle_deadline(now, &mut self.log)
    }

    /// Returns the events that the observer received since the last call.
    fn observed(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.log.0)
    }

    fn deadlines(&self) -> Vec<Picos> {
        self.switch.timers.all()
    }

    fn woken(&mut self) -> Vec<u16> {
        let woken = std::iter::from_fn(|| {
            let has_news = self.switch.has_news();
            self.switch.poll_woken().inspect(|_| assert!(has_news, "a port was woken"))
        });
        woken.collect()
    }

    fn discarded(&mut self) -> Vec<u32> {
        let discarded = std::iter::from_fn(|| {
            let has_news = self.switch.has_news();
            let polled = self.switch.poll_discarded().map(|discarded| discarded.frame);
            polled.inspect(|_| assert!(has_news, "a frame was discarded"))
        });
        discarded.collect()
    }

    /// Asserts that the switch and its books are empty.
    fn is_empty(&self) -> bool {
        assert_eq!(self.switch.tables().imbalances(self.switch.policy()), [""; 0]);
        assert!(!self.switch.has_news(), "nothing is left to be asked for");
        (0..u16::from(PORTS)).all(|port| self.switch.is_idle(port))
    }
}

/// A packet sent unchanged, with others waiting behind it.
const fn packet(frame: u32) -> Sent {
    Sent::Packet(Transmission { frame, length: LENGTH, queue: QUEUE, mark: false, more: true })
}

/// The last packet of its port.
const fn last(frame: u32) -> Sent {
    last_of(QUEUE, frame)
}

/// The last packet of its port, from any queue.
const fn last_of(queue: QueueId, frame: u32) -> Sent {
    Sent::Packet(Transmission { frame, length: LENGTH, queue, mark: false, more: false })
}

const fn departed([ingress, port]: [u16; 2], length: u32) -> Event {
    Event::Departed(Departed { port, queue: QUEUE, ingress, priority: CLASS, length })
}

const fn pause(port: u16, classes: u8) -> Sent {
    classes_frame(port, ClassPauses::xoff(classes, QUANTA))
}

const fn resume(port: u16, classes: u8) -> Sent {
    classes_frame(port, ClassPauses::xon(classes))
}

const fn classes_frame(port: u16, pauses: ClassPauses) -> Sent {
    let control = HopControl::Classes(pauses);
    Sent::Control(ControlTransmission::HopControl { source: address(port), control })
}

#[test]
fn a_packet_is_queued_and_sent() {
    let mut bench = Bench::new();
    let reaction = bench.packet(Picos(0), [IN, OUT], CLASS, LENGTH);
    let expected = Reaction { keeps_frame: true, pauses_changed: false, wake: [None, Some(OUT)] };
    assert_eq!(reaction, expected);
    assert!(bench.switch.is_idle(IN) && !bench.switch.is_idle(OUT));
    assert_eq!(bench.sends(Picos(0), IN), None);
    assert_eq!(bench.sends(Picos(0), OUT), Some(last(1)));
    assert_eq!(bench.sends(Picos(0), OUT), None);
    let admitted = Admitted { port: IN, egress: OUT, slot: 0, length: LENGTH };
    assert_eq!(bench.observed(), [Event::Admitted(admitted), departed([IN, OUT], LENGTH)]);
    assert!(bench.is_empty() && bench.deadlines().is_empty() && bench.woken().is_empty());
}

#[test]
fn a_dropped_frame_is_reported_and_not_kept() {
    let mut bench = Bench::new();
    let reaction = bench.packet(Picos(0), [IN, OUT], LOSSY, LENGTH);
    assert_eq!(reaction, Reaction::default());
    let reason = DropReason::LossyThreshold;
    let expected = Event::Dropped { port: IN, reason, priority: Some(LOSSY), length: LENGTH };
    assert_eq!(bench.observed(), [expected]);
    assert_eq!(bench.switch.tables().dropped(reason), 1);
    assert!(bench.is_empty());
}

/// The renewal of [`IN`]'s pause is due after the expiry of [`OUT`]'s received pause, and its timer was set earlier.
#[test]
fn every_deadline_is_given_once_in_the_order_of_setting() {
    let mut bench = Bench::new();
    bench.burst(Picos(0));
    let short = QUANTA / 10;
    bench.paused(Picos(0), OUT, CLASS.bit(), short);
    assert_eq!(bench.switch.next_deadline(), Some(Picos(PAUSE.0 / 10)));
    assert_eq!(bench.deadlines(), [Picos(PAUSE.0 / 10), REFRESH]);
    bench.due(REFRESH).expect("the pause that was received is over");
    assert_eq!(bench.deadlines(), [REFRESH]);
    bench.due(REFRESH).expect("the pause that was sent is renewed");
    assert_eq!(bench.deadlines(), [REFRESH + REFRESH]);
    assert_eq!(bench.due(REFRESH), None);
}
