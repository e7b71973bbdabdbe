//! Pages of `docs/reference` on results: meanings of every column and key.

use std::fmt::Write;

use super::column::{Column, Key};
use super::hpcc;
use super::manifest::{MANIFEST_KEYS, Manifest};
use super::summary::{SUMMARY_KEYS, Summary};
use super::tables::TABLES;
use super::wire_log::{WIRE_LOG_ABOUT, WIRE_LOG_FIELDS, WIRE_LOG_FILE};

const INTRODUCTION: &str = "\
# Results

Times are emulated nanoseconds since the run's start. Lengths are frame lengths without FCS.
Fields that hold a comma, a quote or a line end are quoted as RFC 4180 asks.

`scenario.resolved.toml` is the scenario with all defaults filled in, except those that follow from
a link's rate or the base RTT. `capture.pcapng` has one interface per captured wire direction and
emulated nanoseconds as time stamps.
`manifest.json` is the last file to appear: a folder that has it is whole.

[notebooks.md](../notebooks.md) has ten lines of pandas or polars for each figure that papers plot.

## Formats of tables

Each table below is called as in the default format, CSV. `xoff run --format parquet`, `xoff sweep --format parquet` and
the key `results.format = \"parquet\"` write all tables of a folder as Apache Parquet instead, with the same columns and rows:
`flows.parquet` for `flows.csv`. `manifest.json` says which (`tables`). `xoff report`, `xoff explain`, `xoff compare` and `[[expect]]` read both.

| type | CSV | Parquet |
| --- | --- | --- |
| integer | digits | `INT64` |
| decimal | digits, exact | `DOUBLE`, the nearest |
| text | as it is, or quoted | `BYTE_ARRAY` of type `STRING`, with a dictionary |
| truth | 1 or 0 | `BOOLEAN` |
| .. or empty | no character | null; other columns are `REQUIRED` |

A name ends with the unit: `_ns`, `_bytes`, `_bps`. A Parquet file's metadata have what this page says: under `xoff.table` what a row
is, under `xoff.columns` a JSON object with the unit (or null) and the meaning of each column. Row groups have at most 131,072 rows,
which are in memory until the group is full; pages are compressed with Snappy. As with CSV, the same run makes the same bytes,
on either datapath.
";

/// Markdown that documents every file, column and key of a results folder.
pub fn columns_markdown() -> String {
    let mut text = String::from(INTRODUCTION);
    for table in TABLES {
        section(&mut text, table.file, table.about, table.columns);
    }
    for (file, about, fields) in hpcc::DOCUMENTATION {
        keys(&mut text, file, about, fields);
    }
    keys(&mut text, WIRE_LOG_FILE, WIRE_LOG_ABOUT, WIRE_LOG_FIELDS);
    let about = "Totals of the run. All but the last two keys are the same in every run of a \
                 scenario under the virtual clock.";
    keys(&mut text, Summary::FILE, about, SUMMARY_KEYS);
    keys(&mut text, Manifest::FILE, "Program, machine and command of the run.", MANIFEST_KEYS);
    text
}

/// Adds the table of a table's columns.
pub fn section(text: &mut String, file: &str, about: &str, columns: &[Column<'_>]) {
    write!(
        text,
        "\n## `{file}`\n\n{about}\n\n| name | type | unit | meaning |\n| --- | --- | --- | --- |\n"
    )
    .expect("a String takes every write");
    for column in columns {
        let Column { name, about, kind, may_be_empty } = column;
        let (kind, unit) = (kind.name(), column.unit().unwrap_or_default());
        let or_empty = if *may_be_empty { " or empty" } else { "" };
        writeln!(text, "| `{name}` | {kind}{or_empty} | {unit} | {about} |")
            .expect("a String takes every write");
    }
}

/// Adds the table of keys, or fields, of a file that is not a table.
fn keys(text: &mut String, file: &str, about: &str, keys: &[Key]) {
    write!(text, "\n## `{file}`\n\n{about}\n\n| name | meaning |\n| --- | --- |\n")
        .expect("a String takes every write");
    for Key { name, about } in keys {
        writeln!(text, "| `{name}` | {about} |").expect("a String takes every write");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_its_section_and_every_row_its_cells() {
        let text = columns_markdown();
        let tables = TABLES.iter().map(|table| table.file.to_owned());
        let tables = tables.chain(hpcc::HpccFiles::FILES.map(str::to_owned));
        for file in tables.chain(["summary.json".into(), "manifest.json".into()]) {
            assert!(text.contains(&format!("\n## `{file}`\n")), "{file}");
        }
        let mut bars = 0;
        for line in text.lines().filter(|line| line.starts_with('|')) {
            let here = line.matches('|').count();
            if line.starts_with("| name |") || line.starts_with("| type |") {
                bars = here;
            }
            assert!(here == bars && (3..=5).contains(&here), "{line}");
        }
    }
}
