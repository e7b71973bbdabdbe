//! What carries the simulator's flows: who sets senders' rates, and windows.

use scenario::ScenarioError;
use scenario::quantity::display;
use scenario::transport::MOST_STAGES;
use units::{BitsPerSecond, Bytes, Nanos, Picos};
use workload::decimal;

use super::config::{Config, read_decimal};
use super::paths::Base;
use super::simulator::Simulator;
use super::topology::read_probability;
use crate::import::Remarks;

/// By how much ns3-datacenter's `PowerTCP` increases rates; no key sets it.
const POWERTCP_INCREASE: BitsPerSecond = BitsPerSecond(150_000_000);
/// `L2Timeout` of `ConWeave`'s simulator; no key sets it, nor those of IRN.
const CONWEAVE_TIMEOUT: Nanos = Nanos(4_000_000);
const IRN_RTO_HIGH: Nanos = Nanos(320_000);
const IRN_RTO_LOW: Nanos = Nanos(100_000);
/// `IRN_RTO_LOW` holds with fewer packets in flight: up to four are not more than three after the first.
const IRN_FEW_PACKETS: u32 = 5;

/// Stamps for which packets have room.
pub const STAMPS: u64 = 5;

/// What carries all flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transport {
    /// Who sets senders' rates.
    pub control: Control,
    /// Whether flows have windows beside it, and whether these shrink with the rate.
    pub window: Option<bool>,
    /// Whether each flow has the base of its own path, or all have the largest.
    pub by_path: bool,
    /// How losses are repaired.
    pub recovery: Recovery,
    /// Whose it is.
    pub simulator: Simulator,
}

/// How losses are repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Go-back-N, without a timer.
    Nak,
    /// Go-back-N with the timer of `ConWeave`'s simulator.
    Timed,
    /// IRN; with PFC its timers have no effect.
    Irn {
        /// Whether they have one.
        timers: bool,
    },
}

/// Who sets senders' rates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// Nobody.
    None,
    /// DCQCN.
    Dcqcn(Dcqcn),
    /// HPCC.
    Hpcc(Hpcc),
    /// TIMELY.
    Timely {
        /// `RATE_AI`.
        additive_increase: BitsPerSecond,
        /// `RATE_HAI`.
        hyper_increase: BitsPerSecond,
        /// `MIN_RATE`.
        minimum_rate: BitsPerSecond,
    },
    /// `PowerTCP`, or theta-PowerTCP.
    PowerTcp {
        /// Whether it is the latter.
        theta: bool,
        /// `U_TARGET`.
        utilisation_millionths: u32,
        /// `MIN_RATE`.
        minimum_rate: BitsPerSecond,
    },
    /// DCTCP.
    Dctcp {
        /// `EWMA_GAIN`, as a ratio.
        g: (u128, u128),
        /// `DCTCP_RATE_AI`.
        additive_increase: BitsPerSecond,
        /// `MIN_RATE`.
        minimum_rate: BitsPerSecond,
    },
}

/// DCQCN's parameters.
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
    /// `CLAMP_TARGET_RATE`.
    pub clamp_target_rate: bool,
}

/// HPCC's parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hpcc {
    /// `U_TARGET`.
    pub utilisation_millionths: u32,
    /// `MI_THRESH`.
    pub max_stage: u64,
    /// `FAST_REACT`.
    pub fast_reaction: bool,
    /// `INT_MULTI`: by how much the steps of stamps are coarser than 128 B and 80 B.
    pub stamp_multiple: u64,
    /// `RATE_AI`.
    pub additive_increase: BitsPerSecond,
    /// `MIN_RATE`.
    pub minimum_rate: BitsPerSecond,
}

impl Transport {
    /// What the config asks for.
    pub fn of(config: &Config, remarks: &mut Remarks) -> Result<Self, ScenarioError> {
        let has_window = match config.simulator {
            Simulator::Ns3Datacenter => config.arguments.window_check,
            Simulator::Hpcc | Simulator::ConWeave => config.flag("HAS_WIN", true)?,
        };
        let scales = config.flag("VAR_WIN", false)?;
        if config.simulator == Simulator::Ns3Datacenter && has_window && !scales {
            let what =
                "taken; powertcp-evaluation-burst has 1 in its place, the other program does not";
            remarks.note(&config.place("VAR_WIN"), what);
        }
        let transport = Self {
            control: control(config, remarks)?,
            window: has_window.then_some(scales),
            by_path: !config.flag("GLOBAL_T", true)?,
            recovery: recovery(config)?,
            simulator: config.simulator,
        };
        transport.compare_windows(config, remarks);
        Ok(transport)
    }

    /// Whether its keys depend on a base round-trip time.
    pub fn needs_base(&self) -> bool {
        self.window.is_some() || self.owns_window() || self.is_irn()
    }

    /// Whether xoff's algorithm has a window of its own.
    const fn owns_window(&self) -> bool {
        matches!(self.control, Control::Hpcc(_) | Control::Dctcp { .. } | Control::PowerTcp { .. })
    }

    const fn is_irn(&self) -> bool {
        matches!(self.recovery, Recovery::Irn { .. })
    }

    /// The timer that holds in most cases; `None` if there is none.
    pub const fn timeout(&self) -> Option<Nanos> {
        match self.recovery {
            Recovery::Nak | Recovery::Irn { timers: false } => None,
            Recovery::Timed => Some(CONWEAVE_TIMEOUT),
            Recovery::Irn { timers: true } => Some(IRN_RTO_HIGH),
        }
    }

    /// The simulator's headers of a packet: PPP 14, IPv4 20, UDP 8, its own 6, and telemetry.
    pub fn data_headers(&self) -> u64 {
        14 + 20 + 8 + 6 + self.telemetry_bytes()
    }

    /// An ACK there: PPP 14, IPv4 20, its own header and telemetry, these two at least 26 with padding.
    pub fn ack_length(&self) -> u64 {
        14 + 20 + (self.simulator.traits().ack_header + self.telemetry_bytes()).max(26)
    }

    /// Bytes that packets and ACKs have for the control's sake: stamps of five links, or a time.
    fn telemetry_bytes(&self) -> u64 {
        match self.control {
            Control::Hpcc(_) | Control::PowerTcp { .. } => STAMPS * 8 + 2,
            Control::Timely { .. } => 8,
            Control::None | Control::Dcqcn(_) | Control::Dctcp { .. } => 0,
        }
    }

    /// Where xoff's algorithm is in terms of a window, the simulator has a rate, and a window beside it.
    fn compare_windows(&self, config: &Config, remarks: &mut Remarks) {
        let (name, of_none) = match self.control {
            Control::Hpcc(_) => ("HPCC", "queues are divided by a window of zero"),
            Control::Dctcp { .. } => ("DCTCP", "no window"),
            Control::PowerTcp { theta: false, .. } => ("PowerTCP", "no window"),
            Control::PowerTcp { theta: true, .. } => ("theta-PowerTCP", "no window"),
            _ => return,
        };
        let here = format!("{name}'s window, which follows its rate");
        match self.window {
            None if self.simulator == Simulator::Ns3Datacenter => {
                remarks.asked("--argument windowCheck=false", of_none, &here);
            }
            None => remarks.asked(&config.place("HAS_WIN"), of_none, &here),
            Some(false) => remarks.asked(&config.place("VAR_WIN"), "a window of one size", &here),
            Some(true) => {}
        }
    }

    /// Says what its algorithm does otherwise where `rates` are those of all links.
    pub fn compare_algorithm(
        &self,
        mut rates: impl Iterator<Item = BitsPerSecond>,
        remarks: &mut Remarks,
    ) {
        match self.control {
            Control::None | Control::Timely { .. } | Control::Dcqcn(_) => {}
            Control::Dctcp { .. } => {
                remarks.inherent("DCTCP", "a rate in bit/s", "a window in bytes");
                let there = "marked ACKs / (packets under way + 1)";
                remarks.inherent("DCTCP: marked part", there, "marked bytes / bytes");
            }
            Control::Hpcc(_) => {
                remarks.inherent("HPCC", "a rate in bit/s", "a window in bytes");
                let there = "the start of the next packet moves";
                remarks.inherent("HPCC: a new rate", there, "it holds from the next packet on");
                self.compare_stamps("HPCC", &mut rates, remarks);
            }
            Control::PowerTcp { theta: false, .. } => {
                remarks.inherent("PowerTCP", "a rate in bit/s", "a window in bytes");
                let there = "the start of the next packet moves";
                remarks.inherent("PowerTCP: a new rate", there, "it holds from the next packet on");
                remarks.inherent("PowerTCP: current", "as it is", "at least half of a full link's");
                let there = "of the rate that the round trip began with";
                remarks.inherent("PowerTCP: what 1 - gamma keeps", there, "of the last window");
                self.compare_stamps("PowerTCP", &mut rates, remarks);
            }
            Control::PowerTcp { theta: true, .. } => {
                remarks.inherent("theta-PowerTCP", "a rate in bit/s", "a window in bytes");
                let there = "power is measured at each ACK";
                remarks.inherent("theta-PowerTCP", there, "once a round trip");
                let there = "1.05 times the least round trip so far";
                remarks.inherent("theta-PowerTCP: base RTT", there, "that of the idle path");
                let there = "of the rate that the round trip began with";
                remarks.inherent(
                    "theta-PowerTCP: what 1 - gamma keeps",
                    there,
                    "of the last window",
                );
            }
        }
    }

    fn compare_stamps(
        &self,
        name: &str,
        rates: &mut impl Iterator<Item = BitsPerSecond>,
        remarks: &mut Remarks,
    ) {
        let stamped = self.simulator.traits().stamped_gigabits;
        let told = |rate: &BitsPerSecond| {
            stamped.iter().any(|gigabits| rate.0 == gigabits * 1_000_000_000)
        };
        if let Some(rate) = rates.find(|rate| !told(rate)) {
            let there = format!("none tells links of {}", display(rate));
            remarks.inherent(&format!("{name}: stamps"), &there, "the nearest rate");
        }
    }

    /// Says what it does otherwise where packets may be lost.
    pub fn compare_recovery(&self, simulator: Simulator, remarks: &mut Remarks) {
        let again = format!("again after {}", simulator.traits().nak_again);
        match self.recovery {
            Recovery::Nak => remarks.inherent("NAK of a loss", &again, "once"),
            Recovery::Timed => {
                let there = format!("{again}, and notifies congestion");
                remarks.inherent("NAK of a loss", &there, "once, and does not");
                let there = "starts anew with each packet and ACK";
                remarks.inherent("retransmission timer", there, "starts anew with progress");
            }
            Recovery::Irn { .. } => {
                let there = "sends from the lost packet on all that has not come in order";
                remarks.inherent(
                    "NAK of a loss (IRN)",
                    there,
                    "sends what has not come before the one that has",
                );
                let there = format!("{again}, and notifies congestion");
                remarks.inherent("NAK of a packet (IRN)", &there, "each time, and does not");
                let there = "starts anew with each packet and ACK";
                remarks.inherent("retransmission timer", there, "starts anew with progress");
            }
        }
    }

    /// The keys of a table of a transport; `table` is its name. `largest` is the base of all flows.
    pub fn write(
        &self,
        toml: &mut String,
        table: &str,
        base: Base,
        largest: Base,
    ) -> std::fmt::Result {
        use std::fmt::Write;
        writeln!(toml, "[{table}]\nkind = \"roce-rc\"\nwindow_overrun = true")?;
        if let Recovery::Irn { timers } = self.recovery {
            writeln!(toml, "reliability = \"selective-repeat\"")?;
            let few = if timers { IRN_FEW_PACKETS } else { 0 };
            let low = display(Picos::from_nanos(IRN_RTO_LOW));
            writeln!(toml, "rto_low = \"{low}\"\nrto_low_packets = {few}")?;
        }
        if self.needs_base() {
            writeln!(
                toml,
                "base_rtt = \"{}\"",
                display(Picos::from_nanos(base.rtt.max(Nanos(1))))
            )?;
        }
        // A window of zero is none there. IRN's is that of the longest path.
        let (scales, bytes) = match self.window.filter(|_| !self.owns_window()) {
            Some(scales) => (Some(scales), base.bdp),
            None => ((self.is_irn() && !self.owns_window()).then_some(false), largest.bdp),
        };
        if let Some(scales) = scales.filter(|_| bytes > Bytes(0)) {
            let window = match self.simulator {
                // The sender's own rate counts there.
                Simulator::Ns3Datacenter => "bdp".to_owned(),
                Simulator::Hpcc | Simulator::ConWeave => display(bytes),
            };
            writeln!(toml, "window = \"{window}\"\nwindow_scales = {scales}")?;
        }
        let in_base = |rate: BitsPerSecond| {
            let bytes = u128::from(rate.0) * u128::from(base.rtt.0) + 4_000_000_000;
            display(Bytes(u64::try_from(bytes / 8_000_000_000).unwrap_or(u64::MAX).max(1)))
        };
        let name = match self.control {
            Control::None => return writeln!(toml, "congestion_control = \"none\"\n"),
            Control::Dcqcn(_) => "dcqcn",
            Control::Hpcc(_) => "hpcc",
            Control::Timely { .. } => "timely",
            Control::Dctcp { .. } => "dctcp",
            Control::PowerTcp { theta: false, .. } => "powertcp",
            Control::PowerTcp { theta: true, .. } => "theta-powertcp",
        };
        writeln!(toml, "congestion_control = \"{name}\"\n\n[{table}.{}]", name.replace('-', "_"))?;
        match &self.control {
            Control::None => {}
            Control::Dcqcn(dcqcn) => dcqcn.write(toml)?,
            Control::Hpcc(hpcc) => {
                writeln!(toml, "utilisation = {:?}", f64::from(hpcc.utilisation_millionths) / 1e6)?;
                writeln!(toml, "max_stage = {}", hpcc.max_stage)?;
                writeln!(toml, "fast_reaction = {}", hpcc.fast_reaction)?;
                writeln!(toml, "additive_increase = \"{}\"", in_base(hpcc.additive_increase))?;
                writeln!(toml, "minimum_rate = \"{}\"", display(hpcc.minimum_rate))?;
            }
            Control::PowerTcp { theta, utilisation_millionths, minimum_rate } => {
                writeln!(toml, "gain = {}", if *theta { "0.7" } else { "0.9" })?;
                if !theta {
                    writeln!(toml, "utilisation = {:?}", f64::from(*utilisation_millionths) / 1e6)?;
                }
                writeln!(toml, "additive_increase = \"{}\"", in_base(POWERTCP_INCREASE))?;
                writeln!(toml, "minimum_rate = \"{}\"", display(*minimum_rate))?;
            }
            Control::Timely { additive_increase, hyper_increase, minimum_rate } => {
                writeln!(toml, "additive_increase = \"{}\"", display(*additive_increase))?;
                writeln!(toml, "hyper_increase = \"{}\"", display(*hyper_increase))?;
                writeln!(toml, "minimum_rate = \"{}\"", display(*minimum_rate))?;
            }
            Control::Dctcp { g, additive_increase, minimum_rate } => {
                writeln!(toml, "g = \"{}/{}\"", g.0, g.1)?;
                writeln!(toml, "additive_increase = \"{}\"", in_base(*additive_increase))?;
                writeln!(toml, "minimum_window = \"{}\"", in_base(*minimum_rate))?;
            }
        }
        writeln!(toml)
    }
}

impl Dcqcn {
    fn write(&self, toml: &mut String) -> std::fmt::Result {
        use std::fmt::Write;
        writeln!(toml, "profile = \"hpcc\"\nnotification = \"ack\"")?;
        for (key, time) in [
            ("alpha_update_interval", self.alpha_update_interval),
            ("rate_decrease_interval", self.rate_decrease_interval),
            ("rate_increase_timer", self.rate_increase_timer),
        ] {
            writeln!(toml, "{key} = \"{}\"", display(time))?;
        }
        writeln!(toml, "g = \"{}/{}\"", self.g.0, self.g.1)?;
        writeln!(toml, "fast_recovery_stages = {}", self.fast_recovery_stages)?;
        for (key, rate) in [
            ("additive_increase", self.additive_increase),
            ("hyper_increase", self.hyper_increase),
            ("minimum_rate", self.minimum_rate),
        ] {
            writeln!(toml, "{key} = \"{}\"", display(rate))?;
        }
        writeln!(toml, "clamp_target_rate = {}", self.clamp_target_rate)
    }
}

fn recovery(config: &Config) -> Result<Recovery, ScenarioError> {
    if config.simulator != Simulator::ConWeave {
        return Ok(Recovery::Nak);
    }
    Ok(if config.flag("ENABLE_IRN", false)? {
        Recovery::Irn { timers: !config.flag("ENABLE_PFC", true)? }
    } else {
        Recovery::Timed
    })
}

fn control(config: &Config, remarks: &mut Remarks) -> Result<Control, ScenarioError> {
    let (mode, place) = match config.simulator {
        Simulator::Ns3Datacenter => {
            let mode = config.arguments.algorithm;
            (mode, format!("--argument algorithm={mode}"))
        }
        Simulator::Hpcc | Simulator::ConWeave => {
            (config.whole("CC_MODE", 1)?, config.place("CC_MODE"))
        }
    };
    let has_pint = config.simulator != Simulator::ConWeave;
    if !matches!(mode, 1 | 3 | 7 | 8) && !(mode == 10 && has_pint) {
        remarks.note(&place, "no scheme of the simulator's: senders at line rate, here too");
        return Ok(Control::None);
    }
    if mode == 10 {
        remarks.asked(&place, "HPCC-PINT", "HPCC (3)");
    }
    if !config.flag("RATE_BOUND", true)? {
        let place = config.place("RATE_BOUND");
        let has_window = match config.simulator {
            Simulator::Ns3Datacenter => config.arguments.window_check,
            Simulator::Hpcc | Simulator::ConWeave => config.flag("HAS_WIN", true)?,
        };
        if has_window {
            remarks.asked(
                &place,
                "rates change windows and pace nothing",
                "they pace packets, too",
            );
        } else {
            remarks.note(&place, "rates bind nobody: no congestion control");
            return Ok(Control::None);
        }
    }
    let minimum_rate = config.rate("MIN_RATE", Some(BitsPerSecond(100_000_000)))?;
    let is_conweave = config.simulator == Simulator::ConWeave;
    Ok(match mode {
        3 if config.simulator == Simulator::Ns3Datacenter && config.arguments.wien => {
            powertcp(config, minimum_rate, remarks)?
        }
        1 => Control::Dcqcn(Dcqcn {
            alpha_update_interval: config.micros("ALPHA_RESUME_INTERVAL", Some(55))?,
            rate_decrease_interval: config.micros("RATE_DECREASE_INTERVAL", Some(4))?,
            rate_increase_timer: config.micros("RP_TIMER", is_conweave.then_some(300))?,
            g: gain(config)?,
            fast_recovery_stages: config.whole_up_to(
                "FAST_RECOVERY_TIMES",
                if is_conweave { 1 } else { 5 },
                MOST_STAGES.into(),
            )?,
            additive_increase: config.rate("RATE_AI", None)?,
            hyper_increase: config.rate("RATE_HAI", None)?,
            minimum_rate,
            clamp_target_rate: config.flag("CLAMP_TARGET_RATE", false)?,
        }),
        7 => Control::Timely {
            additive_increase: config.rate("RATE_AI", None)?,
            hyper_increase: config.rate("RATE_HAI", None)?,
            minimum_rate,
        },
        8 => Control::Dctcp {
            g: gain(config)?,
            additive_increase: config.rate("DCTCP_RATE_AI", Some(BitsPerSecond(1_000_000_000)))?,
            minimum_rate,
        },
        _ => Control::Hpcc(hpcc(config, minimum_rate, remarks)?),
    })
}

fn hpcc(
    config: &Config,
    minimum_rate: BitsPerSecond,
    remarks: &mut Remarks,
) -> Result<Hpcc, ScenarioError> {
    if config.flag("MULTI_RATE", true)? {
        let here = "one of all links, as with 0";
        remarks.asked(&config.place("MULTI_RATE"), "a rate for each link of the path", here);
    }
    if config.flag("SAMPLE_FEEDBACK", false)? {
        let (there, here) =
            ("links without a queue count once a round trip", "each time, as with 0");
        remarks.asked(&config.place("SAMPLE_FEEDBACK"), there, here);
    }
    Ok(Hpcc {
        utilisation_millionths: utilisation(config)?,
        max_stage: config.whole_up_to("MI_THRESH", 5, u32::MAX.into())?,
        fast_reaction: config.flag("FAST_REACT", true)?,
        stamp_multiple: stamp_multiple(config)?,
        additive_increase: config.rate("RATE_AI", None)?,
        minimum_rate,
    })
}

/// `PowerTCP` of ns3-datacenter, in which neither `RATE_AI` nor `MI_THRESH` has a part.
fn powertcp(
    config: &Config,
    minimum_rate: BitsPerSecond,
    remarks: &mut Remarks,
) -> Result<Control, ScenarioError> {
    if !config.flag("FAST_REACT", true)? {
        let there = "a new rate once a round trip";
        remarks.asked(&config.place("FAST_REACT"), there, "at each ACK, as with 1");
    }
    if config.flag("SAMPLE_FEEDBACK", false)? {
        let (there, here) =
            ("links without a queue count once a round trip", "each time, as with 0");
        remarks.asked(&config.place("SAMPLE_FEEDBACK"), there, here);
    }
    let theta = config.arguments.delay_wien;
    Ok(Control::PowerTcp {
        theta,
        utilisation_millionths: if theta { 1_000_000 } else { utilisation(config)? },
        minimum_rate,
    })
}

/// `U_TARGET` in millionths, above zero.
fn utilisation(config: &Config) -> Result<u32, ScenarioError> {
    let Some(&word) = config.words("U_TARGET").first() else { return Ok(950_000) };
    match read_probability(config.source(), word, "U_TARGET")? {
        0 => {
            let help = "write the part of a link's rate that is aimed at, such as 0.95";
            Err(config.source().error(word.span(), "U_TARGET is 0", help))
        }
        millionths => Ok(millionths),
    }
}

/// `INT_MULTI`, of which the simulator reads the whole part.
fn stamp_multiple(config: &Config) -> Result<u64, ScenarioError> {
    const MOST: u128 = 1 << 20;
    let Some(&word) = config.words("INT_MULTI").first() else { return Ok(1) };
    let multiple = read_decimal(config.source(), "INT_MULTI", word)? / decimal::ONE;
    match u64::try_from(multiple) {
        Ok(number) if (1..=MOST).contains(&multiple) => Ok(number),
        _ => {
            let title = format!("INT_MULTI is `{}`", word.text);
            let help = format!("write a number from 1 to {MOST}");
            Err(config.source().error(word.span(), &title, &help))
        }
    }
}

/// `EWMA_GAIN` as a ratio.
fn gain(config: &Config) -> Result<(u128, u128), ScenarioError> {
    let gain = config.word("EWMA_GAIN")?;
    let value = read_decimal(config.source(), "EWMA_GAIN", gain)?;
    let divisor = greatest_common_divisor(value, decimal::ONE);
    let g = (value / divisor, decimal::ONE / divisor);
    if value == 0 || value > decimal::ONE || g.1 > u128::from(u32::MAX) {
        let title = format!("EWMA_GAIN is `{}`", gain.text);
        let help = "write a number above 0, up to 1, such as 0.00390625";
        return Err(config.source().error(gain.span(), &title, help));
    }
    Ok(g)
}

fn greatest_common_divisor(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
