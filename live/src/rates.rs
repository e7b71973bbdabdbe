//! Rates and amounts for a column of text: at most four digits, and a unit.

/// Formats a rate: `98.7 Mbit/s`.
pub fn bits_per_second(bps: u64) -> String {
    scaled(bps, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"])
}

/// Formats an amount: `12.3 kB`.
pub fn bytes(bytes: u64) -> String {
    scaled(bytes, ["B", "kB", "MB", "GB", "TB"])
}

/// Scales a value to a unit, rounded down.
fn scaled(value: u64, units: [&str; 5]) -> String {
    let mut scale = 1u64;
    let mut place = 0;
    while value / scale >= 1000 && place + 1 < units.len() {
        (scale, place) = (scale * 1000, place + 1);
    }
    let (whole, unit) = (value / scale, units[place]);
    match whole {
        _ if scale == 1 => format!("{whole} {unit}"),
        0..10 => format!("{whole}.{:02} {unit}", value / (scale / 100) % 100),
        10..100 => format!("{whole}.{} {unit}", value / (scale / 10) % 10),
        _ => format!("{whole} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_and_a_unit() {
        for (bps, text) in [
            (0, "0 bit/s"),
            (999, "999 bit/s"),
            (1_000, "1.00 kbit/s"),
            (98_765_432, "98.7 Mbit/s"),
            (123_456_789, "123 Mbit/s"),
            (100_000_000_000, "100 Gbit/s"),
            (u64::MAX, "18446744 Tbit/s"),
        ] {
            assert_eq!(bits_per_second(bps), text);
        }
        assert_eq!(bytes(12_345), "12.3 kB");
    }
}
