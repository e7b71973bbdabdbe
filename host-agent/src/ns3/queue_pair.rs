//! The sending end of a queue pair.

use fabric_core::priority::Priority;
use units::{BitsPerSecond, Nanos};

use super::Settings;
use super::congestion::Congestion;
use super::time::{Arithmetic, product};

/// A flow that a host sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The number that events name.
    pub flow: u32,
    /// Number of its queue pair at both ends.
    pub qp: u32,
    /// Address of the receiver.
    pub destination: u32,
    /// Source port in the simulator.
    pub source_port: u16,
    /// Destination port in the simulator.
    pub destination_port: u16,
    /// Class of its packets.
    pub priority: Priority,
    /// Bytes to send.
    pub bytes: u64,
    /// Window; 0 for none.
    pub window: u32,
    /// Base round-trip time. theta-PowerTCP lowers it to the least that a packet has had.
    pub base_rtt: Nanos,
}

/// Sending end of a queue pair.
#[derive(Debug)]
pub(super) struct QueuePair {
    pub flow: Flow,
    /// Next byte to send.
    pub next: u64,
    /// All bytes before this one are acknowledged.
    pub acknowledged: u64,
    /// First byte that has never been sent.
    pub frontier: u64,
    /// Current rate.
    pub rate: u64,
    /// Instant from which the next packet may start.
    pub available: Nanos,
    /// Length of the last packet's frame.
    pub last_length: u64,
    pub congestion: Congestion,
    /// Marked ACKs received.
    pub notifications: u64,
    /// Packets sent again.
    pub repeated: u64,
    /// Place in the NIC's list of all queue pairs that it has had.
    pub place: usize,
    pub timeout: Timeout,
    /// Instant since which the queue pair has bytes to send within its window; `None` if it has none now.
    pub open_since: Option<Nanos>,
}

/// Retransmission timer. One event is pending, which moves on to the present deadline when it comes too early.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Timeout {
    /// Present deadline and its place in the order of insertion; `None` if the timer is off.
    pub deadline: Option<(Nanos, u64)>,
    /// Place of the pending event, if one is.
    pub pending: Option<u64>,
}

impl QueuePair {
    pub fn new(flow: Flow, now: Nanos, line: BitsPerSecond, settings: &Settings) -> Self {
        Self {
            flow,
            next: 0,
            acknowledged: 0,
            frontier: 0,
            rate: line.0,
            available: now,
            last_length: 0,
            congestion: Congestion::new(settings, line),
            notifications: 0,
            repeated: 0,
            place: 0,
            timeout: Timeout::default(),
            open_since: Some(now),
        }
    }

    /// Bytes from the next byte to send to the end.
    pub fn left(&self) -> u64 {
        self.flow.bytes.saturating_sub(self.next)
    }

    /// True if all bytes are acknowledged.
    pub fn is_finished(&self) -> bool {
        self.acknowledged >= self.flow.bytes
    }

    /// True if the window forbids the next packet. A packet may overshoot it.
    pub fn is_blocked(&self, line: BitsPerSecond, settings: &Settings) -> bool {
        let window = self.window(line, settings);
        window != 0 && self.next.wrapping_sub(self.acknowledged) >= window
    }

    /// True if the queue pair has bytes to send within its window.
    pub fn is_open(&self, line: BitsPerSecond, settings: &Settings) -> bool {
        self.left() > 0 && !self.is_blocked(line, settings)
    }

    /// Updates `open_since` after a change of the window, the rate, or the bytes sent or acknowledged.
    pub fn note_opening(&mut self, now: Nanos, line: BitsPerSecond, settings: &Settings) {
        let is_open = self.is_open(line, settings);
        self.open_since = is_open.then(|| self.open_since.unwrap_or(now));
    }

    /// The present window; 0 for none.
    fn window(&self, line: BitsPerSecond, settings: &Settings) -> u64 {
        let full = u64::from(self.flow.window);
        match (settings.window_scales, settings.window_by_rtt) {
            (false, _) => full,
            (true, true) => product(self.rate, self.flow.base_rtt.0),
            (true, false) if full == 0 => 0,
            (true, false) => (full.wrapping_mul(self.rate) / line.0).max(1),
        }
    }

    /// Sets a new rate, and moves the next packet's start by the change of the last packet's time.
    pub fn change_rate(&mut self, rate: u64, arithmetic: Arithmetic) {
        let time = |rate| arithmetic.transmission(self.last_length, BitsPerSecond(rate)).0;
        let moved = self.available.0.wrapping_add(time(rate)).wrapping_sub(time(self.rate));
        // Before the start of time there is nothing: the simulator's times are signed.
        self.available = Nanos(if moved > i64::MAX as u64 { 0 } else { moved });
        self.rate = rate;
    }

    /// Accounts for a packet that starts at `now` with a frame of `length` bytes, which keeps the next one away for `gap`.
    pub fn sent(&mut self, now: Nanos, payload: u64, length: u64, gap: Nanos) {
        self.repeated += u64::from(self.next < self.frontier);
        self.next += payload;
        self.frontier = self.frontier.max(self.next);
        self.last_length = length;
        self.available = Nanos(now.0 + gap.0);
        if let Congestion::PowerTcp(state) = &mut self.congestion {
            state.sent(now, self.next as u32);
        }
    }
}
