//! Keys of `[[faults]]`.

use schemars::JsonSchema;
use serde::Deserialize;
use topology::Fabric;
use units::{BitsPerSecond, Picos};

use super::Scenario;
use super::document::Document;
use super::fault::{
    Fault, FrameClass, Lateness, MAX_DELAY, MIN_PERIOD, MIN_RATE, Reroute, Scope, Selection,
    WirePattern,
};
use super::glob;
use super::outage::{Flap, FlapKeys};
use super::quantity::display;
use super::ratio::FineProbability;
use super::report::ScenarioError;

/// A deliberate fault on wires. It affects frames whose transmission begins during the fault; frames already in flight
/// arrive.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind")]
pub(super) enum FaultKeys {
    /// Frames vanish on the wire. Give either `rate` or `nth`.
    Loss {
        /// Wires by name, such as "h0->leaf0"; `*` stands for any text. A link's name, such as "h0-leaf0", selects both
        /// of its wires. Default "*".
        #[serde(default = "every_wire")]
        wire: String,
        /// Start of the fault. Default "0s".
        at: Option<Picos>,
        /// Duration of the fault. Default: to the run's end.
        r#for: Option<Picos>,
        /// Class of frames that the fault selects from: "all", "data" (over TCP the first one is the SYN), "ack",
        /// "nak", "cnp", "pfc", "pause", "resume", "hop-control" (frames of xoff beyond PFC: pauses of queues and
        /// flows, and rates) or "link-delay". Default "all".
        #[serde(default)]
        r#match: FrameClass,
        /// Probability with which each of these frames vanishes, 0 to 1, drawn from the scenario's seed.
        rate: Option<FineProbability>,
        /// Numbers of the frames that vanish, counted from 1 on each wire.
        nth: Option<Vec<u64>>,
    },
    /// Frames arrive with a wrong FCS, and the receiver drops them. Give either `rate` or `nth`.
    Corrupt {
        /// Wires by name, such as "h0->leaf0"; `*` stands for any text. A link's name, such as "h0-leaf0", selects both
        /// of its wires. Default "*".
        #[serde(default = "every_wire")]
        wire: String,
        /// Start of the fault. Default "0s".
        at: Option<Picos>,
        /// Duration of the fault. Default: to the run's end.
        r#for: Option<Picos>,
        /// Class of frames that the fault selects from, as for kind "loss". Default "all".
        #[serde(default)]
        r#match: FrameClass,
        /// Probability with which each of these frames is damaged, 0 to 1, drawn from the scenario's seed.
        rate: Option<FineProbability>,
        /// Numbers of the frames that are damaged, counted from 1 on each wire.
        nth: Option<Vec<u64>>,
    },
    /// Frames take longer on the wire. They stay in order, and arrive no faster than the link carries them. Headroom
    /// does not include the delay unless it is measured (`"adaptive"`).
    Delay {
        /// Wires by name, such as "h0->leaf0"; `*` stands for any text. A link's name, such as "h0-leaf0", selects both
        /// of its wires. Default "*".
        #[serde(default = "every_wire")]
        wire: String,
        /// Start of the fault. Default "0s".
        at: Option<Picos>,
        /// Duration of the fault. Default: to the run's end.
        r#for: Option<Picos>,
        /// Delay added to each frame. The delays and jitters of a wire may add up to "1s" at most. Default "0s".
        delay: Option<Picos>,
        /// Maximum of a random delay that is added to `delay`, drawn uniformly for each frame from the scenario's seed.
        /// Default "0s".
        jitter: Option<Picos>,
    },
    /// The sending port is slower than its link, so that frames occupy it for longer. Values that switches and hosts
    /// compute from the link's rate do not change.
    Rate {
        /// Wires by name, such as "h0->leaf0"; `*` stands for any text. A link's name, such as "h0-leaf0", selects both
        /// of its wires. Default "*".
        #[serde(default = "every_wire")]
        wire: String,
        /// Start of the fault. Default "0s".
        at: Option<Picos>,
        /// Duration of the fault. Default: to the run's end.
        r#for: Option<Picos>,
        /// Rate of the port: at least "100kbps", and below the links' rate.
        rate: BitsPerSecond,
    },
    /// The wire loses every frame.
    Down {
        /// Wires by name, such as "h0->leaf0"; `*` stands for any text. A link's name, such as "h0-leaf0", selects both
        /// of its wires.
        wire: String,
        /// Start of the outage. Default "0s".
        at: Option<Picos>,
        /// Duration of the outage, after which the wire stays up. Default: to the run's end.
        r#for: Option<Picos>,
        /// True if the routes of all switches avoid the link while one of its wires is down. Packets without a route
        /// are dropped. Default false: routes do not change.
        #[serde(default)]
        reroute: bool,
        /// Time after which routes change, both after the link goes down and after it comes up. Only with `reroute`.
        /// Default "0s".
        reroute_after: Option<Picos>,
        /// Period in which the wire goes down and up during the outage. Default: it stays down.
        flap: Option<FlapKeys>,
    },
}

fn every_wire() -> String {
    "*".into()
}

/// A fault's place in the file, and the fabric and run to check it against.
pub(super) struct FaultPlace<'a> {
    /// Path of the fault's keys.
    pub path: &'a str,
    /// Fabric with the wires.
    pub fabric: &'a Fabric,
    /// Duration of the run; `None` for a live fabric.
    pub duration: Option<Picos>,
    /// Document with the fault.
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
                Ok(Fault::Rate { scope, rate })
            }
            Self::Down { wire, at, r#for, reroute, reroute_after, flap } => {
                let scope = place.scope(wire, at, r#for)?;
                if reroute_after.is_some() && !reroute {
                    let help = "add reroute = true, or leave the key out";
                    return place.wrong("reroute_after", "`reroute_after` without `reroute`", help);
                }
                let flap = flap.map(|keys| place.flap(&keys)).transpose()?;
                let reroute_after = reroute_after.unwrap_or(Picos::ZERO);
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
        at: Option<Picos>,
        r#for: Option<Picos>,
    ) -> Result<Scope, ScenarioError> {
        glob::check(&wire, &format!("{}.wire", self.path), self.fabric, self.document)?;
        if r#for.is_some_and(|time| time == Picos::ZERO) {
            let help =
                "write a time such as \"1ms\", or leave `for` out: then it lasts to the run's end";
            return self.wrong("for", "a fault of no time", help);
        }
        let at = at.unwrap_or(Picos::ZERO);
        if let Some(duration) = self.duration.filter(|&duration| at >= duration) {
            let title = format!("the fault begins at {}", display(at));
            let help = format!("the run's `duration` is {}", display(duration));
            return self.wrong("at", &title, &help);
        }
        Ok(Scope { wire: WirePattern(wire), at, r#for })
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
        delay: Option<Picos>,
        jitter: Option<Picos>,
    ) -> Result<Lateness, ScenarioError> {
        let time = |time: Option<Picos>| time.unwrap_or(Picos::ZERO);
        let lateness = Lateness { delay: time(delay), jitter: time(jitter) };
        if lateness == Lateness::default() {
            let help = "add delay = \"5us\", or jitter = \"1us\"";
            return self.wrong("", "a delay of no time", help);
        }
        Ok(lateness)
    }

    fn check_rate(&self, scope: &Scope, rate: BitsPerSecond) -> Result<(), ScenarioError> {
        if rate < MIN_RATE {
            let title = format!("a port that sends at {}", display(rate));
            let help = "write at least 100kbps, at which the longest frame takes most of a second";
            return self.wrong("rate", &title, help);
        }
        let slower = |wire: &&topology::Wire| scope.wire.covers(&wire.name) && wire.rate <= rate;
        match self.fabric.wires().iter().find(slower) {
            None => Ok(()),
            Some(wire) => {
                let title = format!("{} is not below the rate of {}", display(rate), wire.name);
                let help =
                    format!("a fault makes it slower: write less than {}", display(wire.rate));
                self.wrong("rate", &title, &help)
            }
        }
    }

    fn flap(&self, keys: &FlapKeys) -> Result<Flap, ScenarioError> {
        let period = keys.period;
        if period < MIN_PERIOD {
            let title = format!("a wire that goes down every {}", display(period));
            return self.wrong("flap.period", &title, "write at least 1us");
        }
        let down_for = keys.down_for.unwrap_or(Picos(period.0 / 2));
        if down_for == Picos::ZERO || down_for >= period {
            let title = format!("down for {} of {}", display(down_for), display(period));
            let help = "write a time above zero and below the period, or leave `flap` out";
            return self.wrong("flap.down_for", &title, help);
        }
        Ok(Flap { period, down_for })
    }
}

/// Title and help text of an error: a reason why routes cannot change while the fabric runs.
pub type NoReroute = (&'static str, &'static str);

impl Scenario {
    /// Returns true if routes may change while the fabric runs, by faults or by users of a live fabric.
    pub fn may_reroute(&self) -> bool {
        let reroutes = |fault: &Fault| fault.outage().is_some_and(|(_, it)| it.reroute);
        self.is_on_demand() || self.faults.iter().any(reroutes)
    }

    /// Returns the reason why routes cannot change while the fabric runs, if there is one.
    pub fn no_reroute(&self) -> Option<NoReroute> {
        if !self.fabric.static_routes().is_empty() {
            return Some((
                "the fabric has routes of its own, which do not change with a link",
                "leave [[routes]] and paths of flows out, or write reroute = false",
            ));
        }
        if self.switch.paused_parts().count() > 0 {
            return Some((
                "a scheme that pauses queues or flows follows flows by their ports, which do not change while they last",
                "write another kind of `switch.scheme`, or write reroute = false",
            ));
        }
        let needs = |transport: &super::Transport| transport.congestion_control().needs_telemetry();
        self.transports().iter().any(needs).then_some((
            "congestion control compares the stamps of a path, and they would be those of two paths",
            "choose an algorithm without telemetry, such as \"dcqcn\" or \"timely\", or write reroute = false",
        ))
    }

    /// Checks that the delays on each wire add up to at most [`MAX_DELAY`].
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
                if *sum > MAX_DELAY {
                    let title = format!("frames on {} are up to {} late", wire.name, display(*sum));
                    let help = "delays and jitters of a wire may add up to 1s";
                    return Err(document.error(&format!("faults.{number}"), &title, help));
                }
            }
        }
        Ok(())
    }

    /// Checks faults against other keys.
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
