//! Schedulers of switches and NICs.

use insta::assert_snapshot;

use units::checked::Checked;

use super::{SMALL, parse, report};
use crate::{NicScheduler, Scheduler};

fn with(keys: &str) -> String {
    format!("{keys}\n{SMALL}")
}

#[test]
fn nics_follow_the_switches_unless_configured_otherwise() {
    let of = |keys| {
        let scenario = parse(&with(keys)).unwrap_or_else(|error| panic!("{error}"));
        (scenario.switch.scheduler, scenario.host.scheduler())
    };
    let srf = "[switch]\nscheduler = { kind = \"srf\" }";
    assert_eq!(of(srf), (Scheduler::Srf {}, NicScheduler::ShortestRemaining));
    let turns = format!("{srf}\n[host]\nscheduler = \"round-robin\"");
    assert_eq!(of(&turns), (Scheduler::Srf {}, NicScheduler::RoundRobin));
    let turns = "[switch]\nscheduler = { kind = \"round-robin\" }";
    assert_eq!(of(turns), (Scheduler::RoundRobin {}, NicScheduler::RoundRobin));
    assert_eq!(of("").1, NicScheduler::RoundRobin);
    assert_eq!(of("[switch]\nscheduler = { kind = \"strict\" }").1, NicScheduler::Strict);
    assert_eq!(of("[host]\nscheduler = \"srf\"").1, NicScheduler::ShortestRemaining);
    let strict = of("[switch]\nscheduler = { kind = \"strict\", quantum = \"3kB\" }").0;
    assert_eq!(strict, Scheduler::Strict { quantum: Checked::within(units::Bytes(3000)) });
}

#[test]
fn a_fifo_that_nothing_can_pause_needs_lossy_priorities() {
    let of = |keys: &str| {
        let text = with(&format!("[switch]\ndevice_queue = 100\n{keys}"));
        let error = parse(&text).err();
        error.map(|it| it.to_string().lines().take(2).map(str::trim).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(of("lossless = []"), None);
    let fault =
        |what| Some(format!("error: a FIFO that nothing can pause, and {what} --> bad.toml:2:16"));
    assert_eq!(of(""), fault("lossless priorities"));
    assert_eq!(of("lossless = []\nwatchdog = {}"), fault("a `watchdog`"));
    let bfc = "lossless = []\nscheme = { kind = \"bfc\", priorities = [3] }";
    assert_eq!(of(bfc), fault("a `scheme` that pauses queues or flows"));
    for packets in ["0", "10001"] {
        let text = with(&format!("[switch]\nlossless = []\ndevice_queue = {packets}"));
        let error = parse(&text).expect_err("no such FIFO").to_string();
        assert!(error.contains(&format!("a FIFO of {packets} packets")), "{error}");
    }
}

#[test]
fn queues_that_do_nothing_are_reported() {
    let reported = |keys: &str| {
        let scenario = parse(&with(keys)).unwrap_or_else(|error| panic!("{error}"));
        let ours = |warning: &String| !warning.contains("no switch marks packets");
        scenario.warnings().into_iter().filter(ours).collect::<Vec<String>>()
    };
    let expect = |keys: &str, start: &str| {
        let warnings = reported(keys);
        assert!(warnings.len() == 1 && warnings[0].starts_with(start), "{keys}: {warnings:?}");
    };
    expect("[switch]\nscheduler = { kind = \"srf\" }", "flows of priority 3 share one queue");
    let bfc = |more: &str| format!("[switch]\nscheme = {{ kind = \"bfc\"{more} }}");
    expect(&bfc(", priorities = [2, 3]"), "no flow has priority 2, whose");
    expect(&bfc(", prevent_deadlocks = true"), "`prevent_deadlocks` prevents cycles");
    let lossy = format!("{}\nlossless = []", bfc(", prevent_deadlocks = true"));
    for fine in [lossy, bfc(""), format!("{}\nscheduler = {{ kind = \"srf\" }}", bfc(""))] {
        assert_eq!(reported(&fine), [""; 0], "{fine}");
    }
}

#[test]
fn a_flow_without_an_end_has_no_remaining_size() {
    let more = "[[flows]]\nkind = \"long-lived\"\nsenders = [\"h1\"]\nreceiver = \"h2\"\n";
    let text = format!("{}{more}", with("[switch]\nscheduler = { kind = \"srf\" }"));
    assert_snapshot!(report(&text), @r"
    error: shortest remaining flow first, and flows without an end
      --> bad.toml:14:1
       |
    14 | [[flows]]
       | ^^^^^^^^^
       |
       = help: give these flows a size, or let switches and NICs serve queues in turn: switch.scheduler, host.scheduler
    ");
    let all = "[[flows]]\nkind = \"all-to-all\"\nbytes = \"unlimited\"\n";
    let text = format!("{}{all}", with("[host]\nscheduler = \"srf\""));
    assert!(report(&text).contains("and flows without an end"), "{}", report(&text));
}

#[test]
fn segments_do_not_say_what_is_left() {
    let tcp = "[host]\ntransport = { kind = \"tcp\", congestion_control = \"dctcp\" }";
    let keys = format!("[switch]\nlossless = []\nscheduler = {{ kind = \"srf\" }}\n{tcp}");
    assert_snapshot!(report(&with(&keys)), @r#"
    error: shortest remaining flow first, and TCP
      --> bad.toml:12:1
       |
    12 | [[flows]]
       | ^^^^^^^^^
       |
       = help: segments do not say what their connection has left to send: write kind = "roce-rc", or another switch.scheduler and host.scheduler
    "#);
}

#[test]
fn a_quantum_of_no_bytes_is_none_of_a_strict_scheduler_either() {
    let report = report(&with("[switch]\nscheduler = { kind = \"strict\", quantum = \"0B\" }"));
    assert!(report.contains("a quantum of no bytes"), "{report}");
}
