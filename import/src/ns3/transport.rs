//! Transport of the simulator's flows: windows, loss recovery, lengths of packets.

use scenario::ScenarioError;
use scenario::quantity::display;
use units::{BitsPerSecond, Bytes, Nanos, Picos};

use super::config::Config;
use super::control::{Control, control};
use super::paths::Base;
use super::simulator::Simulator;
use crate::Remarks;

/// Rate increment of ns3-datacenter's `PowerTCP`; no key sets it.
const POWERTCP_INCREASE: BitsPerSecond = BitsPerSecond(150_000_000);
/// `L2Timeout` of `ConWeave`'s simulator; no key sets it, nor the timeouts of IRN.
const CONWEAVE_TIMEOUT: Nanos = Nanos(4_000_000);
const IRN_RTO_HIGH: Nanos = Nanos(320_000);
const IRN_RTO_LOW: Nanos = Nanos(100_000);
/// Number of packets in flight below which `IRN_RTO_LOW` holds: up to four packets are at most three after the first.
const IRN_FEW_PACKETS: u32 = 5;

/// Max size in a scenario.
const MAX_SIZE: Bytes = Bytes(1_000_000_000_000_000);

/// Number of stamps for which packets have room.
pub const STAMPS: u64 = 5;

/// Transport of all flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transport {
    /// Congestion control of senders.
    pub control: Control,
    /// `Some` if flows have windows in addition to rates; true if the windows shrink with the rate.
    pub window: Option<bool>,
    /// True if each flow has the base of its own path; otherwise all have the largest.
    pub by_path: bool,
    /// Loss recovery.
    pub recovery: Recovery,
    /// Simulator of the files.
    pub simulator: Simulator,
}

/// Loss recovery of senders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Go-back-N, without a timer.
    Nak,
    /// Go-back-N with the timer of `ConWeave`'s simulator.
    Timed,
    /// IRN; with PFC its timers have no effect.
    Irn {
        /// True if senders have timers.
        timers: bool,
    },
}

impl Transport {
    /// Translates the settings of a config.
    pub fn new(config: &Config, remarks: &mut Remarks) -> Result<Self, ScenarioError> {
        let has_window = config.has_window()?;
        let scales = config.flag("VAR_WIN", false)?;
        if config.simulator == Simulator::Ns3Datacenter && has_window && !scales {
            let what =
                "taken; powertcp-evaluation-burst has 1 in its place, the other program does not";
            remarks.note(config.place("VAR_WIN"), what);
        }
        let transport = Self {
            control: control(config, remarks)?,
            window: has_window.then_some(scales),
            by_path: !config.flag("GLOBAL_T", true)?,
            recovery: recovery(config)?,
            simulator: config.simulator,
        };
        if !config.has_dialect {
            transport.compare_windows(config, remarks);
        }
        Ok(transport)
    }

    /// Returns true if the transport's keys depend on a base round-trip time.
    pub fn needs_base(&self) -> bool {
        self.window.is_some() || self.owns_window() || self.is_irn()
    }

    /// Returns true if xoff's algorithm maintains a window itself.
    const fn owns_window(&self) -> bool {
        matches!(self.control, Control::Hpcc(_) | Control::Dctcp { .. } | Control::PowerTcp { .. })
    }

    const fn is_irn(&self) -> bool {
        matches!(self.recovery, Recovery::Irn { .. })
    }

    /// Returns the timeout that holds in most cases; `None` without a timer.
    pub const fn timeout(&self) -> Option<Nanos> {
        match self.recovery {
            Recovery::Nak | Recovery::Irn { timers: false } => None,
            Recovery::Timed => Some(CONWEAVE_TIMEOUT),
            Recovery::Irn { timers: true } => Some(IRN_RTO_HIGH),
        }
    }

    /// Length of the simulator's headers of a packet without telemetry: PPP 14, IPv4 20, UDP 8, custom 6.
    pub const PLAIN_HEADERS: u64 = 14 + 20 + 8 + 6;

    /// Returns the length of the simulator's headers of a packet, including telemetry.
    pub fn data_headers(&self) -> u64 {
        Self::PLAIN_HEADERS + self.telemetry_bytes()
    }

    /// Returns the length of the simulator's ACK: PPP 14, IPv4 20, custom header and telemetry; the last two are padded
    /// to at least 26.
    pub fn ack_length(&self) -> u64 {
        14 + 20 + (self.simulator.traits().ack_header + self.telemetry_bytes()).max(26)
    }

    /// Returns the bytes of telemetry in packets and ACKs: stamps of five links, or a time.
    fn telemetry_bytes(&self) -> u64 {
        match self.control {
            Control::Hpcc(_) | Control::PowerTcp { .. } => STAMPS * 8 + 2,
            Control::Timely { .. } => 8,
            Control::None | Control::Dcqcn(_) | Control::Dctcp { .. } => 0,
        }
    }

    /// Adds differences of algorithms that maintain a window in xoff, and a rate plus a separate window in the
    /// simulator.
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
            None => remarks.asked(config.place("HAS_WIN"), of_none, &here),
            Some(false) => remarks.asked(config.place("VAR_WIN"), "a window of one size", &here),
            Some(true) => {}
        }
    }

    /// Adds differences of the congestion control. `rates` are the rates of all links.
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
                self.compare_stamps("HPCC", &mut rates, remarks);
            }
            Control::PowerTcp { theta: false, .. } => {
                remarks.inherent("PowerTCP", "a rate in bit/s", "a window in bytes");
                remarks.inherent("PowerTCP: current", "as it is", "at least half of a full link's");
                compare_smoothing("PowerTCP", remarks);
                self.compare_stamps("PowerTCP", &mut rates, remarks);
            }
            Control::PowerTcp { theta: true, .. } => {
                remarks.inherent("theta-PowerTCP", "a rate in bit/s", "a window in bytes");
                let there = "power is measured at each ACK";
                remarks.inherent("theta-PowerTCP", there, "once a round trip");
                let there = "1.05 times the least round trip so far";
                remarks.inherent("theta-PowerTCP: base RTT", there, "that of the idle path");
                compare_smoothing("theta-PowerTCP", remarks);
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
        let is_stamped = |rate: &BitsPerSecond| {
            stamped.iter().any(|gigabits| rate.0 == gigabits * 1_000_000_000)
        };
        if let Some(rate) = rates.find(|rate| !is_stamped(rate)) {
            let there = format!("no stamp stands for links of {}", display(rate));
            remarks.inherent(&format!("{name}: stamps"), &there, "the nearest rate");
        }
    }

    /// Adds differences of the loss recovery, if packets may be lost.
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

    /// Writes the keys of a transport's table named `table`. `largest` is the common base of all flows.
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
        // A window of zero means no window there. IRN's window is computed for the longest path.
        let (scales, bytes) = match self.window.filter(|_| !self.owns_window()) {
            Some(scales) => (Some(scales), base.bdp),
            None => ((self.is_irn() && !self.owns_window()).then_some(false), largest.bdp),
        };
        if let Some(scales) = scales.filter(|_| bytes > Bytes(0)) {
            let window = match self.simulator {
                // The window there is computed with the sender's own rate.
                Simulator::Ns3Datacenter => "bdp".to_owned(),
                Simulator::Hpcc | Simulator::ConWeave => display(bytes.min(MAX_SIZE)),
            };
            writeln!(toml, "window = \"{window}\"\nwindow_scales = {scales}")?;
        }
        let in_base = |rate: BitsPerSecond| {
            let bytes = u128::from(rate.0) * u128::from(base.rtt.0) + 4_000_000_000;
            let bytes = u64::try_from(bytes / 8_000_000_000).unwrap_or(u64::MAX);
            display(Bytes(bytes.clamp(u64::from(rate.0 > 0), MAX_SIZE.0)))
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

fn compare_smoothing(name: &str, remarks: &mut Remarks) {
    let there = "of the rate that the round trip began with";
    remarks.inherent(&format!("{name}: what 1 - gamma keeps"), there, "of the last window");
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
