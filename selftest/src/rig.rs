//! A switch between two hosts, in three namespaces: its program on veth pairs, and sockets that send numbered frames.

use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use emulation::mac_addresses;
use emulation::switch_settings::{self, FIRST_INTERFACE, RouteTables};
use fabric_core::arrival::Outcome;
use fabric_core::drop_reason::DropReason;
use fabric_core::wire::LinkAddresses;
use linux::af_xdp;
use linux::packet_socket::PacketSocket;
use netns::{Deployment, EndSpec, LinkSpec, NamespaceSpec, Plan};
use scenario::Scenario;
use switch_user::hook::{Hook, XdpHook};
use switch_user::program::{
    Attachment, ByLink, HostProgram, ProgramError, Records, SocketTakes, SwitchProgram,
};
use switch_user::tables::SwitchTables;
use topology::SwitchId;
use units::Nanos;

use super::bench::{Bench, Ended, Patience};
use super::numbered::{Numbered, judge};
use super::surroundings::{Surroundings, as_before, explained};
use super::verdict::Verdict;

/// Scenario of the switch. No frame leaves its buffer while a test sends, so the buffer is large.
const STAR: &str = "name = \"selftest\"\nseed = 1\nduration = \"1ms\"
[topology]\nkind = \"star\"\nhosts = 2\nhost_link = { rate = \"100Gbps\", delay = \"1us\" }
[switch]\nbuffer = \"16MB\"\nlossless = [3]\nthreshold = { kind = \"dt\", alpha = 8 }
[[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1kB\"\nstart = \"0us\"\npriority = 3\n";

/// Indices of the hosts' namespaces.
pub const HOSTS: [usize; 2] = [0, 1];
/// Index of the switch's namespace.
pub const SWITCH: usize = 2;
/// Interface index of host 0; host 1 has the next one.
pub const FIRST_HOST_INTERFACE: u32 = 1000;
/// MTU, as in a fabric.
pub const MTU: u32 = 3218;
/// Ring size with room for more than 600 records: a record is as long as the longest frame.
pub const RING_BYTES: u32 = 1 << 21;
/// Number of frames that are sent before their records are taken.
const BATCH: usize = 32;
/// Max time until a record arrives. It nearly always arrives at once, but machines that test kernels share or emulate
/// their processors.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Attachment of the switch's program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Native XDP, by a BPF link.
    Native,
    /// Generic XDP, by a BPF link.
    Generic,
    /// TC ingress, by clsact and netlink; the auditor at egress.
    Clsact,
    /// TC ingress, by TCX.
    Tcx,
}

impl Place {
    /// Returns the hook of the program.
    pub fn hook(self) -> Hook {
        match self {
            Self::Native => Hook::Xdp,
            Self::Generic => Hook::XdpGeneric,
            Self::Clsact | Self::Tcx => Hook::Tc,
        }
    }
}

/// A record, with the bytes of the frame if they were kept.
pub type Taken = (Records, Option<Vec<u8>>);

/// Socket type with which host 0 sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// AF_PACKET.
    Packet,
    /// AF_XDP, with [`Rig::open_hosts`].
    Socket,
}

/// See the module. Fields are dropped in this order: sockets keep namespaces alive, and programs are cheaper to detach from
/// interfaces that are gone.
pub struct Rig {
    /// Sending socket of host 0.
    pub sender: PacketSocket,
    /// Sending socket of the switch.
    pub switch_sender: PacketSocket,
    /// Sockets of both hosts, after [`Self::open_hosts`].
    pub sockets: Vec<af_xdp::Socket>,
    host_program: Option<HostProgram>,
    /// Attachments by port; empty at clsact.
    pub attachments: Vec<Attachment>,
    /// The namespaces.
    pub deployment: Deployment,
    /// The switch's program.
    pub program: SwitchProgram,
    /// Tables of the switch, in mapped memory.
    pub tables: SwitchTables,
    scenario: Scenario,
    /// Addresses by wire: h0 to the switch, and so on.
    addresses: Vec<LinkAddresses>,
    place: Place,
    surroundings: Option<Surroundings>,
    /// Folder for evidence, if it is collected.
    folder: Option<PathBuf>,
}

impl Rig {
    /// Creates the namespaces and attaches the switch's program to both of its ports.
    pub fn new(place: Place) -> Result<Self, Verdict> {
        if place == Place::Clsact {
            super::features::need_clsact()?;
        }
        let scenario = Scenario::parse(STAR, Path::new("selftest.toml"), &[])
            .unwrap_or_else(|error| panic!("the embedded scenario is right: {error}"));
        let fabric = scenario.fabric();
        let addresses = mac_addresses::addresses(fabric);
        let deployment = netns::deploy(&plan(&addresses)).map_err(|error| netns_verdict(&error))?;
        let switch = SwitchId(0);
        let routes = RouteTables::new(&scenario, switch);
        let capacity = switch_settings::capacity(&scenario, switch, &routes);
        let policy = switch_settings::policy(&scenario);
        let loaded = SwitchProgram::load(&[capacity], policy, place.hook(), Some(RING_BYTES));
        let (mut program, mut tables) = loaded.map_err(|error| program_verdict(&error))?.remove(0);
        switch_settings::configure(&scenario, switch, routes, None, &mut tables);
        let mut attachments = Vec::new();
        let attached = deployment.namespace(SWITCH).enter(|| {
            for interface in [FIRST_INTERFACE, FIRST_INTERFACE + 1] {
                let by = match place {
                    Place::Native => ByLink::Xdp(XdpHook::Native),
                    Place::Generic => ByLink::Xdp(XdpHook::Generic),
                    Place::Tcx => ByLink::Tcx,
                    Place::Clsact => {
                        program.attach(interface)?;
                        continue;
                    }
                };
                attachments.push(program.attach_by_link(interface, by)?);
            }
            Ok(())
        });
        let attached: Result<(), ProgramError> = attached.map_err(|error| netns_verdict(&error))?;
        attached.map_err(|error| program_verdict(&error))?;
        let sender = open_sender(&deployment, HOSTS[0])?;
        let switch_sender = open_sender(&deployment, SWITCH)?;
        Ok(Self {
            sender,
            switch_sender,
            sockets: Vec::new(),
            host_program: None,
            attachments,
            deployment,
            program,
            tables,
            scenario,
            addresses,
            place,
            surroundings: None,
            folder: None,
        })
    }

    /// Opens the hosts' AF_XDP sockets.
    pub fn open_hosts(&mut self, options: af_xdp::Options) -> Result<(), Verdict> {
        let loaded = HostProgram::load(2, FIRST_HOST_INTERFACE, SocketTakes::Ours, XdpHook::Native);
        let mut program = loaded.map_err(|error| program_verdict(&error))?;
        for (host, interface) in HOSTS.into_iter().zip(FIRST_HOST_INTERFACE..) {
            let opened = self.deployment.namespace(host).enter(|| {
                let socket = af_xdp::Socket::open_with(interface, 0, options)
                    .map_err(|error| socket_verdict(&error))?;
                program
                    .attach(interface, socket.as_raw_fd())
                    .map_err(|error| program_verdict(&error))?;
                Ok(socket)
            });
            self.sockets.push(opened.map_err(|error| netns_verdict(&error))??);
        }
        self.host_program = Some(program);
        Ok(())
    }

    /// Returns the names of the namespaces.
    pub fn names(&self) -> Vec<String> {
        self.deployment.namespaces().iter().map(|it| it.name().to_owned()).collect()
    }

    /// Returns an interface's name with its namespace, for messages.
    pub fn interface(&self, namespace: usize, name: &str) -> String {
        format!("{}/{name}", self.deployment.namespace(namespace).name())
    }

    /// Ends the set-up: later changes are errors. Stops here with `--pause`.
    pub fn ready(&mut self, bench: &mut Bench<'_>, test: &str) -> Result<(), Ended> {
        let interfaces = [
            (HOSTS[0], FIRST_HOST_INTERFACE),
            (HOSTS[1], FIRST_HOST_INTERFACE + 1),
            (SWITCH, FIRST_INTERFACE),
            (SWITCH, FIRST_INTERFACE + 1),
        ];
        let found = bench.step("the kernel reports its interfaces", || {
            Surroundings::look(self.deployment.namespaces(), &interfaces)
        })?;
        self.surroundings = Some(found);
        self.folder = bench.folder().map(Path::to_owned);
        self.keep();
        bench.pause(test, &self.names());
        Ok(())
    }

    /// Returns the changes since the set-up.
    pub fn changes(&self) -> Vec<String> {
        let namespaces = self.deployment.namespaces();
        self.surroundings.as_ref().map_or_else(Vec::new, |it| it.changes(namespaces))
    }

    fn changes_and_drops(&self) -> Vec<String> {
        let namespaces = self.deployment.namespaces();
        self.surroundings.as_ref().map_or_else(Vec::new, |it| it.changes_and_drops(namespaces))
    }

    /// Adds the changes since the set-up to a failure.
    pub fn explain(&self, verdict: Verdict) -> Verdict {
        match verdict {
            Verdict::Fail(_) => {
                self.keep();
                explained(verdict, &self.changes_and_drops())
            }
            verdict => verdict,
        }
    }

    /// Stores the kernel's view of the rig, if evidence is collected.
    pub fn keep(&self) {
        self.folder.iter().for_each(|folder| super::evidence::keep(folder, self));
    }

    /// Returns the attachment of the switch's program.
    pub fn place(&self) -> Place {
        self.place
    }

    /// Returns the addresses of frames from host 0 to the switch.
    pub fn inbound(&self) -> LinkAddresses {
        self.addresses[self.wire("h0->s0")]
    }

    /// Returns the addresses of frames from the switch to a host.
    pub fn outbound(&self, host: usize) -> LinkAddresses {
        self.addresses[self.wire(&format!("s0->h{host}"))]
    }

    fn wire(&self, name: &str) -> usize {
        let mut wires = self.scenario.fabric().wires().iter();
        wires.position(|wire| wire.name == name).expect("the star has this wire")
    }

    /// Resets the switch's state.
    pub fn renew(&mut self) {
        let routes = RouteTables::new(&self.scenario, SwitchId(0));
        self.tables.clear();
        switch_settings::configure(&self.scenario, SwitchId(0), routes, None, &mut self.tables);
    }

    /// Sends a frame from host 0 to the switch.
    pub fn send(&self, frame: &[u8]) -> Result<(), Verdict> {
        self.sender.send(FIRST_HOST_INTERFACE, frame, 0).map_err(|error| {
            let expected = format!("a frame of {} bytes to be sent", frame.len());
            let place = self.interface(HOSTS[0], "s0");
            self.explain(Verdict::fail(expected, terminal::with_causes(&error), place))
        })
    }

    /// Sends a frame from the switch to a host.
    pub fn send_to_host(&self, host: u32, frame: &[u8], mark: u32) -> Result<(), Verdict> {
        self.switch_sender.send(FIRST_INTERFACE + host, frame, mark).map_err(|error| {
            let expected = format!("a frame of {} bytes to be sent", frame.len());
            let place = self.interface(SWITCH, &format!("h{host}"));
            self.explain(Verdict::fail(expected, terminal::with_causes(&error), place))
        })
    }

    /// Takes a record from the ring, with the frame's bytes if they were kept.
    pub fn take(&mut self) -> Result<Option<Taken>, Verdict> {
        let mut bytes = None;
        let taken =
            self.program.take_records(|_, frame| bytes = Some(frame.to_vec()), |_, _, _| ());
        match taken {
            Ok(taken) => Ok(taken.map(|records| (records, bytes))),
            Err(error) => Err(program_verdict(&error)),
        }
    }

    /// Sends numbered frames through the switch in batches, and takes them from the ring. Returns the expected frames
    /// and the received ones.
    pub fn transfer(
        &mut self,
        patience: Patience<'_>,
        numbered: &Numbered,
        count: u32,
        sender: Sender,
    ) -> Result<[Vec<Vec<u8>>; 2], Verdict> {
        let (inbound, outbound) = (self.inbound(), self.outbound(1));
        let numbers: Vec<u32> = (0..count).collect();
        let (mut sent, mut arrived) = (Vec::new(), Vec::new());
        for batch in numbers.chunks(BATCH) {
            for &number in batch {
                self.program.set_clock(Nanos(u64::from(number) + 1));
                let frame = numbered.frame(number, &inbound, 0);
                match sender {
                    Sender::Packet => self.send(&frame)?,
                    Sender::Socket => self.send_by_socket(&frame)?,
                }
                sent.push(numbered.frame(number, &outbound, 1));
            }
            let wanted = arrived.len() + batch.len();
            self.await_frames(patience, &mut arrived, wanted)?;
            if arrived.len() < wanted {
                break;
            }
        }
        Ok([sent, arrived])
    }

    fn send_by_socket(&mut self, frame: &[u8]) -> Result<(), Verdict> {
        self.sockets[HOSTS[0]].send(frame).map_err(|error| {
            let expected = format!("a frame of {} bytes to be sent", frame.len());
            let place = self.interface(HOSTS[0], "s0");
            self.explain(Verdict::fail(expected, terminal::with_causes(&error), place))
        })
    }

    /// Takes queued frames from the ring until there are `wanted`, or none has arrived for some time.
    pub fn await_frames(
        &mut self,
        patience: Patience<'_>,
        arrived: &mut Vec<Vec<u8>>,
        wanted: usize,
    ) -> Result<(), Verdict> {
        let mut broken = None;
        patience.wait(PATIENCE, || {
            while broken.is_none() {
                match self.take() {
                    Ok(None) => return arrived.len() >= wanted,
                    Ok(Some((records, frame))) => match (records.outcome, frame) {
                        (Outcome::Queued(_), Some(frame)) => arrived.push(frame),
                        (other, _) => broken = Some(self.unexpected(other)),
                    },
                    Err(verdict) => broken = Some(verdict),
                }
            }
            true
        })?;
        broken.map_or(Ok(()), Err)
    }

    fn unexpected(&self, outcome: Outcome) -> Verdict {
        let place = self.interface(SWITCH, "h0");
        let got = format!("a record that says {outcome:?}");
        self.explain(Verdict::fail("records of queued frames", got, place))
    }

    /// Adds the checks of numbered frames to the steps of a test.
    pub fn judge(&self, bench: &mut Bench<'_>, [sent, arrived]: &[Vec<Vec<u8>>; 2], way: &str) {
        let changes = self.changes_and_drops();
        for (name, verdict) in judge(sent, arrived, way) {
            let verdict = self.with_ring(explained(verdict, &changes));
            bench.add(name, verdict);
        }
        super::evidence::keep_frames(bench, [sent, arrived]);
    }

    /// Adds a check that nothing except the counters of interfaces has changed since the set-up.
    pub fn judge_surroundings(&self, bench: &mut Bench<'_>) {
        let verdict = as_before(&self.changes(), &self.names());
        bench.add("interfaces are as they were set up", verdict);
    }

    /// Adds the number of frames refused by the ring to a failure.
    fn with_ring(&self, verdict: Verdict) -> Verdict {
        let refused = self.tables.dropped(DropReason::RingFull);
        match verdict {
            Verdict::Fail(mut failure) if refused > 0 => {
                let why = format!("bpf_ringbuf_reserve failed {refused} times (the ring was full)");
                failure.place = format!("{}; {why}", failure.place);
                Verdict::Fail(failure)
            }
            verdict => verdict,
        }
    }
}

fn plan(addresses: &[LinkAddresses]) -> Plan {
    let namespace = |name: &str| NamespaceSpec { name: name.to_owned(), forwarding: false };
    let link = |host: u32| {
        // Wires of a star: h0 to the switch and back, then those of h1.
        let forth = &addresses[2 * host as usize];
        let host_end = EndSpec {
            namespace: host as usize,
            interface: "s0".to_owned(),
            index: Some(FIRST_HOST_INTERFACE + host),
            mac: forth.source,
            ..EndSpec::default()
        };
        let port = EndSpec {
            namespace: SWITCH,
            interface: format!("h{host}"),
            index: Some(FIRST_INTERFACE + host),
            mac: forth.destination,
            ..EndSpec::default()
        };
        LinkSpec { a: host_end, b: port, mtu: MTU }
    };
    Plan {
        namespaces: ["h0", "h1", "s0"].map(namespace).to_vec(),
        links: vec![link(0), link(1)],
        ..Plan::default()
    }
}

fn open_sender(deployment: &Deployment, namespace: usize) -> Result<PacketSocket, Verdict> {
    let opened = deployment.namespace(namespace).enter(PacketSocket::open);
    opened.map_err(|error| netns_verdict(&error))?.map_err(|error| {
        Verdict::fail("an AF_PACKET socket", terminal::with_causes(&error), "socket()")
    })
}

/// Returns a skip if the kernel lacks namespaces or veth, otherwise a failure.
pub fn netns_verdict(error: &netns::Error) -> Verdict {
    let text = terminal::with_causes(error);
    if is_absent(&text) {
        return Verdict::skip(format!("no network namespaces or veth: {text}"));
    }
    Verdict::fail("namespaces and links", text, "netns")
}

/// Returns a skip if the kernel lacks BPF, otherwise a failure; the verifier's log is stored.
pub fn program_verdict(error: &ProgramError) -> Verdict {
    let text = terminal::with_causes(error);
    // Other features, such as native XDP on veth, must be supported.
    if error.verifier_log().is_none() && text.contains(NO_SYSTEM_CALL) {
        return Verdict::skip(format!("no BPF: {text}"));
    }
    error.verifier_log().into_iter().for_each(super::evidence::keep_verifier_log);
    Verdict::fail("a program that loads and attaches", text, "bpf()")
}

/// Returns a skip if the kernel lacks AF_XDP, otherwise a failure.
pub fn socket_verdict(error: &af_xdp::Error) -> Verdict {
    let text = terminal::with_causes(error);
    let lacking = super::features::need_af_xdp().err();
    lacking.unwrap_or_else(|| Verdict::fail("an AF_XDP socket", text, "AF_XDP"))
}

/// ENOSYS.
const NO_SYSTEM_CALL: &str = "(os error 38)";

/// ENOSYS or EOPNOTSUPP.
fn is_absent(text: &str) -> bool {
    text.contains(NO_SYSTEM_CALL) || text.contains("(os error 95)")
}
