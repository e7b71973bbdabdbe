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
    /// [`crate::scheme::pfc_family`].
    PfcFamily = 5,
    /// [`crate::scheme::gfc`].
    Gfc = 6,
    /// [`crate::scheme::ofc`].
    Ofc = 7,
}

/// Which [buffer management](crate::lossy) the lossy priorities of a switch have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum LossyKind {
    /// [`crate::lossy::dynamic_threshold`].
    DynamicThreshold = 0,
    /// [`crate::lossy::complete_sharing`].
    CompleteSharing = 1,
    /// [`crate::lossy::active`].
    Active = 2,
    /// [`crate::lossy::bshare`].
    Bshare = 3,
    /// [`crate::lossy::flow_aware`].
    FlowAware = 4,
    /// [`crate::lossy::intelligent`].
    Intelligent = 5,
}

/// What the watchdog of a switch does to a queue that a PFC storm holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum StormAction {
    /// Nothing: there is no watchdog, or it only tells.
    None = 0,
    /// Drops the packets of the queue, and those of its priority that come in at its port.
    Drop = 1,
    /// Sends in spite of the pause.
    Forward = 2,
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
    /// [`StormAction`] as a number.
    pub storm_action: u32,
    /// [`LossyKind`] as a number.
    pub lossy: u32,
    /// Options of the buffer management; their meaning is its own.
    pub lossy_options: u32,
}

impl Policy {
    /// Its fields in their order in memory, as a loader writes them.
    pub const fn words(self) -> [u32; 7] {
        let Self { threshold, marking, scheme, options, storm_action, lossy, lossy_options } = self;
        [threshold, marking, scheme, options, storm_action, lossy, lossy_options]
    }

    /// Thresholds and marking of a switch that runs PFC, and DT for lossy priorities.
    pub const fn new(threshold: ThresholdScheme, marking: MarkingScheme) -> Self {
        let (threshold, marking) = (threshold as u32, marking as u32);
        let (scheme, storm_action) = (SchemeKind::Pfc as u32, StormAction::None as u32);
        let lossy = LossyKind::DynamicThreshold as u32;
        Self { threshold, marking, scheme, options: 0, storm_action, lossy, lossy_options: 0 }
    }

    /// The same with another scheme and its options.
    #[must_use]
    pub const fn with_scheme(self, scheme: SchemeKind, options: u32) -> Self {
        Self { scheme: scheme as u32, options, ..self }
    }

    /// The same with a watchdog.
    #[must_use]
    pub const fn with_storm_action(self, action: StormAction) -> Self {
        Self { storm_action: action as u32, ..self }
    }

    /// The same with another buffer management and its options.
    #[must_use]
    pub const fn with_lossy(self, kind: LossyKind, options: u32) -> Self {
        Self { lossy: kind as u32, lossy_options: options, ..self }
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
            5 => SchemeKind::PfcFamily,
            6 => SchemeKind::Gfc,
            7 => SchemeKind::Ofc,
            _ => SchemeKind::Pfc,
        }
    }

    /// Which buffer management lossy priorities have.
    #[inline(always)]
    pub const fn lossy(self) -> LossyKind {
        match self.lossy {
            1 => LossyKind::CompleteSharing,
            2 => LossyKind::Active,
            3 => LossyKind::Bshare,
            4 => LossyKind::FlowAware,
            5 => LossyKind::Intelligent,
            _ => LossyKind::DynamicThreshold,
        }
    }

    /// What the watchdog does.
    #[inline(always)]
    pub const fn storm_action(self) -> StormAction {
        match self.storm_action {
            1 => StormAction::Drop,
            2 => StormAction::Forward,
            _ => StormAction::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use MarkingScheme::{AtDequeue, AtEnqueue, Off};
    use SchemeKind::{Bfc, Dsh, Gfc, Ofc, Oversubscribed, Pfc, PfcFamily, Spfc};
    use ThresholdScheme::{Dynamic, Static, Stored};

    #[test]
    fn a_policy_is_what_it_was_made_of() {
        for threshold in [Dynamic, Static, Stored] {
            for marking in [Off, AtEnqueue, AtDequeue] {
                let plain = Policy::new(threshold, marking);
                assert_eq!((plain.scheme(), plain.options), (Pfc, 0));
                for scheme in [Pfc, Oversubscribed, Dsh, Bfc, Spfc, PfcFamily, Gfc, Ofc] {
                    let policy = plain.with_scheme(scheme, 5);
                    assert_eq!((policy.threshold(), policy.marking()), (threshold, marking));
                    assert_eq!((policy.scheme(), policy.options), (scheme, 5));
                    for action in [StormAction::None, StormAction::Drop, StormAction::Forward] {
                        let watched = policy.with_storm_action(action);
                        assert_eq!(watched.storm_action(), action);
                        assert_eq!(Policy { storm_action: 0, ..watched }, policy);
                    }
                }
            }
        }
    }
}
