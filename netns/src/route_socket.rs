//! A netlink socket that sends many requests in one system call.

use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

use rtnetlink::packet_core::{
    ErrorBuffer, ErrorMessage, NLA_HEADER_SIZE, NLM_F_ACK, NLM_F_REQUEST, NLMSG_ERROR,
    NetlinkBuffer, NetlinkHeader, NetlinkMessage, NetlinkPayload, NlasIterator, Parseable,
};
use rtnetlink::packet_route::RouteNetlinkMessage;
use rtnetlink::sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

use crate::error::Error;

/// Maximum number of requests in one system call. The default receive buffer of 212992 bytes must
/// hold all answers: an error takes about 800 bytes of socket memory, an interface's description
/// about 2500.
const BATCH_REQUESTS: usize = 64;
/// Bytes after which a batch is sent: well below the default send buffer.
const BATCH_BYTES: usize = 32 * 1024;
/// Attribute of `linux/netlink.h` with the kernel's text on an error.
const NLMSGERR_ATTR_MSG: u16 = 1;
/// An error's payload begins with the header of the request that it answers.
const ECHOED_HEADER_LEN: usize = 16;

/// A request of a [`RouteSocket`]; its text completes the sentence "cannot ...".
pub(crate) trait RouteRequest: fmt::Display {
    /// Returns the message and the `NLM_F_*` flags that decide whether the object may exist
    /// already.
    fn message(&self) -> (RouteNetlinkMessage, u16);
}

/// A netlink socket, which stays in the namespace in which it was opened.
pub(crate) struct RouteSocket {
    socket: Socket,
    next_sequence: u32,
}

impl RouteSocket {
    /// Opens a socket in the calling thread's namespace.
    pub(crate) fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        // An error then contains the request's header instead of the whole request, and the
        // kernel's text.
        socket.set_cap_ack(true)?;
        socket.set_ext_ack(true)?;
        Ok(Self { socket, next_sequence: 1 })
    }

    /// Sends all `requests` in order. Returns the first error, although the kernel still handles
    /// later requests of the same batch.
    pub(crate) fn execute<R: RouteRequest>(&mut self, requests: &[R]) -> Result<(), Error> {
        self.query(requests, |_| ())
    }

    /// Returns the sequence number of a request behind `count` others.
    fn sequence_after(&self, count: usize) -> u32 {
        self.next_sequence + u32::try_from(count).expect("a batch has few requests")
    }

    /// Like [`Self::execute`], and passes the payload of each answer to `on_answer` undecoded: a
    /// kernel newer than the decoder may describe an interface in ways that the decoder rejects.
    pub(crate) fn query<R: RouteRequest>(
        &mut self,
        requests: &[R],
        mut on_answer: impl FnMut(&[u8]),
    ) -> Result<(), Error> {
        let mut rest = requests;
        let mut buffer = Vec::with_capacity(BATCH_BYTES);
        while !rest.is_empty() {
            buffer.clear();
            let mut count = 0;
            let mut last_start = 0;
            while count < rest.len().min(BATCH_REQUESTS) && buffer.len() < BATCH_BYTES {
                last_start = buffer.len();
                append(&mut buffer, &rest[count], self.sequence_after(count));
                count += 1;
            }
            acknowledge(&mut buffer[last_start..]);
            let (batch, after) = rest.split_at(count);
            self.exchange(&buffer, batch, &mut on_answer)?;
            self.next_sequence = self.sequence_after(count);
            rest = after;
        }
        Ok(())
    }

    /// Sends one batch and reads answers until the acknowledgement of its last request, the only
    /// one that requests it. Earlier requests answer only if they fail.
    fn exchange<R: RouteRequest>(
        &self,
        buffer: &[u8],
        batch: &[R],
        on_answer: &mut impl FnMut(&[u8]),
    ) -> Result<(), Error> {
        let transport = |source| Error::Refused {
            request: format!("send netlink requests, the first of which is to {}", batch[0]),
            kernel: None,
            source,
        };
        self.socket.send(buffer, 0).map_err(transport)?;
        loop {
            let (bytes, _) = match self.socket.recv_from_full() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                result => result.map_err(transport)?,
            };
            let undecodable = |error| transport(io::Error::other(error));
            let answer = NetlinkBuffer::new_checked(&bytes).map_err(undecodable)?;
            if answer.message_type() != NLMSG_ERROR {
                on_answer(answer.payload());
                continue;
            }
            let error = ErrorBuffer::new_checked(&answer.payload())
                .and_then(|error| ErrorMessage::parse(&error))
                .map_err(undecodable)?;
            let number = answer.sequence_number().wrapping_sub(self.next_sequence) as usize;
            if error.code.is_some() {
                return Err(Error::Refused {
                    request: batch.get(number).unwrap_or(&batch[0]).to_string(),
                    kernel: kernel_words(&error.header),
                    source: error.to_io(),
                });
            }
            if number == batch.len() - 1 {
                return Ok(());
            }
        }
    }
}

impl AsRawFd for RouteSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

fn append(buffer: &mut Vec<u8>, request: &impl RouteRequest, sequence: u32) {
    let (message, flags) = request.message();
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | flags;
    header.sequence_number = sequence;
    let mut message = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(message));
    message.finalize();
    let start = buffer.len();
    buffer.resize(start + message.buffer_len().next_multiple_of(4), 0);
    message.serialize(&mut buffer[start..]);
}

/// Adds `NLM_F_ACK` to the message that `message` begins with.
fn acknowledge(message: &mut [u8]) {
    let flags = u16::from_ne_bytes([message[6], message[7]]) | NLM_F_ACK;
    message[6..8].copy_from_slice(&flags.to_ne_bytes());
}

/// Returns the kernel's text in the attributes behind an error's echoed header.
fn kernel_words(payload: &[u8]) -> Option<String> {
    let attributes = payload.get(ECHOED_HEADER_LEN..).filter(|a| a.len() >= NLA_HEADER_SIZE)?;
    let words = NlasIterator::new(attributes)
        .map_while(Result::ok)
        .find(|attribute| attribute.kind() == NLMSGERR_ATTR_MSG)?;
    Some(String::from_utf8_lossy(words.value()).trim_end_matches('\0').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtnetlink::packet_route::link::LinkMessage;

    struct Probe;

    impl fmt::Display for Probe {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("probe")
        }
    }

    impl RouteRequest for Probe {
        fn message(&self) -> (RouteNetlinkMessage, u16) {
            (RouteNetlinkMessage::GetLink(LinkMessage::default()), 0)
        }
    }

    #[test]
    fn messages_follow_each_other_aligned() {
        let mut buffer = Vec::new();
        append(&mut buffer, &Probe, 7);
        let second = buffer.len();
        append(&mut buffer, &Probe, 8);
        acknowledge(&mut buffer[second..]);
        assert_eq!((second % 4, buffer.len()), (0, 2 * second));
        let flags = |at: usize| u16::from_ne_bytes([buffer[at + 6], buffer[at + 7]]);
        assert_eq!((flags(0), flags(second)), (NLM_F_REQUEST, NLM_F_REQUEST | NLM_F_ACK));
        assert_eq!(buffer[second + 8], 8);
    }

    #[test]
    fn words_of_the_kernel_are_found_behind_the_header() {
        let mut payload = vec![0; ECHOED_HEADER_LEN];
        assert_eq!(kernel_words(&payload), None);
        payload.extend([8, 0, 2, 0, 1, 2, 3, 4]);
        payload.extend([7, 0, 1, 0, b'n', b'o', 0, 0]);
        assert_eq!(kernel_words(&payload).as_deref(), Some("no"));
    }
}
