//! Kinds "gfc" and "gfc-ofc" of `switch.scheme`: rates of neighbours in stages.

use fabric_core::scheme::gfc::state::MAX_STAGES;
use fabric_core::scheme::{SchemeSettings, gfc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::SwitchId;
use units::{BitsPerSecond, Bytes, Picos};

use super::kind::{Check, Kind};
use super::pause_rule::{Limit, check_lossless, check_some, warning_of_an_idle_rule, wrong};
use crate::Scenario;
use crate::document::Document;
use crate::priority::Priorities;
use crate::quantity::display;

/// GFC, in the buffer-based form of its paper. A queue that fills sets its neighbour's rate in stages. Each stage
/// is half as wide as the one before and has half its rate, which is never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Gfc {
    /// Start of the first stage (`B_1`), with half of the link's rate. Above zero, below `bm`. If the neighbour
    /// obeys after tau, the queue never reaches `bm` if this is at most `bm` - 2 x rate x tau.
    pub b1: Bytes,
    /// Length that the queue never reaches (`B_m`). At most `xoff`, where PFC is a safety net.
    pub bm: Bytes,
    /// Stages below line rate: 1 to 14. Default 8.
    #[serde(default = "default_stages")]
    pub stages: u8,
}

/// GFC, as OFC describes it: several thresholds below X_off. At each of them the rate falls by one step, to zero at
/// X_off, which is PFC's PAUSE. Needs fixed thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct GfcOfc {
    /// First of the thresholds, which are evenly spaced up to X_off. Above zero, below X_off.
    pub b1: Bytes,
    /// Number of thresholds: 1 to 14. Default 4.
    #[serde(default = "default_steps")]
    pub stages: u8,
}

const fn default_stages() -> u8 {
    8
}

const fn default_steps() -> u8 {
    4
}

impl Kind for Gfc {
    const NAME: &'static str = "GFC";
    const TABLES: &'static [(&'static str, &'static str)] = &[("rates", "")];

    fn complete(&mut self, lossless: Priorities, document: &Document<'_>) -> Check {
        let Self { b1, bm, stages } = *self;
        check_lossless(lossless, document)?;
        check_stages(stages, document)?;
        if bm.0.saturating_sub(b1.0) >> (stages - 1) == 0 {
            let (b1, bm) = (display(b1), display(bm));
            let title = format!("b1 ({b1}) and bm ({bm}) leave no room for {stages} stages");
            let help =
                "each stage has half of what is left to bm: write a smaller b1, or fewer stages";
            return Err(wrong("b1", &title, help, document));
        }
        check_first(b1, document)
    }

    fn check_at(&self, scenario: &Scenario, switch: SwitchId, document: &Document<'_>) -> Check {
        let limit = Limit::new(scenario, switch);
        if self.bm > limit.highest {
            let name = &scenario.fabric().switch(switch).name;
            let (bm, highest) = (display(self.bm), display(limit.highest));
            let title = format!("bm ({bm}) is above {} of `{name}` ({highest})", limit.name());
            return Err(wrong("bm", &title, "the queue would pause before: write less", document));
        }
        Ok(())
    }

    fn warnings(&self, scenario: &Scenario) -> Vec<String> {
        let idle = warning_of_an_idle_rule("b1", self.b1, scenario);
        idle.into_iter().chain(self.warning_of_width(scenario)).collect()
    }

    fn settings(&self, scenario: &Scenario, _: SwitchId) -> SchemeSettings {
        let Self { b1: first, bm: most, stages } = *self;
        let overhead = Bytes(scenario.frame_time().overhead);
        let form = gfc::Form::Halving;
        SchemeSettings::Gfc(gfc::Settings { form, first, most, stages, overhead })
    }

    fn sends_rates(&self) -> bool {
        true
    }
}

impl Gfc {
    /// Returns a warning if the stages are too narrow for what a neighbour sends until it obeys.
    fn warning_of_width(&self, scenario: &Scenario) -> Option<String> {
        let Self { b1, bm, .. } = *self;
        let frame = scenario.longest_frame().0 + scenario.frame_time().overhead;
        // Bytes in flight during tau: a frame that blocks the message, a frame that has just begun at the neighbour,
        // and the wire.
        let in_flight = |rate: BitsPerSecond, delay: Picos| {
            2 * frame + rate.bytes_in(Picos(delay.0.saturating_mul(2))).0
        };
        let wires = scenario.fabric().wires().iter();
        let most = wires.map(|wire| 2 * in_flight(wire.rate, wire.delay)).max().unwrap_or(0);
        if b1.0 + most <= bm.0 {
            return None;
        }
        Some(format!(
            "a queue may pass GFC's bm ({}), because its neighbour sends up to {} until its stages have slowed it down: \
             write a `switch.scheme.b1` of {} or less, if there is room for it",
            display(bm),
            display(Bytes(most)),
            display(Bytes(bm.0.saturating_sub(most)))
        ))
    }
}

impl Kind for GfcOfc {
    const NAME: &'static str = "GFC";
    const TABLES: &'static [(&'static str, &'static str)] = &[("rates", "")];

    fn complete(&mut self, lossless: Priorities, document: &Document<'_>) -> Check {
        check_lossless(lossless, document)?;
        check_stages(self.stages, document)?;
        check_first(self.b1, document)
    }

    fn check_at(&self, scenario: &Scenario, switch: SwitchId, document: &Document<'_>) -> Check {
        let Limit { xoff, highest } = Limit::new(scenario, switch);
        if xoff.is_none() {
            let help =
                "its rate is zero at a fixed X_off: write threshold = { kind = \"static\", .. }";
            let title = "GFC as OFC describes it, and thresholds that move";
            return Err(document.error("switch.scheme", title, help));
        }
        let Self { b1, stages } = *self;
        if highest.0 < b1.0 + u64::from(stages) {
            let name = &scenario.fabric().switch(switch).name;
            let (b1, highest) = (display(b1), display(highest));
            let title = format!(
                "b1 ({b1}) and X_off of `{name}` ({highest}) leave no room for {stages} stages"
            );
            return Err(wrong("b1", &title, "write a smaller b1, or fewer stages", document));
        }
        Ok(())
    }

    fn settings(&self, scenario: &Scenario, switch: SwitchId) -> SchemeSettings {
        let Self { b1: first, stages } = *self;
        let (form, most) = (gfc::Form::Linear, scenario.static_xoff(switch));
        let overhead = Bytes(scenario.frame_time().overhead);
        SchemeSettings::Gfc(gfc::Settings { form, first, most, stages, overhead })
    }

    fn sends_rates(&self) -> bool {
        true
    }
}

fn check_stages(stages: u8, document: &Document<'_>) -> Check {
    if (1..=MAX_STAGES).contains(&stages) {
        return Ok(());
    }
    let (title, help) = (format!("{stages} stages"), format!("write 1 to {MAX_STAGES}"));
    Err(wrong("stages", &title, &help, document))
}

fn check_first(b1: Bytes, document: &Document<'_>) -> Check {
    let help = "an empty queue would slow its neighbour down: write a size such as \"60kB\"";
    check_some("b1", b1, help, document)
}
