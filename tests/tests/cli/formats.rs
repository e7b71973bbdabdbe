//! `--format`: tables as CSV or Parquet, and their readers.

use std::fs::{self, File};
use std::path::Path;
use std::time::SystemTime;

use tests::command::{Finished, ScenarioFolder, finish, shipped, xoff};

const SWEEP: &str = "scenario = \"base.toml\"\ndatapath = \"memory\"\nseeds = 2\n";

fn run(scenario: &str, out: &str, more: &[&str]) -> Finished {
    let fixed = ["run", scenario, "--datapath", "memory", "--out", out];
    finish(&mut xoff(fixed.into_iter().chain(more.iter().copied())))
}

/// Output of a command on a folder.
fn printed(arguments: &[&str], folder: &str) -> String {
    finish(xoff(arguments.iter().copied()).current_dir(folder)).assert_code(0).stdout
}

#[test]
fn what_reads_results_reads_both_formats() {
    let folder = ScenarioFolder::new();
    let scenario = shipped("incast");
    let formats = ["csv", "parquet"].map(|format| {
        let out = folder.path(&format!("{format}/incast"));
        let more = ["--set", "results.explain=true", "--format", format];
        run(&scenario, &out, &more).assert_code(0);
        let path = format!("{out}/manifest.json");
        let manifest = fs::read_to_string(&path).expect("a manifest");
        assert!(manifest.contains(&format!("\"tables\": \"{format}\"")), "{manifest}");
        assert!(Path::new(&out).join(format!("flows.{format}")).exists());
        let inside = folder.path(format);
        // A report has a run's command and the date of its manifest, too.
        let file = File::options().write(true).open(path).expect("a manifest");
        file.set_modified(SystemTime::UNIX_EPOCH).expect("a file of ours");
        let page = folder.path(&format!("{format}.html"));
        printed(&["report", "incast", "--out", &page], &inside);
        let page = fs::read_to_string(page).expect("a report");
        assert!(page.contains("1970-01-01") && page.contains(&format!("--format {format}")));
        let page = page.replace(&format!("--format {format}"), "").replace(&inside, "");
        (page, printed(&["explain", "incast"], &inside))
    });
    let [csv, parquet] = formats;
    assert!(csv.0 == parquet.0, "the reports differ");
    assert_eq!(csv.1, parquet.1);
}

#[test]
fn expectations_of_tables_hold_in_both_formats_and_name_the_file() {
    let folder = ScenarioFolder::new();
    let text = fs::read_to_string(shipped("incast")).expect("it ships");
    let expect = "\n[[expect]]\ntable = \"pauses\"\ncolumn = \"occupancy_bytes\"\naggregate = \"max\"\noperator = \"<\"\nvalue = \"1B\"\n";
    let scenario = folder.write("scenario.toml", text + expect);
    let [csv, parquet] = [("csv", "line"), ("parquet", "row")].map(|(format, noun)| {
        let out = folder.path(format);
        let ended = run(&scenario, &out, &["--format", format]).assert_code(1);
        let (_, verdict) = ended.stdout.split_once("\nExpectations\n").expect("a section");
        let look = format!("look at pauses.{format}, {noun} ");
        assert!(verdict.contains(&look), "{verdict}");
        let (got, _) = verdict.split_once('\n').expect("a line");
        assert!(got.starts_with("FAIL"), "{got}");
        got.replace(&format!("pauses.{format}"), "pauses")
    });
    assert_eq!(csv, parquet);
}

#[test]
fn a_format_that_is_not_known_or_has_no_place_is_refused() {
    let folder = ScenarioFolder::new();
    let (scenario, out) = (shipped("incast"), folder.path("out"));
    let refused = |more: &[&str], says: &[&str]| {
        let fixed = ["run", scenario.as_str(), "--datapath", "memory"];
        let ended = finish(&mut xoff(fixed.into_iter().chain(more.iter().copied())));
        ended.assert_refused(says);
    };
    refused(&["--out", &out, "--format", "xml"], &["xml", "csv, parquet, hpcc"]);
    refused(&["--format", "parquet"], &["--out"]);
    refused(
        &["--out", &out, "--format", "csv,parquet"],
        &["csv and parquet", "one format", "leave one out"],
    );
    refused(
        &["--out", &out, "--set", "results.format=xml"],
        &["results.format", "it is one of `csv` and `parquet`"],
    );
    assert!(folder.entries().is_empty());
    run(&scenario, &out, &["--format", "parquet,hpcc"]).assert_code(0);
    let files = fs::read_dir(&out).expect("results").map(|entry| entry.expect("readable"));
    let files: Vec<_> = files.map(|entry| entry.file_name().display().to_string()).collect();
    assert!(files.iter().any(|name| name == "flows.parquet"), "{files:?}");
    assert!(files.iter().any(|name| name == "fct.txt"), "{files:?}");
}

#[test]
fn a_sweep_keeps_its_format() {
    let folder = ScenarioFolder::new();
    folder.write("base.toml", fs::read(shipped("two-flows-dcqcn")).expect("it ships"));
    let (file, out) = (folder.write("sweep.toml", SWEEP), folder.path("out"));
    let sweep = |more: &[&str]| {
        let fixed = ["sweep", file.as_str(), "--out", &out];
        finish(&mut xoff(fixed.into_iter().chain(more.iter().copied())))
    };
    sweep(&["--format", "xml"]).assert_refused(&["xml", "csv, parquet"]);
    sweep(&["--format", "parquet"]).assert_code(0);
    let table = |name: &str| fs::read(format!("{out}/{name}"));
    let whole = ["sweep.parquet", "summary.parquet"].map(|name| table(name).expect("a table"));
    for more in [&[][..], &["--format", "csv"], &["--only", "0"]] {
        sweep(more).assert_refused(&[
            "has the tables of this sweep as parquet, and csv is asked for",
            "go on with --format parquet, or name another folder with --out",
        ]);
    }
    let again = sweep(&["--format", "parquet"]).assert_code(0);
    assert!(
        again.stdout.contains("2 of 2 runs are done, 2 of them from before"),
        "{}",
        again.stdout
    );
    assert!(again.stdout.contains("intervals over 2 seeds are wide"), "{}", again.stdout);
    assert_eq!(
        whole,
        ["sweep.parquet", "summary.parquet"].map(|name| table(name).expect("a table"))
    );
    assert!(table("sweep.csv").is_err());
    let page = folder.path("sweep.html");
    printed(&["report", &out, "--out", &page], &folder.path(""));
    folder.write(
        "varied.toml",
        format!("{SWEEP}[matrix]\n\"results.format\" = [\"csv\", \"parquet\"]\n"),
    );
    let varied =
        finish(&mut xoff(["sweep", &folder.path("varied.toml"), "--out", &folder.path("v")]));
    varied.assert_refused(&["all tables of a sweep have one format", "give --format"]);
}

#[test]
fn a_table_that_is_cut_short_is_an_error_that_names_it() {
    let folder = ScenarioFolder::new();
    let out = folder.path("out");
    run(&shipped("incast"), &out, &["--format", "parquet"]).assert_code(0);
    let path = format!("{out}/flows.parquet");
    let whole = fs::read(&path).expect("a table");
    let page = folder.path("page.html");
    for length in [0, 3, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..length]).expect("it can be written");
        let ended = finish(&mut xoff(["report", &out, "--out", &page]));
        ended.assert_refused(&[&path, "is not a table"]);
    }
}
