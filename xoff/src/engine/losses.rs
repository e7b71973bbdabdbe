//! Lossless packets that switches drop: which limit they met, and what to change.

use fabric_core::drop_reason::DropReason;

use super::Engine;
use crate::datapath::Datapath;
use crate::results::counted;
use crate::scenario::{Dsh, Headroom};
use crate::topology::SwitchId;

impl<D: Datapath> Engine<'_, D> {
    /// A switch drops a frame. Counts it if it is a packet of a lossless priority.
    pub(super) fn count_lossless(&mut self, switch: u32, reason: DropReason, priority: Option<u8>) {
        if priority.is_some_and(|priority| self.scenario.switch.lossless.contains(priority)) {
            *self.lossless_drops.entry((switch, reason)).or_default() += 1;
        }
    }

    /// The limits that lossless packets met, in the order of switches and reasons.
    pub(super) fn limits_reached(&self) -> Vec<String> {
        let headroom = &self.scenario.switch.headroom;
        let line = |(&(switch, reason), &packets): (&(u32, DropReason), &u64)| {
            let faults = lost_pauses(self.injected_pause_losses.get(&switch).copied());
            let switch = &self.scenario.fabric().switch(SwitchId(switch)).name;
            let packets = counted(packets, "lossless packet");
            format!("{switch} dropped {packets} ({reason}): {}{faults}", advice(reason, headroom))
        };
        self.lossless_drops.iter().map(line).collect()
    }
}

/// What the scenario's faults have to do with it: PAUSE frames of the switch that they took.
fn lost_pauses(frames: Option<u64>) -> String {
    frames.map_or_else(String::new, |frames| {
        format!("; faults took {} of the switch", counted(frames, "PAUSE frame"))
    })
}

/// Which limit a lossless packet met, and what to change.
const fn advice(reason: DropReason, headroom: &Headroom) -> &'static str {
    match (reason, headroom) {
        (DropReason::HeadroomExhausted, Headroom::Sih { bandwidth_delays: Some(_), .. }) => {
            "the headroom of its ingress queue was full; raise `switch.headroom.bandwidth_delays`, \
             or leave it out for what the links need"
        }
        (DropReason::HeadroomExhausted, Headroom::Adaptive { .. }) => {
            "the headroom of its ingress queue was full, as its link was measured; raise \
             `switch.headroom.bytes` if the link was not measured yet"
        }
        (DropReason::HeadroomExhausted, Headroom::Sih { bytes: Some(_), .. }) => {
            "the headroom of its ingress queue was full; raise `switch.headroom.bytes`, or leave it \
             out for what the links need"
        }
        (DropReason::HeadroomExhausted, _) => {
            "the headroom of its ingress queue, which is what its link needs, was full"
        }
        (DropReason::HeadroomPoolExhausted, _) => {
            "the pool of oversubscribed headroom was empty; lower `switch.headroom.ratio`"
        }
        (DropReason::InsuranceExhausted, Headroom::Dsh(Dsh { insurance_headroom: false, .. })) => {
            "its port has no insurance headroom; set `switch.headroom.insurance_headroom` to true"
        }
        (DropReason::InsuranceExhausted, Headroom::Dsh(Dsh { bytes: Some(_), .. })) => {
            "the insurance headroom of its port was full; raise `switch.headroom.bytes`, or leave it \
             out for what the links need"
        }
        (DropReason::InsuranceExhausted, _) => {
            "the insurance headroom of its port, which is what its link needs, was full"
        }
        (DropReason::NoDescriptor, _) => {
            "all descriptors were taken; lower `switch.buffer` or send larger frames"
        }
        _ => UNEXPECTED,
    }
}

const UNEXPECTED: &str =
    "no buffer was full: the frame came from outside the run, or xoff is at fault";

#[cfg(test)]
mod tests {
    use super::*;
    use fabric_core::drop_reason::DropClass;
    use fabric_core::units::Bytes;

    const SIH: Headroom = Headroom::Sih { bytes: None, bandwidth_delays: None };

    #[test]
    fn every_rule_of_the_buffer_that_drops_lossless_packets_can_be_moved() {
        for &reason in DropReason::ALL {
            let of_lossless =
                reason.class() == DropClass::Policy && reason != DropReason::LossyThreshold;
            assert_eq!(advice(reason, &SIH) != UNEXPECTED, of_lossless, "{reason}");
        }
    }

    #[test]
    fn advice_is_about_the_key_that_the_scenario_may_have() {
        let times = Headroom::Sih { bytes: None, bandwidth_delays: Some(1) };
        let bytes = Headroom::Sih { bytes: Some(Bytes(1)), bandwidth_delays: None };
        for (headroom, key) in
            [(bytes, "`switch.headroom.bytes`"), (times, "`switch.headroom.bandwidth_delays`")]
        {
            let advice = advice(DropReason::HeadroomExhausted, &headroom);
            assert!(advice.contains(&format!("raise {key}")), "{advice}");
        }
        let by_default = advice(DropReason::HeadroomExhausted, &SIH);
        assert!(!by_default.contains("raise"), "{by_default}");
    }

    #[test]
    fn pauses_that_faults_took_are_named_and_other_frames_are_not() {
        assert_eq!(lost_pauses(None), "");
        assert_eq!(lost_pauses(Some(2)), "; faults took 2 PAUSE frames of the switch");
    }

    const SCENARIO: &str = r#"
duration = "1ms"
[topology]
kind = "star"
hosts = 2
host_link = { rate = "100Gbps", delay = "1us" }
[switch]
[[flows]]
kind = "one"
src = "h0"
dst = "h1"
bytes = "1kB"
"#;

    #[test]
    fn advice_follows_the_scheme() {
        let of = |headroom: &str| {
            let text = SCENARIO.replace("[switch]", &format!("[switch]\nheadroom = {headroom}"));
            crate::engine::tests::scenario(&text).switch.headroom
        };
        let dsh = |settings: &str| of(&format!("{{ kind = \"dsh\"{settings} }}"));
        let [default, uninsured] = ["", ", insurance_headroom = false"].map(dsh);
        let given = dsh(", bytes = \"60kB\"");
        let adaptive = of("{ kind = \"adaptive\", bytes = \"60kB\", period = \"100us\" }");
        for (reason, headroom, part) in [
            (
                DropReason::InsuranceExhausted,
                &uninsured,
                "set `switch.headroom.insurance_headroom`",
            ),
            (
                DropReason::InsuranceExhausted,
                &given,
                "its port was full; raise `switch.headroom.bytes`",
            ),
            (DropReason::InsuranceExhausted, &default, "its port, which is what its link needs"),
            (DropReason::HeadroomPoolExhausted, &SIH, "lower `switch.headroom.ratio`"),
            (
                DropReason::HeadroomExhausted,
                &SIH,
                "its ingress queue, which is what its link needs",
            ),
            (DropReason::HeadroomExhausted, &adaptive, "as its link was measured"),
            (DropReason::NoDescriptor, &SIH, "all descriptors were taken"),
            (DropReason::InjectedLoss, &SIH, UNEXPECTED),
        ] {
            let advice = advice(reason, headroom);
            assert!(advice.contains(part), "{reason}: {advice}");
        }
    }
}
