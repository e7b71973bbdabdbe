//! The receiving end of transfers.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsRawFd;

use fabric_core::wire::Psn;
use host_agent::ResponderRequest;

use super::agreement::{
    Answer, Connection, Delivered, Done, MOST_FLOWS, Offer, QUEUE_PAIRS, VERSION,
};
use super::driver::Driver;
use super::report::ReceiverReport;
use crate::Error;

/// A PSN has 24.
const PSN_BITS: u32 = 0x00ff_ffff;
/// Senders at a time.
const MOST_SENDERS: usize = 256;

/// Looks for a new sender's neighbour, 150 ms: the senders that there are wait meanwhile. The sender has just sent TCP, so
/// the kernel mostly knows it.
const LOOKS: u32 = 4;

/// How a host receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receiving {
    /// Where it listens.
    pub port: u16,
    /// How many transfers it takes before it ends; `None` for as many as come.
    pub count: Option<u64>,
}

/// A sender and its queue pairs.
struct Sender {
    connection: Connection,
    queue_pairs: Vec<u32>,
    expected: Vec<u64>,
}

/// Senders, and what they have brought.
struct Senders {
    all: Vec<Sender>,
    next_queue_pair: u32,
    reliability: String,
    report: ReceiverReport,
}

/// Receives until a signal comes, or all transfers that were asked for have come. Calls `started` once it listens.
pub fn receive(
    driver: &mut Driver,
    receiving: &Receiving,
    reliability: &str,
    started: impl FnOnce(&Driver),
) -> Result<ReceiverReport, Error> {
    let listen = |source| Error::System { step: "listen at its TCP port", source };
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, receiving.port)).map_err(listen)?;
    listener.set_nonblocking(true).map_err(listen)?;
    started(driver);
    let mut senders = Senders {
        all: Vec::new(),
        next_queue_pair: *QUEUE_PAIRS.start(),
        reliability: reliability.to_owned(),
        report: ReceiverReport {
            transfers: 0,
            delivered_bytes: 0,
            abandoned: 0,
            host: driver.report(),
        },
    };
    loop {
        let due = driver.run_once()?;
        // Nobody else asks for them.
        while driver.host().poll_event().is_some() {}
        senders.accept(&listener)?;
        match senders.listen(driver) {
            // As when it comes while the host waits for packets.
            Err(Error::Interrupted) => break,
            attended => attended?,
        }
        let is_whole = receiving.count.is_some_and(|count| senders.report.transfers >= count);
        if is_whole {
            break;
        }
        let streams = senders.all.iter().map(|sender| sender.connection.stream().as_raw_fd());
        let is_full = senders.all.len() >= MOST_SENDERS;
        let listeners = (!is_full).then(|| listener.as_raw_fd());
        if driver.wait(listeners.into_iter().chain(streams), due)?.end {
            break;
        }
    }
    Ok(ReceiverReport { host: driver.report(), ..senders.report })
}

impl Senders {
    fn accept(&mut self, listener: &TcpListener) -> Result<(), Error> {
        while self.all.len() < MOST_SENDERS {
            match listener.accept() {
                Ok((stream, _)) => {
                    let prepared = stream.set_nonblocking(true);
                    prepared.map_err(|source| Error::System { step: "read a stream", source })?;
                    let connection = Connection::new(stream);
                    let (queue_pairs, expected) = (Vec::new(), Vec::new());
                    self.all.push(Sender { connection, queue_pairs, expected });
                }
                // Nobody is there, the one that came is gone again, or the process has no descriptor for it.
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    }

    /// Reads what senders say.
    fn listen(&mut self, driver: &mut Driver) -> Result<(), Error> {
        let mut place = 0;
        while place < self.all.len() {
            match self.attend(driver, place) {
                Ok(true) => {
                    place += 1;
                    continue;
                }
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                // The connection is over, one way or another.
                Ok(false) | Err(_) => {}
            }
            let gone = self.all.swap_remove(place);
            self.report.abandoned += gone.queue_pairs.len() as u64;
            close(driver, &gone.queue_pairs);
        }
        Ok(())
    }

    /// Answers what a sender says, if it says something; false if that was all.
    fn attend(&mut self, driver: &mut Driver, place: usize) -> Result<bool, Error> {
        if self.all[place].queue_pairs.is_empty() {
            let offer = self.all[place].connection.try_read::<Offer>().map_err(lost)?;
            let Some(offer) = offer else {
                return Ok(true);
            };
            let answer = self.open(driver, place, &offer)?;
            let is_open = matches!(answer, Answer::Open { .. });
            self.all[place].connection.write(&answer).map_err(lost)?;
            return Ok(is_open);
        }
        let sender = &mut self.all[place];
        let done = sender.connection.try_read().map_err(lost)?;
        let Some(Done { .. }) = done else { return Ok(true) };
        let bytes = close(driver, &std::mem::take(&mut sender.queue_pairs));
        let whole = bytes.iter().zip(&sender.expected).filter(|(got, sent)| got == sent);
        self.report.transfers += whole.count() as u64;
        self.report.delivered_bytes += bytes.iter().sum::<u64>();
        sender.connection.write(&Delivered { bytes }).map_err(lost)?;
        Ok(false)
    }

    fn open(&mut self, driver: &mut Driver, place: usize, offer: &Offer) -> Result<Answer, Error> {
        if let Some(reason) = self.refusal(driver, offer) {
            return Ok(Answer::Refused { reason });
        }
        match driver.find_station(offer.address, LOOKS) {
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            Err(error) => return Ok(Answer::Refused { reason: error.to_string() }),
            Ok(()) => {}
        }
        for flow in &offer.flows {
            let qp = self.free_queue_pair();
            driver.host().open_responder(&ResponderRequest {
                qp,
                transport: 0,
                peer: offer.address.to_bits(),
                initial_psn: Psn::new(flow.initial_psn & PSN_BITS),
                source_port: flow.source_port,
                bytes: flow.bytes,
            });
            self.all[place].queue_pairs.push(qp);
            self.all[place].expected.push(flow.bytes);
        }
        Ok(Answer::Open { queue_pairs: self.all[place].queue_pairs.clone() })
    }

    /// Why an offer is not accepted.
    fn refusal(&self, driver: &Driver, offer: &Offer) -> Option<String> {
        let Offer { version, payload, reliability, flows, .. } = offer;
        let own = driver.config().payload;
        if *version != VERSION {
            return Some(format!("it speaks version {VERSION} of the protocol, not {version}"));
        }
        if *payload != own {
            return Some(format!("its packets carry {own} bytes, not {payload}: --payload {own}B"));
        }
        if *reliability != self.reliability {
            let own = &self.reliability;
            return Some(format!("it repairs losses by {own}: --reliability {own}"));
        }
        let is_plausible = (1..=MOST_FLOWS).contains(&flows.len());
        (!is_plausible).then(|| format!("{} flows at once", flows.len()))
    }

    fn free_queue_pair(&mut self) -> u32 {
        loop {
            let qp = self.next_queue_pair;
            let next = Some(qp + 1).filter(|next| QUEUE_PAIRS.contains(next));
            self.next_queue_pair = next.unwrap_or(*QUEUE_PAIRS.start());
            if !self.all.iter().any(|sender| sender.queue_pairs.contains(&qp)) {
                return qp;
            }
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` hands over values")]
fn lost(error: io::Error) -> Error {
    Error::Peer(format!("the sender is gone: {error}"))
}

/// Forgets queue pairs, and says what each has got.
fn close(driver: &mut Driver, queue_pairs: &[u32]) -> Vec<u64> {
    let host = driver.host();
    queue_pairs.iter().map(|qp| host.close_responder(*qp).unwrap_or(0)).collect()
}
