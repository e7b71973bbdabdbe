//! Checks of `switch.lossy` against other keys.

use topology::SwitchId;
use units::Bytes;

use crate::buffer::BufferPools;
use crate::document::Document;
use crate::quantity::display;
use crate::report::ScenarioError;
use crate::transport::Transport;
use crate::{AckPriority, Lossy, LossyPool, Scenario, Source};

impl Scenario {
    /// Checks that a pool of lossy packets is smaller than the buffer without headroom and private pools.
    pub(crate) fn check_lossy_pool(
        &self,
        switch: SwitchId,
        left: Bytes,
        document: &Document<'_>,
    ) -> Result<(), ScenarioError> {
        let LossyPool::Own(bytes) = self.switch.lossy.pool() else { return Ok(()) };
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
        if bytes < longest && self.switch.lossless.count() < 8 {
            let title = format!("{} for packets of up to {}", display(bytes), display(longest));
            return wrong(&title, "the longest would always be dropped: write more, or \"shared\"");
        }
        Ok(())
    }

    /// Checks that `min_bytes` is below the lossy buffer and, with hosts, that `first_rtt_alpha` has marked packets.
    pub(crate) fn check_lossy(
        &self,
        has_hosts: bool,
        document: &Document<'_>,
    ) -> Result<(), ScenarioError> {
        let lossy = &self.switch.lossy;
        if lossy.first_rtt_alpha().is_some() && has_hosts && !self.marks_lossy_packets() {
            let title = "no lossy packet is marked as one of its flow's first round trip";
            let help = if self.transports().iter().any(Transport::marks_first_rtt) {
                "flows whose hosts mark have lossless priorities: give them one that `switch.lossless` does not name"
            } else {
                "add first_rtt_marks = \"auto\" to `host.transport`, or to the transport of [[flows]] of a lossy priority"
            };
            return Err(document.error("switch.lossy.first_rtt_alpha", title, help));
        }
        let Some(least) = lossy.min_bytes() else { return Ok(()) };
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

    /// Returns true if hosts mark packets, including ACKs, of some lossy flow. Without flows, returns true if hosts
    /// mark packets.
    fn marks_lossy_packets(&self) -> bool {
        if self.sources.is_empty() {
            return self.host.transport.marks_first_rtt();
        }
        let is_lossy = |priority: u8| !self.switch.lossless.contains(priority);
        let mut flows = self.transports.with_sources(&self.sources);
        flows.any(|(source, transport)| {
            let of_acks = match self.host.ack_priority() {
                AckPriority::Fixed(priority) => is_lossy(priority),
                AckPriority::Data => false,
            };
            let marks_acks = transport.first_rtt().acks && of_acks;
            transport.marks_first_rtt() && (marks_acks || source.priorities().any(is_lossy))
        })
    }

    /// Returns warnings about settings of `switch.lossy` that are probably mistakes.
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
        let used = || self.sources.iter().flat_map(Source::priorities);
        let used_lossy = || used().filter(|&priority| !lossless.contains(priority));
        if let Some(warning) = used_lossy().find_map(|priority| self.fits_nowhere(priority)) {
            return vec![warning];
        }
        if self.sources.is_empty() || used_lossy().next().is_some() {
            return Vec::new();
        }
        vec![
            "no flow has a lossy priority, so `switch.lossy` does nothing to data: give flows a `priority` that \
             `switch.lossless` does not name"
                .into(),
        ]
    }

    /// Returns a warning if the longest packet of a lossy priority exceeds the threshold of an empty buffer.
    fn fits_nowhere(&self, priority: u8) -> Option<String> {
        let lossy = &self.switch.lossy;
        // BSHARE admits packets as complete sharing does; alpha of first packets may be large enough.
        let admits_more = matches!(lossy, Lossy::Bshare(_));
        if admits_more || lossy.first_alpha().is_some() {
            return None;
        }
        let alpha = lossy.alpha_by_priority()?[usize::from(priority)];
        let switches = (0..self.fabric.switch_count()).map(SwitchId);
        let (threshold, switch) = switches
            .map(|switch| (Bytes(alpha.scale(self.buffer_pools(switch).of_lossy().0)), switch))
            .min()?;
        let longest = self.longest_frame();
        (threshold < longest).then(|| {
            format!(
                "lossy packets of priority {priority} and {} are always dropped by switch `{}`, where alpha {alpha} leaves a queue at \
                 most {}: write a larger alpha or `switch.lossy.pool`",
                display(longest),
                self.fabric.switch(switch).name,
                display(threshold),
            )
        })
    }
}

impl BufferPools {
    /// Returns the buffer of lossy packets, B in the papers.
    pub const fn of_lossy(&self) -> Bytes {
        if self.lossy.0 == 0 { self.shared } else { self.lossy }
    }
}
