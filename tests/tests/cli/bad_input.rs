//! Wrong input to the binary: a message that names the error, its place, and the remedy; exit code 2. Needs no
//! privilege.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::Command;

use tests::command::{ScenarioFolder, finish, limit, shipped, without_capabilities, xoff};

/// A part of `incast.toml`, its replacement, and words of the message.
type Row = (&'static str, &'static str, &'static [&'static str]);

const WRONG: &[Row] = &[
    (
        "buffer = \"2MB\"",
        "bufer = \"2MB\"",
        &["unknown key `bufer`", ":17:1", "did you mean `buffer`?"],
    ),
    ("[switch]", "[swich]", &["unknown key `swich`", "did you mean `switch`?"]),
    ("\"20ms\"", "\"20\"", &["`duration`", "`20` has no unit", ":3:12", "such as \"10us\""]),
    ("\"20ms\"", "20", &["`duration`", "`20` has no unit", "such as \"10us\""]),
    ("\"20ms\"", "\"20 parsecs\"", &["`duration`", "parsecs", "units are ps, ns, us, ms, s"]),
    ("\"20ms\"", "\"0ms\"", &["a run of no time", "such as \"20ms\""]),
    (
        "rate = \"100Gbps\"",
        "rate = \"0Gbps\"",
        &["`topology.host_link.rate`", "zero", ":13:", "\"100Gbps\""],
    ),
    (
        "alpha = \"1/2\"",
        "alpha = \"0\"",
        &["`switch.threshold.alpha`", "a ratio of 0", "above zero"],
    ),
    ("alpha = \"1/2\"", "alpha = \"1/0\"", &["`switch.threshold.alpha`", "1/16"]),
    (
        "dst = \"h1\"",
        "dst = \"h4\"",
        &["a flow from `h4` to itself", ":40:7", "two different hosts"],
    ),
    ("dst = \"h1\"", "dst = \"h99\"", &["no host is called `h99`", "the hosts are", "`h7`"]),
    ("receiver = \"h0\"", "receiver = \"leaf0\"", &["no host is called `leaf0`", "the hosts are"]),
    (
        "headroom = { kind = \"sih\" }",
        "headroom = { kind = \"sih\", bytes = \"400kB\" }",
        &["sets aside", "of its 2MB", "headroom", "write a buffer of at least"],
    ),
    ("lossless = [3]", "lossless = [8]", &["there is no priority 8", ":19:", "0 to 7"]),
    ("priority = 3", "priority = 8", &["priority 8", "0 to 7"]),
    ("kind = \"leaf-spine\"", "kind = \"torus\"", &["torus", "leaf-spine", "star", "custom"]),
    ("leaves = 2", "leaves = 0", &["leaves"]),
    ("name = \"incast\"", "name = incast", &["not TOML", ":1:8", "in quotes"]),
];

#[test]
fn wrong_scenarios_are_refused() {
    for (from, to, words) in WRONG {
        let folder = ScenarioFolder::new();
        let file = folder.incast_with(from, to);
        let out = folder.path("results");
        let mut run = xoff(["run", &file, "--out", &out]);
        let mut expected = vec![file.as_str(), "help: "];
        expected.extend(*words);
        finish(&mut run).assert_refused(&expected);
        assert_eq!(folder.entries(), ["scenario.toml"], "{to} left something behind");
        finish(&mut xoff(["validate", &file])).assert_refused(words);
    }
}

#[test]
fn a_name_that_is_too_long_for_an_interface_is_refused() {
    let folder = ScenarioFolder::new();
    let file = folder.write(
        "scenario.toml",
        r#"
        [topology]
        kind = "custom"
        switches = ["s0"]
        hosts = ["h0", "the-host-of-hosts"]
        links = [
            { a = "h0", b = "s0", rate = "100Gbps", delay = "1us" },
            { a = "the-host-of-hosts", b = "s0", rate = "100Gbps", delay = "1us" },
        ]
        [[flows]]
        kind = "one"
        src = "h0"
        dst = "the-host-of-hosts"
        bytes = "1MB"
        "#,
    );
    let words =
        ["`the-host-of-hosts`", "15 characters", "interface name", "scenario.toml:5:", "write"];
    finish(&mut xoff(["run", &file])).assert_refused(&words);
}

#[test]
fn a_file_that_cannot_be_read_is_refused() {
    let folder = ScenarioFolder::new();
    let missing = folder.path("missing.toml");
    let words = ["No such file", "missing.toml", "give the path of a scenario"];
    finish(&mut xoff(["run", &missing])).assert_refused(&words);
    finish(&mut xoff(["run", &folder.path("")])).assert_refused(&["Is a directory"]);
    let binary = folder.write("binary", [0xff, 0xfe, 0]);
    finish(&mut xoff(["run", &binary])).assert_refused(&["UTF-8", "binary"]);
    let empty = folder.write("empty.toml", "");
    finish(&mut xoff(["run", &empty])).assert_refused(&["no `topology`", "xoff schema"]);
}

#[test]
fn a_device_without_an_end_is_refused() {
    for command in ["run", "validate", "inspect", "deploy"] {
        let endless = finish(&mut xoff([command, "/dev/zero"]));
        endless.assert_refused(&["cannot read the scenario", "more than 64 MiB", "/dev/zero"]);
    }
}

#[test]
fn a_picture_that_cannot_be_written_leaves_no_file() {
    let folder = ScenarioFolder::new();
    let (file, out) = (shipped("incast"), folder.path("fabric.svg"));
    let mut graph = xoff(["graph", &file, "--out", &out]);
    // Like a full disk: the first bytes can be written, and no more.
    let finished = finish(limit(&mut graph, libc::RLIMIT_FSIZE, 1000));
    finished.assert_refused(&["cannot write", &out]);
    assert!(folder.entries().is_empty());
    // What was there before is not removed.
    folder.write("fabric.svg", "");
    finish(&mut xoff(["graph", &file, "--out", &out])).assert_code(0);
    assert_eq!(folder.entries(), ["fabric.svg"]);
}

/// Opening a pipe would wait for a reader.
#[test]
fn a_file_to_write_is_no_pipe_and_no_socket() {
    let folder = ScenarioFolder::new();
    let (file, pipe, socket) = (shipped("incast"), folder.path("pipe"), folder.path("socket"));
    let made = Command::new("mkfifo").arg(&pipe).status().expect("this test needs mkfifo");
    assert!(made.success());
    let _open = UnixListener::bind(&socket).expect("the folder is ours");
    for out in [&pipe, &socket] {
        let words = ["cannot write", out, "it is a pipe, a socket or a disk", "name a file"];
        finish(&mut xoff(["graph", &file, "--out", out])).assert_refused(&words);
        finish(&mut xoff(["report", &folder.path(""), "--out", out])).assert_refused(&words);
    }
}

#[test]
fn a_number_below_zero_is_a_wrong_number_and_no_unknown_option() {
    for arguments in [
        &["capture", "lab", "-w", "x", "-c", "-5"][..],
        &["capture", "lab", "-w", "x", "-c", "0"],
        &["deploy", "x", "--dilation", "-1"],
        &["deploy", "x", "--threads", "-1"],
        &["impair", "lab", "h0-leaf0", "--loss", "-1%"],
        &["impair", "lab", "h0-leaf0", "--delay", "-5us"],
        &["impair", "lab", "h0-leaf0", "--rate", "-1Gbps"],
        &["incast", "lab", "h0", "--priority", "-1"],
        &["link", "lab", "h0-leaf0", "flap", "--period", "-1s"],
        &["link", "lab", "h0-leaf0", "flap", "--times", "-1"],
        &["run", "x", "--threads", "-1"],
        &["run", "x", "--seed", "-1"],
        &["send", "lab", "h0", "h1", "--bytes", "-1MB"],
        &["send", "lab", "h0", "h1", "--count", "-1"],
        &["send", "lab", "h0", "h1", "--timeout", "-1s"],
        &["storm", "lab", "h0", "--for", "-1s"],
        &["storm", "lab", "h0", "--priority", "-1"],
        &["sweep", "x", "--jobs", "-1"],
        &["watch", "lab", "--every", "-1s"],
        &["watch", "lab", "-n", "-1"],
    ] {
        let value = arguments[arguments.len() - 1];
        let refused = finish(&mut xoff(arguments.iter().copied())).assert_code(2);
        let words = format!("invalid value '{value}' for '-");
        assert!(refused.stderr.contains(&words), "{arguments:?}: {refused:?}");
    }
}

#[test]
fn wrong_overrides_are_refused_at_the_command_line() {
    for (set, words) in [
        ("switch.buffer", ["an override without `=`", "--set KEY=VALUE"]),
        ("switch.bufer=4MB", ["unknown key `bufer`", "did you mean `buffer`?"]),
        ("switch.buffer=4", ["`4` has no unit", "such as \"200kB\""]),
        ("seed=many", ["`seed`", "whole number"]),
        ("flows.9.bytes=1MB", ["flows", "help: "]),
        ("datapath.kind=asic", ["cannot be `asic`", "`kernel` and `memory`"]),
    ] {
        let mut run = xoff(["run", &shipped("incast"), "--set", set]);
        finish(&mut run).assert_refused(&["--set", words[0], words[1]]);
    }
    finish(&mut xoff(["run"])).assert_refused(&["<FILE>", "--help"]);
    finish(&mut xoff(["walk"])).assert_refused(&["walk", "Usage", "--help"]);
}

#[test]
fn numbers_out_of_range_are_refused_without_rusts_words() {
    for (arguments, help) in [
        (&["send", "lab", "h0", "h1", "--priority", "9"][..], "write a whole number from 0 to 7"),
        (&["send", "lab", "h0", "h1", "--count", "0"], "write a whole number from 1 to 4096"),
        (&["watch", "lab", "-n", "0"], "write a whole number from 1 up"),
        (&["sweep", "x", "--jobs", "0"], "write a whole number from 1 up"),
        (&["selftest", "--repeat", "0"], "write a whole number from 1 to 1000000"),
        (&["run", "x", "--seed", "x"], "write a whole number from 0 to 9223372036854775807"),
        (&["explain", "x", "--flow", "1.5"], "write a whole number from 0 up"),
    ] {
        let refused = finish(&mut xoff(arguments.iter().copied())).assert_code(2);
        assert!(refused.stderr.contains(help), "{arguments:?}: {refused:?}");
        for word in ["..", "non-zero", "invalid digit"] {
            assert!(!refused.stderr.contains(word), "{arguments:?}: {refused:?}");
        }
    }
}

#[test]
fn a_sweep_and_a_scenario_are_distinguished() {
    let sweep = shipped("sweeps/alpha");
    finish(&mut xoff(["run", &sweep])).assert_refused(&["a sweep, not a scenario", "`xoff sweep`"]);
    let folder = ScenarioFolder::new();
    let out = folder.path("out");
    finish(&mut xoff(["sweep", &shipped("incast"), "--out", &out]))
        .assert_refused(&["a scenario, not a sweep", "`xoff run`"]);
}

/// As tutorials show it, on a file that leaves the transport to its default.
#[test]
fn a_key_of_a_table_with_a_default_can_be_set_alone() {
    let folder = ScenarioFolder::new();
    let text = fs::read_to_string(shipped("incast")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with("transport = "));
    let text = lines.collect::<Vec<_>>().join("\n") + "\n";
    assert!(!text.contains("roce-rc"), "the file leaves the transport to its default");
    let file = folder.write("a.toml", &text);
    for (set, expected) in [
        ("host.transport.congestion_control=none", "congestion_control = \"none\""),
        ("host.transport.dcqcn.profile=paper", "profile = \"paper\""),
        ("flows.0.transport.congestion_control=none", "congestion_control = \"none\""),
        ("switch.buffer=2 MB", "buffer = \"2MB\""),
        ("topology.host_link.rate=25 Gbit/s", "rate = \"25Gbps\""),
        ("topology.host_link.rate=25G", "rate = \"25Gbps\""),
        ("switch.threshold.alpha=0.25", "alpha = \"1/4\""),
        ("switch.threshold.alpha=1/8", "alpha = \"1/8\""),
    ] {
        let read = finish(&mut xoff(["validate", &file, "--resolved", "--set", set]));
        let read = read.assert_code(0);
        assert!(read.stdout.contains(expected), "{set}: {read:?}");
    }
}

#[test]
fn a_section_of_the_schema_is_read_by_people() {
    let ecn = finish(&mut xoff(["schema", "switch.ecn"])).assert_code(0).stdout;
    assert!(ecn.contains("\npriorities: ") && ecn.contains("\nkmin: "), "{ecn}");
    finish(&mut xoff(["schema", "switch.enc"])).assert_refused(&["`enc`", "did you mean `ecn`?"]);
}

#[test]
fn an_option_is_refused_by_its_own_name() {
    let incast = shipped("incast");
    let refused = finish(&mut xoff(["run", &incast, "--datapath", "mem"])).assert_code(2);
    assert!(
        refused.stderr.contains("--datapath") && !refused.stderr.contains("--set"),
        "{refused:?}"
    );
    let seeds = ["4", "5"].map(|seed| {
        let run = ["run", &incast, "--datapath", "memory", "--json", "--seed", seed];
        let summary: serde_json::Value =
            serde_json::from_str(&finish(&mut xoff(run)).assert_code(0).stdout).unwrap();
        summary["seed"].clone()
    });
    assert_eq!(seeds, [4, 5].map(serde_json::Value::from));
}

#[test]
fn a_malformed_flow_list_is_refused_at_its_line() {
    let header = "start_ns,src,dst,bytes,priority";
    for (list, words) in [
        (None, ["No such file", "flows.csv"]),
        (Some(""), ["not a flow list", header]),
        (Some("start,src,dst,bytes,priority\n0,h0,h1,9,3\n"), ["not a flow list", header]),
        (Some("{header}\n"), ["without flows", header]),
        (Some("{header}\n0,h0,h1,9,3\n0,h0,h1,9\n"), ["a row of 4 columns", ":3:1"]),
        (Some("{header}\n0,h0,h1,9,3,7\n"), ["a row of 6 columns", ":2:1"]),
        (Some("{header}\nnow,h0,h1,9,3\n"), ["`start_ns` is `now`", ":2:1"]),
        (Some("{header}\n0,h0,h9,9,3\n"), ["no host is called `h9`", ":2:6"]),
        (Some("{header}\n0,h1,h1,9,3\n"), ["a flow from `h1` to itself", ":2:6"]),
        (Some("{header}\n0,h0,h1,0,3\n"), ["`bytes` is `0`", ":2:9"]),
        (Some("{header}\n0,h0,h1,9,8\n"), ["`priority` is `8`", "from 0 to 7"]),
        (Some("{header}\n90000000,h0,h1,9,3\n"), ["`start_ns`", "before `duration`"]),
    ] {
        let folder = ScenarioFolder::new();
        let file = folder.write(
            "scenario.toml",
            "duration = \"1ms\"\n\
             topology = { kind = \"star\", hosts = 3, host_link = { rate = \"10Gbps\", delay = \"1us\" } }\n\
             flows = [{ kind = \"list\", file = \"flows.csv\" }]\n",
        );
        if let Some(list) = list {
            folder.write("flows.csv", list.replace("{header}", header));
        }
        finish(&mut xoff(["run", &file])).assert_refused(&[
            "flows.csv",
            "help: ",
            words[0],
            words[1],
        ]);
    }
}

#[test]
fn a_workload_that_cannot_be_is_refused_at_its_place() {
    for (load, sizes, words) in [
        ("1.2", "0 0\n1000 1\n", ["scenario.toml:3:", "from 0 to 1"]),
        ("0", "0 0\n1000 1\n", ["scenario.toml:3:", "a load of 0"]),
        ("0.5", "0 0\n1000 0.5\n900 1\n", ["my.cdf:3:1", "sizes go down"]),
        ("0.5", "0 0\n10 0.5\n20 0.4\n30 1\n", ["my.cdf:3:1", "probabilities go down"]),
        ("0.5", "0 0\n1000 0.98\n", ["my.cdf:2:1", "the distribution ends at 0.98"]),
        ("0.5", "0 0 0\n", ["my.cdf:1:1", "a line of 3 numbers"]),
    ] {
        let folder = ScenarioFolder::new();
        let file = folder.write(
            "scenario.toml",
            format!(
                "duration = \"1ms\"\n\
                 topology = {{ kind = \"star\", hosts = 3, host_link = {{ rate = \"10Gbps\", delay = \"1us\" }} }}\n\
                 flows = [{{ kind = \"poisson\", load = {load}, sizes = {{ file = \"my.cdf\" }} }}]\n"
            ),
        );
        folder.write("my.cdf", sizes);
        finish(&mut xoff(["run", &file])).assert_refused(&["help: ", words[0], words[1]]);
    }
}

/// A mistyped path may name another, private file.
#[test]
fn the_first_line_of_a_wrong_file_is_not_shown() {
    for (kind, first) in [
        ("kind = \"poisson\", load = 0.5, sizes = { file = \"wrong\" }", "root:hunter2:1:2"),
        ("kind = \"poisson\", load = 0.5, sizes = { file = \"wrong\" }", "root hunter2"),
        ("kind = \"poisson\", load = 0.5, sizes = { file = \"wrong\" }", "1 hunter2"),
        ("kind = \"list\", file = \"wrong\"", "root:hunter2:1:2"),
        ("kind = \"poisson\", load = 0.5, sizes = \"1kB\", matrix = \"wrong\"", "root,hunter2,1"),
    ] {
        let folder = ScenarioFolder::new();
        let text = format!(
            "duration = \"1ms\"\n\
             topology = {{ kind = \"star\", hosts = 3, host_link = {{ rate = \"10Gbps\", delay = \"1us\" }} }}\n\
             flows = [{{ {kind} }}]\n"
        );
        let file = folder.write("scenario.toml", text);
        folder.write("wrong", format!("# of another program\n{first}\n3 4\n"));
        let refused = finish(&mut xoff(["validate", &file]));
        assert!(!refused.stderr.contains("hunter2"), "{}", refused.stderr);
        refused.assert_refused(&["wrong", "help: "]);
    }
}

#[test]
fn a_flow_list_needs_no_order() {
    let folder = ScenarioFolder::new();
    let file = folder.write(
        "scenario.toml",
        "duration = \"1ms\"\n\
         topology = { kind = \"star\", hosts = 3, host_link = { rate = \"10Gbps\", delay = \"1us\" } }\n\
         flows = [{ kind = \"list\", file = \"flows.csv\" }]\n",
    );
    let rows = "start_ns,src,dst,bytes,priority\n90000,h0,h1,9,3\n0,h1,h2,9,3\n500,h2,h0,9,3\n";
    folder.write("flows.csv", rows);
    let out = folder.path("results");
    let run = ["run", &file, "--datapath", "memory", "--out", &out];
    finish(&mut xoff(run)).assert_code(0);
    let flows = fs::read_to_string(folder.path("results/flows.csv")).expect("it is written");
    let starts: Vec<&str> = flows.lines().skip(1).filter_map(|row| row.split(',').nth(6)).collect();
    assert_eq!(starts, ["0", "500", "90000"]);
}

#[test]
fn without_privilege_the_kernel_datapath_is_refused() {
    let folder = ScenarioFolder::new();
    let out = folder.path("results");
    let mut run = xoff(["run", &shipped("incast"), "--out", &out]);
    let words = ["needs CAP_NET_ADMIN", "CAP_BPF", "run it as root (sudo)", "--datapath memory"];
    finish(without_capabilities(&mut run)).assert_refused(&words);
    assert!(folder.entries().is_empty());
    let mut destroy = xoff(["destroy"]);
    finish(without_capabilities(&mut destroy)).assert_refused(&["CAP_SYS_ADMIN", "root"]);
    let mut memory = xoff(["run", &shipped("single-flow"), "--datapath", "memory"]);
    finish(without_capabilities(&mut memory)).assert_code(0);
}

#[test]
fn doctor_says_what_is_missing_and_what_to_do() {
    let mut doctor = xoff(["doctor"]);
    let finished = finish(without_capabilities(&mut doctor)).assert_code(2);
    for words in [
        "ok    kernel: Linux",
        "FAIL  privileges: ",
        "run it as root (sudo)",
        "not tried",
        "--datapath memory",
    ] {
        assert!(finished.stdout.contains(words), "{words:?}: {}", finished.stdout);
    }
}

#[test]
fn a_folder_that_is_not_for_results_is_refused_and_left_alone() {
    let folder = ScenarioFolder::new();
    let note = folder.write("note", "mine");
    let run = |out: &str, words: &[&str]| {
        let scenario = shipped("single-flow");
        let mut run = xoff(["run", &scenario, "--datapath", "memory", "--out", out]);
        finish(without_capabilities(&mut run)).assert_refused(words);
    };
    run(&folder.path(""), &["holds \"note\"", "which no run of xoff wrote", "--out"]);
    run(&note, &["is not a folder", "--out"]);
    assert_eq!(fs::read_to_string(&note).expect("it is left alone"), "mine");
    assert_eq!(folder.entries(), ["note"]);

    let closed = ScenarioFolder::new();
    let path = closed.path("");
    let mode = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode));
    mode(0o555).expect("the folder is ours");
    run(
        &closed.path("out"),
        &["cannot create", "Permission denied", "name a writable folder with --out"],
    );
    mode(0o755).expect("the folder is ours");
    assert!(closed.entries().is_empty());
}
