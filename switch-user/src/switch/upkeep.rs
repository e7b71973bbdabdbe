//! Periodic work of the control plane at a switch.

use fabric_core::scheme::Scheme;
use units::Picos;

use super::port::ControlFrame;
use super::{Switch, superseded};

impl<F: Copy + Default, S: Scheme> Switch<F, S> {
    /// Lets the control plane compute and store thresholds.
    pub fn observe(&mut self, now: Picos) {
        self.tables.observe_under::<S>(self.config.computed, now.to_nanos());
    }

    /// Runs the periodic update of the lossy priorities' buffer management.
    pub fn update_lossy(&mut self, now: Picos) {
        self.tables.update_lossy(self.config.policy, now.to_nanos());
    }

    /// Queues the hop control frames that the scheme periodically [announces](fabric_core::scheme::Announces::announce) to the neighbour of a
    /// port.
    pub fn announce(&mut self, port: u16) {
        let Self { tables, config, ports, discarded, .. } = self;
        S::announce(&*tables, config.policy, port.into(), &mut |control| {
            let frame = ControlFrame { control, built: None };
            ports.push_control(port, frame, &mut superseded(discarded));
        });
    }
}
