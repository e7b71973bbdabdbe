//! Tables that a file may leave to their defaults: their kinds, and the sections that stand in for them.

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

/// The path of the table that stands in for the one at a path if nothing is written there.
pub(super) fn default_section(path: &str) -> Option<&'static str> {
    match path {
        "topology.aggregation_link" | "topology.leaf_link" => Some("topology.host_link"),
        "topology.core_link" => Some("topology.aggregation_link"),
        "topology.spine_link" => Some("topology.leaf_link"),
        _ => {
            let number = path.strip_prefix("flows.")?.strip_suffix(".transport")?;
            number.bytes().all(|byte| byte.is_ascii_digit()).then_some("host.transport")
        }
    }
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

    fn sets(sets: &[&str]) -> Vec<String> {
        sets.iter().map(|&set| set.to_owned()).collect()
    }

    /// The table of the first entry of `[[flows]]`, or of another section, once all is resolved.
    fn table(text: &str, overrides: &[&str], path: &[&str]) -> toml::Value {
        let read = Scenario::parse(text, Path::new("a.toml"), &sets(overrides));
        let resolved = read.unwrap_or_else(|error| panic!("{overrides:?}: {error}")).to_toml();
        let table: toml::Value = resolved.parse::<toml::Table>().expect("it is TOML").into();
        path.iter().fold(table, |table, step| match step.parse::<usize>() {
            Ok(place) => table[place].clone(),
            Err(_) => table[*step].clone(),
        })
    }

    #[test]
    fn a_key_of_a_flows_transport_starts_from_the_hosts() {
        let of_flow = |overrides: &[&str]| table(MINIMAL, overrides, &["flows", "0", "transport"]);
        let none = of_flow(&["flows.0.transport.congestion_control=none"]);
        assert_eq!(
            (none["kind"].as_str(), none["congestion_control"].as_str()),
            (Some("roce-rc"), Some("none"))
        );
        // What is set of the hosts counts, before or after.
        let host = "host.transport.window=64kB";
        let flow = "flows.0.transport.congestion_control=none";
        for order in [[host, flow], [flow, host]] {
            let both = of_flow(&order);
            assert_eq!(both["window"].as_str(), Some("64kB"), "{order:?}: {both}");
            assert_eq!(both["congestion_control"].as_str(), Some("none"), "{order:?}: {both}");
        }
        // A transport of another kind has other keys.
        let tcp = ["host.transport.congestion_control=none", "flows.0.transport.kind=tcp"];
        let tcp = of_flow(&[&tcp[..], &["flows.0.priority=1"]].concat());
        assert_eq!(tcp["kind"].as_str(), Some("tcp"));
        // A table that is written whole is as it is written.
        let whole = sets(&[flow, "flows.0.transport={ congestion_control = \"none\" }"]);
        let refused = Scenario::parse(MINIMAL, Path::new("a.toml"), &whole).unwrap_err();
        assert!(refused.title().contains("has no `kind`"), "{refused}");
    }

    #[test]
    fn a_key_of_a_link_starts_from_the_link_below() {
        let star = "kind = \"star\"\nhosts = 2\n";
        let tree = MINIMAL.replacen(star, "kind = \"fat-tree\"\nk = 2\n", 1);
        let link = |overrides: &[&str], name| {
            let link = table(&tree, overrides, &["topology", name]);
            [&link["rate"], &link["delay"]].map(|it| it.as_str().unwrap_or_default().to_owned())
        };
        let core = "topology.core_link.rate=40Gbps";
        assert_eq!(link(&[core], "core_link"), ["40Gbps", "1us"]);
        let below = "topology.aggregation_link.delay=2us";
        for order in [[core, below], [below, core]] {
            assert_eq!(link(&order, "core_link"), ["40Gbps", "2us"], "{order:?}");
            assert_eq!(link(&order, "aggregation_link"), ["10Gbps", "2us"], "{order:?}");
        }
    }

    #[test]
    fn the_sections_that_stand_in_for_others_are_the_documented_ones() {
        let schema = crate::json_schema();
        let tables = [("topology", &schema["properties"]["topology"])];
        let mut found = Vec::new();
        for (name, section) in tables {
            let kinds = match section["$ref"].as_str() {
                Some(name) => &schema["$defs"][name.trim_start_matches("#/$defs/")],
                None => section,
            };
            for kind in kinds["oneOf"].as_array().expect("it has kinds") {
                for (key, value) in kind["properties"].as_object().expect("a table") {
                    let about = value["description"].as_str().unwrap_or_default();
                    if let Some((_, like)) = about.split_once("Default: as `") {
                        let like = like.split('`').next().unwrap_or_default();
                        let path = format!("{name}.{key}");
                        assert_eq!(default_section(&path), Some(&*format!("{name}.{like}")));
                        found.push(path);
                    }
                }
            }
        }
        assert_eq!(found.len(), 4, "{found:?}");
    }
}
