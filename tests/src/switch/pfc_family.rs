//! What a switch of the PFC family is configured to, and keeps, as one plain value.

use fabric_core::scheme::pfc_family::{Settings, state};
use fabric_core::tables::Tables;
use switch_user::tables::SwitchTables;

use super::PORTS;

/// The scheme's settings and what its rule counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PfcFamilyState {
    /// The rule.
    pub settings: Settings,
    /// The first words of the lines behind the settings; what the list does not reach is zero.
    pub lines: Vec<[u64; 3]>,
}

impl PfcFamilyState {
    /// Of a switch that has held nothing.
    pub const fn fresh(settings: Settings) -> Self {
        Self { settings, lines: Vec::new() }
    }

    /// Lines behind the settings on a switch under test.
    pub const fn lines(settings: &Settings) -> usize {
        state::lines(settings.options().rule, PORTS) as usize - 1
    }

    /// Writes the lines into a switch's tables, which have the settings.
    pub(super) fn write(&self, tables: &SwitchTables) {
        for (number, words) in (1..).zip(&self.lines) {
            let line = tables.scheme_line(number).expect("it has its line");
            for (cell, word) in line.0.iter().zip(words) {
                cell.store(*word);
            }
        }
    }
}
