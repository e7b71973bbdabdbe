//! Reading of ports' pauses and ingress queues from a run's tables.

use std::fs;
use std::ops::Range;
use std::path::Path;

use results::Number;

use crate::{Peers, Source};

/// Reads a source about ports; `None` for other sources.
pub(super) fn read(source: &Source, folder: &Path, window: Range<u64>) -> Option<Number> {
    match source {
        Source::Pauses(peers) => Some(pauses(folder, peers, &window, &["xoff"])?.count),
        Source::PauseFrames(peers) => {
            Some(pauses(folder, peers, &window, &["xoff", "xoff-refresh"])?.count)
        }
        Source::PausedTime(peers) => paused_time(folder, peers),
        Source::Level(kind, port) => level(folder, kind, *port, window),
        Source::OccupancyAtPause(peers) => {
            let pauses = pauses(folder, peers, &window, &["xoff"])?;
            (pauses.count.0 > 0).then(|| Number::ratio(pauses.bytes.0, pauses.count.0))
        }
        Source::OccupancyRatio(part, whole) => {
            let part = pauses(folder, part, &window, &["xoff"])?.bytes;
            let whole = pauses(folder, whole, &window, &["xoff"])?.bytes;
            (whole.0 > 0).then(|| Number::ratio(part.0, whole.0))
        }
        _ => None,
    }
}

/// Summed rows of `pauses.csv`.
struct Pauses {
    count: Number,
    /// Sum of the ingress queues' occupancies.
    bytes: Number,
}

/// Sums the rows of some events in a span.
fn pauses(folder: &Path, peers: &Peers, span: &Range<u64>, events: &[&str]) -> Option<Pauses> {
    let text = fs::read_to_string(folder.join("pauses.csv")).ok()?;
    let (mut count, mut bytes) = (0, 0);
    for line in text.lines() {
        let fields: Vec<&str> = line.split(',').collect();
        let [time, _node, _port, peer, _priority, event, occupancy, ..] = fields[..] else {
            continue;
        };
        if events.contains(&event) && peers.contains(peer) && span.contains(&time.parse().ok()?) {
            count += 1;
            bytes += occupancy.parse::<i128>().ok()?;
        }
    }
    Some(Pauses { count: Number::ratio(count, 1), bytes: Number::ratio(bytes, 1) })
}

/// Reads `pause_time.csv`, which has no row for a port that was never paused.
fn paused_time(folder: &Path, peers: &Peers) -> Option<Number> {
    let text = fs::read_to_string(folder.join("pause_time.csv")).ok()?;
    let mut sum = 0;
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [node, _port, _priority, _by, _pauses, paused, ..] = fields[..] else { return None };
        if peers.contains(node) {
            sum += paused.parse::<i128>().ok()?;
        }
    }
    Some(Number::ratio(sum, 1))
}

/// Returns the mean of a counter, which is 0 before its first row, and keeps its value until the next.
fn level(folder: &Path, kind: &str, port: u32, span: Range<u64>) -> Option<Number> {
    let text = fs::read_to_string(folder.join("queues.csv")).ok()?;
    let port = port.to_string();
    let (mut since, mut value, mut sum) = (span.start, 0_u64, 0_i128);
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [time, _node, row_kind, row_port, _priority, bytes] = fields[..] else { return None };
        if row_kind != kind || row_port != port {
            continue;
        }
        let until = time.parse::<u64>().ok()?.clamp(since, span.end);
        sum += i128::from(value) * i128::from(until - since);
        (since, value) = (until, bytes.parse().ok()?);
    }
    sum += i128::from(value) * i128::from(span.end - since);
    (span.end > span.start).then(|| Number::ratio(sum, (span.end - span.start).into()))
}

#[cfg(test)]
mod tests {
    use super::super::tests::read_in;
    use super::*;

    /// Reads the sources from a folder with one table, in a window from 2 to 4 us.
    fn said<'a>(
        table: &str,
        rows: &str,
        sources: impl IntoIterator<Item = &'a Source>,
    ) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(table), rows).unwrap();
        let text = |source: &Source| read_in(folder.path(), source).unwrap_or_default();
        sources.into_iter().map(text).collect()
    }

    #[test]
    fn pauses_are_those_of_the_window_and_of_the_neighbours() {
        let rows = "time_ns,node,port,peer,priority,event,occupancy_bytes,threshold_bytes\n\
                    1000,s0,0,h0,3,xoff,7,7\n\
                    2000,s0,0,h0,3,xoff,100,90\n\
                    2100,s0,1,h1,3,xoff,40,40\n\
                    2200,s0,1,h1,3,xoff-refresh,60,40\n\
                    2300,s0,1,h1,3,xon,20,20\n\
                    2400,s0,2,h10,3,xoff,10,10\n\
                    4000,s0,0,h0,3,xoff,7,7\n";
        let only = |name: &str| Peers::Only(name.to_owned());
        let (h0, others) = (|| only("h0"), || Peers::Except("h0".to_owned()));
        let expected = [
            (Source::Pauses(Peers::All), "3"),
            (Source::Pauses(h0()), "1"),
            (Source::Pauses(only("h1")), "1"),
            (Source::Pauses(only("h2")), "0"),
            (Source::PauseFrames(Peers::All), "4"),
            (Source::PauseFrames(only("h1")), "2"),
            (Source::OccupancyAtPause(others()), "25"),
            (Source::OccupancyAtPause(only("h2")), ""),
            (Source::OccupancyRatio(h0(), others()), "2"),
            (Source::OccupancyRatio(h0(), only("h2")), ""),
        ];
        let found = said("pauses.csv", rows, expected.iter().map(|(source, _)| source));
        assert_eq!(found, expected.map(|(_, number)| number));
    }

    #[test]
    fn paused_time_is_that_of_the_neighbours_and_zero_of_one_that_was_not_paused() {
        let rows = "node,port,priority,by,pauses,paused_ns,share,longest_ns,ordered_pauses,ordered_ns\n\
                    h0,0,3,s0,2,700,0.1,400,2,690\n\
                    h1,0,3,s0,1,30,0.0,30,1,30\n";
        let of = |peers| Source::PausedTime(peers);
        let only = |name: &str| of(Peers::Only(name.to_owned()));
        let sources = [of(Peers::All), only("h0"), only("h2")];
        assert_eq!(said("pause_time.csv", rows, &sources), ["730", "700", "0"]);
    }

    /// 100 bytes for half of the window and 300 for the other half; a threshold that never changes; a counter without
    /// rows.
    #[test]
    fn a_level_is_weighted_by_time() {
        let rows = "time_ns,node,kind,port,priority,bytes\n\
                    0,s0,threshold,2,3,900\n\
                    1000,s0,ingress,2,3,100\n\
                    2500,s0,ingress,3,3,777\n\
                    3000,s0,ingress,2,3,300\n\
                    9000,s0,ingress,2,3,1\n";
        let sources = [("ingress", 2), ("threshold", 2), ("ingress", 4)];
        let sources = sources.map(|(kind, port)| Source::Level(kind.to_owned(), port));
        assert_eq!(said("queues.csv", rows, &sources), ["200", "900", "0"]);
    }
}
