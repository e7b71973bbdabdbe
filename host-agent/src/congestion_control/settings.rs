//! Values from which a congestion control computes its parameters, and the signals that it needs.

use units::checked::{Misfit, SomeBytes};
use units::{BitsPerSecond, Bytes, Picos};

use super::dctcp::Start;

/// Number of payloads in the initial window of a flow with slow start (RFC 6928).
const INITIAL_PAYLOADS: u64 = 10;

/// Link of a host, and the flows on it: the values from which an algorithm computes its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Rate of the link.
    pub rate: BitsPerSecond,
    /// Base round-trip time; zero if the algorithm [needs none](super::Settings::needs_base_rtt).
    pub base_rtt: Picos,
    /// Payload of a full packet, above zero.
    pub payload: Bytes,
}

impl Link {
    /// Returns the bandwidth-delay product.
    pub const fn bandwidth_delay(&self) -> Bytes {
        self.rate.bytes_in(self.base_rtt)
    }

    /// Returns `numerator / denominator` of the bandwidth-delay product, at least one byte.
    pub(super) fn part_of_bandwidth_delay(&self, numerator: u64, denominator: u64) -> Bytes {
        let product = u128::from(self.bandwidth_delay().0) * u128::from(numerator);
        Bytes(u64::try_from(product / u128::from(denominator)).unwrap_or(u64::MAX).max(1))
    }

    /// Returns the initial window of a flow with slow start.
    pub(super) fn initial_window(&self, given: Option<SomeBytes>) -> Bytes {
        given.map_or(Bytes(self.payload.0 * INITIAL_PAYLOADS), SomeBytes::get)
    }
}

/// Settings of a congestion control, as a scenario has them.
pub trait Complete: Copy {
    /// Checks keys that must fit together.
    fn check(&self) -> Result<(), Misfit> {
        Ok(())
    }

    /// Adds the defaults that depend on other keys or on the transport, whose flows usually begin with `usual`.
    #[must_use]
    fn completed(self, _usual: Start) -> Self {
        self
    }
}

/// Requirements of a congestion control besides ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Needs {
    /// True if parameters depend on a base round-trip time.
    pub base_rtt: bool,
    pub signal: Signal,
}

/// Signal of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// None beside round-trip times.
    Nothing,
    /// Losses only.
    Losses,
    /// ECN marks.
    Marks,
    /// Telemetry that switches write into packets.
    Telemetry,
}
