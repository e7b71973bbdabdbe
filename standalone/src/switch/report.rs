//! Reports of a switch, as text and as JSON.

use std::collections::BTreeMap;
use std::fmt;

use fabric_core::drop_reason::{DropClass, DropReason};
use fabric_core::hop_control::PauseEvent;
use serde::Serialize;
use switch_user::switch::{Event, Observer, Switch};
use switch_user::tables::SwitchTables;
use units::Picos;

use super::port::Port;
use crate::interface::text_of;
use crate::lateness::Late;

/// Reasons of drops that take a packet of a lossless priority.
const LOSSLESS: [DropReason; 3] = [
    DropReason::HeadroomExhausted,
    DropReason::HeadroomPoolExhausted,
    DropReason::InsuranceExhausted,
];

/// PFC frames that a port has sent.
#[derive(Clone, Copy, Debug, Default)]
struct SentPfc {
    paused: u64,
    renewed: u64,
    resumed: u64,
}

/// Counters of PFC frames sent and of frames that eBPF left alone.
#[derive(Debug)]
pub struct Counts {
    ports: Vec<SentPfc>,
    /// Frames on which the pipeline ran in user space.
    pub left_alone: u64,
}

impl Counts {
    /// Counters for `ports` ports, all zero.
    pub fn new(ports: usize) -> Self {
        Self { ports: vec![SentPfc::default(); ports], left_alone: 0 }
    }

    /// Number of ports.
    pub fn ports(&self) -> u16 {
        u16::try_from(self.ports.len()).expect("a switch has at most 256 ports")
    }
}

impl Observer for Counts {
    fn event(&mut self, _: Picos, _: &SwitchTables, event: Event) {
        let Event::Pause { port, classes, event, .. } = event else { return };
        let of_port = &mut self.ports[usize::from(port)];
        let counter = match event {
            PauseEvent::Pause => &mut of_port.paused,
            PauseEvent::Refresh => &mut of_port.renewed,
            PauseEvent::Resume => &mut of_port.resumed,
        };
        *counter += u64::from(classes.count_ones());
    }
}

/// Counters of a switch since its start.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Time since the switch started, ns.
    pub uptime_ns: u64,
    /// Its ports.
    pub ports: Vec<PortReport>,
    /// Dropped frames, by reason.
    pub drops: BTreeMap<&'static str, u64>,
    /// Dropped frames of lossless priorities that found no buffer.
    pub lossless_drops: u64,
    /// Frames for which the ring between eBPF and user space had no room.
    pub ring_full: u64,
    /// Packets marked with congestion experienced.
    pub ecn_marked: u64,
    /// Max buffered bytes.
    pub buffer_max_bytes: u64,
    /// Max bytes in headroom.
    pub headroom_max_bytes: u64,
    /// Frames that began while their class was paused and the response time was over.
    pub pause_violations: u64,
    /// Frames on which the pipeline ran in user space, because eBPF did not have the turn.
    pub left_alone: u64,
    /// PFC storms that the watchdog has detected, by port and priority.
    pub storms: Vec<StormReport>,
    /// Lateness of arrivals, from the instant at which eBPF had a frame until user space took it. A departing
    /// packet or a PAUSE may be this late.
    pub arrivals_late: Late,
    /// Lateness of departures, from the instant at which a port could have sent a frame until its interface had it.
    pub departures_late: Late,
}

/// Counters of a port.
#[derive(Debug, Serialize)]
pub struct PortReport {
    /// Its interface.
    pub interface: String,
    /// The neighbour's MAC address, if it is known.
    pub neighbour: Option<String>,
    /// Frames received for the switch.
    pub received_frames: u64,
    /// PFC frames among them.
    pub received_pfc: u64,
    /// Frames that left.
    pub sent_frames: u64,
    /// Bytes of these frames, without FCS.
    pub sent_bytes: u64,
    /// PAUSEs sent, of one class each.
    pub pauses_sent: u64,
    /// Renewals of PAUSEs sent, of one class each.
    pub renewals_sent: u64,
    /// RESUMEs sent, of one class each.
    pub resumes_sent: u64,
    /// Frames that the interface did not take.
    pub not_sent: u64,
    /// Packets dropped because the neighbour's MAC address was not known.
    pub without_neighbour: u64,
    /// Time that the port stood still because the process was late, and did not make up for, ns.
    pub lost_ns: u64,
}

/// Watchdog counters of a priority at a port.
#[derive(Debug, Serialize)]
pub struct StormReport {
    /// The port's interface.
    pub interface: String,
    /// The priority.
    pub priority: u8,
    /// True during a storm.
    pub is_present: bool,
    /// Number of detected storms.
    pub detected: u64,
    /// Packets dropped on departure there.
    pub dropped_egress: u64,
    /// Packets dropped on arrival there.
    pub dropped_ingress: u64,
    /// Packets sent in spite of pauses.
    pub forwarded: u64,
}

impl Report {
    pub(super) fn new(
        now: Picos,
        switch: &Switch<u32>,
        ports: &[Port],
        counts: &Counts,
        (arrivals_late, departures_late): (Late, Late),
    ) -> Self {
        let (tables, state) = (switch.tables(), switch.tables().state());
        let dropped = |reason: &DropReason| (reason.name(), tables.dropped(*reason));
        let port = |(number, (port, pfc)): (u32, (&Port, &SentPfc))| PortReport {
            interface: port.interface.name.clone(),
            neighbour: port.mac_address().map(text_of),
            received_frames: tables.received_frames(number),
            received_pfc: tables.received_pfc(number),
            sent_frames: port.counts.sent_frames,
            sent_bytes: port.counts.sent_bytes,
            pauses_sent: pfc.paused,
            renewals_sent: pfc.renewed,
            resumes_sent: pfc.resumed,
            not_sent: port.counts.not_sent,
            without_neighbour: port.counts.without_neighbour,
            lost_ns: port.pace.lost().to_nanos().0,
        };
        Self {
            uptime_ns: now.to_nanos().0,
            ports: (0..).zip(ports.iter().zip(&counts.ports)).map(port).collect(),
            drops: DropReason::ALL
                .iter()
                .filter(|reason| reason.class() != DropClass::Substrate)
                .map(dropped)
                .filter(|(_, count)| *count > 0)
                .collect(),
            lossless_drops: LOSSLESS.iter().map(|reason| tables.dropped(*reason)).sum(),
            ring_full: tables.dropped(DropReason::RingFull),
            ecn_marked: state.ecn_marked.load(),
            buffer_max_bytes: state.buffer_max_bytes.load(),
            headroom_max_bytes: state.headroom_max_bytes.load(),
            pause_violations: tables.violations(),
            left_alone: counts.left_alone,
            storms: storms(switch, ports).collect(),
            arrivals_late,
            departures_late,
        }
    }
}

fn storms<'a>(
    switch: &'a Switch<u32>,
    ports: &'a [Port],
) -> impl Iterator<Item = StormReport> + 'a {
    switch.storm_histories().map(|(port, priority, history, is_present)| StormReport {
        interface: ports[usize::from(port)].interface.name.clone(),
        priority: priority.number(),
        is_present,
        detected: history.detected,
        dropped_egress: history.egress_dropped.packets,
        dropped_ingress: history.ingress_dropped.packets,
        forwarded: history.forwarded.packets,
    })
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for port in &self.ports {
            let PortReport { interface, neighbour, received_frames, sent_frames, .. } = port;
            let neighbour = neighbour.as_deref().unwrap_or("not known yet");
            write!(f, "{interface}: neighbour {neighbour}, {received_frames} frames in, ")?;
            write!(f, "{sent_frames} out; PAUSE {} out, ", port.pauses_sent)?;
            writeln!(f, "RESUME {} out, PFC frames {} in", port.resumes_sent, port.received_pfc)?;
            if port.not_sent + port.without_neighbour + port.lost_ns > 0 {
                write!(f, "  {} frames not taken by the interface, ", port.not_sent)?;
                write!(f, "{} without a neighbour, ", port.without_neighbour)?;
                writeln!(f, "{} us of the link lost to late departures", port.lost_ns / 1000)?;
            }
        }
        let Self { buffer_max_bytes, headroom_max_bytes, lossless_drops, .. } = self;
        writeln!(f, "buffer: at most {buffer_max_bytes} B, {headroom_max_bytes} B in headroom")?;
        for (reason, count) in &self.drops {
            writeln!(f, "dropped {count}: {reason}")?;
        }
        writeln!(
            f,
            "lossless packets dropped: {lossless_drops}, by a full ring: {}",
            self.ring_full
        )?;
        for storm in &self.storms {
            let StormReport { interface, priority, detected, .. } = storm;
            let now = if storm.is_present { "NOW" } else { "not now" };
            write!(
                f,
                "PFC storms at {interface}, priority {priority}: {now}; {detected} detected, "
            )?;
            write!(f, "{} packets dropped on the way out, ", storm.dropped_egress)?;
            write!(f, "{} on the way in, ", storm.dropped_ingress)?;
            writeln!(f, "{} sent in spite of pauses", storm.forwarded)?;
        }
        writeln!(f, "frames sent against a PAUSE: {}", self.pause_violations)?;
        writeln!(f, "frames taken late: {}", self.arrivals_late)?;
        writeln!(f, "departures late: {}", self.departures_late)?;
        write!(f, "frames that eBPF left to user space: {}", self.left_alone)
    }
}
