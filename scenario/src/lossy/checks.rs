//! What `switch.lossy` has to do with other keys.

use topology::SwitchId;
use units::Bytes;

use crate::buffer::BufferPools;
use crate::document::Document;
use crate::quantity::display;
use crate::report::ScenarioError;
use crate::transport::{FirstRttLimit, Transport};
use crate::{Lossy, LossyPool, Scenario, Source};

impl Scenario {
    /// Checks that a pool of lossy packets leaves something of what headroom and private pools leave of a switch's buffer.
    pub(crate) fn check_lossy_pool(
        &self,
        switch: SwitchId,
        left: Bytes,
        document: &Document<'_>,
    ) -> Result<(), ScenarioError> {
        let LossyPool::Own(bytes) = self.switch.lossy.pool else { return Ok(()) };
        let wrong = |title: &str, help: &str| Err(document.error("switch.lossy.pool", title, help));
        if bytes >= left {
            let title = format!(
                "lossy packets have {} for themselves, where switch `{}` has {} left",
                display(bytes),
                self.fabric.switch(switch).name,
                display(left),
            );
            let help = "that is its buffer without headroom and private pools, of which something has to remain for \
                        the shared pool: write less, or \"shared\"";
            return wrong(&title, help);
        }
        let longest = self.longest_frame();
        if bytes < longest {
            let title = format!("{} for packets of up to {}", display(bytes), display(longest));
            return wrong(&title, "the longest would always be dropped: write more, or \"shared\"");
        }
        Ok(())
    }

    /// Checks what the buffer management needs of buffers, and of hosts if there are any.
    pub(crate) fn check_lossy(
        &self,
        has_hosts: bool,
        document: &Document<'_>,
    ) -> Result<(), ScenarioError> {
        let management = &self.switch.lossy.management;
        let first = management.counting().and_then(|counting| counting.first_rtt_alpha);
        if first.is_some() && has_hosts && !self.marks_lossy_packets() {
            let title = "no flow of a lossy priority marks packets of its first round trip";
            let help = "add first_rtt_marks = \"auto\" to `host.transport`, or to the transport of such [[flows]]";
            return Err(document.error("switch.lossy.first_rtt_alpha", title, help));
        }
        let Some(least) = management.min_bytes() else { return Ok(()) };
        for switch in (0..self.fabric.switch_count()).map(SwitchId) {
            let buffer = self.buffer_pools(switch).of_lossy();
            if least >= buffer {
                let title = format!(
                    "a queue that holds less than {} drops nothing, and lossy packets of switch `{}` have {}",
                    display(least),
                    self.fabric.switch(switch).name,
                    display(buffer),
                );
                let help = "no packet would ever be dropped for its wait: write less";
                return Err(document.error("switch.lossy.min_bytes", &title, help));
            }
        }
        Ok(())
    }

    /// Whether some flow of a lossy priority marks packets of its first round trip; where there are no flows yet, whether
    /// hosts would.
    fn marks_lossy_packets(&self) -> bool {
        let marks = |transport: &Transport| transport.first_rtt().limit != FirstRttLimit::Off;
        if self.sources.is_empty() {
            return marks(&self.host.transport);
        }
        let is_lossy = |priority: u8| !self.switch.lossless.contains(priority);
        let mut flows = self.transports.with_sources(&self.sources);
        flows.any(|(source, transport)| marks(transport) && source.priorities().any(is_lossy))
    }

    /// What a user of `switch.lossy` probably did not mean.
    pub(crate) fn warnings_of_lossy(&self) -> Vec<String> {
        let (lossless, lossy) = (self.switch.lossless, &self.switch.lossy);
        if *lossy == Lossy::default() {
            return Vec::new();
        }
        if lossless.count() == 8 {
            return vec![
                "every priority is lossless, so `switch.lossy` changes nothing: leave it out, or name fewer priorities in \
                 `switch.lossless`"
                    .into(),
            ];
        }
        let mut used = self.sources.iter().flat_map(Source::priorities);
        if self.sources.is_empty() || used.any(|priority| !lossless.contains(priority)) {
            return Vec::new();
        }
        vec![
            "no flow has a lossy priority, so `switch.lossy` does nothing to data: give flows a `priority` that \
             `switch.lossless` does not name"
                .into(),
        ]
    }
}

impl BufferPools {
    /// The buffer of lossy packets, B in the papers.
    pub const fn of_lossy(&self) -> Bytes {
        if self.lossy.0 == 0 { self.shared } else { self.lossy }
    }
}
