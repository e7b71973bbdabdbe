//! Runs and files of a simulator.

use super::*;

/// Ids become names, and times begin with the run.
#[test]
fn a_file_of_a_simulator_is_compared_in_the_terms_of_the_run() {
    let folders = Folders::new();
    let run = folders.run("run", "0,one,h0,h2,1000,10,500,400\n1,two,h0,h2,1000,10,510,400\n");
    let line = |port: u16, label: u16, fct: u64| {
        format!("0b000001 0b000201 {port} {label} 1000 2000000010 {fct} 400\n")
    };
    let same = line(10_001, 100, 510) + &line(10_000, 200, 500);
    folders.write("mix/fct.txt", &same);
    let comparison = folders.compare("run", "mix");
    assert!(comparison.equal, "{comparison}");
    assert_eq!(comparison.not_compared, Vec::<String>::new());
    assert_eq!(comparison.flows.unwrap().equal_ports, Some(2));

    // Each digit counts.
    for (place, digit) in same.char_indices().filter(|(_, it)| it.is_ascii_digit() && *it != '9') {
        let digit = char::from(digit as u8 + 1);
        let changed = format!("{}{digit}{}", &same[..place], &same[place + 1..]);
        folders.write("mix/fct.txt", &changed);
        let sides = Pair { a: &*run, b: &*folders.path("mix/fct.txt") };
        assert!(
            super::compare(sides, &Options::default()).map_or(true, |it| !it.equal),
            "{changed}"
        );
    }

    // Ids in place of addresses, and other ports: as in ConWeave's simulator.
    let ids = "0 2 10000 100 1000 2000000010 500 400\n0 2 10007 103 1000 2000000010 510 400\n";
    folders.write("mix/7_out_fct.txt", ids);
    let comparison = folders.compare("mix/7_out_fct.txt", "run");
    assert!(comparison.equal, "{comparison}");

    // Flows with other starts are the same only up to a tolerance.
    folders.write("mix/7_out_fct.txt", ids.replace("2000000010", "2000000011"));
    let flows = folders.compare("mix/7_out_fct.txt", "run").flows.unwrap();
    assert_eq!(
        (flows.matched, shown(flows.displaced_ns.as_ref())),
        (0, "-1 -1 -1 -1 -1 -1".into())
    );
    let close = options(&["1ns"], &[]);
    let comparison = folders.compare_with("mix/7_out_fct.txt", "run", &close);
    assert!(comparison.equal && comparison.flows.unwrap().matched == 2);
}

#[test]
fn pauses_of_a_simulator_are_those_of_the_port_that_pauses() {
    let folders = Folders::new();
    folders.run("run", "0,one,h0,h2,1000,10,500,400\n");
    folders.write("run/pfc.txt", "2000000060 0 0 1 1\n2000000090 0 0 1 0\n");
    folders.write("mix/7_out_fct.txt", "0 2 10000 100 1000 2000000010 500 400\n");
    let comparison = folders.compare("run", "mix/7_out_fct.txt");
    assert_eq!(comparison.not_compared, ["pfc.txt: only A has it"]);
    assert!(comparison.equal);
    folders
        .write("mix/7_out_pfc.txt", "2000000060 0 0 1 1\n2000000080 1 0 1 1\n2000000090 0 0 1 0\n");
    let comparison = folders.compare("run", "mix/7_out_fct.txt");
    let pauses = comparison.pauses.as_ref().unwrap();
    assert_eq!((pauses.file, pauses.all.pauses), ("pfc.txt", Pair { a: 1, b: 2 }));
    let first = pauses.first.as_ref().unwrap();
    assert_eq!(
        (first.at_ns, first.b.as_ref().map(ToString::to_string)),
        (80, Some("xoff by s0 port 1 to h1".into()))
    );
    assert_eq!(comparison.first.unwrap().place, "a pause in pfc.txt");

    // Two files have no scenario.
    folders.write("other/fct.txt", "0 2 10000 100 1000 2000000010 500 400\n");
    folders.write("other/pfc.txt", "");
    let comparison = folders.compare("mix/7_out_fct.txt", "other/fct.txt");
    let flow = comparison.flows.unwrap();
    assert_eq!((flow.matched, flow.first), (1, None));
    let first = comparison.pauses.unwrap().first.unwrap();
    assert_eq!(first.a.unwrap().to_string(), "xoff at node 0 interface 1");
    assert_eq!((first.at_ns, first.b), (2_000_000_060, None));
}

/// The ideal times of a simulator are in the run's own file.
#[test]
fn ideal_times_of_a_run_are_those_of_its_own_file() {
    let folders = Folders::new();
    folders.run("run", "0,one,h0,h2,1000,10,500,400\n");
    let line = "0b000001 0b000201 10000 200 1000 2000000010 500 123\n";
    folders.write("mix/fct.txt", line);
    assert_eq!(folders.compare("run", "mix/fct.txt").flows.unwrap().equal_ideals, 0);
    folders.write("run/fct.txt", line);
    assert!(folders.compare("run", "mix/fct.txt").equal);
}

/// A dialect numbers ports by hosts, or its file has node ids.
#[test]
fn ports_and_ideal_times_of_a_run_are_those_of_its_own_file() {
    let folders = Folders::new();
    let flows = "0,one,h0,h2,1000,10,500,400\n1,one,h1,h2,1000,10,500,400\n2,one,h0,h2,9,90,,400\n";
    folders.run("run", flows);
    for lines in [
        "0b000001 0b000201 10000 100 1000 2000000010 500 123\n0b000101 0b000201 10000 101 1000 2000000010 500 124\n",
        "0 2 10000 100 1000 2000000010 500 123\n1 2 10000 101 1000 2000000010 500 124\n",
    ] {
        folders.write("run/fct.txt", lines);
        folders.write("mix/fct.txt", lines);
        let comparison = folders.compare("run", "mix/fct.txt");
        assert!(comparison.equal, "{comparison}");
        let ports = comparison.flows.unwrap().equal_ports;
        assert_eq!(ports, lines.starts_with("0b").then_some(2));
        folders.write("mix/fct.txt", lines.replace(" 124\n", " 125\n"));
        let comparison = folders.compare("run", "mix/fct.txt");
        assert_eq!(comparison.verdict, "different: ideal FCT of 1 flow");
    }
    let lines = "0b000001 0b000201 10000 100 1000 2000000010 500 400\n0b000101 0b000201 10000 101 1000 2000000010 500 400\n";
    folders.write("run/fct.txt", lines);
    folders.write("mix/fct.txt", lines.replace(" 101 ", " 100 "));
    assert_eq!(folders.compare("run", "mix/fct.txt").verdict, "different: ports of 1 flow");
}

/// A folder of ConWeave's simulator names its files by the number of the run.
#[test]
fn files_are_found_in_their_folder() {
    let folders = Folders::new();
    folders.run("run", "0,one,h0,h2,1000,10,500,400\n");
    folders.write("run/pfc.txt", "2000000060 0 0 1 1\n");
    folders.write("output/7/7_out_fct.txt", "0 2 10000 100 1000 2000000010 500 400\n");
    folders.write("output/7/7_out_pfc.txt", "2000000060 0 0 1 1\n");
    let comparison = folders.compare("run", "output/7");
    assert!(comparison.equal && comparison.pauses.is_some(), "{comparison}");
    folders.write("output/7/8_out_fct.txt", "");
    assert_eq!(
        folders.refused("run", "output/7"),
        "output/7 has 7_out_fct.txt, 8_out_fct.txt: name one of these files"
    );

    // Pauses alone.
    folders.write("pauses/pfc.txt", "2000000061 0 0 1 1\n");
    let only = options(&["1ns"], &[Part::Pauses]);
    for side in ["pauses", "pauses/pfc.txt"] {
        assert!(folders.compare_with("run", side, &only).equal);
        let comparison = folders.compare(side, "run");
        assert!(comparison.verdict.starts_with("different: only B has flows"), "{comparison}");
        assert_eq!(comparison.pauses.unwrap().first.map(|first| first.at_ns), Some(60));
    }
}

/// A simulator writes a line for each completed flow, and no line for a flow under way.
#[test]
fn flows_that_did_not_complete_have_no_line() {
    let folders = Folders::new();
    folders.run(
        "run",
        "0,two,h0,h2,1000,10,,400\n1,two,h0,h2,1000,10,500,400\n2,two,h0,h2,1000,90,,400\n",
    );
    let line = |ports: &str, start: u64| {
        format!("0b000001 0b000201 {ports} 1000 {} 500 400\n", 2_000_000_000 + start)
    };
    folders.write("mix/fct.txt", line("10001 100", 10));
    // Without ports only the start says which flow it is.
    folders.write("ids/fct.txt", "0 2 10000 100 1000 2000000010 500 400\n");
    for file in ["mix/fct.txt", "ids/fct.txt"] {
        let comparison = folders.compare("run", file);
        let flows = comparison.flows.as_ref().unwrap();
        assert!(comparison.equal && flows.first.is_none(), "{file}: {comparison}");
        assert_eq!((flows.matched, flows.without_line), (1, Pair { a: 2, b: 0 }));
        let text = comparison.to_string();
        assert!(text.contains("\n  Not completed in A, no line in B: 2 flows.\n"), "{text}");
        let comparison = folders.compare(file, "run");
        assert!(comparison.equal, "{file}: {comparison}");
        assert_eq!(comparison.flows.unwrap().without_line, Pair { a: 0, b: 2 });
    }

    // A line of such a flow is a difference, as is a flow without a line that completed.
    folders.write("mix/fct.txt", line("10001 100", 10) + &line("10002 100", 90));
    let comparison = folders.compare("run", "mix/fct.txt");
    let flows = comparison.flows.as_ref().unwrap();
    assert_eq!((flows.matched, flows.equal_fcts, flows.without_line.a), (2, 1, 1));
    let first = flows.first.as_ref().unwrap().to_string();
    assert!(first.ends_with("not completed in A, FCT 500 ns in B") && !comparison.equal, "{first}");
    folders.write("mix/fct.txt", "");
    let comparison = folders.compare("run", "mix/fct.txt");
    let flows = comparison.flows.as_ref().unwrap();
    assert_eq!((flows.only.a.flows, flows.without_line.a), (1, 2));
    assert!(!comparison.equal, "{comparison}");

    // Of two runs each has a row for every flow.
    folders.run("other", "1,two,h0,h2,1000,10,500,400\n");
    assert!(!folders.compare("run", "other").equal);
}

#[test]
fn files_of_no_completed_flow_are_equal() {
    let folders = Folders::new();
    let run = folders.run("run", "0,one,h0,h2,1000,10,,400\n");
    fs::write(run.join("fct.txt"), "").unwrap();
    let comparison = folders.compare("run", "run/fct.txt");
    assert!(comparison.equal, "{comparison}");
    let text = comparison.to_string();
    let part = "Flows: 1 in A, 0 in B, 0 in both\n  1 flow unfinished in A, 0 in B.\n  Not completed in A, no line in B: 1 flow.\n";
    assert!(text.contains(part), "{text}");
    folders.write("mix/fct.txt", "0 2 10000 200 1000 2000000010 500 400\n");
    let flows = folders.compare("run", "mix/fct.txt").flows.unwrap();
    assert_eq!((flows.matched, flows.equal_fcts), (1, 0));
}

/// Nothing of a file can be compared with a run that has no flows.
#[test]
fn a_file_and_a_run_without_flows_are_different() {
    let folders = Folders::new();
    let run = folders.run("run", "");
    fs::remove_file(run.join("flows.csv")).unwrap();
    folders.write("mix/fct.txt", "0 2 10000 100 1000 2000000010 500 400\n");
    let comparison = folders.compare("run", "mix/fct.txt");
    assert!(!comparison.equal && comparison.flows.is_none());
    assert_eq!(comparison.verdict, "different: only B has flows");
    assert_eq!(comparison.not_compared, ["fct.txt: only B has it"]);
}

/// Two runs without `pauses.csv` have `pfc.txt`, each with its own ids and offset.
#[test]
fn arrivals_of_two_runs_are_in_the_terms_of_each() {
    let folders = Folders::new();
    folders.run("a", "");
    folders.write("a/pfc.txt", "2000000060 0 0 1 1\n");
    folders.run("b", "");
    let nodes = "time_offset = \"1s\"\nnodes = [\"s0\", \"h2\", \"h1\", \"h0\"]";
    let scenario = SCENARIO.replace("time_offset = \"2s\"", nodes);
    folders.write(&format!("b/{SCENARIO_FILE}"), scenario);
    folders.write("b/pfc.txt", "1000000060 3 0 1 1\n");
    let comparison = folders.compare("a", "b");
    let pauses = comparison.pauses.as_ref().unwrap();
    assert!(comparison.equal && pauses.first.is_none(), "{comparison}");
    assert_eq!((pauses.file, pauses.all.pauses), ("pfc.txt", Pair { a: 1, b: 1 }));
    assert_eq!(pauses.ports[0].place.to_string(), "s0 port 0 to h0");
    folders.write("b/pfc.txt", "1000000061 3 0 1 1\n");
    let first = folders.compare("a", "b").first.unwrap();
    assert_eq!((first.at_ns, &*first.place), (60, "a pause in pfc.txt"));
}

/// The list of flows that the run's scenario names was moved.
#[test]
fn a_run_needs_no_input_of_its_scenario() {
    let folders = Folders::new();
    folders.run("run", "0,one,h0,h2,1000,10,500,400\n");
    let entry = "{ kind = \"one\", label = \"one\", src = \"h0\", dst = \"h2\", bytes = \"1kB\" }";
    let list = "{ kind = \"list\", file = \"/absent/list.csv\" }";
    folders.write(&format!("run/{SCENARIO_FILE}"), SCENARIO.replace(entry, list));
    folders.write("mix/fct.txt", "0 2 10000 200 1000 2000000010 500 400\n");
    let comparison = folders.compare("run", "mix/fct.txt");
    assert!(comparison.equal, "{comparison}");
}
