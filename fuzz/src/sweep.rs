//! A sweep's text is refused with a sentence, or its runs are scenarios that are right.

use std::io;
use std::path::Path;

use scenario::Scenario;

use crate::scenario::{SHIPPED, holds, refusal_is_a_sentence};
use sweep::{Plan, Sweep, SweepOptions};

use crate::seeds::Seeds;

const MAX_TEXT_LENGTH: usize = 8 << 10;
/// Sweeps of more runs are only read.
const MAX_RUNS: usize = 40;
/// Runs whose scenarios are checked.
const RUNS: usize = 3;

const SWEEPS: [&str; 13] = [
    include_str!("../../scenarios/sweeps/alpha.toml"),
    include_str!("../../scenarios/dsh/fig05.toml"),
    include_str!("../../scenarios/dsh/fig06.toml"),
    include_str!("../../scenarios/dsh/fig14.toml"),
    include_str!("../../scenarios/dsh/fig15.toml"),
    include_str!("../../scenarios/dsh/fig16.toml"),
    include_str!("../../scenarios/dsh/fig17.toml"),
    include_str!("../../scenarios/dsh/fig20.toml"),
    include_str!("../../scenarios/dsh/fig21.toml"),
    include_str!("../../scenarios/dsh/fig22.toml"),
    include_str!("../../scenarios/dsh/fig23.toml"),
    include_str!("../../scenarios/dsh/fig24.toml"),
    include_str!("../../scenarios/dsh/fig25.toml"),
];

/// A sweep of few runs, because few of the shipped sweeps are that small.
const SMALL: &str = r#"scenario = "single-flow.toml"
seeds = [1, 7]
datapath = "memory"
metrics = ["fct_ns.*"]
[scales.quick]
set = { duration = "1ms" }
[matrix]
"switch.buffer" = ["2MB", "4MB"]
"flows.0.bytes" = ["1kB"]
"#;

/// The sweeps that ship.
pub fn seeds() -> Seeds {
    Seeds::from_texts(SWEEPS.into_iter().chain([SMALL]).map(str::to_owned))
        .with_schema(&sweep::json_schema())
}

/// Checks a text.
pub fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    // A run's scenario reads the files that it names, from the disk. TOML writes `file` in no other way
    // than with these letters, or with an escape.
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
    if text.len() > MAX_TEXT_LENGTH || text.contains('\\') || words.any(|word| word == "file") {
        return;
    }
    let path = Path::new("/fuzz/sweep.toml");
    let read = |asked: &Path| {
        if asked == path { Ok(text.to_owned()) } else { scenario_of(asked) }
    };
    let scale = text.contains("[scales.quick]").then(|| "quick".to_owned());
    let sweep = match Sweep::read(path, &SweepOptions { scale, seeds: None, format: None }, &read) {
        Ok(sweep) => sweep,
        Err(error) => return refusal_is_a_sentence(&error),
    };
    let runs = sweep.run_count();
    assert!(runs > 0);
    if runs > MAX_RUNS {
        return;
    }
    match Plan::new(sweep) {
        Ok(plan) => {
            assert_eq!(plan.runs.len(), runs);
            for index in 0..runs.min(RUNS) {
                let (run, scenario) = plan.sweep.run(index).expect("a plan's runs are right");
                assert_eq!(run, plan.runs[index]);
                let again = |text: &str| Scenario::parse(text, path, &[]);
                holds(&scenario, &again);
            }
        }
        Err(error) => refusal_is_a_sentence(&error),
    }
}

/// The shipped scenario with this file name.
fn scenario_of(path: &Path) -> io::Result<String> {
    let name = path.file_name();
    let same = |(shipped, _): &&(&str, &str)| Path::new(shipped).file_name() == name;
    // If two scenarios have the name, the paper's is used: its sweeps are most of the seeds.
    let found = SHIPPED.iter().rev().find(same).map(|(_, text)| (*text).to_owned());
    found.ok_or_else(|| io::ErrorKind::NotFound.into())
}
