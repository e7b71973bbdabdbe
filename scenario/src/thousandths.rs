//! Numbers in steps of a thousandth; exact, apart from reading the file's text as a float.

use std::fmt;

use crate::refusal::Refusal;
use serde::de::{Deserializer, Error, Unexpected, Visitor};

/// Reads a number from 0.001 on.
pub(super) struct Thousandths {
    /// Description of the expected number.
    pub expected: &'static str,
    /// Maximum, in thousandths.
    pub most: u32,
}

impl Thousandths {
    /// Reads the number, in thousandths.
    pub fn read<'de, D: Deserializer<'de>>(self, input: D) -> Result<u32, D::Error> {
        input.deserialize_any(self)
    }
}

impl Visitor<'_> for Thousandths {
    type Value = u32;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<u32, E> {
        let thousandths = (number * 1e3).round();
        if !(1.0..=f64::from(self.most)).contains(&thousandths) {
            return Err(E::invalid_value(Unexpected::Float(number), &self));
        }
        if (number * 1e3 - thousandths).abs() > 1e-6 {
            let title = format!("{number} is finer than a thousandth");
            return Err(E::custom(Refusal::new(title, "write three digits at most")));
        }
        #[expect(
            clippy::cast_sign_loss,
            clippy::cast_possible_truncation,
            reason = "checked to be from 1 to a number of 32 bits"
        )]
        Ok(thousandths as u32)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u32, E> {
        self.visit_f64(number as f64)
    }
}
