//! Translation of the simulator's settings to xoff, and the differences that remain.

use std::collections::BTreeSet;

use scenario::{MAX_DURATION, MAX_PAYLOAD, ScenarioError};
use units::{BitsPerSecond, Bytes, Nanos};
use workload::decimal;

use super::buffers::Buffers;
use super::config::{Config, MAX_THRESHOLD_KILOBYTES, read_decimal};
use super::control::Control;
use super::dialect::Simulated;
use super::flows::Flows;
use super::instant::seconds;
use super::paths::Paths;
use super::simulator::Simulator;
use super::topology::{Link, Topology, read_part, read_probability};
use super::transport::Transport;
use crate::{Remarks, Subject};

/// Period of the simulator's queue monitor; no key sets it.
pub const SAMPLE_INTERVAL: Nanos = Nanos(100);
/// Time for which `ConWeave`'s simulator continues after `FLOWGEN_STOP_TIME`.
const CONWEAVE_RUN_OUT: Nanos = Nanos(10 * SECOND);
/// Bytes of an egress queue that ECN in `ConWeave`'s simulator does not count.
const CONWEAVE_UNCOUNTED: u64 = 1049;
/// Min accounted length of a packet in xoff, bytes.
const MIN_FRAME: u64 = 60;
const SECOND: u64 = 1_000_000_000;
/// Latest time of a scenario. Later events of the simulator are ignored.
const LATEST: u64 = 86_400 * SECOND;
/// Content of an imported scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translation {
    /// Simulator's time at the scenario's start, in whole seconds.
    pub time_offset: Nanos,
    /// The scenario's duration.
    pub duration: Nanos,
    /// Transport of all flows.
    pub transport: Transport,
    /// Bases of windows.
    pub paths: Paths,
    /// Marking at ports of the hosts' rate; `None` disables marking.
    pub ecn: Option<Ecn>,
    /// Marking at ports of other rates, if different.
    pub ecn_by_rate: Vec<(BitsPerSecond, Ecn)>,
    /// Buffers of switches.
    pub buffers: Buffers,
    /// Payload of a full packet, in bytes.
    pub payload: u64,
    /// Priorities of flows.
    pub groups: BTreeSet<u8>,
    /// Priority in which ACKs overtake data at switches; `None`: ACKs wait with the data.
    pub ack_priority: Option<u8>,
    /// Priority whose pauses stop ACKs at NICs.
    pub ack_queue: u8,
    /// Wires that lose frames, with the probability in units of 10^-12.
    pub losses: Vec<(String, u64)>,
    /// Two nodes whose links are down from the start.
    pub failed_link: Option<(u32, u32)>,
    /// A link that goes down under the dialect: name and instant in the scenario's time.
    pub link_failure: Option<(String, Nanos)>,
    /// First sample of `qlen.txt`, in the scenario's time; 0 if the simulator writes none.
    pub qlen_start: Nanos,
    /// See `results.hpcc.qlen_stop`.
    pub qlen_stop: Nanos,
    /// Hosts of the simulator's dialect.
    pub simulated: Option<Simulated>,
    /// Differences and notes.
    pub remarks: Remarks,
}

/// Marking by queue length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ecn {
    /// Value of `KMIN_MAP`.
    pub kmin: Bytes,
    /// Value of `KMAX_MAP`.
    pub kmax: Bytes,
    /// Value of `PMAX_MAP`.
    pub pmax_millionths: u32,
}

impl Translation {
    /// Translates all settings.
    pub fn new(config: &Config, topology: &Topology, flows: &Flows) -> Result<Self, ScenarioError> {
        let first = flows.list[0].start;
        let time_offset = Nanos(first.0 / SECOND * SECOND);
        let stop = stop(config)?;
        if stop <= first {
            let title = "the simulator stops before the first flow starts";
            let span = config.word(stop_key(config))?.span();
            return Err(config.source().error(span, title, "write a later time"));
        }
        let mut remarks = Remarks::default();
        let payload = payload(config)?;
        let mut translation = Self {
            time_offset,
            // Simulations end long before, when their flows are done.
            duration: Nanos(stop.0 - time_offset.0).min(MAX_DURATION.to_nanos()),
            transport: Transport::new(config, &mut remarks)?,
            paths: Paths::new(topology, Bytes(payload)),
            ecn: None,
            ecn_by_rate: Vec::new(),
            buffers: Buffers::new(config, topology, flows, &mut remarks)?,
            payload,
            groups: flows.list.iter().map(|flow| flow.group).collect(),
            ack_priority: (config.simulator == Simulator::ConWeave).then_some(0),
            ack_queue: match config.simulator {
                Simulator::ConWeave => 0,
                _ if config.flag("ACK_HIGH_PRIO", false)? => 0,
                _ => 3,
            },
            losses: Vec::new(),
            failed_link: None,
            link_failure: None,
            qlen_start: Nanos(0),
            qlen_stop: Nanos(0),
            simulated: None,
            remarks,
        };
        translation.losses_and_pauses(config)?;
        translation.priorities(config, flows);
        translation.marking(config, topology)?;
        if !config.has_dialect {
            translation.parallel_links(topology);
        }
        translation.errors(config, topology)?;
        translation.link_down(config, topology, flows)?;
        translation.load_balancing(config)?;
        translation.monitor(config)?;
        translation.notes(config, topology, flows)?;
        if config.has_dialect {
            translation.follow(config, topology)?;
        } else {
            translation.inherent(config, topology, flows);
        }
        if let (Some((place, what)), Some(dialect)) =
            (&config.beyond_dialect, config.simulator.traits().dialect)
        {
            let what = format!(
                "{what}: the dialect {dialect} does not have it, so that the run follows xoff's own rules"
            );
            translation.remarks.note(place, &what);
        }
        Ok(translation)
    }

    fn losses_and_pauses(&mut self, config: &Config) -> Result<(), ScenarioError> {
        let Self { remarks, payload, .. } = self;
        if !config.has_dialect && config.flag("L2_BACK_TO_ZERO", false)? {
            let there = "back to the start of the lost packet's chunk";
            remarks.asked(config.place("L2_BACK_TO_ZERO"), there, "back to the lost packet (0)");
        }
        // The simulator compares the interval with the received bytes: below a packet's length, every packet is
        // acknowledged.
        let place = config.place("L2_ACK_INTERVAL");
        match config.whole("L2_ACK_INTERVAL", 0)? {
            0 => remarks.asked(&place, "no ACKs, and no flow completes", "an ACK for each packet"),
            interval if interval > *payload && !config.has_dialect => {
                let there = "the first packets of a flow, up to so many bytes, have no ACK";
                remarks.asked(&place, there, "an ACK for each packet");
            }
            _ => {}
        }
        if config.has("PAUSE_TIME")
            && read_decimal(config.source(), "PAUSE_TIME", config.word("PAUSE_TIME")?)?
                < decimal::ONE
        {
            remarks.asked(config.place("PAUSE_TIME"), "PAUSE stops nobody", "it stops its class");
        }
        if config.simulator != Simulator::Ns3Datacenter
            && !config.flag("USE_DYNAMIC_PFC_THRESHOLD", true)?
        {
            let what = "the simulator reads it and has dynamic thresholds all the same";
            remarks.note(config.place("USE_DYNAMIC_PFC_THRESHOLD"), what);
        }
        Ok(())
    }

    fn priorities(&mut self, config: &Config, flows: &Flows) {
        let groups: Vec<String> = self.groups.iter().map(u8::to_string).collect();
        let groups = format!("priority groups {}", groups.join(", "));
        let place = Subject::for_file(flows.name(), None, groups);
        if self.groups.len() > 1 && !config.has_dialect {
            let (there, here) = match config.simulator {
                Simulator::Hpcc => (
                    "reserve and headroom of a port count once, its queues take turns by packet",
                    "they count for each group, and turns are by bytes (DWRR)",
                ),
                Simulator::ConWeave => (
                    "headroom of a port counts once, group 1 has pools of its own, queues take turns by packet",
                    "headroom counts for each group, all share one pool, and turns are by bytes (DWRR)",
                ),
                Simulator::Ns3Datacenter => {
                    ("queues of a port take turns by packet", "turns are by bytes (DWRR)")
                }
            };
            self.remarks.asked(&place, there, here);
        }
        if self.groups.contains(&0) {
            self.remarks.asked(
                &place,
                "group 0 takes no buffer",
                "it takes buffer as the others do",
            );
        }
    }

    fn marking(&mut self, config: &Config, topology: &Topology) -> Result<(), ScenarioError> {
        if !config.flag("ENABLE_QCN", true)? {
            return Ok(());
        }
        let nic_rate = topology.nic_rate();
        let mut of_rates = Vec::new();
        for rate in topology.rates() {
            let (kmin, kmax) = (config.mapped("KMIN_MAP", rate)?, config.mapped("KMAX_MAP", rate)?);
            let pmax = config.mapped("PMAX_MAP", rate)?;
            let source = config.source();
            let kilobytes =
                |word, key| Ok(Bytes(source.number(word, key, MAX_THRESHOLD_KILOBYTES)? * 1000));
            let ecn = Ecn {
                kmin: kilobytes(kmin, "KMIN_MAP")?,
                kmax: kilobytes(kmax, "KMAX_MAP")?,
                pmax_millionths: read_probability(source, pmax, "PMAX_MAP")?,
            };
            let counted = |length: Bytes| self.counted(config, length);
            if ecn.kmin > ecn.kmax {
                let title = format!("kmin of {} bit/s is above kmax", rate.0);
                return Err(source.error(kmin.span(), &title, "kmin is the smaller one"));
            }
            of_rates.push((rate, Ecn { kmin: counted(ecn.kmin), kmax: counted(ecn.kmax), ..ecn }));
        }
        self.ecn = of_rates.iter().find(|(rate, _)| *rate == nic_rate).map(|(_, ecn)| *ecn);
        of_rates.retain(|(_, ecn)| Some(*ecn) != self.ecn);
        self.ecn_by_rate = of_rates;
        Ok(())
    }

    /// Converts a threshold of the simulator to xoff's queue lengths, which exclude the packet that is marked.
    fn counted(&self, config: &Config, threshold: Bytes) -> Bytes {
        match config.simulator {
            Simulator::Hpcc => threshold,
            Simulator::ConWeave => Bytes((threshold.0 + CONWEAVE_UNCOUNTED).min(u32::MAX.into())),
            Simulator::Ns3Datacenter if config.has_dialect => threshold,
            // This simulator marks incoming packets after it has counted them.
            Simulator::Ns3Datacenter => {
                Bytes(threshold.0.saturating_sub(self.payload + self.transport.data_headers()))
            }
        }
    }

    fn parallel_links(&mut self, topology: &Topology) {
        if let Some(line) = topology.parallel_at {
            let what = "a second link between two nodes";
            let place = Subject::for_file(topology.name(), Some(line), what);
            self.remarks.asked(&place, "the last of such links is used", "all are, by ECMP");
        }
    }

    fn errors(&mut self, config: &Config, topology: &Topology) -> Result<(), ScenarioError> {
        let of_all = match config.words("ERROR_RATE_PER_LINK").first() {
            Some(&word) => read_part(config.source(), word, "ERROR_RATE_PER_LINK")?,
            None => 0,
        };
        let of_link = |link: &Link| match link.error_trillionths {
            0 => of_all,
            own => own,
        };
        let rates: BTreeSet<u64> = topology.links.iter().map(of_link).collect();
        if config.has_dialect {
            // Each link with an own rate draws its own numbers, and the others share theirs.
            self.losses.push(("*".into(), of_all));
            for link in topology.links.iter().filter(|link| link.error_trillionths > 0) {
                let wires = topology.wire_names(link);
                self.losses.extend(wires.map(|wire| (wire, link.error_trillionths)));
            }
        } else if rates.len() == 1 {
            self.losses = rates.into_iter().map(|rate| ("*".into(), rate)).collect();
        } else {
            for link in &topology.links {
                let wires = topology.wire_names(link);
                self.losses.extend(wires.map(|wire| (wire, of_link(link))));
            }
        }
        self.losses.retain(|(_, rate)| *rate > 0);
        Ok(())
    }

    /// Checks `LB_MODE`: only per-flow ECMP is supported.
    fn load_balancing(&mut self, config: &Config) -> Result<(), ScenarioError> {
        let there = match config.whole("LB_MODE", 0)? {
            0 => return Ok(()),
            2 => "DRILL",
            3 => "CONGA",
            6 => "LetFlow",
            9 => "ConWeave",
            _ => {
                let word = config.word("LB_MODE")?;
                let title = format!("LB_MODE is `{}`", word.text);
                let help = "write 0 (ECMP), 2 (DRILL), 3 (CONGA), 6 (LetFlow) or 9 (ConWeave)";
                return Err(config.source().error(word.span(), &title, help));
            }
        };
        self.remarks.asked(config.place("LB_MODE"), there, "ECMP by flow (0)");
        Ok(())
    }

    fn monitor(&mut self, config: &Config) -> Result<(), ScenarioError> {
        if config.simulator != Simulator::Hpcc {
            return Ok(());
        }
        let start = config.whole("QLEN_MON_START", 2 * SECOND)?;
        let stop = config.whole("QLEN_MON_END", 2_100_000_000)?;
        let offset = self.time_offset.0;
        self.qlen_stop = Nanos(stop.saturating_sub(offset).min(LATEST));
        let skipped = offset.saturating_sub(start).next_multiple_of(SAMPLE_INTERVAL.0);
        self.qlen_start = Nanos(start.saturating_add(skipped).saturating_sub(offset).min(LATEST));
        if skipped > 0 {
            let what = format!("queues are empty before {offset} ns and are not counted there");
            self.remarks.note(config.place("QLEN_MON_START"), &what);
        }
        Ok(())
    }

    /// Adds differences that exist regardless of settings, if these files are affected by them.
    fn inherent(&mut self, config: &Config, topology: &Topology, flows: &Flows) {
        let (chance, marks) = (self.draws_marks(), self.marks_matter());
        let headers = self.transport.data_headers();
        let rests = flows.list.iter().map(|flow| flow.bytes % self.payload);
        let short = rests.filter(|&rest| rest > 0 && rest + headers < MIN_FRAME).count() > 0;
        let lossy = !self.losses.is_empty() || self.buffers.lossless.is_empty();
        let Self { remarks, transport, losses, paths, buffers, .. } = self;
        transport.compare_algorithm(topology.rates().into_iter(), remarks);
        if paths.several {
            remarks.inherent("ECMP", "a hash of addresses and ports", "another hash, other ports");
        }
        if chance || !losses.is_empty() {
            remarks.inherent("marks and losses by chance", "ns-3's draws", "xoff's draws");
        }
        if lossy {
            transport.compare_recovery(config.simulator, remarks);
        }
        let mut senders = BTreeSet::new();
        if flows.list.iter().any(|flow| !senders.insert(flow.source)) {
            let there = "take turns in the order of their start";
            remarks.inherent("flows of a host", there, "in the order in which they may send");
        }
        if short {
            remarks.inherent("short packets", "less than 60 B", "60 B");
        }
        remarks.inherent(
            "events of one instant",
            "in the order of their making",
            "by node and port",
        );
        buffers.compare(config, marks, remarks);
    }

    /// Returns true if packets are marked at random, and marks have an effect.
    pub(super) fn draws_marks(&self) -> bool {
        let by_rate = self.ecn_by_rate.iter().map(|(_, ecn)| ecn);
        let draws =
            |ecn: &Ecn| ecn.kmin < ecn.kmax && (1..1_000_000).contains(&ecn.pmax_millionths);
        self.marks_matter() && self.ecn.iter().chain(by_rate).any(draws)
    }

    /// Returns true if marks have an effect.
    fn marks_matter(&self) -> bool {
        let cares = matches!(self.transport.control, Control::Dcqcn(_) | Control::Dctcp { .. });
        cares && self.ecn.is_some()
    }
}

fn payload(config: &Config) -> Result<u64, ScenarioError> {
    const KEY: &str = "PACKET_PAYLOAD_SIZE";
    let payload = config.whole(KEY, 1000)?;
    if (1..=MAX_PAYLOAD.0).contains(&payload) {
        return Ok(payload);
    }
    let help = format!("xoff's packets carry from 1 to {} bytes", MAX_PAYLOAD.0);
    let span = config.word(KEY)?.span();
    Err(config.source().error(span, &format!("packets of {payload} bytes"), &help))
}

/// Returns the end of the simulation.
fn stop(config: &Config) -> Result<Nanos, ScenarioError> {
    let given = config.words(stop_key(config)).first().copied();
    let rounding = config.simulator.traits().rounding;
    let given = given.map(|word| seconds(config.source(), word, rounding)).transpose()?;
    Ok(match config.simulator {
        Simulator::ConWeave => Nanos(given.unwrap_or(Nanos(2_500_000_000)).0 + CONWEAVE_RUN_OUT.0),
        // 3.01 as a double.
        Simulator::Hpcc => given.unwrap_or(Nanos(3_009_999_999)),
        Simulator::Ns3Datacenter => given.unwrap_or(Nanos(3_010_000_000)),
    })
}

const fn stop_key(config: &Config) -> &'static str {
    match config.simulator {
        Simulator::ConWeave => "FLOWGEN_STOP_TIME",
        Simulator::Hpcc | Simulator::Ns3Datacenter => "SIMULATOR_STOP_TIME",
    }
}
