//! BPF programs of a few instructions, and maps for them, by the system call itself: for what the shipped object has no program
//! for. Everything ends when it is dropped, except what has been attached elsewhere.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// `enum bpf_cmd`.
const MAP_CREATE: libc::c_long = 0;
const MAP_LOOKUP_ELEM: libc::c_long = 1;
const MAP_UPDATE_ELEM: libc::c_long = 2;
const PROG_LOAD: libc::c_long = 5;
const PROG_GET_FD_BY_ID: libc::c_long = 13;
const MAP_GET_FD_BY_ID: libc::c_long = 14;
const LINK_CREATE: libc::c_long = 28;
/// `BPF_XDP_CPUMAP`.
const XDP_CPUMAP: u32 = 35;
/// `BPF_F_XDP_HAS_FRAGS`.
const HAS_FRAGS: u32 = 1 << 5;
/// Bytes of `union bpf_attr` that are handed over; the kernel takes what it does not know if it is zero.
const ATTRIBUTES: usize = 128;
/// Bytes of a verifier's log that are kept.
const LOG_BYTES: usize = 4096;

/// The kind of a program, by its number in `enum bpf_prog_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    /// TC.
    Classifier,
    /// XDP, for packets in one piece.
    Xdp,
    /// XDP, also for packets in several pieces.
    XdpFrags,
    /// XDP, of an entry of a map of processors.
    XdpOfProcessor,
}

/// The kind of a map, with its number in `enum bpf_map_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapKind {
    /// Devices by number.
    Devices = 14,
    /// Processors by number.
    Processors = 16,
    /// AF_XDP sockets by number.
    Sockets = 17,
}

/// Where a program is attached, with its number in `enum bpf_attach_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attach {
    /// XDP.
    Xdp = 37,
    /// TC on the way in, by TCX.
    TcxIngress = 46,
    /// TC on the way out, by TCX.
    TcxEgress = 47,
}

/// Native XDP.
pub const NATIVE: u32 = 1 << 2;
/// Generic XDP.
pub const GENERIC: u32 = 1 << 1;
/// What an XDP program answers to drop or pass a packet, and what a classifier answers.
pub const XDP_DROP: i32 = 1;
/// See above.
pub const XDP_PASS: i32 = 2;
/// Goes on to the next program.
pub const TCX_NEXT: i32 = -1;
/// `bpf_redirect`.
pub const REDIRECT: i32 = 23;
/// `bpf_redirect_map`.
pub const REDIRECT_MAP: i32 = 51;
/// `bpf_skb_load_bytes` and `bpf_skb_store_bytes`.
pub const SKB_LOAD_BYTES: i32 = 26;
/// See above.
pub const SKB_STORE_BYTES: i32 = 9;

/// The instructions of a program: registers by their numbers, jumps by how many instructions they skip.
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

    /// `to = *(u16 *)(from + offset)`.
    pub const fn load_half(to: u8, from: u8, offset: i16) -> u64 {
        encode(0x69, to, from, offset, 0)
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

    /// `to` is the map with this descriptor; two instructions.
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

/// A map.
#[derive(Debug)]
pub struct Map {
    descriptor: OwnedFd,
}

/// A program's attachment, until this is dropped.
#[derive(Debug)]
pub struct Link {
    _descriptor: OwnedFd,
}

impl Program {
    /// Loads a program.
    ///
    /// # Errors
    /// What the kernel says, with the end of the verifier's log.
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

    /// Its descriptor, as values of maps have it.
    pub fn descriptor(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }

    /// Attaches it to an interface of the calling thread's namespace. `flags` are those of XDP ([`NATIVE`] or [`GENERIC`]), or 0.
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
    /// A map of `entries` with keys of four bytes and values of `value_bytes`.
    pub fn new(kind: MapKind, entries: u32, value_bytes: u32) -> io::Result<Self> {
        let mut attributes = Attributes::new();
        for (at, value) in [(0, kind as u32), (4, 4), (8, value_bytes), (12, entries)] {
            attributes.word(at, value);
        }
        // SAFETY: the attributes have no pointers.
        unsafe { attributes.open(MAP_CREATE) }.map(|descriptor| Self { descriptor })
    }

    /// The map with this number.
    pub fn of_number(number: u32) -> io::Result<Self> {
        let mut attributes = Attributes::new();
        attributes.word(0, number);
        // SAFETY: the attributes have no pointers.
        unsafe { attributes.open(MAP_GET_FD_BY_ID) }.map(|descriptor| Self { descriptor })
    }

    /// An entry of a map with keys of four bytes. `value_bytes` are those of the map, or, at maps with a value for each
    /// processor, of all of them.
    pub fn entry(&self, key: u32, value_bytes: usize) -> io::Result<Vec<u8>> {
        let mut value = vec![0_u8; value_bytes];
        let mut attributes = Attributes::new();
        attributes.word(0, descriptor(self.descriptor.as_raw_fd()));
        attributes.long(8, (&raw const key) as u64);
        attributes.long(16, value.as_mut_ptr() as u64);
        // SAFETY: key and value outlive the call, and the value is as long as the map's, says the caller.
        unsafe { attributes.call(MAP_LOOKUP_ELEM) }.map(|_| value)
    }

    /// Its descriptor, as instructions have it.
    pub fn descriptor(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }

    /// Sets an entry.
    ///
    /// # Panics
    /// If there are fewer bytes than `value_bytes`.
    pub fn set(&self, key: u32, value: &[u8], value_bytes: usize) -> io::Result<()> {
        assert!(value.len() >= value_bytes, "the kernel reads a whole value");
        let mut attributes = Attributes::new();
        attributes.word(0, descriptor(self.descriptor.as_raw_fd()));
        attributes.long(8, (&raw const key) as u64);
        attributes.long(16, value.as_ptr() as u64);
        // SAFETY: key and value outlive the call, and the value is as long as the map's (asserted).
        unsafe { attributes.call(MAP_UPDATE_ELEM) }.map(drop)
    }
}

/// Whether there is BPF at all.
///
/// # Errors
/// What the kernel says to a map of one entry.
pub fn probe() -> io::Result<()> {
    const ARRAY: u32 = 2;
    let mut attributes = Attributes::new();
    for (at, value) in [(0, ARRAY), (4, 4), (8, 4), (12, 1)] {
        attributes.word(at, value);
    }
    // SAFETY: the attributes have no pointers.
    unsafe { attributes.open(MAP_CREATE) }.map(drop)
}

/// Whether a program with this number is loaded.
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

    /// At most 15 bytes, and a zero.
    fn name(&mut self, at: usize, name: &str) {
        for (place, byte) in self.0[at..at + 15].iter_mut().zip(name.bytes()) {
            *place = byte;
        }
    }

    /// # Safety
    /// What the attributes point to outlives the call.
    unsafe fn call(&self, command: libc::c_long) -> io::Result<RawFd> {
        // SAFETY: the attributes have the length that is told; what they point to lives, says the caller.
        let result =
            unsafe { libc::syscall(libc::SYS_bpf, command, self.0.as_ptr(), self.0.len()) };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(RawFd::try_from(result).expect("descriptors are small"))
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
