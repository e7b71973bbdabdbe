//! Reports of a host, as text and as JSON.

use std::fmt;
use std::net::Ipv4Addr;

use host_agent::HostCounters;
use serde::Serialize;

use crate::lateness::Late;

/// Counters of any host, since its start.
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
    /// Frames that did not parse as packets, or whose ICRC or payload was wrong.
    pub unreadable: u64,
    /// Frames that the interface did not take.
    pub not_sent: u64,
    /// Received frames for which the socket had no room.
    pub socket_losses: u64,
    /// Lateness of departures: from the instant at which the NIC could have sent a frame until it did.
    pub departures_late: Late,
    /// Time that the NIC stood still because the process was late, and did not make up for, ns.
    pub lost_ns: u64,
}

impl DriverReport {
    pub(super) fn new(counters: &HostCounters) -> Self {
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

/// A finished transfer.
#[derive(Clone, Debug, Serialize)]
pub struct Transfer {
    /// Payload, bytes.
    pub bytes: u64,
    /// Flow completion time, from its start to its last ACK, ns.
    pub fct_ns: u64,
    /// Payload bits per second over the flow completion time.
    pub goodput_bps: u64,
    /// Data packets sent again.
    pub retransmitted_packets: u64,
    /// CNPs received.
    pub notifications: u64,
}

/// Report of `send`.
#[derive(Clone, Debug, Serialize)]
pub struct SenderReport {
    /// IPv4 address of the receiver.
    pub to: Ipv4Addr,
    /// Transfers, by flow.
    pub transfers: Vec<Transfer>,
    /// Payload bytes that the receiver has reported, by flow.
    pub delivered_bytes: Vec<u64>,
    /// Counters of the host.
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

/// Report of `receive`.
#[derive(Clone, Debug, Serialize)]
pub struct ReceiverReport {
    /// Transfers that completed.
    pub transfers: u64,
    /// Payload bytes of completed transfers.
    pub delivered_bytes: u64,
    /// Transfers whose sender left before they completed.
    pub abandoned: u64,
    /// Counters of the host.
    pub host: DriverReport,
}

impl fmt::Display for ReceiverReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { transfers, delivered_bytes, abandoned, host } = self;
        writeln!(f, "{transfers} transfers of {delivered_bytes} B in all, {abandoned} abandoned")?;
        host.fmt(f)
    }
}
