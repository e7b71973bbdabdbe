//! Names of runs, derived from all input that determines their results.

use std::fmt;
use std::fs;

use sha2::{Digest, Sha256};

use results::build::{self, hex};
use scenario::{PairChoice, Scenario, Sizes, Workload};

/// A name of 16 hexadecimal digits: the SHA-256 of xoff's version and build, the resolved scenario and the files that
/// it names. The paths of these files do not matter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunId(String);

impl RunId {
    /// Returns the name of a scenario's run. An error is about a file that the scenario names.
    pub fn for_scenario(scenario: &Scenario) -> std::io::Result<Self> {
        let mut hash = Sha256::new();
        hash.update(env!("CARGO_PKG_VERSION"));
        hash.update([0]);
        hash.update(build::name());
        hash.update([0]);
        hash.update(content(scenario)?.to_toml());
        Ok(Self(hex(&hash.finalize()[..8])))
    }

    /// Returns a name that no run has.
    #[cfg(test)]
    pub(super) fn for_tests() -> Self {
        Self("0123456789abcdef".into())
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Returns the scenario with the path of each file replaced by its digest.
fn content(scenario: &Scenario) -> std::io::Result<Scenario> {
    let mut scenario = scenario.clone();
    for entry in &mut scenario.workloads {
        match &mut entry.workload {
            Workload::List { file, .. } => *file = digest(file)?,
            Workload::Poisson { sizes, pairs, .. } | Workload::Lognormal { sizes, pairs, .. } => {
                if let Sizes::File { file, .. } = sizes {
                    *file = digest(file)?;
                }
                if let PairChoice::Matrix { file } = pairs {
                    *file = digest(file)?;
                }
            }
            Workload::PeriodicIncast(incasts) | Workload::PoissonIncast(incasts) => {
                if let Some(Sizes::File { file, .. }) = &mut incasts.sizes {
                    *file = digest(file)?;
                }
            }
            Workload::One { .. }
            | Workload::Incast { .. }
            | Workload::LongLived { .. }
            | Workload::Permutation { .. }
            | Workload::AllToAll { .. }
            | Workload::Split { .. } => {}
        }
    }
    Ok(scenario)
}

fn digest(file: &str) -> std::io::Result<String> {
    Ok(format!("sha256:{}", hex(&Sha256::digest(fs::read(file)?))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FABRIC: &str = r#"
duration = "1ms"
[topology]
kind = "star"
hosts = 3
host_link = { rate = "100Gbps", delay = "1us" }
[[flows]]
"#;

    /// Returns the name of a run whose flows are in a file with this content.
    fn name(flows: &str, content: &str) -> RunId {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("named"), content).unwrap();
        let text = format!("{FABRIC}{flows}");
        let scenario = Scenario::parse(&text, &folder.path().join("base.toml"), &[]);
        RunId::for_scenario(&scenario.unwrap_or_else(|error| panic!("{error}"))).unwrap()
    }

    #[test]
    fn a_name_follows_the_content_of_every_file_and_not_its_place() {
        let arrivals = "load = 0.1\nsizes = { file = \"named\" }";
        let pairs = "load = 0.1\nsizes = \"64kB\"\npairs = { kind = \"matrix\", file = \"named\" }";
        let incasts = "degree = 2\nsizes = { file = \"named\" }\nreceiver = \"h0\"";
        let sizes = ["0 0\n1000 50\n2000 100\n", "0 0\n1000 50\n3000 100\n"];
        let weights = ["0,1,1\n1,0,1\n1,1,0\n", "0,1,1\n1,0,1\n1,2,0\n"];
        for (kind, keys, [first, second]) in [
            ("poisson", arrivals.to_owned(), sizes),
            ("lognormal", format!("sigma = 1.5\n{arrivals}"), sizes),
            ("poisson", pairs.to_owned(), weights),
            ("lognormal", format!("sigma = 1.5\n{pairs}"), weights),
            ("poisson-incast", format!("load = 0.01\n{incasts}"), sizes),
            ("periodic-incast", format!("period = \"10us\"\n{incasts}"), sizes),
        ] {
            let flows = format!("kind = {kind:?}\n{keys}\n");
            assert_eq!(name(&flows, first), name(&flows, first), "{flows}");
            assert_ne!(name(&flows, first), name(&flows, second), "{flows}");
        }
        let list = |bytes: u32| {
            let rows = format!("start_ns,src,dst,bytes,priority\n0,h0,h1,{bytes},3\n");
            let flows = "kind = \"list\"\nfile = \"named\"\n";
            name(flows, &rows)
        };
        assert_eq!(list(9), list(9));
        assert_ne!(list(9), list(8));
    }
}
