//! Charges of a packet to pools, in eBPF and natively. Needs root.

use fabric_core::policy::{MarkingScheme, Policy, ThresholdScheme};
use fabric_core::wire::roce::Ecn;
use tests::switch::frame::{bytes, data, inbound};
use tests::switch::{State, Twins, class_row, in_namespace};
use units::Nanos;

/// Frames come in here.
const PORT: u32 = 1;
const NOW: Nanos = Nanos(1_000_000);
/// Ingress queue of the lossless priority.
const LOSSLESS: usize = class_row(PORT, 3);

#[test]
fn a_pool_is_charged_what_a_frame_is_long() {
    // Whether packets are split, levels of the queue's private pool and of all shared pools, and charges: private,
    // shared and headroom.
    let rows = [
        (0, 0, 0, [1058, 0, 0]),
        (0, 2500, 0, [0, 1058, 0]),
        (0, 2500, 100_000, [0, 0, 1058]),
        (1, 1942, 100_000, [1058, 0, 0]),
        (1, 2500, 0, [500, 558, 0]),
        (1, 2500, 100_000, [0, 0, 1058]),
        (1, 3000, 0, [0, 1058, 0]),
    ];
    let frame = bytes(&data(2, 3, Ecn::Capable0, 1000), &inbound(PORT));
    in_namespace(|| {
        let mut twins = Twins::load(Policy::new(ThresholdScheme::Dynamic, MarkingScheme::Off));
        for (splits_packets, private, shared, expected) in rows {
            let mut state = State::fresh();
            state.config.splits_packets = splits_packets;
            state.ingress_queues[LOSSLESS].private_bytes = private;
            state.switch.shared_bytes = shared;
            twins.reset(&state);
            twins.arrive(PORT, NOW, &frame).expect("both agree");
            let of_switch = twins.native.tables().state();
            let charged = [
                of_switch.private_bytes.load(),
                of_switch.shared_bytes.load() - shared,
                of_switch.headroom_bytes.load(),
            ];
            assert_eq!(charged, expected, "{private} and {shared} bytes are held");
            twins.depart(0, NOW).expect("both agree").expect("slot 0 holds the packet");
        }
    });
}
