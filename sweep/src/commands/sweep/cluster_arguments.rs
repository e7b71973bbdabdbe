//! The options of `xoff sweep` for clusters.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::time::Duration;

use scenario::whole_number::at_least;

use crate::cluster::kubernetes::Volume;

/// Options for clusters.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "On a cluster")]
pub struct ClusterArguments {
    /// Submits incomplete runs as a job of this scheduler, and follows the job until its end. A repeated call follows
    /// that job, submits runs that are still not complete, or writes the tables. The sweep file, its scenario, the
    /// results' folder and xoff itself must be visible to all machines of the cluster.
    #[arg(long, value_enum, value_name = "SCHEDULER", conflicts_with_all = ["jobs", "list", "only", "tables"])]
    pub on: Option<Scheduler>,
    /// Partition of the cluster. Default: the cluster's default partition.
    #[arg(long)]
    pub partition: Option<String>,
    /// Time limit of a task in Slurm's format: MINUTES, MINUTES:SECONDS, HOURS:MINUTES:SECONDS, DAYS-HOURS or
    /// UNLIMITED.
    #[arg(long, value_parser = TimeLimit::parse)]
    pub time: Option<TimeLimit>,
    /// Processors per task; a task executes this many runs in parallel. Default: 1.
    #[arg(long, value_name = "N", value_parser = at_least(NonZeroUsize::MIN), allow_hyphen_values = true)]
    pub cpus: Option<NonZeroUsize>,
    /// Memory per task, with K, M, G or T, such as 2G; a task that needs more is killed.
    #[arg(long, value_name = "SIZE", value_parser = Memory::parse)]
    pub memory: Option<Memory>,
    /// Submits and returns at once.
    #[arg(long)]
    pub detach: bool,
    /// Prints the submission without submitting it.
    #[arg(long, conflicts_with = "detach")]
    pub dry_run: bool,
    /// Prints the number of complete runs and the state of the latest job.
    #[arg(long, conflicts_with_all = ["jobs", "list", "only", "tables", "on"])]
    pub status: bool,
    /// Runs part K of N, with K from 0 to N - 1, for use with any scheduler; writes no tables. Parts may run at the
    /// same time on several machines.
    #[arg(long, value_name = "K/N", value_parser = Part::parse, conflicts_with_all = ["list", "only", "on", "status", "tables"])]
    pub part: Option<Part>,
    /// Prints a Kubernetes job that runs the sweep in parts; runs nothing.
    #[arg(long, value_enum, value_name = "KIND", requires_all = ["image", "volume"],
          conflicts_with_all = ["jobs", "list", "only", "on", "status", "tables", "part"])]
    pub manifest: Option<ManifestKind>,
    /// Container image; its entry point must be the same build of xoff as this one.
    #[arg(long)]
    pub image: Option<String>,
    /// Persistent volume claim that holds the sweep file and the results' folder, and its mount points here and in
    /// pods.
    #[arg(long, value_name = "CLAIM=FOLDER[:FOLDER_IN_PODS]", value_parser = Volume::parse)]
    pub volume: Option<Volume>,
    /// Max number of tasks on Slurm; number of parts on Kubernetes, all in parallel. Default: tasks of about five
    /// minutes, estimated from complete runs.
    #[arg(long, value_name = "N", value_parser = at_least(NonZeroUsize::MIN), allow_hyphen_values = true)]
    pub tasks: Option<NonZeroUsize>,
    /// Build of xoff that must run the part.
    #[arg(long, hide = true)]
    pub build: Option<String>,
    /// Job that this task belongs to.
    #[arg(long, hide = true, requires = "task", conflicts_with_all = ["list", "only", "tables", "on", "status", "part", "manifest"])]
    pub job: Option<u32>,
    /// Number of the task, or "probe", which checks the tasks' requirements.
    #[arg(long, hide = true, requires = "job")]
    pub task: Option<String>,
    /// Options for sbatch. They override all others, but --array, --dependency, --wait, --wrap and --clusters are
    /// refused.
    #[arg(last = true, value_name = "SBATCH_OPTIONS")]
    pub scheduler_options: Vec<String>,
}

impl ClusterArguments {
    /// Checks that each option has the options it depends on. clap does not check this for options that conflict with
    /// another one.
    pub fn check(&self) -> Result<(), String> {
        let (on, manifest) = (self.on.is_some(), self.manifest.is_some());
        let options = [
            ("--partition", self.partition.is_some(), on, "--on"),
            ("--time", self.time.is_some(), on, "--on"),
            ("--detach", self.detach, on, "--on"),
            ("--dry-run", self.dry_run, on, "--on"),
            ("what follows --", !self.scheduler_options.is_empty(), on, "--on"),
            ("--cpus", self.cpus.is_some(), on || manifest, "--on or --manifest"),
            ("--memory", self.memory.is_some(), on || manifest, "--on or --manifest"),
            ("--tasks", self.tasks.is_some(), on || manifest, "--on or --manifest"),
            ("--image", self.image.is_some(), manifest, "--manifest"),
            ("--volume", self.volume.is_some(), manifest, "--manifest"),
            ("--build", self.build.is_some(), self.part.is_some(), "--part"),
        ];
        let mut meaningless = options
            .into_iter()
            .filter(|(_, is_given, has_what_it_needs, _)| *is_given && !has_what_it_needs);
        let Some((first, .., needs)) = meaningless.next() else { return Ok(()) };
        // The required option conflicts with a given one.
        let modes = [
            (on, "--on"),
            (manifest, "--manifest"),
            (self.part.is_some(), "--part"),
            (self.status, "--status"),
        ];
        let Some((_, given)) = modes.into_iter().find(|(is_given, _)| *is_given) else {
            return Err(format!("{first} is for {needs} alone: give that, or leave it out"));
        };
        let all: Vec<&str> =
            std::iter::once(first).chain(meaningless.map(|(option, ..)| option)).collect();
        let (mean, them) = if all.len() == 1 { ("means", "it") } else { ("mean", "them") };
        Err(format!("{} {mean} nothing with {given}: leave {them} out", all.join(", ")))
    }

    /// Returns the options that control the submission of a job, with their values.
    pub fn given(&self) -> BTreeMap<String, String> {
        let number = |number: NonZeroUsize| number.to_string();
        let options = [
            ("--partition", self.partition.clone()),
            ("--time", self.time.as_ref().map(|time| time.text.clone())),
            ("--cpus", self.cpus.map(number)),
            ("--memory", self.memory.as_ref().map(Memory::for_slurm)),
            ("--tasks", self.tasks.map(number)),
            ("--", Some(self.scheduler_options.join(" ")).filter(|options| !options.is_empty())),
        ];
        options
            .into_iter()
            .filter_map(|(option, value)| Some((option.to_owned(), value?)))
            .collect()
    }

    /// Processors per task.
    pub fn cpus(&self) -> usize {
        self.cpus.map_or(1, NonZeroUsize::get)
    }
}

/// A cluster's scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Scheduler {
    /// Slurm; uses its commands on this machine.
    Slurm,
}

/// A kind of manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ManifestKind {
    /// An Indexed Job of batch/v1, for kubectl; needs Kubernetes 1.29 or later.
    Kubernetes,
}

/// A part of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Number of the part, from 0.
    pub number: usize,
    /// Number of parts.
    pub of: usize,
}

impl Part {
    fn parse(text: &str) -> Result<Self, String> {
        let help = "write K/N, such as 0/8: K from 0 to N - 1";
        let (number, of) = text.split_once('/').ok_or(help)?;
        let parse = |text: &str| text.parse().map_err(|_| help.to_owned());
        let this = Self { number: parse(number)?, of: parse(of)? };
        if this.number < this.of { Ok(this) } else { Err(help.into()) }
    }
}

/// A time limit in Slurm's format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeLimit {
    /// Text as the user wrote it.
    pub text: String,
    /// Parsed limit; `None` is unlimited.
    pub limit: Option<Duration>,
}

impl TimeLimit {
    fn parse(text: &str) -> Result<Self, String> {
        let help = "write MINUTES, MINUTES:SECONDS, HOURS:MINUTES:SECONDS, DAYS-HOURS or UNLIMITED, such as 1:30:00";
        let unlimited = ["UNLIMITED", "INFINITE"].contains(&text.to_uppercase().as_str());
        let limit = if unlimited { None } else { Some(seconds(text).ok_or(help)?) };
        if limit == Some(Duration::ZERO) {
            return Err(help.into());
        }
        Ok(Self { text: text.into(), limit })
    }
}

/// Parses the formats of `man sbatch`, `--time`.
fn seconds(text: &str) -> Option<Duration> {
    let (days, rest) = match text.split_once('-') {
        Some((days, rest)) => (Some(days.parse::<u64>().ok()?), rest),
        None => (None, text),
    };
    let numbers: Vec<u64> = rest.split(':').map(|it| it.parse().ok()).collect::<Option<_>>()?;
    let [hours, minutes, seconds] = match (days, numbers.as_slice()) {
        (Some(_), &[hours]) => [hours, 0, 0],
        (Some(_), &[hours, minutes]) => [hours, minutes, 0],
        (None, &[minutes]) => [0, minutes, 0],
        (None, &[minutes, seconds]) => [0, minutes, seconds],
        (_, &[hours, minutes, seconds]) => [hours, minutes, seconds],
        _ => return None,
    };
    let hours = days.unwrap_or(0).checked_mul(24)?.checked_add(hours)?;
    let minutes = hours.checked_mul(60)?.checked_add(minutes)?;
    Some(Duration::from_secs(minutes.checked_mul(60)?.checked_add(seconds)?))
}

/// Memory per task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    number: u64,
    unit: char,
}

impl Memory {
    fn parse(text: &str) -> Result<Self, String> {
        let help = "write a number with K, M, G or T, such as 2G";
        let unit = text.chars().last().map(|it| it.to_ascii_uppercase());
        let unit = unit.filter(|unit| "KMGT".contains(*unit)).ok_or(help)?;
        let number = text[..text.len() - 1].parse().map_err(|_| help)?;
        if number == 0 { Err(help.into()) } else { Ok(Self { number, unit }) }
    }

    /// Formats the memory for Slurm, whose units are powers of 1024.
    pub fn for_slurm(&self) -> String {
        format!("{}{}", self.number, self.unit)
    }

    /// Formats the memory for Kubernetes.
    pub fn for_kubernetes(&self) -> String {
        format!("{}{}i", self.number, self.unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_slurm_reads_them() {
        let read =
            |text: &str| TimeLimit::parse(text).ok().map(|it| it.limit.map(|it| it.as_secs()));
        for (text, expected) in [
            ("90", Some(Some(5400))),
            ("1:30", Some(Some(90))),
            ("1:30:00", Some(Some(5400))),
            ("2-0", Some(Some(172_800))),
            ("1-2:3", Some(Some(93_780))),
            ("1-2:3:4", Some(Some(93_784))),
            ("unlimited", Some(None)),
            ("1h", None),
            ("0", None),
            ("", None),
            ("1:2:3:4", None),
            ("99999999999999999-0", None),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn memory_needs_a_unit() {
        let memory = Memory::parse("512m").unwrap();
        assert_eq!((memory.for_slurm(), memory.for_kubernetes()), ("512M".into(), "512Mi".into()));
        for text in ["512", "0G", "G", "-1G", "2GB", "é"] {
            assert!(Memory::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn parts_count_from_zero() {
        assert_eq!(Part::parse("7/8"), Ok(Part { number: 7, of: 8 }));
        for text in ["8/8", "0/0", "1", "-1/2", "a/b"] {
            assert!(Part::parse(text).is_err(), "{text}");
        }
    }
}
