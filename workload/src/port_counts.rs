//! UDP ports that count up.

use std::collections::BTreeMap;

/// Next ports of senders, receivers or pairs of them that had a flow. Each counts up from a first port by itself.
#[derive(Clone, Debug)]
pub struct PortCounts<K>(BTreeMap<K, u16>);

impl<K> Default for PortCounts<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord> PortCounts<K> {
    /// Takes the next port of `of`, which begins with `first`.
    pub fn take(&mut self, of: K, first: u16) -> u16 {
        let next = self.0.entry(of).or_insert(first);
        std::mem::replace(next, next.wrapping_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_count_for_each_pair_by_itself_and_wrap() {
        let mut counts = PortCounts::default();
        let first = u16::MAX - 1;
        let ports = [(0, 1), (0, 1), (1, 0), (0, 1)].map(|pair| counts.take(pair, first));
        assert_eq!(ports, [first, u16::MAX, first, 0]);
    }
}
