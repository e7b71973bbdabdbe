//! Waiting packets: the tables that count them add up to the bytes in the buffer, at each sample.

use std::collections::{BTreeMap, BTreeSet};

use scenario::Lossy;
use topology::NodeKind;

use super::results::{Row, Table};
use super::{Run, Runner};

/// Settings of a run for [`assert_adds_up`], the period of samples apart.
pub const MEASURED: [&str; 3] =
    ["results.thresholds=true", "results.queue_counters=true", "results.port_queues=true"];

/// Kind, port and priority of a switch's counter; empty text for a missing part.
type Counter = (String, String, String);
/// The counters of a switch at a sample; a missing counter is 0.
type Sample = BTreeMap<Counter, u64>;
/// Bytes of a (node, port, priority, queue).
type Queues = BTreeMap<[String; 4], u64>;

/// Asserts that all tables of a run with the settings [`MEASURED`] agree on waiting packets.
pub fn assert_adds_up(run: &Run) {
    let mut fabric = Fabric::default();
    let (queues, own) = (run.table("queues.csv"), own_tables(run));
    let mut own: Vec<_> = own.iter().map(|table| table.rows().iter().peekable()).collect();
    for rows in queues.rows().chunk_by(|one, other| one.text("time_ns") == other.text("time_ns")) {
        let now = rows[0].number("time_ns");
        fabric.advance(now);
        for row in rows {
            let counter = ["kind", "port", "priority"].map(|name| row.text(name).to_owned());
            let of_node = fabric.samples.entry(row.text("node").to_owned()).or_default();
            of_node.insert(counter.into(), row.number("bytes"));
        }
        for rows in &mut own {
            while let Some(row) = rows.next_if(|row| row.number("time_ns") <= now) {
                fabric.set_queue(row);
            }
        }
        fabric.assert_sample(run, now);
    }
    // Limits may still change when nothing waits any more.
    own.iter_mut().flatten().for_each(|row| fabric.set_queue(row));
    fabric.advance(run.summary.emulated_ns);
    fabric.assert_sample(run, run.summary.emulated_ns);
    fabric.assert_watermarks(&run.table("counters.csv"));
    fabric.assert_mean(run);
}

/// Tables with single queues, for the priorities that have one.
fn own_tables(run: &Run) -> Vec<Table> {
    let names = ["egress_queues.csv", "lossy_queues.csv"];
    names.into_iter().filter(|name| run.has(name)).map(|name| run.table(name)).collect()
}

/// All switches, sample by sample.
#[derive(Default)]
struct Fabric {
    samples: BTreeMap<String, Sample>,
    queues: Queues,
    now: u64,
    /// Bytes times nanoseconds by (node, port).
    integrals: BTreeMap<[String; 2], u128>,
    /// Max sample by (node, port, priority).
    most: BTreeMap<[String; 3], u64>,
}

impl Fabric {
    fn egress(&self) -> impl Iterator<Item = ([&String; 3], u64)> {
        self.samples.iter().flat_map(|(node, sample)| {
            let rows = sample.iter().filter(|((kind, ..), _)| kind == "egress");
            rows.map(move |((_, port, priority), bytes)| ([node, port, priority], *bytes))
        })
    }

    fn set_queue(&mut self, row: &Row) {
        let queue = ["node", "port", "priority", "queue"].map(|name| row.text(name).to_owned());
        self.queues.insert(queue, row.number("bytes"));
    }

    fn advance(&mut self, now: u64) {
        let time = u128::from(now - std::mem::replace(&mut self.now, now));
        let held: Vec<_> = self
            .egress()
            .map(|([node, port, _], bytes)| ([node.clone(), port.clone()], bytes))
            .collect();
        for (port, bytes) in held {
            *self.integrals.entry(port).or_default() += u128::from(bytes) * time;
        }
    }

    fn assert_sample(&mut self, run: &Run, now: u64) {
        for (node, sample) in &self.samples {
            let sum = |wanted: &str| -> u64 {
                sample.iter().filter(|((kind, ..), _)| kind == wanted).map(|(_, bytes)| bytes).sum()
            };
            let buffer = sum("buffer");
            let pools: u64 = ["shared", "private", "headroom", "lossy"].into_iter().map(sum).sum();
            assert_eq!(pools, buffer, "{node} at {now} ns: pools");
            assert_eq!(sum("egress"), buffer, "{node} at {now} ns: egress queues {sample:?}");
            assert_eq!(sum("ingress"), buffer, "{node} at {now} ns: ingress queues {sample:?}");
            if !has_foreign_packets(run) {
                assert_eq!(by_priority(sample, "ingress"), by_priority(sample, "egress"), "{node}");
            }
        }
        let mut of_queues: BTreeMap<[&String; 3], u64> = BTreeMap::new();
        for ([node, port, priority, _], bytes) in &self.queues {
            *of_queues.entry([node, port, priority]).or_default() += bytes;
        }
        for (place, bytes) in of_queues {
            let egress = self.egress().find(|(other, _)| *other == place).map_or(0, |it| it.1);
            assert_eq!(bytes, egress, "queues of {place:?} at {now} ns");
        }
        let egress: Vec<_> =
            self.egress().map(|(place, bytes)| (place.map(String::clone), bytes)).collect();
        for (place, bytes) in egress {
            let most = self.most.entry(place).or_default();
            *most = bytes.max(*most);
        }
    }

    /// Watermarks are exact: at least what was sampled.
    fn assert_watermarks(&self, counters: &Table) {
        let watermark = |node: &str, port: &str, priority: &str| {
            let name = format!("QUEUE_{priority}_SHARED_WATERMARK_BYTES");
            let is = |row: &&Row| {
                row.text("node") == node && row.text("port") == port && row.text("counter") == name
            };
            counters.rows().iter().find(is).map_or(0, |row| row.number("value"))
        };
        for ([node, port, priority], most) in &self.most {
            let watermark = watermark(node, port, priority);
            assert!(
                watermark >= *most,
                "{node} {port} {priority}: {watermark} B, sampled {most} B"
            );
        }
    }

    fn assert_mean(&self, run: &Run) {
        let fabric = run.scenario.fabric();
        let mut ports = BTreeSet::new();
        let end = run.summary.emulated_ns;
        for flow in run.scenario.flow_stream().filter(|flow| flow.start.to_nanos().0 <= end) {
            for wire in run.scenario.path_of(&flow).0 {
                let ends = fabric.ends(wire);
                if let NodeKind::Switch(switch) = ends.from {
                    let name = fabric.switch(switch).name.clone();
                    ports.insert([name, ends.from_port.to_string()]);
                }
            }
        }
        let sum: u128 = ports.iter().filter_map(|port| self.integrals.get(port)).sum();
        let weight = u128::from(run.summary.emulated_ns.max(1)) * ports.len() as u128;
        let reported = run.summary.port_queues.as_ref().expect("it is asked for");
        assert_eq!(reported.all.ports, ports.len() as u64);
        assert_eq!(
            u128::from(reported.all.mean),
            (sum * 2 + weight) / (weight * 2),
            "the mean queue"
        );
    }
}

/// True if queues of a priority may have packets of another.
fn has_foreign_packets(run: &Run) -> bool {
    matches!(&run.scenario.switch.lossy, Lossy::Ib(ib) if ib.prioritisation.is_some())
}

fn by_priority<'a>(sample: &'a Sample, wanted: &str) -> BTreeMap<&'a str, u64> {
    let mut sums = BTreeMap::new();
    for ((kind, _, priority), bytes) in sample.iter().filter(|(_, bytes)| **bytes > 0) {
        if kind == wanted {
            *sums.entry(priority.as_str()).or_default() += bytes;
        }
    }
    sums
}

/// Two hosts send to a third in a priority whose first packets join the queue of another priority.
const PRIORITISED: &str = r#"
name = "prioritised"
[topology]
kind = "star"
hosts = 3
host_link = { rate = "10Gbps", delay = "1us" }
[switch]
lossless = []
lossy = { kind = "ib", prioritisation = { priority = 7, packets = 72 } }
[host]
transport = { kind = "roce-rc", congestion_control = "none" }
[[flows]]
kind = "incast"
senders = ["h1", "h2"]
receiver = "h0"
bytes = "50kB"
priority = 1
"#;

/// All packets of both flows are among the first ones, so all data waits in the queue of priority 7.
pub fn packets_in_the_queue_of_another_priority(run: Runner) {
    let run = run(PRIORITISED, &MEASURED);
    run.assert_complete();
    assert_adds_up(&run);
    let priorities = |table: &str, kind: &str| -> BTreeSet<u64> {
        let table = run.table(table);
        let rows = table.rows().iter().filter(|row| kind.is_empty() || row.text("kind") == kind);
        rows.map(|row| row.number("priority")).collect()
    };
    assert_eq!(priorities("queues.csv", "egress"), BTreeSet::from([7]));
    assert_eq!(priorities("queues.csv", "ingress"), BTreeSet::from([1]));
    assert_eq!(priorities("lossy_queues.csv", ""), BTreeSet::from([7]));
    let mean = run.summary.port_queues.as_ref().expect("it is asked for").all.mean;
    assert!(mean > 10_000, "{mean} B");
}
