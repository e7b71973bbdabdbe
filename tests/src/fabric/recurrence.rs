//! The completion time of a flow on an idle path, packet by packet and hop by hop.

use scenario::{Flow, Scenario};
use topology::Hop;

/// Ethernet, IPv4, UDP, BTH and ICRC.
const HEADERS: u64 = 14 + 20 + 8 + 12 + 4;
const RETH: u64 = 16;
const AETH: u64 = 4;
const PREAMBLE_FCS_AND_GAP: u64 = 8 + 4 + 12;
/// A message is as many whole packets as this holds.
const MAX_MESSAGE_LENGTH: u64 = 1 << 30;

/// From the flow's start to the arrival of its last ACK, in nanoseconds, rounded up.
pub fn completion_ns(scenario: &Scenario, flow: &Flow) -> u64 {
    let (there, back) = scenario.path_of(flow);
    let fabric = scenario.fabric();
    let (mut there, mut back) = (Path::new(fabric.hops(&there)), Path::new(fabric.hops(&back)));
    let payload = scenario.host.payload.0;
    let packets = flow.bytes.0.div_ceil(payload);
    let of_message = MAX_MESSAGE_LENGTH / payload;
    let (mut unacknowledged, mut completed_ps) = (0, 0);
    for number in 0..packets {
        let bytes = payload.min(flow.bytes.0 - number * payload);
        let position = number % of_message;
        let reth = if position == 0 { RETH } else { 0 };
        let arrived_ps = there.send(0, HEADERS + reth + bytes.next_multiple_of(4));
        unacknowledged += 1;
        let is_last = position + 1 == of_message || number + 1 == packets;
        if is_last || unacknowledged == scenario.host.ack_interval {
            unacknowledged = 0;
            completed_ps = back.send(arrived_ps, HEADERS + AETH);
        }
    }
    completed_ps.div_ceil(1000)
}

/// Hops, and when each of them is free.
struct Path {
    hops: Vec<(Hop, u64)>,
}

impl Path {
    fn new(hops: Vec<Hop>) -> Self {
        Self { hops: hops.into_iter().map(|hop| (hop, 0)).collect() }
    }

    /// Sends a frame when it is there and the first hop is free: when it has arrived whole at the end.
    fn send(&mut self, there_ps: u64, length: u64) -> u64 {
        let bits = u128::from((length + PREAMBLE_FCS_AND_GAP) * 8);
        let mut arrived_ps = there_ps;
        for (hop, free_ps) in &mut self.hops {
            let start = arrived_ps.max(*free_ps);
            let serialisation = (bits * 1_000_000_000_000).div_ceil(u128::from(hop.rate.0));
            *free_ps = start + u64::try_from(serialisation).expect("less than 213 days");
            arrived_ps = *free_ps + hop.delay.0;
        }
        arrived_ps
    }
}
