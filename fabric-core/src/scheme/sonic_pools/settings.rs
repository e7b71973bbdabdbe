//! Settings of SONiC's pools.

use units::{BitsPerSecond, Bytes};

use super::pools;
use crate::scheme::Configure;
use crate::tables::Tables;

/// Queues of a port that each have the port's headroom set aside.
const QUEUES: u64 = 8;
/// Size of an ingress pool that wraps: no switch holds as much.
const WRAPPED: u64 = 1 << 60;

/// Settings of the scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The whole buffer. Default 4 MiB.
    pub buffer: Bytes,
    /// Alpha of egress queues.
    pub egress_alpha: u32,
    /// Length below which a queue resumes whatever its threshold.
    pub xon: Bytes,
}

impl Default for Settings {
    fn default() -> Self {
        Self { buffer: Bytes(4 << 20), egress_alpha: 65_535, xon: Bytes(1248) }
    }
}

impl Settings {
    /// Headroom of all queues of ports whose queues each have `headroom`.
    pub fn all_headroom(headroom: impl IntoIterator<Item = Bytes>) -> Bytes {
        Bytes(QUEUES * headroom.into_iter().map(|of_queue| of_queue.0).sum::<u64>())
    }
}

impl Configure for Settings {
    /// No program: the scheme belongs to a simulator's order of events, which runs in memory.
    fn every() -> impl Iterator<Item = Self> {
        core::iter::empty()
    }

    fn write<T: Tables>(
        &self,
        tables: &T,
        ports: impl IntoIterator<Item = (BitsPerSecond, Bytes)>,
    ) {
        let pools = pools(tables).expect("the tables have room for the scheme's state");
        let headroom = Self::all_headroom(ports.into_iter().map(|(_, headroom)| headroom));
        pools.ingress_bytes.store(self.buffer.0.checked_sub(headroom.0).unwrap_or(WRAPPED));
        pools.egress_bytes.store(self.buffer.0);
        pools.headroom_bytes.store(headroom.0);
        pools.egress_alpha.store(self.egress_alpha.into());
        pools.xon_bytes.store(self.xon.0);
    }
}
