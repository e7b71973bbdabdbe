//! TCP over fabrics, on the real kernel and as in memory, and under tshark. Needs root.

use tests::fabric::dissection::{assert_dissected_telemetry, assert_tshark_follows_tcp};
use tests::fabric::one_switch::{flow, star};
use tests::fabric::{in_memory, on_both, tcp};

#[test]
fn frames_are_lost_at_random() {
    tcp::random_loss(on_both, "0.01");
}

/// The two ends of one host's link: on more wires tshark sees each segment again.
#[test]
fn tshark_follows_connections_without_a_remark() {
    let flows = flow("h1", "h0", 300, 1) + &flow("h2", "h0", 300, 1);
    let ecn = "switch.ecn={priorities=[1],kmin=\"20kB\",kmax=\"20kB\",pmax=1,mark_at=\"dequeue\"}";
    for transport in [
        "congestion_control=\"dctcp\"",
        "congestion_control=\"cubic\",cubic={ecn=true},delayed_ack=\"30us\"",
        "congestion_control=\"timely\",handshake=false",
        "congestion_control=\"powertcp\"",
    ] {
        let transport = format!("host.transport={{kind=\"tcp\",{transport}}}");
        let wires = "captures=[{ wires = [\"s0->h0\", \"h0->s0\"] }]";
        let run = in_memory(&star(3, &flows), &[&transport, ecn, wires, "switch.buffer=16MB"]);
        run.assert_lossless();
        assert_tshark_follows_tcp(&run);
        let stamped = assert_dissected_telemetry(&run);
        assert_eq!(stamped > 500, transport.contains("powertcp"), "{stamped}");
    }
}
