//! Losses with their reasons, and defects of the run.

use std::fmt::{self, Write as _};

use super::text_table::wrap;
use super::{RunReport, Style, blame, quantity};
use crate::fault::FaultTotals;
use crate::summary::Summary;

impl RunReport {
    pub(super) fn losses(&self, out: &mut String, style: Style) -> fmt::Result {
        let Summary { drops, ecn_marked, cnps, retransmitted_packets, .. } = &self.summary;
        writeln!(out, "{}", style.heading("Drops"))?;
        for (reason, frames) in &drops.by_reason {
            writeln!(out, "{reason:<24}{:>12}", quantity::count(*frames))?;
        }
        if drops.ignored > 0 {
            let ignored = quantity::counted(drops.ignored, "control frame");
            writeln!(out, "{ignored} without effect, which are no loss")?;
        }
        let verdict = if drops.lost() == 0 {
            style.good(if self.lossless.is_empty() { "none" } else { "none: lossless" })
        } else {
            style.bad(&blame::lost(drops))
        };
        writeln!(out, "{verdict}")?;
        if let Some(faults) = self.summary.faults.as_ref().and_then(described_faults) {
            writeln!(out, "{faults}")?;
        }
        writeln!(
            out,
            "{} ECN-marked, {}, {} sent again",
            quantity::counted(*ecn_marked, "packet"),
            quantity::counted(*cnps, "CNP"),
            quantity::counted(*retransmitted_packets, "packet"),
        )?;
        let Summary { unfinished, books, limits_reached, .. } = &self.summary;
        let about = |what, lines| std::iter::repeat(what).zip(lines);
        let unfinished = about("unfinished", unfinished.as_slice());
        let limits = about("limit", limits_reached);
        for (about, line) in unfinished.chain(about("books", books)).chain(limits) {
            let line = format!("{about}: {line}");
            writeln!(out, "{}", style.bad(wrap(line.split(' '), 7, "").trim_end()))?;
        }
        Ok(())
    }
}

/// `faults: 2 frames lost, 300 delays, 2 changes of routes`; nothing if they did nothing.
pub(super) fn described_faults(faults: &FaultTotals) -> Option<String> {
    let FaultTotals { lost, corrupted, sent_while_down, delayed, slowed, reroutes } = *faults;
    // Each fault that makes a frame late counts it.
    let kinds = [
        (lost, "frame", " lost"),
        (corrupted, "frame", " corrupted"),
        (sent_while_down, "frame", " sent while their wire was down"),
        (delayed, "delay", ""),
        (slowed, "slower transmission", ""),
        (reroutes, "change", " of routes"),
    ];
    let kinds = kinds.iter().filter(|(times, ..)| *times > 0);
    let done: Vec<String> = kinds
        .map(|&(times, noun, what)| format!("{}{what}", quantity::counted(times, noun)))
        .collect();
    (!done.is_empty()).then(|| format!("faults: {}", done.join(", ")))
}
