//! Papers that ship are complete: their sweeps load, and their claims are about existing cells and numbers.

use std::collections::BTreeSet;
use std::path::Path;

use results::query::{Condition, Query, Scalar, Values};
use scenario::Scenario;
use sweep::{Plan, Sweep, SweepOptions};

use super::{Choice, Source, check, draw, names, papers};

fn plan(paper: &super::Paper, name: &str, scale: Option<&str>) -> Plan {
    let path = format!("{}/{name}.toml", paper.name);
    let options = SweepOptions { scale: scale.map(str::to_owned), seeds: None, format: None };
    let sweep = Sweep::read(Path::new(&path), &options, &|path| paper.read(path));
    sweep.and_then(Plan::new).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_figure_has_its_runs_and_every_claim_its_cells() {
    for paper in papers() {
        for figure in &paper.figures {
            let plan = plan(paper, &figure.name, None);
            let axes = &plan.sweep.axes;
            let has = |(axis, choice): &Choice| {
                let found = axes.iter().find(|it| it.name == *axis);
                found.is_some_and(|axis| axis.choices.iter().any(|it| it.label == *choice))
            };
            assert!(has(&figure.baseline), "{}: {:?}", figure.name, figure.baseline);
            for claim in &figure.claims {
                let claimed = format!("{}/{}: claim `{}`", paper.name, figure.name, claim.text);
                for cell in claim.cells.iter().chain(&claim.against) {
                    assert!(has(cell), "{claimed}: the sweep has no cell {cell:?}");
                }
                for axis in &claim.readings {
                    let is_axis = axes.iter().any(|it| it.name == *axis);
                    assert!(is_axis, "{claimed}: the sweep has no axis `{axis}`");
                }
            }
            assert!(check::run_of(figure, &plan).is_some(), "{}: {:?}", figure.name, figure.check);
            let scenario = plan.sweep.run(0).unwrap().1;
            let results = &scenario.results;
            let metrics = Sweep::metric_names(&scenario);
            for quantity in &figure.quantities {
                let name = &quantity.name;
                match &quantity.source {
                    Source::Metric(metric) | Source::Share(metric) | Source::Onset(metric) => {
                        let known = metrics.iter().any(|known| known == metric);
                        assert!(known, "{}: {name}: the summary has no {metric}", figure.name);
                    }
                    Source::Ratio(part, whole) => {
                        let known = |name: &str| metrics.iter().any(|known| known == name);
                        assert!(known(part) && known(whole), "{}: {name}", figure.name);
                    }
                    Source::LargestOf(object) => {
                        let start = format!("{object}.");
                        let known = metrics.iter().any(|known| known.starts_with(&start));
                        assert!(known, "{}: {name}: {object}", figure.name);
                    }
                    Source::Percentile { .. } | Source::ShareUpTo { .. } => {
                        assert!(results.distributions);
                    }
                    Source::LeastRate
                    | Source::LeastRateBefore
                    | Source::MeanRate(_)
                    | Source::RecoveryOf(_) => {
                        assert!(results.throughput.is_some() && results.window().is_some());
                    }
                    // `flows.csv` always exists.
                    Source::RateAbove(_) | Source::Other(_) => {}
                    Source::Level(kind, _) => {
                        assert!(results.window().is_some(), "{name}");
                        assert!(kind != "threshold" || results.thresholds, "{name}");
                    }
                    Source::Rows(query) => has_rows(&scenario, [query], name),
                    Source::RowsRatio(part, whole) => has_rows(&scenario, [part, whole], name),
                }
            }
        }
    }
}

/// Rows are counted in a window, and for existing neighbours.
fn has_rows<const N: usize>(scenario: &Scenario, queries: [&Query<'_>; N], quantity: &str) {
    assert!(scenario.results.window().is_some(), "{quantity}");
    let fabric = scenario.fabric();
    let conditions = queries.into_iter().flat_map(|query| &query.filter);
    for Condition { values, .. } in
        conditions.filter(|it| ["node", "peer"].contains(&it.column.name))
    {
        let (Values::OneOf(names) | Values::NoneOf(names)) = values else { panic!("{quantity}") };
        for name in names {
            let Scalar::Text(name) = name else { panic!("{quantity}: {name:?}") };
            assert!(fabric.host_named(name).is_some(), "{quantity}: {name}");
        }
    }
}

#[test]
fn what_a_check_repeats_is_committed() {
    for paper in papers() {
        let rows: Vec<&str> = paper.check.lines().skip(1).collect();
        let expected = paper.figures.iter().flat_map(|figure| {
            figure.quantities.iter().map(|quantity| (&*figure.name, &*quantity.name))
        });
        let figures = rows.iter().map(|row| row.split(',').next().unwrap());
        let quantities = rows.iter().map(|row| row.rsplit(',').nth(1).unwrap());
        let help = format!(
            "write it anew: xoff reproduce {0} --write-check scenarios/{0}/check.csv",
            paper.name
        );
        assert!(figures.zip(quantities).eq(expected), "{help}");
    }
}

/// `XOFF_WRITE_DOCS=1 cargo test -p papers --lib committed_pictures` draws them anew.
#[test]
fn committed_pictures_are_those_of_the_committed_tables() {
    for paper in papers() {
        let folder = Path::new("../docs/reproduction").join(paper.name);
        for figure in &paper.figures {
            let drawn = draw(figure, &folder).unwrap().expect("the figure's table is committed");
            let name = format!("{}/{}", paper.name, figure.name);
            assert!(drawn.len() < 30_000, "{name}: {} bytes; show less: `chart`", drawn.len());
            let file = folder.join(format!("{}.svg", figure.name));
            if std::env::var_os("XOFF_WRITE_DOCS").is_some() {
                std::fs::write(&file, &drawn).unwrap();
            }
            let committed = std::fs::read_to_string(&file).unwrap_or_default();
            let help = format!("xoff reproduce {} {} --draw {folder:?}", paper.name, figure.name);
            assert!(committed == drawn, "{name} is out of date: {help}");
        }
    }
}

#[test]
fn small_figures_are_small() {
    for paper in papers() {
        for figure in paper.figures.iter().filter(|figure| figure.has_small) {
            let small = plan(paper, &figure.name, Some("small"));
            let (full, small_run) = (plan(paper, &figure.name, None), &small.runs[0]);
            assert_ne!(full.runs[0].id, small_run.id, "{}", figure.name);
            let hosts = |plan: &Plan| plan.sweep.run(0).unwrap().1.fabric().host_count();
            // The idle hosts of Fig. 16 occupy ports of the switches, and cost nothing.
            let idle = if figure.name.starts_with("fig16") { 80 } else { 0 };
            let end = |plan: &Plan| plan.sweep.run(0).unwrap().1.results.window().map(|it| it.to);
            let is_short = end(&small).zip(end(&full)).is_some_and(|(it, full)| it.0 * 5 <= full.0);
            assert!(hosts(&small) <= 64 + idle || is_short, "{}", figure.name);
        }
    }
}

#[test]
fn figures_have_names_of_their_own_and_every_sweep_is_one() {
    for paper in papers() {
        let mut names = BTreeSet::new();
        for figure in &paper.figures {
            for name in figure.names() {
                assert!(names.insert(name), "{name} stands for two figures");
            }
        }
        for (file, text) in paper.folder.files {
            let is_figure = paper.figures.iter().any(|it| format!("{}.toml", it.name) == *file);
            assert!(is_figure || !text.contains("[[axes]]"), "{file} is a sweep and no figure");
        }
    }
}

/// The order of the embedded folders is that of the places.
#[test]
fn papers_have_places_of_their_own() {
    let mut places: Vec<u32> = papers().iter().map(|paper| paper.place).collect();
    assert!(places.is_sorted(), "{:?}: `place = N` is a line of paper.toml", names());
    places.dedup();
    assert_eq!(places.len(), papers().len(), "two papers have one place: {:?}", names());
}
