//! Errors that end a node, with messages for users.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;

use linux::af_xdp;
use linux::packet_socket;
use nix::errno::Errno;
use scenario::ScenarioError;
use switch_user::hook::XdpHook;
use switch_user::program::ProgramError;

/// Reason why a switch or host could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file or an option is wrong.
    #[error(transparent)]
    Settings(#[from] ScenarioError),
    /// The interface does not exist.
    #[error("there is no interface `{0}` in this namespace; `ip link` shows those that there are")]
    NoInterface(String),
    /// The interface is not Ethernet.
    #[error("interface `{0}` is not Ethernet")]
    NotEthernet(String),
    /// The interface is down.
    #[error("interface `{0}` is down; set it up first: `ip link set {0} up`")]
    Down(String),
    /// The interface has an unsuitable MTU.
    #[error("interface `{interface}` has an MTU of {mtu}, and {needed} is needed; {advice}")]
    Mtu {
        /// Its name.
        interface: String,
        /// Its MTU, bytes.
        mtu: u64,
        /// The MTU that the node needs.
        needed: String,
        /// Advice on how to fix it.
        advice: String,
    },
    /// The interface has more receive queues than a host reads.
    #[error(
        "interface `{interface}` spreads what it receives over {queues} queues, and a host reads one; \
         make it one: `ethtool -L {interface} combined 1`"
    )]
    Queues {
        /// Its name.
        interface: String,
        /// Number of receive queues.
        queues: u32,
    },
    /// The interface has no IPv4 address.
    #[error(
        "interface `{0}` has no IPv4 address; give it one (`ip address add 10.0.1.1/24 dev {0}`)"
    )]
    NoAddress(String),
    /// The kernel refused an operation on an interface.
    #[error("cannot {step} interface `{interface}`: {source}")]
    Interface {
        /// Its name.
        interface: String,
        /// The refused operation, a verb.
        step: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
    /// Another XDP program has the interface.
    #[error(
        "interface `{0}` has an XDP program already: another xoff-switch or xoff-host is on it, or some other \
         program; end that one first (`ip link show {0}` shows it)"
    )]
    Taken(String),
    /// The driver of the interface has no native XDP.
    #[error(
        "the driver of interface `{0}` has no native XDP, or not for its MTU; `--generic` runs XDP in front of the stack \
         instead, which is slower"
    )]
    NoNativeXdp(String),
    /// The caller lacks privileges.
    #[error("{0} needs root, or {caps}: run it with sudo", caps = .0.capabilities().join(", "))]
    Permission(Node),
    /// The locked-memory limit is below what a host's socket needs.
    #[error(
        "a host locks 16 MiB of memory for the socket on `{0}`, and the limit is lower (`ulimit -l`): raise it, or run the \
         host as root or with CAP_IPC_LOCK"
    )]
    LockedMemory(String),
    /// The eBPF program could not be loaded or used.
    #[error(transparent)]
    Program(ProgramError),
    /// An interface is gone.
    #[error("interface `{0}` is gone: it was deleted, renamed or moved to another namespace")]
    Gone(String),
    /// An interface has another MAC address than before.
    #[error(
        "interface `{interface}` has another MAC address: {} instead of {}, to which neighbours send; start this again, \
         and it takes the new one",
        mac_addresses[1],
        mac_addresses[0]
    )]
    MacAddressChanged {
        /// Its name.
        interface: String,
        /// MAC address before, and now.
        mac_addresses: [String; 2],
    },
    /// An interface has another MTU than before.
    #[error(
        "interface `{interface}` has another MTU: {mtu} instead of {before}, for which all was computed; \
         `ip link set {interface} mtu {before}`, and start this again"
    )]
    OtherMtu {
        /// Its name.
        interface: String,
        /// MTU now, bytes.
        mtu: u64,
        /// MTU before, bytes.
        before: u64,
    },
    /// Sending failed.
    #[error("cannot send: {0}")]
    Packet(#[from] packet_socket::Error),
    /// The socket failed.
    #[error(transparent)]
    Socket(#[from] af_xdp::Error),
    /// A system call failed.
    #[error("cannot {step}: {source}")]
    System {
        /// The failed operation, a verb.
        step: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
    /// No neighbour was found.
    #[error(
        "no neighbour at interface `{interface}` leads to {destination}: the kernel has no route there, or nobody answers \
         ARP; `ip route` and `ip neigh` show what it knows, and `--gateway-mac` names the neighbour"
    )]
    NoNeighbour {
        /// The interface.
        interface: String,
        /// The destination.
        destination: std::net::Ipv4Addr,
    },
    /// The other host refused, failed or left.
    #[error("{0}")]
    Peer(String),
    /// A signal arrived before the transfers were over.
    #[error("interrupted")]
    Interrupted,
    /// The node has reached [`MAX_LIFE`](crate::clock::MAX_LIFE).
    #[error("it has run for 200 days, which is as far as its clock counts; start it again")]
    TooOld,
}

/// A node that stands alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// `xoff-switch`.
    Switch,
    /// `xoff-host`.
    Host,
}

impl Node {
    /// Capabilities that the node needs if it is not root. The verifier lets a switch compare pointers to its
    /// packets only with `CAP_PERFMON`; a host's socket locks more memory than most limits allow.
    const fn capabilities(self) -> [&'static str; 4] {
        match self {
            Self::Switch => ["CAP_BPF", "CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_PERFMON"],
            Self::Host => ["CAP_BPF", "CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_IPC_LOCK"],
        }
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Switch => "a switch",
            Self::Host => "a host",
        })
    }
}

impl Error {
    /// Error after attaching a node's program to an interface.
    pub fn from_attaching(node: Node, interface: &str, hook: XdpHook, error: ProgramError) -> Self {
        match (errno(&error), hook) {
            (Some(Errno::EBUSY | Errno::EEXIST), _) => Self::Taken(interface.to_owned()),
            (Some(Errno::EOPNOTSUPP | Errno::EINVAL | Errno::ERANGE), XdpHook::Native) => {
                Self::NoNativeXdp(interface.to_owned())
            }
            (Some(Errno::ENODEV), _) => Self::Gone(interface.to_owned()),
            (Some(Errno::EPERM | Errno::EACCES), _) => Self::Permission(node),
            _ => Self::Program(error),
        }
    }

    /// Error after loading a node's program.
    pub fn from_loading(node: Node, error: ProgramError) -> Self {
        match errno(&error) {
            Some(Errno::EPERM | Errno::EACCES)
                if error.verifier_log().is_none_or(str::is_empty)
                    || (node == Node::Switch && !lets_compare_pointers()) =>
            {
                Self::Permission(node)
            }
            _ => Self::Program(error),
        }
    }

    /// Error after opening a switch's socket.
    pub fn from_packet_socket(error: packet_socket::Error) -> Self {
        match &error {
            packet_socket::Error::Open(source) if is_forbidden(source) => {
                Self::Permission(Node::Switch)
            }
            _ => Self::Packet(error),
        }
    }

    /// Error after opening a host's socket on an interface.
    pub fn from_af_xdp(interface: &str, error: af_xdp::Error) -> Self {
        match &error {
            af_xdp::Error::Open { source, .. } => match errno_of(source) {
                Some(Errno::EBUSY) => Self::Taken(interface.to_owned()),
                Some(Errno::EPERM | Errno::EACCES) => Self::Permission(Node::Host),
                Some(Errno::ENOBUFS) => Self::LockedMemory(interface.to_owned()),
                _ => Self::Socket(error),
            },
            _ => Self::Socket(error),
        }
    }

    /// True if the request was wrong; false if the node or the system failed.
    const fn is_refusal(&self) -> bool {
        !matches!(
            self,
            Self::Program(_)
                | Self::Gone(_)
                | Self::MacAddressChanged { .. }
                | Self::OtherMtu { .. }
                | Self::Packet(_)
                | Self::Socket(_)
                | Self::System { .. }
                | Self::Peer(_)
                | Self::Interrupted
                | Self::TooOld
        )
    }
}

fn errno_of(error: &io::Error) -> Option<Errno> {
    error.raw_os_error().map(Errno::from_raw)
}

fn is_forbidden(error: &io::Error) -> bool {
    matches!(errno_of(error), Some(Errno::EPERM | Errno::EACCES))
}

/// True if this process has `CAP_PERFMON` (38), or `CAP_SYS_ADMIN` (21), which includes it.
fn lets_compare_pointers() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
    effective.is_none_or(|effective| effective & (1 << 38 | 1 << 21) != 0)
}

/// The kernel's error code at the bottom of an error's sources.
fn errno(error: &ProgramError) -> Option<Errno> {
    let mut at: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = at {
        if let Some(number) = error.downcast_ref::<io::Error>().and_then(errno_of) {
            return Some(number);
        }
        at = error.source();
    }
    os_error_in(&error.to_string()).map(Errno::from_raw)
}

/// The error code in an error's text: some of aya's errors do not return their source.
fn os_error_in(text: &str) -> Option<i32> {
    let (_, rest) = text.rsplit_once("(os error ")?;
    rest.split_once(')')?.0.parse().ok()
}

/// Writes a line to standard error. Ignores failed writes.
pub fn print_line(line: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Prints the error that ended a process, if any, and returns the exit code: 0 on success, 2 if the request was
/// wrong, or 1.
pub fn exit(who: impl fmt::Display, result: Result<ExitCode, Error>) -> ExitCode {
    match result {
        Ok(code) => code,
        Err(Error::Settings(error)) => {
            print_line(&error);
            ExitCode::from(2)
        }
        Err(error) => {
            print_line(format_args!("{who}: {error}"));
            ExitCode::from(if error.is_refusal() { 2 } else { 1 })
        }
    }
}
