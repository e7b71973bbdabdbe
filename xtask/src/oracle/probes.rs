//! The things of the record, each as the program gives them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

use super::Record;
use crate::{ebpf, workspace};

/// Duration of runs of the papers' scenarios, whose own take minutes; flows and windows end in half of it.
const SHORT: &str = "500us";
const HALF: &str = "250us";
/// Settings of a run that writes every table.
const OBSERVED: [&str; 10] = [
    "results.distributions=true",
    "results.explain=true",
    "results.hpcc={}",
    "results.link_bytes=true",
    "results.link_priorities=true",
    "results.occupancy=true",
    "results.port_queues=true",
    "results.queue_counters=true",
    "results.thresholds=true",
    "results.throughput={interval=\"20us\"}",
];
/// Folder of the committed pages that the sources generate.
const GENERATED: &str = "docs/reference";
/// Lines of `summary.json` that depend on the machine.
const OF_THE_MACHINE: [&str; 3] = ["\"threads\":", "\"wall_seconds\":", "\"cpu_seconds\":"];

/// Size up to which the bytes of a thing are kept to be looked at.
const MAX_KEPT: usize = 1 << 20;

/// Takes every probe. The bytes stay in `target/oracle` until the next time.
pub fn take(xoff: &Path) -> Result<Record> {
    let folder = super::moved_outputs();
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
    }
    let mut probes = Probes { xoff, folder, record: BTreeMap::new() };
    probes.help(&mut Vec::new())?;
    for subject in ["scenario", "sweep"] {
        probes.answer(&format!("schema/{subject}"), &["schema", subject])?;
    }
    let scenarios = scenarios()?;
    for scenario in &scenarios {
        probes.resolved(scenario)?;
    }
    for scenario in &scenarios {
        if has_flows(scenario)? {
            eprintln!("{scenario}");
            probes.results(scenario)?;
        }
    }
    for paper in papers()? {
        eprintln!("{paper}");
        probes.paper(&paper)?;
    }
    let files = workspace::files()?;
    let pages = files.iter().filter(|file| file.starts_with(GENERATED));
    for file in pages.map(PathBuf::as_path).chain([Path::new(ebpf::COMMITTED)]) {
        let name = file.display().to_string();
        let bytes = std::fs::read(workspace::root().join(file)).with_context(|| name.clone())?;
        probes.note(&format!("files/{name}"), &bytes)?;
    }
    Ok(probes.record)
}

/// Papers whose figures ship, sorted.
fn papers() -> Result<Vec<String>> {
    let files = workspace::files()?;
    let name = |file: &PathBuf| {
        let folder = file.strip_prefix("scenarios").ok()?.parent()?;
        let is_paper = file.file_name().is_some_and(|it| it == "paper.toml");
        is_paper.then(|| folder.display().to_string())
    };
    let mut papers: Vec<String> = files.iter().filter_map(name).collect();
    papers.sort();
    ensure!(!papers.is_empty(), "no paper in `scenarios`");
    Ok(papers)
}

/// Shipped scenarios that are no sweeps and no data of papers, sorted.
fn scenarios() -> Result<Vec<String>> {
    let mut found = Vec::new();
    for file in workspace::files()? {
        let is_toml = file.extension().is_some_and(|it| it == "toml");
        if !file.starts_with("scenarios") || !is_toml {
            continue;
        }
        let text = std::fs::read_to_string(workspace::root().join(&file))?;
        let table: toml::Table = text.parse().with_context(|| file.display().to_string())?;
        let is_other =
            ["scenario", "axes", "quantities"].iter().any(|key| table.contains_key(*key));
        if !is_other {
            found.push(file.display().to_string());
        }
    }
    found.sort();
    ensure!(!found.is_empty(), "no scenario in `scenarios`");
    Ok(found)
}

/// Returns true for the scenarios of the README, which run whole and on both datapaths.
fn is_of_first_folder(scenario: &str) -> bool {
    scenario.matches('/').count() == 1
}

fn read(scenario: &str) -> Result<toml::Table> {
    let text = std::fs::read_to_string(workspace::root().join(scenario))?;
    text.parse().with_context(|| scenario.to_owned())
}

/// Returns false for scenarios of live fabrics, which cannot run.
fn has_flows(scenario: &str) -> Result<bool> {
    Ok(read(scenario)?.contains_key("flows"))
}

/// Settings with which a scenario ends soon.
fn shortened(scenario: &str) -> Result<Vec<String>> {
    let table = read(scenario)?;
    let mut settings = vec![format!("duration={SHORT}")];
    let flows = table.get("flows").and_then(toml::Value::as_array);
    for (at, flows) in flows.into_iter().flatten().enumerate() {
        let of_flows = [("start", "10us"), ("stop", HALF)];
        let given = of_flows.iter().filter(|(key, _)| flows.get(key).is_some());
        settings.extend(given.map(|(key, value)| format!("flows.{at}.{key}={value}")));
    }
    if table.get("results").is_some_and(|results| results.get("to").is_some()) {
        settings.extend(["results.from=100us".to_owned(), format!("results.to={HALF}")]);
    }
    Ok(settings)
}

struct Probes<'a> {
    xoff: &'a Path,
    folder: PathBuf,
    record: Record,
}

impl Probes<'_> {
    /// Records the hash of `bytes` under `name`, and keeps the bytes unless they are many.
    fn note(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        if bytes.len() <= MAX_KEPT {
            let path = self.folder.join("bytes").join(name);
            std::fs::create_dir_all(path.parent().expect("a name lies in the folder"))?;
            std::fs::write(&path, bytes).with_context(|| path.display().to_string())?;
        }
        let digest = Sha256::digest(bytes);
        let hash = format!("{:016x}", u64::from_be_bytes(digest[..8].try_into()?));
        if self.record.insert(name.to_owned(), hash).is_some() {
            bail!("two probes are called {name}");
        }
        Ok(())
    }

    /// Runs xoff, and returns its exit code and what it printed: standard output, then standard error.
    fn run(&self, arguments: &[&str]) -> Result<Vec<u8>> {
        let mut command = Command::new(self.xoff);
        command.args(arguments).current_dir(workspace::root()).stdin(Stdio::null());
        let ended = command.output().context("xoff cannot be started")?;
        let code = ended.status.code().context("a signal ended xoff")?;
        let mut bytes = format!("{code}\n").into_bytes();
        bytes.extend(ended.stdout);
        bytes.extend(ended.stderr);
        Ok(bytes)
    }

    fn answer(&mut self, name: &str, arguments: &[&str]) -> Result<Vec<u8>> {
        let bytes = self.run(arguments)?;
        self.note(name, &bytes)?;
        Ok(bytes)
    }

    /// The help of a command, and of the commands below it.
    fn help(&mut self, command: &mut Vec<String>) -> Result<()> {
        let words: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
        let name = format!("help/xoff {}", words.join(" "));
        let text = String::from_utf8(self.answer(&name, &words)?)?;
        for subcommand in subcommands(&text) {
            command.push(subcommand);
            self.help(command)?;
            command.pop();
        }
        Ok(())
    }

    /// A scenario with its defaults, and for those of the first folder the errors of wrong values of its keys.
    fn resolved(&mut self, scenario: &str) -> Result<()> {
        let arguments = ["validate", scenario, "--resolved"];
        let text = self.answer(&format!("resolved/{scenario}"), &arguments)?;
        if !is_of_first_folder(scenario) {
            return Ok(());
        }
        let text = String::from_utf8(text)?;
        let table = text.split_once('\n').context("an exit code comes first")?.1;
        let mut keys = Vec::new();
        leaves(&toml::Value::Table(table.parse()?), "", &mut keys);
        let mut errors = Vec::new();
        for key in keys {
            let wrong = format!("{key}=\"not this\"");
            errors.extend(self.run(&["validate", scenario, "--set", &wrong])?);
        }
        self.note(&format!("errors/{scenario}"), &errors)
    }

    /// Result files on one thread and on three; with all tables; and on the kernel datapath for the scenarios of the first folder.
    fn results(&mut self, scenario: &str) -> Result<()> {
        let is_whole = is_of_first_folder(scenario);
        let settings = if is_whole { Vec::new() } else { shortened(scenario)? };
        let one = self.files_of(scenario, &settings, &["--threads", "1"])?;
        let three = self.files_of(scenario, &settings, &["--threads", "3"])?;
        for (name, bytes) in &one {
            ensure!(three.get(name) == Some(bytes), "{scenario}: {name} differs on three threads");
        }
        self.note_all(&format!("results/{scenario}"), &one)?;
        if is_whole {
            let files = self.files_of(scenario, &[], &["--datapath", "kernel"])?;
            self.note_all(&format!("kernel/{scenario}"), &files)?;
        }
        let observed = settings.into_iter().chain(OBSERVED.map(str::to_owned));
        let observed: Vec<String> = observed.collect();
        let files = self.files_of(scenario, &observed, &["--threads", "3"])?;
        self.note_all(&format!("observed/{scenario}"), &files)
    }

    fn note_all(&mut self, name: &str, files: &BTreeMap<String, Vec<u8>>) -> Result<()> {
        files.iter().try_for_each(|(file, bytes)| self.note(&format!("{name}/{file}"), bytes))
    }

    /// Files that a run leaves, by name, without those that depend on the machine; and its last words.
    fn files_of(
        &self,
        scenario: &str,
        settings: &[String],
        options: &[&str],
    ) -> Result<BTreeMap<String, Vec<u8>>> {
        let out = self.folder.join("run");
        let mut arguments = vec!["run", scenario, "--out", out.to_str().context("path")?];
        arguments.extend(options);
        arguments.extend(settings.iter().flat_map(|setting| ["--set", setting.as_str()]));
        let answer = self.run(&arguments)?;
        let answer = String::from_utf8_lossy(&answer);
        ensure!(out.is_dir(), "{scenario} with {settings:?} left no results: {answer}");
        let mut files = BTreeMap::new();
        for entry in std::fs::read_dir(&out)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name == "manifest.json" {
                continue;
            }
            let bytes = std::fs::read(entry.path()).with_context(|| name.clone())?;
            let is_summary = name == "summary.json";
            files.insert(name, if is_summary { without_machine(&bytes) } else { bytes });
        }
        std::fs::remove_dir_all(&out)?;
        Ok(files)
    }

    /// Numbers of one run of each figure.
    fn paper(&mut self, paper: &str) -> Result<()> {
        let (out, numbers) = (self.folder.join("paper"), self.folder.join("numbers.csv"));
        let mut command = Command::new(self.xoff);
        command.args(["reproduce", paper, "--write-check"]).arg(&numbers).arg("--out").arg(&out);
        crate::process::output(command.current_dir(workspace::root()))?;
        let bytes = std::fs::read(&numbers)?;
        std::fs::remove_dir_all(&out)?;
        std::fs::remove_file(&numbers)?;
        self.note(&format!("papers/{paper}"), &bytes)
    }
}

/// Names of the commands that a help text lists.
fn subcommands(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    let entries = listed.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = entries.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// Dotted keys of all values that are no tables.
fn leaves(value: &toml::Value, path: &str, keys: &mut Vec<String>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        toml::Value::Table(table) => {
            table.iter().for_each(|(key, value)| leaves(value, &below(key), keys));
        }
        toml::Value::Array(items) if items.iter().any(toml::Value::is_table) => {
            let numbered = items.iter().enumerate();
            numbered.for_each(|(at, value)| leaves(value, &below(&at.to_string()), keys));
        }
        _ => keys.push(path.to_owned()),
    }
}

fn without_machine(summary: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(summary);
    let is_kept =
        |line: &&str| !OF_THE_MACHINE.iter().any(|key| line.trim_start().starts_with(key));
    text.lines().filter(is_kept).flat_map(|line| [line, "\n"]).collect::<String>().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_from_help() {
        let help = "Runs\n\nCommands:\n  run   Runs a scenario\n          and more\n  help  Print\n\nOptions:\n  -h\n";
        assert_eq!(subcommands(help), ["run"]);
    }

    #[test]
    fn keys_lead_to_every_value() {
        let table = "a = 1\nlist = [1]\n[b]\nc = 2\n[[flows]]\nd = 3\n".parse().unwrap();
        let mut keys = Vec::new();
        leaves(&toml::Value::Table(table), "", &mut keys);
        keys.sort();
        assert_eq!(keys, ["a", "b.c", "flows.0.d", "list"]);
    }

    #[test]
    fn only_lines_of_the_machine_are_left_out() {
        let summary = b"{\n  \"threads\": 3,\n  \"flows\": 1\n}\n";
        assert_eq!(without_machine(summary), b"{\n  \"flows\": 1\n}\n");
    }
}
