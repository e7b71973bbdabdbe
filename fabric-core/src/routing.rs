//! Routing: policy routes of flows and of pairs of hosts, host routes, and equal-cost multipath over the five-tuple.
//!
//! Policy routes lie in a hash table with linear probing, with the same rows in eBPF and natively. A key lies in one of
//! [`PROBES`] rows, the first of which its hash selects, and no row before the key's row is empty.

use crate::drop_reason::DropReason;
use crate::frame::Ipv4Fields;
use crate::map_abi::{FlowKey, POLICY_FLOWS, POLICY_PAIRS, Route, SwitchConfig};
use crate::tables::Tables;

/// Mixes 32 bits so that each output bit depends on each input bit (the finaliser of MurmurHash3).
#[inline(always)]
pub(crate) const fn mix(mut value: u32) -> u32 {
    value ^= value >> 16;
    value = value.wrapping_mul(0x85eb_ca6b);
    value ^= value >> 13;
    value = value.wrapping_mul(0xc2b2_ae35);
    value ^ (value >> 16)
}

/// Returns the hash of a flow's five-tuple under `seed`.
#[inline(always)]
pub const fn key_hash(key: &FlowKey, seed: u32) -> u32 {
    let mut hash = mix(seed ^ key.source);
    hash = mix(hash ^ key.destination);
    hash = mix(hash ^ key.ports);
    mix(hash ^ key.protocol)
}

/// Returns the hash of a packet's five-tuple under a switch's seed.
#[inline(always)]
pub const fn flow_hash(fields: &Ipv4Fields, seed: u32) -> u32 {
    key_hash(&flow_key(fields), seed)
}

/// Returns the hash that names a flow to a neighbour ([`HopControl::Flows`](crate::hop_control::HopControl::Flows)).
/// All switches and hosts compute the same hash.
#[inline(always)]
pub const fn key_name(key: &FlowKey) -> u32 {
    key_hash(key, NAME_SEED)
}

/// Returns the hash that names a packet's flow.
#[inline(always)]
pub const fn flow_name(fields: &Ipv4Fields) -> u32 {
    key_name(&flow_key(fields))
}

/// Seed of flow names. It differs from the switches' own seeds, whose hashes choose ports.
const NAME_SEED: u32 = 0x4f46_4331;

/// Returns a packet's five-tuple.
#[inline(always)]
const fn flow_key(fields: &Ipv4Fields) -> FlowKey {
    let &Ipv4Fields { source, destination, ports, protocol, .. } = fields;
    FlowKey { source, destination, ports, protocol: protocol as u32 }
}

/// Returns the hash that selects a flow's queue within its priority. It differs from the hash that
/// chose the port; otherwise all flows of a port would share few of its queues.
#[inline(always)]
pub const fn queue_hash(fields: &Ipv4Fields, seed: u32) -> u32 {
    flow_hash(fields, seed ^ 0x9e37_79b9)
}

/// Returns the port of an ECMP group that a flow takes. Computes the hash only if there is a
/// choice, because most hops have none.
#[inline(always)]
pub fn select<T: Tables>(tables: &T, route: Route, hash: impl FnOnce() -> u32) -> Option<u32> {
    match route.members {
        0 => None,
        1 => Some(route.first),
        members => {
            let index = route.first.wrapping_add(member(hash(), members));
            tables.next_hop(index).map(|hop| hop.port as u32)
        }
    }
}

/// Returns the position that a hash selects in a group of `count`. A multiply and a shift spread
/// the hash evenly without a division.
#[inline(always)]
pub const fn member(hash: u32, count: u32) -> u32 {
    ((hash as u64 * count as u64) >> 32) as u32
}

/// Max number of rows in which the route of a key may lie.
pub const PROBES: u32 = 8;

/// Returns row `probe` of the rows that a key's route may occupy in a table of 2^`shift` rows.
#[inline(always)]
pub const fn policy_row(key: &FlowKey, shift: u8, probe: u32) -> u32 {
    key_hash(key, 0).wrapping_add(probe) & !(u32::MAX << (shift & 31))
}

#[inline(always)]
fn policy_of<T: Tables>(tables: &T, config: &SwitchConfig, key: &FlowKey) -> Option<Route> {
    let mut probe = 0;
    while probe < PROBES {
        let row = tables.policy_route(policy_row(key, config.policy_shift, probe))?;
        if row.key == *key {
            return Some(row.route);
        }
        if row.key.destination == 0 {
            return None;
        }
        probe += 1;
    }
    None
}

/// Returns the policy route of a packet's flow, or else of its pair of hosts. Natively a call, so
/// that switches without policy routes pay only for a comparison.
#[cfg_attr(target_arch = "bpf", inline(always))]
#[cfg_attr(not(target_arch = "bpf"), cold, inline(never))]
fn policy<T: Tables>(tables: &T, config: &SwitchConfig, fields: &Ipv4Fields) -> Option<Route> {
    let flow = flow_key(fields);
    if config.policies & POLICY_FLOWS != 0
        && let Some(route) = policy_of(tables, config, &flow)
    {
        return Some(route);
    }
    if config.policies & POLICY_PAIRS == 0 {
        return None;
    }
    policy_of(tables, config, &FlowKey { ports: 0, protocol: 0, ..flow })
}

/// Returns the egress port of a packet.
#[inline(always)]
pub fn route<T: Tables>(
    tables: &T,
    config: &SwitchConfig,
    fields: &Ipv4Fields,
) -> Result<u32, DropReason> {
    let host = tables.host_of(fields.destination);
    if host >= config.hosts {
        return Err(DropReason::NoRoute);
    }
    let own = if config.policies == 0 { None } else { policy(tables, config, fields) };
    let route = match own {
        Some(route) => route,
        None => *tables.route(host).ok_or(DropReason::NoRoute)?,
    };
    // Captures a copy: a reference would keep the fields of every packet out of registers, and few are hashed.
    let hash = || flow_hash(&{ *fields }, config.ecmp_seed);
    if route.members == 0 {
        return Err(DropReason::Unreachable);
    }
    let port = select(tables, route, hash).ok_or(DropReason::NoRoute)?;
    if port >= config.ports { Err(DropReason::NoRoute) } else { Ok(port) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map_abi::{FIRST_HOST_ADDRESS, NextHop, PolicyRoute};
    use crate::tables::owned::OwnedTables;

    #[test]
    fn a_group_is_used_evenly() {
        let mut tables = OwnedTables::new(SwitchConfig::default(), 0);
        tables.next_hops = [99, 10, 11, 12, 13].map(|port| NextHop { port }).into();
        let route = Route { members: 4, first: 1 };
        let mut counts = [0u32; 4];
        for flow in 0..40_000u32 {
            let fields = Ipv4Fields {
                source: FIRST_HOST_ADDRESS,
                destination: FIRST_HOST_ADDRESS + 1,
                ports: (49_152 + flow) << 16 | u32::from(crate::wire::roce::UDP_PORT),
                protocol: 17,
                ..Ipv4Fields::default()
            };
            let port =
                select(&tables, route, || flow_hash(&fields, 7)).expect("the group is not empty");
            counts[port as usize - 10] += 1;
        }
        // 10,000 expected; three standard deviations are 260.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 400), "{counts:?}");
    }

    #[test]
    fn seeds_are_independent() {
        let fields = Ipv4Fields { source: 1, destination: 2, ports: 3, ..Ipv4Fields::default() };
        assert_ne!(flow_hash(&fields, 1), flow_hash(&fields, 2));
    }

    #[test]
    fn a_member_is_the_one_of_its_position() {
        let mut tables = OwnedTables::new(SwitchConfig::default(), 0);
        tables.next_hops = [9, 0, 5, 6, 255].map(|port| NextHop { port }).into();
        let quarter = |n: u32| move || n << 30;
        let group = Route { members: 4, first: 1 };
        for (n, port) in (0..).zip([0, 5, 6, 255]) {
            assert_eq!(select(&tables, group, quarter(n)), Some(port));
        }
        let one = Route { members: 1, first: 255 };
        assert_eq!(select(&tables, one, || panic!("one way needs no hash")), Some(255));
        assert_eq!(select(&tables, Route::default(), quarter(1)), None);
        let beyond = Route { members: 2, first: u32::MAX };
        assert_eq!(select(&tables, beyond, || 0), None);
    }

    /// The hash decides which links a flow takes, so results depend on every bit of it. The
    /// expected values of MurmurHash3's finaliser are from an independent program.
    #[test]
    fn the_hash_stays_what_it_was() {
        assert_eq!([0, 1, 0x1234_5678].map(mix), [0, 0x514e_28b7, 0xe37c_d1bc]);
        let fields = Ipv4Fields {
            source: 0x0a00_0101,
            destination: 0x0a00_0102,
            ports: 50_000 << 16 | u32::from(crate::wire::roce::UDP_PORT),
            protocol: 17,
            ..Ipv4Fields::default()
        };
        assert_eq!([0, 7].map(|seed| flow_hash(&fields, seed)), [0xdec1_f006, 0x3554_8f85]);
    }

    #[test]
    fn a_flow_goes_before_its_pair_and_a_pair_before_its_destination() {
        let mut tables = OwnedTables::new(SwitchConfig::default(), 0);
        tables.config.policy_shift = 2;
        tables.policy_routes = vec![PolicyRoute::default(); 4];
        let fields = Ipv4Fields {
            source: FIRST_HOST_ADDRESS,
            destination: FIRST_HOST_ADDRESS + 1,
            ports: 7,
            protocol: 17,
            ..Ipv4Fields::default()
        };
        let pair = FlowKey { ports: 0, protocol: 0, ..flow_key(&fields) };
        let to = |tables: &OwnedTables, policies, fields: &Ipv4Fields| {
            route(tables, &SwitchConfig { policies, ..tables.config }, fields)
        };
        let all = POLICY_FLOWS | POLICY_PAIRS;
        assert_eq!(to(&tables, all, &fields), Ok(1), "an empty table");
        // Both keys lie in the rows behind their hashes' rows, which other keys occupy.
        let taken = FlowKey { destination: 1, ..FlowKey::default() };
        tables.policy_routes.fill(PolicyRoute { key: taken, route: Route::default() });
        let row = |key: &FlowKey, probe| policy_row(key, 2, probe) as usize;
        tables.policy_routes[row(&pair, 1)] =
            PolicyRoute { key: pair, route: Route { members: 1, first: 0 } };
        assert_eq!(to(&tables, all, &fields), Ok(0));
        assert_eq!(to(&tables, POLICY_PAIRS, &fields), Ok(0));
        assert_eq!(to(&tables, POLICY_FLOWS, &fields), Ok(1));
        assert_eq!(to(&tables, 0, &fields), Ok(1));
        let flow = flow_key(&fields);
        tables.policy_routes[row(&flow, 3)] =
            PolicyRoute { key: flow, route: Route { members: 1, first: 2 } };
        tables.config.ports = 3;
        assert_eq!(to(&tables, all, &fields), Ok(2));
        tables.policy_routes[row(&flow, 3)].route = Route { members: 0, first: 2 };
        let cut_off = to(&tables, all, &fields);
        assert_eq!(cut_off, Err(DropReason::Unreachable), "no port leads there");
        let other = Ipv4Fields { ports: 8, ..fields };
        assert_ne!(to(&tables, all, &other), Ok(2));
    }

    #[test]
    fn only_hosts_of_the_fabric_have_routes() {
        let tables = OwnedTables::new(SwitchConfig::default(), 0);
        let to = |destination| {
            route(&tables, &tables.config, &Ipv4Fields { destination, ..Ipv4Fields::default() })
        };
        assert_eq!(to(FIRST_HOST_ADDRESS), Ok(0));
        assert_eq!(to(FIRST_HOST_ADDRESS + 1), Ok(1));
        assert_eq!(to(FIRST_HOST_ADDRESS + 2), Err(DropReason::NoRoute));
        assert_eq!(to(FIRST_HOST_ADDRESS - 1), Err(DropReason::NoRoute));
        let fewer = SwitchConfig { ports: 1, ..tables.config };
        let fields = Ipv4Fields { destination: FIRST_HOST_ADDRESS + 1, ..Ipv4Fields::default() };
        assert_eq!(route(&tables, &fewer, &fields), Err(DropReason::NoRoute), "no such port");
    }
}
