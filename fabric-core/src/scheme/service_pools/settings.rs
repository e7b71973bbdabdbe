//! Settings of service pools.

use units::{BitsPerSecond, Bytes};

use super::pools;
use crate::scheme::Configure;
use crate::tables::Tables;

/// Queues of a port that each have a frame's length set aside, in both directions.
const QUEUES: u64 = 8;
/// Headroom of a port without a link, beyond its two frames. The simulator sets it aside in place of the last port's.
const SPARE_HEADROOM: u64 = 12_500;
/// Frames in a port's headroom beyond the products of its link.
const FRAMES_OF_HEADROOM: u64 = 2;

/// Settings of the scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The whole buffer. Default 80 kB, for a switch with few ports.
    pub buffer: Bytes,
    /// Length of a full frame, in which reserves count.
    pub frame: Bytes,
}

impl Default for Settings {
    fn default() -> Self {
        Self { buffer: Bytes(80_000), frame: Bytes(1048) }
    }
}

impl Settings {
    /// Headroom of a port whose link needs `products` bytes.
    pub const fn headroom(&self, products: Bytes) -> Bytes {
        Bytes(products.0 + FRAMES_OF_HEADROOM * self.frame.0)
    }

    /// Bytes that are in no pool: of an ingress pool and of the egress pool. `products` has an item per port.
    pub fn set_aside(&self, products: impl IntoIterator<Item = Bytes>) -> [Bytes; 2] {
        let (mut ports, mut headroom, mut last) = (0, 0, Bytes(SPARE_HEADROOM));
        for of_port in products {
            ports += 1;
            headroom += self.headroom(last).0;
            last = of_port;
        }
        let frames = ports * QUEUES * self.frame.0;
        [Bytes(headroom + frames), Bytes(frames)]
    }
}

impl Configure for Settings {
    /// No program: the scheme's pauses end by events of a driver in memory.
    fn every() -> impl Iterator<Item = Self> {
        core::iter::empty()
    }

    fn write<T: Tables>(
        &self,
        tables: &T,
        ports: impl IntoIterator<Item = (BitsPerSecond, Bytes)>,
    ) {
        let pools = pools(tables).expect("the tables have room for the scheme's state");
        let aside = self.set_aside(ports.into_iter().map(|(_, products)| products));
        let [ingress, egress] = aside.map(|aside| self.buffer.0.saturating_sub(aside.0));
        pools.ingress_bytes.store(ingress);
        pools.egress_bytes.store(egress);
        pools.frame_bytes.store(self.frame.0);
    }
}
