//! The static routes of a scenario, as it gives them.

use std::collections::BTreeSet;

use scenario::{RouteEntry, Scenario, Source};

/// Static routes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticRoutes {
    /// Those of `[[routes]]`, in the order of the file.
    pub entries: Vec<StaticRoute>,
    /// Flows of lists that have a path of their own.
    pub flows_with_paths: u64,
    /// Their different paths.
    pub paths: u64,
}

/// One entry of `[[routes]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticRoute {
    /// The switches.
    pub at: String,
    /// Which frames.
    pub frames: String,
    /// The next hops.
    pub via: String,
}

impl StaticRoutes {
    pub(super) fn of(scenario: &Scenario) -> Self {
        let listed = scenario.sources().iter().filter_map(|source| match source {
            Source::Listed(flows) => Some(flows.iter()),
            _ => None,
        });
        let paths: Vec<_> = listed.flatten().filter_map(|flow| flow.path.as_ref()).collect();
        Self {
            entries: scenario.routes.iter().map(StaticRoute::of).collect(),
            flows_with_paths: paths.len() as u64,
            paths: paths.iter().collect::<BTreeSet<_>>().len() as u64,
        }
    }
}

impl StaticRoute {
    fn of(entry: &RouteEntry) -> Self {
        let mut frames = entry
            .flows
            .as_ref()
            .map_or_else(|| "frames".to_owned(), |label| format!("flows `{label}`"));
        for (word, hosts) in [("from", &entry.from), ("to", &entry.to)] {
            if let Some(hosts) = hosts {
                frames = format!("{frames} {word} {hosts}");
            }
        }
        Self { at: entry.at.to_string(), frames, via: entry.via.join(", ") }
    }
}
