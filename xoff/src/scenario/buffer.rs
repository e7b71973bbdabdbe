//! How a switch's buffer is divided, by the links that the switch has.

use fabric_core::headroom;
use fabric_core::units::Bytes;

use super::document::Document;
use super::quantity::display;
use super::report::ScenarioError;
use super::{Headroom, Scenario, Threshold};
use crate::topology::SwitchId;
use crate::topology::ideal::data_frame;

/// The pools of one switch; together they are its buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferPools {
    /// Headroom of one lossless ingress queue, by port; Phi in DSH.
    pub headroom_per_queue: Vec<Bytes>,
    /// Headroom of all lossless ingress queues, `B_h` in DSH, Eq. 3.
    pub headroom: Bytes,
    /// Private buffer of all lossless ingress queues, `B_p` in DSH.
    pub private: Bytes,
    /// What is left for all, `B_s` in DSH.
    pub shared: Bytes,
}

impl Scenario {
    /// The longest frame of the fabric, without FCS: a full payload behind a RETH.
    pub fn longest_frame(&self) -> Bytes {
        data_frame(self.host.payload, true)
    }

    /// How a switch's buffer is divided.
    pub fn buffer_pools(&self, switch: SwitchId) -> BufferPools {
        let (headroom_per_queue, headroom, private) = self.reserved(switch);
        let shared = Bytes(self.switch.buffer.0.saturating_sub(headroom.0 + private.0));
        BufferPools { headroom_per_queue, headroom, private, shared }
    }

    /// Headroom of a queue by port, all headroom, and all private buffer.
    fn reserved(&self, switch: SwitchId) -> (Vec<Bytes>, Bytes, Bytes) {
        let queues = u64::from(self.switch.lossless.count());
        let longest = Bytes(self.longest_frame().0 + self.switch.wire_overhead.0);
        let Headroom::Sih { bytes } = self.switch.headroom;
        let ports = &self.fabric.switch(switch).ports;
        let of_port = |wire: &crate::topology::Wire| {
            bytes.unwrap_or_else(|| headroom::lossless(wire.rate, wire.delay, longest))
        };
        let per_queue: Vec<Bytes> =
            ports.iter().map(|&id| of_port(self.fabric.wire(id.reverse()))).collect();
        let all = headroom::total(per_queue.iter().copied(), queues);
        let private = self.switch.private_per_queue.0 * ports.len() as u64 * queues;
        (per_queue, all, Bytes(private))
    }

    /// Checks that every switch has room for what is set aside, and that fixed thresholds can be
    /// reached.
    pub(super) fn check_buffers(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        for switch in (0..self.fabric.switch_count()).map(SwitchId) {
            self.check_buffer(switch, document)?;
        }
        Ok(())
    }

    fn check_buffer(&self, switch: SwitchId, document: &Document<'_>) -> Result<(), ScenarioError> {
        let node = self.fabric.switch(switch);
        let (name, ports) = (&node.name, node.ports.len());
        let (per_queue, headroom, private) = self.reserved(switch);
        let buffer = self.switch.buffer;
        let queues = ports as u64 * u64::from(self.switch.lossless.count());
        let needed = Bytes(headroom.0.saturating_add(private.0));
        if needed > buffer {
            let largest = per_queue.iter().max().copied().unwrap_or_default();
            let title = format!(
                "switch `{name}` sets aside {} of its {}: {} of headroom and {} of private pools",
                display(needed),
                display(buffer),
                display(headroom),
                display(private),
            );
            let help = format!(
                "it has {ports} ports x {} lossless priorities = {queues} ingress queues, each \
                 with up to {} of headroom (DSH Eq. 1, 3): write a buffer of at least {}, or less \
                 headroom",
                self.switch.lossless.count(),
                display(largest),
                display(needed),
            );
            return Err(document.error("switch.buffer", &title, &help));
        }
        let shared = Bytes(buffer.0 - needed.0);
        match self.switch.threshold {
            Threshold::Static { xoff, .. } if xoff > shared => {
                let title = format!(
                    "xoff ({}) is above the shared pool of switch `{name}` ({})",
                    display(xoff),
                    display(shared),
                );
                let help = "no PAUSE would be sent before the shared pool is full: write less";
                Err(document.error("switch.threshold.xoff", &title, help))
            }
            _ => Ok(()),
        }
    }
}
