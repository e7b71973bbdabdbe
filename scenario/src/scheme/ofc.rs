//! Kind "ofc" of `switch.scheme`: pauses of flows.

use fabric_core::scheme::ofc::state::QUEUES;
use fabric_core::scheme::{SchemeSettings, ofc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::SwitchId;
use units::{Bytes, Picos};

use super::Scheme;
use super::kind::{Check, Kind, Part, PausedParts};
use crate::Scenario;
use crate::document::Document;
use crate::priority::Priorities;
use crate::quantity;
use crate::ratio::Ratio;
use crate::switch::Switch;
use crate::threshold::Threshold;

/// Original congestion-based fine-grained priority Flow Control (OFC; Xiao et al.). A switch sends its neighbour
/// the names of congested flows, and the neighbour keeps their packets in a backup queue while other packets pass.
/// If congestion comes from beyond an egress port, the switch names only flows that this port's neighbour has
/// named. From `xoff` on PFC pauses the class. Needs `threshold` of kind "static" and headroom of kind "sih".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Ofc {
    /// Priorities whose flows are paused: lossless, not `control_priority`. Each has three queues at a port.
    /// Default `[3]`.
    #[serde(default = "super::bfc::default_priorities")]
    pub priorities: Priorities,
    /// Fraction of `threshold.xoff` at which flows are paused, if both their ingress queue and their egress queue
    /// hold this much. Above `xon` / `xoff`, below 1. Default "9/10".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<Ratio>,
    /// Size at which flows are paused, instead of `alpha`. Above `threshold.xon`, below `threshold.xoff`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congested: Option<Bytes>,
    /// Flow table entries of an egress port, 1 to 4096. If all are in use, the switch pauses the class. Default
    /// 256.
    #[serde(default = "default_flow_table")]
    #[schemars(range(min = 1, max = 4096))]
    pub flow_table: u32,
    /// Time after which a switch names its paused flows again, "10us" or more. Neighbours forget flows that were
    /// not named for three such times, so that lost frames do no lasting harm. Default: never, as in the paper.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Picos>,
}

/// Parameters of flow pauses, equal at all switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowPauses {
    /// Lengths of an ingress queue at which flows are resumed, flows are paused, and the class is paused.
    pub thresholds: [Bytes; 3],
    /// Entries of a port's flow table.
    pub flow_entries: u32,
    /// Size of a port's flow table.
    pub flow_table: Bytes,
}

/// The paper's middle value (Section IV-C2).
const DEFAULT_ALPHA: Ratio = Ratio::new(9, 10);

const fn default_flow_table() -> u32 {
    256
}

/// Shortest time after which pauses are repeated.
const MIN_REPEAT: Picos = Picos(10_000_000);

impl Ofc {
    /// `X_off^c` for this `X_off`. A neighbour must pause a flow whose ingress queue and egress queue have reached it.
    pub fn congested(&self, xoff: Bytes) -> Bytes {
        match (self.congested, self.alpha) {
            (Some(bytes), _) => bytes,
            (None, Some(alpha)) => Bytes(alpha.scale(xoff.0)),
            (None, None) => xoff,
        }
    }

    /// Size of a port's flow table.
    pub fn table_size(&self) -> Bytes {
        Bytes(u64::from(self.flow_table) * size_of::<ofc::state::FlowEntry>() as u64)
    }
}

impl Kind for Ofc {
    const NAME: &'static str = "OFC";
    const NEEDS_STATIC_HEADROOM: Option<&'static str> = Some("OFC");
    const TABLES: &'static [(&'static str, &'static str)] =
        &[("egress_queues", ""), ("flow_pauses", "")];

    fn complete(&mut self, _: Priorities, document: &Document<'_>) -> Check {
        let wrong = |key: &str, title: &str, help: &str| {
            Err(document.error(&format!("switch.scheme.{key}"), title, help))
        };
        let Self { priorities, alpha, congested, flow_table, repeat } = *self;
        if priorities.count() == 0 {
            return wrong("priorities", "no priority", "write one or more of 0 to 7, such as [3]");
        }
        let Some(options) = ofc::Options::new(priorities.0, flow_table) else {
            let title = format!("a flow table of {flow_table} entries");
            let help = format!("write 1 to {}", ofc::Options::MAX_ENTRIES);
            return wrong("flow_table", &title, &help);
        };
        if let Some(period) = repeat.filter(|period| *period < MIN_REPEAT) {
            let title = format!("flows are named again every {}", quantity::display(period));
            let help = "write \"10us\" or more, or leave the key out";
            return wrong("repeat", &title, help);
        }
        match (alpha, congested) {
            (Some(_), Some(_)) => {
                let help = "`alpha` is the same as a part of `xoff`: write one of the two";
                return wrong("congested", "two thresholds for flows", help);
            }
            (None, None) => self.alpha = Some(DEFAULT_ALPHA),
            (Some(_), None) | (None, Some(_)) => {}
        }
        // A multiple of four.
        self.flow_table = options.entries();
        Ok(())
    }

    fn check(&self, scenario: &Scenario, document: &Document<'_>) -> Check {
        let switch = &scenario.switch;
        let wrong = |key: &str, title: &str, help: &str| Err(document.error(key, title, help));
        let key = "switch.scheme.priorities";
        if let Some(lossy) = self.priorities.iter().find(|&it| !switch.lossless.contains(it)) {
            let title = format!("flows of priority {lossy} are paused, and it is lossy");
            return wrong(key, &title, "name it in switch.lossless, or leave it out");
        }
        if switch.control_priority.0.is_some_and(|it| self.priorities.contains(it)) {
            let help = "the control queue is never paused: leave the priority out, or write control_priority = \"none\"";
            return wrong(key, "the control priority is not paused", help);
        }
        let Threshold::Static { xoff, xon } = switch.threshold else {
            let help = "its three thresholds are fixed: write threshold = { kind = \"static\", xoff = \"75kB\", \
                        xon = \"45kB\" }, say";
            return wrong("switch.threshold", "OFC without a fixed `xoff` and `xon`", help);
        };
        let congested = self.congested(xoff);
        if congested <= xon || congested >= xoff {
            let title = format!(
                "flows are paused from {} on, which is not between xon ({}) and xoff ({})",
                quantity::display(congested),
                quantity::display(xon),
                quantity::display(xoff)
            );
            let (key, help) = if self.congested.is_some() {
                ("switch.scheme.congested", "write a size between them, without these")
            } else {
                (
                    "switch.scheme.alpha",
                    "write an `alpha` above xon / xoff and below 1 (Section III-C of the paper), or `congested`",
                )
            };
            return wrong(key, &title, help);
        }
        Ok(())
    }

    fn settings(&self, scenario: &Scenario, switch: SwitchId) -> SchemeSettings {
        let options = ofc::Options::new(self.priorities.0, self.flow_table);
        SchemeSettings::Ofc(ofc::Settings {
            options: options.expect("it was checked"),
            congested: self.congested(scenario.static_xoff(switch)),
        })
    }

    fn paused_parts(&self) -> Option<PausedParts> {
        let queues = u32::from(QUEUES);
        Some(PausedParts { part: Part::Flow, priorities: self.priorities, queues })
    }

    fn announcement_period(&self, _: &Scenario) -> Option<Picos> {
        self.repeat
    }
}

impl Switch {
    /// Returns the parameters of flow pauses, if the switch pauses flows.
    pub fn flow_pauses(&self) -> Option<FlowPauses> {
        let (Scheme::Ofc(ofc), Threshold::Static { xoff, xon }) = (&self.scheme, &self.threshold)
        else {
            return None;
        };
        Some(FlowPauses {
            thresholds: [*xon, ofc.congested(*xoff), *xoff],
            flow_entries: ofc.flow_table,
            flow_table: ofc.table_size(),
        })
    }
}
