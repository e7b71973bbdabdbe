//! The real clock of live fabrics: punctuality, results, stalls of the machine, and arrivals and departures of fabrics.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::net::UdpSocket;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tests::command::{
    Running, await_that, await_unloaded, bpf_objects_of, kill, mount_small_disk, take_interrupted,
    traces, unmount, xoff,
};
use tests::live::{Lab, SLOW, command, inside, json, ping, signal_supervisor, supervisor};

/// An incast that fills a small buffer, after a while in which nothing happens.
const INCAST: &str = r#"
[[flows]]
kind = "incast"
senders = ["h1", "h2", "h3"]
receiver = "h0"
bytes = "100kB"
priority = 3
start = "20ms"
"#;

/// The incast over switches so small that they pause.
fn pausing() -> String {
    let fabric = SLOW.replace("buffer = \"1MB\"", "buffer = \"120kB\"");
    format!("name = \"lab\"\n[results]\nqueue_period = \"100us\"\n{fabric}{INCAST}")
}

fn inspect() -> Value {
    json(&["inspect", "lab", "--json"])
}

fn read(folder: &str, file: &str) -> String {
    let path = Path::new(folder).join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn summary(folder: &str) -> BTreeMap<String, Value> {
    serde_json::from_str(&read(folder, "summary.json")).unwrap()
}

/// Compares a live fabric's results at `live` with a run of the same scenario in memory, both in a format.
#[track_caller]
fn assert_same_as_a_run(lab: &Lab, live: &str, format: &str) {
    let run = lab.folder.path("run");
    let file = lab.folder.path("lab.toml");
    let options = ["--datapath", "memory", "--out", &run, "--format", format];
    command(&[&["run", &file], &options[..]].concat()).assert_code(0);
    for table in
        ["flows", "pauses", "pause_time", "queues", "fct_by_size", "drops", "links", "deadlocks"]
    {
        let bytes = |folder: &str| {
            let path = Path::new(folder).join(format!("{table}.{format}"));
            fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        let (live, run) = (bytes(live), bytes(&run));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(live == run, "{table}:\n{}\nof a run:\n{}", text(&live), text(&run));
    }
    let (mut of_live, mut of_run) = (summary(live), summary(&run));
    let fidelity = of_live.remove("fidelity").expect("a live fabric has one");
    assert_eq!(fidelity["nodes"].as_object().map(serde_json::Map::len), Some(8), "{fidelity}");
    assert!(fidelity["deadlines"].as_u64() > Some(0), "{fidelity}");
    for key in results::Summary::MACHINE_KEYS {
        assert!(of_live.remove(key).is_some() && of_run.remove(key).is_some(), "{key}");
    }
    assert_eq!(of_live, of_run);
    assert!(of_run["pause_frames"].as_u64() > Some(0), "the scenario tests pauses: {of_run:?}");
    assert!(read(live, "manifest.json").contains("\"clock\": \"real\""));
}

fn await_flows(flows: u64) {
    await_that("flows are played", || inspect()["completed_flows"] == flows);
}

/// Destroys a fabric that leaves its results at `out`.
fn destroy_with_results(lab: &Lab, out: &str) {
    let destroyed = command(&["destroy", "lab"]).assert_code(0);
    assert_eq!(destroyed.stdout, format!("destroyed lab; {out} has its results\n"));
    lab.assert_gone();
}

#[test]
fn a_played_scenario_has_the_results_of_a_run() {
    for format in ["csv", "parquet"] {
        let lab = Lab::prepare(&pausing());
        let out = lab.folder.path("live");
        let file = lab.folder.path("lab.toml");
        command(&["deploy", &file, "--play", "--out", &out, "--format", format]).assert_code(0);
        await_flows(3);
        let text = command(&["inspect", "lab"]).assert_code(0).stdout;
        assert!(text.contains(&format!("results: at the end, in {out}")), "{text}");
        destroy_with_results(&lab, &out);
        assert_same_as_a_run(&lab, &out, format);
    }
}

/// The fabric is as new after it was tried out.
#[test]
fn a_dilation_is_found_out_and_leaves_no_trace() {
    let lab = Lab::prepare(&pausing());
    let out = lab.folder.path("live");
    let file = lab.folder.path("lab.toml");
    let options = ["--dilation", "auto", "--play", "--out", &out];
    let deployed = command(&[&["deploy", &file], &options[..]].concat()).assert_code(0).stdout;
    let chosen = "--dilation auto chose ";
    assert!(
        deployed.contains(&format!("{chosen}1: with the scenario's flows"))
            || deployed.contains("an emulated second takes "),
        "{deployed}"
    );
    await_flows(3);
    let (text, view) = (command(&["inspect", "lab"]).assert_code(0).stdout, inspect());
    assert!(text.contains(chosen), "{text}");
    assert!(view["calibration"].as_str().unwrap().starts_with(chosen), "{view}");
    destroy_with_results(&lab, &out);
    assert_same_as_a_run(&lab, &out, "csv");
}

#[test]
fn a_fabric_without_flows_is_tried_out_with_all_its_hosts() {
    let lab = Lab::deploy(SLOW, &["--dilation", "auto"]);
    let view = inspect();
    let why = view["calibration"].as_str().unwrap();
    assert!(why.contains("with every host sending at the rate of its link"), "{why}");
    assert_eq!((&view["packet_hops"], &view["active_flows"]), (&0.into(), &0.into()));
    for switch in view["switches"].as_array().unwrap() {
        assert_eq!(switch["most_buffer_bytes"], 0, "{switch}");
    }
    ping("h3", "1", "h0").assert_code(0);
    let sent = command(&["send", "lab", "h0", "h3", "--bytes", "14kB"]).assert_code(0);
    assert!(sent.stdout.contains("slowdown 1.00; fidelity "), "{sent:?}");
    lab.destroy();
}

#[test]
fn a_full_disk_stops_the_results_and_not_the_fabric() {
    let lab = Lab::prepare(&pausing().replace("100us", "1us").replace("100kB", "1MB"));
    let disk = lab.folder.path("disk");
    fs::create_dir(&disk).unwrap();
    mount_small_disk(Path::new(&disk), 100_000);
    let out = format!("{disk}/live");
    let file = lab.folder.path("lab.toml");
    command(&["deploy", &file, "--play", "--out", &out]).assert_code(0);
    await_that("results stop", || inspect()["results"]["stopped"].is_string());
    let text = command(&["inspect", "lab"]).assert_code(0).stdout;
    assert!(text.contains("results: NONE: cannot write ") && text.contains(".csv"), "{text}");
    await_flows(3);
    ping("h3", "1", "h0").assert_code(0);
    let destroyed = command(&["destroy", "lab"]).assert_code(1);
    assert_eq!(destroyed.stdout, "destroyed lab\n");
    for words in ["lab did not end well: there are no results: cannot write ", "free some space"] {
        assert!(destroyed.stderr.contains(words), "{destroyed:?}");
    }
    assert_eq!(fs::read_dir(&out).map_or(0, Iterator::count), 0, "half of the results are left");
    unmount(Path::new(&disk)).unwrap();
    lab.assert_gone();
}

#[test]
fn a_folder_that_cannot_be_used_is_found_before_anything_is_deployed() {
    let lab = Lab::prepare(SLOW);
    let file = lab.folder.path("lab.toml");
    command(&["deploy", &file, "--out", &file]).assert_refused(&["is not a folder", "--out"]);
    let folder = Path::new(&file).parent().unwrap().display().to_string();
    command(&["deploy", &file, "--out", &folder]).assert_refused(&["lab.toml", "--out"]);
    let disk = lab.folder.path("disk");
    fs::create_dir(&disk).unwrap();
    // Rounded up to a page.
    mount_small_disk(Path::new(&disk), 1);
    assert!(fs::write(format!("{disk}/all"), vec![0; 1 << 20]).is_err());
    let full = command(&["deploy", &file, "--out", &format!("{disk}/live")]);
    full.assert_refused(&["No space left on device", "free some space", "--out"]);
    assert_eq!(fs::read_dir(&disk).unwrap().count(), 1);
    unmount(Path::new(&disk)).unwrap();
    lab.assert_gone();
    for value in ["0", "-1", "99999999999", "fast"] {
        let refused = command(&["deploy", &file, "--dilation", value]).assert_code(2);
        let words = "a whole number of seconds from 1 up, or `auto`";
        assert!(refused.stderr.contains(words), "{refused:?}");
    }
}

/// Duration of a supervisor's stall: long enough to be noticed on any machine.
const STALL: Duration = Duration::from_secs(1);

#[test]
fn a_supervisor_that_stalls_says_so() {
    let lab = Lab::deploy(SLOW, &[]);
    let process = supervisor();
    let stall = || {
        signal_supervisor(process, libc::SIGSTOP);
        thread::sleep(STALL);
        signal_supervisor(process, libc::SIGCONT);
    };
    // With nothing to do it sleeps, and does not serve programs in time.
    stall();
    let mut view = inspect();
    await_that("a sleep ends late", || {
        view = inspect();
        view["fidelity"]["sleeps"]["late"].as_u64() > Some(0)
    });
    assert_eq!(view["fidelity"]["lost_ns"], 0, "{view}");
    let lines = Running::start(&mut xoff(["send", "lab", "h0", "h3", "--bytes", "2MB", "--json"]));
    await_that("a flow starts", || inspect()["active_flows"] == 1);
    stall();
    let view = inspect();
    assert_eq!(view["fidelity"]["is_good"], false, "{view}");
    assert!(view["fidelity"]["lost_ns"].as_u64() > Some(0), "{view}");
    let text = command(&["inspect", "lab"]).assert_code(0).stdout;
    assert!(
        text.contains("fidelity: NOT GOOD") && text.contains("the emulated clock lost "),
        "{text}"
    );
    let sent = lines.finish().assert_code(0).stdout;
    let sent: Value = serde_json::from_str(&sent).unwrap();
    // What the flow takes is not the machine's doing.
    assert_eq!(sent["slowdown"], 1.0, "{sent}");
    assert_eq!(sent["fidelity"]["is_good"], false, "{sent}");
    assert!(sent["fidelity"]["lost_ns"].as_u64() > Some(0), "{sent}");
    assert!(sent["fidelity"]["deadlines"].as_u64() > Some(1000), "{sent}");
    lab.destroy();
}

/// The clock of all nodes is set back, so that they are punctual again, and the results record it.
#[test]
fn a_stall_is_in_the_results_and_is_over_at_some_time() {
    let lab = Lab::prepare(SLOW);
    let (file, out) = (lab.folder.path("lab.toml"), lab.folder.path("live"));
    command(&["deploy", &file, "--name", "lab", "--out", &out]).assert_code(0);
    let send = Running::start(&mut xoff(["send", "lab", "h0", "h3", "--bytes", "1GB"]));
    await_that("a flow starts", || inspect()["active_flows"] == 1);
    let process = supervisor();
    signal_supervisor(process, libc::SIGSTOP);
    thread::sleep(STALL);
    signal_supervisor(process, libc::SIGCONT);
    await_that("the clock is set back", || inspect()["fidelity"]["lost_ns"].as_u64() > Some(0));
    // Measured by the clock that was not set back, all would be late by the whole stall.
    let half = u64::try_from(STALL.as_nanos() / 2).unwrap();
    await_that("the fabric recovers", || {
        let recent = &inspect()["fidelity"]["recent"];
        recent["deadlines"].as_u64() > Some(100) && recent["most_ns"].as_u64() < Some(half)
    });
    destroy_with_results(&lab, &out);
    let ended = "1 of 1 flows did not finish: the fabric ended, as was asked for by process ";
    send.finish().assert_refused(&[ended, "of user 0 (", "xoff destroy lab)"]);
    let fidelity = &summary(&out)["fidelity"];
    assert_eq!(fidelity["is_good"], false, "{fidelity}");
    assert!(fidelity["lost_ns"].as_u64() > Some(half), "{fidelity}");
    assert!(fidelity["sleeps"]["deadlines"].is_u64(), "{fidelity}");
}

/// The remains of a fabric that ends by an error, or is killed, are not results.
#[test]
fn a_fabric_that_ends_by_an_error_says_that_its_results_are_lost() {
    let lab = Lab::prepare(SLOW);
    let (file, out) = (lab.folder.path("lab.toml"), lab.folder.path("live"));
    let deploy = ["deploy", &file, "--name", "lab", "--out", &out];
    let lost = format!("what was to go to {out} is lost");
    command(&deploy).assert_code(0);
    command(&["send", "lab", "h0", "h1", "--bytes", "14kB"]).assert_code(0);
    // Although no frame crosses the wire.
    command(&["exec", "lab", "h0", "--", "ip", "link", "set", "leaf0", "down"]).assert_code(0);
    await_that("the fabric dies", || json(&["list", "--json"])[0]["state"] == "abandoned");
    let why = ["died, having said \"error: host h0: ", "the interface is down or gone: "];
    command(&["send", "lab", "h0", "h1", "--bytes", "14kB"]).assert_refused(&why);
    command(&["inspect", "lab"]).assert_refused(&why);
    let destroyed = command(&["destroy", "lab"]).assert_code(1);
    assert_eq!(destroyed.stdout, "destroyed lab\n");
    assert!(destroyed.stderr.contains("lab did not end well: "), "{destroyed:?}");
    assert!(destroyed.stderr.contains(&lost), "{destroyed:?}");
    lab.assert_gone();
    command(&deploy).assert_code(0);
    kill(supervisor());
    let destroyed = command(&["destroy", "lab"]).assert_code(1);
    assert!(destroyed.stderr.contains(&lost), "{destroyed:?}");
    lab.assert_gone();
}

#[test]
fn every_node_says_how_punctual_it_is() {
    let lab = Lab::deploy(SLOW, &["--busy-poll"]);
    command(&["send", "lab", "h0", "h1", "--bytes", "140kB"]).assert_code(0);
    let view = inspect();
    let deadlines = |kind: &str, number: usize| {
        let fidelity = &view[kind][number]["fidelity"];
        assert!(fidelity["is_good"].is_boolean(), "{fidelity}");
        fidelity["all"]["deadlines"].as_u64().unwrap()
    };
    // A hundred packets cross three nodes; other nodes have none.
    assert!(deadlines("hosts", 0) >= 100 && deadlines("hosts", 1) >= 100, "{view}");
    assert!(deadlines("switches", 0) >= 100, "{view}");
    assert_eq!((deadlines("hosts", 2), deadlines("switches", 3)), (0, 0), "{view}");
    let all = view["fidelity"]["all"]["deadlines"].as_u64();
    assert_eq!(all, Some(deadlines("hosts", 0) + deadlines("hosts", 1) + deadlines("switches", 0)));
    // The shortest frame takes 33.6 us to cross a wire, whose delay is 50 us.
    assert_eq!(view["fidelity"]["window_ns"], 83_600);
    let text = command(&["inspect", "lab"]).assert_code(0).stdout;
    assert!(text.contains("99 of 100 deadlines were met within "), "{text}");
    lab.destroy();
}

/// Number of a process's threads with a scheduling policy.
fn threads_with_policy(process: u32, policy: &str) -> usize {
    let threads = fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten();
    let has_policy = |stat: String| {
        let fields = stat.rsplit(')').next().unwrap_or_default();
        // The 41st field; the name, in parentheses, is the second.
        fields.split_whitespace().nth(38) == Some(policy)
    };
    threads.filter(|it| fs::read_to_string(it.path().join("stat")).is_ok_and(has_policy)).count()
}

#[test]
fn real_time_is_for_the_thread_that_runs_the_fabric() {
    let lab = Lab::deploy(SLOW, &["--real-time"]);
    let process = supervisor();
    // SCHED_RR; others answer clients.
    await_that("a thread goes first", || threads_with_policy(process, "2") == 1);
    ping("h3", "1", "h0").assert_code(0);
    assert_eq!(threads_with_policy(process, "2"), 1);
    lab.destroy();
}

fn cpu_ticks(process: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

/// Thresholds and samples are due every microsecond, but nothing that they depend on changes.
#[test]
fn timers_of_an_idle_fabric_rest() {
    let periodic = SLOW.replace("headroom", "thresholds = { period = \"1us\" }\nheadroom");
    let lab =
        Lab::prepare(&format!("name = \"lab\"\n[results]\nqueue_period = \"1us\"\n{periodic}"));
    let out = lab.folder.path("live");
    command(&["deploy", &lab.folder.path("lab.toml"), "--out", &out]).assert_code(0);
    ping("h3", "1", "h0").assert_code(0);
    let process = supervisor();
    let before = cpu_ticks(process);
    thread::sleep(STALL);
    // In hundredths of a second. It would be busy all the time.
    let busy = cpu_ticks(process) - before;
    assert!(busy < 30, "an idle fabric took {busy} ticks of processor time in a second");
    // They continue with the next frame, of a flow or of a program.
    let sampled = || {
        destroy_with_results(&lab, &out);
        assert!(read(&out, "queues.csv").lines().count() > 10, "what waits is sampled");
    };
    command(&["incast", "lab", "h0", "--bytes", "28kB"]).assert_code(0);
    sampled();
    assert_eq!(summary(&out)["ended"], "drained");
    command(&["deploy", &lab.folder.path("lab.toml"), "--out", &out]).assert_code(0);
    thread::sleep(STALL / 10);
    let send = |host| {
        inside(host, || {
            let sender = UdpSocket::bind("0.0.0.0:0").unwrap();
            // More than half a second of the link, so that both share the receiver's.
            for _ in 0..1000 {
                sender.send_to(&[0; 1400], "10.0.1.1:9").unwrap();
            }
        });
    };
    thread::scope(|scope| {
        scope.spawn(|| send(1));
        scope.spawn(|| send(2));
    });
    await_that("they arrive", || {
        inspect()["hosts"][0]["program_frames_received"].as_u64() > Some(1000)
    });
    sampled();
}

#[test]
fn a_fabric_that_is_killed_or_ended_under_load_is_cleaned_up() {
    let lab = Lab::deploy(SLOW, &[]);
    let process = supervisor();
    let objects = bpf_objects_of(process);
    let send = Running::start(&mut xoff(["send", "lab", "h0", "h3", "--bytes", "1GB"]));
    await_that("a flow starts", || inspect()["active_flows"] == 1);
    kill(process);
    send.finish().assert_refused(&["the supervisor of lab died"]);
    await_unloaded(&objects);
    lab.destroy();
    // A socket without a listener, and nothing else, does not disturb.
    fs::create_dir_all("/run/xoff/live/lab").unwrap();
    drop(UnixListener::bind("/run/xoff/live/lab/socket").unwrap());
    let (out, file) = (lab.folder.path("live"), lab.folder.path("lab.toml"));
    command(&["deploy", &file, "--out", &out]).assert_code(0);
    let send = Running::start(&mut xoff(["send", "lab", "h0", "h3", "--bytes", "1GB"]));
    await_that("a flow starts", || inspect()["active_flows"] == 1);
    signal_supervisor(supervisor(), libc::SIGTERM);
    send.finish().assert_code(2);
    await_that("the fabric goes", || tests::live::live().is_empty());
    await_that("its namespaces go", || traces() == lab.before);
    await_that("its results appear", || Path::new(&out).join("manifest.json").exists());
    assert!(take_interrupted(&out), "results say that a flow was under way");
}

/// Open descriptors and threads of a process.
fn descriptors_and_threads(process: u32) -> (usize, usize) {
    let count = |of: &str| fs::read_dir(format!("/proc/{process}/{of}")).unwrap().count();
    (count("fd"), count("task"))
}

/// `XOFF_CYCLES` sets the number of cycles; CI has a few minutes.
#[test]
fn fabrics_that_come_and_go_leave_nothing() {
    let cycles = env::var("XOFF_CYCLES").map_or(4, |cycles| cycles.parse().expect("a number"));
    let lab = Lab::prepare(SLOW);
    let file = lab.folder.path("lab.toml");
    let mut had = None;
    for cycle in 0..cycles {
        let options: &[&str] = if cycle % 2 == 0 { &[] } else { &["--dilation", "auto"] };
        command(&[&["deploy", &file, "--name", "lab"], options].concat()).assert_code(0);
        let process = supervisor();
        let objects = bpf_objects_of(process);
        command(&["send", "lab", "h0", "h3", "--bytes", "14kB"]).assert_code(0);
        ping("h3", "1", "h0").assert_code(0);
        // A trial, a flow or a client that had left something would show here.
        await_that("clients' threads end", || {
            let has = (descriptors_and_threads(process), objects.len());
            *had.get_or_insert(has) == has
        });
        lab.destroy();
        await_unloaded(&objects);
        assert!(!Path::new(&format!("/proc/{process}/fd/0")).exists(), "cycle {cycle}");
    }
}

/// Samples, which results need, begin the switches' own maxima again.
#[test]
fn the_most_that_a_switch_has_held_stays() {
    let lab = Lab::prepare(&pausing());
    let (file, out) = (lab.folder.path("lab.toml"), lab.folder.path("live"));
    command(&["deploy", &file, "--out", &out]).assert_code(0);
    command(&["incast", "lab", "h0", "--bytes", "50kB"]).assert_code(0);
    let most = || -> Vec<u64> {
        let view = inspect();
        let switches = view["switches"].as_array().expect("an array").iter();
        switches.map(|switch| switch["most_buffer_bytes"].as_u64().expect("bytes")).collect()
    };
    let after = most();
    assert!(after.iter().any(|&bytes| bytes > 20_000), "{after:?}");
    ping("h3", "2", "h1").assert_code(0);
    assert_eq!(most(), after, "a ping fills no buffer");
    destroy_with_results(&lab, &out);
}
