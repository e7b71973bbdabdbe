//! Fuzzing: the targets of `fuzz/` on inputs that libFuzzer derives from seeds.
//!
//! cargo-fuzz builds the targets. Without a sanitizer it needs no nightly toolchain, and the targets call only safe
//! Rust, except for a few lines that Miri covers. The targets are started here, because cargo-fuzz exits with the same
//! code whether an input was found or a target could not be built or started.

mod log;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};

use crate::{packages, process, workspace};
use log::Log;

const CARGO_FUZZ_VERSION: &str = "0.13.2";
/// With cargo-fuzz's single unit a crate takes four times as long to compile, and every fix is compiled.
const CODEGEN_UNITS: &str = "16";
/// Seconds for one input: a hundred times the slowest one on an idle machine.
const TIMEOUT: u32 = 60;
const MEMORY_MEGABYTES: u32 = 2048;
/// Asks a target for its seeds: see `fuzz/src/seeds.rs`.
const SEEDS_VARIABLE: &str = "XOFF_FUZZ_SEEDS";
/// Exit codes of libFuzzer for an input that panics, takes too long, or takes too much memory.
const FOUND: [i32; 3] = [77, 70, 71];

/// Campaign to run.
#[derive(Args)]
pub struct Options {
    /// Targets to run [default: all]
    targets: Vec<Target>,
    /// Seconds per target
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// Run one target on this input alone, such as an input that was found
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
}

/// A binary of `fuzz/`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Target {
    /// Bytes from a wire, as switches and hosts read them
    Frame,
    /// Frames that come to a host one after another
    Host,
    /// Small fabrics with the rules of HPCC's simulator
    InOrder,
    /// The text of a scenario
    Scenario,
    /// The text of a sweep
    Sweep,
    /// Flow lists, size distributions and weights between hosts
    NamedFiles,
    /// Config, topology and flows of an ns-3 simulator
    Ns3,
}

impl Target {
    fn name(self) -> String {
        self.to_possible_value().expect("no target is hidden").get_name().to_owned()
    }
}

/// Runs targets; an input for which one fails is an error.
pub fn run(options: &Options) -> Result<()> {
    let folder = workspace::target_dir().join("fuzz");
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let lock = File::create(folder.join("lock")).context("making the lock file")?;
    if lock.try_lock().is_err() {
        bail!("another `cargo xtask fuzz` uses {}: wait for its end", folder.display());
    }
    if let Some(input) = &options.input {
        let &[target] = options.targets.as_slice() else {
            bail!(
                "name the one target that gets the input: cargo xtask fuzz scenario --input FILE"
            );
        };
        let input = std::path::absolute(input)?;
        if !input.is_file() {
            bail!("there is no file {}", input.display());
        }
        let program = build(&[target], &folder)?.remove(0);
        return process::run(Command::new(program).arg(&input))
            .with_context(|| format!("{} fails for {}", target.name(), input.display()));
    }
    let all = Target::value_variants();
    let targets = if options.targets.is_empty() { all } else { &options.targets };
    let programs = build(targets, &folder)?;
    let mut ends = Vec::new();
    for (&target, program) in targets.iter().zip(&programs) {
        let end = Campaign::new(target, program, &folder)?.run(options.seconds)?;
        if let Some(input) = &end.input {
            eprintln!("{}", end.log.last_words());
            eprintln!("found by {}: {}", target.name(), input.display());
        }
        ends.push((target, end));
    }

    println!("\n{}", log::HEADINGS);
    for (target, end) in &ends {
        println!("{:<12}{}", target.name(), end.log.figures());
    }
    let found = ends.iter().filter_map(|(target, end)| Some((target, end.input.as_ref()?)));
    let commands: Vec<String> = found
        .map(|(target, input)| {
            format!("  cargo xtask fuzz {} --input {}", target.name(), input.display())
        })
        .collect();
    if !commands.is_empty() {
        bail!("inputs were found that break what holds; to see why:\n{}", commands.join("\n"));
    }
    Ok(())
}

/// Lints `fuzz/` without building libFuzzer, which needs a C++ compiler.
pub fn lints() -> Result<()> {
    let mut clippy = process::cargo("clippy");
    clippy.args(["--locked", "--all-targets", "--manifest-path", "fuzz/Cargo.toml"]);
    clippy.env("CARGO_TARGET_DIR", workspace::target_dir().join("fuzz/lints"));
    clippy.env("CUSTOM_LIBFUZZER_PATH", "/nowhere/libfuzzer.a");
    process::run(clippy.args(["--", "--deny", "warnings"]))
}

/// Builds targets and returns where they are.
fn build(targets: &[Target], folder: &Path) -> Result<Vec<PathBuf>> {
    packages::cxx().context("libFuzzer is C++")?;
    let cargo_fuzz = packages::cargo_program("cargo-fuzz", CARGO_FUZZ_VERSION, &[])?;
    let triple = host_triple()?;
    let build = folder.join("build");
    let mut programs = Vec::new();
    for target in targets {
        let name = target.name();
        let mut command = Command::new(&cargo_fuzz);
        command.args(["build", &name, "--fuzz-dir", "fuzz", "--sanitizer", "none"]);
        command.args(["--codegen-units", CODEGEN_UNITS, "--target", &triple, "--target-dir"]);
        command.arg(&build).current_dir(workspace::root());
        process::run(&mut command)
            .with_context(|| format!("fuzz target {name} does not build: no input was tried"))?;
        programs.push(build.join(&triple).join("release").join(name));
    }
    Ok(programs)
}

fn host_triple() -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = process::output(Command::new(rustc).arg("-vV"))?;
    let version = String::from_utf8(version).context("reading the compiler's version")?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("`rustc -vV` names no host")?.to_owned())
}

/// One target's run, and its files in the target folder.
struct Campaign<'a> {
    name: String,
    program: &'a Path,
    seeds: PathBuf,
    /// Inputs that reached something new; they stay for the next run.
    corpus: PathBuf,
    artifacts: PathBuf,
    log: PathBuf,
}

/// Outcome of a campaign.
struct End {
    log: Log,
    /// An input that was found.
    input: Option<PathBuf>,
}

impl<'a> Campaign<'a> {
    /// Writes the target's seeds.
    fn new(target: Target, program: &'a Path, folder: &Path) -> Result<Self> {
        let name = target.name();
        let of_target = |kind: &str| folder.join(kind).join(&name);
        let (seeds, corpus, artifacts) =
            (of_target("seeds"), of_target("corpus"), of_target("artifacts"));
        if seeds.exists() {
            fs::remove_dir_all(&seeds)?;
        }
        for made in [&seeds, &corpus, &artifacts] {
            fs::create_dir_all(made).with_context(|| format!("making {}", made.display()))?;
        }
        let written = process::output(Command::new(program).env(SEEDS_VARIABLE, &seeds));
        written.with_context(|| format!("fuzz target {name} does not write its seeds"))?;
        let log = folder.join(format!("{name}.log"));
        Ok(Self { name, program, seeds, corpus, artifacts, log })
    }

    fn run(&self, seconds: u64) -> Result<End> {
        eprintln!("{}: {seconds} s; its log is {}", self.name, self.log.display());
        let log = File::create(&self.log).context("making the log")?;
        let mut command = Command::new(self.program);
        command.arg(format!("-max_total_time={seconds}"));
        command.arg(format!("-timeout={TIMEOUT}"));
        command.arg(format!("-rss_limit_mb={MEMORY_MEGABYTES}"));
        command.arg(format!("-artifact_prefix={}/", self.artifacts.display()));
        // Formats of bytes have no words.
        let dictionary = self.seeds.join("dictionary");
        if dictionary.exists() {
            command.arg(format!("-dict={}", dictionary.display()));
        }
        command.args(["-print_final_stats=1"]).arg(&self.corpus).arg(self.seeds.join("inputs"));
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        command.env_remove(SEEDS_VARIABLE);
        let status = command
            .status()
            .with_context(|| format!("fuzz target {} does not start", self.name))?;
        let text =
            fs::read(&self.log).with_context(|| format!("reading {}", self.log.display()))?;
        let log = Log::new(&String::from_utf8_lossy(&text));
        let input = self.found(status, &log)?;
        Ok(End { log, input })
    }

    /// The input for which the target ended, if that is why it ended.
    fn found(&self, status: ExitStatus, log: &Log) -> Result<Option<PathBuf>> {
        let stopped = status.code().is_none_or(|code| FOUND.contains(&code));
        match log.artifact() {
            _ if status.success() => Ok(None),
            Some(artifact) if stopped => Ok(Some(artifact)),
            _ => bail!(
                "fuzz target {} did not run: {status}, and no input is to blame\n{}",
                self.name,
                log.last_words()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_binary_is_a_target() {
        let manifest: toml::Table = include_str!("../../fuzz/Cargo.toml").parse().unwrap();
        let binaries = manifest["bin"].as_array().unwrap().iter();
        let names: Vec<&str> = binaries.map(|binary| binary["name"].as_str().unwrap()).collect();
        let targets: Vec<String> = Target::value_variants().iter().map(|it| it.name()).collect();
        assert_eq!(names, targets);
    }
}
