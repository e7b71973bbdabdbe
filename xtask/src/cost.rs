//! Instructions of a packet-hop in memory: a number that does not depend on the machine's load. A new compiler may move
//! it by a few percent; a larger difference is due to our change.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::{packages, process, static_build, workspace};

/// Max instructions per hop: 4 % more than at the time when the bound was last moved.
const BOUND: f64 = 1670.0;
/// Below this share of the bound it no longer bounds much.
const SLACK: f64 = 0.93;
/// The scenario of the memory benchmark.
const SCENARIO: &str = "tests/src/bin/bench/websearch.toml";
/// Spans of emulated time. Their difference leaves out the costs that a run has once.
const SPANS: [&str; 2] = ["1ms", "2ms"];

/// One run under valgrind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counted {
    instructions: u64,
    hops: u64,
}

/// Counts, and fails if a hop costs more than the bound.
pub fn run() -> Result<()> {
    packages::valgrind()?;
    let build = workspace::target_dir().join("dist/build");
    let xoff =
        static_build::build(&workspace::root(), &build, static_build::XOFF, None)?.join("xoff");
    let folder = workspace::target_dir().join("cost");
    let [short, long] = SPANS.map(|span| count(&xoff, span, &folder));
    let cost = per_hop(short?, long?)?;
    println!("a packet-hop in memory costs {cost:.0} instructions, of at most {BOUND:.0}");
    if cost > BOUND {
        bail!(
            "that is {:.1} % above the bound: find what the change costs (docs/speed-bounds.md, Bounds of the memory datapath), or move the bound in xtask/src/cost.rs and say why",
            100.0 * (cost / BOUND - 1.0)
        );
    }
    if cost < SLACK * BOUND {
        bail!("that is better than the bound knows: bring it down in xtask/src/cost.rs");
    }
    Ok(())
}

/// Runs the scenario for a span of emulated time.
fn count(xoff: &Path, span: &str, folder: &Path) -> Result<Counted> {
    let out = folder.join(span);
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(xoff);
    valgrind.args(["run", SCENARIO, "--threads", "1", "--json", "--out"]).arg(&out);
    for key in ["duration", "flows.0.stop"] {
        valgrind.args(["--set", &format!("{key}={span}")]);
    }
    eprintln!("$ {}", process::line_of(&valgrind));
    let ended = valgrind.current_dir(workspace::root()).stdin(Stdio::null()).output();
    let ended = ended.context("valgrind cannot be started")?;
    let complaint = String::from_utf8_lossy(&ended.stderr);
    // The exit code does not matter: the end cuts flows off, which counts as a failed run.
    let counted = hops(&ended.stdout).zip(instructions(&complaint));
    let (hops, instructions) = counted
        .with_context(|| format!("valgrind or xoff failed ({}): {complaint}", ended.status))?;
    Ok(Counted { instructions, hops })
}

/// The packet-hops of a run whose books are in order.
fn hops(summary: &[u8]) -> Option<u64> {
    let summary: Value = serde_json::from_slice(summary).ok()?;
    let books = summary.get("books")?.as_array()?;
    summary.get("packet_hops")?.as_u64().filter(|_| books.is_empty())
}

/// The number of instructions that callgrind has counted.
fn instructions(said: &str) -> Option<u64> {
    let (_, count) = said.lines().find(|line| line.contains("refs:"))?.split_once("refs:")?;
    count.trim().replace(',', "").parse().ok()
}

fn per_hop(short: Counted, long: Counted) -> Result<f64> {
    let hops = long.hops.saturating_sub(short.hops);
    ensure!(hops > 0, "a longer run has more hops: {short:?}, {long:?}");
    let instructions = long.instructions.saturating_sub(short.instructions);
    Ok(instructions as f64 / hops as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_those_that_callgrind_collected() {
        let said = "==7== Events    : Ir\n==7== Collected : 941028324\n==7== \n==7== I   refs:      941,028,324\n";
        assert_eq!(instructions(said), Some(941_028_324));
        assert_eq!(instructions("==7== Collected : 941028324\n"), None);
    }

    #[test]
    fn a_hop_costs_what_more_hops_cost_more() {
        let of = |instructions, hops| Counted { instructions, hops };
        let cost = per_hop(of(900, 10), of(3900, 12)).unwrap();
        assert!((cost - 1500.0).abs() < 1e-9, "{cost}");
        assert!(per_hop(of(900, 10), of(3900, 10)).is_err());
    }

    #[test]
    fn hops_are_those_of_a_summary_whose_books_are_in_order() {
        assert_eq!(hops(br#"{"packet_hops": 9645226, "books": []}"#), Some(9_645_226));
        assert_eq!(hops(br#"{"packet_hops": 9645226, "books": ["a byte is missing"]}"#), None);
        assert_eq!(hops(b"no summary"), None);
    }
}
