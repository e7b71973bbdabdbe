//! Counters of a host.
//!
//! Results have only the counters that `emulation/src/engine/books.rs` sums up: CNPs and packets sent again.

use crate::reliability::Reception;

/// Counters of one host since its start. Packets count as sent when they start onto the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounters {
    /// Flows started.
    pub flows_started: u64,
    /// Flows whose last byte was acknowledged.
    pub flows_completed: u64,
    /// Data packets sent, retransmissions included.
    pub data_packets_sent: u64,
    /// Payload bytes sent, retransmissions included.
    pub payload_bytes_sent: u64,
    /// Data packets sent that had been sent before.
    pub retransmitted_packets: u64,
    /// Retransmission timers that expired.
    pub timeouts: u64,
    /// Data packets received for a queue pair of this host.
    pub data_packets_received: u64,
    /// Payload bytes received in order.
    pub delivered_bytes: u64,
    /// Data packets whose PSN is after the expected PSN. Go-back-N drops them, selective repeat keeps them.
    pub out_of_order_packets: u64,
    /// Data packets dropped because their PSN had been received.
    pub duplicate_packets: u64,
    /// Data packets dropped because opcode or length contradict the message being received.
    pub message_mismatches: u64,
    /// Data packets received with congestion experienced.
    pub marked_packets_received: u64,
    /// ACK packets sent.
    pub acknowledgements_sent: u64,
    /// ACK packets received.
    pub acknowledgements_received: u64,
    /// ACK and NAK packets received that acknowledge nothing new and request nothing.
    pub stale_acknowledgements: u64,
    /// ACK and NAK packets ignored because they name a PSN that was never sent.
    pub acknowledgements_beyond_sent: u64,
    /// NAK packets sent.
    pub naks_sent: u64,
    /// NAK packets received.
    pub naks_received: u64,
    /// Congestion notification packets sent.
    pub cnps_sent: u64,
    /// Congestion notification packets received.
    pub cnps_received: u64,
    /// Times that a reaction point cut its rate.
    pub rate_cuts: u64,
    /// Requests for the link delay received, each of which is answered.
    pub link_delay_requests: u64,
    /// PFC frames sent, all of them by storms.
    pub pfc_frames_sent: u64,
    /// PFC frames received that pause at least one priority.
    pub pauses_received: u64,
    /// PFC frames received that only resume.
    pub resumes_received: u64,
    /// PFC frames ignored because they enable no class.
    pub pauses_without_class: u64,
    /// Hop control frames received that pause at least one queue of this NIC.
    pub queue_pauses_received: u64,
    /// Hop control frames received that only resume queues of this NIC.
    pub queue_resumes_received: u64,
    /// Hop control frames received that set the rate of a priority.
    pub rates_received: u64,
    /// Hop control frames received that pause flows.
    pub flow_pauses_received: u64,
    /// Hop control frames received that resume flows.
    pub flow_resumes_received: u64,
    /// Hop control frames ignored: rates of zero, frames about flows if flow pauses are not obeyed, and frames about a
    /// queue that this NIC does not have.
    pub unexpected_hop_control: u64,
    /// Packets dropped because no queue pair of that number talks to their source. Late packets of finished flows are
    /// among them.
    pub unknown_queue_pair: u64,
    /// Packets dropped because they are addressed to another host.
    pub misdelivered: u64,
    /// Acknowledgements dropped because they carry no AETH.
    pub missing_aeth: u64,
}

impl HostCounters {
    /// Counts a data packet for a queue pair or connection of this host.
    #[inline]
    pub(crate) fn count_data(&mut self, marked: bool) {
        self.data_packets_received += 1;
        self.marked_packets_received += u64::from(marked);
    }

    /// Counts the outcome of a data packet. Returns true if a message is complete.
    #[inline]
    pub(crate) fn count_reception(&mut self, reception: Reception) -> bool {
        match reception {
            Reception::InOrder { bytes, message_complete } => {
                self.delivered_bytes += bytes;
                return message_complete;
            }
            Reception::Duplicate => self.duplicate_packets += 1,
            Reception::OutOfOrder => self.out_of_order_packets += 1,
            Reception::Mismatch => self.message_mismatches += 1,
        }
        false
    }
}
