//! Did senders obey the PAUSE frames that they received? Judged from a capture alone.

use topology::{NodeKind, WireId};
use units::BitsPerSecond;

use super::Run;
use super::capture::CapturedFrame;

/// Bytes whose serialisation takes one quantum: 512 bit times.
const QUANTUM_BYTES: u64 = 64;

/// A span in which a sender may start no frame of a priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The wire on which the sender is silent.
    pub wire: WireId,
    /// The priority.
    pub priority: u8,
    /// Arrival of the PAUSE.
    pub received_ns: u64,
    /// Instant at which it takes effect: later by the response time.
    pub binds_ns: u64,
    /// Arrival of a RESUME, or expiry of the quanta.
    pub ends_ns: u64,
    /// PAUSE frames that arrived meanwhile.
    pub renewals: u32,
}

/// Time for which `quanta` pause a port of this rate, in nanoseconds.
pub fn pause_ns(quanta: u16, rate: BitsPerSecond) -> u64 {
    rate.serialise(u64::from(quanta) * QUANTUM_BYTES).to_nanos().0
}

/// Asserts that no frame of a paused priority began, on any wire of a capture of everything. Times
/// must be whole nanoseconds. Returns the stops, by wire, priority and time.
pub fn assert_obeyed(run: &Run) -> Vec<Stop> {
    let frames = run.frames();
    let mut stops = Vec::new();
    for wire in (0..run.scenario.fabric().wires().len()).map(WireId::at) {
        for priority in 0..8 {
            let of_queue = stops_of(run, &frames, wire, priority);
            assert_silent(&frames, &of_queue, wire, priority);
            stops.extend(of_queue);
        }
    }
    stops
}

fn stops_of(run: &Run, frames: &[CapturedFrame], wire: WireId, priority: u8) -> Vec<Stop> {
    let fabric = run.scenario.fabric();
    let sender = fabric.wire(wire);
    let response = match fabric.node(sender.from).kind {
        NodeKind::Host(_) => run.scenario.host.pause_response,
        NodeKind::Switch(_) => run.scenario.switch.pause_response,
    };
    let response_ns = response.at(sender.rate).to_nanos().0;
    let mut stops: Vec<Stop> = Vec::new();
    for frame in frames.iter().filter(|frame| frame.wire == wire.reverse()) {
        let Some(quanta) = frame.pfc().and_then(|pfc| pfc.quanta_of(priority)) else { continue };
        let now = frame.arrival_ns;
        let running = stops.last_mut().filter(|stop| stop.ends_ns > now);
        let ends_ns = now + pause_ns(quanta, sender.rate);
        match (running, quanta) {
            (None, 0) => {}
            (Some(stop), 0) => stop.ends_ns = now,
            (Some(stop), _) => {
                stop.ends_ns = ends_ns;
                stop.renewals += 1;
            }
            (None, _) => {
                let binds_ns = now + response_ns;
                let renewals = 0;
                stops.push(Stop { wire, priority, received_ns: now, binds_ns, ends_ns, renewals });
            }
        }
    }
    stops
}

fn assert_silent(frames: &[CapturedFrame], stops: &[Stop], wire: WireId, priority: u8) {
    for frame in frames.iter().filter(|frame| frame.wire == wire) {
        let of_class = frame.roce().is_some_and(|packet| packet.dscp >> 3 == priority);
        let start = frame.start_ns;
        let broken = stops.iter().find(|stop| (stop.binds_ns..stop.ends_ns).contains(&start));
        if let Some(stop) = broken.filter(|_| of_class) {
            panic!("a frame that began at {start} ns breaks {stop:?}");
        }
    }
}
