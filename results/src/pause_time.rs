//! Pauses of ports, as received and as decided.

use std::collections::BTreeMap;

use fabric_core::hop_control::PauseLevel;
use units::Nanos;

use super::pause_intervals::{PauseMeter, PauseTotal};
use super::tables::{PauseRow, PauseTimeRow};
use super::window::Window;

/// A class of a PFC frame that arrived at the sender that it is about.
#[derive(Clone, Copy, Debug)]
pub struct PauseReceived<'a> {
    /// Arrival of the frame's last bit.
    pub time: Nanos,
    /// The node that received it.
    pub node: &'a str,
    /// The port.
    pub port: u16,
    /// Sender of the frame: the neighbour at that port.
    pub by: &'a str,
    /// The class.
    pub priority: u8,
    /// Instant from which the port starts no frame of the priority, unless a pause is already in
    /// effect.
    pub binds: Nanos,
    /// Instant at which the pause ends by itself; not after `time` if the frame resumes.
    pub until: Nanos,
    /// Quanta of the frame; 0 resumes. `None` if there was no frame: a watchdog ends the pause.
    pub quanta: Option<u16>,
}

/// Follows the pauses of each (node, port, priority). Memory grows with their number, not with the
/// frames.
#[derive(Clone, Debug, Default)]
pub struct PauseTimes {
    /// The window that is also measured separately.
    window: Option<Window>,
    nodes: BTreeMap<String, BTreeMap<(u16, u8), PortPause>>,
}

#[derive(Clone, Debug, Default)]
struct PortPause {
    by: String,
    ordered: PauseMeter,
    imposed: PauseTotal,
    imposed_in_window: Nanos,
    running: Option<Running>,
}

/// A pause `[binds, until)`, unless a frame moves its end.
#[derive(Clone, Copy, Debug)]
struct Running {
    binds: Nanos,
    until: Nanos,
}

impl PortPause {
    fn receive(&mut self, received: &PauseReceived, window: Option<Window>) {
        let PauseReceived { time, binds, until, .. } = *received;
        match &mut self.running {
            Some(running) if running.until > time => {
                running.until = until;
                if until <= time {
                    self.close(time, window);
                }
            }
            _ => {
                self.close(time, window);
                if until > time {
                    self.imposed.pauses += 1;
                    self.running = Some(Running { binds, until });
                }
            }
        }
    }

    /// Counts the pause that runs, or that has expired since the last frame.
    fn close(&mut self, now: Nanos, window: Option<Window>) {
        if let Some(Running { binds, until }) = self.running.take() {
            let end = until.min(now);
            if let Some(window) = window {
                self.imposed_in_window.0 += window.overlap(binds, end).0;
            }
            let span = Nanos(end.0.saturating_sub(binds.0));
            self.imposed.paused.0 += span.0;
            self.imposed.longest = self.imposed.longest.max(span);
        }
    }
}

impl PauseTimes {
    /// A record without pauses.
    pub fn new(window: Option<Window>) -> Self {
        Self { window, nodes: BTreeMap::new() }
    }

    /// Follows one decision. Decisions of one port come in time order. Returns the level whose pause it takes over, if the
    /// one before was another's.
    pub fn order(&mut self, row: &PauseRow) -> Option<PauseLevel> {
        let key = (row.peer, row.peer_port, row.priority);
        let window = self.window;
        self.port(key, row.node).ordered.record(row.time, row.event, row.level, window)
    }

    /// Follows one class of a PFC frame. Frames to one port come in time order.
    pub fn receive(&mut self, received: &PauseReceived) {
        // A RESUME of a priority that was never paused leaves no row.
        let key = (received.node, received.port, received.priority);
        if self.has(key.0, (key.1, key.2)) || received.until > received.time {
            let window = self.window;
            self.port(key, received.by).receive(received, window);
        }
    }

    /// Returns true if a (port, priority) of a node was paused, or was to be.
    pub fn has(&self, node: &str, key: (u16, u8)) -> bool {
        self.nodes.get(node).is_some_and(|ports| ports.contains_key(&key))
    }

    fn port(&mut self, (node, port, priority): (&str, u16, u8), by: &str) -> &mut PortPause {
        // The borrowed name of a row is copied only where it is new.
        if !self.nodes.contains_key(node) {
            self.nodes.insert(node.to_owned(), BTreeMap::new());
        }
        let ports = self.nodes.get_mut(node).expect("the line above put it there");
        let new = || PortPause { by: by.to_owned(), ..PortPause::default() };
        ports.entry((port, priority)).or_insert_with(new)
    }

    /// Rows in the order of node, port and priority. What is still paused counts until `end`.
    pub fn finish(self, end: Nanos) -> Vec<PauseTimeRow> {
        let window = self.window;
        let ports = self.nodes.into_iter().flat_map(|(node, ports)| {
            ports.into_iter().map(move |(port, pause)| (node.clone(), port, pause))
        });
        let row = |(node, (port, priority), mut pause): (String, _, PortPause)| {
            pause.close(end, window);
            let ordered = pause.ordered.finish(end, window);
            let PortPause { by, imposed, imposed_in_window, .. } = pause;
            PauseTimeRow { node, port, priority, by, imposed, imposed_in_window, ordered, end }
        };
        ports.map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use fabric_core::hop_control::PauseEvent;
    use units::Bytes;

    use super::*;
    use crate::csv::line;

    const RESPONSE: u64 = 10;

    /// Runs `frames`, as (time, end of the pause), and `orders` for one port, and returns its rows
    /// as lines.
    fn rows(frames: &[(u64, u64)], orders: &[(u64, PauseEvent)], end: u64) -> String {
        let mut times = PauseTimes::default();
        for &(time, event) in orders {
            times.order(&PauseRow {
                time: Nanos(time),
                node: "leaf0",
                port: 4,
                peer: "h1",
                peer_port: 0,
                priority: 3,
                event,
                level: PauseLevel::Queue,
                occupancy: Bytes(0),
                threshold: Bytes(0),
                shared_free: Bytes(0),
                state: None,
            });
        }
        for &(time, until) in frames {
            let (node, by, port, priority) = ("h1", "leaf0", 0, 3);
            let (time, binds, until) = (Nanos(time), Nanos(time + RESPONSE), Nanos(until));
            let quanta = Some(1);
            times.receive(&PauseReceived { time, node, port, by, priority, binds, until, quanta });
        }
        times.finish(Nanos(end)).iter().map(line).collect()
    }

    #[test]
    fn a_pause_ends_by_resume_by_expiry_or_with_the_run() {
        assert_eq!(
            rows(&[(100, 900), (200, 200)], &[], 1000),
            "h1,0,3,leaf0,1,90,0.090000,90,0,0\n"
        );
        assert_eq!(rows(&[(100, 300)], &[], 1000), "h1,0,3,leaf0,1,190,0.190000,190,0,0\n");
        assert_eq!(rows(&[(100, 5000)], &[], 400), "h1,0,3,leaf0,1,290,0.725000,290,0,0\n");
        let twice = [(100, 200), (200, 300), (300, 300), (900, 950)];
        assert_eq!(rows(&twice, &[], 1000), "h1,0,3,leaf0,3,220,0.220000,90,0,0\n");
    }

    #[test]
    fn a_refresh_extends_without_a_new_response_time() {
        assert_eq!(
            rows(&[(100, 300), (250, 450)], &[], 1000),
            "h1,0,3,leaf0,1,340,0.340000,340,0,0\n"
        );
    }

    #[test]
    fn a_pause_that_never_binds_counts_and_takes_no_time() {
        assert_eq!(rows(&[(100, 300), (105, 105)], &[], 1000), "h1,0,3,leaf0,1,0,0.000000,0,0,0\n");
        assert_eq!(rows(&[(100, 100)], &[], 1000), "");
    }

    #[test]
    fn what_was_ordered_and_never_arrived_has_a_row() {
        let orders =
            [(50, PauseEvent::Pause), (80, PauseEvent::Refresh), (250, PauseEvent::Resume)];
        assert_eq!(rows(&[], &orders, 1000), "h1,0,3,leaf0,0,0,0.000000,0,1,200\n");
        assert_eq!(rows(&[(260, 260)], &orders[..1], 300), "h1,0,3,leaf0,0,0,0.000000,0,1,250\n");
    }
}
