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
    assert!(first.stdout.contains("4 of 4 runs are done."), "{}", first.stdout);
    let report = fs::read_to_string(format!("{out}/report.md")).unwrap();
    assert_eq!(first.stdout.trim_end(), report.trim_end());
    let table = fs::read_to_string(format!("{out}/fig14.csv")).unwrap();
    let rate = |congestion_control: &str, scheme: &str| -> f64 {
        let row = format!("{congestion_control},{scheme},least rate of F0 after,");
        let row = table.lines().find(|line| line.starts_with(&row)).expect("a row of the table");
        row.split(',').nth(6).unwrap().parse().unwrap()
    };
    // The paper's point: without congestion control SIH harms F0, and DSH does not.
    assert!(rate("none", "sih") < 0.8 * rate("none", "dsh"), "{table}");
    let again = reproduce(&["--scale", "small", "--tables"]);
    assert_eq!((again.code, again.stdout), (0, first.stdout));
    assert_eq!(again.stderr, "");
    let listed = reproduce(&["--list"]);
    assert!(listed.stdout.starts_with("fig14\t4 of 4 runs\t"), "{}", listed.stdout);
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
