//! The config file: lines of a key and its values.

use std::collections::BTreeMap;
use std::ops::Range;

use scenario::ScenarioError;
use scenario::document::suggestion;
use units::{BitsPerSecond, Picos};
use workload::decimal;

use super::Options;
use super::arguments::Arguments;
use super::keys::Kind;
use super::simulator::{Simulator, Traits};
use super::topology::{read_increase, read_probability, read_rate};
use crate::source::{Line, Word};
use crate::{Source, Subject};

/// Max number of rates in a map.
const MAX_RATES: usize = 64;
/// Max `kmin` and `kmax`: a scenario's thresholds are below 4 GiB.
pub const MAX_THRESHOLD_KILOBYTES: u64 = u32::MAX as u64 / 1000;

/// Settings by key; each value has been checked against its key's kind.
#[derive(Clone, Debug)]
pub struct Config {
    source: Source,
    /// Simulator of the config.
    pub simulator: Simulator,
    /// Arguments that override the config.
    pub arguments: Arguments,
    /// True if the scenario follows the simulator's rules by a dialect.
    pub has_dialect: bool,
    /// Setting that the dialect does not have, and what it asks for.
    pub beyond_dialect: Option<(Subject, &'static str)>,
    /// Maps with more values than their counts.
    pub surplus: Vec<&'static str>,
    /// Keys that the simulator does not have, with their places.
    pub unknown: Vec<UnknownKey>,
    settings: BTreeMap<&'static str, Setting>,
}

/// A key that the simulator does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKey {
    /// Place of the key, with its values.
    pub place: Subject,
    /// True if the key names a file or folder that a program writes.
    pub is_output: bool,
}

#[derive(Clone, Debug)]
struct Setting {
    /// Line number.
    line: usize,
    /// Positions of the values.
    values: Vec<Range<usize>>,
}

impl Config {
    /// Parses a config. Keys that the simulator does not have are errors, unless they name outputs or the import is
    /// lenient.
    pub fn parse(
        simulator: Simulator,
        arguments: Arguments,
        source: Source,
        options: Options,
    ) -> Result<Self, ScenarioError> {
        let (mut surplus, mut unknown) = (Vec::new(), Vec::new());
        let mut settings: BTreeMap<&'static str, Setting> = BTreeMap::new();
        for line in source.lines() {
            let (key, values) = (line.words[0], &line.words[1..]);
            let Some(&(name, kind)) = simulator.keys().find(|(name, _)| *name == key.text) else {
                let is_output = names_output(key.text);
                if !is_output && !options.lenient {
                    let title = format!("unknown key `{}`", key.text);
                    let help = format!(
                        "{}; --lenient leaves out keys that {} does not have",
                        other_key(simulator, key.text),
                        simulator.traits().name
                    );
                    return Err(source.error(key.span(), &title, &help));
                }
                let words: Vec<&str> = line.words.iter().map(|word| word.text).collect();
                let place = Subject::for_file(source.name(), Some(line.number), words.join(" "));
                unknown.push(UnknownKey { place, is_output });
                continue;
            };
            let read = check(&source, simulator.traits(), name, kind, &line)?;
            if read < values.len() {
                surplus.push(name);
            }
            let values = values[..read].iter().map(Word::span).collect();
            if let Some(first) = settings.insert(name, Setting { line: line.number, values }) {
                let title = format!("`{name}` comes twice");
                let help = format!("line {} has it, too: keep one", first.line);
                return Err(source.error(key.span(), &title, &help));
            }
        }
        Ok(Self {
            source,
            simulator,
            arguments,
            has_dialect: simulator.traits().dialect.is_some() && !options.own_rules,
            beyond_dialect: None,
            surplus,
            unknown,
            settings,
        })
    }

    /// Returns the source file.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// A setting with its values, for a remark on it; without a line if the key is not given.
    pub fn place(&self, key: &str) -> Subject {
        let name = self.source.name();
        match self.settings.get(key) {
            None => Subject::for_file(name, None, format!("no {key}")),
            Some(Setting { line, values }) => {
                let values = values.iter().map(|span| self.source.word(span).text);
                let values: Vec<&str> = values.collect();
                Subject::for_file(name, Some(*line), format!("{key} {}", values.join(" ")))
            }
        }
    }

    /// Returns true if the config has a key.
    pub fn has(&self, key: &str) -> bool {
        self.settings.contains_key(key)
    }

    /// Returns a key's values; empty if the config lacks the key.
    pub fn words(&self, key: &str) -> Vec<Word<'_>> {
        let spans = self.settings.get(key).map_or(&[][..], |setting| &setting.values);
        spans.iter().map(|span| self.source.word(span)).collect()
    }

    /// Returns the first value of a required key.
    pub fn word(&self, key: &str) -> Result<Word<'_>, ScenarioError> {
        self.words(key).first().copied().ok_or_else(|| {
            let help = format!("add a line: {key} and its value");
            self.source.error_of_whole(&format!("no `{key}`"), &help)
        })
    }

    /// Returns a whole number, or `default` if the config lacks the key.
    pub fn whole(&self, key: &str, default: u64) -> Result<u64, ScenarioError> {
        self.whole_up_to(key, default, u64::MAX)
    }

    /// Returns a whole number up to `largest`, or `default` if the config lacks the key.
    pub fn whole_up_to(&self, key: &str, default: u64, largest: u64) -> Result<u64, ScenarioError> {
        let word = self.words(key).first().copied();
        word.map_or(Ok(default), |word| self.source.number(word, key, largest))
    }

    /// Returns a flag, or `default` if the config lacks the key.
    pub fn flag(&self, key: &str, default: bool) -> Result<bool, ScenarioError> {
        Ok(self.whole(key, u64::from(default))? != 0)
    }

    /// Returns true if flows have windows in addition to rates: `HAS_WIN`, or the argument that replaces it.
    pub fn has_window(&self) -> Result<bool, ScenarioError> {
        match self.simulator {
            Simulator::Ns3Datacenter => Ok(self.arguments.window_check),
            Simulator::Hpcc | Simulator::ConWeave => self.flag("HAS_WIN", true),
        }
    }

    /// Returns a time in microseconds, truncated as in the simulator, or `default`.
    pub fn micros(&self, key: &str, default: Option<u64>) -> Result<Picos, ScenarioError> {
        let word = match (self.words(key).first(), default) {
            (None, Some(micros)) => return Ok(Picos(micros * 1_000_000)),
            _ => self.word(key)?,
        };
        let micros = read_decimal(&self.source, key, word)? / decimal::ONE;
        if !(1..=1_000_000_000).contains(&micros) {
            let title = format!("{key} is `{}`", word.text);
            let help = "write microseconds, from 1 to 10^9; parts of one are cut";
            return Err(self.source.error(word.span(), &title, help));
        }
        let micros = u64::try_from(micros).expect("checked to be at most 10^9");
        Ok(Picos(micros * 1_000_000))
    }

    /// Returns a rate, or `default` if the config lacks the key.
    pub fn rate(
        &self,
        key: &str,
        default: Option<BitsPerSecond>,
    ) -> Result<BitsPerSecond, ScenarioError> {
        match (self.words(key).first(), default) {
            (None, Some(rate)) => Ok(rate),
            _ => read_rate(&self.source, self.word(key)?, self.simulator.traits().bare_rates),
        }
    }

    /// Returns a rate increment, which may be zero, or `default` if the config lacks the key.
    pub fn increase(
        &self,
        key: &str,
        default: Option<BitsPerSecond>,
    ) -> Result<BitsPerSecond, ScenarioError> {
        match (self.words(key).first(), default) {
            (None, Some(rate)) => Ok(rate),
            _ => read_increase(&self.source, self.word(key)?, self.simulator.traits().bare_rates),
        }
    }

    /// Returns the value of a map for a link rate.
    pub fn mapped(&self, key: &str, rate: BitsPerSecond) -> Result<Word<'_>, ScenarioError> {
        let map = self.word(key)?;
        let words = self.words(key);
        let of_rate = |pair: &&[Word<'_>]| pair[0].text.parse() == Ok(rate.0);
        words[1..].chunks_exact(2).find(of_rate).map(|pair| pair[1]).ok_or_else(|| {
            let title = format!("{key} has no value for links of {} bit/s", rate.0);
            let help = "the simulator needs one for every rate of a link at a switch";
            self.source.error(map.span(), &title, help)
        })
    }
}

/// Returns true if a key of some fork names a file or folder that the fork writes.
fn names_output(key: &str) -> bool {
    const ENDS: [&str; 4] = ["_OUTPUT_FILE", "_OUT_FILE", "_MON_FILE", "_LOG_FILE"];
    const NAMES: [&str; 4] = ["DIR", "OUTPUT_DIR", "OUTPUT_FILE", "THROUGHPUT_FILE"];
    NAMES.contains(&key) || ENDS.iter().any(|end| key.ends_with(end))
}

/// Returns advice on a key that a simulator does not have: another simulator has it, or its spelling differs.
fn other_key(simulator: Simulator, key: &str) -> String {
    let has = |other: &Simulator| other.keys().any(|(name, _)| *name == key);
    let described = |other: Simulator| {
        let Traits { name, program, .. } = other.traits();
        format!("of {name} (`xoff import {program}`)")
    };
    let others: Vec<String> = Simulator::ALL.into_iter().filter(has).map(described).collect();
    if others.is_empty() {
        let names = simulator.keys().map(|(name, _)| *name);
        suggestion(key, "the simulator's keys are", names)
    } else {
        format!("it is a key {}", others.join(" and "))
    }
}

/// Parses an unsigned number in units of 10^-18.
pub fn read_decimal(source: &Source, key: &str, word: Word<'_>) -> Result<u128, ScenarioError> {
    decimal::parse(word.text).ok_or_else(|| {
        let title = format!("{key} is `{}`", word.text);
        source.error(word.span(), &title, "write a number such as 0.25")
    })
}

/// Checks the values of a key, and returns how many of them are used.
fn check(
    source: &Source,
    traits: &Traits,
    key: &str,
    kind: Kind,
    line: &Line<'_>,
) -> Result<usize, ScenarioError> {
    let values = &line.words[1..];
    let count_is = |expected: usize, what: &str| match values.len() {
        count if count == expected => Ok(expected),
        count => {
            let title = format!("`{key}` with {count} values");
            Err(source.error(line.span(), &title, &format!("write {what}")))
        }
    };
    let number = |word, largest: u64| source.number(word, key, largest);
    match kind {
        Kind::Path => return count_is(1, "one"),
        Kind::Flag => count_is(1, "0 or 1").and_then(|_| number(values[0], 1).map(drop))?,
        Kind::Whole => {
            count_is(1, "one whole number").and_then(|_| number(values[0], u64::MAX).map(drop))?;
        }
        Kind::Decimal => {
            count_is(1, "one number")?;
            read_decimal(source, key, values[0])?;
        }
        Kind::Rate => {
            count_is(1, "one rate, such as 50Mb/s")?;
            read_rate(source, values[0], traits.bare_rates)?;
        }
        Kind::Increase => {
            count_is(1, "one rate, such as 50Mb/s")?;
            read_increase(source, values[0], traits.bare_rates)?;
        }
        Kind::LinkDown => {
            count_is(3, "three numbers: microseconds, and two nodes; 0 0 0 is none")?;
            values.iter().try_for_each(|&word| number(word, u32::MAX.into()).map(drop))?;
        }
        Kind::Sizes | Kind::Probabilities => {
            let Some(&first) = values.first() else {
                return count_is(1, "a count, then a rate and a value as often");
            };
            let read = 1 + 2 * source.number(first, "the count of rates", MAX_RATES)?;
            if values.len() < read {
                let what = format!("{} pairs of a rate in bit/s and a value", (read - 1) / 2);
                return count_is(read, &what);
            }
            values[1..read].chunks_exact(2).try_for_each(|pair| {
                source.number(pair[0], "the rate", u64::MAX)?;
                if kind == Kind::Sizes {
                    number(pair[1], MAX_THRESHOLD_KILOBYTES).map(drop)
                } else {
                    read_probability(source, pair[1], key).map(drop)
                }
            })?;
            return Ok(read);
        }
    }
    Ok(values.len())
}
