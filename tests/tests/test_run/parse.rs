//! One frame in, one outcome out: the same rows on the eBPF program, through `BPF_PROG_TEST_RUN`, and on
//! the native functions. Needs root.

use fabric_core::arrival::{Outcome, Queued};
use fabric_core::drop_reason::DropReason;
use fabric_core::hop_control::{ClassPauses, HopControl, Order, PauseLevel};
use fabric_core::map_abi::FIRST_HOST_ADDRESS;
use fabric_core::policy::{MarkingScheme, Policy, ThresholdScheme};
use fabric_core::priority::Priority;
use fabric_core::queue::QueueId;
use fabric_core::record::MAX_FRAME;
use fabric_core::wire::roce::Ecn;
use fabric_core::wire::{LinkDelayFrame, PauseFrame, PfcFrame, RocePacket, link_delay, pause};
use switch_user::tables::SwitchTables;
use tests::switch::frame::{
    acknowledge, bytes, congestion_notification, data, inbound, link_delay_bytes, message,
    outbound, pfc_bytes, repair_checksum,
};
use tests::switch::{NO_PORT, PORTS, State, Twins, class_row, in_namespace, queue_row};
use units::Nanos;

/// Frames come in here.
const PORT: u32 = 1;
const NOW: Nanos = Nanos(1_000_000);
/// Ingress queue of the lossless priority.
const LOSSLESS: usize = class_row(PORT, 3);

/// A table's row.
struct Row {
    about: &'static str,
    state: State,
    port: u32,
    frame: Vec<u8>,
    expected: Expected,
}

enum Expected {
    /// The frame is queued, and leaves with these bytes.
    Queued { egress_port: u32, queue: u8, marked: bool, frame: Vec<u8> },
    /// The frame is queued, and this PAUSE is sent.
    Paused { order: Order, frame: Vec<u8> },
    /// The frame is hop control.
    ControlReceived(HopControl),
    /// The frame is a link delay frame, and these bytes go to the control plane.
    LinkDelayReceived(Vec<u8>),
    /// The frame is dropped.
    Dropped(DropReason),
}

fn row(about: &'static str, frame: Vec<u8>, expected: Expected) -> Row {
    Row { about, state: State::fresh(), port: PORT, frame, expected }
}

fn dropped(about: &'static str, frame: Vec<u8>, reason: DropReason) -> Row {
    row(about, frame, Expected::Dropped(reason))
}

/// A row with a changed state of the switch.
fn in_state(mut row: Row, change: impl FnOnce(&mut State)) -> Row {
    change(&mut row.state);
    row
}

fn policy() -> Policy {
    Policy::new(ThresholdScheme::Dynamic, MarkingScheme::AtEnqueue)
}

/// Runs every row on both switches, and returns them as the last row left them.
fn check(rows: &[Row]) {
    in_namespace(|| {
        let mut twins = Twins::load(policy());
        for row in rows {
            twins.reset(&row.state);
            let arrival = twins
                .arrive(row.port, NOW, &row.frame)
                .unwrap_or_else(|error| panic!("{}: {error}", row.about));
            let about = row.about;
            assert_eq!((arrival.port, arrival.time_ns), (row.port, NOW.0), "{about}");
            check_outcome(row, &arrival);
            let counted = u64::from(matches!(arrival.outcome, Outcome::Dropped(_)));
            let drops = |reason| twins.native.tables().dropped(reason);
            let total: u64 = DropReason::ALL.iter().map(|reason| drops(*reason)).sum();
            assert_eq!(total, counted, "{about}: every drop is counted once");
            if let Outcome::Dropped(reason) = arrival.outcome {
                assert_eq!(drops(reason), 1, "{about}: under its name");
            }
        }
    });
}

fn check_outcome(row: &Row, arrival: &tests::switch::Arrival) {
    let about = row.about;
    match &row.expected {
        Expected::Queued { egress_port, queue, marked, frame } => {
            let (egress_port, queue, marked) = (*egress_port, *queue, *marked);
            let queue = QueueId::data(queue);
            let queued = Queued { slot: 0, egress_port, queue, marked };
            assert_eq!(arrival.outcome, Outcome::Queued(queued), "{about}");
            assert_eq!(arrival.order(), None, "{about}");
            let (_, bytes) = arrival.queued.as_ref().expect("it is queued");
            assert_eq!(bytes, frame, "{about}");
        }
        Expected::Paused { order, frame } => {
            assert!(matches!(arrival.outcome, Outcome::Queued(_)), "{about}: {arrival:?}");
            assert_eq!(arrival.order(), Some(*order), "{about}");
            let (_, bytes) = arrival.control.first().expect("a PAUSE is due");
            assert_eq!(bytes, frame, "{about}");
        }
        Expected::ControlReceived(control) => {
            assert_eq!(arrival.outcome, Outcome::ControlReceived(*control), "{about}");
        }
        Expected::LinkDelayReceived(frame) => {
            assert_eq!(arrival.outcome, Outcome::LinkDelayReceived, "{about}");
            let (header, bytes) = arrival.queued.as_ref().expect("its bytes are handed over");
            assert_eq!((header.length as usize, bytes), (frame.len(), frame), "{about}");
        }
        Expected::Dropped(reason) => {
            assert_eq!(arrival.outcome, Outcome::Dropped(*reason), "{about}");
        }
    }
}

/// A packet as it comes in.
fn received(packet: &RocePacket) -> Vec<u8> {
    bytes(packet, &inbound(PORT))
}

/// The packet at its departure: other addresses, a hop less, all checksums recomputed.
fn forwarded(packet: &RocePacket, port: u32) -> Vec<u8> {
    bytes(&RocePacket { ttl: packet.ttl - 1, ..*packet }, &outbound(port))
}

fn forwarded_row(about: &'static str, packet: &RocePacket, egress_port: u32, queue: u8) -> Row {
    let frame = forwarded(packet, egress_port);
    row(about, received(packet), queued(egress_port, queue, frame))
}

fn queued(egress_port: u32, queue: u8, frame: Vec<u8>) -> Expected {
    Expected::Queued { egress_port, queue, marked: false, frame }
}

/// A packet with zeros after it.
fn in_frame_of(length: usize, mut frame: Vec<u8>) -> Vec<u8> {
    assert!(frame.len() <= length);
    frame.resize(length, 0);
    frame
}

/// Data of 1000 bytes to host 2, lossless.
fn packet() -> RocePacket {
    data(2, 3, Ecn::Capable0, 1000)
}

/// [`packet`] with `change` made to its bytes, its IPv4 checksum made right afterwards.
fn altered(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut frame = received(&packet());
    change(&mut frame);
    repair_checksum(&mut frame);
    frame
}

fn cut(length: usize) -> Vec<u8> {
    let mut frame = received(&packet());
    frame.truncate(length);
    frame
}

#[test]
fn packets_are_rewritten_and_queued() {
    let marked = RocePacket { ecn: Ecn::CongestionExperienced, ..packet() };
    let checksum_wraps = RocePacket { ttl: 255, source_port: 0xffff, ..packet() };
    let longest = in_frame_of(MAX_FRAME, received(&packet()));
    let longest_forwarded = in_frame_of(MAX_FRAME, forwarded(&packet(), 2));
    let unknown_protocol = altered(|frame| frame[23] = 253);
    let mut unknown_protocol_forwarded = unknown_protocol.clone();
    unknown_protocol_forwarded[..12].copy_from_slice(&forwarded(&packet(), 2)[..12]);
    unknown_protocol_forwarded[22] -= 1;
    repair_checksum(&mut unknown_protocol_forwarded);
    let mut last_hop = packet();
    last_hop.ttl = 2;
    check(&[
        forwarded_row("data to host 2", &packet(), 2, 3),
        forwarded_row("a message to host 7", &message(7, 3, Ecn::Capable1, 17), 3, 3),
        forwarded_row("an ACK", &acknowledge(0, 3), 0, 3),
        forwarded_row("a CNP on priority 6", &congestion_notification(5, 6), 1, 6),
        forwarded_row("data back out of its port", &data(1, 0, Ecn::NotCapable, 64), 1, 0),
        forwarded_row("data that was marked elsewhere", &marked, 2, 3),
        forwarded_row("TTL 255", &checksum_wraps, 2, 3),
        forwarded_row("TTL 2, which leaves with 1", &last_hop, 2, 3),
        row("the longest frame of a record", longest, queued(2, 3, longest_forwarded)),
        row("a protocol without ports", unknown_protocol, queued(2, 3, unknown_protocol_forwarded)),
    ]);
}

/// The bytes themselves, once, so that no encoder of ours is trusted for them.
#[test]
fn a_packet_byte_for_byte() {
    let head = |addresses: [u8; 12], ttl: u8, checksum: [u8; 2]| {
        let [high, low] = checksum;
        let ip = [
            8, 0, 0x45, 0x62, 0, 28, 0, 0, 0x40, 0, ttl, 17, high, low, 10, 0, 1, 1, 10, 0, 1, 3,
            0xc0, 0, 0x12, 0xb7, 0, 8, 0, 0,
        ];
        [&addresses[..], &ip, &[0; 18]].concat()
    };
    // 4562 + 001c + 0000 + 4000 + 4011 + 0a00 + 0101 + 0a00 + 0103 = db93; ~db93 = 246c. A hop less
    // takes 0100 from the sum: ~da93 = 256c.
    let before = head([2, 2, 0, 0, 0, 1, 2, 1, 0, 0, 0, 1], 64, [0x24, 0x6c]);
    let after = head([2, 1, 0, 0, 0, 2, 2, 2, 0, 0, 0, 2], 63, [0x25, 0x6c]);
    check(&[row("UDP to host 2", before, queued(2, 3, after))]);
}

#[test]
fn congestion_is_marked_where_it_may_be() {
    let above_kmax = |row| {
        in_state(row, |state| {
            for priority in 0..8 {
                state.egress_queues[queue_row(2, QueueId::data(priority))].bytes = 20_001;
            }
        })
    };
    let marked_row = |about, packet: RocePacket| {
        let marked = RocePacket { ecn: Ecn::CongestionExperienced, ..packet };
        let frame = forwarded(&marked, 2);
        let expected = Expected::Queued { egress_port: 2, queue: 3, marked: true, frame };
        above_kmax(row(about, received(&packet), expected))
    };
    let not_capable = RocePacket { ecn: Ecn::NotCapable, ..packet() };
    check(&[
        marked_row("ECT(0) above K_max", packet()),
        marked_row("ECT(1) above K_max", RocePacket { ecn: Ecn::Capable1, ..packet() }),
        above_kmax(forwarded_row("not capable, above K_max", &not_capable, 2, 3)),
        above_kmax(forwarded_row("a class without ECN", &data(2, 5, Ecn::Capable0, 90), 2, 5)),
    ]);
}

#[test]
fn frames_that_end_early() {
    let udp_without_ports = altered(|frame| {
        frame.truncate(36);
        frame[16..18].copy_from_slice(&22u16.to_be_bytes());
    });
    let mut udp_without_room = udp_without_ports.clone();
    udp_without_room.resize(60, 0);
    let beyond = altered(|frame| {
        let total = frame.len() as u16 - 14 + 1;
        frame[16..18].copy_from_slice(&total.to_be_bytes());
    });
    let pfc = pfc_bytes(&PfcFrame::xoff([2, 1, 0, 0, 0, 1], 8, 100));
    check(&[
        dropped("an Ethernet header alone", cut(14), DropReason::Truncated),
        dropped("a byte less than an IPv4 header", cut(33), DropReason::Truncated),
        dropped("an IPv4 header alone", cut(34), DropReason::Truncated),
        dropped("a byte less than the total length", cut(1057), DropReason::Truncated),
        dropped("a total length beyond the frame", beyond, DropReason::Truncated),
        dropped("UDP without ports", udp_without_ports, DropReason::Truncated),
        dropped("UDP without ports, padded", udp_without_room, DropReason::Truncated),
        dropped("MAC control without opcode", pfc[..14].to_vec(), DropReason::Truncated),
        dropped("half an opcode", pfc[..15].to_vec(), DropReason::Truncated),
        dropped("PFC without a vector", pfc[..16].to_vec(), DropReason::Truncated),
        dropped("PFC without its last quantum", pfc[..33].to_vec(), DropReason::Truncated),
        row(
            "PFC without its padding",
            pfc[..34].to_vec(),
            Expected::ControlReceived(HopControl::Classes(ClassPauses::xoff(8, 100))),
        ),
    ]);
}

/// `BPF_PROG_TEST_RUN` takes such frames since Linux 6.18.
#[test]
fn frames_shorter_than_an_ethernet_header() {
    let rows: Vec<Row> = (1..14)
        .map(|length| dropped("part of an Ethernet header", cut(length), DropReason::Truncated))
        .collect();
    check(&rows);
}

#[test]
fn frames_that_are_not_for_a_switch() {
    let too_long = in_frame_of(MAX_FRAME + 1, received(&packet()));
    let to_group = altered(|frame| frame[..6].copy_from_slice(&[0xff; 6]));
    let mut elsewhere = dropped("at no port", received(&packet()), DropReason::UnknownPort);
    elsewhere.port = NO_PORT;
    let mut unused = dropped("a port out of use", received(&packet()), DropReason::UnknownPort);
    unused.port = PORTS - 1;
    check(&[
        dropped("a frame longer than a record", too_long, DropReason::TooLong),
        dropped("as long as the kernel takes", vec![0; 65_000], DropReason::TooLong),
        elsewhere,
        in_state(unused, |state| state.config.ports = PORTS - 1),
        dropped(
            "to another port of this switch",
            bytes(&packet(), &inbound(2)),
            DropReason::NotForThisRouter,
        ),
        dropped("to everyone", to_group, DropReason::NotForThisRouter),
        dropped(
            "ARP",
            altered(|f| f[12..14].copy_from_slice(&[8, 6])),
            DropReason::UnknownEtherType,
        ),
        dropped(
            "802.1Q, which a port of a router does not expect",
            altered(|f| f[12..14].copy_from_slice(&[0x81, 0])),
            DropReason::UnknownEtherType,
        ),
        dropped("zeros", vec![0; 60], DropReason::UnknownEtherType),
    ]);
}

#[test]
fn ipv4_headers_that_are_wrong() {
    let mut bad_checksum = received(&packet());
    bad_checksum[24] ^= 0x80;
    let total =
        |length: u16| altered(move |frame| frame[16..18].copy_from_slice(&length.to_be_bytes()));
    check(&[
        dropped("IPv6's version", altered(|f| f[14] = 0x65), DropReason::BadIpv4Header),
        dropped("a header of 16 bytes", altered(|f| f[14] = 0x44), DropReason::BadIpv4Header),
        dropped("a total length of 19", total(19), DropReason::BadIpv4Header),
        dropped("a total length of 0", total(0), DropReason::BadIpv4Header),
        dropped("options", altered(|f| f[14] = 0x46), DropReason::Ipv4Options),
        dropped("a wrong checksum", bad_checksum, DropReason::BadIpv4Checksum),
        dropped("TTL 1", altered(|f| f[22] = 1), DropReason::TtlExpired),
        dropped("TTL 0", altered(|f| f[22] = 0), DropReason::TtlExpired),
    ]);
}

#[test]
fn destinations_without_a_route() {
    let to =
        |address: u32| altered(move |frame| frame[30..34].copy_from_slice(&address.to_be_bytes()));
    let to_host_2 = |about, reason| dropped(about, received(&packet()), reason);
    check(&[
        dropped("the host after the last", to(FIRST_HOST_ADDRESS + 8), DropReason::NoRoute),
        dropped("the address before host 0", to(FIRST_HOST_ADDRESS - 1), DropReason::NoRoute),
        dropped("another network", to(0xc0a8_0001), DropReason::NoRoute),
        in_state(to_host_2("an empty group", DropReason::Unreachable), |state| {
            state.routes[2].clear();
        }),
        in_state(to_host_2("a port that there is not", DropReason::NoRoute), |state| {
            state.routes[2] = vec![PORTS as u8];
        }),
    ]);
}

#[test]
fn buffers_that_are_full() {
    let lossless = |about, reason| dropped(about, received(&packet()), reason);
    let exhausted = |state: &mut State| {
        let queue = &mut state.ingress_queues[LOSSLESS];
        queue.private_bytes = 3000;
        queue.headroom_bytes = 19_000;
        queue.off = 1;
        state.switch.shared_bytes = 100_000;
    };
    let lossy =
        |about, reason| dropped(about, received(&data(2, 0, Ecn::NotCapable, 1000)), reason);
    check(&[
        in_state(lossless("headroom exhausted", DropReason::HeadroomExhausted), exhausted),
        in_state(lossy("an egress queue at its threshold", DropReason::LossyThreshold), |state| {
            state.egress_queues[queue_row(2, QueueId::data(0))].bytes = 25_000 - 1057;
        }),
        in_state(lossy("no shared buffer left", DropReason::LossyThreshold), |state| {
            state.switch.shared_bytes = 100_000;
        }),
        in_state(lossless("no descriptor left", DropReason::NoDescriptor), |state| {
            state.switch.slots_taken = state.switch.slots_limit;
        }),
    ]);
}

#[test]
fn a_pause_is_sent_when_headroom_is_reached() {
    let frame = pfc_bytes(&PfcFrame::xoff([2, 2, 0, 0, 0, 1], 8, 0xffff));
    let order = Order {
        control: HopControl::Classes(ClassPauses::xoff(8, 0xffff)),
        level: PauseLevel::Queue,
        resumes: false,
        pause: 1,
        occupancy_bytes: 31_000 + 1058,
        threshold_bytes: 31_900,
        shared_free_bytes: 63_800,
    };
    let row =
        row("the first packet in headroom", received(&packet()), Expected::Paused { order, frame });
    check(&[in_state(row, |state| {
        let queue = &mut state.ingress_queues[LOSSLESS];
        queue.private_bytes = 2500;
        queue.shared_bytes = 31_000;
        state.switch.shared_bytes = 36_200;
    })]);
}

#[test]
fn mac_control_frames_that_do_nothing() {
    let mut global = [0; pause::LEN];
    PauseFrame { source: [2, 1, 0, 0, 0, 1], quanta: 0xffff }.emit(&mut global);
    let mut unknown = pfc_bytes(&PfcFrame::xoff([2, 1, 0, 0, 0, 1], 8, 100));
    unknown[14..16].copy_from_slice(&[0x01, 0x02]);
    let mut reserved = pfc_bytes(&PfcFrame::xoff([2, 1, 0, 0, 0, 1], 0, 100));
    reserved[16] = 0xff;
    let all_set = PfcFrame { source: [2, 1, 0, 0, 0, 1], class_enable: 0, quanta: [0xffff; 8] };
    check(&[
        dropped("a global PAUSE", global.to_vec(), DropReason::GlobalPause),
        dropped("an opcode next to PFC's", unknown, DropReason::UnknownMacControl),
        dropped("PFC that enables no class", pfc_bytes(&all_set), DropReason::EmptyPfc),
        dropped("PFC with reserved bits alone", reserved, DropReason::EmptyPfc),
    ]);
}

#[test]
fn link_delay_frames_go_to_the_control_plane() {
    let mut request = LinkDelayFrame::request([2, 1, 0, 0, 0, 1], 7);
    request.stamp(Nanos(999_000));
    let bytes = link_delay_bytes(&request);
    let answer = request.answer([2, 1, 0, 0, 0, 1], Nanos(1), Nanos(300));
    let accepted = |about, frame: Vec<u8>| {
        let read = frame[..link_delay::LEN].to_vec();
        row(about, frame, Expected::LinkDelayReceived(read))
    };
    let changed = |about, at: usize| {
        let mut frame = bytes.clone();
        frame[at] ^= 2;
        dropped(about, frame, DropReason::BadLinkDelay)
    };
    let longer = [&bytes[..], &[7; 40]].concat();
    check(&[
        accepted("a request", bytes.clone()),
        accepted("a response", link_delay_bytes(&answer)),
        accepted("a frame with something behind it", longer),
        changed("to a group address that bridges forward not either", 5),
        changed("another protocol of the EtherType", 15),
        changed("neither request nor response", 17),
        dropped("without its kind", bytes[..17].to_vec(), DropReason::Truncated),
        dropped("without its padding", bytes[..59].to_vec(), DropReason::Truncated),
    ]);
}

/// Returns true if a class must not send.
fn is_paused(tables: &SwitchTables, port: u32, class: u8, now: u64) -> bool {
    tables.is_paused(port, Priority::new(class), Nanos(now))
}

/// Runs one PFC frame and passes the switches to `look`.
fn after_pfc(pfc: PfcFrame, look: impl FnOnce(&Twins) + Send) {
    in_namespace(|| {
        let mut twins = Twins::load(policy());
        twins.reset(&State::fresh());
        let arrival = twins.arrive(PORT, NOW, &pfc_bytes(&pfc)).expect("both agree");
        let control = HopControl::pfc(pfc.class_enable, pfc.quanta);
        assert_eq!(arrival.outcome, Outcome::ControlReceived(control));
        look(&twins);
    });
}

#[test]
fn a_pause_binds_its_class_at_its_port_alone() {
    after_pfc(PfcFrame::xoff([2, 1, 0, 0, 0, 1], 1 << 3, 100), |twins| {
        let tables = twins.kernel.tables();
        let paused = |port, class, now| is_paused(tables, port, class, now);
        // 100 quanta of 5.12 ns; the response time is 300 ns.
        assert!(!paused(PORT, 3, NOW.0 + 299));
        assert!(paused(PORT, 3, NOW.0 + 300) && paused(PORT, 3, NOW.0 + 511));
        assert!(!paused(PORT, 3, NOW.0 + 512));
        assert!((0..8).filter(|class| *class != 3).all(|class| !paused(PORT, class, NOW.0 + 300)));
        assert!((0..PORTS).filter(|p| *p != PORT).all(|port| !paused(port, 3, NOW.0 + 300)));
        assert_eq!(tables.state().zero_source_pfc.load(), 0);
    });
}

#[test]
fn a_pause_of_a_lossy_priority_does_not_stop_it_and_is_counted() {
    after_pfc(PfcFrame::xoff([2, 1, 0, 0, 0, 1], 0xff, 0xffff), |twins| {
        let tables = twins.kernel.tables();
        for class in 0..8 {
            let paused = is_paused(tables, PORT, class, NOW.0 + 1000);
            assert_eq!(paused, class == 3, "class {class}");
        }
        assert_eq!(tables.state().lossy_pauses_ignored.load(), 7);
    });
}

#[test]
fn a_pause_without_a_source_is_honoured_and_counted() {
    after_pfc(PfcFrame::xoff([0; 6], 1 << 3, 0xffff), |twins| {
        let tables = twins.kernel.tables();
        assert!(is_paused(tables, PORT, 3, NOW.0 + 1000));
        assert_eq!(tables.state().zero_source_pfc.load(), 1);
    });
}
