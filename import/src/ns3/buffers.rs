//! The buffers of the simulators' switches.

use std::collections::BTreeSet;

use fabric_core::buffer::MAX_BUFFER;
use fabric_core::scheme::service_pools;
use scenario::ScenarioError;
use scenario::quantity::display;
use units::{BitsPerSecond, Bytes};

use super::config::Config;
use super::flows::Flows;
use super::scenario::size;
use super::simulator::Simulator;
use super::topology::{Link, Topology};
use crate::{Remarks, Subject};

/// Negative exponent of alpha at ports of the hosts' rate, alpha = 2^-this: HPCC's simulator and ns3-datacenter.
const ALPHA_SHIFT: u32 = 3;
/// Negative exponent of alpha at all ports of `ConWeave`'s simulator.
const CONWEAVE_ALPHA_SHIFT: u32 = 4;
/// Length of a full frame in `ConWeave`'s switches, regardless of the payload.
const CONWEAVE_FRAME: u64 = 1048;
/// Headroom of `ConWeave`'s port 0, which has no link and is counted instead of the last port.
const CONWEAVE_PORT_0: u64 = 12_500 + 2 * CONWEAVE_FRAME;
/// Reserve of `ConWeave`'s egress pool for each port: one frame per queue.
const CONWEAVE_EGRESS_RESERVE: u64 = QUEUES * CONWEAVE_FRAME;
/// Queues of a port.
const QUEUES: u64 = 8;
/// Shared pool of switches whose pool wraps in the simulator. Data in flight stays below its thresholds, as it does
/// below the thresholds of 4 GiB.
const WRAPPED_POOL: Bytes = Bytes(512 << 20);
/// Max accounted bytes of a port; more than any buffer holds.
const MAX_PER_PORT: u64 = u64::MAX >> 24;
/// Buffer per port if `ConWeave`'s `BUFFER_SIZE` is 0.
const CONWEAVE_BUFFER_PER_PORT: u64 = 375_000;

/// Buffer of switches, and the thresholds of lossless queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// A switch's whole buffer.
    pub size: Bytes,
    /// Private pool of each lossless ingress queue.
    pub private_per_queue: Bytes,
    /// True if a packet may be split between the private and the shared pool.
    pub splits_packets: bool,
    /// Priorities that PFC protects.
    pub lossless: BTreeSet<u8>,
    /// Headroom of each lossless ingress queue.
    pub headroom: Headroom,
    /// Negative exponent of alpha at ports of the hosts' rate, alpha = 2^-this.
    pub alpha_shift: u32,
    /// Negative exponents of alpha at ports of other rates, if different.
    pub alpha_shift_by_rate: Vec<(BitsPerSecond, u32)>,
    /// Distance of a queue's RESUME threshold below its PAUSE threshold.
    pub xon_offset: Bytes,
    /// True if private buffer and headroom are set aside for ports, not for their queues.
    pub of_ports: bool,
    /// Switches with another buffer, and its size.
    pub larger: Vec<(u32, Bytes)>,
}

/// Headroom of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headroom {
    /// Multiple of the bandwidth-delay product of the queue's link.
    BandwidthDelays(u32),
    /// Fixed size for all queues.
    Bytes(Bytes),
}

impl Buffers {
    /// Translates the settings of the files.
    pub fn new(
        config: &Config,
        topology: &Topology,
        flows: &Flows,
        remarks: &mut Remarks,
    ) -> Result<Self, ScenarioError> {
        let groups: BTreeSet<u8> = flows.list.iter().map(|flow| flow.group).collect();
        let mut buffers = match config.simulator {
            Simulator::Hpcc => Self::hpcc(config, topology, groups, remarks)?,
            Simulator::ConWeave => Self::conweave(config, topology, groups, remarks)?,
            Simulator::Ns3Datacenter => Self::datacenter(config, topology, groups, remarks)?,
        };
        // The dialects of the others have pools that take what headroom leaves, or wrap.
        if !config.has_dialect || config.simulator == Simulator::Hpcc {
            buffers.make_room(config, topology, remarks)?;
        }
        Ok(buffers)
    }

    /// Returns the bytes that xoff sets aside at a switch for headroom and private pools.
    fn set_aside(&self, topology: &Topology, switch: u32) -> u64 {
        let headroom = |link: &Link| match self.headroom {
            Headroom::BandwidthDelays(times) => product(link).saturating_mul(times.into()),
            Headroom::Bytes(bytes) => bytes.0,
        };
        let of_port = |link| (headroom(link) + self.private_per_queue.0).min(MAX_PER_PORT);
        let queues = if self.of_ports { 1 } else { self.lossless.len() as u64 };
        ports(topology, switch).map(of_port).sum::<u64>() * queues
    }

    /// Returns true if a switch's shared pool is negative in the simulator, whose unsigned arithmetic wraps.
    fn wraps(&self, config: &Config, topology: &Topology, switch: u32) -> bool {
        let headroom = ports(topology, switch).map(three_products).sum::<u64>();
        let of_ports = ports(topology, switch).count() as u64;
        match config.simulator {
            Simulator::Hpcc => headroom + self.private_per_queue.0 * of_ports > self.size.0,
            Simulator::Ns3Datacenter => QUEUES * headroom > self.size.0,
            Simulator::ConWeave => false,
        }
    }

    /// Increases the buffer of switches whose shared pool wraps in the simulator and would be empty in xoff.
    fn make_room(
        &mut self,
        config: &Config,
        topology: &Topology,
        remarks: &mut Remarks,
    ) -> Result<(), ScenarioError> {
        let switches = topology.nodes().filter(|&node| topology.is_switch(node));
        let too_small = switches.map(|switch| (switch, self.set_aside(topology, switch)));
        let too_small: Vec<_> = too_small.filter(|(_, bytes)| *bytes >= self.size.0).collect();
        let Some(&(first, most)) = too_small.iter().max_by_key(|(_, bytes)| *bytes) else {
            return Ok(());
        };
        let aside = display(Bytes(most));
        let has_room = most + WRAPPED_POOL.0 <= MAX_BUFFER.0;
        let all_wrap = too_small.iter().all(|&(switch, _)| self.wraps(config, topology, switch));
        if !has_room || !all_wrap {
            let title = format!("switch {first} sets aside {aside} of its {}", display(self.size));
            let help = format!(
                "headroom of its links, by their rates and delays: write a larger BUFFER_SIZE, up to {}",
                MAX_BUFFER.0 >> 20
            );
            return Err(match config.words("BUFFER_SIZE").first() {
                Some(word) => config.source().error(word.span(), &title, &help),
                None => config.source().error_at_end(&title, &help),
            });
        }
        let there = format!(
            "headroom, {aside} at switch {first}, exceeds the buffer: the shared pool's size wraps to 4 GiB, no PAUSE"
        );
        let here = format!("the buffer is larger there: a shared pool of {}", size(WRAPPED_POOL));
        remarks.asked(config.place("BUFFER_SIZE"), &there, &here);
        self.larger = too_small
            .iter()
            .map(|(switch, aside)| (*switch, Bytes(aside + WRAPPED_POOL.0)))
            .collect();
        Ok(())
    }

    /// Buffers of HPCC's switches: reserve and headroom for each port; alpha doubles with the rate.
    fn hpcc(
        config: &Config,
        topology: &Topology,
        lossless: BTreeSet<u8>,
        remarks: &mut Remarks,
    ) -> Result<Self, ScenarioError> {
        let nic_rate = topology.nic_rate();
        let shifts = topology.rates().into_iter().map(|rate| (rate, shift(rate, nic_rate)));
        Ok(Self {
            size: mebibytes(config, 16, remarks)?,
            private_per_queue: Bytes(4 << 10),
            splits_packets: true,
            lossless,
            headroom: Headroom::BandwidthDelays(3),
            alpha_shift: ALPHA_SHIFT,
            alpha_shift_by_rate: shifts.filter(|(_, shift)| *shift != ALPHA_SHIFT).collect(),
            xon_offset: Bytes(3 << 10),
            of_ports: config.has_dialect,
            larger: Vec::new(),
        })
    }

    /// Buffers of `ConWeave`'s switches: a queue is paused by its bytes beyond two frames; each port sets aside one
    /// frame per queue, and headroom.
    fn conweave(
        config: &Config,
        topology: &Topology,
        groups: BTreeSet<u8>,
        remarks: &mut Remarks,
    ) -> Result<Self, ScenarioError> {
        if config.has_dialect {
            return Self::conweave_pools(config, topology, groups, remarks);
        }
        let size = match mebibytes(config, 0, remarks)? {
            Bytes(0) => conweave_size(config, topology, remarks),
            size => size,
        };
        // xoff's private pool is never completely full.
        let private = 2 * CONWEAVE_FRAME + 1;
        let headrooms: BTreeSet<u64> = topology.links.iter().map(conweave_headroom).collect();
        let headroom = headrooms.last().copied().unwrap_or_default();
        let has_pfc = config.flag("ENABLE_PFC", true)?;
        if has_pfc && headrooms.len() > 1 {
            let place = Subject::for_file(topology.name(), None, "headroom of ports");
            let here = format!("{} for all", display(Bytes(headroom)));
            remarks.asked(&place, "by the rates and delays of their links", &here);
        }
        Ok(Self {
            size,
            private_per_queue: Bytes(private),
            splits_packets: false,
            lossless: if has_pfc { groups } else { BTreeSet::new() },
            headroom: Headroom::Bytes(Bytes(headroom + QUEUES * CONWEAVE_FRAME - private)),
            alpha_shift: CONWEAVE_ALPHA_SHIFT,
            alpha_shift_by_rate: Vec::new(),
            // 16 B of the shared pool, multiplied by alpha.
            xon_offset: Bytes(1),
            of_ports: false,
            larger: Vec::new(),
        })
    }

    /// Buffers of `ConWeave`'s switches as the dialect has them.
    fn conweave_pools(
        config: &Config,
        topology: &Topology,
        lossless: BTreeSet<u8>,
        remarks: &mut Remarks,
    ) -> Result<Self, ScenarioError> {
        let of_switches = conweave_buffers(config, topology)?;
        let largest = of_switches.iter().map(|(_, size)| *size).max();
        mebibytes(config, 0, remarks)?;
        Ok(Self {
            size: largest.unwrap_or(Bytes(CONWEAVE_BUFFER_PER_PORT)),
            private_per_queue: Bytes(0),
            splits_packets: false,
            lossless,
            headroom: Headroom::BandwidthDelays(2),
            alpha_shift: CONWEAVE_ALPHA_SHIFT,
            alpha_shift_by_rate: Vec::new(),
            xon_offset: Bytes(1),
            of_ports: true,
            larger: Vec::new(),
        })
    }

    /// Buffers of ns3-datacenter's switches: headroom for each of a port's eight queues, of which a simulation uses
    /// one.
    fn datacenter(
        config: &Config,
        topology: &Topology,
        groups: BTreeSet<u8>,
        remarks: &mut Remarks,
    ) -> Result<Self, ScenarioError> {
        let size = mebibytes(config, 16, remarks)?;
        let of_queues =
            |switch: &u32| QUEUES * ports(topology, *switch).map(three_products).sum::<u64>();
        let full = topology.nodes().filter(|&node| topology.is_switch(node));
        let full = full.filter(|switch| of_queues(switch) > size.0).min();
        if let Some(switch) = full.filter(|_| !config.has_dialect) {
            let there = format!(
                "headroom of 8 queues, {} at switch {switch}, exceeds the buffer: the shared pool's size wraps, no PAUSE",
                display(Bytes(of_queues(&switch))),
            );
            let here = "headroom of the flows' priority groups alone, at all switches";
            remarks.asked(config.place("BUFFER_SIZE"), &there, here);
        }
        Ok(Self {
            size,
            private_per_queue: Bytes(0),
            splits_packets: false,
            lossless: if full.is_some() || config.has_dialect { groups } else { (0..8).collect() },
            headroom: Headroom::BandwidthDelays(3),
            alpha_shift: ALPHA_SHIFT,
            alpha_shift_by_rate: Vec::new(),
            xon_offset: Bytes(2496),
            of_ports: config.has_dialect,
            larger: Vec::new(),
        })
    }

    /// Adds differences that exist regardless of the files. `marks` is true if ECN marks have an effect.
    pub fn compare(&self, config: &Config, marks: bool, remarks: &mut Remarks) {
        match config.simulator {
            Simulator::Hpcc => {
                let there = "at the threshold, and until RESUME";
                remarks.inherent("PAUSE", there, "above it, and repeated");
            }
            Simulator::ConWeave => self.compare_conweave(config, remarks),
            Simulator::Ns3Datacenter => {
                remarks.inherent("PAUSE", "until RESUME", "repeated");
                let there = "lies in headroom";
                let here = "lies in the shared pool, if it has room and the threshold is not reached before";
                remarks.inherent("packet that pauses", there, here);
                remarks.inherent("RESUME", "also below 1248 B", "only by the threshold");
                if marks {
                    let there = "counts the packet that is marked";
                    remarks.inherent("ECN: queue length", there, "counts a full packet for it");
                }
            }
        }
    }

    fn compare_conweave(&self, config: &Config, remarks: &mut Remarks) {
        remarks.inherent("ACKs", "take no buffer", "take shared buffer");
        if self.lossless.is_empty() {
            let there = format!(
                "is less by {CONWEAVE_EGRESS_RESERVE} B a port at egress, and by headroom at ingress"
            );
            remarks.inherent("shared pool", &there, "is the whole buffer");
            return;
        }
        let time = config.words("PAUSE_TIME").first().map_or("5", |word| word.text);
        let there = format!("with each packet above the threshold, and for {time} us");
        remarks.inherent("PAUSE", &there, "once, repeated, and until RESUME");
        let there = "lie in the shared pool until that is full, and count in the threshold";
        remarks.inherent("packets behind a PAUSE", there, "lie in headroom");
        remarks.inherent("reserve of 2096 B", "counts in the shared pool, too", "does not");
        let there =
            format!("has {CONWEAVE_PORT_0} B less for the last port, whatever its headroom");
        remarks.inherent("shared pool", &there, "has its headroom less");
        // `SwitchMmu::CheckEgressAdmission`, which `SwitchNode::DoSwitchSend` calls regardless of ENABLE_PFC.
        let there = format!(
            "loses packets above what is free of the buffer less {CONWEAVE_EGRESS_RESERVE} B a port (half of it, \
             if alone), also with PFC"
        );
        remarks.inherent("egress queue", &there, "never");
    }
}

/// Returns `BUFFER_SIZE`, at most [`MAX_BUFFER`]: a packet in a buffer takes one of 2^24 slots.
fn mebibytes(config: &Config, default: u64, remarks: &mut Remarks) -> Result<Bytes, ScenarioError> {
    const MAX_SIZE: u64 = MAX_BUFFER.0 >> 20;
    // The simulators shift the value in 32 bits.
    const MAX_THERE: u64 = (1 << 12) - 1;
    let size = config.whole_up_to("BUFFER_SIZE", default, MAX_THERE)?;
    if size > MAX_SIZE {
        let there = format!("a buffer of {size} MiB");
        let here = format!("{MAX_SIZE} MiB, the largest buffer");
        remarks.asked(config.place("BUFFER_SIZE"), &there, &here);
    }
    Ok(Bytes(size.min(MAX_SIZE) << 20))
}

/// Returns the buffer of each of `ConWeave`'s switches: `BUFFER_SIZE`, or a size for each port.
pub fn conweave_buffers(
    config: &Config,
    topology: &Topology,
) -> Result<Vec<(u32, Bytes)>, ScenarioError> {
    let given = mebibytes(config, 0, &mut Remarks::default())?;
    let size = |switch: u32| match given {
        Bytes(0) => {
            let of_ports = ports(topology, switch).count() as u64 * CONWEAVE_BUFFER_PER_PORT;
            Bytes(of_ports.min(MAX_BUFFER.0))
        }
        given => given,
    };
    let switches = topology.nodes().filter(|&node| topology.is_switch(node));
    Ok(switches.map(|switch| (switch, size(switch))).collect())
}

/// Returns true if a switch of `ConWeave`'s simulator has no pool: headroom and reserves take its buffer.
pub fn sets_aside_all(config: &Config, topology: &Topology) -> Result<bool, ScenarioError> {
    let buffers = conweave_buffers(config, topology)?;
    Ok(buffers.into_iter().any(|(switch, buffer)| {
        let products = ports(topology, switch).map(|link| Bytes(product(link).saturating_mul(2)));
        let settings = service_pools::Settings { buffer, frame: Bytes(CONWEAVE_FRAME) };
        let [aside, _] = settings.set_aside(products.map(|bytes| bytes.min(MAX_BUFFER)));
        aside >= buffer
    }))
}

/// Returns true if headroom of one queue of each port takes the buffer of a switch of ns3-datacenter.
pub fn headroom_fills(config: &Config, topology: &Topology) -> Result<bool, ScenarioError> {
    let size = mebibytes(config, 16, &mut Remarks::default())?;
    let mut switches = topology.nodes().filter(|&node| topology.is_switch(node));
    Ok(switches.any(|switch| {
        ports(topology, switch).map(three_products).fold(0, u64::saturating_add) >= size.0
    }))
}

/// Returns the buffer of `ConWeave`'s switches, computed from their ports.
fn conweave_size(config: &Config, topology: &Topology, remarks: &mut Remarks) -> Bytes {
    let switches = topology.nodes().filter(|&node| topology.is_switch(node));
    let counts: BTreeSet<u64> =
        switches.map(|switch| ports(topology, switch).count() as u64).collect();
    let size = counts.last().map_or(0, |ports| ports * CONWEAVE_BUFFER_PER_PORT);
    let size = Bytes(size.clamp(CONWEAVE_BUFFER_PER_PORT, MAX_BUFFER.0));
    if counts.len() > 1 {
        let here = format!("{} for all switches", display(size));
        remarks.asked(config.place("BUFFER_SIZE"), "375 kB for each port of a switch", &here);
    }
    size
}

fn ports(topology: &Topology, switch: u32) -> impl Iterator<Item = &Link> {
    topology.links.iter().filter(move |link| link.a == switch || link.b == switch)
}

/// Returns the bandwidth-delay product of a link; the delay is in whole nanoseconds.
fn product(link: &Link) -> u64 {
    let bits = u128::from(link.rate.0) * u128::from(link.delay.to_nanos().0) / 1_000_000_000;
    u64::try_from(bits / 8).unwrap_or(u64::MAX >> 16)
}

fn three_products(link: &Link) -> u64 {
    product(link).saturating_mul(3).min(u64::MAX >> 16)
}

/// Returns twice the bandwidth-delay product plus two frames.
fn conweave_headroom(link: &Link) -> u64 {
    product(link).saturating_mul(2).saturating_add(2 * CONWEAVE_FRAME).min(u64::MAX >> 16)
}

/// Returns the negative exponent of a port's alpha: one less for each doubling above the hosts' rate.
fn shift(rate: BitsPerSecond, nic_rate: BitsPerSecond) -> u32 {
    let (mut rate, mut shift) = (rate.0, ALPHA_SHIFT);
    while rate > nic_rate.0 && shift > 0 {
        shift -= 1;
        rate /= 2;
    }
    shift
}
