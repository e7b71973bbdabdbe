//! `[[switches]]`: values of some switches that differ from `[switch]`.
//!
//! # Adding a key
//!
//! A field of `SwitchesEntry` and `OwnKeys`; its readers call `Scenario::switch_at`. `fabric_core::policy::Policy`
//! cannot depend on it, because all switches of a fabric have one policy.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::{Fabric, SwitchId};
use units::{BitsPerSecond, Bytes};

use super::Scenario;
use super::buffer_size::BufferSize;
use super::document::Document;
use super::names::Names;
use super::report::{ScenarioError, ordinal};
use super::shape::Shape;
use super::switch::{self, Switch};

/// Values of some switches that differ from `[switch]`. Several entries may name a switch if they set different keys,
/// or equal values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SwitchesEntry {
    /// Switches, by name, such as "spine*".
    pub at: Names,
    /// Size of the packet buffer: a size, a size for each port and Gbit/s, or a chip, as in `switch.buffer`. Default:
    /// `switch.buffer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    buffer: Option<BufferSize>,
    /// Number of ports for which buffer is reserved, with or without a link. Default: `switch.ports`.
    #[serde(skip_serializing_if = "Option::is_none")]
    ports: Option<u32>,
    /// Private buffer of each lossless ingress queue. Default: `switch.private_per_queue`.
    #[serde(skip_serializing_if = "Option::is_none")]
    private_per_queue: Option<Bytes>,
}

/// Configurations of the switches, equal ones stored once. Two values are equal if the configurations of all switches
/// are.
#[derive(Clone, Debug)]
pub(super) struct SwitchKinds {
    kinds: Vec<Switch>,
    /// Values by switch.
    own: Vec<Own>,
}

impl PartialEq for SwitchKinds {
    fn eq(&self, other: &Self) -> bool {
        let mut all = (0..).map(SwitchId).take(self.own.len());
        self.own.len() == other.own.len() && all.all(|id| self.at(id) == other.at(id))
    }
}

impl Eq for SwitchKinds {}

/// Values that entries set for one switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Own {
    /// Index of the configuration in [`SwitchKinds::kinds`].
    kind: usize,
    keys: OwnKeys,
    /// Last entry that names the switch.
    entry: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct OwnKeys {
    buffer: Option<Given<BufferSize>>,
    ports: Option<Given<u32>>,
    private_per_queue: Option<Given<Bytes>>,
}

/// A value and the entry that sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Given<T> {
    value: T,
    entry: usize,
}

impl Scenario {
    /// Returns the configuration of a switch.
    pub fn switch_at(&self, switch: SwitchId) -> &Switch {
        self.switch_kinds.at(switch)
    }
}

impl SwitchKinds {
    /// Returns the configurations of a fabric's switches. `all` is the configuration from `[switch]`, and `buffer` its
    /// buffer.
    pub(super) fn new(
        entries: &[SwitchesEntry],
        all: &Switch,
        (buffer, rates): (BufferSize, &PortRates),
        fabric: &Fabric,
        document: &Document<'_>,
    ) -> Result<Self, ScenarioError> {
        if let BufferSize::Fixed(bytes) = buffer {
            switch::check_buffer(bytes, "switch.buffer", document)?;
        }
        let mut own = vec![Own::default(); fabric.switch_count() as usize];
        for (number, entry) in entries.iter().enumerate() {
            let path = format!("switches.{number}");
            entry.check(&path, document)?;
            for switch in entry.at.switches(&format!("{path}.at"), fabric, document)? {
                let own = &mut own[switch.0 as usize];
                own.keys.add(number, entry).map_err(|clash| {
                    clash.described(&path, &fabric.switch(switch).name, document)
                })?;
                own.entry = Some(number);
            }
        }
        let mut kinds: Vec<Switch> = Vec::new();
        for (id, own) in (0..).map(SwitchId).zip(&mut own) {
            let size = own.keys.buffer.map_or(buffer, |given| given.value);
            let ports = own.keys.ports.map_or(all.ports, |given| Some(given.value));
            let bytes = size.at(rates.at(&fabric.switch(id).name, ports));
            let path = path(own.keys.buffer.map(|given| given.entry), "buffer");
            switch::check_buffer(bytes, &path, document)?;
            let switch = own.keys.applied_to(all, bytes);
            own.kind = kinds.iter().position(|kind| *kind == switch).unwrap_or_else(|| {
                kinds.push(switch);
                kinds.len() - 1
            });
        }
        Ok(Self { kinds, own })
    }

    /// Returns the entries with all buffers as sizes. If some buffers of the file's entries, `given`, depend on rates,
    /// each switch whose buffer differs from `all` is named in an entry with its size.
    pub(super) fn settled(
        &self,
        given: Vec<SwitchesEntry>,
        all: &Switch,
        buffer: BufferSize,
        fabric: &Fabric,
    ) -> Vec<SwitchesEntry> {
        let by_rate = |size: &BufferSize| matches!(size, BufferSize::ByRate(_));
        if !given.iter().filter_map(|entry| entry.buffer.as_ref()).chain([&buffer]).any(by_rate) {
            return given;
        }
        let mut entries: Vec<_> =
            given.into_iter().map(|entry| SwitchesEntry { buffer: None, ..entry }).collect();
        entries.retain(|entry| !entry.is_empty());
        let mut others: BTreeMap<Bytes, Vec<String>> = BTreeMap::new();
        for id in (0..fabric.switch_count()).map(SwitchId) {
            let own = self.at(id).buffer();
            if own != all.buffer() {
                others.entry(own).or_default().push(fabric.switch(id).name.clone());
            }
        }
        let entry = |(bytes, names)| SwitchesEntry {
            at: Names::list(names),
            buffer: Some(BufferSize::Fixed(bytes)),
            ports: None,
            private_per_queue: None,
        };
        entries.extend(others.into_iter().map(entry));
        entries
    }

    pub(super) fn at(&self, switch: SwitchId) -> &Switch {
        &self.kinds[self.own[switch.0 as usize].kind]
    }

    /// Returns the key that sets a switch's buffer, or could set it.
    pub(super) fn buffer_path(&self, switch: SwitchId) -> String {
        let Own { keys, entry, .. } = self.own[switch.0 as usize];
        path(keys.buffer.map(|given| given.entry).or(entry), "buffer")
    }

    /// Returns the key that sets the number of a switch's ports.
    pub(super) fn ports_path(&self, switch: SwitchId) -> String {
        path(self.own[switch.0 as usize].keys.ports.map(|given| given.entry), "ports")
    }
}

/// Rates of the ports with a link, failed or not, by switch. A chip keeps its buffer when a link fails.
pub(super) struct PortRates(BTreeMap<String, Vec<BitsPerSecond>>);

impl PortRates {
    pub(super) fn new(shape: &Shape) -> Self {
        let plan = shape.plan().expect("the fabric was built by it");
        let mut rates: BTreeMap<String, Vec<BitsPerSecond>> = BTreeMap::new();
        for link in plan.links {
            for end in [link.a, link.b] {
                rates.entry(end).or_default().push(link.rate);
            }
        }
        Self(rates)
    }

    /// Returns the rates of a switch with `ports` ports; `None`: ports with a link only. A port without a link counts
    /// as the fastest port with one.
    pub(super) fn at(
        &self,
        switch: &str,
        ports: Option<u32>,
    ) -> impl Iterator<Item = BitsPerSecond> {
        let linked = self.0.get(switch).map_or(&[][..], Vec::as_slice);
        let others = (ports.unwrap_or(0) as usize).saturating_sub(linked.len());
        let fastest = linked.iter().max().copied().unwrap_or(BitsPerSecond(0));
        linked.iter().copied().chain(std::iter::repeat_n(fastest, others))
    }
}

/// Returns the path of a key in an entry, or in `[switch]`.
fn path(entry: Option<usize>, key: &str) -> String {
    entry.map_or_else(|| format!("switch.{key}"), |entry| format!("switches.{entry}.{key}"))
}

impl SwitchesEntry {
    fn check(&self, path: &str, document: &Document<'_>) -> Result<(), ScenarioError> {
        let at = &self.at;
        if self.is_empty() {
            let help = "add what they have instead of what `[switch]` says: `buffer`, `ports` or \
                        `private_per_queue`";
            return Err(document.error(path, &format!("this entry sets nothing for `{at}`"), help));
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.buffer.is_none() && self.ports.is_none() && self.private_per_queue.is_none()
    }
}

impl OwnKeys {
    /// Adopts the values of an entry. Returns an error if another entry sets a key to a different value.
    fn add(&mut self, entry: usize, keys: &SwitchesEntry) -> Result<(), Clash> {
        give(&mut self.buffer, keys.buffer, entry, "buffer")?;
        give(&mut self.ports, keys.ports, entry, "ports")?;
        give(&mut self.private_per_queue, keys.private_per_queue, entry, "private_per_queue")
    }

    /// Returns the configuration of a switch with this buffer.
    fn applied_to(&self, all: &Switch, buffer: Bytes) -> Switch {
        let value = |given: Option<Given<Bytes>>, of_all| given.map_or(of_all, |given| given.value);
        Switch {
            buffer: BufferSize::Fixed(buffer),
            ports: self.ports.map(|given| given.value).or(all.ports),
            private_per_queue: value(self.private_per_queue, all.private_per_queue),
            ..all.clone()
        }
    }
}

/// A key that two entries set to different values for one switch.
struct Clash {
    key: &'static str,
    /// First of the two entries.
    other: usize,
}

fn give<T: Copy + PartialEq>(
    slot: &mut Option<Given<T>>,
    value: Option<T>,
    entry: usize,
    key: &'static str,
) -> Result<(), Clash> {
    match (*slot, value) {
        (Some(given), Some(value)) if given.value != value => {
            Err(Clash { key, other: given.entry })
        }
        (None, Some(value)) => {
            *slot = Some(Given { value, entry });
            Ok(())
        }
        _ => Ok(()),
    }
}

impl Clash {
    fn described(&self, path: &str, name: &str, document: &Document<'_>) -> ScenarioError {
        let Self { key, other } = self;
        let title = format!("switch `{name}` has two values of `{key}`");
        let help = format!(
            "the other one is in the {} entry of [[switches]]: leave one out, or name the switch in one entry only",
            ordinal(*other)
        );
        document.error(&format!("{path}.{key}"), &title, &help)
    }
}
