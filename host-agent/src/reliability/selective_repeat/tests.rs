//! Both ends over a path that loses, repeats and reorders packets and answers.

use std::collections::BTreeMap;

use fabric_core::wire::psn::Psn;
use fabric_core::wire::roce::{AethFields, RocePacket, Syndrome};
use proptest::prelude::*;
use units::Picos;
use workload::random::mix;

use super::*;
use crate::flow::tests::placed;
use crate::flow::{Flow, Placement};
use crate::reliability::{
    Answer, Outcome, Reception, ReliableReceiver, ReliableSender, Transmission,
};
use crate::responder::tests::request;

/// From one end to the other, in steps; a step is the time of a packet on the wire.
const DELAY: u64 = 10;
const RTO_HIGH: u64 = 200;
const PARAMETERS: Parameters = Parameters { rto_low: Picos(60), rto_low_packets: 3 };

/// Faults of the path, each with its probability in thousandths.
#[derive(Clone, Copy, Debug, Default)]
struct Path {
    loss: u64,
    repetition: u64,
    /// This share waits up to `DELAY` longer, and is overtaken.
    reordering: u64,
    seed: u64,
}

/// Counts of a flow's run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Account {
    sent: u64,
    again: u64,
    packets_lost: u64,
    answers_lost: u64,
    timeouts: u64,
}

enum Cargo {
    Packet(RocePacket),
    Answer(Answer),
}

/// One flow between its two ends.
struct Line {
    requester: SelectiveRepeatRequester,
    responder: SelectiveRepeatResponder,
    flow: Flow,
    path: Path,
    /// Max payload bytes outstanding.
    window: u64,
    /// Numbers of packets that the path loses when they are sent for the first time.
    doomed: Vec<u64>,
    under_way: BTreeMap<(u64, u64), Cargo>,
    drawn: u64,
    account: Account,
}

impl Line {
    fn new(packets: u64, ack_interval: u32, initial_psn: u32, path: Path) -> Self {
        let bytes = packets * 1000 - 400;
        let request = request(Psn::new(initial_psn), bytes);
        Self {
            requester: SelectiveRepeatRequester::new(Picos(RTO_HIGH), PARAMETERS, ack_interval),
            responder: SelectiveRepeatResponder::new(&request, 1000, ack_interval),
            flow: placed(bytes, initial_psn, Placement::EveryPacket),
            path,
            window: u64::MAX,
            doomed: Vec::new(),
            under_way: BTreeMap::new(),
            drawn: 0,
            account: Account::default(),
        }
    }

    /// True in `thousandths` of a thousand cases.
    fn draw(&mut self, thousandths: u64) -> bool {
        self.drawn += 1;
        mix(self.path.seed, self.drawn) % 1000 < thousandths
    }

    fn carry(&mut self, now: u64, cargo: Cargo) {
        let late = if self.draw(self.path.reordering) {
            self.drawn += 1;
            mix(self.path.seed, self.drawn) % DELAY
        } else {
            0
        };
        self.drawn += 1;
        self.under_way.insert((now + DELAY + late, self.drawn), cargo);
    }

    fn send_packet(&mut self, now: u64) {
        let outstanding = self.requester.outstanding(&self.flow).0;
        let full = outstanding > 0 && outstanding + 1000 > self.window;
        if full || self.requester.next(&self.flow).is_none() {
            return;
        }
        let transmission = self.requester.transmit(Picos(now), &self.flow);
        let mut packet = self.flow.packet(transmission.number);
        packet.ack_request |= transmission.ack_request;
        self.account.sent += 1;
        self.account.again += u64::from(transmission.again);
        let doomed = !transmission.again && self.doomed.contains(&transmission.number);
        if doomed || self.draw(self.path.loss) {
            self.account.packets_lost += 1;
            return;
        }
        let copies = 1 + u64::from(self.draw(self.path.repetition));
        for _ in 0..copies {
            self.carry(now, Cargo::Packet(packet));
        }
    }

    fn send_answer(&mut self, now: u64, answer: Answer) {
        if self.draw(self.path.loss) {
            self.account.answers_lost += 1;
            return;
        }
        let copies = 1 + u64::from(self.draw(self.path.repetition));
        for _ in 0..copies {
            self.carry(now, Cargo::Answer(answer));
        }
    }

    /// Runs the flow to its end and returns its counts. Every byte must be delivered once.
    fn run(mut self) -> Account {
        let bytes = self.flow.request().bytes;
        let (mut in_order, mut acknowledged) = (0, 0);
        for now in 0.. {
            assert!(now < 10_000_000, "the flow completes: {:?}", self.account);
            while let Some(entry) = self.under_way.first_entry()
                && entry.key().0 <= now
            {
                match entry.remove() {
                    Cargo::Packet(packet) => {
                        let (reception, answer) = self.responder.receive(&packet);
                        assert_ne!(reception, Reception::Mismatch);
                        if let Reception::InOrder { bytes, .. } = reception {
                            in_order += bytes;
                        }
                        assert_eq!(self.responder.delivered_bytes(), in_order);
                        if let Some(answer) = answer {
                            self.send_answer(now, answer);
                        }
                    }
                    Cargo::Answer(answer) => {
                        let answered = self.requester.receive(Picos(now), &answer, &self.flow);
                        assert_ne!(answered.outcome, Outcome::BeyondSent);
                        acknowledged += answered.bytes.0;
                        if answered.outcome == Outcome::Completed {
                            assert_eq!((in_order, acknowledged), (bytes, bytes));
                            return self.account;
                        }
                    }
                }
            }
            if self.requester.retransmission_deadline().is_some_and(|at| at.0 <= now) {
                self.account.timeouts += 1;
                self.requester.expire(Picos(now));
            }
            self.send_packet(now);
        }
        unreachable!("time goes on");
    }
}

/// An event at a requester.
#[derive(Clone, Copy, Debug)]
enum Step {
    Transmit,
    Expire,
    Receive(Answer),
}

/// Answers to packets up to `most`, valid and invalid.
fn steps(most: u32) -> impl Strategy<Value = Vec<Step>> {
    let syndromes = vec![Syndrome::Ack, Syndrome::NakSequenceError, Syndrome::SelectiveNak];
    let number = || prop_oneof![0..most, any::<u32>()].prop_map(|number| number & 0x00ff_ffff);
    let answers = (number(), prop::sample::select(syndromes), number()).prop_map(
        |(psn, syndrome, message_sequence_number)| {
            let aeth = AethFields { syndrome, message_sequence_number };
            Step::Receive(Answer { psn: Psn::new(psn), aeth })
        },
    );
    let step = prop_oneof![4 => Just(Step::Transmit), 1 => Just(Step::Expire), 4 => answers];
    prop::collection::vec(step, 1..300)
}

fn psn() -> impl Strategy<Value = u32> {
    prop_oneof![0u32..1 << 24, (1u32 << 24) - 50..1 << 24]
}

proptest! {
    /// Answers that no responder gives: the requester acknowledges no more than the flow has, and always has a
    /// packet to send, a timer or the end.
    #[test]
    fn no_answer_confuses_the_requester(packets in 1u64..150, steps in steps(200)) {
        let mut line = Line::new(packets, 1, 0, Path::default());
        let bytes = line.flow.request().bytes;
        let mut acknowledged = 0;
        for (now, step) in (0..).map(Picos).zip(steps) {
            let Line { requester, flow, .. } = &mut line;
            match step {
                Step::Transmit if requester.next(flow).is_some() => {
                    let Transmission { number, .. } = requester.transmit(now, flow);
                    prop_assert!(number < packets);
                }
                Step::Expire if requester.retransmission_deadline().is_some() => {
                    requester.expire(now);
                    prop_assert!(requester.next(flow).is_some());
                }
                Step::Receive(answer) => {
                    acknowledged += requester.receive(now, &answer, flow).bytes.0;
                }
                Step::Transmit | Step::Expire => {}
            }
            prop_assert!(requester.outstanding(flow).0 <= bytes);
            prop_assert!(acknowledged <= bytes);
            let goes_on = requester.next(flow).is_some()
                || requester.retransmission_deadline().is_some()
                || requester.is_complete(flow);
            prop_assert!(goes_on, "{requester:?}");
        }
    }

    #[test]
    fn every_byte_is_delivered_once_whatever_the_path_does(
        packets in 1u64..400,
        ack_interval in 1u32..6,
        initial_psn in psn(),
        window in prop_oneof![Just(u64::MAX), 1u64..40_000],
        (loss, repetition, reordering) in (0u64..400, 0u64..300, 0u64..500),
        seed: u64,
    ) {
        let path = Path { loss, repetition, reordering, seed };
        let account = Line { window, ..Line::new(packets, ack_interval, initial_psn, path) }.run();
        prop_assert_eq!(account.sent, packets + account.again);
    }

    #[test]
    fn nothing_is_sent_again_on_an_ordered_path_without_loss(
        packets in 1u64..400,
        initial_psn in psn(),
        window in prop_oneof![Just(u64::MAX), 1u64..40_000],
        repetition in 0u64..300,
        seed: u64,
    ) {
        let path = Path { repetition, seed, ..Path::default() };
        let account = Line { window, ..Line::new(packets, 1, initial_psn, path) }.run();
        prop_assert_eq!(account, Account { sent: packets, ..Account::default() });
    }

    /// Any packets but the last are lost when they are sent for the first time: each is sent again once, and the
    /// timer has no part in it.
    #[test]
    fn exactly_what_is_lost_is_sent_again_and_no_timer_expires(
        packets in 2u64..400,
        ack_interval in 1u32..6,
        initial_psn in psn(),
        doomed in prop::collection::btree_set(0u64..399, 0..30),
    ) {
        let doomed: Vec<u64> = doomed.into_iter().filter(|&lost| lost < packets - 1).collect();
        let lost = doomed.len() as u64;
        let line = Line::new(packets, ack_interval, initial_psn, Path::default());
        let account = Line { doomed, ..line }.run();
        let sent = packets + lost;
        let expected =
            Account { sent, again: lost, packets_lost: lost, answers_lost: 0, timeouts: 0 };
        prop_assert_eq!(account, expected);
    }

    /// On a path that does not reorder, a packet is sent again only because a packet or an answer was lost. A timeout
    /// sends lost packets a second time, at most the packets of a round trip.
    #[test]
    fn losses_bound_what_is_sent_again_on_an_ordered_path(
        packets in 1u64..400,
        initial_psn in psn(),
        loss in 0u64..200,
        seed: u64,
    ) {
        let path = Path { loss, seed, ..Path::default() };
        let account = Line::new(packets, 1, initial_psn, path).run();
        let Account { again, packets_lost, answers_lost, timeouts, .. } = account;
        prop_assert!(again <= packets_lost + answers_lost + timeouts * RTO_HIGH, "{account:?}");
        prop_assert!(timeouts <= packets_lost + answers_lost, "{account:?}");
    }
}
