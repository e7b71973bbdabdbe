//! Generated bursts: small fabrics whose buffers hold little beyond their reserves, and more traffic in more classes
//! than they can forward.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use scenario::Scenario;
use topology::SwitchId;

use super::{Run, Runner};

/// A fabric, its switches' settings and its traffic; the headroom scheme is not among them.
#[derive(Clone, Debug)]
pub struct Burst {
    /// Keys of `[topology]`, links apart.
    pub topology: &'static str,
    /// The key of links between switches, if there are any.
    pub fabric_link: Option<&'static str>,
    /// Gigabits a second of hosts' links; links between switches have `fabric_gigabits`.
    pub gigabits: u64,
    /// Gigabits a second of links between switches.
    pub fabric_gigabits: u64,
    /// Propagation delay of all links.
    pub delay_ns: u64,
    /// Payload of a packet.
    pub payload: u64,
    /// Priorities 0 up to this one are lossless.
    pub highest_lossless: u8,
    /// alpha of DT.
    pub alpha: &'static str,
    /// `thresholds`.
    pub thresholds: &'static str,
    /// Bytes of shared buffer at the switch that has least of it.
    pub shared: u64,
    /// delta of queues and of ports.
    pub xon_offsets: (u64, u64),
    /// Private buffer of a queue.
    pub private: u64,
    /// Flows, all starting at about the same time.
    pub flows: Vec<BurstFlow>,
}

/// A flow of a [`Burst`].
#[derive(Clone, Copy, Debug)]
pub struct BurstFlow {
    /// Sender, modulo [`HOSTS`].
    pub source: u8,
    /// The receiver is that many hosts further on.
    pub distance: u8,
    /// Modulo the number of lossless classes.
    pub class: u8,
    /// Size of the flow.
    pub kilobytes: u64,
    /// Start of the flow.
    pub start_ns: u64,
}

/// Hosts of every topology.
pub const HOSTS: u8 = 6;

const TOPOLOGIES: [(&str, Option<&str>); 3] = [
    ("kind = \"star\"\nhosts = 6", None),
    ("kind = \"dumbbell\"\nleft = 3\nright = 3", Some("bottleneck")),
    ("kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 3", Some("fabric_link")),
];

/// Any burst.
pub fn bursts() -> impl Strategy<Value = Burst> {
    let rates = (select(vec![10, 40, 100, 400u64]), select(vec![10, 40, 100u64]));
    let delay_ns = select(vec![50, 500, 2000, 5000u64]);
    let payload = select(vec![64, 256, 1000, 3072u64]);
    let links = (select(TOPOLOGIES.to_vec()), rates, delay_ns, payload);
    let alpha = select(vec!["1/16", "1/8", "1/2", "1", "4"]);
    let thresholds = prop_oneof![
        4 => Just("\"per-packet\""),
        1 => Just("{ period = \"3us\" }"),
    ];
    let xon_offsets = (0..8000u64, 0..8000u64);
    let buffer = (alpha, thresholds, 4000..80_000u64, xon_offsets, select(vec![0, 1500, 3000u64]));
    let flow = (any::<u8>(), 1..HOSTS, any::<u8>(), 1..60u64, 0..20_000u64).prop_map(
        |(source, distance, class, kilobytes, start_ns)| BurstFlow {
            source,
            distance,
            class,
            kilobytes,
            start_ns,
        },
    );
    (links, 0..8u8, buffer, vec(flow, 4..40), any::<bool>()).prop_map(
        |(links, highest_lossless, buffer, mut flows, incast)| {
            let ((topology, fabric_link), (gigabits, fabric_gigabits), delay_ns, payload) = links;
            let (alpha, thresholds, shared, xon_offsets, private) = buffer;
            if incast {
                // All to host 0.
                for flow in &mut flows {
                    flow.source = 1 + flow.source % (HOSTS - 1);
                    flow.distance = HOSTS - flow.source;
                }
            }
            Burst {
                topology,
                fabric_link,
                gigabits,
                fabric_gigabits,
                delay_ns,
                payload,
                highest_lossless,
                alpha,
                thresholds,
                shared,
                xon_offsets,
                private,
                flows,
            }
        },
    )
}

impl Burst {
    /// The one of [`bursts`] that a seed stands for.
    pub fn from_seed(seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let mut runner = TestRunner::new_with_rng(Config::default(), random);
        bursts().new_tree(&mut runner).expect("a strategy without filters").current()
    }

    /// Runs it with this headroom, `port_xon_offset` added if it is DSH.
    pub fn run(&self, run: Runner, headroom: &str) -> Run {
        self.run_with(run, headroom, &[])
    }

    /// Runs it with this headroom and more settings.
    pub fn run_with(&self, run: Runner, headroom: &str, more: &[&str]) -> Run {
        let (text, headroom) = (self.text(), self.headroom(headroom));
        let overrides = [headroom.clone(), "switch.buffer=1GB".to_owned()];
        let scenario = Scenario::parse(&text, "test.toml".as_ref(), &overrides)
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        let reserved = (0..scenario.fabric().switch_count())
            .map(|switch| scenario.buffer_pools(SwitchId(switch)))
            .map(|pools| pools.headroom.0 + pools.private.0)
            .max()
            .expect("a fabric has switches");
        let buffer = format!("switch.buffer={}B", reserved + self.shared);
        run(&text, &[&[&*headroom, &*buffer], more].concat())
    }

    fn headroom(&self, kind: &str) -> String {
        let offset = if kind.contains("\"dsh\"") {
            format!(", port_xon_offset = \"{}B\"", self.xon_offsets.1)
        } else {
            String::new()
        };
        format!("switch.headroom={{ {kind}{offset} }}")
    }

    /// The scenario, headroom and buffer apart.
    pub fn text(&self) -> String {
        let classes = u32::from(self.highest_lossless) + 1;
        let lossless: Vec<u32> = (0..classes).collect();
        let flow = |flow: &BurstFlow| {
            let source = flow.source % HOSTS;
            format!(
                "[[flows]]\nkind = \"one\"\nsrc = \"h{source}\"\ndst = \"h{}\"\n\
                 bytes = \"{}kB\"\npriority = {}\nstart = \"{}ns\"\n",
                (source + flow.distance) % HOSTS,
                flow.kilobytes,
                u32::from(flow.class) % classes,
                flow.start_ns,
            )
        };
        let flows: String = self.flows.iter().map(flow).collect();
        let link = |rate| format!("{{ rate = \"{rate}Gbps\", delay = \"{}ns\" }}", self.delay_ns);
        let fabric_link = self
            .fabric_link
            .map_or(String::new(), |key| format!("{key} = {}\n", link(self.fabric_gigabits)));
        format!(
            r#"name = "burst"
duration = "10s"
[topology]
{}
host_link = {}
{fabric_link}[switch]
lossless = {lossless:?}
private_per_queue = "{}B"
threshold = {{ kind = "dt", alpha = "{}", xon_offset = "{}B" }}
thresholds = {}
control_priority = "none"
[host]
payload = "{}B"
ack_priority = 0
# Nothing is lost, or it is not these runs that show it: no packet is sent twice for waiting.
retransmission_timeout = "1s"
transport = {{ kind = "roce-rc", congestion_control = "none" }}
[results]
queue_period = "1s"
{flows}"#,
            self.topology,
            link(self.gigabits),
            self.private,
            self.alpha,
            self.xon_offsets.0,
            self.thresholds,
            self.payload,
        )
    }
}
