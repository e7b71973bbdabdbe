//! Captures of the real kernel under independent eyes. Needs root, tshark and scapy.

use std::fs;

use tests::fabric::dissection::{EVERY_KIND, assert_tshark_agrees, opcodes, scapy_icrcs};
use tests::fabric::{CAPTURE_ALL, Run, captured_drops, in_kernel, on_both, shipped, shipped_files};

const WRITE_FIRST: u8 = 0x06;
const WRITE_ONLY: u8 = 0x0a;
const ACKNOWLEDGE: u8 = 0x11;
const CNP: u8 = 0x81;

fn every_kind() -> Run {
    let run = in_kernel(EVERY_KIND, &[]);
    run.assert_sound();
    let summary = &run.summary;
    assert!(summary.pause_frames > 0 && summary.resume_frames > 0 && summary.cnps > 0);
    assert!(summary.retransmitted_packets > 0, "the fault calls for a NAK");
    run
}

#[test]
fn tshark_dissects_every_kind_of_frame() {
    let run = every_kind();
    assert_tshark_agrees(&run);
    let pfc = run.frames().iter().filter(|frame| frame.pfc().is_some()).count() as u64;
    assert_eq!(pfc, run.summary.pause_frames + run.summary.resume_frames);
    let opcodes = opcodes(&run);
    // Two wires each.
    assert_eq!(opcodes[&WRITE_FIRST], 2 * 3);
    assert_eq!(opcodes[&WRITE_ONLY], 2);
    assert_eq!(opcodes[&CNP], 2 * run.summary.cnps);
    assert!(opcodes[&ACKNOWLEDGE] > 2 * 3 * 50, "an ACK for four packets");
}

#[test]
fn tshark_dissects_a_leaf_spine() {
    let incast = shipped_files().into_iter().find(|path| path.ends_with("victim.toml")).unwrap();
    let run = on_both(&shipped(&incast), &[CAPTURE_ALL]);
    assert_tshark_agrees(&run);
}

#[test]
fn scapy_computes_the_same_icrcs() {
    let run = every_kind();
    assert_eq!(scapy_icrcs(&run.capture_path()), Ok(opcodes(&run)));
}

/// Test of the instrument itself: a changed bit is detected if ICRC covers it, and ignored if
/// routers may change it.
#[test]
#[ignore = "long"]
fn scapy_sees_a_changed_bit() {
    let small = r#"flows=[{ kind = "one", src = "h1", dst = "h0", bytes = "20B" }]"#;
    let run = in_kernel(EVERY_KIND, &[small]);
    let capture = fs::read(run.capture_path()).unwrap();
    // UDP destination port 4791, of the first packet in the file.
    let port = capture.windows(2).position(|bytes| bytes == [0x12, 0xb7]).unwrap();
    let (udp_destination, ip_header) = (2, 20);
    let ip = port - udp_destination - ip_header;
    let with_flipped = |at: usize| {
        let mut changed = capture.clone();
        changed[at] ^= 1;
        let path = run.capture_path().with_extension("changed");
        fs::write(&path, changed).unwrap();
        scapy_icrcs(&path)
    };
    assert_eq!(with_flipped(ip + 1), Ok(opcodes(&run)), "ECN may change on the way");
    assert_eq!(with_flipped(ip + 8), Ok(opcodes(&run)), "TTL changes at every hop");
    for covered in [ip + 12, port + 8, port + 30] {
        let wrong = with_flipped(covered).unwrap_err();
        assert!(wrong.starts_with("packet 1: ICRC"), "{wrong}");
    }
}

#[test]
fn drops_are_captured_with_their_reason() {
    captured_drops::all_are_captured_with_their_reason(on_both);
}
