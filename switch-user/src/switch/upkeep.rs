//! What the control plane has a switch do, whatever packets do.

use fabric_core::scheme::Scheme;
use units::Picos;

use super::port::ControlFrame;
use super::{Switch, superseded};

impl<F: Copy + Default, S: Scheme> Switch<F, S> {
    /// Lets the control plane compute and store thresholds.
    pub fn observe(&mut self, now: Picos) {
        self.tables.observe_under::<S>(self.config.computed, now.to_nanos());
    }

    /// Lets the buffer management of lossy priorities count what needs no packet.
    pub fn update_lossy(&mut self, now: Picos) {
        self.tables.update_lossy(self.config.policy, now.to_nanos());
    }

    /// Tells the neighbour of a port what the scheme [announces](Scheme::announce), if it does.
    pub fn announce(&mut self, port: u16) {
        let Self { tables, config, ports, discarded, .. } = self;
        S::announce(&*tables, config.policy, port.into(), &mut |control| {
            let frame = ControlFrame { control, built: None };
            ports.push_control(port, frame, &mut superseded(discarded));
        });
    }
}
