//! PFC frames that a port has sent.

use fabric_core::hop_control::{ClassPauses, HopControl};
use fabric_core::map_abi::PRIORITIES;
use fabric_core::priority;
use fabric_core::scheme::Scheme;

use super::Switch;
use super::port::{Ahead, ControlFrame};

/// Number of PFC frames that a port has begun to send, by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PfcSent {
    /// Frames that pause each class, refreshes included.
    pub pauses: [u64; PRIORITIES],
    /// Frames that resume each class.
    pub resumes: [u64; PRIORITIES],
}

impl PfcSent {
    /// Counts a frame.
    pub fn count(&mut self, frame: &ClassPauses) {
        for class in priority::in_mask(frame.named) {
            let class = class.index();
            *if frame.quanta[class] > 0 {
                &mut self.pauses[class]
            } else {
                &mut self.resumes[class]
            } += 1;
        }
    }
}

impl<F: Copy + Default, S: Scheme> Switch<F, S> {
    /// Returns the number of PFC frames that a port has sent.
    pub fn pfc_sent(&self, port: u16) -> PfcSent {
        self.pfc_sent.get(usize::from(port)).copied().unwrap_or_default()
    }

    /// Counts a frame that a port begins to send, if it is a PFC frame.
    pub(super) fn count_pfc_sent(&mut self, port: u16, ahead: &Ahead<F>) {
        if let Ahead::Control(ControlFrame { control: HopControl::Classes(classes), .. }) = ahead {
            self.pfc_sent.resize(self.config.ports.len(), PfcSent::default());
            self.pfc_sent[usize::from(port)].count(classes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_counts_for_each_class_that_it_names() {
        let mut sent = PfcSent::default();
        let mut frame = ClassPauses::xoff(0b1001, 7);
        sent.count(&frame);
        frame.quanta[0] = 0;
        sent.count(&frame);
        assert_eq!(sent.pauses, [1, 0, 0, 2, 0, 0, 0, 0]);
        assert_eq!(sent.resumes, [1, 0, 0, 0, 0, 0, 0, 0]);
    }
}
