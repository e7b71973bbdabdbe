//! Events that end `xoff-switch` and `xoff-host`, keep them from starting, or do not affect them. Needs root, `ip`,
//! `ping`.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tests::command::{Finished, Running, await_that, limit, with_capabilities};

use super::standalone::{ASK_CHECKSUMS, Node, Shell, count, is_bare, star};

const NET_ADMIN: libc::c_ulong = 12;
const NET_RAW: libc::c_ulong = 13;
const IPC_LOCK: libc::c_ulong = 14;
const PERFMON: libc::c_ulong = 38;
const BPF: libc::c_ulong = 39;

/// The documented capabilities are enough, and fewer are not.
#[test]
fn the_documented_capabilities_are_enough_and_less_is_not() {
    let shell = Shell::new();
    let make = "ip link set own0 up; ip link set own1 up; ip address add 10.0.0.1/24 dev own1";
    shell.run(make).assert_code(0);
    let port = "[[ports]]\ninterface = \"own0\"\nrate = \"1Gbps\"\ndelay = \"1ms\"";
    let port = format!("{port}\nneighbour = \"10.0.0.1\"\nroutes = [\"10.0.0.1\"]\n");
    shell.0.write("own.toml", port);
    let of = |line: &str, kept: &'static [libc::c_ulong]| {
        let mut command = shell.command(&format!("exec {line} 2> said"));
        limit(with_capabilities(&mut command, kept), libc::RLIMIT_MEMLOCK, 8 << 20);
        Running::start(&mut command)
    };
    let said = || fs::read_to_string(shell.0.path("said")).unwrap_or_default();
    let starts = |line: &str, kept, saying: &str| {
        let mut running = of(line, kept);
        await_that(saying, || {
            assert!(running.is_alive(), "it has ended: {}", said());
            said().contains(saying)
        });
        running.signal(libc::SIGINT);
        running.finish().assert_code(0);
    };
    let refused = |line: &str, kept, whys: &[&str]| {
        let ended = of(line, kept).finish();
        Finished { stderr: said(), ..ended }.assert_refused(whys);
    };
    let (switch, host) = ("xoff-switch own.toml", "xoff-host --interface own1 receive");
    starts(switch, &[NET_ADMIN, NET_RAW, PERFMON, BPF], "forwarding between own0");
    for kept in [
        &[NET_ADMIN, NET_RAW, BPF][..],
        &[NET_ADMIN, NET_RAW, PERFMON],
        &[NET_ADMIN, PERFMON, BPF],
        &[NET_RAW, PERFMON, BPF],
    ] {
        refused(switch, kept, &["a switch needs root, or CAP_BPF, ", "CAP_PERFMON"]);
    }
    starts(host, &[NET_ADMIN, NET_RAW, IPC_LOCK, BPF], "receiving at 10.0.0.1");
    let lock = ["16 MiB", "`own1`", "CAP_IPC_LOCK", "ulimit -l"];
    refused(host, &[NET_ADMIN, NET_RAW, BPF], &lock);
    for kept in [
        &[NET_ADMIN, NET_RAW, IPC_LOCK][..],
        &[NET_ADMIN, IPC_LOCK, BPF],
        &[NET_RAW, IPC_LOCK, BPF],
    ] {
        refused(host, kept, &["a host needs root, or CAP_BPF, ", "CAP_IPC_LOCK"]);
    }
}

/// The process that the host has started, which restores the host's changes.
fn guardian_of(shell: &Shell, host: &Node) -> u32 {
    let host = host.running.id();
    let children = shell.run(&format!("cat /proc/{host}/task/{host}/children")).stdout;
    children.trim().parse().unwrap_or_else(|_| panic!("one child: {children:?}"))
}

/// The old host's guardian runs after the new host has started, and must not turn on features that the new host has
/// turned off.
#[test]
fn a_host_that_is_restarted_at_once_waits_for_the_guardian_of_the_old_one() {
    let shell = Shell::new();
    star(&shell);
    let receive = "ip netns exec h1 xoff-host --interface eth0 receive";
    let leaves_checksums = || {
        let python = "${XOFF_PYTHON:-python3}";
        let asked = shell.run(&format!("ip netns exec h1 {python} -c '{ASK_CHECKSUMS}'"));
        asked.assert_code(0).stdout.trim() == "1"
    };
    let mut killed = shell.start("killed", receive);
    let guardian = guardian_of(&shell, &killed);
    // It waits as long as a process can write to its input.
    let delay = fs::File::options().write(true).open(format!("/proc/{guardian}/fd/0"));
    let delay = delay.expect("it reads a pipe");
    killed.running.signal(libc::SIGKILL);
    await_that("it is dead", || !killed.running.is_alive());
    assert!(!leaves_checksums(), "its guardian waits");
    let log = shell.0.path("again.log");
    let mut command = shell.command(&format!("exec {receive} 2>{log}"));
    let running = Running::start(&mut command);
    // Time for the new host to read the interface: with a shorter time the test notices less.
    thread::sleep(Duration::from_millis(300));
    drop(delay);
    let again = Node { running, log };
    await_that("it starts", || again.log().contains("receiving at"));
    await_that("the old guardian is gone", || {
        !Path::new(&format!("/proc/{guardian}/fd/0")).exists()
    });
    assert!(!leaves_checksums(), "the new host has the stack compute them");
    again.running.signal(libc::SIGTERM);
    again.running.finish().assert_code(0);
    assert!(leaves_checksums(), "as before both");
}

#[test]
fn a_port_with_another_address_or_mtu_ends_the_switch_by_name() {
    for (change, word) in [
        ("address 02:00:00:00:00:99", "another MAC address: 02:00:00:00:00:99 instead of "),
        ("mtu 1400", "another MTU: 1400 instead of 1500"),
    ] {
        let shell = Shell::new();
        let line = star(&shell);
        let switch = shell.start("sw", line);
        shell.run(&format!("ip -n sw link set eth2 {change}")).assert_code(0);
        let log = switch.log.clone();
        switch.running.finish().assert_code(1);
        let log = fs::read_to_string(log).expect("it was written");
        assert!(log.contains("interface `eth2` has ") && log.contains(word), "{log}");
        assert!(is_bare(&shell, "sw"));
    }
}

/// The sender must end long before the 10 s after which it gives up by itself, with other last words.
#[test]
fn a_signal_ends_a_sender_that_waits() {
    let shell = Shell::new();
    let line = star(&shell);
    let switch = shell.start("sw", line);
    let interrupt = |what: &str, line: &str, waits: &dyn Fn() -> bool| {
        let log = shell.0.path(&format!("{}.log", what.replace(' ', "-")));
        let mut command = shell.command(&format!("exec {line} 2>{log}"));
        let running = Running::start(&mut command);
        await_that(what, waits);
        running.signal(libc::SIGINT);
        running.finish().assert_code(1);
        let log = fs::read_to_string(log).expect("it was written");
        assert_eq!(log, "xoff-host: interrupted\n", "{what}");
    };
    let send = "ip netns exec h1 xoff-host --interface eth0 send --to";
    let asks = |place: &str, text: &str| {
        let place = place.to_owned();
        let text = text.to_owned();
        let shell = &shell;
        move || shell.run(&format!("ip netns exec h1 {place}")).stdout.contains(&text)
    };
    // Nobody has this address.
    let looks = asks("ip neigh show 10.0.1.77", "10.0.1.77");
    interrupt("it looks for a station", &format!("{send} 10.0.1.77"), &looks);
    // SYNs get no answer.
    let blackhole = "ip netns exec h3 ip address del 10.0.3.1/24 dev eth0";
    shell.run(blackhole).assert_code(0);
    let connects = asks("cat /proc/net/tcp", "0103000A:4853 02");
    interrupt("it connects", &format!("{send} 10.0.3.1"), &connects);
    shell
        .run("ip -n h3 address add 10.0.3.1/24 dev eth0; ip -n h3 route add default via 10.0.3.254")
        .assert_code(0);
    // It listens and sends nothing.
    let mute = shell.start("mute", "ip netns exec h3 xoff-host --interface eth0 receive");
    mute.running.signal(libc::SIGSTOP);
    let reads = asks("cat /proc/net/tcp", "0103000A:4853 01");
    interrupt("it reads the answer", &format!("{send} 10.0.3.1"), &reads);
    mute.running.signal(libc::SIGCONT);
    mute.running.signal(libc::SIGTERM);
    mute.running.finish().assert_code(0);
    switch.end();
}

/// More connections than a receiver serves, which send nothing, or only a part.
const IDLE: &str = r#"
import socket, time
idle = [socket.create_connection(("10.0.3.1", 18515)) for _ in range(300)]
for each in idle[::2]:
    try:
        each.sendall(b"half of an offer")
    except OSError:
        pass # it has made room
open("connected", "w").close()
time.sleep(1000)
"#;

#[test]
fn idle_connections_keep_no_sender_from_a_receiver() {
    let shell = Shell::new();
    let line = star(&shell);
    let switch = shell.start("sw", line);
    let host = shell.start("h3", "ip netns exec h3 xoff-host --interface eth0 --json receive");
    let python = "${XOFF_PYTHON:-python3}";
    let idle = format!("ip -n h3 link set lo up; exec ip netns exec h3 {python} -c '{IDLE}'");
    let idle = Running::start(&mut shell.command(&idle));
    await_that("all are connected", || Path::new(&shell.0.path("connected")).exists());
    let send = "ip netns exec h1 xoff-host --interface eth0 --rate 100Mbps send --to 10.0.3.1 --bytes 50kB";
    shell.run(send).assert_code(0);
    idle.signal(libc::SIGKILL);
    assert_eq!(count(&host.end()["delivered_bytes"]), 50_000);
    switch.end();
}

#[test]
fn the_switchs_own_addresses_are_its_stacks() {
    let shell = Shell::new();
    let line = star(&shell);
    let switch = shell.start("sw", line);
    // 10.0.3.254 is behind a port, by the route to 10.0.3.0/24.
    for address in ["10.0.1.254", "10.0.3.254"] {
        let ping = shell.run(&format!("ip netns exec h1 ping -c 1 -W 5 {address}"));
        assert!(ping.stdout.contains("1 received"), "{ping:?}");
        assert!(ping.stdout.contains("ttl=64"), "no hop: {ping:?}");
    }
    switch.end();
}

#[test]
fn frames_pass_a_switch_in_front_of_the_stack() {
    let shell = Shell::new();
    let line = star(&shell);
    let switch = shell.start("sw", &format!("{line} --generic"));
    let links = shell.run("ip -n sw -details link").assert_code(0).stdout;
    assert!(links.contains("xdpgeneric"), "{links}");
    // A packet that a veth left without a checksum would not arrive.
    let host = shell.start("h3", "ip netns exec h3 xoff-host --interface eth0 --json receive");
    // The first pings may come before the neighbours are known.
    await_that("a ping passes", || {
        let ping = shell.run("ip netns exec h1 ping -c 1 -W 1 10.0.3.1");
        ping.stdout.contains("1 received") && ping.stdout.contains("ttl=63")
    });
    let sent = "ip netns exec h1 xoff-host --interface eth0 --rate 100Mbps send --to 10.0.3.1 --bytes 50kB";
    shell.run(sent).assert_code(0);
    assert_eq!(count(&host.end()["delivered_bytes"]), 50_000);
    let counted = switch.end();
    assert!(count(&counted["ports"][2]["sent_frames"]) >= 51, "{counted}");
    assert_eq!(count(&counted["lossless_drops"]), 0, "{counted}");
}

/// Makes a switch report its counters into a file, and checks whether this report, or the one before, satisfies
/// `will_do`.
fn has_reported(switch: &Node, file: &str, will_do: impl Fn(&Value) -> bool) -> bool {
    switch.running.signal(libc::SIGUSR1);
    let reports = fs::read_to_string(file).unwrap_or_default();
    let lines = reports.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    lines.map(|line| serde_json::from_str(line).expect("JSON")).any(|report| will_do(&report))
}

/// Pings in the priority of the storm get through, although the host pauses it without end.
#[test]
fn the_watchdog_of_a_switch_forwards_in_spite_of_a_storm() {
    let shell = Shell::new();
    let watchdog = "{ action = \"forward\", detection_time = \"200ms\", restoration_time = \"200ms\", \
                    poll_interval = \"50ms\" }";
    let reported = shell.0.path("reported.json");
    let line = star(&shell);
    let line = format!("{line} --set 'switch.watchdog={watchdog}' >{reported}");
    let switch = shell.start("switch", &line);
    let storm = shell.storm("0.05");
    // The first is held until the storm is detected.
    await_that("packets are sent in spite of the storm", || {
        shell.run("ip netns exec h1 ping -c 2 -i 0.2 -W 1 -Q 0x60 10.0.3.1");
        has_reported(&switch, &reported, |report| {
            let storm = &report["storms"][0];
            storm["interface"] == "eth3" && storm["forwarded"].as_u64() >= Some(2)
        })
    });
    storm.signal(libc::SIGKILL);
    switch.running.signal(libc::SIGTERM);
    switch.running.finish().assert_code(0);
    let reports = fs::read_to_string(&reported).expect("it was written");
    let last = reports.lines().last().expect("the last report");
    let last: Value = serde_json::from_str(last).expect("JSON");
    assert_eq!(count(&last["storms"][0]["dropped_egress"]), 0, "{last}");
}

/// A storm whose PAUSEs last for 33 ms, at a switch whose process often sleeps for longer: it handles renewals when the
/// pause that they renewed is over by its own clock, although they came in before.
#[test]
fn the_watchdog_of_a_switch_that_is_late_detects_a_storm() {
    let shell = Shell::new();
    let watchdog = "{ action = \"alert\", detection_time = \"300ms\", restoration_time = \"300ms\", \
                    poll_interval = \"20ms\" }";
    let reported = shell.0.path("reported.json");
    let line = star(&shell);
    let settings = format!("--set ports.2.rate=1Gbps --set 'switch.watchdog={watchdog}'");
    let switch = shell.start("switch", &format!("{line} {settings} >{reported}"));
    let storm = shell.storm("0.005");
    await_that("the storm is detected", || {
        shell.run("ip netns exec h1 ping -c 1 -W 0.1 -Q 0x60 10.0.3.1");
        for _ in 0..5 {
            switch.running.signal(libc::SIGSTOP);
            thread::sleep(Duration::from_millis(45));
            switch.running.signal(libc::SIGCONT);
            thread::sleep(Duration::from_millis(105));
        }
        has_reported(&switch, &reported, |report| {
            report["storms"][0]["detected"].as_u64() >= Some(1)
        })
    });
    storm.signal(libc::SIGKILL);
    switch.running.signal(libc::SIGTERM);
    switch.running.finish().assert_code(0);
}
