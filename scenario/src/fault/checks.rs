//! Checks of `[[faults]]`.

use topology::Fabric;
use units::{BitsPerSecond, Picos};

use super::{Fault, Lateness, MAX_DELAY, MIN_PERIOD, MIN_RATE, WirePattern};
use crate::document::Document;
use crate::glob;
use crate::outage::{Flap, Span};
use crate::quantity::display;
use crate::ratio::FineProbability;
use crate::report::ScenarioError;
use crate::{Ecmp, Scenario};

/// A fault's place in the file, and the fabric and run to check it against.
pub(crate) struct FaultPlace<'a> {
    /// Path of the fault's keys.
    pub path: &'a str,
    /// Fabric with the wires.
    pub fabric: &'a Fabric,
    /// Duration of the run; `None` for a live fabric.
    pub duration: Option<Picos>,
    /// Document with the fault.
    pub document: &'a Document<'a>,
}

impl Fault {
    /// Adds defaults, and checks the keys.
    pub(crate) fn complete(&mut self, place: &FaultPlace<'_>) -> Result<(), ScenarioError> {
        let (Self::Loss { at, .. }
        | Self::Corrupt { at, .. }
        | Self::Delay { at, .. }
        | Self::Rate { at, .. }
        | Self::Down { at, .. }) = self;
        without_zero(at);
        place.check_scope(self)?;
        match self {
            Self::Loss { rate, nth, .. } => place.complete_selection("loss", *rate, nth),
            Self::Corrupt { rate, nth, .. } => place.complete_selection("corruption", *rate, nth),
            Self::Delay { delay, jitter, .. } => {
                without_zero(delay);
                without_zero(jitter);
                if delay.is_none() && jitter.is_none() {
                    let help = "add delay = \"5us\", or jitter = \"1us\"";
                    return place.wrong("", "a delay of no time", help);
                }
                Ok(())
            }
            Self::Rate { wire, rate, .. } => place.check_rate(wire, *rate),
            Self::Down { reroute, reroute_after, flap, .. } => {
                if reroute_after.is_some() && !*reroute {
                    let help = "add reroute = true, or leave the key out";
                    return place.wrong("reroute_after", "`reroute_after` without `reroute`", help);
                }
                without_zero(reroute_after);
                flap.as_mut().map_or(Ok(()), |flap| place.complete_flap(flap))
            }
        }
    }
}

/// Removes a time of zero, which is the default.
fn without_zero(time: &mut Option<Picos>) {
    time.take_if(|time| *time == Picos::ZERO);
}

impl FaultPlace<'_> {
    fn wrong<T>(&self, key: &str, title: &str, help: &str) -> Result<T, ScenarioError> {
        let path =
            if key.is_empty() { self.path.to_owned() } else { format!("{}.{key}", self.path) };
        Err(self.document.error(&path, title, help))
    }

    fn check_scope(&self, fault: &Fault) -> Result<(), ScenarioError> {
        let wire = &fault.wire().0;
        glob::check(wire, &format!("{}.wire", self.path), self.fabric, self.document)?;
        let Span { from, until } = fault.span();
        if until == from {
            let help =
                "write a time such as \"1ms\", or leave `for` out: then it lasts to the run's end";
            return self.wrong("for", "a fault of no time", help);
        }
        if let Some(duration) = self.duration.filter(|&duration| from >= duration) {
            let title = format!("the fault begins at {}", display(from));
            let help = format!("the run's `duration` is {}", display(duration));
            return self.wrong("at", &title, &help);
        }
        Ok(())
    }

    fn complete_selection(
        &self,
        what: &str,
        rate: Option<FineProbability>,
        nth: &mut Option<Vec<u64>>,
    ) -> Result<(), ScenarioError> {
        match (rate, nth) {
            (Some(_), None) => Ok(()),
            (None, Some(nth)) if !nth.is_empty() && !nth.contains(&0) => {
                nth.sort_unstable();
                nth.dedup();
                Ok(())
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

    fn check_rate(&self, wires: &WirePattern, rate: BitsPerSecond) -> Result<(), ScenarioError> {
        if rate < MIN_RATE {
            let title = format!("a port that sends at {}", display(rate));
            let help = "write at least 100kbps, at which the longest frame takes most of a second";
            return self.wrong("rate", &title, help);
        }
        let slower = |wire: &&topology::Wire| wires.covers(&wire.name) && wire.rate <= rate;
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

    fn complete_flap(&self, flap: &mut Flap) -> Result<(), ScenarioError> {
        let period = flap.period;
        if period < MIN_PERIOD {
            let title = format!("a wire that goes down every {}", display(period));
            return self.wrong("flap.period", &title, "write at least 1us");
        }
        let down_for = flap.down_for();
        flap.down_for = Some(down_for);
        if down_for == Picos::ZERO || down_for >= period {
            let title = format!("down for {} of {}", display(down_for), display(period));
            let help = "write a time above zero and below the period, or leave `flap` out";
            return self.wrong("flap.down_for", &title, help);
        }
        Ok(())
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
        if self.switch.ecmp == Ecmp::Murmur3 {
            return Some((
                "next hops of ns-3, which do not change with a link",
                "write switch.ecmp = \"five-tuple\", or write reroute = false",
            ));
        }
        if self.switch.paused_parts().count() > 0 {
            return Some((
                "a scheme that pauses queues or flows follows flows by their ports, which do not change while they last",
                "write another kind of `switch.scheme`, or write reroute = false",
            ));
        }
        let needs = |transport: &crate::Transport| transport.congestion_control().needs_telemetry();
        self.transports().iter().any(needs).then_some((
            "congestion control compares the stamps of a path, and they would be those of two paths",
            "choose an algorithm without telemetry, such as \"dcqcn\" or \"timely\", or write reroute = false",
        ))
    }

    /// Checks that the delays on each wire add up to at most [`MAX_DELAY`].
    fn check_delays(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        let mut sums = vec![Picos::ZERO; self.fabric.wires().len()];
        for (number, fault) in self.faults.iter().enumerate() {
            let Fault::Delay { wire: wires, delay, jitter, .. } = fault else { continue };
            let most = Lateness::new(*delay, *jitter).most();
            for (sum, wire) in sums.iter_mut().zip(self.fabric.wires()) {
                if !wires.covers(&wire.name) {
                    continue;
                }
                *sum = Picos(sum.0.saturating_add(most.0));
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
    pub(crate) fn check_faults(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        self.check_delays(document)?;
        let is_late = |fault: &Fault| matches!(fault, Fault::Delay { .. } | Fault::Rate { .. });
        if self.results.distributions && self.faults.iter().any(is_late) {
            let title = "`distributions` beside faults that make frames late";
            let help = "they follow a PAUSE for as long as it takes effect on links without faults: leave one of the two out";
            return Err(document.error("results.distributions", title, help));
        }
        if self.link_failure().is_some() {
            return Ok(());
        }
        let Some((title, help)) = self.no_reroute() else { return Ok(()) };
        let reroutes = |fault: &Fault| fault.outage().is_some_and(|(_, it)| it.reroute);
        match self.faults.iter().position(reroutes) {
            Some(number) => Err(document.error(&format!("faults.{number}.reroute"), title, help)),
            None => Ok(()),
        }
    }
}
