//! Numbers computed from a table's rows.

use std::collections::BTreeMap;
use std::path::Path;

use emulation::run::table_format;
use emulation::tables::missing_setting;
use results::query::{Aggregate, Answer, Condition, Query, ScalarKind, Values};
use results::{Column, Counter, Number, PauseRow, Table};
use scenario::document::suggestion;
use scenario::{Plain, Refusal, Scenario, ScenarioError, Written};

use super::value;
use super::verdict::Finding;

/// The last of the eight priorities.
const LAST_PRIORITY: Number = Number::whole(7);

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
    pub(super) fn new(
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
            "pauses" => PauseRow::columns(scenario.switch.has_port_states()),
            _ => table.columns,
        };
        let file = table_format(scenario).file(name);
        Ok(Self { name: name.to_owned(), csv_file: table.file, file, columns })
    }

    fn column(
        &self,
        name: &str,
        key: &str,
        written: &Written,
    ) -> Result<ScalarKind, ScenarioError> {
        if let Some(column) = self.find(name) {
            return Ok(ScalarKind::from_column(column));
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
            value::read(kind, value)
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
            ("priority", Plain::Number(number)) if Number(*number) > LAST_PRIORITY => {
                let title = format!("there is no priority {}", Number(*number));
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
    ) -> Result<ScalarKind, ScenarioError> {
        let Some(column) = column else { return Ok(ScalarKind::Number) };
        let kind = self.column(column, "column", written)?;
        match aggregate {
            Aggregate::Count => Ok(ScalarKind::Number),
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
        let find = |name: &str| self.find(name).expect("`check` has accepted it");
        let filter = filter.iter().map(|(name, value)| {
            let column = find(name);
            let value = value::read(ScalarKind::from_column(column), value);
            let value = value.expect("`check` has accepted it");
            Condition { column, values: Values::OneOf(vec![value]) }
        });
        let (column, filter) = (column.map(find), filter.collect());
        let query = Query { csv_file: self.csv_file, column, aggregate, filter };
        let Answer { value, rows } = query.answer(folder);
        let look = format!("{}{rows}", self.file);
        match value {
            Ok(value) => Finding::new(value, look),
            Err(why) => Finding::nothing(format!("no number: {why}"), look),
        }
    }

    fn find(&self, name: &str) -> Option<&'static Column<'static>> {
        self.columns.iter().find(|column| column.name == name)
    }
}
