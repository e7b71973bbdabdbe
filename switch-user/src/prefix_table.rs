//! IPv4 prefixes and their rows of routes, by which a standalone switch finds the route to an
//! address. In a fabric addresses are consecutive and need no look-up.

use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;

/// An IPv4 prefix: the addresses with common first bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Prefix {
    /// Length in bits, 0 to 32.
    length: u8,
    /// First address, in host order.
    address: u32,
}

impl Prefix {
    /// Creates the prefix of the first `length` bits of `address`. `None` for more than 32 bits.
    pub fn new(address: Ipv4Addr, length: u8) -> Option<Self> {
        (length <= 32).then(|| Self { length, address: address.to_bits() & mask(length) })
    }

    /// Returns the first address.
    pub const fn address(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.address)
    }

    /// Returns the length in bits.
    pub const fn length(self) -> u8 {
        self.length
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address(), self.length)
    }
}

/// Mask of the first `length` bits of an address.
fn mask(length: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0)
}

/// Rows of routes by prefix; the longest prefix of an address applies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrefixTable {
    rows: BTreeMap<Prefix, u32>,
    /// Lengths of the prefixes, longest first.
    lengths: Vec<u8>,
}

impl PrefixTable {
    /// Creates a table with one row for each prefix, in their order.
    ///
    /// # Panics
    /// If a prefix occurs twice, or there are more than 2^32.
    pub fn new(prefixes: &[Prefix]) -> Self {
        let mut rows = BTreeMap::new();
        for (row, prefix) in prefixes.iter().enumerate() {
            let row = u32::try_from(row).expect("an IPv4 address has few prefixes");
            assert_eq!(rows.insert(*prefix, row), None, "{prefix} has two rows");
        }
        let mut lengths: Vec<u8> = rows.keys().map(|prefix| prefix.length).collect();
        lengths.dedup();
        lengths.reverse();
        Self { rows, lengths }
    }

    /// Returns the row of the longest prefix of an address in host order.
    pub fn row_of(&self, address: u32) -> Option<u32> {
        self.lengths.iter().find_map(|&length| {
            self.rows.get(&Prefix { length, address: address & mask(length) }).copied()
        })
    }

    /// Iterates over the prefixes and their rows.
    pub fn iter(&self) -> impl Iterator<Item = (Prefix, u32)> + '_ {
        self.rows.iter().map(|(prefix, row)| (*prefix, *row))
    }

    /// Returns the number of prefixes.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True if there are no prefixes.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(text: &str) -> Prefix {
        let (address, length) = text.split_once('/').expect("a prefix");
        Prefix::new(address.parse().expect("an address"), length.parse().expect("a length"))
            .expect("at most 32 bits")
    }

    #[test]
    fn the_longest_prefix_counts() {
        let prefixes =
            ["10.0.0.0/8", "0.0.0.0/0", "10.1.2.3/32", "10.1.0.0/16", "10.2.0.0/16"].map(prefix);
        let table = PrefixTable::new(&prefixes);
        let row = |address: &str| {
            let address: Ipv4Addr = address.parse().expect("an address");
            table.row_of(address.to_bits())
        };
        let addresses = ["10.1.2.3", "10.1.2.4", "10.2.255.255", "10.3.0.0", "11.0.0.0"];
        assert_eq!(addresses.map(row), [2, 3, 4, 0, 1].map(Some));
        assert_eq!(table.len(), 5);
        let without_default = PrefixTable::new(&prefixes[..1]);
        assert_eq!(without_default.row_of(0x0b00_0000), None);
        assert_eq!(PrefixTable::default().row_of(1), None);
    }

    #[test]
    fn bits_behind_a_prefix_do_not_count() {
        assert_eq!(prefix("10.1.2.3/16"), prefix("10.1.0.0/16"));
        assert_eq!(prefix("10.1.2.3/16").to_string(), "10.1.0.0/16");
        assert_eq!(prefix("10.1.2.3/0").to_string(), "0.0.0.0/0");
        assert_eq!(Prefix::new(Ipv4Addr::LOCALHOST, 33), None);
    }
}
