//! What a paper claims, what the runs say of it, and whether it holds.

use super::{Call, number, row, rule};
use crate::reproduce::{
    Bound, Claim, Criterion, Estimate, Expected, Figure, Outcome, Reading, Unit, Value, Verdict,
    View,
};
use crate::sweep::Decimal;

/// The table of all claims of figures, with the verdict on each; nothing without claims. Figures that did not run
/// have no outcome.
pub fn verdicts(call: &Call<'_>, figures: &[&'static Figure], outcomes: &[Outcome]) -> String {
    if figures.iter().all(|figure| figure.claims.is_empty()) {
        return String::new();
    }
    let mut text = String::from("\n## Which claims hold\n\n");
    if let Some(scale) = call.scale {
        super::line(
            &mut text,
            &format!("**Figures that have it are of the scale `{scale}`, not the paper's.**\n"),
        );
    }
    text += "A claim is judged by means, shares and medians, in each reading of what the paper leaves open. \"Holds if\" comes \
             from the paper's text: its numbers are met within a fifth, \"over\" as it is, and words as the table \
             says.\n\n";
    row(&mut text, &["where", "claim", "paper", "holds if", "verdict"]);
    rule(&mut text, 5);
    for figure in figures {
        let outcome = outcomes.iter().find(|outcome| outcome.figure.name == figure.name);
        for claim in figure.claims {
            let unit = unit_of(figure, claim);
            let readings = outcome.map(|outcome| outcome.judged(claim)).unwrap_or_default();
            let cells =
                [claim.place, claim.text, &expected(claim, unit), &criterion(claim.holds, unit)];
            let verdict = verdict(figure, claim, &readings);
            row(&mut text, &[&cells[..], &[verdict.as_str()]].concat());
        }
    }
    text
}

/// The table of a figure's claims: the paper's number and ours, in each reading.
pub fn comparisons(outcome: &Outcome) -> String {
    let mut text = String::new();
    if outcome.figure.claims.is_empty() {
        return text;
    }
    row(&mut text, &["where", "what", "paper", "ours", "difference"]);
    rule(&mut text, 5);
    for claim in outcome.figure.claims {
        let unit = unit_of(outcome.figure, claim);
        for reading in outcome.judged(claim) {
            let what = if reading.choices.is_empty() {
                claim.text.to_owned()
            } else {
                format!("{}; {}", claim.text, reading.choices.join(", "))
            };
            let ours = ours(outcome.figure, claim, &reading);
            let difference = difference(claim, unit, &reading);
            row(&mut text, &[claim.place, &what, &expected(claim, unit), &ours, &difference]);
        }
    }
    text.push('\n');
    text
}

/// In which readings it holds and in which it turns, with what the runs say in each.
fn verdict(figure: &Figure, claim: &Claim, readings: &[Reading]) -> String {
    if readings.iter().all(|reading| reading.verdict == Verdict::NotRun) {
        return "not run".to_owned();
    }
    let one = claim.readings.is_empty();
    let text = |reading: &Reading| {
        let ours = ours(figure, claim, reading);
        if one { ours } else { format!("{} ({ours})", reading.choices.join(", ")) }
    };
    let part = |(verdict, alone, of_all, of_some): (Verdict, &str, &str, &str)| {
        let of = readings.iter().filter(|reading| reading.verdict == verdict);
        let names: Vec<String> = of.map(text).collect();
        let start = match names.len() {
            0 => return None,
            _ if one => alone,
            count if count == readings.len() => of_all,
            _ => of_some,
        };
        Some(format!("{start}{}", names.join(", ")))
    };
    let parts = [
        (Verdict::Holds, "holds: ", "holds in all readings: ", "holds with "),
        (Verdict::Turns, "does not hold: ", "holds in no reading: ", "turns with "),
        (Verdict::Open, "cannot be told: ", "cannot be told: ", "cannot be told with "),
        (Verdict::NotRun, "not run", "not run", "not run: "),
    ];
    parts.into_iter().filter_map(part).collect::<Vec<_>>().join("; ")
}

fn unit_of(figure: &Figure, claim: &Claim) -> Unit {
    match claim.view {
        View::Itself => figure.quantities[claim.quantity].unit,
        View::Reduction | View::Increase => Unit::Percent,
    }
}

fn expected(claim: &Claim, unit: Unit) -> String {
    let number = |value| number::claimed(value, unit);
    let text = match claim.paper {
        Expected::Words(words) => return words.to_owned(),
        Expected::Range(low, high) => format!("{} to {}", number(low), number(high)),
        Expected::UpTo(most) => format!("up to {}", number(most)),
        Expected::About(value) => format!("about {}", number(value)),
        Expected::Over(least) => format!("over {}", number(least)),
    };
    number::with_unit(text, unit)
}

fn criterion(criterion: Criterion, unit: Unit) -> String {
    let bound = |bound| {
        let number = |value| number::claimed(value, unit);
        let text = match bound {
            Bound::AtLeast(least) => format!("at least {}", number(least)),
            Bound::AtMost(most) => format!("at most {}", number(most)),
            Bound::Above(limit) => format!("above {}", number(limit)),
            Bound::Between(least, most) => format!("{} to {}", number(least), number(most)),
        };
        number::with_unit(text, unit)
    };
    match criterion {
        Criterion::Each(each) => format!("each: {}", bound(each)),
        Criterion::Largest(largest) => format!("largest: {}", bound(largest)),
        Criterion::Ends(least, largest) => {
            format!("least: {}, largest: {}", bound(least), bound(largest))
        }
    }
}

/// What of a reading stands beside the paper's number: one estimate, or the ends of them.
fn shown(claim: &Claim, reading: &Reading) -> Vec<Estimate> {
    match (claim.paper, &reading.found[..]) {
        (_, []) => Vec::new(),
        (Expected::UpTo(_), [.., largest]) => vec![*largest],
        (_, [only]) => vec![*only],
        (_, [least, .., largest]) => vec![*least, *largest],
    }
}

fn ours(figure: &Figure, claim: &Claim, reading: &Reading) -> String {
    let unit = unit_of(figure, claim);
    let statistic = figure.quantities[claim.quantity].source.statistic();
    let text = |estimate| match claim.view {
        View::Itself => number::estimate(estimate, statistic, unit),
        View::Reduction | View::Increase => number::comparison(estimate, unit),
    };
    let found: Vec<String> = shown(claim, reading).into_iter().map(text).collect();
    let text = match (&found[..], claim.paper) {
        ([], _) if reading.verdict == Verdict::NotRun => "no run".to_owned(),
        ([], _) => "no number".to_owned(),
        (found, Expected::UpTo(_)) => {
            number::with_unit(format!("up to {}", found.join(" to ")), unit)
        }
        (found, _) => number::with_unit(found.join(" to "), unit),
    };
    text + &super::note(reading.left_out)
}

fn difference(claim: &Claim, unit: Unit, reading: &Reading) -> String {
    let paper = match claim.paper {
        Expected::Words(_) => return String::new(),
        Expected::Range(low, high) => vec![low, high],
        Expected::UpTo(value) | Expected::About(value) | Expected::Over(value) => vec![value],
    };
    let found = shown(claim, reading);
    let values = found.iter().map(|estimate| estimate.value);
    let Some(found) = values.map(Value::known).collect::<Option<Vec<Decimal>>>() else {
        return String::new();
    };
    if found.is_empty() {
        return String::new();
    }
    // One cell is compared with both ends of a range, and several with the one number that there is.
    let pairs = (0..paper.len().max(found.len()))
        .map(|place| (paper[place.min(paper.len() - 1)], found[place.min(found.len() - 1)]));
    let of_pair = |(paper, ours): (Decimal, Decimal)| {
        number::difference(Decimal(unit.of(ours).0 - unit.of_claimed(paper).0))
    };
    let text = pairs.map(of_pair).collect::<Vec<_>>().join(" to ");
    if unit == Unit::Percent { format!("{text} points") } else { number::with_unit(text, unit) }
}
