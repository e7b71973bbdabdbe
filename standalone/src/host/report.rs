//! What a host has counted, as text and as JSON.

use std::fmt;
use std::net::Ipv4Addr;

use host_agent::HostCounters;
use serde::Serialize;

use crate::lateness::Late;

/// What any host has counted.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct DriverReport {
    /// Data packets sent, retransmissions included.
    pub data_packets_sent: u64,
    /// Data packets received.
    pub data_packets_received: u64,
    /// Data packets sent again.
    pub retransmitted_packets: u64,
    /// Retransmission timers that expired.
    pub timeouts: u64,
    /// Data packets that came after one that is missing.
    pub out_of_order_packets: u64,
    /// Data packets received with congestion experienced.
    pub marked_packets_received: u64,
    /// PFC frames received that pause a priority.
    pub pauses_received: u64,
    /// PFC frames received that only resume.
    pub resumes_received: u64,
    /// Frames that were no packet, or whose ICRC or payload was not what was sent.
    pub unreadable: u64,
    /// Frames that the interface did not take.
    pub not_sent: u64,
    /// Frames that came in and that the socket had no room for.
    pub socket_losses: u64,
    /// From the instant at which the NIC could have sent a frame until it did.
    pub departures_late: Late,
    /// Time that the NIC stood still because the process was too late, and that it did not make up for.
    pub lost_ns: u64,
}

impl DriverReport {
    pub(super) fn of(counters: &HostCounters) -> Self {
        Self {
            data_packets_sent: counters.data_packets_sent,
            data_packets_received: counters.data_packets_received,
            retransmitted_packets: counters.retransmitted_packets,
            timeouts: counters.timeouts,
            out_of_order_packets: counters.out_of_order_packets,
            marked_packets_received: counters.marked_packets_received,
            pauses_received: counters.pauses_received,
            resumes_received: counters.resumes_received,
            ..Self::default()
        }
    }
}

impl fmt::Display for DriverReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pauses_received, resumes_received, unreadable, not_sent, socket_losses, .. } =
            self;
        writeln!(f, "PFC frames in: {pauses_received} PAUSE, {resumes_received} RESUME")?;
        write!(f, "lost here: {not_sent} not taken by the interface, {socket_losses} not taken ")?;
        writeln!(f, "from it in time, {unreadable} unreadable")?;
        write!(f, "departures late: {}", self.departures_late)
    }
}

/// A transfer that is over.
#[derive(Clone, Debug, Serialize)]
pub struct Transfer {
    /// Payload.
    pub bytes: u64,
    /// From its start to its last ACK.
    pub fct_ns: u64,
    /// Payload bits in a second of that.
    pub goodput_bps: u64,
    /// Data packets sent again.
    pub retransmitted_packets: u64,
    /// CNPs received.
    pub notifications: u64,
}

/// What `send` has done.
#[derive(Clone, Debug, Serialize)]
pub struct SenderReport {
    /// To whom.
    pub to: Ipv4Addr,
    /// By flow.
    pub transfers: Vec<Transfer>,
    /// By flow: payload bytes that the receiver says it has.
    pub delivered_bytes: Vec<u64>,
    /// What the host has counted.
    pub host: DriverReport,
}

impl fmt::Display for SenderReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (flow, transfer) in self.transfers.iter().enumerate() {
            let Transfer { bytes, fct_ns, goodput_bps, retransmitted_packets, notifications } =
                transfer;
            let (us, mbps) = (fct_ns / 1000, *goodput_bps as f64 / 1e6);
            write!(f, "flow {flow}: {bytes} B to {} in {us} us, {mbps:.1} Mbit/s; ", self.to)?;
            writeln!(f, "{retransmitted_packets} packets again, {notifications} CNPs")?;
        }
        self.host.fmt(f)
    }
}

/// What `receive` has done.
#[derive(Clone, Debug, Serialize)]
pub struct ReceiverReport {
    /// Transfers that came whole.
    pub transfers: u64,
    /// Their payload bytes.
    pub delivered_bytes: u64,
    /// Transfers whose sender went away before they were whole.
    pub abandoned: u64,
    /// What the host has counted.
    pub host: DriverReport,
}

impl fmt::Display for ReceiverReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { transfers, delivered_bytes, abandoned, host } = self;
        writeln!(f, "{transfers} transfers of {delivered_bytes} B in all, {abandoned} abandoned")?;
        host.fmt(f)
    }
}
