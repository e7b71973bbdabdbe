//! Order in which NICs serve flows, and checks of the flows for it.

pub use host_agent::Scheduler as NicScheduler;
use workload::Length;

use super::Scenario;
use super::document::Document;
use super::flow_keys::Workload;
use super::report::ScenarioError;
use super::switch::Scheduler;
use super::transport::Transport;

/// Returns the default order of NICs at switches with this scheduler.
pub(super) const fn usual_at(switch: Scheduler) -> NicScheduler {
    match switch {
        Scheduler::Srf {} => NicScheduler::ShortestRemaining,
        Scheduler::Strict { .. } => NicScheduler::Strict,
        Scheduler::Dwrr { .. } | Scheduler::RoundRobin {} => NicScheduler::RoundRobin,
    }
}

impl Scenario {
    /// Checks that flows have a size, which scheduling by remaining size needs.
    pub(super) fn check_scheduling(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        let at_nics = self.host.scheduler() == NicScheduler::ShortestRemaining;
        if self.switch.scheduler != (Scheduler::Srf {}) && !at_nics {
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
        Workload::Permutation { bytes, .. } | Workload::AllToAll { bytes, .. } => {
            bytes.0 == Length::Unlimited
        }
        Workload::One { .. }
        | Workload::Incast { .. }
        | Workload::List { .. }
        | Workload::Poisson { .. }
        | Workload::Lognormal { .. }
        | Workload::PeriodicIncast(_)
        | Workload::PoissonIncast(_)
        | Workload::Split { .. } => false,
    }
}
