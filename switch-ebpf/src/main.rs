//! The XDP and TC programs: bounds checks and map look-ups around `fabric-core`.
#![no_std]
#![no_main]

mod frame;
mod hook;
mod maps;
mod switch;

use core::ffi::c_void;

use aya_ebpf::bindings::{__sk_buff, TC_ACT_OK, TC_ACT_SHOT, TC_ACT_STOLEN, xdp_action};
use aya_ebpf::macros::xdp;
use aya_ebpf::programs::XdpContext;
use fabric_core::audit::audit;
use fabric_core::frame::{ByteFrame, FrameBytes};
use fabric_core::tables::Tables;
use fabric_core::wire::tcp::Ports;
use fabric_core::wire::{ethernet, ipv4, roce};
use units::Nanos;

use frame::PacketBytes;
use hook::SkBuff;
use maps::{MapTables, SOCKETS, clock};
use switch::{Taker, receive};

/// Arrival at a switch port by native or generic XDP. Consumes every frame that the switch takes, dropped frames too.
#[xdp]
// Inlined into the macro's function to save a stack frame, of which Linux 6.1 counts at least 32 bytes.
#[inline(always)]
pub fn switch_port(context: XdpContext) -> u32 {
    match receive(&context) {
        Taker::Switch => xdp_action::XDP_DROP,
        Taker::Stack => xdp_action::XDP_PASS,
        Taker::Nobody => xdp_action::XDP_ABORTED,
    }
}

/// Arrival at a switch port by TC, in fabrics only. Its context has no type, like the auditor's.
#[unsafe(no_mangle)]
#[unsafe(link_section = "classifier")]
pub extern "C" fn switch_port_tc(context: *mut c_void) -> i32 {
    match receive(&SkBuff(context)) {
        Taker::Switch => TC_ACT_STOLEN,
        Taker::Stack => TC_ACT_OK,
        Taker::Nobody => TC_ACT_SHOT,
    }
}

/// Egress auditor at a switch port. The mark holds the low 32 bits of the time, in ns, at which the frame's
/// transmission began. That time is at most the switch's clock, and less than 4.29 s earlier.
///
/// `#[classifier]` would name `__sk_buff` in the signature, and so add forward declarations of the
/// two structs behind its pointers to the BTF. LLVM writes these in the order of their addresses in
/// its memory (`FixupDerivedTypes` of BTFDebug), so that a few builds would differ.
#[unsafe(no_mangle)]
#[unsafe(link_section = "classifier")]
pub extern "C" fn egress_auditor(context: *mut c_void) -> i32 {
    let tables = MapTables;
    if let Some(config) = tables.config() {
        // SAFETY: `context` is the program's own context, valid while it runs.
        let (interface, started, data, data_end) = unsafe {
            let skb = &*context.cast::<__sk_buff>();
            (skb.ifindex, skb.mark, skb.data as usize, skb.data_end as usize)
        };
        let port = interface.wrapping_sub(config.first_interface_index);
        let now = clock();
        let age = (now as u32).wrapping_sub(started);
        let started = now.saturating_sub(u64::from(age));
        let frame = ByteFrame(PacketBytes::new(data, data_end));
        audit(&frame, &tables, port, Nanos(started));
    }
    TC_ACT_OK
}

/// A host's NIC: RoCE, the emulation's TCP, MAC control and link delay frames go to its AF_XDP socket, all others to
/// its kernel stack. One program serves all hosts of a fabric, whose interfaces have consecutive indices.
#[xdp]
pub fn host_port(context: XdpContext) -> u32 {
    let bytes = PacketBytes::new(context.data(), context.data_end());
    let Some(ether_type) = bytes.read::<2>(ethernet::ETHER_TYPE_AT) else {
        return xdp_action::XDP_PASS;
    };
    let is_ours = match u16::from_be_bytes(ether_type) {
        ethernet::ETHER_TYPE_MAC_CONTROL | ethernet::ETHER_TYPE_EXPERIMENTAL => true,
        ethernet::ETHER_TYPE_IPV4 => is_our_packet(&bytes),
        _ => false,
    };
    if is_ours { to_socket(&context) } else { xdp_action::XDP_PASS }
}

/// A host's NIC with a kernel stack behind its AF_XDP socket: every frame goes to the socket.
#[xdp]
pub fn whole_host_port(context: XdpContext) -> u32 {
    to_socket(&context)
}

/// Redirects a frame to the socket of the host whose interface received it.
#[inline(always)]
fn to_socket(context: &XdpContext) -> u32 {
    let Some(config) = MapTables.config() else { return xdp_action::XDP_ABORTED };
    // SAFETY: `context.ctx` is the program's own context, valid while it runs.
    let interface = unsafe { (*context.ctx).ingress_ifindex };
    let host = interface.wrapping_sub(config.first_interface_index);
    match SOCKETS.redirect(host, u64::from(xdp_action::XDP_DROP)) {
        Ok(action) | Err(action) => action,
    }
}

/// True if an IPv4 packet belongs to RoCEv2 or to a TCP connection of the emulation.
#[inline(always)]
fn is_our_packet(bytes: &PacketBytes) -> bool {
    let Some([protocol]) = bytes.read::<1>(ethernet::LEN + ipv4::PROTOCOL_AT) else {
        return false;
    };
    let Some(ports) = bytes.read::<4>(ethernet::LEN + ipv4::LEN) else {
        return false;
    };
    let [source, destination] =
        [[ports[0], ports[1]], [ports[2], ports[3]]].map(u16::from_be_bytes);
    match protocol {
        ipv4::PROTOCOL_UDP => destination == roce::UDP_PORT,
        ipv4::PROTOCOL_TCP => Ports { source, destination }.connection().is_some(),
        _ => false,
    }
}

#[cfg(not(test))]
#[panic_handler]
fn panic(_info: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

#[unsafe(link_section = "license")]
#[unsafe(no_mangle)]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";
