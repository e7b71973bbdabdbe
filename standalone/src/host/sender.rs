//! The sending end of transfers.

use std::collections::BTreeSet;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;

use fabric_core::priority::Priority;
use fabric_core::wire::Psn;
use host_agent::{FlowRequest, HostEvent};
use nix::errno::Errno;
use socket2::{Domain, Socket, Type};
use units::Picos;
use workload::random::mix;

use super::agreement::{
    Answer, Connection, Delivered, Done, Offer, OfferedFlow, QUEUE_PAIRS, VERSION,
};
use super::driver::Driver;
use super::report::{SenderReport, Transfer};
use crate::Error;
use crate::clock::Countdown;
use crate::wait::Waiter;

/// Number of polls for the neighbour, 5 s in total.
const LOOKS: u32 = 100;
/// Max time until the receiver answers.
const ANSWER: Duration = Duration::from_secs(10);
/// A transfer without an acknowledgement for this time has failed, 10 s.
const NO_PROGRESS: Picos = Picos(10_000_000_000_000);
/// Source ports of flows: the dynamic range.
const FIRST_PORT: u16 = 49_152;
const PORTS: u64 = 16_384;

/// Settings of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sending {
    /// IPv4 address of the receiver.
    pub to: Ipv4Addr,
    /// TCP port on which the receiver listens.
    pub port: u16,
    /// Payload bytes of each flow.
    pub bytes: u64,
    /// Number of flows, which start at once.
    pub count: u32,
    /// Priority of the flows.
    pub priority: Priority,
}

/// Sends the flows and reports how long they took.
pub fn send(
    driver: &mut Driver,
    sending: &Sending,
    reliability: &str,
) -> Result<SenderReport, Error> {
    driver.find_mac_address(sending.to, LOOKS)?;
    let mut connection = connect(sending, driver.waiter())?;
    let flows = offered(sending, driver.address());
    let queue_pairs = agree(&mut connection, driver, &flows, reliability)?;
    let mut transfers: Vec<Option<Transfer>> = vec![None; flows.len()];
    let began = driver.now();
    for ((flow, offered), qp) in (0..).zip(&flows).zip(&queue_pairs) {
        driver.host().start_flow(began, &request(sending, flow, offered, *qp));
    }
    let mut progress = (0, began);
    while transfers.iter().any(Option::is_none) {
        let due = driver.run_once()?;
        while let Some(event) = driver.host().poll_event() {
            if let HostEvent::FlowCompleted { flow, at, counts } = event {
                let fct_ns = at.since(began).to_nanos_ceil().0;
                let bits =
                    u128::from(sending.bytes) * 8 * 1_000_000_000 / u128::from(fct_ns.max(1));
                transfers[flow as usize] = Some(Transfer {
                    bytes: sending.bytes,
                    fct_ns,
                    goodput_bps: u64::try_from(bits).unwrap_or(u64::MAX),
                    retransmitted_packets: counts.retransmitted_packets,
                    notifications: counts.notifications,
                });
            }
        }
        let acknowledged = driver.host().counters().acknowledgements_received;
        let now = driver.now();
        if acknowledged != progress.0 {
            progress = (acknowledged, now);
        }
        if now.since(progress.1) > NO_PROGRESS {
            let message = format!("nothing was acknowledged by {} for 10 s", sending.to);
            return Err(Error::Peer(message));
        }
        driver.wait([connection.stream().as_fd()], due)?.or_end()?;
        check_receiver(&mut connection, transfers.iter().any(Option::is_none))?;
    }
    let done = Done { flows: sending.count };
    connection.write(&done).map_err(lost)?;
    let Delivered { bytes } = connection.read(ANSWER, driver.waiter())?;
    if bytes.len() != flows.len() || bytes.iter().any(|got| *got != sending.bytes) {
        let sent = sending.bytes;
        return Err(Error::Peer(format!(
            "all is acknowledged, but of {sent} B each {bytes:?} came"
        )));
    }
    let transfers = transfers.into_iter().flatten().collect();
    let host = driver.report();
    Ok(SenderReport { to: sending.to, transfers, delivered_bytes: bytes, host })
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` hands over values")]
fn lost(error: io::Error) -> Error {
    Error::Peer(format!("the receiver is gone: {error}"))
}

/// Connects to the receiver with a nonblocking stream.
fn connect(sending: &Sending, waiter: &mut Waiter) -> Result<Connection, Error> {
    let Sending { to, port, .. } = *sending;
    let unreachable = |error: io::Error| {
        Error::Peer(format!(
            "cannot reach a receiver at {to}, TCP port {port}: {error}; start one there \
             (`xoff-host --interface NAME receive`), and see that ping gets there"
        ))
    };
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).map_err(unreachable)?;
    socket.set_nonblocking(true).map_err(unreachable)?;
    match socket.connect(&SocketAddr::from((to, port)).into()) {
        Err(error) if error.raw_os_error() == Some(Errno::EINPROGRESS as i32) => {}
        connected => connected.map_err(unreachable)?,
    }
    let countdown = Countdown::start(ANSWER);
    while socket.peer_addr().is_err() {
        if let Some(error) = socket.take_error().map_err(unreachable)? {
            return Err(unreachable(error));
        }
        let left = countdown.left();
        if left.is_zero() {
            return Err(unreachable(io::ErrorKind::TimedOut.into()));
        }
        let signals = waiter.wait_to_write(socket.as_fd(), left);
        signals.map_err(|source| Error::System { step: "wait", source })?.or_end()?;
    }
    let _ = socket.set_tcp_nodelay(true);
    Ok(Connection::new(socket.into()))
}

/// Flows whose ports and PSNs differ from each other and from flows of the previous process.
fn offered(sending: &Sending, address: Ipv4Addr) -> Vec<OfferedFlow> {
    let entropy = u64::from(std::process::id()) << 32 | u64::from(address.to_bits());
    let flow = |number: u32| {
        let mixed = mix(entropy, number.into());
        let [low, high] = [mixed, mixed >> 32];
        OfferedFlow {
            bytes: sending.bytes,
            initial_psn: Psn::new((low & 0xff_ffff) as u32).value(),
            source_port: FIRST_PORT + u16::try_from(high % PORTS).expect("a port is 16 bits"),
        }
    };
    (0..sending.count).map(flow).collect()
}

/// Makes the receiver open queue pairs and returns their numbers.
fn agree(
    connection: &mut Connection,
    driver: &mut Driver,
    flows: &[OfferedFlow],
    reliability: &str,
) -> Result<Vec<u32>, Error> {
    let offer = Offer {
        version: VERSION,
        address: driver.address(),
        payload: driver.config().payload,
        reliability: reliability.to_owned(),
        flows: flows.to_vec(),
    };
    // The offer may be longer than the stream's buffer.
    connection.stream().set_nonblocking(false).map_err(lost)?;
    connection.stream().set_write_timeout(Some(ANSWER)).map_err(lost)?;
    connection.write(&offer).map_err(lost)?;
    connection.stream().set_nonblocking(true).map_err(lost)?;
    let queue_pairs = match connection.read(ANSWER, driver.waiter())? {
        Answer::Open { queue_pairs } => queue_pairs,
        Answer::Refused { reason } => {
            return Err(Error::Peer(format!("the receiver refuses: {reason}")));
        }
    };
    if !are_queue_pairs(&queue_pairs, flows.len()) {
        let message = "the receiver has not opened a queue pair for each flow".to_owned();
        return Err(Error::Peer(message));
    }
    Ok(queue_pairs)
}

/// True if `numbers` are `count` distinct, valid queue pair numbers.
fn are_queue_pairs(numbers: &[u32], count: usize) -> bool {
    let distinct: BTreeSet<&u32> = numbers.iter().collect();
    let are_distinct = distinct.len() == numbers.len() && numbers.len() == count;
    are_distinct && numbers.iter().all(|number| QUEUE_PAIRS.contains(number))
}

fn request(sending: &Sending, flow: u32, offered: &OfferedFlow, qp: u32) -> FlowRequest {
    FlowRequest {
        flow,
        transport: 0,
        destination: sending.to.to_bits(),
        qp,
        initial_psn: Psn::new(offered.initial_psn),
        source_port: offered.source_port,
        priority: sending.priority,
        bytes: offered.bytes,
        is_incast: false,
    }
}

/// Checks that the receiver has not closed the connection: until the transfers are over, a receiver sends nothing.
fn check_receiver(connection: &mut Connection, transfers: bool) -> Result<(), Error> {
    match connection.try_read::<Delivered>() {
        Ok(Some(_)) => Err(Error::Peer("the receiver speaks before its turn".into())),
        Err(error) if transfers => Err(lost(error)),
        Ok(None) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_that_names_no_queue_pairs_is_refused() {
        let rows: [(&[u32], bool); 6] = [
            (&[2, 0x00ff_ffff], true),
            (&[2, 3, 4], false),
            (&[2, 2], false),
            (&[1, 2], false),
            (&[2, 0x0100_0000], false),
            (&[], false),
        ];
        for (numbers, are_valid) in rows {
            assert_eq!(are_queue_pairs(numbers, 2), are_valid, "{numbers:?}");
        }
    }

    #[test]
    fn flows_differ_in_their_ports_and_first_numbers() {
        let to = Ipv4Addr::new(10, 0, 2, 1);
        let priority = Priority::new(3);
        let sending = Sending { to, port: 1, bytes: 9, count: 3, priority };
        let flows = offered(&sending, Ipv4Addr::new(10, 0, 1, 1));
        assert_eq!(flows.len(), 3);
        assert!(flows.iter().all(|flow| flow.source_port >= FIRST_PORT && flow.bytes == 9));
        let again = offered(&sending, Ipv4Addr::new(10, 0, 1, 2));
        assert!(flows[0] != flows[1] && flows != again);
    }
}
