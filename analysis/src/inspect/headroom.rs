//! Components of a lossless queue's headroom.

use std::fmt;

use fabric_core::headroom::HeadroomTerms;
use scenario::{Scenario, quantity};
use serde_json::{Value, json};
use units::{BitsPerSecond, Bytes, Picos};

use super::text::scaled;
use super::{Asic, rate, time};

/// Headroom for links of one rate and delay, term by term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkHeadroom {
    /// Rate of the links.
    pub rate: BitsPerSecond,
    /// Propagation delay of the links.
    pub delay: Picos,
    /// Longest packet of the scenario, without FCS.
    pub packet: Bytes,
    /// Terms of the headroom.
    pub terms: HeadroomTerms,
}

/// Returns one entry for each rate and delay of links into switches, in the order of the links.
pub(super) fn link_headroom(scenario: &Scenario) -> Vec<LinkHeadroom> {
    let mut found: Vec<LinkHeadroom> = Vec::new();
    if scenario.switch.lossless.count() == 0 {
        return found;
    }
    let fabric = scenario.fabric();
    let frames = scenario.link_frames();
    for wire in fabric.wires().iter().step_by(2) {
        let (rate, delay) = (wire.rate, wire.delay);
        if !found.iter().any(|link| (link.rate, link.delay) == (rate, delay)) {
            let terms = frames.headroom_terms(rate, delay);
            found.push(LinkHeadroom { rate, delay, packet: frames.longest, terms });
        }
    }
    found
}

impl LinkHeadroom {
    /// Returns the sum of the terms.
    pub const fn total(&self) -> Bytes {
        let HeadroomTerms { propagation, response, whole_frames } = self.terms;
        Bytes(propagation.0 + response.0 + whole_frames.0)
    }

    /// Formats the headroom as JSON, with the headroom of a chip.
    pub(super) fn to_json(self, asic: Option<&Asic>) -> Value {
        let HeadroomTerms { propagation, response, whole_frames } = self.terms;
        json!({
            "rate_bps": self.rate.0,
            "delay_ps": self.delay.0,
            "propagation_bytes": propagation.0,
            "response_bytes": response.0,
            "whole_frames_bytes": whole_frames.0,
            "total_bytes": self.total().0,
            "asic": asic.map(|asic| asic.headroom(&self).to_json()),
        })
    }
}

impl fmt::Display for LinkHeadroom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HeadroomTerms { propagation, response, whole_frames } = self.terms;
        write!(
            f,
            "  {}, {} ({} of fibre): {} B = {} on the cable, both ways + {} until the neighbour stops + {} whole frames",
            rate(self.rate),
            time(self.delay),
            length(self.delay),
            self.total().0,
            propagation.0,
            response.0,
            whole_frames.0
        )
    }
}

/// Formats the cable length of a delay, with the metres of a link's `delay`.
fn length(delay: Picos) -> String {
    scaled(delay.0 as f64 / quantity::METRE.0 as f64, &["m", "km"])
}
