//! Frames that count other lengths than they have, and times in whole nanoseconds.

use super::{CAPTURE_ALL, Runner};

/// Two hosts send three packets each to a third at once, of 1000, 1000 and 500 bytes behind headers that count 48: by
/// hand. At 100 Gbit/s 1048 B take 83 ns, 548 B 43 ns, an ACK of 60 B 4 ns and a PAUSE of 43 B 3 ns.
///
/// Packets of both senders come to the switch at 1083, 1166 and 1209. They leave it from 1083 to 1501 without a gap:
/// h1's first, h2's first, h1's second, .. So h1's last is at the receiver at 2458, h2's last at 2501. Their ACKs
/// cross two links in 4 + 1000 ns each.
pub fn two_to_one(run: Runner) {
    let flow = |host: u8| {
        format!("[[flows]]\nkind = \"one\"\nsrc = \"h{host}\"\ndst = \"h0\"\nbytes = \"2500B\"\n")
    };
    let text = format!(
        "name = \"two-to-one\"
[topology]
kind = \"star\"
hosts = 3
host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}
[switch]
wire_overhead = \"0B\"
private_per_queue = \"0B\"
threshold = {{ kind = \"static\", xoff = \"1500B\", xon = \"1000B\" }}
pause_response = \"1ns\"
[host]
ack_interval = 1
ack_priority = \"data\"
pause_response = \"0s\"
transport = {{ kind = \"roce-rc\", congestion_control = \"none\" }}
[frames]
data_headers = \"48B\"
ack = \"60B\"
hop_control = \"43B\"
time = \"whole-nanoseconds\"
{}{}",
        flow(1),
        flow(2)
    );
    let run = run(&text, &[CAPTURE_ALL]);
    run.assert_lossless();
    let flows = run.flows();
    assert_eq!(flows.numbers("fct_ns"), [4466, 4509]);
    // Alone, the last packet leaves the switch at 1083 + 83 + 83 + 43.
    assert_eq!(flows.numbers("ideal_ns"), [4300, 4300]);
    // At 1209 the third packet of h1 comes, and its second one has not left: 1048 B and 548 B.
    let pauses = run.pauses();
    let first = pauses.with("event", "xoff").next().expect("1596 B are above 1500 B");
    assert_eq!((first.number("time_ns"), first.number("occupancy_bytes")), (1209, 1596));
    // Frames on the wires keep their own lengths.
    let lengths: Vec<u64> = run.frames().iter().map(|frame| frame.length).collect();
    assert!([1074, 1058, 558, 62, 60].iter().all(|length| lengths.contains(length)), "{lengths:?}");
}
