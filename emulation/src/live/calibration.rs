//! Calibration of the dilation: the factor by which a fabric must run slower than the wall clock to be punctual
//! under load. It is tried on the fabric itself, before the fabric is used.
//!
//! A trial is a short run of the live fabric under the load that its scenario declares, without storms. The load
//! are the scenario's flows from the first one on. Without flows, every host sends to another one at the rate of
//! its link, in packets of max length. The first trial is not dilated. The wall time that it needs per emulated
//! second determines the second dilation: the first of the steps 1, 2, 3, 5, 7, 10, 20 .. at which the machine is
//! idle for a fifth of its time. The first punctual trial decides.
//!
//! A trial's traces are all in the tables of the switches, which are cleared and configured again (`run::renew`). Each
//! trial has a new engine.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use scenario::Scenario;
use topology::HostId;
use units::{Bytes, Picos};

use super::Error;
use super::clock::nanos;
use super::desk::{Desk, Handle, Order, Request};
use super::stacks::Stacks;
use crate::datapath::Deployed;
use crate::datapath::kernel::KernelWires;
use crate::engine::{self, Ended, Engine, Finished, RunError, Surroundings};
use crate::run::{self, Threads};

/// Length of a trial, wall clock.
const TRIAL: Duration = Duration::from_millis(150);
/// Max length of a trial in which too little happens in [`TRIAL`], for example because a wire has a longer delay.
const MAX_TRIAL: Duration = Duration::from_secs(5);
/// Min number of packet-hops for reporting the time per packet-hop.
const MIN_MEASURED_HOPS: u64 = 1000;
/// Max number of trials. The last one decides even if it was not punctual.
const MAX_TRIALS: usize = 12;
/// Max load of the machine, percent of its time.
const MAX_BUSY_PERCENT: u128 = 80;
/// Steps of the dilation within a power of ten.
const STEPS: [u32; 5] = [1, 2, 3, 5, 7];
/// Size of a flow that no trial completes.
const ENDLESS: Bytes = Bytes(1_000_000_000_000);

/// The trials of a calibration, which determine the dilation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calibration {
    /// Trials in order; at least one.
    trials: Vec<Trial>,
    load: Load,
}

/// Load of the fabric in a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    /// Flows of the scenario.
    Flows,
    /// Every host sends to another one.
    HostLinks,
}

/// Measurements of a trial at one dilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Trial {
    dilation: NonZeroU32,
    /// True if the fabric was punctual.
    is_good: bool,
    /// True if the trial had enough deadlines for `is_good` to be meaningful.
    has_shown_enough: bool,
    /// Length of the trial, wall clock.
    took: Duration,
    /// Part of `took` in which the engine was busy.
    busy: Duration,
    /// Emulated time of the trial, ns.
    emulated_ns: u64,
    packet_hops: u64,
}

/// The live fabric's surroundings during a calibration.
pub(super) struct Around<'a> {
    pub stacks: &'a mut Stacks,
    pub desk: &'a mut Desk,
    pub handle: &'a Handle,
    pub interrupted: &'a AtomicBool,
}

/// The fabric as new, and its calibration.
pub(super) struct Tried {
    pub fabric: Deployed<KernelWires>,
    pub calibration: Calibration,
}

/// Finds the dilation at which a fabric is punctual.
pub(super) fn calibrate(
    scenario: &Scenario,
    mut fabric: Deployed<KernelWires>,
    mut around: Around<'_>,
    threads: Threads,
) -> Result<Tried, Error> {
    let (load, scenario) = loaded(scenario);
    let mut trials = Vec::new();
    let mut dilation = NonZeroU32::MIN;
    while trials.len() < MAX_TRIALS {
        let (trial, renewed) = try_out(&scenario, fabric, &mut around, threads, load, dilation)?;
        fabric = renewed;
        trials.push(trial);
        match trial.next_dilation() {
            // At a larger dilation even less would happen in a trial.
            Some(next) if !trial.is_good && trial.has_shown_enough => dilation = next,
            _ => break,
        }
    }
    Ok(Tried { fabric, calibration: Calibration { trials, load } })
}

/// The load of trials, and the scenario that generates it.
fn loaded(scenario: &Scenario) -> (Load, Scenario) {
    let load = if scenario.workloads.is_empty() { Load::HostLinks } else { Load::Flows };
    let mut scenario = scenario.clone().on_demand(load == Load::Flows, false);
    // Storms only reduce the load.
    scenario.storms.clear();
    (load, scenario)
}

/// Runs a trial, and returns its result with the fabric as new.
fn try_out(
    scenario: &Scenario,
    fabric: Deployed<KernelWires>,
    around: &mut Around<'_>,
    threads: Threads,
    load: Load,
    dilation: NonZeroU32,
) -> Result<(Trial, Deployed<KernelWires>), Error> {
    let Around { stacks, desk, handle, interrupted } = around;
    // Nobody reads the results of endless flows.
    let (nobody, _) = mpsc::channel();
    if load == Load::HostLinks {
        let asked = handle.ask(Request::Send(orders(scenario), nobody));
        asked.expect("the desk is here");
    }
    let record = run::record(scenario, None);
    let threads = threads.for_a_run(scenario);
    let mut engine = Engine::new(scenario, fabric, record, &[], threads);
    engine.connect_stacks(stacks);
    let from = scenario.flow_stream().next_start().unwrap_or(Picos::ZERO);
    let trial = Some(engine::Trial { least: TRIAL, most: MAX_TRIAL });
    let surroundings = Surroundings { dilation, from, trial, stacks, desk, interrupted };
    let Ended { finished, fidelity, busy, has_shown_enough, took, .. } =
        engine.run_live(surroundings)?;
    if interrupted.load(Ordering::Relaxed) {
        return Err(RunError::Interrupted.into());
    }
    let Finished { counted, wires, switches, failure, .. } = finished;
    if let Some(failure) = failure {
        return Err(RunError::Datapath(failure).into());
    }
    let trial = Trial {
        dilation,
        is_good: fidelity.is_good && has_shown_enough,
        has_shown_enough,
        took,
        busy,
        emulated_ns: counted.emulated_ns.saturating_sub(from.to_nanos().0),
        packet_hops: counted.packet_hops,
    };
    Ok((trial, run::renew(scenario, wires, switches)))
}

/// Orders from every host to the host half of all hosts further on.
fn orders(scenario: &Scenario) -> Vec<Order> {
    let hosts = scenario.fabric().host_count();
    let priority = scenario.switch.lossless.iter().next().unwrap_or(0);
    let order = |host| Order {
        source: HostId(host),
        destination: HostId((host + hosts / 2) % hosts),
        bytes: ENDLESS,
        priority,
    };
    if hosts < 2 { Vec::new() } else { (0..hosts).map(order).collect() }
}

impl Trial {
    /// The first step above this dilation at which the machine is not too busy. `None` if all steps are too small,
    /// or if no emulated time has passed.
    fn next_dilation(&self) -> Option<NonZeroU32> {
        let enough = (u128::from(nanos(self.busy)) * 100)
            .checked_div(u128::from(self.emulated_ns) * MAX_BUSY_PERCENT)?;
        let enough = u32::try_from(enough).ok()?;
        step_from(enough.max(self.dilation.get()).checked_add(1)?)
    }
}

/// The first step of at least `least`.
fn step_from(least: u32) -> Option<NonZeroU32> {
    let decades = std::iter::successors(Some(1_u32), |decade| decade.checked_mul(10));
    let mut steps = decades.flat_map(|decade| STEPS.map(|step| step.checked_mul(decade)));
    steps.find_map(|step| step.filter(|&step| step >= least)).and_then(NonZeroU32::new)
}

impl Calibration {
    /// Seconds of the wall clock per emulated second.
    pub fn dilation(&self) -> NonZeroU32 {
        self.last().dilation
    }

    fn last(&self) -> &Trial {
        self.trials.last().expect("there is one trial at least")
    }
}

/// The chosen dilation, and the reason for it.
impl fmt::Display for Calibration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Trial { dilation, is_good, has_shown_enough, took, busy, emulated_ns, packet_hops } =
            *self.last();
        let load = match self.load {
            Load::Flows => "the scenario's flows",
            Load::HostLinks => "every host sending at the rate of its link",
        };
        let needed = busy.as_secs_f64() * 1e9 / emulated_ns.max(1) as f64;
        write!(
            f,
            "--dilation auto chose {dilation}: with {load} an emulated second needs {needed:.2} s of work here"
        )?;
        if packet_hops >= MIN_MEASURED_HOPS {
            let per_hop = nanos(busy) / packet_hops;
            write!(f, ", and a packet-hop {}.{:02} us", per_hop / 1000, per_hop % 1000 / 10)?;
        }
        f.write_str("; ")?;
        let earlier = &self.trials[..self.trials.len() - 1];
        let tried: Vec<String> = earlier.iter().map(|trial| trial.dilation.to_string()).collect();
        if !tried.is_empty() {
            write!(f, "the fabric was too late with {}, and ", tried.join(", "))?;
        }
        if is_good {
            write!(f, "punctual with {dilation} in a trial of {} ms", took.as_millis())
        } else if !has_shown_enough {
            write!(
                f,
                "with {dilation} too little happened in {:.1} s to say whether it is punctual",
                took.as_secs_f64()
            )
        } else {
            write!(f, "still too late with {dilation}: the machine is busy")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn trial(dilation: u32, busy_ms: u64, emulated_ms: u64) -> Trial {
        Trial {
            dilation: NonZeroU32::new(dilation).expect("above zero"),
            is_good: false,
            has_shown_enough: true,
            took: Duration::from_millis(150),
            busy: Duration::from_millis(busy_ms),
            emulated_ns: emulated_ms * 1_000_000,
            packet_hops: 70_000,
        }
    }

    #[test]
    fn the_next_dilation_leaves_the_machine_some_time() {
        for (trial, expected) in [
            // 10 seconds of work in an emulated one: with 13 a fifth of the time would be left.
            (trial(1, 150, 15), 20),
            (trial(1, 150, 100), 2),
            (trial(2, 150, 75), 3),
            (trial(20, 75, 8), 30),
            (trial(70, 150, 2), 100),
        ] {
            let next = trial.next_dilation().map(NonZeroU32::get);
            assert_eq!(next, Some(expected), "{trial:?}");
        }
        assert_eq!(trial(4_000_000_000, 1, 1).next_dilation(), None);
        assert_eq!(trial(1, 150, 0).next_dilation(), None, "nothing has happened");
    }

    #[test]
    fn a_trial_has_no_storms() {
        let text = r#"
            [topology]
            kind = "leaf-spine"
            leaves = 2
            spines = 1
            hosts_per_leaf = 2
            host_link = { rate = "20Mbps", delay = "50us" }
            fabric_link = { rate = "20Mbps", delay = "50us" }
            [switch]
            lossless = [3]
            [[storms]]
            host = "h0"
        "#;
        let scenario = Scenario::parse_live(text, Path::new("lab.toml"), &[]).unwrap();
        assert_eq!(scenario.storms.len(), 1);
        let (load, tried) = loaded(&scenario);
        assert_eq!((load, tried.storms.len()), (Load::HostLinks, 0));
    }

    #[test]
    fn what_was_chosen_is_explained() {
        let trials = vec![trial(1, 150, 15), Trial { is_good: true, ..trial(20, 140, 15) }];
        let calibration = Calibration { trials, load: Load::HostLinks };
        assert_eq!(calibration.dilation().get(), 20);
        assert_eq!(
            calibration.to_string(),
            "--dilation auto chose 20: with every host sending at the rate of its link an emulated second needs 9.33 s of \
             work here, and a packet-hop 2.00 us; the fabric was too late with 1, and punctual with 20 in a trial of 150 ms"
        );
        let silent = Trial { packet_hops: 999, has_shown_enough: false, ..trial(1, 150, 100) };
        assert_eq!(
            Calibration { trials: vec![silent], load: Load::Flows }.to_string(),
            "--dilation auto chose 1: with the scenario's flows an emulated second needs 1.50 s of work here; with 1 too \
             little happened in 0.1 s to say whether it is punctual"
        );
    }
}
