//! Papers that ship are complete: their sweeps load, and their claims are about existing cells and numbers.

use std::collections::BTreeSet;
use std::path::Path;

use scenario::Scenario;
use sweep::{Plan, Sweep, SweepOptions};

use super::{PAPERS, Peers, Source, check};

fn plan(paper: &super::Paper, name: &str, scale: Option<&str>) -> Plan {
    let path = format!("{}/{name}.toml", paper.name);
    let options = SweepOptions { scale: scale.map(str::to_owned), seeds: None, format: None };
    let sweep = Sweep::read(Path::new(&path), &options, &|path| paper.read(path));
    sweep.and_then(Plan::of).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_figure_has_its_runs_and_every_claim_its_cells() {
    for paper in PAPERS {
        for figure in paper.figures {
            let plan = plan(paper, figure.name, None);
            let axes = &plan.sweep.axes;
            let has = |&(axis, choice): &(&str, &str)| {
                let found = axes.iter().find(|it| it.name == axis);
                found.is_some_and(|axis| axis.choices.iter().any(|it| it.label == choice))
            };
            assert!(has(&figure.baseline), "{}: {:?}", figure.name, figure.baseline);
            for claim in figure.claims {
                assert!(claim.quantity < figure.quantities.len(), "{}", claim.text);
                assert!(claim.cells.iter().all(has), "{}: {:?}", figure.name, claim.cells);
                for axis in claim.readings {
                    assert!(axes.iter().any(|it| it.name == *axis), "{}: {axis}", figure.name);
                }
            }
            assert!(check::run_of(figure, &plan).is_some(), "{}: {:?}", figure.name, figure.check);
            let scenario = plan.sweep.run(0).unwrap().1;
            let results = &scenario.results;
            let metrics = Sweep::metric_names(&scenario);
            for quantity in figure.quantities {
                let name = quantity.name;
                match quantity.source {
                    Source::Metric(metric) | Source::Share(metric) | Source::Onset(metric) => {
                        let known = metrics.iter().any(|known| known == metric);
                        assert!(known, "{}: {name}: {metric}", figure.name);
                    }
                    Source::Ratio(part, whole) => {
                        let known = |name: &str| metrics.iter().any(|known| known == name);
                        assert!(known(part) && known(whole), "{}: {name}", figure.name);
                    }
                    Source::LargestOf(object) | Source::SumOf(object) => {
                        let start = format!("{object}.");
                        let known = metrics.iter().any(|known| known.starts_with(&start));
                        assert!(known, "{}: {name}: {object}", figure.name);
                    }
                    Source::Percentile { .. } | Source::ShareUpTo { .. } => {
                        assert!(results.distributions);
                    }
                    Source::LeastRate
                    | Source::LeastRateBefore
                    | Source::MeanRate
                    | Source::RateOf(_)
                    | Source::RecoveryOf(_) => {
                        assert!(results.throughput.is_some() && results.window.is_some());
                    }
                    // `flows.csv` always exists.
                    Source::RateAbove(_) | Source::Other(_) => {}
                    Source::Level(kind, _) => {
                        assert!(results.window.is_some(), "{name}");
                        assert!(kind != "threshold" || results.thresholds, "{name}");
                    }
                    Source::Pauses(peers)
                    | Source::PauseFrames(peers)
                    | Source::PausedTime(peers)
                    | Source::OccupancyAtPause(peers) => {
                        has_peers(&scenario, &[peers], name);
                    }
                    Source::OccupancyRatio(part, whole) => {
                        has_peers(&scenario, &[part, whole], name);
                    }
                }
            }
        }
    }
}

/// Pauses are counted in a window, and for existing neighbours.
fn has_peers(scenario: &Scenario, peers: &[Peers], quantity: &str) {
    assert!(scenario.results.window.is_some(), "{quantity}");
    let fabric = scenario.fabric();
    for peers in peers {
        if let Peers::Only(name) | Peers::Except(name) = peers {
            assert!(fabric.host_named(name).is_some(), "{quantity}: {name}");
        }
    }
}

#[test]
fn what_a_check_repeats_is_committed() {
    for paper in PAPERS {
        let rows: Vec<&str> = paper.check.lines().skip(1).collect();
        let expected = paper.figures.iter().flat_map(|figure| {
            figure.quantities.iter().map(move |quantity| (figure.name, quantity.name))
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

#[test]
fn small_figures_are_small() {
    for paper in PAPERS {
        for figure in paper.figures.iter().filter(|figure| figure.has_small) {
            let small = plan(paper, figure.name, Some("small"));
            let (full, small_run) = (plan(paper, figure.name, None), &small.runs[0]);
            assert_ne!(full.runs[0].id, small_run.id, "{}", figure.name);
            let hosts = |plan: &Plan| plan.sweep.run(0).unwrap().1.fabric().host_count();
            // The idle hosts of Fig. 16 occupy ports of the switches, and cost nothing.
            let idle = if figure.name.starts_with("fig16") { 80 } else { 0 };
            let end = |plan: &Plan| plan.sweep.run(0).unwrap().1.results.window.map(|it| it.to);
            let is_short = end(&small).zip(end(&full)).is_some_and(|(it, full)| it.0 * 5 <= full.0);
            assert!(hosts(&small) <= 64 + idle || is_short, "{}", figure.name);
        }
    }
}

#[test]
fn names_and_files_are_there_once_and_used() {
    for paper in PAPERS {
        let mut names = BTreeSet::new();
        for figure in paper.figures {
            for name in [figure.name].iter().chain(figure.also) {
                assert!(names.insert(*name), "{name} stands for two figures");
            }
        }
        let texts: Vec<&str> = paper.files.iter().map(|(_, text)| *text).collect();
        for (file, _) in paper.files {
            let is_figure = paper.figures.iter().any(|it| format!("{}.toml", it.name) == *file);
            let reference = format!("scenario = \"{file}\"");
            assert!(is_figure || texts.iter().any(|text| text.contains(&reference)), "{file}");
        }
    }
}
