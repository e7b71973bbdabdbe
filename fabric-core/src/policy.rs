//! Schemes of a switch, selected by constants in `.rodata`, so that the verifier removes all other code.

use crate::lossy::managements;
use crate::scheme::schemes;

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

/// Declares the kinds of a list, with their numbers in a policy. Unknown numbers are read as the first kind.
macro_rules! kinds {
    (
        [0 = $first_module:ident::$first:ident, $($number:literal = $module:ident::$kind:ident,)*]
        $(#[$about:meta])* $kinds:ident in $parent:literal
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub enum $kinds {
            #[doc = concat!("[`", stringify!($first_module), "`](crate::", $parent, "::", stringify!($first_module), ").")]
            $first = 0,
            $(
                #[doc = concat!("[`", stringify!($module), "`](crate::", $parent, "::", stringify!($module), ").")]
                $kind = $number,
            )*
        }

        impl $kinds {
            /// All kinds, by their numbers.
            pub const ALL: &[Self] = &[Self::$first, $(Self::$kind,)*];

            #[inline(always)]
            const fn from_number(number: u32) -> Self {
                match number {
                    $($number => Self::$kind,)*
                    _ => Self::$first,
                }
            }
        }
    };
}

/// Evaluates `$body` with `$type` as the type of a list that `$selected` names. In eBPF the policy is a constant, and the
/// verifier removes the other arms.
macro_rules! dispatch {
    (
        [$($number:literal = $module:ident::$kind:ident,)+]
        $kinds:ident, $selected:expr, $type:ident => $body:expr
    ) => {
        match $selected {
            $($kinds::$kind => {
                type $type = super::$module::$kind;
                $body
            })+
        }
    };
}
pub(crate) use dispatch;

schemes! { kinds
    /// The [`Scheme`](crate::scheme::Scheme) of a switch.
    SchemeKind in "scheme"
}

/// First of the schemes that run in memory only: it and those after it belong to simulators.
const FIRST_IN_MEMORY: SchemeKind = SchemeKind::ServicePools;

managements! { kinds
    /// The [buffer management](crate::lossy) of a switch's lossy priorities.
    LossyKind in "lossy"
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
        let is_memory_only = self.scheme >= FIRST_IN_MEMORY as u32;
        // No eBPF program selects them, and so none has their code.
        let number = if cfg!(target_arch = "bpf") && is_memory_only { 0 } else { self.scheme };
        SchemeKind::from_number(number)
    }

    /// Returns the buffer management of lossy priorities.
    #[inline(always)]
    pub const fn lossy(self) -> LossyKind {
        LossyKind::from_number(self.lossy)
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
    use ThresholdScheme::{Dynamic, Static, Stored};

    #[test]
    fn a_policy_is_what_it_was_made_of() {
        for threshold in [Dynamic, Static, Stored] {
            for marking in [Off, AtEnqueue, AtDequeue] {
                let plain = Policy::new(threshold, marking);
                assert_eq!((plain.scheme(), plain.options), (SchemeKind::Pfc, 0));
                for &scheme in SchemeKind::ALL {
                    let policy = plain.with_scheme(scheme, 5);
                    assert_eq!((policy.threshold(), policy.marking()), (threshold, marking));
                    assert_eq!((policy.scheme(), policy.options), (scheme, 5));
                    for &lossy in LossyKind::ALL {
                        assert_eq!(policy.with_lossy(lossy, 0).lossy(), lossy);
                    }
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
