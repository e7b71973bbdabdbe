//! `--threads auto` compared with one thread: times of runs in memory, over shipped and drawn scenarios.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use emulation::engine::Watch;
use emulation::run::{self, Threads};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use results::Summary;
use scenario::Scenario;
use tests::fabric::drawn::{PLAIN, scenarios};
use tests::fabric::{shipped, shipped_files};

use crate::figure::{Aim, Series};
use crate::websearch;

/// Duration of drawn runs, in some of which a flow waits for seconds until it is sent again.
const MAX_LENGTH: &str = "50ms";
/// Duration of the fabrics of `bench memory`, whose windows have frames for two threads.
const WEBSEARCH_LENGTH: &str = "500us";
/// Drawn scenarios, the same in every run.
const DRAWN: usize = 300;
/// Rounds of a scenario, of two runs on one thread and two on the threads that it gets.
const ROUNDS: usize = 3;
/// Seconds of a scenario's runs. Short ones are repeated until then, against the machine's noise.
const ENOUGH: f64 = 0.2;
/// Seconds of the second measurement of a scenario above the aim: a busy machine moves a few of hundreds of ratios.
const ENOUGH_AGAIN: f64 = 4.0;
/// The ratio that no scenario should exceed.
const AIM: f64 = 1.1;
/// Scenarios that are printed by name, the slowest first.
const WORST: usize = 5;

/// Short links beside long ones: many frames are in flight, and few arrive in a window. Delays of host links and of the
/// link between the switches.
const LONG_WIRES: [[&str; 2]; 3] = [["1ns", "50us"], ["50ns", "200us"], ["500ns", "100us"]];

/// Time of one scenario with automatic threads, as a multiple of its time on one thread.
struct Ratio {
    name: String,
    threads: u32,
    wall: f64,
    cpu: f64,
}

/// Runs all scenarios and prints the distribution of the ratios.
pub fn run() -> Result<()> {
    let sizes = websearch::SIZES.iter();
    let groups: [(&str, Vec<Scenario>); 4] = [
        ("shipped", file_scenarios()?),
        ("short and long wires", LONG_WIRES.into_iter().map(long_wire).collect::<Result<_>>()?),
        ("websearch", sizes.map(|size| size.scenario(WEBSEARCH_LENGTH)).collect::<Result<_>>()?),
        ("drawn", drawn()?),
    ];
    println!(
        "time on the threads of `auto` / on one, memory datapath: medians (lowest to highest)"
    );
    let mut all = Vec::new();
    for (group, scenarios) in groups {
        let (mut wall, mut cpu) = (Series::default(), Series::default());
        for (number, scenario) in (1..).zip(&scenarios) {
            eprint!("\r{group}: {number} of {}   ", scenarios.len());
            let mut ratio = measure(scenario, ENOUGH)?;
            if ratio.wall > AIM {
                ratio = measure(scenario, ENOUGH_AGAIN)?;
            }
            wall.push(ratio.wall);
            cpu.push(ratio.cpu);
            all.push(ratio);
        }
        eprintln!();
        println!("{:<44}{wall}", format!("  {group} ({}), wall time", scenarios.len()));
        println!("{:<44}{cpu}", format!("  {group} ({}), CPU time", scenarios.len()));
    }
    all.sort_by(|one, other| other.wall.total_cmp(&one.wall));
    let place = all.len() / 100;
    let [ninety_nine, most] = [place, 0].map(|place| single(all[place].wall));
    println!("{:<44}{ninety_nine}", "  all, wall time, 99th percentile");
    println!("{:<44}{most}  {}", "  all, wall time, slowest", Aim::AtMost(AIM).text(&most));
    let several: Vec<&Ratio> = all.iter().filter(|ratio| ratio.threads > 1).collect();
    println!("{} of {} took several threads; the slowest of all:", several.len(), all.len());
    for Ratio { name, threads, wall, cpu } in all.iter().take(WORST).chain(several) {
        println!("  {name}: {threads} threads, wall time {wall:.3}, CPU time {cpu:.3}");
    }
    Ok(())
}

fn single(value: f64) -> Series {
    let mut series = Series::default();
    series.push(value);
    series
}

fn file_scenarios() -> Result<Vec<Scenario>> {
    let files = shipped_files();
    files.iter().map(|path| parsed(&shipped(path), &[])).collect()
}

fn long_wire([host, between]: [&str; 2]) -> Result<Scenario> {
    let text = format!(
        "name = \"{host}-{between}\"\nduration = \"3ms\"\n[topology]\nkind = \"dumbbell\"\nleft = 3\nright = 3\n\
         host_link = {{ rate = \"100Gbps\", delay = \"{host}\" }}\n\
         bottleneck = {{ rate = \"100Gbps\", delay = \"{between}\" }}\n\
         [host]\ntransport = {{ kind = \"roce-rc\", congestion_control = \"none\" }}\n\
         [[flows]]\nkind = \"permutation\"\nbytes = \"10MB\"\n"
    );
    parsed(&text, &[])
}

fn drawn() -> Result<Vec<Scenario>> {
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), random);
    let (strategy, mut drawn) = (scenarios(), Vec::new());
    for number in 0..DRAWN {
        let tree = strategy.new_tree(&mut runner).map_err(|error| anyhow::anyhow!("{error}"))?;
        let (text, buffer) = tree.current().file(PLAIN, &[]);
        let settings = [buffer, format!("name=drawn-{number}"), format!("duration={MAX_LENGTH}")];
        drawn.push(parsed(&text, &settings)?);
    }
    Ok(drawn)
}

fn parsed(text: &str, settings: &[String]) -> Result<Scenario> {
    let settings = [settings, &["datapath.kind=memory".to_owned()]].concat();
    Scenario::parse(text, Path::new("bench.toml"), &settings).context("a scenario of the benchmark")
}

/// Median of the ratios of rounds. A round is one, auto, auto, one: a machine that slows down does so for both.
/// The rounds together take `enough` seconds or more.
fn measure(scenario: &Scenario, enough: f64) -> Result<Ratio> {
    let (mut wall, mut cpu) = (Series::default(), Series::default());
    let (mut threads, mut spent, mut rounds) = (1, 0.0, 0);
    while rounds < ROUNDS || spent < enough {
        let first = run_on(Threads::ONE, scenario)?;
        let auto = [run_on(Threads::Auto, scenario)?, run_on(Threads::Auto, scenario)?];
        let last = run_on(Threads::ONE, scenario)?;
        let ratio = |seconds: fn(&Summary) -> f64| {
            auto.iter().map(seconds).sum::<f64>() / (seconds(&first) + seconds(&last))
        };
        wall.push(ratio(|it| it.wall_seconds));
        cpu.push(ratio(|it| it.cpu_seconds));
        threads = auto[0].threads;
        spent += [&first, &auto[0], &auto[1], &last].map(|it| it.wall_seconds).iter().sum::<f64>();
        rounds += 1;
    }
    Ok(Ratio { name: scenario.name.clone(), threads, wall: wall.median(), cpu: cpu.median() })
}

fn run_on(threads: Threads, scenario: &Scenario) -> Result<Summary> {
    let interrupted = AtomicBool::new(false);
    let mut watch = Watch { interrupted: &interrupted, progress: &mut |_| {} };
    Ok(run::run(scenario, None, threads, &mut watch)?.report.summary)
}
