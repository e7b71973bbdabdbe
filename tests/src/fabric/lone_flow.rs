//! Generated paths with one flow at a time on them.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// A fabric of two hosts, and flows between them, each over before the next one starts.
#[derive(Clone, Debug)]
pub struct LonePath {
    /// Links from host to host; at least two.
    pub chain: Vec<Link>,
    /// Links of a detour round the middle of the chain, as many as in the middle; or none.
    pub detour: Vec<Link>,
    /// Payload of a packet.
    pub payload: u64,
    /// Packets that one ACK may cover.
    pub ack_interval: u32,
    /// Sizes of the flows in each direction, in packets and in bytes beside them.
    pub sizes: Vec<(u64, u64)>,
}

/// Rate in megabits a second and delay in nanoseconds.
pub type Link = (u64, u64);

/// Time between the starts of flows, longer than any flow takes.
const SPACING_MS: u64 = 500;

/// Any path.
pub fn lone_paths() -> impl Strategy<Value = LonePath> {
    let rate =
        prop_oneof![select(vec![1000, 10_000, 25_000, 100_000, 400_000u64]), 100..999_999u64];
    let link = move || (rate.clone(), 0..20_000u64);
    let chain = vec(link(), 2..6).prop_flat_map(move |chain| {
        // At least one switch stays at each end.
        let middle = chain.len() - 2;
        let detour = if middle < 2 { vec(link(), 0) } else { vec(link(), middle) };
        (Just(chain), prop_oneof![Just(Vec::new()), detour])
    });
    let payload = prop_oneof![select(vec![1, 1000, 3072u64]), 1..3073u64];
    let ack_interval = prop_oneof![1..9u32, Just(1_000_000)];
    let sizes = vec((0..40u64, 1..3073u64), 1..5);
    (chain, payload, ack_interval, sizes).prop_map(
        |((chain, detour), payload, ack_interval, sizes)| LonePath {
            chain,
            detour,
            payload,
            ack_interval,
            sizes,
        },
    )
}

impl LonePath {
    /// The scenario.
    pub fn text(&self) -> String {
        let switches = self.chain.len() - 1;
        let mut names: Vec<String> = (0..switches).map(|number| format!("s{number}")).collect();
        let mut links = Vec::new();
        let mut connect = |a: &str, b: &str, (megabits, delay): Link| {
            links.push(format!(
                "{{ a = \"{a}\", b = \"{b}\", rate = \"{megabits}Mbps\", delay = \"{delay}ns\" }}"
            ));
        };
        connect("h0", "s0", self.chain[0]);
        for (number, link) in self.chain[1..switches].iter().enumerate() {
            connect(&names[number], &names[number + 1], *link);
        }
        connect(&names[switches - 1], "h1", self.chain[switches]);
        let mut here = "s0".to_owned();
        for (number, link) in self.detour.iter().enumerate() {
            let is_last = number + 1 == self.detour.len();
            let next = if is_last { names[switches - 1].clone() } else { format!("d{number}") };
            connect(&here, &next, *link);
            if !is_last {
                names.push(next.clone());
            }
            here = next;
        }
        let flow = |(number, (packets, more)): (usize, &(u64, u64))| {
            let bytes = packets * self.payload + more;
            let (src, dst) = if number % 2 == 0 { ("h0", "h1") } else { ("h1", "h0") };
            format!(
                "[[flows]]\nkind = \"one\"\nsrc = \"{src}\"\ndst = \"{dst}\"\nbytes = \"{bytes}B\"\n\
                 start = \"{}ms\"\n",
                number as u64 * SPACING_MS
            )
        };
        let flows: String = self.sizes.iter().enumerate().map(flow).collect();
        // Nothing but the links holds a flow up: its buffers take it whole, and no timer expires.
        format!(
            r#"name = "lone-flow"
duration = "100s"
[topology]
kind = "custom"
hosts = ["h0", "h1"]
switches = {names:?}
links = [{}]
[switch]
buffer = "4MB"
threshold = {{ kind = "static", xoff = "2MB", xon = "1MB" }}
headroom = {{ kind = "sih", bytes = "10kB" }}
[host]
payload = "{}B"
ack_interval = {}
retransmission_timeout = "10s"
transport = {{ kind = "roce-rc", congestion_control = "none" }}
[results]
queue_period = "10s"
{flows}"#,
            links.join(", "),
            self.payload,
            self.ack_interval,
        )
    }
}
