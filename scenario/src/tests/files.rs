//! Missing files, flow lists and overrides.

use std::path::Path;

use insta::assert_snapshot;
use units::Picos;

use super::super::Scenario;
use super::report_with;

#[test]
fn missing_files() {
    let missing = Scenario::load(Path::new("/nowhere/x.toml"), &[]).unwrap_err();
    assert_snapshot!(missing, @r"
    error: cannot read the scenario: No such file or directory (os error 2)
    --> /nowhere/x.toml
     = help: give the path of a scenario, a TOML file
    ");
    let text =
        "[topology]\nkind = \"star\"\nhosts = 2\nhost_link = { rate = \"1Gbps\", delay = \"1us\" }
[[flows]]\nkind = \"list\"\nfile = \"flows.csv\"\n";
    let missing = Scenario::parse(text, Path::new("/nowhere/x.toml"), &[]).unwrap_err();
    assert_snapshot!(missing, @r#"
    error: cannot read the flow list /nowhere/flows.csv: No such file or directory (os error 2)
     --> /nowhere/x.toml:7:8
      |
    7 | file = "flows.csv"
      |        ^^^^^^^^^^^
      |
      = help: the path is relative to the scenario file's folder
    "#);
    let text = text.replace("flows.csv", "/nowhere/flows.csv");
    let missing = Scenario::parse(&text, Path::new("/nowhere/x.toml"), &[]).unwrap_err();
    assert_eq!(missing.help(), Some("write the path of a file that exists"));
}

#[test]
fn flow_lists_that_are_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.toml");
    let text = "duration = \"1ms\"\n[topology]\nkind = \"star\"\nhosts = 3
host_link = { rate = \"1Gbps\", delay = \"1us\" }
[[flows]]\nkind = \"list\"\nfile = \"flows.csv\"\n";
    let report_on_rows = |rows: &str| {
        std::fs::write(folder.path().join("flows.csv"), rows).unwrap();
        let report = Scenario::parse(text, &path, &[]).unwrap_err().to_string();
        report.replace(&format!("{}/", folder.path().display()), "")
    };
    let header = "start_ns,src,dst,bytes,priority";
    assert_snapshot!(report_on_rows("start,src,dst,bytes\n"), @r"
    error: not a flow list: column 1 is not `start_ns`
    --> flows.csv
     = help: the first line is `start_ns,src,dst,bytes,priority`; `path`, `source_port` and `label` may follow
    ");
    assert_snapshot!(report_on_rows(&format!("{header}\n")), @r"
    error: a flow list without flows
     --> flows.csv:2:1
      |
    2 |
      | ^
      |
      = help: add a row for each flow: start_ns,src,dst,bytes,priority
    ");
    assert_snapshot!(report_on_rows(&format!("{header}\n0,h0,h1,10,3\n0,h0,h1,10,3,1\n")), @r"
    error: a row of 6 columns
     --> flows.csv:3:1
      |
    3 | 0,h0,h1,10,3,1
      | ^^^^^^^^^^^^^^
      |
      = help: write 5: start_ns,src,dst,bytes,priority
    ");
    assert_snapshot!(report_on_rows(&format!("{header}\n0,h0,h3,10,3\n")), @r"
    error: no host is called `h3`
     --> flows.csv:2:6
      |
    2 | 0,h0,h3,10,3
      |      ^^
      |
      = help: the hosts are `h0`, `h1` and `h2`
    ");
    assert_snapshot!(report_on_rows(&format!("{header}\r\n0,h0,h0,10,3\r\n")), @r"
    error: a flow from `h0` to itself
     --> flows.csv:2:6
      |
    2 | 0,h0,h0,10,3
      |      ^^
      |
      = help: name two different hosts
    ");
    assert_snapshot!(report_on_rows(&format!("{header}\n0,h0,h1,0,3\n")), @r"
    error: `bytes` is `0`
     --> flows.csv:2:9
      |
    2 | 0,h0,h1,0,3
      |         ^
      |
      = help: write a whole number from 1 to 10^15, or unlimited
    ");
    assert_snapshot!(report_on_rows(&format!("{header}\n1000000,h0,h1,1,3\n")), @r"
    error: `start_ns` is `1000000`
     --> flows.csv:2:1
      |
    2 | 1000000,h0,h1,1,3
      | ^^^^^^^
      |
      = help: write a whole number from 0 to 999999, before `duration` = 1ms
    ");
}

#[test]
fn overrides_that_are_wrong() {
    assert_snapshot!(report_with("switch.bufer=4MB"), @r"
    error: unknown key `bufer` in `switch`
     --> --set:1:8
      |
    1 | switch.bufer=4MB
      |        ^^^^^
      |
      = help: did you mean `buffer`? the keys here are `buffer` to `wire_overhead` (26)
    ");
    assert_snapshot!(report_with("switch.buffer"), @r"
    error: an override without `=`
     --> --set:1:1
      |
    1 | switch.buffer
      | ^^^^^^^^^^^^^
      |
      = help: write --set KEY=VALUE, for example --set switch.buffer=4MB
    ");
    assert_snapshot!(report_with("switch.buffer=4"), @r#"
    error: `switch.buffer`: the size `4` has no unit
     --> --set:1:15
      |
    1 | switch.buffer=4
      |               ^
      |
      = help: write a size such as "200kB"; units are B, kB, KiB, MB, MiB, GB, GiB, TB
    "#);
    assert_snapshot!(report_with("switch.buffer.size=4MB"), @r"
    error: `switch.buffer` is a value and has no key `size`
     --> --set:1:15
      |
    1 | switch.buffer.size=4MB
      |               ^^^^
      |
      = help: leave out what follows it
    ");
    assert_snapshot!(report_with("flows.2.bytes=4MB"), @r"
    error: `flows` has no entry `2`
     --> --set:1:7
      |
    1 | flows.2.bytes=4MB
      |       ^
      |
      = help: its entries are numbered from 0 to 1
    ");
    let flow = "flows.1={kind = \"one\", src = \"h1\", dst = \"h9\", bytes = \"1B\"}";
    assert_snapshot!(report_with(flow), @r#"
    error: no host is called `h9`
     --> --set:1:42
      |
    1 | flows.1={kind = "one", src = "h1", dst = "h9", bytes = "1B"}
      |                                          ^^^^
      |
      = help: the hosts are `h0`, `h1`, `h2`, `h3`, `h4`, `h5`, `h6` and `h7`
    "#);
    assert_snapshot!(report_with("switch.threshold.kind=static"), @r#"
    error: unknown key `alpha` in `switch.threshold`
      --> incast.toml:20:28
       |
    20 | threshold = { kind = "dt", alpha = "1/2" } # or { kind = "static", xoff = "200kB", xon = "190kB" }
       |                            ^^^^^
       |
       = help: the keys here are `xoff` and `xon`
    "#);
}

#[test]
fn files_come_from_whoever_gives_them() {
    let text =
        "[topology]\nkind = \"star\"\nhosts = 2\nhost_link = { rate = \"1Gbps\", delay = \"1us\" }
[[flows]]\nkind = \"list\"\nfile = \"flows.csv\"\n";
    let read = |path: &Path| match path.to_str() {
        Some("/nowhere/x.toml") => Ok(text.to_owned()),
        Some("/nowhere/flows.csv") => {
            Ok("start_ns,src,dst,bytes,priority\n7,h1,h0,10,3\n".to_owned())
        }
        other => panic!("{other:?} is not one of them"),
    };
    let scenario = Scenario::read(Path::new("/nowhere/x.toml"), &[], &read);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.name, "x");
    assert_eq!(scenario.flows()[0].start, Picos(7_000));
}

/// One list is enough for a mix of labels.
#[test]
fn rows_of_a_flow_list_may_have_labels() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.toml");
    let text = "duration = \"1ms\"\n[topology]\nkind = \"star\"\nhosts = 3
host_link = { rate = \"1Gbps\", delay = \"1us\" }
[[flows]]\nkind = \"list\"\nfile = \"flows.csv\"\nlabel = \"mix\"\n";
    let read = |rows: &str| {
        let rows = format!("start_ns,src,dst,bytes,priority,label,source_port\n{rows}");
        std::fs::write(folder.path().join("flows.csv"), rows).unwrap();
        Scenario::parse(text, &path, &[])
    };
    let scenario = read("0,h0,h1,10,3,victim,7\n1,h0,h1,10,3,,\n2,h1,h0,10,3,victim,\n").unwrap();
    let labels: Vec<String> = scenario.flows().iter().map(|flow| flow.label.to_string()).collect();
    assert_eq!(labels, ["victim", "mix", "victim"]);
    assert_eq!(scenario.labels().into_iter().collect::<Vec<_>>(), ["mix", "victim"]);
    let many: Vec<String> = (0..65).map(|row| format!("0,h0,h1,10,3,l{row},\n")).collect();
    assert_eq!(read(&many.concat()).unwrap_err().title(), "more than 64 labels");
    let control = read("0,h0,h1,10,3,a\u{7}b,\n").unwrap_err();
    assert_eq!(control.title(), "a label that a table cannot show");
}
