//! Departure and arrival of frames.

use units::Picos;

use super::{engine, flow, out, star};

/// At 8 Gbit/s a byte takes a whole number of picoseconds, at 7 Gbit/s it does not.
#[test]
fn a_frame_arrives_after_its_serialisation_and_propagation() {
    for (rate, frame) in [("8Gbps", 1_082_000), ("7Gbps", 1_236_572)] {
        let text = star("", &flow("h1", "h0", 1)).to_toml().replace("8Gbps", rate);
        let scenario = super::scenario(&text);
        let mut engine = engine(&scenario);
        let wire = out(&mut engine, "h1->s0");
        assert_eq!(wire.timing.serialise(1058), Picos(frame), "{rate}");
        let now = Picos(5_000_000);
        let arrival = wire.start(now, 1058);
        assert_eq!(
            (arrival, wire.busy_until),
            (now + Picos(frame + 1_000_000), now + Picos(frame))
        );
        assert_eq!(wire.timing.started(arrival, 1058), now);
        assert_eq!((wire.sent, wire.lost), (1, 0));
        wire.start(arrival, 60);
        assert_eq!(wire.sent, 2);
    }
}
