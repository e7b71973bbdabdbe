//! A scenario whose flows are asked for one by one, while it runs.

use units::Picos;

use super::flows::{FlowsEntry, Workload};
use super::transport::Transport;
use super::{Scenario, Source, Stop};

/// What flows are called that are asked for.
pub const ON_DEMAND: &str = "on-demand";
/// How long a live fabric lasts, of emulated time: 18 hours. The engine's keys of arrivals end at 20.
pub const LONGEST_LIFE: Picos = Picos(64_800_000_000_000_000);

impl Scenario {
    /// The same fabric for [as long as can be](LONGEST_LIFE), and with room for flows that are asked for while it runs. Its own flows and storms
    /// are kept only if it `plays` them, and samples are taken only if it leaves results.
    #[must_use]
    pub fn on_demand(mut self, plays: bool, leaves_results: bool) -> Self {
        let kept = if plays { self.sources.len() } else { 0 };
        let is_tcp = matches!(self.host.transport, Transport::Tcp(_));
        self.sources.truncate(kept);
        self.sources.push(Source::Listed([].into()));
        self.workloads.truncate(kept);
        let list = Workload::List { label: ON_DEMAND.to_owned(), file: String::new() };
        self.workloads.push(FlowsEntry { workload: list, transport: None });
        self.transports.add_hosts_own(kept);
        self.flow_routes.add_classless(kept, is_tcp);
        if !plays {
            self.storms.clear();
        }
        self.flows = super::MaterialisedFlows::default();
        (self.duration, self.stop) = (LONGEST_LIFE, Stop::Done);
        if !leaves_results {
            self.results.window = None;
            self.results.queue_period = SAMPLES;
        }
        self
    }

    /// Whether it is [on demand](Self::on_demand).
    pub fn is_on_demand(&self) -> bool {
        // No run lasts as long.
        const { assert!(super::LONGEST_DURATION.0 < LONGEST_LIFE.0) };
        self.duration == LONGEST_LIFE
    }

    /// The number of the workload of flows that are asked for, in a scenario that is [on demand](Self::on_demand).
    pub fn on_demand_workload(&self) -> u32 {
        let last = self.workloads.len().checked_sub(1).expect("it is on demand");
        last.try_into().expect("a scenario has few workloads")
    }
}

/// Nobody reads the samples of a fabric that leaves no results, and each wakes it up.
const SAMPLES: Picos = Picos(10_000_000_000_000);
