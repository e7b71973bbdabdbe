//! DSH frame by frame: the same rows on the eBPF program, through `BPF_PROG_TEST_RUN`, and on the native
//! functions. Needs root.

use fabric_core::arrival::Outcome;
use fabric_core::drop_reason::DropReason;
use fabric_core::hop_control::{ClassPauses, HopControl, Order, PauseLevel};
use fabric_core::policy::{MarkingScheme, Policy, SchemeKind, ThresholdScheme};
use fabric_core::priority::Priority;
use fabric_core::scheme::dsh::{Estimation, Options, state as dsh};
use fabric_core::scheme::{Ingress, Scheme, Selected};
use fabric_core::wire::PfcFrame;
use fabric_core::wire::roce::Ecn;
use tests::switch::frame::{bytes, data, inbound, pfc_bytes};
use tests::switch::{Arrival, State, Twins, class_row, in_namespace};
use units::Nanos;

/// Frames come in here.
const PORT: u32 = 1;
/// Ten hours after the queues were last measured: their gradients are nothing.
const NOW: u64 = 1 << 45;

/// A packet of 1000 bytes of payload for a host behind another port.
fn packet(priority: u8) -> Vec<u8> {
    bytes(&data(2, priority, Ecn::NotCapable, 1000), &inbound(PORT))
}

fn length() -> u64 {
    packet(3).len() as u64
}

/// Priorities 3 and 4 are lossless, without private buffer; T is a quarter of the free part of 100 kB.
fn state() -> State {
    let mut state = State::fresh();
    state.config.lossless_classes = 1 << 3 | 1 << 4;
    state.config.lossless_queues = 2;
    state.config.private_bytes = 0;
    for port in &mut state.ports {
        port.alpha_denominator = 4;
    }
    state
}

fn twins(form: Estimation) -> Twins {
    let options = Options { estimation: form, ..Options::default() };
    let policy = Policy::new(ThresholdScheme::Dynamic, MarkingScheme::Off)
        .with_scheme(SchemeKind::Dsh, options.to_bits());
    Twins::load(policy)
}

/// Puts bytes into the shared pool, as if they had come in at [`PORT`] in priority 3.
fn hold(state: &mut State, shared: u64, insurance: u64) {
    let queue = &mut state.ingress_queues[class_row(PORT, 3)];
    (queue.shared_bytes, queue.headroom_bytes) = (shared, insurance);
    let port = &mut state.dsh_ports[PORT as usize];
    (port.shared_bytes, port.insurance_bytes) = (shared, insurance);
    (state.switch.shared_bytes, state.switch.headroom_bytes) = (shared, insurance);
}

fn arrive(twins: &mut Twins, state: &State, priority: u8) -> (Arrival, Option<Vec<u8>>) {
    twins.reset(state);
    let arrival =
        twins.arrive(PORT, Nanos(NOW), &packet(priority)).unwrap_or_else(|error| panic!("{error}"));
    let frame = arrival.control.first().map(|(_, frame)| frame.clone());
    (arrival, frame)
}

/// The PAUSE of an arrival that is queued.
fn pause(arrival: &Arrival) -> Option<Order> {
    assert!(matches!(arrival.outcome, Outcome::Queued(_)), "{arrival:?}");
    arrival.order()
}

/// X_poff = 2 T, and T = (100,000 - s) / 4: s and X_poff meet at 33,332.
#[test]
fn a_port_pauses_all_lossless_classes_in_one_frame() {
    in_namespace(|| {
        let mut twins = twins(Estimation::Practical);
        let mut state = state();
        hold(&mut state, 33_332 - length(), 0);
        let queue = &mut state.ingress_queues[class_row(PORT, 3)];
        queue.off = 1;
        let (arrival, frame) = arrive(&mut twins, &state, 3);
        assert_eq!((pause(&arrival), frame), (None, None), "at the threshold");

        hold(&mut state, 33_340, 0);
        let (arrival, frame) = arrive(&mut twins, &state, 4);
        let expected = Order {
            control: HopControl::Classes(ClassPauses::xoff(1 << 3 | 1 << 4, 0xffff)),
            level: PauseLevel::Port,
            resumes: false,
            pause: 1,
            occupancy_bytes: 33_340 + length(),
            threshold_bytes: 33_330,
            shared_free_bytes: 66_660,
        };
        assert_eq!(pause(&arrival), Some(expected), "in insurance");
        let source = inbound(PORT).destination;
        let whole = pfc_bytes(&PfcFrame::xoff(source, 1 << 3 | 1 << 4, 0xffff));
        assert_eq!(frame, Some(whole));
        let port = dsh::port_of(twins.kernel.tables(), PORT).unwrap();
        assert_eq!((port.insurance_bytes.load(), port.off.load()), (length(), 1));
    });
}

#[test]
fn a_packet_that_finds_insurance_full_is_dropped() {
    in_namespace(|| {
        let mut twins = twins(Estimation::Practical);
        let mut state = state();
        // Insurance is 20,000 bytes.
        hold(&mut state, 34_000, 19_999 - length());
        assert!(pause(&arrive(&mut twins, &state, 4).0).is_some());
        hold(&mut state, 34_000, 20_000 - length());
        let dropped = Outcome::Dropped(DropReason::InsuranceExhausted);
        assert_eq!(arrive(&mut twins, &state, 4).0.outcome, dropped);
    });
}

/// Packets at line rate: with both forms phi-hat is Phi, and so is tau.
#[test]
fn tau_is_the_estimate() {
    in_namespace(|| {
        for form in [Estimation::Practical, Estimation::Conceptual] {
            let mut twins = twins(form);
            twins.reset(&state());
            for number in 0..8 {
                let now = Nanos(NOW + number * length() * 2 / 25);
                twins.arrive(PORT, now, &packet(3)).unwrap_or_else(|error| panic!("{error}"));
            }
            let (tables, policy) = (twins.kernel.tables(), twins.policy());
            let at = Ingress::new(tables, policy, PORT, Priority::new(3)).unwrap();
            assert_eq!(Selected::margin(&at), 20_000, "{form:?}");
            let queue = dsh::queue(&at).unwrap();
            assert_eq!(queue.measured_bytes.load(), 8 * length() as u32);
        }
    });
}
