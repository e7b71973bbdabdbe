//! `[[expect]]`.

use std::path::Path;

use super::{SMALL, Scenario, parse, report_on};
use crate::{Aggregate, Operator, Plain, Subject};

#[test]
fn expectations_load_and_are_written_out_again() {
    let text = format!(
        "{SMALL}[[expect]]\nname = \"quick\"\nsummary = \"fct_ns.max\"\noperator = \"<=\"\nvalue = \"1ms\"
[[expect]]\ntable = \"flows.csv\"\naggregate = \"count\"\nwhere = {{ priority = 3, src = \"h0\" }}\noperator = \"==\"\nvalue = 1.5\n"
    );
    let scenario = parse(&text).unwrap_or_else(|error| panic!("{error}"));
    let [first, second] = &scenario.expectations[..] else { panic!("there are two") };
    assert_eq!(first.subject(), Subject::Summary("fct_ns.max"));
    assert_eq!((first.name.as_deref(), first.operator), (Some("quick"), Operator::AtMost));
    let Subject::Table { table, column, aggregate, filter } = second.subject() else {
        panic!("the second is of a table")
    };
    assert_eq!((table, column, aggregate), ("flows", None, Aggregate::Count));
    assert_eq!(filter["priority"], Plain::Number(3_000_000));
    assert_eq!(second.value, Plain::Number(1_500_000));
    let again = Scenario::parse(&scenario.to_toml(), Path::new("bad.toml"), &[]);
    assert_eq!(again.unwrap_or_else(|error| panic!("{error}")), scenario);
    assert!(!parse(SMALL).unwrap().to_toml().contains("expect"));
}

#[test]
fn expectations_that_cannot_be() {
    for (keys, expected) in [
        ("operator = \"==\"\nvalue = 1", "without `summary` or `table`"),
        (
            "summary = \"cnps\"\ntable = \"flows\"\noperator = \"==\"\nvalue = 1",
            "both `summary` and `table`",
        ),
        (
            "summary = \"cnps\"\ncolumn = \"bytes\"\noperator = \"==\"\nvalue = 1",
            "`column` of a value of summary.json",
        ),
        (
            "table = \"flow\"\naggregate = \"count\"\noperator = \"==\"\nvalue = 1",
            "did you mean `flows`?",
        ),
        ("table = \"flows\"\noperator = \"==\"\nvalue = 1", "a table without an `aggregate`"),
        (
            "table = \"flows\"\naggregate = \"max\"\noperator = \"==\"\nvalue = 1",
            "`max` without a `column`",
        ),
        (
            "table = \"flows\"\naggregate = \"most\"\noperator = \"==\"\nvalue = 1",
            "`p50` and `p99`",
        ),
        ("summary = \"cnps\"\noperator = \"=\"\nvalue = 1", "`<=`"),
        ("summary = \"lossless\"\noperator = \"<\"\nvalue = true", "a truth value cannot be `<`"),
        ("summary = \"cnps\"\noperator = \"<\"\nvalue = [1]", "quantities stand in quotes"),
        ("summary = \"cnps\"\noperator = \"<\"\nvalue = 1e20", "is too large"),
        ("summary = \"cnps\"\noperator = \"<\"\nvalue = 0.12345678", "finer than a millionth"),
        ("summary = \"cnps\"\noperator = \"<\"", "value"),
    ] {
        let report = report_on(&format!("[[expect]]\n{keys}\n"));
        assert!(report.contains(expected) && report.contains("bad.toml:"), "{report}");
    }
    let report = report_on(
        "[results]\nomit = [\"pa*\"]\n[[expect]]\ntable = \"pauses\"\naggregate = \"count\"\noperator = \"==\"\nvalue = 0\n",
    );
    assert!(report.contains("`results.omit` leaves pauses.csv out"), "{report}");
}

/// Errors that are found after the document was dropped still point to the file.
#[test]
fn keys_keep_their_places() {
    let text = format!(
        "{SMALL}[[expect]]\ntable = \"flows\"\naggregate = \"count\"\nwhere = {{ src = \"h0\" }}\noperator = \"==\"\nvalue = 1\n"
    );
    let set = "expect.0.value=7".to_owned();
    let scenario = Scenario::parse(&text, Path::new("bad.toml"), &[set]).unwrap();
    let written = &scenario.expectations[0].written;
    let error = |key| written.error(key, "wrong", "do").to_string();
    assert!(error("where.src").contains("where = { src = \"h0\" }"), "{}", error("where.src"));
    assert!(error("value").contains("--set:1:16"), "{}", error("value"));
    assert!(error("column").contains("bad.toml:"), "the table: {}", error("column"));
}
