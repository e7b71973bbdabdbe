//! Axes of a sweep.

use units::{BitsPerSecond, Bytes, Picos, quantity};

/// A key that a sweep varies.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepAxis {
    /// Column of the key in the table.
    pub column: usize,
    /// Key, as short as is unambiguous.
    pub key: String,
    /// Values, in the order of the sweep's file.
    pub values: Vec<String>,
    /// The values as numbers, if all values are numbers or quantities.
    pub numbers: Option<Vec<f64>>,
}

impl SweepAxis {
    /// Returns the axes with several values, and the other keys with their values.
    pub fn of(keys: &[String], cells: &[Vec<String>]) -> (Vec<Self>, Vec<String>) {
        let (mut axes, mut constant) = (Vec::new(), Vec::new());
        for (column, key) in keys.iter().enumerate() {
            let mut values: Vec<String> = Vec::new();
            for cell in cells {
                if !values.contains(&cell[column]) {
                    values.push(cell[column].clone());
                }
            }
            let key = short_key(key, keys);
            if values.len() > 1 {
                let numbers = values.iter().map(|value| number(value)).collect();
                axes.push(Self { column, key, values, numbers });
            } else if let Some(value) = values.first() {
                constant.push(format!("{key} = {value}"));
            }
        }
        (axes, constant)
    }

    /// Writes a value with its key.
    pub fn written(&self, value: &str) -> String {
        format!("{} {value}", self.key)
    }
}

/// Returns the last parts of a key, as few as no other key ends with. `kind` alone says little.
pub fn short_key(key: &str, keys: &[String]) -> String {
    let parts: Vec<&str> = key.split('.').collect();
    for count in 1..parts.len() {
        let end = parts[parts.len() - count..].join(".");
        let others =
            keys.iter().filter(|other| **other == end || other.ends_with(&format!(".{end}")));
        if others.count() == 1 && end != "kind" {
            return end;
        }
    }
    key.to_owned()
}

/// Returns the value of a number, a fraction or a quantity.
fn number(text: &str) -> Option<f64> {
    let plain = |text: &str| text.trim().parse().ok().filter(|it: &f64| it.is_finite());
    if let Some(number) = plain(text) {
        return Some(number);
    }
    if let Some((over, under)) = text.split_once('/') {
        return plain(over).zip(plain(under)).map(|(over, under)| over / under);
    }
    if let Some(percent) = text.strip_suffix('%') {
        return plain(percent);
    }
    let time = || quantity::parse_any::<Picos>(text).ok();
    let bytes = || quantity::parse_any::<Bytes>(text).ok();
    let rate = || quantity::parse_any::<BitsPerSecond>(text).ok();
    time().or_else(bytes).or_else(rate).map(|value| value as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fractions_and_quantities_have_values() {
        assert_eq!(number("1/16"), Some(0.0625));
        assert_eq!(number("2MB"), Some(2e6));
        assert_eq!(number("10us"), Some(1e7));
        assert_eq!(number("100Gbps"), Some(1e11));
        assert_eq!((number("dcqcn"), number("a/b")), (None, None));
    }

    #[test]
    fn keys_are_short_and_unambiguous() {
        let keys = ["a.kind", "b.alpha", "c.kind", "scheme"].map(str::to_owned);
        assert_eq!(
            keys.each_ref().map(|key| short_key(key, &keys)),
            ["a.kind", "alpha", "c.kind", "scheme"]
        );
    }
}
