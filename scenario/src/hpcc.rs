//! `results.hpcc`: files in the format of the HPCC simulator.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::Fabric;
use units::{Bytes, Picos};

use super::dialect::is_default;
use super::document::{Document, DocumentKind, Settings, suggestion};
use super::report::ScenarioError;
use super::shape::Shape;
use super::{from_disk, quantity, text_of};

/// Options of `fct.txt`, `pfc.txt` and `qlen.txt`, files in the format of the HPCC simulator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "HpccKeys")]
pub struct Hpcc {
    /// Offset that is added to every time in these files; whole nanoseconds. The simulator's flows start at 2 s.
    /// Default "0s".
    pub time_offset: Picos,
    /// Emulated time of the first sample of the queues; whole nanoseconds. Default "0s".
    pub qlen_start: Picos,
    /// Emulated time at or after which the last sample is taken. Default: the run's end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qlen_stop: Option<Picos>,
    /// Time between samples; whole nanoseconds above zero. Default "100ns".
    pub qlen_interval: Picos,
    /// Interval of histograms, which are written when the time with its offset is a multiple of it, and at the last
    /// sample. A multiple of `qlen_interval`. Default "100ms".
    pub qlen_dump_interval: Picos,
    /// Names of all nodes in the order of their ids, from 0. Default: hosts, then switches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Vec<String>>,
    /// Headers of a data packet without telemetry, for `standalone_fct` as the simulator computes it with 48 B.
    /// Default: `standalone_fct` is `ideal_ns`, which counts whole frames and ACKs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standalone_headers: Option<Bytes>,
    /// Program whose lines `fct.txt` and `pfc.txt` have. "hpcc": hosts by their addresses, in hexadecimal, and of PFC frames
    /// those that begin or end a pause. "conweave": hosts by their ids, and each PFC frame; see `dialect`. Default "hpcc".
    #[serde(skip_serializing_if = "is_default")]
    pub lines: HpccLines,
    /// UDP destination ports of flows by label, 0 to 65535. The simulator's analysis uses them to distinguish incasts
    /// (200) from other flows (100). Default: 100 for all.
    pub destination_ports: BTreeMap<String, u16>,
}

/// Program whose lines the files have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HpccLines {
    /// HPCC's simulator.
    #[default]
    Hpcc,
    /// `ConWeave`'s simulator.
    Conweave,
}

impl Default for Hpcc {
    fn default() -> Self {
        Self {
            time_offset: Picos::default(),
            qlen_start: Picos::default(),
            qlen_stop: None,
            qlen_interval: Picos(100_000),
            qlen_dump_interval: Picos(100_000_000_000),
            nodes: None,
            standalone_headers: None,
            lines: HpccLines::Hpcc,
            destination_ports: BTreeMap::new(),
        }
    }
}

impl Hpcc {
    /// Checks the times, and the names of nodes and labels.
    pub(super) fn check(
        &self,
        labels: &BTreeSet<&str>,
        fabric: &Fabric,
        document: &Document<'_>,
    ) -> Result<(), ScenarioError> {
        self.check_without_flows(fabric, document)?;
        for label in self.destination_ports.keys() {
            if !labels.contains(label.as_str()) {
                let help = suggestion(label, "the labels are", labels.iter().copied());
                let path = format!("results.hpcc.destination_ports.{label}");
                return Err(document.error(
                    &path,
                    &format!("no flow has the label `{label}`"),
                    &help,
                ));
            }
        }
        Ok(())
    }

    /// Checks the times and the names of nodes.
    fn check_without_flows(
        &self,
        fabric: &Fabric,
        document: &Document<'_>,
    ) -> Result<(), ScenarioError> {
        self.check_times(document)?;
        self.nodes.as_ref().map_or(Ok(()), |nodes| check_nodes(nodes, fabric, document))
    }

    fn check_times(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        let wrong = |key: &str, title: &str, help: &str| {
            Err(document.error(&format!("results.hpcc.{key}"), title, help))
        };
        let times = [
            ("time_offset", Some(self.time_offset)),
            ("qlen_start", Some(self.qlen_start)),
            ("qlen_stop", self.qlen_stop),
            ("qlen_interval", Some(self.qlen_interval)),
            ("qlen_dump_interval", Some(self.qlen_dump_interval)),
        ];
        for (key, time) in times {
            if let Some(time) = time
                && Picos::from_nanos(time.to_nanos()) != time
            {
                let help = "these files count in nanoseconds: write a whole number of them";
                return wrong(key, &format!("a time of {}", quantity::display(time)), help);
            }
        }
        let (interval, dump) = (self.qlen_interval, self.qlen_dump_interval);
        if interval == Picos::ZERO {
            return wrong("qlen_interval", "looks without end", "write a time such as \"100ns\"");
        }
        if dump == Picos::ZERO || !dump.0.is_multiple_of(interval.0) {
            let title = format!(
                "{} is not a multiple of {}",
                quantity::display(dump),
                quantity::display(interval)
            );
            let help = "histograms are written at looks: write a multiple of `qlen_interval`";
            return wrong("qlen_dump_interval", &title, help);
        }
        Ok(())
    }
}

/// Fabric of a scenario and its options of these files, for readers of the files. Flows are not read, so the files that
/// they name may be missing.
#[derive(Clone, Debug)]
pub struct HpccFabric {
    /// Shape of the fabric.
    pub shape: Shape,
    /// Fabric without the static routes of the scenario.
    pub fabric: Fabric,
    /// Options of the files, with default values for keys that the scenario leaves out.
    pub hpcc: Hpcc,
}

/// Keys of a scenario that [`HpccFabric`] needs. The others are not checked.
#[derive(Deserialize)]
struct HpccFabricKeys {
    topology: Shape,
    #[serde(default)]
    results: HpccResultsKeys,
}

#[derive(Default, Deserialize)]
struct HpccResultsKeys {
    hpcc: Option<Hpcc>,
}

impl HpccFabric {
    /// Reads the scenario of a run.
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let text = text_of(path, &from_disk)?;
        let (file, settings) = (path.to_string_lossy(), Settings::default());
        let document = Document::parse(DocumentKind::SCENARIO, &file, &text, &[], settings)?;
        let HpccFabricKeys { topology: mut shape, results } = document.read()?;
        let fabric = shape.complete(&document)?;
        let hpcc = results.hpcc.unwrap_or_default();
        hpcc.check_without_flows(&fabric, &document)?;
        Ok(Self { shape, fabric, hpcc })
    }
}

/// Checks that every node is named once.
fn check_nodes(
    nodes: &[String],
    fabric: &Fabric,
    document: &Document<'_>,
) -> Result<(), ScenarioError> {
    let names = || fabric.nodes().iter().map(|node| node.name.as_str());
    let mut missing: BTreeSet<&str> = names().collect();
    for (place, name) in nodes.iter().enumerate() {
        if !missing.remove(name.as_str()) {
            let path = format!("results.hpcc.nodes.{place}");
            let known = names().any(|known| known == name);
            let (title, help) = if known {
                (format!("`{name}` comes twice"), "a node has one id: name each node once".into())
            } else {
                let help = suggestion(name, "the nodes are", names().collect::<Vec<_>>());
                (format!("no node is called `{name}`"), help)
            };
            return Err(document.error(&path, &title, &help));
        }
    }
    match missing.first() {
        None => Ok(()),
        Some(name) => {
            let help = "name all hosts and switches in the order of their ids, or leave it out";
            Err(document.error("results.hpcc.nodes", &format!("`{name}` has no id"), help))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Scenario;
    use super::*;

    const SCENARIO: &str = "
flows = [{ kind = \"one\", src = \"h0\", dst = \"h3\", bytes = \"1kB\" }]
[topology]
kind = \"leaf-spine\"
leaves = 2
spines = 2
hosts_per_leaf = 2
host_link = { rate = \"100Gbps\", delay = \"1us\" }
fabric_link = { rate = \"100Gbps\", delay = \"1us\" }
";

    /// The list of flows does not exist.
    #[test]
    fn the_fabric_of_a_run_needs_no_other_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.toml");
        let load = |more: &str| {
            let list = "flows = [{ kind = \"list\", file = \"absent.csv\" }]";
            let text = SCENARIO.lines().skip(2).collect::<Vec<_>>().join("\n");
            std::fs::write(&path, format!("{list}\n{text}\n{more}")).unwrap();
            HpccFabric::load(&path)
        };
        let loaded =
            load("[results.hpcc]\ntime_offset = \"2s\"\ndestination_ports = { x = 200 }\n");
        let HpccFabric { fabric, hpcc, .. } = loaded.unwrap();
        assert!(Scenario::load(&path, &[]).is_err());
        assert_eq!((fabric.host_count(), hpcc.time_offset), (4, Picos(2_000_000_000_000)));
        assert_eq!(hpcc.destination_ports["x"], 200);
        assert_eq!(load("").unwrap().hpcc, Hpcc::default());
        let error = load("[results]\nhpcc = { nodes = [\"h0\"] }").unwrap_err().to_string();
        assert!(error.contains("`h1` has no id"), "{error}");
    }

    fn scenario(sets: &[&str]) -> Result<Scenario, ScenarioError> {
        let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
        Scenario::parse(SCENARIO, Path::new("x.toml"), &sets)
    }

    #[test]
    fn keys_that_are_wrong() {
        for (set, words) in [
            ("qlen_interval=\"0ns\"", "looks without end"),
            ("qlen_interval=\"1.5ns\"", "a time of 1500ps"),
            ("qlen_dump_interval=\"150ns\"", "150ns is not a multiple of 100ns"),
            ("destination_ports.two=200", "no flow has the label `two`"),
            ("destination_ports.one=65536", "destination_ports"),
            ("nodes=[\"h0\", \"h9\"]", "no node is called `h9`"),
            ("nodes=[\"h0\", \"h0\"]", "`h0` comes twice"),
            ("nodes=[\"h0\", \"h1\"]", "`h2` has no id"),
        ] {
            let error = scenario(&[&format!("results.hpcc.{set}")]).unwrap_err().to_string();
            assert!(error.contains(words) && error.contains("help: "), "{words}: {error}");
        }
    }
}
