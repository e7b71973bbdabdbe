//! Flow lists: CSV files with the header `start_ns,src,dst,bytes,priority`; `path`, `source_port` and `label` may
//! follow.
//!
//! Fields are plain: whole numbers in decimal and names, without quotes or spaces. Rows may be in any order. `bytes`
//! may be `unlimited`: the flow lasts to the run's end. Optional columns may be empty; a flow without a label has the
//! list's label.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use topology::{Fabric, HostId, NodeKind, SwitchId, WireId};
use units::{Bytes, Nanos, Picos};
use workload::{FileFault, Flow, Length, load};

use super::flows::{Expansion, NamedFile};
use super::quantity;
use super::report::ScenarioError;
use super::routes::port_named;

const HEADER: &str = "start_ns,src,dst,bytes,priority";
/// Optional columns, in any order.
const PATH: &str = "path";
const SOURCE_PORT: &str = "source_port";
/// `bytes` of a flow that lasts to the run's end.
const UNLIMITED: &str = "unlimited";
const LABEL: &str = "label";
/// Maximum number of labels in a list, because results have tables by label.
const MAX_LABELS: usize = 64;

/// Flows for which the list gives both a source port and a path.
pub(super) struct ExpectedPaths {
    file: NamedFile,
    rows: Vec<ExpectedPath>,
}

struct ExpectedPath {
    flow: Flow,
    wires: Arc<[WireId]>,
    /// Place of the path in the file.
    span: Range<usize>,
}

impl ExpectedPaths {
    /// Checks that each source port leads over the path in the list. `actual` returns the path of a flow; `workload` is
    /// the number of the list's workload.
    pub(super) fn check(
        &self,
        fabric: &Fabric,
        workload: u32,
        actual: impl Fn(&Flow) -> Vec<WireId>,
    ) -> Result<(), ScenarioError> {
        for row in &self.rows {
            let flow = Flow { workload, ..row.flow.clone() };
            let wires = actual(&flow);
            if wires[..] == row.wires[..] {
                continue;
            }
            let names = wires.iter().map(|&wire| fabric.wire(wire).port_name());
            let names: Vec<&str> = names.take(wires.len() - 1).collect();
            let port = flow.source_port.unwrap_or_default();
            let title = format!("source port {port} takes the path {}", names.join(">"));
            let help = "write that path or leave it out; or leave the port out, and switches get routes for the path";
            let fault = FileFault { span: row.span.clone(), title, help: help.to_owned() };
            return Err(self.file.error(&fault));
        }
        Ok(())
    }
}

/// A flow list that has been read but not parsed.
pub(super) struct FlowList<'a> {
    pub(super) file: NamedFile,
    expansion: &'a Expansion<'a>,
}

impl<'a> FlowList<'a> {
    /// Reads the file that the key at `path` names.
    pub(super) fn open(
        expansion: &'a Expansion<'a>,
        path: &str,
        name: &str,
    ) -> Result<Self, ScenarioError> {
        let mut file = expansion.read(path, "flow list", name)?;
        // Spreadsheets begin a file with a byte order mark.
        if let Some(text) = file.text.strip_prefix('\u{feff}') {
            file.text = text.into();
        }
        Ok(Self { file, expansion })
    }

    /// Returns the file's name without its extension.
    pub(super) fn stem(&self) -> String {
        let stem = Path::new(&self.file.path).file_stem().unwrap_or_default();
        stem.to_string_lossy().into_owned()
    }

    /// Returns the flows in the file's order, and the paths that need a check. `is_tcp` is true if flows use TCP.
    pub(super) fn flows(
        self,
        label: &str,
        is_tcp: bool,
    ) -> Result<(Vec<Flow>, ExpectedPaths), ScenarioError> {
        let mut labels = Labels { default: label.into(), others: BTreeMap::new() };
        let fabric = self.expansion.fabric;
        let hosts: BTreeMap<&str, HostId> = (0..fabric.host_count())
            .map(HostId)
            .map(|host| (fabric.host(host).name.as_str(), host))
            .collect();
        let mut lines = self.file.text.split_inclusive('\n');
        let header = lines.next().unwrap_or_default();
        let columns = header.trim_end_matches(['\r', '\n']);
        let mut row = Row { list: &self, start: 0, line: columns, columns, is_tcp };
        row.check_header()?;
        row.start = header.len();
        let (mut flows, mut rows) = (Vec::new(), Vec::new());
        for line in lines {
            row.line = line.trim_end_matches(['\r', '\n']);
            let (flow, expected) = row.flow(&hosts, &mut labels)?;
            rows.extend(expected);
            flows.push(flow);
            row.start += line.len();
        }
        if flows.is_empty() {
            let help = format!("add a row for each flow: {columns}");
            return Err(row.error("", "a flow list without flows", &help));
        }
        Ok((flows, ExpectedPaths { file: self.file, rows }))
    }
}

/// Labels of a list, each once.
struct Labels<'a> {
    /// Label of the list.
    default: Arc<str>,
    /// Labels by the field of a row.
    others: BTreeMap<&'a str, Arc<str>>,
}

struct Row<'a> {
    list: &'a FlowList<'a>,
    /// Start of the line in the file.
    start: usize,
    line: &'a str,
    /// Header of the file.
    columns: &'a str,
    is_tcp: bool,
}

impl<'a> Row<'a> {
    fn check_header(&self) -> Result<(), ScenarioError> {
        let more = self.line.strip_prefix(HEADER).filter(|more| {
            let mut seen = Vec::new();
            let known = |name: &&str| [PATH, SOURCE_PORT, LABEL].contains(name);
            let mut names = more.split(',');
            names.next() == Some("")
                && names.all(|name| {
                    known(&name) && !seen.contains(&name) && {
                        seen.push(name);
                        true
                    }
                })
        });
        if more.is_some() {
            return Ok(());
        }
        let help = format!(
            "the first line is `{HEADER}`; `{PATH}`, `{SOURCE_PORT}` and `{LABEL}` may follow"
        );
        // The error does not quote the line, because the file is probably the wrong one.
        let columns: Vec<&str> = self.line.split(',').collect();
        let wrong =
            HEADER.split(',').zip(1..).find(|(name, place)| columns.get(place - 1) != Some(name));
        let title = match wrong {
            Some((name, place)) => format!("not a flow list: column {place} is not `{name}`"),
            None => "not a flow list: a column behind `priority` that it cannot have".to_owned(),
        };
        Err(self.list.file.not_that(&title, &help))
    }

    fn flow(
        &self,
        hosts: &BTreeMap<&str, HostId>,
        labels: &mut Labels<'a>,
    ) -> Result<(Flow, Option<ExpectedPath>), ScenarioError> {
        let fields: Vec<&str> = self.line.split(',').collect();
        let expected = self.columns.split(',').count();
        let (&[start, source, destination, bytes, priority], more) =
            fields.split_first_chunk().filter(|_| fields.len() == expected).ok_or_else(|| {
                let title = format!("a row of {} columns", fields.len());
                self.error(self.line, &title, &format!("write {expected}: {}", self.columns))
            })?;
        let duration = self.list.expansion.duration;
        let last = duration.0.saturating_sub(1) / 1000;
        let until =
            format!("from 0 to {last}, before `duration` = {}", quantity::display(duration));
        let start_ns = self.number(start, "start_ns", 0..=last, &until)?;
        let from = self.host(source, hosts)?;
        let to = self.host(destination, hosts)?;
        if let Some((title, help)) = self.list.expansion.pair_fault(from, to) {
            return Err(self.error(destination, &title, help));
        }
        let (length, long_lived) = if bytes == UNLIMITED {
            let span = duration.since(Picos::from_nanos(Nanos(start_ns)));
            let rate = load::host_rate(self.list.expansion.fabric, from);
            Length::Unlimited.resolve(rate, span)
        } else {
            let described = "from 1 to 10^15, or unlimited";
            (Bytes(self.number(bytes, "bytes", 1..=1_000_000_000_000_000, described)?), false)
        };
        let class = self.number(priority, "priority", 0..=7, "from 0 to 7")?;
        let (mut path, mut source_port, mut label) = (None, None, labels.default.clone());
        let names = self.columns.split(',').skip(5);
        for (name, field) in names.zip(more).filter(|(_, field)| !field.is_empty()) {
            match name {
                PATH => path = Some((self.path(field, from, to)?, field)),
                LABEL => label = self.label(field, labels)?,
                _ => source_port = Some(self.source_port(field)?),
            }
        }
        let start = Picos::from_nanos(Nanos(start_ns));
        let priority = class.try_into().expect("checked to be at most 7");
        let flow = Flow {
            source_port,
            long_lived,
            path: path.as_ref().filter(|_| source_port.is_none()).map(|(wires, _)| wires.clone()),
            ..Flow::new(label, (from, to), length, start, priority)
        };
        let expected = path.filter(|_| source_port.is_some()).map(|(wires, field)| ExpectedPath {
            flow: flow.clone(),
            wires,
            span: self.span(field),
        });
        Ok((flow, expected))
    }

    fn label(&self, field: &'a str, labels: &mut Labels<'a>) -> Result<Arc<str>, ScenarioError> {
        if field.contains(char::is_control) {
            let help = "write a word; the label's key of the list follows the same rule";
            return Err(self.error(field, "a label that a table cannot show", help));
        }
        if let Some(label) = labels.others.get(field) {
            return Ok(label.clone());
        }
        if labels.others.len() == MAX_LABELS {
            let title = format!("more than {MAX_LABELS} labels");
            return Err(self.error(field, &title, "use fewer: results have rows for each label"));
        }
        let label: Arc<str> = field.into();
        labels.others.insert(field, label.clone());
        Ok(label)
    }

    fn source_port(&self, field: &'a str) -> Result<u16, ScenarioError> {
        if self.is_tcp {
            let help = "leave the field empty: the ports of a TCP connection are its number";
            return Err(self.error(field, "a source port of a flow over TCP", help));
        }
        let port = self.number(field, SOURCE_PORT, 1..=65_535, "from 1 to 65535, or nothing")?;
        Ok(port.try_into().expect("checked to be at most 65535"))
    }

    /// Returns the wires of a path that is given by its switches, including the wires of both hosts.
    fn path(
        &self,
        field: &'a str,
        from: HostId,
        to: HostId,
    ) -> Result<Arc<[WireId]>, ScenarioError> {
        let fabric = self.list.expansion.fabric;
        let edge = |host| fabric.edge(host);
        let name = |switch: SwitchId| &fabric.switch(switch).name;
        let mut steps = field.split('>');
        let first = steps.next().unwrap_or_default();
        if first != name(edge(from)) {
            let (host, switch) = (&fabric.host(from).name, name(edge(from)));
            let title = format!("the path begins at `{first}`");
            return Err(self.error(first, &title, &format!("`{host}` is on `{switch}`")));
        }
        let mut wires = vec![fabric.host(from).ports[0]];
        let mut visited = vec![edge(from)];
        for step in steps {
            let here = visited[visited.len() - 1];
            let port = port_named(fabric, self.list.expansion.shape, here, step)
                .map_err(|(title, help)| self.error(step, &title, &help))?;
            let wire = fabric.switch(here).ports[usize::from(port)];
            let NodeKind::Switch(next) = fabric.ends(wire).to else {
                let title = format!("`{step}` is a host");
                return Err(self.error(step, &title, "a path names switches only"));
            };
            if visited.contains(&next) {
                let title = format!("the path comes to `{}` twice", name(next));
                return Err(self.error(step, &title, "name each switch once"));
            }
            visited.push(next);
            wires.push(wire);
        }
        let last = visited[visited.len() - 1];
        if last != edge(to) {
            let (host, switch) = (&fabric.host(to).name, name(edge(to)));
            let end = field.rsplit('>').next().unwrap_or(field);
            let title = format!("the path ends at `{}`", name(last));
            return Err(self.error(end, &title, &format!("`{host}` is on `{switch}`")));
        }
        wires.push(fabric.host(to).ports[0].reverse());
        Ok(wires.into())
    }

    fn number(
        &self,
        field: &'a str,
        name: &str,
        range: std::ops::RangeInclusive<u64>,
        described: &str,
    ) -> Result<u64, ScenarioError> {
        let digits = !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_digit());
        let number = field.parse().ok().filter(|number| digits && range.contains(number));
        number.ok_or_else(|| {
            let title = format!("`{name}` is `{field}`");
            self.error(field, &title, &format!("write a whole number {described}"))
        })
    }

    fn host(&self, name: &'a str, hosts: &BTreeMap<&str, HostId>) -> Result<HostId, ScenarioError> {
        hosts.get(name).copied().ok_or_else(|| {
            let help = self.list.expansion.host_suggestion(name);
            self.error(name, &format!("no host is called `{name}`"), &help)
        })
    }

    /// Returns an error at a part of the line.
    fn error(&self, field: &str, title: &str, help: &str) -> ScenarioError {
        let fault =
            FileFault { span: self.span(field), title: title.to_owned(), help: help.to_owned() };
        self.list.file.error(&fault)
    }

    /// Returns the place of a part of the line in the file.
    fn span(&self, field: &str) -> Range<usize> {
        let within = field.as_ptr().addr().checked_sub(self.line.as_ptr().addr());
        let within = within.filter(|place| place + field.len() <= self.line.len()).unwrap_or(0);
        let start = self.start + within;
        start..start + field.len()
    }
}
