//! Papers in files: `scenarios/PAPER/paper.toml`, and a file of `scenarios/PAPER/figures/` for each figure.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use results::Number;
use serde::Deserialize;

use super::shipped::Folder;
use super::source::QuantityKeys;
use super::{
    Chart, Choice, Claim, Criterion, Expected, Figure, Paper, Quantity, Unit, View, check,
};

/// `paper.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PaperKeys {
    /// Place among the papers in lists.
    place: u32,
    title: String,
    /// Names of the figures, in the order of the paper.
    figures: Vec<String>,
    /// Criteria of claims in words, by the words of the paper.
    #[serde(default)]
    criteria: BTreeMap<String, Criterion>,
    /// Quantities that several figures have in common, by a name of the list.
    #[serde(default)]
    lists: BTreeMap<String, Vec<String>>,
    /// Quantities of the figures, by a name that is unique in the paper.
    quantities: BTreeMap<String, QuantityKeys>,
}

/// A file of `figures`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FigureKeys {
    #[serde(default)]
    also: Vec<String>,
    title: String,
    notes: String,
    #[serde(default)]
    has_small: bool,
    baseline: BTreeMap<String, String>,
    /// Names of quantities and lists.
    quantities: Vec<String>,
    #[serde(default)]
    check: BTreeMap<String, String>,
    #[serde(default)]
    chart: Chart,
    /// Keys of all claims.
    #[serde(default)]
    common: ClaimKeys,
    #[serde(default)]
    claims: Vec<ClaimKeys>,
}

/// A claim, or the common keys of several claims.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ClaimKeys {
    place: Option<String>,
    text: Option<String>,
    /// Words of the paper.
    says: Option<String>,
    /// Number of the paper.
    paper: Option<Expected>,
    /// Default: the criterion of the words, or the number within a fifth.
    holds: Option<Criterion>,
    /// The mean over the cells is within a fifth of the number.
    on_average: Option<bool>,
    of: Option<BTreeMap<View, String>>,
    /// Choices by axis; choices of [`Self::each`] add to the common ones.
    cells: BTreeMap<String, Choices>,
    readings: Option<Vec<String>>,
    against: Option<BTreeMap<String, String>>,
    /// Claims that have the other keys in common.
    each: Vec<ClaimKeys>,
}

/// Choices of an axis.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Choices {
    One(String),
    Several(Vec<String>),
}

/// Reads a paper from its files.
pub fn paper(folder: &'static Folder) -> Result<Paper, String> {
    let keys: PaperKeys = read(folder, "paper.toml")?;
    let figure = |name: &String| {
        let file = format!("figures/{name}.toml");
        let figure = figure(name, read(folder, &file)?, &keys);
        figure.map_err(|error| format!("{}/{file}: {error}", folder.name))
    };
    let figures: Vec<Figure> = keys.figures.iter().map(figure).collect::<Result<_, _>>()?;
    for (file, _) in folder.files {
        let name = file.strip_prefix("figures/").and_then(|file| file.strip_suffix(".toml"));
        if let Some(name) = name
            && !keys.figures.iter().any(|figure| figure == name)
        {
            return Err(format!("{}/paper.toml: `figures` lacks `{name}`", folder.name));
        }
    }
    let check = folder.text("check.csv").unwrap_or(check::EMPTY);
    Ok(Paper { name: folder.name, place: keys.place, title: keys.title, folder, figures, check })
}

fn read<T: for<'a> Deserialize<'a>>(folder: &Folder, file: &str) -> Result<T, String> {
    let name = format!("{}/{file}", folder.name);
    let text = folder.text(file).ok_or_else(|| format!("{name} is missing"))?;
    toml::from_str(text).map_err(|error| format!("{name}: {error}"))
}

fn figure(name: &str, keys: FigureKeys, paper: &PaperKeys) -> Result<Figure, String> {
    let mut quantities: Vec<Quantity> = Vec::new();
    let listed = |key: &String| paper.lists.get(key).cloned().unwrap_or_else(|| vec![key.clone()]);
    let names: Vec<String> = keys.quantities.iter().flat_map(listed).collect();
    for key in &names {
        let quantity = paper.quantities.get(key);
        let quantity = quantity.ok_or_else(|| format!("paper.toml has no quantity `{key}`"))?;
        quantities.push(quantity.clone().resolve(key)?);
    }
    let shown: BTreeSet<&str> = quantities.iter().map(|quantity| &*quantity.name).collect();
    if shown.len() < quantities.len() {
        return Err(format!("two quantities have one name: {names:?}"));
    }
    let mut figure = Figure {
        name: name.to_owned(),
        also: keys.also,
        title: keys.title,
        notes: keys.notes,
        has_small: keys.has_small,
        baseline: only(&keys.baseline).ok_or("`baseline` is one choice of one axis")?,
        quantities,
        claims: Vec::new(),
        check: keys.check.into_iter().collect(),
        chart: keys.chart,
    };
    let mut leaves = Vec::new();
    for claim in keys.claims {
        claim.leaves(&keys.common, &mut leaves);
    }
    for leaf in leaves {
        let text = leaf.text.clone().unwrap_or_default();
        let claim = claim(leaf, &figure, &names, &paper.criteria);
        figure.claims.push(claim.map_err(|error| format!("claim `{text}`: {error}"))?);
    }
    Ok(figure)
}

impl ClaimKeys {
    /// Collects the claims, each with its own and the common keys.
    fn leaves(self, common: &Self, leaves: &mut Vec<Self>) {
        let (own, common) = (self, common.clone());
        let mut cells = common.cells;
        cells.extend(own.cells);
        // Words and numbers, and both kinds of criteria, exclude each other.
        let (says, paper) = match (&own.says, &own.paper) {
            (None, None) => (common.says, common.paper),
            _ => (own.says, own.paper),
        };
        let (holds, on_average) = match (&own.holds, own.on_average) {
            (None, None) => (common.holds, common.on_average),
            _ => (own.holds, own.on_average),
        };
        let merged = Self {
            place: own.place.or(common.place),
            text: own.text.or(common.text),
            says,
            paper,
            holds,
            on_average,
            of: own.of.or(common.of),
            cells,
            readings: own.readings.or(common.readings),
            against: own.against.or(common.against),
            each: Vec::new(),
        };
        if own.each.is_empty() {
            leaves.push(merged);
            return;
        }
        for claim in own.each {
            claim.leaves(&merged, leaves);
        }
    }
}

/// Resolves a claim on quantities whose keys in the paper are `names`.
fn claim(
    keys: ClaimKeys,
    figure: &Figure,
    names: &[String],
    criteria: &BTreeMap<String, Criterion>,
) -> Result<Claim, String> {
    let missing = |key: &str| format!("`{key}` is missing");
    let of = keys.of.ok_or_else(|| missing("of"))?;
    let (view, name) = only(&of).ok_or("`of` is one view of one quantity")?;
    let quantity = names.iter().position(|known| *known == name);
    let quantity = quantity.ok_or_else(|| format!("the figure has no quantity `{name}`"))?;
    let is_percent = view.compares() || figure.quantities[quantity].unit == Unit::Percent;
    let expected = match (keys.says, keys.paper) {
        (Some(words), None) => Expected::Words(words),
        (None, Some(number)) => number.map(|number| claimed(number, is_percent)),
        _ => return Err("it has either `says` or `paper`".to_owned()),
    };
    let holds = match (keys.holds, keys.on_average, &expected) {
        (Some(holds), None, _) => holds.map(|number| claimed(number, is_percent)),
        (None, Some(true), Expected::Words(_)) => return Err("words have no mean".to_owned()),
        (None, Some(true), number) => match Criterion::within_a_fifth(number) {
            Criterion::Each(bound) => Criterion::Mean(bound),
            _ => return Err("a range and a largest value have no mean".to_owned()),
        },
        (None, None, Expected::Words(words)) => {
            let holds = criteria.get(words).ok_or_else(|| missing("holds"))?;
            holds.map(|number| claimed(number, is_percent))
        }
        (None, None, number) => Criterion::within_a_fifth(number),
        _ => return Err("it has either `holds` or `on_average = true`".to_owned()),
    };
    let against = keys.against.map(|against| only(&against).ok_or("`against` is one choice"));
    Ok(Claim {
        place: keys.place.ok_or_else(|| missing("place"))?,
        text: keys.text.ok_or_else(|| missing("text"))?,
        paper: expected,
        holds,
        quantity,
        view,
        cells: keys.cells.into_iter().flat_map(|(axis, choices)| choices.of(&axis)).collect(),
        readings: keys.readings.unwrap_or_default(),
        against: against.transpose()?,
    })
}

impl Choices {
    fn of(self, axis: &str) -> Vec<Choice> {
        let choices = match self {
            Self::One(choice) => vec![choice],
            Self::Several(choices) => choices,
        };
        choices.into_iter().map(|choice| (axis.to_owned(), choice)).collect()
    }
}

/// Returns the only entry of a map.
fn only<K: Clone + Ord, V: Clone>(map: &BTreeMap<K, V>) -> Option<(K, V)> {
    let (key, value) = map.first_key_value().filter(|_| map.len() == 1)?;
    Some((key.clone(), value.clone()))
}

/// Converts a number in the displayed unit to the form of claims, in which a percentage is a fraction of 1.
const fn claimed(number: Number, is_percent: bool) -> Number {
    if is_percent { Number(number.0 / 100) } else { number }
}
