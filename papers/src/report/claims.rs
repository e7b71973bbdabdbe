//! Claims of a paper in comparison with the runs, and the verdicts.

use results::Number;

use super::{Call, Grid, number, row, rule};
use crate::{
    Bound, Claim, Criterion, Estimate, Expected, Figure, Outcome, Reading, Unit, Value, Verdict,
};

/// Returns the table of all claims of figures with their verdicts; empty without claims. Figures that did not run have
/// no outcome.
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
             says. A share that the paper has in numbers holds or turns if its whole 95 % interval does, and a difference of shares holds if chance \
             makes it in less than one of twenty pairs of cells (McNemar); otherwise they are undecided. Of more than five readings the table has how many; each figure's own table has them all.\n\n";
    row(&mut text, &["where", "claim", "paper", "holds if", "verdict"]);
    rule(&mut text, 5);
    for figure in figures {
        let outcome = outcomes.iter().find(|outcome| outcome.figure.name == figure.name);
        for claim in &figure.claims {
            let unit = unit_of(figure, claim);
            let readings = outcome.map(|outcome| outcome.judged(claim)).unwrap_or_default();
            let (paper, holds) = (expected(claim, unit), criterion(claim.holds, unit));
            let cells = [&*claim.place, &claim.text, &paper, &holds];
            let verdict = verdict(figure, claim, &readings);
            row(&mut text, &[&cells[..], &[verdict.as_str()]].concat());
        }
    }
    text
}

/// Returns the table of a figure's claims: the paper's number and xoff's in each reading, and the verdict if the first
/// table does not show it. `None` without claims.
pub fn comparisons(outcome: &Outcome) -> Option<Grid> {
    if outcome.figure.claims.is_empty() {
        return None;
    }
    let judged: Vec<(&Claim, Vec<Reading>)> =
        outcome.figure.claims.iter().map(|claim| (claim, outcome.judged(claim))).collect();
    // True if the first table only counts readings.
    let with_verdicts = judged.iter().any(|(_, readings)| readings.len() > MAX_LISTED);
    let columns = ["where", "what", "paper", "ours", "difference", "verdict"];
    let columns = &columns[..if with_verdicts { 6 } else { 5 }];
    let mut rows = Vec::new();
    for (claim, readings) in judged {
        let unit = unit_of(outcome.figure, claim);
        for reading in readings {
            let what = if reading.choices.is_empty() {
                claim.text.clone()
            } else {
                format!("{}; {}", claim.text, reading.choices.join(", "))
            };
            let ours = ours(outcome.figure, claim, &reading);
            let difference = difference(claim, unit, &reading);
            let verdict = match reading.verdict {
                Verdict::Holds => "holds",
                Verdict::Turns => "turns",
                Verdict::Open => "is undecided",
                Verdict::NotRun => "not run",
            };
            let paper = expected(claim, unit);
            let fields = [&*claim.place, &what, &paper, &ours, &difference, verdict];
            rows.push(fields[..columns.len()].iter().map(|it| (*it).to_owned()).collect());
        }
    }
    Some(Grid { header: columns.iter().map(|it| (*it).to_owned()).collect(), rows })
}

/// Max number of readings that a verdict lists; of more readings it shows counts.
const MAX_LISTED: usize = 5;

/// Lists the readings in which the claim holds and in which it does not, with the runs' numbers. Of many readings,
/// shows their counts and the deciding choices.
fn verdict(figure: &Figure, claim: &Claim, readings: &[Reading]) -> String {
    if readings.iter().all(|reading| reading.verdict == Verdict::NotRun) {
        return "not run".to_owned();
    }
    if readings.len() > MAX_LISTED {
        return counted(claim, readings);
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
        (Verdict::Open, "undecided: ", "undecided: ", "is undecided with "),
        (Verdict::NotRun, "not run", "not run", "not run: "),
    ];
    parts.into_iter().filter_map(part).collect::<Vec<_>>().join("; ")
}

/// Describes the numbers of readings by verdict, with the deciding choices.
fn counted(claim: &Claim, readings: &[Reading]) -> String {
    let all = readings.len();
    let count = |verdict| readings.iter().filter(|reading| reading.verdict == verdict).count();
    let verdicts = [
        (Verdict::Holds, "holds in"),
        (Verdict::Turns, "turns in"),
        (Verdict::Open, "is undecided in"),
        (Verdict::NotRun, "not run in"),
    ];
    let counts = verdicts.map(|(verdict, text)| (count(verdict), text));
    if let Some((_, text)) = counts.iter().find(|(count, _)| *count == all) {
        return format!("{text} all {all} readings");
    }
    let [(holds, _), others @ ..] = counts;
    let others = others.iter().filter(|(count, _)| *count > 0);
    let others: Vec<String> = others.map(|(count, text)| format!(", {text} {count}")).collect();
    let others = others.concat();
    let deciding = if holds == 0 { Vec::new() } else { deciding(claim, readings) };
    let deciding =
        if deciding.is_empty() { String::new() } else { format!(" ({})", deciding.join("; ")) };
    format!("holds in {holds} of {all} readings{deciding}{others}")
}

/// Returns the choices of an axis with which the claim holds in every reading or in none, unless they are too many to
/// list.
fn deciding(claim: &Claim, readings: &[Reading]) -> Vec<String> {
    let (mut all, mut none) = (Vec::new(), Vec::new());
    for place in 0..claim.readings.len() {
        let mut choices: Vec<&String> = Vec::new();
        for choice in readings.iter().filter_map(|reading| reading.choices.get(place)) {
            if !choices.contains(&choice) {
                choices.push(choice);
            }
        }
        if choices.len() < 2 {
            continue;
        }
        let held = |choice: &&String| {
            let with = readings.iter().filter(|reading| reading.choices.get(place) == Some(choice));
            let holds = with.clone().filter(|reading| reading.verdict == Verdict::Holds);
            (holds.count(), with.count())
        };
        let is_whole = |choice: &&String| matches!(held(choice), (held, count) if held == count);
        let of_all: Vec<_> = choices.iter().copied().filter(is_whole).collect();
        let not_run = |choice: &&String| {
            let mut with = readings.iter().filter(|it| it.choices.get(place) == Some(choice));
            with.any(|reading| reading.verdict == Verdict::NotRun)
        };
        let of_none: Vec<_> =
            choices.into_iter().filter(|choice| held(choice).0 == 0 && !not_run(choice)).collect();
        all.extend((of_all.len() <= MAX_LISTED).then_some(of_all).into_iter().flatten());
        none.extend((of_none.len() <= MAX_LISTED).then_some(of_none).into_iter().flatten());
    }
    let part = |start: &str, choices: Vec<&String>| {
        let choices: Vec<String> = choices.iter().map(|it| format!("`{it}`")).collect();
        (!choices.is_empty()).then(|| format!("{start} {}", choices.join(", ")))
    };
    part("all with", all).into_iter().chain(part("none with", none)).collect()
}

fn unit_of(figure: &Figure, claim: &Claim) -> Unit {
    if claim.view.compares() { Unit::Percent } else { figure.quantities[claim.quantity].unit }
}

fn expected(claim: &Claim, unit: Unit) -> String {
    let number = |value| number::claimed(value, unit);
    let text = match claim.paper {
        Expected::Words(ref words) => return words.clone(),
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
        Criterion::Mean(mean) => format!("mean: {}", bound(mean)),
        Criterion::Largest(largest) => format!("largest: {}", bound(largest)),
        Criterion::Ends(least, largest) => {
            format!("least: {}, largest: {}", bound(least), bound(largest))
        }
    }
}

/// Returns the estimates of a reading to show beside the paper's number: one estimate, or the lowest and highest.
fn shown(claim: &Claim, reading: &Reading) -> Vec<Estimate> {
    match (&claim.paper, &reading.found[..]) {
        (_, []) => Vec::new(),
        (Expected::UpTo(_), [.., largest]) => vec![*largest],
        (_, [only]) => vec![*only],
        (_, [least, .., largest]) => vec![*least, *largest],
    }
}

fn ours(figure: &Figure, claim: &Claim, reading: &Reading) -> String {
    let unit = unit_of(figure, claim);
    let statistic = figure.quantities[claim.quantity].source.statistic();
    let text = |estimate| {
        if claim.view.compares() {
            number::comparison(estimate, unit)
        } else {
            number::estimate(estimate, statistic, unit)
        }
    };
    let found: Vec<String> = shown(claim, reading).into_iter().map(text).collect();
    let text = match (&found[..], &claim.paper) {
        ([], _) if reading.verdict == Verdict::NotRun => "no run".to_owned(),
        ([], _) => "no number".to_owned(),
        (found, Expected::UpTo(_)) => {
            number::with_unit(format!("up to {}", found.join(" to ")), unit)
        }
        (found, _) => number::with_unit(found.join(" to "), unit),
    };
    text + &super::note(reading.left_out) + &without_ratio(reading)
}

/// Notes seeds and cells without a ratio, because the baseline is 0.
fn without_ratio(reading: &Reading) -> String {
    let mut notes = Vec::new();
    match reading.without_ratio {
        0 => {}
        1 => notes.push("1 run without a ratio".to_owned()),
        count => notes.push(format!("{count} runs without a ratio")),
    }
    match (reading.from_nothing, reading.found.len()) {
        (0, _) => {}
        (_, 0) => notes.push("0 in the baseline, and more here".to_owned()),
        (1, _) => notes.push("0 in the baseline of one cell, and more in it".to_owned()),
        (cells, _) => notes.push(format!("0 in the baselines of {cells} cells, and more in them")),
    }
    if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) }
}

fn difference(claim: &Claim, unit: Unit, reading: &Reading) -> String {
    let paper = match claim.paper {
        Expected::Words(_) => return String::new(),
        Expected::Range(low, high) => vec![low, high],
        Expected::UpTo(value) | Expected::About(value) | Expected::Over(value) => vec![value],
    };
    let found = shown(claim, reading);
    let values = found.iter().map(|estimate| estimate.value);
    let Some(found) = values.map(Value::known).collect::<Option<Vec<Number>>>() else {
        return String::new();
    };
    if found.is_empty() {
        return String::new();
    }
    // One cell is compared with both ends of a range, and several cells with a single number.
    let pairs = (0..paper.len().max(found.len()))
        .map(|place| (paper[place.min(paper.len() - 1)], found[place.min(found.len() - 1)]));
    let of_pair = |(paper, ours): (Number, Number)| {
        number::difference(Number(unit.convert(ours).0 - unit.convert_claimed(paper).0))
    };
    let text = pairs.map(of_pair).collect::<Vec<_>>().join(" to ");
    if unit == Unit::Percent { format!("{text} points") } else { number::with_unit(text, unit) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::CLAIM;

    fn said(verdicts: &[(&str, &str, Verdict)]) -> String {
        let reading = |(scheme, buffer, verdict): &(&str, &str, Verdict)| Reading {
            choices: vec![(*scheme).to_owned(), (*buffer).to_owned()],
            found: Vec::new(),
            left_out: 0,
            without_ratio: 0,
            from_nothing: 0,
            verdict: *verdict,
        };
        let readings: Vec<Reading> = verdicts.iter().map(reading).collect();
        let axes = ["scheme", "buffer"].map(str::to_owned);
        counted(&Claim { readings: axes.into(), ..CLAIM.clone() }, &readings)
    }

    #[test]
    fn a_verdict_counts_readings_and_names_what_decides() {
        use Verdict::{Holds, NotRun, Open, Turns};
        let four = |of: [Verdict; 4]| {
            said(&[("a", "1", of[0]), ("a", "2", of[1]), ("b", "1", of[2]), ("b", "2", of[3])])
        };
        assert_eq!(four([Holds; 4]), "holds in all 4 readings");
        assert_eq!(four([Turns; 4]), "turns in all 4 readings");
        assert_eq!(four([NotRun; 4]), "not run in all 4 readings");
        assert_eq!(
            four([Holds, Holds, Turns, Open]),
            "holds in 2 of 4 readings (all with `a`; none with `b`), turns in 1, is undecided in 1"
        );
        assert_eq!(
            four([Holds, Turns, Holds, NotRun]),
            "holds in 2 of 4 readings (all with `1`), turns in 1, not run in 1"
        );
        assert_eq!(four([Holds, Turns, Turns, Holds]), "holds in 2 of 4 readings, turns in 2");
        assert_eq!(
            four([Turns, Turns, Turns, Open]),
            "holds in 0 of 4 readings, turns in 3, is undecided in 1"
        );
        let many = |verdict| {
            let choices = ["1", "2", "3", "4", "5", "6", "7"];
            let readings = choices.map(|it| ("a", it, if it == "7" { Holds } else { verdict }));
            said(&readings)
        };
        assert_eq!(many(Turns), "holds in 1 of 7 readings (all with `7`), turns in 6");
        // An axis with one choice decides nothing.
        assert_eq!(
            said(&[("a", "1", Holds), ("a", "2", Turns)]),
            "holds in 1 of 2 readings (all with `1`; none with `2`), turns in 1"
        );
    }
}
