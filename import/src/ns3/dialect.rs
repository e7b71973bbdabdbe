//! Settings of the dialect `hpcc-ns3`: hosts of HPCC's simulator, with the config's own numbers.

use std::fmt::Write;

use scenario::ScenarioError;
use scenario::quantity::display;
use units::{Bytes, Nanos};

use super::config::Config;
use super::control::Control;
use super::translation::Translation;

/// Hops that the simulator's telemetry has room for.
const MAX_HOPS: u32 = 5;

/// Keys of `host.ns3`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of the file")]
pub struct Simulated {
    control: Control,
    window: Option<bool>,
    own_paths: bool,
    paced: bool,
    ack_from: u64,
    chunk: u64,
    repeats_chunk: bool,
    rate_per_hop: bool,
    skips_empty_queues: bool,
}

impl Translation {
    /// Takes what only the dialect follows, and adds what it does not.
    pub fn follow(&mut self, config: &Config) -> Result<(), ScenarioError> {
        self.simulated = Some(Simulated {
            control: self.transport.control.clone(),
            window: self.transport.window,
            own_paths: self.transport.by_path,
            paced: config.flag("RATE_BOUND", true)?,
            ack_from: config.whole("L2_ACK_INTERVAL", 0)?,
            chunk: config.whole("L2_CHUNK_SIZE", 0)?.max(1),
            repeats_chunk: config.flag("L2_BACK_TO_ZERO", false)?,
            rate_per_hop: config.flag("MULTI_RATE", true)?,
            skips_empty_queues: config.flag("SAMPLE_FEEDBACK", false)?,
        });
        // What happens at the end does not run there.
        self.duration = Nanos(self.duration.0 - 1);
        let hpcc = matches!(self.transport.control, Control::Hpcc(_));
        if hpcc && self.paths.longest_links > MAX_HOPS + 1 {
            let there = "telemetry has room for 5 hops, and more overwrite it";
            self.remarks.inherent("HPCC: long paths", there, "the first five count");
        }
        Ok(())
    }
}

impl Simulated {
    /// Writes the table `host.ns3`.
    pub fn write(&self, toml: &mut String) -> std::fmt::Result {
        writeln!(toml, "[host.ns3]")?;
        let name = match self.control {
            Control::None | Control::PowerTcp { .. } => "none",
            Control::Dcqcn(_) => "dcqcn",
            Control::Hpcc(_) => "hpcc",
            Control::Timely { .. } => "timely",
            Control::Dctcp { .. } => "dctcp",
        };
        writeln!(toml, "control = \"{name}\"\nwindow = {}", self.window.is_some())?;
        writeln!(toml, "paths = \"{}\"", if self.own_paths { "own" } else { "longest" })?;
        writeln!(toml, "window_scales = {}", self.window.unwrap_or(false))?;
        writeln!(toml, "paced = {}", self.paced)?;
        writeln!(toml, "ack_from = \"{}\"", display(Bytes(self.ack_from)))?;
        writeln!(toml, "chunk = \"{}\"", display(Bytes(self.chunk)))?;
        writeln!(toml, "repeats_chunk = {}", self.repeats_chunk)?;
        self.write_control(toml)?;
        writeln!(toml)
    }

    fn write_control(&self, toml: &mut String) -> std::fmt::Result {
        let ratio = |toml: &mut String, (numerator, denominator): (u128, u128)| {
            writeln!(toml, "gain = \"{numerator}/{denominator}\"")
        };
        match &self.control {
            Control::None | Control::PowerTcp { .. } => Ok(()),
            Control::Dcqcn(of) => {
                ratio(toml, of.g)?;
                for (key, time) in [
                    ("alpha_update_interval", of.alpha_update_interval),
                    ("rate_decrease_interval", of.rate_decrease_interval),
                    ("rate_increase_timer", of.rate_increase_timer),
                ] {
                    writeln!(toml, "{key} = \"{}\"", display(time))?;
                }
                for (key, rate) in [
                    ("additive_increase", of.additive_increase),
                    ("hyper_increase", of.hyper_increase),
                    ("minimum_rate", of.minimum_rate),
                ] {
                    writeln!(toml, "{key} = \"{}\"", display(rate))?;
                }
                writeln!(toml, "fast_recovery_stages = {}", of.fast_recovery_stages)?;
                writeln!(toml, "clamp_target_rate = {}", of.clamp_target_rate)
            }
            Control::Hpcc(of) => {
                writeln!(toml, "utilisation = {:?}", f64::from(of.utilisation_millionths) / 1e6)?;
                writeln!(toml, "max_stage = {}", of.max_stage)?;
                writeln!(toml, "fast_reaction = {}", of.fast_reaction)?;
                writeln!(toml, "rate_per_hop = {}", self.rate_per_hop)?;
                writeln!(toml, "skips_empty_queues = {}", self.skips_empty_queues)?;
                writeln!(toml, "stamp_multiple = {}", of.stamp_multiple)?;
                writeln!(toml, "additive_increase = \"{}\"", display(of.additive_increase))?;
                writeln!(toml, "minimum_rate = \"{}\"", display(of.minimum_rate))
            }
            Control::Timely { additive_increase, hyper_increase, minimum_rate } => {
                writeln!(toml, "additive_increase = \"{}\"", display(*additive_increase))?;
                writeln!(toml, "hyper_increase = \"{}\"", display(*hyper_increase))?;
                writeln!(toml, "minimum_rate = \"{}\"", display(*minimum_rate))
            }
            Control::Dctcp { g, additive_increase, minimum_rate } => {
                ratio(toml, *g)?;
                writeln!(toml, "additive_increase = \"{}\"", display(*additive_increase))?;
                writeln!(toml, "minimum_rate = \"{}\"", display(*minimum_rate))
            }
        }
    }
}
