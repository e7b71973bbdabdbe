//! Workloads that generate their flows, resolved: at a load, as repeated incasts, and over all
//! hosts at once.

use std::sync::Arc;

use fabric_core::units::{BitsPerSecond, Bytes, Picos};
use serde::Serialize;

use super::flow_keys::{IncastKeys, WorkloadKeys};
use super::flows::{Expansion, Workload};
use super::load::{Load, LoadOf};
use super::pairs::PairChoice;
use super::priority::Priority;
use super::quantity::{self, Size, Time};
use super::ratio::Probability;
use super::report::ScenarioError;
use super::sizes::{LengthText, Sizes};
use crate::topology::HostId;
use crate::workload::variate::Gaps;
use crate::workload::{
    AllToAllRecipe, ArrivalRecipe, Demand, IncastRecipe, Length, Pairs, PayloadRate,
    PermutationRecipe, PriorityChoice, Source, Stamp, Window, exact_gap, load, mean_gap,
};

/// Flows at a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OpenLoop {
    /// The label of each flow.
    pub label: String,
    /// The load.
    #[serde(flatten)]
    pub load: Load,
    /// Flow sizes.
    pub sizes: Sizes,
    /// Who sends to whom.
    pub pairs: PairChoice,
    /// Flows start from here on.
    #[serde(serialize_with = "quantity::serialize")]
    pub start: Picos,
    /// No flow starts from here on.
    #[serde(serialize_with = "quantity::serialize")]
    pub stop: Picos,
    /// The flows' priority.
    #[serde(flatten)]
    pub priority: PriorityChoice,
}

/// Incasts that come again and again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ManyIncasts {
    /// The label of each flow.
    pub label: String,
    /// Senders of an incast.
    pub degree: u32,
    /// Bytes of each flow.
    #[serde(serialize_with = "quantity::serialize")]
    pub bytes: Bytes,
    /// How often.
    #[serde(flatten)]
    pub pace: Pace,
    /// The receiver's name; without one, each incast draws its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver: Option<String>,
    /// Incasts come from here on.
    #[serde(serialize_with = "quantity::serialize")]
    pub start: Picos,
    /// No incast from here on.
    #[serde(serialize_with = "quantity::serialize")]
    pub stop: Picos,
    /// The flows' priority.
    #[serde(flatten)]
    pub priority: PriorityChoice,
}

/// How often incasts come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Pace {
    /// With this time in between, or this mean time.
    Period {
        /// Above zero.
        #[serde(serialize_with = "quantity::serialize")]
        period: Picos,
    },
    /// As often as makes a load.
    Load(Load),
}

/// Flows between all hosts that start at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AllAtOnce {
    /// The label of each flow.
    pub label: String,
    /// Bytes of each flow.
    #[serde(serialize_with = "serialize_length")]
    pub bytes: Length,
    /// When all start.
    #[serde(serialize_with = "quantity::serialize")]
    pub start: Picos,
    /// The flows' priority.
    #[serde(flatten)]
    pub priority: PriorityChoice,
}

fn serialize_length<S: serde::Serializer>(length: &Length, out: S) -> Result<S::Ok, S::Error> {
    LengthText(*length).serialize(out)
}

/// The keys of incasts.
struct IncastPlan {
    label: String,
    degree: u32,
    bytes: Size,
    period: Option<Time>,
    load: Option<Probability>,
    of: Option<LoadOf>,
    receiver: Option<String>,
    window: Window,
    priority: PriorityChoice,
}

type Key<'a> = &'a mut dyn FnMut(&str) -> u64;

impl Expansion<'_> {
    /// A workload that generates its flows.
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
                    self.many_incasts(path, "periodic-incast", keys, Gaps::Even, key)?;
                Ok((Workload::PeriodicIncast(incasts), source))
            }
            WorkloadKeys::PoissonIncast(keys) => {
                let (incasts, source) =
                    self.many_incasts(path, "poisson-incast", keys, Gaps::Exponential, key)?;
                Ok((Workload::PoissonIncast(incasts), source))
            }
            WorkloadKeys::Permutation { label, bytes, start, priority, priorities } => {
                let label = label.unwrap_or_else(|| "permutation".into());
                let priority = self.priority(path, priority, priorities)?;
                let keys = self.all_at_once(path, label, bytes, start, priority)?;
                let (stamp, length, start) = (keys.stamp(key), keys.bytes, keys.start);
                let (end, rates) = (self.duration, self.host_rates());
                let recipe = PermutationRecipe { stamp, length, start, end, rates };
                Ok((Workload::Permutation(keys), Source::Permutation(recipe.into())))
            }
            WorkloadKeys::AllToAll { label, bytes, start, priority, priorities } => {
                let label = label.unwrap_or_else(|| "all-to-all".into());
                let priority = self.priority(path, priority, priorities)?;
                let keys = self.all_at_once(path, label, bytes, start, priority)?;
                let (stamp, length, start) = (keys.stamp(key), keys.bytes, keys.start);
                let (end, rates) = (self.duration, self.host_rates());
                let recipe = AllToAllRecipe { stamp, length, start, end, rates };
                Ok((Workload::AllToAll(keys), Source::AllToAll(recipe.into())))
            }
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
            start,
            stop,
            priority,
            priorities,
        }
        | WorkloadKeys::Lognormal {
            label,
            load,
            of,
            sizes,
            pairs,
            start,
            stop,
            priority,
            priorities,
            sigma: _,
        }) = keys
        else {
            unreachable!("both kinds of arrivals are named")
        };
        let label = label.unwrap_or_else(|| kind.to_owned());
        let Window { start, stop } = self.window(path, start, stop)?;
        let priority = self.priority(path, priority, priorities)?;
        let load = Load { part: load, of };
        let keys = OpenLoop { label, load, sizes, pairs, start, stop, priority };
        if let Some(sigma) = sigma {
            let gaps = Gaps::Lognormal { sigma_thousandths: sigma.thousandths };
            let (arrivals, source) = self.open_loop(path, keys, gaps, key)?;
            return Ok((Workload::Lognormal { sigma, arrivals }, source));
        }
        let (arrivals, source) = self.open_loop(path, keys, Gaps::Exponential, key)?;
        Ok((Workload::Poisson(arrivals), source))
    }

    fn many_incasts(
        &self,
        path: &str,
        kind: &str,
        keys: IncastKeys,
        gaps: Gaps,
        key: Key<'_>,
    ) -> Result<(ManyIncasts, Source), ScenarioError> {
        let IncastKeys { label, degree, bytes, period, load, of, receiver, .. } = keys;
        let label = label.unwrap_or_else(|| kind.to_owned());
        let window = self.window(path, keys.start, keys.stop)?;
        let priority = self.priority(path, keys.priority, keys.priorities)?;
        let plan =
            IncastPlan { label, degree, bytes, period, load, of, receiver, window, priority };
        self.incasts(path, plan, gaps, key)
    }

    fn open_loop(
        &self,
        path: &str,
        keys: OpenLoop,
        gaps: Gaps,
        key: Key<'_>,
    ) -> Result<(OpenLoop, Source), ScenarioError> {
        let OpenLoop { label, load, sizes, pairs, start, stop, priority } = keys;
        let (choice, pairs) = self.pairs(&format!("{path}.pairs"), pairs)?;
        let (named, sizes) = self.sizes(&format!("{path}.sizes"), sizes)?;
        let demand = pairs.demand(self.fabric, &self.racks);
        self.check_reach(&format!("{path}.pairs"), &demand)?;
        let weights = pairs.senders(self.fabric);
        let hosts: Vec<HostId> = weights.iter().map(|(host, _)| *host).collect();
        let rate = self.payload_rate(path, load, &hosts, &demand)?;
        let total: u128 = weights.iter().map(|(_, weight)| u128::from(*weight)).sum();
        let mean = sizes.mean_q16();
        let gap = |&(host, weight): &(HostId, u64)| {
            let part = PayloadRate(rate.0 * u128::from(weight) / total);
            (host, mean_gap(mean, part))
        };
        let senders = weights.iter().map(gap).collect();
        let stamp = stamp(&label, &priority, key);
        let window = Window { start, stop };
        let recipe = ArrivalRecipe { stamp, window, gaps, sizes, pairs, senders, rate };
        let pairs = choice;
        let resolved = OpenLoop { label, load, sizes: named, pairs, start, stop, priority };
        Ok((resolved, Source::Arrivals(recipe.into())))
    }

    fn incasts(
        &self,
        path: &str,
        keys: IncastPlan,
        gaps: Gaps,
        key: Key<'_>,
    ) -> Result<(ManyIncasts, Source), ScenarioError> {
        let IncastPlan { label, degree, receiver, window, priority, .. } = keys;
        let bytes = keys.bytes.0;
        self.check_bytes(&format!("{path}.bytes"), bytes)?;
        self.check_two_hosts(path)?;
        let named = receiver.as_ref();
        let only = named.map(|name| self.host(&format!("{path}.receiver"), name)).transpose()?;
        let hosts = (0..self.fabric.host_count()).map(HostId);
        let receivers: Vec<HostId> =
            hosts.filter(|host| only.is_none_or(|only| only == *host)).collect();
        self.check_degree(&format!("{path}.degree"), degree, &receivers)?;
        let demand = IncastRecipe::demand(self.fabric, &self.racks, only);
        self.check_reach(path, &demand)?;
        let event_q16 = (u128::from(bytes.0) * u128::from(degree)) << 16;
        let (pace, mean_gap, rate) = match (keys.period, keys.load) {
            (Some(period), None) => {
                if keys.of.is_some() {
                    let help = "leave it out: with `period` there is no load";
                    let title = "`of` says which links a load is a part of";
                    return Err(self.document.error(&format!("{path}.of"), title, help));
                }
                let period = self.period(path, period)?;
                (
                    Pace::Period { period },
                    exact_gap(period),
                    PayloadRate::average(event_q16, period),
                )
            }
            (None, Some(load)) => {
                let load = Load { part: load, of: keys.of.unwrap_or_default() };
                let rate = self.payload_rate(path, load, &receivers, &demand)?;
                (Pace::Load(load), mean_gap(event_q16, rate), rate)
            }
            (Some(_), Some(_)) => {
                let help = "leave one out: a load follows from a period, and a period from a load";
                return Err(self.document.error(
                    &format!("{path}.load"),
                    "a period and a load",
                    help,
                ));
            }
            (None, None) => {
                let help = "add period = \"100us\", or load = 0.1";
                return Err(self.document.error(path, "incasts without a period or a load", help));
            }
        };
        let stamp = stamp(&label, &priority, key);
        let racks = self.racks.clone();
        let recipe = IncastRecipe {
            stamp,
            window,
            gaps,
            mean_gap,
            degree,
            bytes,
            receiver: only,
            racks,
            rate,
        };
        let Window { start, stop } = window;
        let resolved = ManyIncasts { label, degree, bytes, pace, receiver, start, stop, priority };
        Ok((resolved, Source::Incasts(recipe.into())))
    }

    fn check_degree(
        &self,
        path: &str,
        degree: u32,
        receivers: &[HostId],
    ) -> Result<(), ScenarioError> {
        if degree == 0 {
            let help = "write how many hosts send at once, from 1 up";
            return Err(self.document.error(path, "an incast without senders", help));
        }
        let hosts = self.fabric.host_count();
        let eligible = |host: &HostId| IncastRecipe::eligible(&self.racks, hosts, *host);
        let fewest = receivers.iter().min_by_key(|host| eligible(host));
        match fewest.map(|host| (host, eligible(host))) {
            Some((&host, count)) if count < degree => {
                let name = &self.fabric.host(host).name;
                let title = format!("{count} hosts can send to `{name}` at once, not {degree}");
                let help = format!(
                    "senders are of other racks than the receiver: write {count} at most, or use \
                     more hosts"
                );
                Err(self.document.error(path, &title, &help))
            }
            _ => Ok(()),
        }
    }

    fn all_at_once(
        &self,
        path: &str,
        label: String,
        bytes: LengthText,
        start: Time,
        priority: PriorityChoice,
    ) -> Result<AllAtOnce, ScenarioError> {
        self.check_two_hosts(path)?;
        let everyone = Pairs::Uniform { hosts: self.fabric.host_count() };
        self.check_reach(path, &everyone.demand(self.fabric, &self.racks))?;
        let bytes = self.length(&format!("{path}.bytes"), bytes)?;
        let start = self.start(path, start)?;
        Ok(AllAtOnce { label, bytes, start, priority })
    }

    fn window(&self, path: &str, start: Time, stop: Option<Time>) -> Result<Window, ScenarioError> {
        let start = self.start(path, start)?;
        let stop = stop.map_or(self.duration, |stop| stop.0);
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

    fn priority(
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

    fn period(&self, path: &str, period: Time) -> Result<Picos, ScenarioError> {
        if period.0 == Picos::ZERO {
            let help = "write a time such as \"100us\"";
            return Err(self.document.error(
                &format!("{path}.period"),
                "a period of no time",
                help,
            ));
        }
        Ok(period.0)
    }

    fn check_reach(&self, path: &str, demand: &Demand) -> Result<(), ScenarioError> {
        match demand.unreachable(self.fabric, &self.racks) {
            None => Ok(()),
            Some((from, to)) => {
                let name = |rack| &self.fabric.host(self.racks.hosts(rack)[0]).name;
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

fn stamp(label: &str, priority: &PriorityChoice, key: Key<'_>) -> Stamp {
    Stamp { label: label.into(), priority: priority.clone(), key: key(label) }
}
