use std::path::Path;
use std::sync::atomic::AtomicBool;

use emulation::engine::Watch;
use emulation::run::{self, Threads};
use results::TableReader;
use scenario::Scenario;

use super::*;

/// Four flows to one host, which get paused.
const INCAST: &str = "[datapath]\nkind = \"memory\"
[topology]\nkind = \"star\"\nhosts = 5\nhost_link = { rate = \"100Gbps\", delay = \"1us\" }
[switch]\nbuffer = \"1MB\"\nlossless = [3]\nthreshold = { kind = \"static\", xoff = \"20kB\", xon = \"15kB\" }
[host]\ntransport = { kind = \"roce-rc\", congestion_control = \"none\" }
[[flows]]\nkind = \"incast\"\nlabel = \"in\"\nsenders = [\"h1\", \"h2\", \"h3\", \"h4\"]\nreceiver = \"h0\"
bytes = \"100kB\"\npriority = 3\n";

fn parse(expect: &str, sets: &[&str]) -> Scenario {
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    let text = format!("{INCAST}[[expect]]\n{expect}\n");
    Scenario::parse(&text, Path::new("a.toml"), &sets).unwrap_or_else(|error| panic!("{error}"))
}

fn verdict(expect: &str) -> Verdict {
    let scenario = parse(expect, &[]);
    check(&scenario).unwrap_or_else(|error| panic!("{error}"));
    let folder = tempfile::tempdir().unwrap();
    let interrupted = AtomicBool::new(false);
    let mut watch = Watch { interrupted: &interrupted, progress: &mut |_| {} };
    let outcome = run::run(&scenario, Some(folder.path()), Threads::ONE, &mut watch).unwrap();
    let mut verdicts = judge(&scenario, &outcome.report.summary, Some(folder.path()));
    assert_eq!(verdicts.len(), 1);
    verdicts.remove(0)
}

#[test]
fn what_a_run_has_is_compared_exactly() {
    let column = |rest: &str| format!("table = \"flows\"\ncolumn = \"bytes\"\n{rest}");
    for (expect, passed, got) in [
        ("summary = \"lossless\"\noperator = \"==\"\nvalue = true".to_owned(), true, "true"),
        ("summary = \"lossless\"\noperator = \"!=\"\nvalue = true".to_owned(), false, "true"),
        (
            "summary = \"ended\"\noperator = \"==\"\nvalue = \"drained\"".to_owned(),
            true,
            "\"drained\"",
        ),
        ("summary = \"labels.in.flows\"\noperator = \">\"\nvalue = 4".to_owned(), false, "4"),
        (
            "summary = \"labels.in.flows\"\noperator = \"<=\"\nvalue = 4.000001".to_owned(),
            true,
            "4",
        ),
        (
            "summary = \"drops.by_reason.headroom-exhausted\"\noperator = \"==\"\nvalue = 0"
                .to_owned(),
            true,
            "0",
        ),
        (column("aggregate = \"sum\"\noperator = \"==\"\nvalue = \"400kB\""), true, "400,000 B"),
        (column("aggregate = \"max\"\noperator = \"<\"\nvalue = \"100kB\""), false, "100,000 B"),
        (column("aggregate = \"mean\"\noperator = \">=\"\nvalue = \"100kB\""), true, "100,000 B"),
        (
            column(
                "aggregate = \"p99\"\noperator = \"==\"\nvalue = \"100kB\"\nwhere = { src = \"h1\" }",
            ),
            true,
            "100,000 B",
        ),
        (
            column("aggregate = \"count\"\noperator = \"==\"\nvalue = 2\nwhere = { src = \"h1\" }"),
            false,
            "1",
        ),
        (
            column(
                "aggregate = \"sum\"\noperator = \"==\"\nvalue = \"0B\"\nwhere = { src = \"h0\" }",
            ),
            true,
            "0 B",
        ),
        (
            column(
                "aggregate = \"min\"\noperator = \"<\"\nvalue = \"1GB\"\nwhere = { src = \"h0\" }",
            ),
            false,
            "no number: no row is like that",
        ),
        (
            "table = \"pauses\"\naggregate = \"count\"\noperator = \">=\"\nvalue = 4
where = { event = \"xoff\", priority = 3, node = \"s0\" }"
                .to_owned(),
            true,
            "8",
        ),
    ] {
        let verdict = verdict(&expect);
        assert_eq!((verdict.passed, &*verdict.got), (passed, got), "{verdict:?}");
    }
}

#[test]
fn a_failure_says_what_was_expected_and_where_to_look() {
    let failed = verdict(
        "table = \"flows\"\ncolumn = \"fct_ns\"\naggregate = \"max\"\noperator = \"<\"\nvalue = \"1us\"",
    );
    let text = failed.failure();
    let start = "expected max of fct_ns in flows.csv < 1 us, got ";
    assert!(text.starts_with(start) && text.contains("look at flows.csv, line "), "{text}");
    let named =
        verdict("name = \"quick\"\nsummary = \"fct_ns.max\"\noperator = \"<\"\nvalue = \"1us\"");
    let text = render(&[named], results::Style::plain());
    assert!(text.contains("FAIL  quick: fct_ns.max < 1 us; got "), "{text}");
    assert!(text.contains("look at summary.json"), "{text}");
    assert_eq!(render(&[], results::Style::plain()), "");
}

#[test]
fn times_of_flows_that_are_missing_are_no_numbers() {
    let scenario =
        parse("summary = \"fct_ns.max\"\noperator = \"<\"\nvalue = \"1s\"", &["duration=12us"]);
    check(&scenario).unwrap();
    let interrupted = AtomicBool::new(false);
    let mut watch = Watch { interrupted: &interrupted, progress: &mut |_| {} };
    let outcome = run::run(&scenario, None, Threads::ONE, &mut watch).unwrap();
    let verdicts = judge(&scenario, &outcome.report.summary, None);
    assert!(!verdicts[0].passed && verdicts[0].got.contains("no number"), "{verdicts:?}");
}

#[test]
fn what_cannot_be_compared_is_found_before_a_run() {
    for (expect, title, help) in [
        (
            "summary = \"labels.in.fct_ns.p98\"\noperator = \"<\"\nvalue = \"1us\"",
            "summary.json has no value `labels.in.fct_ns.p98`",
            "near it are `labels.in.fct_ns.max`",
        ),
        (
            "summary = \"losless\"\noperator = \"==\"\nvalue = true",
            "no value `losless`",
            "did you mean `lossless`?",
        ),
        (
            "summary = \"paused_ns\"\noperator = \"<\"\nvalue = 5",
            "5 is compared with a time",
            "write a time such as",
        ),
        (
            "summary = \"paused_ns\"\noperator = \"<\"\nvalue = \"5kB\"",
            "`kB` in `5kB` is not a unit of times",
            "",
        ),
        (
            "summary = \"cnps\"\noperator = \"<\"\nvalue = \"5\"",
            "\"5\" is compared with a number",
            "without quotes",
        ),
        (
            "summary = \"ended\"\noperator = \"<\"\nvalue = \"x\"",
            "a text cannot be `<`",
            "write \"==\"",
        ),
        (
            "table = \"flows\"\ncolumn = \"byte\"\naggregate = \"sum\"\noperator = \"<\"\nvalue = \"5B\"",
            "flows.csv has no column `byte`",
            "did you mean `bytes`?",
        ),
        (
            "table = \"flows\"\ncolumn = \"src\"\naggregate = \"sum\"\noperator = \"<\"\nvalue = 5",
            "`sum` of `src`, which has a text in each row",
            "\"count\"",
        ),
        (
            "table = \"flows\"\naggregate = \"count\"\noperator = \"<\"\nvalue = 5\nwhere = { from = \"h0\" }",
            "flows.csv has no column `from`",
            "its columns are",
        ),
        (
            "table = \"flows\"\naggregate = \"count\"\noperator = \"<\"\nvalue = 5\nwhere = { bytes = 3 }",
            "3 is compared with a size",
            "write a size",
        ),
        (
            "table = \"occupancy\"\naggregate = \"count\"\noperator = \"<\"\nvalue = 5",
            "writes no occupancy.csv",
            "add results.occupancy = true",
        ),
        (
            "table = \"pauses\"\naggregate = \"count\"\noperator = \"<\"\nvalue = 5\nwhere = { state = \"victim\" }",
            "pauses.csv has no column `state`",
            "",
        ),
        (
            "table = \"drops\"\naggregate = \"count\"\noperator = \"==\"\nvalue = 0\nwhere = { node = \"sw0\" }",
            "no node is called `sw0`",
            "did you mean `s0`?",
        ),
        (
            "table = \"drops\"\naggregate = \"count\"\noperator = \"==\"\nvalue = 0\nwhere = { priority = 33 }",
            "there is no priority 33",
            "priorities are 0 to 7",
        ),
        (
            "table = \"counters\"\naggregate = \"count\"\noperator = \"==\"\nvalue = 0\nwhere = { counter = \"PFC_3_RX_PKT\" }",
            "no counter is called `PFC_3_RX_PKT`",
            "did you mean `PFC_3_RX_PKTS`?",
        ),
    ] {
        let error = check(&parse(expect, &[])).expect_err(expect).to_string();
        assert!(error.contains(title) && error.contains(help), "{error}");
        assert!(error.contains("--> a.toml:2"), "it has its line: {error}");
    }
}

/// The conditions of `table.rs` match the run itself, and all columns have values of their kind.
#[test]
fn a_run_writes_the_tables_that_are_expected_of_it_with_fields_of_their_kinds() {
    let sets: [&[&str]; 4] = [
        &[],
        &[
            "results.throughput={interval=\"1us\"}",
            "results.flow_trace={labels=[\"*\"]}",
            "results.occupancy=true",
            "results.distributions=true",
            "results.thresholds=true",
            "results.queue_counters=true",
            "switch.watchdog={}",
            "faults=[{kind=\"loss\",nth=[3],match=\"data\"}]",
        ],
        &["switch.scheme={kind=\"bfc\"}", "results.held_flows=true"],
        &[
            "switch.scheme={kind=\"spfc\"}",
            "switch.threshold={kind=\"dt\"}",
            "switch.headroom={kind=\"adaptive\"}",
        ],
    ];
    for sets in sets {
        let scenario = parse("summary = \"lossless\"\noperator = \"==\"\nvalue = true", sets);
        let folder = tempfile::tempdir().unwrap();
        let interrupted = AtomicBool::new(false);
        let mut watch = Watch { interrupted: &interrupted, progress: &mut |_| {} };
        run::run(&scenario, Some(folder.path()), Threads::ONE, &mut watch).unwrap();
        let written = &scenario.expectations[0].written;
        for name in results::TABLES.iter().map(|table| table.name) {
            let path = folder.path().join(format!("{name}.csv"));
            let known = table::Known::new(name, &scenario, written);
            assert_eq!(known.is_ok(), path.exists(), "{name} with {sets:?}");
            let Ok(known) = known else { continue };
            let mut reader = TableReader::open(folder.path(), &format!("{name}.csv")).unwrap();
            while reader.advance().unwrap() {
                for (column, field) in reader.columns().iter().zip(reader.row()) {
                    let kind = known.kind(Some(column), results::query::Aggregate::Max, written);
                    let is_number = field.parse::<f64>().is_ok();
                    assert!(
                        field.is_empty() || kind.is_err() || is_number,
                        "{name}.{column} holds {field}"
                    );
                }
            }
        }
    }
}
