//! Any traffic: no lossless packet is lost, and the state matches a model that uses the whole past.

use proptest::prelude::*;

use super::*;

/// Packets that fit the shared pool.
const ROOM: u64 = 8;
/// Packets that fit a queue's headroom.
const AFTER_PAUSE: u32 = 3;

#[derive(Clone, Copy, Debug)]
enum Event {
    /// A packet arrives, if its sender may send: a paused sender sends as many packets as fit headroom.
    Arrive { port: u32, class: u8 },
    /// The oldest packet of a queue leaves, if any.
    Depart { port: u32, class: u8 },
}

fn events() -> impl Strategy<Value = Vec<(u64, Event)>> {
    let queue = || (0..2u32, prop::sample::select(vec![CLASS, OTHER]));
    let event = prop_oneof![
        5 => queue().prop_map(|(port, class)| Event::Arrive { port, class }),
        4 => queue().prop_map(|(port, class)| Event::Depart { port, class }),
    ];
    let gap = prop_oneof![8 => 0..200u64, 1 => 200..1500u64, 1 => 1500..9000u64];
    prop::collection::vec((gap, event), 1..300)
}

/// Past events of one state.
#[derive(Default)]
struct Past {
    /// Times of departures, and their bytes on the wire.
    departed: Vec<(u64, u64)>,
    /// Times of pauses and resumes, the class, and true for a pause.
    pauses: Vec<(u64, u8, bool)>,
}

impl Past {
    fn counted(&self, period: u64) -> u64 {
        let of_period = self.departed.iter().filter(|(at, _)| at / PERIOD == period);
        of_period.map(|(_, bytes)| bytes).sum()
    }

    /// True if any class is paused by the events before `until`, exclusive.
    fn is_paused(&self, until: u64) -> bool {
        let mut paused = 0u8;
        for &(_, class, pauses) in self.pauses.iter().filter(|(at, ..)| *at < until) {
            paused = if pauses { paused | 1 << class } else { paused & !(1 << class) };
        }
        paused != 0
    }

    /// Fig. 7 and 10 without a state: true if fast in this period or in the last, and not reset since.
    fn is_victim(&self, now: u64, number: u64) -> bool {
        let period = now / PERIOD;
        let begins = period * PERIOD;
        let reset = self.pauses.iter().any(|&(at, _, pauses)| pauses && at >= begins);
        let held =
            period > 0 && self.counted(period - 1) >= number && !self.is_paused(begins) && !reset;
        !self.is_paused(u64::MAX) && (self.counted(period) >= number || held)
    }
}

fn bench(per: StateOf) -> Bench {
    let tables = configured(two_classes(ROOM * LENGTH + 100), &a_sixth(per));
    Bench { tables, per, held: Held::default() }
}

proptest! {
    #[test]
    fn any_traffic_is_kept_and_states_are_what_the_past_makes_them(
        events in events(),
        per in prop::sample::select(vec![StateOf::Port, StateOf::Queue]),
    ) {
        let mut bench = bench(per);
        // Indexed by port and class: packets after the PAUSE in effect.
        let mut after_pause = [[0u32; 8]; 2];
        let mut pasts: [[Past; 8]; 2] = Default::default();
        let whose = |class: u8| if per == StateOf::Port { 0 } else { usize::from(class) };
        let mut now = 0;
        for (gap, event) in events {
            now += gap;
            let (port, class) = match event {
                Event::Arrive { port, class } | Event::Depart { port, class } => (port, class),
            };
            let (row, column) = (port as usize, usize::from(class));
            let sent = match event {
                Event::Arrive { .. } => {
                    let paused = bench.tables.queue(port, class).off.load() != 0;
                    if paused && after_pause[row][column] == AFTER_PAUSE - 1 {
                        continue;
                    }
                    after_pause[row][column] += u32::from(paused);
                    let sent = bench.arrive(port, class, now);
                    prop_assert!(sent.is_ok(), "a lossless packet is dropped: {sent:?}");
                    sent.unwrap()
                }
                Event::Depart { .. } => {
                    let held = bench.held.len();
                    let sent = bench.depart(port, class, now);
                    if bench.held.len() < held {
                        pasts[row][whose(class)].departed.push((now, ON_THE_WIRE));
                    }
                    sent
                }
            };
            if let Some(said) = sent {
                after_pause[row][column] = 0;
                pasts[row][whose(class)].pauses.push((now, class, said == Say::Pause));
            }
            for (port, class) in [(0, CLASS), (0, OTHER), (1, CLASS), (1, OTHER)] {
                let line = bench.line(port, class);
                let past = &pasts[port as usize][whose(class)];
                let expected = past.is_victim(now, line.victim_bytes.load());
                prop_assert_eq!(line.is_victim(Nanos(now)), expected, "port {} at {}", port, now);
                let silent = Nanos((now / PERIOD + 2) * PERIOD);
                prop_assert!(!line.is_victim(silent), "a port without traffic is normal");
            }
        }
    }
}
