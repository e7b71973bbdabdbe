//! Settings of a scheme.

use units::{BitsPerSecond, Bytes};

use crate::tables::Tables;

/// Settings of a scheme. The default methods are those of a scheme without settings.
pub trait Configure: Copy + Default {
    /// Returns settings for each program that can be built.
    fn every() -> impl Iterator<Item = Self> {
        core::iter::once(Self::default())
    }

    /// Returns [`Policy::options`](crate::policy::Policy::options): constants of the program.
    fn option_bits(&self) -> u32 {
        0
    }

    /// Writes the settings into the scheme's state. Each port has its rate, and the headroom needed by a queue that grows
    /// at that rate (Phi in DSH, Eq. 1). The tables must be configured.
    ///
    /// # Panics
    /// If the tables are too small.
    fn write<T: Tables>(
        &self,
        _tables: &T,
        _ports: impl IntoIterator<Item = (BitsPerSecond, Bytes)>,
    ) {
    }

    /// Writes the turns of the switch, as (ingress, egress) ports, that pause no queue of a neighbour. Call
    /// [`write`](Self::write) first. Ignored by schemes without such turns.
    ///
    /// # Panics
    /// If the switch does not have a port.
    fn elide<T: Tables>(&self, _tables: &T, _turns: impl IntoIterator<Item = (u32, u32)>) {}
}
