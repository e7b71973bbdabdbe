//! Conversion of a load to a rate of payload.

use topology::{Fabric, FlowClass, HostId, Racks, WireId};
use units::BitsPerSecond;

use super::arrivals::PayloadRate;
use super::demand::Demand;

/// Fractional bits of a [`PayloadRate`].
const RATE_BITS: u32 = 8;
/// Fractional bits of a share of the demand.
const SHARE_BITS: u32 = 32;

/// Returns the payload that links of these rates carry at a load in millionths.
pub fn link_load_rate(
    rates: impl IntoIterator<Item = BitsPerSecond>,
    load_millionths: u32,
) -> PayloadRate {
    let capacity: u128 = rates.into_iter().map(|rate| u128::from(rate.0)).sum();
    PayloadRate((capacity << RATE_BITS) * u128::from(load_millionths) / 1_000_000)
}

/// Returns the payload rate at which a demand loads the core's wires, as a mean over the wires that it uses. With
/// `class`, the flows take the routes of this class. `None` if the demand uses no core wire.
pub fn core_load_rate(
    fabric: &Fabric,
    groups: &Racks,
    demand: &Demand,
    class: Option<FlowClass>,
    load_millionths: u32,
) -> Option<PayloadRate> {
    let shares = demand.shares(fabric, groups, class);
    let used: Vec<WireId> =
        fabric.core_wires().into_iter().filter(|wire| shares[wire.0 as usize] > 0).collect();
    let crossings: u128 = used.iter().map(|wire| shares[wire.0 as usize]).sum();
    let PayloadRate(full) =
        link_load_rate(used.iter().map(|id| fabric.wire(*id).rate), load_millionths);
    (crossings > 0).then(|| PayloadRate((full << SHARE_BITS) / crossings))
}

/// Returns the rate of a host's link.
pub fn host_rate(fabric: &Fabric, host: HostId) -> BitsPerSecond {
    fabric.wire(fabric.host(host).ports[0]).rate
}
