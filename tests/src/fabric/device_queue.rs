//! FIFOs below egress queues: departures stay as before, and functions that read the egress queues see less.

use super::Runner;
use super::one_switch::two_to_one;

const LOSSY: &str = "switch.lossless=[]";
/// Half of the packets that wait when two flows of 200 packets meet.
const ROOM: &str = "switch.device_queue=100";

/// One queue, no losses and no marks: order and times of all frames are as with one long queue.
pub fn order(run: Runner) {
    let text = two_to_one(1);
    let [plain, below] = [&[LOSSY][..], &[LOSSY, ROOM]].map(|settings| {
        let run = run(&text, settings);
        run.assert_sound();
        run
    });
    assert_eq!(below.summary.flows_completed, 2);
    assert_eq!(plain.frames(), below.frames());
    // 100 full packets lie below: of 1058 bytes each.
    let most = |run: &super::Run| run.summary.buffer_max_bytes["s0"];
    assert_eq!(most(&plain) - most(&below), 100 * 1058);
}

/// Marks at departure and drops see the egress queue alone, which is shorter by the packets below it.
pub fn what_sees_queues(run: Runner) {
    let text = two_to_one(1);
    let marks = |settings: &[&str]| {
        let ecn = "switch.ecn={priorities=[1],kmin=\"150kB\",kmax=\"150kB\",pmax=1}";
        let run = run(&text, &[settings, &[LOSSY, ecn]].concat());
        run.assert_sound();
        run.summary.ecn_marked
    };
    assert!(marks(&[]) > 0);
    assert_eq!(marks(&[ROOM]), 0);
    let drops = |settings: &[&str]| {
        let run = run(&text, &[settings, &[LOSSY, "switch.buffer=40kB"]].concat());
        run.assert_sound();
        run.summary.drops.policy
    };
    let (plain, below) = (drops(&[]), drops(&[ROOM]));
    assert!(plain > 0 && below < plain, "{plain} {below}");
}
