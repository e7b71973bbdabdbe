//! The receiving end of a queue pair: reliability, congestion feedback, and the peer's address.

use fabric_core::priority::Priority;
use fabric_core::wire::RemainingSize;
use fabric_core::wire::psn::Psn;
use fabric_core::wire::roce::{Ecn, Opcode, RocePacket, TelemetryFields};
use units::Picos;

use crate::congestion_control::CongestionFeedback;
use crate::flow::{HINTS, TIME_TO_LIVE};
use crate::host::HostConfig;
use crate::reliability::{Answer, Reception, ReliableReceiver};

/// A flow to be received, whose set-up happened out of band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponderRequest {
    /// Number of its queue pair or connection, equal at both ends, 24 bits.
    pub qp: u32,
    /// Index of the flow's transport among the host's transports.
    pub transport: u16,
    /// Address of the requester.
    pub peer: u32,
    /// PSN of the first packet.
    pub initial_psn: Psn,
    /// UDP source port of packets from this end.
    pub source_port: u16,
    /// Payload bytes that the flow carries.
    pub bytes: u64,
}

/// Responder of one flow.
#[derive(Debug)]
pub struct Responder<R, F> {
    request: ResponderRequest,
    reliability: R,
    feedback: F,
    /// Bits that the code points of ACKs and NAKs have in addition to a priority.
    ack_bits: u8,
}

impl<R: ReliableReceiver, F: CongestionFeedback> Responder<R, F> {
    /// A responder made of these parts.
    pub fn new(request: &ResponderRequest, reliability: R, feedback: F, ack_bits: u8) -> Self {
        Self { request: *request, reliability, feedback, ack_bits }
    }

    pub fn request(&self) -> &ResponderRequest {
        &self.request
    }

    /// Payload bytes received in order.
    pub fn delivered_bytes(&self) -> u64 {
        self.reliability.delivered_bytes()
    }

    /// Handles a data packet that arrives at `now`, marked or not. Returns true if a CNP is due.
    #[inline]
    pub fn calls_for_notification(&mut self, now: Picos, marked: bool) -> bool {
        self.feedback.received(now, marked)
    }

    /// Handles a data packet. Returns its outcome, and the answer that is due.
    #[inline]
    pub fn receive(&mut self, packet: &RocePacket) -> (Reception, Option<Answer>) {
        self.reliability.receive(packet)
    }

    /// The ACK or NAK that carries `answer` to `packet` and echoes its telemetry.
    pub fn acknowledgement(
        &mut self,
        config: &HostConfig,
        answer: &Answer,
        packet: &RocePacket,
    ) -> RocePacket {
        let own = packet.dscp & !HINTS;
        let dscp = config.ack_priority.map_or(own, dscp_of) | self.ack_bits;
        RocePacket {
            opcode: Opcode::Acknowledge,
            congestion_echo: self.feedback.echo(),
            psn: answer.psn,
            aeth: Some(answer.aeth),
            telemetry: packet.telemetry.filter(|fields| !fields.echo).map(TelemetryFields::echoed),
            ..self.packet(config.address, dscp)
        }
    }

    /// The CNP to the sender's queue pair. Its PSN is zero (`RoCEv2` annex, A17.9.3).
    pub fn notification(&self, config: &HostConfig) -> RocePacket {
        self.packet(config.address, dscp_of(config.cnp_priority))
    }

    fn packet(&self, source: u32, dscp: u8) -> RocePacket {
        RocePacket {
            source,
            destination: self.request.peer,
            source_port: self.request.source_port,
            dscp,
            ecn: Ecn::NotCapable,
            ttl: TIME_TO_LIVE,
            opcode: Opcode::Cnp,
            ack_request: false,
            congestion_echo: false,
            destination_qp: self.request.qp,
            psn: Psn::new(0),
            reth: None,
            aeth: None,
            payload_length: 0,
            telemetry: None,
            remaining: RemainingSize::UNKNOWN,
        }
    }
}

/// The code point that a priority has by custom.
const fn dscp_of(priority: Priority) -> u8 {
    priority.number() << 3
}

#[cfg(test)]
pub(crate) mod tests {
    use fabric_core::wire::roce::{AethFields, Syndrome};

    use super::*;
    use crate::host::tests::config;
    use crate::reliability::{Receiver, Reliability};

    /// Echoes whether the last packet was marked, and requests a CNP for each marked packet.
    struct Mirror(bool);

    impl CongestionFeedback for Mirror {
        fn received(&mut self, _: Picos, marked: bool) -> bool {
            self.0 = marked;
            marked
        }

        fn echo(&mut self) -> bool {
            self.0
        }
    }

    /// A request to receive a flow from host 1.
    pub(crate) fn request(initial_psn: Psn, bytes: u64) -> ResponderRequest {
        ResponderRequest { qp: 9, transport: 0, peer: 1, initial_psn, source_port: 50_000, bytes }
    }

    fn responder(config: &HostConfig) -> Responder<Receiver, Mirror> {
        let initial_psn = Psn::new(7);
        let request = request(initial_psn, 3500);
        Responder::new(&request, Reliability::GoBackN.receiver(&request, config), Mirror(false), 0)
    }

    #[test]
    fn an_answer_goes_back_to_the_requester() {
        let config = config(2);
        let mut responder = responder(&config);
        let notification = RocePacket {
            source: 2,
            destination: 1,
            source_port: 50_000,
            dscp: 48,
            ecn: Ecn::NotCapable,
            ttl: 64,
            opcode: Opcode::Cnp,
            ack_request: false,
            congestion_echo: false,
            destination_qp: 9,
            psn: Psn::new(0),
            reth: None,
            aeth: None,
            payload_length: 0,
            telemetry: None,
            remaining: RemainingSize::UNKNOWN,
        };
        assert_eq!(responder.notification(&config), notification);
        let aeth = AethFields { syndrome: Syndrome::Ack, message_sequence_number: 4 };
        let answer = Answer { psn: Psn::new(12), aeth };
        let (opcode, psn, aeth) = (Opcode::Acknowledge, Psn::new(12), Some(aeth));
        let expected = RocePacket { opcode, psn, aeth, dscp: 24, ..notification };
        let data = RocePacket { opcode: Opcode::WriteMiddle, dscp: 40, ..notification };
        assert_eq!(responder.acknowledgement(&config, &answer, &data), expected);
        let config = HostConfig { ack_priority: None, ..config };
        let of_data = RocePacket { dscp: 40, ..expected };
        assert_eq!(responder.acknowledgement(&config, &answer, &data), of_data);
        let hints = RocePacket { dscp: 43, ..data };
        assert_eq!(responder.acknowledgement(&config, &answer, &hints), of_data);
        responder.ack_bits = 2;
        let marked = RocePacket { dscp: 42, ..expected };
        assert_eq!(responder.acknowledgement(&config, &answer, &data), marked);
    }

    #[test]
    fn an_answer_echoes_the_telemetry_of_its_packet() {
        let config = config(2);
        let mut responder = responder(&config);
        let aeth = AethFields { syndrome: Syndrome::Ack, message_sequence_number: 4 };
        let answer = Answer { psn: Psn::new(12), aeth };
        let received = TelemetryFields { room: 5, hops: 3, echo: false, exceeded: false };
        let echo = TelemetryFields { echo: true, ..received };
        for (received, expected) in [(None, None), (Some(received), Some(echo)), (Some(echo), None)]
        {
            let packet = RocePacket { telemetry: received, ..responder.notification(&config) };
            let acknowledgement = responder.acknowledgement(&config, &answer, &packet);
            assert_eq!(acknowledgement.telemetry, expected);
        }
    }

    #[test]
    fn an_answer_echoes_what_the_feedback_says() {
        let config = config(2);
        let mut responder = responder(&config);
        let aeth = AethFields { syndrome: Syndrome::Ack, message_sequence_number: 4 };
        let answer = Answer { psn: Psn::new(12), aeth };
        let packet = responder.notification(&config);
        for marked in [false, true, false] {
            assert_eq!(responder.calls_for_notification(Picos(5), marked), marked);
            let acknowledgement = responder.acknowledgement(&config, &answer, &packet);
            assert_eq!(acknowledgement.congestion_echo, marked);
        }
    }
}
