//! Keys of scenarios in which runs differ.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use results::SCENARIO_FILE;
use toml::{Table, Value};

/// Max number of rows.
const ROWS: usize = 20;
/// Max number of rows for entries of lists, such as flows.
const ENTRIES: usize = 8;
/// Value of a key that a scenario lacks.
pub const NONE: &str = "-";
/// Max length of a value.
const LETTERS: usize = 24;

/// Values of a scenario, by path.
type Keys = BTreeMap<String, String>;

/// Returns a row for each key in which the scenarios of these results differ: the key, and the value in each folder.
pub fn rows<'a>(folders: impl Iterator<Item = &'a Path>) -> Vec<Vec<String>> {
    of(&folders.map(read).collect::<Vec<Keys>>())
}

/// Leaves out rows for lack of room, entries of lists first, and letters of long values.
pub fn shortened(rows: Vec<Vec<String>>, runs: usize) -> Vec<Vec<String>> {
    let (lists, mut rows): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|row| row[0].contains('['));
    if lists.len() <= ENTRIES {
        rows.extend(lists);
    } else {
        let name = |row: &[String]| row[0].split('[').next().unwrap_or_default().to_owned();
        for list in lists.chunk_by(|a, b| name(a) == name(b)) {
            let text = format!("{}, keys that differ", name(&list[0]));
            let count = list.len().to_string();
            rows.push([text].into_iter().chain((0..runs).map(|_| count.clone())).collect());
        }
    }
    let more = rows.len().saturating_sub(ROWS);
    rows.truncate(ROWS);
    if more > 0 {
        let rest = (0..runs).map(|_| String::new());
        rows.push([format!("{more} more keys differ")].into_iter().chain(rest).collect());
    }
    for row in &mut rows {
        let values = &mut row[1..];
        let common = common_letters(values);
        for value in values {
            let length = value.chars().count();
            if length <= LETTERS {
                continue;
            }
            // Long values that begin alike are cut in front, too, so that their difference shows.
            let cut = if common + 1 < LETTERS { 0 } else { common.saturating_sub(LETTERS / 2) };
            let front = (cut > 0).then_some('…');
            let room = LETTERS - usize::from(cut > 0);
            let rest = value.chars().skip(cut);
            *value = if length - cut > room {
                front.into_iter().chain(rest.take(room - 1)).chain(['…']).collect()
            } else {
                front.into_iter().chain(rest).collect()
            };
        }
    }
    rows
}

/// Number of letters with which all long values begin.
fn common_letters(values: &[String]) -> usize {
    let mut long = values.iter().filter(|value| value.chars().count() > LETTERS);
    let Some(first) = long.next() else { return 0 };
    let alike =
        |other: &String| first.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    long.map(alike).min().unwrap_or(0)
}

/// Min number of keys that a table has for a row of its own, if a run lacks the table.
const FOLDED: usize = 3;

/// Returns the outermost table of `key` that a run lacks, if it is worth a row.
fn table_that_lacks<'a>(key: &'a str, runs: &[Keys]) -> Option<&'a str> {
    let tables = key.match_indices('.').map(|(at, _)| &key[..at]);
    let count = |run: &Keys, table: &str| keys_below(run, table);
    let mut lacking = tables.filter(|table| runs.iter().any(|run| count(run, table) == 0));
    let table = lacking.next()?;
    runs.iter().any(|run| count(run, table) >= FOLDED).then_some(table)
}

/// Number of keys below a table.
fn keys_below(run: &Keys, table: &str) -> usize {
    let below = |key: &&String| key.strip_prefix(table).is_some_and(|rest| rest.starts_with('.'));
    run.keys().filter(below).count()
}

fn of(runs: &[Keys]) -> Vec<Vec<String>> {
    let all: BTreeSet<&String> = runs.iter().flat_map(BTreeMap::keys).collect();
    let differs = |key: &&String| runs.iter().any(|run| run.get(*key) != runs[0].get(*key));
    let mut rows: Vec<Vec<String>> = Vec::new();
    for key in all.into_iter().filter(differs) {
        let (name, value): (String, &dyn Fn(&Keys) -> Option<String>) =
            match table_that_lacks(key, runs) {
                None => (key.clone(), &|run| run.get(key).cloned()),
                Some(table) => (format!("{table}.*"), &|run| match keys_below(run, table) {
                    0 => None,
                    count => Some(format!("{count} keys")),
                }),
            };
        if rows.last().is_some_and(|row| row[0] == name) {
            continue;
        }
        let values = runs.iter().map(|run| value(run).unwrap_or_else(|| NONE.into()));
        rows.push([name].into_iter().chain(values).collect());
    }
    rows
}

/// Reads the scenario of a run. A scenario that cannot be read has no keys.
fn read(folder: &Path) -> Keys {
    let text = std::fs::read_to_string(folder.join(SCENARIO_FILE)).unwrap_or_default();
    flat(&text.parse::<Table>().unwrap_or_default())
}

fn flat(table: &Table) -> Keys {
    let mut keys = Keys::new();
    for (key, value) in table {
        add(&mut keys, key, value);
    }
    keys
}

/// Adds the leaves of a value. Tables of a list have their number in the path.
fn add(keys: &mut Keys, path: &str, value: &Value) {
    match value {
        Value::Table(table) => {
            for (key, value) in table {
                add(keys, &format!("{path}.{key}"), value);
            }
        }
        Value::Array(all) if all.iter().any(Value::is_table) => {
            for (number, value) in all.iter().enumerate() {
                add(keys, &format!("{path}[{number}]"), value);
            }
        }
        Value::String(text) => {
            keys.insert(path.to_owned(), text.clone());
        }
        other => {
            keys.insert(path.to_owned(), other.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_keys_that_differ_have_rows() {
        let runs = [
            "seed = 1\nbuffer = \"2MB\"\n[switch.threshold]\nalpha = \"1/2\"\n[[flows]]\nbytes = 7",
            "seed = 2\nbuffer = \"2MB\"\n[switch]\nlossless = [3]\n[[flows]]\nbytes = 8",
        ];
        let keys = runs.map(|text| flat(&text.parse().unwrap()));
        assert_eq!(
            of(&keys),
            [
                ["flows[0].bytes", "7", "8"],
                ["seed", "1", "2"],
                ["switch.lossless", "-", "[3]"],
                ["switch.threshold.alpha", "1/2", "-"],
            ]
        );
    }

    #[test]
    fn a_table_that_a_run_lacks_has_one_row() {
        let runs = [
            "control = \"dcqcn\"\n[host.dcqcn]\na = 1\nb = 2\nc = 3",
            "control = \"dctcp\"\n[host.dctcp]\ng = 1\n[host.x]\nd = 1",
        ];
        let keys = runs.map(|text| flat(&text.parse().unwrap()));
        assert_eq!(
            of(&keys),
            [
                ["control", "dcqcn", "dctcp"],
                ["host.dcqcn.*", "3 keys", "-"],
                ["host.dctcp.g", "-", "1"],
                ["host.x.d", "-", "1"],
            ]
        );
    }

    #[test]
    fn many_entries_of_a_list_have_one_row() {
        let row = |key: String, value: &str| vec![key, value.to_owned(), "2".to_owned()];
        let mut rows: Vec<_> =
            (0..9).map(|flow| row(format!("flows[{flow}].bytes"), "1")).collect();
        rows.push(row("switch.buffer".into(), &"7".repeat(30)));
        let short = shortened(rows, 2);
        assert_eq!(short[0][1], format!("{}…", "7".repeat(23)));
        assert_eq!(short[1], ["flows, keys that differ", "9", "9"]);
        assert_eq!(short.len(), 2);
        let paths = ["a", "b"].map(|it| format!("/scenarios/dsh/traces/of-racks/{it}.csv"));
        let row = ["flows[0].list".to_owned()].into_iter().chain(paths).collect();
        let short = shortened(vec![row], 2);
        assert_eq!(short[0][1..], ["…es/of-racks/a.csv", "…es/of-racks/b.csv"]);
    }
}
