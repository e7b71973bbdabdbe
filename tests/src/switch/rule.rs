//! Configuration and state of a switch of the PFC family or of GFC, as one plain value.

use fabric_core::scheme::{SchemeSettings, gfc, pfc_family};
use fabric_core::tables::Tables;
use switch_user::tables::SwitchTables;

use super::PORTS;

/// The scheme's settings and its rule's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleState {
    /// Settings of the PFC family or of GFC.
    pub settings: SchemeSettings,
    /// First words of the lines behind the settings; lines behind the list are zero.
    pub lines: Vec<[u64; 3]>,
}

impl RuleState {
    /// State of a switch that has held nothing.
    pub const fn fresh(settings: SchemeSettings) -> Self {
        Self { settings, lines: Vec::new() }
    }

    /// The first line behind the settings of a switch under test, and all lines.
    pub const fn lines(settings: &SchemeSettings) -> (u32, u32) {
        match settings {
            SchemeSettings::PfcFamily(family) => {
                (1, pfc_family::state::lines(family.options().rule, PORTS))
            }
            SchemeSettings::Gfc(_) => (1 + PORTS, gfc::state::lines(PORTS)),
            _ => panic!("the scheme has no rule"),
        }
    }

    /// Writes the lines into a switch's tables, which have the settings.
    pub(super) fn write(&self, tables: &SwitchTables) {
        let (first, _) = Self::lines(&self.settings);
        for (number, words) in (first..).zip(&self.lines) {
            let line = tables.scheme_line(number).expect("it has its line");
            for (cell, word) in line.0.iter().zip(words) {
                cell.store(*word);
            }
        }
    }
}
