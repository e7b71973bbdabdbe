//! Schemes of a switch, selected by constants in `.rodata`, so that the verifier removes all other code.

/// Computation of X_off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ThresholdScheme {
    /// DT (DSH, Eq. 2), evaluated on every packet.
    Dynamic = 0,
    /// A constant.
    Static = 1,
    /// The value that the control plane stored last.
    Stored = 2,
}

/// Point at which ECN is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum MarkingScheme {
    /// ECN is never marked.
    Off = 0,
    /// At admission of a packet.
    AtEnqueue = 1,
    /// At departure of a packet.
    AtDequeue = 2,
}

/// The [`Scheme`](crate::scheme::Scheme) of a switch.
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
    /// [`crate::scheme::pfc_reached`].
    PfcReached = 8,
}

/// The [buffer management](crate::lossy) of a switch's lossy priorities.
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

/// Action of a switch's watchdog on a queue in a PFC storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum StormAction {
    /// No action: the switch has no watchdog, or the watchdog only reports storms.
    None = 0,
    /// Drops the packets of the queue, and packets of its priority that come in at its port.
    Drop = 1,
    /// Sends packets in spite of the pause.
    Forward = 2,
}

/// Selection of a switch's schemes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// [`ThresholdScheme`] as a number.
    pub threshold: u32,
    /// [`MarkingScheme`] as a number.
    pub marking: u32,
    /// [`SchemeKind`] as a number.
    pub scheme: u32,
    /// Options of the scheme, which defines their meaning.
    pub options: u32,
    /// [`StormAction`] as a number.
    pub storm_action: u32,
    /// [`LossyKind`] as a number.
    pub lossy: u32,
    /// Options of the buffer management, which defines their meaning.
    pub lossy_options: u32,
}

impl Policy {
    /// Returns the fields in their order in memory, as a loader writes them.
    pub const fn words(self) -> [u32; 7] {
        let Self { threshold, marking, scheme, options, storm_action, lossy, lossy_options } = self;
        [threshold, marking, scheme, options, storm_action, lossy, lossy_options]
    }

    /// Creates the policy of a switch with PFC for lossless and DT for lossy priorities.
    pub const fn new(threshold: ThresholdScheme, marking: MarkingScheme) -> Self {
        let (threshold, marking) = (threshold as u32, marking as u32);
        let (scheme, storm_action) = (SchemeKind::Pfc as u32, StormAction::None as u32);
        let lossy = LossyKind::DynamicThreshold as u32;
        Self { threshold, marking, scheme, options: 0, storm_action, lossy, lossy_options: 0 }
    }

    /// Replaces the scheme and its options.
    #[must_use]
    pub const fn with_scheme(self, scheme: SchemeKind, options: u32) -> Self {
        Self { scheme: scheme as u32, options, ..self }
    }

    /// Replaces the watchdog's action.
    #[must_use]
    pub const fn with_storm_action(self, action: StormAction) -> Self {
        Self { storm_action: action as u32, ..self }
    }

    /// Replaces the buffer management and its options.
    #[must_use]
    pub const fn with_lossy(self, kind: LossyKind, options: u32) -> Self {
        Self { lossy: kind as u32, lossy_options: options, ..self }
    }

    /// Returns the computation of X_off.
    #[inline(always)]
    pub const fn threshold(self) -> ThresholdScheme {
        match self.threshold {
            0 => ThresholdScheme::Dynamic,
            1 => ThresholdScheme::Static,
            _ => ThresholdScheme::Stored,
        }
    }

    /// Returns the point at which ECN is marked.
    #[inline(always)]
    pub const fn marking(self) -> MarkingScheme {
        match self.marking {
            1 => MarkingScheme::AtEnqueue,
            2 => MarkingScheme::AtDequeue,
            _ => MarkingScheme::Off,
        }
    }

    /// Returns the scheme.
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
            8 => SchemeKind::PfcReached,
            _ => SchemeKind::Pfc,
        }
    }

    /// Returns the buffer management of lossy priorities.
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

    /// Returns the watchdog's action.
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
    use SchemeKind::{Bfc, Dsh, Gfc, Ofc, Oversubscribed, Pfc, PfcFamily, PfcReached, Spfc};
    use ThresholdScheme::{Dynamic, Static, Stored};

    #[test]
    fn a_policy_is_what_it_was_made_of() {
        for threshold in [Dynamic, Static, Stored] {
            for marking in [Off, AtEnqueue, AtDequeue] {
                let plain = Policy::new(threshold, marking);
                assert_eq!((plain.scheme(), plain.options), (Pfc, 0));
                for scheme in [Pfc, Oversubscribed, Dsh, Bfc, Spfc, PfcFamily, Gfc, Ofc, PfcReached]
                {
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
