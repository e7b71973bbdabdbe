//! BPF programs of a few instructions, and maps for them, without an object file. All objects end when they are dropped,
//! except attachments elsewhere.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use nix::errno::Errno;

/// `enum bpf_cmd`.
const MAP_CREATE: libc::c_long = 0;
const MAP_LOOKUP_ELEM: libc::c_long = 1;
const MAP_UPDATE_ELEM: libc::c_long = 2;
const PROG_LOAD: libc::c_long = 5;
const PROG_GET_FD_BY_ID: libc::c_long = 13;
const MAP_GET_FD_BY_ID: libc::c_long = 14;
const OBJ_GET_INFO_BY_FD: libc::c_long = 15;
const LINK_CREATE: libc::c_long = 28;
/// `BPF_MAP_TYPE_ARRAY`.
pub const ARRAY: u32 = 2;
/// `BPF_XDP_CPUMAP`.
const XDP_CPUMAP: u32 = 35;
/// `BPF_F_XDP_HAS_FRAGS`.
const HAS_FRAGS: u32 = 1 << 5;
/// Bytes of `union bpf_attr` that are passed; the kernel accepts unknown bytes if they are zero.
const ATTRIBUTES: usize = 128;
/// Bytes of a verifier's log that are kept.
const LOG_BYTES: usize = 4096;

/// Kind of a program, by its number in `enum bpf_prog_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    /// TC.
    Classifier,
    /// XDP, for packets in one fragment.
    Xdp,
    /// XDP, also for packets in several fragments.
    XdpFrags,
    /// XDP, for an entry of a CPU map.
    XdpOfProcessor,
}

/// Kind of a map, with its number in `enum bpf_map_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapKind {
    /// Devices by number.
    Devices = 14,
    /// CPUs by number.
    Processors = 16,
    /// AF_XDP sockets by number.
    Sockets = 17,
}

/// Attachment point of a program, with its number in `enum bpf_attach_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attach {
    /// XDP.
    Xdp = 37,
    /// TC ingress, by TCX.
    TcxIngress = 46,
    /// TC egress, by TCX.
    TcxEgress = 47,
}

/// Native XDP.
pub const NATIVE: u32 = 1 << 2;
/// Generic XDP.
pub const GENERIC: u32 = 1 << 1;
/// Return code of an XDP program that drops the packet.
pub const XDP_DROP: i32 = 1;
/// Return code of an XDP program that passes the packet.
pub const XDP_PASS: i32 = 2;
/// Return code of a classifier that continues with the next program.
pub const TCX_NEXT: i32 = -1;
/// Number of `bpf_redirect`.
pub const REDIRECT: i32 = 23;
/// Number of `bpf_redirect_map`.
pub const REDIRECT_MAP: i32 = 51;
/// Number of `bpf_skb_load_bytes`.
pub const SKB_LOAD_BYTES: i32 = 26;
/// Number of `bpf_skb_store_bytes`.
pub const SKB_STORE_BYTES: i32 = 9;

/// Instructions of a program. Registers are given by number, jumps by the number of skipped instructions.
pub mod instruction {
    const fn encode(code: u8, to: u8, from: u8, offset: i16, value: i32) -> u64 {
        let registers = (to | from << 4) as u64;
        let offset = offset.cast_unsigned() as u64;
        code as u64 | registers << 8 | offset << 16 | (value.cast_unsigned() as u64) << 32
    }

    /// `to = value`.
    pub const fn set(to: u8, value: i32) -> u64 {
        encode(0xb7, to, 0, 0, value)
    }

    /// `to = from`.
    pub const fn copy(to: u8, from: u8) -> u64 {
        encode(0xbf, to, from, 0, 0)
    }

    /// `to += value`.
    pub const fn add(to: u8, value: i32) -> u64 {
        encode(0x07, to, 0, 0, value)
    }

    /// `to ^= value`.
    pub const fn flip(to: u8, value: i32) -> u64 {
        encode(0xa7, to, 0, 0, value)
    }

    /// `to &= value`.
    pub const fn mask(to: u8, value: i32) -> u64 {
        encode(0x57, to, 0, 0, value)
    }

    /// `to = *(u8 *)(from + offset)`.
    pub const fn load_byte(to: u8, from: u8, offset: i16) -> u64 {
        encode(0x71, to, from, offset, 0)
    }

    /// `to = *(u32 *)(from + offset)`.
    pub const fn load_word(to: u8, from: u8, offset: i16) -> u64 {
        encode(0x61, to, from, offset, 0)
    }

    /// `*(u8 *)(to + offset) = from`.
    pub const fn store_byte(to: u8, from: u8, offset: i16) -> u64 {
        encode(0x73, to, from, offset, 0)
    }

    /// `*(u32 *)(to + offset) = from`.
    pub const fn store_word(to: u8, from: u8, offset: i16) -> u64 {
        encode(0x63, to, from, offset, 0)
    }

    /// Skips `skipped` instructions if `register` is not `value`.
    pub const fn unless(register: u8, value: i32, skipped: i16) -> u64 {
        encode(0x55, register, 0, skipped, value)
    }

    /// Skips `skipped` instructions if `register` is above `other`.
    pub const fn if_above(register: u8, other: u8, skipped: i16) -> u64 {
        encode(0x2d, register, other, skipped, 0)
    }

    /// Loads the map with this descriptor into `to`; two instructions.
    pub const fn map(to: u8, descriptor: i32) -> [u64; 2] {
        const PSEUDO_MAP_FD: u8 = 1;
        [encode(0x18, to, PSEUDO_MAP_FD, 0, descriptor), 0]
    }

    /// Calls a helper.
    pub const fn call(helper: i32) -> u64 {
        encode(0x85, 0, 0, 0, helper)
    }

    /// Returns `r0`.
    pub const fn exit() -> u64 {
        encode(0x95, 0, 0, 0, 0)
    }
}

/// A loaded program.
#[derive(Debug)]
pub struct Program {
    descriptor: OwnedFd,
}

/// A map with keys of four bytes.
#[derive(Debug)]
pub struct Map {
    descriptor: OwnedFd,
    value_bytes: u32,
}

/// An attachment of a program, which lasts until this value is dropped.
#[derive(Debug)]
pub struct Link {
    _descriptor: OwnedFd,
}

impl Program {
    /// Loads a program.
    ///
    /// # Errors
    /// The kernel's error, with the end of the verifier's log.
    pub fn load(kind: ProgramKind, name: &str, instructions: &[u64]) -> io::Result<Self> {
        let (number, flags) = match kind {
            ProgramKind::Classifier => (3_u32, 0),
            ProgramKind::Xdp | ProgramKind::XdpOfProcessor => (6, 0),
            ProgramKind::XdpFrags => (6, HAS_FRAGS),
        };
        let mut log = vec![0_u8; LOG_BYTES];
        let count = u32::try_from(instructions.len()).expect("a program has few instructions");
        let mut attributes = Attributes::new();
        attributes.word(0, number);
        attributes.word(4, count);
        attributes.long(8, instructions.as_ptr() as u64);
        attributes.long(16, c"Dual MIT/GPL".as_ptr() as u64);
        attributes.word(24, 1);
        attributes.word(28, u32::try_from(LOG_BYTES).expect("it is short"));
        attributes.long(32, log.as_mut_ptr() as u64);
        attributes.word(44, flags);
        attributes.name(48, name);
        match kind {
            ProgramKind::Classifier => {}
            ProgramKind::Xdp | ProgramKind::XdpFrags => attributes.word(68, Attach::Xdp as u32),
            ProgramKind::XdpOfProcessor => attributes.word(68, XDP_CPUMAP),
        }
        // SAFETY: the instructions, the license and the log outlive the call, and their lengths are right.
        let loaded = unsafe { attributes.open(PROG_LOAD) };
        loaded.map(|descriptor| Self { descriptor }).map_err(|error| {
            let log = String::from_utf8_lossy(&log);
            let log = log.trim_end_matches('\0').trim();
            if log.is_empty() { error } else { io::Error::other(format!("{error}: {log}")) }
        })
    }

    /// Returns the descriptor, for values of maps.
    pub fn descriptor(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }

    /// Attaches the program to an interface of the calling thread's namespace. `flags` are XDP flags ([`NATIVE`] or
    /// [`GENERIC`]), or 0.
    pub fn attach(&self, interface: u32, attach: Attach, flags: u32) -> io::Result<Link> {
        let mut attributes = Attributes::new();
        attributes.word(0, descriptor(self.descriptor.as_raw_fd()));
        attributes.word(4, interface);
        attributes.word(8, attach as u32);
        attributes.word(12, flags);
        // SAFETY: the attributes have no pointers.
        unsafe { attributes.open(LINK_CREATE) }.map(|descriptor| Link { _descriptor: descriptor })
    }
}

impl Map {
    /// Creates a map of `entries` with values of `value_bytes`.
    pub fn new(kind: MapKind, entries: u32, value_bytes: u32) -> io::Result<Self> {
        let mut attributes = Attributes::new();
        for (at, value) in [(0, kind as u32), (4, 4), (8, value_bytes), (12, entries)] {
            attributes.word(at, value);
        }
        // SAFETY: the attributes have no pointers.
        let descriptor = unsafe { attributes.open(MAP_CREATE) }?;
        Ok(Self { descriptor, value_bytes })
    }

    /// Opens the array with this number.
    ///
    /// # Errors
    /// `InvalidInput` for another kind of map, or the kernel's error.
    pub fn from_number(number: u32) -> io::Result<Self> {
        let mut attributes = Attributes::new();
        attributes.word(0, number);
        // SAFETY: the attributes have no pointers.
        let map = unsafe { attributes.open(MAP_GET_FD_BY_ID) }?;
        // The first members of `struct bpf_map_info`: type, number, bytes of a key and of a value.
        let mut info = [0_u32; 4];
        let mut attributes = Attributes::new();
        attributes.word(0, descriptor(map.as_raw_fd()));
        attributes.word(4, u32::try_from(size_of_val(&info)).expect("it is short"));
        attributes.long(8, (&raw mut info) as u64);
        // SAFETY: `info` outlives the call and has the given length.
        unsafe { attributes.call(OBJ_GET_INFO_BY_FD) }?;
        let [ARRAY, _, 4, value_bytes] = info else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        Ok(Self { descriptor: map, value_bytes })
    }

    /// Returns an entry.
    pub fn entry(&self, key: u32) -> io::Result<Vec<u8>> {
        let mut value = vec![0_u8; self.value_bytes as usize];
        let mut attributes = Attributes::new();
        attributes.word(0, descriptor(self.descriptor.as_raw_fd()));
        attributes.long(8, (&raw const key) as u64);
        attributes.long(16, value.as_mut_ptr() as u64);
        // SAFETY: key and value outlive the call, and the value has the map's length.
        unsafe { attributes.call(MAP_LOOKUP_ELEM) }.map(|_| value)
    }

    /// Returns the descriptor, for instructions.
    pub fn descriptor(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }

    /// Sets an entry.
    ///
    /// # Panics
    /// If `value` is shorter than the map's values.
    pub fn set(&self, key: u32, value: &[u8]) -> io::Result<()> {
        assert!(value.len() >= self.value_bytes as usize, "the kernel reads a whole value");
        let mut attributes = Attributes::new();
        attributes.word(0, descriptor(self.descriptor.as_raw_fd()));
        attributes.long(8, (&raw const key) as u64);
        attributes.long(16, value.as_ptr() as u64);
        // SAFETY: key and value outlive the call, and the value has the map's length (asserted).
        unsafe { attributes.call(MAP_UPDATE_ELEM) }.map(drop)
    }
}

/// Checks that BPF is available.
///
/// # Errors
/// The kernel's error for a map of one entry.
pub fn probe() -> io::Result<()> {
    let mut attributes = Attributes::new();
    for (at, value) in [(0, ARRAY), (4, 4), (8, 4), (12, 1)] {
        attributes.word(at, value);
    }
    // SAFETY: the attributes have no pointers.
    unsafe { attributes.open(MAP_CREATE) }.map(drop)
}

/// Returns true if a program with this number is loaded.
pub fn is_loaded(program: u32) -> bool {
    let mut attributes = Attributes::new();
    attributes.word(0, program);
    // SAFETY: the attributes have no pointers.
    unsafe { attributes.open(PROG_GET_FD_BY_ID) }.is_ok()
}

/// `union bpf_attr`.
#[repr(align(8))]
struct Attributes([u8; ATTRIBUTES]);

impl Attributes {
    fn new() -> Self {
        Self([0; ATTRIBUTES])
    }

    fn word(&mut self, at: usize, value: u32) {
        self.0[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    }

    fn long(&mut self, at: usize, value: u64) {
        self.0[at..at + 8].copy_from_slice(&value.to_ne_bytes());
    }

    /// Writes a name of at most 15 bytes, and a zero.
    fn name(&mut self, at: usize, name: &str) {
        for (place, byte) in self.0[at..at + 15].iter_mut().zip(name.bytes()) {
            *place = byte;
        }
    }

    /// # Safety
    /// Memory to which the attributes point must outlive the call.
    unsafe fn call(&self, command: libc::c_long) -> io::Result<RawFd> {
        // SAFETY: the attributes have the given length; the caller promises that their pointers are valid.
        let result =
            unsafe { libc::syscall(libc::SYS_bpf, command, self.0.as_ptr(), self.0.len()) };
        Ok(RawFd::try_from(Errno::result(result)?).expect("descriptors are small"))
    }

    /// # Safety
    /// As [`Self::call`], and the command returns a descriptor.
    unsafe fn open(&self, command: libc::c_long) -> io::Result<OwnedFd> {
        // SAFETY: as the caller promises.
        let descriptor = unsafe { self.call(command) }?;
        // SAFETY: it was just opened and has no other owner.
        Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
    }
}

fn descriptor(descriptor: RawFd) -> u32 {
    descriptor.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::instruction::*;

    #[test]
    fn instructions_are_as_the_kernel_reads_them() {
        // struct bpf_insn: code, registers, offset, value.
        assert_eq!(set(0, -1).to_le_bytes(), [0xb7, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(load_word(2, 1, 0x10).to_le_bytes(), [0x61, 0x12, 0x10, 0, 0, 0, 0, 0]);
        assert_eq!(unless(3, 7, -2).to_le_bytes(), [0x55, 3, 0xfe, 0xff, 7, 0, 0, 0]);
        assert_eq!(map(1, 9)[0].to_le_bytes(), [0x18, 0x11, 0, 0, 9, 0, 0, 0]);
    }
}
