//! Flows that lose packets, go on for ever, are cut or throttled, and what is recorded of them.

use std::fs::File;

use insta::assert_snapshot;
use pcap_file::pcapng::{Block, PcapNgReader};
use results::{RunEnd, Summary};

use super::{Left, both, funnel};
use crate::engine::tests::flow;

fn loss(wire: &str, which: &str) -> String {
    format!("[[faults]]\nkind = \"loss\"\nwire = \"{wire}\"\n{which}\n")
}

/// The third packet of h1 and the first PAUSE to it are lost, and headroom is too small for what comes then.
#[test]
fn lost_frames_are_named_and_sent_again() {
    let faults = loss("h1->s0", "match = \"data\"\nnth = [3]")
        + &loss("s0->h1", "match = \"pause\"\nnth = [1]");
    let settings = [
        "switch.headroom={ kind = \"sih\", bytes = \"3kB\" }",
        "switch.pause_quanta=800",
        "host.retransmission_timeout=50us",
    ];
    let left = Left::by(&(funnel(&both()) + &faults), &settings);
    assert_snapshot!(left.counted(), @r#"
    funnel, seed 5: 2 of 2 flows, 102 hops, Drained at 144152
    7 PAUSE, 4 of them refresh, 3 RESUME
    0 marked, 0 CNPs, 22 sent again
    dropped {"headroom-exhausted": 9, "injected-loss": 2}, at most held {"s0": 12696}, in headroom {"s0": 4232}
    unfinished None, books [], limits [
        "s0 dropped 9 lossless packets (headroom-exhausted): the headroom of its ingress queue was full; raise `switch.headroom.bytes`, or leave it out for what the links need; faults took 1 PAUSE frame of the switch",
    ]
    "#);
    assert_snapshot!(left.tables(&["flows.csv", "drops.csv", "pauses.csv"]), @r"
    flows.csv
    1,one,h2,h0,3,8000,0,135496,40216,3.3692,4,0,roce-rc,none,h2>s0>h0
    0,one,h1,h0,3,12000,0,144152,57528,2.5058,18,0,roce-rc,none,h1>s0>h0
    drops.csv
    2180,h1->s0,,3,injected-loss,injected,1058
    8590,s0->h1,,,injected-loss,injected,60
    9672,s0,2,3,headroom-exhausted,policy,1058
    10754,s0,1,3,headroom-exhausted,policy,1058
    12918,s0,1,3,headroom-exhausted,policy,1058
    14000,s0,1,3,headroom-exhausted,policy,1058
    35870,s0,1,3,headroom-exhausted,policy,1058
    36952,s0,1,3,headroom-exhausted,policy,1058
    38034,s0,1,3,headroom-exhausted,policy,1058
    39116,s0,1,3,headroom-exhausted,policy,1058
    40198,s0,1,3,headroom-exhausted,policy,1058
    pauses.csv
    6426,s0,2,h2,3,xoff,5306,5000,983578,queue
    8590,s0,1,h1,3,xoff,5290,5000,982536,queue
    32026,s0,2,h2,3,xoff-refresh,3174,5000,983594,queue
    34190,s0,1,h1,3,xoff-refresh,5290,5000,983594,queue
    36850,s0,2,h2,3,xon,2116,3000,984652,queue
    59790,s0,1,h1,3,xoff-refresh,3174,5000,987826,queue
    62818,s0,1,h1,3,xon,2116,3000,988884,queue
    91052,s0,1,h1,3,xoff,5290,5000,983594,queue
    116652,s0,1,h1,3,xoff-refresh,3174,5000,985710,queue
    123410,s0,1,h1,3,xon,2116,3000,987826,queue
    ");
}

/// Losses of a seed are equal in all versions.
#[test]
fn random_losses_stay_the_same() {
    let faults = loss("h*->s0", "match = \"all\"\nrate = 0.1");
    let left = Left::by(&(funnel(&both()) + &faults), &["host.retransmission_timeout=50us"]);
    assert_snapshot!(left.counted(), @r#"
    funnel, seed 5: 2 of 2 flows, 118 hops, Drained at 204744
    6 PAUSE, 0 of them refresh, 6 RESUME
    0 marked, 0 CNPs, 30 sent again
    dropped {"injected-loss": 4}, at most held {"s0": 15870}, in headroom {"s0": 7406}
    unfinished None, books [], limits []
    "#);
    assert_snapshot!(left.tables(&["flows.csv", "drops.csv"]), @r"
    flows.csv
    1,one,h2,h0,3,8000,0,105200,40216,2.6159,10,0,roce-rc,none,h2>s0>h0
    0,one,h1,h0,3,12000,0,204744,57528,3.5590,20,0,roce-rc,none,h1>s0>h0
    drops.csv
    2180,h1->s0,,3,injected-loss,injected,1058
    2180,h2->s0,,3,injected-loss,injected,1058
    6508,h2->s0,,3,injected-loss,injected,1058
    63902,h1->s0,,3,injected-loss,injected,1058
    ");
}

#[test]
fn a_run_that_is_cut_has_what_came_until_then() {
    let settings = [
        "duration=40us",
        "results.throughput={ interval = \"10us\" }",
        "results.hpcc={ qlen_start = \"0s\", qlen_interval = \"5us\", qlen_dump_interval = \"20us\" }",
        "flows.0.start=3us",
    ];
    let left = Left::by(&funnel(&both()), &settings);
    assert_snapshot!(left.counted(), @r#"
    funnel, seed 5: 0 of 2 flows, 32 hops, Duration at 40000
    2 PAUSE, 0 of them refresh, 1 RESUME
    0 marked, 0 CNPs, 0 sent again
    dropped {}, at most held {"s0": 15886}, in headroom {"s0": 7406}
    unfinished Some("2 flows had not completed when the duration of 40000 ns was over"), books [], limits []
    "#);
    assert_snapshot!(left.tables(&["flows.csv", "throughput.csv"]), @r"
    flows.csv
    0,one,h2,h0,3,8000,0,,40216,,0,0,roce-rc,none,h2>s0>h0
    1,one,h1,h0,3,12000,3000,,57528,,0,0,roce-rc,none,h1>s0>h0
    throughput.csv
    0,0,1000,800000000
    10000,0,2000,1600000000
    20000,0,1000,800000000
    20000,1,2000,1600000000
    30000,0,1000,800000000
    30000,1,1000,800000000
    ");
    assert_snapshot!(left.files(&["pfc.txt", "qlen.txt"]), @r"
    pfc.txt
    9674 2 0 1 1
    10510 1 0 1 1
    37934 2 0 1 0
    qlen.txt
    time: 0
    3 1 1
    3 2 1
    3 3 1
    time: 20000
    3 1 1 0 1 0 0 0 0 0 0 0 0 1 0 0 1 1
    3 2 5
    3 3 5
    time: 40000
    3 1 1 0 1 0 0 0 0 0 0 0 1 2 1 1 1 1
    3 2 9
    3 3 9
    ");
}

/// A flow that lasts for ever does not make a run unfinished, and counts only if it completes.
#[test]
fn a_run_of_flows_that_last_ends_with_its_duration() {
    let lasting = "[[flows]]\nkind = \"long-lived\"\nsenders = [\"h1\"]\nreceiver = \"h0\"\n";
    let left = Left::by(&funnel(&(flow("h2", "h0", 2_000) + lasting)), &["duration=60us"]);
    assert_snapshot!(left.counted(), @r#"
    funnel, seed 5: 1 of 1 flows, 43 hops, Duration at 60000
    2 PAUSE, 0 of them refresh, 1 RESUME
    0 marked, 0 CNPs, 0 sent again
    dropped {}, at most held {"s0": 11638}, in headroom {"s0": 6348}
    unfinished None, books [], limits []
    "#);
    assert_snapshot!(left.tables(&["flows.csv"]), @"
    flows.csv
    0,one,h2,h0,3,2000,0,22968,14248,1.6120,0,0,roce-rc,none,h2>s0>h0
    1,long-lived,h1,h0,3,60000,0,,265272,,0,0,roce-rc,none,h1>s0>h0
    ");
}

/// Packets that find 2 kB before them are marked, some at first and all from 4 kB on; their receiver asks
/// the senders to slow down.
#[test]
fn marked_packets_throttle_their_senders() {
    let settings = [
        "host.transport={ kind = \"roce-rc\", congestion_control = \"dcqcn\" }",
        "switch.ecn={ kmin = \"2kB\", kmax = \"4kB\", pmax = 0.5 }",
        "flows.0.bytes=30kB",
    ];
    let left = Left::by(&funnel(&both()), &settings);
    assert_snapshot!(left.counted(), @r#"
    funnel, seed 5: 2 of 2 flows, 132 hops, Drained at 233878
    2 PAUSE, 0 of them refresh, 2 RESUME
    16 marked, 16 CNPs, 0 sent again
    dropped {}, at most held {"s0": 17986}, in headroom {"s0": 9522}
    unfinished None, books [], limits []
    "#);
    assert_snapshot!(left.tables(&["flows.csv", "pauses.csv"]), @r"
    flows.csv
    1,one,h2,h0,3,8000,0,75296,40216,1.8723,0,8,roce-rc,dcqcn,h2>s0>h0
    0,one,h1,h0,3,30000,0,233878,135432,1.7269,0,8,roce-rc,dcqcn,h1>s0>h0
    pauses.csv
    6426,s0,2,h2,3,xoff,5306,5000,965366,queue
    7508,s0,1,h1,3,xoff,5290,5000,965382,queue
    49834,s0,2,h2,3,xon,2116,3000,967498,queue
    75802,s0,1,h1,3,xon,2116,3000,971730,queue
    ");
}

/// Every port measures its link at once and then every 20 us, as long as there are flows.
#[test]
fn links_are_measured_while_there_are_flows() {
    let settings = ["switch.headroom={ kind = \"adaptive\", bytes = \"20kB\", period = \"20us\" }"];
    let lost = loss("s0->h2", "match = \"link-delay\"\nnth = [2]");
    let left = Left::by(&(funnel(&flow("h1", "h0", 12_000)) + &lost), &settings);
    assert_snapshot!(left.counted(), @r#"
    funnel, seed 5: 1 of 1 flows, 48 hops, Drained at 58200
    1 PAUSE, 0 of them refresh, 1 RESUME
    0 marked, 0 CNPs, 0 sent again
    dropped {"injected-loss": 1}, at most held {"s0": 9522}, in headroom {"s0": 5290}
    unfinished None, books [], limits []
    "#);
    assert_snapshot!(left.tables(&["flows.csv", "link_delay.csv"]), @r"
    flows.csv
    0,one,h1,h0,3,12000,0,58200,57528,1.0117,0,0,roce-rc,none,h1>s0>h0
    link_delay.csv
    2168,s0,2,h2,1000,3840,9220
    2182,s0,1,h1,1000,3840,9220
    2672,s0,0,h0,1000,15360,7719
    22168,s0,1,h1,1000,3840,9220
    26474,s0,0,h0,1000,15360,7719
    42168,s0,1,h1,1000,3840,9220
    42168,s0,2,h2,1000,3840,9220
    44122,s0,0,h0,1000,15360,7719
    ");
}

/// Frames of the capture as (interface, time, length).
fn captured(left: &Left) -> String {
    let file = File::open(left.folder.path().join("capture.pcapng")).expect("a capture");
    let mut reader = PcapNgReader::new(file).expect("a section");
    let mut frames = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.expect("a block").0 {
            let (interface, time) = (packet.interface_id, packet.timestamp.as_nanos());
            frames.push(format!("{interface} {time} {}\n", packet.original_len));
        }
    }
    frames.concat()
}

/// Interfaces in the order of wires; one wire may have several.
#[test]
fn a_capture_has_the_frames_that_it_asks_for() {
    let capture = |wires: &str, filter: &str| {
        format!("[[captures]]\nwires = [\"{wires}\"]\nfilter = \"{filter}\"\n")
    };
    let captures =
        capture("s0->h1", "pfc") + &capture("h1->s0", "data") + &capture("h0->s0", "cnp");
    let settings = [
        "host.transport={ kind = \"roce-rc\", congestion_control = \"dcqcn\" }",
        "switch.ecn={ kmin = \"2kB\", kmax = \"4kB\", pmax = 0.5 }",
    ];
    let left = Left::by(&(funnel(&both()) + &captures), &settings);
    assert_snapshot!(captured(&left), @r"
    1 2098 1074
    1 3180 1058
    1 4262 1058
    1 5344 1058
    1 6426 1058
    1 7508 1058
    1 8590 1058
    2 8592 60
    1 9672 1058
    1 10754 1058
    1 11836 1058
    1 12918 1058
    0 13274 74
    1 14000 1058
    0 17602 74
    0 21930 74
    0 26258 74
    0 30586 74
    0 34914 74
    0 39242 74
    0 43570 74
    0 47898 74
    0 52226 74
    0 56554 74
    0 60882 74
    0 65210 74
    0 69538 74
    0 73866 74
    2 76886 60
    0 78194 74
    ");
    let all = Left::by(&(funnel(&flow("h1", "h0", 2_000)) + &capture("*->s0", "all")), &[]);
    assert_snapshot!(captured(&all), @r"
    1 2098 1074
    1 3180 1058
    0 13162 62
    ");
}

/// Events at the last instant of the duration still run.
#[test]
fn a_flow_may_complete_with_its_duration() {
    let text = funnel(&flow("h1", "h0", 1_000));
    let whole = Left::by(&text, &[]).summary;
    let end = whole.fct_ns.expect("one flow").max;
    let of = |duration: u64| {
        let Summary { ended, flows_completed, emulated_ns, unfinished, .. } =
            Left::by(&text, &[&format!("duration={duration}ns")]).summary;
        (ended, flows_completed, emulated_ns, unfinished.is_none())
    };
    assert_eq!(of(end), (RunEnd::Drained, 1, end, true));
    assert_eq!(of(end - 1), (RunEnd::Duration, 0, end - 1, false));
}

/// h1's third packet is lost: what comes behind it counts only when it has come again, after a NAK.
#[test]
fn throughput_counts_what_arrives_in_order() {
    let lost = loss("h1->s0", "match = \"data\"\nnth = [3]");
    let settings =
        ["results.throughput={ interval = \"3us\" }", "host.retransmission_timeout=50us"];
    let left = Left::by(&(funnel(&flow("h1", "h0", 6_000)) + &lost), &settings);
    assert_snapshot!(left.tables(&["flows.csv", "throughput.csv"]), @r"
    flows.csv
    0,one,h1,h0,3,6000,0,44544,31560,1.4114,4,0,roce-rc,none,h1>s0>h0
    throughput.csv
    6000,0,1000,2666666667
    9000,0,1000,2666666667
    27000,0,1000,2666666667
    33000,0,1000,2666666667
    36000,0,1000,2666666667
    42000,0,1000,2666666667
    ");
}
