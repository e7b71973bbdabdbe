//! Reproductions as a person runs them. Needs no privilege.

use std::fs;

use tests::command::{ScenarioFolder, finish, xoff};

#[test]
fn a_figure_is_run_once_and_compared() {
    let folder = ScenarioFolder::new();
    let out = folder.path("out");
    let reproduce = |more: &[&str]| {
        let fixed = ["reproduce", "dsh", "fig14", "--out", &out];
        finish(&mut xoff(fixed.iter().chain(more).copied()))
    };
    let first = reproduce(&["--scale", "small"]);
    assert_eq!(first.code, 0, "{}", first.stderr);
    assert!(first.stdout.contains("8 of 8 runs are done."), "{}", first.stdout);
    let report = fs::read_to_string(format!("{out}/report.md")).unwrap();
    assert_eq!(first.stdout.trim_end(), report.trim_end());
    let table = fs::read_to_string(format!("{out}/fig14.csv")).unwrap();
    let rate = |congestion_control: &str, scheme: &str| -> f64 {
        let row = format!("{congestion_control},{scheme},least rate of F0 after,");
        let row = table.lines().find(|line| line.starts_with(&row)).expect("a row of the table");
        let value = table.lines().next().unwrap().split(',').position(|column| column == "value");
        row.split(',').nth(value.unwrap()).unwrap().parse().unwrap()
    };
    // The paper's point: without congestion control SIH harms F0, and DSH does not.
    assert!(rate("none", "sih") < 0.8 * rate("none", "dsh"), "{table}");
    let claim = "| F0's least rate with DSH, no congestion control | no degradation | each: at least 42.3 Gbit/s | holds: ";
    assert!(report.contains(claim), "{report}");
    assert!(report.contains("`xoff reproduce dsh fig14`, 1 seed in each cell"), "{report}");
    let again = reproduce(&["--scale", "small", "--tables"]);
    assert_eq!((again.code, again.stdout), (0, first.stdout));
    assert_eq!(again.stderr, "");
    // The same tables are beside the report, in the form of the documents.
    let tables = format!("{out}/tables");
    let rendered = finish(&mut xoff(["reproduce", "dsh", "--render", &tables])).assert_code(0);
    let rows: Vec<&str> = rendered.stdout.lines().filter(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 10 && report.contains(&rows[rows.len() - 10..].join("\n")), "{report}");
    let none = finish(&mut xoff(["reproduce", "dsh", "fig15", "--render", &tables]));
    assert!(none.stderr.contains("has no table of fig15"), "{}", none.stderr);
    let listed = reproduce(&["--list"]);
    assert!(listed.stdout.starts_with("fig14\t8 of 8 runs\t"), "{}", listed.stdout);
    // Its figures are sweeps.
    let html = folder.path("report.html");
    finish(&mut xoff(["report", &out, "--out", &html])).assert_code(0);
    let html = fs::read_to_string(html).unwrap();
    assert!(html.contains("<h2>Sweep fig14</h2>"), "{html}");
}

/// `cargo xtask figures` repeats the figures of all papers.
#[test]
fn a_run_repeats_the_numbers_that_ship() {
    let folder = ScenarioFolder::new();
    let (out, file) = (folder.path("out"), folder.path("check.csv"));
    let check = |more: &[&str]| {
        let fixed = ["reproduce", "dsh", "fig14", "--out", &out];
        finish(&mut xoff(fixed.iter().chain(more).copied()))
    };
    let compared = check(&["--check"]);
    assert_eq!(compared.code, 0, "{}", compared.stderr);
    assert_eq!(compared.stdout, "fig14: 3 numbers are as committed\n");
    let written = check(&["--write-check", &file]);
    assert_eq!(written.code, 0, "{}", written.stderr);
    let shipped = include_str!("../../../scenarios/dsh/check.csv");
    assert_eq!(fs::read_to_string(file).unwrap(), shipped);
    // Told before anything runs.
    let missing = check(&["--write-check", &folder.path("missing/check.csv")]);
    let words = ["there is no folder", "help: make the folder"];
    assert!(words.iter().all(|it| missing.stderr.contains(it)), "{}", missing.stderr);
    assert_eq!((missing.code, missing.stderr.lines().count()), (2, 2));
    let scaled = check(&["--check", "--scale", "small"]);
    assert_eq!(scaled.code, 2);
    assert!(scaled.stderr.contains("cannot be used with"), "{}", scaled.stderr);
}

#[test]
fn what_there_is_not_is_named() {
    let error = |arguments: &[&str]| {
        let finished = finish(&mut xoff(arguments.iter().copied()));
        assert_eq!(finished.code, 2, "{}", finished.stdout);
        finished.stderr
    };
    assert!(error(&["reproduce", "dhs"]).contains("no paper is called that; there is dsh"));
    let figure = error(&["reproduce", "dsh", "fig99"]);
    assert!(figure.starts_with("error: there is no fig99; there are fig05, fig5, "), "{figure}");
}
