//! Tables as they are in reports: each field is a text.

use std::fmt::Write;
use std::path::Path;

use results::{CsvText, TableError, TableReader};

use super::{FITS, row, rule};

/// A table with a header.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Grid {
    /// Names of the columns.
    pub header: Vec<String>,
    /// Fields by row.
    pub rows: Vec<Vec<String>>,
}

impl Grid {
    /// Reads a table; `None` if the folder does not have it.
    pub fn read(folder: &Path, file: &str) -> Result<Option<Self>, TableError> {
        let mut table = match TableReader::open(folder, file) {
            Err(error) if error.is_absent() => return Ok(None),
            opened => opened?,
        };
        let header: Vec<String> = table.columns().iter().map(str::to_owned).collect();
        let mut rows = Vec::new();
        while table.advance()? {
            rows.push((0..header.len()).map(|column| table.field(column).to_owned()).collect());
        }
        Ok(Some(Self { header, rows }))
    }

    /// Formats the table as Markdown.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        row(&mut text, &self.header);
        rule(&mut text, self.header.len());
        for fields in &self.rows {
            row(&mut text, fields);
        }
        text
    }

    /// Formats the table as CSV.
    pub fn csv(&self) -> String {
        let mut text = String::new();
        for fields in [&self.header].into_iter().chain(&self.rows) {
            let fields: Vec<String> = fields.iter().map(|it| CsvText(it).to_string()).collect();
            writeln!(text, "{}", fields.join(",")).expect(FITS);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_comes_back_from_its_file() {
        let texts = |row: [&str; 3]| row.map(str::to_owned).to_vec();
        let rows = vec![texts(["a, b", "1 (0 .. 2)", ""]), texts(["\"c\"", "not run", "7"])];
        let grid = Grid { header: texts(["scheme", "of dt 1", "of dt 1"]), rows };
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("fig1.csv"), grid.csv()).unwrap();
        assert_eq!(Grid::read(folder.path(), "fig1.csv").unwrap().as_ref(), Some(&grid));
        assert_eq!(Grid::read(folder.path(), "fig2.csv").unwrap(), None);
        let markdown =
            "| scheme | of dt 1 | of dt 1 |\n| --- | --- | --- |\n| a, b | 1 (0 .. 2) |  |\n";
        assert!(grid.markdown().starts_with(markdown), "{}", grid.markdown());
    }
}
