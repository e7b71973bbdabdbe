//! Views of live fabrics: top, watch, metrics, captures of drops; deployments again, in the foreground and in JSON; and
//! viewers that do not delay others. Needs root, `ip` and `ping`; tshark for captures.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tests::command::{Running, await_that, finish, kill, limit, terminal, traces, xoff};
use tests::live::{Lab, SLOW, command, json, live, ping, supervisor};

/// A port's object in a line of `xoff watch --json`.
fn port<'a>(line: &'a Value, wire: &str) -> &'a Value {
    let ports = line["ports"].as_array().expect("it has ports");
    ports.iter().find(|port| port["wire"] == wire).unwrap_or_else(|| panic!("no {wire}: {line}"))
}

#[test]
fn a_watch_shows_rates_and_who_pauses_whom_and_ends_with_the_fabric() {
    // Two senders into one link of 20 Mbit/s.
    let small = SLOW.replace("buffer = \"1MB\"", "buffer = \"100kB\"");
    let lab = Lab::deploy(&small, &[]);
    let incast = ["incast", "lab", "h0", "--from", "h1,h2", "--bytes", "100MB"];
    let incast = Running::start(&mut xoff(incast));
    await_that("flows start", || json(&["inspect", "lab", "--json"])["active_flows"] == 2);
    await_that("the receiver's link is full and its switch pauses", || {
        let line = json(&["watch", "lab", "-n", "1", "--json", "--every", "200ms"]);
        let receiver = port(&line, "leaf0->h0");
        // A frame counts when it begins.
        let rate = receiver["out_bps"].as_u64().unwrap();
        assert!(rate <= 22_000_000, "{line}");
        let holds = line["holds"].as_array().unwrap();
        let held = holds.iter().any(|hold| {
            hold["by"] == "leaf0" && hold["wire"] == "h1->leaf0" && hold["priority"] == 3
        });
        rate > 15_000_000 && held && port(&line, "h1->leaf0")["paused_ns"][3] != 0
    });
    let lines = command(&["watch", "lab", "-n", "2", "--every", "50ms"]).assert_code(0).stdout;
    assert_eq!(lines.lines().count(), 2, "{lines}");
    assert!(lines.contains("flows 2"), "{lines}");
    let endless = Running::start(&mut xoff(["watch", "lab", "--every", "50ms"]));
    let rare = Running::start(&mut xoff(["watch", "lab", "--every", "1000s", "--json"]));
    // The reader ends after a line.
    let mut piped = xoff(["watch", "lab", "--every", "50ms"]);
    let mut piped = piped.stdout(Stdio::piped()).spawn().unwrap();
    let mut first = [0];
    let mut output = piped.stdout.take().unwrap();
    output.read_exact(&mut first).unwrap();
    drop(output);
    assert!(piped.wait().unwrap().success());
    rare.signal(libc::SIGINT);
    let rare = rare.finish().assert_code(0);
    assert_eq!((rare.stdout.as_str(), rare.stderr.as_str()), ("", ""));
    lab.destroy();
    let ended = endless.finish().assert_code(0);
    assert_eq!(ended.stderr, "the fabric lab has ended\n");
    incast.finish().assert_code(2);
}

/// Runs `xoff top` on a terminal until `end` ends it; returns its output and its exit code.
fn top(end: impl FnOnce(&mut fs::File, u32)) -> (String, i32) {
    let (mut master, slave) = terminal();
    let side = || Stdio::from(slave.try_clone().expect("a descriptor can be copied"));
    let mut top = xoff(["top", "lab", "--every", "50ms"]);
    let mut child = top.stdin(side()).stdout(side()).stderr(side()).spawn().expect("it starts");
    drop(top);
    let is_raw = |slave: &fs::File| {
        // SAFETY: all-zero is a valid termios, which the call fills in; the descriptor is open.
        unsafe {
            let mut state: libc::termios = std::mem::zeroed();
            assert_eq!(libc::tcgetattr(slave.as_raw_fd(), &raw mut state), 0);
            state.c_lflag & libc::ICANON == 0
        }
    };
    let mut seen = Vec::new();
    // Spaces are not drawn where there is nothing yet.
    while !String::from_utf8_lossy(&seen).contains("whom") {
        let mut part = [0; 4096];
        let read = master.read(&mut part).expect("it is shown");
        seen.extend_from_slice(&part[..read]);
    }
    assert!(is_raw(&slave), "keys come one by one");
    end(&mut master, child.id());
    // What it still writes is read, or it would wait.
    let reader = std::thread::spawn(move || {
        let _ = master.read_to_end(&mut seen);
        seen
    });
    let code = child.wait().expect("it is a child").code();
    assert!(!is_raw(&slave), "the terminal is as it was");
    drop(slave);
    let seen = String::from_utf8_lossy(&reader.join().unwrap()).into_owned();
    let (entered, left) = ("\x1b[?1049h", "\x1b[?1049l");
    assert!(seen.contains(entered) && seen.rfind(left) > seen.rfind(entered), "{seen:?}");
    (seen, code.expect("no signal ended it"))
}

#[test]
fn a_top_ends_by_key_signal_or_with_the_fabric_and_restores_the_terminal() {
    let lab = Lab::deploy(SLOW, &[]);
    let (seen, code) = top(|keys, _| keys.write_all(b"tps?q").unwrap());
    assert_eq!(code, 0, "{seen:?}");
    assert!(seen.contains("leaf0->h0"), "{seen:?}");
    // Ctrl-C is a key in a terminal whose keys come one by one.
    assert_eq!(top(|keys, _| keys.write_all(&[3]).unwrap()).1, 0);
    let terminate = |_: &mut fs::File, process: u32| {
        // SAFETY: sends a signal to a child.
        unsafe { libc::kill(process.cast_signed(), libc::SIGTERM) };
    };
    assert_eq!(top(terminate).1, 0);
    let (seen, code) = top(|_, _| kill(supervisor()));
    assert!(seen.contains("the supervisor of lab died"), "{seen:?}");
    assert_eq!(code, 0);
    command(&["deploy", &lab.folder.path("lab.toml")]).assert_code(0);
    let (seen, code) = top(|_, _| lab.destroy());
    assert!(seen.ends_with("the fabric lab has ended\r\n"), "{seen:?}");
    assert_eq!(code, 0);
    command(&["top", "lab"]).assert_refused(&["needs a terminal", "xoff watch"]);
}

fn get(mut stream: impl Read + Write) -> String {
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: lab\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn metrics_are_served_to_this_machine_until_the_fabric_ends() {
    let lab = Lab::deploy(SLOW, &[]);
    command(&["exec", "lab", "h0", "--", "true"]).assert_code(0);
    // The machine of this test has no loopback yet.
    let set = Command::new("ip").args(["link", "set", "lo", "up"]).status();
    assert!(set.expect("this test needs ip").success());
    ping("h1", "2", "h0").assert_code(0);
    let mut server = xoff(["metrics", "lab", "--listen", "127.0.0.1:0", "--json"]);
    let mut server = server.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut output = std::io::BufReader::new(server.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut output, &mut line).unwrap();
    let said: Value = serde_json::from_str(&line).unwrap();
    let address = said["serving"].as_str().unwrap().strip_prefix("http://").unwrap();
    let address = address.strip_suffix("/metrics").unwrap();
    // Hanging clients do not delay others.
    let hanging: Vec<TcpStream> = (0..8).map(|_| TcpStream::connect(address).unwrap()).collect();
    let page = get(TcpStream::connect(address).unwrap());
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
    let counted = "\nxoff_host_program_sent_frames_total{fabric=\"lab\",host=\"h0\"} 2\n";
    assert!(page.contains(counted) && page.ends_with("# EOF\n"), "{page}");
    let path = lab.folder.path("socket");
    let socket = Running::start(&mut xoff(["metrics", "lab", "--socket", &path]));
    await_that("the socket is there", || UnixStream::connect(&path).is_ok());
    assert!(get(UnixStream::connect(&path).unwrap()).contains("xoff_port_up{"));
    command(&["metrics", "lab", "--socket", &path]).assert_refused(&["cannot listen", "socket"]);
    socket.signal(libc::SIGTERM);
    socket.finish().assert_code(0);
    assert!(!Path::new(&path).exists(), "the socket goes with its server");
    for arguments in [&["metrics", "lab", "--listen", "0.0.0.0:9100"][..], &["metrics", "lab"]] {
        assert_eq!(command(arguments).code, 2, "{arguments:?}");
    }
    command(&["destroy", "lab"]).assert_code(0);
    assert!(server.wait().unwrap().success());
    drop(hanging);
    assert!(live().is_empty(), "{:?}", live());
}

#[test]
fn drops_are_captured_with_their_reason() {
    let lab = Lab::deploy(SLOW, &[]);
    let file = lab.folder.path("drops.pcapng");
    let arguments = ["capture", "lab", "-w", &file, "--filter", "drops", "-c", "3", "--json"];
    let capture = Running::start(&mut xoff(arguments));
    await_that("a capture begins", || fs::metadata(&file).is_ok_and(|file| file.len() > 0));
    // It is delivered, and therefore not captured.
    ping("h1", "1", "h0").assert_code(0);
    let short = ["exec", "lab", "h0", "--", "ping", "-n", "-c", "2", "-t", "2", "-W", "1", "h3"];
    command(&short).assert_code(1);
    command(&["link", "lab", "leaf0->h1", "down"]).assert_code(0);
    ping("h1", "1", "h0").assert_code(1);
    let ended = capture.finish().assert_code(0);
    assert_eq!(ended.stderr, "{\"frames\":3,\"lost\":0}\n");
    let fields =
        ["-T", "fields", "-e", "frame.interface_name", "-e", "frame.comment", "-e", "ip.ttl"];
    let shown = Command::new("tshark").args(["-r", &file]).args(fields).output();
    let shown = String::from_utf8(shown.expect("this test needs tshark").stdout).unwrap();
    let lines: Vec<Vec<&str>> = shown.lines().map(|line| line.split('\t').collect()).collect();
    for line in &lines[..2] {
        assert!(line[0].starts_with("leaf0->spine"), "{shown}");
        assert_eq!(line[1..], ["dropped: ttl-expired", "1"], "{shown}");
    }
    assert_eq!(lines[2], ["leaf0->h1", "dropped: link-down", "63"], "{shown}");
    lab.destroy();
}

#[test]
fn a_deployment_reports_what_it_would_change_and_replaces_on_request() {
    let lab = Lab::deploy(SLOW, &[]);
    let (file, first) = (lab.folder.path("lab.toml"), supervisor());
    let changed = ["deploy", &file, "--set", "switch.buffer=2MB", "--dilation", "3"];
    let words = [
        "there is a live fabric lab, and this one is another:",
        "\n  switch.buffer: \"1MB\" -> \"2MB\"\n",
        "\n  --dilation: 1 -> 3\n",
        "--replace",
        "xoff destroy lab",
    ];
    command(&changed).assert_refused(&words);
    let in_json = command(&[&changed[..], &["--json"]].concat()).assert_code(2);
    let error: Value = serde_json::from_str(&in_json.stderr).unwrap();
    assert_eq!(error["changes"][0]["key"], "switch.buffer");
    let unchanged = json(&["deploy", &file, "--replace", "--json"]);
    assert_eq!(unchanged["outcome"], "unchanged");
    // What cannot be deployed takes nothing down.
    for wrong in ["switch.buffer=1kB", "datapath.kind=memory", "no.such=1"] {
        assert_eq!(command(&["deploy", &file, "--replace", "--set", wrong]).code, 2, "{wrong}");
    }
    assert_eq!(supervisor(), first);
    let replaced = json(&[&changed[..], &["--replace", "--json"]].concat());
    assert_eq!(replaced["outcome"], "replaced");
    assert_eq!(replaced["fabric"]["dilation"], 3);
    assert_eq!(replaced["changes"].as_array().unwrap().len(), 2);
    assert_ne!(supervisor(), first);
    assert_eq!(json(&["inspect", "lab", "--json"])["switches"][0]["capacity_bytes"], 2_000_000);
    lab.destroy();
}

#[test]
fn a_fabric_that_cannot_be_replaced_is_deployed_again_as_it_was() {
    let lab = Lab::deploy(SLOW, &["--dilation", "2"]);
    let first = supervisor();
    // Valid, and more than the process may have files.
    let file = lab.folder.path("lab.toml");
    let large = ["deploy", &file, "--replace", "--set", "topology.hosts_per_leaf=24"];
    let mut large = xoff(large);
    let failed = finish(limit(&mut large, libc::RLIMIT_NOFILE, 200));
    failed.assert_refused(&["open files", "lab is up again as it was"]);
    assert_ne!(supervisor(), first);
    let listed = json(&["list", "--json"]);
    assert_eq!(listed[0]["fabric"]["dilation"], 2);
    assert_eq!(listed[0]["fabric"]["hosts"].as_array().map(Vec::len), Some(4));
    ping("h1", "1", "h0").assert_code(0);
    lab.destroy();
}

/// The earlier results stay, whatever is wrong with the new fabric.
#[test]
fn a_failed_replacement_leaves_the_old_results_alone() {
    let lab = Lab::prepare(SLOW);
    let (file, out) = (lab.folder.path("lab.toml"), lab.folder.path("out"));
    command(&["deploy", &file, "--name", "lab", "--out", &out]).assert_code(0);
    command(&["send", "lab", "h0", "h1", "--bytes", "14kB"]).assert_code(0);
    let first = supervisor();
    let replace = ["deploy", &file, "--name", "lab", "--replace"];
    command(&[&replace[..], &["--out", &file]].concat()).assert_refused(&["is not a folder"]);
    assert_eq!(supervisor(), first);
    let mut large = xoff(replace.into_iter().chain(["--set", "topology.hosts_per_leaf=24"]));
    let failed = finish(limit(&mut large, libc::RLIMIT_NOFILE, 200));
    let words = ["lab is up again as it was", &format!("it has left its results in {out}")];
    failed.assert_refused(&words);
    let flows = || fs::read_to_string(format!("{out}/flows.csv")).unwrap();
    assert_eq!(flows().lines().count(), 2);
    lab.destroy();
    assert_eq!(flows().lines().count(), 2, "its second life has left none");
}

#[test]
fn a_fabric_in_the_foreground_lives_as_long_as_its_command() {
    let lab = Lab::prepare(SLOW);
    let (file, socket) = (lab.folder.path("lab.toml"), lab.folder.path("manager"));
    let manager = UnixDatagram::bind(&socket).unwrap();
    let arguments = ["deploy", "--foreground", "--name", "lab", &file];
    let fabric = Running::start(xoff(arguments).env("NOTIFY_SOCKET", &socket));
    // As systemd waits for it.
    let mut message = [0; 100];
    let length = manager.recv(&mut message).unwrap();
    assert_eq!(&message[..length], b"READY=1\n");
    assert_eq!(supervisor(), fabric.id());
    ping("h1", "1", "h0").assert_code(0);
    command(&arguments).assert_refused(&["there is a live fabric lab, and it is the same"]);
    fabric.signal(libc::SIGTERM);
    let ended = fabric.finish().assert_code(0);
    assert!(ended.stdout.starts_with("lab is up: "), "{ended:?}");
    lab.assert_gone();
    // Errors are on standard error.
    let fabric = Running::start(&mut xoff(arguments));
    await_that("it is up", || command(&["list"]).stdout.contains("\nlab   up "));
    command(&["exec", "lab", "h0", "--", "ip", "link", "set", "leaf0", "down"]).assert_code(0);
    // The flow sends into a wire that is gone.
    command(&["send", "lab", "h0", "h1", "--bytes", "1kB"]).assert_code(2);
    let ended = fabric.finish().assert_code(2);
    assert!(ended.stderr.contains("error: "), "{ended:?}");
    lab.assert_gone();
}

#[test]
fn more_clients_than_there_is_room_for_hold_up_nobody_who_looks() {
    let lab = Lab::deploy(SLOW, &[]);
    let watch = Running::start(&mut xoff(["watch", "lab", "--every", "50ms", "-n", "40"]));
    let connect = || UnixStream::connect("/run/xoff/live/lab/socket").unwrap();
    let hanging: Vec<UnixStream> = (0..200u8)
        .map(|number| {
            let mut client = connect();
            // Silent, half a request, rubbish, an answer that is not read. Writes of disconnected clients fail.
            let said = [&b""[..], b"{\"ask\":", b"\xff\xfe\n", b"{\"ask\":\"look\"}\n"];
            let _ = client.write_all(said[usize::from(number) % said.len()]);
            client
        })
        .collect();
    await_that("a newcomer is answered", || command(&["inspect", "lab"]).code == 0);
    let watched = watch.finish().assert_code(0);
    assert_eq!(watched.stdout.lines().count(), 40, "{watched:?}");
    command(&["send", "lab", "h0", "h1", "--bytes", "14kB"]).assert_code(0);
    lab.destroy();
    drop(hanging);
}

/// Captures without a reader, more than a supervisor serves, of a fabric in which nothing happens. Their sockets have
/// room for all signs of life.
#[test]
fn captures_that_nobody_reads_hold_up_nobody_who_looks() {
    let lab = Lab::deploy(SLOW, &[]);
    let captures: Vec<UnixStream> = (0..80)
        .map(|_| {
            let mut client = UnixStream::connect("/run/xoff/live/lab/socket").unwrap();
            let ask = b"{\"ask\":\"capture\",\"wires\":[\"*\"],\"filter\":\"all\"}\n";
            client.write_all(ask).unwrap();
            client
        })
        .collect();
    // The first request may be refused, while some have just connected.
    let looks = [(); 3].map(|()| command(&["inspect", "lab"]));
    assert!(looks.iter().any(|look| look.code == 0), "{looks:?}");
    lab.destroy();
    drop(captures);
}

#[test]
fn errors_are_json_where_that_is_asked_for() {
    let lab = Lab::deploy(SLOW, &[]);
    let file = lab.folder.path("drops.pcapng");
    for arguments in [
        vec!["deploy", "missing.toml", "--json"],
        vec!["inspect", "nolab", "--json"],
        vec!["send", "lab", "h0", "h9", "--json"],
        vec!["incast", "lab", "h9", "--json"],
        vec!["send", "lab", "--json"],
        vec!["link", "lab", "h9-leaf0", "up", "--json"],
        vec!["link", "lab", "h0-leaf0", "sideways", "--json"],
        vec!["capture", "lab", "h9->*", "-w", &file, "--json"],
        vec!["storm", "lab", "h9", "--json"],
        vec!["storm", "lab", "h0", "--for", "1", "--json"],
        vec!["exec", "lab", "h9", "--json", "--", "true"],
        vec!["watch", "nolab", "--json"],
        vec!["metrics", "nolab", "--socket", &file, "--json"],
        vec!["destroy", "nolab", "--json"],
    ] {
        let refused = command(&arguments).assert_code(2);
        assert_eq!(refused.stdout, "", "{arguments:?}");
        let error: Value = serde_json::from_str(&refused.stderr)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}", refused.stderr));
        assert!(error["error"].as_str().is_some_and(|why| !why.starts_with("error")), "{error}");
        assert_eq!(refused.stderr.lines().count(), 1, "{arguments:?}");
    }
    let down = json(&["link", "lab", "h0-leaf0", "down", "--json"]);
    let wires = down.as_array().expect("both wires of the link");
    assert!(wires.len() == 2 && wires.iter().all(|wire| wire["is_up"] == false), "{down}");
    let storm = json(&["storm", "lab", "h0", "--for", "10ms", "--json"]);
    let storms = [serde_json::json!({ "priority": 3, "left_ps": 10_000_000_000_u64 })];
    let begun =
        serde_json::json!({ "host": "h0", "priorities": [3], "ended": false, "storms": storms });
    assert_eq!(storm, begun);
    let destroyed = json(&["destroy", "lab", "--json"]);
    assert_eq!(destroyed.to_string(), r#"{"destroyed":["lab"]}"#);
    assert_eq!(json(&["destroy", "--json"])["removed"], serde_json::json!([]));
    assert_eq!(traces(), lab.before);
}
