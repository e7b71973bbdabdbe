//! Pauses of queues and ports, cycles of pauses, and measurements of all.

use insta::assert_snapshot;

use super::{Left, both, funnel};
use crate::engine::tests::flow;

/// Both hosts are paused, by the frame that finds 5 kB, and again after half of 400 quanta of 64 ns.
fn pauses_of_queues() -> Left {
    let settings =
        ["switch.pause_quanta=400", "results.distributions=true", "results.occupancy=true"];
    Left::by(&funnel(&both()), &settings)
}

#[test]
fn queues_pause_refresh_and_resume() {
    let left = pauses_of_queues();
    assert_snapshot!(left.counted(), @r#"
    funnel, seed 5: 2 of 2 flows, 62 hops, Drained at 92216
    10 PAUSE, 8 of them refresh, 2 RESUME
    0 marked, 0 CNPs, 0 sent again
    dropped {}, at most held {"s0": 17986}, in headroom {"s0": 9522}
    unfinished None, books [], limits []
    "#);
    let tables = ["flows.csv", "pauses.csv", "pause_time.csv"];
    assert_snapshot!(left.tables(&tables), @r"
    flows.csv
    1,one,h2,h0,3,8000,0,74904,40216,1.8625,0,0,roce-rc,none,h2>s0>h0
    0,one,h1,h0,3,12000,0,92216,57528,1.6030,0,0,roce-rc,none,h1>s0>h0
    pauses.csv
    6426,s0,2,h2,3,xoff,5306,5000,965366,queue
    7508,s0,1,h1,3,xoff,5290,5000,965382,queue
    19226,s0,2,h2,3,xoff-refresh,6348,5000,965382,queue
    20308,s0,1,h1,3,xoff-refresh,9522,5000,965382,queue
    32026,s0,2,h2,3,xoff-refresh,5290,5000,965382,queue
    33108,s0,1,h1,3,xoff-refresh,8464,5000,965382,queue
    44826,s0,2,h2,3,xoff-refresh,3174,5000,966440,queue
    45908,s0,1,h1,3,xoff-refresh,6348,5000,966440,queue
    49834,s0,2,h2,3,xon,2116,3000,967498,queue
    58708,s0,1,h1,3,xoff-refresh,5290,5000,968556,queue
    71508,s0,1,h1,3,xoff-refresh,3174,5000,970672,queue
    75802,s0,1,h1,3,xon,2116,3000,971730,queue
    pause_time.csv
    h1,0,3,s0,1,64454,0.698945,64454,1,68294
    h2,0,3,s0,1,39568,0.429079,39568,1,43408
    ");
}

#[test]
fn queues_are_sampled_measured_and_followed() {
    let left = pauses_of_queues();
    let tables = ["queues.csv", "distributions.csv", "occupancy.csv"];
    assert_snapshot!(left.tables(&tables), @r"
    queues.csv
    20000,s0,headroom,,,7406
    20000,s0,shared,,,8464
    20000,s0,buffer,,,15870
    20000,s0,egress,0,3,15870
    20000,s0,ingress,1,3,9522
    20000,s0,ingress-headroom,1,3,5290
    20000,s0,ingress,2,3,6348
    20000,s0,ingress-headroom,2,3,2116
    40000,s0,headroom,,,3174
    40000,s0,buffer,,,11638
    40000,s0,egress,0,3,11638
    40000,s0,ingress,1,3,7406
    40000,s0,ingress-headroom,1,3,3174
    40000,s0,ingress,2,3,4232
    40000,s0,ingress-headroom,2,3,0
    60000,s0,headroom,,,1058
    60000,s0,shared,,,5290
    60000,s0,buffer,,,6348
    60000,s0,egress,0,3,6348
    60000,s0,ingress,1,3,5290
    60000,s0,ingress-headroom,1,3,1058
    60000,s0,ingress,2,3,1058
    80000,s0,headroom,,,0
    80000,s0,shared,,,2116
    80000,s0,buffer,,,2116
    80000,s0,egress,0,3,2116
    80000,s0,ingress,1,3,2116
    80000,s0,ingress-headroom,1,3,0
    80000,s0,ingress,2,3,0
    distributions.csv
    switch-headroom,404,1,0.333333
    switch-headroom,2830,1,0.666666
    switch-headroom,3640,1,1.000000
    port-headroom,1147,1,0.250000
    port-headroom,3442,1,0.500000
    port-headroom,4588,1,0.750000
    port-headroom,6884,1,1.000000
    queue-headroom,1147,1,0.250000
    queue-headroom,3442,1,0.500000
    queue-headroom,4588,1,0.750000
    queue-headroom,6884,1,1.000000
    queues-off,1,13048,0.235634
    queues-off,2,42326,1.000000
    port-queues-off,1,80388,1.000000
    arrival-rate,3126,1,0.500000
    arrival-rate,6252,1,1.000000
    departure-rate,1042,1,0.500000
    departure-rate,1058,1,1.000000
    pause-duration,43392,1,0.500000
    pause-duration,68288,1,1.000000
    occupancy.csv
    s0,buffer,8296,8448,15808,17920,17920,17986
    s0,shared,5673,6336,8448,8448,8448,8526
    s0,headroom,2622,2112,7392,9472,9472,9522
    ");
}

/// Three classes of one port: first frames of their own queues pause them, then the port pauses all at once. Its
/// RESUME leaves out classes whose queues are OFF, and renews their pauses.
fn pauses_of_ports() -> Left {
    let flows = [1, 2, 3].map(|class| format!("{}priority = {class}\n", flow("h1", "h0", 7_000)));
    let settings = [
        "switch.lossless=[1, 2, 3]",
        "switch.buffer=40kB",
        "switch.headroom={ kind = \"dsh\", port_xon_offset = \"2kB\" }",
        "switch.threshold={ kind = \"dt\", alpha = \"1/4\", xon_offset = \"2kB\" }",
        "switch.pause_quanta=300",
        "results.distributions=true",
    ];
    Left::by(&funnel(&flows.concat()), &settings)
}

#[test]
fn ports_pause_all_classes_and_resume_those_whose_queues_are_on() {
    let left = pauses_of_ports();
    assert_snapshot!(left.counted(), @r#"
    funnel, seed 5: 3 of 3 flows, 80 hops, Drained at 96608
    18 PAUSE, 6 of them refresh, 8 RESUME
    0 marked, 0 CNPs, 0 sent again
    dropped {}, at most held {"s0": 9522}, in headroom {"s0": 3174}
    unfinished None, books [], limits []
    "#);
    let tables = ["flows.csv", "pauses.csv", "pause_time.csv"];
    assert_snapshot!(left.tables(&tables), @r"
    flows.csv
    0,one,h1,h0,1,7000,0,83624,35888,2.3301,0,0,roce-rc,none,h1>s0>h0
    2,one,h1,h0,3,7000,0,92280,35888,2.5713,0,0,roce-rc,none,h1>s0>h0
    1,one,h1,h0,2,7000,0,96608,35888,2.6919,0,0,roce-rc,none,h1>s0>h0
    pauses.csv
    2098,s0,1,h1,1,xoff,1074,0,12772,queue
    2098,s0,1,h1,1,xon,0,0,13846,queue
    3180,s0,1,h1,1,xoff,1058,0,12788,queue
    4278,s0,1,h1,2,xoff,1074,0,11714,queue
    5376,s0,1,h1,3,xoff,1074,355,10640,queue
    6490,s0,1,h1,2,xon,0,0,10656,queue
    7540,s0,1,h1,2,xoff,1058,0,9598,queue
    9704,s0,1,h1,1,xon,6364,5610,7482,queue
    9704,s0,1,h1,1,xoff,6364,5610,7482,port
    9704,s0,1,h1,2,xon,6364,5610,7482,queue
    9704,s0,1,h1,2,xoff,6364,5610,7482,port
    9704,s0,1,h1,3,xon,6364,5610,7482,queue
    9704,s0,1,h1,3,xoff,6364,5610,7482,port
    19304,s0,1,h1,1,xoff-refresh,8464,5571,7429,port
    19304,s0,1,h1,2,xoff-refresh,8464,5571,7429,port
    19304,s0,1,h1,3,xoff-refresh,8464,5571,7429,port
    28904,s0,1,h1,1,xoff-refresh,5290,6417,8556,port
    28904,s0,1,h1,2,xoff-refresh,5290,6417,8556,port
    28904,s0,1,h1,3,xoff-refresh,5290,6417,8556,port
    32586,s0,1,h1,3,xon,4232,5209,9614,port
    32586,s0,1,h1,1,xon,1058,0,9614,port
    32586,s0,1,h1,1,xoff-refresh,1058,0,9614,queue
    32586,s0,1,h1,2,xon,3174,0,9614,port
    32586,s0,1,h1,2,xoff-refresh,3174,0,9614,queue
    35752,s0,1,h1,3,xoff,1058,0,8556,queue
    36834,s0,1,h1,1,xon,6348,5622,7498,queue
    36834,s0,1,h1,1,xoff,6348,5622,7498,port
    36834,s0,1,h1,2,xon,6348,5622,7498,queue
    36834,s0,1,h1,2,xoff,6348,5622,7498,port
    36834,s0,1,h1,3,xon,6348,5622,7498,queue
    36834,s0,1,h1,3,xoff,6348,5622,7498,port
    46434,s0,1,h1,1,xoff-refresh,5290,6417,8556,port
    46434,s0,1,h1,2,xoff-refresh,5290,6417,8556,port
    46434,s0,1,h1,3,xoff-refresh,5290,6417,8556,port
    49898,s0,1,h1,1,xon,4232,5209,9614,port
    49898,s0,1,h1,2,xon,1058,0,9614,port
    49898,s0,1,h1,2,xoff-refresh,1058,0,9614,queue
    49898,s0,1,h1,3,xon,3174,0,9614,port
    49898,s0,1,h1,3,xoff-refresh,3174,0,9614,queue
    53064,s0,1,h1,1,xoff,1058,0,8556,queue
    54146,s0,1,h1,1,xon,6348,5622,7498,queue
    54146,s0,1,h1,1,xoff,6348,5622,7498,port
    54146,s0,1,h1,2,xon,6348,5622,7498,queue
    54146,s0,1,h1,2,xoff,6348,5622,7498,port
    54146,s0,1,h1,3,xon,6348,5622,7498,queue
    54146,s0,1,h1,3,xoff,6348,5622,7498,port
    62882,s0,1,h1,2,xon,4232,5209,9614,port
    62882,s0,1,h1,1,xon,2116,0,9614,port
    62882,s0,1,h1,1,xoff-refresh,2116,0,9614,queue
    62882,s0,1,h1,3,xon,2116,0,9614,port
    62882,s0,1,h1,3,xoff-refresh,2116,0,9614,queue
    66048,s0,1,h1,2,xoff,1058,0,8556,queue
    67130,s0,1,h1,1,xon,6348,5622,7498,queue
    67130,s0,1,h1,1,xoff,6348,5622,7498,port
    67130,s0,1,h1,2,xon,6348,5622,7498,queue
    67130,s0,1,h1,2,xoff,6348,5622,7498,port
    67130,s0,1,h1,3,xon,6348,5622,7498,queue
    67130,s0,1,h1,3,xoff,6348,5622,7498,port
    71538,s0,1,h1,1,xon,1058,0,9614,port
    71538,s0,1,h1,1,xoff-refresh,1058,0,9614,queue
    71538,s0,1,h1,2,xon,2116,0,9614,port
    71538,s0,1,h1,2,xoff-refresh,2116,0,9614,queue
    71538,s0,1,h1,3,xon,1058,0,9614,port
    71538,s0,1,h1,3,xoff-refresh,1058,0,9614,queue
    75866,s0,1,h1,1,xon,0,0,10672,queue
    81138,s0,1,h1,2,xoff-refresh,1058,0,11730,queue
    81138,s0,1,h1,3,xoff-refresh,1058,0,11730,queue
    84522,s0,1,h1,3,xon,0,0,12788,queue
    88850,s0,1,h1,2,xon,0,0,13846,queue
    pause_time.csv
    h1,0,1,s0,3,61840,0.640112,42878,7,69520
    h1,0,2,s0,3,70464,0.729380,51502,7,80356
    h1,0,3,s0,2,68300,0.706980,44930,6,75980
    ");
}

#[test]
fn paused_ports_and_their_queues_are_measured() {
    let left = pauses_of_ports();
    assert_snapshot!(left.tables(&["distributions.csv"]), @r"
    distributions.csv
    switch-headroom,404,2,0.666666
    switch-headroom,1213,1,1.000000
    port-headroom,1147,2,0.666666
    port-headroom,3442,1,1.000000
    queue-headroom,1147,3,0.750000
    queue-headroom,2294,1,1.000000
    queues-off,2,2244,0.155811
    queues-off,3,12158,1.000000
    port-queues-off,2,2244,0.155811
    port-queues-off,3,12158,1.000000
    arrival-rate,1042,1,0.166666
    arrival-rate,2084,3,0.666666
    arrival-rate,3126,2,1.000000
    departure-rate,0,2,0.333333
    departure-rate,1042,1,0.500000
    departure-rate,1058,3,1.000000
    pause-duration,0,1,0.125000
    pause-duration,2212,1,0.250000
    pause-duration,22800,2,0.500000
    pause-duration,22880,1,0.625000
    pause-duration,33728,1,0.750000
    pause-duration,48768,1,0.875000
    pause-duration,51008,1,1.000000
    ports-off,1,14402,1.000000
    port-arrival-rate,0,1,0.250000
    port-arrival-rate,1042,1,0.500000
    port-arrival-rate,2084,1,0.750000
    port-arrival-rate,4168,1,1.000000
    port-departure-rate,2084,3,0.750000
    port-departure-rate,2100,1,1.000000
    port-pause-duration,4408,1,0.250000
    port-pause-duration,8736,1,0.500000
    port-pause-duration,13064,1,0.750000
    port-pause-duration,22880,1,1.000000
    ");
}

/// The control plane computes thresholds every 10 us; they are constant in between.
#[test]
fn thresholds_may_be_those_of_the_control_plane() {
    let settings = [
        "switch.thresholds={ period = \"10us\" }",
        "switch.threshold={ kind = \"dt\", alpha = \"1/256\" }",
    ];
    let left = Left::by(&funnel(&both()), &settings);
    assert_snapshot!(left.tables(&["flows.csv", "pauses.csv"]), @r"
    flows.csv
    1,one,h2,h0,3,8000,0,74904,40216,1.8625,0,0,roce-rc,none,h2>s0>h0
    0,one,h1,h0,3,12000,0,92216,57528,1.6030,0,0,roce-rc,none,h1>s0>h0
    pauses.csv
    5344,s0,2,h2,3,xoff,4248,3804,967482,queue
    6426,s0,1,h1,3,xoff,4232,3804,967482,queue
    41178,s0,2,h2,3,xon,3174,3779,967498,queue
    62818,s0,1,h1,3,xon,3174,3787,969614,queue
    65984,s0,1,h1,3,xoff,4232,3787,969614,queue
    71474,s0,1,h1,3,xon,3174,3791,970672,queue
    ");
}

const DEADLOCK: &str = include_str!("../../../../../scenarios/deadlock.toml");

#[test]
fn a_run_stops_at_its_deadlock_and_writes_down_its_cycles() {
    let left = Left::by(DEADLOCK, &[]);
    assert_snapshot!(left.counted(), @r#"
    deadlock, seed 1: 0 of 16 flows, 3943 hops, Deadlock at 33120
    71 PAUSE, 0 of them refresh, 48 RESUME
    0 marked, 0 CNPs, 0 sent again
    dropped {}, at most held {"leaf0": 183034, "leaf1": 265558, "leaf2": 246514, "leaf3": 183034, "spine0": 165048, "spine1": 166106}, in headroom {"leaf0": 89930, "leaf1": 148120, "leaf2": 131192, "leaf3": 89930, "spine0": 80408, "spine1": 81466}
    unfinished None, books [], limits []
    "#);
    assert_snapshot!(left.tables(&["deadlocks.csv"]), @"
    deadlocks.csv
    0,31724,33120,,leaf1->spine0 spine0->leaf2 leaf2->spine1 spine1->leaf1,3 3 3 3,queue queue queue queue,1
    ");
    let on = Left::by(DEADLOCK, &["stop=done", "duration=40us"]);
    assert_eq!(on.tables(&["deadlocks.csv"]), left.tables(&["deadlocks.csv"]));
    assert_eq!(on.summary.emulated_ns, 40_000);
}

/// Traffic between leaf0 and leaf3 has priority 3, between leaf1 and leaf2 priority 5: queues alone never wait in a
/// cycle, but ports do. Stuck bytes of one priority keep the port OFF, and so the other priority.
#[test]
fn ports_wait_for_each_other() {
    let (outer, inner) = DEADLOCK.split_once("label = \"1 to 2\"").expect("the incasts in order");
    let inner = inner.replace("bytes = \"400kB\"", "bytes = \"400kB\"\npriority = 5");
    let text = format!("{outer}label = \"1 to 2\"{inner}");
    let settings = [
        "switch.lossless=[3, 5]",
        "switch.buffer=300kB",
        "switch.threshold.alpha=\"1/128\"",
        "switch.scheme={ kind = \"dsh\" }",
        "duration=60us",
        "stop=done",
    ];
    let left = Left::by(&text, &settings);
    assert_snapshot!(left.counted(), @r#"
    deadlock, seed 1: 0 of 16 flows, 2681 hops, Duration at 60000
    134 PAUSE, 0 of them refresh, 92 RESUME
    0 marked, 0 CNPs, 0 sent again
    dropped {}, at most held {"leaf0": 98394, "leaf1": 104742, "leaf2": 161874, "leaf3": 98394, "spine0": 62422, "spine1": 61364}, in headroom {"leaf0": 83430, "leaf1": 81526, "leaf2": 142854, "leaf3": 83430, "spine0": 46562, "spine1": 45504}
    unfinished Some("16 flows had not completed when the duration of 60000 ns was over, deadlocked since 21244 ns (leaf1->spine0 spine0->leaf2 leaf2->spine1 spine1->leaf1)"), books [], limits []
    "#);
    assert_snapshot!(left.tables(&["deadlocks.csv"]), @"
    deadlocks.csv
    0,21244,22640,,leaf1->spine0 spine0->leaf2 leaf2->spine1 spine1->leaf1,3 5 3 5,port port port port,1
    1,21437,22833,,spine0->leaf1 leaf1->spine1 spine1->leaf2 leaf2->spine0,5 3 5 3,port port port port,1
    ");
}

/// A cycle from which a packet can leave dissolves, and all flows complete.
#[test]
fn a_cycle_that_dissolves_is_no_deadlock() {
    let settings = ["switch.threshold.alpha=\"1/4\"", "switch.buffer=800kB"];
    let left = Left::by(DEADLOCK, &settings);
    assert_snapshot!(left.counted(), @r#"
    deadlock, seed 1: 16 of 16 flows, 40665 hops, Drained at 257813
    358 PAUSE, 0 of them refresh, 358 RESUME
    0 marked, 0 CNPs, 0 sent again
    dropped {}, at most held {"leaf0": 438012, "leaf1": 518482, "leaf2": 489854, "leaf3": 439070, "spine0": 384116, "spine1": 389344}, in headroom {"leaf0": 117438, "leaf1": 141772, "leaf2": 118496, "leaf3": 117438, "spine0": 78292, "spine1": 79350}
    unfinished None, books [], limits []
    "#);
    assert_snapshot!(left.tables(&["deadlocks.csv"]), @"
    deadlocks.csv
    0,74285,,77701,leaf1->spine0 spine0->leaf2 leaf2->spine1 spine1->leaf1,3 3 3 3,queue queue queue queue,0
    ");
}

/// Without shared headroom, the insurance bytes of a queue that is OFF stay there until a packet of it departs.
/// Behind a cycle no packet departs, so its port never resumes.
#[test]
fn insurance_that_stays_keeps_its_port_off() {
    let bytes = "bytes = \"400kB\"";
    let mut text = DEADLOCK.to_owned();
    for class in [5, 3, 5, 3] {
        // The first incast that has no priority yet.
        text = text.replacen(bytes, &format!("bytes = \"400000B\"\npriority = {class}"), 1);
    }
    for fourth in ["h3", "h15", "h7", "h11"] {
        text = text.replace(&format!(", \"{fourth}\"]"), "]");
    }
    let settings = [
        "switch.lossless=[3, 5]",
        "switch.buffer=2MB",
        "switch.headroom={ kind = \"dsh\", bytes = \"293590B\", shared_headroom = false }",
    ];
    assert_snapshot!(Left::by(&text, &settings).tables(&["deadlocks.csv"]), @"
    deadlocks.csv
    0,50201,,213415,leaf1->spine0 spine0->leaf2 leaf2->spine1 spine1->leaf1,3 5 5 3,port port port queue,0
    1,215508,216904,,leaf1->spine0 spine0->leaf2 leaf2->spine1 spine1->leaf1,3 5 5 3,port queue port queue,1
    ");
}

/// h1's packets wait at s0 behind a link that s1 pauses. The second to the fourth PAUSE are lost: the first runs
/// out after 300 quanta of 64 ns, and packets go on until the fifth.
#[test]
fn a_pause_between_switches_runs_out() {
    let link =
        |a, b, rate| format!("{{ a = \"{a}\", b = \"{b}\", rate = \"{rate}\", delay = \"1us\" }}");
    let links = [link("h1", "s0", "8Gbps"), link("s0", "s1", "8Gbps"), link("s1", "h0", "1Gbps")]
        .join(", ");
    let text = format!(
        "name = \"chain\"\nduration = \"1ms\"\n[topology]\nkind = \"custom\"
switches = [\"s0\", \"s1\"]\nhosts = [\"h0\", \"h1\"]\nlinks = [{links}]
[switch]\nbuffer = \"1MB\"\nlossless = [3]\nprivate_per_queue = \"0B\"\npause_quanta = 300
threshold = {{ kind = \"static\", xoff = \"5kB\", xon = \"3kB\" }}
headroom = {{ kind = \"sih\", bytes = \"50kB\" }}
[host]\ntransport = {{ kind = \"roce-rc\", congestion_control = \"none\" }}
[results]\nqueue_period = \"1ms\"\n[[faults]]\nkind = \"loss\"\nwire = \"s1->s0\"
match = \"pause\"\nnth = [2, 3, 4]\n{}",
        flow("h1", "h0", 20_000)
    );
    let left = Left::by(&text, &[]);
    assert_snapshot!(left.counted(), @r#"
    chain, seed 1: 1 of 1 flows, 91 hops, Drained at 182304
    17 PAUSE, 15 of them refresh, 2 RESUME
    0 marked, 0 CNPs, 0 sent again
    dropped {"injected-loss": 3}, at most held {"s0": 8464, "s1": 15932}, in headroom {"s0": 4232, "s1": 11638}
    unfinished None, books [], limits []
    "#);
    assert_snapshot!(left.tables(&["flows.csv", "pauses.csv", "pause_time.csv"]), @r"
    flows.csv
    0,one,h1,h0,3,20000,0,182304,182304,1.0000,0,0,roce-rc,none,h1>s0>s1>h0
    pauses.csv
    9606,s1,0,s0,3,xoff,5290,5000,895768,queue
    19206,s1,0,s0,3,xoff-refresh,10580,5000,895768,queue
    19410,s0,0,h1,3,xoff,5290,5000,895768,queue
    28806,s1,0,s0,3,xoff-refresh,9522,5000,895768,queue
    29010,s0,0,h1,3,xoff-refresh,8464,5000,895768,queue
    35300,s0,0,h1,3,xon,2116,3000,897884,queue
    38406,s1,0,s0,3,xoff-refresh,14812,5000,895768,queue
    48006,s1,0,s0,3,xoff-refresh,14812,5000,895768,queue
    57606,s1,0,s0,3,xoff-refresh,13754,5000,895768,queue
    67206,s1,0,s0,3,xoff-refresh,12696,5000,895768,queue
    76806,s1,0,s0,3,xoff-refresh,11638,5000,895768,queue
    86406,s1,0,s0,3,xoff-refresh,10580,5000,895768,queue
    96006,s1,0,s0,3,xoff-refresh,9522,5000,895768,queue
    105606,s1,0,s0,3,xoff-refresh,8464,5000,895768,queue
    115206,s1,0,s0,3,xoff-refresh,7406,5000,895768,queue
    124806,s1,0,s0,3,xoff-refresh,6348,5000,895768,queue
    134406,s1,0,s0,3,xoff-refresh,4232,5000,895768,queue
    144006,s1,0,s0,3,xoff-refresh,3174,5000,896826,queue
    151476,s1,0,s0,3,xon,2116,3000,897884,queue
    pause_time.csv
    h1,0,3,s0,1,12050,0.066098,12050,1,15890
    s0,1,3,s1,2,114990,0.630759,99630,1,141870
    ");
}
