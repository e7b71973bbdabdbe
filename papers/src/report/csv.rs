//! The cells of a figure, for programs.

use std::fmt::Write;

use results::CsvText;

use super::FITS;
use crate::{Cell, Estimate, Outcome, Statistic, Unit, Value};

/// Columns after the columns of the axes.
const COLUMNS: &str = "quantity,unit,statistic,n,happened,left_out,value,ci95_low,ci95_high,min,max,\
     ratio,ratio_ci95_low,ratio_ci95_high,ratio_min,ratio_max,ratio_left_out,\
     ratio_of_totals,totals_ci95_low,totals_ci95_high,only_here,only_there,p,incomplete";

/// A row for each cell and quantity; docs/reproduction/README.md describes the columns.
pub fn csv(outcome: &Outcome) -> String {
    let mut text = String::new();
    for axis in &outcome.axes {
        write!(text, "{},", CsvText(axis)).expect(FITS);
    }
    writeln!(text, "{COLUMNS}").expect(FITS);
    for cell in &outcome.cells {
        for (number, quantity) in outcome.figure.quantities.iter().enumerate() {
            let estimate = outcome.itself(cell, number);
            let left_out = outcome.left_out(cell, number);
            if estimate.is_none() && left_out == 0 {
                continue;
            }
            for choice in &cell.choices {
                write!(text, "{},", CsvText(choice)).expect(FITS);
            }
            let (count, happened) = estimate.map_or((0, 0), |it| (it.count, it.happened));
            let (statistic, happened) = match quantity.source.statistic() {
                Statistic::Mean => ("mean", String::new()),
                Statistic::Share => ("share", happened.to_string()),
                Statistic::Median => ("median", happened.to_string()),
            };
            writeln!(
                text,
                "{},{},{statistic},{count},{happened},{left_out},{},{},{},{},{},{}",
                CsvText(&quantity.name),
                quantity.unit.name(),
                fields(estimate, quantity.unit),
                fields(outcome.relative(cell, number), Unit::Plain),
                outcome.left_out_relative(cell, number),
                totals(outcome, cell, number),
                discordant(outcome, cell, number),
                cell.incomplete,
            )
            .expect(FITS);
        }
    }
    text
}

/// Returns the ratio of totals and its interval, for a quantity whose sums are meaningful.
fn totals(outcome: &Outcome, cell: &Cell, quantity: usize) -> String {
    let is_sum = outcome.figure.quantities[quantity].source.is_sum();
    let ratio = if is_sum { outcome.estimate_totals(cell, quantity) } else { None };
    let known = |value: Value| value.known().map(|number| number.to_string()).unwrap_or_default();
    let ends = ratio.and_then(|it| it.interval).map(|(low, high)| (known(low), known(high)));
    let (low, high) = ends.unwrap_or_default();
    format!("{},{low},{high}", ratio.map(|it| known(it.value)).unwrap_or_default())
}

/// Returns the numbers of discordant seeds, for a share.
fn discordant(outcome: &Outcome, cell: &Cell, quantity: usize) -> String {
    let is_share = outcome.figure.quantities[quantity].source.statistic() == Statistic::Share;
    match outcome.discordant(cell, quantity).filter(|_| is_share) {
        Some(pairs) => format!("{},{},{}", pairs.only_here, pairs.only_there, pairs.p()),
        None => ",,".to_owned(),
    }
}

/// Returns the value, its interval and its range; a number that no run reached is empty.
fn fields(estimate: Option<Estimate>, unit: Unit) -> String {
    let known = |value: Value| value.known().map(|number| unit.convert(number).to_string());
    let ends = |ends: Option<(Value, Value)>| ends.map(|(low, high)| [known(low), known(high)]);
    let value = estimate.and_then(|it| known(it.value));
    let interval = estimate.and_then(|it| ends(it.interval)).unwrap_or_default();
    let range = estimate.and_then(|it| ends(it.range)).unwrap_or_default();
    let all = [value].into_iter().chain(interval).chain(range);
    all.map(Option::unwrap_or_default).collect::<Vec<_>>().join(",")
}
