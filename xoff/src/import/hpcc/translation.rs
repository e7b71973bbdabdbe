//! What the simulator's settings are in xoff, and where xoff cannot follow.

use std::collections::BTreeSet;

use fabric_core::buffer::LARGEST_BUFFER;
use scenario::transport::MOST_STAGES;
use scenario::{LONGEST_DURATION, MAX_PAYLOAD, ScenarioError};
use units::{BitsPerSecond, Bytes, Nanos, Picos};
use workload::decimal;

use super::config::{Config, MAX_THRESHOLD_KILOBYTES, read_decimal};
use super::flows::{Flows, seconds};
use super::topology::{Link, Topology, read_probability};

/// Time between two samples of the simulator's queue monitor; no key sets it.
pub const SAMPLE_INTERVAL: Nanos = Nanos(100);
/// `LINK_DOWN` counts from here.
const LINK_DOWN_BASE: Nanos = Nanos(2_000_000_000);
const SECOND: u64 = 1_000_000_000;
/// The latest time of a scenario: what the simulator looks at afterwards, nobody has.
const LATEST: u64 = 86_400 * SECOND;
/// alpha is 2^-this at ports of the hosts' rate.
const ALPHA_SHIFT: u32 = 3;

/// What a scenario is written from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translation {
    /// The simulator's time at the scenario's start: whole seconds.
    pub time_offset: Nanos,
    /// The scenario's duration.
    pub duration: Nanos,
    /// DCQCN; none is senders at line rate.
    pub dcqcn: Option<Dcqcn>,
    /// Marking at ports of the hosts' rate; none marks nothing.
    pub ecn: Option<Ecn>,
    /// Marking at ports of other rates, where it is another.
    pub ecn_by_rate: Vec<(BitsPerSecond, Ecn)>,
    /// A switch's whole buffer, in MiB.
    pub buffer_mebibytes: u64,
    /// Payload of a full packet, bytes.
    pub payload: u64,
    /// alpha is 2^-this at ports of the hosts' rate.
    pub alpha_shift: u32,
    /// The same for ports of other rates, if it differs there.
    pub alpha_shift_by_rate: Vec<(BitsPerSecond, u32)>,
    /// Priorities of flows.
    pub lossless: BTreeSet<u8>,
    /// Priority of ACKs and CNPs.
    pub ack_priority: u8,
    /// Whether it goes ahead of the others.
    pub acks_first: bool,
    /// Wires that lose frames, with millionths.
    pub losses: Vec<(String, u32)>,
    /// Two nodes whose links are down from the start.
    pub failed_link: Option<(u32, u32)>,
    /// First sample of `qlen.txt`, in the scenario's time.
    pub qlen_start: Nanos,
    /// See `results.hpcc.qlen_stop`.
    pub qlen_stop: Nanos,
    /// What changes nothing that happens.
    pub notes: Vec<String>,
    /// What xoff does otherwise.
    pub differences: Vec<String>,
}

/// DCQCN's parameters, as texts of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dcqcn {
    /// `ALPHA_RESUME_INTERVAL`.
    pub alpha_update_interval: Picos,
    /// `RATE_DECREASE_INTERVAL`.
    pub rate_decrease_interval: Picos,
    /// `RP_TIMER`.
    pub rate_increase_timer: Picos,
    /// `EWMA_GAIN`, as a ratio.
    pub g: (u128, u128),
    /// `FAST_RECOVERY_TIMES`.
    pub fast_recovery_stages: u64,
    /// `RATE_AI`.
    pub additive_increase: BitsPerSecond,
    /// `RATE_HAI`.
    pub hyper_increase: BitsPerSecond,
    /// `MIN_RATE`.
    pub minimum_rate: BitsPerSecond,
}

/// Marking by queue length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ecn {
    /// Of `KMIN_MAP`.
    pub kmin: Bytes,
    /// Of `KMAX_MAP`.
    pub kmax: Bytes,
    /// Of `PMAX_MAP`.
    pub pmax_millionths: u32,
}

impl Translation {
    /// Goes through all settings.
    pub fn new(config: &Config, topology: &Topology, flows: &Flows) -> Result<Self, ScenarioError> {
        let first = flows.list[0].start;
        let time_offset = Nanos(first.0 / SECOND * SECOND);
        let stop = match config.words("SIMULATOR_STOP_TIME").first() {
            Some(&word) => seconds(config.source(), word)?,
            None => Nanos(3_010_000_000),
        };
        if stop <= first {
            let title = "the simulator stops before the first flow starts";
            let span = config.word("SIMULATOR_STOP_TIME")?.span();
            return Err(config.source().error(span, title, "write a later time"));
        }
        let mut translation = Self {
            time_offset,
            // Simulations end long before that, when their flows are done.
            duration: Nanos(stop.0 - time_offset.0).min(LONGEST_DURATION.to_nanos()),
            dcqcn: None,
            ecn: None,
            ecn_by_rate: Vec::new(),
            buffer_mebibytes: config.whole_up_to("BUFFER_SIZE", 16, LARGEST_BUFFER.0 >> 20)?,
            payload: payload(config)?,
            alpha_shift: ALPHA_SHIFT,
            alpha_shift_by_rate: Vec::new(),
            lossless: flows.list.iter().map(|flow| flow.group).collect(),
            ack_priority: 0,
            acks_first: config.flag("ACK_HIGH_PRIO", false)?,
            losses: Vec::new(),
            failed_link: None,
            qlen_start: Nanos(0),
            qlen_stop: Nanos(0),
            notes: Vec::new(),
            differences: Vec::new(),
        };
        translation.congestion_control(config)?;
        translation.transport(config)?;
        translation.priorities(config, flows);
        translation.marking(config, topology)?;
        translation.buffer(topology);
        translation.parallel_links(topology);
        translation.errors(config, topology)?;
        translation.link_down(config, topology, first)?;
        translation.monitor(config)?;
        translation.outputs(config)?;
        translation.unread(topology, flows);
        Ok(translation)
    }

    fn differs(&mut self, place: &str, how: &str) {
        self.differences.push(format!("{place}: {how}"));
    }

    fn note(&mut self, place: &str, what: &str) {
        self.notes.push(format!("{place}: {what}"));
    }

    fn congestion_control(&mut self, config: &Config) -> Result<(), ScenarioError> {
        let place = config.place("CC_MODE");
        let scheme = match config.whole("CC_MODE", 1)? {
            1 => None,
            3 => Some("HPCC"),
            7 => Some("TIMELY"),
            8 => Some("DCTCP"),
            10 => Some("HPCC-PINT"),
            _ => {
                self.note(&place, "no scheme of the simulator's: senders at line rate, here too");
                return Ok(());
            }
        };
        if let Some(scheme) = scheme {
            self.differs(&place, &format!("xoff has no {scheme}; DCQCN (1) takes its place"));
        }
        if !config.flag("RATE_BOUND", true)? {
            self.note(&config.place("RATE_BOUND"), "rates bind nobody: no congestion control");
            return Ok(());
        }
        if config.flag("CLAMP_TARGET_RATE", false)? {
            let how = "xoff keeps the target rate when cuts follow each other, as 0 does";
            self.differs(&config.place("CLAMP_TARGET_RATE"), how);
        }
        let gain = config.word("EWMA_GAIN")?;
        let value = read_decimal(config.source(), "EWMA_GAIN", gain)?;
        let divisor = greatest_common_divisor(value, decimal::ONE);
        let g = (value / divisor, decimal::ONE / divisor);
        if value == 0 || value > decimal::ONE || g.1 > u128::from(u32::MAX) {
            let title = format!("EWMA_GAIN is `{}`", gain.text);
            let help = "write a number above 0, up to 1, such as 0.00390625";
            return Err(config.source().error(gain.span(), &title, help));
        }
        self.dcqcn = Some(Dcqcn {
            alpha_update_interval: config.micros("ALPHA_RESUME_INTERVAL", Some(55))?,
            rate_decrease_interval: config.micros("RATE_DECREASE_INTERVAL", Some(4))?,
            rate_increase_timer: config.micros("RP_TIMER", None)?,
            g,
            fast_recovery_stages: config.whole_up_to(
                "FAST_RECOVERY_TIMES",
                5,
                MOST_STAGES.into(),
            )?,
            additive_increase: config.rate("RATE_AI", None)?,
            hyper_increase: config.rate("RATE_HAI", None)?,
            minimum_rate: config.rate("MIN_RATE", Some(BitsPerSecond(100_000_000)))?,
        });
        Ok(())
    }

    fn transport(&mut self, config: &Config) -> Result<(), ScenarioError> {
        if config.flag("HAS_WIN", true)? {
            self.differs(
                &config.place("HAS_WIN"),
                "xoff's senders have no window (the default is 1)",
            );
        }
        if config.flag("L2_BACK_TO_ZERO", false)? {
            let how = "xoff goes back to the lost packet (0), not to the start of its chunk";
            self.differs(&config.place("L2_BACK_TO_ZERO"), how);
        }
        // The simulator compares it with the bytes that have come: below a packet it means each one.
        match config.whole("L2_ACK_INTERVAL", 0)? {
            0 => {
                let how = "without ACKs no flow would complete; here each packet is acknowledged";
                self.differs(&config.place("L2_ACK_INTERVAL"), how);
            }
            interval if interval > self.payload => {
                let how = "it counts bytes: the first packets of a flow would have no ACK";
                self.differs(&config.place("L2_ACK_INTERVAL"), how);
            }
            _ => {}
        }
        if config.has("PAUSE_TIME")
            && read_decimal(config.source(), "PAUSE_TIME", config.word("PAUSE_TIME")?)?
                < decimal::ONE
        {
            self.differs(&config.place("PAUSE_TIME"), "it pauses nobody there; here PAUSE works");
        }
        if !config.flag("USE_DYNAMIC_PFC_THRESHOLD", true)? {
            let what = "the simulator reads it and has dynamic thresholds all the same";
            self.note(&config.place("USE_DYNAMIC_PFC_THRESHOLD"), what);
        }
        Ok(())
    }

    fn priorities(&mut self, config: &Config, flows: &Flows) {
        let groups: Vec<String> = self.lossless.iter().map(u8::to_string).collect();
        let place = format!("{}: priority groups {}", flows.name(), groups.join(", "));
        if groups.len() > 1 {
            let how = "xoff reserves headroom and private buffer for each, and gives all ACKs one";
            self.differs(&place, how);
        }
        if self.lossless.contains(&0) {
            self.differs(
                &place,
                "in the simulator group 0 takes no buffer; here it is like the others",
            );
        }
        let unused = (0..8).rev().find(|priority| !self.lossless.contains(priority));
        let data = *self.lossless.first().expect("there are flows");
        self.ack_priority = if self.acks_first { unused.unwrap_or(7) } else { data };
        if self.acks_first {
            let what = "ACKs and CNPs go ahead at switches, too, where the simulator queues them with \
                        data";
            self.note(&config.place("ACK_HIGH_PRIO"), what);
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
            if ecn.kmin > ecn.kmax {
                let title = format!("kmin of {} bit/s is above kmax", rate.0);
                return Err(source.error(kmin.span(), &title, "kmin is the smaller one"));
            }
            of_rates.push((rate, ecn));
        }
        self.ecn = of_rates.iter().find(|(rate, _)| *rate == nic_rate).map(|(_, ecn)| *ecn);
        of_rates.retain(|(_, ecn)| Some(*ecn) != self.ecn);
        self.ecn_by_rate = of_rates;
        Ok(())
    }

    fn buffer(&mut self, topology: &Topology) {
        let nic_rate = topology.nic_rate();
        let shifts = topology.rates().into_iter().map(|rate| (rate, shift(rate, nic_rate)));
        self.alpha_shift_by_rate = shifts.filter(|(_, shift)| *shift != ALPHA_SHIFT).collect();
    }

    fn parallel_links(&mut self, topology: &Topology) {
        if let Some(line) = topology.parallel_at {
            let how = "a second link between two nodes: the simulator sends over the last of such links only, \
                       xoff over all of them";
            self.differs(&format!("{}:{line}", topology.name()), how);
        }
    }

    fn errors(&mut self, config: &Config, topology: &Topology) -> Result<(), ScenarioError> {
        let of_all = match config.words("ERROR_RATE_PER_LINK").first() {
            Some(&word) => read_probability(config.source(), word, "ERROR_RATE_PER_LINK")?,
            None => 0,
        };
        let of_link = |link: &Link| match link.error_millionths {
            0 => of_all,
            own => own,
        };
        let rates: BTreeSet<u32> = topology.links.iter().map(of_link).collect();
        if rates.len() == 1 {
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

    fn link_down(
        &mut self,
        config: &Config,
        topology: &Topology,
        first: Nanos,
    ) -> Result<(), ScenarioError> {
        let words = config.words("LINK_DOWN");
        let &[time, a, b] = words.as_slice() else { return Ok(()) };
        let source = config.source();
        let number = |word| source.number(word, "LINK_DOWN", u32::MAX);
        let (micros, from, to) = (number(time)?, number(a)?, number(b)?);
        if micros == 0 {
            return Ok(());
        }
        if topology.links_between(from, to) == 0 {
            let title = format!("no link joins the nodes {from} and {to}");
            let help = "name the two ends of a link; 0 0 0 takes none down";
            return Err(source.error(a.span().start..b.span().end, &title, help));
        }
        let place = config.place("LINK_DOWN");
        let at = Nanos(LINK_DOWN_BASE.0 + u64::from(micros) * 1000);
        if at.0 >= self.time_offset.0 + self.duration.0 {
            self.note(&place, "the simulator stops before that");
        } else if at < first && topology.is_switch(from) && topology.is_switch(to) {
            self.failed_link = Some((from, to));
            self.note(&place, "before the first flow: the link is down from the start");
        } else {
            self.differs(&place, "xoff takes no link down while flows run: it stays up");
        }
        Ok(())
    }

    fn monitor(&mut self, config: &Config) -> Result<(), ScenarioError> {
        let start = config.whole("QLEN_MON_START", 2 * SECOND)?;
        let stop = config.whole("QLEN_MON_END", 2_100_000_000)?;
        let offset = self.time_offset.0;
        self.qlen_stop = Nanos(stop.saturating_sub(offset).min(LATEST));
        let skipped = offset.saturating_sub(start).next_multiple_of(SAMPLE_INTERVAL.0);
        self.qlen_start = Nanos(start.saturating_add(skipped).saturating_sub(offset).min(LATEST));
        if skipped > 0 {
            let what = format!("queues are empty before {offset} ns and are not counted there");
            self.note(&config.place("QLEN_MON_START"), &what);
        }
        Ok(())
    }

    fn outputs(&mut self, config: &Config) -> Result<(), ScenarioError> {
        for (key, file) in [
            ("FCT_OUTPUT_FILE", "fct.txt"),
            ("PFC_OUTPUT_FILE", "pfc.txt"),
            ("QLEN_MON_FILE", "qlen.txt"),
        ] {
            if config.has(key) {
                self.note(&config.place(key), &format!("it is {file} in the results folder"));
            }
        }
        if config.has("TRACE_FILE") && config.flag("ENABLE_TRACE", true)? {
            let what = "no packet trace (.tr) is written; [[captures]] records frames";
            self.note(&config.place("TRACE_FILE"), what);
        }
        Ok(())
    }

    fn unread(&mut self, topology: &Topology, flows: &Flows) {
        for (name, line) in
            [(topology.name(), topology.unread_from), (flows.name(), flows.unread_from)]
        {
            if let Some(line) = line {
                let what = "from here on the header counts nothing, and nothing is read";
                self.notes.push(format!("{name}:{line}: {what}"));
            }
        }
        let stop = self.time_offset.0 + self.duration.0;
        let late = flows.list.iter().filter(|flow| flow.start.0 >= stop).count();
        if late > 0 {
            let what = format!("{late} flows would start when the simulator has stopped: left out");
            self.note(flows.name(), &what);
        }
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

/// The exponent of a port's alpha: one less for each doubling above the hosts' rate.
fn shift(rate: BitsPerSecond, nic_rate: BitsPerSecond) -> u32 {
    let (mut rate, mut shift) = (rate.0, ALPHA_SHIFT);
    while rate > nic_rate.0 && shift > 0 {
        shift -= 1;
        rate /= 2;
    }
    shift
}

fn greatest_common_divisor(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
