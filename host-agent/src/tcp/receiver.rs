//! The end of a connection that accepts it and receives the flow.

use fabric_core::wire::ipv4;
use fabric_core::wire::tcp::{
    Direction, Flags, Ports, SackBlock, SackBlocks, SynOptions, Timestamps,
};
use fabric_core::wire::telemetry::{self, Stamp, Stamps};
use fabric_core::wire::{TcpSegment, TelemetryFields};
use units::Picos;

use super::ecn::EcnEcho;
use super::sender::WINDOW;
use super::sequence::SequenceSpace;
use super::{Ecn, Parameters, ticks};
use crate::flow::{HINTS, TIME_TO_LIVE};
use crate::host::HostConfig;
use crate::reliability::Reception;
use crate::responder::ResponderRequest;

/// Segments from `start` to before `end` that have arrived behind a missing one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Island {
    start: u64,
    end: u64,
    /// Order of changes: an island that changed later has a higher number.
    changed: u64,
}

/// ACKs that a segment calls for, in their order.
pub type Answers = [Option<TcpSegment>; 2];

/// Receiver of one flow.
#[derive(Debug)]
pub struct Receiver {
    request: ResponderRequest,
    address: u32,
    /// Code point of ACKs; `None`: the code point of the data.
    ack_dscp: Option<u8>,
    /// Code point of the newest segment.
    data_dscp: u8,
    /// Bits that the code points of ACKs have in addition to a priority.
    ack_bits: u8,
    maximum_segment_size: u16,
    delayed_ack: Picos,
    space: SequenceSpace,
    /// Initial sequence number of this end.
    initial: u32,
    ecn: EcnEcho,
    ecn_capable: bool,
    /// The first segment that has not arrived.
    expected: u64,
    /// In order, with gaps between them.
    islands: Vec<Island>,
    changes: u64,
    /// The clock value to echo (`TS.Recent`), and the sequence number that the last ACK expected (RFC 7323, 4.3).
    clock: Option<u32>,
    acknowledged: u32,
    /// Deadline of an ACK that waits for a second segment, if one waits.
    ack_due: Option<Picos>,
    /// The telemetry of the segment for which it waits.
    waiting: Option<(TelemetryFields, Stamps)>,
}

impl Receiver {
    /// A connection of which nothing has arrived.
    pub fn new(
        request: &ResponderRequest,
        config: &HostConfig,
        parameters: &Parameters,
        ecn: Ecn,
        ack_bits: u8,
    ) -> Self {
        let initial = request.initial_psn.value() << 8;
        let space = SequenceSpace::new(initial, request.bytes, config.payload);
        Self {
            request: *request,
            address: config.address,
            ack_dscp: config.ack_priority.map(|priority| priority.number() << 3),
            data_dscp: 0,
            ack_bits,
            maximum_segment_size: config.payload,
            delayed_ack: parameters.delayed_ack,
            initial: !initial,
            ecn: EcnEcho::new(ecn),
            ecn_capable: ecn != Ecn::Off,
            expected: 0,
            islands: Vec::new(),
            changes: 0,
            clock: None,
            acknowledged: space.start_of(0),
            ack_due: None,
            waiting: None,
            space,
        }
    }

    /// The request that opened this end.
    pub fn request(&self) -> &ResponderRequest {
        &self.request
    }

    /// Payload bytes received in order.
    pub fn delivered_bytes(&self) -> u64 {
        self.space.bytes_before(self.expected)
    }

    /// Deadline of a waiting ACK, if one waits.
    pub fn deadline(&self) -> Option<Picos> {
        self.ack_due
    }

    /// The ACK that has waited long enough, and the stamps that it echoes.
    pub fn expire(&mut self, now: Picos) -> (TcpSegment, Stamps) {
        let (telemetry, stamps) = self.waiting.take().unzip();
        (self.acknowledgement(now, telemetry), stamps.unwrap_or_default())
    }

    /// Handles a segment with its stamps. Returns its outcome, `None` without data, and the ACKs that are due. ACKs
    /// with telemetry echo these stamps.
    pub fn receive(
        &mut self,
        now: Picos,
        segment: &TcpSegment,
        stamps: &[Stamp],
    ) -> (Option<Reception>, Answers) {
        self.data_dscp = segment.dscp & !HINTS;
        if segment.flags.contains(Flags::SYN) {
            return (None, self.accept(now, segment));
        }
        let marked = segment.ecn == ipv4::Ecn::CongestionExperienced;
        // RFC 8257, 3.2: a waiting ACK reports the state before this segment.
        let waiting = self.ack_due.is_some() && self.ecn.changes(marked);
        let before = waiting.then(|| self.acknowledgement(now, None));
        self.ecn.receive(marked, segment.flags.contains(Flags::CWR));
        let number = self
            .space
            .place(segment.sequence, self.expected)
            .and_then(|place| self.space.starting_at(place))
            .filter(|&number| self.space.payload_of(number).0 == u64::from(segment.payload_length));
        let Some(number) = number else {
            return (Some(Reception::Mismatch), [before, None]);
        };
        // The clock that counts is that of the segment that the last ACK waits for (RFC 7323, 4.3, step 2).
        let value = segment.timestamps.value;
        let newer = self.clock.is_none_or(|clock| value.wrapping_sub(clock).cast_signed() >= 0);
        if newer && segment.sequence.wrapping_sub(self.acknowledged).cast_signed() <= 0 {
            self.clock = Some(value);
        }
        let had_gaps = !self.islands.is_empty();
        let reception = self.take(number);
        let in_order = matches!(reception, Reception::InOrder { .. });
        let complete = self.expected == self.space.segments();
        // RFC 5681, 4.2: an ACK waits for one segment at most, and not where something is or was missing.
        let may_wait = self.delayed_ack > Picos::ZERO
            && in_order
            && !had_gaps
            && !complete
            && self.ack_due.is_none();
        let answer = if may_wait {
            self.ack_due = Some(now + self.delayed_ack);
            self.waiting = segment.telemetry.map(|fields| (fields, telemetry::padded(stamps)));
            None
        } else {
            Some(self.acknowledgement(now, segment.telemetry))
        };
        (Some(reception), [before, answer])
    }

    fn take(&mut self, number: u64) -> Reception {
        let place = self.islands.partition_point(|island| island.end <= number);
        let known = self.islands.get(place).is_some_and(|island| island.start <= number);
        if number < self.expected || known {
            return Reception::Duplicate;
        }
        if number > self.expected {
            self.add(number);
            return Reception::OutOfOrder;
        }
        let before = self.delivered_bytes();
        self.expected += 1;
        if let Some(island) = self.islands.first()
            && island.start == self.expected
        {
            self.expected = island.end;
            self.islands.remove(0);
        }
        let message_complete = self.expected == self.space.segments();
        Reception::InOrder { bytes: self.delivered_bytes() - before, message_complete }
    }

    /// Adds a segment to the islands, which do not have it.
    fn add(&mut self, number: u64) {
        self.changes += 1;
        let changed = self.changes;
        let place = self.islands.partition_point(|island| island.end < number);
        match self.islands.get_mut(place) {
            Some(island) if island.end == number => {
                (island.end, island.changed) = (number + 1, changed);
                let end = island.end;
                if let Some(next) = self.islands.get(place + 1).filter(|next| next.start == end) {
                    self.islands[place].end = next.end;
                    self.islands.remove(place + 1);
                }
            }
            Some(island) if island.start == number + 1 => {
                (island.start, island.changed) = (number, changed);
            }
            _ => self.islands.insert(place, Island { start: number, end: number + 1, changed }),
        }
    }

    /// The three islands that changed last, the latest first (RFC 2018, 4).
    fn sack(&self) -> SackBlocks {
        if self.islands.is_empty() {
            return SackBlocks::NONE;
        }
        let mut before = u64::MAX;
        let latest = std::iter::from_fn(|| {
            let older = self.islands.iter().filter(|island| island.changed < before);
            let island = older.max_by_key(|island| island.changed)?;
            before = island.changed;
            let (start, end) = (self.space.start_of(island.start), self.space.start_of(island.end));
            Some(SackBlock { start, end })
        });
        latest.collect()
    }

    /// Answers a SYN, for the first time or again.
    fn accept(&mut self, now: Picos, segment: &TcpSegment) -> Answers {
        self.clock = Some(segment.timestamps.value);
        let ecn = Flags::ECE.when(self.ecn_capable && segment.flags.contains(Flags::ECE));
        let syn = SynOptions { maximum_segment_size: self.maximum_segment_size };
        let answer = TcpSegment {
            sequence: self.initial,
            flags: Flags::SYN | Flags::ACK | ecn,
            syn: Some(syn),
            sack: SackBlocks::NONE,
            ..self.acknowledgement(now, None)
        };
        [Some(answer), None]
    }

    /// The ACK of all that has arrived. It echoes the telemetry of the segment that it answers at once, unless it has
    /// SACK blocks: these are more urgent, and both do not fit.
    fn acknowledgement(&mut self, now: Picos, telemetry: Option<TelemetryFields>) -> TcpSegment {
        (self.ack_due, self.waiting) = (None, None);
        let sack = self.sack();
        let telemetry = telemetry.filter(|fields| sack == SackBlocks::NONE && !fields.echo);
        self.acknowledged = self.space.start_of(self.expected);
        TcpSegment {
            source: self.address,
            destination: self.request.peer,
            ports: Ports::for_connection(self.request.qp, Direction::FromServer),
            sequence: self.initial.wrapping_add(1),
            acknowledgement: self.acknowledged,
            window: WINDOW,
            payload_length: 0,
            timestamps: Timestamps { value: ticks(now), echo: self.clock.unwrap_or_default() },
            dscp: self.ack_dscp.unwrap_or(self.data_dscp) | self.ack_bits,
            ecn: ipv4::Ecn::NotCapable,
            ttl: TIME_TO_LIVE,
            flags: Flags::ACK | Flags::ECE.when(self.ecn.echo()),
            syn: None,
            sack,
            telemetry: telemetry.map(TelemetryFields::echoed),
        }
    }
}
