//! Every scenario that `validate` accepts also starts, whatever its values; every refusal names a key.
//!
//! `XOFF_CASES` replaces the number of cases. A failing case is shrunk and its seed kept in
//! `proptest-regressions/`, which later runs try first.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use emulation::engine::Watch;
use emulation::run::{self, Threads};
use proptest::test_runner::TestCaseError;
use results::{RunEnd, Summary};
use scenario::{Scenario, ScenarioError};
use tests::any_scenario::scenarios;
use tests::generated;

const CASES: u32 = 5000;
const REGRESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/limits.txt");

/// Progress of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Refused,
    /// The run came to its end.
    Ended,
    /// Some thousand events ran.
    Started,
}

fn fate(text: &str) -> Result<Fate, String> {
    match Scenario::parse(text, Path::new("case.toml"), &["datapath.kind=memory".to_owned()]) {
        Ok(scenario) => start(&scenario),
        Err(error) => names_a_key(&error).map(|()| Fate::Refused),
    }
}

/// Checks that the error's line is a key or a section, or that the error names a key that is not in the file, and that
/// a help proposes a remedy.
fn names_a_key(error: &ScenarioError) -> Result<(), String> {
    let report = error.to_string();
    let shown = report.lines().any(|line| {
        let line = line.split_once('|').map_or("", |(_, line)| line.trim());
        line.contains('=') || line.starts_with('[')
    });
    let named = shown || report.contains("` is not set)");
    if named && report.contains("help: ") {
        Ok(())
    } else {
        Err(format!("not an error at a key:\n{report}"))
    }
}

fn start(scenario: &Scenario) -> Result<Fate, String> {
    let interrupted = AtomicBool::new(false);
    // Called each 1024 hops or windows, so this stops at the second call.
    let mut stop = |_| interrupted.store(true, Ordering::Relaxed);
    let mut watch = Watch { interrupted: &interrupted, progress: &mut stop };
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    match run::run(scenario, Some(&folder.path().join("results")), Threads::ONE, &mut watch) {
        Ok(outcome) => {
            let Summary { ended, books, .. } = outcome.report.summary;
            match ended {
                RunEnd::Interrupted if books.is_empty() => Ok(Fate::Started),
                RunEnd::Interrupted => Err(format!("interrupted, with wrong books: {books:?}")),
                RunEnd::Failed => Err("accepted, but the memory datapath failed".to_owned()),
                _ => Ok(Fate::Ended),
            }
        }
        Err(error) => Err(format!("accepted, but: {error}")),
    }
}

/// Calls [`fate`], with a panic as an error.
fn caught(text: &str) -> Result<Fate, String> {
    catch_unwind(AssertUnwindSafe(|| fate(text))).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().map(String::as_str);
        let message = message.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Err(format!("panicked: {message}"))
    })
}

#[test]
fn what_is_accepted_starts() {
    let cases = generated::count(CASES);
    let met = RefCell::new(Vec::new());
    generated::check(REGRESSIONS, cases, &scenarios(), |text| {
        let fate =
            caught(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        met.borrow_mut().push(fate);
        Ok(())
    });
    for fate in [Fate::Refused, Fate::Ended, Fate::Started] {
        let count = met.borrow().iter().filter(|met| **met == fate).count();
        println!("{fate:?}: {count}");
        assert!(cases < CASES || count >= 60, "{fate:?} {count} times");
    }
}

/// One small flow among four hosts.
const BASE: &str = r#"
duration = "20us"
flows = [{ kind = "one", src = "h0", dst = "h1", bytes = "1kB" }]
topology = { kind = "star", hosts = 4, host_link = { rate = "100Gbps", delay = "1us" } }
"#;

/// Settings on top of [`BASE`] that work.
const ACCEPTED: [&[&str]; 7] = [
    &[
        r#"switch.buffer="1GB""#,
        r#"switch.threshold={kind="dt",alpha=4294967295}"#,
        r#"switch.lossy={kind="dt",alpha=65536}"#,
        r#"switch.scheme={kind="dsh"}"#,
    ],
    &[r#"switch.scheduler={kind="dwrr",quantum="4294967295B"}"#],
    &[
        r#"host.transport={kind="roce-rc",dcqcn={fast_recovery_stages=65536,rate_increase_timer="1ps"}}"#,
    ],
    &["switch.lossless=[]", r#"topology.host_link={rate="100Gbps",delay="1s"}"#],
    &[r#"switch.headroom={kind="sih",bytes="4GiB"}"#, "switch.lossless=[]"],
    &["switch.lossless=[]", "switch.ports=4294967295"],
    &[r#"flows=[{kind="poisson",sizes="1000TB",load=0.000001,batch=65536}]"#],
];

/// Settings on top of [`BASE`] that cannot work, the key that the error marks, and the begin of its text.
const REFUSED: [(&[&str], &str, &str); 11] = [
    (&[r#"switch.scheduler={kind="dwrr",quantum="4GiB"}"#], "quantum", "a quantum of"),
    (
        &[r#"host.transport={kind="roce-rc",dcqcn={fast_recovery_stages=65537}}"#],
        "fast_recovery_stages",
        "65537 stages",
    ),
    (
        &[r#"switch.headroom={kind="dsh",bytes="4GiB",insurance_headroom=false}"#],
        "switch.headroom",
        "a queue of switch `s0` may ask for 4294967296B",
    ),
    (
        &[
            r#"switch.private_per_queue="562949953421312B""#,
            "switch.ports=32768",
            r#"switch.headroom={kind="sih",bytes="0B"}"#,
        ],
        "switch",
        "switch `s0` sets aside",
    ),
    (&["switch.ports=4294967295"], "switch", "switch `s0` sets aside"),
    (
        &[
            r#"switch.headroom={kind="sih",bandwidth_delays=1000}"#,
            r#"topology.host_link={rate="8Tbps",delay="18446.744073710s"}"#,
        ],
        "switch",
        "switch `s0` sets aside",
    ),
    (
        &[r#"switch.pause_refresh="550/1""#, r#"topology.host_link={rate="1kbps",delay="1us"}"#],
        "switch.pause_refresh",
        "a PAUSE would be refreshed",
    ),
    (
        &[
            r#"topology.host_link={rate="1kbps",delay="1us"}"#,
            r#"switch.headroom={kind="adaptive",period="100s"}"#,
        ],
        "kind",
        "`h0->s0` obeys a PAUSE after",
    ),
    (
        &[r#"topology={kind="fat-tree",k=4294967294,host_link={rate="1Gbps",delay="1us"}}"#],
        "k",
        "18446744073709551615 hosts",
    ),
    (
        &[
            r#"topology={kind="fat-tree",k=4294967294,oversubscription=4294967295,host_link={rate="1Gbps",delay="1us"}}"#,
        ],
        "k",
        "18446744073709551615 hosts",
    ),
    (
        &[r#"flows=[{kind="poisson-incast",degree=1,flows=1048576,bytes="1000TB",period="20us"}]"#],
        "flows",
        "incasts of more than 2^64 bytes",
    ),
];

fn parse(overrides: &[&str]) -> Result<Scenario, ScenarioError> {
    let memory = ["datapath.kind=memory"];
    let overrides = overrides.iter().chain(&memory).map(|&text| text.to_owned());
    Scenario::parse(BASE, Path::new("case.toml"), &overrides.collect::<Vec<_>>())
}

#[test]
fn settings_that_work() {
    for overrides in ACCEPTED {
        let scenario = parse(overrides).unwrap_or_else(|error| panic!("{error}"));
        start(&scenario).unwrap_or_else(|error| panic!("{overrides:?}: {error}"));
    }
}

#[test]
fn settings_that_cannot_work() {
    for (overrides, key, title) in REFUSED {
        let Err(error) = parse(overrides) else { panic!("{overrides:?} were accepted") };
        let report = error.to_string();
        assert!(report.starts_with(&format!("error: {title}")), "{report}");
        assert!(report.contains("help: "), "{report}");
        assert_eq!(marked_key(&report), Some(key), "{report}");
    }
}

/// The key that an error's carets mark, or whose value they mark.
fn marked_key(report: &str) -> Option<&str> {
    let mut lines = report.lines();
    let source = lines.by_ref().find(|line| line.starts_with("1 | "))?;
    let (before, marked) = source.split_at(lines.next()?.find('^')?);
    let key_character = |c: char| c.is_ascii_alphanumeric() || "._".contains(c);
    let key = |text: &'_ str| text.len() - text.trim_end_matches(key_character).len();
    match before.strip_suffix('=') {
        Some(before) => Some(&before[before.len() - key(before)..]),
        None => marked.split(|c| !key_character(c)).next()?.split('.').next(),
    }
}
