use fabric_core::drop_reason::DropReason;

use super::losses::described_faults;
use super::*;
use crate::buffer_series::BufferLevel;
use crate::deadlock::DeadlockTotals;
use crate::fault::FaultTotals;
use crate::fct_by_size::GroupTimes;
use crate::flow_statistics::FctSummary;
use crate::tables::{FctBySizeRow, OccupancyRow};

fn flow(number: u32, fct: Option<Nanos>) -> ReportedFlow {
    ReportedFlow {
        flow: number,
        label: "incast".into(),
        src: format!("h{}", number + 1),
        dst: "h0".into(),
        priority: 3,
        bytes: Bytes(1_000_000),
        start: Nanos(10_000),
        fct,
        ideal: Nanos(85_923),
    }
}

fn paused(node: &str, peer: &str, pauses: u64, paused_ns: u64) -> PausedPeer {
    let time = |paused| PauseTotal {
        pauses,
        refreshes: 0,
        resumes: pauses,
        paused: Nanos(paused),
        longest: Nanos(paused / 2),
    };
    // What was ordered is not shown.
    let (ordered, imposed) = (time(paused_ns / 3), time(paused_ns));
    PausedPeer { node: node.into(), peer: peer.into(), priority: 3, ordered, imposed }
}

fn size_row(above: u64, up_to: Option<u64>, completed: u64) -> FctBySizeRow {
    let times = GroupTimes {
        slowdown_mean: Slowdown(20_000),
        slowdown_percentiles: [Slowdown(10_000), Slowdown(25_000), Slowdown(30_000)],
        slowdown_max: Slowdown(123_456_789),
        fct_mean: Nanos(1),
        fct_p99: Nanos(2),
    };
    FctBySizeRow {
        label: None,
        above: Bytes(above),
        up_to: up_to.map(Bytes),
        flows: 1_234_567,
        completed,
        times: (completed > 0).then_some(times),
    }
}

fn occupied(kind: QueueKind, mean: u64) -> OccupancyRow {
    let percentiles = [mean, mean + 1, 800_000, 900_000].map(Bytes);
    OccupancyRow { node: "leaf0".into(), kind, mean: Bytes(mean), percentiles, max: Bytes(912_345) }
}

fn report() -> RunReport {
    let columns = (0..CHART_COLUMNS as u64)
        .map(|column| {
            let total = 900_000 - column.abs_diff(30).min(45) * 20_000;
            let headroom = total.saturating_sub(700_000);
            BufferLevel { total: Bytes(total), headroom: Bytes(headroom) }
        })
        .collect();
    let chart = BufferChart { from: Nanos(10_512), to: Nanos(655_360), columns };
    RunReport {
        fabric: "leaf-spine 2 x 2, 8 hosts; kernel datapath, virtual clock".into(),
        summary: Summary {
            scenario: "incast".into(),
            seed: 1,
            flows_total: 4,
            flows_completed: 4,
            fct_ns: Some(FctSummary {
                mean: 600_001,
                p50: 600_001,
                p99: 603_123,
                max: 603_123,
                ..FctSummary::default()
            }),
            slowdown: Some(SlowdownSummary {
                mean: Slowdown(69_812),
                p50: Slowdown(69_830),
                p99: Slowdown(70_193),
            }),
            pause_frames: 11,
            resume_frames: 11,
            paused_ns: 300_000,
            ecn_marked: 2_345,
            cnps: 123,
            buffer_max_bytes: [("leaf0".into(), 912_345)].into(),
            headroom_max_bytes: [("leaf0".into(), 212_345)].into(),
            packet_hops: 123_456,
            emulated_ns: 655_301,
            lossless: true,
            threads: 2,
            wall_seconds: 0.412,
            cpu_seconds: 0.4,
            ..Summary::default()
        },
        worst_flows: (0..4).map(|number| flow(number, Some(Nanos(603_123 - 1_041)))).collect(),
        paused: vec![
            paused("leaf0", "h1", 3, 100_000),
            paused("leaf0", "spine0", 7, 150_001),
            paused("spine0", "leaf1", 1, 49_999),
        ],
        first_deadlock: None,
        fct_by_size: vec![size_row(0, Some(1_000_000), 4)],
        occupancy: vec![
            occupied(QueueKind::Buffer, 345_678),
            occupied(QueueKind::Shared, 234_567),
            occupied(QueueKind::Headroom, 0),
        ],
        buffer: Some(ReportedBuffer { switch: "leaf0".into(), capacity: Bytes(2_000_000), chart }),
        link_delays: None,
        lossless: vec![3],
        files: Some(ResultFiles {
            folder: "out/incast".into(),
            files: [
                ("scenario.resolved.toml", 1_234),
                ("flows.csv", 512),
                ("pauses.csv", 1_876),
                ("queues.csv", 45_123),
                ("drops.csv", 50),
                ("capture.pcapng", 3_456),
                ("summary.json", 1_100),
                ("manifest.json", 400),
            ]
            .map(|(name, bytes)| (name.to_owned(), bytes))
            .into(),
        }),
    }
}

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap()
}

#[test]
fn without_lossless_priorities_nothing_is_called_lossless() {
    let mut report = report();
    report.lossless = Vec::new();
    let text = report.render(Style::plain());
    assert!(text.contains("; no frame lost; books balanced"), "{text}");
    assert!(text.contains("\nDrops\nnone\n") && !text.contains("lossless"), "{text}");
}

#[test]
fn a_lossless_incast() {
    let text = report().render(Style::plain());
    assert!(widest(&text) <= 100, "{}", widest(&text));
    insta::assert_snapshot!(text, @r"
    incast: leaf-spine 2 x 2, 8 hosts; kernel datapath, virtual clock, seed 1
    4 of 4 flows completed in 655.301 us; lossless; books balanced

    Flows, worst slowdown first
    flow  label   from  to  prio  bytes  start us   FCT us  ideal us  slowdown
       0  incast  h1    h0     3   1 MB    10.000  602.082    85.923    7.0072
       1  incast  h2    h0     3   1 MB    10.000  602.082    85.923    7.0072
       2  incast  h3    h0     3   1 MB    10.000  602.082    85.923    7.0072
       3  incast  h4    h0     3   1 MB    10.000  602.082    85.923    7.0072
    FCT mean 600.001 us, p50 600.001 us, p99 603.123 us, max 603.123 us
    slowdown mean 6.9812, p50 6.9830, p99 7.0193

    PAUSE, longest paused first
    switch  paused  prio  PAUSE  refresh  RESUME  paused us  longest us
    leaf0   spine0     3      7        0       7    150.001      75.000
    leaf0   h1         3      3        0       3    100.000      50.000
    spine0  leaf1      3      1        0       1     49.999      24.999

    Buffer of leaf0: at most 912.345 kB of 2 MB, headroom at most 212.345 kB
          1 MB ┤
               │                          ▒▒▒▒▒▒▒▒▒
        800 kB ┤                     ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒
               │                ▂▄▅▇█████████████████████▇▅▄▂
        600 kB ┤           ▂▄▅▇███████████████████████████████▇▅▄▂
               │      ▂▄▅▇█████████████████████████████████████████▇▅▄▂
        400 kB ┤ ▂▄▅▇███████████████████████████████████████████████████▇▅▄▂
               │█████████████████████████████████████████████████████████████▇▅▄▂
        200 kB ┤██████████████████████████████████████████████████████████████████▇▅▄▂
               │███████████████████████████████████████████████████████████████████████▇▅▄▂
           0 B └────────────────────────────────────────────────────────────────────────────────────
                                        200 us                    400 us                   600 us
                █ private and shared   ▒ headroom
    over time: mean 345.678 kB, p50 345.678 kB, p99 800 kB, p99.9 900 kB

    Drops
    none: lossless
    2,345 packets ECN-marked, 123 CNPs, 0 packets sent again

    Cost
    123,456 packet-hops in 655.301 us of emulated time
    0.412 s wall, 0.400 s CPU on 2 threads: 308,640 packet-hops a CPU second

    Results in out/incast
    scenario.resolved.toml (1.234 kB), flows.csv (512 B), pauses.csv (1.876 kB),
    queues.csv (45.123 kB), drops.csv (50 B), capture.pcapng (3.456 kB), summary.json (1.1 kB),
    manifest.json (400 B)

    The PAUSE frames on the wires
    tshark -r out/incast/capture.pcapng -Y 'macc.opcode == 0x0101' -T fields -e frame.time_epoch \
      -e frame.interface_name -e macc.cbfc.enbv.c3 -e macc.cbfc.pause_time.c3
    ");
}

#[test]
fn a_run_that_went_wrong() {
    let mut report = report();
    report.summary.flows_completed = 3;
    report.summary.drops.add(DropReason::HeadroomExhausted, 1_234);
    report.summary.drops.add(DropReason::RingFull, 1);
    report.summary.drops.add(DropReason::GlobalPause, 7);
    report.summary.books =
        vec!["leaf0: the shared pool holds 1048 B after the fabric drained".into()];
    report.worst_flows[0].fct = None;
    report.paused.clear();
    report.buffer = None;
    report.files = None;
    insta::assert_snapshot!(report.render(Style::plain()), @"
    incast: leaf-spine 2 x 2, 8 hosts; kernel datapath, virtual clock, seed 1
    3 of 4 flows completed in 655.301 us; 1,235 frames lost; books do not balance

    Flows, worst slowdown first
    flow  label   from  to  prio  bytes  start us    FCT us  ideal us  slowdown
       0  incast  h1    h0     3   1 MB    10.000  not done    85.923         -
       1  incast  h2    h0     3   1 MB    10.000   602.082    85.923    7.0072
       2  incast  h3    h0     3   1 MB    10.000   602.082    85.923    7.0072
       3  incast  h4    h0     3   1 MB    10.000   602.082    85.923    7.0072
    FCT mean 600.001 us, p50 600.001 us, p99 603.123 us, max 603.123 us
    slowdown mean 6.9812, p50 6.9830, p99 7.0193

    PAUSE
    no switch paused anyone

    Buffers
    no switch held a byte when it was sampled

    Drops
    global-pause                       7
    headroom-exhausted             1,234
    ring-full                          1
    7 control frames without effect, which are no loss
    1,235 frames lost: 1,234 by policy, 1 by the machine below
    2,345 packets ECN-marked, 123 CNPs, 0 packets sent again
    books: leaf0: the shared pool holds 1048 B after the fabric drained

    Cost
    123,456 packet-hops in 655.301 us of emulated time
    0.412 s wall, 0.400 s CPU on 2 threads: 308,640 packet-hops a CPU second
    ");
}

#[test]
fn sizes_that_differ_have_a_table() {
    let mut report = report();
    report
        .fct_by_size
        .extend([size_row(1_000_000, Some(3_000_000), 0), size_row(3_000_000, None, 7)]);
    let of_label = FctBySizeRow { label: Some("incast".into()), ..size_row(0, None, 1) };
    report.fct_by_size.push(of_label);
    let text = report.render(Style::plain());
    let table = text.split("\n\n").find(|part| part.starts_with("Slowdown by size")).unwrap();
    insta::assert_snapshot!(table, @r"
    Slowdown by size
    size            flows  completed    mean     p50     p95     p99    max
    up to 1 MB  1,234,567          4  2.0000  1.0000  2.5000  3.0000  12346
    up to 3 MB  1,234,567          0       -       -       -       -      -
    above 3 MB  1,234,567          7  2.0000  1.0000  2.5000  3.0000  12346
    ");
}

#[test]
fn wide_and_long_runs_stay_within_the_width_and_the_tables() {
    let mut report = report();
    let name = "a-switch-with-a-name-that-no-one-should-give";
    report.worst_flows = (0..60)
        .map(|number| ReportedFlow {
            flow: 1_000_000 + number,
            label: "a label as long as its author's day".into(),
            src: "h123456789012345".into(),
            dst: "h123456789012346".into(),
            bytes: Bytes(123_456_789),
            start: Nanos(123_456_789_012),
            fct: Some(Nanos(12_345_678_901)),
            ..flow(number, None)
        })
        .collect();
    report.summary.flows_total = 1_000_060;
    report.summary.flows_completed = 1_000_060;
    report.paused = (0..60).map(|pair| paused(name, name, 1_000_000 + pair, 1 << 33)).collect();
    report.lossless = vec![0, 1, 2, 3, 4, 5, 6, 7];
    let text = report.render(Style::plain());
    assert!(widest(&text) <= 100, "{text}");
    assert!(text.contains("and 1,000,040 flows with less slowdown\n"));
    report.summary.flows_completed = 1_000_000;
    let text = report.render(Style::plain());
    assert!(text.contains("and 1,000,040 flows more\n"), "60 are not done, of which 20 are shown");
    assert!(text.contains("  40 more  "));
    assert_eq!(text.matches("a-switch").count(), TABLE_ROWS * 2);
}

#[test]
fn plain_text_has_no_escapes_and_colours_change_nothing_else() {
    let (plain, ansi) = (report().render(Style::plain()), report().render(Style::ansi()));
    assert!(!plain.contains('\x1b') && ansi.contains('\x1b'));
    let mut stripped = ansi;
    for code in ["0", "1", "31", "32", "33"] {
        stripped = stripped.replace(&format!("\x1b[{code}m"), "");
    }
    assert_eq!(stripped, plain);
}

#[test]
fn an_interrupted_run_says_so() {
    let mut report = report();
    report.summary.ended = RunEnd::Interrupted;
    report.summary.flows_completed = 3;
    let why = "the run was interrupted at 655301 ns, with 1 flow under way";
    report.summary.unfinished = Some(why.into());
    let text = report.render(Style::plain());
    assert!(text.contains("3 of 4 flows completed in 655.301 us, until the interrupt; lossless"));
    assert!(text.contains(&format!("\nunfinished: {why}\n")), "{text}");
}

#[test]
fn a_deadlock_says_who_waits_for_whom() {
    let mut report = report();
    report.summary.ended = RunEnd::Deadlock;
    report.summary.flows_completed = 3;
    report.summary.deadlock =
        DeadlockTotals { deadlocks: 2, dissolved: 4, at_end: true, ..DeadlockTotals::default() };
    report.first_deadlock = Some(ReportedDeadlock {
        onset: Nanos(33_836),
        confirmed: Nanos(45_059),
        end: None,
        priorities: [3].into(),
        queues: ["spine0->leaf1", "leaf1->spine0"].map(str::to_owned).to_vec(),
    });
    let text = report.render(Style::plain());
    assert!(text.contains("3 of 4 flows completed in 655.301 us, until the deadlock; lossless"));
    let section = "\nDeadlock\n\
        priority 3, from 33.836 us, certain at 45.059 us: these egress queues wait for each other\n\
        spine0->leaf1 leaf1->spine0\n\
        and 1 deadlock since then\n\
        cycles of waiting that dissolved: 4\n\n";
    assert!(text.contains(section), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100));

    report.first_deadlock.as_mut().unwrap().priorities.insert(5);
    let text = report.render(Style::plain());
    assert!(text.contains("\npriorities 3, 5, from 33.836 us"), "{text}");

    report.first_deadlock.as_mut().unwrap().end = Some(Nanos(388_001));
    report.summary.deadlock.undecided = 2;
    let text = report.render(Style::plain());
    assert!(text.contains("until a PAUSE ran out at 388.001 us"), "{text}");
    assert!(text.contains("\ncycles of waiting that were undecided at the end: 2\n"), "{text}");
}

#[test]
fn each_class_of_loss_is_named() {
    let mut report = report();
    for (frames, reason) in [
        (1, DropReason::HeadroomExhausted),
        (20, DropReason::NoRoute),
        (300, DropReason::RingFull),
        (4000, DropReason::LinkDown),
        (50_000, DropReason::GlobalPause),
    ] {
        report.summary.drops.add(reason, frames);
    }
    let text = report.render(Style::plain());
    let losses = "\n50,000 control frames without effect, which are no loss\n\
        4,321 frames lost: 1 by policy, 20 for what they were, 300 by the machine below, 4,000 by \
        injected faults\n";
    assert!(text.contains(losses), "{text}");
}

#[test]
fn measured_links_follow_the_buffer() {
    let range = LinkDelayRange {
        exchanges: 1234,
        link_delay: (Nanos(100), Nanos(1500)),
        headroom: (Bytes(9_123), Bytes(44_300)),
    };
    let text = RunReport { link_delays: Some(range), ..report() }.render(Style::plain());
    let line = text.lines().find(|line| line.starts_with("links: "));
    let expected =
        "links: 100 ns to 1.5 us (1,234 exchanges); headroom of a queue 9.123 kB to 44.3 kB";
    assert_eq!(line, Some(expected));
    assert!(widest(&text) <= 100, "{}", widest(&text));
    assert!(!report().render(Style::plain()).contains("links: "));
}

#[test]
fn two_sizes_differ() {
    let mut report = report();
    report.fct_by_size.push(size_row(1_000_000, None, 7));
    let text = report.render(Style::plain());
    assert!(text.contains("\nSlowdown by size\n"), "{text}");
}

#[test]
fn cycles_of_each_fate_alone_have_their_section() {
    let section = |deadlock: DeadlockTotals| {
        let mut report = report();
        report.summary.deadlock = deadlock;
        report.first_deadlock = (deadlock.deadlocks > 0).then(|| ReportedDeadlock {
            onset: Nanos(1),
            confirmed: Nanos(2),
            end: None,
            priorities: [3].into(),
            queues: vec!["a->b".into()],
        });
        let text = report.render(Style::plain());
        let section = text.split("\n\n").find_map(|part| part.strip_prefix("Deadlock\n"));
        section.map(|section| section.lines().skip(usize::from(deadlock.deadlocks > 0)).collect())
    };
    let none = DeadlockTotals::default();
    assert_eq!(section(none), None::<Vec<String>>.map(|lines| lines.concat()));
    assert_eq!(section(DeadlockTotals { deadlocks: 1, ..none }).as_deref(), Some("a->b"));
    assert_eq!(
        section(DeadlockTotals { dissolved: 1, ..none }).as_deref(),
        Some("cycles of waiting that dissolved: 1")
    );
    assert_eq!(
        section(DeadlockTotals { undecided: 1, ..none }).as_deref(),
        Some("cycles of waiting that were undecided at the end: 1")
    );
}

#[test]
fn the_buffer_over_time_is_that_of_the_switch_that_is_shown() {
    let mut report = report();
    let other = OccupancyRow { node: "leaf1".into(), ..occupied(QueueKind::Buffer, 1) };
    report.occupancy =
        vec![other, occupied(QueueKind::Headroom, 2), occupied(QueueKind::Buffer, 3_000)];
    let text = report.render(Style::plain());
    assert!(
        text.contains("\nover time: mean 3 kB, p50 3 kB, p99 800 kB, p99.9 900 kB\n"),
        "{text}"
    );
}

#[test]
fn a_run_that_took_no_time_has_no_rate() {
    let mut report = report();
    (report.summary.cpu_seconds, report.summary.threads) = (0.0, 1);
    let text = report.render(Style::plain());
    assert!(text.contains("\n0.412 s wall, 0.000 s CPU\n"), "{text}");
}

#[test]
fn a_file_that_was_cut_is_named_below_the_files() {
    let mut report = report();
    report.summary.truncated = vec!["flow_trace.csv ends with its 2 rows".into()];
    let text = report.render(Style::plain());
    assert!(
        text.contains("\ntruncated: flow_trace.csv ends with its 2 rows\n\nThe PAUSE"),
        "{text}"
    );
}

#[test]
fn effects_of_faults_are_reported_in_a_line() {
    let none = FaultTotals::default();
    assert_eq!(described_faults(&none), None);
    let some = FaultTotals { lost: 1, sent_while_down: 2000, reroutes: 2, ..none };
    let line =
        "faults: 1 frame lost, 2,000 frames sent while their wire was down, 2 changes of routes";
    assert_eq!(described_faults(&some).as_deref(), Some(line));
    let mut report = report();
    report.summary.faults = Some(some);
    assert!(report.render(Style::plain()).contains(&format!("\n{line}\n")));
}
