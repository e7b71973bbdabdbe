//! `by_rate`: settings of ports by the rate of their link.

use std::collections::BTreeSet;

use units::BitsPerSecond;

use super::document::Document;
use super::quantity;
use super::report::{ScenarioError, listed};

/// Checks that each rate of a list occurs once and is the rate of some link. `path` is the list's
/// key.
pub(super) fn check(
    path: &str,
    list: impl IntoIterator<Item = BitsPerSecond>,
    links: &BTreeSet<BitsPerSecond>,
    document: &Document<'_>,
) -> Result<(), ScenarioError> {
    let mut known = BTreeSet::new();
    for (number, rate) in list.into_iter().enumerate() {
        let wrong = |title: &str, help: &str| {
            Err(document.error(&format!("{path}.{number}.rate"), title, help))
        };
        let text = quantity::display(rate);
        if !links.contains(&rate) {
            let rates: Vec<String> = links.iter().copied().map(quantity::display).collect();
            let list = listed(rates.iter().map(String::as_str));
            return wrong(&format!("no link has a rate of {text}"), &format!("links have {list}"));
        }
        if !known.insert(rate) {
            return wrong(&format!("{text} comes twice"), "write one entry for each rate");
        }
    }
    Ok(())
}
