//! Values of a scenario, read as the kind with which they are compared.

use results::Number;
use results::query::{Scalar, ScalarKind};
use scenario::{Plain, Refusal, quantity};
use units::{BitsPerSecond, Bytes, Picos};

/// Reads a value of a scenario.
pub(super) fn read(kind: ScalarKind, value: &Plain) -> Result<Scalar, Refusal> {
    let wrong = |example: &str| {
        let noun = kind.noun();
        Err(Refusal::new(
            format!("{value} is compared with {noun}"),
            format!("write {noun} such as {example}"),
        ))
    };
    // A decimal has six places; eighteen digits and the largest unit leave room for them.
    let number = |base: u128, parts: i128| {
        let base = i128::try_from(base).unwrap_or(i128::MAX);
        Ok(Scalar::Number(Number(base.saturating_mul(parts))))
    };
    match (kind, value) {
        // A nanosecond has a thousand picoseconds.
        (ScalarKind::Time, Plain::Text(text)) => number(quantity::parse_any::<Picos>(text)?, 1000),
        (ScalarKind::Size, Plain::Text(text)) => {
            number(quantity::parse_any::<Bytes>(text)?, 1_000_000)
        }
        (ScalarKind::Rate, Plain::Text(text)) => {
            number(quantity::parse_any::<BitsPerSecond>(text)?, 1_000_000)
        }
        (ScalarKind::Number, Plain::Number(number)) => Ok(Scalar::Number(Number(*number))),
        (ScalarKind::Truth, Plain::Truth(truth)) => Ok(Scalar::Truth(*truth)),
        (ScalarKind::Text, Plain::Text(text)) => Ok(Scalar::Text(text.clone())),
        (ScalarKind::Time, _) => wrong("\"10us\""),
        (ScalarKind::Size, _) => wrong("\"100kB\""),
        (ScalarKind::Rate, _) => wrong("\"25Gbps\""),
        (ScalarKind::Number, _) => wrong("3 or 0.5, without quotes"),
        (ScalarKind::Truth, _) => wrong("true"),
        (ScalarKind::Text, _) => wrong("\"drained\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sum may exceed the limits of a link, buffer or run, and a rate may be compared with zero.
    #[test]
    fn values_may_be_beyond_what_a_scenario_can_have() {
        for (kind, text, shown) in [
            (ScalarKind::Rate, "12.8Tbps", "12,800,000,000,000 bit/s"),
            (ScalarKind::Rate, "0bps", "0 bit/s"),
            (ScalarKind::Size, "100000TB", "100,000,000,000,000,000 B"),
        ] {
            let value = read(kind, &Plain::Text(text.to_owned())).expect("it is a value");
            assert_eq!(kind.show(&value), shown);
        }
        let fraction = read(ScalarKind::Rate, &Plain::Text("0.5bps".to_owned()));
        assert!(
            fraction.is_err_and(|error| error.title.contains("whole number")),
            "as in a scenario"
        );
    }
}
