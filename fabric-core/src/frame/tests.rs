use super::*;
use crate::tables::owned::packet;
use crate::wire::roce::{Ecn, RocePacket, UDP_PORT};
use crate::wire::{LinkDelayFrame, PfcFrame, pfc};

/// A packet to host 1, received at port 0, with a change and a correct IPv4 checksum.
fn altered(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut frame = packet(0, 1, 3, Ecn::Capable0);
    change(&mut frame);
    frame[24..26].fill(0);
    let words =
        frame[14..34].chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !((folded & 0xffff) + (folded >> 16)) as u16;
    frame[24..26].copy_from_slice(&checksum.to_be_bytes());
    frame
}

fn parse(frame: &[u8]) -> Result<Parsed, DropReason> {
    ByteFrame(frame.to_vec().as_mut_slice()).parse()
}

fn fields(frame: &[u8]) -> Ipv4Fields {
    match parse(frame) {
        Ok(Parsed::Ipv4(fields)) => fields,
        other => panic!("{other:?}"),
    }
}

#[test]
fn all_but_not_ect_may_be_marked() {
    for (ecn, capable) in [(0, false), (1, true), (2, true), (3, true)] {
        let fields = Ipv4Fields { type_of_service: 0x60 | ecn, ..Ipv4Fields::default() };
        assert_eq!(fields.ecn_capable(), capable, "ECN {ecn}");
        assert_eq!(fields.congestion_experienced(), ecn == 3, "ECN {ecn}");
        assert_eq!(fields.priority().number(), 3);
    }
}

#[test]
fn a_packet_is_read_field_by_field() {
    let frame = altered(|frame| frame[26..30].copy_from_slice(&[1, 2, 3, 4]));
    let checksum = u16::from_be_bytes([frame[24], frame[25]]);
    assert_eq!(
        fields(&frame),
        Ipv4Fields {
            mac: address_to_u64([2, 1, 0, 0, 0, 0]),
            upstream: QueueId::CONTROL,
            source: 0x0102_0304,
            destination: 0x0a00_0102,
            ports: 50_000 << 16 | u32::from(UDP_PORT),
            protocol: 17,
            type_of_service: 0x62,
            remaining: RemainingSize::UNKNOWN,
            ttl: 64,
            checksum,
        }
    );
}

#[test]
fn only_whole_tcp_and_udp_packets_have_ports() {
    for (about, at, byte, expected) in [
        ("TCP", 23, 6, true),
        ("ICMP", 23, 1, false),
        ("do not fragment", 20, 0x40, true),
        ("more fragments", 20, 0x20, false),
        ("an offset", 21, 1, false),
        ("an offset of 32 KiB", 20, 0x10, false),
        ("the reserved bit", 20, 0x80, true),
    ] {
        let frame = altered(|frame| frame[at] = byte);
        assert_eq!(fields(&frame).ports != 0, expected, "{about}");
    }
}

#[test]
fn each_malformed_packet_has_its_reason() {
    use DropReason::{BadIpv4Checksum, BadIpv4Header, Ipv4Options, Truncated, UnknownEtherType};
    let cut = |length| packet(0, 1, 3, Ecn::Capable0)[..length].to_vec();
    let total_length =
        |length: u16| altered(move |frame| frame[16..18].copy_from_slice(&length.to_be_bytes()));
    let without_ports = |length: u16| {
        let mut frame = altered(move |frame| {
            frame[16..18].copy_from_slice(&length.to_be_bytes());
            frame[23] = 1;
        });
        frame.truncate(14 + usize::from(length));
        frame
    };
    let mut wrong_checksum = packet(0, 1, 3, Ecn::Capable0);
    wrong_checksum[25] ^= 1;
    for (about, frame, expected) in [
        ("nothing", vec![], Some(Truncated)),
        ("13 bytes", cut(13), Some(Truncated)),
        ("33 bytes", cut(33), Some(Truncated)),
        ("a byte less than announced", cut(1057), Some(Truncated)),
        ("as many as announced", cut(1058), None),
        ("a byte more is announced", total_length(1045), Some(Truncated)),
        ("padding", total_length(1043), None),
        ("IPv6", altered(|frame| frame[12] = 0x86), Some(UnknownEtherType)),
        ("version 5", altered(|frame| frame[14] = 0x55), Some(BadIpv4Header)),
        ("a header of 16 bytes", altered(|frame| frame[14] = 0x44), Some(BadIpv4Header)),
        ("a header of 24 bytes", altered(|frame| frame[14] = 0x46), Some(Ipv4Options)),
        ("total length 19", total_length(19), Some(BadIpv4Header)),
        ("total length 20 without ports", without_ports(20), None),
        ("total length 20 with ports", total_length(20), Some(Truncated)),
        ("total length 23 with ports", total_length(23), Some(Truncated)),
        ("total length 24 with ports", total_length(24), None),
        ("a wrong checksum", wrong_checksum, Some(BadIpv4Checksum)),
    ] {
        assert_eq!(parse(&frame).err(), expected, "{about}");
    }
}

#[test]
fn one_checksum_is_right_whatever_the_sum() {
    for identification in [0, 1, 0x1234, 0x8000, 0xffff_u16] {
        let mut frame =
            altered(|frame| frame[18..20].copy_from_slice(&identification.to_be_bytes()));
        let right = u16::from_be_bytes([frame[24], frame[25]]);
        assert!((1..0xffff).contains(&right), "0 and 0xffff would be the same number");
        for checksum in 0..=u16::MAX {
            frame[24..26].copy_from_slice(&checksum.to_be_bytes());
            let expected = (checksum != right).then_some(DropReason::BadIpv4Checksum);
            assert_eq!(parse(&frame).err(), expected, "{checksum:#06x}, should be {right:#06x}");
        }
    }
}

#[test]
fn a_pfc_frame_is_read_field_by_field() {
    let quanta = [1, 0x0203, 4, 5, 6, 7, 8, 0xfffe];
    let frame = PfcFrame { source: [2, 1, 0, 3, 4, 5], class_enable: 0xa5, quanta };
    let mut bytes = [0; pfc::LEN];
    frame.emit(&mut bytes);
    let source = address_to_u64(frame.source);
    let expected = PfcFields { source, class_enable: 0xa5, quanta };
    assert_eq!(parse(&bytes), Ok(Parsed::Pfc(expected)));
    assert_eq!(parse(&bytes[..34]), Ok(Parsed::Pfc(expected)), "the padding is not looked at");

    assert_eq!(parse(&bytes[..33]), Err(DropReason::Truncated));
    assert_eq!(parse(&bytes[..15]), Err(DropReason::Truncated));
    for (at, byte, reason) in [
        (14, 0, DropReason::GlobalPause),
        (15, 2, DropReason::UnknownMacControl),
        (14, 2, DropReason::UnknownMacControl),
        (17, 0, DropReason::EmptyPfc),
    ] {
        let mut bytes = bytes;
        bytes[at] = byte;
        assert_eq!(parse(&bytes), Err(reason), "byte {at}");
    }
}

#[test]
fn a_link_delay_frame_is_for_the_control_plane_if_it_is_one() {
    let mut bytes = [0; link_delay::LEN];
    LinkDelayFrame::request([2, 1, 0, 0, 0, 0], 7).emit(&mut bytes);
    assert_eq!(parse(&bytes), Ok(Parsed::LinkDelay));
    assert_eq!(parse(&[&bytes[..], &[0]].concat()), Ok(Parsed::LinkDelay));
    assert_eq!(parse(&bytes[..59]), Err(DropReason::Truncated));
    assert_eq!(parse(&bytes[..17]), Err(DropReason::Truncated));
    for at in [0, 5, 14, 15, 16, 17] {
        let mut bytes = bytes;
        bytes[at] ^= 0x40;
        assert_eq!(parse(&bytes), Err(DropReason::BadLinkDelay), "byte {at}");
    }
}

/// The hosts' parser rejects packets with a wrong checksum.
#[test]
fn a_packet_that_is_forwarded_marked_or_both_is_one_that_hosts_take() {
    let (source, destination) = ([2, 1, 0, 0, 0, 9], [2, 2, 0, 0, 0, 8]);
    for ecn in [Ecn::NotCapable, Ecn::Capable0, Ecn::Capable1, Ecn::CongestionExperienced] {
        let sent = packet(0, 1, 3, ecn);
        let before = RocePacket::parse(&sent).unwrap();
        for marks in [false, true] {
            let mut bytes = sent.clone();
            let mut frame = ByteFrame(bytes.as_mut_slice());
            let (from, to) = (address_to_u64(source), address_to_u64(destination));
            assert_eq!(frame.length(), 1058);
            frame.forward(from, to, &fields(&sent)).unwrap();
            if marks {
                frame.mark_congestion(&fields(&sent)).unwrap();
            }
            let expected = if marks { Ecn::CongestionExperienced } else { ecn };
            let forwarded = RocePacket { ttl: 63, ecn: expected, ..before };
            assert_eq!(RocePacket::parse(&bytes), Ok(forwarded));
            assert_eq!((&bytes[..6], &bytes[6..12]), (&destination[..], &source[..]));
        }
        let mut bytes = sent;
        mark_admitted(&mut bytes);
        let marked = RocePacket { ecn: Ecn::CongestionExperienced, ..before };
        assert_eq!(RocePacket::parse(&bytes), Ok(marked));
    }
}

#[test]
fn a_frame_that_ends_early_is_not_changed_beyond_its_end() {
    let fields = fields(&packet(0, 1, 3, Ecn::Capable0));
    for length in [11, 13, 25] {
        let mut bytes = vec![0; length];
        let mut frame = ByteFrame(bytes.as_mut_slice());
        assert_eq!(frame.forward(1, 2, &fields), Err(DropReason::Truncated), "{length} bytes");
        assert_eq!(frame.mark_congestion(&fields), Err(DropReason::Truncated), "{length} bytes");
    }
    let mut bytes = vec![0; 33];
    mark_admitted(&mut bytes);
    assert_eq!(bytes, [0; 33], "no whole header");
}
