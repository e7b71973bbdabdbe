//! Default kinds of tables, for files that omit the table.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use super::Scenario;

/// Scenario with the mandatory keys only.
const MINIMAL: &str = r#"
[datapath]
kind = "memory"
[topology]
kind = "star"
hosts = 2
host_link = { rate = "10Gbps", delay = "1us" }
[[flows]]
kind = "one"
src = "h0"
dst = "h1"
bytes = "1kB"
"#;

/// Default kinds by the path of the table. Defaults are part of the keys' types, so a resolved scenario has all of
/// them.
static KINDS: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let scenario = Scenario::parse(MINIMAL, Path::new("minimal.toml"), &[]);
    let scenario = scenario.expect("a test reads it");
    let resolved: toml::Table = scenario.to_toml().parse().expect("it is written as TOML");
    let mut kinds = BTreeMap::new();
    for section in ["switch", "host", "frames", "results"] {
        if let Some(toml::Value::Table(table)) = resolved.get(section) {
            collect(section, table, &mut kinds);
        }
    }
    kinds
});

/// Default kind of the table at a path; `None` if the table has no kind or no default kind.
pub(super) fn default_kind(path: &str) -> Option<&'static str> {
    KINDS.get(path).map(String::as_str)
}

fn collect(path: &str, table: &toml::Table, kinds: &mut BTreeMap<String, String>) {
    for (key, value) in table {
        match value {
            toml::Value::String(kind) if key == "kind" => {
                kinds.insert(path.to_owned(), kind.clone());
            }
            toml::Value::Table(inner) => collect(&format!("{path}.{key}"), inner, kinds),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Collects the paths and values of the keys below a table.
    fn leaves(path: &str, table: &toml::Table, into: &mut Vec<(String, String)>) {
        for (key, value) in table {
            let path = format!("{path}.{key}");
            match value {
                toml::Value::Table(inner) => leaves(&path, inner, into),
                value => into.push((path, value.to_string())),
            }
        }
    }

    fn resolved(sets: &[String]) -> String {
        let read = Scenario::parse(MINIMAL, Path::new("minimal.toml"), sets);
        read.unwrap_or_else(|error| panic!("{sets:?}: {error}")).to_toml()
    }

    #[test]
    fn a_key_of_a_table_with_a_default_can_be_set_alone() {
        let plain = resolved(&[]);
        let table: toml::Table = plain.parse().unwrap();
        for path in ["switch.threshold", "switch.scheduler", "switch.lossy", "host.transport"] {
            assert!(default_kind(path).is_some(), "{path}: {KINDS:?}");
        }
        let mut tried = 0;
        for (path, kind) in &*KINDS {
            let find = |table: &toml::Table, step: &str| table[step].as_table().unwrap().clone();
            let inner = path.split('.').fold(table.clone(), |table, step| find(&table, step));
            let mut keys = Vec::new();
            leaves(path, &inner, &mut keys);
            for (key, value) in keys {
                assert_eq!(resolved(&[format!("{key}={value}")]), plain, "{path} {kind} {key}");
                tried += 1;
            }
        }
        assert!(tried > 20, "{tried}");
    }

    #[test]
    fn a_kind_that_is_set_takes_the_place_of_the_default() {
        let sets = |sets: &[&str]| sets.iter().map(|&set| set.to_owned()).collect::<Vec<_>>();
        let none = resolved(&sets(&["host.transport.congestion_control=none"]));
        assert!(
            none.contains("kind = \"roce-rc\"") && none.contains("congestion_control = \"none\"")
        );
        let tcp = "host.transport.kind=\"tcp\"";
        let key = "host.transport.loss_threshold=5";
        for order in [[tcp, key], [key, tcp]] {
            let all = [&order[..], &["switch.lossless=[]"]].concat();
            assert!(resolved(&sets(&all)).contains("kind = \"tcp\""), "{order:?}");
        }
        // An override with a whole table replaces it and gets no default kind.
        let whole = ["host.transport={ congestion_control = \"none\" }".to_owned()];
        let refused = Scenario::parse(MINIMAL, Path::new("minimal.toml"), &whole).unwrap_err();
        assert!(refused.title().contains("has no `kind`"), "{refused}");
    }
}
