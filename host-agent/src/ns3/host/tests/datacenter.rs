//! Rules of ns3-datacenter. Numbers follow from its source by hand; no run of it has been compared.

use fabric_core::wire::TelemetryFields;

use super::*;
use crate::ns3::settings::WindowRate;

/// A host whose times are whole numbers.
fn host(settings: Settings) -> Host {
    let mut host = super::host(settings);
    host.link.arithmetic = Arithmetic::WholeNumbers;
    host
}

/// 1000 B and 250 B of payload have frames of 1048 and 298 B: 83.84 and 23.84 ns at 100 Gbit/s, and 1500 B take 120.
#[test]
fn gaps_are_rounded_down_once() {
    let (mut host, timers) = (host(Settings::default()), &mut Recorded::default());
    host.start(Nanos(0), flow(1, 3000, 0));
    host.link.payload = 1452;
    assert_eq!(polled(&mut host, 0, timers), Some((1, 0)));
    assert_eq!(polled(&mut host, 119, timers), None, "120 ns are not one short");
    assert_eq!(polled(&mut host, 120, timers), Some((1, 1452)));
}

/// `AddQueuePair`: the line rate times the base round trip, if there is a window at all. 100 Gbit/s for 8000 ns are 100,000 B.
#[test]
fn windows_may_have_the_line_rate() {
    let of = |window, window_rate| {
        let settings = Settings { window, window_rate, ..Settings::default() };
        settings.window(70_000, 8000, RATE)
    };
    assert_eq!(of(true, WindowRate::Path), 70_000);
    assert_eq!(of(true, WindowRate::Line), 100_000);
    assert_eq!(of(false, WindowRate::Line), 0);
}

/// `GetWin` with PowerTCP: 50 Gbit/s for 8000 ns are 50,000 B for any window of the flow. A rate of 999 bit/s gives a window of
/// zero bytes, which limits nothing.
#[test]
fn a_window_may_be_the_rate_for_a_base_round_trip() {
    let settings = Settings { window_scales: true, window_by_rtt: true, ..Settings::default() };
    let (mut host, timers) = (host(settings), &mut Recorded::default());
    host.start(Nanos(0), flow(1, 900_000, 0));
    polled(&mut host, 0, timers);
    let pair = host.queue_pairs.occupant(host.list[0]);
    pair.rate = RATE.0 / 2;
    pair.next = 50_000;
    assert!(pair.is_blocked(RATE, &settings));
    pair.next = 49_999;
    assert!(!pair.is_blocked(RATE, &settings));
    pair.rate = 999;
    assert!(!pair.is_blocked(RATE, &settings), "999 bit/s send no byte in 8000 ns");
    // theta-PowerTCP lowers the base.
    pair.rate = RATE.0;
    pair.flow.base_rtt = Nanos(3999);
    assert!(pair.is_blocked(RATE, &settings), "49,987 B");
}

/// The ACK of a packet that started at 0 comes at 9000 ns: the power of theta-PowerTCP is above 1, so that the rate falls and the
/// next start moves.
#[test]
fn a_new_rate_of_theta_moves_the_next_start() {
    let settings = Settings { control: Control::ThetaPowerTcp, ..Settings::default() };
    let (mut host, timers) = (host(settings), &mut Recorded::default());
    host.start(Nanos(0), flow(1, 90_000, 0));
    assert_eq!(polled(&mut host, 0, timers), Some((1, 0)));
    // A packet of 1048 B and telemetry of 42 B, of which this link does not count the telemetry.
    assert_eq!(polled(&mut host, 8990, timers), Some((1, 1000)));
    let room = TelemetryFields::with_room(5).expect("five hops");
    let telemetry = Some(TelemetryFields { hops: 1, ..room }.echoed());
    let ack = RocePacket { telemetry, ..answer(1, 1000, Syndrome::Ack) };
    let stamp = Hop::new(RATE, Nanos(4000), units::Bytes(0), units::Bytes(0), 1).to_stamp();
    host.handle_packet(Picos::from_nanos(Nanos(9000)), &ack, &[stamp], timers);
    let pair = host.queue_pairs.occupant(host.list[0]);
    // (9000 / 9000 + 1) x 9000 / (1.05 x 8000), over more than a round trip.
    let power = 2.0 * 9000.0 / (1.05 * 8000.0);
    let aimed = (1e11 / power) as u64 + 150_000_000;
    assert_eq!(pair.rate, (aimed as f64 * 0.7) as u64 + 30_000_000_000);
    let moved = Arithmetic::WholeNumbers.transmission(pair.last_length, BitsPerSecond(pair.rate));
    assert_eq!(pair.available, Nanos(8990 + moved.0));
    assert!(moved.0 > FULL);
}
