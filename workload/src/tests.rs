//! Streams of flows from recipes in code: they end at the right time, and stay small.

use std::sync::Arc;

use topology::HostId;
use units::{Bytes, Picos};

use super::arrivals::Arrivals;
use super::variate::Gaps;
use super::{
    ArrivalRecipe, FlowStream, Pairs, PayloadRate, PriorityChoice, SizeChoice, Source, Stamp,
    Window, catalogue, exact_gap, mean_gap,
};

/// One sender of two hosts, a flow every 500 ps.
fn recipe(window: Window) -> ArrivalRecipe {
    let (label, priority, key) = ("".into(), PriorityChoice::Fixed(3), 1);
    ArrivalRecipe {
        stamp: Stamp { label, priority, key },
        window,
        gaps: Gaps::Even,
        sizes: SizeChoice::Fixed(Bytes(1)),
        pairs: Pairs::Uniform { hosts: 2 },
        batch: 1,
        senders: vec![(HostId(0), exact_gap(Picos(500)))],
        rate: PayloadRate(1),
    }
}

#[test]
fn no_flow_starts_at_the_stop() {
    let starts = |stop: u64| -> Vec<u64> {
        let window = Window { start: Picos(1000), stop: Picos(stop) };
        Arrivals::new(Arc::new(recipe(window)), 1).map(|flow| flow.start.0).collect()
    };
    assert_eq!(starts(2500), [1500, 2000]);
    assert_eq!(starts(2501), [1500, 2000, 2500]);
}

#[test]
fn a_long_stream_of_many_hosts_stays_small() {
    let window = Window { start: Picos(0), stop: Picos(200_000_000_000) };
    let sizes = catalogue::distribution("websearch").expect("it ships");
    // Half of 100 Gbit/s for each of 1024 hosts.
    let rate = PayloadRate(50_000_000_000 << 8);
    let gap = mean_gap(sizes.mean_q16(), rate);
    let source = Source::Arrivals(Arc::new(ArrivalRecipe {
        gaps: Gaps::Exponential,
        sizes: SizeChoice::Drawn(sizes),
        pairs: Pairs::Uniform { hosts: 1024 },
        senders: (0..1024).map(|host| (HostId(host), gap)).collect(),
        rate: PayloadRate(rate.0 * 1024),
        ..recipe(window)
    }));
    let expected = source.expected_flows();
    let mut stream = FlowStream::new(&[source], 1);
    let before = stream.footprint();
    assert!(before < 4096, "{before} entries");
    let count = stream.by_ref().count() as u64;
    assert!(count.abs_diff(expected) < expected / 200, "{count} flows, {expected} expected");
    assert_eq!(stream.footprint(), before);
}
