//! Workloads that generate their flows: valid ones survive writing and reading, invalid ones are
//! explained.

use std::path::Path;

use insta::assert_snapshot;

use super::super::{Scenario, Workload};

const HEAD: &str = "duration = \"1ms\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2
hosts_per_leaf = 2\nhost_link = { rate = \"100Gbps\", delay = \"1us\" }
fabric_link = { rate = \"400Gbps\", delay = \"1us\" }\n[[flows]]\n";

fn report(flows: &str) -> String {
    let text = format!("{HEAD}{flows}\n");
    let error = Scenario::parse(&text, Path::new("bad.toml"), &[]);
    error.expect_err("a workload that is wrong").to_string()
}

/// Returns the report on `flows`, with a file `name` that contains `content`.
fn report_on_file(flows: &str, name: &str, content: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(name), content).unwrap();
    let text = format!("{HEAD}{flows}\n");
    let error = Scenario::parse(&text, &folder.path().join("x.toml"), &[]).unwrap_err();
    error.to_string().replace(&format!("{}/", folder.path().display()), "")
}

#[test]
fn every_kind_comes_back_from_its_own_text() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("my.cdf"), "0 0\n1000 50\n2000 100\n").unwrap();
    std::fs::write(folder.path().join("my.csv"), "0,1,1,1\n1,0,1,1\n1,1,0,1\n1,1,1,0\n").unwrap();
    let text = format!(
        "{HEAD}kind = \"poisson\"\nload = 0.25\nsizes = \"websearch\"
[[flows]]\nkind = \"poisson\"\nload = 1\nof = \"core-links\"\nsizes = \"64kB\"
pairs = {{ kind = \"rack-to-rack\", from = \"leaf1\", to = \"leaf0\" }}
start = \"1us\"\nstop = \"2us\"\npriorities = [1, 2, 2]\nlabel = \"b\"
[[flows]]\nkind = \"lognormal\"\nsigma = 1.5\nload = 0.5\nsizes = {{ file = \"my.cdf\" }}
pairs = {{ kind = \"matrix\", file = \"my.csv\" }}\npriority = 0
[[flows]]\nkind = \"periodic-incast\"\ndegree = 2\nbytes = \"1kB\"\nperiod = \"10us\"
receiver = \"h0\"
[[flows]]\nkind = \"poisson-incast\"\ndegree = 1\nbytes = \"1kB\"\nload = 0.1\nof = \"core-links\"
[[flows]]\nkind = \"poisson-incast\"\ndegree = 1\nbytes = \"1kB\"\nload = 0.1\nof = \"sender-links\"
[[flows]]\nkind = \"poisson-incast\"\ndegree = {{ least = 1, most = 2 }}\nload = 0.01
sizes = {{ file = \"my.cdf\" }}\nsenders = [\"leaf0\", \"h3\"]\nreceivers = [\"h0\", \"h2\"]
own_rack = true\nflows = 5
[[flows]]\nkind = \"poisson-incast\"\ndegree = 2\nrate = 2.5\nnext_rack = true\ntotal = {{ of_buffer = 0.3 }}
[[flows]]\nkind = \"poisson\"\nload = 0.25\nsizes = \"hadoop\"\npairs = \"next-rack\"
[[flows]]\nkind = \"poisson\"\nload = 0.25\nsizes = \"hadoop\"\nbatch = 8
pairs = {{ kind = \"groups\", from = [\"leaf0\", \"h3\"], to = [\"leaf1\"] }}
[[flows]]\nkind = \"permutation\"\nbytes = \"unlimited\"\npriorities = [4]
[[flows]]\nkind = \"all-to-all\"\nbytes = \"1MiB\"\nstart = \"5us\"
[[flows]]\nkind = \"split\"\nflows = 9\nbytes = \"1kB\"\npriority = 4
groups = [{{ from = [\"leaf0\"], to = [\"leaf1\"] }}, {{ from = [\"h3\"], to = [\"h0\", \"h1\"] }}]
[[flows]]\nkind = \"long-lived\"\nsenders = [\"h3\"]\nreceiver = \"h1\"\n"
    )
    .replace("load = 1\n", "load = 0.1\n");
    let scenario = Scenario::parse(&text, &folder.path().join("all.toml"), &[]);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    assert!(matches!(scenario.workloads[3].workload, Workload::PeriodicIncast(_)));
    let written = scenario.to_toml();
    let again = Scenario::parse(&written, Path::new("elsewhere/again.toml"), &[]);
    let again = again.unwrap_or_else(|error| panic!("{error}\n{written}"));
    assert_eq!(again, scenario);
    assert_eq!(again.flows(), scenario.flows());
}

#[test]
fn loads_that_cannot_be() {
    assert_snapshot!(report("kind = \"poisson\"\nload = 1.2\nsizes = \"websearch\""), @r"
    error: `flows.0.load` is the number 1.2
      --> bad.toml:11:8
       |
    11 | load = 1.2
       |        ^^^
       |
       = help: write a number from 0 to 1 such as 0.2
    ");
    assert_snapshot!(report("kind = \"poisson\"\nload = 0\nsizes = \"websearch\""), @r"
    error: a load of 0
      --> bad.toml:11:8
       |
    11 | load = 0
       |        ^
       |
       = help: write a number above 0, up to 1; a workload without load is left out
    ");
    let core = "kind = \"poisson\"\nload = 1\nof = \"core-links\"\nsizes = \"websearch\"";
    assert_snapshot!(report(core), @r"
    error: the hosts' links would carry 599% of their rate
      --> bad.toml:11:8
       |
    11 | load = 1
       |        ^
       |
       = help: the core has more capacity than they have: write a load of at most 0.166666
    ");
    let senders = "kind = \"poisson-incast\"\nload = 0.5\nof = \"sender-links\"\nreceiver = \"h0\"
degree = 2\nbytes = \"64kB\"";
    assert_snapshot!(report(senders), @r"
    error: the hosts' links would carry 200% of their rate
      --> bad.toml:11:8
       |
    11 | load = 0.5
       |        ^^^
       |
       = help: the senders' links have more capacity than they have: write a load of at most 0.25
    ");
    let many = "kind = \"poisson\"\nload = 1\nsizes = \"1B\"";
    assert_snapshot!(report(&many.replace("1B", "1B\"\nlabel = \"tiny")), @r"
    error: about 50000000 flows; the limit is 16777213
     --> bad.toml:9:1
      |
    9 | [[flows]]
      | ^^^^^^^^^
      |
      = help: a flow is a queue pair, and their numbers have 24 bits: write fewer flows, a lower load, or a shorter `duration`
    ");
}

#[test]
fn sizes_that_are_none() {
    assert_snapshot!(report("kind = \"poisson\"\nload = 0.5\nsizes = \"websarch\""), @r#"
    error: `flows.0.sizes`: no distribution is called `websarch`
      --> bad.toml:12:9
       |
    12 | sizes = "websarch"
       |         ^^^^^^^^^^
       |
       = help: did you mean `websearch`? the distributions are `ali-storage`, `cache-follower`, `data-mining`, `edu1`, `edu2`, `google-rpc`, `hadoop`, `hadoop-all`, `memcached`, `solar`, `web-server` and `websearch`; or write a size such as "64kB", or { file = "my.cdf" }
    "#);
    assert_snapshot!(report("kind = \"poisson\"\nload = 0.5\nsizes = \"64\""), @r#"
    error: `flows.0.sizes`: the size `64` has no unit
      --> bad.toml:12:9
       |
    12 | sizes = "64"
       |         ^^^^
       |
       = help: write a size such as "200kB"; units are B, kB, KiB, MB, MiB, GB, GiB, TB
    "#);
    assert_snapshot!(report("kind = \"poisson\"\nload = 0.5\nsizes = { fil = \"x.cdf\" }"), @r#"
    error: unknown key `fil` in `flows.0.sizes`
      --> bad.toml:12:11
       |
    12 | sizes = { fil = "x.cdf" }
       |           ^^^
       |
       = help: did you mean `file`? the keys here are `file` and `unit`
    "#);
    let file = "kind = \"poisson\"\nload = 0.5\nsizes = { file = \"my.cdf\" }";
    assert_snapshot!(report_on_file(file, "my.cdf", "# mine\n0 0\n1000 0.5\n900 1\n"), @r"
    error: sizes go down, from 1000 to 900
     --> my.cdf:4:1
      |
    4 | 900 1
      | ^^^^^
      |
      = help: each line has a larger size than the one before
    ");
    assert_snapshot!(report_on_file(file, "my.cdf", "0 0\n1000 0.5\n9000 0.98\n"), @r"
    error: the distribution ends at 0.98
     --> my.cdf:3:1
      |
    3 | 9000 0.98
      | ^^^^^^^^^
      |
      = help: the last cumulative probability is 1, or 100 in per cent
    ");
    let missing = report_on_file(file, "other.cdf", "");
    assert_snapshot!(missing.lines().next().unwrap(), @r"error: cannot read the distribution my.cdf: No such file or directory (os error 2)");
}

#[test]
fn a_unit_of_no_bytes_is_refused_with_advice() {
    let sizes = "kind = \"poisson\"\nload = 0.5\nsizes = { file = \"my.cdf\", unit = \"0B\" }";
    let report = report(sizes);
    assert!(report.starts_with("error: `flows.0.sizes`: a unit of no bytes\n"), "{report}");
    assert!(report.trim_end().ends_with("= help: write one such as \"1460B\""), "{report}");
}

#[test]
fn incasts_that_cannot_be() {
    let incast = "kind = \"periodic-incast\"\nbytes = \"1kB\"\n";
    assert_snapshot!(report(&format!("{incast}degree = 3\nload = 0.1")), @r"
    error: 2 hosts can send to `h0` at once, not 3
      --> bad.toml:12:10
       |
    12 | degree = 3
       |          ^
       |
       = help: senders are of other racks than the receiver: write 2 at most, or use more hosts, or own_rack = true
    ");
    assert_snapshot!(report(&format!("{incast}degree = 2\nload = 0.1\nperiod = \"1us\"")), @r"
    error: a period and a load
      --> bad.toml:13:8
       |
    13 | load = 0.1
       |        ^^^
       |
       = help: leave one out: a load follows from a period, and a period from a load
    ");
    assert_snapshot!(report(&format!("{incast}degree = 2")), @r#"
    error: incasts without a period, a rate or a load
     --> bad.toml:9:1
      |
    9 | [[flows]]
      | ^^^^^^^^^
      |
      = help: add period = "100us", rate = 2, or load = 0.1
    "#);
}

#[test]
fn incasts_whose_flows_or_parties_cannot_be() {
    let incast = "kind = \"periodic-incast\"\nperiod = \"10us\"\n";
    let title = |keys: &str| {
        let report = report(&format!("{incast}{keys}"));
        let lines: Vec<&str> = report.lines().collect();
        format!("{}\n{}\n{}", lines[0], lines[1].trim(), lines.last().unwrap().trim())
    };
    assert_snapshot!(title("degree = 2"), @r#"
    error: incasts without bytes, sizes or a total
    --> bad.toml:9:1
    = help: add bytes = "64kB", sizes = "websearch", or total = "1MB"
    "#);
    assert_snapshot!(title("degree = 2\nbytes = \"1kB\"\nsizes = \"hadoop\""), @r"
    error: `bytes` and `sizes`
    --> bad.toml:14:9
    = help: leave one out: `bytes` is for all flows, `sizes` are drawn from
    ");
    assert_snapshot!(title("degree = { least = 2, most = 1 }\nbytes = \"1kB\""), @r"
    error: incasts of 2 to 1 senders
    --> bad.toml:12:10
    = help: write how many hosts send at once, from 1 up; of a range, the least first
    ");
    assert_snapshot!(title("degree = 2\nflows = 1\nbytes = \"1kB\""), @r"
    error: 1 flows of 2 senders
    --> bad.toml:13:9
    = help: each sends at least one: write 2 to 1048576
    ");
    assert_snapshot!(
        title("degree = 1\nbytes = \"1kB\"\nreceiver = \"h0\"\nreceivers = [\"h1\"]"),
        @r"
    error: `receiver` and `receivers`
    --> bad.toml:15:13
    = help: leave one out: `receiver` is always the same, `receivers` are drawn from
    "
    );
    assert_snapshot!(title("degree = 1\nbytes = \"1kB\"\nsenders = [\"leaf0\", \"h1\"]"), @r"
    error: `h1` is in the group twice
    --> bad.toml:14:21
    = help: name each host once, and leave out those of switches that you name
    ");
    assert_snapshot!(title("degree = 1\nbytes = \"1kB\"\nsenders = [\"leaf0\"]"), @r"
    error: 0 hosts can send to `h0` at once, not 1
    --> bad.toml:12:10
    = help: senders are of other racks than the receiver: write 0 at most, or use more hosts, or own_rack = true
    ");
}

#[test]
fn queries_that_cannot_be() {
    let title = |keys: &str| {
        let report = report(&format!("kind = \"poisson-incast\"\n{keys}"));
        let lines: Vec<&str> = report.lines().collect();
        format!("{} at {}", lines[0], lines[1].trim())
    };
    let queries = "degree = 2\nrate = 2\ntotal = \"1MB\"\n";
    for (keys, expected) in [
        ("own_rack = true\nnext_rack = true", "`own_rack` and `next_rack` at --> bad.toml:15:13"),
        ("period = \"1us\"", "`rate` beside another pace at --> bad.toml:12:8"),
        ("of = \"core-links\"", "`rate` beside another pace at --> bad.toml:12:8"),
        ("bytes = \"1kB\"", "`total` and `bytes` at --> bad.toml:13:9"),
        ("sizes = \"1kB\"", "`total` and `sizes` at --> bad.toml:13:9"),
        ("flows = 1000001", "1MB for 1000001 flows at --> bad.toml:13:9"),
    ] {
        assert_eq!(title(&format!("{queries}{keys}")), format!("error: {expected}"));
    }
    for (keys, expected) in [
        (
            "degree = 3\nnext_rack = true\nrate = 2\ntotal = \"1MB\"",
            "2 hosts can send to `h0` at once, not 3",
        ),
        (
            // 1 MB takes 80 us of a link of 100 Gbit/s.
            "degree = 2\nrate = 12500.001\ntotal = \"1MB\"",
            "the link of `h0` would carry 101% of its rate at --> bad.toml:12:8",
        ),
        (
            "degree = 2\nrate = 50000\ntotal = \"1MB\"",
            "the link of `h0` would carry 400% of its rate",
        ),
        ("degree = 2\nrate = 0\ntotal = \"1MB\"", "`flows.0.rate` is the number 0"),
        ("degree = 2\nrate = 1.0005\ntotal = \"1MB\"", "1.0005 is finer than a thousandth"),
        ("degree = 2\nrate = 2\ntotal = { of_buffer = 0 }", "0B for 2 flows"),
        (
            "degree = { least = 1, most = 2 }\nrate = 2\ntotal = \"1MB\"",
            "a total, divided among a number of senders that varies",
        ),
        (
            "degree = 2\nrate = 2\ntotal = { of_buffer = 0.5 }\n[[switches]]\nat = \"leaf0\"\nbuffer = \"8MB\"",
            "a part of a buffer of 8MB, or of 16MB",
        ),
    ] {
        let title = title(keys);
        assert!(title.contains(expected), "{title}");
    }
}

/// 1 MB takes 80 us of a link of 100 Gbit/s, whatever other hosts do; with a period it may be more.
#[test]
fn answers_may_fill_the_links() {
    let incast = "kind = \"poisson-incast\"\ndegree = 2\ntotal = \"1MB\"\n";
    for keys in [
        "rate = 12500",
        "rate = 12500\nreceiver = \"h0\"",
        "rate = 12500\nreceivers = [\"h0\", \"h1\", \"h2\"]",
        "period = \"1us\"",
    ] {
        let text = format!("{HEAD}{incast}{keys}\n");
        let good = Scenario::parse(&text, Path::new("good.toml"), &[]);
        assert!(good.is_ok(), "{keys}: {}", good.unwrap_err());
    }
}

/// The slowest receiver limits the rate.
#[test]
fn a_slow_host_that_asks_for_too_much_is_named() {
    let text = "duration = \"1ms\"\n[topology]\nkind = \"custom\"\nswitches = [\"s0\"]\nhosts = [\"a\", \"b\", \"c\"]
links = [{ a = \"a\", b = \"s0\", rate = \"100Gbps\", delay = \"1us\" }, { a = \"b\", b = \"s0\", rate = \"10Gbps\", delay = \"1us\" },
{ a = \"c\", b = \"s0\", rate = \"100Gbps\", delay = \"1us\" }]
[[flows]]\nkind = \"poisson-incast\"\ndegree = 1\nrate = 4000\ntotal = \"1MB\"\nown_rack = true\n";
    let error = Scenario::parse(text, Path::new("bad.toml"), &[]).unwrap_err().to_string();
    let words = ["the link of `b` would carry 320% of its rate", "a rate of at most 1250,"];
    assert!(words.iter().all(|word| error.contains(word)), "{error}");
}

#[test]
fn groups_and_batches_that_cannot_be() {
    let poisson = "kind = \"poisson\"\nload = 0.5\nsizes = \"1kB\"\n";
    let title = |keys: &str| {
        let report = report(&format!("{poisson}{keys}"));
        let lines: Vec<&str> = report.lines().collect();
        format!("{}\n{}\n{}", lines[0], lines[1].trim(), lines.last().unwrap().trim())
    };
    assert_snapshot!(title("batch = 0"), @r"
    error: 0 flows at once
    --> bad.toml:13:9
    = help: write a number from 1 to 65536
    ");
    assert_snapshot!(title("pairs = { kind = \"groups\", from = [] }"), @r"
    error: a group of no hosts
    --> bad.toml:13:35
    = help: name hosts, or switches for all of their hosts; or leave the key out
    ");
    assert_snapshot!(title("pairs = { kind = \"groups\", to = [\"h0\"] }"), @r"
    error: `h0` has none but itself to send to
    --> bad.toml:13:9
    = help: name more receivers, or fewer senders
    ");
    assert_snapshot!(title("pairs = { kind = \"groups\", to = [\"h9\"] }"), @r"
    error: no host is called `h9`
    --> bad.toml:13:34
    = help: the hosts are `h0`, `h1`, `h2` and `h3`
    ");
}

#[test]
fn pairs_that_cannot_be() {
    let poisson = "kind = \"poisson\"\nload = 0.5\nsizes = \"1kB\"\n";
    let racks = |from, to| {
        let pairs = format!("{{ kind = \"rack-to-rack\", from = \"{from}\", to = \"{to}\" }}");
        report(&format!("{poisson}pairs = {pairs}"))
    };
    assert_snapshot!(racks("leaf0", "spine0"), @r#"
    error: no rack is called `spine0`
      --> bad.toml:13:55
       |
    13 | pairs = { kind = "rack-to-rack", from = "leaf0", to = "spine0" }
       |                                                       ^^^^^^^^
       |
       = help: the switches with hosts are `leaf0` and `leaf1`
    "#);
    assert_snapshot!(racks("leaf0", "leaf0"), @r#"
    error: from rack `leaf0` to itself
      --> bad.toml:13:55
       |
    13 | pairs = { kind = "rack-to-rack", from = "leaf0", to = "leaf0" }
       |                                                       ^^^^^^^
       |
       = help: name another switch
    "#);
    let matrix = format!("{poisson}pairs = {{ kind = \"matrix\", file = \"m.csv\" }}");
    assert_snapshot!(report_on_file(&matrix, "m.csv", "0,1,1,1\n1,0,1\n"), @r"
    error: a row of 3 weights for 4 hosts
     --> m.csv:2:1
      |
    2 | 1,0,1
      | ^^^^^
      |
      = help: write a row for each of the 4 hosts, with as many columns
    ");
}

#[test]
fn windows_and_priorities_that_cannot_be() {
    let poisson = "kind = \"poisson\"\nload = 0.5\nsizes = \"1kB\"\n";
    assert_snapshot!(report(&format!("{poisson}start = \"10us\"\nstop = \"5us\"")), @r#"
    error: the workload stops at 5us, before it starts
      --> bad.toml:14:8
       |
    14 | stop = "5us"
       |        ^^^^^
       |
       = help: it starts at 10us: write a later time
    "#);
    assert_snapshot!(report(&format!("{poisson}priority = 1\npriorities = [1, 2]")), @r"
    error: `priority` and `priorities`
      --> bad.toml:14:14
       |
    14 | priorities = [1, 2]
       |              ^^^^^^
       |
       = help: leave one out: `priority` is for all flows, `priorities` are drawn from
    ");
    let sigma = "kind = \"lognormal\"\nsigma = 0\nload = 0.5\nsizes = \"1kB\"";
    assert_snapshot!(report(sigma), @r"
    error: `flows.0.sigma` is the number 0
      --> bad.toml:11:9
       |
    11 | sigma = 0
       |         ^
       |
       = help: write a number from 0.001 to 10 such as 2
    ");
}

#[test]
fn a_label_that_a_table_cannot_show() {
    let flow = "kind = \"one\"\nlabel = \"a\\nb\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1kB\"";
    assert_snapshot!(report(flow), @r#"
    error: a label that a table cannot show
      --> bad.toml:11:9
       |
    11 | label = "a\nb"
       |         ^^^^^^
       |
       = help: write some text, without line breaks and other control characters
    "#);
    assert!(report(&flow.replace("a\\nb", "")).contains("a label that a table cannot show"));
}

#[test]
fn flows_that_cannot_be_divided() {
    let split = |keys: &str| report(&format!("kind = \"split\"\n{keys}"));
    let good = "flows = 3\nbytes = \"1kB\"\ngroups = [{ from = [\"leaf0\"], to = [\"leaf1\"] }]";
    for (from, to, expected) in [
        ("flows = 3", "flows = 0", "no flow to divide"),
        ("1kB", "0B", "flows without bytes"),
        ("[{ from = [\"leaf0\"], to = [\"leaf1\"] }]", "[]", "no group"),
        ("to = [\"leaf1\"]", "to = [\"h1\", \"h2\"]", "`h1` sends and receives in one group"),
        ("leaf0", "leaf7", "`leaf7`"),
    ] {
        let found = split(&good.replace(from, to));
        assert!(found.contains(expected), "{found}");
    }
}
