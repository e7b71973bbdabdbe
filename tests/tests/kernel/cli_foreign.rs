//! Other programs in a living fabric's namespaces: a run reports the changes that they cause. Needs root, `ip`, `tc`
//! and `ping`.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::thread;

use fabric_core::wire::roce::RocePacket;
use fabric_core::wire::{Ecn, LinkAddresses, Opcode, Psn, RemainingSize};
use linux::packet_socket::PacketSocket;
use results::Summary;
use tests::command::{
    Finished, Running, ScenarioFolder, await_fabrics, isolate, shipped, traces, xoff,
};
use tests::fabric::{AT_OTHER_HOOKS, OVER_TAPS};

const STAR_NODES: usize = 10;
/// Interface indices of the star's switch start with 2, for h0.
const TOWARDS_H0: u32 = 2;
/// The last interface of the star's switch.
const LAST_PORT: &str = "h8";
/// Links of a run of some seconds, and as many bytes as take that long.
const VETHS: [&str; 2] = ["--set", "flows.0.bytes=20MB"];
const TAPS: [&str; 4] = ["--set", "flows.0.bytes=20MB", "--set", OVER_TAPS];
const LOCAL_EXPERIMENT: [u8; 2] = [0x88, 0xb6];

/// A run of some seconds during which a program does something in the namespace of `node`.
fn disturbed(node: &str, disturb: impl FnOnce(&str)) -> Finished {
    disturbed_over(&VETHS, node, disturb)
}

fn disturbed_over(links: &[&str], node: &str, disturb: impl FnOnce(&str)) -> Finished {
    isolate();
    let before = traces();
    let star = shipped("star-incast");
    let run = Running::start(&mut xoff(["run", &star, "--json"].iter().chain(links).copied()));
    let namespaces = await_fabrics(1, STAR_NODES);
    let namespace = namespaces.iter().find(|name| name.ends_with(&format!("-{node}")));
    let namespace = namespace.expect("every node has a namespace").clone();
    await_link(&namespace, node == "s0" && links.contains(&AT_OTHER_HOOKS[1]));
    disturb(&namespace);
    let finished = run.finish();
    assert_eq!(traces(), before);
    finished
}

/// Waits until programs are attached, soon after which the run starts. At TC it waits for the last port's programs.
fn await_link(namespace: &str, at_tc: bool) {
    let (command, words): (&[&str], _) = if at_tc {
        (&["tc", "filter", "show", "dev", LAST_PORT, "egress"], "egress_auditor")
    } else {
        (&["ip", "-details", "link"], "prog/xdp")
    };
    while !in_namespace(namespace, command).contains(words) {
        thread::yield_now();
    }
}

fn in_namespace(namespace: &str, command: &[&str]) -> String {
    let output = Command::new("ip")
        .args(["netns", "exec", namespace])
        .args(command)
        .output()
        .expect("this test needs the program ip");
    String::from_utf8(output.stdout).expect("these programs print ASCII")
}

/// Sends a frame over and over until the run has surely started, as a program of the namespace would.
fn send(namespace: &str, interface: u32, frame: &[u8]) {
    let namespace = File::open(format!("/run/netns/{namespace}")).expect("the fabric lives");
    let sending = || {
        // SAFETY: the descriptor is an open namespace; only this thread moves.
        let entered = unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) };
        assert_eq!(entered, 0);
        let socket = PacketSocket::open().expect("root may open one");
        for _ in 0..100 {
            // A fabric that has ended takes its interfaces along.
            let _ = socket.send(interface, frame, 0);
            thread::sleep(std::time::Duration::from_millis(3));
        }
    };
    thread::scope(|scope| scope.spawn(sending).join().expect("it does not panic"));
}

#[track_caller]
fn assert_noticed(finished: Finished) {
    let finished = finished.assert_code(1);
    let says = |words: &str| finished.stderr.contains(words) || finished.stdout.contains(words);
    // Between two frames it is in the way of the next; after the last one only the books know.
    assert!(says("another program sends into") || says("and the switch saw"), "{finished:?}");
}

#[test]
fn a_ping_from_a_host_is_noticed() {
    let finished = disturbed("h3", |namespace| {
        in_namespace(namespace, &["ping", "-n", "-c", "20", "-i", "0.01", "-W", "1", "10.0.1.1"]);
    });
    assert_noticed(finished);
}

#[test]
fn a_frame_to_a_switch_is_noticed() {
    let mut frame = [0; 60];
    frame[..6].fill(0xff);
    frame[12..14].copy_from_slice(&LOCAL_EXPERIMENT);
    let finished = disturbed("h3", |namespace| send(namespace, 1003, &frame));
    assert_noticed(finished);
}

/// Frames with an 802.1Q tag, which TC does not see among the bytes, and without one.
#[test]
fn a_frame_to_a_switch_is_noticed_at_every_hook() {
    let mut frame = [0; 60];
    frame[..6].fill(0xff);
    for (hook, ether_type) in [(0, LOCAL_EXPERIMENT), (1, LOCAL_EXPERIMENT), (1, [0x81, 0])] {
        frame[12..14].copy_from_slice(&ether_type);
        let settings = [&VETHS[..], &["--set", AT_OTHER_HOOKS[hook]]].concat();
        let sent = |namespace: &str| send(namespace, 1003, &frame);
        assert_noticed(disturbed_over(&settings, "h3", sent));
    }
}

/// No program receives the frame, so no record comes: the run waits for a record, but not forever.
#[test]
fn a_frame_that_is_lost_ends_the_run() {
    let settings = [&VETHS[..], &["--set", AT_OTHER_HOOKS[1]]].concat();
    let finished = disturbed_over(&settings, "s0", |namespace| {
        in_namespace(namespace, &["tc", "qdisc", "delete", "dev", "h0", "clsact"]);
    });
    let finished = finished.assert_code(1);
    for words in ["did not arrive within 1000 ms", "the substrate lost it"] {
        assert!(finished.stderr.contains(words), "{words}: {}", finished.stderr);
    }
    // The kernel also stops the interface's own queue for a moment when it takes a clsact away.
    let mut wires = ["wire h0->s0: ", "wire s0->h0: "].into_iter();
    assert!(wires.any(|wire| finished.stderr.contains(wire)), "{}", finished.stderr);
}

#[test]
fn a_forged_congestion_notification_to_a_host_is_noticed() {
    let packet = RocePacket {
        source: 0x0a00_0101,
        destination: 0x0a00_0102,
        source_port: 49_152,
        dscp: 48,
        ecn: Ecn::NotCapable,
        ttl: 63,
        opcode: Opcode::Cnp,
        ack_request: false,
        congestion_echo: false,
        destination_qp: 2,
        psn: Psn::default(),
        reth: None,
        aeth: None,
        payload_length: 0,
        telemetry: None,
        remaining: RemainingSize::UNKNOWN,
    };
    let mut frame = vec![0; packet.frame_length()];
    let addresses = LinkAddresses { source: [2, 2, 0, 0, 0, 1], destination: [2, 1, 0, 0, 0, 1] };
    packet.emit(&addresses, &mut frame).expect("its fields are in range");
    let finished = disturbed("s0", |namespace| send(namespace, TOWARDS_H0 + 1, &frame));
    assert_noticed(finished);
}

#[test]
fn a_cable_that_is_pulled_is_noticed_and_what_was_measured_is_kept() {
    let folder = ScenarioFolder::new();
    let out = folder.path("kept");
    let finished = disturbed_over(&[&VETHS[..], &["--out", &out]].concat(), "s0", |namespace| {
        in_namespace(namespace, &["ip", "link", "set", "h0", "down"]);
    });
    let finished = finished.assert_code(1);
    assert!(finished.stderr.contains("wire "), "{}", finished.stderr);
    let summary = fs::read_to_string(format!("{out}/summary.json")).expect("it is kept");
    assert_eq!(summary, finished.stdout);
    let summary: serde_json::Value = serde_json::from_str(&summary).expect("it is JSON");
    assert_eq!(summary["ended"], "failed");
    let why = summary["unfinished"].as_str().expect("it says why");
    assert!(why.starts_with("the run failed at ") && why.contains("wire "), "{why}");
    assert_ne!(summary["packet_hops"], 0);
    let links = fs::read_to_string(format!("{out}/links.csv")).expect("it is kept");
    assert!(links.contains("h8->s0"), "{links}");
}

#[test]
fn a_frame_for_a_hosts_kernel_changes_nothing() {
    let mut frame = [0; 60];
    frame[..6].fill(0xff);
    frame[12..14].copy_from_slice(&LOCAL_EXPERIMENT);
    let finished = disturbed("s0", |namespace| send(namespace, TOWARDS_H0, &frame));
    assert_undisturbed(finished, &VETHS);
}

/// Frames that leave through a tap device have no reader.
#[test]
fn what_is_sent_over_tap_devices_changes_nothing() {
    let finished = disturbed_over(&TAPS, "h3", |namespace| {
        in_namespace(namespace, &["ping", "-n", "-c", "20", "-i", "0.01", "-W", "1", "10.0.1.1"]);
    });
    assert_undisturbed(finished, &TAPS);
    let finished =
        disturbed_over(&TAPS, "s0", |namespace| send(namespace, TOWARDS_H0, &[0xff; 60]));
    assert_undisturbed(finished, &TAPS);
}

#[test]
fn a_tap_device_that_is_deleted_is_noticed() {
    let finished = disturbed_over(&TAPS, "s0", |namespace| {
        in_namespace(namespace, &["ip", "link", "delete", "h0"]);
    });
    let finished = finished.assert_code(1);
    for words in ["wire h0->s0: ", "tap device h0"] {
        assert!(finished.stderr.contains(words), "{words}: {}", finished.stderr);
    }
    // Depends on the kernel's progress.
    let causes = ["the interface was deleted", "the interface is down, or about to be deleted"];
    assert!(causes.iter().any(|cause| finished.stderr.contains(cause)), "{}", finished.stderr);
}

#[track_caller]
fn assert_undisturbed(finished: Finished, links: &[&str]) {
    let disturbed = emulated(&finished.assert_code(0).stdout);
    let star = shipped("star-incast");
    let lone = ["run", &star, "--json", "--datapath", "memory"];
    let lone = Running::start(&mut xoff(lone.iter().chain(links).copied())).finish();
    assert_eq!(disturbed, emulated(&lone.assert_code(0).stdout));
}

/// A summary without speed-dependent values.
fn emulated(summary: &str) -> serde_json::Value {
    let mut summary: serde_json::Value = serde_json::from_str(summary).expect("it is JSON");
    let object = summary.as_object_mut().expect("a summary is an object");
    for key in Summary::MACHINE_KEYS {
        object.remove(key).expect("it is there");
    }
    summary
}

#[test]
#[ignore = "long"]
fn a_living_fabric_can_be_looked_at() {
    can_be_looked_at(&VETHS, "\"operstate\":\"UP\"");
    can_be_looked_at(&TAPS, "\"LOWER_UP\"");
}

fn can_be_looked_at(links: &[&str], carrier: &str) {
    let folder = ScenarioFolder::new();
    let finished = disturbed_over(links, "h3", |namespace| {
        let link = in_namespace(namespace, &["ip", "-json", "address", "show", "s0"]);
        for words in ["\"10.0.1.4\"", "\"02:01:00:00:00:03\"", carrier] {
            assert!(link.contains(words), "{words}: {link}");
        }
        let neighbours = in_namespace(namespace, &["ip", "neighbour"]);
        assert_eq!(neighbours.matches("PERMANENT").count(), 8, "{neighbours}");
        let seen = in_namespace(namespace, &["cat", "/proc/net/dev"]);
        fs::write(folder.path("seen"), seen).expect("the folder is ours");
    });
    finished.assert_code(0);
    let seen = fs::read_to_string(folder.path("seen")).expect("it was written");
    assert!(seen.contains("s0:"), "{seen}");
}
