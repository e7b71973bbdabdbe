//! Values within a range, which is checked while they are read.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

use crate::ratio::{Probability, Ratio};
use crate::refusal::Refusal;
use crate::{Bytes, Picos};

/// A range of values.
pub trait Range<T> {
    /// Refuses a value out of the range.
    fn check(value: &T) -> Result<(), Refusal>;
}

/// A value of a range. The range is a type without values.
pub struct Checked<T, R> {
    value: T,
    range: PhantomData<R>,
}

/// Keys of a table whose values are within their ranges, but do not fit together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The keys. The error is at the first of them that the file has.
    pub keys: &'static [&'static str],
    /// The error.
    pub refusal: Refusal,
}

/// A time above zero.
pub type Period = Checked<Picos, AboveZero>;
/// A size above zero.
pub type SomeBytes = Checked<Bytes, AboveZero>;
/// A ratio up to 1.
pub type Weight = Checked<Ratio, UpToOne>;
/// A fraction above 0 and up to 1.
pub type Part = Checked<Probability, AboveZero>;

/// All values but zero.
#[derive(Debug)]
pub enum AboveZero {}

/// All values up to 1.
#[derive(Debug)]
pub enum UpToOne {}

impl<T: Copy, R: Range<T>> Checked<T, R> {
    /// Returns the value if it is within the range.
    pub fn new(value: T) -> Result<Self, Refusal> {
        R::check(&value).map(|()| Self { value, range: PhantomData })
    }

    /// Returns a value that is known to be within the range, such as a default.
    ///
    /// # Panics
    /// If the value is out of the range.
    pub fn within(value: T) -> Self {
        match Self::new(value) {
            Ok(checked) => checked,
            Err(refusal) => panic!("a value within its range: {refusal}"),
        }
    }

    /// Returns the plain value.
    pub const fn get(self) -> T {
        self.value
    }
}

impl Range<Picos> for AboveZero {
    fn check(time: &Picos) -> Result<(), Refusal> {
        match *time {
            Picos::ZERO => {
                Err(Refusal::sentence("a period of no time", "write a time such as \"50us\""))
            }
            _ => Ok(()),
        }
    }
}

impl Range<Bytes> for AboveZero {
    fn check(size: &Bytes) -> Result<(), Refusal> {
        match *size {
            Bytes(0) => {
                Err(Refusal::sentence("a size of no bytes", "write a size such as \"1kB\""))
            }
            _ => Ok(()),
        }
    }
}

impl Range<Probability> for AboveZero {
    fn check(part: &Probability) -> Result<(), Refusal> {
        match part.millionths {
            0 => Err(Refusal::sentence("a part of 0", "write a number above 0 and up to 1")),
            _ => Ok(()),
        }
    }
}

impl Range<Ratio> for UpToOne {
    fn check(ratio: &Ratio) -> Result<(), Refusal> {
        if ratio.numerator > ratio.denominator {
            let help = "write a ratio up to 1, such as \"1/16\"";
            return Err(Refusal::sentence("a weight above 1", help));
        }
        Ok(())
    }
}

// Derived implementations would need them of the range.
impl<T: Copy, R> Clone for Checked<T, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Copy, R> Copy for Checked<T, R> {}

impl<T: PartialEq, R> PartialEq for Checked<T, R> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Eq, R> Eq for Checked<T, R> {}

impl<T: fmt::Debug, R> fmt::Debug for Checked<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<T: Serialize, R> Serialize for Checked<T, R> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(out)
    }
}

impl<'de, T: Deserialize<'de> + Copy, R: Range<T>> Deserialize<'de> for Checked<T, R> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        Self::new(T::deserialize(input)?).map_err(D::Error::custom)
    }
}

/// The schema of the plain value: the key's description has the range.
impl<T: JsonSchema, R> JsonSchema for Checked<T, R> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }
    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_out_of_range_are_refused_in_a_sentence() {
        assert_eq!(Period::within(Picos(7)).get(), Picos(7));
        let refusal = Period::new(Picos::ZERO).unwrap_err();
        assert_eq!(refusal.title, "a period of no time");
        assert!(SomeBytes::new(Bytes(0)).is_err() && SomeBytes::new(Bytes(1)).is_ok());
        let weight = |numerator| Weight::new(Ratio::new(numerator, 16));
        assert!(weight(16).is_ok() && weight(17).is_err());
        assert!(Part::new(Probability { millionths: 0 }).is_err());
    }
}
