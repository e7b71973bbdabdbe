//! The driver of a standalone switch: it moves frames and time.

use fabric_core::arrival::{Outcome, arrival};
use fabric_core::audit::audit;
use fabric_core::cell::Sharing;
use fabric_core::frame::{ByteFrame, mark_admitted};
use fabric_core::hop_control::Order;
use fabric_core::record::{Header, KIND_LEFT_ALONE};
use fabric_core::wire::{HopControlFrame, LinkDelayFrame, hop_control, link_delay};
use linux::packet_socket::{self, PacketSocket};
use nix::errno::Errno;
use switch_user::program::ProgramError;
use switch_user::program::standalone::StandaloneProgram;
use switch_user::switch::{Arrival, ControlTransmission, Switch, Transmission};
use units::{FrameTime, Nanos, Picos};

use super::counting::Counting;
use super::frames::{Frames, fill};
use super::port::Port;
use super::report::{Counts, Report};
use crate::Error;
use crate::clock::Clock;
use crate::interface::Look;
use crate::lateness::Lateness;
use crate::neighbours::NeighbourTable;

/// Max number of frames taken in one turn. Arrivals during a turn are left alone by eBPF.
const BATCH: usize = 64;

/// Parts of a driver.
pub struct Parts {
    /// The program that is attached to the ports.
    pub program: StandaloneProgram,
    /// The switch.
    pub switch: Switch<u32>,
    /// Socket that sends frames.
    pub socket: PacketSocket,
    /// The time.
    pub clock: Clock,
    /// The ports.
    pub ports: Vec<Port>,
    /// Computes how long frames occupy ports.
    pub frame_time: FrameTime,
    /// Schedule on which congested lossy queues are counted.
    pub counting: Counting,
}

/// See the module.
pub struct Driver {
    parts: Parts,
    frames: Frames,
    /// Frames to send at the end of the turn: port, frame, and the instant from which it could have left.
    outbox: Vec<(u16, u32, Picos)>,
    /// Hop control frames of the last arrival; a field so that its memory is reused.
    orders: Vec<(Order, Option<u32>)>,
    counts: Counts,
    arrivals: Lateness,
    departures: Lateness,
}

/// Departures in user space share the tables with eBPF.
enum WithEbpf {}

impl Sharing for WithEbpf {
    const SHARED: bool = true;
}

impl Driver {
    /// A switch that has forwarded nothing.
    pub fn new(parts: Parts) -> Self {
        let counts = Counts::new(parts.ports.len());
        Self {
            parts,
            frames: Frames::default(),
            outbox: Vec::new(),
            orders: Vec::new(),
            counts,
            arrivals: Lateness::default(),
            departures: Lateness::default(),
        }
    }

    /// The time.
    pub fn now(&self) -> Picos {
        self.parts.clock.now()
    }

    /// The program.
    pub fn program(&self) -> &StandaloneProgram {
        &self.parts.program
    }

    /// Processes frames that have arrived, sends packets whose time has come, and returns the next due instant.
    pub fn run_once(&mut self) -> Result<Picos, Error> {
        self.parts.program.begin_turn();
        // No arrival of this turn is later than `now`.
        let now = self.parts.clock.now();
        let worked = self.take_turn(now);
        self.parts.program.end_turn();
        worked?;
        self.send_all()?;
        Ok(self.next_due(now))
    }

    fn take_turn(&mut self, now: Picos) -> Result<(), Error> {
        let mut heard = None;
        for taken in 1..=BATCH {
            let Some(at) = self.take_arrival(now)? else { break };
            heard = (taken == BATCH).then_some(at);
        }
        // After a full batch, more frames may have arrived.
        self.parts.switch.set_backlog(heard);
        let Parts { switch, counting, .. } = &mut self.parts;
        if counting.is_due(now, || (0..self.counts.ports()).all(|port| switch.is_idle(port))) {
            switch.update_lossy(now);
        }
        while self.parts.switch.handle_deadline(now, &mut self.counts).is_some() {}
        for port in 0..self.counts.ports() {
            self.serve(now, port);
        }
        while let Some(port) = self.parts.switch.poll_woken() {
            self.serve(now, port);
        }
        while let Some(discarded) = self.parts.switch.poll_discarded() {
            self.frames.remove(discarded.frame);
        }
        Ok(())
    }

    /// Takes one frame from the ring, if there is one, and returns its arrival time.
    fn take_arrival(&mut self, now: Picos) -> Result<Option<Picos>, Error> {
        self.orders.clear();
        let frame = self.frames.add();
        let mut bytes = std::mem::take(self.frames.bytes(frame));
        let Self { parts, frames, orders, .. } = self;
        let taken = parts.program.take(
            |_, record| fill(&mut bytes, record),
            |_, order, record| orders.push((*order, Some(frames.insert(record)))),
        );
        *self.frames.bytes(frame) = bytes;
        let Some(header) = taken.map_err(Error::Program)? else {
            self.frames.remove(frame);
            return Ok(None);
        };
        let port = u16::try_from(header.port).unwrap_or(u16::MAX);
        // Frames that eBPF left alone may have arrived since.
        let at = Picos::from_nanos(Nanos(header.time_ns)).min(now);
        self.arrivals.record(at, self.parts.clock.now());
        let outcome = self.outcome(now, &header, frame)?;
        let link_delay = match outcome {
            Outcome::LinkDelayReceived => LinkDelayFrame::parse(self.frames.bytes(frame)).ok(),
            _ => None,
        };
        let arrival = Arrival {
            frame,
            at,
            length: header.length,
            outcome: &outcome,
            orders: &self.orders,
            link_delay: link_delay.as_ref(),
            priority: None,
        };
        let reaction = self.parts.switch.on_arrival(now, port, &arrival, &mut self.counts);
        if !reaction.keeps_frame {
            self.frames.remove(frame);
        }
        Ok(Some(at))
    }

    /// The outcome of a frame's arrival. If eBPF left the frame alone, the pipeline runs now.
    fn outcome(&mut self, now: Picos, header: &Header, frame: u32) -> Result<Outcome, Error> {
        if header.kind != KIND_LEFT_ALONE {
            let unknown = Error::Program(ProgramError::BadRecord("its kind is unknown"));
            return header.outcome().ok_or(unknown);
        }
        self.counts.left_alone += 1;
        let Self { parts, frames, orders, .. } = self;
        let (policy, tables) = (parts.switch.policy(), parts.switch.tables());
        let mut bytes = ByteFrame(frames.bytes(frame).as_mut_slice());
        let outcome =
            arrival(&mut bytes, tables, policy, header.port, now.to_nanos(), &mut |order| {
                orders.push((*order, None));
            });
        parts.program.catch_up();
        Ok(outcome)
    }

    /// Sends the packets of a port that may leave now.
    fn serve(&mut self, now: Picos, number: u16) {
        loop {
            let Parts { switch, ports, .. } = &mut self.parts;
            let port = &mut ports[usize::from(number)];
            if port.pace.free_at() > now {
                return;
            }
            if switch.is_idle(number) {
                return port.pace.rest();
            }
            if let Some(control) = switch.poll_control(now, number) {
                let length = switch.control_length();
                let frame = self.frame_of(&control);
                self.transmit(now, number, frame, length);
                continue;
            }
            let sent = switch.poll_transmit::<WithEbpf, _>(now, number, &mut self.counts);
            let Some(Transmission { frame, length, mark, .. }) = sent else {
                return port.pace.rest();
            };
            if mark {
                mark_admitted(self.frames.bytes(frame));
            }
            self.transmit(now, number, frame, length);
        }
    }

    fn frame_of(&mut self, control: &ControlTransmission<u32>) -> u32 {
        match control {
            ControlTransmission::Built(frame) => *frame,
            ControlTransmission::HopControl { source, control } => {
                let mut bytes = [0; hop_control::LEN];
                HopControlFrame { source: *source, control: *control }.emit(&mut bytes);
                self.frames.insert(&bytes)
            }
            ControlTransmission::LinkDelay(message) => {
                let mut bytes = [0; link_delay::LEN];
                message.emit(&mut bytes);
                self.frames.insert(&bytes)
            }
        }
    }

    fn transmit(&mut self, now: Picos, number: u16, frame: u32, length: u32) {
        let Parts { switch, ports, frame_time, .. } = &mut self.parts;
        let bytes = ByteFrame(self.frames.bytes(frame).as_mut_slice());
        audit(&bytes, switch.tables(), number.into(), now.to_nanos());
        let port = &mut ports[usize::from(number)];
        let span = frame_time.serialise(port.rate, length.into());
        let due = port.pace.occupy(now, span);
        self.outbox.push((number, frame, due));
    }

    /// Sends the frames of the outbox.
    fn send_all(&mut self) -> Result<(), Error> {
        let Self { parts, frames, outbox, departures, .. } = self;
        for (number, frame, due) in outbox.drain(..) {
            let port = &mut parts.ports[usize::from(number)];
            let bytes = frames.bytes(frame);
            // The packet was forwarded before the neighbour was known.
            let has_destination = bytes[..6] != [0; 6];
            if !has_destination && let Some(mac) = port.mac_address() {
                bytes[..6].copy_from_slice(&mac);
            } else if !has_destination {
                port.counts.without_neighbour += 1;
                frames.remove(frame);
                continue;
            }
            match parts.socket.send(port.interface.index, bytes, 0) {
                Ok(()) => {
                    departures.record(due, parts.clock.now());
                    port.counts.sent_frames += 1;
                    port.counts.sent_bytes += bytes.len() as u64;
                }
                Err(error) if is_of_interface(&error) => port.counts.not_sent += 1,
                Err(error) if port.interface.is_there() => return Err(error.into()),
                Err(_) => return Err(Error::Gone(port.interface.name.clone())),
            }
            frames.remove(frame);
        }
        Ok(())
    }

    /// Next instant at which a port with waiting packets is free, a timer expires or a count is due.
    fn next_due(&self, now: Picos) -> Picos {
        let Parts { switch, ports, counting, .. } = &self.parts;
        let waiting = (0..self.counts.ports()).filter(|&port| !switch.is_idle(port));
        let free = waiting.map(|port| ports[usize::from(port)].pace.free_at());
        // A port that is free and has packets waiting is paused.
        let free = free.filter(|&at| at > now).min();
        let is_idle = (0..self.counts.ports()).all(|port| switch.is_idle(port));
        let due = free.into_iter().chain(switch.next_deadline());
        due.chain(counting.next(is_idle)).min().unwrap_or(Picos::MAX)
    }

    /// Checks that interfaces exist unchanged, and updates neighbours.
    pub fn keep_house(&mut self) -> Result<(), Error> {
        let look = Look::begin()?;
        let resolves = self.parts.ports.iter().any(Port::resolves);
        let table = resolves.then(NeighbourTable::read).unwrap_or_default();
        for (number, port) in (0..).zip(&mut self.parts.ports) {
            let mtu = port.interface.mtu;
            look.check(&port.interface, mtu..=mtu)?;
            if port.find_neighbour(&table)
                && let Some(mac) = port.mac_address()
            {
                self.parts.switch.tables().set_peer_address(number, mac);
            }
        }
        Ok(())
    }

    /// Counters up to now.
    pub fn report(&self) -> Report {
        let Parts { switch, ports, clock, .. } = &self.parts;
        let lateness = (self.arrivals.late(), self.departures.late());
        Report::new(clock.now(), switch, ports, &self.counts, lateness)
    }
}

/// True if the interface exists but takes no frame now: it is down, without carrier, or full.
fn is_of_interface(error: &packet_socket::Error) -> bool {
    match error {
        packet_socket::Error::Dropped { .. } => true,
        packet_socket::Error::Send { source, .. } => {
            let number = source.raw_os_error().map(Errno::from_raw);
            matches!(
                number,
                Some(Errno::ENETDOWN | Errno::ENOBUFS | Errno::EAGAIN | Errno::EMSGSIZE)
            )
        }
        packet_socket::Error::Open(_) => false,
    }
}
