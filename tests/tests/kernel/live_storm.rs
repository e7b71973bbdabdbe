//! PFC storms in live fabrics, and the watchdog. Needs root and `ip`.

use std::fs;

use serde_json::Value;
use tests::command::{Running, await_that, xoff};
use tests::live::{Lab, command, json};

/// A sender, a victim and two receivers behind a leaf each. A PAUSE lasts for a moment only, so that long pauses are
/// due to renewals.
const LAB: &str = r#"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 1
hosts_per_leaf = 2
host_link = { rate = "100Mbps", delay = "10us" }
fabric_link = { rate = "100Mbps", delay = "10us" }
[switch]
buffer = "300kB"
lossless = [3]
threshold = { kind = "static", xoff = "20kB", xon = "10kB" }
[switch.watchdog]
detection_time = "100ms"
restoration_time = "100ms"
poll_interval = "10ms"
[host]
transport = { kind = "roce-rc", congestion_control = "none" }
retransmission_timeout = "200ms"
"#;

fn view() -> Value {
    json(&["inspect", "lab", "--json"])
}

/// A switch by its name.
fn switch<'a>(view: &'a Value, name: &str) -> &'a Value {
    let switches = view["switches"].as_array().expect("a fabric has switches");
    switches.iter().find(|it| it["name"] == name).expect("it is in the fabric")
}

/// Storms that a switch has detected.
fn storms(view: &Value, name: &str) -> Vec<Value> {
    switch(view, name)["storms"].as_array().expect("a list").clone()
}

/// The victim is held up while nothing is done, and goes on when the storm is stopped.
#[test]
fn a_storm_holds_up_a_victim_until_it_is_stopped() {
    let lab = Lab::deploy(LAB, &["--set", "switch.watchdog.action=alert"]);
    let begun = command(&["storm", "lab", "h3", "--priority", "3"]).assert_code(0);
    assert_eq!(begun.stdout, "h3 pauses priority 3 until `xoff storm lab h3 --stop`\n");
    await_that("the leaf is paused", || switch(&view(), "leaf1")["ports"][1]["paused"][0] == 3);
    assert_eq!(view()["hosts"][3]["storms"][0], 3);
    // Fills the queues between h0 and h3.
    let culprit = Running::start(&mut xoff(["send", "lab", "h0", "h3", "--bytes", "1MB"]));
    await_that("the first leaf is paused", || view()["hosts"][0]["paused"][0] == 3);
    let victim =
        Running::start(&mut xoff(["send", "lab", "h1", "h2", "--bytes", "100kB", "--json"]));
    await_that("a watchdog reports a storm", || !storms(&view(), "leaf1").is_empty());
    assert_eq!(view()["completed_flows"], 0);
    let stopped = command(&["storm", "lab", "h3", "--stop"]).assert_code(0);
    assert_eq!(stopped.stdout, "h3 no longer pauses priority 3\n");
    let victim = victim.finish().assert_code(0);
    let delivered: Value = serde_json::from_str(&victim.stdout).unwrap();
    assert!(delivered["slowdown"].as_f64().unwrap() > 5.0, "{delivered}");
    culprit.finish().assert_code(0);
    let view = view();
    let drops = &switch(&view, "leaf1")["drops"];
    assert_eq!(drops.as_object().map(serde_json::Map::len), Some(0), "{drops}");
    assert!(view["hosts"][3]["storms"].as_array().unwrap().is_empty());
    command(&["storm", "lab", "h3", "--stop"]).assert_refused(&["h3 has no storm to stop"]);
    lab.destroy();
}

/// The watchdog drops packets for h3, the victim goes on during the storm, and the port is as before when it is over.
#[test]
fn a_watchdog_ends_the_spread_of_a_storm() {
    let lab = Lab::deploy(LAB, &[]);
    command(&["storm", "lab", "h3"]).assert_code(0);
    let culprit = Running::start(&mut xoff(["send", "lab", "h0", "h3", "--bytes", "1MB"]));
    await_that("the watchdog acts", || {
        storms(&view(), "leaf1").first().is_some_and(|it| it["is_present"] == true)
    });
    command(&["send", "lab", "h1", "h2", "--bytes", "100kB"]).assert_code(0);
    assert_eq!(view()["completed_flows"], 1, "the flow to h3 still waits");
    command(&["storm", "lab", "h3", "--stop"]).assert_code(0);
    culprit.finish().assert_code(0);
    await_that("the storm is over", || storms(&view(), "leaf1")[0]["is_present"] == false);
    let seen = view();
    let [storm] = &storms(&seen, "leaf1")[..] else { panic!("one port: {seen}") };
    assert_eq!([&storm["peer"], &storm["priority"]], [&Value::from("h3"), &Value::from(3)]);
    assert_eq!([&storm["detected"], &storm["restored"]], [1, 1]);
    let dropped = &switch(&seen, "leaf1")["drops"]["watchdog-egress"];
    assert!(dropped.as_u64() > Some(0) && *dropped == storm["counts"]["egress_dropped_packets"]);
    let events = seen["storm_events"].as_array().expect("a list");
    let leaf: Vec<bool> = events
        .iter()
        .filter(|event| event["switch"] == "leaf1")
        .map(|event| event["is_over"].as_bool().unwrap())
        .collect();
    assert_eq!(leaf, [false, true]);
    let text = command(&["inspect", "lab"]).assert_code(0).stdout;
    assert!(text.contains("leaf1 port 1 to h3, priority 3: not now; 1 detected, 1 over"), "{text}");
    let log = fs::read_to_string("/run/xoff/live/lab/log").unwrap();
    assert!(log.contains("leaf1: PFC storm of h3 in priority 3, action drop: "), "{log}");
    assert!(log.contains("leaf1: the storm of h3 in priority 3 is over: "), "{log}");
    lab.destroy();
}

#[test]
fn storms_that_cannot_be_are_refused() {
    let lab = Lab::deploy(LAB, &[]);
    for (arguments, words) in [
        (vec!["storm", "lab", "h4"], vec!["no host \"h4\"", "h0 to h3"]),
        (vec!["storm", "lab", "h0", "--priority", "5"], vec!["priority 5", "are 3"]),
        (vec!["storm", "lab", "h0", "--priority", "8"], vec!["8", "--priority"]),
        (vec!["storm", "lab", "h0", "--for", "1"], vec!["unit"]),
        (vec!["storm", "lab", "h0", "--for", "0s"], vec!["above zero"]),
        (vec!["storm", "lab", "h0", "--for", "1s", "--stop"], vec!["--stop"]),
        (vec!["storm", "other", "h0"], vec!["there is no live fabric other"]),
    ] {
        let refused = command(&arguments);
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(words.iter().all(|word| refused.stderr.contains(word)), "{refused:?}");
    }
    // A storm that ends by itself.
    let begun = command(&["storm", "lab", "h0", "--for", "20ms"]).assert_code(0);
    assert_eq!(begun.stdout, "h0 pauses priority 3 for 20ms\n");
    await_that("it is over", || {
        let view = view();
        view["hosts"][0]["storms"].as_array().is_some_and(Vec::is_empty)
            && view["hosts"][0]["pfc_frames_sent"].as_u64() >= Some(2)
    });
    assert!(storms(&view(), "leaf0").is_empty(), "nothing waited");
    // A shorter one beside a longer one ends with that.
    let endless = json(&["storm", "lab", "h1", "--json"]);
    assert_eq!(endless["storms"], serde_json::json!([{ "priority": 3, "left_ps": null }]));
    let shorter = command(&["storm", "lab", "h1", "--for", "20ms"]).assert_code(0);
    let words =
        "h1 pauses priority 3 until `xoff storm lab h1 --stop`: an earlier storm lasts longer\n";
    assert_eq!(shorter.stdout, words);
    assert_eq!(
        json(&["storm", "lab", "h1", "--for", "20ms", "--json"])["storms"],
        endless["storms"]
    );
    command(&["storm", "lab", "h1", "--stop"]).assert_code(0);
    let longer = json(&["storm", "lab", "h1", "--for", "1000s", "--json"]);
    assert_eq!(longer["storms"][0]["left_ps"], 1_000_000_000_000_000_u64);
    let left = json(&["storm", "lab", "h1", "--for", "20ms", "--json"])["storms"][0].clone();
    let left = left["left_ps"].as_u64().expect("it ends");
    assert!((900_000_000_000_000..1_000_000_000_000_000).contains(&left), "{left}");
    lab.destroy();
}
