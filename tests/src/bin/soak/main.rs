//! Two live fabrics under traffic for minutes or hours, with every command of live fabrics at random: clients that hang, terminals
//! that close, signals, supervisors and guardians that are killed. `cargo xtask soak` builds and runs it.
//!
//! A seed gives the same sequence of commands ([`steps`]) every time. [`clients`] are the commands in progress,
//! [`fabrics`] their fabrics, [`counters`] values that may only grow, [`processes`] the kernel's view of processes,
//! [`tally`] the outcome.

mod clients;
mod counters;
mod draw;
mod fabrics;
mod hanging;
mod processes;
mod steps;
mod tally;

use std::env;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Parser;
use tests::command::{isolate, run_as_a_user};

use clients::Clients;
use fabrics::Fabrics;
use hanging::Hanging;
use steps::{Act, Steps};
use tally::Tally;

/// Steps between two checks that all is as at the start.
const STEPS_A_CHECK: u64 = 50;
/// Time between two looks at the commands in progress.
const TICK: Duration = Duration::from_millis(100);

/// Options.
#[derive(Parser)]
struct Arguments {
    /// Minutes of commands
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    minutes: u64,
    /// Seed of the sequence of commands
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match soak(&arguments) {
        Ok(tally) => {
            print!("{}", tally.table());
            if tally.failures().is_empty() {
                return ExitCode::SUCCESS;
            }
            let Arguments { minutes, seed } = arguments;
            println!("to repeat it: cargo xtask soak --minutes {minutes} --seed {seed}");
        }
        Err(error) => println!("soak: {error:#}"),
    }
    // The remains of a failed soak must not disturb this one.
    let _ = xoff(["destroy", "--all"]).status();
    ExitCode::FAILURE
}

fn soak(arguments: &Arguments) -> Result<Tally> {
    isolate();
    let begun = now();
    let end = begun + Duration::from_secs(60 * arguments.minutes);
    let mut tally = Tally::new(begun);
    let mut steps = Steps::new(arguments.seed);
    let mut fabrics = Fabrics::deploy()?;
    let mut clients = Clients::new()?;
    let mut hanging = Hanging::default();
    while now() < end {
        let step = steps.next_step();
        let due = now() + step.pause;
        while now() < due {
            thread::sleep(TICK.min(due - now()));
            clients.tick(&fabrics, &mut tally);
            hanging.tick();
        }
        tally.step(&step);
        match &step.act {
            Act::Client(plan) => clients.start(&step, plan, &fabrics)?,
            Act::Hang(kind) => hanging.begin(&step, *kind, &mut tally)?,
            Act::Blow(blow) => fabrics.strike(&step, blow, &mut tally)?,
        }
        if step.number.is_multiple_of(STEPS_A_CHECK) {
            hanging.end();
            clients.end(&fabrics, &mut tally);
            fabrics.check(&mut tally)?;
        }
    }
    hanging.end();
    clients.end(&fabrics, &mut tally);
    fabrics.check(&mut tally)?;
    fabrics.destroy(&mut tally)?;
    Ok(tally)
}

/// A command of the binary beside this one, as a user runs it.
fn xoff<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    run_as_a_user(Command::new(binary().unwrap_or_else(|_| "xoff".into())), arguments)
}

fn binary() -> Result<PathBuf> {
    Ok(env::current_exe().context("this binary has no path")?.with_file_name("xoff"))
}

#[expect(clippy::disallowed_methods, reason = "when a command comes, never which")]
fn now() -> Instant {
    Instant::now()
}
