//! Rows of tables, apart from the formats that they are written in.

use units::{BitsPerSecond, Bytes, Nanos};

use super::column::{Column, ColumnType};

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

    /// Adds the field of a value.
    #[inline]
    fn add(&mut self, value: impl Value) -> &mut Self {
        value.add_to(self);
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

/// A type of the values of a column.
pub trait Value {
    /// Type of the column.
    const KIND: ColumnType;
    /// True if some values are empty fields.
    const MAY_BE_EMPTY: bool = false;

    /// The field of a row that has this value.
    fn field(&self) -> Field<'_>;

    /// Adds the value to a row.
    #[inline]
    fn add_to(&self, row: &mut (impl Fields + ?Sized)) {
        row.field(self.field());
    }
}

/// Values of a column that not every table of the row type has. All rows of a table have the value, or none has it.
#[derive(Clone, Copy, Debug)]
pub struct Sometimes<T>(pub Option<T>);

macro_rules! values {
    ($($kind:ty: $column:ident, |$value:ident| $field:expr;)+) => {$(
        impl Value for $kind {
            const KIND: ColumnType = ColumnType::$column;

            #[inline]
            fn field(&self) -> Field<'_> {
                let $value = self;
                $field
            }
        }
    )+};
}

values! {
    u8: Integer, |value| Field::Integer((*value).into());
    u16: Integer, |value| Field::Integer((*value).into());
    u32: Integer, |value| Field::Integer((*value).into());
    u64: Integer, |value| Field::Integer(*value);
    Nanos: Integer, |value| Field::Integer(value.0);
    Bytes: Integer, |value| Field::Integer(value.0);
    BitsPerSecond: Integer, |value| Field::Integer(value.0);
    i64: Integer, |value| Field::Signed(*value);
    bool: Truth, |value| Field::Truth(*value);
    Decimal: Decimal, |value| Field::Decimal(*value);
    str: Text, |value| Field::Text(value);
    String: Text, |value| Field::Text(value);
}

impl<T: Value + ?Sized> Value for &T {
    const KIND: ColumnType = T::KIND;
    const MAY_BE_EMPTY: bool = T::MAY_BE_EMPTY;

    #[inline]
    fn field(&self) -> Field<'_> {
        (**self).field()
    }

    #[inline]
    fn add_to(&self, row: &mut (impl Fields + ?Sized)) {
        (**self).add_to(row);
    }
}

impl<T: Value> Value for Option<T> {
    const KIND: ColumnType = T::KIND;
    const MAY_BE_EMPTY: bool = true;

    #[inline]
    fn field(&self) -> Field<'_> {
        self.as_ref().map_or(Field::Empty, Value::field)
    }
}

impl<T: Value> Value for Sometimes<T> {
    const KIND: ColumnType = T::KIND;

    #[inline]
    fn field(&self) -> Field<'_> {
        self.0.as_ref().map_or(Field::Empty, Value::field)
    }

    #[inline]
    fn add_to(&self, row: &mut (impl Fields + ?Sized)) {
        if let Some(value) = &self.0 {
            value.add_to(row);
        }
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
        assert_eq!(None::<u8>.field(), Field::Empty);
        assert_eq!(Some(Bytes(7)).field(), Field::Integer(7));
        assert_eq!((-7_i64).field(), Field::Signed(-7));
        assert_eq!(Some("x").field(), Field::Text("x"));
    }
}
