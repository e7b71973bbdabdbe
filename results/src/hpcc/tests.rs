use std::path::Path;

use units::Bytes;

use super::*;
use crate::Manifest;
use crate::tables::FlowRow;

fn options() -> HpccOptions {
    let host = |id| HpccNode { id, is_switch: false, interfaces: vec![1] };
    let switch = HpccNode { id: 0, is_switch: true, interfaces: vec![2, 1] };
    HpccOptions {
        nodes: [("h1", host(1)), ("h300", host(300)), ("s0", switch)]
            .map(|(name, node)| (name.to_owned(), node))
            .into(),
        switches: vec!["s0".into()],
        destination_ports: [("incast".to_owned(), 200)].into(),
        time_offset: Nanos(2_000_000_000),
        sampling: QueueSampling {
            start: Nanos(0),
            stop: None,
            interval: Nanos(100),
            dump_interval: Nanos(1000),
            before: Nanos(10_000),
        },
        hosts_by_id: false,
        every_pause: false,
    }
}

/// Contents of `fct.txt`, `pfc.txt` and `qlen.txt` after `fill`.
fn files(fill: impl FnOnce(&mut HpccFiles)) -> [String; 3] {
    files_with(options(), fill)
}

fn files_with(options: HpccOptions, fill: impl FnOnce(&mut HpccFiles)) -> [String; 3] {
    let temp = tempfile::tempdir().unwrap();
    let names = HpccFiles::FILES.into_iter().chain([Manifest::FILE]);
    let staging = Staging::claim(temp.path(), names.map(str::to_owned).collect()).unwrap();
    let mut files = HpccFiles::create(&staging, options).unwrap();
    fill(&mut files);
    files.finish().unwrap();
    staging.publish().unwrap();
    let read = |name: &str| std::fs::read_to_string(Path::new(temp.path()).join(name)).unwrap();
    HpccFiles::FILES.map(read)
}

fn flow(number: u32, src: &'static str, dst: &'static str, fct: Option<u64>) -> FlowRow<'static> {
    FlowRow {
        flow: number,
        label: if src == "h1" { "incast" } else { "poisson" },
        src,
        dst,
        priority: 3,
        transport: "roce-rc",
        congestion_control: "none",
        bytes: Bytes(1_000_000),
        start: Nanos(10_000),
        fct: fct.map(Nanos),
        ideal: Nanos(90_000),
        retransmitted_packets: 0,
        cnps: 0,
        long_lived: false,
        path: String::new(),
        congested: None,
    }
}

#[test]
fn a_completed_flow_has_a_line_in_the_simulators_numbers() {
    let [fct, ..] = files(|files| {
        let flows =
            [(0, "h1", "h300", 10_000), (1, "h1", "h300", 10_001), (2, "h300", "h1", 10_000)];
        for (flow, src, dst, source_port) in flows {
            let later = Some((Nanos(100_001), Nanos(77_000)));
            let standalone = (flow == 2).then_some(Standalone { time: Nanos(88_000), later });
            files.flow_started(&FlowStart {
                flow,
                label: "",
                src,
                dst,
                standalone,
                source_port,
                destination_port: None,
            });
        }
        files.flow(&flow(1, "h1", "h300", Some(135_001))).unwrap();
        files.flow(&flow(2, "h300", "h1", Some(90_000))).unwrap();
        files.flow(&flow(0, "h1", "h300", None)).unwrap();
    });
    assert_eq!(
        fct,
        "0b000101 0b012c01 10001 200 1000000 2000010000 135001 90000\n\
         0b012c01 0b000101 10000 100 1000000 2000010000 90000 88000\n"
    );
}

#[test]
fn a_pause_has_a_line_when_it_begins_and_when_it_is_ended() {
    let [_, pfc, _] = files(|files| {
        for (time, node, port, until) in [
            (100, "h1", 0, 900),
            (300, "h1", 0, 1100),
            (400, "s0", 0, 500),
            (450, "h1", 0, 450),
            (460, "h1", 0, 460),
            // The pause of s0 has expired: a RESUME has nothing to end, a PAUSE begins another.
            (600, "s0", 0, 600),
            (700, "s0", 0, 900),
        ] {
            let (time, until) = (Nanos(time), Nanos(until));
            let received = PauseReceived {
                time,
                node,
                port,
                by: "",
                priority: 3,
                binds: time,
                until,
                quanta: None,
            };
            files.pause_received(&received).unwrap();
        }
    });
    assert_eq!(
        pfc,
        "2000000100 1 0 1 1\n2000000400 0 1 2 1\n2000000450 1 0 1 0\n2000000700 0 1 2 1\n"
    );
}

#[test]
fn ports_are_sampled_in_the_order_of_interfaces() {
    let [.., qlen] = files(|files| {
        let mut lengths = QueueLengths::new(2, options().sampling);
        assert_eq!(files.next_dump(), Some(Picos(1)));
        files.dump((Picos(1), false), &mut [&mut lengths]).unwrap();
        assert_eq!(files.next_dump(), Some(Picos(1_000_001)));
        lengths.change(Picos(150_000), 0, 1048);
        files.dump((Picos(500_000), true), &mut [&mut lengths]).unwrap();
    });
    assert_eq!(qlen, "time: 2000000000\n0 1 1\n0 2 1\ntime: 2000000500\n0 1 6\n0 2 2 4\n");
}

#[test]
fn an_id_is_in_the_middle_of_an_address() {
    assert_eq!(
        [0, 255, 256, 5119].map(host_address),
        [0x0b00_0001, 0x0b00_ff01, 0x0b01_0001, 0x0b13_ff01]
    );
}

/// A PAUSE at the instant at which the one before expires begins another; a RESUME then ends nothing.
#[test]
fn a_pause_is_over_at_the_instant_of_its_expiry() {
    let [_, pfc, _] = files(|files| {
        for (time, until) in [(100, 500), (500, 900), (900, 900)] {
            let (time, until) = (Nanos(time), Nanos(until));
            let (node, port, by, priority) = ("h1", 0, "", 3);
            let received =
                PauseReceived { time, node, port, by, priority, binds: time, until, quanta: None };
            files.pause_received(&received).unwrap();
        }
    });
    assert_eq!(pfc, "2000000100 1 0 1 1\n2000000500 1 0 1 1\n");
}

/// `qp_finish` and `get_pfc` of `ConWeave`'s simulator.
#[test]
fn conweaves_lines_have_ids_own_ports_and_every_frame() {
    let options = HpccOptions { hosts_by_id: true, every_pause: true, ..options() };
    let [fct, pfc, _] = files_with(options, |files| {
        for flow in [0, 1] {
            let (src, dst) = ("h1", "h300");
            files.flow_started(&FlowStart {
                flow,
                label: "",
                src,
                dst,
                standalone: None,
                source_port: 10_007,
                destination_port: Some(103),
            });
        }
        files.flow(&flow(1, "h1", "h300", Some(135_001))).unwrap();
        for (time, until) in [(100, 5100), (200, 5200), (300, 300), (400, 400)] {
            let (time, until) = (Nanos(time), Nanos(until));
            let (node, port, by, priority) = ("h1", 0, "", 3);
            let received =
                PauseReceived { time, node, port, by, priority, binds: time, until, quanta: None };
            files.pause_received(&received).unwrap();
        }
    });
    assert_eq!(fct, "1 300 10007 103 1000000 2000010000 135001 90000\n");
    let expected = [(100, 1), (200, 1), (300, 0), (400, 0)]
        .map(|(time, kind)| format!("2000000{time} 1 0 1 {kind}\n"));
    assert_eq!(pfc, expected.concat());
}
