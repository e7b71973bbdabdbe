//! Keys that a dialect sets.

use host_agent::ns3::Settings;
use units::ratio::Ratio;
use units::{Bytes, Picos};

use super::{Dialect, Ecmp, Numbers, Order, is_set};
use crate::document::Document;
use crate::scenario_keys::ScenarioKeys;
use crate::scheme::{PfcReached, ServicePools, SonicPools};
use crate::switch::Switch;
use crate::threshold::Dt;
use crate::{
    AckPriority, DatapathKind, Headroom, HpccLines, MarkAt, OptionalPriority, PauseLasts, Priority,
    Reserves, Scheduler, Scheme, Threshold, TimeOfFrames,
};

/// Time of a pause in `ConWeave`'s simulator, unless its config has another.
const CONWEAVE_PAUSE: Picos = Picos(5_000_000);

impl Dialect {
    /// All dialects.
    pub const ALL: [Self; 3] = [Self::HpccNs3, Self::ConweaveNs3, Self::Ns3Datacenter];

    /// Returns the name in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HpccNs3 => "hpcc-ns3",
            Self::ConweaveNs3 => "conweave-ns3",
            Self::Ns3Datacenter => "ns3-datacenter",
        }
    }

    /// Sets the keys that the file does not set.
    pub(crate) fn apply(self, keys: &mut ScenarioKeys, document: &Document<'_>) {
        let is_free = |path: &str| !is_set(document, path);
        if is_free("datapath.kind") {
            keys.datapath.kind = DatapathKind::Memory;
        }
        if is_free("order") {
            keys.order = Order::Insertion;
        }
        if is_free("numbers") {
            keys.numbers = match self {
                Self::HpccNs3 | Self::Ns3Datacenter => Numbers::Mrg32k3a,
                Self::ConweaveNs3 => Numbers::Mrg32k3aOfSwitches,
            };
        }
        if is_free("frames.time") {
            keys.frames.time = match self {
                Self::HpccNs3 | Self::ConweaveNs3 => TimeOfFrames::TruncatedDoubles,
                Self::Ns3Datacenter => TimeOfFrames::FlooredNanoseconds,
            };
        }
        if is_free("frames.shortest") {
            keys.frames.shortest = Some(units::Bytes(1));
        }
        let switch = &mut keys.switch;
        if is_free("switch.ecmp") {
            switch.ecmp = Ecmp::Murmur3;
        }
        if is_free("switch.scheme") {
            switch.scheme = match self {
                Self::HpccNs3 => Scheme::PfcReached(PfcReached {}),
                Self::ConweaveNs3 => Scheme::ServicePools(ServicePools::default()),
                Self::Ns3Datacenter => Scheme::SonicPools(SonicPools::default()),
            };
        }
        if is_free("switch.pause_lasts") {
            switch.pause_lasts = match self {
                Self::HpccNs3 | Self::Ns3Datacenter => PauseLasts::UntilResume,
                Self::ConweaveNs3 => PauseLasts::Time(CONWEAVE_PAUSE),
            };
        }
        if is_free("switch.reserves") {
            switch.reserves = Reserves::Ports;
        }
        if is_free("switch.scheduler") {
            switch.scheduler = Scheduler::RoundRobin {};
        }
        let hosts = keys.host.ns3.get_or_insert_default();
        let is_free_of_hosts = |key: &str| is_free(&format!("host.ns3.{key}"));
        match self {
            Self::HpccNs3 => {}
            Self::ConweaveNs3 => {
                hosts.follow(&Settings::conweave(), is_free_of_hosts);
                apply_conweave(keys, is_free);
            }
            Self::Ns3Datacenter => {
                hosts.follow(&Settings::datacenter(), is_free_of_hosts);
                apply_datacenter(keys, is_free);
            }
        }
    }
}

/// Sets the buffer that the programs of a simulator have for all configs: alpha, distance of RESUME, products of a link in its
/// headroom; no private pools.
fn apply_buffer(
    switch: &mut Switch,
    (alpha, xon_offset, products): (u32, u64, u32),
    is_free: impl Fn(&str) -> bool,
) {
    if is_free("switch.threshold") {
        let alpha = Some(Ratio::new(1, alpha));
        let xon_offset = Bytes(xon_offset);
        switch.threshold = Threshold::Dt(Dt { alpha, xon_offset, by_rate: Vec::new() });
    }
    if is_free("switch.headroom") {
        switch.headroom = Headroom::Sih { bytes: None, bandwidth_delays: Some(products) };
    }
    if is_free("switch.private_per_queue") {
        switch.private_per_queue = Bytes(0);
    }
}

/// Sets keys that ns3-datacenter has no setting for: thresholds, headroom, and marks of incoming packets.
fn apply_datacenter(keys: &mut ScenarioKeys, is_free: impl Fn(&str) -> bool) {
    let switch = &mut keys.switch;
    apply_buffer(switch, (8, 2496, 3), &is_free);
    if let Some(ecn) = switch.ecn.as_mut().filter(|_| is_free("switch.ecn.mark_at")) {
        ecn.mark_at = MarkAt::Enqueue;
    }
}

/// Sets keys that `ConWeave`'s simulator has no setting for: thresholds, headroom, and the class of ACKs.
fn apply_conweave(keys: &mut ScenarioKeys, is_free: impl Fn(&str) -> bool) {
    let switch = &mut keys.switch;
    apply_buffer(switch, (16, 1, 2), &is_free);
    if is_free("switch.control_priority") {
        switch.control_priority = OptionalPriority(Some(0));
    }
    if is_free("host.ack_priority") {
        keys.host.ack_priority = Some(AckPriority::Fixed(0));
    }
    if is_free("host.ack_queue") {
        keys.host.ack_queue = Some(Priority(0));
    }
    if let Some(hpcc) = keys.results.hpcc.as_mut().filter(|_| is_free("results.hpcc.lines")) {
        hpcc.lines = HpccLines::Conweave;
    }
}
