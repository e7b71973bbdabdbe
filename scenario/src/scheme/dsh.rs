//! Kind "dsh" of `switch.scheme`: dynamic and shared headroom.

use fabric_core::drop_reason::DropReason;
use fabric_core::headroom;
pub use fabric_core::scheme::dsh::Estimation;
use fabric_core::scheme::{SchemeSettings, dsh};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::SwitchId;
use units::checked::Checked;
use units::{Bytes, Picos};

use super::kind::{Check, Kind};
use super::power_of_two::{LeftShift, RightShift, shift};
use super::{Spfc, Victims};
use crate::Scenario;
use crate::document::Document;
use crate::priority::Priorities;
use crate::ratio::Ratio;

/// Dynamic and shared headroom (DSH): congested queues take headroom from the shared pool, and each port has
/// insurance headroom for the packets that do not fit there: as much as `headroom` gives a queue, which is also the
/// maximum estimate for a queue (Phi). Needs headroom of kind "sih".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct Dsh {
    /// Weight of a queue's latest gradient in its average (`w_g`): "1", "1/2", "1/4" .. "1/64".
    /// Default "1/4".
    pub gradient_weight: RightShift,
    /// Weight of the latest deviation from the average gradient (`w_v`): "1", "1/2", "1/4" .. "1/64". Default "1/4".
    pub deviation_weight: RightShift,
    /// Number of mean deviations by which an estimate exceeds the average gradient (`k`): 1, 2, 4 .. 64. Default 4.
    pub deviation_gain: LeftShift,
    /// Time after which the queue of a port that holds packets of one queue only pauses at T(t), without shared
    /// headroom. Default "10ms".
    pub single_queue_window: Picos,
    /// Difference of a port's PAUSE threshold and its RESUME threshold. Default "0B".
    pub port_xon_offset: Bytes,
    /// True if queues get headroom from the shared buffer. A queue then pauses below its share, by the headroom that it
    /// is estimated to need, and may afterwards use the shares of its port's other queues. If false, packets after a
    /// queue's PAUSE use the port's insurance headroom, which pauses the port. Default true.
    pub shared_headroom: bool,
    /// True if ports have insurance headroom. If false, packets may be lost. Default true.
    pub insurance_headroom: bool,
    /// Computation of the headroom that a queue needs: "practical" (look-up tables, DSH Algorithm 3) or "conceptual"
    /// (division and multiplication, Algorithm 2). Default "practical".
    pub estimation: Estimation,
    /// Settings of SPFC if ports may be victims, which have the whole shared buffer as threshold; the alpha of normal
    /// ports is then "2" by default, and `threshold` is of kind "dt". Default: no port is a victim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub victims: Option<Victims>,
}

impl Default for Dsh {
    /// Defaults of DSH's evaluation, section V.
    fn default() -> Self {
        Self {
            gradient_weight: Checked::within(Ratio::new(1, 4)),
            deviation_weight: Checked::within(Ratio::new(1, 4)),
            deviation_gain: Checked::within(Ratio::new(4, 1)),
            single_queue_window: Picos(10_000_000_000),
            port_xon_offset: Bytes::default(),
            shared_headroom: true,
            insurance_headroom: true,
            estimation: Estimation::default(),
            victims: None,
        }
    }
}

impl Kind for Dsh {
    const NAME: &'static str = "DSH";
    const NEEDS_STATIC_HEADROOM: Option<&'static str> = Some("DSH");
    const TABLES: &'static [(&'static str, &'static str)] = &[("port_states", " with `victims`")];
    const VICTIMS_PATH: &'static str = "switch.scheme.victims";

    fn writes(&self, table: &str) -> bool {
        self.victims.is_some() && Self::TABLES.iter().any(|(name, _)| *name == table)
    }

    fn complete(&mut self, _: Priorities, document: &Document<'_>) -> Check {
        if self.single_queue_window == Picos::ZERO {
            let help = "write a time such as \"10ms\"";
            let path = "switch.scheme.single_queue_window";
            return Err(document.error(path, "a window of no time", help));
        }
        match &mut self.victims {
            Some(victims) => victims.complete(Self::VICTIMS_PATH, document),
            None => Ok(()),
        }
    }

    fn settings(&self, scenario: &Scenario, _: SwitchId) -> SchemeSettings {
        let spfc = self.victims().map(|it| scenario.spfc_settings(&it));
        SchemeSettings::Dsh(dsh::Settings {
            options: dsh::Options {
                estimation: self.estimation,
                shared_headroom: self.shared_headroom,
                victims: spfc.is_some(),
            },
            port_xon_offset: self.port_xon_offset,
            single_queue_window: self.single_queue_window.to_nanos(),
            gradient_weight_shift: shift(self.gradient_weight.get()),
            deviation_weight_shift: shift(self.deviation_weight.get()),
            deviation_gain_shift: shift(self.deviation_gain.get()),
            spfc: spfc.unwrap_or_default(),
        })
    }

    fn victims(&self) -> Option<Spfc> {
        self.victims.map(Spfc::of_ports)
    }

    fn reserved(&self, required: Bytes) -> Bytes {
        if self.insurance_headroom { required } else { Bytes(0) }
    }

    fn has_port_headroom(&self) -> bool {
        true
    }

    fn total_headroom(&self, phi: impl Iterator<Item = Bytes>, queues: u64) -> Bytes {
        if self.insurance_headroom && queues > 0 { headroom::insurance(phi) } else { Bytes(0) }
    }

    fn headroom_in_words(&self, largest: &str) -> (String, &'static str) {
        (format!("and up to {largest} of insurance headroom for each port"), "DSH Eq. 1, 9")
    }

    fn advice(&self, reason: DropReason) -> Option<&'static str> {
        (reason == DropReason::InsuranceExhausted && !self.insurance_headroom).then_some(
            "its port has no insurance headroom; set `switch.scheme.insurance_headroom` to true",
        )
    }
}
