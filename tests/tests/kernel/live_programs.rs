//! Programs of others in a live fabric, beside each other and beside RoCE traffic. Needs root, `ip`, `ping` and iperf3.

use std::fs;
use std::thread;

use serde_json::Value;
use tests::command::{Running, ScenarioFolder, await_that, finish, xoff};
use tests::live::{Lab, SLOW, command, json, ping};

/// A program in a host, running in the background.
fn start(host: &str, program: &[&str]) -> Running {
    let arguments = ["exec", "lab", host, "--"];
    Running::start(&mut xoff(arguments.iter().chain(program).copied()))
}

/// iperf3 for one client, in h3.
fn serve() -> Running {
    let server = start("h3", &["iperf3", "--server", "--one-off"]);
    await_that("iperf3 listens", || {
        let sockets = command(&["exec", "lab", "h3", "--", "cat", "/proc/net/tcp6"]).stdout;
        // Port 5201, in state LISTEN.
        sockets.lines().any(|line| line.contains(":1451 ") && line.contains(" 0A "))
    });
    server
}

#[test]
fn ping_iperf3_and_an_incast_share_a_fabric() {
    let lab = Lab::deploy(SLOW, &[]);
    let server = serve();
    let client = start("h0", &["iperf3", "--client", "h3", "--bytes", "1M", "--json"]);
    // TCP into h3, RoCE into h1, and pings across both.
    let (pinged, incast) = thread::scope(|scope| {
        let pinged = scope.spawn(|| ping("h2", "5", "h1").assert_code(0));
        let incast = command(&["incast", "lab", "h1", "--bytes", "50kB", "--json"]).assert_code(0);
        (pinged.join().expect("a ping does not panic"), incast)
    });
    assert!(pinged.stdout.contains("5 received"), "{pinged:?}");
    let flows: Vec<Value> =
        incast.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(flows.len(), 3, "{incast:?}");
    assert!(flows.iter().all(|flow| flow["bytes"] == 50_000 && flow["retransmitted_packets"] == 0));
    let output = client.finish().assert_code(0);
    server.finish().assert_code(0);
    let output: Value = serde_json::from_str(&output.stdout).expect("iperf3 prints JSON");
    let received = output["end"]["sum_received"]["bytes"].as_u64().expect("a number");
    // The client asks before all of its data has arrived; on a busy machine that is little.
    assert!(received > 0, "{output}");
    let view = json(&["inspect", "lab", "--json"]);
    let lossless = |drops: &Value| drops.as_object().is_some_and(serde_json::Map::is_empty);
    let switches = view["switches"].as_array().expect("an array");
    assert!(switches.iter().all(|switch| lossless(&switch["drops"])), "{view}");
    lab.destroy();
}

#[test]
fn udp_programs_get_what_the_link_carries_and_no_more() {
    let lab = Lab::deploy(SLOW, &[]);
    let server = serve();
    // Half of the link's rate, for 0.8 s.
    let udp = ["iperf3", "--client", "h3", "--udp", "--bitrate", "10M", "--bytes", "1M", "--json"];
    let output = start("h0", &udp).finish().assert_code(0);
    server.finish().assert_code(0);
    let output: Value = serde_json::from_str(&output.stdout).expect("iperf3 prints JSON");
    assert_eq!(output["end"]["sum"]["lost_packets"], 0, "{output}");
    lab.destroy();
}

/// A counter of `/proc/net/netstat` in a host.
fn counter(host: &str, name: &str) -> u64 {
    let read = command(&["exec", "lab", host, "--", "cat", "/proc/net/netstat"]).assert_code(0);
    let lines: Vec<Vec<&str>> = read.stdout.lines().map(|line| line.split(' ').collect()).collect();
    let found = lines.chunks(2).find_map(|pair| {
        let place = pair[0].iter().position(|it| *it == name)?;
        pair[1][place].parse().ok()
    });
    found.unwrap_or_else(|| panic!("no counter {name}: {read:?}"))
}

#[test]
fn tcp_of_programs_sees_the_switches_marks() {
    let ecn = "ecn = { kmin = \"5kB\", kmax = \"20kB\", pmax = 1.0, priorities = [0] }\n";
    let marking = SLOW.replace("[host]\n", &format!("{ecn}[host]\n"));
    let lab = Lab::deploy(&marking, &[]);
    let server = serve();
    // A sender on each leaf, so that a queue grows in front of h3. The machine's default may be a congestion control that
    // fills no queue; Reno is there in every kernel.
    let reno = ["iperf3", "--client", "h3", "--congestion", "reno", "--bytes", "1M"];
    let client = start("h0", &reno);
    let sent = command(&["send", "lab", "h2", "h3", "--bytes", "500kB", "--priority", "0"]);
    assert_eq!(sent.code, 0, "{sent:?}");
    client.finish().assert_code(0);
    server.finish().assert_code(0);
    let view = json(&["inspect", "lab", "--json"]);
    let switches = view["switches"].as_array().expect("an array");
    let marked = switches.iter().filter_map(|switch| switch["ecn_marked"].as_u64()).sum::<u64>();
    let seen = counter("h3", "InCEPkts");
    assert!(seen > 0, "{marked} packets were marked, h3 has seen {seen}: {view}");
    assert!(seen <= marked, "{marked} packets were marked, h3 has seen {seen}");
    lab.destroy();
}

/// The next steps that `xoff init` prints work.
#[test]
fn a_fabric_from_a_template() {
    let folder = ScenarioFolder::new();
    let written = finish(xoff(["init", "lab", "--kind", "live"]).current_dir(folder.path("")));
    let written = written.assert_code(0).stdout;
    let text = fs::read_to_string(folder.path("lab.toml")).unwrap();
    let lab = Lab::prepare(&text);
    let (_, steps) = written.split_once("next:\n").expect("what to do next");
    let steps: Vec<&str> = steps
        .lines()
        .filter_map(|it| it.trim().strip_prefix("sudo xoff ")?.split("  ").next())
        .collect();
    assert_eq!(steps.len(), 5, "{written}");
    // A terminal is for persons.
    for step in steps.into_iter().filter(|step| !step.starts_with("top ")) {
        let mut command = xoff(step.split(' '));
        finish(command.current_dir(lab.folder.path(""))).assert_code(0);
    }
    lab.assert_gone();
}
