//! The receiving end of transfers.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd;

use fabric_core::wire::Psn;
use host_agent::ResponderRequest;
use units::Picos;

use super::agreement::{
    Answer, Connection, Delivered, Done, MAX_FLOWS, Offer, QUEUE_PAIRS, VERSION,
};
use super::driver::Driver;
use super::report::ReceiverReport;
use crate::Error;

/// A PSN has 24 bits.
const PSN_BITS: u32 = 0x00ff_ffff;
/// Max number of concurrent senders.
const MAX_SENDERS: usize = 256;
/// A connection without an offer is closed after this time, 10 s.
const OFFER_PATIENCE: Picos = Picos(10_000_000_000_000);
/// A connection without an offer makes room for a new one after this time, 200 ms.
const GRACE: Picos = Picos(200_000_000_000);
/// A transfer that gets no bytes makes room for a new sender after this time, 60 s.
const TRANSFER_PATIENCE: Picos = Picos(60_000_000_000_000);

/// Number of polls for a new sender's neighbour, 150 ms in total: other senders wait meanwhile. The sender has just
/// sent TCP segments, so the kernel usually knows the neighbour.
const LOOKS: u32 = 4;

/// Settings of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receiving {
    /// TCP port on which the receiver listens.
    pub port: u16,
    /// Number of transfers before the receiver ends; `None` for no limit.
    pub count: Option<u64>,
}

/// A sender and its queue pairs.
struct Sender {
    connection: Connection,
    queue_pairs: Vec<u32>,
    expected: Vec<u64>,
    quiet: Quiet,
}

/// Time since a sender last made progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Quiet {
    /// Instant at which it connected, or at which its transfer was last seen to have received bytes.
    since: Picos,
    /// Bytes of its transfer at that instant; `None` before its offer.
    delivered: Option<u64>,
}

impl Quiet {
    /// True if the sender may be closed for a new one.
    fn may_go(self, now: Picos) -> bool {
        let patience = if self.delivered.is_some() { TRANSFER_PATIENCE } else { GRACE };
        now >= self.since + patience
    }

    /// True if the sender has made no offer in time.
    fn is_late(self, now: Picos) -> bool {
        self.delivered.is_none() && now >= self.since + OFFER_PATIENCE
    }

    /// Records the bytes that the transfer has received.
    fn note(&mut self, now: Picos, delivered: u64) {
        if self.delivered != Some(delivered) {
            *self = Self { since: now, delivered: Some(delivered) };
        }
    }
}

/// The index of the sender that has been quiet for longest, among senders that may be closed. Senders without an
/// offer come first.
fn quietest(all: impl IntoIterator<Item = Quiet>, now: Picos) -> Option<usize> {
    let may_go = all.into_iter().enumerate().filter(|(_, quiet)| quiet.may_go(now));
    may_go.min_by_key(|(_, it)| (it.delivered.is_some(), it.since)).map(|(place, _)| place)
}

/// Senders, and totals of their transfers.
struct Senders {
    all: Vec<Sender>,
    next_queue_pair: u32,
    reliability: String,
    report: ReceiverReport,
}

/// Receives until a signal arrives or all requested transfers have completed. Calls `started` once it listens.
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
        // A receiver does not use the host's events.
        while driver.host().poll_event().is_some() {}
        let waits_for_senders = senders.accept(driver, &listener)?;
        match senders.listen(driver) {
            // A signal ends the loop here as it does while the host waits for packets.
            Err(Error::Interrupted) => break,
            attended => attended?,
        }
        let is_whole = receiving.count.is_some_and(|count| senders.report.transfers >= count);
        if is_whole {
            break;
        }
        let streams = senders.all.iter().map(|sender| sender.connection.stream().as_fd());
        let listeners = waits_for_senders.then(|| listener.as_fd());
        if driver.wait(listeners.into_iter().chain(streams), due)?.end {
            break;
        }
    }
    Ok(ReceiverReport { host: driver.report(), ..senders.report })
}

impl Senders {
    /// Accepts new senders. Returns false if accepting failed: then the listener is not waited for until the host
    /// next tries.
    fn accept(&mut self, driver: &mut Driver, listener: &TcpListener) -> Result<bool, Error> {
        self.close_late(driver);
        loop {
            if self.all.len() >= MAX_SENDERS && !self.make_room(driver) {
                return Ok(false);
            }
            match listener.accept() {
                Ok((stream, _)) => {
                    let prepared = stream.set_nonblocking(true);
                    prepared.map_err(|source| Error::System { step: "read a stream", source })?;
                    let quiet = Quiet { since: driver.now(), delivered: None };
                    let connection = Connection::new(stream);
                    let (queue_pairs, expected) = (Vec::new(), Vec::new());
                    self.all.push(Sender { connection, queue_pairs, expected, quiet });
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                // The connection has already gone, or the process has no free descriptor.
                Err(_) => return Ok(false),
            }
        }
    }

    /// Closes connections that made no offer in time.
    fn close_late(&mut self, driver: &mut Driver) {
        let now = driver.now();
        while let Some(place) = self.all.iter().position(|sender| sender.quiet.is_late(now)) {
            self.leave(driver, place);
        }
    }

    /// Closes the quietest sender, if one may be closed. Returns true if it did.
    fn make_room(&mut self, driver: &mut Driver) -> bool {
        let now = driver.now();
        for sender in self.all.iter_mut().filter(|sender| sender.quiet.delivered.is_some()) {
            let got = sender.queue_pairs.iter().filter_map(|qp| driver.host().delivered_bytes(*qp));
            sender.quiet.note(now, got.sum());
        }
        let place = quietest(self.all.iter().map(|sender| sender.quiet), now);
        place.is_some_and(|place| {
            self.leave(driver, place);
            true
        })
    }

    /// Removes a sender and abandons its unfinished transfer.
    fn leave(&mut self, driver: &mut Driver, place: usize) {
        let gone = self.all.swap_remove(place);
        self.report.abandoned += gone.queue_pairs.len() as u64;
        close(driver, &gone.queue_pairs);
    }

    /// Reads and answers messages of senders.
    fn listen(&mut self, driver: &mut Driver) -> Result<(), Error> {
        let mut place = 0;
        while place < self.all.len() {
            match self.attend(driver, place) {
                Ok(true) => {
                    place += 1;
                    continue;
                }
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                // The connection is over, regularly or with an error.
                Ok(false) | Err(_) => {}
            }
            self.leave(driver, place);
        }
        Ok(())
    }

    /// Answers a sender's message, if there is one. Returns false after the last message.
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
        match driver.find_mac_address(offer.address, LOOKS) {
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
        self.all[place].quiet.note(driver.now(), 0);
        Ok(Answer::Open { queue_pairs: self.all[place].queue_pairs.clone() })
    }

    /// Reason to refuse an offer; `None` to accept it.
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
        let is_plausible = (1..=MAX_FLOWS).contains(&flows.len());
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

/// Closes queue pairs and returns the bytes that each has received.
fn close(driver: &mut Driver, queue_pairs: &[u32]) -> Vec<u64> {
    let host = driver.host();
    queue_pairs.iter().map(|qp| host.close_responder(*qp).unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Picos = Picos(1_000_000_000_000);

    #[test]
    fn the_quietest_makes_room_and_who_transfers_goes_last() {
        let at = |second: u64, delivered| Quiet { since: Picos(SECOND.0 * second), delivered };
        let transfer = at(1, Some(7));
        let all = [at(8, None), transfer, at(7, None), at(9, None)];
        let now = Picos(SECOND.0 * 9);
        assert_eq!(quietest(all, now), Some(2));
        assert_eq!(quietest([transfer, at(9, None)], now), None, "one has just come");
        let later = Picos(SECOND.0 * 61);
        assert_eq!(quietest([transfer, at(61, None)], later), Some(0), "it gets nothing");
        assert_eq!(quietest([transfer, at(60, None)], later), Some(1));
    }

    #[test]
    fn a_transfer_that_gets_bytes_is_not_quiet() {
        let mut quiet = Quiet { since: Picos::ZERO, delivered: None };
        assert!(!quiet.is_late(SECOND) && quiet.is_late(OFFER_PATIENCE));
        quiet.note(SECOND, 0);
        assert!(!quiet.is_late(OFFER_PATIENCE));
        quiet.note(TRANSFER_PATIENCE, 5);
        quiet.note(TRANSFER_PATIENCE + SECOND, 5);
        assert_eq!(quiet, Quiet { since: TRANSFER_PATIENCE, delivered: Some(5) });
        assert!(!quiet.may_go(TRANSFER_PATIENCE + SECOND));
        assert!(quiet.may_go(TRANSFER_PATIENCE + TRANSFER_PATIENCE));
    }
}
