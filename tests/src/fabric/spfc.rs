//! SPFC in whole fabrics: victims over time, and pauses.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::one_switch::{PACKET_NS, flow, funnel, star};
use super::pause_obedience::assert_obeyed;
use super::schemes::assert_levels;
use super::{Run, Runner, shipped};

/// The scenario that ships: a burst of eight hosts, and a port with a flow into it and another one.
pub fn scenario() -> String {
    shipped(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/spfc.toml"))
}

const PFC: &str = "switch.scheme={ kind = \"pfc\" }";

/// A switch, its port, and the priority of a queue with its own state.
type Of = (String, u64, String);

fn is(victims: &BTreeMap<Of, bool>, of: &Of) -> bool {
    victims.get(of).copied().unwrap_or_default()
}

/// Walks through `port_states.csv` and `pauses.csv` together. A PAUSE of a victim makes it normal at that instant, no
/// port is a victim while it pauses its neighbour, and the states in `pauses.csv` agree with the changes.
#[track_caller]
pub fn assert_states(run: &Run) {
    let by_queue = run
        .text("port_states.csv")
        .lines()
        .skip(1)
        .any(|line| line.split(',').nth(3).is_some_and(|priority| !priority.is_empty()));
    let key = |row: &super::results::Row| {
        let priority = if by_queue { row.text("priority") } else { "" };
        (row.text("node").to_owned(), row.number("port"), priority.to_owned())
    };
    // Changes and decisions in the order of time. At one instant: a period ends, then a neighbour is paused or resumed,
    // then its consequence.
    let (changes, decisions) = (run.table("port_states.csv"), run.pauses());
    let order = |cause: &str| match cause {
        "slow" => 0,
        "fast" => 1,
        _ => 3,
    };
    // States that RESUMEs of the present instant report.
    let mut resumed: Vec<(_, bool)> = Vec::new();
    let mut instant = 0;
    let changes = changes.rows().iter().map(|row| (row, order(row.text("cause")), true));
    let decisions = decisions.rows().iter().map(|row| (row, 2, false));
    let mut all: Vec<_> = changes.chain(decisions).collect();
    all.sort_by_key(|(row, order, _)| (row.number("time_ns"), *order));
    let mut victims: BTreeMap<Of, bool> = BTreeMap::new();
    let mut paused: BTreeMap<_, BTreeSet<u64>> = BTreeMap::new();
    let mut last_pause = BTreeMap::new();
    for (row, _, is_change) in all {
        let (key, now) = (key(row), row.number("time_ns"));
        let at = format!("{key:?} at {now} ns");
        let is_victim = row.text("state") == "victim";
        if now != instant {
            for (key, is_victim) in resumed.drain(..) {
                assert_eq!(is(&victims, &key), is_victim, "{key:?} at {instant} ns: a RESUME");
            }
            instant = now;
        }
        if is_change {
            assert_ne!(is(&victims, &key), is_victim, "{at}: no change");
            victims.insert(key.clone(), is_victim);
            if is_victim {
                let classes = paused.get(&key);
                assert!(classes.is_none_or(BTreeSet::is_empty), "{at}: it is paused: {classes:?}");
            }
            match row.text("cause") {
                "pause" => assert_eq!(last_pause.get(&key), Some(&now), "{at}: a PAUSE"),
                "fast" | "resume" => assert!(is_victim, "{at}"),
                cause => assert_eq!((cause, is_victim), ("slow", false), "{at}"),
            }
            continue;
        }
        let class = row.number("priority");
        let of_key = paused.entry(key.clone()).or_default();
        match row.text("event") {
            "xoff" => {
                assert_eq!(is(&victims, &key), is_victim, "{at}: a PAUSE");
                of_key.insert(class);
                last_pause.insert(key, now);
            }
            "xon" => {
                of_key.remove(&class);
                resumed.push((key, is_victim));
            }
            _ => assert!(!is_victim, "{at}: it pauses"),
        }
    }
    assert_totals(run);
}

/// The summary's counts agree with the tables.
#[track_caller]
pub fn assert_totals(run: &Run) {
    let totals = run.summary.port_states.expect("ports have states");
    let changes = run.table("port_states.csv");
    assert_eq!(totals.victims, changes.with("state", "victim").count() as u64);
    let pauses = run.pauses();
    let of = |state: &str| {
        pauses.with("event", "xoff").filter(|row| row.text("state") == state).count() as u64
    };
    let counted = (totals.pauses_of_victims, totals.pauses_of_normal);
    assert_eq!(counted, (of("victim"), of("normal")));
}

fn pauses_of(run: &Run, peer: &str) -> usize {
    run.pauses().with("event", "xoff").filter(|row| row.text("peer") == peer).count()
}

fn completion(run: &Run, label: &str) -> u64 {
    run.flows().only("label", label).number("fct_ns")
}

/// With DT the switch pauses h0, because of the burst; with SPFC it does not, and the victim flow is faster.
pub fn victims_are_spared(run: Runner) {
    let (spfc, dt) = (run(&scenario(), &[]), run(&scenario(), &[PFC]));
    spfc.assert_lossless();
    dt.assert_lossless();
    assert_states(&spfc);
    assert_eq!((pauses_of(&spfc, "h0"), pauses_of(&spfc, "b0") > 0), (0, true));
    assert!(pauses_of(&dt, "h0") > 10);
    assert!(completion(&spfc, "victim") * 6 < completion(&dt, "victim") * 5);
    let states = spfc.table("port_states.csv");
    assert!(states.rows().iter().all(|row| row.number("port") == 0), "h0's port is the only one");
}

/// Without SPFC neither the table nor the column of states is written.
pub fn others_have_no_states(run: Runner) {
    let run = run(&scenario(), &[PFC, "duration=500us"]);
    assert!(!run.has("port_states.csv") && run.summary.port_states.is_none());
    assert!(run.text("pauses.csv").lines().next().is_some_and(|line| line.ends_with(",level")));
}

/// One switch at 8 Gbit/s: h1 sends to h2, and into an incast of h3 and h4 to h0, in a buffer that a victim fills.
fn small(classes: &[u8]) -> String {
    let of = |class: &u8| {
        [("h1", "h2", 60), ("h1", "h0", 200), ("h3", "h0", 200), ("h4", "h0", 200)]
            .map(|(src, dst, kilobytes)| flow(src, dst, kilobytes, *class))
            .concat()
    };
    star(5, &classes.iter().map(of).collect::<String>())
}

/// In periods of 20 us a victim at 8 Gbit/s has sent 4 kB with `k_spfc = 5`.
fn spfc(more: &str) -> String {
    format!("switch.threshold={{ kind = \"spfc\", alpha = \"1/2\", period = \"20us\"{more} }}")
}

/// A victim that fills the buffer pauses its neighbour, is normal until that resumes, and is a victim again.
pub fn victims_that_pause(run: Runner) {
    for (more, classes, lossless) in [
        ("", &[3][..], "[3]"),
        ("", &[3, 4], "[3, 4]"),
        (", state_of = \"queue\"", &[3, 4], "[3, 4]"),
    ] {
        let lossless = format!("switch.lossless={lossless}");
        let settings = [&*spfc(more), &*lossless, "switch.buffer=220kB"];
        let run = run(&small(classes), &settings);
        run.assert_lossless();
        assert_obeyed(&run);
        assert_states(&run);
        let states = run.table("port_states.csv");
        let count = |cause: &str| states.with("cause", cause).count();
        for cause in ["fast", "slow", "pause"] {
            assert_ne!(
                count(cause),
                0,
                "{more} {classes:?}: no {cause}: {}",
                run.text("port_states.csv")
            );
        }
        assert!(run.summary.port_states.expect("SPFC").pauses_of_victims > 0);
        let by_queue = states.rows().iter().all(|row| !row.text("priority").is_empty());
        assert_eq!(by_queue, !more.is_empty());
    }
}

/// SPFC with DSH's headroom: a victim's PAUSE is the port's.
pub fn beside_dsh(run: Runner) {
    let dsh = "switch.headroom={ kind = \"dsh\" }";
    let settings = [&*spfc(""), "switch.lossless=[3, 4]", "switch.buffer=150kB", dsh];
    let run = run(&small(&[3, 4]), &settings);
    run.assert_lossless();
    assert_obeyed(&run);
    assert_levels(&run);
    assert_states(&run);
    let pauses = run.pauses();
    let mut of_victims = pauses.with("event", "xoff").filter(|row| row.text("state") == "victim");
    assert!(of_victims.any(|row| row.text("level") == "port"), "{}", run.text("pauses.csv"));
}

/// A victim has filled the buffer with packets that a storm holds, and has paused its neighbour. The watchdog drops all
/// of them: the neighbour resumes, and the port is a victim again, to the end of the next period.
pub fn a_storm_at_a_victims_receiver(run: Runner) {
    let settings = [
        "host.retransmission_timeout=50ms",
        "switch.buffer=150kB",
        "switch.scheme={ kind = \"spfc\", period = \"400us\", counting_number = \"20kB\" }",
        "switch.threshold={ kind = \"dt\" }",
        "switch.watchdog={ action = \"drop\", detection_time = \"200us\", poll_interval = \"10us\" }",
        "duration=1ms",
        "storms=[{ host = \"h2\", priorities = [3], at = \"50us\" }]",
    ];
    let run = run(&star(3, &flow("h0", "h2", 800, 3)), &settings);
    assert!(!run.is_sound(), "the flow is not done");
    assert_eq!(run.summary.books, Vec::<String>::new());
    run.assert_drops_only("watchdog-egress");
    assert_states(&run);
    let pauses = run.pauses();
    let resumed = pauses.only("event", "xon").number("time_ns");
    assert_eq!(run.table("watchdog.csv").rows()[0].number("detected_ns"), resumed);
    let states = run.table("port_states.csv");
    let mut of_port = states.rows().iter().filter(|row| row.number("port") == 0);
    let again = of_port.find(|row| row.number("time_ns") == resumed).expect("a row");
    assert_eq!((again.text("state"), again.text("cause")), ("victim", "resume"));
    let slow = of_port.next().expect("nothing departs while the storm lasts");
    assert_eq!((slow.number("time_ns"), slow.text("cause")), (800_000, "slow"));
}

/// h0's link has a hundredth of the rate of h1's and h2's: it is a victim with a hundredth of their bytes, and in
/// the millisecond in which these have left.
pub fn ports_of_unequal_rate(run: Runner) {
    let text = funnel(&(flow("h0", "h1", 8, 3) + &flow("h2", "h1", 400, 3)));
    let settings = [
        "switch.scheme={ kind = \"spfc\", period = \"1ms\" }",
        "switch.threshold={ kind = \"dt\" }",
    ];
    let run = run(&text, &settings);
    run.assert_lossless();
    assert_states(&run);
    let states = run.table("port_states.csv");
    let first = |port: u64| {
        let mut of_port = states.rows().iter().filter(|row| row.number("port") == port);
        let row = of_port.next().expect("it is a victim for a while");
        assert_eq!((row.text("state"), row.text("cause")), ("victim", "fast"));
        row.number("time_ns")
    };
    // A fifth of the bytes of 80 Mbit/s in a millisecond is 2 kB: two packets, of 108.2 us each. For 8 Gbit/s it is 200
    // kB: 185 packets.
    let slow = first(0);
    assert!((2 * 100 * PACKET_NS..2 * 100 * PACKET_NS + 20_000).contains(&slow), "{slow}");
    let fast = first(2);
    assert!((185 * PACKET_NS..185 * PACKET_NS + 5000).contains(&fast), "{fast}");
    assert!(states.rows().iter().all(|row| row.text("priority").is_empty()));
}

/// Rows of kind `threshold`: the whole pool for a victim, alpha times the free buffer for others.
pub fn thresholds_are_sampled(run: Runner) {
    let run = run(&small(&[3]), &[&*spfc(""), "switch.buffer=220kB", "results.thresholds=true"]);
    let queues = run.table("queues.csv");
    let pool = run.scenario.buffer_pools(topology::SwitchId(0)).shared.0;
    let mut shared = 0;
    let mut seen = [0, 0];
    let mut sampled_at = 0;
    for row in queues.rows() {
        match row.text("kind") {
            "shared" => (shared, sampled_at) = (row.number("bytes"), row.number("time_ns")),
            "threshold" => {
                let bytes = row.number("bytes");
                let is_pool = bytes == pool;
                seen[usize::from(is_pool)] += 1;
                assert_eq!(row.number("priority"), 3);
                assert!(is_pool || bytes == (pool - shared) / 2, "{row:?}, at {sampled_at}");
            }
            _ => {}
        }
    }
    assert!(seen.iter().all(|&rows| rows > 10), "{seen:?}");
}

/// A victim's period ends while nothing comes or leaves, at the instant of a sample: the sample has the threshold of the
/// normal port already.
pub fn an_end_of_a_period_in_silence_is_sampled(run: Runner) {
    // h0's port counts 20 kB within 30 us, and nothing after 110 us. h1's flow keeps the run going.
    let late = format!("{}start = \"900us\"\n", flow("h1", "h2", 1, 3));
    let settings = [
        "switch.threshold={ kind = \"spfc\", alpha = \"1/2\", period = \"400us\", counting_number = \"20kB\" }",
        "results.thresholds=true",
    ];
    let run = run(&star(3, &(flow("h0", "h2", 100, 3) + &late)), &settings);
    run.assert_lossless();
    let pool = run.scenario.buffer_pools(topology::SwitchId(0)).shared.0;
    let queues = run.table("queues.csv");
    let of_port = queues.with("kind", "threshold").filter(|row| row.text("port") == "0");
    let in_silence = of_port.filter(|row| (200_000..900_000).contains(&row.number("time_ns")));
    let samples: Vec<_> =
        in_silence.map(|row| (row.number("time_ns"), row.number("bytes"))).collect();
    assert_eq!(samples, [(800_000, pool / 2)]);
}

/// Two leaves, one with more ports and less buffer: each has its own share, the pool by ports and classes.
pub fn equal_shares(run: Runner) {
    let hosts = ["h0", "h1", "h2", "h3", "h4"];
    let link = |a: &str, b: &str| {
        format!("{{ a = \"{a}\", b = \"{b}\", rate = \"8Gbps\", delay = \"1us\" }}")
    };
    let leaf = |host: &str| if host < "h2" { "leaf0" } else { "leaf1" };
    let links = hosts.map(|host| link(host, leaf(host))).join(", ");
    let flows = [("h0", "h4", 3), ("h1", "h4", 4), ("h2", "h4", 3), ("h2", "h4", 4)]
        .map(|(src, dst, class)| flow(src, dst, 200, class))
        .concat()
        + &[("h3", "h1", 3), ("h2", "h1", 3), ("h0", "h1", 3)]
            .map(|(src, dst, class)| flow(src, dst, 200, class))
            .concat();
    let text = format!(
        "name = \"equal-shares\"\n[topology]\nkind = \"custom\"\nhosts = {hosts:?}\n\
         switches = [\"leaf0\", \"leaf1\"]\nlinks = [{links}, {}]\n[switch]\nbuffer = \"300kB\"\n\
         lossless = [3, 4]\nthreshold = {{ kind = \"equal-shares\", xon_offset = \"2kB\" }}\n\
         [[switches]]\nat = \"leaf1\"\nbuffer = \"260kB\"\n\
         [host]\ntransport = {{ kind = \"roce-rc\", congestion_control = \"none\" }}\n{flows}",
        link("leaf0", "leaf1")
    );
    let run = run(&text, &[]);
    run.assert_lossless();
    let pauses = run.pauses();
    for (number, (leaf, ports)) in [("leaf0", 3), ("leaf1", 4)].into_iter().enumerate() {
        let pools = run.scenario.buffer_pools(topology::SwitchId(number.try_into().expect("2")));
        let share = pools.shared.0 / (ports * 2);
        let of_leaf = |event| {
            let rows = pauses.with("event", event).filter(|row| row.text("node") == leaf);
            rows.map(|row| row.number("threshold_bytes")).collect::<BTreeSet<_>>()
        };
        assert_eq!(of_leaf("xoff"), BTreeSet::from([share]), "{leaf}");
        assert_eq!(of_leaf("xon"), BTreeSet::from([share - 2000]), "{leaf}");
    }
}
