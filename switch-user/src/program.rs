//! The eBPF programs of one switch or host: loading, attaching, and reading the ring.

mod attachment;
mod host;
pub mod objects;
pub mod standalone;
mod test_run;

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;

use aya::maps::{Map, MapData, RingBuf};
use aya::programs::tc::{self, NlOptions, TcAttachOptions, TcError};
use aya::programs::{
    ProgramInfo, SchedClassifier, TcAttachType, TestRun, TestRunOptions, TestRunResult, Xdp,
};
use aya::{Ebpf, EbpfLoader};
use fabric_core::arrival::Outcome;
use fabric_core::hop_control::Order;
use fabric_core::map_abi::{Clock, names};
use fabric_core::policy::Policy;
use fabric_core::record::{
    HEADER_LEN, Header, KIND_CONTROL, KIND_LEFT_ALONE, KIND_LINK_DELAY, KIND_QUEUED,
};
use units::Nanos;

pub use self::attachment::{Attachment, ByLink, LinkKind, at_tcx};
pub use self::host::{HostProgram, SocketTakes};
use crate::hook::{Hook, XdpHook};
use crate::refusal::Refusal;
use crate::tables::{Capacity, SwitchTables};
use linux::interface::name_of;
use linux::region::Region;
use nix::errno::Errno;

/// Object built from `switch-ebpf` by `cargo xtask build-ebpf`.
#[cfg(not(feature = "log-events"))]
pub static OBJECT: &[u8] = aya::include_bytes_aligned!("../ebpf/xoff.bpf.o");
/// Object with `aya-log` events, built by `cargo xtask build-ebpf --log-events`.
#[cfg(feature = "log-events")]
pub static OBJECT: &[u8] = aya::include_bytes_aligned!("../../target/ebpf/xoff.log-events.bpf.o");

/// Reason why a program cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The verifier refused a program.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The object could not be loaded.
    #[error("loading the eBPF object: {0}; run `xoff doctor`")]
    Load(#[source] Box<aya::EbpfError>),
    /// A program could not be used or attached.
    #[error("eBPF program {program} on {target}: {source}; run `xoff doctor`")]
    Attach {
        /// Name of the program.
        program: &'static str,
        /// Interface or map to which it was to be attached.
        target: String,
        /// The error.
        source: Box<aya::programs::ProgramError>,
    },
    /// The object lacks a program or map that this binary expects.
    #[error("the eBPF object has no {0}; rebuild it with `cargo xtask build-ebpf`")]
    Missing(&'static str),
    /// A map could not be used.
    #[error("map {name}: {source}")]
    Map {
        /// Name of the map.
        name: &'static str,
        /// The error.
        source: Box<aya::maps::MapError>,
    },
    /// A map could not be mapped into memory.
    #[error("mapping the switch's tables into memory: {0}")]
    Mapping(#[from] io::Error),
    /// A record is invalid.
    #[error("a record in the ring makes no sense: {0}")]
    BadRecord(&'static str),
}

impl From<aya::EbpfError> for ProgramError {
    fn from(error: aya::EbpfError) -> Self {
        match error {
            aya::EbpfError::BtfError(aya::BtfError::LoadError { io_error, verifier_log }) => {
                let what = "the types of the eBPF object (BTF)".to_owned();
                Refusal::new(what, io_error, verifier_log.to_string()).into()
            }
            other => Self::Load(Box::new(other)),
        }
    }
}

impl ProgramError {
    /// Returns the verifier's log, if the verifier refused the program.
    pub fn verifier_log(&self) -> Option<&str> {
        match self {
            Self::Refused(refusal) => Some(refusal.log()),
            _ => None,
        }
    }
}

/// The program of one switch.
pub struct SwitchProgram {
    ebpf: Ebpf,
    hook: Hook,
    ring: RingBuf<MapData>,
    /// Records that were in the ring between a frame's record and its hop control frames.
    passed: VecDeque<Vec<u8>>,
    clock: Region<Clock>,
}

/// Records of one frame in the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Records {
    /// Outcome of the frame.
    pub outcome: Outcome,
    /// Time of arrival, as read by eBPF.
    pub time_ns: u64,
    /// Port that received the frame.
    pub port: u32,
}

impl SwitchProgram {
    /// Loads the programs of one switch per element of `capacities`, with `policy` in `.rodata`, for ports that use
    /// `hook`, and maps their tables. `ring_bytes` replaces the ring's size (a power of two).
    pub fn load(
        capacities: &[Capacity],
        policy: Policy,
        hook: Hook,
        ring_bytes: Option<u32>,
    ) -> Result<Vec<(Self, SwitchTables)>, ProgramError> {
        let words = policy.words();
        // One loader for all switches, because each new one reads the kernel's whole BTF.
        let mut loader = EbpfLoader::new();
        loader.override_global(names::POLICY, &words, true);
        if let Some(bytes) = ring_bytes {
            loader.map_max_entries(names::EVENTS, bytes);
        }
        let mut load_one = |capacity: &Capacity| {
            size_maps(&mut loader, capacity);
            Self::start(loader.load(OBJECT)?, hook, *capacity)
        };
        capacities.iter().map(&mut load_one).collect()
    }

    fn start(
        mut ebpf: Ebpf,
        hook: Hook,
        capacity: Capacity,
    ) -> Result<(Self, SwitchTables), ProgramError> {
        let arrival = arrival_name(hook);
        let loaded = match hook {
            Hook::Xdp | Hook::XdpGeneric => xdp(&mut ebpf, arrival)?.load(),
            Hook::Tc => classifier(&mut ebpf, arrival)?.load(),
        };
        loaded.map_err(|source| load_error(arrival, source))?;
        let auditor = classifier(&mut ebpf, EGRESS_AUDITOR)?;
        auditor.load().map_err(|source| load_error(EGRESS_AUDITOR, source))?;
        let ring = ebpf.take_map(names::EVENTS).ok_or(ProgramError::Missing(names::EVENTS))?;
        let ring = RingBuf::try_from(ring).map_err(|source| ProgramError::Map {
            name: names::EVENTS,
            source: Box::new(source),
        })?;
        let array = |name| match ebpf.map(name) {
            Some(Map::Array(data)) => Ok(data.fd().as_fd()),
            _ => Err(io::Error::new(io::ErrorKind::NotFound, format!("no array map {name}"))),
        };
        let tables = SwitchTables::mapped(capacity, array)?;
        let clock = Region::from_array(array(names::CLOCK)?, 1)?;
        Ok((Self { ebpf, hook, ring, passed: VecDeque::new(), clock }, tables))
    }

    /// Attaches the arrival program to a port's interface, from inside its namespace, until the interface or the
    /// program goes. Does not attach the auditor: for interfaces that send no frames.
    pub fn attach_arrival(&mut self, interface_index: u32) -> Result<(), ProgramError> {
        if let Some(hook) = self.hook.xdp() {
            return attach_xdp(&mut self.ebpf, SWITCH_PORT, interface_index, hook);
        }
        add_clsact(interface_index)?;
        attach_classifier(&mut self.ebpf, SWITCH_PORT_TC, interface_index, TcAttachType::Ingress)
    }

    /// Attaches the arrival program and the auditor to a port's interface, like [`Self::attach_arrival`].
    pub fn attach(&mut self, interface_index: u32) -> Result<(), ProgramError> {
        self.attach_arrival(interface_index)?;
        // One clsact serves both directions.
        if self.hook != Hook::Tc {
            add_clsact(interface_index)?;
        }
        attach_classifier(&mut self.ebpf, EGRESS_AUDITOR, interface_index, TcAttachType::Egress)
    }

    /// Sets the time that the programs read.
    #[inline]
    pub fn set_clock(&self, now: Nanos) {
        self.clock[0].now_ns.store(now.0);
    }

    /// Sets the accounted length of the next frame.
    #[inline]
    pub fn set_frame_length(&self, length: u32) {
        self.clock[0].frame_length.store(length.into());
    }

    /// Takes the records of one frame from the ring: its own, and those of hop control frames that
    /// are due. Passes the bytes of a queued packet or a link delay frame to `frame`, and each hop
    /// control frame with its order to `control`. Returns `None` if the ring is empty.
    pub fn take_records(
        &mut self,
        mut frame: impl FnMut(&Header, &[u8]),
        mut control: impl FnMut(&Header, &Order, &[u8]),
    ) -> Result<Option<Records>, ProgramError> {
        let Some(header) = self.take(&mut frame, &mut control)? else { return Ok(None) };
        let outcome = header.outcome().ok_or(ProgramError::BadRecord("its kind is unknown"))?;
        Ok(Some(Records { outcome, time_ns: header.time_ns, port: header.port }))
    }

    /// Implements [`take_records`](Self::take_records). Returns the header of the frame's own record.
    fn take(
        &mut self,
        frame: &mut impl FnMut(&Header, &[u8]),
        control: &mut impl FnMut(&Header, &Order, &[u8]),
    ) -> Result<Option<Header>, ProgramError> {
        let header = if let Some(record) = self.passed.pop_front() {
            read_frame(&record, frame)?
        } else if let Some(record) = self.ring.next() {
            read_frame(&record, frame)?
        } else {
            return Ok(None);
        };
        for _ in 0..header.orders {
            self.take_order(control)?;
        }
        Ok(Some(header))
    }

    /// Takes one hop control frame of the last frame. At a standalone switch, other CPUs may have
    /// put frames that they left alone in between, and such a record may not be complete yet.
    fn take_order(
        &mut self,
        control: &mut impl FnMut(&Header, &Order, &[u8]),
    ) -> Result<(), ProgramError> {
        let mut attempts = 0;
        loop {
            let Some(next) = self.ring.next() else {
                attempts += 1;
                if attempts > PATIENCE {
                    return Err(ProgramError::BadRecord("its hop control frame does not follow"));
                }
                std::thread::yield_now();
                continue;
            };
            let header = Header::read(&next)
                .ok_or(ProgramError::BadRecord("its hop control frame is too short"))?;
            match header.kind {
                KIND_CONTROL => {
                    let nothing = ProgramError::BadRecord("its hop control frame says nothing");
                    let order = header.order().ok_or(nothing)?;
                    control(&header, &order, body(&header, &next)?);
                    return Ok(());
                }
                KIND_LEFT_ALONE => self.passed.push_back(next.to_vec()),
                _ => {
                    return Err(ProgramError::BadRecord("what follows is not a hop control frame"));
                }
            }
        }
    }

    /// Runs the arrival program by `BPF_PROG_TEST_RUN`.
    pub fn run_arrival(&self, options: TestRunOptions<'_>) -> Result<TestRunResult, ProgramError> {
        let name = arrival_name(self.hook);
        let program = self.ebpf.program(name).ok_or(ProgramError::Missing(name))?;
        let run = match self.hook {
            Hook::Xdp | Hook::XdpGeneric => {
                <&Xdp>::try_from(program).and_then(|program| program.test_run(options))
            }
            Hook::Tc => {
                <&SchedClassifier>::try_from(program).and_then(|program| program.test_run(options))
            }
        };
        run.map_err(|source| attach_error(name, "a test run", source))
    }

    /// Returns the kernel's information about the arrival program.
    pub fn arrival_info(&self) -> Result<ProgramInfo, ProgramError> {
        let name = arrival_name(self.hook);
        let program = self.ebpf.program(name).ok_or(ProgramError::Missing(name))?;
        program.info().map_err(|source| attach_error(name, "the kernel", source))
    }

    /// Returns the number of instructions that the verifier followed to accept the arrival program; the verifier's
    /// limit is a million. `None` if the kernel does not report it (before Linux 5.16).
    pub fn verified_instructions(&self) -> Option<u32> {
        self.arrival_info().ok()?.verified_instruction_count()
    }

    /// Returns the auditor, for `BPF_PROG_TEST_RUN`.
    pub fn auditor(&mut self) -> Result<&mut SchedClassifier, ProgramError> {
        classifier(&mut self.ebpf, EGRESS_AUDITOR)
    }

    /// Returns the whole loaded object; event logging attaches to it.
    pub fn ebpf(&mut self) -> &mut Ebpf {
        &mut self.ebpf
    }
}

const SWITCH_PORT: &str = "switch_port";
const SWITCH_PORT_TC: &str = "switch_port_tc";
const EGRESS_AUDITOR: &str = "egress_auditor";
/// Max polls for a following hop control frame. Records of other CPUs before it are complete after microseconds.
const PATIENCE: u32 = 1_000_000;

/// Returns the name of the program for ports at this hook.
fn arrival_name(hook: Hook) -> &'static str {
    match hook {
        Hook::Xdp | Hook::XdpGeneric => SWITCH_PORT,
        Hook::Tc => SWITCH_PORT_TC,
    }
}

/// Sets the sizes of one switch's maps.
fn size_maps(loader: &mut EbpfLoader<'_>, capacity: &Capacity) {
    loader
        .map_max_entries(names::PORTS, capacity.ports)
        .map_max_entries(names::INGRESS_QUEUES, capacity.class_rows())
        .map_max_entries(names::EGRESS_QUEUES, capacity.queue_rows())
        .map_max_entries(names::EGRESS_CLASSES, capacity.class_rows())
        .map_max_entries(names::STORMS, capacity.class_rows())
        .map_max_entries(names::ROUTES, capacity.hosts)
        .map_max_entries(names::NEXT_HOPS, capacity.next_hops)
        .map_max_entries(names::POLICY_ROUTES, capacity.policies)
        .map_max_entries(names::DESCRIPTORS, capacity.slots)
        .map_max_entries(names::FREE_SLOTS, capacity.slots)
        .map_max_entries(names::LOSSY_LINES, capacity.lossy_lines())
        .map_max_entries(names::SCHEME_LINES, capacity.scheme.lines)
        .map_max_entries(names::SCHEME_BLOCKS, capacity.scheme.blocks);
}

/// Reads a frame's record, and passes on its bytes if it has any.
fn read_frame(
    record: &[u8],
    frame: &mut impl FnMut(&Header, &[u8]),
) -> Result<Header, ProgramError> {
    let header = Header::read(record).ok_or(ProgramError::BadRecord("it is too short"))?;
    if matches!(header.kind, KIND_QUEUED | KIND_LINK_DELAY | KIND_LEFT_ALONE) {
        frame(&header, body(&header, record)?);
    }
    Ok(header)
}

fn body<'a>(header: &Header, record: &'a [u8]) -> Result<&'a [u8], ProgramError> {
    record
        .get(HEADER_LEN..HEADER_LEN + header.length as usize)
        .ok_or(ProgramError::BadRecord("it is shorter than its frame"))
}

fn xdp<'a>(ebpf: &'a mut Ebpf, name: &'static str) -> Result<&'a mut Xdp, ProgramError> {
    let program = ebpf.program_mut(name).ok_or(ProgramError::Missing(name))?;
    program.try_into().map_err(|source| attach_error(name, "its type", source))
}

fn classifier<'a>(
    ebpf: &'a mut Ebpf,
    name: &'static str,
) -> Result<&'a mut SchedClassifier, ProgramError> {
    let program = ebpf.program_mut(name).ok_or(ProgramError::Missing(name))?;
    program.try_into().map_err(|source| attach_error(name, "its type", source))
}

fn attach_xdp(
    ebpf: &mut Ebpf,
    name: &'static str,
    interface_index: u32,
    hook: XdpHook,
) -> Result<(), ProgramError> {
    let attached = xdp(ebpf, name)?.attach_to_if_index(interface_index, hook.mode());
    let target = || format!("interface {interface_index}");
    attached.map(drop).map_err(|source| attach_error(name, &target(), source))
}

/// Adds the queueing discipline to which TC programs are attached to an interface.
///
/// Uses clsact and netlink: each TCX attachment waits for a grace period under the RTNL lock, 12 ms per port.
pub fn add_clsact(interface_index: u32) -> Result<(), ProgramError> {
    let interface = interface_name(EGRESS_AUDITOR, interface_index)?;
    tc::qdisc_add_clsact(&interface)
        .map_err(|source| lookup_error(EGRESS_AUDITOR, &interface, source.into()))
}

fn attach_classifier(
    ebpf: &mut Ebpf,
    name: &'static str,
    interface_index: u32,
    direction: TcAttachType,
) -> Result<(), ProgramError> {
    let interface = interface_name(name, interface_index)?;
    let program = classifier(ebpf, name)?;
    let by_netlink = TcAttachOptions::Netlink(NlOptions::default());
    let link = program
        .attach_with_options(&interface, direction, by_netlink)
        .and_then(|link| program.take_link(link))
        .map_err(|source| lookup_error(name, &interface, source))?;
    // The link holds only numbers. Dropping it would remove a filter at the interface with this index in the thread's
    // current namespace, possibly one of the machine's own. The filter goes with its interface.
    std::mem::forget(link);
    Ok(())
}

fn load_error(program: &'static str, source: aya::programs::ProgramError) -> ProgramError {
    match source {
        aya::programs::ProgramError::LoadError { io_error, verifier_log } => {
            let what = format!("eBPF program {program}");
            Refusal::new(what, io_error, verifier_log.to_string()).into()
        }
        other => attach_error(program, "the kernel", other),
    }
}

fn attach_error(
    program: &'static str,
    target: &str,
    source: aya::programs::ProgramError,
) -> ProgramError {
    ProgramError::Attach { program, target: target.to_owned(), source: Box::new(source) }
}

/// Like [`attach_error`], after a look-up of an interface's name or index. glibc returns ENOENT if
/// it cannot open a socket for the look-up, which is misleading at the limit of open files.
fn lookup_error(
    program: &'static str,
    target: &str,
    source: aya::programs::ProgramError,
) -> ProgramError {
    use aya::programs::ProgramError as Source;
    let source = match source {
        Source::IOError(error) | Source::TcError(TcError::IoError(error))
            if error.raw_os_error() == Some(Errno::ENOENT as i32) =>
        {
            io::Error::from(Errno::EMFILE).into()
        }
        other => other,
    };
    attach_error(program, target, source)
}

fn interface_name(program: &'static str, index: u32) -> Result<String, ProgramError> {
    name_of(index)
        .map_err(|error| lookup_error(program, &format!("interface {index}"), error.into()))
}
