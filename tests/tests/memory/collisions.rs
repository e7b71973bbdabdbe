//! Flows of a permutation on a non-blocking leaf-spine wait exactly where `xoff inspect` reports that they collide.

use std::collections::{BTreeMap, BTreeSet};

use analysis::inspect::Inspection;
use tests::fabric::{Run, in_memory};
use topology::{NodeKind, WireId};

/// As many links up as down, all of one rate at which a byte takes a nanosecond. There is room for all waiting packets,
/// so that no PAUSE frame interferes; a flow is acknowledged once, at its end, so that no ACK interferes either.
const PERMUTATION: &str = r#"
name = "permutation"
duration = "10ms"
[topology]
kind = "leaf-spine"
leaves = 8
spines = 2
hosts_per_leaf = 2
host_link = { rate = "8Gbps", delay = "1us" }
fabric_link = { rate = "8Gbps", delay = "1us" }
[switch]
buffer = "64MB"
threshold = { kind = "static", xoff = "8MB", xon = "7MB" }
[host]
ack_interval = 1000000
transport = { kind = "roce-rc", congestion_control = "none" }
[[flows]]
kind = "permutation"
bytes = "200kB"
[[captures]]
wires = ["leaf*->h*"]
filter = "data"
"#;

/// Permutations in which each flow goes to another rack: no ACK is sent before all data that does not wait has arrived.
const SEEDS: [u64; 20] =
    [1, 4, 12, 14, 17, 19, 21, 23, 24, 28, 35, 36, 39, 40, 41, 45, 52, 53, 56, 58];

/// Four hops of 86 bytes and 1 us.
const ACK_NS: u64 = 4 * 1086;
/// The longest frame with what is around it.
const FRAME_NS: u64 = 1098;
/// 200 packets.
const SERIALISATION_NS: u64 = 200 * 1082;

#[test]
fn flows_wait_where_they_are_predicted_to_collide() {
    let (mut alone, mut undisturbed, mut together) = (0, 0, 0);
    for seed in SEEDS {
        let run = in_memory(PERMUTATION, &[&format!("seed={seed}")]);
        run.assert_lossless();
        assert_eq!(run.summary.pause_frames, 0);
        let permutation = Permutation::new(&run);
        for row in run.flows().rows() {
            let number = usize::try_from(row.number("flow")).unwrap();
            let (fct, ideal) = (row.number("fct_ns"), row.number("ideal_ns"));
            let what = format!("seed {seed}, flow {number}: {fct} ns, ideal {ideal} ns");
            if permutation.colliding.contains(&number) {
                // What it meets on a wire comes there at half of line rate at least, and delays it by as much.
                assert!((fct - ideal) * 5 > SERIALISATION_NS * 2, "{what}");
                together += 1;
                continue;
            }
            let arrival = permutation.arrivals[&run.scenario.flows()[number].destination.0];
            assert_eq!(arrival, ideal - ACK_NS, "{what}: its data waits nowhere");
            alone += 1;
            if permutation.may_hold_up_the_ack_of(number) {
                assert!((ideal..=ideal + 4 * FRAME_NS).contains(&fct), "{what}");
            } else {
                assert_eq!(row.text("slowdown"), "1.0000");
                assert_eq!(fct, ideal, "{what}");
                undisturbed += 1;
            }
        }
    }
    let counts = (alone, undisturbed, together);
    assert!(alone >= 80 && undisturbed >= 4 && together >= 200, "{counts:?}");
}

/// Predictions for a permutation, and the instants at which each host had all of its data.
struct Permutation {
    colliding: BTreeSet<usize>,
    /// By flow: the way of its data.
    paths: Vec<Vec<WireId>>,
    /// By flow: the way of its ACK.
    backs: Vec<Vec<WireId>>,
    /// By the number of the receiving host.
    arrivals: BTreeMap<u32, u64>,
}

impl Permutation {
    fn new(run: &Run) -> Self {
        let inspection = Inspection::new(&run.scenario);
        let [found] = inspection.collisions.as_slice() else { panic!("one permutation") };
        let colliding = found.overloaded.iter().flat_map(|overload| &overload.flows);
        let colliding = colliding.map(|number| *number as usize).collect();
        let flows = run.scenario.flows();
        let (paths, backs): (Vec<_>, Vec<_>) =
            flows.iter().map(|flow| run.scenario.path_of(flow)).unzip();
        assert!(paths.iter().all(|path| path.len() == 4), "a flow stays in its rack");
        let mut arrivals = BTreeMap::new();
        for frame in run.frames() {
            let fabric = run.scenario.fabric();
            let NodeKind::Host(host) = fabric.node(fabric.wire(frame.wire).to).kind else {
                panic!("wires to hosts are captured")
            };
            arrivals.insert(host.0, frame.arrival_ns);
        }
        Self { colliding, paths, backs, arrivals }
    }

    /// Late data may, and the ACK of another flow that was not late either.
    fn may_hold_up_the_ack_of(&self, number: usize) -> bool {
        let others = (0..self.paths.len()).filter(|&other| other != number);
        others.into_iter().any(|other| {
            let is_late = self.colliding.contains(&other);
            let wires = if is_late { &self.paths[other] } else { &self.backs[other] };
            self.backs[number].iter().any(|wire| wires.contains(wire))
        })
    }
}
