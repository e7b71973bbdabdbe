//! Output formats of test results: KTAP, TAP as the kernel's runner writes it, `JUnit`, JSON.

mod junit;
mod ktap;

use std::io::{self, Write};

use clap::ValueEnum;
use serde::Serialize;

use super::verdict::{Finding, Tally, Verdict};

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// KTAP version 1, for `KUnit` tools and kernel developers: a test's steps are subtests.
    Ktap,
    /// TAP version 13, like the kernel's `run_kselftest.sh`: a test's steps are lines that begin with `# `.
    Tap13,
    /// `JUnit` XML: one suite per test, one case per step.
    Junit,
    /// JSON, one object.
    Json,
}

/// Writer of test results: KTAP and TAP test by test, the other formats at the end.
pub struct Report<W> {
    format: Format,
    output: W,
    findings: Vec<Finding>,
    /// True if the report was interrupted.
    is_interrupted: bool,
}

#[derive(Serialize)]
struct Whole<'a> {
    seed: u64,
    kernel: &'a str,
    /// True if tests are missing because of an interrupt.
    interrupted: bool,
    #[serde(flatten)]
    tally: Tally,
    tests: Vec<JudgedFinding<'a>>,
}

#[derive(Serialize)]
struct JudgedFinding<'a> {
    verdict: &'static str,
    #[serde(flatten)]
    finding: &'a Finding,
}

impl<'a> JudgedFinding<'a> {
    fn new(finding: &'a Finding) -> Self {
        let verdict = match finding.verdict() {
            Verdict::Pass => "pass",
            Verdict::Fail(_) => "fail",
            Verdict::Skip { .. } => "skip",
        };
        Self { verdict, finding }
    }
}

impl<W: Write> Report<W> {
    /// Begins a report of `tests` tests.
    pub fn begin(format: Format, mut output: W, tests: usize) -> io::Result<Self> {
        match format {
            Format::Ktap => writeln!(output, "KTAP version 1\n1..{tests}")?,
            Format::Tap13 => writeln!(output, "TAP version 13\n1..{tests}")?,
            Format::Junit | Format::Json => {}
        }
        output.flush()?;
        Ok(Self { format, output, findings: Vec::new(), is_interrupted: false })
    }

    /// Adds a test that has ended.
    pub fn add(&mut self, finding: Finding) -> io::Result<()> {
        self.findings.push(finding);
        let (number, finding) = (self.findings.len(), &self.findings[self.findings.len() - 1]);
        match self.format {
            Format::Ktap => self.output.write_all(ktap::nested(number, finding).as_bytes())?,
            Format::Tap13 => self.output.write_all(ktap::commented(number, finding).as_bytes())?,
            Format::Junit | Format::Json => {}
        }
        self.output.flush()
    }

    /// Formats all results so far as JSON, regardless of the report's format.
    pub fn json(&self, seed: u64, kernel: &str) -> String {
        let tally = tally(&self.findings);
        let tests = self.findings.iter().map(JudgedFinding::new).collect();
        let interrupted = self.is_interrupted;
        let whole = Whole { seed, kernel, interrupted, tally, tests };
        serde_json::to_string_pretty(&whole).expect("findings have string keys only")
    }

    /// Marks the report as interrupted: no more tests follow, and some are missing.
    pub fn interrupt(&mut self) -> io::Result<()> {
        self.is_interrupted = true;
        if matches!(self.format, Format::Ktap | Format::Tap13) {
            writeln!(self.output, "Bail out! interrupted")?;
        }
        Ok(())
    }

    /// Ends the report.
    pub fn end(mut self, seed: u64, kernel: &str) -> io::Result<Tally> {
        let tally = tally(&self.findings);
        match self.format {
            Format::Ktap | Format::Tap13 => {
                let Tally { pass, fail, skip } = tally;
                writeln!(
                    self.output,
                    "# Linux {kernel}, seed {seed}\n# Totals: pass:{pass} fail:{fail} xfail:0 xpass:0 skip:{skip} error:0"
                )?;
            }
            Format::Junit => {
                let xml = junit::render(&self.findings, seed, kernel, self.is_interrupted)
                    .map_err(io::Error::other)?;
                self.output.write_all(xml.as_bytes())?;
            }
            Format::Json => {
                let json = self.json(seed, kernel);
                writeln!(self.output, "{json}")?;
            }
        }
        self.output.flush()?;
        Ok(tally)
    }
}

fn tally(findings: &[Finding]) -> Tally {
    let mut tally = Tally::default();
    for finding in findings {
        tally.count(&finding.verdict());
    }
    tally
}
