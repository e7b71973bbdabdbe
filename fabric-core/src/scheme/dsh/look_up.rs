//! Look-up tables of the practical estimation (Algorithm 3, Fig. 12), computed in integers, so that
//! every machine gets equal tables.

use super::state::{HeadroomSteps, LOGARITHM_ENTRIES, Logarithms, STEPS};
use units::{BitsPerSecond, Bytes};

/// Fractional bits of a logarithm in the tables.
const TABLE_BITS: u32 = 10;
/// Fractional bits of a logarithm during its computation.
const EXACT_BITS: u32 = 24;
/// Fractional bits of a logarithm's argument.
const ARGUMENT_BITS: u32 = 32;

/// Returns log2 of `argument` in units of 2^-24, one bit per squaring. `argument` is at least 1, in units of 2^-32.
const fn log2(argument: u128) -> u64 {
    let exponent = argument.ilog2() - ARGUMENT_BITS;
    let mut mantissa = argument >> exponent;
    let mut logarithm = exponent as u64;
    let mut bit = 0;
    while bit < EXACT_BITS {
        mantissa = (mantissa * mantissa) >> ARGUMENT_BITS;
        let twice = mantissa >> (ARGUMENT_BITS + 1);
        mantissa >>= twice;
        logarithm = logarithm << 1 | twice as u64;
        bit += 1;
    }
    logarithm
}

/// Rounds a logarithm to the tables' unit. A logarithm is below 128.
const fn rounded(logarithm: u64) -> u32 {
    const HALF: u64 = 1 << (EXACT_BITS - TABLE_BITS - 1);
    ((logarithm + HALF) >> (EXACT_BITS - TABLE_BITS)) as u32
}

/// Entries of the tables of logarithm and exponential, computed by the compiler.
static ENTRIES: [(u32, u32); LOGARITHM_ENTRIES] = {
    let mut entries = [(0, 0); LOGARITHM_ENTRIES];
    let mut entry = 0;
    while entry < LOGARITHM_ENTRIES {
        // (entry + 1/2) / 256, added to 1 and as an exponent.
        let doubled = 2 * entry + 1;
        let beyond_one = ((2 * LOGARITHM_ENTRIES + doubled) as u128) << (ARGUMENT_BITS - 9);
        let exponent = (doubled as u64) << (EXACT_BITS - 9);
        entries[entry] = (rounded(log2(beyond_one)), exp2(exponent));
        entry += 1;
    }
    entries
};

/// Returns the smallest power, in units of 2^-16, with a logarithm of at least `exponent`, which is below 1.
const fn exp2(exponent: u64) -> u32 {
    let (mut low, mut high) = (1u32 << 16, 1u32 << 17);
    while low < high {
        let middle = low.midpoint(high);
        if log2((middle as u128) << (ARGUMENT_BITS - 16)) < exponent {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Fills the tables of logarithm and exponential.
pub fn fill_logarithms(tables: Logarithms<'_>) {
    for (entry, (log2, exp2)) in (0..).zip(&ENTRIES) {
        tables.log2(entry).store(*log2);
        tables.exp2(entry).store(*exp2);
    }
}

/// Fills a port's row. `phi` is the headroom of a queue that grows at line rate; it is reserved in
/// the buffer, which is at most `MAX_BUFFER`.
///
/// # Panics
/// If `phi` is 4 GiB or more.
pub fn fill_steps(row: HeadroomSteps<'_>, rate: BitsPerSecond, phi: Bytes) {
    // A byte per ns is 8 x 10^9 bit/s; the line rate is 2^16.
    let byte_per_ns = (8_000_000_000 << (16 + ARGUMENT_BITS)) / u128::from(rate.0.max(1));
    row.byte_per_ns_log2().store(rounded(log2(byte_per_ns.max(1 << ARGUMENT_BITS))));
    let cell = |bytes: u64| u32::try_from(bytes).expect("Phi is less than 4 GiB");
    row.phi_bytes().store(cell(phi.0));
    for step in 0..STEPS {
        // Upper end of the step: an estimate that is too low would pause the port.
        row.bytes(step).store(cell((phi.0 * (step as u64 + 1)).div_ceil(STEPS as u64)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::{logarithms, steps};
    use super::*;
    use crate::map_abi::SwitchConfig;
    use crate::tables::owned::OwnedTables;

    #[test]
    fn tables_are_within_a_unit_of_the_functions() {
        let tables = OwnedTables::new(SwitchConfig::default(), 0);
        let tables = logarithms(&tables).unwrap();
        fill_logarithms(tables);
        for entry in 0..LOGARITHM_ENTRIES as u64 {
            let middle = (entry as f64 + 0.5) / 256.0;
            let log2 = f64::from(tables.log2(entry).load());
            assert!((log2 - (1.0 + middle).log2() * 1024.0).abs() <= 0.51, "log2 {entry}: {log2}");
            let exp2 = f64::from(tables.exp2(entry).load());
            assert!((exp2 - middle.exp2() * 65536.0).abs() <= 1.0, "exp2 {entry}: {exp2}");
        }
    }

    /// 100 Gbit/s are 12.5 bytes per ns: a byte per ns is 2^16 / 12.5, whose log2 is 12.3561.
    #[test]
    fn a_port_of_100_gbits_and_60000_bytes() {
        let tables = OwnedTables::new(SwitchConfig::default(), 0);
        let row = steps(&tables, 1).unwrap();
        fill_steps(row, BitsPerSecond(100_000_000_000), Bytes(60_000));
        assert_eq!(row.byte_per_ns_log2().load(), 12_653);
        assert_eq!([0, 1, 31, 63].map(|step| row.bytes(step).load()), [938, 1875, 30_000, 60_000]);
    }
}
