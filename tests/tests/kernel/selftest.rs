//! `xoff selftest` itself: all tests pass here, other parsers read its formats, tests with missing requirements are
//! skipped, and nothing is left. Needs root and, for the parsers, `perl`.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use serde_json::Value;
use tests::command::{
    Finished, Running, ScenarioFolder, await_fabrics, await_that, await_unloaded, bpf_objects_of,
    fabrics, finish, isolate, traces, without_capabilities, xoff,
};
use tests::faults::Paused;

/// Quick tests, some of each kind.
const SOME: [&str; 7] =
    ["selftest", "--only", "xdp.native", "--only", "xsk.*", "--only", "qos.headroom"];

fn selftest(arguments: &[&str]) -> Finished {
    finish(&mut xoff([&["selftest"], arguments].concat()))
}

fn json(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout).unwrap_or_else(|_| panic!("no JSON: {finished:?}"))
}

#[test]
fn all_pass_on_this_kernel_and_leave_nothing() {
    isolate();
    let before = traces();
    let all = selftest(&["--format", "json"]).assert_code(0);
    let all = json(&all);
    assert_eq!(traces(), before);
    assert!(all["tests"].as_array().is_some_and(|it| it.iter().all(|it| it["verdict"] == "pass")));
    let tests = all["tests"].as_array().expect("it is a list");
    assert_eq!((&all["pass"], &all["fail"]), (&tests.len().into(), &0.into()), "{all:#}");
    let took: u64 = tests.iter().filter_map(|test| test["ms"].as_u64()).sum();
    assert!(took < 60_000, "{took} ms");
    let listed = selftest(&["--list"]).assert_code(0);
    assert_eq!(listed.stdout.lines().count(), tests.len());
}

/// Result of Perl's `TAP::Parser`, on which `prove` is built, for a text.
fn parsed_by_perl(text: &str) -> String {
    const SCRIPT: &str = "my $p = TAP::Parser->new({ tap => join('', <STDIN>) }); $p->run;
        printf \"plan %s passed %d failed %d skipped %d errors %d\",
        $p->plan, scalar $p->actual_passed, scalar $p->actual_failed, scalar $p->skipped,
        scalar $p->parse_errors;";
    let mut perl = Command::new("perl")
        .args(["-MTAP::Parser", "-e", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this test needs the program perl");
    perl.stdin.take().expect("it is piped").write_all(text.as_bytes()).expect("it reads");
    let output = perl.wait_with_output().expect("it is a child");
    String::from_utf8(output.stdout).expect("it prints ASCII")
}

#[test]
fn an_independent_parser_reads_the_tap() {
    isolate();
    for format in ["tap13", "ktap"] {
        let some = finish(&mut xoff(SOME.iter().copied().chain(["--format", format])));
        let some = some.assert_code(0);
        let expected = "plan 1..5 passed 5 failed 0 skipped 0 errors 0";
        assert_eq!(parsed_by_perl(&some.stdout), expected, "{}", some.stdout);
    }
    let paused = Paused::start_with("xdp.native", &["--format", "tap13"]);
    paused.run(0, &["ip", "link", "set", "s0", "mtu", "1000"]);
    let failed = paused.go_on().assert_code(1);
    let expected = "plan 1..1 passed 0 failed 1 skipped 0 errors 0";
    assert_eq!(parsed_by_perl(&failed.stdout), expected, "{}", failed.stdout);
    // As netdev's CI reads results of a test's own cases.
    assert!(failed.stdout.contains("\n# not ok 4 - frames are sent, and records come # time="));
    let skipped = refused(libc::SYS_bpf, None, libc::ENOSYS, &SOME).assert_code(4);
    let expected = "plan 1..5 passed 5 failed 0 skipped 5 errors 0";
    assert_eq!(parsed_by_perl(&skipped.stdout), expected, "{}", skipped.stdout);
}

/// Result of the kernel's own KTAP parser.
#[test]
fn the_kernels_parser_reads_the_ktap() {
    const SCRIPT: &str = "import sys, kunit_parser as k\nimport inspect\np = (k.stdout,) if 'printer' in inspect.signature(k.parse_test).parameters else ()\nlines = k.extract_tap_lines(iter(sys.stdin.read().splitlines()))\ntest = k.parse_test(lines, 0, [], False, *p)\nc = test.counts\nprint('RESULT', c.passed, c.failed, c.skipped, c.crashed, c.errors)\n";
    isolate();
    let testing = std::env::var("XOFF_KERNEL_TESTING").expect(
        "XOFF_KERNEL_TESTING names no folder tools/testing of a kernel's source: `cargo xtask test` sets it",
    );
    let folder = Path::new(&testing).join("kunit");
    let parse = |text: &str| {
        let mut python = Command::new("python3")
            .args(["-c", SCRIPT])
            .env("PYTHONPATH", &folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this test needs the program python3");
        python.stdin.take().expect("it is piped").write_all(text.as_bytes()).expect("it reads");
        let output = python.wait_with_output().expect("it is a child");
        let text = String::from_utf8(output.stdout).expect("it prints UTF-8");
        let result = text.lines().find(|line| line.starts_with("RESULT"));
        result.unwrap_or_else(|| panic!("{text}")).to_owned()
    };
    let all = selftest(&["--only", "xdp.*", "--only", "qos.*"]).assert_code(0);
    let steps = all.stdout.lines().filter(|line| line.starts_with("  ok ")).count();
    assert_eq!(parse(&all.stdout), format!("RESULT {steps} 0 0 0 0"), "{}", all.stdout);
    let paused = Paused::start("xdp.native");
    paused.run(0, &["ip", "link", "set", "s0", "mtu", "1000"]);
    let failed = paused.go_on().assert_code(1);
    assert_eq!(parse(&failed.stdout), "RESULT 3 1 0 0 0", "{}", failed.stdout);
    let skipped = refused(libc::SYS_bpf, None, libc::ENOSYS, &SOME).assert_code(4);
    assert_eq!(parse(&skipped.stdout), "RESULT 0 0 5 0 0", "{}", skipped.stdout);
}

/// Runs selftest where the kernel answers `error` to a system call, or to it with this first argument.
fn refused(call: libc::c_long, argument: Option<u32>, error: i32, arguments: &[&str]) -> Finished {
    let mut command = xoff(arguments.iter().copied());
    // SAFETY: only `prctl` is called between fork and exec, which takes no lock.
    unsafe {
        command.pre_exec(move || refuse(call, argument, error));
    }
    finish(&mut command)
}

/// Installs a filter, for both x86-64 and arm64, because it compares numbers only.
fn refuse(call: libc::c_long, argument: Option<u32>, error: i32) -> std::io::Result<()> {
    const LOAD: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const NUMBER_AT: u32 = 0;
    const ARGUMENT_AT: u32 = 16;
    let statement = |code, k| libc::sock_filter { code, jt: 0, jf: 0, k };
    let unless = |k, jf| libc::sock_filter { code: JUMP_IF_EQUAL, jt: 0, jf, k };
    let allow = statement(RETURN, libc::SECCOMP_RET_ALLOW);
    let error = statement(RETURN, libc::SECCOMP_RET_ERRNO | error.unsigned_abs());
    let number = u32::try_from(call).expect("calls have small numbers");
    let load = statement(LOAD, NUMBER_AT);
    let mut filter = match argument {
        None => vec![load, unless(number, 1), error, allow],
        Some(argument) => {
            let second = statement(LOAD, ARGUMENT_AT);
            vec![load, unless(number, 3), second, unless(argument, 1), error, allow]
        }
    };
    let length = u16::try_from(filter.len()).expect("it is short");
    let program = libc::sock_fprog { len: length, filter: filter.as_mut_ptr() };
    let mode = libc::SECCOMP_MODE_FILTER as libc::c_ulong;
    // SAFETY: the program and its filter outlive the call.
    match unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

#[test]
fn without_bpf_everything_is_skipped() {
    isolate();
    let skipped = refused(libc::SYS_bpf, None, libc::ENOSYS, &["selftest"]).assert_code(4);
    let results = skipped.stdout.lines().filter(|line| line.starts_with("ok "));
    assert!(results.clone().all(|line| line.contains(" # SKIP the kernel has no BPF")));
    assert!(results.count() > 20, "{}", skipped.stdout);
}

#[test]
fn without_root_everything_is_skipped() {
    let mut command = xoff(["selftest", "--format", "json"]);
    let skipped = json(&finish(without_capabilities(&mut command)).assert_code(4));
    assert_eq!((&skipped["pass"], &skipped["fail"]), (&0.into(), &0.into()));
    let reason = skipped["tests"][0]["steps"][0]["reason"].as_str().expect("it says why");
    assert!(reason.contains("CAP_NET_ADMIN") && reason.contains("root"), "{reason}");
}

#[test]
fn without_af_xdp_its_tests_are_skipped_and_others_pass() {
    isolate();
    let family = u32::try_from(libc::AF_XDP).expect("families are small");
    let chosen = ["xsk.*", "xdp.native", "fabric.native", "qos.headroom", "tc.egress"];
    let only = chosen.into_iter().flat_map(|test| ["--only", test]);
    let arguments: Vec<&str> = ["selftest", "--format", "json"].into_iter().chain(only).collect();
    let call = libc::SYS_socket;
    let run = refused(call, Some(family), libc::EAFNOSUPPORT, &arguments).assert_code(0);
    let run = json(&run);
    let found = (&run["pass"], &run["fail"], &run["skip"]);
    assert_eq!(found, (&1.into(), &0.into(), &6.into()), "{run:#}");
    assert!(run.to_string().contains("no AF_XDP (CONFIG_XDP_SOCKETS)"), "{run:#}");
}

#[test]
fn two_at_once_do_not_meet() {
    isolate();
    let before = traces();
    let start = || Running::start(&mut xoff(["selftest", "--only", "xdp.*", "--only", "netns.*"]));
    let both = [start(), start()];
    for run in both {
        run.finish().assert_code(0);
    }
    assert_eq!(traces(), before);
}

#[test]
fn one_that_is_killed_leaves_nothing() {
    isolate();
    let before = traces();
    let temporary = ScenarioFolder::new();
    for test in ["xsk.copy", "fabric.tc"] {
        let mut command = xoff(["selftest", "--only", test, "--pause"]);
        let paused = Paused::new(test, command.env("TMPDIR", temporary.path("")));
        let objects = bpf_objects_of(paused.id());
        assert!(!objects.is_empty());
        tests::command::kill(paused.id());
        await_that("its guardian removes its fabric", || fabrics().is_empty());
        assert_eq!(traces(), before);
        await_unloaded(&objects);
        drop(paused);
        let is_empty = || std::fs::read_dir(temporary.path("")).expect("it is there").count() == 0;
        await_that("its guardian removes its results", is_empty);
    }
}

#[test]
fn an_interrupt_ends_it_and_leaves_nothing() {
    isolate();
    let before = traces();
    let run =
        Running::start(&mut xoff(["selftest", "--only", "netns.teardown", "--repeat", "1000"]));
    await_fabrics(1, 3);
    run.signal(libc::SIGINT);
    let run = run.finish().assert_code(130);
    assert!(run.stdout.contains("\nBail out! interrupted\n"), "{}", run.stdout);
    assert_eq!(traces(), before);
}

#[test]
fn a_test_that_takes_too_long_fails() {
    isolate();
    let before = traces();
    let run = selftest(&["--only", "ring.load", "--time-limit", "1ms"]).assert_code(1);
    assert!(
        run.stdout.contains("expected: an end within 0.001 s (--time-limit)"),
        "{}",
        run.stdout
    );
    assert_eq!(traces(), before);
}

#[test]
fn rounds_and_copies_are_tests_of_their_own() {
    isolate();
    let run = selftest(&["--only", "xdp.native", "--repeat", "2", "--stress", "2", "--seed", "7"]);
    let run = run.assert_code(0);
    for round in 1..=2 {
        for copy in 1..=2 {
            let name = format!("- xdp.native (round {round} of 2) (copy {copy} of 2) # time=");
            assert!(run.stdout.contains(&name), "{}", run.stdout);
        }
    }
    assert!(run.stdout.contains("\n1..4\n") && run.stdout.contains(", seed 7\n"), "{}", run.stdout);
}

#[test]
fn a_report_has_what_a_bug_report_needs() {
    isolate();
    let folder = ScenarioFolder::new();
    let report = folder.path("report");
    selftest(&["--only", "xdp.native", "--only", "qos.headroom", "--report", &report])
        .assert_code(0);
    let read = |file: &str| {
        let read = std::fs::read(Path::new(&report).join(file));
        read.unwrap_or_else(|error| panic!("{file}: {error}"))
    };
    let text = |file: &str| String::from_utf8_lossy(&read(file)).into_owned();
    let command = "xoff selftest --only xdp.native --only qos.headroom --seed 1\n";
    assert_eq!(text("command.txt"), command);
    assert!(text("machine.txt").contains("Linux "));
    let results: Value = serde_json::from_str(&text("results.json")).expect("it is JSON");
    assert_eq!(results["pass"], 2);
    for file in ["dmesg.txt", "config.gz"] {
        assert!(!read(file).is_empty(), "{file}");
    }
    let programs = text("xdp.native/programs.txt");
    assert!(programs.contains("name switch_port") && programs.contains("verified_insns"));
    let maps = text("xdp.native/maps.txt");
    assert!(maps.contains("name EVENTS") && maps.contains("name PORTS"), "{maps}");
    assert!(text("xdp.native/interfaces.txt").contains("xdp: Native"));
    // Section header block.
    for file in ["xdp.native/frames-1.pcapng", "qos.headroom/capture.pcapng"] {
        assert_eq!(read(file)[..4], [0x0a, 0x0d, 0x0d, 0x0a], "{file}");
    }
    // Its scenario is a separate file that passes.
    let scenario = Path::new(&report).join("qos.headroom/scenario.toml").display().to_string();
    selftest(&[&scenario]).assert_code(0);
}

const USERS: &str = "name = \"mine\"\nseed = 1\nduration = \"1ms\"\n[topology]\nkind = \"star\"\nhosts = 2
host_link = { rate = \"100Gbps\", delay = \"1us\" }\n[[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"
bytes = \"10kB\"\npriority = 3\n[[expect]]\nname = \"it is quick\"\nsummary = \"fct_ns.max\"\noperator = \"<\"\n";

#[test]
fn a_users_scenario_is_a_test() {
    isolate();
    let folder = ScenarioFolder::new();
    let good = folder.write("good.toml", format!("{USERS}value = \"1ms\"\n"));
    let bad = folder.write("bad.toml", format!("{USERS}value = \"1us\"\n"));
    let run = selftest(&[&good, &bad]).assert_code(1);
    for words in [
        "\nok 1 - mine # time=",
        "\nnot ok 2 - mine # time=",
        "  # it is quick\n  #   expected: max of",
        "# again: xoff selftest ",
    ] {
        let words = words.replace("max of", "fct_ns.max < 1 us");
        assert!(run.stdout.contains(&words), "{words}: {}", run.stdout);
    }
    // In memory it needs no root.
    let memory = USERS.replace("[topology]", "[datapath]\nkind = \"memory\"\n[topology]");
    let memory = folder.write("memory.toml", format!("{memory}value = \"1ms\"\n"));
    finish(without_capabilities(&mut xoff(["selftest", &memory]))).assert_code(0);
}

#[test]
fn bad_input_is_refused_before_anything_runs() {
    let refused = |arguments: &[&str], words: &[&str]| {
        finish(&mut xoff([&["selftest"], arguments].concat())).assert_refused(words);
    };
    refused(&["--only", "nothing"], &["no test matches `--only nothing`", "--list"]);
    refused(&["--skip", "*"], &["leaves no test"]);
    refused(&["--time-limit", "45"], &["--time-limit"]);
    refused(&["--time-limit", "0s"], &["a millisecond at least"]);
    refused(&["--repeat", "0"], &["--repeat"]);
    refused(&["--format", "xml"], &["possible values: ktap, tap13, junit, json"]);
    refused(&["missing.toml"], &["missing.toml"]);
    refused(&["missing.toml", "--list"], &["cannot be used with"]);
    refused(&["--report", "/proc/nowhere"], &["cannot make the folder /proc/nowhere"]);
}

#[test]
fn a_reader_that_goes_away_has_not_seen_all_pass() {
    isolate();
    let mut command = xoff(["selftest", "--only", "xdp.native"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    drop(child.stdout.take());
    let status = thread::spawn(move || child.wait()).join().expect("it does not panic");
    assert_eq!(status.expect("it is a child").code(), Some(130));
}

#[test]
fn a_run_in_which_a_switch_drops_lossless_packets_is_not_sound() {
    let folder = ScenarioFolder::new();
    let lossy = "name = \"lossy\"\nduration = \"10ms\"\n[topology]\nkind = \"star\"\nhosts = 5\n\
                 host_link = { rate = \"100Gbps\", delay = \"1us\" }\n[switch]\n\
                 headroom = { kind = \"sih\", bytes = \"1200B\" }\n[datapath]\nkind = \"memory\"\n[[flows]]\n\
                 kind = \"incast\"\nsenders = [\"h1\", \"h2\", \"h3\", \"h4\"]\nreceiver = \"h0\"\nbytes = \"2MB\"\n\
                 [[expect]]\nsummary = \"flows_completed\"\noperator = \"==\"\nvalue = 4\n";
    let (file, report) = (folder.write("lossy.toml", lossy), folder.path("report"));
    let run = finish(&mut xoff(["selftest", &file, "--report", &report])).assert_code(1);
    let words = ["# the run is sound", "no lossless packet is dropped", "headroom-exhausted"];
    for word in words {
        assert!(run.stdout.contains(word), "{}", run.stdout);
    }
    for name in ["scenario.toml", "flows.csv", "summary.json"] {
        assert!(Path::new(&report).join("lossy").join(name).exists(), "{name}");
    }
}

#[test]
fn a_users_scenario_has_the_seed_that_is_asked_for() {
    let folder = ScenarioFolder::new();
    let memory = USERS.replace("[topology]", "[datapath]\nkind = \"memory\"\n[topology]");
    let file = folder.write("memory.toml", format!("{memory}value = \"1ns\"\n"));
    for (arguments, again, seed) in [
        (&[][..], format!("# again: xoff selftest {file}\n"), 1),
        (&["--seed", "7"], format!("# again: xoff selftest {file} --seed 7\n"), 7),
    ] {
        let report = folder.path(&format!("report{seed}"));
        let all = [&["selftest", &file, "--report", &report], arguments].concat();
        let run = finish(&mut xoff(all)).assert_code(1);
        assert!(run.stdout.contains(&again), "{}", run.stdout);
        let summary =
            std::fs::read(Path::new(&report).join("mine/summary.json")).expect("it is kept");
        let summary: Value = serde_json::from_slice(&summary).expect("it is JSON");
        assert_eq!(summary["seed"], seed);
    }
}

#[test]
fn an_interrupt_ends_a_pause() {
    isolate();
    let before = traces();
    let paused = Paused::start("xdp.native");
    // SAFETY: sends a signal, and touches no memory.
    unsafe { libc::kill(paused.id().cast_signed(), libc::SIGINT) };
    let ended = paused.await_end().assert_code(130);
    assert!(ended.stdout.contains("Bail out! interrupted"), "{}", ended.stdout);
    assert_eq!(traces(), before);
}
