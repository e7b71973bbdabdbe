//! `[[storms]]`: hosts whose NICs pause their switch continuously.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::Fabric;
use units::Picos;

use super::document::{Document, suggestion};
use super::priority::Priorities;
use super::quantity;
use super::report::ScenarioError;

/// A PFC storm: a host whose NIC pauses its switch continuously, whether or not the host is congested. It sends PAUSE
/// frames of 65535 quanta, each before the previous one expires, and a RESUME at the end. Otherwise it works normally.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "StormKeys")]
pub struct Storm {
    /// Name of the host.
    pub host: String,
    /// Priorities to pause, all lossless. Default: all lossless priorities of the switch.
    pub(super) priorities: Option<Priorities>,
    /// Start of the storm, before the run's duration is over. Default "0s".
    #[serde(default)]
    pub at: Picos,
    /// Duration of the storm, above zero. Default: until the run ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#for: Option<Picos>,
}

impl Storm {
    /// Returns the priorities, at least one and all lossless.
    pub fn priorities(&self) -> Priorities {
        self.priorities.expect("a scenario has all defaults")
    }

    /// Returns the end of the storm; [`Picos::MAX`] if it lasts until the run ends.
    pub fn end(&self) -> Picos {
        self.r#for.map_or(Picos::MAX, |span| self.at + span)
    }

    /// Adds the default of the priorities, and checks the keys.
    pub(super) fn complete(
        &mut self,
        path: &str,
        lossless: Priorities,
        duration: Option<Picos>,
        fabric: &Fabric,
        document: &Document<'_>,
    ) -> Result<(), ScenarioError> {
        let wrong = |key: &str, title: &str, help: &str| {
            Err(document.error(&format!("{path}.{key}"), title, help))
        };
        let Self { host, priorities, at, r#for } = self;
        if fabric.host_named(host).is_none() {
            let hosts = &fabric.nodes()[..fabric.host_count() as usize];
            let names = hosts.iter().map(|node| node.name.as_str());
            let title = format!("no host is called `{host}`");
            return wrong("host", &title, &suggestion(host, "the hosts are", names));
        }
        let priorities = *priorities.get_or_insert(lossless);
        if priorities.count() == 0 {
            let help = "name a lossless priority: priorities = [3], with it in `switch.lossless`";
            return wrong("priorities", "a storm of no priority", help);
        }
        if let Some(lossy) = priorities.iter().find(|&priority| !lossless.contains(priority)) {
            let title = format!("switches do not obey pauses of the lossy priority {lossy}");
            let help = "name priorities of `switch.lossless`";
            return wrong("priorities", &title, help);
        }
        if let Some(duration) = duration.filter(|duration| *at >= *duration) {
            let title = format!("a storm that begins at {}", quantity::display(*at));
            let help = format!("the run is over at {}", quantity::display(duration));
            return wrong("at", &title, &help);
        }
        if r#for.is_some_and(|span| span == Picos::ZERO) {
            let help = "write a time such as \"2ms\", or leave `for` out: until the run ends";
            return wrong("for", "a storm of no time", help);
        }
        Ok(())
    }
}
