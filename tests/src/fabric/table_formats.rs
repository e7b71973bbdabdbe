//! Tables in each format.

use std::path::Path;

use ::results::{TABLES, TableFormat, TableReader};

use super::{Run, Runner};

/// Four flows to one host under PFC, so that most tables have rows.
const INCAST: &str = r#"
name = "formats"
[topology]
kind = "star"
hosts = 5
host_link = { rate = "100Gbps", delay = "1us" }
[switch]
buffer = "1MB"
lossless = [3]
threshold = { kind = "static", xoff = "20kB", xon = "15kB" }
watchdog = {}
[host]
transport = { kind = "roce-rc", congestion_control = "dcqcn" }
[[flows]]
kind = "incast"
label = "in, a label with a comma"
senders = ["h1", "h2", "h3", "h4"]
receiver = "h0"
bytes = "100kB"
priority = 3
[[faults]]
kind = "loss"
nth = [3]
match = "data"
[results]
throughput = { interval = "1us" }
flow_trace = { labels = ["*"] }
occupancy = true
distributions = true
thresholds = true
queue_counters = true
link_priorities = true
"#;

/// Overrides with tables that exclude each other.
const VARIANTS: [&[&str]; 3] = [
    &[],
    &["switch.scheme.kind=bfc", "results.held_flows=true", "results.thresholds=false"],
    &[
        "switch.scheme={kind=\"spfc\"}",
        "switch.threshold={kind=\"dt\"}",
        "switch.headroom={kind=\"adaptive\"}",
    ],
];

/// Asserts that Parquet has the rows that CSV has, numbers with decimal places to the precision of floats.
pub fn formats_agree(run: Runner) {
    let mut filled = 0;
    for variant in VARIANTS {
        let csv = run(INCAST, variant);
        let parquet = run(INCAST, &[variant, &["results.format=parquet"]].concat());
        for table in TABLES {
            let name = TableFormat::Parquet.file(table.file);
            assert_eq!(csv.has(table.file), parquet.has(&name), "{name} with {variant:?}");
            assert!(!csv.has(&name) && !parquet.has(table.file), "{name} with {variant:?}");
            if csv.has(table.file) {
                filled += u32::from(same_rows(table.file, &csv, &parquet) > 0);
            }
        }
    }
    assert!(filled > 40, "{filled} tables have rows");
}

fn same_rows(file: &str, csv: &Run, parquet: &Run) -> u64 {
    let open =
        |folder: &Path| TableReader::open(folder, file).unwrap_or_else(|error| panic!("{error}"));
    let (mut ours, mut theirs) = (open(csv.folder()), open(parquet.folder()));
    assert_eq!(ours.columns(), theirs.columns(), "{file}");
    let mut rows = 0;
    while ours.advance().expect("CSV of our own") {
        assert!(theirs.advance().expect("Parquet of our own"), "{file} has more than {rows} rows");
        for (ours, theirs) in ours.row().iter().zip(theirs.row()) {
            let float = |text: &str| text.parse::<f64>().ok().map(f64::to_bits);
            let same = ours == theirs || ours.contains('.') && float(ours) == float(theirs);
            assert!(same, "{file}, row {rows}: {ours}, and {theirs} in Parquet");
        }
        rows += 1;
    }
    assert!(!theirs.advance().expect("Parquet of our own"), "{file} has {rows} rows");
    rows
}
