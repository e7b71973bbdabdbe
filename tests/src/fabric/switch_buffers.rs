//! Switches with buffers of their own.

use fabric_core::buffer::slots_for;
use topology::SwitchId;

use super::one_switch::flow;
use super::{Run, Runner};

/// Serialisation of a full data packet at 8 Gbit/s, and its length.
const PACKET_NS: u64 = 1082;
const PACKET: u64 = 1058;
/// Packets that a queue of either leaf holds before it shares: two, because a third would exceed 3000 bytes.
const PRIVATE_PACKETS: u64 = 2;

/// Two leaves, each with a sender at 8 Gbit/s and a receiver so slow that a queue only grows until it pauses.
fn scenario() -> String {
    let link = |a: &str, b: &str, rate: &str| {
        format!("{{ a = \"{a}\", b = \"{b}\", rate = \"{rate}\", delay = \"1us\" }}")
    };
    let links = [
        link("h0", "leaf0", "8Mbps"),
        link("h1", "leaf0", "8Gbps"),
        link("h2", "leaf1", "8Mbps"),
        link("h3", "leaf1", "8Gbps"),
        link("leaf0", "leaf1", "8Gbps"),
    ]
    .join(", ");
    let flows = flow("h1", "h0", 100, 3) + &flow("h3", "h2", 100, 3);
    format!(
        r#"
name = "switch-buffers"
duration = "1ms"
[topology]
kind = "custom"
switches = ["leaf0", "leaf1"]
hosts = ["h0", "h1", "h2", "h3"]
links = [{links}]
[switch]
buffer = "400kB"
threshold = {{ kind = "dt", alpha = "1/8" }}
[host]
transport = {{ kind = "roce-rc", congestion_control = "none" }}
[[switches]]
at = "*1"
buffer = "300kB"
{flows}"#
    )
}

/// Packets in a queue when it pauses, for a shared pool of this size.
fn packets_until_pause(shared_pool: u64) -> u64 {
    let threshold = |packets: u64| (shared_pool - packets * PACKET) / 8;
    let pauses = |packets: &u64| {
        // The last one finds no room below the threshold, or leaves the threshold below the queue.
        packets * PACKET >= threshold(packets - 1) || packets * PACKET > threshold(*packets)
    };
    PRIVATE_PACKETS + (1..=shared_pool / PACKET).find(pauses).expect("a pool ends")
}

/// A leaf with less buffer pauses earlier than its neighbour, by as many packets as its threshold predicts.
pub fn a_leaf_with_less_buffer(run: Runner) {
    let run = run(&scenario(), &[]);
    let first_pauses = [0, 1].map(|leaf| first_pause(&run, leaf));
    let [more, less] = first_pauses.map(|(packets, _)| packets);
    assert!(more > less + 5, "{more} and {less} packets");
    let [late, early] = first_pauses.map(|(_, time)| time);
    assert_eq!(late - early, (more - less) * PACKET_NS);
    for (leaf, buffer) in [(0, 400_000), (1, 300_000)] {
        let pools = run.scenario.buffer_pools(SwitchId(leaf));
        assert_eq!(pools.shared.0 + pools.private.0 + pools.headroom.0, buffer);
    }
}

/// Packets that count no more than the shortest frame fill the leaf with the larger buffer, which has a descriptor for
/// each.
pub fn shortest_packets_in_the_larger_buffer(run: Runner) {
    let sets = [
        "duration=20ms",
        "host.payload=4B",
        "frames.data_headers=1B",
        r#"switch.threshold={kind="dt",alpha=1000}"#,
        r#"switches=[{at="leaf1",buffer="12MB"}]"#,
        "flows.1.bytes=1MB",
    ];
    let run = run(&scenario(), &sets);
    assert!(run.summary.lossless, "{:?}", run.summary.drops);
    let descriptors = |leaf| slots_for(run.scenario.switch_at(SwitchId(leaf)).buffer());
    assert_eq!([0, 1].map(descriptors), [6666, 200_000]);
    let packets = run.summary.buffer_max_bytes["leaf1"] / 60;
    // The free buffer is the headroom of the other two ports, and the part of the shared pool that alpha leaves.
    assert!((199_000..=200_000).contains(&packets), "{packets}");
    assert_ne!(run.pauses().with("node", "leaf1").count(), 0);
}

/// Packets in a leaf when it sends its first PAUSE, and when that is.
fn first_pause(run: &Run, leaf: u32) -> (u64, u64) {
    let pools = run.scenario.buffer_pools(SwitchId(leaf));
    let expected = packets_until_pause(pools.shared.0);
    let pauses = run.pauses();
    let name = format!("leaf{leaf}");
    let row = pauses.with("event", "xoff").find(|row| row.text("node") == name);
    let row = row.unwrap_or_else(|| panic!("{name} never pauses"));
    assert_eq!(row.number("occupancy_bytes"), (expected - PRIVATE_PACKETS) * PACKET, "{name}");
    (expected, row.number("time_ns"))
}
