//! The keys of `[[faults]]`.

use schemars::JsonSchema;
use serde::Deserialize;
use topology::Fabric;
use units::Picos;

use super::Scenario;
use super::document::Document;
use super::fault::{
    Fault, FrameClass, LEAST_PERIOD, LEAST_RATE, Lateness, MOST_DELAY, Reroute, Scope, Selection,
    WirePattern,
};
use super::glob;
use super::outage::{Flap, FlapKeys};
use super::quantity::{Rate, Time, display};
use super::ratio::FineProbability;
use super::report::ScenarioError;

/// Something that goes wrong on wires, for tests of what then happens. It is about frames whose transmission begins while
/// it lasts; what is on its way then arrives.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind")]
pub(super) enum FaultKeys {
    /// Frames vanish on the wire. Either `rate` or `nth` says which ones.
    Loss {
        /// Wires by name, such as "h0->leaf0"; `*` stands for any text. A name of links, such as "h0-leaf0", is for both
        /// of their wires. Default "*".
        #[serde(default = "every_wire")]
        wire: String,
        /// When the fault begins. Default: with the run.
        at: Option<Time>,
        /// How long it lasts. Default: to the run's end.
        r#for: Option<Time>,
        /// Frames that count: "all", "data" (over TCP the first one is the SYN), "ack", "nak", "cnp", "pfc", "pause", "resume",
        /// "hop-control" (what xoff has beyond PFC: pauses of queues and flows, and rates) or "link-delay". Default "all".
        #[serde(default)]
        r#match: FrameClass,
        /// Probability with which each of them vanishes, 0 to 1; drawn from the scenario's seed.
        rate: Option<FineProbability>,
        /// Which of them vanish, counted from 1 on each wire.
        nth: Option<Vec<u64>>,
    },
    /// Frames arrive with a wrong FCS, and are dropped there. Either `rate` or `nth` says which ones.
    Corrupt {
        /// Wires by name, such as "h0->leaf0"; `*` stands for any text. A name of links, such as "h0-leaf0", is for both
        /// of their wires. Default "*".
        #[serde(default = "every_wire")]
        wire: String,
        /// When the fault begins. Default: with the run.
        at: Option<Time>,
        /// How long it lasts. Default: to the run's end.
        r#for: Option<Time>,
        /// Frames that count, as those of a loss. Default "all".
        #[serde(default)]
        r#match: FrameClass,
        /// Probability with which each of them is damaged, 0 to 1; drawn from the scenario's seed.
        rate: Option<FineProbability>,
        /// Which of them are damaged, counted from 1 on each wire.
        nth: Option<Vec<u64>>,
    },
    /// Frames are longer on their way. They stay in order, and arrive no faster than the link carries them. Headroom is not
    /// computed for the delay, unless it is measured (`"adaptive"`).
    Delay {
        /// Wires by name, such as "h0->leaf0"; `*` stands for any text. A name of links, such as "h0-leaf0", is for both
        /// of their wires. Default "*".
        #[serde(default = "every_wire")]
        wire: String,
        /// When the fault begins. Default: with the run.
        at: Option<Time>,
        /// How long it lasts. Default: to the run's end.
        r#for: Option<Time>,
        /// By how much each frame arrives later; delays and jitters of a wire add up to "1s" at most. Default "0s".
        delay: Option<Time>,
        /// The most by which a frame arrives later than that: drawn for each frame, all values alike, from the
        /// scenario's seed. Default "0s".
        jitter: Option<Time>,
    },
    /// The port that sends is slower than its link: frames occupy it for longer. What switches and hosts compute from the
    /// link's rate stays as it is.
    Rate {
        /// Wires by name, such as "h0->leaf0"; `*` stands for any text. A name of links, such as "h0-leaf0", is for both
        /// of their wires. Default "*".
        #[serde(default = "every_wire")]
        wire: String,
        /// When the fault begins. Default: with the run.
        at: Option<Time>,
        /// How long it lasts. Default: to the run's end.
        r#for: Option<Time>,
        /// At least "100kbps", and below the links' rate.
        rate: Rate,
    },
    /// The wire loses every frame.
    Down {
        /// Wires by name, such as "h0->leaf0"; `*` stands for any text. A name of links, such as "h0-leaf0", is for both
        /// of their wires.
        wire: String,
        /// When it goes down. Default: at the run's beginning.
        at: Option<Time>,
        /// When it is up for good, counted from then. Default: at the run's end.
        r#for: Option<Time>,
        /// Whether the routes of all switches avoid the link while one of its wires is down. Packets without a route are
        /// dropped. Default false: switches know nothing of it.
        #[serde(default)]
        reroute: bool,
        /// How long it takes until switches have other routes, both after the link has gone down and after it has come up.
        /// Only with `reroute`. Default "0s".
        reroute_after: Option<Time>,
        /// Whether it comes up in between. Default: it stays down.
        flap: Option<FlapKeys>,
    },
}

fn every_wire() -> String {
    "*".into()
}

/// Where a fault is written, and what it is checked against.
pub(super) struct FaultPlace<'a> {
    /// The path of its keys.
    pub path: &'a str,
    /// The wires that there are.
    pub fabric: &'a Fabric,
    /// How long a run lasts at most; a live fabric lasts for longer.
    pub duration: Option<Picos>,
    /// The file.
    pub document: &'a Document<'a>,
}

impl FaultKeys {
    pub(super) fn resolve(self, place: &FaultPlace<'_>) -> Result<Fault, ScenarioError> {
        match self {
            Self::Loss { wire, at, r#for, r#match, rate, nth } => {
                let scope = place.scope(wire, at, r#for)?;
                let selection = place.selection("loss", rate, nth)?;
                Ok(Fault::Loss { scope, r#match, selection })
            }
            Self::Corrupt { wire, at, r#for, r#match, rate, nth } => {
                let scope = place.scope(wire, at, r#for)?;
                let selection = place.selection("corruption", rate, nth)?;
                Ok(Fault::Corrupt { scope, r#match, selection })
            }
            Self::Delay { wire, at, r#for, delay, jitter } => {
                let scope = place.scope(wire, at, r#for)?;
                Ok(Fault::Delay { scope, lateness: place.lateness(delay, jitter)? })
            }
            Self::Rate { wire, at, r#for, rate } => {
                let scope = place.scope(wire, at, r#for)?;
                place.check_rate(&scope, rate)?;
                Ok(Fault::Rate { scope, rate: rate.0 })
            }
            Self::Down { wire, at, r#for, reroute, reroute_after, flap } => {
                let scope = place.scope(wire, at, r#for)?;
                if reroute_after.is_some() && !reroute {
                    let help = "add reroute = true, or leave the key out";
                    return place.wrong("reroute_after", "`reroute_after` without `reroute`", help);
                }
                let flap = flap.map(|keys| place.flap(&keys)).transpose()?;
                let reroute_after = reroute_after.map_or(Picos::ZERO, |time| time.0);
                Ok(Fault::Down { scope, flap, reroute: Reroute { reroute, reroute_after } })
            }
        }
    }
}

impl FaultPlace<'_> {
    fn wrong<T>(&self, key: &str, title: &str, help: &str) -> Result<T, ScenarioError> {
        let path =
            if key.is_empty() { self.path.to_owned() } else { format!("{}.{key}", self.path) };
        Err(self.document.error(&path, title, help))
    }

    fn scope(
        &self,
        wire: String,
        at: Option<Time>,
        r#for: Option<Time>,
    ) -> Result<Scope, ScenarioError> {
        glob::check(&wire, &format!("{}.wire", self.path), self.fabric, self.document)?;
        if r#for.is_some_and(|time| time.0 == Picos::ZERO) {
            let help =
                "write a time such as \"1ms\", or leave `for` out: then it lasts to the run's end";
            return self.wrong("for", "a fault of no time", help);
        }
        let at = at.map_or(Picos::ZERO, |time| time.0);
        if let Some(duration) = self.duration.filter(|&duration| at >= duration) {
            let title = format!("the fault begins at {}", display(at));
            let help = format!("the run's `duration` is {}", display(duration));
            return self.wrong("at", &title, &help);
        }
        Ok(Scope { wire: WirePattern(wire), at, r#for: r#for.map(|time| time.0) })
    }

    fn selection(
        &self,
        what: &str,
        rate: Option<FineProbability>,
        nth: Option<Vec<u64>>,
    ) -> Result<Selection, ScenarioError> {
        match (rate, nth) {
            (Some(rate), None) => Ok(Selection::Rate(rate)),
            (None, Some(mut nth)) if !nth.is_empty() && !nth.contains(&0) => {
                nth.sort_unstable();
                nth.dedup();
                Ok(Selection::Nth(nth))
            }
            (None, Some(_)) => {
                let help = "frames are counted from 1: nth = [1] is the first one";
                self.wrong("nth", "a list that names no frame", help)
            }
            (Some(_), Some(_)) => {
                let help = "keep one of the two, and write a second [[faults]] for the other";
                self.wrong("", &format!("a {what} with both `rate` and `nth`"), help)
            }
            (None, None) => {
                let help = "add rate = 0.001, or nth = [1]";
                self.wrong("", &format!("a {what} without `rate` or `nth`"), help)
            }
        }
    }

    fn lateness(
        &self,
        delay: Option<Time>,
        jitter: Option<Time>,
    ) -> Result<Lateness, ScenarioError> {
        let time = |time: Option<Time>| time.map_or(Picos::ZERO, |time| time.0);
        let lateness = Lateness { delay: time(delay), jitter: time(jitter) };
        if lateness == Lateness::default() {
            let help = "add delay = \"5us\", or jitter = \"1us\"";
            return self.wrong("", "a delay of no time", help);
        }
        Ok(lateness)
    }

    fn check_rate(&self, scope: &Scope, rate: Rate) -> Result<(), ScenarioError> {
        if rate.0 < LEAST_RATE {
            let title = format!("a port that sends at {}", display(rate.0));
            let help = "write at least 100kbps, at which the longest frame takes most of a second";
            return self.wrong("rate", &title, help);
        }
        let slower = |wire: &&topology::Wire| scope.wire.covers(&wire.name) && wire.rate <= rate.0;
        match self.fabric.wires().iter().find(slower) {
            None => Ok(()),
            Some(wire) => {
                let title = format!("{} is not below the rate of {}", display(rate.0), wire.name);
                let help =
                    format!("a fault makes it slower: write less than {}", display(wire.rate));
                self.wrong("rate", &title, &help)
            }
        }
    }

    fn flap(&self, keys: &FlapKeys) -> Result<Flap, ScenarioError> {
        let period = keys.period.0;
        if period < LEAST_PERIOD {
            let title = format!("a wire that goes down every {}", display(period));
            return self.wrong("flap.period", &title, "write at least 1us");
        }
        let down_for = keys.down_for.map_or(Picos(period.0 / 2), |time| time.0);
        if down_for == Picos::ZERO || down_for >= period {
            let title = format!("down for {} of {}", display(down_for), display(period));
            let help = "write a time above zero and below the period, or leave `flap` out";
            return self.wrong("flap.down_for", &title, help);
        }
        Ok(Flap { period, down_for })
    }
}

/// Why the routes of a fabric cannot change while it runs: a title and a help.
pub type NoReroute = (&'static str, &'static str);

impl Scenario {
    /// Whether routes may change while the fabric runs: faults change them, or the users of a live fabric may.
    pub fn may_reroute(&self) -> bool {
        let reroutes = |fault: &Fault| fault.outage().is_some_and(|(_, it)| it.reroute);
        self.is_on_demand() || self.faults.iter().any(reroutes)
    }

    /// Why routes cannot change while the fabric runs, if they cannot.
    pub fn no_reroute(&self) -> Option<NoReroute> {
        if !self.fabric.static_routes().is_empty() {
            return Some((
                "the fabric has routes of its own, which do not change with a link",
                "leave [[routes]] and paths of flows out, or write reroute = false",
            ));
        }
        if self.switch.backpressure.is_some() {
            return Some((
                "`switch.backpressure` follows flows by their ports, which do not change while they last",
                "leave it out, or write reroute = false",
            ));
        }
        let needs = |transport: &super::Transport| transport.congestion_control().needs_telemetry();
        self.transports().iter().any(needs).then_some((
            "congestion control compares the stamps of a path, and they would be those of two paths",
            "choose an algorithm without telemetry, such as \"dcqcn\" or \"timely\", or write reroute = false",
        ))
    }

    /// Checks that the delays on each wire are short enough together.
    fn check_delays(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        let mut sums = vec![Picos::ZERO; self.fabric.wires().len()];
        for (number, fault) in self.faults.iter().enumerate() {
            let Fault::Delay { scope, lateness } = fault else { continue };
            for (sum, wire) in sums.iter_mut().zip(self.fabric.wires()) {
                if !scope.wire.covers(&wire.name) {
                    continue;
                }
                *sum =
                    Picos(sum.0.saturating_add(lateness.delay.0.saturating_add(lateness.jitter.0)));
                if *sum > MOST_DELAY {
                    let title = format!("frames on {} are up to {} late", wire.name, display(*sum));
                    let help = "delays and jitters of a wire may add up to 1s";
                    return Err(document.error(&format!("faults.{number}"), &title, help));
                }
            }
        }
        Ok(())
    }

    /// Checks what faults have to do with other keys.
    pub(super) fn check_faults(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        self.check_delays(document)?;
        let is_late = |fault: &Fault| matches!(fault, Fault::Delay { .. } | Fault::Rate { .. });
        if self.results.distributions && self.faults.iter().any(is_late) {
            let title = "`distributions` beside faults that make frames late";
            let help = "they follow a PAUSE for as long as it takes effect on links without faults: leave one of the two out";
            return Err(document.error("results.distributions", title, help));
        }
        let Some((title, help)) = self.no_reroute() else { return Ok(()) };
        let reroutes = |fault: &Fault| fault.outage().is_some_and(|(_, it)| it.reroute);
        match self.faults.iter().position(reroutes) {
            Some(number) => Err(document.error(&format!("faults.{number}.reroute"), title, help)),
            None => Ok(()),
        }
    }
}
