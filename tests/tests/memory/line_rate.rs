//! A full link carries its rate less the packets' headers and gaps, to the nanosecond.

use std::collections::BTreeMap;

use tests::fabric::capture::wire_named;
use tests::fabric::one_switch::{PACKET_NS, star};
use tests::fabric::{CAPTURE_ALL, in_memory};

/// Payload of a full packet.
const PAYLOAD: u64 = 1000;
/// RETH of a message's first packet, at a byte in a nanosecond.
const RETH_NS: u64 = 16;

/// Senders of long-lived flows to h0 at 8 Gbit/s, where a byte takes a nanosecond; without congestion
/// control, so that PFC alone shares the link.
fn long_lived(senders: u32) -> String {
    let names: Vec<String> = (1..=senders).map(|host| format!("\"h{host}\"")).collect();
    let flows = format!(
        "[[flows]]\nkind = \"long-lived\"\nsenders = [{}]\nreceiver = \"h0\"\n",
        names.join(", ")
    );
    star(senders + 1, &flows)
}

#[test]
fn flows_on_one_link_add_up_to_its_rate() {
    for senders in [1, 2, 3, 8] {
        let run = in_memory(&long_lived(senders), &["duration=2ms", CAPTURE_ALL]);
        assert!(run.summary.lossless, "{:?}", run.summary.drops);
        let link = wire_named(run.scenario.fabric(), "s0->h0");
        let mut payload: BTreeMap<u32, u64> = BTreeMap::new();
        let (mut first, mut last, mut packets, mut messages) = (None, 0, 0, 0);
        for frame in run.frames().iter().filter(|frame| frame.wire == link) {
            let data = frame.data().expect("h0 sends nothing that would be answered");
            *payload.entry(data.source).or_default() += u64::from(data.payload_length);
            first.get_or_insert(frame.start_ns);
            messages += u64::from(frame.length + 24 > PACKET_NS);
            (last, packets) = (frame.arrival_ns, packets + 1);
        }
        // The link is never idle between its first packet and its last one, whose bits arrive 1 us late.
        let busy_ns = last - 1000 - first.expect("packets arrive");
        assert_eq!(busy_ns, packets * PACKET_NS + messages * RETH_NS, "{senders} senders");
        assert_eq!(messages, u64::from(senders), "a message for each flow");
        // So payload has 1000 of 1082 bytes, less the RETHs: the flows' throughputs sum to that.
        let sum: u64 = payload.values().sum();
        assert_eq!(sum * PACKET_NS, (busy_ns - messages * RETH_NS) * PAYLOAD);
        assert!(last > 1_990_000, "the link is busy until the run ends: {last}");
        assert_eq!(payload.len(), senders as usize);
        // Alike senders get alike shares.
        for (sender, bytes) in &payload {
            let share = bytes * u64::from(senders);
            assert!(share.abs_diff(sum) * 10 <= sum, "{sender:x} of {senders}: {payload:?}");
        }
    }
}
