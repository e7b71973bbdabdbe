//! The smallest XDP program that hands a frame to user space: reserve, copy, submit without a wake-up.
//!
//! Written in instructions, because an object that xoff ships should not carry its benchmark.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use anyhow::{Context, Result};
use aya::maps::{Map, MapData, RingBuf};

/// As large as a switch's ring.
const RING_BYTES: u32 = 128 * 1024;
const LICENSE: &[u8] = b"Dual MIT/GPL\0";

/// Commands, types and flags of `linux/bpf.h` and `linux/if_link.h`.
mod abi {
    pub const MAP_CREATE: libc::c_long = 0;
    pub const PROG_LOAD: libc::c_long = 5;
    pub const LINK_CREATE: libc::c_long = 28;
    pub const MAP_TYPE_RINGBUF: u32 = 27;
    pub const PROG_TYPE_XDP: u32 = 6;
    pub const ATTACH_XDP: u32 = 37;
    pub const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;
    pub const PSEUDO_MAP_FD: u8 = 1;
    pub const FUNC_RINGBUF_RESERVE: i32 = 131;
    pub const FUNC_RINGBUF_SUBMIT: i32 = 132;
    pub const FUNC_XDP_LOAD_BYTES: i32 = 189;
    pub const RB_NO_WAKEUP: i32 = 1;
    pub const XDP_DROP: i32 = 1;

    /// `BPF_MAP_CREATE`'s part of `union bpf_attr`.
    #[repr(C)]
    pub struct MapCreate {
        pub map_type: u32,
        pub key_size: u32,
        pub value_size: u32,
        pub max_entries: u32,
    }

    /// `BPF_PROG_LOAD`'s.
    #[repr(C)]
    pub struct ProgLoad {
        pub prog_type: u32,
        pub insn_cnt: u32,
        pub insns: u64,
        pub license: u64,
    }

    /// `BPF_LINK_CREATE`'s.
    #[repr(C)]
    pub struct LinkCreate {
        pub prog_fd: u32,
        pub target_ifindex: u32,
        pub attach_type: u32,
        pub flags: u32,
    }
}

/// The program, loaded.
pub struct BareProgram(OwnedFd);

/// The program on an interface; dropping it takes it off.
pub struct Attached(#[expect(dead_code, reason = "held open, never read")] OwnedFd);

impl BareProgram {
    /// Loads the program for frames of `length` bytes, and its ring.
    pub fn load(length: u32) -> Result<(Self, RingBuf<MapData>)> {
        let create = abi::MapCreate {
            map_type: abi::MAP_TYPE_RINGBUF,
            key_size: 0,
            value_size: 0,
            max_entries: RING_BYTES,
        };
        let ring = bpf(abi::MAP_CREATE, &create).context("the kernel refused a ring buffer")?;
        let instructions = instructions(ring.as_raw_fd(), length.cast_signed());
        let load = abi::ProgLoad {
            prog_type: abi::PROG_TYPE_XDP,
            insn_cnt: instructions.len() as u32,
            insns: instructions.as_ptr() as u64,
            license: LICENSE.as_ptr() as u64,
        };
        let program = bpf(abi::PROG_LOAD, &load).context("the kernel refused the bare program")?;
        let ring = RingBuf::try_from(Map::from_map_data(MapData::from_fd(ring)?)?)?;
        Ok((Self(program), ring))
    }

    /// Puts it on an interface of the calling thread's namespace, in the driver's path.
    pub fn attach(&self, interface_index: u32) -> io::Result<Attached> {
        let create = abi::LinkCreate {
            prog_fd: self.0.as_raw_fd().cast_unsigned(),
            target_ifindex: interface_index,
            attach_type: abi::ATTACH_XDP,
            flags: abi::XDP_FLAGS_DRV_MODE,
        };
        bpf(abi::LINK_CREATE, &create).map(Attached)
    }
}

/// One instruction: opcode, destination and source register, jump offset, immediate.
const fn instruction(opcode: u8, destination: u8, source: u8, offset: i16, immediate: i32) -> u64 {
    opcode as u64
        | (destination as u64 | (source as u64) << 4) << 8
        | (offset.cast_unsigned() as u64) << 16
        | (immediate.cast_unsigned() as u64) << 32
}

fn instructions(ring: RawFd, length: i32) -> [u64; 18] {
    let copy = |to, from| instruction(0xbf, to, from, 0, 0);
    let set = |register, value| instruction(0xb7, register, 0, 0, value);
    let call = |function| instruction(0x85, 0, 0, 0, function);
    [
        copy(6, 1),
        // r0 = bpf_ringbuf_reserve(ring, length, 0), two words for the ring's address.
        instruction(0x18, 1, abi::PSEUDO_MAP_FD, 0, ring),
        0,
        set(2, length),
        set(3, 0),
        call(abi::FUNC_RINGBUF_RESERVE),
        // To the end if r0 is null.
        instruction(0x15, 0, 0, 9, 0),
        copy(7, 0),
        // bpf_xdp_load_bytes(context, 0, record, length)
        copy(1, 6),
        set(2, 0),
        copy(3, 7),
        set(4, length),
        call(abi::FUNC_XDP_LOAD_BYTES),
        copy(1, 7),
        set(2, abi::RB_NO_WAKEUP),
        call(abi::FUNC_RINGBUF_SUBMIT),
        set(0, abi::XDP_DROP),
        instruction(0x95, 0, 0, 0, 0),
    ]
}

/// `bpf(2)`, for commands that return a descriptor.
fn bpf<T>(command: libc::c_long, attribute: &T) -> io::Result<OwnedFd> {
    // SAFETY: `attribute` is the command's part of the attribute; the memory it points to outlives the call, and the
    // kernel only reads both.
    let fd = unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attribute), size_of::<T>())
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just opened and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}
