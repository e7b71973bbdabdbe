//! Reception of PFC: from a neighbour's frames to "may this priority start a transmission now?".
//!
//! A PAUSE takes effect one response time of the port after its reception (IEEE 802.1Qbb allows up
//! to 3840 byte times), and lasts until its quanta expire. A refresh only moves the expiry. XON
//! ends the pause at once. The traffic manager and the egress auditor use the same function.

use units::Nanos;

use crate::frame::PfcFields;
use crate::map_abi::{PauseState, Port, SwitchConfig, SwitchState, class_row};
use crate::policy::Policy;
use crate::priority::Priority;
use crate::tables::Tables;
use crate::watchdog;

/// The span `[binds, until)` in which a pause forbids transmissions to start, in any unit of time.
///
/// Switches store it in cells, in ns; hosts use picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PauseWindow<T> {
    /// Time at which the pause takes effect.
    pub binds: T,
    /// Time at which the pause ends or has ended.
    pub until: T,
}

impl<T: Copy + PartialOrd> PauseWindow<T> {
    /// Applies a PAUSE that is received at `now` and expires at `until`. A PAUSE that is not a
    /// refresh takes effect at `binds`, one response time later.
    #[inline(always)]
    pub fn pause(&mut self, now: T, binds: T, until: T) {
        if !self.is_running(now) {
            self.binds = binds;
        }
        self.until = until;
    }

    /// Applies an XON received at `now`. Starts before `now` that the pause forbade stay forbidden.
    #[inline(always)]
    pub fn resume(&mut self, now: T) {
        if self.is_running(now) {
            self.until = now;
        }
    }

    /// True if the pause has not ended at `now`. It need not have taken effect yet.
    #[inline(always)]
    pub fn is_running(&self, now: T) -> bool {
        self.until > now
    }

    /// True if no transmission may start at `start`.
    #[inline(always)]
    pub fn forbids(&self, start: T) -> bool {
        start >= self.binds && start < self.until
    }
}

impl PauseState {
    /// Applies a PAUSE for `duration_ns` (0: XON) received at `now`. A new pause takes effect `response_ns` later.
    #[inline(always)]
    pub fn receive(&self, now: Nanos, duration_ns: u64, response_ns: u64) {
        let before = self.window();
        let mut window = before;
        if duration_ns == 0 {
            window.resume(now);
        } else {
            if !before.is_running(now) {
                self.previous_binds_ns.store(before.binds.0);
                self.previous_until_ns.store(before.until.0);
            }
            window.pause(now, Nanos(now.0 + response_ns), Nanos(now.0 + duration_ns));
        }
        self.binds_ns.store(window.binds.0);
        self.until_ns.store(window.until.0);
    }

    /// Returns the latest pause.
    ///
    /// The auditor may read a PAUSE while it is being stored, beginning first. So the end is read
    /// first: an old end before a new beginning forbids nothing.
    #[inline(always)]
    pub fn window(&self) -> PauseWindow<Nanos> {
        let until = Nanos(self.until_ns.load());
        PauseWindow { binds: Nanos(self.binds_ns.load()), until }
    }

    /// True if a transmission that starts at `start` would violate the latest pause.
    #[inline(always)]
    pub fn forbids(&self, start: Nanos) -> bool {
        self.window().forbids(start)
    }

    /// True if a transmission that started at `start` violated the latest pause or the one before
    /// it. For frames that are audited after they have left.
    #[inline(always)]
    pub fn forbade(&self, start: Nanos) -> bool {
        self.forbids(start) || self.previous().forbids(start)
    }

    #[inline(always)]
    fn previous(&self) -> PauseWindow<Nanos> {
        let until = Nanos(self.previous_until_ns.load());
        PauseWindow { binds: Nanos(self.previous_binds_ns.load()), until }
    }
}

/// Duration of `quanta` of a PFC frame received at `port`, ns.
#[inline(always)]
pub fn duration_ns(port: &Port, quanta: u16) -> u64 {
    u64::from(quanta) * port.quantum_ps.load() / 1000
}

/// Applies a PFC frame received at `port`.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "where it came in, and what it says")]
pub fn receive<T: Tables>(
    tables: &T,
    policy: Policy,
    config: &SwitchConfig,
    switch: &SwitchState,
    port_number: u32,
    port: &Port,
    pfc: &PfcFields,
    now: Nanos,
) {
    port.received_pfc.add::<T>(1);
    if pfc.source == 0 {
        switch.zero_source_pfc.add::<T>(1);
    }
    let mut class = 0u32;
    while class < 8 {
        if pfc.class_enable >> class & 1 != 0 {
            let priority = Priority::from_bits(class);
            if !config.is_lossless(priority) {
                switch.lossy_pauses_ignored.add::<T>(1);
            } else if !watchdog::ignores_pause(tables, policy, port_number, priority)
                && let Some(row) = tables.egress_class(class_row(port_number, priority))
            {
                let duration_ns = duration_ns(port, pfc.quanta[class as usize]);
                row.pause.receive(now, duration_ns, port.response_ns.load());
            }
        }
        class += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::policy::{MarkingScheme, ThresholdScheme};
    use crate::tables::owned::OwnedTables;

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

    #[test]
    fn a_pause_at_the_instant_of_expiry_is_a_new_one() {
        let state = PauseState::default();
        state.receive(Nanos(1000), 5000, RESPONSE);
        state.receive(Nanos(6000), 5000, RESPONSE);
        assert!(!state.forbids(Nanos(6000)));
        assert!(!state.forbids(Nanos(6299)));
        assert!(state.forbids(Nanos(6300)));
        assert!(state.forbade(Nanos(5999)));
        assert!(!state.forbade(Nanos(6000)));
    }

    /// Applies a PFC frame at 1000 ns, at a port with response time 0.
    fn take(tables: &OwnedTables, class_enable: u8, quanta: u16) {
        let pfc = PfcFields { source: 1, class_enable, quanta: [quanta; 8] };
        let OwnedTables { config, switch, ports, .. } = tables;
        let policy = Policy::new(ThresholdScheme::Static, MarkingScheme::Off);
        receive(tables, policy, config, switch, 1, &ports[1], &pfc, Nanos(1000));
    }

    #[test]
    fn pauses_of_lossy_classes_are_counted_and_not_obeyed() {
        let config = SwitchConfig { lossless_classes: 1 << 3, ..SwitchConfig::default() };
        let tables = OwnedTables::new(config, 0);
        take(&tables, 1 << 3 | 1 << 4 | 1, 1000);
        for class in 0..8 {
            let pause = &tables.egress_class_of(1, class).pause;
            assert_eq!(pause.forbids(Nanos(1000)), class == 3, "class {class}");
        }
        assert_eq!(tables.switch.lossy_pauses_ignored.load(), 2);
        assert_eq!(tables.switch.zero_source_pfc.load(), 0);
        assert_eq!(tables.ports[1].received_pfc.load(), 1);
    }

    /// A quantum is 5.12 ns at 100 Gbit/s.
    #[test]
    fn a_pause_is_never_longer_than_its_quanta() {
        for (quanta, expected) in [(1, 5), (24, 122), (25, 128), (u16::MAX, 335_539)] {
            let config = SwitchConfig { lossless_classes: 1 << 3, ..SwitchConfig::default() };
            let tables = OwnedTables::new(config, 0);
            take(&tables, 1 << 3, quanta);
            let pause = &tables.egress_class_of(1, 3).pause;
            assert!(pause.forbids(Nanos(1000 + expected - 1)), "{quanta} quanta");
            assert!(!pause.forbids(Nanos(1000 + expected)), "{quanta} quanta");
        }
    }
}
