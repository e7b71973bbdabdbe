//! Advice for headroom that was too small.

use fabric_core::drop_reason::DropReason;

use crate::headroom::Headroom;
use crate::switch::Switch;

impl Switch {
    /// Returns which limit a lossless packet exceeded that was dropped for `reason`, and the key to change; `None` if
    /// the reason is not a limit of the buffer.
    pub fn headroom_advice(&self, reason: DropReason) -> Option<&'static str> {
        if let Some(advice) = self.scheme.advice(reason) {
            return Some(advice);
        }
        let is_given = self.headroom.given_bytes().is_some();
        Some(match (reason, &self.headroom) {
            (DropReason::InsuranceExhausted, Headroom::Sih { bandwidth_delays: Some(_), .. }) => {
                "the insurance headroom of its port was full; raise `switch.headroom.bandwidth_delays`, \
                 or leave it out for what the links need"
            }
            (DropReason::InsuranceExhausted, ..) if is_given => {
                "the insurance headroom of its port was full; raise `switch.headroom.bytes`, or leave \
                 it out for what the links need"
            }
            (DropReason::InsuranceExhausted, ..) => {
                "the insurance headroom of its port, which is what its link needs, was full"
            }
            (DropReason::HeadroomExhausted, Headroom::Adaptive { .. }) => {
                "the headroom of its ingress queue was full, as its link was measured; raise \
                 `switch.headroom.bytes` if the link was not measured yet"
            }
            (DropReason::HeadroomExhausted, Headroom::Sih { bandwidth_delays: Some(_), .. }) => {
                "the headroom of its ingress queue was full; raise `switch.headroom.bandwidth_delays`, \
                 or leave it out for what the links need"
            }
            (DropReason::HeadroomExhausted, ..) if is_given => {
                "the headroom of its ingress queue was full; raise `switch.headroom.bytes`, or leave it \
                 out for what the links need"
            }
            (DropReason::HeadroomExhausted, ..) => {
                "the headroom of its ingress queue, which is what its link needs, was full"
            }
            (DropReason::HeadroomPoolExhausted, ..) => {
                "the pool of oversubscribed headroom was empty; lower `switch.scheme.ratio`"
            }
            (DropReason::EgressPoolExhausted, ..) => {
                "its egress queue held as much as the egress pool had left; raise `switch.buffer`"
            }
            (DropReason::NoDescriptor, ..) => {
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

    use super::*;
    use crate::Scenario;

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

    fn switch(keys: &str) -> Switch {
        let text = SCENARIO.replace("[switch]", &format!("[switch]\n{keys}"));
        let scenario = Scenario::parse(&text, Path::new("advice.toml"), &[]);
        scenario.unwrap_or_else(|error| panic!("{error}")).switch
    }

    #[test]
    fn each_limit_of_lossless_packets_has_advice() {
        let plain = switch("");
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
            assert_eq!(plain.headroom_advice(reason).is_some(), of_lossless, "{reason}");
        }
    }

    #[test]
    fn advice_names_the_key_of_the_scenario() {
        let dsh = |keys: &str| format!("scheme = {{ kind = \"dsh\"{keys} }}\n");
        let given = "headroom = { kind = \"sih\", bytes = \"60kB\" }";
        let delays = "headroom = { kind = \"sih\", bandwidth_delays = 1 }";
        for (reason, keys, part) in [
            (
                DropReason::InsuranceExhausted,
                dsh(", insurance_headroom = false"),
                "set `switch.scheme.insurance_headroom`",
            ),
            (
                DropReason::InsuranceExhausted,
                dsh("") + given,
                "its port was full; raise `switch.headroom.bytes`",
            ),
            (
                DropReason::InsuranceExhausted,
                dsh(", insurance_headroom = false") + delays,
                "set `switch.scheme.insurance_headroom`",
            ),
            (
                DropReason::InsuranceExhausted,
                dsh("") + delays,
                "its port was full; raise `switch.headroom.bandwidth_delays`",
            ),
            (DropReason::InsuranceExhausted, dsh(""), "its port, which is what its link needs"),
            (DropReason::HeadroomPoolExhausted, String::new(), "lower `switch.scheme.ratio`"),
            (
                DropReason::HeadroomExhausted,
                String::new(),
                "its ingress queue, which is what its link needs",
            ),
            (DropReason::HeadroomExhausted, given.to_owned(), "raise `switch.headroom.bytes`"),
            (
                DropReason::HeadroomExhausted,
                delays.to_owned(),
                "its ingress queue was full; raise `switch.headroom.bandwidth_delays`",
            ),
            (
                DropReason::HeadroomExhausted,
                "headroom = { kind = \"adaptive\", bytes = \"60kB\" }".to_owned(),
                "as its link was measured",
            ),
            (DropReason::NoDescriptor, String::new(), "all descriptors were taken"),
        ] {
            let advice = switch(&keys).headroom_advice(reason).expect("a limit");
            assert!(advice.contains(part), "{reason}: {advice}");
        }
    }
}
