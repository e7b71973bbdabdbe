//! What carries the simulator's flows: who sets senders' rates, and windows.

use scenario::ScenarioError;
use scenario::quantity::display;
use scenario::transport::MOST_STAGES;
use units::{BitsPerSecond, Bytes, Nanos, Picos};
use workload::decimal;

use super::config::{Config, read_decimal};
use super::paths::Base;
use super::topology::read_probability;
use crate::import::Remarks;

/// Rates of links that stamps of the simulator can tell, Gbit/s.
const STAMPED_RATES: [u64; 5] = [25, 50, 100, 200, 400];

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
        let has_window = config.flag("HAS_WIN", true)?;
        let scales = config.flag("VAR_WIN", false)?;
        let transport = Self {
            control: control(config, remarks)?,
            window: has_window.then_some(scales),
            by_path: !config.flag("GLOBAL_T", true)?,
        };
        transport.compare_windows(config, remarks);
        Ok(transport)
    }

    /// Whether its keys depend on a base round-trip time.
    pub fn needs_base(&self) -> bool {
        self.window.is_some() || matches!(self.control, Control::Hpcc(_) | Control::Dctcp { .. })
    }

    /// The simulator's headers of a packet: PPP 14, IPv4 20, UDP 8, its own 6, and telemetry.
    pub fn data_headers(&self) -> u64 {
        14 + 20 + 8 + 6 + self.telemetry_bytes()
    }

    /// An ACK there: PPP 14, IPv4 20, its own 12 and telemetry, these two at least 26 with padding.
    pub fn ack_length(&self) -> u64 {
        14 + 20 + (12 + self.telemetry_bytes()).max(26)
    }

    /// Bytes that packets and ACKs have for the control's sake: stamps of five links, or a time.
    fn telemetry_bytes(&self) -> u64 {
        match self.control {
            Control::Hpcc(_) => STAMPS * 8 + 2,
            Control::Timely { .. } => 8,
            Control::None | Control::Dcqcn(_) | Control::Dctcp { .. } => 0,
        }
    }

    /// Where xoff's algorithm is in terms of a window, the simulator has a rate, and a window beside it.
    fn compare_windows(&self, config: &Config, remarks: &mut Remarks) {
        let (name, of_none) = match self.control {
            Control::Hpcc(_) => ("HPCC", "queues are divided by a window of zero"),
            Control::Dctcp { .. } => ("DCTCP", "no window"),
            _ => return,
        };
        let here = format!("{name}'s window, which follows its rate");
        match self.window {
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
                let told = |rate: &BitsPerSecond| {
                    STAMPED_RATES.iter().any(|gigabits| rate.0 == gigabits * 1_000_000_000)
                };
                if let Some(rate) = rates.find(|rate| !told(rate)) {
                    let there = format!("none tells links of {}", display(rate));
                    remarks.inherent("HPCC: stamps", &there, "the nearest rate");
                }
            }
        }
    }

    /// The keys of a table of a transport; `table` is its name.
    pub fn write(&self, toml: &mut String, table: &str, base: Base) -> std::fmt::Result {
        use std::fmt::Write;
        writeln!(toml, "[{table}]\nkind = \"roce-rc\"\nwindow_overrun = true")?;
        if self.needs_base() {
            writeln!(
                toml,
                "base_rtt = \"{}\"",
                display(Picos::from_nanos(base.rtt.max(Nanos(1))))
            )?;
        }
        // HPCC's and DCTCP's own windows are this one.
        let own = matches!(self.control, Control::Hpcc(_) | Control::Dctcp { .. });
        // A window of zero is none there.
        if let Some(scales) = self.window.filter(|_| !own && base.bdp > Bytes(0)) {
            writeln!(toml, "window = \"{}\"\nwindow_scales = {scales}", display(base.bdp))?;
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
        };
        writeln!(toml, "congestion_control = \"{name}\"\n\n[{table}.{name}]")?;
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

fn control(config: &Config, remarks: &mut Remarks) -> Result<Control, ScenarioError> {
    let mode = config.whole("CC_MODE", 1)?;
    let place = config.place("CC_MODE");
    if !matches!(mode, 1 | 3 | 7 | 8 | 10) {
        remarks.note(&place, "no scheme of the simulator's: senders at line rate, here too");
        return Ok(Control::None);
    }
    if mode == 10 {
        remarks.asked(&place, "HPCC-PINT", "HPCC (3)");
    }
    if !config.flag("RATE_BOUND", true)? {
        let place = config.place("RATE_BOUND");
        if config.flag("HAS_WIN", true)? {
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
    Ok(match mode {
        1 => Control::Dcqcn(Dcqcn {
            alpha_update_interval: config.micros("ALPHA_RESUME_INTERVAL", Some(55))?,
            rate_decrease_interval: config.micros("RATE_DECREASE_INTERVAL", Some(4))?,
            rate_increase_timer: config.micros("RP_TIMER", None)?,
            g: gain(config)?,
            fast_recovery_stages: config.whole_up_to(
                "FAST_RECOVERY_TIMES",
                5,
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
    let utilisation_millionths = match config.words("U_TARGET").first() {
        None => 950_000,
        Some(&word) => match read_probability(config.source(), word, "U_TARGET")? {
            0 => {
                let help = "write the part of a link's rate that is aimed at, such as 0.95";
                return Err(config.source().error(word.span(), "U_TARGET is 0", help));
            }
            millionths => millionths,
        },
    };
    Ok(Hpcc {
        utilisation_millionths,
        max_stage: config.whole_up_to("MI_THRESH", 5, u32::MAX.into())?,
        fast_reaction: config.flag("FAST_REACT", true)?,
        stamp_multiple: stamp_multiple(config)?,
        additive_increase: config.rate("RATE_AI", None)?,
        minimum_rate,
    })
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
