//! Private buffers that are filled with whole packets, or to the byte.

use std::collections::BTreeMap;

use super::one_switch::{flow, funnel};
use super::{Run, Runner};

/// Packets of 1058 bytes, of which the first leaves at once and the others stay. The private buffer has 4096 bytes, and
/// T is an eighth of the free part of 40,000.
const SETTINGS: [&str; 4] = [
    "switch.private_per_queue=4096B",
    "switch.threshold={ kind = \"dt\", alpha = \"1/8\", xon_offset = \"3072B\" }",
    "switch.headroom={ kind = \"sih\", bytes = \"20000B\" }",
    // 40,000 bytes, three ports' headroom, three private buffers.
    "switch.buffer=112288B",
];

/// Packets that come before the sender obeys its PAUSE.
const PACKETS: u64 = 14;

/// Levels of a switch's private, shared and headroom pools as they become empty packet by packet, and the values of the
/// queue's PAUSE and RESUME: bytes beyond its private buffer, and the threshold.
struct Walk {
    fill: &'static str,
    pools: &'static [[u64; 3]],
    paused: [u64; 2],
    resumed: [u64; 2],
}

/// The private buffer takes three packets and 922 bytes of the fourth. The eighth packet that stays leaves 4368 bytes
/// in the shared pool, below a T of 4454. The ninth would leave 5426 there.
const TO_THE_BYTE: Walk = Walk {
    fill: "bytes",
    pools: &[
        [4096, 4368, 5290],
        [4096, 4368, 4232],
        [4096, 4368, 3174],
        [4096, 4368, 2116],
        [4096, 4368, 1058],
        [4096, 4368, 0],
        [4096, 3310, 0],
        [4096, 2252, 0],
        [4096, 1194, 0],
        [4096, 136, 0],
        [3174, 0, 0],
        [2116, 0, 0],
        [1058, 0, 0],
        [0, 0, 0],
    ],
    paused: [5426, 4454],
    // An eighth of 38,806, less 3072.
    resumed: [1194, 1778],
};

/// The private buffer takes three packets. The seventh that stays leaves 4232 bytes in the shared pool, below a T of
/// 4471.
const WHOLE_PACKETS: Walk = Walk {
    fill: "packets",
    pools: &[
        [3174, 4232, 6348],
        [3174, 4232, 5290],
        [3174, 4232, 4232],
        [3174, 4232, 3174],
        [3174, 4232, 2116],
        [3174, 4232, 1058],
        [3174, 4232, 0],
        [3174, 3174, 0],
        [3174, 2116, 0],
        [3174, 1058, 0],
        [3174, 0, 0],
        [2116, 0, 0],
        [1058, 0, 0],
        [0, 0, 0],
    ],
    paused: [5290, 4471],
    // An eighth of 38,942, less 3072.
    resumed: [1058, 1795],
};

/// A list of packets goes through each kind of private buffer, as computed by hand.
pub fn walked(run: Runner) {
    for Walk { fill, pools, paused, resumed } in [TO_THE_BYTE, WHOLE_PACKETS] {
        let fill = format!("switch.private_fill={fill}");
        let text = funnel(&flow("h1", "h0", PACKETS, 3));
        let run = run(&text, &[&SETTINGS[..], &[&fill]].concat());
        run.assert_lossless();
        assert_eq!(levels(&run), pools, "{fill}");
        let pauses = run.pauses();
        let of = |event| {
            let row = pauses.only("event", event);
            ["occupancy_bytes", "threshold_bytes"].map(|column| row.number(column))
        };
        assert_eq!((of("xoff"), of("xon")), (paused, resumed), "{fill}");
    }
}

/// Levels of the three pools of the only switch, sample by sample, from the fullest on; equal neighbours once.
fn levels(run: &Run) -> Vec<[u64; 3]> {
    const POOLS: [&str; 3] = ["private", "shared", "headroom"];
    let mut samples = BTreeMap::new();
    let mut now = [0; 3];
    for row in run.table("queues.csv").rows() {
        if let Some(pool) = POOLS.iter().position(|pool| *pool == row.text("kind")) {
            now[pool] = row.number("bytes");
            samples.insert(row.number("time_ns"), now);
        }
    }
    let mut levels: Vec<[u64; 3]> = samples.into_values().collect();
    levels.dedup();
    let total = |pools: &[u64; 3]| pools.iter().sum::<u64>();
    let fullest = levels.iter().map(total).max().unwrap_or_default();
    levels.into_iter().skip_while(|pools| total(pools) < fullest).collect()
}
