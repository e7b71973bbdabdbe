//! Resolved workloads that generate their flows: at a load, and between all hosts at once.

use std::sync::Arc;

use serde::Serialize;
use topology::HostId;
use units::{BitsPerSecond, Picos};
use workload::variate::Gaps;
use workload::{
    AllToAllRecipe, ArrivalRecipe, Demand, Length, Pairs, PayloadRate, PermutationRecipe,
    PriorityChoice, Source, Stamp, Window, batch_gap, load,
};

use super::flow_keys::WorkloadKeys;
use super::flows::{Expansion, Workload};
use super::load::Load;
use super::pairs::PairChoice;
use super::priority::Priority;
use super::quantity;
use super::report::ScenarioError;
use super::sizes::{LengthText, Sizes};

/// Maximum number of flows that a sender starts at once.
const MAX_BATCH: u32 = 65_536;

/// Flows at a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OpenLoop {
    /// Label of each flow.
    pub label: String,
    /// Load, and the links it is a fraction of.
    #[serde(flatten)]
    pub load: Load,
    /// Flow sizes.
    pub sizes: Sizes,
    /// Pairs of senders and receivers.
    pub pairs: PairChoice,
    /// Flows that a sender starts at once.
    pub batch: u32,
    /// Start of the time span in which flows start.
    pub start: Picos,
    /// End of the time span in which flows start.
    pub stop: Picos,
    /// Priority of the flows.
    #[serde(flatten)]
    pub priority: PriorityChoice,
}

/// Flows between all hosts that start at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AllAtOnce {
    /// Label of each flow.
    pub label: String,
    /// Bytes of each flow.
    #[serde(serialize_with = "serialize_length")]
    pub bytes: Length,
    /// Start time of all flows.
    pub start: Picos,
    /// Priority of the flows.
    #[serde(flatten)]
    pub priority: PriorityChoice,
}

fn serialize_length<S: serde::Serializer>(length: &Length, out: S) -> Result<S::Ok, S::Error> {
    LengthText(*length).serialize(out)
}

/// Returns the key of a workload's random streams, from its label.
pub(super) type Key<'a> = &'a mut dyn FnMut(&str) -> u64;

impl Expansion<'_> {
    /// Resolves a workload that generates its flows.
    pub(super) fn generated(
        &self,
        path: &str,
        keys: WorkloadKeys,
        key: Key<'_>,
    ) -> Result<(Workload, Source), ScenarioError> {
        match keys {
            arrivals @ (WorkloadKeys::Poisson { .. } | WorkloadKeys::Lognormal { .. }) => {
                self.arrivals(path, arrivals, key)
            }
            WorkloadKeys::PeriodicIncast(keys) => {
                let (incasts, source) =
                    self.incasts(path, "periodic-incast", keys, Gaps::Even, key)?;
                Ok((Workload::PeriodicIncast(incasts), source))
            }
            WorkloadKeys::PoissonIncast(keys) => {
                let (incasts, source) =
                    self.incasts(path, "poisson-incast", keys, Gaps::Exponential, key)?;
                Ok((Workload::PoissonIncast(incasts), source))
            }
            WorkloadKeys::Permutation { label, bytes, start, priority, priorities, .. } => {
                let label = label.unwrap_or_else(|| "permutation".into());
                let priority = self.priority(path, priority, priorities)?;
                let keys = self.all_at_once(path, label, bytes, start, priority)?;
                let (stamp, length, start) = (keys.stamp(key), keys.bytes, keys.start);
                let (end, rates) = (self.duration, self.host_rates());
                let recipe = PermutationRecipe { stamp, length, start, end, rates };
                Ok((Workload::Permutation(keys), Source::Permutation(recipe.into())))
            }
            WorkloadKeys::AllToAll { label, bytes, start, priority, priorities, .. } => {
                let label = label.unwrap_or_else(|| "all-to-all".into());
                let priority = self.priority(path, priority, priorities)?;
                let keys = self.all_at_once(path, label, bytes, start, priority)?;
                let (stamp, length, start) = (keys.stamp(key), keys.bytes, keys.start);
                let (end, rates) = (self.duration, self.host_rates());
                let recipe = AllToAllRecipe { stamp, length, start, end, rates };
                Ok((Workload::AllToAll(keys), Source::AllToAll(recipe.into())))
            }
            WorkloadKeys::Split { .. } => self.split(path, keys, key),
            WorkloadKeys::One { .. }
            | WorkloadKeys::Incast { .. }
            | WorkloadKeys::List { .. }
            | WorkloadKeys::LongLived { .. } => unreachable!("these list their flows"),
        }
    }

    fn arrivals(
        &self,
        path: &str,
        keys: WorkloadKeys,
        key: Key<'_>,
    ) -> Result<(Workload, Source), ScenarioError> {
        let (kind, sigma) = match &keys {
            WorkloadKeys::Lognormal { sigma, .. } => ("lognormal", Some(*sigma)),
            _ => ("poisson", None),
        };
        let (WorkloadKeys::Poisson {
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
        | WorkloadKeys::Lognormal {
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
        let label = label.unwrap_or_else(|| kind.to_owned());
        let Window { start, stop } = self.window(path, start, stop)?;
        let priority = self.priority(path, priority, priorities)?;
        let load = Load { part: load, of };
        let batch = self.batch(path, batch)?;
        let keys = OpenLoop { label, load, sizes, pairs, batch, start, stop, priority };
        if let Some(sigma) = sigma {
            let gaps = Gaps::Lognormal { sigma_thousandths: sigma.thousandths };
            let (arrivals, source) = self.open_loop(path, keys, gaps, key)?;
            return Ok((Workload::Lognormal { sigma, arrivals }, source));
        }
        let (arrivals, source) = self.open_loop(path, keys, Gaps::Exponential, key)?;
        Ok((Workload::Poisson(arrivals), source))
    }

    fn open_loop(
        &self,
        path: &str,
        keys: OpenLoop,
        gaps: Gaps,
        key: Key<'_>,
    ) -> Result<(OpenLoop, Source), ScenarioError> {
        let OpenLoop { label, load, sizes, pairs, batch, start, stop, priority } = keys;
        let (choice, pairs) = self.pairs(&format!("{path}.pairs"), pairs)?;
        let (named, sizes) = self.sizes(&format!("{path}.sizes"), sizes)?;
        let demand = pairs.demand(self.fabric, self.groups);
        self.check_reach(&format!("{path}.pairs"), &demand)?;
        let weights = pairs.senders(self.fabric);
        let hosts: Vec<HostId> = weights.iter().map(|(host, _)| *host).collect();
        let rate = self.payload_rate(path, &label, load, &hosts, &hosts, &demand)?;
        let total: u128 = weights.iter().map(|(_, weight)| u128::from(*weight)).sum();
        let mean = sizes.mean_q16();
        let gap = |&(host, weight): &(HostId, u64)| {
            let part = PayloadRate(rate.0 * u128::from(weight) / total);
            (host, batch_gap(mean, part, batch))
        };
        let senders = weights.iter().map(gap).collect();
        let stamp = stamp(&label, &priority, key);
        let window = Window { start, stop };
        let recipe = ArrivalRecipe { stamp, window, gaps, sizes, pairs, batch, senders, rate };
        let pairs = choice;
        let resolved = OpenLoop { label, load, sizes: named, pairs, batch, start, stop, priority };
        Ok((resolved, Source::Arrivals(recipe.into())))
    }

    fn all_at_once(
        &self,
        path: &str,
        label: String,
        bytes: LengthText,
        start: Picos,
        priority: PriorityChoice,
    ) -> Result<AllAtOnce, ScenarioError> {
        self.check_two_hosts(path)?;
        let everyone = Pairs::Uniform { hosts: self.fabric.host_count() };
        self.check_reach(path, &everyone.demand(self.fabric, self.groups))?;
        let bytes = self.length(&format!("{path}.bytes"), bytes)?;
        let start = self.start(path, start)?;
        Ok(AllAtOnce { label, bytes, start, priority })
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

    pub(super) fn priority(
        &self,
        path: &str,
        priority: Option<Priority>,
        priorities: Option<Vec<Priority>>,
    ) -> Result<PriorityChoice, ScenarioError> {
        let at = format!("{path}.priorities");
        match (priority, priorities) {
            (None, None) => Ok(PriorityChoice::Fixed(3)),
            (Some(priority), None) => Ok(PriorityChoice::Fixed(priority.0)),
            (None, Some(list)) if list.is_empty() => {
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

impl AllAtOnce {
    fn stamp(&self, key: Key<'_>) -> Stamp {
        stamp(&self.label, &self.priority, key)
    }
}

pub(super) fn stamp(label: &str, priority: &PriorityChoice, key: Key<'_>) -> Stamp {
    Stamp { label: label.into(), priority: priority.clone(), key: key(label) }
}
