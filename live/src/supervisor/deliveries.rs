//! Deliveries of flows that a client requested.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use emulation::live::desk::{Delivery, NoNumber};

use super::{Answer, Client, SIGN_OF_LIFE, send_answer};

/// Requested flows that were not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    flows: usize,
    /// Number of flows that were unfinished at the fabric's end.
    unfinished: usize,
    /// Number of flows that got no flow number.
    without_number: usize,
}

impl Missing {
    /// Returns true if the fabric ended before all flows did.
    pub fn has_ended(self) -> bool {
        self.unfinished > 0
    }

    /// Describes the missing flows, if there are any.
    pub fn sentence(self) -> Option<String> {
        let Self { flows, unfinished, without_number } = self;
        let unfinished = (unfinished > 0)
            .then(|| format!("{unfinished} of {flows} flows did not finish: the fabric ended"));
        let without_number = (without_number > 0).then(|| {
            format!(
                "{without_number} of {flows} flows were not started: the fabric has used up its 16 million numbers for \
                 flows; deploy it again"
            )
        });
        let sentences: Vec<String> = [unfinished, without_number].into_iter().flatten().collect();
        (!sentences.is_empty()).then(|| sentences.join("; "))
    }
}

/// Sends a report of each of `flows` flows when it is done. Returns the missing flows when no more can be done. Fails
/// if the client disconnects.
pub fn report_deliveries(
    client: &Client,
    deliveries: &Receiver<Result<Delivery, NoNumber>>,
    flows: usize,
) -> io::Result<Missing> {
    let mut missing = Missing { flows, unfinished: flows, without_number: 0 };
    loop {
        match deliveries.recv_timeout(SIGN_OF_LIFE) {
            Ok(Ok(delivery)) => {
                missing.unfinished -= 1;
                send_answer(client, &Answer::Delivered(delivery))?;
            }
            Ok(Err(NoNumber)) => {
                missing.unfinished -= 1;
                missing.without_number += 1;
            }
            Err(RecvTimeoutError::Timeout) => client.write(b"\n")?,
            Err(RecvTimeoutError::Disconnected) => return Ok(missing),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_missing_for_two_reasons() {
        let sentence = |unfinished, without_number| {
            Missing { flows: 3, unfinished, without_number }.sentence()
        };
        assert_eq!(sentence(0, 0), None);
        let ended = "1 of 3 flows did not finish: the fabric ended";
        assert_eq!(sentence(1, 0).as_deref(), Some(ended));
        let both = sentence(1, 2).expect("flows are missing");
        let others =
            "; 2 of 3 flows were not started: the fabric has used up its 16 million numbers";
        assert!(both.starts_with(&format!("{ended}{others}")), "{both}");
    }
}
