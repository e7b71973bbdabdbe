//! Flow lists: CSV files with the header `start_ns,src,dst,bytes,priority`.
//!
//! Fields are plain: whole numbers in decimal and host names, without quotes or spaces. Rows need
//! no order.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use topology::HostId;
use units::{Bytes, Nanos, Picos};
use workload::Flow;

use super::flows::{Expansion, NamedFile};
use super::quantity;
use super::report::{Place, ScenarioError};

const HEADER: &str = "start_ns,src,dst,bytes,priority";

/// A flow list that has been read but not yet understood.
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
        let file = expansion.read(path, "flow list", name)?;
        Ok(Self { file, expansion })
    }

    /// The file's name without its extension.
    pub(super) fn stem(&self) -> String {
        let stem = Path::new(&self.file.path).file_stem().unwrap_or_default();
        stem.to_string_lossy().into_owned()
    }

    /// The flows, in the file's order.
    pub(super) fn flows(&self, label: &str) -> Result<Vec<Flow>, ScenarioError> {
        let label: Arc<str> = label.into();
        let fabric = self.expansion.fabric;
        let hosts: BTreeMap<&str, HostId> = (0..fabric.host_count())
            .map(HostId)
            .map(|host| (fabric.host(host).name.as_str(), host))
            .collect();
        let mut lines = self.file.text.split_inclusive('\n');
        let header = lines.next().unwrap_or_default();
        let mut row = Row { list: self, start: 0, line: header.trim_end_matches(['\r', '\n']) };
        if row.line != HEADER {
            let help = format!("the first line is `{HEADER}`");
            return Err(row.error(row.line, "not the header of a flow list", &help));
        }
        row.start = header.len();
        let mut flows = Vec::new();
        for line in lines {
            row.line = line.trim_end_matches(['\r', '\n']);
            flows.push(row.flow(&hosts, &label)?);
            row.start += line.len();
        }
        if flows.is_empty() {
            let help = format!("add a row for each flow: {HEADER}");
            return Err(row.error("", "a flow list without flows", &help));
        }
        Ok(flows)
    }
}

struct Row<'a> {
    list: &'a FlowList<'a>,
    /// Where the line starts in the file.
    start: usize,
    line: &'a str,
}

impl<'a> Row<'a> {
    fn flow(
        &self,
        hosts: &BTreeMap<&str, HostId>,
        label: &Arc<str>,
    ) -> Result<Flow, ScenarioError> {
        let fields: Vec<&str> = self.line.split(',').collect();
        let &[start, source, destination, bytes, priority] = fields.as_slice() else {
            let title = format!("a row of {} columns", fields.len());
            return Err(self.error(self.line, &title, &format!("write five: {HEADER}")));
        };
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
        let length = self.number(bytes, "bytes", 1..=1_000_000_000_000_000, "from 1 to 10^15")?;
        let class = self.number(priority, "priority", 0..=7, "from 0 to 7")?;
        Ok(Flow {
            id: 0,
            workload: 0,
            label: label.clone(),
            source: from,
            destination: to,
            bytes: Bytes(length),
            start: Picos::from_nanos(Nanos(start_ns)),
            priority: class.try_into().expect("checked to be at most 7"),
            long_lived: false,
        })
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

    /// An error at a part of the line.
    fn error(&self, field: &str, title: &str, help: &str) -> ScenarioError {
        let within = field.as_ptr().addr().checked_sub(self.line.as_ptr().addr());
        let within = within.filter(|place| place + field.len() <= self.line.len()).unwrap_or(0);
        let start = self.start + within;
        let place = Place {
            name: &self.list.file.path,
            text: &self.list.file.text,
            span: Some(start..start + field.len()),
        };
        ScenarioError::at(&place, title, Some(help))
    }
}
