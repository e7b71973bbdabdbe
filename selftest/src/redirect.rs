//! Tests of maps to which XDP programs redirect: CPUs and devices. xoff's own programs use neither, but drivers and
//! load balancers do, and their bugs in veth and AF_XDP are found here.

use fabric_core::wire::LinkAddresses;
use linux::af_xdp::{Options, Socket};
use linux::packet_socket::{PacketListener, PacketSocket};
use netns::{Deployment, EndSpec, LinkSpec, NamespaceSpec, Plan, XdpAttachment};
use switch_user::hook::XdpHook;
use switch_user::program::{HostProgram, SocketTakes};

use super::bench::{Bench, Ended, Patience};
use super::numbered::{Numbered, judge};
use super::rig::{MTU, PATIENCE, netns_verdict, program_verdict, socket_verdict};
use super::surroundings::{Surroundings, as_before, explained};
use super::verdict::Verdict;
use linux::bpf::instruction::{
    add, call, copy, exit, flip, if_above, load_byte, load_word, map, set, store_byte,
};
use linux::bpf::{
    Attach, Link, Map, MapKind, NATIVE, Program, ProgramKind, REDIRECT_MAP, XDP_DROP, XDP_PASS,
};

/// Number of frames that a test sends.
const FRAMES: u32 = 128;
/// Number of frames under way at a time.
const BATCH: usize = 32;
/// Offsets in `struct xdp_md`.
const DATA: i16 = 0;
const DATA_END: i16 = 4;
/// Length of an Ethernet header, and end of its source address.
const ETHERNET: i32 = 14;
const LAST_OF_SOURCE: i16 = 11;
/// Bits that a CPU's program flips.
const MARK: u8 = 0x50;
/// Indices of the middle's interfaces, towards the sender and the receiver.
const IN: u32 = 2;
const OUT: u32 = 3;
/// Indices of the sender's and the receiver's interface.
const FIRST: u32 = 1000;
/// Length of a CPU's queue, in frames.
const QUEUE: u32 = 256;
const MACS: [[u8; 6]; 2] = [[2, 1, 0, 0, 0, 1], [2, 1, 0, 0, 0, 2]];

/// A sender, a middle whose program redirects, and a receiver with an AF_XDP socket.
struct Line {
    sender: PacketSocket,
    socket: Socket,
    _host_program: HostProgram,
    _links: Vec<Link>,
    _map: Map,
    deployment: Deployment,
    surroundings: Surroundings,
}

impl Line {
    fn new(kind: MapKind) -> Result<Self, Verdict> {
        let names = ["sender", "middle", "receiver"];
        let namespace = |name: &str| NamespaceSpec { name: name.to_owned(), forwarding: false };
        let end = |namespace: usize, interface: &str, index: u32, mac: u8| EndSpec {
            namespace,
            interface: interface.to_owned(),
            index: Some(index),
            mac: [2, 1, 0, 0, 0, mac],
            ..EndSpec::default()
        };
        let plan = Plan {
            namespaces: names.map(namespace).to_vec(),
            links: vec![
                LinkSpec { a: end(0, "out", FIRST, 1), b: end(1, "in", IN, 3), mtu: MTU },
                LinkSpec { a: end(2, "in", FIRST + 1, 2), b: end(1, "out", OUT, 4), mtu: MTU },
            ],
            ..Plan::default()
        };
        let deployment = netns::deploy(&plan).map_err(|error| netns_verdict(&error))?;
        let failed = |error: std::io::Error| {
            Verdict::fail("a program that redirects", error.to_string(), "bpf()")
        };
        let middle = deployment.namespace(1);
        let entered = middle.enter(|| redirecting(kind).map_err(failed));
        let (links, map) = entered.map_err(|error| netns_verdict(&error))??;
        let mut program = HostProgram::load(2, FIRST, SocketTakes::Ours, XdpHook::Native)
            .map_err(|error| program_verdict(&error))?;
        let receiver = deployment.namespace(2);
        let opened = receiver.enter(|| {
            use std::os::fd::AsRawFd;
            let socket = Socket::open_with(FIRST + 1, 0, Options::default())
                .map_err(|error| socket_verdict(&error))?;
            program
                .attach(FIRST + 1, socket.as_raw_fd())
                .map_err(|error| program_verdict(&error))?;
            Ok(socket)
        });
        let socket = opened.map_err(|error| netns_verdict(&error))??;
        let opened = deployment.namespace(0).enter(PacketSocket::open);
        let sender = opened
            .map_err(|error| netns_verdict(&error))?
            .map_err(|error| Verdict::fail("an AF_PACKET socket", error.to_string(), "socket()"))?;
        let places = [(0, FIRST), (1, IN), (1, OUT), (2, FIRST + 1)];
        let surroundings = Surroundings::look(deployment.namespaces(), &places)?;
        Ok(Self {
            sender,
            socket,
            _host_program: program,
            _links: links,
            _map: map,
            deployment,
            surroundings,
        })
    }

    fn changes(&self) -> Vec<String> {
        self.surroundings.changes_and_drops(self.deployment.namespaces())
    }

    /// Sends frames in batches, so that several are under way, and collects frames from `receive`.
    fn transfer(
        &mut self,
        seed: u64,
        patience: Patience<'_>,
        mut receive: impl FnMut(&mut Socket) -> Option<Vec<u8>>,
    ) -> Result<[Vec<Vec<u8>>; 2], Verdict> {
        let numbered = Numbered::new(seed, 1);
        let addresses = LinkAddresses { source: MACS[0], destination: MACS[1] };
        let (mut sent, mut arrived) = (Vec::new(), Vec::new());
        let numbers: Vec<u32> = (0..FRAMES).collect();
        for batch in numbers.chunks(BATCH) {
            for &number in batch {
                let frame = numbered.frame(number, &addresses, 0);
                self.sender.send(FIRST, &frame, 0).map_err(|error| {
                    let got = terminal::with_causes(&error);
                    let verdict =
                        Verdict::fail("a frame to be sent", got, "the sender's interface");
                    explained(verdict, &self.changes())
                })?;
                sent.push(frame);
            }
            let here = patience.wait(PATIENCE, || {
                while let Some(frame) = receive(&mut self.socket) {
                    arrived.push(frame);
                }
                arrived.len() >= sent.len()
            })?;
            if !here {
                break;
            }
        }
        Ok([sent, arrived])
    }

    /// Adds the checks of frames to the steps of a test, and a check that the set-up is unchanged.
    fn judge(&self, bench: &mut Bench<'_>, [sent, arrived]: &[Vec<Vec<u8>>; 2], way: &str) {
        let changes = self.surroundings.changes_and_drops(self.deployment.namespaces());
        for (name, verdict) in judge(sent, arrived, way) {
            bench.add(name, explained(verdict, &changes));
        }
        let changes = self.surroundings.changes(self.deployment.namespaces());
        bench.add("interfaces are as they were set up", as_before(&changes, &self.names()));
        super::evidence::keep_frames(bench, [sent, arrived]);
    }

    fn names(&self) -> Vec<String> {
        self.deployment.namespaces().iter().map(|it| it.name().to_owned()).collect()
    }
}

/// Attaches the middle's programs. A redirected frame leaves a veth natively only if the veth has a program, too.
fn redirecting(kind: MapKind) -> std::io::Result<(Vec<Link>, Map)> {
    let marks = Program::load(ProgramKind::XdpOfProcessor, "marks", &marking())?;
    let value = match kind {
        // Length of a CPU's queue, and its program.
        MapKind::Processors => {
            [QUEUE, marks.descriptor().cast_unsigned()].map(u32::to_ne_bytes).concat()
        }
        _ => OUT.to_ne_bytes().to_vec(),
    };
    let bytes = u32::try_from(value.len()).expect("it is short");
    let target = Map::new(kind, 1, bytes)?;
    target.set(0, &value)?;
    let [first, second] = map(1, target.descriptor());
    let redirects = [first, second, set(2, 0), set(3, XDP_DROP), call(REDIRECT_MAP), exit()];
    let redirects = Program::load(ProgramKind::Xdp, "redirects", &redirects)?;
    let passes = Program::load(ProgramKind::Xdp, "passes", &[set(0, XDP_PASS), exit()])?;
    let links =
        vec![redirects.attach(IN, Attach::Xdp, NATIVE)?, passes.attach(OUT, Attach::Xdp, NATIVE)?];
    Ok((links, target))
}

/// Program of a CPU: it flips bits of the last byte of the source address, so that frames show their path.
fn marking() -> [u64; 10] {
    [
        load_word(2, 1, DATA),
        load_word(3, 1, DATA_END),
        copy(4, 2),
        add(4, ETHERNET),
        if_above(4, 3, 3),
        load_byte(5, 2, LAST_OF_SOURCE),
        flip(5, MARK.into()),
        store_byte(2, 5, LAST_OF_SOURCE),
        set(0, XDP_PASS),
        exit(),
    ]
}

/// Tests `bpf_redirect_map` to a device map: from veth to veth.
pub fn device_map(bench: &mut Bench<'_>) -> Result<(), Ended> {
    let mut line = bench.step("a program that redirects to a device map is set up", || {
        Line::new(MapKind::Devices)
    })?;
    is_native(bench, &line)?;
    bench.pause("map.devices", &line.names());
    bench.folder().into_iter().for_each(super::evidence::keep_objects);
    let (seed, patience) = (bench.seed(), bench.patience());
    let moved = bench.step("frames are sent", || {
        line.transfer(seed, patience, |socket| {
            let mut frame = None;
            socket.receive(|bytes| frame = Some(bytes.to_vec()));
            frame
        })
    })?;
    line.judge(bench, &moved, "veth, DEVMAP, veth, native XDP, AF_XDP");
    is_native(bench, &line)
}

/// Tests `bpf_redirect_map` to a CPU map: a program on CPU 0 marks frames, and the middle's stack receives them.
pub fn processor_map(bench: &mut Bench<'_>) -> Result<(), Ended> {
    let mut line = bench.step("a program that redirects to a processor map is set up", || {
        Line::new(MapKind::Processors)
    })?;
    is_native(bench, &line)?;
    let middle = line.deployment.namespace(1);
    let taps = bench.step("a packet socket of the middle's stack", || {
        let opened = middle.enter(|| PacketListener::open(IN));
        opened
            .map_err(|error| netns_verdict(&error))?
            .map_err(|error| Verdict::fail("an AF_PACKET socket", error.to_string(), "socket()"))
    })?;
    bench.pause("map.processors", &line.names());
    bench.folder().into_iter().for_each(super::evidence::keep_objects);
    let (seed, patience) = (bench.seed(), bench.patience());
    let mut moved =
        bench.step("frames are sent", || line.transfer(seed, patience, |_| taps.receive()))?;
    for frame in &mut moved[0] {
        frame[LAST_OF_SOURCE.cast_unsigned() as usize] ^= MARK;
    }
    line.judge(
        bench,
        &moved,
        "veth, CPUMAP with a program that marks frames, the stack, AF_PACKET",
    );
    is_native(bench, &line)
}

fn is_native(bench: &mut Bench<'_>, line: &Line) -> Result<(), Ended> {
    bench.step("the kernel says that it is in the driver", || {
        let middle = line.deployment.namespace(1);
        let state = middle.link_state(IN).map_err(|error| netns_verdict(&error))?;
        if state.xdp == XdpAttachment::Native {
            return Ok(());
        }
        let place = format!("{}/in", middle.name());
        Err(Verdict::fail(XdpAttachment::Native.to_string(), state.xdp.to_string(), place))
    })
}
