//! One arrival in eBPF: by repeated test runs, and in a running fabric.
//!
//! Test runs in a row are warm: code, tables and ring lie in the caches. After 20 ms of sleep a batch of
//! them takes six times as long (690 ns instead of 115), nearly all of it cache misses. A fabric lies
//! between, so it is measured too.

use anyhow::{Error, Result, ensure};
use fabric_core::arrival::Outcome;
use fabric_core::departure::departure;
use fabric_core::drop_reason::DropReason;
use fabric_core::frame::{ByteFrame, Frame, Parsed};
use fabric_core::hop_control::{FlowList, HopControl, Order};
use fabric_core::lossy::{self, FairShares, FlowTable, Kind};
use fabric_core::policy::{MarkingScheme, Policy, SchemeKind, ThresholdScheme};
use fabric_core::priority::Priority;
use fabric_core::queue::QueueRange;
use fabric_core::routing::flow_name;
use fabric_core::scheme::{Scheme, SchemeSettings, Selected, bfc, gfc, ofc, pfc_family, spfc};
use fabric_core::wire::roce::Ecn;
use fabric_core::wire::{PfcFrame, RocePacket};
use scenario::Scenario;
use switch_user::hook::Hook;
use switch_user::tables::Capacity;
use tests::switch::frame::{bytes, data, hop_control_bytes, inbound, pfc_bytes, port_address};
use tests::switch::{BfcState, CAPACITY, KernelSwitch, RuleState, SpfcRow, State, in_namespace};
use units::{Bytes, Nanos};

use crate::fabric;
use crate::figure::{Aim, Series};

/// Frames come in here, and data leaves at [`EGRESS`].
const PORT: u32 = 1;
const EGRESS: u32 = 2;
/// A priority that is lossy.
const LOSSY: u8 = 4;
/// Offset of the queue's name in a source address.
const UPSTREAM_AT: usize = 8;
/// A batch: the packet is not reset between repetitions, and each takes a hop of 254.
const REPEAT: u32 = 200;
/// A batch at the ring's own size, which holds 40 records.
const SHORT_REPEAT: u32 = 32;
/// Holds a batch of [`REPEAT`] records of 3.3 kB.
const RING_BYTES: u32 = 1 << 20;
/// Batches of one round.
const BATCHES: usize = 2000;
const SLOTS: u32 = 256;
const SIH: Policy = Policy::new(ThresholdScheme::Dynamic, MarkingScheme::AtDequeue);
const DSH: Policy = SIH.with_scheme(SchemeKind::Dsh, 0);
const SPFC: Policy = SIH.with_scheme(SchemeKind::Spfc, 0);
const OFC: Policy = Policy::new(ThresholdScheme::Static, MarkingScheme::AtDequeue)
    .with_scheme(SchemeKind::Ofc, ofc::Options::EVERY[1].to_bits());
const BFC: Policy = SIH.with_scheme(SchemeKind::Bfc, bfc::Options::EVERY[0].to_bits());

/// Durations of an arrival, nanoseconds.
#[derive(Default)]
pub struct ArrivalBench {
    data: Series,
    data_small_ring: Series,
    data_dsh: Series,
    /// `data_dsh` divided by `data`, round by round.
    dsh_to_sih: Series,
    data_bfc: Series,
    /// `data_bfc` divided by `data`, round by round.
    bfc_to_sih: Series,
    data_spfc: Series,
    /// `data_spfc` divided by `data`, round by round.
    spfc_to_sih: Series,
    /// By rule of the PFC family and GFC: the time, and that divided by `data`, round by round.
    rules: Vec<(&'static str, Series, Series)>,
    data_ofc: Series,
    /// `data_ofc` divided by `data`, round by round.
    ofc_to_sih: Series,
    /// By rule of the PFC family and GFC: the time, and its ratio to `data`, round by round.
    flow_pause: Series,
    pfc: Series,
    /// For lossy data, by buffer management except DT: the time, and its ratio to DT's, round by round.
    lossy: Vec<(lossy::Settings, Series, Series)>,
    lossy_dt: Series,
    in_fabric: Series,
}

impl ArrivalBench {
    /// Measures in alternating rounds.
    pub fn run(scenario: &Scenario, rounds: usize) -> Result<Self> {
        in_namespace(|| {
            let mut figures = Self::default();
            let mut switch = load(SIH, Some(RING_BYTES));
            let mut small = load(SIH, None);
            let mut dsh = load(DSH, Some(RING_BYTES));
            let mut spfc = load(SPFC, Some(RING_BYTES));
            let mut bfc = load(BFC, Some(RING_BYTES));
            let mut ofc = load(OFC, Some(RING_BYTES));
            let mut rules: Vec<_> =
                rules().map(|(name, rule)| (name, rule, load_rule(rule))).collect();
            let series =
                |&(name, ..): &(&'static str, _, _)| (name, Series::default(), Series::default());
            figures.rules = rules.iter().map(series).collect();
            let mut managed: Vec<_> = lossy_kinds()
                .map(|settings| (settings, load_lossy(&settings, Some(RING_BYTES))))
                .collect();
            figures.lossy = managed
                .iter()
                .skip(1)
                .map(|(settings, _)| (*settings, Series::default(), Series::default()))
                .collect();
            // An attached program is called directly, an unattached one through a retpoline.
            let schemes = [&mut switch, &mut small, &mut dsh, &mut bfc, &mut spfc, &mut ofc];
            let schemes = schemes.into_iter().chain(rules.iter_mut().map(|(.., switch)| switch));
            let all = schemes.chain(managed.iter_mut().map(|(_, switch)| switch));
            for (switch, port) in all.zip(0..) {
                switch.attach(port).map_err(Error::msg)?;
            }
            let packet = RocePacket { ttl: 255, ..data(EGRESS, 3, Ecn::Capable0, 1000) };
            let mut packet = bytes(&packet, &inbound(PORT));
            // BFC counts it for this queue of the neighbour; to other schemes the address means nothing.
            packet[UPSTREAM_AT] = 9;
            pause_flows(&mut ofc, &packet)?;
            let flow_pause = hop_control_bytes(inbound(PORT).source, flows(&[1, 2, 3, 4]));
            let pfc = pfc_bytes(&PfcFrame::xoff(inbound(PORT).source, 1 << 3, 0xffff));
            let lossy = RocePacket { ttl: 255, ..data(EGRESS, LOSSY, Ecn::Capable0, 1000) };
            let lossy = bytes(&lossy, &inbound(PORT));
            for _ in 0..rounds {
                let mut managed = managed
                    .iter_mut()
                    .map(|(settings, switch)| round(switch, settings.select(SIH), &lossy, REPEAT));
                let dt_ns = managed.next().expect("DT is the first")?;
                figures.lossy_dt.push(dt_ns);
                for ((_, times, ratios), ns) in figures.lossy.iter_mut().zip(managed) {
                    let ns = ns?;
                    times.push(ns);
                    ratios.push(ns / dt_ns);
                }
                let sih_ns = round(&mut switch, SIH, &packet, REPEAT)?;
                let dsh_ns = round(&mut dsh, DSH, &packet, REPEAT)?;
                figures.data.push(sih_ns);
                figures.data_dsh.push(dsh_ns);
                let spfc_ns = round(&mut spfc, SPFC, &packet, REPEAT)?;
                figures.data_spfc.push(spfc_ns);
                figures.spfc_to_sih.push(spfc_ns / sih_ns);
                let bfc_ns = round(&mut bfc, BFC, &packet, REPEAT)?;
                figures.dsh_to_sih.push(dsh_ns / sih_ns);
                figures.data_bfc.push(bfc_ns);
                figures.bfc_to_sih.push(bfc_ns / sih_ns);
                figures.data_small_ring.push(round(&mut small, SIH, &packet, SHORT_REPEAT)?);
                for ((_, rule, switch), (_, times, ratios)) in
                    rules.iter_mut().zip(&mut figures.rules)
                {
                    let ns = round(switch, rule.select(SIH), &packet, REPEAT)?;
                    times.push(ns);
                    ratios.push(ns / sih_ns);
                }
                let ofc_ns = round(&mut ofc, OFC, &packet, REPEAT)?;
                figures.data_ofc.push(ofc_ns);
                figures.ofc_to_sih.push(ofc_ns / sih_ns);
                figures.flow_pause.push(round(&mut ofc, OFC, &flow_pause, REPEAT)?);
                figures.pfc.push(round(&mut switch, SIH, &pfc, REPEAT)?);
                figures.in_fabric.push(fabric::arrival_ns(scenario)?);
            }
            Ok(figures)
        })
    }

    /// Prints the table's part.
    pub fn print(&self) {
        let aim = Aim::AtMost(250.0);
        println!("arrival in eBPF, the record with its copy included, by repeated test runs");
        println!(
            "{:<44}{} ns  {}",
            "  1000 bytes of data, DT, SIH",
            self.data,
            aim.text(&self.data)
        );
        println!("{:<44}{} ns", "  likewise, in the ring that switches have", self.data_small_ring);
        println!("{:<44}{} ns", "  1000 bytes of data, DT, DSH", self.data_dsh);
        let ratio = Aim::AtMost(1.5).text(&self.dsh_to_sih);
        println!("{:<44}{}  {ratio}", "  DSH / SIH", self.dsh_to_sih);
        println!("{:<44}{} ns", "  1000 bytes of data, SPFC, a victim", self.data_spfc);
        let ratio = Aim::AtMost(1.15).text(&self.spfc_to_sih);
        println!("{:<44}{}  {ratio}", "  SPFC / SIH", self.spfc_to_sih);
        println!("{:<44}{} ns", "  1000 bytes of data, DT, BFC beyond Th", self.data_bfc);
        let ratio = Aim::AtMost(2.2).text(&self.bfc_to_sih);
        println!("{:<44}{}  {ratio}", "  BFC / SIH", self.bfc_to_sih);
        for (name, times, ratios) in &self.rules {
            println!("{:<44}{times} ns", format!("  1000 bytes of data, DT, {name}"));
            println!("{:<44}{ratios}", format!("  {name} / SIH"));
        }
        let ofc_aim = Aim::AtMost(400.0).text(&self.data_ofc);
        println!(
            "{:<44}{} ns  {ofc_aim}",
            "  1000 bytes of data, OFC, a paused flow", self.data_ofc
        );
        println!("{:<44}{}", "  OFC / SIH", self.ofc_to_sih);
        println!("{:<44}{} ns", "  PAUSE of four flows, OFC", self.flow_pause);
        println!("{:<44}{} ns", "  PFC frame", self.pfc);
        println!("{:<44}{} ns", "  1000 bytes of lossy data, DT", self.lossy_dt);
        for (settings, times, ratios) in &self.lossy {
            let (name, aim) = (name(settings.kind), Aim::AtMost(1.3));
            println!("{:<44}{times} ns", format!("  likewise, {name}"));
            println!("{:<44}{ratios}  {}", format!("  {name} / DT"), aim.text(ratios));
        }
        println!("arrival in eBPF, all frames of the scenario, by the kernel's statistics");
        let aim = aim.text(&self.in_fabric);
        println!("{:<44}{} ns  {aim}", "  mean, the statistics' own cost included", self.in_fabric);
    }
}

/// Every buffer management, with a flow table that there is room for.
fn lossy_kinds() -> impl Iterator<Item = lossy::Settings> {
    let flows = FlowTable { flows: CAPACITY.lossy_flow_lines * 2, ..FlowTable::DEFAULT };
    let small = move |kind| match kind {
        Kind::FlowAware { short_bytes, .. } => Kind::FlowAware { short_bytes, flows },
        Kind::Intelligent { fair_dropping, prioritisation, .. } => {
            Kind::Intelligent { fair_dropping, prioritisation, flows }
        }
        other => other,
    };
    let alphas = State::fresh().lossy.alphas;
    lossy::Settings::every().map(move |settings| lossy::Settings {
        kind: small(settings.kind),
        alphas,
        first_alphas: alphas,
        ..settings
    })
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::DynamicThreshold => "DT",
        Kind::CompleteSharing => "CS",
        Kind::Active(_) => "ABM",
        Kind::Bshare { .. } => "BSHARE",
        Kind::FlowAware { .. } => "FAB",
        Kind::Intelligent { fair_dropping, prioritisation, .. } => {
            let shares = fair_dropping.map(|fair| fair.shares);
            match (shares, prioritisation.is_some()) {
                (None, _) => "IB, DPP",
                (Some(FairShares::Queues), false) => "IB, AFD by queue",
                (Some(FairShares::Queues), true) => "IB, AFD by queue, DPP",
                (Some(FairShares::Elephants(_)), false) => "IB, AFD by flow",
                (Some(FairShares::Elephants(_)), true) => "IB, AFD by flow, DPP",
            }
        }
    }
}

/// Loads a switch with a buffer management.
fn load_lossy(settings: &lossy::Settings, ring_bytes: Option<u32>) -> KernelSwitch {
    let capacity = Capacity { slots: SLOTS, ..CAPACITY };
    let mut switch = KernelSwitch::load(capacity, settings.select(SIH), Hook::Xdp, ring_bytes);
    State { lossy: *settings, ..state(SIH) }.write(switch.tables_mut());
    switch
}

/// A switch whose packets come back: the next hop at [`EGRESS`] has the address of [`PORT`].
fn load(policy: Policy, ring_bytes: Option<u32>) -> KernelSwitch {
    let capacity = Capacity { slots: SLOTS, ..CAPACITY };
    let mut switch = KernelSwitch::load(capacity, policy, Hook::Xdp, ring_bytes);
    state(policy).write(switch.tables_mut());
    switch
}

/// The rules of the PFC family, and GFC.
fn rules() -> impl Iterator<Item = (&'static str, SchemeSettings)> {
    let names = ["caPFC", "P-PFC by the mean", "P-PFC by the slope", "G-PFC"];
    let family = names.into_iter().zip(pfc_family::Settings::EVERY);
    family
        .map(|(name, rule)| (name, SchemeSettings::PfcFamily(rule)))
        .chain([("GFC", SchemeSettings::Gfc(gfc::Settings::default()))])
}

/// A switch that runs one of them.
fn load_rule(rule: SchemeSettings) -> KernelSwitch {
    let (capacity, policy) = (Capacity { slots: SLOTS, ..CAPACITY }, rule.select(SIH));
    let mut switch = KernelSwitch::load(capacity, policy, Hook::Xdp, Some(RING_BYTES));
    State { rule: Some(RuleState::fresh(rule)), ..state(policy) }.write(switch.tables_mut());
    switch
}

/// A PAUSE of flows with these names.
fn flows(names: &[u32]) -> HopControl {
    let flows = FlowList::new(names).expect("as many as fit");
    HopControl::Flows { priority: Priority::new(3), paused: true, flows }
}

/// The neighbour behind [`EGRESS`] pauses the flow of a packet, and others, so that a quarter of the table is in use.
fn pause_flows(switch: &mut KernelSwitch, packet: &[u8]) -> Result<()> {
    let mut packet = packet.to_vec();
    let own = match ByteFrame(packet.as_mut_slice()).parse() {
        Ok(Parsed::Ipv4(fields)) => flow_name(&fields),
        other => anyhow::bail!("{other:?} is no packet"),
    };
    for first in (0..16u32).step_by(4) {
        let names = [first, first + 1, first + 2, first + 3].map(|number| own ^ number << 20);
        let frame = hop_control_bytes(inbound(EGRESS).source, flows(&names));
        switch.run(EGRESS, &frame, 1).map_err(Error::msg)?;
        let arrival = switch.take().map_err(Error::msg)?;
        let obeyed = arrival.is_some_and(|it| matches!(it.outcome, Outcome::ControlReceived(_)));
        ensure!(obeyed, "a PAUSE of flows was not obeyed");
    }
    Ok(())
}

fn state(policy: Policy) -> State {
    let mut state = State::fresh();
    state.config.shared_pool_bytes = 2_000_000;
    state.config.slots = SLOTS;
    state.switch.slots_limit = SLOTS.into();
    state.free_slots = vec![0; SLOTS as usize];
    state.ports[EGRESS as usize].peer_address = port_address(PORT);
    if policy.scheme() == SchemeKind::Bfc {
        state.config.queues[3] = QueueRange::flow_queues(8, 32);
        // Every packet but the first is beyond Th, and counts.
        let (options, threshold) = (bfc::Options::from_policy(policy), Nanos(90));
        let settings = bfc::Settings { options, threshold, ..bfc::Settings::default() };
        state.bfc = Some(BfcState::fresh(settings));
    }
    if policy.scheme() == SchemeKind::Ofc {
        state.config.queues[3] = QueueRange::flow_queues(8, ofc::state::QUEUES);
        // Every packet after the first ten is above X_off^c, and none above X_off.
        state.config.static_xoff_bytes = 1_000_000;
        state.config.xon_offset_bytes = 995_000;
        let options = ofc::Options::from_policy(policy);
        state.ofc = Some(ofc::Settings { options, congested: Bytes(10_000) });
    }
    if policy.scheme() == SchemeKind::Spfc {
        let row = SpfcRow { period_ns: 80_000, victim_bytes: 1, ..SpfcRow::default() };
        state.spfc = Some((spfc::Options::from_policy(policy), vec![row; CAPACITY.ports as usize]));
    }
    state
}

/// The median of many batches.
fn round(switch: &mut KernelSwitch, policy: Policy, frame: &[u8], repeat: u32) -> Result<f64> {
    let mut batches = Series::default();
    for _ in 0..BATCHES {
        let time = switch.run(PORT, frame, repeat).map_err(Error::msg)?;
        batches.push(time.mean.as_nanos() as f64);
        let mut arrivals = 0;
        while let Some(arrival) = switch.take().map_err(Error::msg)? {
            arrivals += 1;
            match arrival.outcome {
                Outcome::Queued(queued) => {
                    // PFC alone sends nothing; other schemes send a few control frames per batch.
                    let is_quiet = !matches!(
                        policy.scheme(),
                        SchemeKind::Bfc | SchemeKind::Ofc | SchemeKind::PfcFamily | SchemeKind::Gfc
                    );
                    let has_sent = arrival.control.is_empty() || !is_quiet;
                    ensure!(has_sent, "the buffer is too small for a batch");
                    let (tables, slot, quiet) = (switch.tables(), queued.slot, &mut |_: &Order| {});
                    if policy.scheme() == SchemeKind::Ofc {
                        // A departure would put it back, because its flow is paused.
                        let reason = DropReason::WatchdogEgress;
                        Selected::discard(tables, policy, slot, Nanos(0), reason, quiet);
                    } else {
                        departure(tables, policy, slot, Nanos(0), quiet);
                    }
                }
                Outcome::ControlReceived(_) | Outcome::LinkDelayReceived => {}
                Outcome::Dropped(reason) => anyhow::bail!("a frame was dropped: {reason}"),
            }
        }
        ensure!(arrivals == repeat, "{arrivals} records of {repeat} arrivals");
    }
    Ok(batches.median())
}
