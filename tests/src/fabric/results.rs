//! Tables of a results folder.

use std::collections::BTreeMap;

/// A CSV file whose fields have no quotes.
#[derive(Clone, Debug)]
pub struct Table {
    rows: Vec<Row>,
}

/// A line of it.
#[derive(Clone, Debug)]
pub struct Row {
    fields: BTreeMap<String, String>,
}

impl Table {
    /// Reads a header and its lines.
    pub fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        let header: Vec<&str> = lines.next().expect("a table has a header").split(',').collect();
        let row = |line: &str| {
            let fields: Vec<&str> = line.split(',').collect();
            assert_eq!(fields.len(), header.len(), "`{line}` has a field for each column");
            let named =
                header.iter().zip(fields).map(|(name, field)| ((*name).into(), field.into()));
            Row { fields: named.collect() }
        };
        Self { rows: lines.map(row).collect() }
    }

    /// The rows in order.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The rows whose column has this text.
    pub fn with<'a, 'b>(&'a self, column: &'b str, text: &'b str) -> impl Iterator<Item = &'a Row> {
        self.rows.iter().filter(move |row| row.text(column) == text)
    }

    /// The only row whose column has this text.
    pub fn only(&self, column: &str, text: &str) -> &Row {
        let found: Vec<&Row> = self.with(column, text).collect();
        assert_eq!(found.len(), 1, "rows whose {column} is {text}");
        found[0]
    }

    /// The numbers of a column.
    pub fn numbers(&self, column: &str) -> Vec<u64> {
        self.rows.iter().map(|row| row.number(column)).collect()
    }

    pub(super) fn sort_by_number(&mut self, column: &str) {
        self.rows.sort_by_key(|row| row.number(column));
    }
}

impl Row {
    /// A field.
    pub fn text(&self, column: &str) -> &str {
        self.fields.get(column).unwrap_or_else(|| panic!("there is no column `{column}`"))
    }

    /// The columns with their fields.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields.iter().map(|(column, text)| (column.as_str(), text.as_str()))
    }

    /// A field that is a whole number.
    pub fn number(&self, column: &str) -> u64 {
        let text = self.text(column);
        text.parse().unwrap_or_else(|_| panic!("`{column}` is `{text}`, not a number"))
    }
}
