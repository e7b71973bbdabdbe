//! The end of a run, or of a live fabric: publication of its results.

use results::{Manifest, Record, ResultsError, RunDescription, RunReport, Summary, counted};
use scenario::{DatapathKind, HookKind, Scenario};
use units::{BitsPerSecond, Picos};

/// Clock of a run or live fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Events run as fast as they can.
    Virtual,
    /// Events follow the wall clock.
    #[cfg_attr(not(feature = "kernel"), expect(dead_code, reason = "that of live fabrics"))]
    Real,
}

impl Clock {
    fn name(self) -> &'static str {
        match self {
            Self::Virtual => "virtual",
            Self::Real => "real",
        }
    }
}

/// Publishes the results.
pub fn publish(
    scenario: &Scenario,
    record: Record,
    end: Picos,
    summary: Summary,
    clock: Clock,
) -> Result<RunReport, ResultsError> {
    let manifest = manifest(scenario, clock);
    let description = RunDescription {
        scenario_toml: &scenario.to_toml(),
        manifest: &manifest,
        fabric: describe(scenario, clock),
        lossless: scenario.switch.lossless.iter().collect(),
    };
    record.finish(end, description, summary)
}

fn manifest(scenario: &Scenario, clock: Clock) -> Manifest {
    let (datapath, ebpf_object, hook) = match scenario.datapath.kind {
        #[cfg(feature = "kernel")]
        DatapathKind::Kernel => {
            ("kernel", Some(ebpf_object()), Some(scenario.datapath.hook.name().to_owned()))
        }
        #[cfg(not(feature = "kernel"))]
        DatapathKind::Kernel => unreachable!("`run` has refused it"),
        DatapathKind::Memory => ("memory", None, None),
    };
    Manifest {
        hook,
        ebpf_object,
        seed: scenario.seed,
        datapath: datapath.to_owned(),
        clock: clock.name().to_owned(),
        ..Manifest::for_this_process()
    }
}

/// Identifies the version of the switches' programs.
#[cfg(feature = "kernel")]
fn ebpf_object() -> String {
    format!("crc32:{:08x}", crc32fast::hash(switch_user::program::OBJECT))
}

/// One line that describes the fabric and its clock.
fn describe(scenario: &Scenario, clock: Clock) -> String {
    let fabric = scenario.fabric();
    let shape = &scenario.shape;
    let rates: Vec<BitsPerSecond> = fabric.wires().iter().map(|wire| wire.rate).collect();
    let (slowest, fastest) = (rates.iter().min(), rates.iter().max());
    let gigabits = |rate: Option<&BitsPerSecond>| rate.map_or(0.0, |rate| rate.0 as f64 / 1e9);
    let links = if slowest == fastest {
        format!("{} Gbit/s", gigabits(slowest))
    } else {
        format!("{} to {} Gbit/s", gigabits(slowest), gigabits(fastest))
    };
    let datapath = match (scenario.datapath.kind, scenario.datapath.hook) {
        (DatapathKind::Kernel, HookKind::Xdp) => "kernel datapath".to_owned(),
        (DatapathKind::Kernel, hook) => format!("kernel datapath at {}", hook.name()),
        (DatapathKind::Memory, _) => "memory datapath".to_owned(),
    };
    format!(
        "{shape}, {}, {}, {links}; {datapath}, {} clock",
        counted(fabric.switch_count().into(), "switch"),
        counted(fabric.host_count().into(), "host"),
        clock.name()
    )
}
