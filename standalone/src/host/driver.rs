//! The driver of a standalone host: it moves frames and time.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use emulation::datapath::HostArrival;
use fabric_core::wire::{LinkAddresses, LinkDelayFrame, Packet, link_delay};
use host_agent::{Host, HostConfig};
use linux::af_xdp;
use switch_user::program::HostProgram;
use units::Picos;

use super::checksums::SoftwareChecksums;
use super::report::DriverReport;
use crate::Error;
use crate::clock::{Clock, MAX_LIFE, until};
use crate::interface::{Interface, Look};
use crate::lateness::{Lateness, Pace};
use crate::neighbours::{self, NeighbourTable};
use crate::wait::{SPIN, Signals, Waiter};

/// Max number of frames taken at once.
const BATCH: usize = 64;
/// Interval at which a host checks its interface.
const HOUSEKEEPING: Picos = Picos(200_000_000_000);
/// Interval at which a host polls the kernel for a neighbour.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// Parts of a driver.
pub(super) struct Parts {
    /// The host.
    pub host: Host,
    /// Its configuration.
    pub config: HostConfig,
    /// Socket that sends and receives its frames.
    pub socket: af_xdp::Socket,
    /// The time.
    pub clock: Clock,
    /// Its interface.
    pub interface: Interface,
    /// Min MTU of the interface for the host's packets, bytes.
    pub least_mtu: u64,
    /// Program that passes frames to the socket while this value lives.
    pub _program: HostProgram,
    /// Waits for descriptors and signals.
    pub waiter: Waiter,
    /// The neighbour to which all packets go.
    pub gateway: Option<[u8; 6]>,
    /// Neighbours by destination address.
    pub mac_addresses: BTreeMap<u32, [u8; 6]>,
    /// Keeps the stack computing checksums while this value lives.
    pub _checksums: Option<SoftwareChecksums>,
}

/// A host at work.
pub struct Driver {
    parts: Parts,
    pace: Pace,
    housekeeping: Picos,
    departures: Lateness,
    /// Frames that did not parse as packets, or whose ICRC or payload was wrong.
    unreadable: u64,
    not_sent: u64,
}

impl Driver {
    pub(super) fn new(parts: Parts) -> Self {
        Self {
            parts,
            pace: Pace::default(),
            housekeeping: Picos::ZERO,
            departures: Lateness::default(),
            unreadable: 0,
            not_sent: 0,
        }
    }

    /// The host.
    pub(super) fn host(&mut self) -> &mut Host {
        &mut self.parts.host
    }

    /// Its configuration.
    pub(super) fn config(&self) -> &HostConfig {
        &self.parts.config
    }

    /// Its IPv4 address.
    pub fn address(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.parts.config.address)
    }

    /// Name of its interface.
    pub fn interface(&self) -> &str {
        &self.parts.interface.name
    }

    /// The time.
    pub(super) fn now(&self) -> Picos {
        self.parts.clock.now()
    }

    /// Finds the neighbour through which packets go to an address, polling up to `looks` times. It blocks the host
    /// meanwhile; a signal ends it.
    pub(super) fn find_mac_address(
        &mut self,
        destination: Ipv4Addr,
        looks: u32,
    ) -> Result<(), Error> {
        let Parts { interface, gateway, mac_addresses, waiter, .. } = &mut self.parts;
        let mut found = *gateway;
        for look in 0..looks {
            if found.is_some() {
                break;
            }
            let Some(hop) = neighbours::next_hop(interface, destination) else { break };
            found = NeighbourTable::read().mac_address_of(&interface.name, hop);
            if found.is_none() {
                if look > 0 {
                    let signals = waiter.wait([], LOOK_INTERVAL);
                    signals.map_err(|source| Error::System { step: "wait", source })?.or_end()?;
                }
                neighbours::look_for(interface, hop);
            }
        }
        let interface = || interface.name.clone();
        let mac =
            found.ok_or_else(|| Error::NoNeighbour { interface: interface(), destination })?;
        mac_addresses.insert(destination.to_bits(), mac);
        Ok(())
    }

    /// Processes frames that have arrived, runs timers and sends frames that may leave. Returns the next due
    /// instant.
    pub(super) fn run_once(&mut self) -> Result<Picos, Error> {
        let now = self.now();
        for _ in 0..BATCH {
            if !self.take_arrival(now) {
                break;
            }
        }
        if self.parts.host.next_timer().is_some_and(|timer| timer <= now) {
            self.parts.host.handle_deadline(now);
        }
        while self.pace.free_at() <= now {
            if !self.send_next(now)? {
                self.pace.rest();
                break;
            }
        }
        if now >= self.housekeeping {
            self.keep_house(now)?;
        }
        let free = self.pace.free_at().max(now);
        let host = &mut self.parts.host;
        let next = [host.plan_transmission(free), host.next_timer(), Some(self.housekeeping)];
        Ok(next.into_iter().flatten().min().unwrap_or(Picos::MAX))
    }

    /// Waits until a frame arrives, one of `others` is readable, a signal arrives or an instant is reached.
    pub(super) fn wait<'a>(
        &'a mut self,
        others: impl IntoIterator<Item = BorrowedFd<'a>>,
        due: Picos,
    ) -> Result<Signals, Error> {
        let span = until(self.now(), due);
        let Parts { socket, waiter, .. } = &mut self.parts;
        if span < SPIN {
            return Ok(waiter.taken());
        }
        let descriptors = [af_xdp::Socket::as_fd(socket)].into_iter().chain(others);
        let signals = waiter.wait(descriptors, span);
        signals.map_err(|source| Error::System { step: "wait", source })
    }

    /// The waiter, for callers that wait for something else.
    pub(super) fn waiter(&mut self) -> &mut Waiter {
        &mut self.parts.waiter
    }

    fn take_arrival(&mut self, now: Picos) -> bool {
        let Parts { socket, host, .. } = &mut self.parts;
        let mut parsed = None;
        if !socket.receive(|bytes| parsed = HostArrival::parse(bytes).ok()) {
            return false;
        }
        match parsed {
            Some(HostArrival::Packet(Packet::Roce(packet))) => host.handle_packet(now, &packet),
            Some(HostArrival::HopControl(control)) => host.handle_hop_control(now, &control),
            Some(HostArrival::LinkDelay(frame)) => host.handle_link_delay(now, &frame),
            Some(HostArrival::Packet(Packet::Tcp(_)) | HostArrival::Foreign) | None => {
                self.unreadable += 1;
            }
        }
        true
    }

    /// Sends a frame, if one may leave. Returns true if it did.
    fn send_next(&mut self, now: Picos) -> Result<bool, Error> {
        if let Some(response) = self.parts.host.poll_link_delay(now) {
            self.send_link_delay(now, &response)?;
            return Ok(true);
        }
        let Some(packet) = self.parts.host.poll_transmit(now) else { return Ok(false) };
        let Packet::Roce(roce) = packet else {
            unreachable!("the only transport is RoCEv2");
        };
        let Parts { config, mac_addresses, socket, .. } = &mut self.parts;
        let mac = mac_addresses.get(&roce.destination).copied();
        let destination = mac.expect("it was found before the flow began");
        let addresses = LinkAddresses { source: config.mac, destination };
        let sent = socket.send_with(packet.frame_length(), |buffer| {
            packet
                .emit_stamped(&addresses, &[], buffer)
                .expect("hosts send packets whose fields are in range");
        });
        self.occupy(now, packet.frame_length() as u64);
        self.check_sent(sent)?;
        Ok(true)
    }

    fn send_link_delay(&mut self, now: Picos, response: &LinkDelayFrame) -> Result<(), Error> {
        let mut bytes = [0; link_delay::LEN];
        response.emit(&mut bytes);
        let sent = self.parts.socket.send(&bytes);
        self.occupy(now, bytes.len() as u64);
        self.check_sent(sent)
    }

    fn occupy(&mut self, now: Picos, length: u64) {
        let HostConfig { frame_time, link_rate, .. } = self.parts.config;
        let due = self.pace.occupy(now, frame_time.serialise(link_rate, length));
        // The frame has just left.
        self.departures.record(due, self.now());
    }

    /// A frame that the interface drops counts as lost; a missing interface ends the host.
    fn check_sent(&mut self, sent: Result<(), af_xdp::Error>) -> Result<(), Error> {
        match sent {
            Ok(()) => Ok(()),
            Err(af_xdp::Error::Dropped { .. }) => {
                self.not_sent += 1;
                Ok(())
            }
            Err(error) if self.parts.interface.is_there() => Err(error.into()),
            Err(_) => Err(Error::Gone(self.parts.interface.name.clone())),
        }
    }

    fn keep_house(&mut self, now: Picos) -> Result<(), Error> {
        let Parts { interface, least_mtu, .. } = &self.parts;
        Look::begin()?.check(interface, *least_mtu..=u64::MAX)?;
        if now > MAX_LIFE {
            return Err(Error::TooOld);
        }
        self.housekeeping = now + HOUSEKEEPING;
        Ok(())
    }

    /// Counters up to now.
    pub(super) fn report(&self) -> DriverReport {
        let socket = self.parts.socket.statistics();
        DriverReport {
            unreadable: self.unreadable,
            not_sent: self.not_sent,
            socket_losses: socket.map_or(0, |statistics| statistics.frames_lost()),
            departures_late: self.departures.late(),
            lost_ns: self.pace.lost().to_nanos().0,
            ..DriverReport::new(self.parts.host.counters())
        }
    }
}
