//! Scenarios of live fabrics, in which users request flows while the fabric runs.

use units::Picos;

use super::flow_keys::Workload;
use super::flows::FlowsEntry;
use super::transport::Transport;
use super::{Scenario, Source, Stop};

/// Label of requested flows.
pub const ON_DEMAND: &str = "on-demand";
/// Maximum life of a live fabric in emulated time: 18 hours. The engine's keys of arrivals end at 20 hours.
pub const MAX_LIFE: Picos = Picos(64_800_000_000_000_000);

impl Scenario {
    /// Returns the scenario for a live fabric, with [the longest duration](MAX_LIFE) and a workload for requested
    /// flows. Flows and storms of the scenario are kept only if `plays`, and queues are sampled only if
    /// `leaves_results`.
    #[must_use]
    pub fn on_demand(mut self, plays: bool, leaves_results: bool) -> Self {
        let kept = if plays { self.sources.len() } else { 0 };
        let is_tcp = matches!(self.host.transport, Transport::Tcp(_));
        self.sources.truncate(kept);
        self.sources.push(Source::Listed([].into()));
        self.workloads.truncate(kept);
        let list = Workload::List {
            label: Some(ON_DEMAND.to_owned()),
            file: String::new(),
            transport: None,
        };
        self.workloads.push(FlowsEntry { workload: list, transport: None });
        self.transports.add_hosts_own(kept);
        self.flow_routes.add_classless(kept, is_tcp);
        if !plays {
            self.storms.clear();
        }
        self.flows = super::MaterialisedFlows::default();
        (self.duration, self.stop) = (MAX_LIFE, Stop::Done);
        if !leaves_results {
            self.results.without_window();
            self.results.queue_period = SAMPLES;
        }
        self
    }

    /// Returns true for a scenario of a live fabric, made by [`on_demand`](Self::on_demand).
    pub fn is_on_demand(&self) -> bool {
        // Every run is shorter.
        const { assert!(super::MAX_DURATION.0 < MAX_LIFE.0) };
        self.duration == MAX_LIFE
    }

    /// Returns the index of the workload for requested flows, in a scenario made by [`on_demand`](Self::on_demand).
    pub fn on_demand_workload(&self) -> u32 {
        let last = self.workloads.len().checked_sub(1).expect("it is on demand");
        last.try_into().expect("a scenario has few workloads")
    }
}

/// Sampling period of a fabric without results. Nothing reads its samples, and each one wakes the fabric up.
const SAMPLES: Picos = Picos(10_000_000_000_000);
