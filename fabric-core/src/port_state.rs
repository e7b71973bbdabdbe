//! States of ingress ports or ingress queues as switches report them (SPFC, Fig. 7).

/// The state of an ingress port, or of an ingress queue that has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortState {
    /// Many packets depart from it: it suffers from congestion elsewhere.
    Victim,
    /// Few packets depart from it.
    Normal,
}

impl PortState {
    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Victim => "victim",
            Self::Normal => "normal",
        }
    }
}

/// Cause of a change of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateCause {
    /// Enough bytes have departed in the period.
    Fast,
    /// Enough bytes had departed in the period, and the neighbour resumes.
    Resume,
    /// A whole period has ended in which too few bytes departed.
    Slow,
    /// The port or queue has paused its neighbour.
    Pause,
}

impl StateCause {
    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Resume => "resume",
            Self::Slow => "slow",
            Self::Pause => "pause",
        }
    }

    /// The state after the change.
    pub const fn state(self) -> PortState {
        match self {
            Self::Fast | Self::Resume => PortState::Victim,
            Self::Slow | Self::Pause => PortState::Normal,
        }
    }
}
