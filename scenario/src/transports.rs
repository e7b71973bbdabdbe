//! Transports of the flows of each workload.

use workload::Source;

use super::Scenario;
use super::document::Document;
use super::flows::FlowsEntry;
use super::host::Host;
use super::report::ScenarioError;
use super::transport::Transport;

/// Maximum number of different transports of a scenario: each host has all of them.
const MAX_TRANSPORTS: usize = 256;

/// The transports of a scenario, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Transports {
    /// All transports; the hosts' transport is first.
    all: Vec<Transport>,
    /// Index into `all`, by workload.
    places: Vec<u16>,
}

impl Transports {
    pub fn new(
        host: &Host,
        entries: &[FlowsEntry],
        document: &Document<'_>,
    ) -> Result<Self, ScenarioError> {
        let mut all = vec![host.transport];
        let mut places = Vec::with_capacity(entries.len());
        for entry in entries {
            let transport = entry.transport.unwrap_or(host.transport);
            let place = all.iter().position(|other| *other == transport).unwrap_or_else(|| {
                all.push(transport);
                all.len() - 1
            });
            if place >= MAX_TRANSPORTS {
                let title = format!("more than {MAX_TRANSPORTS} different transports");
                let help = "let entries of [[flows]] share their transports";
                return Err(document.error("flows", &title, help));
            }
            places.push(place.try_into().expect("there are at most 256"));
        }
        Ok(Self { all, places })
    }

    pub fn all(&self) -> &[Transport] {
        &self.all
    }

    /// Returns the transports that some workload uses.
    pub fn in_use(&self) -> impl Iterator<Item = &Transport> {
        let is_used =
            |&(place, _): &(usize, _)| self.places.iter().any(|&used| usize::from(used) == place);
        self.all.iter().enumerate().filter(is_used).map(|(_, transport)| transport)
    }

    /// Returns the index of a workload's transport.
    pub fn place_of(&self, workload: usize) -> u16 {
        self.places[workload]
    }

    /// Keeps the first `kept` workloads, and adds one with the hosts' transport.
    pub fn add_hosts_own(&mut self, kept: usize) {
        self.places.truncate(kept);
        self.places.push(0);
    }

    /// Returns each source with its transport.
    pub fn with_sources<'a>(
        &'a self,
        sources: &'a [Source],
    ) -> impl Iterator<Item = (&'a Source, &'a Transport)> {
        let transports = self.places.iter().map(|&place| &self.all[usize::from(place)]);
        sources.iter().zip(transports)
    }

    /// Checks that flows whose congestion control needs losses have lossy priorities.
    pub fn check(&self, scenario: &Scenario, document: &Document<'_>) -> Result<(), ScenarioError> {
        for (number, (source, transport)) in self.with_sources(scenario.sources()).enumerate() {
            let control = transport.congestion_control();
            let lossless = |&priority: &u8| scenario.switch.lossless.contains(priority);
            if control.needs_losses()
                && let Some(priority) = source.priorities().find(lossless)
            {
                let title = format!(
                    "{} slows down for losses, and priority {priority} is lossless",
                    control.name()
                );
                let help = "give the flows a priority that `switch.lossless` leaves out, or write cubic = { ecn = true \
                            } and `switch.ecn`";
                return Err(document.error(&format!("flows.{number}"), &title, help));
            }
        }
        Ok(())
    }
}
