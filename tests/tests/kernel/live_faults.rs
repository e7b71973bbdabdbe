//! Wires of a live fabric that lose, damage and delay frames, are slow, or go down. Needs root, `ip` and `ping`.

use serde_json::Value;
use tests::command::await_that;

use tests::live::{Lab, SLOW, command, json, ping};

/// Completion time of a packet of 1400 bytes from h0 to h1, on the same leaf, in nanoseconds.
fn fct() -> u64 {
    let send = ["send", "lab", "h0", "h1", "--bytes", "1400B", "--json"];
    json(&send)["fct_ns"].as_u64().expect("a number")
}

fn impair(more: &[&str]) -> String {
    let arguments: Vec<&str> = ["impair", "lab", "h0->leaf0"].iter().chain(more).copied().collect();
    command(&arguments).assert_code(0).stdout
}

#[test]
fn one_setting_never_resets_another() {
    let lab = Lab::deploy(SLOW, &[]);
    let alone = fct();
    assert_eq!(impair(&[]), "h0->leaf0  up, nothing is set\n");
    assert_eq!(impair(&["--delay", "+1ms"]), "h0->leaf0  up, delay +1ms\n");
    assert_eq!(fct(), alone + 1_000_000);
    impair(&["--rate", "10Mbps"]);
    // 1400 bytes of payload, 74 of headers and 24 around the frame, at half of 20 Mbit/s.
    let slower = 1498 * 400;
    assert_eq!(fct(), alone + 1_000_000 + slower);
    impair(&["--loss", "100%"]);
    ping("h1", "1", "h0").assert_code(1);
    let set = "h0->leaf0  up, loss 100%, delay +1ms, rate 10Mbps, 1 frame lost\n";
    assert_eq!(impair(&[]), set);
    let view = json(&["inspect", "lab", "--json"]);
    assert_eq!(view["hosts"][0]["impairment"]["loss_millionths"], 1_000_000);
    let text = command(&["inspect", "lab"]).assert_code(0).stdout;
    assert!(text.contains("loss 100%, delay +1ms, rate 10Mbps"), "{text}");
    let rate = "h0->leaf0  up, rate 10Mbps, 1 frame lost\n";
    assert_eq!(impair(&["--loss", "0", "--delay", "0"]), rate);
    assert_eq!(fct(), alone + slower);
    // A frame was lost, and nothing is set any more.
    let none = "h0->leaf0  up, nothing is set, 1 frame lost\n";
    assert_eq!(impair(&["--rate", "0"]), none);
    assert_eq!(command(&["link", "lab", "h0->leaf0", "up"]).assert_code(0).stdout, none);
    impair(&["--rate", "10Mbps"]);
    impair(&["--corrupt", "100%"]);
    ping("h1", "1", "h0").assert_code(1);
    let reported: Value = serde_json::from_str(&impair(&["--clear", "--json"])).unwrap();
    assert_eq!(
        (&reported[0]["wire"], &reported[0]["damaged_frames"]),
        (&"h0->leaf0".into(), &1.into())
    );
    assert_eq!(reported[0]["impairment"]["rate_bps"], 0);
    assert_eq!(fct(), alone);
    // Both wires of a link, and all wires.
    command(&["impair", "lab", "leaf0-h0", "--delay", "2ms"]).assert_code(0);
    assert_eq!(fct(), alone + 4_000_000);
    command(&["impair", "lab", "*", "--clear", "--jitter", "1us"]).assert_code(0);
    let late = fct() - alone;
    assert!((1..=4000).contains(&late), "{late}");
    lab.destroy();
}

#[test]
fn routes_avoid_a_link_that_is_down_if_configured() {
    let lab = Lab::deploy(SLOW, &[]);
    let port = |leaf: usize, port: usize| {
        json(&["inspect", "lab", "--json"])["switches"][leaf]["ports"][port].clone()
    };
    // A leaf's ports are two hosts and two spines.
    let to_spine0 = || port(0, 2)["sent_frames"].as_u64().unwrap();
    let down = command(&["link", "lab", "leaf0-spine0", "down", "--reroute"]).assert_code(0);
    assert_eq!(down.stdout.lines().count(), 2, "{down:?}");
    assert!(
        down.stdout.starts_with("leaf0->spine0  down, routes avoid its link, nothing is set\n"),
        "{down:?}"
    );
    let before = to_spine0();
    for host in ["h2", "h3"] {
        ping(host, "3", "h0").assert_code(0);
        ping(host, "3", "h1").assert_code(0);
    }
    let sent = command(&["send", "lab", "h0", "h2", "--count", "8", "--bytes", "14kB"]);
    assert_eq!(sent.assert_code(0).stdout.lines().count(), 8);
    assert_eq!(to_spine0(), before);
    assert_eq!((&port(0, 2)["is_up"], &port(0, 2)["is_avoided"]), (&false.into(), &true.into()));
    let text = command(&["inspect", "lab"]).assert_code(0).stdout;
    assert!(text.contains("down, routes avoid its link"), "{text}");
    // The last way to the other leaf: its hosts cannot be reached.
    command(&["link", "lab", "spine1->leaf1", "down", "--reroute"]).assert_code(0);
    ping("h2", "1", "h0").assert_code(1);
    let drops = json(&["inspect", "lab", "--json"])["switches"][0]["drops"].clone();
    assert_eq!(drops["unreachable"], 1, "{drops}");
    command(&["link", "lab", "*", "up"]).assert_code(0);
    assert_eq!((&port(0, 2)["is_up"], &port(0, 2)["is_avoided"]), (&true.into(), &false.into()));
    ping("h2", "1", "h0").assert_code(0);
    lab.destroy();
}

#[test]
fn a_link_flaps_as_often_as_requested() {
    let lab = Lab::deploy(SLOW, &[]);
    let wire = || json(&["impair", "lab", "leaf0->h1", "--json"])[0].clone();
    let flap =
        ["link", "lab", "leaf0-h1", "flap", "--period", "2s", "--down-for", "1s", "--times", "2"];
    command(&flap).assert_code(0);
    let now = wire();
    assert_eq!((&now["is_flapping"], &now["is_up"]), (&true.into(), &false.into()));
    // A flow gets through between two times that it is down, or after them.
    let sent = command(&["send", "lab", "h0", "h1", "--bytes", "1400B", "--json"]).assert_code(0);
    let sent: Value = serde_json::from_str(&sent.stdout).unwrap();
    assert!(sent["retransmitted_packets"].as_u64() > Some(0), "{sent}");
    assert!(wire()["lost_frames"].as_u64() > Some(0), "{}", wire());
    await_that("it stays up", || wire()["is_flapping"] == false);
    assert_eq!(wire()["is_up"], true);
    ping("h1", "1", "h0").assert_code(0);
    let endless =
        ["link", "lab", "leaf0-h1", "flap", "--period", "100s", "--down-for", "99s", "--json"];
    let reported = json(&endless);
    assert_eq!((reported.as_array().unwrap().len(), &reported[1]["is_up"]), (2, &false.into()));
    let up = command(&["link", "lab", "leaf0->h1", "up"]).assert_code(0).stdout;
    assert!(up.starts_with("leaf0->h1  up, nothing is set, "), "{up}");
    command(&["link", "lab", "leaf0-h1", "up"]).assert_code(0);
    assert_eq!((&wire()["is_up"], &wire()["is_flapping"]), (&true.into(), &false.into()));
    lab.destroy();
}

/// Settings that are made and removed again leave the counters as they were: they still count the host's frames.
#[test]
fn a_wire_that_was_impaired_counts_what_it_carries() {
    let lab = Lab::deploy(SLOW, &[]);
    command(&["impair", "lab", "*", "--loss", "1%"]).assert_code(0);
    command(&["impair", "lab", "*", "--clear"]).assert_code(0);
    command(&["send", "lab", "h0", "h3", "--bytes", "100kB"]).assert_code(0);
    let view = json(&["inspect", "lab", "--json"]);
    // The first port of the first leaf is h0's.
    let (host, port) = (&view["hosts"][0], &view["switches"][0]["ports"][0]);
    for (sent, received) in [("sent_frames", "received_frames"), ("sent_bytes", "received_bytes")] {
        assert!(host[sent].as_u64().unwrap() >= 72, "{host}");
        assert_eq!(host[sent], port[received], "{host} {port}");
    }
    let refused = command(&["impair", "lab", "h9->leaf0", "--json"]).assert_code(2);
    let said: Value = serde_json::from_str(&refused.stderr).expect("an error is one JSON object");
    assert_eq!(said["code"], 2, "{refused:?}");
    assert!(said["error"].as_str().is_some_and(|text| text.contains("h9->leaf0")), "{refused:?}");
    lab.destroy();
}

#[test]
fn what_cannot_be_set_is_refused() {
    let hpcc = SLOW.replace("\"none\"", "\"hpcc\"");
    let lab = Lab::deploy(&hpcc, &[]);
    for (arguments, words) in [
        (
            &["impair", "lab", "h9->leaf0", "--loss", "1%"][..],
            ["no wire \"h9->leaf0\"", "h0->leaf0"],
        ),
        (
            &["impair", "lab", "*", "--rate", "1Gbps"],
            ["h0->leaf0 carries 20Mbps", "1Gbps is not less"],
        ),
        (&["link", "lab", "h0-leaf0", "down", "--times", "3"], ["--times", "flap"]),
        (&["link", "lab", "h0-leaf0", "up", "--reroute"], ["--reroute", "when it is up"]),
        (&["link", "lab", "leaf0-spine0", "down", "--reroute"], ["routes cannot change", "stamps"]),
        (&["impair", "other", "*"], ["no live fabric other", "xoff list"]),
    ] {
        command(arguments).assert_refused(&words);
    }
    for arguments in [
        ["--loss", "2"],
        ["--loss", "1"],
        ["--delay", "5"],
        ["--rate", "1kbps"],
        ["--jitter", "-1us"],
    ] {
        let refused = command(&[&["impair", "lab", "*"], &arguments[..]].concat());
        assert_eq!(refused.code, 2, "{refused:?}");
    }
    lab.destroy();
}
