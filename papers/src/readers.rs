//! Numbers that only one paper needs and no table has as they are, by their names in files.

mod victims;

use std::path::Path;

use results::Number;
use sweep::RunResult;

use super::source::Reader;

/// Readers by name.
pub const ALL: [(&str, Reader); 8] = [
    ("unfinished", is_undone),
    ("core-queues", core),
    ("agg-queues", aggregation),
    ("spfc-victim", victims::victim),
    ("spfc-modelled-victim", victims::modelled_victim),
    ("spfc-bursts", victims::bursts),
    ("spfc-modelled-bursts", victims::modelled_bursts),
    ("spfc-agreement", victims::agreement),
];

/// Returns 1 if flows have not completed by the run's end or because of a deadlock, otherwise 0.
fn is_undone(run: &RunResult, _: &Path) -> Option<Number> {
    let number = |name| run.metrics.value(name);
    let undone = number("flows_completed")? != number("flows_total")?;
    Some(Number::whole(undone.into()))
}

fn core(run: &RunResult, _: &Path) -> Option<Number> {
    mean_of_layer(run, "core")
}

fn aggregation(run: &RunResult, _: &Path) -> Option<Number> {
    mean_of_layer(run, "agg")
}

/// Returns the mean over all ports of switches whose names begin with `layer`.
fn mean_of_layer(run: &RunResult, layer: &str) -> Option<Number> {
    let start = format!("port_queues.switches.{layer}");
    let (mut ports, mut sum) = (0, 0);
    for (name, count) in run.metrics.0.range(start.clone()..) {
        if !name.starts_with(&start) {
            break;
        }
        if let Some(switch) = name.strip_suffix(".ports") {
            let mean = run.metrics.value(&format!("{switch}.mean"))?;
            ports += count.0 / Number::ONE.0;
            sum += mean.0 * (count.0 / Number::ONE.0);
        }
    }
    (ports > 0).then(|| Number::ratio(sum, ports * Number::ONE.0))
}

#[cfg(test)]
mod tests {
    use sweep::made_up::run_with;

    use super::*;

    #[test]
    fn a_layer_counts_its_ports() {
        let run = run_with(&[
            ("port_queues.switches.agg0.mean", 100),
            ("port_queues.switches.agg0.ports", 3),
            ("port_queues.switches.agg11.mean", 20),
            ("port_queues.switches.agg11.ports", 1),
            ("port_queues.switches.core0.mean", 7),
            ("port_queues.switches.core0.ports", 1),
        ]);
        let read = |layer| mean_of_layer(&run, layer).map(|mean| mean.to_string());
        assert_eq!(read("agg").as_deref(), Some("80"));
        assert_eq!(read("core").as_deref(), Some("7"));
        assert_eq!(read("edge"), None);
    }
}
