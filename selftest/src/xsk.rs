//! Tests of AF_XDP: copy mode, need-wakeup, and packets in several frames.

use std::os::fd::AsRawFd;
use std::time::Duration;

use linux::af_xdp::{MAX_FRAME_LENGTH, Options, Socket};
use netns::{Deployment, EndSpec, LinkSpec, NamespaceSpec, Plan};
use workload::random::mix;

use super::bench::{Bench, Ended};
use super::hooks::to_host;
use super::numbered::{Numbered, judge};
use super::rig::{HOSTS, PATIENCE, Place, Rig, Sender, netns_verdict, socket_verdict};
use super::surroundings::{Surroundings, explained};
use super::verdict::Verdict;
use linux::bpf::instruction::{call, exit, load_word, map, set};
use linux::bpf::{
    Attach, Link, Map, MapKind, NATIVE, Program, ProgramKind, REDIRECT_MAP, XDP_DROP,
};

/// Number of frames that a test sends in each direction.
const FRAMES: u32 = 256;
/// First kernel with packets in several frames.
const SEVERAL_FRAMES_SINCE: (u32, u32) = (6, 6);
/// Time for which a frame must not leave without a wakeup.
const REST: Duration = Duration::from_millis(20);
/// Number of frames that a socket queues for sending.
const QUEUED: u32 = 8;
/// Interface index of both ends of the pair.
const PAIR_INTERFACE: u32 = 2;
/// MTU for jumbo frames.
const JUMBO_MTU: u32 = 9000;
const JUMBO_PACKETS: u64 = 64;

/// Tests copy mode in both directions.
pub fn copy_mode(bench: &mut Bench<'_>) -> Result<(), Ended> {
    let mut rig = bench.step("a switch between two hosts is set up", || Rig::new(Place::Native))?;
    bench.step("hosts have AF_XDP sockets", || rig.open_hosts(Options::default()))?;
    bench.step("the kernel says that they are in copy mode", || {
        for socket in &rig.sockets {
            if socket.is_zero_copy().map_err(|error| socket_verdict(&error))? {
                return Err(Verdict::fail("copy mode", "zero copy", "getsockopt(XDP_OPTIONS)"));
            }
        }
        Ok(())
    })?;
    rig.ready(bench, "xsk.copy")?;
    let (patience, seed) = (bench.patience(), bench.seed());
    let received =
        bench.step("the switch sends to a host", || to_host(patience, seed, &mut rig, FRAMES))?;
    let place = rig.interface(HOSTS[1], "s0");
    let way = format!("AF_PACKET, veth, native XDP at {place}, an AF_XDP socket");
    rig.judge(bench, &received, &way);
    let numbered = Numbered::new(seed, 1);
    let sent = bench.step("a host sends to the switch", || {
        rig.transfer(patience, &numbered, FRAMES, Sender::Socket)
    })?;
    let place = rig.interface(HOSTS[0], "s0");
    rig.judge(bench, &sent, &format!("an AF_XDP socket at {place}, veth, native XDP, the ring"));
    bench.look("the sockets counted no loss, and what was sent", || {
        let counted =
            |host: usize| rig.sockets[host].statistics().map_err(|error| socket_verdict(&error));
        let (sender, taker) = (counted(HOSTS[0])?, counted(HOSTS[1])?);
        // Each send ends when the kernel finds the ring empty.
        if sender.transmit_ring_empty >= u64::from(FRAMES) && taker.frames_lost() == 0 {
            return Ok(());
        }
        let expected = format!("at least {FRAMES} kicks that emptied the ring, and no loss");
        let got = format!("{sender:?} and {taker:?}");
        Err(rig.explain(Verdict::fail(expected, got, "getsockopt(XDP_STATISTICS)")))
    });
    rig.judge_surroundings(bench);
    rig.keep();
    Ok(())
}

/// Tests need-wakeup: the kernel requests a wakeup, and sends nothing without one.
pub fn need_wakeup(bench: &mut Bench<'_>) -> Result<(), Ended> {
    let mut rig = bench.step("a switch between two hosts is set up", || Rig::new(Place::Native))?;
    let options = Options { need_wakeup: true, ..Options::default() };
    bench.step("hosts have sockets with XDP_USE_NEED_WAKEUP", || rig.open_hosts(options))?;
    let place = rig.interface(HOSTS[0], "s0");
    bench.look("the kernel asks for a kick, as it always does in copy mode", || {
        if rig.sockets[0].needs_kick() {
            return Ok(());
        }
        Err(Verdict::fail(
            "XDP_RING_NEED_WAKEUP in the flags of the transmit ring",
            "flags without it",
            &place,
        ))
    });
    rig.ready(bench, "xsk.need-wakeup")?;
    let patience = bench.patience();
    let (inbound, outbound) = (rig.inbound(), rig.outbound(1));
    let numbered = Numbered::new(bench.seed(), 1);
    bench.look("queued frames stay where they are", || {
        for number in 0..QUEUED {
            let frame = numbered.frame(number, &inbound, 0);
            rig.sockets[0].queue(&[&frame]).map_err(|error| socket_verdict(&error))?;
        }
        std::thread::sleep(REST);
        let waiting = rig.sockets[0].in_flight();
        if rig.take()?.is_none() && waiting == QUEUED as usize {
            return Ok(());
        }
        let got = format!("{waiting} on the ring, or a record of one at the switch");
        Err(Verdict::fail(format!("{QUEUED} frames on the transmit ring"), got, &place))
    });
    let moved = bench.step("one kick sends them all", || {
        rig.sockets[0].transmit_queued().map_err(|error| {
            let got = terminal::with_causes(&error);
            rig.explain(Verdict::fail("frames that leave", got, &place))
        })?;
        let sent = (0..QUEUED).map(|number| numbered.frame(number, &outbound, 1)).collect();
        let mut arrived = Vec::new();
        rig.await_frames(patience, &mut arrived, QUEUED as usize)?;
        Ok([sent, arrived])
    })?;
    rig.judge(bench, &moved, &format!("an AF_XDP socket at {place}, one kick, veth, native XDP"));
    rig.judge_surroundings(bench);
    Ok(())
}

/// A pair of interfaces with jumbo frames, and a program that passes packets in several fragments to a socket.
struct Pair {
    sockets: Vec<Socket>,
    _links: Vec<Link>,
    _maps: Vec<Map>,
    deployment: Deployment,
    surroundings: Surroundings,
}

impl Pair {
    fn new() -> Result<Self, Verdict> {
        let names = ["a", "b"];
        let end = |namespace: usize| EndSpec {
            namespace,
            interface: names[1 - namespace].to_owned(),
            index: Some(PAIR_INTERFACE),
            mac: [2, 1, 0, 0, 0, u8::try_from(namespace).expect("there are two")],
            ..EndSpec::default()
        };
        let namespace = |name: &str| NamespaceSpec { name: name.to_owned(), forwarding: false };
        let plan = Plan {
            namespaces: names.map(namespace).to_vec(),
            links: vec![LinkSpec { a: end(0), b: end(1), mtu: JUMBO_MTU }],
            ..Plan::default()
        };
        let deployment = netns::deploy(&plan).map_err(|error| netns_verdict(&error))?;
        let (mut sockets, mut links, mut maps) = (Vec::new(), Vec::new(), Vec::new());
        let options = Options { several_frames: true, ..Options::default() };
        for namespace in deployment.namespaces() {
            let (socket, link, sockets_map) = namespace
                .enter(|| {
                    let socket = Socket::open_with(PAIR_INTERFACE, 0, options)
                        .map_err(|error| socket_verdict(&error))?;
                    let (link, map) = redirect_to(&socket).map_err(|error| {
                        let place = format!("{}, native XDP with frags", namespace.name());
                        Verdict::fail("a program that is attached", error.to_string(), place)
                    })?;
                    Ok((socket, link, map))
                })
                .map_err(|error| netns_verdict(&error))??;
            sockets.push(socket);
            links.push(link);
            maps.push(sockets_map);
        }
        let interfaces = [(0, PAIR_INTERFACE), (1, PAIR_INTERFACE)];
        let surroundings = Surroundings::look(deployment.namespaces(), &interfaces)?;
        Ok(Self { sockets, _links: links, _maps: maps, deployment, surroundings })
    }
}

/// Attaches a program that passes all packets to a socket.
fn redirect_to(socket: &Socket) -> std::io::Result<(Link, Map)> {
    const RX_QUEUE_INDEX: i16 = 16;
    let sockets = Map::new(MapKind::Sockets, 1, 4)?;
    sockets.set(0, &socket.as_raw_fd().to_ne_bytes())?;
    let [first, second] = map(1, sockets.descriptor());
    let instructions = [
        load_word(2, 1, RX_QUEUE_INDEX),
        first,
        second,
        set(3, XDP_DROP),
        call(REDIRECT_MAP),
        exit(),
    ];
    let program = Program::load(ProgramKind::XdpFrags, "to_socket", &instructions)?;
    Ok((program.attach(PAIR_INTERFACE, Attach::Xdp, NATIVE)?, sockets))
}

/// Tests packets in several frames, both sent and received.
pub fn multi_buffer(bench: &mut Bench<'_>) -> Result<(), Ended> {
    bench.step("the kernel has packets in several frames", || {
        let release = super::runner::kernel_release();
        match super::runner::version(&release) {
            Some(version) if version < SEVERAL_FRAMES_SINCE => {
                Err(Verdict::skip(format!("Linux {release} has no XDP_USE_SG; it came with 6.6")))
            }
            _ => Ok(()),
        }
    })?;
    let mut pair = bench.step("two interfaces with jumbo frames are set up", Pair::new)?;
    let names: Vec<_> =
        pair.deployment.namespaces().iter().map(|it| it.name().to_owned()).collect();
    bench.pause("xsk.multi-buffer", &names);
    let (seed, patience) = (bench.seed(), bench.patience());
    let (mut sent, mut arrived, mut pieces) = (Vec::new(), Vec::new(), Vec::new());
    let way =
        format!("AF_XDP at {}, veth, native XDP with frags, AF_XDP at {}", names[0], names[1]);
    bench.step("packets of up to 9014 bytes are sent in pieces", || {
        for number in 0..JUMBO_PACKETS {
            let packet = jumbo(seed, number);
            let parts: Vec<&[u8]> = packet.chunks(MAX_FRAME_LENGTH as usize).collect();
            let queued = pair.sockets[0].queue(&parts);
            queued.and_then(|()| pair.sockets[0].transmit_queued()).map_err(|error| {
                let changes = pair.surroundings.changes(pair.deployment.namespaces());
                let got = terminal::with_causes(&error);
                let expected = format!("a packet of {} bytes to be sent", packet.len());
                explained(Verdict::fail(expected, got, &names[0]), &changes)
            })?;
            sent.push(packet);
            patience.wait(PATIENCE, || {
                while let Some((packet, frames)) = pair.sockets[1].receive_packet() {
                    arrived.push(packet);
                    pieces.push(frames);
                }
                arrived.len() >= sent.len()
            })?;
        }
        Ok(())
    })?;
    let changes = pair.surroundings.changes(pair.deployment.namespaces());
    for (name, verdict) in judge(&sent, &arrived, &way) {
        bench.add(name, explained(verdict, &changes));
    }
    super::evidence::keep_frames(bench, [&sent, &arrived]);
    bench.folder().into_iter().for_each(super::evidence::keep_objects);
    bench.look("long packets came in several frames", || {
        // A frame holds 3840 bytes after the headroom.
        let expected = sent.iter().map(|packet| packet.len().div_ceil(MAX_FRAME_LENGTH as usize));
        let expected: Vec<usize> = expected.collect();
        if pieces == expected && pieces.contains(&3) {
            return Ok(());
        }
        let verdict = Verdict::fail(format!("frames: {expected:?}"), format!("{pieces:?}"), &way);
        Err(explained(verdict, &changes))
    });
    Ok(())
}

/// Makes a packet whose every byte is derived from seed and number.
fn jumbo(seed: u64, number: u64) -> Vec<u8> {
    const ADDRESSES: [u8; 14] = [2, 1, 0, 0, 0, 1, 2, 1, 0, 0, 0, 0, 0x88, 0xb5];
    let longest = u64::from(JUMBO_MTU) + 14;
    let length = if number == 0 { longest } else { 60 + mix(seed, number) % (longest - 59) };
    let length = usize::try_from(length).expect("it is short");
    let words = (1..).flat_map(|word| mix(seed ^ word, number).to_le_bytes());
    ADDRESSES.into_iter().chain(words).take(length).collect()
}
