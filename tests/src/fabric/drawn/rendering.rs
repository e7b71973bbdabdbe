//! Text of a drawn scenario.

use super::{Drawn, DrawnFlow, Headroom, Link, Shape};

/// Variation of a scenario's text.
#[derive(Clone, Copy, Debug)]
pub struct Rendering {
    /// Factor by which all times are longer and all rates lower.
    pub slower: u64,
    /// True to give nodes and labels other names, in another alphabetical order.
    pub renamed: bool,
}

/// The scenario as drawn.
pub const PLAIN: Rendering = Rendering { slower: 1, renamed: false };

impl Rendering {
    /// A name as it is in [`PLAIN`], otherwise, so that names that ascend descend.
    pub fn name(self, kind: &str, number: u32) -> String {
        if self.renamed { format!("{kind}-{}", 99 - number) } else { format!("{kind}{number}") }
    }

    fn link(self, (megabits, delay_ns): Link) -> String {
        let Self { slower, .. } = self;
        format!("rate = \"{}Mbps\", delay = \"{}ns\"", megabits / slower, delay_ns * slower)
    }
}

impl Drawn {
    /// The scenario, buffer apart.
    pub fn text(&self, rendering: Rendering) -> String {
        let slower = rendering.slower;
        let ns = |time: u64| format!("{}ns", time * slower);
        let flows: String = self.flows.iter().map(|flow| self.flow(flow, rendering)).collect();
        let headroom = match self.headroom {
            Headroom::Sih => "kind = \"sih\"".to_owned(),
            Headroom::Adaptive => format!("kind = \"adaptive\", period = \"{}\"", ns(200_000)),
            Headroom::Dsh => format!("kind = \"dsh\", single_queue_window = \"{}\"", ns(50_000)),
            Headroom::DshInsuranceAlone => "kind = \"dsh\", shared_headroom = false".to_owned(),
            Headroom::Oversubscribed => "kind = \"oversubscribed\", ratio = \"4\"".to_owned(),
        };
        let thresholds = self.threshold_period.map_or("\"per-packet\"".to_owned(), |period| {
            format!("{{ period = \"{}\" }}", ns(period))
        });
        let threshold = match self.victims {
            None => self.threshold.to_owned(),
            Some(keys) => format!("kind = \"spfc\", period = \"{}\", {keys}", ns(5000)),
        };
        let pause_rule = self.pause_rule.map_or(String::new(), |keys| {
            let more = match keys.split('"').nth(1) {
                Some("p-pfc-predict") => {
                    format!(", horizon = \"{}\", interval = \"{}\"", ns(4000), ns(500))
                }
                Some("g-pfc") => format!(", low = [{}]", self.lossless[0]),
                _ => String::new(),
            };
            format!("pause_rule = {{ kind = {keys}{more} }}\n")
        });
        let ecn = self.ecn.map_or(String::new(), |ecn| format!("ecn = {{ {ecn} }}\n"));
        let lossy = self.lossy.map_or(String::new(), |keys| format!("lossy = {{ {keys} }}\n"));
        let backpressure = self.backpressure.as_ref();
        let backpressure = backpressure.map_or(String::new(), |bfc| bfc.line(&ns(10_000)));
        let ofc = self.ofc.map_or(String::new(), |flows| {
            let priorities = self.without_loss();
            format!("backpressure = {{ kind = \"ofc\", priorities = {priorities:?}, flow_table = {flows} }}\n")
        });
        let telemetry_hops =
            self.telemetry_hops.map_or(String::new(), |hops| format!("telemetry_hops = {hops}\n"));
        format!(
            r#"name = "drawn"
duration = "{}"
stop = "deadlock"
[topology]
{}
[switch]
lossless = {:?}
private_per_queue = "{}B"
private_fill = "{}"
threshold = {{ {threshold} }}
thresholds = {thresholds}
headroom = {{ {headroom} }}
scheduler = {{ {} }}
control_priority = "none"
{pause_rule}{ecn}{lossy}{backpressure}{ofc}[host]
{telemetry_hops}payload = "{}B"
ack_interval = {}
ack_priority = {}
cnp_priority = {}
# Nobody sends again what merely waits.
retransmission_timeout = "{}"
transport = {{ kind = "roce-rc", {} }}
[results]
queue_period = "{}"
{flows}{}"#,
            ns(20_000_000_000),
            self.topology(rendering),
            self.without_loss(),
            self.private,
            self.private_fill,
            self.scheduler,
            self.payload,
            self.ack_interval,
            self.lossless[0],
            self.lossless[self.lossless.len() - 1],
            ns(1_000_000_000),
            self.congestion_control,
            ns(10_000_000),
            self.routes(rendering),
        )
    }

    /// Static routes of some rings and leaf-spines. Nothing is drawn for them, so that other scenarios stay as they
    /// were.
    fn routes(&self, rendering: Rendering) -> String {
        let kind = self.flows[0].bytes % 3;
        let name = |kind, number| rendering.name(kind, number);
        let route = |at: &str, frames: &str, via: &str| {
            format!("[[routes]]\nat = \"{at}\"\n{frames}\nvia = [\"{via}\"]\n")
        };
        match (self.shape, kind) {
            // Clockwise to the switch after the next one.
            (Shape::Ring(switches), 1 | 2) => {
                let of = |at: u32| {
                    let [next, last] = [1, 2].map(|further| name("s", (at + further) % switches));
                    let from = if kind == 1 { "" } else { "from = \"*\"\n" };
                    route(&name("s", at), &format!("{from}to = \"{last}\""), &next)
                };
                (0..switches).map(of).collect()
            }
            (Shape::LeafSpine, 1) => {
                let label = name("label", u32::from(self.flows[0].class % 3));
                route("leaf0", &format!("flows = \"{label}\"\nto = \"leaf1\""), "spine1")
                    + &route("leaf1", &format!("flows = \"{label}\"\nto = \"h0\""), "spine0")
            }
            (Shape::LeafSpine, 2) => {
                route("leaf1", "from = \"h3\"\nto = \"leaf0\"", "spine0")
                    + &route("leaf1", "to = \"leaf0\"", "spine1")
            }
            _ => String::new(),
        }
    }

    fn topology(&self, rendering: Rendering) -> String {
        let (host_link, link) = (rendering.link(self.host_link), rendering.link(self.fabric_link));
        let shape = match self.shape {
            Shape::Star => "kind = \"star\"\nhosts = 6".to_owned(),
            Shape::Dumbbell => {
                format!("kind = \"dumbbell\"\nleft = 3\nright = 3\nbottleneck = {{ {link} }}")
            }
            Shape::LeafSpine => format!(
                "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 3\n\
                 fabric_link = {{ {link} }}"
            ),
            Shape::FatTree => format!(
                "kind = \"fat-tree\"\nk = 4\naggregation_link = {{ {link} }}\n\
                 core_link = {{ {link} }}"
            ),
            Shape::Ring(switches) => return self.ring(switches, rendering),
        };
        format!("{shape}\nhost_link = {{ {host_link} }}")
    }

    fn ring(&self, count: u32, rendering: Rendering) -> String {
        let names = |kind, count| (0..count).map(move |number| rendering.name(kind, number));
        let switches: Vec<String> = names("s", count).collect();
        let hosts: Vec<String> = names("h", 2 * count).collect();
        let join = |a: &String, b: &String, link| {
            format!("{{ a = \"{a}\", b = \"{b}\", {} }}", rendering.link(link))
        };
        let of_hosts = hosts
            .iter()
            .enumerate()
            .map(|(number, host)| join(host, &switches[number / 2], self.host_link));
        let of_switches = (0..switches.len()).map(|number| {
            let next = &switches[(number + 1) % switches.len()];
            join(&switches[number], next, self.fabric_link)
        });
        let links: Vec<String> = of_hosts.chain(of_switches).collect();
        format!(
            "kind = \"custom\"\nswitches = {switches:?}\nhosts = {hosts:?}\nlinks = [{}]",
            links.join(", ")
        )
    }

    fn flow(&self, flow: &DrawnFlow, rendering: Rendering) -> String {
        let hosts = self.shape.hosts();
        let source = flow.source % hosts;
        let destination = (source + 1 + flow.distance % (hosts - 1)) % hosts;
        let class = usize::from(flow.class) % self.lossless.len();
        format!(
            "[[flows]]\nkind = \"one\"\nlabel = \"{}\"\nsrc = \"{}\"\ndst = \"{}\"\n\
             bytes = \"{}B\"\npriority = {}\nstart = \"{}ns\"\n{}",
            rendering.name("label", u32::from(flow.class % 3)),
            rendering.name("h", source),
            rendering.name("h", destination),
            flow.bytes,
            self.lossless[class],
            flow.start_ns * rendering.slower,
            self.transport(flow, rendering),
        )
    }

    /// Half of the flows go by TCP, if any do.
    fn transport(&self, flow: &DrawnFlow, rendering: Rendering) -> String {
        match self.beside {
            Some(keys) if flow.class >= 128 => {
                let timeout = 20_000 * rendering.slower;
                format!(
                    "transport = {{ kind = \"tcp\", {keys}, initial_rto = \"{timeout}ms\", \
                     minimum_rto = \"{timeout}ms\" }}\n"
                )
            }
            _ => String::new(),
        }
    }
}
