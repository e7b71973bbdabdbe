//! `[[flows]]`: traffic between hosts, and its expansion into flows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, absolute};
use std::sync::Arc;

use serde::Serialize;
use topology::{Fabric, FlowClass, HostId, Racks};
use units::{Bytes, Picos};
use workload::random::key_of;
use workload::{FileFault, Flow, Length, Source, load};

use super::ReadFile;
use super::document::{Document, suggestion};
use super::flow_keys::Workload;
use super::flow_list::{ExpectedPaths, FlowList};
use super::host::Host;
use super::priority::Priority;
use super::quantity;
use super::report::{Place, ScenarioError};
use super::shape::Shape;
use super::switches::SwitchKinds;
use super::transport::{Transport, TransportKeys};

/// Maximum number of flows. Each is a queue pair at both ends, and a queue pair's number has 24 bits, of which
/// InfiniBand reserves 0 and 1 (management) and the last (multicast).
pub const MAX_FLOWS: usize = (1 << 24) - 3;

/// An entry of `[[flows]]`: a workload and its transport.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlowsEntry {
    /// Senders, receivers, sizes and start times.
    #[serde(flatten)]
    pub workload: Workload,
    /// Transport of the flows; `None`: `host.transport`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
}

impl FlowsEntry {
    /// Returns the label of the entry's flows.
    pub fn label(&self) -> &str {
        self.workload.label()
    }
}

/// Bytes, start time and priority of a flow.
#[derive(Clone, Copy)]
struct Transfer {
    bytes: Bytes,
    start: Picos,
    priority: u8,
}

/// Returns the labels of all flows, including labels of single rows of flow lists.
pub(super) fn labels<'a>(workloads: &'a [FlowsEntry], sources: &'a [Source]) -> BTreeSet<&'a str> {
    let listed = sources.iter().flat_map(|source| match source {
        Source::Listed(flows) => &flows[..],
        _ => &[],
    });
    let entries = workloads.iter().map(FlowsEntry::label);
    entries.chain(listed.map(|flow| &*flow.label)).collect()
}

/// Converts entries of `[[flows]]` into workloads and sources of flows.
pub(super) struct Expansion<'a> {
    pub(super) document: &'a Document<'a>,
    pub(super) fabric: &'a Fabric,
    pub(super) shape: &'a Shape,
    pub(super) racks: Arc<Racks>,
    /// Racks, divided where static routes differ between hosts.
    pub(super) groups: &'a Racks,
    /// Configurations of the switches.
    pub(super) switch_kinds: &'a SwitchKinds,
    /// Labels that routes name.
    pub(super) classes: &'a BTreeMap<String, FlowClass>,
    /// Configuration of the hosts.
    pub(super) host: &'a Host,
    /// Folder of the scenario file.
    pub(super) folder: &'a Path,
    pub(super) duration: Picos,
    pub(super) read: &'a ReadFile<'a>,
    pub(super) needs_flows: NeedsFlows,
}

/// `No` for a scenario that may have no flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NeedsFlows {
    /// A run.
    Yes,
    /// A live fabric.
    No,
}

/// Expanded entries of `[[flows]]`.
#[derive(Default)]
pub(super) struct Expanded {
    /// Entries with all defaults.
    pub(super) workloads: Vec<FlowsEntry>,
    /// Source of the flows of each entry.
    pub(super) sources: Vec<Source>,
    /// By entry: paths of a list to check once all routes are known.
    pub(super) expected_paths: Vec<(usize, ExpectedPaths)>,
}

/// A file that a key names.
pub(super) struct NamedFile {
    /// Absolute path.
    pub(super) path: String,
    pub(super) text: String,
}

impl NamedFile {
    /// Returns an error at a part of the text. An error in the first line with content does not quote it, because the
    /// file may be the wrong one.
    pub(super) fn error(&self, fault: &FileFault) -> ScenarioError {
        let place = Place { name: &self.path, text: &self.text, span: Some(fault.span.clone()) };
        let line = self.text[..fault.span.start].rfind('\n').map_or(0, |newline| newline + 1);
        let has_content = |line: &str| !line.trim().is_empty() && !line.trim().starts_with('#');
        let is_first = !self.text[..line].lines().any(has_content);
        let report = if is_first { ScenarioError::near } else { ScenarioError::at };
        report(&place, &fault.title, Some(&fault.help))
    }

    /// Returns an error about a file of another kind, without quoting it.
    pub(super) fn not_that(&self, title: &str, help: &str) -> ScenarioError {
        let place = Place { name: &self.path, text: "", span: None };
        ScenarioError::at(&place, title, Some(help))
    }
}

impl Expansion<'_> {
    /// Returns the entries with all defaults, and their sources of flows.
    pub(super) fn expand(&self, entries: Vec<Workload>) -> Result<Expanded, ScenarioError> {
        if entries.is_empty() && self.needs_flows == NeedsFlows::Yes {
            let help = "add [[flows]] with kind = \"one\", \"incast\", \"list\", \"poisson\" or another \
                        that `xoff schema` describes";
            return Err(self.document.error("flows", "a scenario without flows", help));
        }
        let mut expanded = Expanded::default();
        let mut occurrences: BTreeMap<String, u64> = BTreeMap::new();
        for (number, mut workload) in entries.into_iter().enumerate() {
            let path = format!("flows.{number}");
            let transport = self.transport(&path, workload.take_transport())?;
            // The streams of random numbers are named by label and occurrence: see `key_of`.
            let mut key = |label: &str| {
                let occurrence = occurrences.entry(label.to_owned()).or_default();
                *occurrence += 1;
                key_of(label, *occurrence - 1)
            };
            let source = match &mut workload {
                Workload::List { label, file, .. } => {
                    let is_tcp = transport.unwrap_or(self.host.transport).is_tcp();
                    let (source, paths) = self.list(&path, label, file, is_tcp)?;
                    expanded.expected_paths.push((number, paths));
                    source
                }
                entry => self.expand_entry(&path, entry, &mut key)?,
            };
            if workload.label().is_empty() || workload.label().contains(char::is_control) {
                let title = "a label that a table cannot show";
                let help = "write some text, without line breaks and other control characters";
                return Err(self.document.error(&format!("{path}.label"), title, help));
            }
            expanded.workloads.push(FlowsEntry { workload, transport });
            expanded.sources.push(source);
        }
        self.check_count(&expanded.sources)?;
        Ok(expanded)
    }

    fn transport(
        &self,
        path: &str,
        keys: Option<TransportKeys>,
    ) -> Result<Option<Transport>, ScenarioError> {
        let Some(keys) = keys else { return Ok(None) };
        let path = format!("{path}.transport");
        keys.resolve(&path, self.host.retransmission_timeout, self.document).map(Some)
    }

    fn check_count(&self, sources: &[Source]) -> Result<(), ScenarioError> {
        let count = sources.iter().fold(0, |sum: u64, it| sum.saturating_add(it.expected_flows()));
        if count > MAX_FLOWS as u64 {
            let is_random =
                |source: &Source| matches!(source, Source::Arrivals(_) | Source::Incasts(_));
            let about = if sources.iter().any(is_random) { "about " } else { "" };
            let title = format!("{about}{count} flows; the limit is {MAX_FLOWS}");
            let help = "a flow is a queue pair, and their numbers have 24 bits: write fewer flows, \
                        a lower load, or a shorter `duration`";
            return Err(self.document.error("flows", &title, help));
        }
        Ok(())
    }

    fn expand_entry(
        &self,
        path: &str,
        entry: &mut Workload,
        key: &mut dyn FnMut(&str) -> u64,
    ) -> Result<Source, ScenarioError> {
        match entry {
            Workload::One { label, src, dst, bytes, start, priority, .. } => {
                let transfer = self.transfer(path, *bytes, *start, *priority)?;
                let label = label.get_or_insert_with(|| "one".into());
                let source = self.host(&format!("{path}.src"), src)?;
                let destination = self.host(&format!("{path}.dst"), dst)?;
                self.check_pair(&format!("{path}.dst"), source, destination)?;
                let flow = transfer.flow(&label.as_str().into(), source, destination);
                Ok(listed(vec![flow]))
            }
            Workload::Incast { label, senders, receiver, bytes, start, priority, .. } => {
                let transfer = self.transfer(path, *bytes, *start, *priority)?;
                let label = label.get_or_insert_with(|| "incast".into());
                let shared_label: Arc<str> = label.as_str().into();
                let (sources, destination) = self.senders(path, senders, receiver)?;
                let flow = |source| transfer.flow(&shared_label, source, destination);
                Ok(listed(sources.into_iter().map(flow).collect()))
            }
            Workload::LongLived { label, senders, receiver, start, priority, .. } => {
                let (start, priority) = (self.start(path, *start)?, priority.0);
                let label = label.get_or_insert_with(|| "long-lived".into());
                let shared_label: Arc<str> = label.as_str().into();
                let (sources, destination) = self.senders(path, senders, receiver)?;
                let flow = |source| {
                    let rate = load::host_rate(self.fabric, source);
                    let span = self.duration.since(start);
                    let (bytes, long_lived) = Length::Unlimited.resolve(rate, span);
                    let transfer = Transfer { bytes, start, priority };
                    Flow { long_lived, ..transfer.flow(&shared_label, source, destination) }
                };
                Ok(listed(sources.into_iter().map(flow).collect()))
            }
            generated => self.generated(path, generated, key),
        }
    }

    /// Returns the source of a list, and the paths that need a check.
    fn list(
        &self,
        path: &str,
        label: &mut Option<String>,
        file: &mut String,
        is_tcp: bool,
    ) -> Result<(Source, ExpectedPaths), ScenarioError> {
        let list = FlowList::open(self, &format!("{path}.file"), file)?;
        let label = label.get_or_insert_with(|| list.stem());
        file.clone_from(&list.file.path);
        let (flows, paths) = list.flows(label, is_tcp)?;
        Ok((listed(flows), paths))
    }

    /// Returns the hosts of a list of senders and of their receiver.
    fn senders(
        &self,
        path: &str,
        senders: &[String],
        receiver: &str,
    ) -> Result<(Vec<HostId>, HostId), ScenarioError> {
        if senders.is_empty() {
            let help = "name the hosts that send: senders = [\"h1\", \"h2\"]";
            let path = format!("{path}.senders");
            return Err(self.document.error(&path, "no host sends", help));
        }
        let destination = self.host(&format!("{path}.receiver"), receiver)?;
        let mut sources = Vec::with_capacity(senders.len());
        for (place, sender) in senders.iter().enumerate() {
            let path = format!("{path}.senders.{place}");
            let source = self.host(&path, sender)?;
            self.check_pair(&path, source, destination)?;
            if senders[..place].contains(sender) {
                let title = format!("`{sender}` is among the senders twice");
                let help = "name each sender once; a second flow is a second [[flows]]";
                return Err(self.document.error(&path, &title, help));
            }
            sources.push(source);
        }
        Ok((sources, destination))
    }

    fn transfer(
        &self,
        path: &str,
        bytes: Bytes,
        start: Picos,
        priority: Priority,
    ) -> Result<Transfer, ScenarioError> {
        self.check_bytes(&format!("{path}.bytes"), bytes)?;
        let start = self.start(path, start)?;
        Ok(Transfer { bytes, start, priority: priority.0 })
    }

    /// Returns a start time that is before the run's end.
    pub(super) fn start(&self, path: &str, start: Picos) -> Result<Picos, ScenarioError> {
        let duration = self.duration;
        if start >= duration {
            let display = quantity::display::<Picos>;
            let title = format!("the flow starts at {}, after the run's end", display(start));
            let help = format!("`duration` is {}: start before it", display(duration));
            return Err(self.document.error(&format!("{path}.start"), &title, &help));
        }
        Ok(start)
    }

    /// Reads the file that the key at `path` names. `what` describes the file in errors.
    pub(super) fn read(
        &self,
        path: &str,
        what: &str,
        name: &str,
    ) -> Result<NamedFile, ScenarioError> {
        let file = self.folder.join(name);
        let file = absolute(&file).unwrap_or(file);
        let text = (self.read)(&file).map_err(|error| {
            let title = format!("cannot read the {what} {}: {error}", file.display());
            let help = if Path::new(name).is_absolute() {
                "write the path of a file that exists"
            } else {
                "the path is relative to the scenario file's folder"
            };
            self.document.error(path, &title, help)
        })?;
        Ok(NamedFile { path: file.to_string_lossy().into_owned(), text })
    }

    pub(super) fn host(&self, path: &str, name: &str) -> Result<HostId, ScenarioError> {
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

    /// Returns the reason why no flow can run from `source` to `destination`, if there is one: a title and a help text.
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
        Flow::new(label.clone(), (source, destination), bytes, start, priority)
    }
}

/// Sorts flows by start time; flows with equal start times keep their order.
fn listed(mut flows: Vec<Flow>) -> Source {
    flows.sort_by_key(|flow| flow.start);
    Source::Listed(flows.into())
}
