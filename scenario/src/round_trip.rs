//! The longest round trip of a fabric.

use std::cmp::Reverse;

use topology::{HostId, Racks, Reach};
use units::Picos;

use super::Scenario;

impl Scenario {
    /// Returns twice the longest time from host to host on an idle path, with a longest frame on each link; saturates.
    /// Zero if no setting needs it.
    pub(super) fn find_longest_round_trip(&self) -> Picos {
        if !self.switch.has_port_states() && !self.counts_each_round_trip() {
            return Picos::ZERO;
        }
        let (fabric, groups) = (&self.fabric, Racks::by_routes(&self.fabric));
        let ends: Vec<Vec<HostId>> =
            (0..groups.len()).map(|group| self.farthest(groups.hosts(group))).collect();
        let to_groups = (0..groups.len()).flat_map(|to| Reach::to_group(fabric, &groups, to, None));
        let mut longest: u64 = 0;
        for reach in to_groups.chain(Reach::for_flows(fabric, &groups)) {
            let to = groups.rack_of(reach.traffic.destination);
            for &source in &reach.sources {
                for &from in &ends[source] {
                    let receivers = ends[to].iter().filter(|&&host| host != from);
                    for &receiver in receivers {
                        let path = reach.longest_path(fabric, from, receiver);
                        let time = path.iter().map(|&wire| self.crossing(wire).0);
                        longest = longest.max(time.fold(0, u64::saturating_add));
                    }
                }
            }
        }
        Picos(longest.saturating_mul(2))
    }

    /// Returns the two hosts of a group with the slowest links. All hosts of a group have equal routes.
    fn farthest(&self, hosts: &[HostId]) -> Vec<HostId> {
        let mut hosts = hosts.to_vec();
        hosts
            .sort_by_key(|&host| (Reverse(self.crossing(self.fabric.host(host).ports[0])), host.0));
        hosts.truncate(2);
        hosts
    }

    /// Returns the time of a longest frame over a wire.
    fn crossing(&self, wire: topology::WireId) -> Picos {
        let wire = self.fabric.wire(wire);
        wire.delay + self.frame_time().serialise(wire.rate, self.longest_frame().0)
    }
}
