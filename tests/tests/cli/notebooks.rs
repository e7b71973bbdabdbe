//! `docs/notebooks.md`, command by command and snippet by snippet, in both formats of tables.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use results::{Summary, TABLES, TableFormat, TableReader};
use tests::command::{ScenarioFolder, finish, shipped, xoff};

const TEXT: &str = include_str!("../../../docs/notebooks.md");
/// A Python with the packages that the page requires; `cargo xtask test` sets it.
const PYTHON_VARIABLE: &str = "XOFF_TOOLS_PYTHON";
/// Leaves the numbers of a figure as text.
const EPILOGUE: &str = r#"
_frame = figure.to_pandas() if hasattr(figure, "to_pandas") else figure.reset_index()
if _frame.columns.nlevels > 1:
    _frame.columns = ["/".join(map(str, column)) for column in _frame.columns]
_frame.to_csv("figure.csv", index=False)
"#;

/// Content of a fence of the page, with its heading.
struct Block {
    section: &'static str,
    language: &'static str,
    text: &'static str,
}

fn blocks() -> Vec<Block> {
    let mut blocks = Vec::new();
    for part in TEXT.split("\n## ") {
        let section = part.lines().next().expect("a heading");
        for fence in part.split("\n```").skip(1).step_by(2) {
            let (language, text) = fence.split_once('\n').expect("a fence has lines");
            blocks.push(Block { section, language, text });
        }
    }
    blocks
}

/// A table with columns that have names: one of a run, or a figure.
struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    fn read(folder: &Path, file: &str) -> Self {
        let mut reader = TableReader::open(folder, file).unwrap_or_else(|error| panic!("{error}"));
        let columns = reader.columns().iter().map(str::to_owned).collect();
        let mut rows = Vec::new();
        while reader.advance().unwrap_or_else(|error| panic!("{error}")) {
            rows.push(reader.row().iter().map(str::to_owned).collect());
        }
        Self { columns, rows }
    }

    fn place(&self, column: &str) -> usize {
        let place = self.columns.iter().position(|it| it == column);
        place.unwrap_or_else(|| panic!("{column}: {:?}", self.columns))
    }

    /// The rows as the texts of some columns.
    fn texts<const N: usize>(&self, columns: [&str; N]) -> impl Iterator<Item = [&str; N]> {
        let places = columns.map(|column| self.place(column));
        self.rows.iter().map(move |row| places.map(|place| row[place].as_str()))
    }

    /// Rows that have a number in each of the columns.
    fn numbers<const N: usize>(&self, columns: [&str; N]) -> impl Iterator<Item = [f64; N]> {
        self.texts(columns)
            .filter(|row| row.iter().all(|text| !text.is_empty()))
            .map(|row| row.map(number))
    }
}

fn number(text: &str) -> f64 {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is not a number"))
}

fn whole(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is not a whole number"))
}

#[track_caller]
fn assert_near(found: f64, expected: f64, what: &str) {
    let bound = expected.abs().max(1e-9) * 1e-9;
    assert!((found - expected).abs() <= bound, "{what}: {found}, not {expected}");
}

#[test]
fn every_figure_has_the_numbers_of_the_tables_in_either_format() {
    let figures = TableFormat::ALL.map(all_figures);
    let [csv, parquet] = &figures;
    assert_eq!(parquet.len(), 10, "figures of the page");
    for (section, figure) in csv {
        assert_same(section, figure, &parquet[section]);
    }
    let only: Vec<&&str> = parquet.keys().filter(|name| !csv.contains_key(*name)).collect();
    assert_eq!(only, [&"Units, from the file"], "what needs Parquet");
}

/// Makes all figures of the page from tables in a format, and compares each with the tables.
fn all_figures(format: TableFormat) -> BTreeMap<&'static str, Table> {
    let python = std::env::var_os(PYTHON_VARIABLE).unwrap_or_else(|| {
        panic!("{PYTHON_VARIABLE} names no Python with pandas, polars, pyarrow and matplotlib: `cargo xtask test` sets it")
    });
    let folder = ScenarioFolder::new();
    let root = folder.path("");
    let scenarios = Path::new(&shipped("incast")).parent().expect("a folder").to_owned();
    symlink(scenarios.canonicalize().expect("it ships"), folder.path("scenarios"))
        .expect("the folder is empty");
    let mut figures = BTreeMap::new();
    for Block { section, language, text } in blocks() {
        match language {
            "console" => {
                for line in text.lines() {
                    let command = line.strip_prefix("$ xoff ").expect("a command");
                    let command =
                        command.replace("--format parquet", &format!("--format {format}"));
                    let ended = finish(xoff(command.split(' ')).current_dir(&root));
                    ended.assert_code(0);
                }
            }
            "toml" => drop(folder.write("deadlocks.toml", text)),
            "python" if format == TableFormat::Csv && text.contains("pyarrow") => {}
            "python" => {
                let of_format = text
                    .replace("_parquet(", &format!("_{format}("))
                    .replace(".parquet", &format!(".{format}"));
                folder.write("snippet.py", of_format + EPILOGUE);
                let mut command = Command::new(&python);
                command.arg("snippet.py").current_dir(&root).env("MPLBACKEND", "Agg");
                let output = command.output().expect("Python starts");
                let errors = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{section}: {errors}");
                assert!(errors.is_empty(), "{section}: {errors}");
                assert_picture(&folder, section, text);
                let figure = Table::read(Path::new(&root), "figure.csv");
                compare(section, &figure, Path::new(&root));
                let twice = figures.insert(section, figure).is_some();
                assert!(!twice, "{section} has two figures");
            }
            "" => {}
            other => panic!("{section}: a fence of {other}"),
        }
    }
    figures
}

/// The picture that a snippet names is a PNG that is not empty.
fn assert_picture(folder: &ScenarioFolder, section: &str, snippet: &str) {
    let Some((_, rest)) = snippet.split_once("plt.savefig(\"") else {
        assert!(!snippet.contains("plt."), "{section} saves no picture");
        return;
    };
    let (name, _) = rest.split_once('"').expect("a name ends");
    let picture =
        std::fs::read(folder.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(picture.starts_with(b"\x89PNG") && picture.len() > 5000, "{name}: {}", picture.len());
}

fn assert_same(section: &str, csv: &Table, parquet: &Table) {
    assert_eq!(csv.columns, parquet.columns, "{section}");
    assert_eq!(csv.rows.len(), parquet.rows.len(), "{section}");
    // Names of runs follow from their scenarios, which name the format.
    let is_compared = |column: &&String| *column != "run" || section != DEADLOCKS;
    for column in csv.columns.iter().filter(is_compared) {
        let [here, there] = [csv, parquet].map(|table| table.texts([column.as_str()]));
        for ([here], [there]) in here.zip(there) {
            match (here.parse::<f64>(), there.parse::<f64>()) {
                (Ok(here), Ok(there)) => assert_near(here, there, section),
                _ => assert_eq!(here, there, "{section}, {column}"),
            }
        }
    }
}

const DEADLOCKS: &str = "Deadlocks in each run of a sweep";

/// Compares a figure with a different computation from the tables.
fn compare(section: &str, figure: &Table, root: &Path) {
    assert!(!figure.rows.is_empty(), "{section}");
    match section {
        "Slowdown by flow size" => slowdown(figure, root),
        "CDF of flow completion times" => completion(figure, root),
        "Buffer occupancy over time" => buffers(figure, &root.join("dcqcn")),
        "PAUSE: count and duration by port and priority" => pauses(figure, &root.join("pfc")),
        "Use of headroom" => headroom(figure, &root.join("pfc")),
        "Throughput of chosen flows" => throughput(figure, &root.join("pfc")),
        "CDF of queue lengths" => queue_lengths(figure, &root.join("pfc")),
        DEADLOCKS => deadlocks(figure, &root.join("deadlocks")),
        "A sweep with confidence intervals" => intervals(figure, &root.join("alpha")),
        "Units, from the file" => units(figure),
        other => panic!("nothing is known of {other}"),
    }
}

/// Percentiles by nearest rank, from the flows themselves.
fn slowdown(figure: &Table, root: &Path) {
    for run in ["dcqcn", "pfc"] {
        let flows = Table::read(&root.join(run), "flows.csv");
        let flows: Vec<[f64; 2]> = flows.numbers(["bytes", "slowdown"]).collect();
        let columns = [50, 99].map(|percent| (percent, format!("{run}, p{percent}")));
        for (percent, column) in &columns {
            let mut above = 0.0;
            for [up_to, found] in figure.numbers(["up_to_bytes", column]) {
                let within = |[bytes, _]: &&[f64; 2]| above < *bytes && *bytes <= up_to;
                let mut all: Vec<f64> =
                    flows.iter().filter(within).map(|[_, slowdown]| *slowdown).collect();
                all.sort_by(f64::total_cmp);
                let rank = (all.len() * percent).div_ceil(100);
                assert_near(found, all[rank - 1], &format!("{column} up to {up_to}"));
                above = up_to;
            }
            assert!(above >= 1e7, "{column} ends at {above}");
        }
    }
}

fn completion(figure: &Table, root: &Path) {
    for run in ["dcqcn", "pfc"] {
        let flows = Table::read(&root.join(run), "flows.csv");
        let all: Vec<f64> = flows.numbers(["fct_ns"]).map(|[fct]| fct).collect();
        let mut count = 0;
        for [_, fct, share] in figure.texts(["run", "fct_ns", "share"]).filter(|row| row[0] == run)
        {
            let up_to = all.iter().filter(|it| **it <= number(fct)).count();
            assert_near(number(share), up_to as f64 / all.len() as f64, run);
            count += 1;
        }
        assert_eq!(count, all.len(), "flows of {run}");
    }
}

/// The parts of a buffer are all of it, at each sample.
fn buffers(figure: &Table, run: &Path) {
    let queues = Table::read(run, "queues.csv");
    let mut parts: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    let mut changes = queues.texts(["time_ns", "node", "kind", "bytes"]).peekable();
    let nodes: Vec<&String> = figure.columns.iter().skip(1).collect();
    assert_eq!(nodes, ["leaf0", "leaf1", "leaf2", "leaf3", "spine0", "spine1"]);
    for row in &figure.rows {
        let now = number(&row[0]);
        while let Some([_, node, kind, bytes]) = changes.next_if(|change| number(change[0]) <= now)
        {
            if ["shared", "private", "headroom", "lossy"].contains(&kind) {
                parts.insert((node, kind), number(bytes));
            }
        }
        for (node, found) in nodes.iter().zip(&row[1..]) {
            let all: f64 = parts.iter().filter(|(key, _)| key.0 == *node).map(|(_, it)| it).sum();
            assert_near(number(found), all, &format!("{node} at {now} ns"));
        }
    }
}

/// The longest pauses, which together with the rest add up to the summary's.
fn pauses(figure: &Table, run: &Path) {
    let key = ["node", "port", "priority"];
    let table = Table::read(run, "pause_time.csv");
    let mut all: BTreeMap<[&str; 3], [f64; 2]> = BTreeMap::new();
    for (key, numbers) in table.texts(key).zip(table.numbers(["pauses", "paused_ns"])) {
        all.insert(key, numbers);
    }
    let summary = std::fs::read(run.join(Summary::FILE)).expect("a run has a summary");
    let summary: Summary = serde_json::from_slice(&summary).expect("a summary is JSON");
    let total: f64 = all.values().map(|[_, paused]| paused).sum();
    assert_near(total, summary.paused_ns as f64, "paused_ns of the summary");
    let found = figure.texts(key).zip(figure.numbers(["pauses", "paused_ns"]));
    let mut least = f64::MAX;
    for (key, [pauses, paused]) in found {
        let expected = all.remove(&key).unwrap_or_else(|| panic!("{key:?}"));
        assert_near(pauses, expected[0], "pauses");
        assert_near(paused, expected[1], "paused_ns");
        least = least.min(paused);
    }
    assert_eq!(figure.rows.len(), 15);
    assert!(all.values().all(|[_, paused]| *paused <= least), "the longest are there");
}

/// Shares of the weights so far.
fn headroom(figure: &Table, run: &Path) {
    let steps = Table::read(run, "distributions.csv");
    for measure in ["queue-headroom", "switch-headroom"] {
        let of = |table: &Table, column: &str| -> Vec<f64> {
            let rows = table.texts(["measure", column]).filter(|row| row[0] == measure);
            rows.map(|row| number(row[1])).collect()
        };
        let (values, weights) = (of(&steps, "value"), of(&steps, "weight"));
        let total: f64 = weights.iter().sum();
        assert_eq!(of(figure, "value"), values);
        assert!(values.len() > 20, "{measure} has {} steps", values.len());
        let mut sum = 0.0;
        for (found, weight) in of(figure, "cumulative").iter().zip(weights) {
            sum += weight;
            // The table has six decimals.
            assert!((found - sum / total).abs() < 1e-6, "{measure}: {found}");
        }
    }
}

/// Payload of all intervals adds up to the flow.
fn throughput(figure: &Table, run: &Path) {
    let flows = Table::read(run, "flows.csv");
    let mut largest: Vec<[f64; 2]> = flows.numbers(["bytes", "flow"]).collect();
    largest.sort_by(|one, other| other[0].total_cmp(&one[0]));
    for [bytes, flow] in &largest[..4] {
        let column = flow.to_string();
        let rates = figure.numbers([column.as_str()]);
        let bits: f64 = rates.map(|[rate]| rate * 100e-6).sum();
        assert_near(bits / 8.0, *bytes, &format!("bytes of flow {flow}"));
    }
    let starts = figure.texts(["start_ns"]).map(|[start]| start);
    assert!(starts.zip(0..).all(|(start, number)| start == (number * 100_000).to_string()));
    assert_eq!(figure.columns.len(), 5);
}

fn queue_lengths(figure: &Table, run: &Path) {
    let summary = std::fs::read(run.join(Summary::FILE)).expect("a run has a summary");
    let summary: Summary = serde_json::from_slice(&summary).expect("a summary is JSON");
    let queues = Table::read(run, "queues.csv");
    let mut last: BTreeMap<[&str; 3], (u64, u64)> = BTreeMap::new();
    let mut held: BTreeMap<u64, u64> = BTreeMap::new();
    let mut count = |bytes: u64, time: u64| *held.entry(bytes).or_default() += time;
    let columns = ["kind", "node", "port", "priority", "time_ns", "bytes"];
    for [kind, node, port, priority, time, bytes] in queues.texts(columns) {
        if kind == "egress" {
            let [time, bytes] = [time, bytes].map(whole);
            if let Some((since, bytes)) = last.insert([node, port, priority], (time, bytes)) {
                count(bytes, time - since);
            }
        }
    }
    for (since, bytes) in last.into_values() {
        count(bytes, summary.emulated_ns - since);
    }
    let total: u64 = held.values().sum();
    let mut sum = 0;
    assert_eq!(figure.rows.len(), held.len());
    let found = figure.texts(["bytes", "held_ns", "share"]);
    for ([found_bytes, found_held, share], (bytes, held)) in found.zip(held) {
        sum += held;
        assert_eq!([found_bytes, found_held].map(whole), [bytes, held]);
        assert_near(number(share), sum as f64 / total as f64, "share");
    }
}

/// As many as each run's summary counts.
fn deadlocks(figure: &Table, sweep: &Path) {
    let metrics = Table::read(sweep, "sweep.csv");
    let rows = metrics.texts(["run", "metric", "value"]);
    let counted: BTreeMap<&str, f64> = rows
        .filter(|row| row[1] == "deadlock.deadlocks")
        .map(|[run, _, value]| (run, number(value)))
        .collect();
    assert_eq!((figure.rows.len(), counted.len()), (12, 12));
    for [run, found] in figure.texts(["run", "deadlocks"]) {
        assert_near(number(found), counted[run], run);
    }
    let found: Vec<f64> = figure.numbers(["deadlocks"]).map(|[found]| found).collect();
    assert!(found.contains(&0.0) && found.contains(&1.0), "{found:?}");
}

/// By Student's t of 4 degrees of freedom, over the runs.
fn intervals(figure: &Table, sweep: &Path) {
    const QUANTILE: f64 = 2.776_445_105_2;
    let runs = Table::read(sweep, "sweep.csv");
    let columns = ["variant", "switch.threshold.alpha", "metric", "value"];
    assert_eq!(figure.rows.len(), 6);
    let found = ["variant", "switch.threshold.alpha", "mean", "ci95_low", "ci95_high"];
    for [variant, alpha, mean, low, high] in figure.texts(found) {
        let cell = runs.texts(columns).filter(|row| row[..3] == [variant, alpha, "fct_ns.p99"]);
        let values: Vec<f64> = cell.map(|row| number(row[3])).collect();
        assert_eq!(values.len(), 5, "seeds of {variant} {alpha}");
        let expected = values.iter().sum::<f64>() / 5.0;
        let square: f64 = values.iter().map(|it| (it - expected).powi(2)).sum();
        let half = QUANTILE * (square / 4.0 / 5.0).sqrt();
        for (found, expected) in [(mean, expected), (low, expected - half), (high, expected + half)]
        {
            let found = number(found);
            // The table's quantile has three decimals, its numbers have six.
            let bound = half * 2e-4 + 1e-5;
            assert!((found - expected).abs() < bound, "{variant} {alpha}: {found}, not {expected}");
        }
    }
}

fn units(figure: &Table) {
    let flows = TABLES.iter().find(|table| table.file == "flows.csv").expect("it is documented");
    let mut expected: Vec<[&str; 3]> = flows
        .columns
        .iter()
        .map(|column| [column.name, column.unit().unwrap_or_default(), column.about])
        .collect();
    expected.sort_unstable();
    let mut found: Vec<[&str; 3]> = figure.texts(["index", "unit", "about"]).collect();
    found.sort_unstable();
    assert_eq!(found, expected);
}
