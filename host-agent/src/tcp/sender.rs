//! The end of a connection that opens it and sends the flow.

use fabric_core::wire::ipv4;
use fabric_core::wire::tcp::{
    Direction, Flags, Ports, SackBlock, SackBlocks, SynOptions, Timestamps, WINDOW_SCALE,
};
use fabric_core::wire::{TcpSegment, TelemetryFields};
use units::{Bytes, Picos};

use super::retransmission_timeout::RetransmissionTimeout;
use super::scoreboard::{Next, Scoreboard};
use super::sequence::SequenceSpace;
use super::{Ecn, Parameters, span_of, ticks};
use crate::congestion_control::{CongestionControl, Echo, HopTelemetry, Transmitted};
use crate::first_rtt::FirstRtt;
use crate::flow::{FlowRequest, TIME_TO_LIVE};
use crate::flow_trace::SenderState;
use crate::host::{HostConfig, SenderCounts};
use crate::regulator::Regulator;
use crate::reliability::Outcome;
use crate::round_trip::RoundTrips;

/// The window of every segment here: receivers take all that comes.
pub(super) const WINDOW: u16 = u16::MAX;
/// The receive window in bytes. It keeps all unacknowledged bytes within half the sequence numbers.
const RECEIVE_WINDOW: u64 = (WINDOW as u64) << WINDOW_SCALE;

/// State of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handshake {
    /// SYN is to be sent, for the first time or again.
    Due { again: bool },
    /// SYN went out, for the first time or again.
    Sent { again: bool },
    /// The other end has answered.
    Done,
}

/// A probe of the tail (RFC 8985, 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    /// No probe is in flight.
    Idle,
    /// A probe is due, whatever the window.
    Due,
    /// One went out, and not all segments before `end` have been acknowledged since.
    Sent { end: u64 },
}

/// Meaning of a timer expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// Nothing was acknowledged for a retransmission timeout.
    Timeout,
    /// A probe of the tail is due.
    Probe,
}

/// Sender of one flow.
#[derive(Debug)]
pub struct Sender<C> {
    request: FlowRequest,
    source: u32,
    parameters: Parameters,
    /// Stamps for which data segments have room.
    telemetry_hops: u8,
    first_rtt: FirstRtt,
    space: SequenceSpace,
    ports: Ports,
    ecn: Ecn,
    regulator: Regulator<C>,
    scoreboard: Scoreboard,
    round_trips: RoundTrips,
    timeout: RetransmissionTimeout,
    handshake: Handshake,
    probe: Probe,
    /// Start of the present time without progress, while a segment is unacknowledged.
    timer_start: Picos,
    /// Last instant at which a new segment was sent or acknowledged.
    tail_start: Picos,
    /// Loss recovery ends when all that was sent when it began is acknowledged (`RecoveryPoint`).
    recovery_point: Option<u64>,
    /// True if the first segment of a recovery still has to be sent, whatever the window (RFC 6675, 5, step 4.3).
    must_repair: bool,
    /// True if the next new segment must report that the window was reduced.
    reduced: bool,
    /// The sequence number that the other end sends next.
    acknowledgement: u32,
    /// The last clock value of the other end.
    peer_clock: u32,
    counts: SenderCounts,
}

impl<C: CongestionControl> Sender<C> {
    /// A connection of which nothing was sent.
    pub fn new(
        request: &FlowRequest,
        config: &HostConfig,
        parameters: Parameters,
        regulator: Regulator<C>,
        telemetry_hops: u8,
        first_rtt: FirstRtt,
    ) -> Self {
        let initial = request.initial_psn.value() << 8;
        let handshake =
            if parameters.handshake { Handshake::Due { again: false } } else { Handshake::Done };
        Self {
            request: *request,
            source: config.address,
            parameters,
            telemetry_hops,
            first_rtt,
            space: SequenceSpace::new(initial, request.bytes, config.payload),
            ports: Ports::for_connection(request.qp, Direction::FromClient),
            ecn: regulator.algorithm().tcp_ecn(),
            regulator,
            scoreboard: Scoreboard::default(),
            round_trips: RoundTrips::default(),
            timeout: RetransmissionTimeout::new(&parameters),
            handshake,
            probe: Probe::Idle,
            timer_start: Picos::ZERO,
            tail_start: Picos::ZERO,
            recovery_point: None,
            must_repair: false,
            reduced: false,
            acknowledgement: (!initial).wrapping_add(1),
            peer_clock: 0,
            counts: SenderCounts::default(),
        }
    }

    /// The request that started the flow.
    pub fn request(&self) -> &FlowRequest {
        &self.request
    }

    /// Counters of the flow's sender.
    pub fn counts(&self) -> SenderCounts {
        self.counts
    }

    /// Earliest start of the next segment by pacing.
    pub fn next_start(&self) -> Picos {
        self.regulator.next_start()
    }

    /// Returns the cuts of the rate since the last call. The next new segment reports them to the other end, whatever
    /// their reason (RFC 3168, 6.1.2).
    pub fn take_cuts(&mut self) -> u64 {
        let cuts = self.regulator.take_cuts();
        self.reduced |= self.ecn != Ecn::Off && cuts > 0;
        cuts
    }

    /// Traces the flow from now on, before its first segment.
    pub fn trace(&mut self) {
        self.regulator.trace();
    }

    /// See `Regulator::poll_trace`.
    pub fn poll_trace(&mut self, now: Picos) -> Option<SenderState> {
        self.regulator.poll_trace(now, || in_flight(&self.scoreboard, &self.space))
    }

    /// Returns true if the last segment is acknowledged.
    pub fn is_complete(&self) -> bool {
        self.scoreboard.oldest_unacked() == self.space.segments()
    }

    /// Returns true if a segment is ready and the window has room for it. Pacing is not considered.
    pub fn can_send(&self, now: Picos) -> bool {
        match self.handshake {
            Handshake::Due { .. } => true,
            Handshake::Sent { .. } => false,
            Handshake::Done => self.next(now).is_some(),
        }
    }

    /// The segment that may go next, if one may.
    fn next(&self, now: Picos) -> Option<Next> {
        let scoreboard = &self.scoreboard;
        let next = scoreboard
            .next(self.space.segments())
            .filter(|next| next.again || self.fits_receive_window(next.number));
        if self.probe == Probe::Due {
            // A new segment is the better probe (RFC 8985, 7.3).
            return next.or_else(|| scoreboard.newest());
        }
        let next = next?;
        let payload = self.space.payload_of(next.number);
        let allowed = (self.must_repair && next.again)
            || self.regulator.allows(now, || in_flight(scoreboard, &self.space), payload);
        allowed.then_some(next)
    }

    fn fits_receive_window(&self, number: u64) -> bool {
        let oldest = self.space.bytes_before(self.scoreboard.oldest_unacked());
        self.space.bytes_before(number) + self.space.payload_of(number).0 - oldest <= RECEIVE_WINDOW
    }

    /// Returns the next segment, which starts at `now`, and true if it is a retransmission. Requires
    /// [`can_send`](Self::can_send).
    pub fn transmit(&mut self, now: Picos, config: &HostConfig) -> (TcpSegment, bool) {
        if let Handshake::Due { again } = self.handshake {
            return (self.open(now, again), again);
        }
        let next = self.next(now).expect("it can be sent");
        let Next { number, again } = next;
        if number == self.scoreboard.oldest_unacked() {
            self.timer_start = now;
        }
        self.scoreboard.transmit(next);
        self.round_trips.start(number, now);
        self.must_repair &= !again;
        self.counts.retransmitted_packets += u64::from(again);
        if self.probe == Probe::Due {
            // RFC 8985, 7.3: the timer restarts.
            self.probe = Probe::Sent { end: self.scoreboard.sent() };
            self.timer_start = now;
        }
        let last = number + 1 == self.space.segments();
        let payload = self.space.payload_of(number);
        let flags = Flags::ACK
            | (Flags::FIN | Flags::PSH).when(last)
            | Flags::CWR.when(self.reduced && !again);
        if !again {
            self.tail_start = now;
            self.reduced = false;
        }
        // RFC 3168, 6.1.5, forbids ECT in retransmissions; DCTCP's senders set it on all data.
        let capable = match self.ecn {
            Ecn::Off => false,
            Ecn::Classic => !again,
            Ecn::Accurate => true,
        };
        let ecn = if capable { ipv4::Ecn::Capable0 } else { ipv4::Ecn::NotCapable };
        let dscp = self.request.dscp() | self.first_rtt.next(payload);
        let segment = TcpSegment {
            sequence: self.space.start_of(number),
            acknowledgement: self.acknowledgement,
            payload_length: payload.0.try_into().expect("a payload is at most the host's"),
            flags,
            dscp,
            ecn,
            telemetry: TelemetryFields::with_room(self.telemetry_hops),
            ..self.segment(now)
        };
        let length = config.frame_lengths.packet(payload.0, segment.frame_length() as u64);
        let wire = Bytes(config.frame_time.on_the_wire(length));
        self.regulator.transmitted(now, &Transmitted { wire, payload, again });
        (segment, again)
    }

    fn open(&mut self, now: Picos, again: bool) -> TcpSegment {
        self.counts.retransmitted_packets += u64::from(again);
        self.handshake = Handshake::Sent { again };
        self.timer_start = now;
        let ecn = (Flags::ECE | Flags::CWR).when(self.ecn != Ecn::Off);
        let syn = SynOptions { maximum_segment_size: self.maximum_segment_size() };
        let dscp = self.request.dscp() | self.first_rtt.next(Bytes(0));
        TcpSegment { flags: Flags::SYN | ecn, syn: Some(syn), dscp, ..self.segment(now) }
    }

    fn maximum_segment_size(&self) -> u16 {
        self.space.full_payload().0.try_into().unwrap_or(u16::MAX)
    }

    /// An empty segment of this connection.
    fn segment(&self, now: Picos) -> TcpSegment {
        TcpSegment {
            source: self.source,
            destination: self.request.destination,
            ports: self.ports,
            sequence: self.space.initial(),
            acknowledgement: 0,
            window: WINDOW,
            payload_length: 0,
            timestamps: Timestamps { value: ticks(now), echo: self.peer_clock },
            dscp: self.request.dscp(),
            ecn: ipv4::Ecn::NotCapable,
            ttl: TIME_TO_LIVE,
            flags: Flags::ACK,
            syn: None,
            sack: SackBlocks::NONE,
            telemetry: None,
        }
    }

    /// Handles a segment of the other end with its stamps.
    pub fn receive(
        &mut self,
        now: Picos,
        segment: &TcpSegment,
        stamps: &[HopTelemetry],
    ) -> Outcome {
        if segment.flags.contains(Flags::SYN) {
            return self.accept(now, segment);
        }
        if self.handshake != Handshake::Done {
            return Outcome::Stale;
        }
        let oldest = self.scoreboard.oldest_unacked();
        let Some(place) = self.space.place(segment.acknowledgement, oldest) else {
            return Outcome::Stale;
        };
        let first_open = self.space.segments_before(place);
        if first_open > self.scoreboard.sent() {
            return Outcome::BeyondSent;
        }
        self.peer_clock = segment.timestamps.value;
        let new_sacks = self.take_sacks(segment, oldest);
        let acknowledged = self.acknowledge(first_open.max(oldest));
        let progress = first_open > oldest;
        let echoed = segment.timestamps.echo;
        let round_trip =
            self.round_trips.acknowledge(first_open, now, |start| ticks(start) == echoed);
        if progress {
            // RFC 7323, 4.1, if the NIC's clock gives no sample: an ACK of a transmission before the last one.
            let sample = round_trip.unwrap_or_else(|| span_of(ticks(now).wrapping_sub(echoed)));
            self.timeout.sample(sample, &self.parameters);
            (self.timer_start, self.tail_start) = (now, now);
            self.end_probe(first_open);
        }
        let loss = self.detect_loss(first_open);
        let bytes = Bytes(acknowledged + new_sacks);
        let congestion_echo = self.ecn != Ecn::Off && segment.flags.contains(Flags::ECE);
        let echo = Echo::new(congestion_echo, segment.telemetry, stamps);
        let feedback = echo.acknowledged(bytes, round_trip);
        self.regulator.acknowledged(now, &feedback, loss);
        match (self.is_complete(), bytes) {
            (true, _) => Outcome::Completed,
            (false, Bytes(0)) if !progress && !loss => Outcome::Stale,
            (false, _) => Outcome::Useful,
        }
    }

    /// Handles a SYN of the other end.
    fn accept(&mut self, now: Picos, segment: &TcpSegment) -> Outcome {
        let Handshake::Sent { again } = self.handshake else {
            return Outcome::Stale;
        };
        if segment.acknowledgement != self.space.start_of(0) {
            return Outcome::BeyondSent;
        }
        if !segment.flags.contains(Flags::ECE) {
            self.ecn = Ecn::Off;
        }
        self.acknowledgement = segment.sequence.wrapping_add(1);
        self.peer_clock = segment.timestamps.value;
        self.handshake = Handshake::Done;
        if !again {
            self.timeout.sample(now.since(self.timer_start), &self.parameters);
        }
        Outcome::Useful
    }

    /// Acknowledges the segments before `first_open`: bytes that were not SACKed before.
    fn acknowledge(&mut self, first_open: u64) -> u64 {
        let mut bytes = 0;
        let space = &self.space;
        self.scoreboard.acknowledge(first_open, |from, to| {
            bytes += space.bytes_before(to) - space.bytes_before(from);
        });
        bytes
    }

    /// Applies SACK blocks and returns the newly SACKed bytes. Blocks that name bytes never sent are ignored.
    fn take_sacks(&mut self, segment: &TcpSegment, oldest: u64) -> u64 {
        let mut bytes = 0;
        for &SackBlock { start, end } in segment.sack.as_slice() {
            let places = self.space.place(start, oldest).zip(self.space.place(end, oldest));
            let Some((start, end)) = places else { continue };
            // Whole segments only.
            let first = self.space.segments_before(start);
            let first = first + u64::from(self.space.bytes_before(first) < start);
            let last = self.space.segments_before(end);
            if last > self.scoreboard.sent() {
                continue;
            }
            let mut number = self.scoreboard.first_missing(first.max(oldest + 1));
            while number < last {
                if self.scoreboard.sack(number) {
                    bytes += self.space.payload_of(number).0;
                }
                number = self.scoreboard.first_missing(number + 1);
            }
        }
        bytes
    }

    /// Ends the probe, if one is in flight, once segments before `first_open` are acknowledged. A receiver without
    /// DSACK does not report whether the probe repaired a loss (RFC 8985, 7.4).
    fn end_probe(&mut self, first_open: u64) {
        match self.probe {
            Probe::Sent { end } if first_open < end => {}
            _ => self.probe = Probe::Idle,
        }
    }

    /// Detects losses once all segments before `first_open` are acknowledged; true if a recovery begins.
    fn detect_loss(&mut self, first_open: u64) -> bool {
        // Losses of later round trips begin a new recovery, even if the lost segments are in flight again.
        let ended = self.recovery_point.filter(|&end| first_open >= end);
        let later_loss = ended.is_some_and(|end| self.scoreboard.has_lost(end));
        if ended.is_some() {
            (self.recovery_point, self.must_repair) = (None, false);
        }
        if !self.scoreboard.has_gaps() {
            return false;
        }
        // Once all is sent, few more SACKs come, so one is enough. RFC 5827 lowers the threshold if fewer than four
        // segments are in flight, because paths may reorder segments; the paths here do not.
        let all_sent = self.scoreboard.sent() == self.space.segments();
        let threshold = if all_sent { 1 } else { self.parameters.loss_threshold };
        self.scoreboard.find_lost(threshold);
        let must_resend = self.scoreboard.must_resend();
        if self.recovery_point.is_some() || !(later_loss || must_resend) {
            return false;
        }
        self.recovery_point = Some(self.scoreboard.sent());
        self.must_repair = must_resend;
        self.probe = Probe::Idle;
        true
    }

    /// Instant at which the timer expires, if it runs.
    pub fn deadline(&self) -> Option<Picos> {
        let timeout = self.timeout.now(&self.parameters);
        let end = self.timer_start + timeout;
        match self.handshake {
            Handshake::Due { .. } => None,
            Handshake::Sent { .. } => Some(end),
            Handshake::Done if self.scoreboard.oldest_unacked() == self.scoreboard.sent() => None,
            Handshake::Done => Some(self.probe_deadline().map_or(end, |probe| probe.min(end))),
        }
    }

    /// Instant at which a probe of the tail is due (RFC 8985, 7.2): two round trips after the last progress, plus a
    /// delayed ACK if the receiver may delay it.
    fn probe_deadline(&self) -> Option<Picos> {
        let idle = self.probe == Probe::Idle
            && self.recovery_point.is_none()
            && !self.scoreboard.has_gaps();
        if !self.parameters.tail_loss_probe || !idle {
            return None;
        }
        let smoothed = self.timeout.smoothed()?;
        let alone = self.scoreboard.sent() - self.scoreboard.oldest_unacked() == 1;
        let delayed = if alone { self.parameters.delayed_ack } else { Picos::ZERO };
        Some(self.tail_start + Picos(smoothed.0.saturating_mul(2)) + delayed)
    }

    /// Handles an expiry of the timer.
    pub fn expire(&mut self, now: Picos) -> Expiry {
        if self.handshake == Handshake::Done
            && now < self.timer_start + self.timeout.now(&self.parameters)
        {
            self.probe = Probe::Due;
            return Expiry::Probe;
        }
        self.timeout.back_off();
        self.timer_start = now;
        if self.handshake != Handshake::Done {
            self.handshake = Handshake::Due { again: true };
            return Expiry::Timeout;
        }
        // RFC 6675, 5.1: no recovery begins before all segments sent so far are acknowledged.
        self.scoreboard.lose_all();
        self.recovery_point = Some(self.scoreboard.sent());
        self.must_repair = false;
        self.probe = Probe::Idle;
        self.regulator.expired(now);
        Expiry::Timeout
    }
}

/// Bytes that count against the window: segments in flight, each as a full one.
fn in_flight(scoreboard: &Scoreboard, space: &SequenceSpace) -> Bytes {
    Bytes(scoreboard.in_flight() * space.full_payload().0)
}
