//! Order in which NICs serve flows, and checks of the flows for it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workload::Length;

use super::Scenario;
use super::document::Document;
use super::flows::Workload;
use super::report::ScenarioError;
use super::switch::Scheduler;
use super::transport::Transport;

/// Order in which a NIC serves its flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NicScheduler {
    /// One packet of each flow in turn.
    #[default]
    RoundRobin,
    /// Flows of the highest priority first, in turn within a priority.
    Strict,
    /// The flow with the fewest bytes left to send first.
    Srf,
}

impl NicScheduler {
    /// Returns the default for NICs at switches with this scheduler.
    pub(super) const fn usual(switch: Scheduler) -> Self {
        match switch {
            Scheduler::Srf => Self::Srf,
            Scheduler::Strict { .. } => Self::Strict,
            Scheduler::Dwrr { .. } | Scheduler::RoundRobin => Self::RoundRobin,
        }
    }
}

impl Scenario {
    /// Checks that flows have a size, which scheduling by remaining size needs.
    pub(super) fn check_scheduling(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        let at_nics = self.host.scheduler == NicScheduler::Srf;
        if self.switch.scheduler != Scheduler::Srf && !at_nics {
            return Ok(());
        }
        for (number, entry) in self.workloads.iter().enumerate() {
            if has_no_size(&entry.workload) {
                let title = "shortest remaining flow first, and flows without an end";
                let help = "give these flows a size, or let switches and NICs serve queues in turn: switch.scheduler, \
                            host.scheduler";
                return Err(document.error(&format!("flows.{number}"), title, help));
            }
            if matches!(entry.transport.as_ref().unwrap_or(&self.host.transport), Transport::Tcp(_))
            {
                let title = "shortest remaining flow first, and TCP";
                let help = "segments do not say what their connection has left to send: write kind = \"roce-rc\", or \
                            another switch.scheduler and host.scheduler";
                return Err(document.error(&format!("flows.{number}"), title, help));
            }
        }
        Ok(())
    }
}

/// Returns true if the workload's flows last until the run ends.
fn has_no_size(workload: &Workload) -> bool {
    match workload {
        Workload::LongLived { .. } => true,
        Workload::Permutation(all) | Workload::AllToAll(all) => all.bytes == Length::Unlimited,
        Workload::One { .. }
        | Workload::Incast { .. }
        | Workload::List { .. }
        | Workload::Poisson(_)
        | Workload::Lognormal { .. }
        | Workload::PeriodicIncast(_)
        | Workload::PoissonIncast(_)
        | Workload::Split(_) => false,
    }
}
