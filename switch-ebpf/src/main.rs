//! The XDP and TC programs: bounds checks and map look-ups around `fabric-core`, nothing else.
#![no_std]
#![no_main]

mod frame;
mod maps;

use core::ffi::c_void;

use aya_ebpf::bindings::{__sk_buff, TC_ACT_OK, xdp_action};
use aya_ebpf::helpers::generated::bpf_xdp_load_bytes;
use aya_ebpf::macros::xdp;
use aya_ebpf::programs::XdpContext;
use fabric_core::arrival::{Outcome, arrival};
use fabric_core::audit::audit;
use fabric_core::drop_reason::DropReason;
use fabric_core::frame::{ByteFrame, Counted, FrameBytes};
use fabric_core::hop_control::Order;
use fabric_core::map_abi::{Turn, address_from_u64};
use fabric_core::reception::is_for_switch;
use fabric_core::record::{HEADER_LEN, Header, MAX_FRAME, RECORD_LEN};
use fabric_core::tables::{Tables, count_drop};
use fabric_core::wire::tcp::Ports;
use fabric_core::wire::{HopControlFrame, ethernet, hop_control, ipv4, link_delay, roce};
use units::Nanos;

use frame::PacketBytes;
use maps::{
    EVENTS, MapTables, SOCKETS, clock, counted_length, policy, port_of, stands_alone, turn,
};

/// In a fabric user space looks into the ring after each frame that it sends; waking it would cost an interrupt a
/// record, two thirds of the time that a frame takes.
const NO_WAKEUP: u64 = aya_ebpf::bindings::BPF_RB_NO_WAKEUP as u64;

/// Arrival at a switch port. The frame's bytes go to user space in a record; the frame itself is
/// consumed, whatever became of it.
///
/// In a switch that stands alone, what is not the switch's goes on to the kernel's stack.
#[xdp]
pub fn switch_port(context: XdpContext) -> u32 {
    let tables = MapTables;
    let Some(config) = tables.config() else {
        count_drop(&tables, DropReason::BrokenTable);
        return xdp_action::XDP_ABORTED;
    };
    // SAFETY: `context.ctx` is the program's own context, valid while it runs.
    let interface = unsafe { (*context.ctx).ingress_ifindex };
    let port = port_of(interface, config);
    if !stands_alone() {
        arrive(&context, &tables, port);
        return xdp_action::XDP_DROP;
    }
    let frame = PacketBytes::new(context.data(), context.data_end());
    if !is_for_switch(&frame, &tables, port) {
        return xdp_action::XDP_PASS;
    }
    let Some(turn) = turn() else {
        count_drop(&tables, DropReason::BrokenTable);
        return xdp_action::XDP_ABORTED;
    };
    if turn.begin_arrival() {
        arrive(&context, &tables, port);
        turn.end_arrival();
    } else {
        leave_alone(&context, &tables, turn, port);
    }
    xdp_action::XDP_DROP
}

/// Runs the pipeline on a frame, and tells user space.
#[inline(always)]
fn arrive(context: &XdpContext, tables: &MapTables, port: u32) {
    let now = clock();
    let Some(mut record) = EVENTS.reserve::<[u8; RECORD_LEN]>(0) else {
        count_drop(tables, DropReason::RingFull);
        return;
    };
    let frame = ByteFrame(PacketBytes::new(context.data(), context.data_end()));
    let length = frame.0.length();
    let mut frame = Counted { frame, length: counted_length(length) };
    let mut orders = 0;
    let outcome = if length as usize > MAX_FRAME {
        Outcome::Dropped(count_drop(tables, DropReason::TooLong))
    } else {
        arrival(&mut frame, tables, policy(), port, Nanos(now), &mut |order| {
            orders += send_control(context, tables, order, port, now);
        })
    };
    let target = record.as_mut_ptr().cast::<u8>();
    // Each arm writes its own record: merged, the compiler mixes pointers and numbers in one register,
    // which the verifier refuses.
    match outcome {
        Outcome::Queued(queued) => {
            write_header(target, &Header::of_queued(&queued, port, now, length, orders));
            // SAFETY: the record holds MAX_FRAME bytes after its header.
            unsafe { copy_frame(context, target.add(HEADER_LEN), length) };
            record.submit(wake_up());
        }
        Outcome::ControlReceived(control) => {
            let header = Header::of_control_received(&control, port, now);
            write_header(target, &header);
            record.submit(wake_up());
            log_record(context, &header);
        }
        Outcome::LinkDelayReceived => {
            let header = Header::of_link_delay(port, now);
            write_header(target, &header);
            // SAFETY: the record holds MAX_FRAME bytes after its header, which is more.
            unsafe {
                let place = target.add(HEADER_LEN).cast();
                bpf_xdp_load_bytes(context.ctx, 0, place, link_delay::LEN as u32);
            }
            record.submit(wake_up());
            log_record(context, &header);
        }
        Outcome::Dropped(reason) => {
            let header = Header::of_drop(reason, port, now);
            write_header(target, &header);
            record.submit(wake_up());
            log_record(context, &header);
        }
    }
}

/// Hands a frame to user space as it came in.
#[inline(always)]
fn leave_alone(context: &XdpContext, tables: &MapTables, turn: &Turn, port: u32) {
    let now = clock();
    let length = PacketBytes::new(context.data(), context.data_end()).length();
    if length as usize > MAX_FRAME {
        count_drop(tables, DropReason::TooLong);
        return;
    }
    let Some(mut record) = EVENTS.reserve::<[u8; RECORD_LEN]>(0) else {
        count_drop(tables, DropReason::RingFull);
        return;
    };
    turn.leave_alone();
    let target = record.as_mut_ptr().cast::<u8>();
    write_header(target, &Header::of_left_alone(port, now, length));
    // SAFETY: the record holds MAX_FRAME bytes after its header.
    unsafe { copy_frame(context, target.add(HEADER_LEN), length) };
    record.submit(wake_up());
}

/// Whether user space is woken: it is at most once until it has caught up with the ring.
#[inline(always)]
fn wake_up() -> u64 {
    if stands_alone() { 0 } else { NO_WAKEUP }
}

/// Copies a frame of `length` bytes.
///
/// # Safety
/// There are `MAX_FRAME` bytes from `target` on.
#[inline(always)]
unsafe fn copy_frame(context: &XdpContext, target: *mut u8, length: u32) {
    // The helper takes 1 to MAX_FRAME bytes. The verifiers of Linux 6.1 and 6.12 must see both bounds
    // on the register that it takes: one comparison of the last byte's index and one addition give
    // them. The volatile read keeps the compiler from comparing a copy.
    let last_byte = length.wrapping_sub(1);
    // SAFETY: `last_byte` is a local that was written.
    let last_byte = unsafe { core::ptr::read_volatile(&raw const last_byte) };
    if (last_byte as usize) < MAX_FRAME {
        // SAFETY: as the caller promises.
        unsafe { bpf_xdp_load_bytes(context.ctx, 0, target.cast(), last_byte + 1) };
    }
}

/// Writes a record's header.
#[inline(always)]
fn write_header(record: *mut u8, header: &Header) {
    // SAFETY: every record is at least HEADER_LEN bytes and eight-byte aligned.
    unsafe { record.cast::<Header>().write(*header) };
}

/// Hands a whole hop control frame to the traffic manager, the MAC that sends it. Its place in the ring lies behind
/// that of the frame's own record, which was reserved first.
///
/// Returns how many frames it handed over: none if the ring is full.
///
/// A function of its own, with a stack of its own: arrival calls it from one place for each scheme.
#[inline(never)]
fn send_control(
    context: &XdpContext,
    tables: &MapTables,
    order: &Order,
    port: u32,
    now: u64,
) -> u32 {
    let Some(row) = tables.port(port) else { return 0 };
    let source = address_from_u64(row.address.load());
    let Some(mut record) = EVENTS.reserve::<[u8; HEADER_LEN + hop_control::LEN]>(0) else {
        count_drop(tables, DropReason::RingFull);
        return 0;
    };
    let header = Header::of_order(order, port, now, hop_control::LEN as u32);
    let target = record.as_mut_ptr().cast::<u8>();
    write_header(target, &header);
    // SAFETY: the record is HEADER_LEN + hop_control::LEN bytes.
    let frame = unsafe { &mut *target.add(HEADER_LEN).cast::<[u8; hop_control::LEN]>() };
    HopControlFrame { source, control: order.control }.emit(frame);
    record.submit(wake_up());
    log_record(context, &header);
    1
}

#[cfg(feature = "log-events")]
#[inline(always)]
fn log_record(context: &XdpContext, header: &Header) {
    use aya_log_ebpf::info;
    use fabric_core::record::{KIND_CONTROL, KIND_CONTROL_RECEIVED, KIND_DROPPED, KIND_LINK_DELAY};
    let (time, port, [control, ..]) = (header.time_ns, header.port, header.control);
    match header.kind {
        KIND_CONTROL => info!(
            context,
            "{} ns: hop control out of port {}: {:x}, occupancy {} threshold {}",
            time,
            port,
            control,
            header.occupancy_bytes,
            header.threshold_bytes
        ),
        KIND_CONTROL_RECEIVED => {
            info!(context, "{} ns: hop control received at port {}: {:x}", time, port, control);
        }
        KIND_LINK_DELAY => info!(context, "{} ns: link delay frame at port {}", time, port),
        KIND_DROPPED => {
            info!(context, "{} ns: drop at port {} reason {}", time, port, header.reason);
        }
        _ => {}
    }
}

#[cfg(not(feature = "log-events"))]
#[inline(always)]
fn log_record(_context: &XdpContext, _header: &Header) {}

/// Egress auditor at a switch port. The mark has the low half of the instant, in nanoseconds, at which the frame's
/// transmission began. That is not after the switch's clock, and less than 4.29 s before it.
///
/// `#[classifier]` would name `__sk_buff` in the signature, and so bring the two structs that it points
/// at into the BTF as forward declarations. LLVM writes those in the order of their addresses in its
/// memory (`FixupDerivedTypes` of BTFDebug), and one build in a few gave other bytes.
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

/// A host's NIC: RoCE, the emulation's TCP, MAC control and link delay frames go to its AF_XDP socket, the rest to its kernel
/// stack. One program serves every host of a fabric: their interfaces have consecutive indices.
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

/// A host's NIC whose kernel stack is behind its AF_XDP socket: every frame goes there.
#[xdp]
pub fn whole_host_port(context: XdpContext) -> u32 {
    to_socket(&context)
}

/// Hands a frame to the socket of the host whose interface it came in at.
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

/// Whether an IPv4 packet is of RoCEv2, or of a TCP connection of the emulation.
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
