//! Reception of a frame by a switch, at either hook: the arrival pipeline and its records.

use fabric_core::arrival::{Outcome, arrival};
use fabric_core::drop_reason::DropReason;
use fabric_core::frame::{ByteFrame, Counted, FrameBytes};
use fabric_core::hop_control::Order;
use fabric_core::map_abi::{Turn, address_from_u64};
use fabric_core::reception::is_for_switch;
use fabric_core::record::{HEADER_LEN, Header, MAX_FRAME, RECORD_LEN};
use fabric_core::tables::{Tables, count_drop};
use fabric_core::wire::{HopControlFrame, hop_control, link_delay};
use units::Nanos;

use crate::hook::Hook;
use crate::maps::{EVENTS, MapTables, clock, counted_length, policy, port_of, stands_alone, turn};

/// In a fabric user space polls the ring after each frame that it sends. A wake-up would cost an
/// interrupt per record, two thirds of the time of a frame.
const NO_WAKEUP: u64 = aya_ebpf::bindings::BPF_RB_NO_WAKEUP as u64;

/// Receiver of a frame.
pub enum Taker {
    /// The switch: user space receives the frame's bytes in a record.
    Switch,
    /// The kernel's stack, at a standalone switch.
    Stack,
    /// None, because a table of the switch is missing.
    Nobody,
}

/// Receives a frame. The caller translates the result into the hook's verdict.
///
/// A standalone switch reads the frame before [`Hook::prepare`], so that frames for the stack stay unchanged.
#[inline(always)]
pub fn receive<H: Hook>(context: &H) -> Taker {
    let tables = MapTables;
    let Some(config) = tables.config() else {
        count_drop(&tables, DropReason::BrokenTable);
        return Taker::Nobody;
    };
    let port = port_of(context.interface(), config);
    if H::MAY_STAND_ALONE && stands_alone() {
        if !is_for_switch(&context.bytes(), &tables, port) {
            return Taker::Stack;
        }
        let Some(turn) = turn() else {
            count_drop(&tables, DropReason::BrokenTable);
            return Taker::Nobody;
        };
        if !turn.begin_arrival() {
            leave_alone(context, &tables, turn, port);
            return Taker::Switch;
        }
    }
    arrive(context, &tables, port);
    // The condition is repeated so that the program contains the pipeline only once.
    if H::MAY_STAND_ALONE
        && stands_alone()
        && let Some(turn) = turn()
    {
        turn.end_arrival();
    }
    Taker::Switch
}

/// Runs the pipeline on a frame, and writes its records.
#[inline(always)]
fn arrive(context: &impl Hook, tables: &MapTables, port: u32) {
    let now = clock();
    let Some(mut record) = EVENTS.reserve::<[u8; RECORD_LEN]>(0) else {
        count_drop(tables, DropReason::RingFull);
        return;
    };
    let target = record.as_mut_ptr().cast::<u8>();
    if let Err(reason) = context.prepare() {
        count_drop(tables, reason);
        write_header(target, &Header::for_drop(reason, port, now, 0));
        record.submit(wake_up());
        return;
    }
    let frame = ByteFrame(context.bytes());
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
    // Each arm writes its own record: if merged, the compiler would mix pointers and numbers in one
    // register, which the verifier rejects.
    match outcome {
        Outcome::Queued(queued) => {
            write_header(target, &Header::for_queued(&queued, port, now, length, orders));
            // SAFETY: the record holds MAX_FRAME bytes after its header.
            unsafe { copy_frame(context, target.add(HEADER_LEN), length) };
            record.submit(wake_up());
        }
        Outcome::ControlReceived(control) => {
            let header = Header::for_control_received(&control, port, now);
            write_header(target, &header);
            record.submit(wake_up());
            log_record(context, &header);
        }
        Outcome::LinkDelayReceived => {
            let header = Header::for_link_delay(port, now);
            write_header(target, &header);
            // SAFETY: the record holds MAX_FRAME bytes after its header, which is more.
            unsafe { context.copy(target.add(HEADER_LEN), link_delay::LEN as u32) };
            record.submit(wake_up());
            log_record(context, &header);
        }
        Outcome::Dropped(reason) => {
            let header = Header::for_drop(reason, port, now, orders);
            write_header(target, &header);
            record.submit(wake_up());
            log_record(context, &header);
        }
    }
}

/// Passes a frame to user space unchanged.
#[inline(always)]
fn leave_alone(context: &impl Hook, tables: &MapTables, turn: &Turn, port: u32) {
    let now = clock();
    let length = context.bytes().length();
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
    write_header(target, &Header::for_left_alone(port, now, length));
    // SAFETY: the record holds MAX_FRAME bytes after its header.
    unsafe { copy_frame(context, target.add(HEADER_LEN), length) };
    record.submit(wake_up());
}

/// Ring-buffer flags. A standalone switch wakes user space, at most once until it has caught up; a fabric polls.
#[inline(always)]
fn wake_up() -> u64 {
    if stands_alone() { 0 } else { NO_WAKEUP }
}

/// Copies a frame of `length` bytes.
///
/// # Safety
/// `target` has room for `MAX_FRAME` bytes.
#[inline(always)]
unsafe fn copy_frame(context: &impl Hook, target: *mut u8, length: u32) {
    // The helper takes 1 to MAX_FRAME bytes. The verifiers of Linux 6.1 and 6.12 must find both
    // bounds on the register with the length: one comparison of the last byte's index and one
    // addition show them. The volatile read keeps the compiler from comparing a copy.
    let last_byte = length.wrapping_sub(1);
    // SAFETY: `last_byte` is a local that was written.
    let last_byte = unsafe { core::ptr::read_volatile(&raw const last_byte) };
    if (last_byte as usize) < MAX_FRAME {
        // SAFETY: guaranteed by the caller.
        unsafe { context.copy(target, last_byte + 1) };
    }
}

/// Writes a record's header.
#[inline(always)]
fn write_header(record: *mut u8, header: &Header) {
    // SAFETY: every record is at least HEADER_LEN bytes and eight-byte aligned.
    unsafe { record.cast::<Header>().write(*header) };
}

/// Passes a whole hop control frame to the traffic manager, the MAC that sends it. Its place in the
/// ring is behind the frame's own record, which was reserved first.
///
/// Returns the number of frames passed on: 0 if the ring is full.
///
/// A separate function with its own stack, because arrival calls it from one place for each scheme.
#[inline(never)]
fn send_control(
    context: &impl Hook,
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
    let header = Header::for_order(order, port, now, hop_control::LEN as u32);
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
fn log_record(context: &impl Hook, header: &Header) {
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
fn log_record(_context: &impl Hook, _header: &Header) {}
