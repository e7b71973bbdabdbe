//! Advice for headroom that was too small.

use fabric_core::drop_reason::DropReason;

use super::{Dsh, Headroom};

impl Headroom {
    /// Returns which limit a lossless packet exceeded that was dropped for `reason`, and the key to change; `None` if
    /// the reason is not a limit of the buffer.
    pub const fn advice(&self, reason: DropReason) -> Option<&'static str> {
        Some(match (reason, self) {
            (DropReason::HeadroomExhausted, Self::Sih { bandwidth_delays: Some(_), .. }) => {
                "the headroom of its ingress queue was full; raise `switch.headroom.bandwidth_delays`, \
                 or leave it out for what the links need"
            }
            (DropReason::HeadroomExhausted, Self::Adaptive { .. }) => {
                "the headroom of its ingress queue was full, as its link was measured; raise \
                 `switch.headroom.bytes` if the link was not measured yet"
            }
            (DropReason::HeadroomExhausted, Self::Sih { bytes: Some(_), .. }) => {
                "the headroom of its ingress queue was full; raise `switch.headroom.bytes`, or leave it \
                 out for what the links need"
            }
            (DropReason::HeadroomExhausted, _) => {
                "the headroom of its ingress queue, which is what its link needs, was full"
            }
            (DropReason::HeadroomPoolExhausted, _) => {
                "the pool of oversubscribed headroom was empty; lower `switch.headroom.ratio`"
            }
            (DropReason::InsuranceExhausted, Self::Dsh(Dsh { insurance_headroom: false, .. })) => {
                "its port has no insurance headroom; set `switch.headroom.insurance_headroom` to true"
            }
            (DropReason::InsuranceExhausted, Self::Dsh(Dsh { bytes: Some(_), .. })) => {
                "the insurance headroom of its port was full; raise `switch.headroom.bytes`, or leave \
                 it out for what the links need"
            }
            (DropReason::InsuranceExhausted, _) => {
                "the insurance headroom of its port, which is what its link needs, was full"
            }
            (DropReason::NoDescriptor, _) => {
                "all descriptors were taken; lower the buffer (`switch.buffer`, `[[switches]]`) or send larger frames"
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use fabric_core::drop_reason::DropClass;
    use units::Bytes;

    use super::*;
    use crate::Scenario;

    const SIH: Headroom = Headroom::Sih { bytes: None, bandwidth_delays: None };

    #[test]
    fn every_rule_of_the_buffer_that_drops_lossless_packets_can_be_moved() {
        for &reason in DropReason::ALL {
            let of_lossy = matches!(
                reason,
                DropReason::LossyThreshold
                    | DropReason::LossyBufferFull
                    | DropReason::SojournTime
                    | DropReason::FairDrop
                    | DropReason::Codel
            );
            let of_lossless = reason.class() == DropClass::Policy && !of_lossy;
            assert_eq!(SIH.advice(reason).is_some(), of_lossless, "{reason}");
        }
    }

    #[test]
    fn advice_is_about_the_key_that_the_scenario_may_have() {
        let times = Headroom::Sih { bytes: None, bandwidth_delays: Some(1) };
        let bytes = Headroom::Sih { bytes: Some(Bytes(1)), bandwidth_delays: None };
        for (headroom, key) in
            [(bytes, "`switch.headroom.bytes`"), (times, "`switch.headroom.bandwidth_delays`")]
        {
            let advice = headroom.advice(DropReason::HeadroomExhausted).expect("a limit");
            assert!(advice.contains(&format!("raise {key}")), "{advice}");
        }
        let by_default = SIH.advice(DropReason::HeadroomExhausted).expect("a limit");
        assert!(!by_default.contains("raise"), "{by_default}");
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
            let scenario = Scenario::parse(&text, Path::new("advice.toml"), &[]);
            scenario.unwrap_or_else(|error| panic!("{error}")).switch.headroom
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
        ] {
            let advice = headroom.advice(reason).expect("a limit");
            assert!(advice.contains(part), "{reason}: {advice}");
        }
    }
}
