//! Which reliability a host runs: the one place that names all schemes.

use fabric_core::wire::roce::RocePacket;
use units::{Bytes, Picos};

use super::go_back_n::{GoBackNRequester, GoBackNResponder};
use super::{Answer, Answered, Reception, ReliableReceiver, ReliableSender, Transmission};
use crate::flow::Flow;
use crate::host::HostConfig;
use crate::responder::ResponderRequest;

/// How queue pairs repair losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reliability {
    /// Go-back-N, as reliable connections of `InfiniBand` have it.
    GoBackN,
}

impl Reliability {
    /// The sending end of a flow that has sent nothing.
    pub(crate) fn sender(self, config: &HostConfig) -> Sender {
        match self {
            Self::GoBackN => Sender::GoBackN(GoBackNRequester::new(config.retransmission_timeout)),
        }
    }

    /// The receiving end of a flow of which nothing has arrived.
    pub(crate) fn receiver(self, request: &ResponderRequest, config: &HostConfig) -> Receiver {
        match self {
            Self::GoBackN => {
                Receiver::GoBackN(GoBackNResponder::new(request.initial_psn, config.ack_interval))
            }
        }
    }
}

/// The sending end of any of them.
#[derive(Debug)]
pub(crate) enum Sender {
    GoBackN(GoBackNRequester),
}

impl ReliableSender for Sender {
    #[inline]
    fn next(&self, flow: &Flow) -> Option<u64> {
        match self {
            Self::GoBackN(sender) => sender.next(flow),
        }
    }

    #[inline]
    fn transmit(&mut self, now: Picos, flow: &Flow) -> Transmission {
        match self {
            Self::GoBackN(sender) => sender.transmit(now, flow),
        }
    }

    #[inline]
    fn outstanding(&self, flow: &Flow) -> Bytes {
        match self {
            Self::GoBackN(sender) => sender.outstanding(flow),
        }
    }

    #[inline]
    fn receive(&mut self, now: Picos, answer: &Answer, flow: &Flow) -> Answered {
        match self {
            Self::GoBackN(sender) => sender.receive(now, answer, flow),
        }
    }

    #[inline]
    fn retransmission_deadline(&self) -> Option<Picos> {
        match self {
            Self::GoBackN(sender) => sender.retransmission_deadline(),
        }
    }

    fn expire(&mut self, now: Picos) {
        match self {
            Self::GoBackN(sender) => sender.expire(now),
        }
    }

    #[inline]
    fn is_complete(&self, flow: &Flow) -> bool {
        match self {
            Self::GoBackN(sender) => sender.is_complete(flow),
        }
    }
}

/// The receiving end of any of them.
#[derive(Debug)]
pub(crate) enum Receiver {
    GoBackN(GoBackNResponder),
}

impl ReliableReceiver for Receiver {
    #[inline]
    fn receive(&mut self, packet: &RocePacket) -> (Reception, Option<Answer>) {
        match self {
            Self::GoBackN(receiver) => receiver.receive(packet),
        }
    }

    #[inline]
    fn delivered_bytes(&self) -> u64 {
        match self {
            Self::GoBackN(receiver) => receiver.delivered_bytes(),
        }
    }
}
