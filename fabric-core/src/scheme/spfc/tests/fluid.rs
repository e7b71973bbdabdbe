//! Compares the fluid model of the paper's appendix with the decisions of the switch (Fig. 9).

use super::*;

/// C, in units that make all rates integers: divisible by 32 and by 20.
const LINE_RATE: u64 = 3_200_000;
/// `K_spfc` of Section IV-C.
const K: u64 = 5;
/// epsilon is a multiple of 1 / `STEPS`.
const STEPS: u64 = 20;

/// Eq. 5: departure rate of one of N burst ports.
const fn departs_of_burst(ports: u64) -> u64 {
    LINE_RATE / (ports + 1)
}

/// Eq. 6: departure rate of the victim port, with the congested fraction `congested` / [`STEPS`] (epsilon).
const fn departs_of_victim(ports: u64, congested: u64) -> u64 {
    LINE_RATE * (STEPS - congested) / STEPS + LINE_RATE / (ports + 1)
}

/// Eq. 8, multiplied out: N + 1 > K > (N + 1) / ((1 - epsilon) (N + 1) + 1).
const fn distinguishes(ports: u64, congested: u64) -> bool {
    let n = ports + 1;
    n > K && K * ((STEPS - congested) * n + STEPS) > n * STEPS
}

#[test]
fn eq_5_and_6_by_hand() {
    assert_eq!(departs_of_burst(31), 100_000, "a 32nd");
    assert_eq!(departs_of_burst(1), LINE_RATE / 2);
    // Half of the traffic is congested: the other half and a 25th of the bottleneck depart (Section III-B, N = 24).
    assert_eq!(departs_of_victim(24, 10), LINE_RATE / 2 + LINE_RATE / 25);
    assert_eq!(departs_of_victim(9, 20), LINE_RATE / 10, "all of it is");
    assert_eq!(departs_of_victim(9, 0), LINE_RATE + LINE_RATE / 10, "none is");
}

/// Eq. 7 equals Eq. 8. Section IV-C: `K_spfc` = 5 does not distinguish N < 4, nor epsilon > 0.8 + 1 / (N + 1).
#[test]
fn eq_7_says_which_k_distinguishes_the_ports() {
    for ports in 1..=31 {
        for congested in 0..=STEPS {
            let fast = departs_of_victim(ports, congested) * K;
            let slow = departs_of_burst(ports) * K;
            // Rates are rounded down by less than 1, and multiplied by K.
            let near = |rate: u64| rate.abs_diff(LINE_RATE) <= K;
            let eq_7 = fast > LINE_RATE && LINE_RATE > slow;
            if !near(fast) && !near(slow) {
                assert_eq!(eq_7, distinguishes(ports, congested), "{ports}, {congested}");
            }
            // epsilon > 4/5 + 1/(N + 1)
            let too_congested = congested * 5 * (ports + 1) > 4 * STEPS * (ports + 1) + 5 * STEPS;
            if ports > 4 && !near(fast) {
                assert_eq!(eq_7, !too_congested, "{ports} ports, {congested} of {STEPS}");
            }
            assert!(ports >= 4 || !eq_7, "too few burst ports");
        }
    }
}

/// Returns true if the switch considers a port of 100 Gbit/s with this departure rate a victim, and
/// true if the rate is within a packet of the boundary.
fn decided(departs: u64) -> (bool, bool) {
    const SPAN: u64 = 20_000;
    let settings = Settings {
        period: Nanos(SPAN),
        threshold: Threshold::Part { numerator: K as u32, denominator: 1 },
        ..Settings::default()
    };
    let config = SwitchConfig {
        shared_pool_bytes: 100 * LENGTH,
        lossless_classes: 1 << CLASS,
        lossless_queues: 1,
        ..SwitchConfig::default()
    };
    let mut bench =
        Bench { tables: configured(config, &settings), per: StateOf::Port, held: Held::default() };
    let Bytes(most) =
        BitsPerSecond(100_000_000_000).bytes_in(units::Picos::from_nanos(Nanos(SPAN)));
    let bytes = most * departs / LINE_RATE;
    let packets = bytes / ON_THE_WIRE;
    for number in 0..packets {
        let now = number * SPAN / packets;
        bench.pass(0, CLASS, 1, now);
    }
    (bench.is_victim(0, SPAN - 1), bytes.abs_diff(most / K) <= ON_THE_WIRE)
}

/// Fig. 9: the switch decides as Eq. 8 except within a packet of the boundary.
#[test]
fn the_switch_decides_as_eq_8_over_the_grid_of_fig_9() {
    let (mut compared, mut points) = (0, 0);
    for ports in 1..=31 {
        let (burst, burst_is_near) = decided(departs_of_burst(ports));
        for congested in 0..=STEPS {
            let (victim, victim_is_near) = decided(departs_of_victim(ports, congested));
            points += 1;
            if burst_is_near || victim_is_near {
                continue;
            }
            compared += 1;
            let distinguished = victim && !burst;
            assert_eq!(distinguished, distinguishes(ports, congested), "{ports}, {congested}");
        }
    }
    assert!(compared * 10 > points * 8, "{compared} of {points} points are not at the boundary");
}
