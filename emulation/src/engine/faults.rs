//! Injected faults: frames that a wire loses because the scenario says so.

use scenario::{FrameClass, Scenario, Selection};
use workload::random::mix;

use crate::datapath::FrameKind;

/// One fault of the scenario on one wire.
#[derive(Debug)]
pub struct LossInjector {
    class: FrameClass,
    selection: Selection,
    /// Matching frames so far.
    matched: u64,
    seed: u64,
}

impl LossInjector {
    /// The scenario's faults on a wire.
    pub fn on_wire(scenario: &Scenario, name: &str, wire: usize) -> Vec<Self> {
        scenario
            .faults
            .iter()
            .enumerate()
            .filter(|(_, fault)| fault.covers(name))
            .map(|(number, scenario::Fault::Loss { r#match, selection, .. })| Self {
                class: *r#match,
                selection: selection.clone(),
                matched: 0,
                seed: mix(scenario.seed, (number as u64) << 40 | wire as u64 | 1 << 63),
            })
            .collect()
    }

    /// Counts a frame and says whether the fault takes it.
    pub fn takes(&mut self, kind: FrameKind) -> bool {
        if !matches(self.class, kind) {
            return false;
        }
        self.matched += 1;
        match &self.selection {
            Selection::Nth(numbers) => numbers.binary_search(&self.matched).is_ok(),
            Selection::Rate(probability) => {
                let random = mix(self.seed, self.matched) >> 32;
                // random / 2^32 < millionths / 10^6, in integers.
                random * 1_000_000 < u64::from(probability.millionths) << 32
            }
        }
    }
}

fn matches(class: FrameClass, kind: FrameKind) -> bool {
    match class {
        FrameClass::All => true,
        FrameClass::Data => kind == FrameKind::Data,
        FrameClass::Ack => kind == FrameKind::Ack,
        FrameClass::Nak => kind == FrameKind::Nak,
        FrameClass::Cnp => kind == FrameKind::Cnp,
        FrameClass::Pfc => matches!(kind, FrameKind::Pause | FrameKind::Resume),
        FrameClass::Pause => kind == FrameKind::Pause,
        FrameClass::Resume => kind == FrameKind::Resume,
        FrameClass::HopControl => kind == FrameKind::HopControl,
        FrameClass::LinkDelay => kind == FrameKind::LinkDelay,
    }
}
