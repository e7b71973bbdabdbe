//! Workloads that generate their flows: at a load, and between all hosts at once.

use std::sync::Arc;

use topology::HostId;
use units::{BitsPerSecond, Picos};
use workload::variate::Gaps;
use workload::{
    AllToAllRecipe, ArrivalRecipe, Demand, Length, Pairs, PayloadRate, PermutationRecipe,
    PriorityChoice, Source, Stamp, Window, batch_gap, load,
};

use super::flow_keys::Workload;
use super::flows::Expansion;
use super::load::Load;
use super::priority::Priority;
use super::quantity;
use super::report::ScenarioError;
use super::sizes::LengthText;

/// Maximum number of flows that a sender starts at once.
const MAX_BATCH: u32 = 65_536;

/// Returns the key of a workload's random streams, from its label.
pub(super) type Key<'a> = &'a mut dyn FnMut(&str) -> u64;

impl Expansion<'_> {
    /// Completes a workload that generates its flows, and returns their source.
    pub(super) fn generated(
        &self,
        path: &str,
        keys: &mut Workload,
        key: Key<'_>,
    ) -> Result<Source, ScenarioError> {
        match keys {
            Workload::Poisson { .. } | Workload::Lognormal { .. } => self.arrivals(path, keys, key),
            Workload::PeriodicIncast(keys) => {
                self.incasts(path, "periodic-incast", keys, Gaps::Even, key)
            }
            Workload::PoissonIncast(keys) => {
                self.incasts(path, "poisson-incast", keys, Gaps::Exponential, key)
            }
            Workload::Permutation { label, bytes, start, priority, priorities, .. } => {
                let label = label.get_or_insert_with(|| "permutation".into());
                let priority = self.complete_priority(path, priority, priorities.as_deref())?;
                let (length, start) = self.all_at_once(path, *bytes, *start)?;
                let stamp = stamp(label, &priority, key);
                let (end, rates) = (self.duration, self.host_rates());
                let recipe = PermutationRecipe { stamp, length, start, end, rates };
                Ok(Source::Permutation(recipe.into()))
            }
            Workload::AllToAll { label, bytes, start, priority, priorities, .. } => {
                let label = label.get_or_insert_with(|| "all-to-all".into());
                let priority = self.complete_priority(path, priority, priorities.as_deref())?;
                let (length, start) = self.all_at_once(path, *bytes, *start)?;
                let stamp = stamp(label, &priority, key);
                let (end, rates) = (self.duration, self.host_rates());
                let recipe = AllToAllRecipe { stamp, length, start, end, rates };
                Ok(Source::AllToAll(recipe.into()))
            }
            Workload::Split { .. } => self.split(path, keys, key),
            Workload::One { .. }
            | Workload::Incast { .. }
            | Workload::List { .. }
            | Workload::LongLived { .. } => unreachable!("these list their flows"),
        }
    }

    fn arrivals(
        &self,
        path: &str,
        keys: &mut Workload,
        key: Key<'_>,
    ) -> Result<Source, ScenarioError> {
        let (kind, gaps) = match &keys {
            Workload::Lognormal { sigma, .. } => {
                ("lognormal", Gaps::Lognormal { sigma_thousandths: sigma.thousandths })
            }
            _ => ("poisson", Gaps::Exponential),
        };
        let (Workload::Poisson {
            label,
            load,
            of,
            sizes,
            pairs,
            batch,
            start,
            stop,
            priority,
            priorities,
            ..
        }
        | Workload::Lognormal {
            label,
            load,
            of,
            sizes,
            pairs,
            batch,
            start,
            stop,
            priority,
            priorities,
            ..
        }) = keys
        else {
            unreachable!("both kinds of arrivals are named")
        };
        let label = label.get_or_insert_with(|| kind.to_owned());
        let window = self.window(path, *start, *stop)?;
        *stop = Some(window.stop);
        let priority = self.complete_priority(path, priority, priorities.as_deref())?;
        let load = Load { part: *load, of: *of };
        let batch = *batch.insert(self.batch(path, *batch)?);
        let (choice, drawn) = self.pairs(&format!("{path}.pairs"), pairs.clone())?;
        *pairs = choice;
        let (named, choice) = self.sizes(&format!("{path}.sizes"), sizes.clone())?;
        *sizes = named;
        let (pairs, sizes) = (drawn, choice);
        let demand = pairs.demand(self.fabric, self.groups);
        self.check_reach(&format!("{path}.pairs"), &demand)?;
        let weights = pairs.senders(self.fabric);
        let hosts: Vec<HostId> = weights.iter().map(|(host, _)| *host).collect();
        let rate = self.payload_rate(path, label, load, &hosts, &hosts, &demand)?;
        let total: u128 = weights.iter().map(|(_, weight)| u128::from(*weight)).sum();
        let mean = sizes.mean_q16();
        let gap = |&(host, weight): &(HostId, u64)| {
            let part = PayloadRate(rate.0 * u128::from(weight) / total);
            (host, batch_gap(mean, part, batch))
        };
        let senders = weights.iter().map(gap).collect();
        let stamp = stamp(label, &priority, key);
        let recipe = ArrivalRecipe { stamp, window, gaps, sizes, pairs, batch, senders, rate };
        Ok(Source::Arrivals(recipe.into()))
    }

    fn all_at_once(
        &self,
        path: &str,
        bytes: LengthText,
        start: Picos,
    ) -> Result<(Length, Picos), ScenarioError> {
        self.check_two_hosts(path)?;
        let everyone = Pairs::Uniform { hosts: self.fabric.host_count() };
        self.check_reach(path, &everyone.demand(self.fabric, self.groups))?;
        Ok((self.length(&format!("{path}.bytes"), bytes)?, self.start(path, start)?))
    }

    fn batch(&self, path: &str, batch: Option<u32>) -> Result<u32, ScenarioError> {
        let batch = batch.unwrap_or(1);
        if batch == 0 || batch > MAX_BATCH {
            let title = format!("{batch} flows at once");
            let help = format!("write a number from 1 to {MAX_BATCH}");
            return Err(self.document.error(&format!("{path}.batch"), &title, &help));
        }
        Ok(batch)
    }

    pub(super) fn window(
        &self,
        path: &str,
        start: Picos,
        stop: Option<Picos>,
    ) -> Result<Window, ScenarioError> {
        let start = self.start(path, start)?;
        let stop = stop.unwrap_or(self.duration);
        let display = quantity::display::<Picos>;
        let at = format!("{path}.stop");
        if stop <= start {
            let title = format!("the workload stops at {}, before it starts", display(stop));
            let help = format!("it starts at {}: write a later time", display(start));
            return Err(self.document.error(&at, &title, &help));
        }
        if stop > self.duration {
            let title = format!("the workload stops at {}, after the run's end", display(stop));
            let help = format!("`duration` is {}: write that at most", display(self.duration));
            return Err(self.document.error(&at, &title, &help));
        }
        Ok(Window { start, stop })
    }

    /// Adds the default of `priority`, and returns the choice.
    pub(super) fn complete_priority(
        &self,
        path: &str,
        priority: &mut Option<Priority>,
        priorities: Option<&[Priority]>,
    ) -> Result<PriorityChoice, ScenarioError> {
        let at = format!("{path}.priorities");
        match (&priority, priorities) {
            (_, None) => Ok(PriorityChoice::Fixed(priority.get_or_insert(Priority(3)).0)),
            (None, Some([])) => {
                let help = "list those that flows draw from: priorities = [1, 2, 3]";
                Err(self.document.error(&at, "no priority to draw from", help))
            }
            (None, Some(list)) => {
                Ok(PriorityChoice::Drawn(list.iter().map(|priority| priority.0).collect()))
            }
            (Some(_), Some(_)) => {
                let help =
                    "leave one out: `priority` is for all flows, `priorities` are drawn from";
                Err(self.document.error(&at, "`priority` and `priorities`", help))
            }
        }
    }

    pub(super) fn check_reach(&self, path: &str, demand: &Demand) -> Result<(), ScenarioError> {
        match demand.unreachable(self.fabric, self.groups) {
            None => Ok(()),
            Some((from, to)) => {
                let name = |host| &self.fabric.host(host).name;
                let title = format!("no path leads from `{}` to `{}`", name(from), name(to));
                Err(self.document.error(path, &title, "join their switches by links"))
            }
        }
    }

    fn host_rates(&self) -> Arc<[BitsPerSecond]> {
        let hosts = (0..self.fabric.host_count()).map(HostId);
        hosts.map(|host| load::host_rate(self.fabric, host)).collect()
    }
}

pub(super) fn stamp(label: &str, priority: &PriorityChoice, key: Key<'_>) -> Stamp {
    Stamp { label: label.into(), priority: priority.clone(), key: key(label) }
}
