//! Numbers computed from a table's rows.

use std::collections::BTreeMap;
use std::path::Path;

use emulation::run::table_format;
use emulation::tables::missing_setting;
use results::{Column, Counter, PauseRow, Table, TableError, TableReader, counted};
use scenario::document::suggestion;
use scenario::{Aggregate, Plain, Refusal, Scenario, ScenarioError, Written};
use sweep::Decimal;

use super::kind::{Kind, Measure};
use super::verdict::Finding;

/// The last of the eight priorities.
const LAST_PRIORITY: Decimal = Decimal::whole(7);

/// A table that a run of the scenario writes.
pub(super) struct Known {
    name: String,
    /// Name of the CSV file.
    csv_file: &'static str,
    /// Name of the file in the scenario's format.
    file: String,
    columns: &'static [Column<'static>],
}

impl Known {
    /// Finds a table by a name in [`results::TABLES`].
    pub(super) fn of(
        name: &str,
        scenario: &Scenario,
        written: &Written,
    ) -> Result<Self, ScenarioError> {
        if let Some(asks) = missing_setting(name, scenario) {
            let file = table_format(scenario).file(name);
            let title = format!("a run of this scenario writes no {file}");
            return Err(written.error("table", &title, &format!("add {asks}, which asks for it")));
        }
        let table = Table::find(name).expect("a scenario names no other tables");
        let columns = match name {
            "pauses" => PauseRow::columns(scenario.switch.spfc().is_some()),
            _ => table.columns,
        };
        let file = table_format(scenario).file(name);
        Ok(Self { name: name.to_owned(), csv_file: table.file, file, columns })
    }

    fn column(&self, name: &str, key: &str, written: &Written) -> Result<Kind, ScenarioError> {
        if self.columns.iter().any(|column| column.name == name) {
            return Ok(Kind::of_column(&self.name, name));
        }
        let title = format!("{} has no column `{name}`", self.file);
        let names = self.columns.iter().map(|column| column.name);
        Err(written.error(key, &title, &suggestion(name, "its columns are", names)))
    }

    /// Checks that rows can be selected by these values.
    pub(super) fn check_filter(
        &self,
        filter: &BTreeMap<String, Plain>,
        scenario: &Scenario,
        written: &Written,
    ) -> Result<(), ScenarioError> {
        for (column, value) in filter {
            let key = format!("where.{column}");
            let kind = self.column(column, &key, written)?;
            kind.read(value)
                .map_err(|Refusal { title, help, .. }| written.error(&key, &title, &help))?;
            self.check_value(column, value, scenario)
                .map_err(|(title, help)| written.error(&key, &title, &help))?;
        }
        Ok(())
    }

    /// Checks that a row can have the value, if the values form a closed set: a count of impossible rows is always 0.
    /// The error has a title and a help text.
    fn check_value(
        &self,
        column: &str,
        value: &Plain,
        scenario: &Scenario,
    ) -> Result<(), (String, String)> {
        let fabric = scenario.fabric();
        let (what, names): (&str, Vec<String>) = match (column, value) {
            ("priority", Plain::Number(number)) if Decimal(*number) > LAST_PRIORITY => {
                let title = format!("there is no priority {}", Decimal(*number));
                return Err((title, "priorities are 0 to 7".to_owned()));
            }
            ("counter", _) if self.name == "counters" => {
                let names = |counter: Counter| (0..8).map(move |priority| counter.name(priority));
                ("counter", Counter::ALL.into_iter().flat_map(names).collect())
            }
            ("node" | "peer" | "src" | "dst" | "from" | "to", _) => {
                let mut names: Vec<String> =
                    fabric.nodes().iter().map(|node| node.name.clone()).collect();
                if self.name == "drops" {
                    names.extend(fabric.wires().iter().map(|wire| wire.name.clone()));
                }
                ("node", names)
            }
            _ => return Ok(()),
        };
        match value {
            Plain::Text(text) if !names.contains(text) => {
                let known = names.iter().map(String::as_str);
                let near = scenario::report::nearest(text, known);
                let near = near.map_or_else(
                    || "`xoff inspect` names them".to_owned(),
                    |name| format!("did you mean `{name}`?"),
                );
                Err((format!("no {what} is called `{text}`"), near))
            }
            _ => Ok(()),
        }
    }

    /// Returns the kind of a column's aggregate.
    pub(super) fn kind(
        &self,
        column: Option<&str>,
        aggregate: Aggregate,
        written: &Written,
    ) -> Result<Kind, ScenarioError> {
        let Some(column) = column else { return Ok(Kind::Number) };
        let kind = self.column(column, "column", written)?;
        match aggregate {
            Aggregate::Count => Ok(Kind::Number),
            _ if kind.has_order() => Ok(kind),
            _ => {
                let name = aggregate.name();
                let title =
                    format!("`{name}` of `{column}`, which has {} in each row", kind.noun());
                let help = "write aggregate = \"count\", or choose rows by it: where = { .. }";
                Err(written.error("aggregate", &title, help))
            }
        }
    }

    /// Computes the aggregate of a run's rows.
    pub(super) fn look(
        &self,
        folder: Option<&Path>,
        column: Option<&str>,
        aggregate: Aggregate,
        filter: &BTreeMap<String, Plain>,
    ) -> Finding {
        let Some(folder) = folder else {
            return Finding::nothing("no number: the run kept no tables".into(), self.file.clone());
        };
        let filter: Vec<(&str, Measure, Kind)> = filter
            .iter()
            .map(|(column, value)| {
                let kind = Kind::of_column(&self.name, column);
                (column.as_str(), kind.read(value).expect("`check` has accepted it"), kind)
            })
            .collect();
        match Rows::read(folder, self.csv_file, column, &filter) {
            Err(why) => Finding::nothing(format!("no number: {why}"), self.file.clone()),
            Ok(rows) => rows.finding(&self.file, aggregate),
        }
    }
}

/// Rows selected by an expectation.
#[derive(Default)]
struct Rows {
    all: u64,
    chosen: u64,
    /// Non-empty fields of the column, with the numbers of their rows.
    fields: Vec<(Decimal, u64)>,
    /// Number of non-empty fields, including columns of names.
    filled: u64,
    first: Option<u64>,
    /// Noun for the numbers of rows.
    noun: &'static str,
}

impl Rows {
    fn read(
        folder: &Path,
        csv_file: &str,
        column: Option<&str>,
        filter: &[(&str, Measure, Kind)],
    ) -> Result<Self, String> {
        let failed = |error: TableError| error.to_string();
        let mut table = TableReader::open(folder, csv_file).map_err(failed)?;
        let place = |name: &str| {
            let file = table.path().display();
            let place = table.column(name);
            place.ok_or_else(|| format!("{file} of this run has no column `{name}`"))
        };
        let column = column.map(place).transpose()?;
        let filter: Vec<(usize, &Measure, Kind)> = filter
            .iter()
            .map(|(name, value, kind)| Ok((place(name)?, value, *kind)))
            .collect::<Result<_, String>>()?;
        let mut rows = Self { noun: table.noun(), ..Self::default() };
        while table.advance().map_err(failed)? {
            rows.all += 1;
            let number = table.number();
            let fits = |(place, value, kind): &(usize, &Measure, Kind)| {
                measure(table.field(*place), *kind).as_ref() == Some(*value)
            };
            if !filter.iter().all(fits) {
                continue;
            }
            rows.chosen += 1;
            rows.first.get_or_insert(number);
            let field = column.map_or("", |place| table.field(place));
            rows.filled += u64::from(column.is_none() || !field.is_empty());
            if let Some(Measure::Number(value)) = measure(field, Kind::Number) {
                rows.fields.push((value, number));
            }
        }
        Ok(rows)
    }

    fn finding(mut self, file: &str, aggregate: Aggregate) -> Finding {
        let of_all = if self.chosen == self.all {
            counted(self.all, "row")
        } else {
            format!("{} of {}", results::count(self.chosen), counted(self.all, "row"))
        };
        let noun = self.noun;
        let first = self.first.map_or_else(String::new, |it| format!(", the first in {noun} {it}"));
        let look = format!("{file}, {of_all}{first}");
        let count = self.fields.len();
        let sum = Decimal(self.fields.iter().map(|(number, _)| number.0).sum());
        let number = |number| Finding::of(Measure::Number(number), look.clone());
        match aggregate {
            Aggregate::Count => return number(Decimal(i128::from(self.filled) * Decimal::ONE.0)),
            Aggregate::Sum => return number(sum),
            _ => {}
        }
        if count == 0 {
            let why = if self.chosen == 0 { "no row is like that" } else { "all fields are empty" };
            return Finding::nothing(format!("no number: {why}"), look);
        }
        self.fields.sort_unstable();
        let at = |place: usize| {
            let (value, number) = self.fields[place];
            Finding::of(Measure::Number(value), format!("{file}, {noun} {number}, of {of_all}"))
        };
        let rank = |percent: usize| (count * percent).div_ceil(100).max(1) - 1;
        match aggregate {
            Aggregate::Min => at(0),
            Aggregate::Max => at(count - 1),
            Aggregate::P50 => at(rank(50)),
            Aggregate::P99 => at(rank(99)),
            Aggregate::Mean => number(Decimal::mean(sum, count)),
            Aggregate::Sum | Aggregate::Count => unreachable!("returned above"),
        }
    }
}

/// Parses a field as a value of a kind; `None` if it is empty.
fn measure(field: &str, kind: Kind) -> Option<Measure> {
    if kind == Kind::Text {
        return Some(Measure::Text(field.to_owned()));
    }
    let json: serde_json::Value = serde_json::from_str(field).ok()?;
    Decimal::of_json(&json).map(Measure::Number)
}
