//! Reception of PFC: from a neighbour's frames to "may this priority start a transmission now?".
//!
//! A PAUSE binds from its reception plus the port's response time (IEEE 802.1Qbb allows up to 3840 byte
//! times) until its quanta expire. A refresh moves the expiry and nothing else. XON ends the pause at
//! once. The traffic manager and the egress auditor ask the same function.

use crate::frame::PfcFields;
use crate::map_abi::{PauseState, Port, SwitchConfig, SwitchState};
use crate::tables::{Tables, ingress_index};
use crate::units::Nanos;

impl PauseState {
    /// A PAUSE for `duration_ns` was received at `now`; 0 is XON. A first PAUSE binds `response_ns` later.
    #[inline(always)]
    pub fn receive(&self, now: Nanos, duration_ns: u64, response_ns: u64) {
        let running = self.until_ns.load() > now.0;
        if duration_ns == 0 {
            if running {
                self.until_ns.store(now.0);
            }
            return;
        }
        if !running {
            self.previous_binds_ns.store(self.binds_ns.load());
            self.previous_until_ns.store(self.until_ns.load());
            self.binds_ns.store(now.0 + response_ns);
        }
        self.until_ns.store(now.0 + duration_ns);
    }

    /// Whether a transmission that starts at `start` would break the latest pause.
    #[inline(always)]
    pub fn forbids(&self, start: Nanos) -> bool {
        start.0 >= self.binds_ns.load() && start.0 < self.until_ns.load()
    }

    /// Likewise, or the pause before it: for frames seen after they have left.
    #[inline(always)]
    pub fn forbade(&self, start: Nanos) -> bool {
        self.forbids(start)
            || (start.0 >= self.previous_binds_ns.load() && start.0 < self.previous_until_ns.load())
    }
}

/// Applies a PFC frame that came in at `port`.
#[inline(always)]
pub fn receive<T: Tables>(
    tables: &T,
    config: &SwitchConfig,
    switch: &SwitchState,
    port_number: u32,
    port: &Port,
    pfc: &PfcFields,
    now: Nanos,
) {
    port.received_pfc.add(1);
    if pfc.source == 0 {
        switch.zero_source_pfc.add(1);
    }
    let mut class = 0u32;
    while class < 8 {
        if pfc.class_enable >> class & 1 != 0 {
            if config.lossless_classes >> class & 1 == 0 {
                switch.lossy_pauses_ignored.add(1);
            } else if let Some(lane) = tables.lane(ingress_index(port_number, class)) {
                let duration_ps = u64::from(pfc.quanta[class as usize]) * port.quantum_ps.load();
                lane.pause.receive(now, duration_ps / 1000, port.response_ns.load());
            }
        }
        class += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESPONSE: u64 = 300;

    #[test]
    fn a_pause_binds_after_the_response_time_until_it_expires() {
        let state = PauseState::default();
        state.receive(Nanos(1000), 5000, RESPONSE);
        assert!(!state.forbids(Nanos(1000)));
        assert!(!state.forbids(Nanos(1299)));
        assert!(state.forbids(Nanos(1300)));
        assert!(state.forbids(Nanos(5999)));
        assert!(!state.forbids(Nanos(6000)));
    }

    #[test]
    fn a_refresh_extends_without_a_new_response_time() {
        let state = PauseState::default();
        state.receive(Nanos(1000), 5000, RESPONSE);
        state.receive(Nanos(4000), 5000, RESPONSE);
        assert!(state.forbids(Nanos(4000)));
        assert!(state.forbids(Nanos(8999)));
        assert!(!state.forbids(Nanos(9000)));
    }

    #[test]
    fn xon_resumes_at_once_and_the_past_is_remembered() {
        let state = PauseState::default();
        state.receive(Nanos(1000), 5000, RESPONSE);
        state.receive(Nanos(2000), 0, RESPONSE);
        assert!(!state.forbids(Nanos(2000)));
        assert!(state.forbade(Nanos(1500)));
        state.receive(Nanos(2500), 5000, RESPONSE);
        assert!(state.forbade(Nanos(1500)));
        assert!(!state.forbade(Nanos(2100)));
    }

    #[test]
    fn xon_without_a_pause_changes_nothing() {
        let state = PauseState::default();
        state.receive(Nanos(1000), 0, RESPONSE);
        assert!(!state.forbade(Nanos(1000)));
    }
}
