//! Faults that are injected below `xoff selftest`: the right test fails, and its message names the cause. Needs root, `ip` and
//! `tc`.

use tests::command::{Finished, isolate, traces};
use tests::faults::{Paused, classifying, corrupting, losing_mac_control};

/// Places of namespaces: a rig has host 0, host 1 and the switch.
const H0: usize = 0;
const S0: usize = 2;
/// Interface indices of host 0, and of the switch's first port.
const HOST: u32 = 1000;
const PORT: u32 = 2;
/// A record of the ring with its header.
const RECORD: u64 = 96 + 3232 + 8;

/// Starts a test, disturbs it when it is set up, and returns its outcome. Nothing must be left.
#[track_caller]
fn disturbed<R>(test: &str, disturb: impl FnOnce(&Paused) -> R) -> Finished {
    isolate();
    let before = traces();
    let paused = Paused::start(test);
    let fault = disturb(&paused);
    let finished = paused.go_on();
    drop(fault);
    assert_eq!(traces(), before);
    finished
}

/// Asserts that a step has failed, with all of these words in its message.
#[track_caller]
fn assert_says(finished: &Finished, step: &str, words: &[&str]) {
    let shown = format!("  # {step}\n");
    let (_, rest) = finished.stdout.split_once(&shown).unwrap_or_else(|| {
        panic!("{step:?} did not fail: {}\n{}", finished.stdout, finished.stderr)
    });
    let (said, _) = rest.split_once("not ok").expect("it says so");
    for word in words {
        assert!(said.contains(word), "{word:?} is not in this message:\n{said}");
    }
    assert_eq!(finished.code, 1, "{}", finished.stderr);
    assert!(finished.stdout.contains("# again: xoff selftest --only "), "{}", finished.stdout);
}

#[test]
fn a_test_that_nobody_disturbs_passes() {
    let finished = disturbed("xdp.native", |_| ()).assert_code(0);
    assert!(finished.stdout.contains("\nok 1 - xdp.native # time="), "{}", finished.stdout);
}

#[test]
fn a_program_that_corrupts_a_byte_is_found_and_named() {
    let finished =
        disturbed("xdp.native", |test| test.at_egress(H0, HOST, "corrupts", &corrupting(60)));
    let words = ["byte 60 of frame", "(1 bytes of it are changed)", "\"corrupts\"", "TCX egress"];
    assert_says(&finished, "no byte is changed", &words);
    let stdout = &finished.stdout;
    assert!(stdout.contains("ok 5 - each frame arrives once"), "{stdout}");
    assert!(stdout.contains("ok 6 - frames keep their order"), "{stdout}");
}

#[test]
fn native_xdp_that_has_become_generic_is_found() {
    let finished = disturbed("xdp.native", |test| test.make_generic(S0, PORT));
    let words = ["expected: native XDP (drv)", "got:      generic XDP (skb)", "-s0/h0"];
    assert_says(&finished, "the kernel says that the program is still there", &words);
    // Every frame came, which is why nothing else shows it.
    assert!(finished.stdout.contains("ok 7 - no byte is changed"), "{}", finished.stdout);
}

#[test]
fn native_xdp_that_has_become_generic_is_found_in_a_whole_fabric() {
    const LEAF0: usize = 8;
    let finished = disturbed("fabric.native", |test| test.make_generic(LEAF0, PORT));
    let words = ["native XDP (drv)", "generic XDP (skb)", "-leaf0/h0"];
    assert_says(&finished, "the kernel says that the programs are still there", &words);
}

#[test]
fn a_ring_that_loses_records_is_found() {
    let finished = disturbed("ring.load", |test| test.shrink_ring(RECORD, 100));
    let words = ["of 512 missing", "bpf_ringbuf_reserve failed"];
    assert_says(&finished, "each frame arrives once", &words);
    let words = ["reservations that failed (counted as ring-full)", "the ring buffer"];
    assert_says(&finished, "no reservation failed, for there was room", &words);
}

/// Lets frames overtake each other behind the first host's interface.
fn reorder(test: &Paused, interface: &str) -> linux::bpf::Link {
    for arguments in [
        "qdisc add dev IF root handle 1: htb default 10",
        "class add dev IF parent 1: classid 1:10 htb rate 10gbit quantum 4000",
        "class add dev IF parent 1: classid 1:20 htb rate 8mbit burst 1600 cburst 1600",
    ] {
        let arguments = arguments.replace("IF", interface);
        let words: Vec<&str> = ["tc"].into_iter().chain(arguments.split(' ')).collect();
        test.run(H0, &words);
    }
    test.at_egress(H0, HOST, "classifies", &classifying())
}

#[test]
fn frames_that_overtake_each_other_on_their_way_to_a_redirect_are_found() {
    for redirects in ["map.devices", "map.processors"] {
        let finished = disturbed(redirects, |test| reorder(test, "out"));
        assert_says(&finished, "frames keep their order", &[" after frame "]);
        let as_before = "interfaces are as they were set up";
        assert_says(&finished, as_before, &["the queueing discipline was", "-sender/out"]);
    }
}

#[test]
fn a_redirect_that_has_become_generic_or_is_gone_is_found() {
    for redirects in ["map.devices", "map.processors"] {
        let finished = disturbed(redirects, |test| test.make_generic(1, PORT));
        let step = "the kernel says that it is in the driver";
        assert_says(&finished, step, &["native XDP (drv)", "generic XDP (skb)", "-middle/in"]);
    }
    // Without its program the stack gets the same frames, but none of them was on the other processor.
    let finished = disturbed("map.processors", |test| drop(test.make_generic(1, PORT)));
    assert_says(&finished, "no byte is changed", &["byte 11 of frame"]);
}

#[test]
fn a_test_that_fails_leaves_its_evidence() {
    isolate();
    let folder = tests::command::ScenarioFolder::new();
    let report = folder.path("report");
    let test = Paused::start_with("xdp.native", &["--report", &report]);
    test.run(H0, &["ip", "link", "set", "s0", "mtu", "1000"]);
    test.go_on().assert_code(1);
    let read = |name: &str| {
        let path = std::path::Path::new(&report).join("xdp.native").join(name);
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    assert!(read("programs.txt").contains("name switch_port"));
    assert!(read("maps.txt").contains("name PORTS"));
    assert!(read("interfaces.txt").contains("mtu: 1000"), "as it was when the test failed");
}

#[test]
fn a_queueing_discipline_that_reorders_is_found_and_named() {
    let finished = disturbed("xdp.native", |test| reorder(test, "s0"));
    let words = [" after frame ", "the queueing discipline was noqueue and is htb", "-h0/s0"];
    assert_says(&finished, "frames keep their order", &words);
    assert!(finished.stdout.contains("ok 7 - no byte is changed"), "{}", finished.stdout);
}

#[test]
fn a_wrong_mtu_is_found_and_named() {
    let finished = disturbed("xdp.native", |test| {
        test.run(H0, &["ip", "link", "set", "s0", "mtu", "1000"]);
    });
    let words = ["Message too long", "-h0/s0: the MTU was 3218 and is 1000"];
    assert_says(&finished, "frames are sent, and records come", &words);
}

#[test]
fn a_lost_mac_control_frame_is_found_and_named() {
    let finished = disturbed("mac-control", |test| {
        test.at_egress(S0, PORT, "loses_control", &losing_mac_control())
    });
    let words =
        ["the PAUSE of priority 0 to 01:80:c2:00:00:01", "is lost", "\"loses_control\"", "-s0/h0"];
    assert_says(&finished, "the switch's frames reach a host's socket", &words);
}

#[test]
fn a_clsact_that_is_deleted_is_found() {
    let finished = disturbed("tc.ingress", |test| {
        test.run(S0, &["tc", "qdisc", "delete", "dev", "h0", "clsact"]);
    });
    assert_says(&finished, "each frame arrives once", &["missing", "clsact ingress"]);
}

#[test]
fn a_link_that_is_down_is_found_and_named() {
    let finished = disturbed("xsk.copy", |test| {
        test.run(S0, &["ip", "link", "set", "h1", "down"]);
    });
    let words = ["to be sent", "-s0/h1: the interface was up and is down"];
    assert_says(&finished, "the switch sends to a host", &words);
}

#[test]
fn a_filter_before_the_auditor_is_found() {
    let finished =
        disturbed("tc.egress", |test| test.at_egress(S0, PORT + 1, "corrupts", &corrupting(70)));
    assert_says(&finished, "no byte is changed", &["byte 70 of frame", "\"corrupts\""]);
    let interfaces = "interfaces are as they were set up";
    assert_says(&finished, interfaces, &["which the test did not attach"]);
}
