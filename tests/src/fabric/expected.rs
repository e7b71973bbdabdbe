//! `[[expect]]`, compared with sums, extremes and counts that the tests compute from the same
//! tables.

use std::fmt::Write;
use std::path::Path;

use analysis::expectation::{check, judge};
use scenario::Scenario;

use super::Run;

/// Columns that are summed up, with the units that their values have.
const COLUMNS: [(&str, &str, &str); 9] = [
    ("flows", "fct_ns", "ns"),
    ("flows", "bytes", "B"),
    ("flows", "retransmitted_packets", ""),
    ("queues", "bytes", "B"),
    ("pauses", "time_ns", "ns"),
    ("drops", "bytes", "B"),
    ("links", "rate_bps", "bps"),
    ("links", "wire_bytes", "B"),
    ("links", "frames", ""),
];

/// Asserts that a run's tables are judged to have the numbers that they have, and no others.
pub fn assert_own_sums(run: &Run) {
    let resolved = run.text("scenario.resolved.toml");
    let (mut right, mut wrong) = (resolved.clone(), resolved);
    for (table, column, unit) in COLUMNS {
        let rows = run.table(&format!("{table}.csv"));
        let fields = rows.rows().iter().map(|row| row.text(column)).filter(|text| !text.is_empty());
        let values: Vec<u64> = fields.map(|text| text.parse().expect("an integer")).collect();
        let count = values.len() as u64;
        expect(&mut right, (table, column, "count"), &count.to_string());
        expect(&mut wrong, (table, column, "count"), &(count + 1).to_string());
        let (Some(least), Some(most)) = (values.iter().min(), values.iter().max()) else {
            continue;
        };
        for (aggregate, value) in [("sum", values.iter().sum()), ("min", *least), ("max", *most)] {
            let text = |value: u64| match unit {
                "" => value.to_string(),
                unit => format!("\"{value}{unit}\""),
            };
            expect(&mut right, (table, column, aggregate), &text(value));
            expect(&mut wrong, (table, column, aggregate), &text(value + 1));
        }
    }
    for (text, passes) in [(right, true), (wrong, false)] {
        let scenario = Scenario::parse(&text, Path::new("expected.toml"), &[]);
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        check(&scenario).unwrap_or_else(|error| panic!("{error}"));
        for verdict in judge(&scenario, &run.summary, Some(run.folder())) {
            assert_eq!(verdict.passed, passes, "{verdict:?}");
        }
    }
}

fn expect(text: &mut String, (table, column, aggregate): (&str, &str, &str), value: &str) {
    write!(
        text,
        "\n[[expect]]\ntable = {table:?}\ncolumn = {column:?}\naggregate = {aggregate:?}\n\
         operator = \"==\"\nvalue = {value}\n"
    )
    .expect("a text grows");
}
