//! `[[storms]]` and `switch.watchdog`.

use std::path::Path;

use units::Picos;

use super::{SMALL, Scenario, parse, report_on};
use crate::priority::Priorities;
use crate::{Storm, Watchdog, WatchdogAction};

const MILLISECOND: u64 = 1_000_000_000;

#[test]
fn a_storm_and_a_watchdog_load_and_are_written_out_again() {
    let text = format!(
        "{SMALL}[switch]\nlossless = [3, 4]\nwatchdog = {{ detection_time = \"1ms\", action = \"forward\" }}
[[storms]]\nhost = \"h2\"\n[[storms]]\nhost = \"h1\"\npriorities = [4]\nat = \"2ms\"\nfor = \"3ms\"\n"
    );
    let scenario = parse(&text).unwrap_or_else(|error| panic!("{error}"));
    let storm = |host: &str, classes, at: u64, span| Storm {
        host: host.to_owned(),
        priorities: Some(Priorities(classes)),
        at: Picos(at * MILLISECOND),
        r#for: span,
    };
    let second = storm("h1", 0b10000, 2, Some(Picos(3 * MILLISECOND)));
    assert_eq!(second.end(), Picos(5 * MILLISECOND));
    let storms = [storm("h2", 0b11000, 0, None), second];
    assert_eq!(storms[0].end(), Picos::MAX);
    assert_eq!(scenario.storms, storms);
    let watchdog = Watchdog {
        action: WatchdogAction::Forward,
        detection_time: Picos(MILLISECOND),
        restoration_time: Picos(2 * MILLISECOND),
        poll_interval: Picos(MILLISECOND / 5),
    };
    assert_eq!(scenario.switch.watchdog, Some(watchdog));
    let again = Scenario::parse(&scenario.to_toml(), Path::new("bad.toml"), &[]);
    assert_eq!(again.unwrap_or_else(|error| panic!("{error}")), scenario);
    assert!(scenario.clone().on_demand(true, false).storms.len() == 2);
    assert!(scenario.on_demand(false, true).storms.is_empty());
}

#[test]
fn without_them_nothing_is_written_out() {
    let text = parse(SMALL).unwrap_or_else(|error| panic!("{error}")).to_toml();
    assert!(!text.contains("storms") && !text.contains("watchdog"), "{text}");
}

#[test]
fn watchdogs_that_cannot_be() {
    for (keys, key, expected) in [
        ("poll_interval = \"0s\"", "poll_interval", "`poll_interval` is zero"),
        (
            "poll_interval = \"999999ps\"",
            "poll_interval",
            "a poll interval of 999999ps is too short",
        ),
        (
            "detection_time = \"100us\"",
            "detection_time",
            "a detection_time of 100us is shorter than the poll interval, 200us",
        ),
        (
            "restoration_time = \"199us\"",
            "restoration_time",
            "a restoration_time of 199us is shorter than the poll interval, 200us",
        ),
        ("action = \"dorp\"", "action", "did you mean `drop`?"),
        ("detection = \"1ms\"", "detection", "unknown key `detection` in `switch.watchdog`"),
    ] {
        let error = report_on(&format!("[switch.watchdog]\n{keys}\n"));
        assert!(error.contains(expected), "{key}: {error}");
        assert!(error.contains("bad.toml:13:"), "{key}: {error}");
    }
}

#[test]
fn storms_that_cannot_be() {
    for (keys, line, expected) in [
        ("host = \"h3\"", 13, "no host is called `h3`"),
        ("host = \"s0\"", 13, "no host is called `s0`"),
        ("host = \"h0\"\npriorities = [3, 5]", 14, "pauses of the lossy priority 5"),
        ("host = \"h0\"\npriorities = []", 14, "a storm of no priority"),
        ("host = \"h0\"\nat = \"1s\"", 14, "the run is over at 1s"),
        ("host = \"h0\"\nfor = \"0s\"", 14, "a storm of no time"),
        ("host = \"h0\"\npriority = 3", 14, "unknown key `priority`"),
    ] {
        let error = report_on(&format!("[[storms]]\n{keys}\n"));
        assert!(error.contains(expected), "{keys}: {error}");
        assert!(error.contains(&format!("bad.toml:{line}:")), "{keys}: {error}");
    }
    let error = report_on("[switch]\nlossless = []\n[[storms]]\nhost = \"h0\"\n");
    assert!(error.contains("a storm of no priority"), "{error}");
}
