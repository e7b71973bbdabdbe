//! Changes of a live fabric's wires by its users.

use topology::WireId;
use units::Picos;
use workload::random::mix;

use super::super::Engine;
use super::super::faults::Faults;
use super::super::transmitter::{Receiver, Transmitter};
use crate::datapath::DatapathError;
use crate::datapath::kernel::KernelWires;
use crate::live::impairment::{ImpairmentChange, LinkState};
use crate::live::view::WireView;
use crate::partition::Place;

impl Engine<'_, KernelWires> {
    /// Checks that the interfaces of all hosts are up. Without this check, only the next frame would detect it.
    pub(super) fn check_hosts(&self) -> Result<(), DatapathError> {
        for part in &self.parts {
            if let Some((host, error)) = part.core.medium.host_down() {
                let host = &self.scenario.fabric().host(host).name;
                return Err(DatapathError::Host { host: host.clone(), source: error.into() });
            }
        }
        Ok(())
    }

    /// Takes wires down, or brings them up. Returns an error message if routes cannot change with them.
    pub(super) fn set_links(
        &mut self,
        wires: &[WireId],
        state: LinkState,
        reroute: bool,
    ) -> Result<(), String> {
        if reroute && let Some((title, _)) = self.scenario.no_reroute() {
            return Err(format!("routes cannot change: {title}"));
        }
        let outage = state.outage(self.now);
        for &wire in wires {
            self.out_mut(wire).faults_mut().set_outage(outage);
            self.rerouting.outages.set(wire, outage.filter(|_| reroute));
            self.set_outage(wire, outage);
        }
        self.reroute();
        Ok(())
    }

    /// Changes the impairments of wires, and returns the new state of the wires.
    pub(super) fn impair(&mut self, wires: &[WireId], change: ImpairmentChange) -> Vec<WireView> {
        let (seed, now) = (self.scenario.seed, self.now);
        if change != ImpairmentChange::default() {
            for &wire in wires {
                let faults = self.out_mut(wire).faults_mut();
                let set = change.applied_to(faults.impairment());
                faults.impair(set, mix(seed, u64::from(wire.0) | 1 << 62));
            }
        }
        wires.iter().map(|&wire| self.view_of_wire(self.out(wire), now)).collect()
    }

    /// State of a wire at `now`.
    pub(in super::super) fn view_of_wire(&self, out: &Transmitter, now: Picos) -> WireView {
        let faults = out.faults();
        let Place { part, index } = out.to;
        let flaps =
            |outage: scenario::Outage| outage.flap.is_some() && outage.next_change(now).is_some();
        WireView {
            is_up: faults.is_none_or(|faults| !faults.is_down(now)),
            is_flapping: faults.and_then(Faults::own_outage).is_some_and(flaps),
            is_avoided: self.rerouting.avoids(out.wire),
            impairment: faults.map(Faults::impairment).unwrap_or_default(),
            lost_frames: out.lost,
            damaged_frames: self.parts[part as usize].inward(index, out.to_port).damaged,
        }
    }

    fn out(&self, wire: WireId) -> &Transmitter {
        let fabric = self.scenario.fabric();
        let place = self.partition.place(fabric.wire(wire).from);
        let part = &self.parts[place.part as usize];
        let index = place.index as usize;
        match index.checked_sub(part.hosts.len()) {
            None => part.hosts[index].wires().0,
            Some(switch) => part.switches[switch].wires(fabric.wire(wire).from_port).0,
        }
    }

    /// The sending end of a wire.
    pub(super) fn out_mut(&mut self, wire: WireId) -> &mut Transmitter {
        let fabric = self.scenario.fabric();
        let place = self.partition.place(fabric.wire(wire).from);
        let part = &mut self.parts[place.part as usize];
        let hosts = part.hosts.len();
        let index = place.index as usize;
        match index.checked_sub(hosts) {
            None => part.hosts[index].out_mut(),
            Some(switch) => part.switches[switch].out_mut(fabric.wire(wire).from_port),
        }
    }

    /// The receiving end of a wire.
    pub(super) fn inward_mut(&mut self, wire: WireId) -> &mut Receiver {
        let fabric = self.scenario.fabric();
        let ends = fabric.ends(wire);
        let Place { part, index } = self.partition.place(fabric.wire(wire).to);
        let part = &mut self.parts[part as usize];
        let hosts = part.hosts.len();
        match (index as usize).checked_sub(hosts) {
            None => part.hosts[index as usize].inward_mut(),
            Some(switch) => part.switches[switch].inward_mut(ends.to_port),
        }
    }
}
