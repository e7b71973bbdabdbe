//! `[[flows]]`: what hosts send to each other, and the flows that come of it.

use std::path::Path;
use std::sync::Arc;

use fabric_core::units::{Bytes, Picos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::document::{Document, suggestion};
use super::flow_list::FlowList;
use super::priority::Priority;
use super::quantity::{self, Size, Time};
use super::report::ScenarioError;
use crate::topology::{Fabric, HostId};

/// Flows a scenario may have: each is a queue pair at both ends, and a queue pair's number has 24
/// bits, of which InfiniBand reserves 0 and 1.
pub const MAX_FLOWS: usize = (1 << 24) - 2;

/// One transfer of bytes from a host to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Dense from 0, in order of start; flows of one start are in the order of the file.
    pub id: u32,
    /// What the file calls it, or the workload it belongs to.
    pub label: Arc<str>,
    /// The sender.
    pub source: HostId,
    /// The receiver; never the sender.
    pub destination: HostId,
    /// Bytes to transfer, above zero.
    pub bytes: Bytes,
    /// When the sender has them; before the run's end.
    pub start: Picos,
    /// 0 to 7.
    pub priority: u8,
}

/// An entry of `[[flows]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Workload {
    /// One flow.
    One {
        /// The flow's label.
        label: String,
        /// The sender's name.
        src: String,
        /// The receiver's name.
        dst: String,
        /// What it transfers.
        #[serde(flatten)]
        transfer: Transfer,
    },
    /// A flow from each of the senders to one receiver, all at once.
    Incast {
        /// The label of each flow.
        label: String,
        /// The senders' names.
        senders: Vec<String>,
        /// The receiver's name.
        receiver: String,
        /// What each flow transfers.
        #[serde(flatten)]
        transfer: Transfer,
    },
    /// The flows of a CSV file.
    List {
        /// The label of each flow.
        label: String,
        /// Absolute path of the file.
        file: String,
    },
}

/// How much, when, and in which priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Transfer {
    /// Bytes of a flow, above zero.
    #[serde(serialize_with = "quantity::serialize")]
    pub bytes: Bytes,
    /// When the flow starts.
    #[serde(serialize_with = "quantity::serialize")]
    pub start: Picos,
    /// 0 to 7.
    pub priority: u8,
}

/// What hosts send to each other.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind")]
pub(super) enum WorkloadKeys {
    /// One flow.
    One {
        /// Name of the flow in the results. Default "one".
        label: Option<String>,
        /// The sending host.
        src: String,
        /// The receiving host, another one.
        dst: String,
        /// Bytes to transfer, above zero.
        bytes: Size,
        /// When it starts, before `duration`. Default "0s".
        #[serde(default)]
        start: Time,
        /// Priority, 0 to 7. Default 3.
        #[serde(default = "default_priority")]
        priority: Priority,
    },
    /// A flow from each of the senders to one receiver, all at once.
    Incast {
        /// Name of the flows in the results. Default "incast".
        label: Option<String>,
        /// The sending hosts, each named once.
        senders: Vec<String>,
        /// The receiving host, none of the senders.
        receiver: String,
        /// Bytes that each sender transfers, above zero.
        bytes: Size,
        /// When all start, before `duration`. Default "0s".
        #[serde(default)]
        start: Time,
        /// Priority, 0 to 7. Default 3.
        #[serde(default = "default_priority")]
        priority: Priority,
    },
    /// The flows of a CSV file with the header `start_ns,src,dst,bytes,priority`.
    List {
        /// Name of the flows in the results. Default: the file's name without its extension.
        label: Option<String>,
        /// Path of the file, relative to the folder of the scenario file.
        file: String,
    },
}

const fn default_priority() -> Priority {
    Priority(3)
}

/// Turns entries of `[[flows]]` into flows.
pub(super) struct Expansion<'a> {
    pub(super) document: &'a Document<'a>,
    pub(super) fabric: &'a Fabric,
    /// The scenario file's folder.
    pub(super) folder: &'a Path,
    pub(super) duration: Picos,
}

impl Expansion<'_> {
    /// The entries with all defaults, and their flows in order.
    pub(super) fn expand(
        &self,
        entries: Vec<WorkloadKeys>,
    ) -> Result<(Vec<Workload>, Vec<Flow>), ScenarioError> {
        if entries.is_empty() {
            let help = "add [[flows]] with kind = \"one\", \"incast\" or \"list\"";
            return Err(self.document.error("flows", "a scenario without flows", help));
        }
        let mut flows = Vec::new();
        let mut workloads = Vec::with_capacity(entries.len());
        for (number, entry) in entries.into_iter().enumerate() {
            workloads.push(self.expand_entry(&format!("flows.{number}"), entry, &mut flows)?);
        }
        if flows.len() > MAX_FLOWS {
            let title = format!("{} flows; the limit is {MAX_FLOWS}", flows.len());
            let help = "a flow is a queue pair, and their numbers have 24 bits: write fewer flows";
            return Err(self.document.error("flows", &title, help));
        }
        flows.sort_by_key(|flow| flow.start);
        for (id, flow) in (0..).zip(&mut flows) {
            flow.id = id;
        }
        Ok((workloads, flows))
    }

    fn expand_entry(
        &self,
        path: &str,
        entry: WorkloadKeys,
        flows: &mut Vec<Flow>,
    ) -> Result<Workload, ScenarioError> {
        match entry {
            WorkloadKeys::One { label, src, dst, bytes, start, priority } => {
                let transfer = self.transfer(path, bytes, start, priority)?;
                let label = label.unwrap_or_else(|| "one".into());
                let source = self.host(&format!("{path}.src"), &src)?;
                let destination = self.host(&format!("{path}.dst"), &dst)?;
                self.check_pair(&format!("{path}.dst"), source, destination)?;
                flows.push(transfer.flow(&label.as_str().into(), source, destination));
                Ok(Workload::One { label, src, dst, transfer })
            }
            WorkloadKeys::Incast { label, senders, receiver, bytes, start, priority } => {
                let transfer = self.transfer(path, bytes, start, priority)?;
                let label = label.unwrap_or_else(|| "incast".into());
                if senders.is_empty() {
                    let help = "name the hosts that send: senders = [\"h1\", \"h2\"]";
                    let path = format!("{path}.senders");
                    return Err(self.document.error(&path, "an incast without senders", help));
                }
                let destination = self.host(&format!("{path}.receiver"), &receiver)?;
                let shared_label: Arc<str> = label.as_str().into();
                for (place, sender) in senders.iter().enumerate() {
                    let path = format!("{path}.senders.{place}");
                    let source = self.host(&path, sender)?;
                    self.check_pair(&path, source, destination)?;
                    if senders[..place].contains(sender) {
                        let title = format!("`{sender}` is among the senders twice");
                        let help = "name each sender once; a second flow is a second [[flows]]";
                        return Err(self.document.error(&path, &title, help));
                    }
                    flows.push(transfer.flow(&shared_label, source, destination));
                }
                Ok(Workload::Incast { label, senders, receiver, transfer })
            }
            WorkloadKeys::List { label, file } => {
                let list = FlowList::open(self, &format!("{path}.file"), &file)?;
                let label = label.unwrap_or_else(|| list.stem());
                flows.extend(list.flows(&label)?);
                Ok(Workload::List { label, file: list.file })
            }
        }
    }

    fn transfer(
        &self,
        path: &str,
        bytes: Size,
        start: Time,
        priority: Priority,
    ) -> Result<Transfer, ScenarioError> {
        if bytes.0 == Bytes(0) {
            let help = "write a size such as \"1MB\"";
            return Err(self.document.error(&format!("{path}.bytes"), "a flow of no bytes", help));
        }
        let (start, duration) = (start.0, self.duration);
        if start >= duration {
            let display = quantity::display::<Picos>;
            let title = format!("the flow starts at {}, after the run's end", display(start));
            let help = format!("`duration` is {}: start before it", display(duration));
            return Err(self.document.error(&format!("{path}.start"), &title, &help));
        }
        Ok(Transfer { bytes: bytes.0, start, priority: priority.0 })
    }

    fn host(&self, path: &str, name: &str) -> Result<HostId, ScenarioError> {
        self.fabric.host_named(name).ok_or_else(|| {
            let title = format!("no host is called `{name}`");
            self.document.error(path, &title, &self.host_suggestion(name))
        })
    }

    pub(super) fn host_suggestion(&self, name: &str) -> String {
        let hosts = &self.fabric.nodes()[..self.fabric.host_count() as usize];
        suggestion(name, "the hosts are", hosts.iter().map(|node| node.name.as_str()))
    }

    fn check_pair(
        &self,
        path: &str,
        source: HostId,
        destination: HostId,
    ) -> Result<(), ScenarioError> {
        match self.pair_fault(source, destination) {
            None => Ok(()),
            Some((title, help)) => Err(self.document.error(path, &title, help)),
        }
    }

    /// Why no flow can run from `source` to `destination`, if it cannot: a title and a help.
    pub(super) fn pair_fault(
        &self,
        source: HostId,
        destination: HostId,
    ) -> Option<(String, &'static str)> {
        let name = |host| &self.fabric.host(host).name;
        if source == destination {
            let title = format!("a flow from `{}` to itself", name(source));
            return Some((title, "name two different hosts"));
        }
        if !self.fabric.reaches(source, destination) {
            let title = format!("no path leads from `{}` to `{}`", name(source), name(destination));
            return Some((title, "join their switches by links"));
        }
        None
    }
}

impl Transfer {
    fn flow(self, label: &Arc<str>, source: HostId, destination: HostId) -> Flow {
        let Self { bytes, start, priority } = self;
        Flow { id: 0, label: label.clone(), source, destination, bytes, start, priority }
    }
}
