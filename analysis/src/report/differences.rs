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
pub fn shortened(rows: &[Vec<String>], runs: usize) -> Vec<Vec<String>> {
    let (lists, mut rows): (Vec<_>, Vec<_>) =
        folded(rows).into_iter().partition(|row| row[0].contains('['));
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

fn of(runs: &[Keys]) -> Vec<Vec<String>> {
    let all: BTreeSet<&String> = runs.iter().flat_map(BTreeMap::keys).collect();
    let differs = |key: &&String| runs.iter().any(|run| run.get(*key) != runs[0].get(*key));
    all.into_iter()
        .filter(differs)
        .map(|key| {
            let value = |run: &Keys| run.get(key).cloned().unwrap_or_else(|| NONE.into());
            [key.clone()].into_iter().chain(runs.iter().map(value)).collect()
        })
        .collect()
}

/// Min number of keys that become one row.
const FOLDED: usize = 3;

/// Makes one row of the keys of a table that some runs lack, if the other runs agree. Rows are in the order of keys.
fn folded(rows: &[Vec<String>]) -> Vec<Vec<String>> {
    let mut shown = Vec::new();
    let mut at = 0;
    while at < rows.len() {
        let key = &rows[at][0];
        let tables = key.match_indices('.').map(|(end, _)| &key[..=end]);
        let mut counts = tables.map(|table| (table, alike(&rows[at..], table)));
        let outermost = counts.find(|(_, count)| *count >= FOLDED);
        // All these keys may be in a table of that table.
        let deepest = outermost.and_then(|(_, all)| counts.take_while(|it| it.1 == all).last());
        if let Some((table, count)) = deepest.or(outermost) {
            let value = |it: &String| if it == NONE { it.clone() } else { format!("{count} keys") };
            let values = rows[at][1..].iter().map(value);
            shown.push([format!("{table}*")].into_iter().chain(values).collect());
            at += count;
        } else {
            shown.push(rows[at].clone());
            at += 1;
        }
    }
    shown
}

/// Number of the first rows below `table`, if each lacks a value in the same runs and has one value in the others; otherwise 0.
fn alike(rows: &[Vec<String>], table: &str) -> usize {
    let below = rows.iter().take_while(|row| row[0].starts_with(table)).count();
    let lacks = |row: &[String]| row[1..].iter().map(|it| it == NONE).collect::<Vec<bool>>();
    let values =
        |row: &[String]| row[1..].iter().filter(|it| *it != NONE).collect::<BTreeSet<_>>().len();
    let is_alike = |row: &Vec<String>| lacks(row) == lacks(&rows[0]) && values(row) == 1;
    if rows[..below].iter().all(is_alike) { below } else { 0 }
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
        let rows = |runs: &[&str]| {
            let keys: Vec<Keys> = runs.iter().map(|text| flat(&text.parse().unwrap())).collect();
            shortened(&of(&keys), runs.len())
        };
        let dcqcn = "control = \"dcqcn\"\n[host.dcqcn]\na = 1\nb = 2\nc = 3";
        let dctcp = "control = \"dctcp\"\n[host.dctcp]\ng = 1\n[host.x]\nd = 1";
        assert_eq!(
            rows(&[dcqcn, dctcp]),
            [
                ["control", "dcqcn", "dctcp"],
                ["host.dcqcn.*", "3 keys", "-"],
                ["host.dctcp.g", "-", "1"],
                ["host.x.d", "-", "1"],
            ]
        );
        // The row names the deepest table that has all these keys.
        let deep = ["", "[host.transport.timely]\na = 1\nb = 2\nc = 3"];
        assert_eq!(rows(&deep), [["host.transport.timely.*", "-", "3 keys"]]);
        let wide =
            ["", "[host.transport]\nwindow = 1\n[host.transport.timely]\na = 1\nb = 2\nc = 3"];
        assert_eq!(rows(&wide), [["host.transport.*", "-", "4 keys"]]);
        // Runs with the table differ in a key of it.
        let other = dcqcn.replace("a = 1", "a = 9");
        let three = rows(&[dcqcn, &other, dctcp]);
        assert_eq!(three[1], ["host.dcqcn.a", "1", "9", "-"]);
    }

    #[test]
    fn many_entries_of_a_list_have_one_row() {
        let row = |key: String, value: &str| vec![key, value.to_owned(), "2".to_owned()];
        let mut rows: Vec<_> =
            (0..9).map(|flow| row(format!("flows[{flow}].bytes"), "1")).collect();
        rows.push(row("switch.buffer".into(), &"7".repeat(30)));
        let short = shortened(&rows, 2);
        assert_eq!(short[0][1], format!("{}…", "7".repeat(23)));
        assert_eq!(short[1], ["flows, keys that differ", "9", "9"]);
        assert_eq!(short.len(), 2);
        let paths = ["a", "b"].map(|it| format!("/scenarios/dsh/traces/of-racks/{it}.csv"));
        let row = ["flows[0].list".to_owned()].into_iter().chain(paths).collect();
        let short = shortened(&[row], 2);
        assert_eq!(short[0][1..], ["…es/of-racks/a.csv", "…es/of-racks/b.csv"]);
    }
}
