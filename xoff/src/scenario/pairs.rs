//! `pairs` of a workload: who sends to whom.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use super::document::suggestion;
use super::flows::Expansion;
use super::report::ScenarioError;
use crate::workload::{PairMatrix, Pairs};

/// Who sends to whom.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind", transform = uniform_is_a_text)]
pub enum PairChoice {
    /// Every host sends to every other one with equal probability.
    #[default]
    Uniform,
    /// The hosts of one rack send to those of another.
    RackToRack {
        /// The switch of the sending hosts.
        from: String,
        /// The switch of the receiving hosts, another one.
        to: String,
    },
    /// By weights between hosts.
    Matrix {
        /// Path of a CSV file, relative to the folder of the scenario file: a row for each sending
        /// host, in the hosts' order, with a weight for each receiving host.
        file: String,
    },
}

/// `pairs = "uniform"` has no keys and is written as a text.
fn uniform_is_a_text(schema: &mut schemars::Schema) {
    let choices = schema.get_mut("oneOf").and_then(|choices| choices.as_array_mut());
    if let Some(uniform) = choices.and_then(|choices| choices.first_mut()) {
        let description = uniform["description"].clone();
        *uniform = serde_json::json!({ "description": description, "const": "uniform" });
    }
}

impl Serialize for PairChoice {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        enum Table<'a> {
            RackToRack { from: &'a str, to: &'a str },
            Matrix { file: &'a str },
        }
        match self {
            Self::Uniform => out.serialize_str("uniform"),
            Self::RackToRack { from, to } => Table::RackToRack { from, to }.serialize(out),
            Self::Matrix { file } => Table::Matrix { file }.serialize(out),
        }
    }
}

impl Expansion<'_> {
    /// The choice with an absolute path, and the pairs.
    pub(super) fn pairs(
        &self,
        path: &str,
        choice: PairChoice,
    ) -> Result<(PairChoice, Pairs), ScenarioError> {
        let hosts = self.fabric.host_count();
        match choice {
            PairChoice::Uniform => {
                self.check_two_hosts(path)?;
                Ok((choice, Pairs::Uniform { hosts }))
            }
            PairChoice::RackToRack { ref from, ref to } => {
                let (sending, receiving) = (format!("{path}.from"), format!("{path}.to"));
                let senders = self.rack(&sending, from)?;
                let receivers = self.rack(&receiving, to)?;
                if senders == receivers {
                    let title = format!("from rack `{from}` to itself");
                    return Err(self.document.error(&receiving, &title, "name another switch"));
                }
                let hosts = |rack| Arc::from(self.racks.hosts(rack));
                let pairs = Pairs::Racks { from: hosts(senders), to: hosts(receivers) };
                Ok((choice, pairs))
            }
            PairChoice::Matrix { file } => {
                let file = self.read(&format!("{path}.file"), "matrix", &file)?;
                let matrix =
                    PairMatrix::parse(&file.text, hosts).map_err(|fault| file.error(&fault))?;
                Ok((PairChoice::Matrix { file: file.path }, Pairs::Matrix(matrix.into())))
            }
        }
    }

    /// Checks that hosts have others to send to.
    pub(super) fn check_two_hosts(&self, path: &str) -> Result<(), ScenarioError> {
        if self.fabric.host_count() < 2 {
            let help = "flows are between two hosts: give the fabric another one";
            return Err(self.document.error(path, "a fabric of one host", help));
        }
        Ok(())
    }

    /// The rack of a switch's name.
    fn rack(&self, path: &str, name: &str) -> Result<usize, ScenarioError> {
        let racks = &self.racks;
        let switch = |rack| self.fabric.switch(racks.switch(rack)).name.as_str();
        let names = (0..racks.len()).map(switch);
        names.clone().position(|known| known == name).ok_or_else(|| {
            let help = suggestion(name, "the switches with hosts are", names);
            self.document.error(path, &format!("no rack is called `{name}`"), &help)
        })
    }
}
