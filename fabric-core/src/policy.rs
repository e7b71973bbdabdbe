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

/// Which [`Scheme`](crate::scheme::Scheme) a switch runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum SchemeKind {
    /// [`crate::scheme::pfc`].
    Pfc = 0,
    /// [`crate::scheme::oversubscribed`].
    Oversubscribed = 1,
    /// [`crate::scheme::dsh`].
    Dsh = 2,
    /// [`crate::scheme::bfc`].
    Bfc = 3,
    /// [`crate::scheme::spfc`].
    Spfc = 4,
}

/// The selection.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// [`ThresholdScheme`] as a number.
    pub threshold: u32,
    /// [`MarkingScheme`] as a number.
    pub marking: u32,
    /// [`SchemeKind`] as a number.
    pub scheme: u32,
    /// Options of the scheme; their meaning is the scheme's.
    pub options: u32,
}

impl Policy {
    /// Thresholds and marking of a switch that runs PFC.
    pub const fn new(threshold: ThresholdScheme, marking: MarkingScheme) -> Self {
        let (threshold, marking) = (threshold as u32, marking as u32);
        Self { threshold, marking, scheme: SchemeKind::Pfc as u32, options: 0 }
    }

    /// The same with another scheme and its options.
    #[must_use]
    pub const fn with_scheme(self, scheme: SchemeKind, options: u32) -> Self {
        Self { scheme: scheme as u32, options, ..self }
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

    /// Which scheme runs.
    #[inline(always)]
    pub const fn scheme(self) -> SchemeKind {
        match self.scheme {
            1 => SchemeKind::Oversubscribed,
            2 => SchemeKind::Dsh,
            3 => SchemeKind::Bfc,
            4 => SchemeKind::Spfc,
            _ => SchemeKind::Pfc,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use MarkingScheme::{AtDequeue, AtEnqueue, Off};
    use SchemeKind::{Bfc, Dsh, Oversubscribed, Pfc, Spfc};
    use ThresholdScheme::{Dynamic, Static, Stored};

    #[test]
    fn a_policy_is_what_it_was_made_of() {
        for threshold in [Dynamic, Static, Stored] {
            for marking in [Off, AtEnqueue, AtDequeue] {
                let plain = Policy::new(threshold, marking);
                assert_eq!((plain.scheme(), plain.options), (Pfc, 0));
                for scheme in [Pfc, Oversubscribed, Dsh, Bfc, Spfc] {
                    let policy = plain.with_scheme(scheme, 5);
                    assert_eq!((policy.threshold(), policy.marking()), (threshold, marking));
                    assert_eq!((policy.scheme(), policy.options), (scheme, 5));
                }
            }
        }
    }
}
