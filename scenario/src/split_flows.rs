//! `[[flows]]` of kind "split": flows that start at once, divided at random among groups.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;
use workload::{Pairs, Source, SplitGroup, SplitRecipe};

use super::flow_keys::Workload;
use super::flows::Expansion;
use super::generated::{Key, stamp};
use super::report::ScenarioError;

/// Senders and receivers of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "GroupKeys")]
pub struct Group {
    /// Senders, by name; a switch's name stands for its hosts.
    pub from: Vec<String>,
    /// Receivers, by name; a switch's name stands for its hosts. No host may be both.
    pub to: Vec<String>,
}

impl Expansion<'_> {
    /// Completes a workload of kind "split".
    pub(super) fn split(
        &self,
        path: &str,
        keys: &mut Workload,
        key: Key<'_>,
    ) -> Result<Source, ScenarioError> {
        let Workload::Split { label, flows, groups, bytes, start, priority, priorities, .. } = keys
        else {
            unreachable!("the caller has looked")
        };
        if *flows == 0 {
            let help = "write how many flows all groups have together";
            return Err(self.document.error(&format!("{path}.flows"), "no flow to divide", help));
        }
        if groups.is_empty() {
            let help = "write at least one: groups = [{ from = [\"leaf0\"], to = [\"leaf1\"] }]";
            return Err(self.document.error(&format!("{path}.groups"), "no group", help));
        }
        if *bytes == Bytes(0) {
            let help = "write a size such as \"100kB\"";
            return Err(self.document.error(&format!("{path}.bytes"), "flows without bytes", help));
        }
        let of_group = |(number, group): (usize, &Group)| {
            let at = format!("{path}.groups.{number}");
            let from = self.group(&format!("{at}.from"), Some(&group.from))?;
            let to = self.group(&format!("{at}.to"), Some(&group.to))?;
            if let Some(both) = from.iter().find(|host| to.contains(host)) {
                let name = &self.fabric.host(*both).name;
                let title = format!("`{name}` sends and receives in one group");
                return Err(self.document.error(&at, &title, "name other receivers"));
            }
            let pairs = Pairs::Groups { from: from.clone().into(), to: to.clone().into() };
            self.check_reach(&at, &pairs.demand(self.fabric, self.groups))?;
            Ok(SplitGroup { from, to })
        };
        let hosts = groups.iter().enumerate().map(of_group).collect::<Result<Vec<_>, _>>()?;
        let label = label.get_or_insert_with(|| "split".into());
        let priority = self.complete_priority(path, priority, priorities.as_deref())?;
        let start = self.start(path, *start)?;
        let stamp = stamp(label, &priority, key);
        let recipe = SplitRecipe { stamp, flows: *flows, bytes: *bytes, start, groups: hosts };
        Ok(Source::Split(recipe.into()))
    }
}
