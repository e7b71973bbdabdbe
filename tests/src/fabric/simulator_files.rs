//! Files in the HPCC simulator's format, compared with xoff's own files of the run.

use std::collections::BTreeMap;

use super::one_switch::two_to_one;
use super::{Run, Runner};

/// Asks for the files, with the simulator's start of flows.
const FORMAT: &str = r#"results.hpcc={ time_offset = "2s", qlen_dump_interval = "10us" }"#;

fn lines(run: &Run, name: &str) -> Vec<Vec<String>> {
    let text = String::from_utf8(run.bytes(name)).expect("these files are text");
    text.lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("`{text}` is no number"))
}

/// By position, as the simulator's analysis reads them, slowdowns equal those of `flows.csv`, and
/// pauses begin and end at the frames' arrivals.
pub fn columns_agree_with_tables(run: Runner) {
    let run = run(&two_to_one(3), &[FORMAT]);
    let completed: Vec<_> = run.flows().rows().to_vec();
    let fct = lines(&run, "fct.txt");
    assert_eq!(fct.len(), completed.len());
    let mut slowdowns: Vec<(u64, String)> = fct
        .iter()
        .map(|fields| {
            let (fct, alone) = (number(&fields[6]), number(&fields[7]));
            // Four decimals, rounded half up.
            let rounded = (2 * fct * 10_000 + alone) / (2 * alone);
            let text = format!("{}.{:04}", rounded / 10_000, rounded % 10_000);
            (number(&fields[5]) - 2_000_000_000, text)
        })
        .collect();
    let own = |row: &super::results::Row| (row.number("start_ns"), row.text("slowdown").to_owned());
    let mut expected: Vec<(u64, String)> = completed.iter().map(own).collect();
    slowdowns.sort();
    expected.sort();
    assert_eq!(slowdowns, expected);

    // Hosts come first: h1 and h2 are nodes 1 and 2, each on its only interface.
    let mut decided: BTreeMap<(u64, &str), usize> = BTreeMap::new();
    let pauses = run.pauses();
    for row in pauses.rows() {
        let node = number(row.text("peer").trim_start_matches('h'));
        *decided.entry((node, row.text("event"))).or_default() += 1;
    }
    let pfc = lines(&run, "pfc.txt");
    assert!(pfc.is_sorted_by_key(|fields| number(&fields[0])));
    assert!(!pfc.is_empty());
    let mut last_kind = BTreeMap::new();
    for fields in &pfc {
        assert_eq!((fields[2].as_str(), fields[3].as_str()), ("0", "1"));
        let (node, kind) = (number(&fields[1]), fields[4].as_str());
        let event = if kind == "1" { "xoff" } else { "xon" };
        *decided.get_mut(&(node, event)).expect("a switch decided it") -= 1;
        assert_ne!(last_kind.insert(node, kind), Some(kind), "kinds take turns");
    }
    decided.retain(|(_, event), left| *event != "xoff-refresh" && *left > 0);
    assert_eq!(decided, BTreeMap::new());
}

/// Each sample is counted once at each port, and long queues where flows meet.
pub fn histograms_count_every_look(run: Runner) {
    let sampling = r#"results.hpcc={ qlen_interval = "1us", qlen_dump_interval = "10us" }"#;
    let run = run(&two_to_one(3), &[sampling]);
    let end = run.summary.emulated_ns;
    let qlen = lines(&run, "qlen.txt");
    let times: Vec<u64> =
        qlen.iter().filter(|line| line[0] == "time:").map(|line| number(&line[1])).collect();
    let expected = (0..=end / 1000).filter(|look| look % 10 == 0 || *look == end / 1000);
    assert_eq!(times, expected.map(|look| look * 1000).collect::<Vec<_>>());
    let ports = run.scenario.fabric().host_count() as usize;
    assert_eq!(qlen.len(), times.len() * (1 + ports));
    let last = &qlen[qlen.len() - ports..];
    for (interface, line) in (1..).zip(last) {
        assert_eq!(line[..2], [ports.to_string(), interface.to_string()]);
        let looks: u64 = line[2..].iter().map(|count| number(count)).sum();
        assert_eq!(looks, end / 1000 + 1);
    }
    let to_h0 = &last[0];
    assert!(to_h0.len() > 3, "queues build up towards h0: {to_h0:?}");
}
