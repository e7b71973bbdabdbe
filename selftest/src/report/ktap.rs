//! KTAP version 1 (Documentation/dev-tools/ktap.rst), and TAP as the kernel's runner formats a test's output
//! (tools/testing/selftests/kselftest/runner.sh).

use std::fmt::Write;

use crate::verdict::{Finding, Step, Verdict, milliseconds};

/// Indentation of subtests.
const INDENT: &str = "  ";

/// Formats a test with its steps as subtests.
pub fn nested(number: usize, finding: &Finding) -> String {
    let mut text = format!("{INDENT}KTAP version 1\n{INDENT}1..{}\n", finding.steps.len());
    for (step, place) in finding.steps.iter().zip(1..) {
        diagnose(&mut text, INDENT, step);
        writeln!(text, "{INDENT}{}", step_line(place, step)).expect("a String takes every write");
    }
    again(&mut text, "", finding);
    let verdict = finding.verdict();
    let line = line(number, &finding.name, &verdict, milliseconds(finding.took));
    writeln!(text, "{line}").expect("a String takes every write");
    text
}

/// Formats a test like the kernel's runner formats the output of a program that writes TAP: with `# ` before each line.
pub fn commented(number: usize, finding: &Finding) -> String {
    let mut inner = format!("TAP version 13\n1..{}\n", finding.steps.len());
    for (step, place) in finding.steps.iter().zip(1..) {
        diagnose(&mut inner, "", step);
        writeln!(inner, "{}", step_line(place, step)).expect("a String takes every write");
    }
    again(&mut inner, "", finding);
    let name = format!("selftests: xoff: {}", described(&finding.name));
    let mut text = format!("# {name}\n");
    for line in inner.lines() {
        writeln!(text, "# {line}").expect("a String takes every write");
    }
    let last = match finding.verdict() {
        Verdict::Pass => format!("ok {number} {name} # time={}ms", milliseconds(finding.took)),
        Verdict::Skip { reason } => format!("ok {number} {name} # SKIP {}", one_line(&reason)),
        Verdict::Fail(_) => format!("not ok {number} {name} # exit=1"),
    };
    writeln!(text, "{last}").expect("a String takes every write");
    text
}

fn step_line(number: usize, step: &Step) -> String {
    line(number, &step.name, &step.verdict, milliseconds(step.took))
}

fn line(number: usize, name: &str, verdict: &Verdict, ms: u64) -> String {
    let name = described(name);
    match verdict {
        Verdict::Pass => format!("ok {number} - {name} # time={ms}ms"),
        Verdict::Skip { reason } => format!("ok {number} - {name} # SKIP {}", one_line(reason)),
        Verdict::Fail(_) => format!("not ok {number} - {name} # time={ms}ms"),
    }
}

/// Writes the lines with the reason why a step failed.
fn diagnose(text: &mut String, indent: &str, step: &Step) {
    let Verdict::Fail(failure) = &step.verdict else { return };
    let lines = [
        ("", step.name.as_str()),
        ("  expected: ", &failure.expected),
        ("  got:      ", &failure.got),
        ("  where:    ", &failure.place),
    ];
    for (what, value) in lines {
        if !value.is_empty() {
            writeln!(text, "{indent}# {what}{}", one_line(value))
                .expect("a String takes every write");
        }
    }
}

fn again(text: &mut String, indent: &str, finding: &Finding) {
    if let Some(command) = &finding.again {
        writeln!(text, "{indent}# again: {command}").expect("a String takes every write");
    }
}

/// Formats a description on one line, without `#`, which would begin a directive.
fn described(name: &str) -> String {
    one_line(name).replace('#', "no. ")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn finding() -> Finding {
        let step = |name: &str, verdict, ms| Step {
            name: name.to_owned(),
            verdict,
            took: Duration::from_millis(ms),
        };
        Finding {
            name: "xdp.native".to_owned(),
            steps: vec![
                step("frame #1\narrives", Verdict::Pass, 12),
                step("order", Verdict::fail("1, 2", "2, 1", "s0/h0"), 0),
                step("TCX", Verdict::skip("Linux 6.1 has none"), 3),
            ],
            took: Duration::from_millis(15),
            again: Some("xoff selftest --only xdp.native --seed 1".to_owned()),
        }
    }

    #[test]
    fn steps_are_subtests() {
        let expected = "  KTAP version 1
  1..3
  ok 1 - frame no. 1 arrives # time=12ms
  # order
  #   expected: 1, 2
  #   got:      2, 1
  #   where:    s0/h0
  not ok 2 - order # time=0ms
  ok 3 - TCX # SKIP Linux 6.1 has none
# again: xoff selftest --only xdp.native --seed 1
not ok 7 - xdp.native # time=15ms
";
        assert_eq!(nested(7, &finding()), expected);
    }

    #[test]
    fn steps_are_comments() {
        let text = commented(7, &finding());
        assert!(text.contains("# ok 1 - frame no. 1 arrives # time=12ms\n"), "{text}");
        assert!(text.starts_with("# selftests: xoff: xdp.native\n# TAP version 13\n# 1..3\n"));
        assert!(text.ends_with("\nnot ok 7 selftests: xoff: xdp.native # exit=1\n"), "{text}");
        let (steps, _) = text.rsplit_once("not ok 7").expect("it ends so");
        assert!(steps.lines().all(|line| line.starts_with("# ")), "{text}");
    }
}
