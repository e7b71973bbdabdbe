//! Results from a machine's console: the selftest, the runs compared with the memory datapath, and the kernel's log.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Marks lines of the console that are meant for us.
const MARK: &str = "vm: ";
/// Stands for the scenario in the row of `xoff doctor`.
const DOCTOR: &str = "(doctor)";
/// Stands for the scenario in the rows of `xoff selftest` and of the kernel's log.
const SELFTEST: &str = "(selftest)";
const LOG: &str = "(kernel log)";
/// Texts of the kernel's log that report a fault, a line each: the list of `xoff selftest`.
const ALARMS: &str = include_str!("../../../selftest/src/alarms.txt");
/// Text of a kernel that has stopped, which appears only on a console.
const PANIC: &str = "Kernel panic";

/// Output of `digest.sh` about a folder of results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Results {
    /// Digest by file.
    digests: BTreeMap<String, String>,
    /// Frames that crossed a link.
    packet_hops: String,
}

impl Results {
    /// Reads the script's output.
    pub fn parse(output: &str) -> Self {
        let mut results = Self::default();
        output.lines().for_each(|line| results.add(line));
        results
    }

    fn add(&mut self, line: &str) {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["packet-hops", count] => count.clone_into(&mut self.packet_hops),
            [digest, file] => {
                self.digests.insert(file.to_owned(), digest.to_owned());
            }
            _ => {}
        }
    }

    /// Files that only one of the two has, or whose contents differ.
    fn differences(&self, other: &Self) -> Vec<String> {
        let files: BTreeSet<&String> = self.digests.keys().chain(other.digests.keys()).collect();
        let differs = |file: &&&String| self.digests.get(**file) != other.digests.get(**file);
        files.iter().filter(differs).map(|file| (**file).clone()).collect()
    }
}

/// Outcome of a run in a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// `xoff doctor` found nothing wrong.
    Able,
    /// All tests of `xoff selftest` passed or were skipped.
    Passed {
        /// Passed.
        passed: usize,
        /// Skipped.
        skipped: usize,
    },
    /// These tests failed.
    NotOk(Vec<String>),
    /// The kernel's log has no alarm.
    Quiet,
    /// The kernel's log has this alarm.
    Alarm(String),
    /// Equal to the memory datapath, to the byte; the number of files compared.
    Same(usize),
    /// These files are not.
    Differs(Vec<String>),
    /// xoff ended with this code.
    Failed(String),
    /// The machine ended before it came to this.
    Missing,
}

impl Verdict {
    /// Returns true if the outcome is as expected.
    pub fn holds(&self) -> bool {
        matches!(self, Self::Able | Self::Same(_) | Self::Passed { .. } | Self::Quiet)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Able => f.write_str("nothing is missing"),
            Self::Passed { passed, skipped } => write!(f, "{passed} passed, {skipped} skipped"),
            Self::NotOk(tests) => write!(f, "NOT OK: {}", tests.join(", ")),
            Self::Quiet => f.write_str("no warning and no bug"),
            Self::Alarm(line) => write!(f, "ALARM: {line}"),
            Self::Same(files) => write!(f, "same bytes as in memory ({files} files)"),
            Self::Differs(files) => write!(f, "DIFFERS from memory: {}", files.join(", ")),
            Self::Failed(code) => write!(f, "FAILED: exit code {code}"),
            Self::Missing => f.write_str("MISSING: the machine ended before"),
        }
    }
}

/// A line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    kernel: String,
    scenario: String,
    packet_hops: String,
    /// Outcome of the row.
    pub verdict: Verdict,
}

/// Lines of the console that begin with the mark and this word, without both.
fn marked<'a>(console: &'a str, word: &str) -> impl Iterator<Item = &'a str> {
    let begin = format!("{MARK}{word} ");
    console.lines().filter_map(move |line| line.trim_end().strip_prefix(&begin))
}

/// Output of `xoff selftest`.
pub fn tap(console: &str) -> String {
    marked(console, "tap").flat_map(|line| [line, "\n"]).collect()
}

/// Output of `xoff doctor --programs`; empty if it was not called.
pub fn programs(console: &str) -> String {
    marked(console, "program").flat_map(|line| [line, "\n"]).collect()
}

/// Lines of `xoff selftest` about failed tests, without their steps that passed.
pub fn failed_tests(console: &str) -> String {
    const BEGIN: &str = "# selftests: ";
    let mut text = String::new();
    let mut block = Vec::new();
    for line in marked(console, "tap") {
        if line.starts_with(BEGIN) {
            block.clear();
        }
        if !line.starts_with("# ok ") {
            block.push(line);
        }
        if line.starts_with("not ok ") {
            text.extend(block.drain(..).flat_map(|line| [line, "\n"]));
        }
    }
    text
}

fn selftest(console: &str) -> Verdict {
    let results =
        |begin: &'static str| marked(console, "tap").filter_map(move |it| it.strip_prefix(begin));
    let failed: Vec<String> = results("not ok ").map(str::to_owned).collect();
    if !failed.is_empty() {
        return Verdict::NotOk(failed);
    }
    match marked(console, "selftest").next() {
        None => Verdict::Missing,
        Some("0") => {
            let (reported, plan) = (results("ok ").count(), results("1..").next());
            if plan != Some(reported.to_string().as_str()) {
                let plan = plan.unwrap_or("unknown");
                return Verdict::NotOk(vec![format!(
                    "{reported} tests are reported; the plan is {plan}"
                )]);
            }
            let skipped = results("ok ").filter(|line| line.contains("# SKIP")).count();
            Verdict::Passed { passed: reported - skipped, skipped }
        }
        Some(code) => Verdict::Failed(code.to_owned()),
    }
}

/// An alarm anywhere on the console counts, before the log or instead of it.
fn log(console: &str) -> Verdict {
    let is_ours = |line: &str| {
        ["tap", "result", "run"].iter().any(|it| line.starts_with(&format!("{MARK}{it} ")))
    };
    let mut alarms = console.lines().filter(|line| {
        !is_ours(line) && (line.contains(PANIC) || ALARMS.lines().any(|alarm| line.contains(alarm)))
    });
    match alarms.next() {
        Some(line) => Verdict::Alarm(line.trim_end().to_owned()),
        None if marked(console, "log").next().is_none() => Verdict::Missing,
        None => Verdict::Quiet,
    }
}

/// Rows of `console`: `xoff doctor`, the selftest, the kernel's log, and each scenario at a hook of `references`, which
/// are the results in memory.
pub fn judge(console: &str, references: &BTreeMap<String, Results>) -> Vec<Row> {
    let mut kernel = "unknown".to_owned();
    let mut doctor = Verdict::Missing;
    let mut results: BTreeMap<&str, Results> = BTreeMap::new();
    let mut codes: BTreeMap<&str, &str> = BTreeMap::new();
    for line in console.lines().filter_map(|line| line.trim_end().strip_prefix(MARK)) {
        match line.splitn(3, ' ').collect::<Vec<_>>()[..] {
            ["kernel", release] => release.clone_into(&mut kernel),
            ["doctor", "0"] => doctor = Verdict::Able,
            ["doctor", code] => doctor = Verdict::Failed(code.to_owned()),
            ["result", scenario, line] => results.entry(scenario).or_default().add(line),
            ["run", scenario, code] => {
                codes.insert(scenario, code);
            }
            _ => {}
        }
    }
    let row = |scenario: &str, packet_hops: &str, verdict| Row {
        kernel: kernel.clone(),
        scenario: scenario.to_owned(),
        packet_hops: packet_hops.to_owned(),
        verdict,
    };
    let mut rows = vec![
        row(DOCTOR, "", doctor),
        row(SELFTEST, "", selftest(console)),
        row(LOG, "", log(console)),
    ];
    for (scenario, reference) in references {
        let found = results.remove(scenario.as_str()).unwrap_or_default();
        let verdict = match codes.get(scenario.as_str()) {
            None => Verdict::Missing,
            Some(&"0") => match found.differences(reference) {
                files if files.is_empty() => Verdict::Same(reference.digests.len()),
                files => Verdict::Differs(files),
            },
            Some(&code) => Verdict::Failed(code.to_owned()),
        };
        rows.push(row(scenario, &found.packet_hops, verdict));
    }
    rows
}

/// The rows under their headings.
pub fn table(rows: &[Row]) -> String {
    let line = |[kernel, scenario, hops, verdict]: [&str; 4]| {
        format!("{kernel:<30}{scenario:<24}{hops:>12}  {verdict}\n")
    };
    let mut table = line(["kernel", "scenario", "packet-hops", "verdict"]);
    for Row { kernel, scenario, packet_hops, verdict } in rows {
        table += &line([kernel, scenario, packet_hops, &verdict.to_string()]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFERENCE: &str = "11 flows.csv\n22 summary.json\npacket-hops 1234\n";
    const CONSOLE: &str = "SeaBIOS\n\
        vm: kernel 6.1.0-56-cloud-amd64\r\n\
        ok    kernel: Linux 6.1.0-56-cloud-amd64\r\n\
        vm: doctor 0\r\n\
        vm: tap 1..2\r\n\
        vm: tap # selftests: xoff: xdp.native\r\n\
        vm: tap # ok 1 - a step # time=1ms\r\n\
        vm: tap ok 1 selftests: xoff: xdp.native # time=2ms\r\n\
        vm: tap ok 2 selftests: xoff: tc.tcx # SKIP Linux 6.1 has none\r\n\
        vm: selftest 0\r\n\
        vm: result incast 11  flows.csv\r\n\
        vm: result incast 22  summary.json\r\n\
        vm: result incast packet-hops 1234\r\n\
        vm: run incast 0\r\n\
        vm: log [    0.000000] Linux version 6.1\r\n\
        vm: done\r\n";

    const PASSED: Verdict = Verdict::Passed { passed: 1, skipped: 1 };

    fn verdicts(console: &str) -> Vec<Verdict> {
        let references = [("incast".to_owned(), Results::parse(REFERENCE))].into();
        judge(console, &references).into_iter().map(|row| row.verdict).collect()
    }

    #[test]
    fn a_run_holds_only_with_the_bytes_of_the_memory_datapath() {
        let with = |run| vec![Verdict::Able, PASSED, Verdict::Quiet, run];
        assert_eq!(verdicts(CONSOLE), with(Verdict::Same(2)));
        let differs = |files: &[&str]| {
            with(Verdict::Differs(files.iter().map(ToString::to_string).collect()))
        };
        assert_eq!(verdicts(&CONSOLE.replace("11  ", "12  ")), differs(&["flows.csv"]));
        let lacks = CONSOLE.replace("vm: result incast 22  summary.json", "");
        assert_eq!(verdicts(&lacks), differs(&["summary.json"]));
        let has_more =
            CONSOLE.replace("22  summary.json", "22  summary.json\nvm: result incast 33  c");
        assert_eq!(verdicts(&has_more), differs(&["c"]));
    }

    #[test]
    fn a_run_that_fails_or_is_not_reached_does_not_hold() {
        let failed = verdicts(&CONSOLE.replace("run incast 0", "run incast 1"));
        assert_eq!(failed[3], Verdict::Failed("1".to_owned()));
        let refused = verdicts(&CONSOLE.replace("doctor 0", "doctor 2"));
        assert_eq!(refused[0], Verdict::Failed("2".to_owned()));
        let ended = verdicts(CONSOLE.split("vm: doctor").next().unwrap());
        assert_eq!(ended, [const { Verdict::Missing }; 4]);
        assert!(!ended.iter().chain(&failed[3..]).chain(&refused[..1]).any(Verdict::holds));
    }

    #[test]
    fn a_test_that_fails_is_named_and_reported() {
        let failing = CONSOLE
            .replace("# ok 1 - a step", "#   got:      nothing\r\nvm: tap # not ok 1 - a step")
            .replace("tap ok 1", "tap not ok 1")
            .replace("selftest 0", "selftest 1");
        let found = &verdicts(&failing)[1];
        let name = "1 selftests: xoff: xdp.native # time=2ms".to_owned();
        assert_eq!(*found, Verdict::NotOk(vec![name]));
        assert!(!found.holds());
        let reported = failed_tests(&failing);
        let expected = "# selftests: xoff: xdp.native\n#   got:      nothing\n\
            # not ok 1 - a step # time=1ms\nnot ok 1 selftests: xoff: xdp.native # time=2ms\n";
        assert_eq!(reported, expected);
        assert_eq!(failed_tests(CONSOLE), "");
        let skipped = verdicts(&CONSOLE.replace("selftest 0", "selftest 4"));
        assert_eq!(skipped[1], Verdict::Failed("4".to_owned()));
    }

    #[test]
    fn an_alarm_in_the_log_or_before_it_does_not_hold() {
        for line in [
            "vm: log [    1.0] WARNING: CPU: 0 PID: 1 at net/core/dev.c:1\r\n",
            "[    1.0] Kernel panic - not syncing: Fatal exception\r\n",
            "[    1.0] BUG: KASAN: slab-out-of-bounds in veth_xdp_rcv\r\n",
        ] {
            let found = &verdicts(&format!("{line}{CONSOLE}"))[2];
            assert_eq!(*found, Verdict::Alarm(line.trim_end().to_owned()));
            assert!(!found.holds());
        }
        // Log lines quoted by a test are ignored.
        let reported = format!("vm: tap # BUG: is looked for\r\n{CONSOLE}");
        assert_eq!(verdicts(&reported)[2], Verdict::Quiet);
    }

    #[test]
    fn the_table_has_the_kernels_own_names() {
        let references = [("incast".to_owned(), Results::parse(REFERENCE))].into();
        let expected = "\
kernel                        scenario                 packet-hops  verdict
6.1.0-56-cloud-amd64          (doctor)                              nothing is missing
6.1.0-56-cloud-amd64          (selftest)                            1 passed, 1 skipped
6.1.0-56-cloud-amd64          (kernel log)                          no warning and no bug
6.1.0-56-cloud-amd64          incast                          1234  same bytes as in memory (2 files)
";
        assert_eq!(table(&judge(CONSOLE, &references)), expected);
    }
}
