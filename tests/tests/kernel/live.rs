//! Live fabrics as a user has them: deployed, inspected, disturbed, destroyed, and their behaviour when something goes
//! wrong. Needs root, `ip`, `ping` and tshark.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tests::command::{
    Running, await_that, await_unloaded, bpf_objects_of, finish, guardian_of, kill, shipped,
    traces, without_capabilities, xoff,
};
use tests::fabric::AT_OTHER_HOOKS;
use tests::live::{Lab, SLOW, command, inside, json, live, ping, signal_supervisor, supervisor};

#[test]
fn a_fabric_is_deployed_looked_at_and_destroyed() {
    let lab = Lab::deploy(SLOW, &[]);
    let listed = command(&["list"]).assert_code(0);
    assert!(listed.stdout.contains("\nlab   up "), "{listed:?}");
    let again = command(&["deploy", &lab.folder.path("lab.toml")]).assert_code(0);
    assert_eq!(again.stdout, "lab is up, and nothing has changed\n");
    let view = json(&["inspect", "lab", "--json"]);
    assert_eq!(view["hosts"].as_array().map(Vec::len), Some(4));
    assert_eq!(view["hosts"][3]["address"], "10.0.1.4");
    assert_eq!(view["switches"].as_array().map(Vec::len), Some(4));
    // Names of hosts are known to programs.
    let pinged = ping("h3", "3", "h0").assert_code(0);
    assert!(pinged.stdout.contains("3 received"), "{pinged:?}");
    assert!(pinged.stdout.contains("ttl=61"), "three switches are routers: {pinged:?}");
    let view = json(&["inspect", "lab", "--json"]);
    assert_eq!(view["hosts"][0]["program_frames_sent"], 3);
    assert_eq!(view["hosts"][0]["program_frames_received"], 3);
    assert_eq!(view["packet_hops"], 3 * 2 * 4);
    let text = command(&["inspect", "lab"]).assert_code(0).stdout;
    assert!(text.contains("fidelity: "), "{text}");
    let graph = command(&["graph", "lab", "--format", "dot"]).assert_code(0).stdout;
    assert!(graph.contains("spine1"), "{graph}");
    lab.destroy();
    command(&["destroy", "lab"]).assert_refused(&["there is no live fabric lab", "xoff list"]);
    let listed = command(&["list"]).assert_code(0);
    assert!(listed.stdout.contains("there is no live fabric"), "{listed:?}");
}

#[test]
fn flows_take_as_long_as_in_a_run() {
    let (bytes, hosts) = ("100kB", ["h1", "h2", "h3", "h4", "h5", "h6", "h7"]);
    let fixed = ["--set", "host.transport={ kind = \"roce-rc\", congestion_control = \"none\" }"];
    let text = fs::read_to_string(shipped("incast")).unwrap();
    let fabric = &text[..text.find("[[flows]]").unwrap()];
    let lab = Lab::deploy(&fabric.replace("name = \"incast\"", "name = \"lab\""), &fixed);
    let sent = command(&["incast", "lab", "h0", "--bytes", bytes, "--json"]).assert_code(0);
    let mut live: Vec<(String, u64)> = sent
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|flow| (flow["src"].as_str().unwrap().to_owned(), flow["fct_ns"].as_u64().unwrap()))
        .collect();
    live.sort();
    lab.destroy();
    let flows = format!(
        "[[flows]]\nkind = \"incast\"\nsenders = {hosts:?}\nreceiver = \"h0\"\nbytes = \"{bytes}\"\npriority = 3\n"
    );
    let file = lab.folder.write("run.toml", format!("{fabric}{flows}"));
    let out = lab.folder.path("out");
    command(&["run", &file, "--datapath", "memory", "--out", &out, fixed[0], fixed[1]])
        .assert_code(0);
    let table = fs::read_to_string(Path::new(&out).join("flows.csv")).unwrap();
    let mut lines = table.lines();
    let columns: Vec<&str> = lines.next().unwrap().split(',').collect();
    let place = |name: &str| columns.iter().position(|column| *column == name).unwrap();
    let (src, fct) = (place("src"), place("fct_ns"));
    let mut batch: Vec<(String, u64)> = lines
        .map(|line| line.split(',').collect::<Vec<_>>())
        .map(|row| (row[src].to_owned(), row[fct].parse().unwrap()))
        .collect();
    batch.sort();
    assert_eq!(live, batch);
    assert_eq!(live.len(), 7);
}

#[test]
fn a_scenarios_flows_are_played() {
    let flow = "[[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h3\"\nbytes = \"20kB\"\n";
    let lab = Lab::deploy(&format!("{SLOW}{flow}"), &["--play"]);
    await_that("a flow is played", || json(&["inspect", "lab", "--json"])["completed_flows"] == 1);
    // The next one is not a part of the scenario.
    let sent = command(&["send", "lab", "h0", "h3", "--bytes", "14000B"]).assert_code(0);
    assert!(sent.stdout.contains("slowdown 1.00"), "{sent:?}");
    lab.destroy();
}

#[test]
fn a_fabric_lives_at_every_hook() {
    for hook in AT_OTHER_HOOKS {
        let lab = Lab::deploy(SLOW, &["--set", hook]);
        let pinged = ping("h3", "3", "h0").assert_code(0);
        assert!(pinged.stdout.contains("3 received"), "{hook}: {pinged:?}");
        let sent = command(&["send", "lab", "h0", "h3", "--bytes", "14000B"]).assert_code(0);
        assert!(sent.stdout.contains("slowdown 1.00"), "{hook}: {sent:?}");
        lab.destroy();
    }
}

#[test]
fn programs_send_tcp_at_the_rate_of_the_link() {
    const BYTES: usize = 1_000_000;
    let lab = Lab::deploy(SLOW, &[]);
    let emulated = || json(&["inspect", "lab", "--json"])["emulated_ns"].as_u64().unwrap();
    let begin = emulated();
    let listener = inside(3, || TcpListener::bind("10.0.1.4:7000").unwrap());
    let receiver = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut received = Vec::new();
        stream.read_to_end(&mut received).unwrap();
        received
    });
    let sent: Vec<u8> = (0..=250).cycle().take(BYTES).collect();
    let address = SocketAddr::from((Ipv4Addr::new(10, 0, 1, 4), 7000));
    inside(0, || TcpStream::connect(address).unwrap().write_all(&sent).unwrap());
    assert!(receiver.join().unwrap() == sent, "other bytes arrived than were sent");
    let took = emulated() - begin;
    let least = BYTES as u64 * 8 * 1000 / 20;
    assert!(took >= least, "{BYTES} bytes took {took} ns of emulated time at 20 Mbit/s");
    let view = json(&["inspect", "lab", "--json"]);
    let least_frames = BYTES as u64 / 1400;
    let through = |node: &str| {
        let found = view["switches"].as_array().unwrap().iter().find(|it| it["name"] == node);
        let ports = found.unwrap()["ports"].as_array().unwrap();
        ports.iter().map(|port| port["received_frames"].as_u64().unwrap()).sum::<u64>()
    };
    assert!(through("leaf0") >= least_frames, "{view}");
    assert!(through("spine0") + through("spine1") >= least_frames, "{view}");
    lab.destroy();
}

/// Two senders share the receiver's link, and their switches have room for a part of the packets: PFC stops their NICs.
#[test]
fn programs_in_a_lossless_priority_are_paused_and_lose_nothing() {
    const PACKETS: u32 = 300;
    let small = SLOW.replace("buffer = \"1MB\"", "buffer = \"100kB\"");
    let lab = Lab::deploy(&small, &[]);
    // The kernel keeps few packets while it waits for an address, and drops the first of more.
    for sender in ["h0", "h1"] {
        ping("h3", "1", sender).assert_code(0);
    }
    let receiver = inside(3, || UdpSocket::bind("10.0.1.4:7000").unwrap());
    receiver.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    // Two senders into one link.
    let send = |host: usize| {
        inside(host, || {
            let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
            let service: libc::c_int = 24 << 2;
            // SAFETY: the socket is open, and the option is an integer that outlives the call.
            let set = unsafe {
                let place = (&raw const service).cast();
                let length = libc::socklen_t::try_from(size_of_val(&service)).unwrap();
                libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_IP, libc::IP_TOS, place, length)
            };
            assert_eq!(set, 0);
            for number in 0..PACKETS {
                let mut packet = vec![0; 1000];
                packet[..4].copy_from_slice(&number.to_be_bytes());
                packet[4] = u8::try_from(host).unwrap();
                socket.send_to(&packet, "10.0.1.4:7000").unwrap();
            }
        });
    };
    thread::scope(|scope| {
        scope.spawn(|| send(0));
        scope.spawn(|| send(1));
    });
    let mut next = [0; 2];
    let mut buffer = [0; 2000];
    while next != [PACKETS; 2] {
        let (length, _) = receiver.recv_from(&mut buffer).expect("nothing is lost");
        assert_eq!(length, 1000);
        let host = usize::from(buffer[4]);
        assert_eq!(u32::from_be_bytes(buffer[..4].try_into().unwrap()), next[host], "in order");
        next[host] += 1;
    }
    let view = json(&["inspect", "lab", "--json"]);
    let drops = view["switches"].as_array().unwrap().iter().map(|switch| &switch["drops"]);
    assert!(drops.clone().all(|drops| drops.as_object().unwrap().is_empty()), "{view}");
    // 600 frames did not fit the buffers on their way: they were paused.
    let pauses = |host: usize| view["hosts"][host]["received_frames"].as_u64().unwrap();
    assert!(pauses(0) > 0 && pauses(1) > 0, "the hosts were paused: {view}");
    lab.destroy();
}

#[test]
fn a_capture_has_what_crosses_its_wires() {
    let lab = Lab::deploy(SLOW, &[]);
    let file = lab.folder.path("capture.pcapng");
    let wires = ["h0->leaf0", "leaf0->h*"];
    let arguments = ["capture", "lab", wires[0], wires[1], "-w", &file, "--count", "6"];
    let capture = Running::start(&mut xoff(arguments));
    // The wires are named before the first frame is waited for.
    await_that("a capture begins", || fs::metadata(&file).is_ok_and(|file| file.len() > 0));
    ping("h1", "2", "h0").assert_code(0);
    let ended = capture.finish().assert_code(0);
    assert_eq!(ended.stderr, "6 frames\n");
    let fields = ["-T", "fields", "-e", "frame.interface_name", "-e", "icmp.type"];
    let shown = Command::new("tshark").args(["-r", &file]).args(fields).output();
    let shown = String::from_utf8(shown.expect("this test needs tshark").stdout).unwrap();
    let ping = "h0->leaf0\t8\nleaf0->h1\t8\nleaf0->h0\t0\n";
    assert_eq!(shown, ping.repeat(2));
    command(&["capture", "lab", "h9->*", "-w", &file]).assert_refused(&["no wire \"h9->*\""]);
    lab.destroy();
}

#[test]
fn a_wire_that_is_down_loses_frames_until_it_is_up() {
    let lab = Lab::deploy(SLOW, &[]);
    ping("h1", "1", "h0").assert_code(0);
    command(&["link", "lab", "leaf0->h1", "down"]).assert_code(0);
    ping("h1", "1", "h0").assert_code(1);
    let view = json(&["inspect", "lab", "--json"]);
    assert_eq!(view["switches"][0]["ports"][1]["is_up"], false);
    assert_eq!(view["hosts"][1]["is_up"], true);
    command(&["link", "lab", "h1-leaf0", "up"]).assert_code(0);
    ping("h1", "1", "h0").assert_code(0);
    command(&["link", "lab", "h9-leaf0", "up"])
        .assert_refused(&["no wire \"h9-leaf0\"", "h0->leaf0"]);
    lab.destroy();
}

#[test]
fn flows_that_are_not_done_when_the_fabric_ends_are_reported() {
    let lab = Lab::deploy(SLOW, &[]);
    command(&["link", "lab", "h1-leaf0", "down"]).assert_code(0);
    let send = Running::start(&mut xoff(["send", "lab", "h0", "h1", "--bytes", "14kB"]));
    await_that("a flow starts", || json(&["inspect", "lab", "--json"])["active_flows"] == 1);
    lab.destroy();
    send.finish().assert_refused(&["1 of 1 flows did not finish: the fabric ended"]);
}

#[test]
fn frames_that_are_too_long_are_dropped_and_counted() {
    let lab = Lab::deploy(SLOW, &[]);
    let raise = ["exec", "lab", "h0", "--", "ip", "link", "set", "eth0", "mtu", "9000"];
    command(&raise).assert_code(0);
    let long = ["exec", "lab", "h0", "--", "ping", "-c", "1", "-W", "1", "-s", "5000", "h1"];
    command(&long).assert_code(1);
    ping("h1", "1", "h0").assert_code(0);
    let view = json(&["inspect", "lab", "--json"]);
    assert_eq!(view["hosts"][0]["program_frames_too_long"], 1);
    assert_eq!(view["hosts"][0]["program_frames_sent"], 1);
    lab.destroy();
}

#[test]
fn a_killed_supervisor_leaves_nothing_that_is_not_found() {
    let lab = Lab::deploy(SLOW, &[]);
    let process = supervisor();
    let guardian = guardian_of(process);
    let objects = bpf_objects_of(process);
    assert!(objects.len() > 10, "{objects:?}");
    kill(process);
    await_that("the guardian goes", || !Path::new(&format!("/proc/{guardian}/fd/0")).exists());
    await_unloaded(&objects);
    let listed = command(&["list"]).assert_code(0);
    assert!(listed.stdout.contains("abandoned"), "{listed:?}");
    let words = ["the supervisor of lab died", "xoff destroy lab"];
    command(&["send", "lab", "h0", "h1"]).assert_refused(&words);
    ping("h1", "1", "h0").assert_refused(&words);
    // The name can be used again, despite the remains.
    let deployed = command(&["deploy", &lab.folder.path("lab.toml")]);
    assert_eq!(deployed.code, 0, "{deployed:?}");
    ping("h1", "1", "h0").assert_code(0);
    kill(supervisor());
    await_that("the supervisor goes", || command(&["list"]).stdout.contains("its supervisor died"));
    lab.destroy();
}

#[test]
fn signals_take_a_fabric_down() {
    let lab = Lab::deploy(SLOW, &[]);
    signal_supervisor(supervisor(), libc::SIGTERM);
    await_that("the fabric goes", || live().is_empty());
    await_that("its namespaces go", || traces() == lab.before);
}

#[test]
fn clients_that_hang_or_lie_disturb_nobody() {
    let lab = Lab::deploy(SLOW, &[]);
    let connect = || UnixStream::connect("/run/xoff/live/lab/socket").unwrap();
    // These connections request nothing, and exceed the supervisor's room, or read nothing.
    let hanging: Vec<UnixStream> = (0..100).map(|_| connect()).collect();
    let mut deaf = connect();
    for _ in 0..100 {
        deaf.write_all(b"{\"ask\":\"look\"}\n").unwrap();
    }
    for lie in ["", "\n", "{}", "{\"ask\":\"fly\"}", "{\"ask\":\"look\",\"more\":1}", "\u{0}\u{0}"]
    {
        let mut client = connect();
        client.write_all(lie.as_bytes()).unwrap();
        client.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert!(answer.is_empty() || answer.contains("this is no request"), "{lie:?}: {answer}");
    }
    ping("h1", "1", "h0").assert_code(0);
    command(&["send", "lab", "h0", "h1", "--bytes", "14kB"]).assert_code(0);
    lab.destroy();
    drop((hanging, deaf));
}

#[test]
fn what_cannot_be_is_refused() {
    let lab = Lab::deploy(SLOW, &[]);
    let file = lab.folder.path("lab.toml");
    for (arguments, words) in [
        (vec!["send", "lab", "h0", "h9"], vec!["no host \"h9\"", "h0 to h3"]),
        (vec!["send", "lab", "h0", "h0"], vec!["h0 sends to itself"]),
        (vec!["send", "lab", "h0", "h1", "--bytes", "0B"], vec!["no bytes"]),
        (
            vec!["exec", "lab", "leaf0", "--", "true"],
            vec!["no host \"leaf0\"", "a switch", "ip netns exec xoff-", "-leaf0"],
        ),
        (vec!["exec", "lab", "h9", "--", "true"], vec!["no host \"h9\"", "h0 to h3"]),
        (vec!["exec", "other", "h0", "--", "true"], vec!["there is no live fabric other"]),
        (vec!["destroy", "a/b"], vec!["\"a/b\" is not the name of a fabric"]),
        (vec!["deploy", &file, "--name", "../x"], vec!["is not the name of a fabric"]),
        (
            vec!["deploy", &file, "--name", "b", "--set", "datapath.kind=memory"],
            vec!["kernel datapath"],
        ),
        (vec!["deploy", &file, "--name", "b", "--set", "datapath.links=tap"], vec!["veth"]),
        (vec!["deploy", "missing.toml"], vec!["cannot read the scenario", "missing.toml"]),
        (vec!["inspect", "nolab"], vec!["neither a file nor a live fabric nolab", "xoff list"]),
        (vec!["run", "lab"], vec!["cannot read the scenario"]),
        (vec!["run", &file], vec!["without flows"]),
    ] {
        command(&arguments).assert_refused(&words);
    }
    let left = command(&["destroy"]).assert_code(0).stdout;
    assert!(left.contains("left the live fabric lab alone: `xoff destroy lab`"), "{left}");
    // Exit codes as in shells.
    for (program, code) in [("no-such-program", 127), ("/", 126)] {
        let failed = command(&["exec", "lab", "h0", "--", program]).assert_code(code);
        assert!(failed.stderr.contains(&format!("cannot run {program}: ")), "{failed:?}");
        let failed = command(&["exec", "lab", "h0", "--json", "--", program]).assert_code(code);
        assert!(failed.stderr.contains(&format!("\"code\":{code}")), "{failed:?}");
    }
    let mut bytes = xoff(["send", "lab", "h0", "h1", "--bytes", "1"]);
    let bytes = finish(&mut bytes);
    assert_eq!(bytes.code, 2, "{bytes:?}");
    assert!(bytes.stderr.contains("unit"), "{bytes:?}");
    let mut unprivileged = xoff(["deploy", &file, "--name", "b"]);
    finish(without_capabilities(&mut unprivileged)).assert_refused(&["root"]);
    // The exit code of a program is the command's.
    assert_eq!(command(&["exec", "lab", "h0", "--", "sh", "-c", "exit 7"]).code, 7);
    lab.destroy();
}

#[test]
fn fabrics_stand_side_by_side_and_leave_nothing() {
    let lab = Lab::deploy(SLOW, &[]);
    let file = lab.folder.path("lab.toml");
    for round in 0..5 {
        let name = format!("other{round}");
        command(&["deploy", &file, "--name", &name]).assert_code(0);
        let listed = command(&["list"]).assert_code(0);
        assert_eq!(listed.stdout.lines().count(), 3, "{listed:?}");
        let pinged = command(&["exec", &name, "h0", "--", "ping", "-c", "1", "h2"]);
        assert_eq!(pinged.code, 0, "{pinged:?}");
        command(&["destroy", &name]).assert_code(0);
    }
    command(&["deploy", &file, "--name", "other"]).assert_code(0);
    let destroyed = command(&["destroy", "--all"]).assert_code(0);
    assert_eq!(destroyed.stdout, "destroyed lab\ndestroyed other\n");
    assert_eq!(traces(), lab.before);
    let nothing = command(&["destroy", "--all"]).assert_code(0);
    assert_eq!(nothing.stdout, "there is no live fabric\n");
}
