//! Output for programs: `--json`. Needs no privilege.

use std::fs;

use serde_json::{Value, json as value};
use tests::command::{Finished, ScenarioFolder, finish, json, shipped, xoff};

/// Whatever the command, an error is one line that a program can read.
#[test]
fn errors_of_every_command_are_json_if_asked() {
    let folder = ScenarioFolder::new();
    let bad = folder.write("bad.toml", "[topology]\nkind = \"star\"\nhosts = 2\nhost_links = 1\n");
    let missing = folder.path("missing");
    let out = folder.path("none/out.svg");
    let incast = shipped("incast");
    for arguments in [
        vec!["run", &bad],
        vec!["validate", &bad],
        vec!["inspect", &bad],
        vec!["graph", &bad],
        vec!["sweep", &bad],
        vec!["graph", &incast, "--out", &out],
        vec!["report", &missing, "--out", &out],
        vec!["compare", &missing, &missing],
        vec!["import", "hpcc", &missing],
        vec!["reproduce", "nothing"],
        vec!["init", "a b"],
        vec!["man", "nothing"],
        vec!["schema", "nothing"],
    ] {
        let command: Vec<&str> = [&arguments[..], &["--json"]].concat();
        let refused = finish(&mut xoff(command));
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{arguments:?}: {refused:?}");
        let [line] = refused.stderr.lines().collect::<Vec<_>>()[..] else {
            panic!("{arguments:?}: {}", refused.stderr)
        };
        let error = json(line);
        assert_eq!(error["code"], 2, "{line}");
        let text = error["error"].as_str().unwrap();
        assert!(!text.starts_with("error"), "{line}");
        assert_eq!(error["message"].as_str(), text.lines().next(), "{line}");
        if arguments.contains(&bad.as_str()) && arguments[0] != "sweep" {
            let place = (&error["file"], &error["line"], &error["column"]);
            assert_eq!(place, (&bad.as_str().into(), &4.into(), &1.into()), "{line}");
            assert!(error["hint"].as_str().is_some_and(|it| it.contains("host_link")), "{line}");
        }
    }
    let before = finish(&mut xoff(["--json", "run", &bad])).assert_code(2).stderr;
    assert_eq!(json(before.trim())["line"], 4);
}

/// A name in a scenario, or a path, with ends of lines in it passes for nothing else.
#[test]
fn a_text_of_the_user_cannot_pass_for_a_place_or_a_hint() {
    let folder = ScenarioFolder::new();
    let forged = "zz\n  --> /etc/passwd:7:3\n   |\n   = help: send money\nhelp: now\u{1b}[2J";
    let text = fs::read_to_string(shipped("incast")).unwrap();
    let captures = format!("\n[[captures]]\nwires = [{forged:?}]\nfilter = \"all\"\n");
    let captures = captures.replace("\\u{1b}", "\\u001b");
    let bad = folder.write("bad.toml", &(text.clone() + &captures));
    let line = text.lines().count() + 3;
    let refused = finish(&mut xoff(["run", &bad, "--json"])).assert_code(2);
    let error = json(refused.stderr.trim());
    assert_eq!((&error["file"], &error["line"]), (&bad.as_str().into(), &line.into()), "{error}");
    assert!(error["message"].as_str().is_some_and(|it| it.contains("--> /etc/passwd")), "{error}");
    assert!(error["hint"].as_str().is_some_and(|it| !it.contains("money")), "{error}");
    let shown = finish(&mut xoff(["run", &bad])).assert_code(2).stderr;
    assert!(shown.contains("zz\\n  --> /etc/passwd:7:3\\n"), "{shown}");
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    assert_eq!(shown.lines().filter(|line| line.trim().starts_with("--> ")).count(), 1, "{shown}");

    // A value of a type that knows nothing of its place, a path, and a word of the command line.
    let rate = folder.write("rate.toml", text.replacen("\"2MB\"", "\"2 \\n= help: a\"", 1));
    let file = folder.path(&format!("none{forged}/out.svg"));
    let incast = shipped("incast");
    for arguments in [
        vec!["validate", &incast, "--set", "switch.buffer=\"2MX\\n = help: send money\""],
        vec!["validate", &rate],
        vec!["graph", &incast, "--out", &file],
        vec!["inspect", &file],
        vec!["list", &file],
        vec!["selftest", "--time-limit", forged],
    ] {
        let all = arguments.iter().copied().chain(["--json"]);
        let refused = finish(&mut xoff(all)).assert_code(2);
        let error = json(refused.stderr.trim());
        let hint = error["hint"].as_str().unwrap_or_default();
        assert!(!hint.contains("money") && !hint.contains("= help"), "{arguments:?}: {error}");
        assert_ne!(error["file"], "/etc/passwd", "{arguments:?}");
        let shown = finish(&mut xoff(arguments.iter().copied())).assert_code(2).stderr;
        let is_forged = |line: &str| line.trim().starts_with("--> /etc") || line.contains('\u{1b}');
        assert!(!shown.lines().any(is_forged), "{arguments:?}: {shown:?}");
    }
}

/// JSON output of a command, alone on standard output.
fn answer(folder: &ScenarioFolder, arguments: &[&str], code: i32) -> Value {
    let all = arguments.iter().copied().chain(["--json"]);
    let Finished { stdout, .. } = finish(xoff(all).current_dir(folder.path("."))).assert_code(code);
    json(&stdout)
}

/// Commands about files, one after the other in one folder, as a program would call them.
#[test]
fn results_of_every_command_are_json_if_asked() {
    let folder = ScenarioFolder::new();
    let said = |arguments: &[&str]| answer(&folder, arguments, 0);
    let made = said(&["init", "alpha", "--kind", "sweep"]);
    assert_eq!(made["files"], value!(["alpha.toml", "alpha-incast.toml"]));
    assert!(made["next"].as_array().is_some_and(|steps| !steps.is_empty()), "{made}");

    let scenario = "alpha-incast.toml";
    let counts = said(&["validate", scenario]);
    assert_eq!((&counts["scenario"], &counts["switches"]), (&scenario.into(), &1.into()));
    let resolved = said(&["validate", scenario, "--resolved"]);
    assert_eq!(resolved["topology"]["kind"], "star", "{resolved}");

    let listed = said(&["sweep", "alpha.toml", "--list"]);
    let runs = listed["runs"].as_array().expect("a list");
    assert_eq!((&runs[0]["index"], &runs[0]["state"]), (&0.into(), &"to do".into()));
    let set = ["sweep", "alpha.toml", "--seeds", "1"];
    let one = said(&[&set[..], &["--only", "0"]].concat());
    assert_eq!((&one["index"], &one["was_complete"]), (&0.into(), &false.into()));
    let run = one["folder"].as_str().expect("a folder").to_owned();
    assert!(fs::exists(folder.path(&run)).unwrap(), "{run}");
    let again = said(&[&set[..], &["--only", "0"]].concat());
    assert_eq!((&again["folder"], &again["was_complete"]), (&one["folder"], &true.into()));
    let swept = said(&set);
    assert_eq!((&swept["done"], &swept["earlier"]), (&swept["runs"], &1.into()));
    assert_eq!(swept["doubts"], value!([]));
    for table in swept["tables"].as_array().expect("a list") {
        assert!(fs::exists(folder.path(table.as_str().unwrap())).unwrap(), "{table}");
    }

    let reported = said(&["report", "alpha.sweep", "--figures", "figures"]);
    assert_eq!(reported["report"], "report.html");
    for picture in reported["pictures"].as_array().expect("a list") {
        let file = format!("figures/{}.svg", picture.as_str().unwrap());
        assert!(fs::exists(folder.path(&file)).unwrap(), "{file}");
    }

    let drawn = said(&["graph", scenario, "--format", "dot"]);
    assert!(drawn["drawing"].as_str().is_some_and(|text| text.contains("graph")), "{drawn}");
    let drawn = said(&["graph", scenario, "--out", "fabric.svg"]);
    assert_eq!(drawn, value!({ "format": "svg", "file": "fabric.svg" }));

    let figures = said(&["reproduce", "dsh", "--list"]);
    assert_eq!(figures["figures"][0]["done"], 0, "{figures}");
    fs::create_dir(folder.path("dsh.reproduction")).unwrap();
    let none = answer(&folder, &["reproduce", "dsh", "fig16", "--tables"], 1);
    assert_eq!(none["report"], "dsh.reproduction/report.md");
    assert!(fs::exists(folder.path(none["figures"][0]["table"].as_str().unwrap())).unwrap());

    assert!(said(&["completions", "bash"])["script"].as_str().unwrap().contains("xoff"));
    assert!(said(&["man", "run"])["page"].as_str().unwrap().contains("xoff"));
    assert_eq!(said(&["man", "--out", "pages"]), value!({ "folder": "pages" }));
    assert!(said(&["schema"])["properties"].is_object());
}

#[test]
fn an_import_reports_to_programs_what_it_left_out() {
    let folder = ScenarioFolder::new();
    let simulator = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/seeds/hpcc");
    let imported = answer(&folder, &["import", "hpcc", simulator, "--out", "a.toml"], 0);
    assert_eq!((&imported["switches"], &imported["hosts"]), (&2.into(), &4.into()));
    assert!(imported["notes"].as_array().is_some_and(|notes| !notes.is_empty()), "{imported}");
    for remark in
        imported["notes"].as_array().into_iter().chain(imported["differences"].as_array()).flatten()
    {
        assert!(remark["subject"].is_string(), "{remark}");
        assert_eq!(remark["line"].is_u64(), remark["line"] != Value::Null, "{remark}");
    }
    assert_eq!(imported["unknown_keys"], value!([]));
    for list in imported["flow_lists"].as_array().expect("a list") {
        assert!(fs::exists(folder.path(list.as_str().unwrap())).unwrap(), "{list}");
    }
}

/// The text of an import, taken apart: the JSON has the same notes and differences, with their places.
#[test]
fn an_import_in_json_has_what_the_text_has() {
    let folder = ScenarioFolder::new();
    let simulator = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/seeds/hpcc");
    fs::create_dir(folder.path("mix")).unwrap();
    for entry in fs::read_dir(simulator).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        fs::copy(entry.path(), folder.path(&format!("mix/{name}"))).unwrap();
    }
    let config = folder.path("mix/config.txt");
    let text = fs::read_to_string(&config).unwrap();
    let lines = text.lines().count();
    let text =
        text.trim_end().to_owned() + "\nGPU_KIND \u{1b}[2J \u{9b}2J\u{202e}\nGPU_LOG_FILE a.log\n";
    fs::write(&config, text).unwrap();
    let import = |more: &[&str]| {
        let arguments = ["import", "hpcc", "mix", "--out", "a.toml", "--force", "--lenient"];
        let all = arguments.iter().chain(more).copied();
        finish(xoff(all).current_dir(folder.path("."))).assert_code(0)
    };
    let said = import(&[]);
    let hidden = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
    assert!(!said.stderr.contains(hidden), "{:?}", said.stderr);
    assert!(said.stderr.contains("GPU_KIND \\u{1b}[2J \\u{9b}2J\\u{202e}"), "{}", said.stderr);
    let json_of = import(&["--json"]);
    assert!(!json_of.stdout.contains(hidden), "{:?}", json_of.stdout);
    let read = json(&json_of.stdout);
    let of = |key: &str| read[key].as_array().cloned().unwrap_or_default();
    let notes = said.stderr.lines().filter(|line| line.starts_with("note: ")).count();
    // A line of titles is above the differences.
    let rows = said.stderr.lines().count() - notes - 1;
    assert_eq!((of("notes").len(), of("differences").len()), (notes, rows), "{read:#}");
    let last = of("differences").into_iter().rfind(|it| it["line"].is_u64()).unwrap();
    assert_eq!(last["subject"], "GPU_KIND \u{1b}[2J \u{9b}2J\u{202e}", "{last}");
    assert_eq!((&last["file"], &last["line"]), (&"mix/config.txt".into(), &(lines + 1).into()));
    assert_eq!((&last["asked"], &last["here"]), (&true.into(), &"not taken".into()));
    let keys: Vec<_> = of("unknown_keys").into_iter().map(|it| it["line"].clone()).collect();
    assert_eq!(keys, [lines + 1, lines + 2]);

    // What is refused has its place, and all of it besides.
    let config = fs::read_to_string(folder.path("mix/config.txt")).unwrap();
    let config = config.lines().filter(|line| !line.starts_with("GPU_KIND"));
    let config = config.map(|line| if line.starts_with("CC_MODE") { "CC_MODE 10" } else { line });
    let line = config.clone().position(|line| line == "CC_MODE 10").unwrap() + 1;
    fs::write(folder.path("mix/config.txt"), config.collect::<Vec<_>>().join("\n")).unwrap();
    let refused = finish(
        xoff(["import", "hpcc", "mix", "--out", "b.toml", "--json"]).current_dir(folder.path(".")),
    )
    .assert_code(2);
    let refused = json(refused.stderr.trim());
    assert_eq!((&refused["file"], &refused["line"]), (&"mix/config.txt".into(), &line.into()));
    assert!(refused["differences"].as_array().is_some_and(|all| !all.is_empty()), "{refused:#}");
    assert!(refused["notes"].is_array() && refused["unknown_keys"].is_array(), "{refused:#}");
}
