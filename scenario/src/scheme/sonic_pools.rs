//! Kind "pfc-sonic-pools" of `switch.scheme`.

use std::num::NonZeroU32;

use fabric_core::scheme::{SchemeSettings, sonic_pools};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::SwitchId;
use units::Bytes;

use super::kind::{Check, Kind};
use crate::document::Document;
use crate::{Order, PauseLasts, Scenario};

/// PFC on SONiC's pools as in ns3-datacenter: a packet counts in a pool at ingress and in one at egress, and headroom of eight
/// queues of each port is set aside. The packet that takes its queue above the threshold is in headroom, and so are all behind
/// it until headroom is empty. Needs `order = "insertion"`, `pause_lasts = "until-resume"` and `threshold` of kind "dt".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct SonicPools {
    /// Alpha of egress queues: a queue may hold this many times what the buffer has left. Default 65535, as the simulator's
    /// burst program has it; its fairness program has 1.
    pub egress_alpha: NonZeroU32,
    /// Length below which a paused queue without headroom resumes, whatever its threshold. Default "1248B".
    pub xon: Bytes,
}

impl Default for SonicPools {
    fn default() -> Self {
        let sonic_pools::Settings { egress_alpha, xon, .. } = sonic_pools::Settings::default();
        let egress_alpha = NonZeroU32::new(egress_alpha).expect("the default is not zero");
        Self { egress_alpha, xon }
    }
}

impl Kind for SonicPools {
    const NAME: &'static str = "PFC";
    const NEEDS_STATIC_HEADROOM: Option<&'static str> = Some("PFC on SONiC's pools");

    fn check(&self, scenario: &Scenario, document: &Document<'_>) -> Check {
        let switch = &scenario.switch;
        let others = [
            ("order", scenario.order != Order::Insertion, "order = \"insertion\""),
            (
                "switch.pause_lasts",
                switch.pause_lasts != PauseLasts::UntilResume,
                "switch.pause_lasts = \"until-resume\"",
            ),
            (
                "switch.threshold",
                switch.threshold.dt().is_none(),
                "switch.threshold = { kind = \"dt\", alpha = \"1/8\", xon_offset = \"2496B\" }",
            ),
        ];
        match others.iter().find(|(_, is_other, _)| *is_other) {
            None => Ok(()),
            Some((path, _, keys)) => {
                let title = "PFC on SONiC's pools with other rules than the simulator's";
                let help = format!("write {keys}, or dialect = \"ns3-datacenter\"");
                Err(document.error(path, title, &help))
            }
        }
    }

    fn settings(&self, scenario: &Scenario, switch: SwitchId) -> SchemeSettings {
        let buffer = scenario.switch_at(switch).buffer();
        let Self { egress_alpha, xon } = *self;
        let egress_alpha = egress_alpha.get();
        SchemeSettings::SonicPools(sonic_pools::Settings { buffer, egress_alpha, xon })
    }
}
