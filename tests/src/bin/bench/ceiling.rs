//! The ceiling: one frame through a socket, a veth pair, the smallest XDP program that passes it to user space, and out
//! of the ring. Only the socket is part of xoff.

use anyhow::{Context, Result, ensure};
use aya::maps::{MapData, RingBuf};
use linux::packet_socket::PacketSocket;
use netns::{Deployment, EndSpec, LinkSpec, NamespaceSpec, Plan};

use crate::bare_program::{Attached, BareProgram};
use crate::figure::{Rate, Stopwatch};

/// Length of a frame: a packet of 1000 bytes of payload takes little more.
pub const FRAME_LENGTH: usize = 1000;
/// Frames of one round.
const FRAMES: u64 = 400_000;
/// Index of both ends of the pair.
const INTERFACE: u32 = 2;

/// A veth pair between two namespaces, ready to measure.
pub struct Ceiling {
    socket: PacketSocket,
    ring: RingBuf<MapData>,
    _attached: Attached,
    _deployment: Deployment,
}

impl Ceiling {
    /// Makes the pair and attaches the program.
    pub fn new() -> Result<Self> {
        let node = |name: &str| NamespaceSpec { name: name.to_owned(), forwarding: false };
        let end = |namespace: usize| EndSpec {
            namespace,
            interface: "wire".to_owned(),
            index: Some(INTERFACE),
            mac: [2, 3, 0, 0, 0, namespace as u8],
            ..EndSpec::default()
        };
        let plan = Plan {
            namespaces: vec![node("sender"), node("receiver")],
            links: vec![LinkSpec { a: end(0), b: end(1), mtu: 1500 }],
            ..Plan::default()
        };
        let deployment = netns::deploy(&plan).context("the kernel benchmark needs root")?;
        let socket = deployment.namespace(0).enter(PacketSocket::open)??;
        let (program, ring) = BareProgram::load(FRAME_LENGTH as u32)?;
        let attached = deployment.namespace(1).enter(|| program.attach(INTERFACE))??;
        Ok(Self { socket, ring, _attached: attached, _deployment: deployment })
    }

    /// Sends frames one at a time, as the engine does, and copies each out of the ring.
    pub fn measure(&mut self) -> Result<Rate> {
        let frame = [0x55; FRAME_LENGTH];
        let mut buffer = Vec::with_capacity(FRAME_LENGTH);
        let mut lost = 0;
        let stopwatch = Stopwatch::start();
        for _ in 0..FRAMES {
            self.socket.send(INTERFACE, &frame, 0)?;
            match self.ring.next() {
                Some(record) => {
                    buffer.clear();
                    buffer.extend_from_slice(&record);
                }
                None => lost += 1,
            }
        }
        let rate = stopwatch.rate(FRAMES);
        ensure!(buffer == frame, "the ring returned other bytes than were sent");
        // A softirq that was deferred comes in with the next frame.
        ensure!(lost < FRAMES / 1000, "{lost} of {FRAMES} frames were not in the ring");
        while self.ring.next().is_some() {}
        Ok(rate)
    }
}
