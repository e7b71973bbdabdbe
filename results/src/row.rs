//! Rows of tables, apart from the formats that they are written in.

use units::{BitsPerSecond, Bytes, Nanos};

use super::column::Column;

/// A row type: its columns are its header, its schema and its documentation at once.
pub trait Row {
    /// The CSV file's name in the results folder.
    const FILE: &'static str;
    /// Meaning of a row, in one sentence.
    const ABOUT: &'static str;
    /// The columns from left to right.
    const COLUMNS: &'static [Column<'static>];

    /// Hands out the fields from left to right, each of its column's type.
    fn fields(&self, row: &mut impl Fields);
}

/// A format's receiver of the fields of a row.
pub trait Fields {
    /// Adds the next field.
    fn field(&mut self, field: Field<'_>);

    /// Adds the next field, converted from its type.
    #[inline]
    fn add<'a>(&mut self, value: impl Into<Field<'a>>) -> &mut Self {
        self.field(value.into());
        self
    }
}

/// One value of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field<'a> {
    /// An empty field.
    Empty,
    /// A whole number.
    Integer(u64),
    /// A whole number that may be below zero.
    Signed(i64),
    /// A number with decimal places.
    Decimal(Decimal),
    /// A text.
    Text(&'a str),
    /// Yes or no.
    Truth(bool),
}

/// An exact decimal number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    /// The number in units of its last place.
    units: i128,
    places: u32,
    trimmed: bool,
}

impl Decimal {
    /// A number in units of its last decimal place, which is written with all its places.
    pub fn new(units: impl Into<i128>, places: u32) -> Self {
        Self { units: units.into(), places, trimmed: false }
    }

    /// The number that is written in exactly this way.
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
        let places = u32::try_from(rest.len()).ok()?;
        let decimal = Self::new(format!("{whole}{rest}").parse::<i64>().ok()?, places);
        let mut written = Vec::new();
        10_u128.checked_pow(places)?;
        decimal.write(&mut written);
        (written == text.as_bytes()).then_some(decimal)
    }

    /// Number that is written without the zeros at its end.
    #[must_use]
    pub const fn trimmed(self) -> Self {
        Self { trimmed: true, ..self }
    }

    /// Appends the number as text.
    pub fn write(self, text: &mut Vec<u8>) {
        let mut digits = itoa::Buffer::new();
        let one = 10_u128.pow(self.places);
        let (whole, mut rest) = (self.units.unsigned_abs() / one, self.units.unsigned_abs() % one);
        let mut places = self.places as usize;
        if self.units < 0 {
            text.push(b'-');
        }
        text.extend_from_slice(digits.format(whole).as_bytes());
        while self.trimmed && places > 0 && rest.is_multiple_of(10) {
            rest /= 10;
            places -= 1;
        }
        if places > 0 {
            let rest = digits.format(rest).as_bytes();
            text.push(b'.');
            text.extend(std::iter::repeat_n(b'0', places - rest.len()));
            text.extend_from_slice(rest);
        }
    }

    /// The nearest float, as a program reads it from the text.
    pub fn nearest(self) -> f64 {
        // Up to here both are exact floats, and a division rounds once.
        const EXACT: u128 = 1 << f64::MANTISSA_DIGITS;
        const PLACES: u32 = 22;
        if self.units.unsigned_abs() <= EXACT && self.places <= PLACES {
            return self.units as f64 / 10_f64.powi(self.places.cast_signed());
        }
        let mut text = Vec::new();
        self.write(&mut text);
        let text = str::from_utf8(&text).expect("digits are ASCII");
        text.parse().expect("a decimal number is one for Rust, too")
    }
}

macro_rules! integers {
    ($($kind:ty),*) => {$(
        impl From<$kind> for Field<'_> {
            #[inline]
            fn from(value: $kind) -> Self {
                Self::Integer(value.into())
            }
        }
    )*};
}

integers!(u8, u16, u32, u64);

macro_rules! quantities {
    ($($kind:ty),*) => {$(
        impl From<$kind> for Field<'_> {
            #[inline]
            fn from(value: $kind) -> Self {
                Self::Integer(value.0)
            }
        }
    )*};
}

quantities!(Nanos, Bytes, BitsPerSecond);

impl From<i64> for Field<'_> {
    fn from(value: i64) -> Self {
        Self::Signed(value)
    }
}

impl From<bool> for Field<'_> {
    fn from(value: bool) -> Self {
        Self::Truth(value)
    }
}

impl From<Decimal> for Field<'_> {
    fn from(value: Decimal) -> Self {
        Self::Decimal(value)
    }
}

impl<'a> From<&'a str> for Field<'a> {
    #[inline]
    fn from(value: &'a str) -> Self {
        Self::Text(value)
    }
}

impl<'a, T: Into<Field<'a>>> From<Option<T>> for Field<'a> {
    #[inline]
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Empty, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(decimal: Decimal) -> String {
        let mut text = Vec::new();
        decimal.write(&mut text);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn decimals_have_all_their_places_or_as_many_as_they_need() {
        for (units, places, all, trimmed) in [
            (0, 4, "0.0000", "0"),
            (15_000, 4, "1.5000", "1.5"),
            (-1, 6, "-0.000001", "-0.000001"),
            (-7_001_500_000_i64, 6, "-7001.500000", "-7001.5"),
            (100, 2, "1.00", "1"),
            (100, 0, "100", "100"),
        ] {
            let decimal = Decimal::new(units, places);
            assert_eq!((text(decimal).as_str(), text(decimal.trimmed()).as_str()), (all, trimmed));
        }
    }

    #[test]
    fn floats_are_those_that_a_reader_of_the_text_gets() {
        for units in [0_i128, 1, -3, 123_457, (1 << 53) + 1, 9_007_199_254_740_993_123, -(1 << 90)]
        {
            for places in [0, 3, 6] {
                let decimal = Decimal::new(units, places);
                let read: f64 = text(decimal).parse().unwrap();
                assert!(decimal.nearest().total_cmp(&read).is_eq(), "{}", text(decimal));
            }
        }
    }

    #[test]
    fn only_what_would_be_written_so_is_read() {
        for text in ["0", "-3", "0.50", "-0.001", "12.5", "9223372036854775807"] {
            assert_eq!(Decimal::parse(text).map(super::tests::text).as_deref(), Some(text));
        }
        for text in ["", "-", ".5", "5.", "+5", "05", "1e3", "1_000", "0x10", "-0", "1MB", "1.2.3"]
        {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
        assert_eq!(Decimal::parse(&format!("0.{}", "0".repeat(60))), None);
    }

    #[test]
    fn what_is_not_there_is_empty() {
        assert_eq!(Field::from(None::<u8>), Field::Empty);
        assert_eq!(Field::from(Some(Bytes(7))), Field::Integer(7));
        assert_eq!(Field::from(-7_i64), Field::Signed(-7));
        assert_eq!(Field::from(Some("x")), Field::Text("x"));
    }
}
