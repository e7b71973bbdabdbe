//! Which schemes a switch runs: constants in `.rodata`, so that the verifier removes the rest.

/// How X_off is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ThresholdScheme {
    /// DT (DSH, Eq. 2), evaluated on every packet.
    Dynamic = 0,
    /// A constant.
    Static = 1,
    /// What the control plane last wrote.
    Stored = 2,
}

/// Where ECN is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum MarkingScheme {
    /// Nowhere.
    Off = 0,
    /// When a packet is admitted.
    AtEnqueue = 1,
    /// When a packet departs.
    AtDequeue = 2,
}

/// Where lossless packets go that the shared pool does not take, and with it who is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum HeadroomScheme {
    /// SIH: each ingress queue has its own (DSH, Eq. 3).
    Independent = 0,
    /// Oversubscribed: the queues draw on one pool that does not hold all that they may ask for.
    Pooled = 1,
    /// DSH: shared headroom under queue-level flow control, insurance headroom under port-level flow
    /// control.
    Dsh = 2,
}

/// How DSH computes the headroom that a queue needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum EstimationForm {
    /// With tables instead of divisions and multiplications (DSH, Algorithm 3).
    Practical = 0,
    /// With a division and a multiplication (DSH, Algorithm 2).
    Conceptual = 1,
}

/// The selection.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// [`ThresholdScheme`] as a number.
    pub threshold: u32,
    /// [`MarkingScheme`] as a number.
    pub marking: u32,
    /// [`HeadroomScheme`] as a number.
    pub headroom: u32,
    /// [`EstimationForm`] as a number.
    pub estimation: u32,
    /// Whether DSH's queues get headroom from the shared pool: 1 or 0.
    pub shared_headroom: u32,
}

impl Policy {
    /// Thresholds and marking of a switch that runs SIH.
    pub const fn new(threshold: ThresholdScheme, marking: MarkingScheme) -> Self {
        Self {
            threshold: threshold as u32,
            marking: marking as u32,
            headroom: HeadroomScheme::Independent as u32,
            estimation: EstimationForm::Practical as u32,
            shared_headroom: 1,
        }
    }

    /// The same with another headroom scheme.
    #[must_use]
    pub const fn with_headroom(self, headroom: HeadroomScheme) -> Self {
        Self { headroom: headroom as u32, ..self }
    }

    /// The same with another form of DSH's estimation.
    #[must_use]
    pub const fn with_estimation(self, form: EstimationForm) -> Self {
        Self { estimation: form as u32, ..self }
    }

    /// The same with DSH's insurance headroom alone.
    #[must_use]
    pub const fn without_shared_headroom(self) -> Self {
        Self { shared_headroom: 0, ..self }
    }

    /// How X_off is found.
    #[inline(always)]
    pub const fn threshold(self) -> ThresholdScheme {
        match self.threshold {
            0 => ThresholdScheme::Dynamic,
            1 => ThresholdScheme::Static,
            _ => ThresholdScheme::Stored,
        }
    }

    /// Where ECN is marked.
    #[inline(always)]
    pub const fn marking(self) -> MarkingScheme {
        match self.marking {
            1 => MarkingScheme::AtEnqueue,
            2 => MarkingScheme::AtDequeue,
            _ => MarkingScheme::Off,
        }
    }

    /// Where lossless packets go that the shared pool does not take.
    #[inline(always)]
    pub const fn headroom(self) -> HeadroomScheme {
        match self.headroom {
            1 => HeadroomScheme::Pooled,
            2 => HeadroomScheme::Dsh,
            _ => HeadroomScheme::Independent,
        }
    }

    /// Whether DSH's queues get headroom from the shared pool.
    #[inline(always)]
    pub const fn shares_headroom(self) -> bool {
        self.shared_headroom != 0
    }

    /// How DSH computes the headroom that a queue needs.
    #[inline(always)]
    pub const fn estimation(self) -> EstimationForm {
        match self.estimation {
            1 => EstimationForm::Conceptual,
            _ => EstimationForm::Practical,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use EstimationForm::{Conceptual, Practical};
    use HeadroomScheme::{Dsh, Independent, Pooled};
    use MarkingScheme::{AtDequeue, AtEnqueue, Off};
    use ThresholdScheme::{Dynamic, Static, Stored};

    #[test]
    fn a_policy_is_what_it_was_made_of() {
        for threshold in [Dynamic, Static, Stored] {
            for marking in [Off, AtEnqueue, AtDequeue] {
                let plain = Policy::new(threshold, marking);
                assert_eq!((plain.headroom(), plain.estimation()), (Independent, Practical));
                assert!(plain.shares_headroom());
                for headroom in [Independent, Pooled, Dsh] {
                    let policy = plain.with_headroom(headroom);
                    let alone = policy.with_estimation(Conceptual).without_shared_headroom();
                    assert_eq!((policy.threshold(), policy.marking()), (threshold, marking));
                    assert_eq!((alone.threshold(), alone.marking()), (threshold, marking));
                    assert_eq!((policy.headroom(), policy.estimation()), (headroom, Practical));
                    assert_eq!((alone.headroom(), alone.estimation()), (headroom, Conceptual));
                    assert!(policy.shares_headroom() && !alone.shares_headroom());
                }
            }
        }
    }
}
