//! Scenarios as tests run them, on both datapaths.
//!
//! A scenario test is written once, as a function of a [`Runner`], and listed in [`scenario_tests`]. Rung memory calls it with
//! [`in_memory`], rung kernel with [`on_both`], which also compares the two datapaths file by file.

pub mod agreement;
pub mod backpressure;
pub mod backpressure_variants;
pub mod burst;
pub mod capture;
pub mod captured_drops;
pub mod congestion;
pub mod counted_frames;
pub mod counters;
pub mod deadlock;
pub mod device_queue;
pub mod dissection;
pub mod distributions;
pub mod drawn;
pub mod exactness;
pub mod expected;
pub mod explain;
pub mod faults;
pub mod flow_queues;
pub mod flow_trace;
pub mod go_back_n;
pub mod joint_deadlock;
pub mod link_delay;
pub mod link_priorities;
pub mod lone_flow;
pub mod lossy;
pub mod lost_resumes;
pub mod measures;
pub mod multipath;
pub mod ofc;
pub mod one_switch;
pub mod pause;
pub mod pause_obedience;
pub mod pause_rows;
pub mod pause_threshold;
pub mod pfc_family;
pub mod port_rates;
pub mod priorities;
pub mod private_fill;
pub mod recurrence;
pub mod refusal;
pub mod results;
pub mod rings;
pub mod scenario_tests;
pub mod schemes;
pub mod selective_repeat;
pub mod shapes;
pub mod simulator_files;
pub mod spfc;
pub mod static_routes;
pub mod storm;
pub mod switch_buffers;
pub mod table_formats;
pub mod tcp;
pub mod telemetry;
pub mod waiting;
pub mod window;
pub mod worst_case;

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use ::results::{LinkDelayRange, RunReport, Summary, TABLES, TableFormat};
use emulation::engine::Watch;
use emulation::run::{self, Threads};
use scenario::{DatapathKind, Scenario};
use tempfile::TempDir;

use capture::CapturedFrame;
use results::Table;

use crate::command::guard;

/// Files of a results folder beside its tables that two runs have in common, byte for byte.
const SAME_FILES: [&str; 6] =
    ["fct.txt", "pfc.txt", "qlen.txt", "capture.pcapng", "wire_log.bin", "summary.json"];

/// Every frame of every wire in the capture.
pub const CAPTURE_ALL: &str = r#"captures=[{ wires = ["*"], filter = "all" }]"#;

/// Links are tap devices.
pub const OVER_TAPS: &str = "datapath.links=tap";

/// Switches take frames in elsewhere than at native XDP.
pub const AT_OTHER_HOOKS: [&str; 2] = ["datapath.hook=xdp-generic", "datapath.hook=tc"];

/// Runs a scenario's text with overrides on top.
pub type Runner = fn(&str, &[&str]) -> Run;

/// A run and its results.
#[derive(Debug)]
pub struct Run {
    /// The scenario of the run.
    pub scenario: Scenario,
    /// `summary.json`.
    pub summary: Summary,
    /// Measured delays of links, if they were measured.
    pub link_delays: Option<LinkDelayRange>,
    sound: bool,
    /// The results folder, of a run that wrote one.
    folder: Option<TempDir>,
}

/// Runs a scenario on the memory datapath.
pub fn in_memory(text: &str, overrides: &[&str]) -> Run {
    in_memory_on::<1>(text, overrides)
}

/// Runs a scenario on the memory datapath, on `THREADS` threads.
pub fn in_memory_on<const THREADS: usize>(text: &str, overrides: &[&str]) -> Run {
    Run::new(DatapathKind::Memory, text, overrides, Some(results_folder()), THREADS)
}

/// Runs a scenario on the memory datapath without a results folder, for checks of the summary alone: writing files
/// takes longer than a short run.
pub fn summarised(text: &str, overrides: &[&str]) -> Run {
    Run::new(DatapathKind::Memory, text, overrides, None, 1)
}

/// Runs a scenario on the kernel datapath.
pub fn in_kernel(text: &str, overrides: &[&str]) -> Run {
    in_kernel_on::<1>(text, overrides)
}

/// Runs a scenario on the kernel datapath, on `THREADS` threads.
pub fn in_kernel_on<const THREADS: usize>(text: &str, overrides: &[&str]) -> Run {
    Run::new(DatapathKind::Kernel, text, overrides, Some(results_folder()), THREADS)
}

/// Runs a scenario on the kernel datapath with tap devices as links, on `THREADS` threads.
pub fn over_taps_on<const THREADS: usize>(text: &str, overrides: &[&str]) -> Run {
    let overrides: Vec<&str> = overrides.iter().copied().chain([OVER_TAPS]).collect();
    in_kernel_on::<THREADS>(text, &overrides)
}

fn results_folder() -> TempDir {
    tempfile::tempdir().expect("a folder for results")
}

/// Runs a scenario on both datapaths, and on the kernel's over both kinds of links, asserts that they agree, and
/// returns the kernel's run over veth pairs.
pub fn on_both(text: &str, overrides: &[&str]) -> Run {
    let (memory, kernel) = (in_memory(text, overrides), in_kernel(text, overrides));
    kernel.assert_same_as(&memory);
    over_taps_on::<1>(text, overrides).assert_same_as(&memory);
    kernel
}

/// Runs a scenario in memory, and on the kernel datapath at each hook; at hooks other than native XDP over both kinds
/// of links. Asserts that all agree, and returns the run at native XDP.
pub fn at_each_hook(text: &str, overrides: &[&str]) -> Run {
    let (memory, native) = (in_memory(text, overrides), in_kernel(text, overrides));
    native.assert_same_as(&memory);
    for hook in AT_OTHER_HOOKS {
        let overrides = [overrides, &[hook]].concat();
        in_kernel(text, &overrides).assert_same_as(&memory);
        over_taps_on::<1>(text, &overrides).assert_same_as(&memory);
    }
    native
}

/// The text of a scenario file that ships.
pub fn shipped(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The scenario files that ship, by name.
pub fn shipped_files() -> BTreeSet<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let entries = std::fs::read_dir(&folder).expect("the workspace ships scenarios");
    let files: BTreeSet<PathBuf> = entries
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    assert!(!files.is_empty(), "{} holds no scenario", folder.display());
    files
}

impl Run {
    fn new(
        datapath: DatapathKind,
        text: &str,
        overrides: &[&str],
        folder: Option<TempDir>,
        threads: usize,
    ) -> Self {
        let datapath = match datapath {
            DatapathKind::Memory => "datapath.kind=memory",
            DatapathKind::Kernel => {
                guard();
                "datapath.kind=kernel"
            }
        };
        let overrides: Vec<String> =
            overrides.iter().chain([&datapath]).map(|&text| text.to_owned()).collect();
        let scenario = parse(text, &overrides);
        let interrupted = AtomicBool::new(false);
        let mut watch = Watch { interrupted: &interrupted, progress: &mut |_| {} };
        let threads = Threads::Exactly(NonZeroUsize::new(threads).expect("at least one"));
        let outcome = run::run(&scenario, folder.as_ref().map(TempDir::path), threads, &mut watch)
            .unwrap_or_else(|error| panic!("{} on {datapath}: {error}", scenario.name));
        let sound = outcome.is_sound();
        let RunReport { summary, link_delays, .. } = outcome.report;
        Self { scenario, summary, link_delays, sound, folder }
    }

    /// Returns true if the run was valid: see [`Outcome::is_sound`](run::Outcome::is_sound).
    pub fn is_sound(&self) -> bool {
        self.sound
    }

    /// Asserts that every flow completed, the books balance (receivers' bytes and the auditor's
    /// violations are in them) and the substrate lost nothing.
    #[track_caller]
    pub fn assert_complete(&self) {
        let summary = &self.summary;
        assert_eq!(summary.unfinished, None, "{}: {summary:#?}", self.scenario.name);
        assert_eq!(self.summary.books, Vec::<String>::new());
        assert_eq!(self.summary.drops.substrate, 0);
    }

    /// Asserts that the run is complete and that no switch dropped a lossless packet.
    #[track_caller]
    pub fn assert_sound(&self) {
        self.assert_complete();
        assert_eq!(self.summary.limits_reached, Vec::<String>::new());
        assert!(self.sound, "{} is not sound: {:#?}", self.scenario.name, self.summary);
    }

    /// Asserts that the run is complete, and not sound because switches dropped lossless packets, all of
    /// them for this reason.
    #[track_caller]
    pub fn assert_unsound(&self, reason: &str) {
        self.assert_complete();
        self.assert_limit_reached(reason);
    }

    /// Asserts that the run is not sound, and that it names one limit at which switches dropped lossless
    /// packets.
    #[track_caller]
    pub fn assert_limit_reached(&self, reason: &str) {
        assert!(!self.sound, "{} is sound: {:#?}", self.scenario.name, self.summary);
        let limits = &self.summary.limits_reached;
        let named = |line: &String| line.contains(&format!("({reason}): "));
        assert!(!limits.is_empty() && limits.iter().all(named), "{limits:?}");
    }

    /// Asserts that the run is sound and that no frame was lost to anything.
    #[track_caller]
    pub fn assert_lossless(&self) {
        self.assert_sound();
        let drops = &self.summary.drops;
        assert!(self.summary.lossless, "{} lost frames: {drops:?}", self.scenario.name);
        assert_eq!(self.summary.retransmitted_packets, 0, "{}", self.scenario.name);
    }

    /// Asserts that frames were dropped for this reason, and for no other.
    #[track_caller]
    pub fn assert_drops_only(&self, reason: &str) {
        let reasons: Vec<&str> = self.summary.drops.by_reason.keys().map(String::as_str).collect();
        assert_eq!(reasons, [reason], "{}: {:?}", self.scenario.name, self.summary.drops);
    }

    /// Asserts that two runs wrote equal files, except for the machine's times in the summary.
    #[track_caller]
    pub fn assert_same_as(&self, other: &Self) {
        self.assert_same_but_for(other, &[]);
    }

    /// Asserts that two runs wrote equal files, except for the files `apart`.
    #[track_caller]
    pub fn assert_same_but_for(&self, other: &Self, apart: &[&str]) {
        let table = |table: &::results::Table| {
            TableFormat::ALL.map(|format| (table.file, format.file(table.file)))
        };
        let tables = TABLES.iter().flat_map(table);
        let others = SAME_FILES.map(|name| (name, name.to_owned()));
        let all = tables.chain(others).filter(|(name, _)| !apart.contains(name));
        for (_, name) in all {
            let (ours, theirs) = (self.comparable(&name), other.comparable(&name));
            let same = ours == theirs;
            assert!(same, "{}: {name}: {}", self.scenario.name, difference(&ours, &theirs));
        }
    }

    /// `flows.csv` in the order of the flows' numbers.
    pub fn flows(&self) -> Table {
        let mut flows = self.table("flows.csv");
        flows.sort_by_number("flow");
        flows
    }

    /// `pauses.csv`.
    pub fn pauses(&self) -> Table {
        self.table("pauses.csv")
    }

    /// `drops.csv`.
    pub fn drops(&self) -> Table {
        self.table("drops.csv")
    }

    /// `deadlocks.csv`.
    pub fn deadlocks(&self) -> Table {
        self.table("deadlocks.csv")
    }

    /// `distributions.csv`.
    pub fn distributions(&self) -> Table {
        self.table("distributions.csv")
    }

    /// A file's text.
    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).expect("tables are text")
    }

    /// Returns true if the run wrote a file of this name.
    pub fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// `link_delay.csv`.
    pub fn link_delays(&self) -> Table {
        self.table("link_delay.csv")
    }

    /// The frames of `capture.pcapng`, in the order of their arrival.
    pub fn frames(&self) -> Vec<CapturedFrame> {
        capture::read(&self.bytes("capture.pcapng"), self.scenario.fabric())
    }

    /// Path of `capture.pcapng` while the run is in scope.
    pub fn capture_path(&self) -> PathBuf {
        self.path("capture.pcapng")
    }

    /// The results folder.
    pub fn folder(&self) -> &Path {
        self.folder.as_ref().expect("the run left a folder").path()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// A table.
    pub fn table(&self, name: &str) -> Table {
        Table::parse(&self.text(name))
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        let path = self.path(name);
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Content of a file without machine-dependent data; empty if the file does not exist.
    fn comparable(&self, name: &str) -> Vec<u8> {
        let bytes = std::fs::read(self.path(name)).unwrap_or_default();
        if name != Summary::FILE {
            return bytes;
        }
        let is_machine = |line: &&str| {
            Summary::MACHINE_KEYS.iter().any(|key| line.contains(&format!("\"{key}\"")))
        };
        let text = String::from_utf8(bytes).expect("a summary is text");
        text.lines().filter(|line| !is_machine(line)).collect::<Vec<_>>().join("\n").into_bytes()
    }
}

/// The scenario of a text with overrides on top.
fn parse(text: &str, overrides: &[String]) -> Scenario {
    Scenario::parse(text, Path::new("test.toml"), overrides)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// The first line or byte in which two files differ.
fn difference(ours: &[u8], theirs: &[u8]) -> String {
    if let (Ok(ours), Ok(theirs)) = (std::str::from_utf8(ours), std::str::from_utf8(theirs)) {
        let mut pairs = (1..).zip(ours.lines().zip(theirs.lines()));
        if let Some((number, (ours, theirs))) = pairs.find(|(_, (ours, theirs))| ours != theirs) {
            return format!("line {number}:\n  {ours}\n  {theirs}");
        }
    }
    let place = ours.iter().zip(theirs).position(|(ours, theirs)| ours != theirs);
    format!("lengths {} and {}, first difference at {place:?}", ours.len(), theirs.len())
}
