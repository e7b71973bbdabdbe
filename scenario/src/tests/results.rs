//! Invalid `[results]`.

use ::results::TABLES;
use insta::assert_snapshot;

use super::{SMALL, report, report_on};

#[test]
fn bins_of_flow_sizes_that_do_not_ascend() {
    let text = "[results]\nflow_size_bins = [\"10kB\", \"1MB\", \"1000kB\"]\n";
    assert_snapshot!(report_on(text), @r#"
    error: the bound 1MB comes after 1MB
      --> bad.toml:13:34
       |
    13 | flow_size_bins = ["10kB", "1MB", "1000kB"]
       |                                  ^^^^^^^^
       |
       = help: write bounds above zero in ascending order, such as ["10kB", "1MB"]
    "#);
    assert_snapshot!(report_on("[results]\nflow_size_bins = [\"0B\"]\n"), @r#"
    error: a bin up to 0B holds no flow
      --> bad.toml:13:19
       |
    13 | flow_size_bins = ["0B"]
       |                   ^^^^
       |
       = help: write bounds above zero in ascending order, such as ["10kB", "1MB"]
    "#);
    let many: Vec<String> = (1..=65).map(|size| format!("\"{size}kB\"")).collect();
    let text = report_on(&format!("[results]\nflow_size_bins = [{}]\n", many.join(", ")));
    assert!(text.starts_with("error: 65 bins of flow sizes; the limit is 64\n"), "{text}");
}

#[test]
fn classes_of_flow_sizes_that_do_not_ascend() {
    let text = "[results]\nsize_classes = [\"3kB\", \"3000B\"]\n";
    assert_snapshot!(report_on(text), @r#"
    error: the bound 3kB comes after 3kB
      --> bad.toml:13:24
       |
    13 | size_classes = ["3kB", "3000B"]
       |                        ^^^^^^^
       |
       = help: write bounds above zero in ascending order, such as ["10kB", "1MB"]
    "#);
    let zero = report_on("[results]\nsize_classes = [\"0B\"]\n");
    assert!(zero.starts_with("error: a class up to 0B holds no flow\n"), "{zero}");
    let many: Vec<String> = (1..=17).map(|size| format!("\"{size}kB\"")).collect();
    let text = report_on(&format!("[results]\nsize_classes = [{}]\n", many.join(", ")));
    assert!(text.starts_with("error: 17 classes of flow sizes; the limit is 16\n"), "{text}");
}

#[test]
fn throughput_of_nothing() {
    let text = "[results]\nthroughput = { interval = \"1500ps\" }\n";
    assert_snapshot!(report_on(text), @r#"
    error: intervals of 1500ps
      --> bad.toml:13:27
       |
    13 | throughput = { interval = "1500ps" }
       |                           ^^^^^^^^
       |
       = help: instants in results are whole nanoseconds: write a time such as "10us"
    "#);
    let text = "[results]\nthroughput = { interval = \"1us\", labels = [\"on*\", \"oone\"] }\n";
    assert_snapshot!(report_on(text), @r#"
    error: no flow has a label like `oone`
      --> bad.toml:13:51
       |
    13 | throughput = { interval = "1us", labels = ["on*", "oone"] }
       |                                                   ^^^^^^
       |
       = help: did you mean `one`? the labels are `one`
    "#);
    let text = "[results]\nthroughput = { interval = \"1us\", labels = [] }\n";
    assert_snapshot!(report_on(text), @r#"
    error: no flow is counted
      --> bad.toml:13:43
       |
    13 | throughput = { interval = "1us", labels = [] }
       |                                           ^^
       |
       = help: name labels, or leave `labels` out for every flow
    "#);
    assert_snapshot!(report_on("[results]\nthroughput = {}\n"), @r"
    error: `results.throughput` has no `interval`
      --> bad.toml:13:14
       |
    13 | throughput = {}
       |              ^^
       |
       = help: add `interval`; `xoff schema` describes every key
    ");
}

#[test]
fn traces_of_nothing() {
    let text = "[results]\nflow_trace = { labels = [\"oen\"] }\n";
    assert_snapshot!(report_on(text), @r#"
    error: no flow has a label like `oen`
      --> bad.toml:13:26
       |
    13 | flow_trace = { labels = ["oen"] }
       |                          ^^^^^
       |
       = help: did you mean `one`? the labels are `one`
    "#);
    assert_snapshot!(report_on("[results]\nflow_trace = { labels = [] }\n"), @r"
    error: no flow is traced
      --> bad.toml:13:25
       |
    13 | flow_trace = { labels = [] }
       |                         ^^
       |
       = help: name labels of flows, or leave `flow_trace` out
    ");
    assert_snapshot!(report_on("[results.flow_trace]\nlabels = [\"one\"]\nrows = 0\n"), @r"
    error: a trace without rows
      --> bad.toml:14:8
       |
    14 | rows = 0
       |        ^
       |
       = help: write how many rows there may be, or leave `flow_trace` out
    ");
}

#[test]
fn a_window_that_is_none() {
    let window = |keys: &str| report(&format!("duration = \"5ms\"\n{SMALL}\n[results]\n{keys}\n"));
    assert_snapshot!(window("from = \"3ms\"\nto = \"3ms\""), @r#"
    error: the window begins at 3ms and ends at 3ms
      --> bad.toml:15:8
       |
    15 | from = "3ms"
       |        ^^^^^
       |
       = help: a window begins before it ends
    "#);
    assert_snapshot!(window("to = \"6ms\""), @r#"
    error: the window ends at 6ms
      --> bad.toml:15:6
       |
    15 | to = "6ms"
       |      ^^^^^
       |
       = help: the run's `duration` is 5ms
    "#);
    assert_snapshot!(window("from = \"7ms\""), @r#"
    error: the window begins at 7ms and ends at 5ms
      --> bad.toml:15:8
       |
    15 | from = "7ms"
       |        ^^^^^
       |
       = help: a window begins before it ends
    "#);
    assert_snapshot!(window("from = \"1500ps\""), @r#"
    error: a window that begins or ends at 1500ps
      --> bad.toml:15:8
       |
    15 | from = "1500ps"
       |        ^^^^^^^^
       |
       = help: instants in results are whole nanoseconds: write a time such as "2ms"
    "#);
    assert_snapshot!(report(&format!("stop = \"window\"\n{SMALL}")), @r#"
    error: `stop = "window"` without a window
     --> bad.toml:1:8
      |
    1 | stop = "window"
      |        ^^^^^^^^
      |
      = help: write results.from and results.to, between which the flows start that are waited for
    "#);
}

#[test]
fn tables_that_are_left_out() {
    let results =
        |text: &str| super::parse(&format!("{SMALL}[results]\n{text}")).map(|it| it.results);
    let some = results("omit = [\"queues\", \"pause*\"]").unwrap();
    let names = || TABLES.iter().map(|table| table.name);
    let omitted: Vec<&str> = names().filter(|name| some.omit.covers(name)).collect();
    assert_eq!(omitted, ["pauses", "pause_time", "queues"]);
    assert!(!some.omit.covers("flows"));
    let all = results("omit = [\"*\"]").unwrap();
    assert!(names().all(|name| all.omit.covers(name)));
    let unknown = report_on("[results]\nomit = [\"pauses\", \"queues.csv\"]\n");
    let title = "error: no table is called `queues.csv`\n  --> bad.toml:13:19\n";
    assert!(unknown.starts_with(title), "{unknown}");
    assert!(unknown.contains("help: did you mean `queues`? the tables are `flows`"), "{unknown}");
}
