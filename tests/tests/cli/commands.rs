//! Output of the binary's commands. Needs no privilege.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tests::command::{
    ENDLESS, Running, ScenarioFolder, await_that, finish, json, shipped, shipped_scenarios,
    terminal, xoff,
};

/// Folder in which a run's files grow.
const PARTIAL: &str = ".xoff-partial";
/// Terminal sequence that erases a line.
const ERASE_LINE: &str = "\x1b[2K";

#[test]
fn json_is_one_document_and_a_pipe_sees_no_bar() {
    let incast = shipped("incast");
    let run = finish(&mut xoff(["run", &incast, "--datapath", "memory", "--json"])).assert_code(0);
    assert_eq!(run.stderr, "");
    let summary = json(&run.stdout);
    let object = summary.as_object().expect("a summary is an object");
    for key in [
        "flows_total",
        "flows_completed",
        "fct_ns",
        "slowdown",
        "pause_frames",
        "resume_frames",
        "paused_ns",
        "pause_ordered_ns",
        "ecn_marked",
        "cnps",
        "retransmitted_packets",
        "drops",
        "buffer_max_bytes",
        "headroom_max_bytes",
        "packet_hops",
        "emulated_ns",
        "threads",
        "wall_seconds",
        "cpu_seconds",
        "lossless",
    ] {
        assert!(object.contains_key(key), "{key}: {}", run.stdout);
    }
    assert_eq!((&summary["flows_total"], &summary["flows_completed"]), (&8.into(), &8.into()));
    assert_eq!((&summary["lossless"], &summary["drops"]["policy"]), (&true.into(), &0.into()));
}

/// Every command that help lists has a page, and no other; a shell reads its script.
#[test]
fn manual_pages_and_completions() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man");
    let written = finish(xoff(["man", "--out"]).arg(&pages)).assert_code(0);
    assert_eq!((written.stdout.as_str(), written.stderr.as_str()), ("", ""));
    let help = finish(&mut xoff(["--help"])).assert_code(0).stdout;
    let (_, commands) = help.split_once("Commands:\n").expect("a list of commands");
    let listed = commands.lines().take_while(|line| !line.is_empty());
    let mut expected: Vec<String> = listed
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty() && *name != "help")
        .map(|name| format!("xoff-{name}.1"))
        .chain(["xoff.1".to_owned()])
        .collect();
    expected.sort();
    let names = fs::read_dir(&pages).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, expected);
    let page = finish(&mut xoff(["man", "run"])).assert_code(0).stdout;
    let version = env!("CARGO_PKG_VERSION");
    assert!(page.contains(&format!(".TH xoff-run 1  \"run {version}\"")), "{page}");
    assert!(page.contains("\\-\\-threads"), "{page}");
    for (unknown, help) in
        [("nothing", "the commands are"), ("supervise", "the"), ("runn", "did you mean `run`?")]
    {
        let refused = finish(&mut xoff(["man", unknown])).assert_code(2).stderr;
        assert!(
            refused.contains(&format!("no command `{unknown}`")) && refused.contains(help),
            "{refused}"
        );
    }
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    finish(xoff(["man", "--out"]).arg(&file)).assert_refused(&["is not a folder"]);
    let script = folder.path().join("xoff.bash");
    fs::write(&script, finish(&mut xoff(["completions", "bash"])).assert_code(0).stdout).unwrap();
    let shell = Command::new("bash").arg("-n").arg(&script).status().unwrap();
    assert!(shell.success());
    let lists = "source \"$1\"; COMP_WORDS=(xoff $2); COMP_CWORD=1; _xoff xoff \"$2\" xoff; echo ${COMPREPLY[*]}";
    for (typed, offered) in [("inc", "incast"), ("sup", ""), ("gua", "")] {
        let mut shell = Command::new("bash");
        let shell = shell.args(["-c", lists, "bash"]).arg(&script).arg(typed);
        assert_eq!(String::from_utf8_lossy(&shell.output().unwrap().stdout).trim(), offered);
    }
}

#[test]
fn an_inspection_is_one_document_too() {
    let ring = shipped("deadlock-ring");
    let prevented = "switch.scheme={ kind = \"bfc\", prevent_deadlocks = true }";
    let inspected = finish(&mut xoff(["inspect", &ring, "--json", "--set", prevented]));
    let inspected = inspected.assert_code(0);
    let warnings: Vec<Value> = inspected.stderr.lines().map(json).collect();
    let of_pfc =
        |it: &Value| it["warning"].as_str().is_some_and(|it| it.contains("not of the PFC"));
    assert!(warnings.iter().any(of_pfc), "{warnings:?}");
    let found = json(&inspected.stdout);
    assert_eq!((&found["hosts"], &found["switches"]), (&4.into(), &4.into()));
    let graph = &found["backpressure_graph"];
    assert_eq!(graph["cycles"].as_array().map(Vec::len), Some(1), "{graph}");
    assert_eq!(graph["prevention"]["cycles"], 0, "{graph}");
}

#[test]
fn a_report_in_a_pipe_has_no_colours_and_names_the_files() {
    let folder = ScenarioFolder::new();
    let (incast, out) = (shipped("incast"), folder.path("results"));
    let arguments = ["run", &incast, "--datapath", "memory", "--out", &out];
    let run = finish(&mut xoff(arguments)).assert_code(0);
    assert_eq!(run.stderr, "");
    assert!(!run.stdout.contains('\x1b'), "{}", run.stdout);
    for words in ["8 of 8 flows completed", "books balanced", "none: lossless", "tshark -r"] {
        assert!(run.stdout.contains(words), "{words:?}: {}", run.stdout);
    }
    let written = json(&fs::read_to_string(folder.path("results/summary.json")).expect("written"));
    assert_eq!(written["flows_completed"], 8);
    // The folder now holds a run, which another one replaces.
    finish(&mut xoff(arguments)).assert_code(0);
}

#[test]
fn a_run_that_is_not_what_it_claims_exits_with_1() {
    let incast = shipped("incast");
    let set = ["--set", "duration=100us", "--json"];
    let arguments = ["run", &incast, "--datapath", "memory"].into_iter().chain(set);
    let run = finish(&mut xoff(arguments)).assert_code(1);
    let summary = json(&run.stdout);
    assert_eq!(summary["flows_completed"], 0);
    let why = summary["unfinished"].as_str().expect("it says what was left");
    assert!(why.contains("flows had not completed") && why.contains("100000 ns"), "{why}");
}

/// Also where the scheme may lose packets by choice.
#[test]
fn a_run_whose_switches_drop_lossless_packets_exits_with_1_and_names_the_limit() {
    let incast = shipped("incast");
    for (set, reason, key) in [
        (
            "switch.headroom={ kind=\"sih\", bytes=\"1200B\" }",
            "headroom-exhausted",
            "`switch.headroom.bytes`",
        ),
        (
            "switch.scheme={ kind=\"oversubscribed\", ratio=\"64\" }",
            "headroom-pool-exhausted",
            "`switch.scheme.ratio`",
        ),
    ] {
        let run = ["run", &incast, "--datapath", "memory", "--set", set];
        let shown = finish(&mut xoff(run)).assert_code(1).stdout;
        assert!(shown.contains("8 of 8 flows completed") && shown.contains("books balanced"));
        let summary = json(&finish(xoff(run).arg("--json")).assert_code(1).stdout);
        assert_eq!(summary["books"], Value::Array(Vec::new()));
        let limit = summary["limits_reached"][0].as_str().expect("a limit is named");
        let words = ["leaf0 dropped", "lossless packets", reason, key];
        assert!(words.iter().all(|word| limit.contains(word)), "{limit}");
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains(&format!("limit: {limit}")), "{shown}");
    }
}

#[test]
fn the_schema_describes_every_section() {
    let schema = json(&finish(&mut xoff(["schema"])).assert_code(0).stdout);
    for section in
        ["name", "seed", "duration", "clock", "topology", "switch", "host", "flows", "captures"]
    {
        assert!(schema["properties"][section].is_object(), "{section}");
    }
}

#[test]
fn shipped_scenarios_are_valid_and_resolve_to_themselves() {
    let folder = ScenarioFolder::new();
    let scenarios = shipped_scenarios();
    assert!(scenarios.len() >= 5, "{scenarios:?}");
    for scenario in scenarios {
        let valid = finish(&mut xoff(["validate", &scenario])).assert_code(0);
        assert!(valid.stdout.contains(" switch") && valid.stdout.contains(" flow"), "{valid:?}");
        let resolve =
            |file: &str| finish(&mut xoff(["validate", "--resolved", file])).assert_code(0);
        let resolved = resolve(&scenario).stdout;
        let copy = folder.write("resolved.toml", &resolved);
        assert_eq!(resolve(&copy).stdout, resolved, "{scenario}");
    }
}

#[test]
fn overrides_reach_the_scenario() {
    let incast = shipped("incast");
    let set = ["--set", "switch.buffer=4MB", "--set", "flows.1.bytes=3MB"];
    let resolved = finish(&mut xoff(["validate", "--resolved", &incast].into_iter().chain(set)));
    let resolved = resolved.assert_code(0).stdout;
    assert!(resolved.contains("buffer = \"4MB\"") && resolved.contains("\"3MB\""), "{resolved}");
}

#[test]
fn output_that_cannot_be_written_is_an_error_and_a_reader_that_left_is_none() {
    let single = shipped("single-flow");
    for arguments in
        [vec!["schema"], vec!["validate", &single], vec!["run", &single, "--datapath", "memory"]]
    {
        let full = File::options().write(true).open("/dev/full").expect("Linux has /dev/full");
        let output = xoff(arguments.clone()).stdout(full).output().expect("it starts");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(message.contains("cannot write to standard output"), "{arguments:?}: {message}");

        let (reader, writer) = std::io::pipe().expect("a pipe can be made");
        drop(reader);
        let output = xoff(arguments.clone()).stdout(writer).output().expect("it starts");
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
    }
}

#[test]
fn a_terminal_sees_a_bar_that_cleans_up_and_the_report_with_colours() {
    let (mut master, slave) = terminal();
    let output = || Stdio::from(slave.try_clone().expect("a descriptor can be copied"));
    let mut run = xoff(["run", &shipped("incast"), "--datapath", "memory"]);
    let mut child = run.stdout(output()).stderr(output()).spawn().expect("it starts");
    drop((run, slave));
    let mut seen = Vec::new();
    // Reading ends with an error when the last writer has gone.
    let _ = master.read_to_end(&mut seen);
    assert_eq!(child.wait().expect("it is a child").code(), Some(0));
    let seen = String::from_utf8_lossy(&seen);
    let bar = seen.find("of at most").unwrap_or_else(|| panic!("there is no bar: {seen}"));
    let report = seen.find("8 of 8 flows completed").expect("there is a report");
    let erased = seen[bar..report].rfind(ERASE_LINE).map(|place| bar + place);
    let erased = erased.unwrap_or_else(|| panic!("the bar stays: {seen}"));
    assert!(!seen[erased..].contains("of at most"), "the bar is drawn again: {seen}");
    assert!(seen[report..].contains('\x1b'), "there are no colours: {seen}");
}

#[test]
fn ctrl_c_ends_a_run_in_memory_and_keeps_what_was_measured() {
    let folder = ScenarioFolder::new();
    let (incast, out) = (shipped("incast"), folder.path("results"));
    let arguments = ["run", &incast, "--datapath", "memory", "--out", &out];
    for (signal, more) in [(libc::SIGINT, [].as_slice()), (libc::SIGTERM, &["--json"])] {
        let run = arguments.iter().chain(&ENDLESS).chain(more).copied();
        let run = Running::start(&mut xoff(run));
        // The second run replaces the results of the first.
        await_that("a run begins to write", || Path::new(&out).join(PARTIAL).exists());
        run.signal(signal);
        let finished = run.finish().assert_code(130);
        let place = format!("of emulated time; {out} has what was measured until then\n");
        assert!(finished.stderr.starts_with("interrupted at "), "{}", finished.stderr);
        assert!(finished.stderr.ends_with(&place), "{}", finished.stderr);

        let read = |name| fs::read_to_string(Path::new(&out).join(name)).expect("it is kept");
        let summary = json(&read("summary.json"));
        assert_eq!(summary["ended"], "interrupted");
        assert_eq!(summary["books"], Value::Array(Vec::new()));
        let at = summary["emulated_ns"].as_u64().expect("a number");
        // Where the signal comes late, the scenario's second flow has completed.
        let flows = read("flows.csv");
        assert_eq!(flows.lines().count(), 1 + 8, "each flow has a row");
        let under_way = flows.lines().filter(|row| row.split(',').nth(7) == Some("")).count();
        assert!(under_way >= 7, "{flows}");
        let why = format!("the run was interrupted at {at} ns, with {under_way} flows under way");
        assert_eq!(summary["unfinished"], Value::String(why.clone()));
        assert!(!Path::new(&out).join(PARTIAL).exists());
        if more.is_empty() {
            assert!(finished.stdout.contains(", until the interrupt; "), "{}", finished.stdout);
            assert!(finished.stdout.contains(&why), "{}", finished.stdout);
        } else {
            assert_eq!(json(&finished.stdout), summary);
        }
    }
}
