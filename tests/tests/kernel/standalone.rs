//! `xoff-switch` and `xoff-host` on namespaces made by hand: the documented example, two switches in a row, the ways in
//! which they end, and their refusals. Needs root, `ip`, `ping` and tshark.

use std::fs;
use std::process::Command;

use serde_json::Value;
use tests::command::{
    Finished, Running, ScenarioFolder, await_that, await_unloaded, bpf_objects_of, finish, isolate,
    run_as_a_user, standalone_binaries, without_capabilities,
};

const DOCUMENT: &str = include_str!("../../../docs/standalone.md");

/// Prints 1 if eth0 leaves checksums to its hardware: `ETHTOOL_GTXCSUM` by `SIOCETHTOOL`.
pub(super) const ASK_CHECKSUMS: &str = r#"
import array, fcntl, socket, struct
value = array.array("B", struct.pack("II", 0x16, 0))
request = bytearray(struct.pack("16sP16x", b"eth0", value.buffer_info()[0]))
fcntl.ioctl(socket.socket(), 0x8946, request)
print(struct.unpack("II", value)[1])
"#;

/// Pauses priority 3 of the switch at eth0 for good: a PAUSE every given number of seconds.
const STORM: &str = r#"
import socket, struct, time
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
wire.bind(("eth0", 0))
head = bytes.fromhex("0180c2000001") + wire.getsockname()[4] + bytes.fromhex("88080101")
quanta = [0, 0, 0, 65535, 0, 0, 0, 0]
pause = (head + struct.pack("!9H", 1 << 3, *quanta)).ljust(60, bytes(1))
while True:
    wire.send(pause)
    time.sleep(SECONDS)
"#;

/// A folder in which commands of a shell run, on an isolated machine.
pub(super) struct Shell(pub(super) ScenarioFolder);

/// A program that runs until it is ended, and the file with its standard error.
pub(super) struct Node {
    pub(super) running: Running,
    pub(super) log: String,
}

impl Shell {
    pub(super) fn new() -> Self {
        isolate();
        fs::create_dir_all("/run/netns").unwrap();
        Self(ScenarioFolder::new())
    }

    pub(super) fn command(&self, text: &str) -> Command {
        let path = format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", standalone_binaries().display());
        let mut command = run_as_a_user(Command::new("bash"), ["-e", "-c", text]);
        command.env("PATH", path).current_dir(self.0.path(""));
        command
    }

    pub(super) fn run(&self, text: &str) -> Finished {
        finish(&mut self.command(text))
    }

    /// Makes h3 pause priority 3 of its switch for good: a PAUSE every `seconds`.
    pub(super) fn storm(&self, seconds: &str) -> Running {
        let program = STORM.replace("SECONDS", seconds);
        let python = "${XOFF_PYTHON:-python3}";
        let line = format!("exec ip netns exec h3 {python} -c '{program}'");
        Running::start(&mut self.command(&line))
    }

    /// Starts a node, and waits until it reports that it runs.
    pub(super) fn start(&self, name: &str, line: &str) -> Node {
        let log = self.0.path(&format!("{name}.log"));
        let mut command = self.command(&format!("exec {line} 2>{log}"));
        let mut node = Node { running: Running::start(&mut command), log };
        await_that("the node starts", || {
            let log = node.log();
            assert!(node.running.is_alive(), "it has ended: {log}");
            log.contains("forwarding between") || log.contains("receiving at")
        });
        node
    }
}

impl Node {
    pub(super) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Ends it, and returns its counters.
    pub(super) fn end(self) -> Value {
        self.running.signal(libc::SIGTERM);
        let finished = self.running.finish().assert_code(0);
        serde_json::from_str(&finished.stdout)
            .unwrap_or_else(|error| panic!("{error}: {finished:?}"))
    }
}

/// The blocks of the document's example in a language, in their order.
fn blocks(language: &str) -> Vec<&'static str> {
    let example = DOCUMENT.split("\n## ").find(|section| section.starts_with("Example"));
    let example = example.expect("the document has an example");
    let blocks = example.split("```").skip(1).step_by(2);
    blocks.filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n')).collect()
}

pub(super) fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Returns true if nothing is attached to any interface of a namespace.
pub(super) fn is_bare(shell: &Shell, namespace: &str) -> bool {
    let links = shell.run(&format!("ip -n {namespace} -details link")).assert_code(0).stdout;
    !links.contains("xdp")
}

/// Two hosts at a switch.
pub(super) fn star(shell: &Shell) -> &'static str {
    let [make, ..] = blocks("sh")[..] else { panic!("the example begins with namespaces") };
    shell.run(make).assert_code(0);
    let [file] = blocks("toml")[..] else { panic!("the example has one file") };
    shell.0.write("switch.toml", file);
    "ip netns exec sw xoff-switch switch.toml --json"
}

#[test]
fn the_documented_example_works() {
    let shell = Shell::new();
    star(&shell);
    let [_, nodes, traffic] = blocks("sh")[..] else { panic!("the example has three steps") };
    let [switch, host] = nodes.lines().collect::<Vec<_>>()[..] else { panic!("two nodes") };
    let switch = shell.start("switch", &format!("{switch} --json"));
    let host = shell.start("host", &format!("{host} --json"));
    assert!(!is_bare(&shell, "sw"));
    let capture = "ip netns exec sw tshark -l -n -i eth1 -f 'ether proto 0x8808' -c 2 -T fields \
                   -e macc.opcode -e macc.cbfc.enbv.c3 -e macc.cbfc.pause_time.c3";
    let capture_log = shell.0.path("tshark.log");
    let capture = Running::start(&mut shell.command(&format!("exec {capture} 2>{capture_log}")));
    await_that("tshark captures", || {
        fs::read_to_string(&capture_log).unwrap_or_default().contains("Capturing on")
    });
    let traffic = shell.run(traffic).assert_code(0);
    assert!(traffic.stdout.contains("3 received"), "{traffic:?}");
    assert!(traffic.stdout.contains("ttl=63"), "a switch is a router: {traffic:?}");
    let whole = traffic.stdout.matches("flow 0: 2000000 B to 10.0.3.1 in ").count();
    assert_eq!(whole, 2, "{traffic:?}");
    // A PAUSE and the RESUME that ends it, or its renewal: both are about class 3.
    let pfc = capture.finish().assert_code(0).stdout;
    let frames: Vec<Vec<&str>> = pfc.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(frames.len(), 2, "{pfc}");
    assert!(frames.iter().all(|frame| frame[0] == "0x0101"), "{pfc}");
    assert_eq!(frames[0][2], "65535", "{pfc}");
    let received = host.end();
    assert_eq!((count(&received["transfers"]), count(&received["abandoned"])), (2, 0));
    assert_eq!(count(&received["delivered_bytes"]), 4_000_000);
    assert_eq!(count(&received["host"]["unreadable"]), 0);
    let counted = switch.end();
    assert_eq!(count(&counted["lossless_drops"]), 0, "{counted}");
    assert_eq!(count(&counted["pause_violations"]), 0, "{counted}");
    let ports = counted["ports"].as_array().expect("three ports");
    assert!(ports[..2].iter().all(|port| count(&port["pauses_sent"]) > 0), "{counted}");
    assert!(count(&ports[2]["sent_frames"]) >= 2 * 1389, "{counted}");
    assert!(count(&counted["arrivals_late"]["count"]) > 2 * 1389, "{counted}");
    assert!(["sw", "h1", "h2", "h3"].iter().all(|namespace| is_bare(&shell, namespace)));
    let again = shell.run("ip netns exec sw ping -c 1 10.0.1.1").assert_code(0);
    assert!(again.stdout.contains("1 received"), "the stack has the interface: {again:?}");
}

/// The second switch pauses the first, and the first its host: if one did not obey, the next would drop.
#[test]
fn a_switch_obeys_the_next_one() {
    let shell = Shell::new();
    let make = "
for name in h1 a b h2; do ip netns add $name; done
ip link add eth0 netns h1 type veth peer name eth1 netns a
ip link add eth2 netns a type veth peer name eth1 netns b
ip link add eth0 netns h2 type veth peer name eth2 netns b
ip -n h1 address add 10.0.1.1/24 dev eth0
ip -n a address add 10.0.1.254/24 dev eth1
ip -n a address add 10.0.9.1/24 dev eth2
ip -n b address add 10.0.9.2/24 dev eth1
ip -n b address add 10.0.2.254/24 dev eth2
ip -n h2 address add 10.0.2.1/24 dev eth0
for end in h1:eth0 a:eth1 a:eth2 b:eth1 b:eth2 h2:eth0; do ip -n ${end%:*} link set ${end#*:} up; done
ip -n h1 route add default via 10.0.1.254
ip -n h2 route add default via 10.0.2.254
";
    shell.run(make).assert_code(0);
    let port = |interface: &str, rate: &str, neighbour: &str, route: &str| {
        format!(
            "[[ports]]\ninterface = \"{interface}\"\nrate = \"{rate}\"\ndelay = \"20ms\"
neighbour = \"{neighbour}\"\nroutes = [\"{route}\"]\n"
        )
    };
    let common = "[switch]\nbuffer = \"6MB\"
threshold = { kind = \"static\", xoff = \"100kB\", xon = \"90kB\" }\n";
    let of_a = [
        common,
        &port("eth1", "200Mbps", "10.0.1.1", "10.0.1.0/24"),
        &port("eth2", "200Mbps", "10.0.9.2", "0.0.0.0/0"),
    ];
    let of_b = [
        common,
        &port("eth1", "200Mbps", "10.0.9.1", "0.0.0.0/0"),
        &port("eth2", "50Mbps", "10.0.2.1", "10.0.2.0/24"),
    ];
    shell.0.write("a.toml", of_a.concat());
    shell.0.write("b.toml", of_b.concat());
    let a = shell.start("a", "ip netns exec a xoff-switch a.toml --json");
    let b = shell.start("b", "ip netns exec b xoff-switch b.toml --json");
    let options = "--interface eth0 --rate 200Mbps --payload 1440B --reliability selective-repeat";
    let host = shell.start("host", &format!("ip netns exec h2 xoff-host {options} --json receive"));
    let sent = shell.run(&format!(
        "ip netns exec h1 xoff-host {options} --json send --to 10.0.2.1 --bytes 1500kB --count 2"
    ));
    let sent: Value = serde_json::from_str(&sent.assert_code(0).stdout).expect("a line of JSON");
    assert_eq!(sent["delivered_bytes"], serde_json::json!([1_500_000, 1_500_000]));
    assert!(count(&sent["host"]["pauses_received"]) > 0, "{sent}");
    assert!(count(&sent["transfers"][1]["fct_ns"]) > 3_000_000 * 8 * 1000 / 50, "{sent}");
    assert_eq!(count(&host.end()["transfers"]), 2);
    let [a, b] = [a, b].map(Node::end);
    for counted in [&a, &b] {
        assert_eq!(count(&counted["lossless_drops"]), 0, "{counted}");
        assert_eq!(count(&counted["pause_violations"]), 0, "{counted}");
    }
    let pauses = count(&b["ports"][0]["pauses_sent"]);
    assert!(pauses > 0 && count(&a["ports"][1]["received_pfc"]) >= pauses, "{a} {b}");
    assert!(count(&a["ports"][0]["pauses_sent"]) > 0, "{a}");
}

/// A host pauses the switch without end: pings in the priority are dropped there, and others pass. Afterwards all pass.
#[test]
fn the_watchdog_of_a_switch_ends_a_storm() {
    let shell = Shell::new();
    let watchdog = "{ detection_time = \"200ms\", restoration_time = \"200ms\", \
                    poll_interval = \"50ms\" }";
    let line = format!("{} --set 'switch.watchdog={watchdog}'", star(&shell));
    let reported = shell.0.path("reported.json");
    let switch = shell.start("switch", &format!("{line} >{reported}"));
    let storm = shell.storm("0.05");
    // Type of service 0x60 is DSCP 24, priority 3.
    let ping = |options: &str| {
        let ping = format!("ip netns exec h1 ping -c 2 -i 0.2 -W 1 {options} 10.0.3.1");
        shell.run(&ping).stdout.contains("2 received")
    };
    let storms = |at_last: &str| {
        let counted: Value = serde_json::from_str(at_last).expect("a line of JSON");
        counted["storms"].as_array().expect("a list").clone()
    };
    let report = || {
        let before = fs::read_to_string(&reported).unwrap_or_default().lines().count();
        switch.running.signal(libc::SIGUSR1);
        let lines = || fs::read_to_string(&reported).unwrap_or_default();
        await_that("it says what it has counted", || {
            lines().ends_with('\n') && lines().lines().count() > before
        });
        storms(lines().lines().last().expect("it has one"))
    };
    await_that("the storm is detected", || {
        assert!(!ping("-Q 0x60"), "a ping passes in spite of the storm");
        report().first().is_some_and(|storm| storm["is_present"] == true)
    });
    assert!(!ping("-Q 0x60"), "the watchdog drops");
    assert!(ping(""), "no other priority is paused");
    storm.signal(libc::SIGKILL);
    await_that("the storm is over", || report()[0]["is_present"] == false);
    assert!(ping("-Q 0x60"));
    switch.running.signal(libc::SIGTERM);
    switch.running.finish().assert_code(0);
    let lines = fs::read_to_string(&reported).expect("it was written");
    let [storm] = &storms(lines.lines().last().expect("the last report"))[..] else {
        panic!("one port, one priority: {lines}")
    };
    assert_eq!((&storm["interface"], &storm["priority"]), (&"eth3".into(), &3.into()), "{storm}");
    assert_eq!(count(&storm["detected"]), 1, "{storm}");
    assert!(count(&storm["dropped_egress"]) >= 2, "{storm}");
    assert_eq!(count(&storm["forwarded"]), 0, "{storm}");
}

#[test]
fn killed_nodes_leave_nothing_attached_and_an_interface_has_one_of_them() {
    let shell = Shell::new();
    let line = star(&shell);
    let receive = "ip netns exec h1 xoff-host --interface eth0 receive";
    let reported = shell.0.path("reported.json");
    let mut switch = shell.start("sw", &format!("{line} >{reported}"));
    let leaves_checksums = || {
        let python = "${XOFF_PYTHON:-python3}";
        let asked = shell.run(&format!("ip netns exec h1 {python} -c '{ASK_CHECKSUMS}'"));
        asked.assert_code(0).stdout.trim() == "1"
    };
    assert!(leaves_checksums(), "a veth does");
    let mut host = shell.start("h1", receive);
    assert!(!leaves_checksums(), "no switch in XDP would finish them");
    let second = shell.run(line);
    second.assert_refused(&["interface `eth1` has an XDP program already", "xoff-switch"]);
    let second = shell.run(receive);
    second.assert_refused(&["interface `eth0` has an XDP program already"]);
    switch.running.signal(libc::SIGUSR1);
    let reported = || fs::read_to_string(&reported).unwrap_or_default();
    await_that("it says what it has counted", || reported().ends_with('\n'));
    let counted: Value = serde_json::from_str(&reported()).expect("a line of JSON");
    assert_eq!(count(&counted["lossless_drops"]), 0);
    for node in [&mut switch, &mut host] {
        let objects = bpf_objects_of(node.running.id());
        assert!(!objects.is_empty());
        node.running.signal(libc::SIGKILL);
        await_that("it is dead", || !node.running.is_alive());
        await_unloaded(&objects);
    }
    assert!(is_bare(&shell, "sw") && is_bare(&shell, "h1"));
    await_that("checksums are as they were", leaves_checksums);
    let host = shell.start("h1-again", receive);
    assert!(!leaves_checksums());
    host.running.signal(libc::SIGTERM);
    host.running.finish().assert_code(0);
    assert!(leaves_checksums(), "before the process ends");
    let again = shell.start("again", line);
    again.end();
}

#[test]
fn an_interface_that_goes_away_is_named() {
    let shell = Shell::new();
    let line = star(&shell);
    let switch = shell.start("sw", line);
    let host = shell.start("h2", "ip netns exec h2 xoff-host --interface eth0 receive");
    shell.run("ip -n sw link del eth2").assert_code(0);
    for (node, name) in [(switch, "eth2"), (host, "eth0")] {
        let log = node.log.clone();
        node.running.finish().assert_code(1);
        let log = fs::read_to_string(log).expect("it was written");
        assert!(log.contains(&format!("interface `{name}` is gone")), "{log}");
    }
    assert!(is_bare(&shell, "sw"));
}

#[test]
fn what_cannot_be_used_is_refused_by_name() {
    let shell = Shell::new();
    let line = star(&shell);
    let host =
        |arguments: &str| shell.run(&format!("ip netns exec h1 xoff-host --interface {arguments}"));
    shell
        .run(&format!("{line} --set ports.0.interface=eth9"))
        .assert_refused(&["there is no interface `eth9`"]);
    shell
        .run(&format!("{line} --set mtu=1400"))
        .assert_refused(&["has an MTU of 1500, and 1400 is needed", "ip link set eth1 mtu 1400"]);
    shell.run(&format!("{line} --set switch.buffer=1kB")).assert_refused(&["switch.buffer"]);
    let file = shell.run("ip netns exec sw xoff-switch nowhere.toml");
    file.assert_refused(&["cannot read", "nowhere.toml"]);
    host("lo receive").assert_refused(&["`lo` is not Ethernet"]);
    host("eth0 --payload 2kB receive").assert_refused(&["at least 2060 is needed", "1440B"]);
    shell.run("ip -n h1 link set eth0 down").assert_code(0);
    host("eth0 receive").assert_refused(&["interface `eth0` is down"]);
    shell.run("ip -n h1 link set eth0 up; ip -n h1 address flush dev eth0").assert_code(0);
    host("eth0 receive").assert_refused(&["has no IPv4 address"]);
    // A bridge has no driver that runs XDP.
    shell.run("ip -n sw link add br0 type bridge; ip -n sw link set br0 up").assert_code(0);
    let bridge = format!("{line} --set ports.0.interface=br0");
    shell.run(&bridge).assert_refused(&["`br0` has no native XDP", "--generic"]);
    assert!(is_bare(&shell, "sw"), "what was attached before it is not any more");
    shell.start("generic", &format!("{bridge} --generic")).end();
    shell.run("ip link set own0 up").assert_code(0);
    let port = "[[ports]]\ninterface = \"own0\"\nrate = \"1Gbps\"\ndelay = \"1ms\"";
    shell.0.write("own.toml", format!("{port}\nroutes = [\"10.0.1.1\"]\n"));
    let mut nobody = shell.command("xoff-switch own.toml");
    finish(without_capabilities(&mut nobody)).assert_refused(&["needs root", "CAP_BPF"]);
    let mut nobody = shell.command("xoff-host --interface own0 --address 10.0.0.1 receive");
    finish(without_capabilities(&mut nobody)).assert_refused(&["needs root", "CAP_BPF"]);
}

#[test]
fn a_sender_without_a_receiver_says_so() {
    let shell = Shell::new();
    let line = star(&shell);
    let switch = shell.start("sw", line);
    let send = "ip netns exec h1 xoff-host --interface eth0 send --to 10.0.3.1";
    let refused = shell.run(send).assert_code(1);
    assert!(refused.stderr.contains("cannot reach a receiver at 10.0.3.1"), "{refused:?}");
    let receive = "ip netns exec h3 xoff-host --interface eth0 --payload 1440B receive";
    let host = shell.start("h3", receive);
    let other = shell.run(send).assert_code(1);
    assert!(other.stderr.contains("--payload 1440B"), "{other:?}");
    let other =
        shell.run(&send.replace(" send", " --payload 1440B --reliability selective-repeat send"));
    assert!(other.assert_code(1).stderr.contains("--reliability go-back-n"));
    let unreachable = shell.run(
        "ip netns exec h1 ip route del default; ip netns exec h1 \
        xoff-host --interface eth0 send --to 10.0.3.1",
    );
    unreachable.assert_refused(&["no neighbour at interface `eth0` leads to 10.0.3.1"]);
    host.running.signal(libc::SIGINT);
    host.running.finish().assert_code(0);
    switch.end();
}
