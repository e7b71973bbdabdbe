//! The worst case of DSH, Eq. 1: nothing drains, a sender at line rate, a PAUSE that waits behind a full
//! frame, and a sender that takes its full response time.

use fabric_core::headroom;
use scenario::Scenario;
use topology::SwitchId;
use units::{BitsPerSecond, Bytes, Picos};

use super::{Run, Runner};

/// Packets that make the shared pool reach its threshold.
const PACKETS_TO_THRESHOLD: u64 = 20;
/// Start of the sender on a link without delay; by then frames go the other way without a gap.
const START_NS: u64 = 3000;

/// Packet that triggers the PAUSE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// A packet that itself found room in the shared pool, after which the dynamic threshold lies below
    /// the occupancy. Eq. 1 is about this case: packets still come only because a PAUSE takes time.
    InShared,
    /// A packet that found the shared pool closed: it takes headroom that Eq. 1 does not count.
    InHeadroom,
}

/// Sender h0, receiver h1 behind a link so slow that no second packet leaves in time, and h2, which sends
/// to h0 at line rate, so that every PAUSE to h0 finds the port busy.
#[derive(Clone, Copy, Debug)]
pub struct WorstCase {
    /// Gigabits a second of h0's and h2's links.
    pub gigabits: u64,
    /// Propagation delay of all links.
    pub delay_ns: u64,
    /// Payload of a packet.
    pub payload: u64,
    /// Packet that triggers the PAUSE.
    pub trigger: Trigger,
}

impl WorstCase {
    /// The longest frame, with its overhead on the wire: `L_MTU`.
    pub fn longest_on_the_wire(&self) -> Bytes {
        Bytes(self.frame() + 16 + 24)
    }

    /// Headroom by Eq. 1 alone.
    pub fn eq_1(&self) -> u64 {
        let (rate, delay) = (self.rate(), Picos(self.delay_ns * 1000));
        headroom::required(rate, delay, self.longest_on_the_wire()).0
    }

    /// Runs it, the sender starting `phase_ns` later, until all that comes before the PAUSE binds has
    /// come. `headroom` overrides the headroom of h0's ingress queue and of all others.
    pub fn run(&self, run: Runner, phase_ns: u64, headroom: Option<u64>) -> Run {
        self.run_scheme(run, phase_ns, &sih(headroom), &[])
    }

    /// Runs it with headroom of any kind, and with more settings.
    pub fn run_scheme(
        &self,
        run: Runner,
        phase_ns: u64,
        headroom: &str,
        overrides: &[&str],
    ) -> Run {
        let window_ns = 4 * self.eq_1() * 8 / self.gigabits;
        let warm_up_ns =
            self.start_ns() + 2 * PACKETS_TO_THRESHOLD * self.frame() * 8 / self.gigabits;
        let duration = format!("duration={}ns", warm_up_ns + window_ns);
        self.run_with(run, phase_ns, headroom, &[&[&*duration], overrides].concat())
    }

    /// Runs it until the flows are done.
    pub fn run_to_the_end(&self, run: Runner, phase_ns: u64, headroom: Option<u64>) -> Run {
        self.run_with(run, phase_ns, &sih(headroom), &["duration=20s"])
    }

    /// The greatest headroom in use over all phases, with headroom as by default.
    pub fn measure(&self, run: Runner, phases: u64) -> u64 {
        let used = |phase| {
            let run = self.run(run, phase, None);
            assert_eq!(run.summary.drops.lost(), 0, "{self:?} at phase {phase} ns");
            run.summary.headroom_max_bytes["s0"]
        };
        self.phases(phases).map(used).max().expect("there are phases")
    }

    /// Instants over the time of one frame.
    pub fn phases(&self, count: u64) -> impl Iterator<Item = u64> {
        let frame_ns = (self.frame() + 24) * 8 / self.gigabits;
        (0..count).map(move |phase| phase * frame_ns / count)
    }

    /// Late enough for an exchange of link delay frames to have ended.
    const fn start_ns(&self) -> u64 {
        START_NS + 3 * self.delay_ns
    }

    /// A full frame.
    fn frame(&self) -> u64 {
        58 + self.payload
    }

    fn rate(&self) -> BitsPerSecond {
        BitsPerSecond(self.gigabits * 1_000_000_000)
    }

    fn run_with(&self, run: Runner, phase_ns: u64, headroom: &str, overrides: &[&str]) -> Run {
        let text = self.text(phase_ns);
        let headroom = format!("switch.headroom={{ {headroom} }}");
        let buffer = format!("switch.buffer={}B", self.buffer(&text, &headroom));
        run(&text, &[&[headroom.as_str(), buffer.as_str()], overrides].concat())
    }

    /// A buffer whose shared pool makes packet number [`PACKETS_TO_THRESHOLD`] the last one in it.
    fn buffer(&self, text: &str, headroom: &str) -> u64 {
        let overrides = [headroom.to_owned()];
        let scenario = Scenario::parse(text, "test.toml".as_ref(), &overrides)
            .unwrap_or_else(|error| panic!("{error}"));
        let pools = scenario.buffer_pools(SwitchId(0));
        // T = B_s - sum, which meets the sum at B_s / 2. The last packet must fit below T, and lift the sum above T:
        // B_s is a quarter of a packet less than twice the bytes then in the pool.
        let shared = 2 * PACKETS_TO_THRESHOLD * self.frame() - self.frame() / 2;
        pools.headroom.0 + pools.private.0 + shared
    }

    fn text(&self, phase_ns: u64) -> String {
        let Self { gigabits, delay_ns, payload, trigger } = *self;
        let forward = 3 * PACKETS_TO_THRESHOLD * payload + 2 * self.eq_1();
        let reverse = 3 * PACKETS_TO_THRESHOLD * payload + self.start_ns() * gigabits / 8;
        let start = self.start_ns() + phase_ns;
        let threshold = match trigger {
            Trigger::InShared => "kind = \"dt\", alpha = \"1\"".to_owned(),
            Trigger::InHeadroom => {
                let xoff = PACKETS_TO_THRESHOLD * self.frame();
                format!("kind = \"static\", xoff = \"{xoff}B\", xon = \"{}B\"", xoff / 2)
            }
        };
        format!(
            r#"name = "worst-case"
[topology]
kind = "custom"
switches = ["s0"]
hosts = ["h0", "h1", "h2"]
links = [
    {{ a = "h0", b = "s0", rate = "{gigabits}Gbps", delay = "{delay_ns}ns" }},
    {{ a = "h1", b = "s0", rate = "10Mbps", delay = "{delay_ns}ns" }},
    {{ a = "h2", b = "s0", rate = "{gigabits}Gbps", delay = "{delay_ns}ns" }},
]
[switch]
threshold = {{ {threshold} }}
[host]
payload = "{payload}B"
# ACKs on h0's link would make room between its data packets.
ack_interval = 1000000
retransmission_timeout = "5s"
transport = {{ kind = "roce-rc", congestion_control = "none" }}
[results]
queue_period = "10ms"
[[flows]]
kind = "one"
label = "reverse"
src = "h2"
dst = "h0"
bytes = "{reverse}B"
[[flows]]
kind = "one"
label = "forward"
src = "h0"
dst = "h1"
bytes = "{forward}B"
start = "{start}ns"
"#
        )
    }
}

/// Static headroom of this size, or of the default size.
fn sih(headroom: Option<u64>) -> String {
    let bytes = headroom.map_or(String::new(), |bytes| format!(", bytes = \"{bytes}B\""));
    format!("kind = \"sih\"{bytes}")
}

/// Time that the first PAUSE to h0 waited for its port, in nanoseconds. The run must capture.
pub fn pause_wait_ns(run: &Run) -> u64 {
    let decided_ns = run.pauses().rows()[0].number("time_ns");
    let frames = run.frames();
    let pause = frames.iter().find(|frame| frame.pfc().is_some()).expect("a PAUSE was sent");
    pause.start_ns.saturating_sub(decided_ns)
}

/// Asserts that packets were lost to a lack of headroom and to nothing else.
pub fn assert_headroom_exhausted(run: &Run) {
    run.assert_limit_reached("headroom-exhausted");
    run.assert_drops_only("headroom-exhausted");
    let longest = run.scenario.longest_frame().0;
    for row in run.drops().rows() {
        assert_eq!((row.text("node"), row.text("port")), ("s0", "0"), "h0's port");
        assert!(row.number("bytes") <= longest);
    }
}

/// With headroom by Eq. 1 nothing is lost at any of these phases; with two MTU less packets are, and
/// go-back-N brings them in the end.
pub fn assert_sufficient_and_necessary(run: Runner, case: WorstCase, phases: u64) {
    let less = case.eq_1() - 2 * case.longest_on_the_wire().0;
    let mut lost = 0;
    for phase in case.phases(phases) {
        case.run_to_the_end(run, phase, Some(case.eq_1())).assert_lossless();
        let starved = case.run_to_the_end(run, phase, Some(less));
        starved.assert_complete();
        if starved.summary.drops.lost() != 0 {
            assert_headroom_exhausted(&starved);
            assert_ne!(starved.summary.retransmitted_packets, 0);
            lost += 1;
        }
    }
    assert_ne!(lost, 0, "{less} B of headroom lost nothing at any phase: {case:?}");
}
