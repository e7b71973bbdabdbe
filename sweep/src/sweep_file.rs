//! A parsed sweep file: axes with their values, and seeds.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use scenario::document::{
    Document, DocumentKind, Entry, Node, Origin, Settings, Value, suggestion,
};
use scenario::report::Place;
use scenario::{DatapathKind, ReadFile, Scenario, ScenarioError, from_disk};

use results::TableFormat;

use super::keys::{SeedRange, Seeds, SweepKeys, VariantKeys};

/// Name of the axis of the variants, and of its column.
const VARIANT: &str = "variant";
/// Max number of runs of a sweep.
const MAX_RUNS: usize = 1_000_000;
const SEED_ADVICE: &str = "write a whole number from 0 to 2^63 - 1, the largest of TOML";

/// A sweep whose own keys are valid. [`super::Plan`] checks its runs.
#[derive(Debug)]
pub struct Sweep {
    file: String,
    text: String,
    scenario_file: PathBuf,
    scenario_text: String,
    datapath: DatapathKind,
    /// Format of tables instead of the scenario's.
    format: Option<TableFormat>,
    /// Settings of every run.
    scale: Vec<Entry>,
    /// Axes: variants first, then named axes, then the matrix in the order of the file.
    pub axes: Vec<Axis>,
    /// Seeds, each once.
    pub seeds: Vec<u64>,
    /// Metrics to keep; `None` keeps all.
    pub metrics: Option<Vec<Pattern>>,
}

/// A pattern for names of metrics.
#[derive(Debug)]
pub struct Pattern {
    /// Text of the pattern; `*` matches any text.
    pub text: String,
    /// Position in the file.
    pub(super) origin: Origin,
}

/// An axis of the sweep.
#[derive(Debug)]
pub struct Axis {
    /// Path of a key, "variant", or the name in the file.
    pub name: String,
    /// Choices, at least one.
    pub choices: Vec<Choice>,
}

/// A value of an axis.
#[derive(Debug)]
pub struct Choice {
    /// Name in the tables.
    pub label: String,
    /// Position in the file.
    pub(super) origin: Origin,
    settings: Vec<Entry>,
}

/// Options of a command in addition to the file.
#[derive(Clone, Debug, Default)]
pub struct SweepOptions {
    /// Name of one of the sweep's scales.
    pub scale: Option<String>,
    /// Number of seeds, from 1, instead of the sweep's own.
    pub seeds: Option<NonZeroU32>,
    /// Format of tables instead of the scenario's.
    pub format: Option<TableFormat>,
}

impl Sweep {
    /// Reads a sweep file and the scenario that it names.
    pub fn load(path: &Path, options: &SweepOptions) -> Result<Self, ScenarioError> {
        Self::read(path, options, &from_disk)
    }

    /// Reads the sweep like [`load`](Self::load), but gets the texts of files from `read`.
    pub fn read(
        path: &Path,
        options: &SweepOptions,
        read: &ReadFile<'_>,
    ) -> Result<Self, ScenarioError> {
        let file = path.to_string_lossy().into_owned();
        let text = read(path).map_err(|error| {
            let place = Place { name: &file, text: "", span: None };
            let help = "give the path of a sweep, a TOML file";
            ScenarioError::at(&place, &format!("cannot read the sweep: {error}"), Some(help))
        })?;
        let document =
            Document::parse(DocumentKind::SWEEP, &file, &text, &[], Settings::default())?;
        if let Some(topology) = document.root.child("topology")
            && document.root.child("scenario").is_none()
        {
            let help = "run it with `xoff run`; a sweep names a scenario in `scenario`, and what it varies";
            let title = "this is a scenario, not a sweep";
            return Err(document.error_at(Some(&topology.origin), title, Some(help)));
        }
        let keys: SweepKeys = document.read()?;
        let reader = Reader { document: &document, text: &text };
        let scenario_file = path.parent().unwrap_or(Path::new("")).join(&keys.scenario);
        let scenario_text = read(&scenario_file).map_err(|error| {
            let shown = scenario_file.display();
            let title = format!("cannot read the scenario {shown}: {error}");
            document.error("scenario", &title, "the path is relative to the sweep file's folder")
        })?;
        let scale = reader.scale(&keys, options.scale.as_deref())?;
        let axes = reader.axes(&keys, &scale)?;
        let seeds = match options.seeds {
            Some(count) => Seeds::Range(SeedRange { first: 1, count: count.get().into() }),
            None => keys.seeds,
        };
        let seeds = reader.seeds(seeds)?;
        let metrics = keys.metrics.map(|patterns| reader.metrics(patterns)).transpose()?;
        let count =
            axes.iter().map(|axis| axis.choices.len()).fold(seeds.len(), usize::saturating_mul);
        if count > MAX_RUNS {
            let help = "write fewer values or seeds, or several sweeps";
            let title = format!("{count} runs; the limit is {MAX_RUNS}");
            return Err(document.error("seeds", &title, help));
        }
        let (datapath, format) = (keys.datapath, options.format);
        Ok(Self {
            file,
            text,
            scenario_file,
            scenario_text,
            datapath,
            format,
            scale,
            axes,
            seeds,
            metrics,
        })
    }

    /// Returns the text of the file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text of the scenario, before any setting.
    pub(crate) fn scenario_text(&self) -> &str {
        &self.scenario_text
    }

    /// Returns the scenario of a cell of the matrix, with a seed; `choices` has a choice for each axis.
    pub fn scenario(&self, choices: &[usize], seed: u64) -> Result<Scenario, ScenarioError> {
        let datapath = match self.datapath {
            DatapathKind::Kernel => "kernel",
            DatapathKind::Memory => "memory",
        };
        let mut overrides = vec![format!("datapath.kind={datapath:?}"), format!("seed={seed}")];
        overrides.extend(self.format.map(|format| format!("results.format=\"{format}\"")));
        let chosen = self.axes.iter().zip(choices).map(|(axis, choice)| &axis.choices[*choice]);
        let chosen = chosen.flat_map(|choice| &choice.settings);
        let entries: Vec<&Entry> = self.scale.iter().chain(chosen).collect();
        let settings = Settings { file: &self.file, text: &self.text, entries: &entries };
        Scenario::parse_with(
            &self.scenario_text,
            &self.scenario_file,
            &overrides,
            settings,
            &from_disk,
        )
    }

    /// Returns an error at a position in the file.
    pub(super) fn error(&self, origin: &Origin, title: &str, help: &str) -> ScenarioError {
        let span = Some(origin.span.clone());
        ScenarioError::at(&Place { name: &self.file, text: &self.text, span }, title, Some(help))
    }

    /// Returns an error about a file that the scenario names.
    pub(super) fn unreadable(&self, error: &std::io::Error) -> ScenarioError {
        let title = format!("cannot read a file that the scenario names: {error}");
        ScenarioError::at(&Place { name: &self.file, text: &self.text, span: None }, &title, None)
    }
}

/// Reads values and their positions, which serde does not provide.
struct Reader<'a> {
    document: &'a Document<'a>,
    text: &'a str,
}

impl Reader<'_> {
    fn axes(&self, keys: &SweepKeys, scale: &[Entry]) -> Result<Vec<Axis>, ScenarioError> {
        let mut axes: Vec<Axis> = Vec::new();
        if !keys.variants.is_empty() {
            axes.push(self.named_axis(VARIANT.into(), "variants", &keys.variants)?);
        }
        for (number, axis) in keys.axes.iter().enumerate() {
            let path = format!("axes.{number}");
            let error = |key: &str, title: &str, help| {
                Err(self.document.error(&format!("{path}.{key}"), title, help))
            };
            if axis.variants.is_empty() {
                let help = "add [[axes.variants]] with a name and what it sets";
                return error("variants", "an axis without variants", help);
            }
            let taken = |entry: &Entry| entry.key == axis.name;
            if axes.iter().any(|other| other.name == axis.name)
                || self.entries("matrix").iter().any(taken)
            {
                let title = format!("two axes are called `{}`", axis.name);
                return error("name", &title, "an axis is a column of the tables: write another");
            }
            let variants = format!("{path}.variants");
            axes.push(self.named_axis(axis.name.clone(), &variants, &axis.variants)?);
        }
        for entry in self.entries("matrix") {
            axes.push(self.matrix_axis(entry)?);
        }
        let mut earlier: Vec<&Entry> = scale.iter().collect();
        for axis in &axes {
            let settings = || axis.choices.iter().flat_map(|choice| &choice.settings);
            settings().try_for_each(|entry| self.check_apart(entry, &earlier))?;
            earlier.extend(settings());
        }
        Ok(axes)
    }

    /// Returns the settings of a scale.
    fn scale(&self, keys: &SweepKeys, name: Option<&str>) -> Result<Vec<Entry>, ScenarioError> {
        let Some(name) = name else { return Ok(Vec::new()) };
        if !keys.scales.contains_key(name) {
            let title = format!("the sweep has no scale `{name}`");
            let known = keys.scales.keys().map(String::as_str);
            let help = if keys.scales.is_empty() {
                format!("add [scales.{name}] with what it sets, or leave --scale out")
            } else {
                suggestion(name, "its scales are", known)
            };
            return Err(self.document.error("scales", &title, &help));
        }
        self.settings(&format!("scales.{name}"))
    }

    /// Reads a table of settings that must not overlap.
    fn settings(&self, path: &str) -> Result<Vec<Entry>, ScenarioError> {
        let settings = self.entries(path).to_vec();
        let mut earlier: Vec<&Entry> = Vec::new();
        for entry in &settings {
            self.check_key(entry)?;
            self.check_apart(entry, &earlier)?;
            earlier.push(entry);
        }
        Ok(settings)
    }

    fn named_axis(
        &self,
        axis: String,
        path: &str,
        variants: &[VariantKeys],
    ) -> Result<Axis, ScenarioError> {
        let mut choices: Vec<Choice> = Vec::new();
        for (number, variant) in variants.iter().enumerate() {
            let path = format!("{path}.{number}");
            if choices.iter().any(|choice| choice.label == variant.name) {
                let title = format!("two variants are called `{}`", variant.name);
                let help = "names tell variants apart in the tables: write another one";
                return Err(self.document.error(&format!("{path}.name"), &title, help));
            }
            let settings = self.settings(&format!("{path}.set"))?;
            let name = self.node(&format!("{path}.name")).expect("serde has read it");
            let (label, origin) = (variant.name.clone(), name.origin.clone());
            choices.push(Choice { label, origin, settings });
        }
        Ok(Axis { name: axis, choices })
    }

    fn matrix_axis(&self, entry: &Entry) -> Result<Axis, ScenarioError> {
        self.check_key(entry)?;
        let error = |title: &str, help| {
            Err(self.document.error_at(Some(&entry.node.origin), title, Some(help)))
        };
        let Value::Array(nodes) = &entry.node.value else {
            let title = format!("`{}` is {}", entry.key, entry.node.described());
            return error(&title, "write a list of values in brackets");
        };
        if nodes.is_empty() {
            let title = format!("`{}` has no value", entry.key);
            return error(&title, "list the values to run, or leave the key out");
        }
        let choice = |node: &Node| Choice {
            label: self.label(node),
            origin: node.origin.clone(),
            settings: vec![Entry { node: node.clone(), ..entry.clone() }],
        };
        Ok(Axis { name: entry.key.clone(), choices: nodes.iter().map(choice).collect() })
    }

    /// Refuses keys that are not paths of values, and the seed, which is a separate axis.
    fn check_key(&self, entry: &Entry) -> Result<(), ScenarioError> {
        let at =
            |origin, title: &str, help| self.document.error_at(Some(origin), title, Some(help));
        // To TOML, a dotted or bracketed key without quotes is a table, not a path.
        let written = &self.text[entry.node.origin.span.clone()];
        if matches!(entry.node.value, Value::Table(_)) && !written.starts_with('{') {
            let title = format!("`{}` is a table here, not a value", entry.key);
            return Err(at(&entry.key_origin, &title, "write a path in quotes: \"switch.buffer\""));
        }
        if entry.key == "seed" {
            let help = "leave it out, and list them in `seeds`";
            return Err(at(&entry.key_origin, "seeds are an axis of their own", help));
        }
        if entry.key == "results.format" {
            let help = "write it in the scenario, or give --format";
            return Err(at(&entry.key_origin, "all tables of a sweep have one format", help));
        }
        Ok(())
    }

    /// Refuses a setting that would override another one of the run.
    fn check_apart(&self, entry: &Entry, others: &[&Entry]) -> Result<(), ScenarioError> {
        let within = |inner: &str, outer: &str| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let clashes =
            |other: &&&Entry| within(&entry.key, &other.key) || within(&other.key, &entry.key);
        let Some(other) = others.iter().find(clashes) else { return Ok(()) };
        let title = if other.key == entry.key {
            format!("`{}` is set twice", entry.key)
        } else {
            format!("`{}` and `{}` set the same", other.key, entry.key)
        };
        let help = "set a key in one place: a variant, or the matrix";
        Err(self.document.error_at(Some(&entry.key_origin), &title, Some(help)))
    }

    fn metrics(&self, patterns: Vec<String>) -> Result<Vec<Pattern>, ScenarioError> {
        if patterns.is_empty() {
            let help = "name some, or leave the key out to keep all";
            return Err(self.document.error("metrics", "a sweep without metrics", help));
        }
        let place = |(number, text): (usize, String)| {
            let node = self.node(&format!("metrics.{number}")).expect("serde has read it");
            Pattern { text, origin: node.origin.clone() }
        };
        Ok(patterns.into_iter().enumerate().map(place).collect())
    }

    fn seeds(&self, seeds: Seeds) -> Result<Vec<u64>, ScenarioError> {
        let error = |path: &str, title: &str, help| Err(self.document.error(path, title, help));
        // A count may be written without a table.
        let count_key = if self.node("seeds.count").is_some() { "seeds.count" } else { "seeds" };
        match seeds {
            Seeds::Range(SeedRange { count: 0, .. }) => {
                error(count_key, "a sweep without seeds", "write a count from 1 up")
            }
            Seeds::Range(SeedRange { count, .. }) if count > MAX_RUNS as u64 => {
                let title = format!("{count} runs; the limit is {MAX_RUNS}");
                error(count_key, &title, "write fewer seeds, or several sweeps")
            }
            Seeds::Range(SeedRange { first, count }) => match first.checked_add(count - 1) {
                Some(last) if i64::try_from(last).is_ok() => Ok((first..=last).collect()),
                _ => error("seeds.first", "the seeds are too large", SEED_ADVICE),
            },
            Seeds::List(list) if list.is_empty() => {
                error("seeds", "a sweep without seeds", "list one or more: seeds = [1, 2, 3]")
            }
            Seeds::List(list) => {
                for (number, seed) in list.iter().enumerate() {
                    let path = format!("seeds.{number}");
                    if list[..number].contains(seed) {
                        let title = format!("seed {seed} is listed twice");
                        return error(&path, &title, "a seed gives the same run each time");
                    }
                    if *seed > i64::MAX as u64 {
                        return error(&path, "the seed is too large", SEED_ADVICE);
                    }
                }
                Ok(list)
            }
        }
    }

    /// Returns the name of a value in the tables: a text without its quotes, other values as written.
    fn label(&self, node: &Node) -> String {
        if let Value::Text(text) = &node.value {
            return text.clone();
        }
        let written = &self.text[node.origin.span.clone()];
        written.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn node(&self, path: &str) -> Option<&Node> {
        path.split('.').try_fold(&self.document.root, |node, step| node.child(step))
    }

    fn entries(&self, path: &str) -> &[Entry] {
        match self.node(path).map(|node| &node.value) {
            Some(Value::Table(entries)) => entries,
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests;
