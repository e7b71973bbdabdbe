//! Ports that pause and mark by thresholds of their rates.

use fabric_core::wire::RocePacket;
use fabric_core::wire::roce::Ecn;

use super::capture::{CapturedFrame, wire_named};
use super::one_switch::flow;
use super::results::Row;
use super::{CAPTURE_ALL, Run, Runner};

const SLOW: &str = "100Gbps";
const FAST: &str = "400Gbps";

/// One switch; h0 and h1 at 100 Gbit/s, h2 to h4 at 400 Gbit/s. Each host except h0 sends a megabyte to h0 or h2.
/// Without an entry in `by_rate`, queues pause at an eighth of the free buffer, and ports mark from 30 kB on.
fn scenario(of_thresholds: &str, of_marking: &str) -> String {
    let link = |host| {
        let rate = if host < 2 { SLOW } else { FAST };
        format!("{{ a = \"h{host}\", b = \"s0\", rate = \"{rate}\", delay = \"1us\" }}")
    };
    let links = [0, 1, 2, 3, 4].map(link).join(", ");
    let flows = [("h1", "h0"), ("h2", "h0"), ("h3", "h2"), ("h4", "h2")]
        .map(|(source, destination)| flow(source, destination, 1000, 3))
        .concat();
    format!(
        r#"
name = "port-rates"
[topology]
kind = "custom"
switches = ["s0"]
hosts = ["h0", "h1", "h2", "h3", "h4"]
links = [{links}]
[switch]
buffer = "1MB"
threshold = {{ kind = "dt", alpha = "1/8", xon_offset = "3kB", by_rate = [{of_thresholds}] }}
ecn = {{ kmin = "30kB", kmax = "30kB", pmax = 0, by_rate = [{of_marking}] }}
[host]
transport = {{ kind = "roce-rc", congestion_control = "none" }}
[results]
queue_period = "10us"
{flows}"#
    )
}

/// Delays h1's flow until all others are done, so that all senders at first are fast.
const H1_LATER: &str = "flows.0.start=1ms";

/// The row of the first PAUSE that a host is sent.
fn first_pause(run: &Run, host: &str) -> Row {
    let pauses = run.pauses();
    let mut stops = pauses.with("event", "xoff").filter(|row| row.text("peer") == host);
    stops.next().unwrap_or_else(|| panic!("{host} is never paused")).clone()
}

/// Data packets sent to a host before the first marked one.
fn before_the_first_mark(run: &Run, host: &str) -> u64 {
    let wire = wire_named(run.scenario.fabric(), &format!("s0->{host}"));
    let frames = run.frames();
    let mut data = frames.iter().filter(|frame| frame.wire == wire).filter_map(CapturedFrame::data);
    let marked = |packet: RocePacket| packet.ecn == Ecn::CongestionExperienced;
    data.position(marked).unwrap_or_else(|| panic!("no packet to {host} is marked")) as u64
}

/// The rates' own alphas: a port at 400 Gbit/s pauses later, and one at 100 Gbit/s does not, wherever its
/// packets leave and whenever thresholds are computed.
pub fn alpha(run: Runner) {
    let of_fast = format!("{{ rate = \"{FAST}\", alpha = \"1/2\" }}");
    for per_packet in [true, false] {
        let periodic = ["switch.thresholds={ period = \"1us\" }"];
        let more = if per_packet { &[][..] } else { &periodic };
        let (alike, own) = (run(&scenario("", ""), more), run(&scenario(&of_fast, ""), more));
        for run in [&alike, &own] {
            run.assert_lossless();
        }
        for (host, own_eighths) in [("h1", 1), ("h2", 4), ("h3", 4), ("h4", 4)] {
            let pauses = [(&alike, 1), (&own, own_eighths)].map(|(run, eighths)| {
                let row = first_pause(run, host);
                if per_packet {
                    let share = row.number("shared_free_bytes") * eighths / 8;
                    assert_eq!(row.number("threshold_bytes"), share, "{host}");
                }
                row.number("occupancy_bytes")
            });
            assert_eq!(2 * pauses[1] > 3 * pauses[0], own_eighths == 4, "{host}: {pauses:?}");
        }
    }
}

/// The rates' own K: a port at 400 Gbit/s marks later, and one at 100 Gbit/s does not, wherever packets come
/// from.
pub fn marking(run: Runner) {
    const PACKET: u64 = 1058;
    let of_fast = format!("{{ rate = \"{FAST}\", kmin = \"120kB\", kmax = \"120kB\" }}");
    for mark_at in ["enqueue", "dequeue"] {
        let setting = format!("switch.ecn.mark_at={mark_at}");
        for (of_marking, kmin_of_fast) in [("", 30_000), (of_fast.as_str(), 120_000)] {
            let settings = [&setting, CAPTURE_ALL, H1_LATER];
            let run = run(&scenario("", of_marking), &settings);
            run.assert_lossless();
            // While a packet leaves to h0, four come for it; to h2, two.
            for (host, kmin, come) in [("h0", 30_000, 4), ("h2", kmin_of_fast, 2)] {
                let left = kmin / PACKET / (come - 1);
                let expected = if mark_at == "enqueue" { left * come } else { left };
                let packets = before_the_first_mark(&run, host);
                let about = expected.saturating_sub(3)..=expected + 3;
                assert!(about.contains(&packets), "{mark_at}, {host}: {packets} of {expected}");
            }
        }
    }
}
