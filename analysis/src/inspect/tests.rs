//! Fabrics with known answers.

mod backpressure_graph;
mod json;

use std::path::Path;

use scenario::Scenario;

use super::{Inspection, TransportPaths};

fn scenario(text: &str) -> Scenario {
    let scenario = Scenario::parse(text, Path::new("inspect.toml"), &[]);
    scenario.unwrap_or_else(|error| panic!("{error}"))
}

/// The fabric of DSH, Fig. 16 (a), with its failed links if there are any.
fn figure_16(failed_links: &str) -> Scenario {
    scenario(&format!(
        r#"
duration = "10ms"
[topology]
kind = "leaf-spine"
leaves = 4
spines = 2
hosts_per_leaf = 16
host_link = {{ rate = "100Gbps", delay = "2us" }}
fabric_link = {{ rate = "400Gbps", delay = "2us" }}
failed_links = {failed_links}
[[flows]]
kind = "poisson"
load = 0.5
sizes = "hadoop"
"#
    ))
}

fn report(scenario: &Scenario) -> String {
    super::report(scenario, None)
}

fn fat_tree(k: u32, flows: &str) -> Scenario {
    scenario(&format!(
        "duration = \"1ms\"\n[topology]\nkind = \"fat-tree\"\nk = {k}
host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n[[flows]]\n{flows}\n"
    ))
}

#[test]
fn insurance_headroom_is_of_ports() {
    let text = include_str!("../../../scenarios/dsh-incast.toml");
    let scenario = Scenario::parse(text, "dsh-incast.toml".as_ref(), &[]).unwrap();
    let text = report(&scenario);
    let line = text.lines().find(|line| line.contains("8 x 100 Gbit/s, 1 us")).unwrap();
    assert_eq!(line.trim(), "8 x 100 Gbit/s, 1 us: 32218 B insurance headroom");
}

#[test]
fn the_failures_of_dsh_figure_16_make_a_cycle() {
    let scenario = figure_16("[[\"spine0\", \"leaf3\"], [\"leaf0\", \"spine1\"]]");
    let inspection = Inspection::new(&scenario);
    let name = |wire: &_| scenario.fabric().wire(*wire).name.as_str();
    let found: Vec<Vec<&str>> =
        inspection.cycles.iter().map(|cycle| cycle.example.iter().map(name).collect()).collect();
    let figure = ["spine0->leaf1", "leaf1->spine1", "spine1->leaf2", "leaf2->spine0"];
    let mirror = ["leaf1->spine0", "spine0->leaf2", "leaf2->spine1", "spine1->leaf1"];
    assert_eq!(found, [mirror, figure]);
    assert!(inspection.cycles.iter().all(|cycle| cycle.members.len() == figure.len()));
    insta::assert_snapshot!(report(&scenario), @r"
    fabric: leaf-spine 4 x 2, 2 failed links
      64 hosts, 6 switches, 70 links
    links
      host - leaf          64 x 100 Gbit/s, 2 us
      leaf - spine          6 x 400 Gbit/s, 2 us
    paths between hosts (base RTT: a full packet and its ACK, idle)
      2 links: 960 pairs, 1 path, base RTT 8.19 us, BDP 102.37 kB
      4 links: 2560 pairs, 1 to 2 paths, base RTT 16.24 us, BDP 202.96 kB
      6 links: 512 pairs, 2 paths, base RTT 24.28 us, BDP 303.55 kB
    buffers
      leaf0, leaf3: 16 MB = 14.83 MB shared + 51 kB private + 1.12 MB headroom
          16 x 100 Gbit/s, 2 us: 57218 B headroom for a queue
           1 x 400 Gbit/s, 2 us: 207218 B headroom for a queue
      leaf1, leaf2: 16 MB = 14.62 MB shared + 54 kB private + 1.33 MB headroom
          16 x 100 Gbit/s, 2 us: 57218 B headroom for a queue
           2 x 400 Gbit/s, 2 us: 207218 B headroom for a queue
      spine0, spine1: 16 MB = 15.37 MB shared + 9 kB private + 621.65 kB headroom
           3 x 400 Gbit/s, 2 us: 207218 B headroom for a queue
    headroom of a lossless queue, by what its link needs
      100 Gbit/s, 2 us (400 m of fibre): 57218 B = 50000 on the cable, both ways + 3840 until the neighbour stops + 3378 whole frames
      400 Gbit/s, 2 us (400 m of fibre): 207218 B = 200000 on the cable, both ways + 3840 until the neighbour stops + 3378 whole frames
    expected load (payload, by workloads at a rate)
      host -> leaf             64 wires:  50.00% in the mean,  50.00% at most (h0->leaf0)
      leaf -> host             64 wires:  50.00% in the mean,  50.00% at most (leaf0->h0)
      leaf -> spine             6 wires: 118.52% in the mean, 152.38% at most (leaf0->spine0)
      spine -> leaf             6 wires: 118.52% in the mean, 152.38% at most (spine0->leaf0)
    buffer dependency
      4 ingress ports depend on each other: PFC can deadlock
        ports: spine0 port 1 (from leaf1), leaf1 port 17 (from spine1), leaf2 port 16 (from spine0), spine1 port 1 (from leaf2)
        a cycle: leaf1 -> spine0 -> leaf2 -> spine1 -> leaf1
      4 ingress ports depend on each other: PFC can deadlock
        ports: leaf1 port 16 (from spine0), spine1 port 0 (from leaf1), spine0 port 2 (from leaf2), leaf2 port 17 (from spine1)
        a cycle: spine0 -> leaf1 -> spine1 -> leaf2 -> spine0
    ");
}

#[test]
fn healthy_trees_have_no_cycle() {
    assert!(Inspection::new(&figure_16("[]")).cycles.is_empty());
    let permutation = "kind = \"permutation\"\nbytes = \"1MB\"";
    assert!(Inspection::new(&fat_tree(4, permutation)).cycles.is_empty());
    // One lost link removes paths, and adds no path that goes down and up again.
    let one = figure_16("[[\"spine0\", \"leaf3\"]]");
    assert!(Inspection::new(&one).cycles.is_empty());
}

#[test]
fn a_fat_tree_has_its_published_paths() {
    let inspection = Inspection::new(&fat_tree(4, "kind = \"all-to-all\"\nbytes = \"1kB\""));
    let [TransportPaths { groups, .. }] = &inspection.paths[..] else { panic!("one transport") };
    let paths: Vec<_> =
        groups.iter().map(|group| (group.links, group.pairs, group.paths)).collect();
    assert_eq!(paths, [(2, 16, (1, 1)), (4, 32, (2, 2)), (6, 192, (4, 4))]);
    let rtts: Vec<u64> = groups.iter().map(|group| group.base_rtt.0.0).collect();
    let (packet, ack) = ((1074 + 24) * 80, (62 + 24) * 80);
    assert_eq!(rtts, [2, 4, 6].map(|links| links * (packet + ack + 2_000_000)));
}

#[test]
fn a_permutation_collides_where_its_flows_hash() {
    let scenario = fat_tree(4, "kind = \"permutation\"\nbytes = \"unlimited\"");
    let inspection = Inspection::new(&scenario);
    let [found] = inspection.collisions.as_slice() else { panic!("one permutation") };
    assert_eq!((&*found.label, found.flows), ("permutation", 16));
    assert_eq!(found.wires_by_flows.iter().sum::<u32>(), 64);
    let worst = found.wires_by_flows.len() - 1;
    let count = |overload: &super::Overload| overload.flows.len();
    assert!(found.overloaded.iter().all(|overload| (2..=worst).contains(&count(overload))));
    assert_eq!(count(&found.overloaded[0]), worst);
}

#[test]
fn long_lived_flows_meet_at_their_receiver() {
    let flows = "kind = \"long-lived\"\nsenders = [\"h1\", \"h5\"]\nreceiver = \"h0\"";
    let scenario = fat_tree(4, flows);
    let inspection = Inspection::new(&scenario);
    let [found] = inspection.collisions.as_slice() else { panic!("one workload") };
    let [overload] = found.overloaded.as_slice() else { panic!("one wire: {found:?}") };
    assert_eq!(scenario.fabric().wire(overload.wire).name, "edge0->h0");
    assert_eq!(overload.flows, [0, 1]);
    assert!(report(&scenario).contains("    edge0->h0: 2 flows: 0, 1\n"));
}

#[test]
fn uniform_load_is_even_over_a_healthy_fabric() {
    let inspection =
        Inspection::new(&fat_tree(4, "kind = \"poisson\"\nload = 0.6\nsizes = \"64kB\""));
    let load: Vec<_> = inspection
        .load
        .iter()
        .map(|tier| (tier.direction.as_str(), tier.wires, tier.mean_millionths))
        .collect();
    // 14 of 15 receivers are in another rack, 12 of 15 in another pod.
    let expected = [
        ("host -> edge", 16, 600_000),
        ("edge -> host", 16, 600_000),
        ("edge -> agg", 16, 560_000),
        ("agg -> edge", 16, 560_000),
        ("agg -> core", 16, 480_000),
        ("core -> agg", 16, 480_000),
    ];
    for (found, expected) in load.iter().zip(expected) {
        assert_eq!((found.0, found.1), (expected.0, expected.1));
        assert!(found.2.abs_diff(expected.2) <= 2, "{found:?}");
    }
    assert_eq!(load.len(), 6);
}

#[test]
fn headroom_to_be_measured_is_announced() {
    let text = report(&scenario(include_str!("../../../scenarios/adaptive-headroom.toml")));
    let of = |line: &str| assert!(text.contains(line), "{text}");
    // 12.5 bytes per nanosecond, 3 x 1098 + 84 bytes of frames.
    of(
        "3 x 100 Gbit/s, 100 ns: 60000 B headroom for a queue, about 8378 B once the link is measured\n",
    );
    of(
        "1 x 100 Gbit/s, 1.5 us: 60000 B headroom for a queue, about 42128 B once the link is measured\n",
    );
}

/// The transport of the hosts carries nothing, so it is left out. A stamp lengthens a segment and its ACK by 12 bytes:
/// twice 24 x 80 ps.
/// bytes: twice 24 x 80 ps.
#[test]
fn each_transport_in_use_has_its_round_trips() {
    let flow = |transport: &str| {
        format!(
            "[[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1MB\"\npriority = 1\n{transport}\n"
        )
    };
    let text = format!(
        "duration = \"1ms\"\n[topology]\nkind = \"star\"\nhosts = 2\n\
         host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
         [host]\ntransport = {{ kind = \"roce-rc\", congestion_control = \"hpcc\" }}\n{}{}{}",
        flow("transport = { kind = \"tcp\" }"),
        flow("transport = { kind = \"tcp\", congestion_control = \"powertcp\" }"),
        flow("transport = { kind = \"tcp\", congestion_control = \"none\" }"),
    );
    let text = report(&scenario(&text));
    let of_paths = text.lines().skip_while(|line| !line.starts_with("paths"));
    let lines: Vec<&str> = of_paths.take_while(|line| !line.starts_with("buffers")).collect();
    insta::assert_snapshot!(lines.join("\n"), @"
    paths between hosts, tcp with cubic, tcp with none (base RTT: a full packet and its ACK, idle)
      2 links: 2 pairs, 1 path, base RTT 4.19 us, BDP 52.36 kB
    paths between hosts, tcp with powertcp (base RTT: a full packet and its ACK, idle)
      2 links: 2 pairs, 1 path, base RTT 4.19 us, BDP 52.41 kB
    ");
}

#[test]
fn static_routes_are_listed_and_seen_by_what_follows() {
    let text = include_str!("../../../scenarios/deadlock-ring.toml");
    let scenario = Scenario::parse(text, "deadlock-ring.toml".as_ref(), &[]).unwrap();
    let text = report(&scenario);
    let from = text.find("static routes").expect("there are some");
    let (routes, rest) = text[from..].split_once("paths between").expect("paths follow");
    insta::assert_snapshot!(routes.trim_end(), @r"
    static routes
      s0  frames to h2  via s1
      s1  frames to h3  via s2
      s2  frames to h0  via s3
      s3  frames to h1  via s0
    ");
    insta::assert_snapshot!(&rest[rest.find("buffer dependency").expect("cycles follow")..], @r"
    buffer dependency
      4 ingress ports depend on each other: PFC can deadlock
        ports: s1 port 1 (from s0), s2 port 1 (from s1), s3 port 1 (from s2), s0 port 2 (from s3)
        a cycle: s0 -> s1 -> s2 -> s3 -> s0
    ");
}

/// A path is as in the list; a source port leads where ECMP sends it, port 50123 of h0 over spine1.
#[test]
fn paths_of_listed_flows_are_listed() {
    let text = "duration = \"1ms\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 20\n\
                host_link = { rate = \"10Gbps\", delay = \"1us\" }\n\
                fabric_link = { rate = \"10Gbps\", delay = \"1us\" }\n\
                [[flows]]\nkind = \"list\"\nfile = \"f.csv\"\n";
    let inspected = |list: &str| {
        let list = format!("start_ns,src,dst,bytes,priority,path,source_port\n{list}");
        let read = |asked: &std::path::Path| {
            let text = if asked.ends_with("f.csv") { list.as_str() } else { text };
            Ok(text.to_owned())
        };
        let scenario = Scenario::read("/a.toml".as_ref(), &[], &read).unwrap();
        let text = report(&scenario);
        let from = text.find("paths of flows").expect("there are some");
        text[from..].split_once("paths between").expect("paths follow").0.trim_end().to_owned()
    };
    let list = "0,h0,h20,1000,3,leaf0>spine1>leaf1,\n0,h0,h20,1000,3,leaf0>spine1>leaf1,\n0,h0,h20,1000,3,,50123\n\
                0,h0,h1,1000,3,,50123\n0,h21,h3,1000,3,,\n0,h21,h3,1000,3,leaf1>spine0>leaf0,\n";
    insta::assert_snapshot!(inspected(list), @"
    paths of flows whose lists have a path or a source port
      h0 -> h1   leaf0               1 flow
      h0 -> h20  leaf0>spine1>leaf1  3 flows
      h21 -> h3  leaf1>spine0>leaf0  1 flow
    ");
    let many: Vec<String> =
        (1..20).map(|host| format!("0,h{host},h20,1000,3,leaf0>spine0>leaf1,\n")).collect();
    let lines = inspected(&many.concat());
    assert_eq!(lines.lines().count(), 18, "{lines}");
    assert_eq!(lines.lines().last(), Some("  .. 19 flows on 19 paths in all"), "{lines}");
}

/// All flows of one label take one spine, the other flows both.
#[test]
fn expected_load_is_that_of_static_routes() {
    let load = |routes: &str| {
        let scenario = scenario(&format!(
            "duration = \"1ms\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2
host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\nfabric_link = {{ rate = \"100Gbps\", delay = \"1us\" }}
[[flows]]\nkind = \"poisson\"\nload = 0.25\nsizes = \"64kB\"\npairs = {{ kind = \"rack-to-rack\", from = \"leaf0\", to = \"leaf1\" }}
[[flows]]\nkind = \"poisson\"\nlabel = \"low\"\nload = 0.25\nsizes = \"64kB\"\npairs = {{ kind = \"rack-to-rack\", from = \"leaf0\", to = \"leaf1\" }}
{routes}"
        ));
        let tiers = Inspection::new(&scenario).load;
        let up = tiers.into_iter().find(|tier| tier.direction == "leaf -> spine").unwrap();
        (up.largest, up.largest_millionths)
    };
    assert_eq!(load(""), ("leaf0->spine0".to_owned(), 500_000));
    let route =
        |frames: &str| load(&format!("[[routes]]\nat = \"leaf0\"\n{frames}\nvia = [\"spine1\"]\n"));
    assert_eq!(route("flows = \"low\""), ("leaf0->spine1".to_owned(), 750_000));
    assert_eq!(route("to = \"h2\""), ("leaf0->spine1".to_owned(), 750_000));
    assert_eq!(route("from = \"h0\"\nto = \"h2\""), ("leaf0->spine1".to_owned(), 625_000));
}

/// Switches with other buffers or ports form separate groups.
#[test]
fn switches_with_other_buffers_are_distinguished() {
    let buffers = |switches: &str| {
        let text = format!(
            "[topology]\nkind = \"leaf-spine\"\nleaves = 3\nspines = 3\nhosts_per_leaf = 1
host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}
fabric_link = {{ rate = \"100Gbps\", delay = \"1us\" }}
[switch]\nprivate_per_queue = \"0B\"
[[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1kB\"\n{switches}"
        );
        let text = report(&scenario(&text));
        let from = text.find("buffers").expect("there are some");
        text[from..].split_once("buffer dependency").expect("it follows").0.trim_end().to_owned()
    };
    assert!(buffers("").contains("  spine0, spine1, spine2: "), "{}", buffers(""));
    // The buffer grows with the ports, so that the shared pool equals the other spines'.
    let own = format!(
        "[[switches]]\nat = \"spine1\"\nports = 6\nbuffer = \"{}B\"",
        16_000_000 + 3 * 32_218
    );
    insta::assert_snapshot!(buffers(&own), @"
    buffers
      leaf0, leaf1, leaf2: 16 MB = 15.87 MB shared + 0 B private + 128.87 kB headroom
           4 x 100 Gbit/s, 1 us: 32218 B headroom for a queue
      spine0, spine2: 16 MB = 15.9 MB shared + 0 B private + 96.65 kB headroom
           3 x 100 Gbit/s, 1 us: 32218 B headroom for a queue
      spine1: 16.1 MB = 15.9 MB shared + 0 B private + 193.31 kB headroom
           3 x 100 Gbit/s, 1 us: 32218 B headroom for a queue
           3 x no link: 32218 B headroom for a queue
    headroom of a lossless queue, by what its link needs
      100 Gbit/s, 1 us (200 m of fibre): 32218 B = 25000 on the cable, both ways + 3840 until the neighbour stops + 3378 whole frames
    ");
    // Ports without headroom change no pool.
    let bare = "[[switches]]\nat = \"spine0\"\nports = 5\n[switch.headroom]\nkind = \"sih\"\n\
                bytes = \"0B\"\n";
    insta::assert_snapshot!(buffers(bare), @"
    buffers
      leaf0, leaf1, leaf2: 16 MB = 16 MB shared + 0 B private + 0 B headroom
           4 x 100 Gbit/s, 1 us: 0 B headroom for a queue
      spine0: 16 MB = 16 MB shared + 0 B private + 0 B headroom
           3 x 100 Gbit/s, 1 us: 0 B headroom for a queue
           2 x no link: 0 B headroom for a queue
      spine1, spine2: 16 MB = 16 MB shared + 0 B private + 0 B headroom
           3 x 100 Gbit/s, 1 us: 0 B headroom for a queue
    headroom of a lossless queue, by what its link needs
      100 Gbit/s, 1 us (200 m of fibre): 32218 B = 25000 on the cable, both ways + 3840 until the neighbour stops + 3378 whole frames
    ");
}

#[test]
fn queues_that_switches_pause_have_a_section() {
    let text = include_str!("../../../scenarios/bfc.toml");
    let report = report(&Scenario::parse(text, "bfc.toml".as_ref(), &[]).unwrap());
    let expected = "backpressure
  a port: 32 queues for priority 3, 51.2 kB of flow table, a bitmap each 10 us
  leaf0, leaf1, spine0, spine1: a queue pauses above 26.19 kB / active queues at 100 Gbit/s; a flow keeps its queue for 4.19 us
";
    assert!(report.contains(expected), "{report}");
}

#[test]
fn a_buffer_management_is_named_with_its_period() {
    let of = |lossy: &str| {
        scenario(&format!(
            "[switch]\nlossless = [3, 4]\n{lossy}\n[topology]\nkind = \"star\"\nhosts = 2\n\
             host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
             [[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1kB\"\npriority = 0"
        ))
    };
    assert!(!report(&of("")).contains("lossy"), "the default");
    let abm = of("lossy = { kind = \"abm\", period = \"80us\", pool = \"2MB\", codel = {} }");
    let text = report(&abm);
    let line = "lossy priorities 0, 1, 2, 5, 6, 7: abm, congested queues counted every 80 us, CoDel at departure\n";
    assert!(text.contains(line), "{text}");
    assert!(text.contains(" headroom + 2 MB for lossy packets\n"), "{text}");
    assert!(text.contains(": 16 MB = "), "{text}");
    insta::assert_snapshot!(json::json_of(&abm, "lossy"), @r#"
    {
      "codel": true,
      "kind": "abm",
      "period_ps": 80000000,
      "priorities": [
        0,
        1,
        2,
        5,
        6,
        7
      ]
    }
    "#);
}

/// The report mentions neither headroom nor cycles of PAUSE frames.
#[test]
fn without_lossless_priorities_there_is_no_pfc() {
    let of = |lossless: &str| {
        report(&scenario(&format!(
            "[switch]\nlossless = {lossless}\nports = 4\n[topology]\nkind = \"star\"\nhosts = 2\n\
             host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
             [[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1kB\""
        )))
    };
    let text = of("[]");
    assert!(text.contains("       2 x 100 Gbit/s, 1 us\n       2 x no link\n"), "{text}");
    assert!(text.contains("no priority is lossless: no switch sends a PAUSE by PFC\n"), "{text}");
    let text = of("[3]");
    assert!(text.contains("headroom for a queue\n") && text.contains("no cycle: PFC"), "{text}");
}

#[test]
fn headroom_is_shown_term_by_term() {
    let text = include_str!("../../../scenarios/adaptive-headroom.toml");
    let scenario = Scenario::parse(text, "adaptive-headroom.toml".as_ref(), &[]).unwrap();
    let asic = "spectrum-3".parse().unwrap();
    let text = super::report(&scenario, Some(&asic));
    let lines: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("headroom of a lossless queue"))
        .skip(3)
        .take(2)
        .collect();
    // 2 x 12.5 B/ns x 1500 ns; 3840 B; 3 x (1074 + 24) + 60 + 24.
    assert_eq!(
        lines,
        [
            "  100 Gbit/s, 1.5 us (300 m of fibre): 44718 B = 37500 on the cable, both ways + 3840 until the neighbour \
             stops + 3378 whole frames",
            "    spectrum-3 as SONiC has it: 160 KiB = xoff 142 KiB + xon 18 KiB; xoff: 1074 B packet + 2.25 x (1074 MTU \
             + 36622 cable + 820 MAC and PHY + 25216 response)",
        ]
    );
    for link in &Inspection::new(&scenario).headroom {
        assert_eq!(link.total(), scenario.link_frames().headroom(link.rate, link.delay));
    }
}

#[test]
fn without_lossless_queues_there_is_no_headroom_to_work_out() {
    let text = include_str!("../../../scenarios/incast.toml");
    let sets = ["switch.lossless=[]".to_owned()];
    let scenario = Scenario::parse(text, "incast.toml".as_ref(), &sets).unwrap();
    assert_eq!(Inspection::new(&scenario).headroom, []);
    assert!(!report(&scenario).contains("headroom of a lossless queue"));
}
