//! Congestion control of the simulator's senders.

use scenario::ScenarioError;
use scenario::quantity::display;
use scenario::transport::MAX_STAGES;
use units::{BitsPerSecond, Picos};
use workload::decimal;

use super::config::{Config, read_decimal};
use super::simulator::Simulator;
use super::topology::read_probability;
use crate::{Remarks, Subject};

/// Congestion control of senders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// No congestion control.
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
        /// True for theta-PowerTCP.
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
    /// `INT_MULTI`: factor by which the steps of stamps are coarser than 128 B and 80 B.
    pub stamp_multiple: u64,
    /// `RATE_AI`.
    pub additive_increase: BitsPerSecond,
    /// `MIN_RATE`.
    pub minimum_rate: BitsPerSecond,
}

impl Dcqcn {
    /// Writes the keys of the scenario's table.
    pub fn write(&self, toml: &mut String) -> std::fmt::Result {
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

/// Returns the congestion control that the simulator runs.
pub fn control(config: &Config, remarks: &mut Remarks) -> Result<Control, ScenarioError> {
    let (mode, place) = match config.simulator {
        Simulator::Ns3Datacenter => {
            let mode = config.arguments.algorithm;
            (mode, Subject::from(&*format!("--argument algorithm={mode}")))
        }
        Simulator::Hpcc | Simulator::ConWeave => {
            (config.whole("CC_MODE", 1)?, config.place("CC_MODE"))
        }
    };
    let has_pint = config.simulator != Simulator::ConWeave;
    if !(matches!(mode, 1 | 3 | 7 | 8) || mode == 10 && has_pint) {
        remarks
            .note(&place, "the simulator has no such scheme; senders run at line rate, here too");
        return Ok(Control::None);
    }
    if mode == 10 {
        remarks.asked(&place, "HPCC-PINT", "HPCC (3)");
    }
    if !config.has_dialect && !config.flag("RATE_BOUND", true)? {
        let place = config.place("RATE_BOUND");
        if config.has_window()? {
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
                MAX_STAGES.into(),
            )?,
            additive_increase: config.increase("RATE_AI", None)?,
            hyper_increase: config.increase("RATE_HAI", None)?,
            minimum_rate,
            clamp_target_rate: config.flag("CLAMP_TARGET_RATE", false)?,
        }),
        7 => Control::Timely {
            additive_increase: config.increase("RATE_AI", None)?,
            hyper_increase: config.increase("RATE_HAI", None)?,
            minimum_rate,
        },
        8 => Control::Dctcp {
            g: gain(config)?,
            additive_increase: config
                .increase("DCTCP_RATE_AI", Some(BitsPerSecond(1_000_000_000)))?,
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
    if !config.has_dialect && config.flag("MULTI_RATE", true)? {
        let here = "one of all links, as with 0";
        remarks.asked(config.place("MULTI_RATE"), "a rate for each link of the path", here);
    }
    compare_sampling(config, remarks)?;
    Ok(Hpcc {
        utilisation_millionths: utilisation(config)?,
        max_stage: config.whole_up_to("MI_THRESH", 5, u32::MAX.into())?,
        fast_reaction: config.flag("FAST_REACT", true)?,
        stamp_multiple: stamp_multiple(config)?,
        additive_increase: config.increase("RATE_AI", None)?,
        minimum_rate,
    })
}

/// Returns `PowerTCP` of ns3-datacenter, which ignores `RATE_AI` and `MI_THRESH`.
fn powertcp(
    config: &Config,
    minimum_rate: BitsPerSecond,
    remarks: &mut Remarks,
) -> Result<Control, ScenarioError> {
    if !config.has_dialect && !config.flag("FAST_REACT", true)? {
        let there = "a new rate once a round trip";
        remarks.asked(config.place("FAST_REACT"), there, "at each ACK, as with 1");
    }
    compare_sampling(config, remarks)?;
    let theta = config.arguments.delay_wien;
    Ok(Control::PowerTcp {
        theta,
        utilisation_millionths: if theta { 1_000_000 } else { utilisation(config)? },
        minimum_rate,
    })
}

fn compare_sampling(config: &Config, remarks: &mut Remarks) -> Result<(), ScenarioError> {
    if !config.has_dialect && config.flag("SAMPLE_FEEDBACK", false)? {
        let there = "links without a queue count once a round trip";
        remarks.asked(config.place("SAMPLE_FEEDBACK"), there, "each time, as with 0");
    }
    Ok(())
}

/// Returns `U_TARGET` in millionths, above zero.
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

/// Returns `INT_MULTI`, truncated to a whole number as in the simulator.
pub fn stamp_multiple(config: &Config) -> Result<u64, ScenarioError> {
    const MAX: u128 = 1 << 20;
    let Some(&word) = config.words("INT_MULTI").first() else { return Ok(1) };
    let multiple = read_decimal(config.source(), "INT_MULTI", word)? / decimal::ONE;
    match u64::try_from(multiple) {
        Ok(number) if (1..=MAX).contains(&multiple) => Ok(number),
        _ => {
            let title = format!("INT_MULTI is `{}`", word.text);
            let help = format!("write a number from 1 to {MAX}");
            Err(config.source().error(word.span(), &title, &help))
        }
    }
}

/// Returns `EWMA_GAIN` as a ratio.
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
