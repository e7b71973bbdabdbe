//! The dialect of a simulator: keys that it chooses, and errors at their lines.

use std::path::Path;

use host_agent::ns3::{Control, List, Settings, Wake, WindowRate};
use units::{Bytes, Picos};

use crate::{
    DatapathKind, Dialect, Ecmp, HpccLines, MarkAt, Numbers, Order, PauseLasts, Reserves, Scenario,
    Scheme, TimeOfFrames,
};

use super::{SMALL, parse, report, report_on};

const DIALECT: &str = "dialect = \"hpcc-ns3\"\n";

/// Line and title of a report.
fn place(report: &str) -> (&str, &str) {
    let title = report.lines().next().unwrap_or_default().trim_start_matches("error: ");
    let line = report.lines().nth(1).unwrap_or_default();
    (line.rsplit(':').nth(1).unwrap_or_default(), title)
}

#[test]
fn a_dialect_chooses_the_keys_that_the_file_does_not_set() {
    let scenario = parse(&format!("{DIALECT}{SMALL}")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.dialect, Some(Dialect::HpccNs3));
    assert_eq!(scenario.datapath.kind, DatapathKind::Memory);
    assert_eq!((scenario.order, scenario.numbers), (Order::Insertion, Numbers::Mrg32k3a));
    assert_eq!(scenario.switch.ecmp, Ecmp::Murmur3);
    assert_eq!(scenario.switch.pause_lasts, PauseLasts::UntilResume);
    assert_eq!(scenario.switch.reserves, Reserves::Ports);
    assert!(matches!(scenario.switch.scheme, Scheme::PfcReached(_)));
    assert!(scenario.host.ns3.is_some());
    let own = format!(
        "{DIALECT}numbers = \"seed\"\n{SMALL}[switch]\necmp = \"five-tuple\"\nreserves = \"queues\"\n\
         scheme = {{ kind = \"pfc\" }}\n[host.ns3]\ncontrol = \"hpcc\"\n"
    );
    let scenario = parse(&own).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((scenario.order, scenario.numbers), (Order::Insertion, Numbers::Seed));
    assert_eq!(
        (scenario.switch.ecmp, scenario.switch.reserves),
        (Ecmp::FiveTuple, Reserves::Queues)
    );
    assert!(matches!(scenario.switch.scheme, Scheme::Pfc(_)));
    let again = parse(&scenario.to_toml()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again, scenario);
}

#[test]
fn each_dialect_is_named_as_in_a_file() {
    for dialect in Dialect::ALL {
        let text = format!("dialect = \"{}\"\n{SMALL}", dialect.name());
        let scenario = parse(&text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(scenario.dialect, Some(dialect));
    }
}

#[test]
fn conweaves_dialect_chooses_its_keys_and_leaves_those_of_the_file() {
    let dialect = format!("dialect = \"conweave-ns3\"\n{SMALL}");
    let scenario = parse(&dialect).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.dialect, Some(Dialect::ConweaveNs3));
    assert_eq!((scenario.order, scenario.numbers), (Order::Insertion, Numbers::Mrg32k3aOfSwitches));
    let switch = &scenario.switch;
    assert_eq!(switch.pause_lasts, PauseLasts::Time(Picos(5_000_000)));
    assert!(matches!(switch.scheme, Scheme::ServicePools(of) if of.frame.get() == Bytes(1048)));
    assert_eq!((switch.private_per_queue, switch.control_priority.0), (Bytes(0), Some(0)));
    assert_eq!(switch.threshold.xon_offset(), Bytes(1));
    assert_eq!(switch.headroom.given_bandwidth_delays(), Some(2));
    assert_eq!(scenario.host.ns3, Some(Settings::conweave()));
    assert_eq!(scenario.host.ack_queue.map(|queue| queue.0), Some(0));
    let own = format!(
        "{dialect}[switch]\npause_lasts = \"7us\"\nscheme = {{ kind = \"pfc-service-pools\", frame = \"2kB\" }}\n\
         [host.ns3]\ncontrol = \"dcqcn\"\nlist = \"cleared\"\n[results.hpcc]\n"
    );
    let scenario = parse(&own).unwrap_or_else(|error| panic!("{error}"));
    let hosts = scenario.host.ns3.expect("they are the simulator's");
    assert_eq!((hosts.list, hosts.wake), (List::Cleared, Wake::Next), "a key at a time");
    assert_eq!(scenario.switch.pause_lasts, PauseLasts::Time(Picos(7_000_000)));
    let hpcc = scenario.results.hpcc.as_ref().expect("the file has it");
    assert_eq!(hpcc.lines, HpccLines::Conweave);
    let text = scenario.to_toml();
    for line in
        ["numbers = \"mrg32k3a-of-switches\"", "pause_lasts = \"7us\"", "nack_interval = \"4us\""]
    {
        assert!(text.lines().any(|other| other == line), "{line}\n{text}");
    }
    let again = parse(&text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again, scenario);
}

#[test]
fn rules_of_conweaves_simulator_that_cannot_be_are_errors_at_their_lines() {
    for (more, title) in [
        ("[switch]\npause_lasts = \"1us\"\n", "pauses of 1us"),
        ("[switch]\npause_lasts = \"5000500ps\"\n", "pauses of"),
        ("[switch]\npause_lasts = \"soon\"\n", "no end of a pause is called `soon`"),
        ("[switch]\npause_lasts = \"until-resume\"\n", "PFC on service pools with other rules"),
        (
            "[switch]\nthreshold = { kind = \"static\", xoff = \"20kB\", xon = \"10kB\" }\n",
            "PFC on service pools with other rules",
        ),
        ("[switch]\nheadroom = { kind = \"sih\" }\n", "PFC on service pools with other rules"),
        (
            "[switch]\nbuffer = \"60kB\"\nheadroom = { kind = \"sih\", bandwidth_delays = 1 }\n",
            "switch `s0` sets aside",
        ),
        ("[[storms]]\nhost = \"h0\"\n", "PFC storms"),
        ("[results]\nexplain = true\n", "pauses of 5us, and an explanation"),
        ("[switch]\nlossy = { kind = \"bshare\" }\n", "BSHARE, and pauses that do not count"),
        (
            "[switch.lossy]\nkind = \"dt\"\ncodel = { target = \"1us\", interval = \"5us\" }\n",
            "a simulator's pools, and another management of lossy traffic",
        ),
        (
            "[switch]\nthreshold = { kind = \"dt\", alpha = \"1/16\", xon_offset = \"1GiB\" }\n",
            "a simulator's pools, and an offset above any buffer",
        ),
        ("[host.ns3]\ntimeout = \"100ps\"\n", "a period below 1 ns"),
        ("[host.ns3]\nnack_interval = \"999ps\"\n", "a period below 1 ns"),
    ] {
        let report = report(&format!("dialect = \"conweave-ns3\"\n{SMALL}{more}"));
        let (line, found) = place(&report);
        assert!(found.contains(title), "{report}");
        assert!(line.parse::<u32>().is_ok_and(|line| line > 11), "{report}");
    }
    let seed = report(&format!("dialect = \"conweave-ns3\"\nseed = 4294944443\n{SMALL}"));
    assert_eq!(place(&seed), ("2", "a seed that MRG32k3a does not have"), "{seed}");
    for (more, title) in [
        ("[switch]\npause_lasts = \"5us\"\n", "pauses of 5us, and events by node"),
        ("[switch]\nscheme = { kind = \"pfc-service-pools\" }\n", "PFC on service pools with"),
    ] {
        let report = report_on(more);
        assert!(place(&report).1.starts_with(title), "{report}");
    }
}

#[test]
fn the_dialect_of_ns3_datacenter_chooses_its_keys_and_leaves_those_of_the_file() {
    let dialect = format!("dialect = \"ns3-datacenter\"\n{SMALL}");
    let ecn = "[switch.ecn]\nkmin = \"1kB\"\nkmax = \"2kB\"\npmax = 1\n";
    let scenario = parse(&format!("{dialect}{ecn}")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.dialect, Some(Dialect::Ns3Datacenter));
    assert_eq!((scenario.order, scenario.numbers), (Order::Insertion, Numbers::Mrg32k3a));
    assert_eq!(scenario.frames.time, TimeOfFrames::FlooredNanoseconds);
    let switch = &scenario.switch;
    assert_eq!((switch.ecmp, switch.pause_lasts), (Ecmp::Murmur3, PauseLasts::UntilResume));
    let Scheme::SonicPools(pools) = switch.scheme else { panic!("{:?}", switch.scheme) };
    assert_eq!((pools.egress_alpha.get(), pools.xon), (65_535, Bytes(1248)));
    assert_eq!((switch.private_per_queue, switch.threshold.xon_offset()), (Bytes(0), Bytes(2496)));
    assert_eq!(switch.headroom.given_bandwidth_delays(), Some(3));
    assert_eq!(switch.ecn.as_ref().map(|ecn| ecn.mark_at), Some(MarkAt::Enqueue));
    assert_eq!(scenario.host.ns3, Some(Settings::datacenter()));
    assert_eq!(scenario.warnings(), [""; 0]);
    let own = format!(
        "{dialect}{ecn}mark_at = \"dequeue\"\n[switch.scheme]\nkind = \"pfc-sonic-pools\"\negress_alpha = 1\n\
         [host.ns3]\ncontrol = \"theta-powertcp\"\nwindow_rate = \"path\"\n"
    );
    let scenario = parse(&own).unwrap_or_else(|error| panic!("{error}"));
    let hosts = scenario.host.ns3.expect("they are the simulator's");
    assert_eq!((hosts.control, hosts.window_rate), (Control::ThetaPowerTcp, WindowRate::Path));
    assert_eq!(scenario.switch.ecn.as_ref().map(|ecn| ecn.mark_at), Some(MarkAt::Dequeue));
    let again = parse(&scenario.to_toml()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again, scenario);
}

#[test]
fn rules_of_ns3_datacenter_that_cannot_be_are_errors_at_their_lines() {
    for (more, title) in [
        (
            "[[faults]]\nkind = \"down\"\nwire = \"h0-s0\"\nat = \"1us\"\nreroute = true\n",
            "a link that goes down",
        ),
        ("[switch]\npause_lasts = \"5us\"\n", "PFC on SONiC's pools with other rules"),
        (
            "[switch]\nthreshold = { kind = \"static\", xoff = \"20kB\", xon = \"10kB\" }\n",
            "PFC on SONiC's pools with other rules",
        ),
        (
            "[switch.scheme]\nkind = \"pfc-sonic-pools\"\negress_alpha = 0\n",
            "egress_alpha` is the number 0",
        ),
        (
            "[switch.lossy]\nkind = \"dt\"\ncodel = { target = \"1us\", interval = \"5us\" }\n",
            "a simulator's pools, and another management of lossy traffic",
        ),
        ("[host.ns3]\ncontrol = \"power-tcp\"\n", "power-tcp"),
    ] {
        let report = report(&format!("dialect = \"ns3-datacenter\"\n{SMALL}{more}"));
        let (line, found) = place(&report);
        assert!(found.contains(title), "{report}");
        assert!(line.parse::<u32>().is_ok_and(|line| line > 11), "{report}");
    }
    let alone = report_on("[switch]\nscheme = { kind = \"pfc-sonic-pools\" }\n");
    assert!(place(&alone).1.starts_with("PFC on SONiC's pools with other rules"), "{alone}");
}

/// Other runs write what they wrote before.
#[test]
fn a_scenario_without_a_dialect_does_not_name_its_keys() {
    let text = parse(SMALL).expect("it is right").to_toml();
    for key in
        ["dialect", "order", "numbers", "ecmp", "next_hops", "pause_lasts", "reserves", "ns3"]
    {
        let named = text.lines().any(|line| line.starts_with(&format!("{key} =")));
        assert!(!named && !text.contains("[host.ns3]"), "{key}");
    }
}

#[test]
fn an_unknown_dialect_is_an_error_at_its_line() {
    let text = format!("dialect = \"ns2\"\n{SMALL}");
    let report = report(&text);
    assert_eq!(place(&report), ("1", "`dialect` cannot be `ns2`"), "{report}");
}

#[test]
fn a_datapath_that_cannot_have_the_order_is_an_error_at_its_line() {
    let kernel = report(&format!("{DIALECT}{SMALL}[datapath]\nkind = \"kernel\"\n"));
    let title = "events in the order of insertion, on the kernel datapath";
    assert_eq!(place(&kernel), ("14", title), "{kernel}");
    let order = report(&format!("order = \"insertion\"\n{SMALL}[host.ns3]\n"));
    assert_eq!(place(&order), ("1", title), "{order}");
}

#[test]
fn keys_that_need_the_order_are_errors_without_it() {
    let hosts = report_on("[host.ns3]\ncontrol = \"dcqcn\"\n");
    assert_eq!(place(&hosts).0, "12", "{hosts}");
    assert!(hosts.contains("order = \"insertion\""), "{hosts}");
    let numbers = report(&format!("numbers = \"mrg32k3a\"\n{SMALL}"));
    assert_eq!(place(&numbers).0, "1", "{numbers}");
}

#[test]
fn the_order_and_the_hash_of_a_simulator_do_without_its_hosts() {
    let memory = "[datapath]\nkind = \"memory\"\n";
    let text = format!("order = \"insertion\"\n{memory}{SMALL}[[storms]]\nhost = \"h0\"\n");
    let scenario = parse(&text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((scenario.order, scenario.host.ns3), (Order::Insertion, None));
    let hash = format!("{memory}{SMALL}[switch]\necmp = \"murmur3\"\nnext_hops = \"ascending\"\n");
    let scenario = parse(&hash).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((scenario.order, scenario.switch.ecmp), (Order::Nodes, Ecmp::Murmur3));
    let timed = format!("order = \"insertion\"\n{memory}{SMALL}[switch]\npause_lasts = \"5us\"\n");
    for (text, title) in [
        (timed, "pauses of 5us, and xoff's own hosts"),
        (hash.replace("memory", "kernel"), "the kernel datapath, and ECMP"),
        (format!("{hash}[host.transport]\nkind = \"tcp\"\n"), "TCP, and ECMP"),
        (hash.replace("ecmp = \"murmur3\"\n", ""), "an order of next hops that has no effect"),
    ] {
        let report = report(&text);
        assert!(place(&report).1.starts_with(title), "{report}");
    }
}

#[test]
fn settings_that_no_order_of_insertion_has_are_errors_at_their_lines() {
    for (more, title) in [
        ("[switch]\nwatchdog = { action = \"drop\" }\n", "a watchdog"),
        ("[switch]\nscheme = { kind = \"dsh\" }\n", "a scheme other than PFC"),
        ("[switch]\nheadroom = { kind = \"adaptive\" }\n", "headroom that is measured"),
        ("[[storms]]\nhost = \"h0\"\n", "PFC storms"),
        ("[[faults]]\nkind = \"down\"\nwire = \"h0->s0\"\n", "a link that goes down"),
        ("[[faults]]\nkind = \"loss\"\nnth = [1]\n", "a fault that ns-3 does not draw"),
        (
            "[[faults]]\nkind = \"loss\"\nwire = \"h0->s0\"\nrate = 0.1\n",
            "a loss on one wire of a link",
        ),
        ("[switch]\npause_lasts = \"quanta\"\n", "pauses that last their quanta"),
    ] {
        let report = report(&format!("{DIALECT}{SMALL}{more}"));
        let (line, found) = place(&report);
        assert!(found.starts_with(title), "{report}");
        assert!(line.parse::<u32>().expect("a line") > 11, "{report}");
    }
    let loss = format!("{DIALECT}{SMALL}[[faults]]\nkind = \"loss\"\nrate = 0.1\n");
    assert!(parse(&loss).is_ok());
}

#[test]
fn keys_without_an_effect_under_the_dialect_are_reported() {
    let text = format!("{DIALECT}{SMALL}");
    let warnings = |text: &str| -> Vec<String> {
        let scenario = parse(text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(scenario.warnings(), [""; 0]);
        scenario.warnings_with_places().map(ToString::to_string).collect()
    };
    assert_eq!(warnings(&text), [""; 0]);
    let ecn = "[switch.ecn]\nkmin = \"1kB\"\nkmax = \"2kB\"\npmax = 1\n";
    for (more, key) in [
        (format!("{ecn}priorities = [5]\n"), "switch.ecn.priorities"),
        ("[switch]\npause_refresh = \"3/4\"\n".to_owned(), "switch.pause_refresh"),
        (
            "[host.transport]\nkind = \"roce-rc\"\ncongestion_control = \"timely\"\n".to_owned(),
            "host.transport",
        ),
        ("[host]\nretransmission_timeout = \"5us\"\n".into(), "host.retransmission_timeout"),
        ("[host]\nscheduler = \"strict\"\n".to_owned(), "host.scheduler"),
        ("transport = { kind = \"roce-rc\" }\n".to_owned(), "flows.0.transport"),
    ] {
        let reported = warnings(&format!("{text}{more}"));
        let [warning] = &reported[..] else { panic!("{key}: {reported:?}") };
        assert!(warning.contains(&format!("`{key}` changes nothing")), "{warning}");
        assert!(warning.contains("bad.toml:"), "{warning}");
    }
    // A resolved scenario leaves these keys out.
    let more = "[host.transport]\nkind = \"roce-rc\"\ncongestion_control = \"timely\"\n";
    let resolved = parse(&format!("{text}{more}")).expect("it is right").to_toml();
    assert!(!resolved.contains("timely"), "{resolved}");
    assert_eq!(warnings(&resolved), [""; 0]);
}

#[test]
fn rates_that_telemetry_cannot_name_are_reported() {
    let text = format!("{DIALECT}{SMALL}[host.ns3]\ncontrol = \"hpcc\"\n");
    let warnings = |rate: &str| {
        let change = format!("topology.host_link.rate={rate}");
        let scenario = Scenario::parse(&text, Path::new("run.toml"), &[change]);
        scenario.unwrap_or_else(|error| panic!("{error}")).warnings()
    };
    assert_eq!(warnings("100Gbps"), [""; 0]);
    let reported = warnings("40Gbps");
    assert!(reported.len() == 1 && reported[0].contains("no number for 40"), "{reported:?}");
}

#[test]
fn listed_flows_under_the_dialect_do_not_depend_on_the_seed() {
    let text = format!("{DIALECT}{SMALL}");
    let depends = |change: &str| {
        let scenario = Scenario::parse(&text, Path::new("run.toml"), &[change.to_owned()]);
        scenario.unwrap_or_else(|error| panic!("{error}")).depends_on_seed()
    };
    assert!(!depends("seed=2"));
    for change in [
        "numbers=seed",
        "switch.ecmp=five-tuple",
        "faults=[{ kind = \"delay\", delay = \"1us\", jitter = \"1us\" }]",
        "flows=[{ kind = \"permutation\", bytes = \"1kB\" }]",
    ] {
        assert!(depends(change), "{change}");
    }
}

#[test]
fn frames_that_take_no_time_need_a_delay() {
    let more = "[frames]\ntime = \"floored-nanoseconds\"\nhop_control = \"1B\"\n[switch]\nwire_overhead = \"0B\"\n";
    let parse = |delay: &str| {
        let delay = format!("topology.host_link.delay={delay}");
        Scenario::parse(&format!("{SMALL}{more}"), Path::new("bad.toml"), &[delay])
    };
    assert!(parse("1ns").is_ok());
    let report = parse("0s").expect_err("it cannot be").to_string();
    assert!(report.contains("frames of 1 B that take no time on a link"), "{report}");
}

#[test]
fn a_shortest_packet_is_between_one_byte_and_sixty() {
    for size in ["0B", "61B"] {
        let report = report_on(&format!("[frames]\nshortest = \"{size}\"\n"));
        assert!(report.contains("a shortest packet of"), "{report}");
    }
}

#[test]
fn what_a_simulator_has_not_is_an_error_at_its_line() {
    let lasting = "pause_lasts = \"until-resume\"\n";
    for (more, title) in [
        (format!("[switch]\n{lasting}[[storms]]\nhost = \"h0\"\n"), "PFC storms"),
        (format!("[switch]\n{lasting}lossy = {{ kind = \"bshare\" }}\n"), "BSHARE"),
        (
            "[switch]\nscheme = { kind = \"pfc-reached\" }\n\
             threshold = { kind = \"static\", xoff = \"20kB\", xon = \"10kB\" }\n"
                .to_owned(),
            "PFC at a threshold that",
        ),
        (
            "[switch]\nscheme = { kind = \"pfc-reached\" }\nthreshold = { kind = \"dt\", alpha = 2 }\n"
                .to_owned(),
            "PFC at a threshold that",
        ),
    ] {
        let report = report_on(&more);
        let (line, found) = place(&report);
        assert!(found.starts_with(title), "{report}");
        assert!(line.parse::<u32>().expect("a line") > 11, "{report}");
    }
    for (more, title) in [
        (
            "[[faults]]\nkind = \"loss\"\nrate = 0.1\nmatch = \"pfc\"\n",
            "a fault that ns-3 does not",
        ),
        ("[host.ns3]\nrate_decrease_interval = \"500ps\"\n", "a period below 1 ns"),
    ] {
        let report = report(&format!("{DIALECT}{SMALL}{more}"));
        assert!(place(&report).1.starts_with(title), "{report}");
    }
}

#[test]
fn flows_that_the_simulator_cannot_count_or_route_are_errors_at_their_lines() {
    let flow = |bytes: &str| {
        format!(
            "[[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"{bytes}\"\nstart = \"0s\"\n"
        )
    };
    assert!(parse(&format!("{DIALECT}{SMALL}{}", flow("4294967295B"))).is_ok());
    let report = report(&format!("{DIALECT}{SMALL}{}", flow("4294967296B")));
    let (line, title) = place(&report);
    assert!(title.starts_with("more than 4294967295 bytes, of flow"), "{report}");
    assert!(line.parse::<u32>().expect("a line") > 11, "{report}");
}
