//! The program of a switch that stands alone: the real clock, interfaces of any index, routes by prefix, the kernel's stack
//! beside it, and turns. Needs root.

use std::net::Ipv4Addr;
use std::sync::Barrier;
use std::thread;

use aya::programs::TestRunOptions;
use fabric_core::arrival::{Outcome, arrival};
use fabric_core::drop_reason::DropReason;
use fabric_core::frame::ByteFrame;
use fabric_core::hop_control::Order;
use fabric_core::policy::{MarkingScheme, Policy, ThresholdScheme};
use fabric_core::record::{Header, KIND_DROPPED, KIND_LEFT_ALONE, KIND_QUEUED};
use fabric_core::scheme::{Configure, SchemeSettings};
use fabric_core::wire::roce::Ecn;
use fabric_core::wire::{PfcFrame, ethernet};
use switch_user::hook::XdpHook;
use switch_user::prefix_table::{Prefix, PrefixTable};
use switch_user::program::SwitchProgram;
use switch_user::program::standalone::{StandaloneProgram, Surroundings};
use switch_user::tables::SwitchTables;
use tests::switch::frame::{bytes, data, inbound, outbound, pfc_bytes};
use tests::switch::{CAPACITY, State, in_namespace};
use units::Nanos;

/// The interfaces of ports 0 to 3, in an order that no subtraction finds.
const INTERFACES: [u32; 4] = [5, 2, 4, 3];
/// Holds some 300 records.
const RING_BYTES: u32 = 1 << 20;
const XDP_DROP: u32 = 1;
const XDP_PASS: u32 = 2;

struct Standalone {
    program: StandaloneProgram,
    tables: SwitchTables,
    began: Nanos,
}

/// A record: its header and the frame behind it.
type Record = (Header, Vec<u8>);

impl Standalone {
    /// A switch whose rows 0, 1 and 2 of routes, to the ports of these numbers, have these prefixes.
    fn load(policy: Policy) -> Self {
        let prefix = |a, b, c, length| {
            Prefix::new(Ipv4Addr::new(a, b, c, 0), length).expect("at most 32 bits")
        };
        let prefixes =
            PrefixTable::new(&[prefix(10, 9, 0, 16), prefix(10, 9, 1, 24), prefix(11, 0, 0, 8)]);
        let began = monotonic();
        let surroundings = Surroundings {
            interfaces: &INTERFACES,
            prefixes: &prefixes,
            ring_bytes: RING_BYTES,
            began,
        };
        let loaded = StandaloneProgram::load(&CAPACITY, policy, XdpHook::Native, &surroundings);
        let (program, mut tables) =
            loaded.unwrap_or_else(|error| panic!("these tests need root: {error}"));
        State::fresh().write(&mut tables);
        Self { program, tables, began }
    }

    /// The program's verdict on a frame that comes in at an interface.
    fn run(&mut self, interface: u32, frame: &[u8]) -> u32 {
        run(self.program.program(), interface, frame, 1)
    }

    fn take(&mut self) -> Option<Record> {
        let mut bytes = Vec::new();
        let taken = self.program.take(|_, frame| bytes = frame.to_vec(), |_, _, _| ());
        taken.expect("a record that makes sense").map(|header| (header, bytes))
    }

    /// The only record of a frame that the switch takes.
    fn arrive(&mut self, interface: u32, frame: &[u8]) -> Record {
        assert_eq!(self.run(interface, frame), XDP_DROP);
        let record = self.take().expect("a record");
        assert_eq!(self.take(), None);
        record
    }
}

/// A program's verdict on a frame that comes in at an interface, after `repeat` runs.
fn run(program: &SwitchProgram, interface: u32, frame: &[u8], repeat: u32) -> u32 {
    let words = [0, u32::try_from(frame.len()).expect("a short frame"), 0, interface, 0];
    let context: Vec<u8> = words.into_iter().flat_map(u32::to_ne_bytes).collect();
    let options = TestRunOptions {
        data_in: Some(frame),
        ctx_in: Some(&context),
        repeat,
        ..TestRunOptions::default()
    };
    program.run_arrival(options).expect("it runs").return_value
}

fn monotonic() -> Nanos {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills in `now`.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    Nanos(now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned())
}

fn policy() -> Policy {
    Policy::new(ThresholdScheme::Dynamic, MarkingScheme::AtEnqueue)
}

/// A packet that comes in at a port, for an address.
fn packet(port: u32, destination: [u8; 4]) -> Vec<u8> {
    let packet = data(0, 3, Ecn::NotCapable, 500);
    let destination = u32::from_be_bytes(destination);
    bytes(&fabric_core::wire::RocePacket { destination, ..packet }, &inbound(port))
}

#[test]
fn frames_are_stamped_by_the_real_clock_and_routed_by_the_longest_prefix() {
    in_namespace(|| {
        let mut switch = Standalone::load(policy());
        for (port, interface) in (0..).zip(INTERFACES) {
            for (destination, egress) in
                [([10, 9, 0, 7], 0), ([10, 9, 1, 7], 1), ([11, 200, 0, 7], 2)]
            {
                let before = monotonic();
                let (header, frame) = switch.arrive(interface, &packet(port, destination));
                let span = before.0 - switch.began.0..=monotonic().0 - switch.began.0;
                assert!(span.contains(&header.time_ns), "{span:?} {header:?}");
                let (kind, ports) = (header.kind, (header.port, header.egress_port));
                assert_eq!((kind, ports), (KIND_QUEUED, (port, egress)));
                let addresses = outbound(egress);
                assert_eq!(frame[..6], addresses.destination);
                assert_eq!(frame[6..12], addresses.source);
            }
        }
    });
}

#[test]
fn what_is_not_the_switchs_goes_to_the_stack() {
    in_namespace(|| {
        let mut switch = Standalone::load(policy());
        let ours = packet(1, [10, 9, 0, 7]);
        let changed = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut frame = ours.clone();
            change(&mut frame);
            frame
        };
        let ether_type =
            |number: u16| changed(&|frame| frame[12..14].copy_from_slice(&number.to_be_bytes()));
        let rows = [
            ("ARP", ether_type(0x0806)),
            ("IPv6", ether_type(0x86dd)),
            ("LLDP", ether_type(0x88cc)),
            ("to another station", changed(&|frame| frame[5] ^= 1)),
            ("without a route", packet(1, [12, 0, 0, 1])),
            ("its last hop", changed(&|frame| frame[22] = 1)),
        ];
        for (what, frame) in rows {
            assert_eq!(switch.run(INTERFACES[1], &frame), XDP_PASS, "{what}");
            assert_eq!(switch.take(), None, "{what}");
        }
        // An interface that is not a port forwards nothing.
        assert_eq!(switch.run(1, &ours), XDP_PASS);
        let dropped = |tables: &SwitchTables| {
            DropReason::ALL.iter().map(|reason| tables.dropped(*reason)).sum::<u64>()
        };
        assert_eq!(dropped(&switch.tables), 0);
        // What is the switch's and wrong is dropped by name.
        let (header, _) = switch.arrive(INTERFACES[1], &changed(&|frame| frame[24] ^= 1));
        let reason = DropReason::from_number(header.reason);
        assert_eq!((header.kind, reason), (KIND_DROPPED, Some(DropReason::BadIpv4Checksum)));
        let control = u16::from_be_bytes([0x88, 0x08]);
        assert_eq!(control, ethernet::ETHER_TYPE_MAC_CONTROL);
    });
}

#[test]
fn ebpf_leaves_frames_alone_while_it_is_not_its_turn() {
    in_namespace(|| {
        let mut switch = Standalone::load(policy());
        let frame = packet(0, [10, 9, 1, 7]);
        let pause = pfc_bytes(&PfcFrame::xoff([2, 1, 0, 0, 0, 0], 1 << 3, 100));
        switch.program.begin_turn();
        let (header, left) = switch.arrive(INTERFACES[0], &frame);
        assert_eq!((header.kind, header.port, &left), (KIND_LEFT_ALONE, 0, &frame));
        assert_eq!(switch.tables.received_frames(0), 0, "nothing was counted");
        switch.program.end_turn();
        // One that was left alone is not overtaken, though it would be the turn of eBPF.
        let (header, second) = switch.arrive(INTERFACES[0], &pause);
        assert_eq!((header.kind, &second), (KIND_LEFT_ALONE, &pause));
        // The pipeline runs in user space, on the same tables.
        let run = |tables: &SwitchTables, mut frame: Vec<u8>| {
            let mut orders = Vec::<Order>::new();
            let bytes = &mut ByteFrame(frame.as_mut_slice());
            let send = &mut |order: &Order| orders.push(*order);
            arrival(bytes, tables, policy(), 0, Nanos(1), send)
        };
        switch.program.begin_turn();
        let Outcome::Queued(queued) = run(&switch.tables, left) else { panic!("it is a packet") };
        assert_eq!((queued.egress_port, queued.slot), (1, 0));
        assert!(matches!(run(&switch.tables, second), Outcome::ControlReceived(_)));
        switch.program.catch_up();
        switch.program.catch_up();
        switch.program.end_turn();
        // Then eBPF continues from the state that user space left.
        let (header, _) = switch.arrive(INTERFACES[0], &frame);
        assert_eq!((header.kind, header.slot), (KIND_QUEUED, 1));
        assert_eq!(switch.tables.received_frames(0), 3);
    });
}

/// Two CPUs at once: a frame that one leaves alone may lie in the ring between the other's and its PAUSE.
#[test]
fn a_frame_of_another_cpu_does_not_part_a_frame_from_its_pause() {
    const ROUNDS: u32 = 1000;
    /// PFC frames, which the program does not change, so that it can run on them again.
    const CONTROLS: u32 = 200;
    in_namespace(|| {
        let policy = Policy::new(ThresholdScheme::Static, MarkingScheme::AtEnqueue);
        let mut switch = Standalone::load(policy);
        // A program that is attached somewhere is spared a grace period for each repeated run.
        switch.program.attach(INTERFACES[2]).expect("it attaches");
        let mut state = State::fresh();
        (state.config.static_xoff_bytes, state.config.private_bytes) = (100, 0);
        let data = packet(0, [10, 9, 1, 7]);
        let pause = pfc_bytes(&PfcFrame::xoff([2, 1, 0, 0, 0, 1], 1 << 3, 100));
        let frames = [(INTERFACES[0], &data, 1), (INTERFACES[1], &pause, CONTROLS)];
        let mut left_alone = 0;
        for round in 0..ROUNDS {
            state.write(&mut switch.tables);
            let program = switch.program.program();
            let both = Barrier::new(2);
            thread::scope(|scope| {
                for (interface, frame, repeat) in frames {
                    let both = &both;
                    scope.spawn(move || {
                        both.wait();
                        assert_eq!(run(program, interface, frame, repeat), XDP_DROP);
                    });
                }
            });
            let (mut taken, mut queued, mut paused) = (0, 0, 0);
            loop {
                let record = switch.program.take(|_, _| (), |_, _, _| paused += 1);
                let record = record.unwrap_or_else(|error| panic!("round {round}: {error}"));
                let Some(header) = record else { break };
                taken += 1;
                queued += u32::from(header.kind == KIND_QUEUED);
                if header.kind == KIND_LEFT_ALONE {
                    left_alone += 1;
                    switch.program.catch_up();
                }
            }
            assert_eq!((taken, paused), (1 + CONTROLS, queued), "round {round}");
        }
        println!("{left_alone} of {} frames were left alone", ROUNDS * (1 + CONTROLS));
    });
}

#[test]
fn every_scheme_that_may_stand_alone_loads() {
    in_namespace(|| {
        for scheme in SchemeSettings::every() {
            let switch = Standalone::load(scheme.select(policy()));
            let steps = switch.program.program().verified_instructions().expect("Linux 5.16");
            println!("{steps} instructions: {scheme:?}");
            assert!((1000..550_000).contains(&steps), "{steps} instructions: {scheme:?}");
        }
    });
}
