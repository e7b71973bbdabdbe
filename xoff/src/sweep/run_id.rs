//! What a run is called: by all that decides its results.

use std::fmt::{self, Write};
use std::fs;

use sha2::{Digest, Sha256};

use crate::scenario::{IncastBytes, PairChoice, Scenario, Sizes, Workload};

/// 16 hexadecimal digits: of the SHA-256 of xoff's version, the resolved scenario and the files that
/// it names. Where those files lie is not a part of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunId(String);

impl RunId {
    /// The name of a scenario's run; an error is that of a file that the scenario names.
    pub fn of(scenario: &Scenario) -> std::io::Result<Self> {
        let mut hash = Sha256::new();
        hash.update(env!("CARGO_PKG_VERSION"));
        hash.update([0]);
        hash.update(option_env!("XOFF_GIT_COMMIT").unwrap_or_default());
        hash.update([0]);
        hash.update(content(scenario)?.to_toml());
        Ok(Self(hex(&hash.finalize()[..8])))
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The scenario with the digest of a file in the place of its path.
fn content(scenario: &Scenario) -> std::io::Result<Scenario> {
    let mut scenario = scenario.clone();
    for workload in &mut scenario.workloads {
        match workload {
            Workload::List { file, .. } => *file = digest(file)?,
            Workload::Poisson(arrivals) | Workload::Lognormal { arrivals, .. } => {
                if let Sizes::File(file) = &mut arrivals.sizes {
                    *file = digest(file)?;
                }
                if let PairChoice::Matrix { file } = &mut arrivals.pairs {
                    *file = digest(file)?;
                }
            }
            Workload::PeriodicIncast(incasts) | Workload::PoissonIncast(incasts) => {
                if let IncastBytes::Drawn { sizes: Sizes::File(file) } = &mut incasts.bytes {
                    *file = digest(file)?;
                }
            }
            Workload::One { .. }
            | Workload::Incast { .. }
            | Workload::LongLived { .. }
            | Workload::Permutation(_)
            | Workload::AllToAll(_) => {}
        }
    }
    Ok(scenario)
}

fn digest(file: &str) -> std::io::Result<String> {
    Ok(format!("sha256:{}", hex(&Sha256::digest(fs::read(file)?))))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a String takes every write");
        text
    })
}
