//! Meanings of every column of a table and every key of a JSON file.

use super::row::Field;

/// A column of a table: the source of its header, its type and its documentation.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    /// Name, with the unit as suffix.
    pub name: &'a str,
    /// Meaning, in Markdown.
    pub about: &'a str,
    /// Type of the values.
    pub kind: ColumnType,
    /// True if a field may be empty.
    pub may_be_empty: bool,
}

/// Type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Whole numbers.
    Integer,
    /// Numbers with decimal places.
    Decimal,
    /// Texts.
    Text,
    /// Yes or no: 1 or 0 in CSV.
    Truth,
}

/// A key of a JSON file, or a field of a file that is not a table.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Name, with the unit as suffix.
    pub name: &'static str,
    /// Meaning, in Markdown.
    pub about: &'static str,
}

impl<'a> Column<'a> {
    /// A column of whole numbers.
    pub const fn integer(name: &'a str, about: &'a str) -> Self {
        Self::new(ColumnType::Integer, name, about)
    }

    /// A column of numbers with decimal places.
    pub const fn decimal(name: &'a str, about: &'a str) -> Self {
        Self::new(ColumnType::Decimal, name, about)
    }

    /// A column of texts.
    pub const fn text(name: &'a str, about: &'a str) -> Self {
        Self::new(ColumnType::Text, name, about)
    }

    /// A column of truth values.
    pub const fn truth(name: &'a str, about: &'a str) -> Self {
        Self::new(ColumnType::Truth, name, about)
    }

    /// A column of any type.
    pub const fn new(kind: ColumnType, name: &'a str, about: &'a str) -> Self {
        Self { name, about, kind, may_be_empty: false }
    }

    /// Lets fields of the column be empty.
    #[must_use]
    pub const fn or_empty(self) -> Self {
        Self { may_be_empty: true, ..self }
    }

    /// The unit of its values, which its name ends with; `None` of texts, counts, numbers of things and ratios.
    pub fn unit(&self) -> Option<&'static str> {
        const UNITS: [(&str, &str); 4] =
            [("ns", "ns"), ("bytes", "B"), ("bps", "bit/s"), ("bits_per_second", "bit/s")];
        let ends = |word: &str| {
            let before = self.name.strip_suffix(word);
            before.is_some_and(|before| before.is_empty() || before.ends_with('_'))
        };
        UNITS.into_iter().find(|(word, _)| ends(word)).map(|(_, unit)| unit)
    }

    /// Returns true if the field's type fits this column.
    pub fn takes(&self, field: Field<'_>) -> bool {
        match field {
            Field::Empty => self.may_be_empty,
            Field::Integer(_) | Field::Signed(_) => self.kind == ColumnType::Integer,
            Field::Decimal(_) => self.kind == ColumnType::Decimal,
            Field::Text(_) => self.kind == ColumnType::Text,
            Field::Truth(_) => self.kind == ColumnType::Truth,
        }
    }
}

impl ColumnType {
    /// Name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Decimal => "decimal",
            Self::Text => "text",
            Self::Truth => "truth",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_follow_from_names() {
        for (name, unit) in [
            ("fct_mean_ns", Some("ns")),
            ("bytes", Some("B")),
            ("up_to_bytes", Some("B")),
            ("rate_bps", Some("bit/s")),
            ("bits_per_second", Some("bit/s")),
            ("patterns", None),
            ("columns", None),
            ("flows", None),
        ] {
            assert_eq!(Column::integer(name, "").unit(), unit, "{name}");
        }
    }

    #[test]
    fn a_column_takes_its_type_and_nothing_where_that_may_be() {
        let column = Column::integer("port", "");
        assert!(column.takes(Field::Integer(3)) && column.takes(Field::Signed(-3)));
        assert!(!column.takes(Field::Text("3")) && !column.takes(Field::Empty));
        assert!(column.or_empty().takes(Field::Empty));
        assert!(Column::truth("stuck", "").takes(Field::Truth(true)));
        assert!(Column::text("node", "").takes(Field::Text("leaf0")));
    }
}
