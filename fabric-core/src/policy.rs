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

/// The selection.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// [`ThresholdScheme`] as a number.
    pub threshold: u32,
    /// [`MarkingScheme`] as a number.
    pub marking: u32,
}

impl Policy {
    /// A selection of both.
    pub const fn new(threshold: ThresholdScheme, marking: MarkingScheme) -> Self {
        Self { threshold: threshold as u32, marking: marking as u32 }
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
}
