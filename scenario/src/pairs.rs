//! `pairs` of a workload: senders and receivers.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use topology::HostId;
use workload::{PairMatrix, Pairs};

use super::document::suggestion;
use super::flows::Expansion;
use super::report::ScenarioError;

/// Pairs of senders and receivers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind", transform = some_are_texts)]
pub enum PairChoice {
    /// Every host sends to every other host with equal probability.
    #[default]
    Uniform,
    /// Hosts of each rack send to hosts of the next rack, in the order of the switches; the last rack sends to the
    /// first (ABM's simulator: "next leaf").
    NextRack,
    /// Hosts of one rack send to hosts of another.
    RackToRack {
        /// The switch of the sending hosts.
        from: String,
        /// The switch of the receiving hosts, different from `from`.
        to: String,
    },
    /// Hosts of one group send to hosts of another; the groups may overlap.
    Groups {
        /// The sending hosts, by name; a switch's name stands for its hosts. Default: all.
        from: Option<Vec<String>>,
        /// The receiving hosts, by name; a switch's name stands for its hosts. Default: all.
        to: Option<Vec<String>>,
    },
    /// Weights between hosts decide how often a pair is drawn.
    Matrix {
        /// Path of a CSV file, relative to the folder of the scenario file. It has a row for each sending host, in the
        /// hosts' order, with a weight for each receiving host.
        file: String,
    },
}

/// Choices without keys are texts: `pairs = "uniform"` and "next-rack".
fn some_are_texts(schema: &mut schemars::Schema) {
    let choices = schema.get_mut("oneOf").and_then(|choices| choices.as_array_mut());
    for (choice, text) in choices.into_iter().flatten().zip(["uniform", "next-rack"]) {
        let description = choice["description"].clone();
        *choice = serde_json::json!({ "description": description, "const": text });
    }
}

impl Serialize for PairChoice {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        enum Table<'a> {
            RackToRack { from: &'a str, to: &'a str },
            Groups { from: Option<&'a [String]>, to: Option<&'a [String]> },
            Matrix { file: &'a str },
        }
        match self {
            Self::Uniform => out.serialize_str("uniform"),
            Self::NextRack => out.serialize_str("next-rack"),
            Self::RackToRack { from, to } => Table::RackToRack { from, to }.serialize(out),
            Self::Groups { from, to } => {
                let (from, to) = (from.as_deref(), to.as_deref());
                Table::Groups { from, to }.serialize(out)
            }
            Self::Matrix { file } => Table::Matrix { file }.serialize(out),
        }
    }
}

impl Expansion<'_> {
    /// Returns the choice with an absolute path, and the pairs.
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
            PairChoice::NextRack => {
                self.check_next_rack(path)?;
                Ok((choice, Pairs::NextRack { racks: self.racks.clone(), hosts }))
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
                let pairs = Pairs::Groups { from: hosts(senders), to: hosts(receivers) };
                Ok((choice, pairs))
            }
            PairChoice::Groups { ref from, ref to } => {
                self.check_two_hosts(path)?;
                let sending = self.group(&format!("{path}.from"), from.as_deref())?;
                let receiving = self.group(&format!("{path}.to"), to.as_deref())?;
                if let [only] = receiving[..]
                    && sending.contains(&only)
                {
                    let name = &self.fabric.host(only).name;
                    let title = format!("`{name}` has none but itself to send to");
                    let help = "name more receivers, or fewer senders";
                    return Err(self.document.error(path, &title, help));
                }
                let pairs = Pairs::Groups { from: sending.into(), to: receiving.into() };
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

    /// Checks that there is more than one rack.
    pub(super) fn check_next_rack(&self, path: &str) -> Result<(), ScenarioError> {
        if self.racks.len() < 2 {
            let help = "use a fabric with hosts at two switches or more, or leave the key out";
            return Err(self.document.error(path, "the next rack of the only one", help));
        }
        Ok(())
    }

    /// Checks that there are at least two hosts.
    pub(super) fn check_two_hosts(&self, path: &str) -> Result<(), ScenarioError> {
        if self.fabric.host_count() < 2 {
            let help = "flows are between two hosts: give the fabric another one";
            return Err(self.document.error(path, "a fabric of one host", help));
        }
        Ok(())
    }

    /// Returns the hosts of a list of names, ascending; a switch's name stands for its hosts. Without a list, returns
    /// all hosts.
    pub(super) fn group(
        &self,
        path: &str,
        names: Option<&[String]>,
    ) -> Result<Vec<HostId>, ScenarioError> {
        let all = (0..self.fabric.host_count()).map(HostId);
        let Some(names) = names else { return Ok(all.collect()) };
        if names.is_empty() {
            let help = "name hosts, or switches for all of their hosts; or leave the key out";
            return Err(self.document.error(path, "a group of no hosts", help));
        }
        let mut hosts = Vec::new();
        for (place, name) in names.iter().enumerate() {
            let path = format!("{path}.{place}");
            let switch = |rack| &self.fabric.switch(self.racks.switch(rack)).name;
            let rack = (0..self.racks.len()).find(|&rack| switch(rack) == name);
            let members = match rack {
                Some(rack) => self.racks.hosts(rack).to_vec(),
                None => vec![self.host(&path, name)?],
            };
            if let Some(host) = members.iter().find(|host| hosts.contains(*host)) {
                let title = format!("`{}` is in the group twice", self.fabric.host(*host).name);
                let help = "name each host once, and leave out those of switches that you name";
                return Err(self.document.error(&path, &title, help));
            }
            hosts.extend(members);
        }
        hosts.sort();
        Ok(hosts)
    }

    /// Returns the rack of a switch.
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
