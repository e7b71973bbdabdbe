//! Hash table of policy routes, laid out for short look-ups in `fabric_core::routing`.
//!
//! The table is an array and not a BPF hash map, so that both datapaths find a key in the same rows with the same code.

use fabric_core::map_abi::{FlowKey, POLICY_FLOWS, POLICY_PAIRS, SwitchConfig};
use fabric_core::routing::{PROBES, policy_row};

/// Key of each row, with the number of its ECMP group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyTable {
    rows: Vec<Option<(FlowKey, usize)>>,
    shift: u8,
    kinds: u8,
}

impl PolicyTable {
    /// Creates a table of routes with unique keys.
    pub fn new(routes: &[(FlowKey, usize)]) -> Self {
        // Half empty, so that most packets without a policy route find an empty row at once.
        let rows = (2 * routes.len()).next_power_of_two();
        let shift = u8::try_from(rows.trailing_zeros()).expect("an address has 64 bits");
        let rows = (shift..32).find_map(|shift| laid_out(routes, shift).map(|rows| (rows, shift)));
        let (rows, shift) = rows.expect("fewer than 2^31 routes find their rows");
        let is_pair = |key: &FlowKey| key.ports == 0 && key.protocol == 0;
        let kind = |(key, _): &_| if is_pair(key) { POLICY_PAIRS } else { POLICY_FLOWS };
        Self { rows, shift, kinds: routes.iter().map(kind).fold(0, |kinds, kind| kinds | kind) }
    }

    /// Returns the number of rows: a power of two, at least 1.
    pub fn rows(&self) -> u32 {
        1 << self.shift
    }

    /// Returns `config` with the parameters of this table, for the data plane.
    #[must_use]
    pub fn announced_in(&self, config: SwitchConfig) -> SwitchConfig {
        SwitchConfig { policies: self.kinds, policy_shift: self.shift, ..config }
    }

    /// Iterates over the rows in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Option<(FlowKey, usize)>> {
        self.rows.iter().copied()
    }
}

/// Returns the rows of a table of 2^`shift`. `None` if a key finds no row.
fn laid_out(routes: &[(FlowKey, usize)], shift: u8) -> Option<Vec<Option<(FlowKey, usize)>>> {
    let mut rows = vec![None; 1 << shift];
    for &(key, group) in routes {
        let mut places = (0..PROBES).map(|probe| policy_row(&key, shift, probe) as usize);
        let place = places.find(|&place| rows[place].is_none())?;
        rows[place] = Some((key, group));
    }
    Some(rows)
}

#[cfg(test)]
mod tests {
    use fabric_core::map_abi::FIRST_HOST_ADDRESS;
    use fabric_core::wire::roce::UDP_PORT;

    use super::*;

    #[test]
    fn a_table_without_routes_has_one_empty_row() {
        let table = PolicyTable::new(&[]);
        assert_eq!((table.rows(), table.kinds), (1, 0));
        assert_eq!(table.iter().collect::<Vec<_>>(), [None]);
    }

    #[test]
    fn every_key_lies_within_reach_and_behind_no_empty_row() {
        for count in [1, 2, 3, 100, 65_536] {
            let key = |number: u32| FlowKey {
                source: FIRST_HOST_ADDRESS + number % 16,
                destination: FIRST_HOST_ADDRESS + 16,
                ports: (49_152 + number / 16) << 16 | u32::from(UDP_PORT),
                protocol: 17,
            };
            let routes: Vec<_> = (0..count).map(|number| (key(number), 0)).collect();
            let table = PolicyTable::new(&routes);
            assert_eq!(table.kinds, POLICY_FLOWS);
            assert!(u64::from(table.rows()) <= 16 * u64::from(count), "{count}: {}", table.rows());
            for (key, _) in &routes {
                let row = |probe| table.rows[policy_row(key, table.shift, probe) as usize];
                let own = (0..PROBES).find(|&probe| row(probe).is_some_and(|row| row.0 == *key));
                let own = own.expect("it is within reach");
                assert!((0..own).all(|probe| row(probe).is_some()), "{count}: {key:?}");
            }
        }
    }
}
