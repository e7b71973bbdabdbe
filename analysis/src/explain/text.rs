//! Answers of `xoff explain` as text.

use std::fmt::{self, Display, Formatter};

use results::{count, counted, span};
use units::{Nanos, Picos};

use super::{ExplainedPause, Explanation, Lost, Overview, Part, RootCause, Share, Tree};

/// Max number of wires of a tree that are listed by name.
const WIRES: usize = 6;

fn time(ps: u64) -> String {
    span(Picos(ps).to_nanos())
}

fn flows(shares: &[Share], total: usize, amount: fn(u64) -> String) -> String {
    let mut named: Vec<String> = shares
        .iter()
        .take(3)
        .map(|share| format!("{} ({})", share.flow, amount(share.amount)))
        .collect();
    let others = total - named.len();
    if others > 0 {
        named.push(format!("{others} more"));
    }
    let noun = if total == 1 { "flow" } else { "flows" };
    format!("{noun} {}", named.join(", "))
}

fn bytes(bytes: u64) -> String {
    format!("{} B", count(bytes))
}

impl Display for RootCause {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { kind, at, paused, .. } = self;
        if paused.len() > 1 {
            write!(f, "by way of {}: ", paused[1..].join(", "))?;
        }
        match *kind {
            "host" => write!(f, "host {at} held its switch back"),
            "deadlock" => write!(f, "a deadlock of {at}"),
            "circle" => write!(f, "a cycle of pauses that dissolved: {at}"),
            "buffer" => write!(f, "{at}, which held nothing more of that neighbour"),
            _ => {
                write!(f, "the queue of {at} held {}", bytes(self.bytes))?;
                if !self.flows.is_empty() {
                    write!(f, " of {}", flows(&self.flows, self.flows_total, bytes))?;
                }
                match self.since_ps {
                    Some(since) => write!(f, ", not empty since {}", time(since)),
                    None => Ok(()),
                }
            }
        }
    }
}

impl Display for Part {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { cause, wire, ps, .. } = self;
        write!(f, "{:>12}  ", time(*ps))?;
        match *cause {
            "paced" => write!(f, "congestion control's rate or window held it at {wire}"),
            "slow-wire" => {
                write!(f, "{wire} was slower than at its best: a fault of rate or delay")
            }
            "retransmission" => {
                write!(f, "lost packets: until the loss was noticed and they went again at {wire}")
            }
            "behind-others" => {
                write!(f, "behind {} at {wire}", flows(&self.flows, self.flows_total, time))
            }
            "behind-control" => write!(f, "behind frames between neighbours at {wire}"),
            "paused" => write!(f, "paused at {wire}"),
            "held-back" => {
                write!(
                    f,
                    "held back at {wire}, whose port stood idle: a pause of its flow, or a rate"
                )
            }
            "receiver" => write!(f, "the receiver had not answered at {wire}"),
            _ => write!(f, "no trace of it at {wire}"),
        }?;
        match &self.root {
            Some(root) => write!(f, "; cause: {root}"),
            None => Ok(()),
        }
    }
}

impl Display for Explanation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { flow, label, src, dst, .. } = self;
        write!(f, "flow {flow} ({label}), {src} to {dst}: ")?;
        if self.completed {
            write!(f, "{}, {} on an idle fabric", time(self.time_ps), time(self.ideal_ps))?;
        } else {
            write!(f, "not completed {} after its start", time(self.time_ps))?;
        }
        writeln!(f)?;
        if self.parts.is_empty() {
            return writeln!(f, "  nothing held it up");
        }
        for part in &self.parts {
            writeln!(f, "{part}")?;
        }
        writeln!(f, "{:>12}  its own packets: on wires, and behind each other", time(self.own_ps))?;
        for Lost { how, at, packets } in &self.lost {
            let how = if *how == "dropped" { "dropped by" } else { "lost by a fault on" };
            writeln!(f, "  {} {how} {at}", counted(*packets, "packet"))?;
        }
        if self.victim_ps > 0 {
            writeln!(f, "  {} of it as a victim: congestion off its path", time(self.victim_ps))?;
        }
        Ok(())
    }
}

impl Display for Tree {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { root, pauses, wires, depth, .. } = self;
        let what = RootCause { paused: Vec::new(), ..root.clone() };
        writeln!(f, "  priority {}: {what}", self.priority)?;
        let named = wires.iter().take(WIRES).map(String::as_str).collect::<Vec<_>>().join(", ");
        let others = wires.len().saturating_sub(WIRES);
        let others = if others > 0 { format!(" and {others} more") } else { String::new() };
        writeln!(
            f,
            "    {} of {named}{others}: {} in all, from {} to {}, {} deep",
            counted(*pauses as u64, "pause"),
            time(self.paused_ps),
            time(self.from_ps),
            time(self.to_ps),
            counted(*depth as u64, "hop")
        )
    }
}

impl Display for Overview {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.flows.is_empty() {
            writeln!(f, "nothing held any flow up\n")?;
        } else {
            writeln!(
                f,
                "the flows that suffered most: from what they did not cause, then from the rest\n"
            )?;
        }
        for flow in &self.flows {
            writeln!(f, "{flow}")?;
        }
        if self.trees.is_empty() {
            let text =
                "no class or queue was paused; pauses of flows and rates show as \"held back\"";
            return writeln!(f, "{text}");
        }
        writeln!(f, "congestion trees, the most paused first\n")?;
        self.trees.iter().take(super::FLOWS_SHOWN).try_for_each(|tree| write!(f, "{tree}"))?;
        match self.trees.len().saturating_sub(super::FLOWS_SHOWN) {
            0 => Ok(()),
            more => writeln!(f, "  and {more} more: --json has all"),
        }
    }
}

impl Display for ExplainedPause {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { wire, priority, root, .. } = self;
        let (from, to) = (Picos(self.from_ps).to_nanos(), Picos(self.to_ps).to_nanos());
        writeln!(
            f,
            "{wire} had to stop priority {priority} from {} to {}, for {}",
            span(from),
            span(to),
            span(Nanos(to.0.saturating_sub(from.0)))
        )?;
        writeln!(f, "cause: {root}")?;
        let named = self.victims.iter().take(20).map(u32::to_string).collect::<Vec<_>>().join(", ");
        match self.victims.len() {
            0 => writeln!(f, "no flow waited there whose way does not lead to it"),
            1..=20 => {
                writeln!(f, "flows that waited although their way does not lead to it: {named}")
            }
            all => writeln!(
                f,
                "{all} flows waited although their way does not lead to it, among them {named}"
            ),
        }
    }
}
