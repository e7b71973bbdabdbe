//! Settings of the dialects: hosts of the simulators, with the config's own numbers.

use std::fmt::Write;

use scenario::quantity::display;
use scenario::{NS3_SEEDS, ScenarioError};
use units::{BitsPerSecond, Bytes, Nanos, Picos};
use workload::decimal;

use super::buffers::{conweave_buffers, headroom_fills, sets_aside_all};
use super::config::{Config, read_decimal};
use super::control::{Control, stamp_multiple};
use super::simulator::Simulator;
use super::topology::Topology;
use super::translation::Translation;
use crate::Subject;

/// Hops that the simulator's telemetry has room for.
const MAX_HOPS: u32 = 5;
/// Default of `PAUSE_TIME` in `ConWeave`'s simulator, microseconds.
const PAUSE_MICROS: u64 = 5;
/// Link rate that telemetry of the simulators can encode, and telemetry of the dialects cannot.
const FORTY: BitsPerSecond = BitsPerSecond(40_000_000_000);
/// Bytes of the longest frame on a link.
const LONGEST_FRAME: u64 = 4096;

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
    /// Keys of `PowerTCP` that other algorithms have in their own settings.
    fast_reaction: bool,
    stamp_multiple: u64,
    /// True if windows follow from rates and base round trips: ns3-datacenter with `--wien`, whatever the algorithm.
    window_by_rtt: bool,
    /// Time of a pause in us, and the seed, of `ConWeave`'s simulator.
    pub of_conweave: Option<(u64, u64)>,
}

impl Config {
    /// Leaves the dialect out if the files ask for something that it does not have.
    pub fn settle_dialect(&mut self, topology: &Topology) -> Result<(), ScenarioError> {
        if !self.has_dialect {
            return Ok(());
        }
        self.beyond_dialect = match self.simulator {
            Simulator::Hpcc => None,
            Simulator::ConWeave => self.beyond_conweave(topology)?,
            Simulator::Ns3Datacenter => self.beyond_datacenter(topology)?,
        };
        self.has_dialect = self.beyond_dialect.is_none();
        Ok(())
    }

    /// A setting of ns3-datacenter that the dialect does not have, and what it asks for.
    fn beyond_datacenter(
        &self,
        topology: &Topology,
    ) -> Result<Option<(Subject, &'static str)>, ScenarioError> {
        let algorithm = self.arguments.algorithm;
        if matches!(algorithm, 3 | 10) && topology.rates().contains(&FORTY) {
            let place = Subject::from(&*format!("--argument algorithm={algorithm}"));
            return Ok(Some((place, "stamps of 40 Gbit/s")));
        }
        if headroom_fills(self, topology)? {
            let what = "a buffer of which one queue's headroom of each port leaves nothing";
            return Ok(Some((self.place("BUFFER_SIZE"), what)));
        }
        Ok(None)
    }

    /// `PAUSE_TIME` in whole microseconds.
    fn pause_micros(&self) -> Result<u64, ScenarioError> {
        const KEY: &str = "PAUSE_TIME";
        if !self.has(KEY) {
            return Ok(PAUSE_MICROS);
        }
        let word = self.word(KEY)?;
        let micros = read_decimal(self.source(), KEY, word)? / decimal::ONE;
        u32::try_from(micros).map(u64::from).map_err(|_| {
            let title = format!("{KEY} is `{}`", word.text);
            let help = format!("the simulator counts in 32 bits: write at most {}", u32::MAX);
            self.source().error(word.span(), &title, &help)
        })
    }

    /// A setting of `ConWeave`'s simulator that the dialect does not have, and what it asks for.
    fn beyond_conweave(
        &self,
        topology: &Topology,
    ) -> Result<Option<(Subject, &'static str)>, ScenarioError> {
        let stamped = self.simulator.traits().stamped_gigabits;
        let is_stamped = |rate: &BitsPerSecond| {
            *rate != FORTY && stamped.iter().any(|gigabits| rate.0 == gigabits * 1_000_000_000)
        };
        let pause = Nanos(self.pause_micros()? * 1000);
        let outlives = topology.links.iter().all(|link| {
            let frame = link.rate.serialise(LONGEST_FRAME);
            Picos::from_nanos(pause) > link.delay + frame
        });
        let stamps_all = topology.rates().iter().all(is_stamped);
        let found = [
            ("ENABLE_IRN", self.flag("ENABLE_IRN", false)?, "IRN"),
            ("ENABLE_PFC", !self.flag("ENABLE_PFC", true)?, "switches without PFC"),
            ("LB_MODE", self.whole("LB_MODE", 0)? != 0, "another load balancing than ECMP"),
            (
                "CC_MODE",
                self.whole("CC_MODE", 1)? == 3 && !stamps_all,
                "HPCC's stamps of 40 Gbit/s, or of rates without a stamp",
            ),
            ("PAUSE_TIME", !outlives, "pauses that are shorter than a frame is on its way"),
            (
                "BUFFER_SIZE",
                sets_aside_all(self, topology)?,
                "a buffer of which headroom and reserves leave nothing",
            ),
            (
                "RANDOM_SEED",
                !NS3_SEEDS.contains(&self.whole("RANDOM_SEED", 1)?),
                "a seed that ns-3 does not have",
            ),
        ];
        let first = found.into_iter().find(|(_, is_beyond, _)| *is_beyond);
        Ok(first.map(|(key, _, what)| (self.place(key), what)))
    }
}

impl Translation {
    /// Takes what only the dialect follows, and adds what it does not.
    pub fn follow(&mut self, config: &Config, topology: &Topology) -> Result<(), ScenarioError> {
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
            fast_reaction: config.flag("FAST_REACT", true)?,
            stamp_multiple: stamp_multiple(config)?,
            window_by_rtt: config.simulator == Simulator::Ns3Datacenter && config.arguments.wien,
            of_conweave: match config.simulator {
                Simulator::ConWeave => {
                    Some((config.pause_micros()?, config.whole("RANDOM_SEED", 1)?))
                }
                Simulator::Hpcc | Simulator::Ns3Datacenter => None,
            },
        });
        if config.simulator != Simulator::Hpcc {
            let here = "follow its source; no run of it has been compared";
            self.remarks.inherent("results", "its own", here);
        }
        if config.simulator == Simulator::Ns3Datacenter {
            self.follow_datacenter(config);
        }
        if config.simulator == Simulator::ConWeave {
            self.buffers.larger = conweave_buffers(config, topology)?
                .into_iter()
                .filter(|(_, size)| *size != self.buffers.size)
                .collect();
        }
        // What happens at the end does not run there.
        self.duration = Nanos(self.duration.0 - 1);
        let has_hops =
            matches!(self.transport.control, Control::Hpcc(_) | Control::PowerTcp { .. });
        if has_hops && self.paths.longest_links > MAX_HOPS + 1 {
            let there = "telemetry has room for 5 hops, and more overwrite it";
            self.remarks.inherent("telemetry of long paths", there, "the first five count");
        }
        Ok(())
    }
}

impl Translation {
    /// Adds what the dialect of ns3-datacenter does not follow, or follows for one of the programs.
    fn follow_datacenter(&mut self, config: &Config) {
        if self.draws_marks() {
            let there = "draws of ns-3 from a stream whose number depends on the build";
            let here = "from the stream that HPCC's simulator has";
            self.remarks.inherent("marks by chance", there, here);
        }
        if matches!(self.transport.control, Control::PowerTcp { theta: true, .. }) {
            let there = "compares with numbers that were never set";
            self.remarks.inherent("theta-PowerTCP: first ACK of a flow", there, "with zero");
        }
        let what = "egress queues are those of powertcp-evaluation-burst; the other program has \
                    switch.scheme.egress_alpha = 1";
        self.remarks.note(config.place("BUFFER_SIZE"), what);
    }
}

impl Simulated {
    /// Writes the table `host.ns3`.
    pub fn write(&self, toml: &mut String) -> std::fmt::Result {
        writeln!(toml, "[host.ns3]")?;
        let name = match self.control {
            Control::None => "none",
            Control::PowerTcp { theta: false, .. } => "powertcp",
            Control::PowerTcp { theta: true, .. } => "theta-powertcp",
            Control::Dcqcn(_) => "dcqcn",
            Control::Hpcc(_) => "hpcc",
            Control::Timely { .. } => "timely",
            Control::Dctcp { .. } => "dctcp",
        };
        writeln!(toml, "control = \"{name}\"\nwindow = {}", self.window.is_some())?;
        writeln!(toml, "paths = \"{}\"", if self.own_paths { "own" } else { "longest" })?;
        writeln!(toml, "window_scales = {}", self.window.unwrap_or(false))?;
        if self.window_by_rtt {
            writeln!(toml, "window_by_rtt = true")?;
        }
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
            Control::None => Ok(()),
            Control::PowerTcp { theta, utilisation_millionths, minimum_rate } => {
                if !theta {
                    writeln!(toml, "utilisation = {:?}", f64::from(*utilisation_millionths) / 1e6)?;
                }
                writeln!(toml, "fast_reaction = {}", self.fast_reaction)?;
                writeln!(toml, "skips_empty_queues = {}", self.skips_empty_queues)?;
                writeln!(toml, "stamp_multiple = {}", self.stamp_multiple)?;
                writeln!(toml, "minimum_rate = \"{}\"", display(*minimum_rate))
            }
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
