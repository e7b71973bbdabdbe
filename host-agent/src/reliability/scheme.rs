//! The choice of a host's reliability: the one place that names all schemes.

use fabric_core::wire::roce::RocePacket;
use serde::Serialize;
use units::{Bytes, Picos};

use super::go_back_n::{GoBackNRequester, GoBackNResponder};
use super::selective_repeat::{Parameters, SelectiveRepeatRequester, SelectiveRepeatResponder};
use super::{Answer, Answered, Reception, ReliableReceiver, ReliableSender, Transmission};
use crate::flow::{Flow, Placement};
use crate::host::HostConfig;
use crate::responder::ResponderRequest;

/// Scheme by which queue pairs repair losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "reliability", rename_all = "kebab-case")]
pub enum Reliability {
    /// Go-back-N, as reliable connections of `InfiniBand` have it.
    GoBackN,
    /// Selective repeat, as IRN has it (Mittal et al., SIGCOMM 2018).
    SelectiveRepeat(Parameters),
}

impl Reliability {
    /// The packets that carry a RETH.
    pub const fn placement(self) -> Placement {
        match self {
            Self::GoBackN => Placement::FirstOfMessage,
            Self::SelectiveRepeat(_) => Placement::EveryPacket,
        }
    }

    /// The sending end of a flow that has sent nothing.
    pub(crate) fn sender(self, config: &HostConfig) -> Sender {
        match self {
            Self::GoBackN => Sender::GoBackN(GoBackNRequester::new(config.retransmission_timeout)),
            Self::SelectiveRepeat(parameters) => {
                Sender::SelectiveRepeat(Box::new(SelectiveRepeatRequester::new(
                    config.retransmission_timeout,
                    parameters,
                    config.ack_interval,
                )))
            }
        }
    }

    /// The receiving end of a flow of which nothing has arrived.
    pub(crate) fn receiver(self, request: &ResponderRequest, config: &HostConfig) -> Receiver {
        match self {
            Self::GoBackN => {
                Receiver::GoBackN(GoBackNResponder::new(request.initial_psn, config.ack_interval))
            }
            Self::SelectiveRepeat(_) => Receiver::SelectiveRepeat(Box::new(
                SelectiveRepeatResponder::new(request, config.payload, config.ack_interval),
            )),
        }
    }
}

/// The sending end of any of them.
#[derive(Debug)]
pub(crate) enum Sender {
    GoBackN(GoBackNRequester),
    /// In a box, so that it does not make every queue pair longer.
    SelectiveRepeat(Box<SelectiveRepeatRequester>),
}

impl ReliableSender for Sender {
    #[inline]
    fn next(&self, flow: &Flow) -> Option<u64> {
        match self {
            Self::GoBackN(sender) => sender.next(flow),
            Self::SelectiveRepeat(sender) => sender.next(flow),
        }
    }

    #[inline]
    fn transmit(&mut self, now: Picos, flow: &Flow) -> Transmission {
        match self {
            Self::GoBackN(sender) => sender.transmit(now, flow),
            Self::SelectiveRepeat(sender) => sender.transmit(now, flow),
        }
    }

    #[inline]
    fn outstanding(&self, flow: &Flow) -> Bytes {
        match self {
            Self::GoBackN(sender) => sender.outstanding(flow),
            Self::SelectiveRepeat(sender) => sender.outstanding(flow),
        }
    }

    #[inline]
    fn receive(&mut self, now: Picos, answer: &Answer, flow: &Flow) -> Answered {
        match self {
            Self::GoBackN(sender) => sender.receive(now, answer, flow),
            Self::SelectiveRepeat(sender) => sender.receive(now, answer, flow),
        }
    }

    #[inline]
    fn retransmission_deadline(&self) -> Option<Picos> {
        match self {
            Self::GoBackN(sender) => sender.retransmission_deadline(),
            Self::SelectiveRepeat(sender) => sender.retransmission_deadline(),
        }
    }

    fn expire(&mut self, now: Picos) {
        match self {
            Self::GoBackN(sender) => sender.expire(now),
            Self::SelectiveRepeat(sender) => sender.expire(now),
        }
    }

    #[inline]
    fn is_complete(&self, flow: &Flow) -> bool {
        match self {
            Self::GoBackN(sender) => sender.is_complete(flow),
            Self::SelectiveRepeat(sender) => sender.is_complete(flow),
        }
    }
}

/// The receiving end of any of them.
#[derive(Debug)]
pub(crate) enum Receiver {
    GoBackN(GoBackNResponder),
    /// In a box, so that it does not make every queue pair longer.
    SelectiveRepeat(Box<SelectiveRepeatResponder>),
}

impl ReliableReceiver for Receiver {
    #[inline]
    fn receive(&mut self, packet: &RocePacket) -> (Reception, Option<Answer>) {
        match self {
            Self::GoBackN(receiver) => receiver.receive(packet),
            Self::SelectiveRepeat(receiver) => receiver.receive(packet),
        }
    }

    #[inline]
    fn delivered_bytes(&self) -> u64 {
        match self {
            Self::GoBackN(receiver) => receiver.delivered_bytes(),
            Self::SelectiveRepeat(receiver) => receiver.delivered_bytes(),
        }
    }
}
