//! Kind "pfc-service-pools" of `switch.scheme`.

use fabric_core::scheme::{SchemeSettings, service_pools};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::SwitchId;
use units::Bytes;
use units::checked::SomeBytes;

use super::kind::{Check, Kind};
use crate::document::Document;
use crate::{Order, PauseLasts, Scenario, quantity};

/// PFC on pools as in ConWeave's simulator: a packet counts in a pool at ingress and in one at egress. Every packet above the
/// threshold sends a PAUSE. `headroom` counts for each port, and each port also sets aside eight frames in both pools. Needs
/// `order = "insertion"`, `pause_lasts` of a time, `threshold` of kind "dt", and `headroom.bandwidth_delays`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct ServicePools {
    /// Length of a full frame: two are added to the headroom of a port, and a queue that holds up to two is not paused.
    /// Default "1048B".
    #[serde(default = "default_frame")]
    pub frame: SomeBytes,
}

fn default_frame() -> SomeBytes {
    SomeBytes::within(service_pools::Settings::default().frame)
}

impl Default for ServicePools {
    fn default() -> Self {
        Self { frame: default_frame() }
    }
}

impl ServicePools {
    fn settings_of(self, buffer: Bytes) -> service_pools::Settings {
        service_pools::Settings { buffer, frame: self.frame.get() }
    }
}

impl Kind for ServicePools {
    const NAME: &'static str = "PFC";
    const NEEDS_STATIC_HEADROOM: Option<&'static str> = Some("PFC on service pools");

    fn check(&self, scenario: &Scenario, document: &Document<'_>) -> Check {
        let switch = &scenario.switch;
        let others = [
            ("order", scenario.order != Order::Insertion, "order = \"insertion\""),
            (
                "switch.pause_lasts",
                !matches!(switch.pause_lasts, PauseLasts::Time(_)),
                "switch.pause_lasts = \"5us\"",
            ),
            (
                "switch.threshold",
                switch.threshold.dt().is_none(),
                "switch.threshold = { kind = \"dt\", alpha = \"1/16\", xon_offset = \"1B\" }",
            ),
            (
                "switch.headroom",
                switch.headroom.given_bandwidth_delays().is_none(),
                "switch.headroom = { kind = \"sih\", bandwidth_delays = 2 }",
            ),
        ];
        match others.iter().find(|(_, is_other, _)| *is_other) {
            None => Ok(()),
            Some((path, _, keys)) => {
                let title = "PFC on service pools with other rules than the simulator's";
                let help = format!("write {keys}, or dialect = \"conweave-ns3\"");
                Err(document.error(path, title, &help))
            }
        }
    }

    fn check_at(&self, scenario: &Scenario, switch: SwitchId, document: &Document<'_>) -> Check {
        let buffer = scenario.switch_at(switch).buffer();
        let products = scenario.buffer_pools(switch).headroom_by_port;
        let [aside, _] = self.settings_of(buffer).set_aside(products);
        if aside < buffer {
            return Ok(());
        }
        let name = &scenario.fabric().switch(switch).name;
        let title = format!("switch `{name}` sets aside all of its buffer");
        let help = format!(
            "headroom and frames of its ports take {}: write more",
            quantity::display(aside)
        );
        Err(document.error("switch.buffer", &title, &help))
    }

    fn settings(&self, scenario: &Scenario, switch: SwitchId) -> SchemeSettings {
        let buffer = scenario.switch_at(switch).buffer();
        SchemeSettings::ServicePools(self.settings_of(buffer))
    }

    fn reserved(&self, required: Bytes) -> Bytes {
        self.settings_of(Bytes(0)).headroom(required)
    }
}
