//! Flows of two runs, tolerances, and parts.

use super::*;

#[test]
fn differences_of_flows_have_signs() {
    let folders = Folders::new();
    folders.run(
        "a",
        "0,one,h0,h2,1000,0,500,250\n1,one,h1,h2,1000,7,1000,250\n2,one,h1,h0,1000,9,,250\n3,one,h2,h0,5,9,40,10\n",
    );
    folders.run(
        "b",
        "0,one,h0,h2,1000,0,505,250\n1,one,h1,h2,1000,7,990,250\n2,one,h1,h0,1000,9,800,250\n3,one,h2,h0,5,9,40,10\n",
    );
    let comparison = folders.compare("a", "b");
    let flows = comparison.flows.as_ref().unwrap();
    assert_eq!((flows.flows, flows.matched), (Pair { a: 4, b: 4 }, 4));
    assert_eq!((flows.equal_fcts, flows.equal_ideals), (1, 4));
    assert_eq!((flows.slower_in_b, flows.faster_in_b), (1, 1));
    assert_eq!((flows.start_ns, flows.sizes.len()), (None, 0));
    let shown_of = |differences: &Option<distribution::Differences>| {
        let differences = differences.as_ref();
        let of_a = differences.and_then(|it| it.of_a.as_ref());
        [shown(differences.map(|it| &it.b_minus_a)), shown(of_a)]
    };
    assert_eq!(shown_of(&flows.fct_ns), ["-10 0 5 5 5 -1.666667", "-0.01 0 0.01 0.01 0.01 0"]);
    assert_eq!(shown_of(&flows.slowdown)[0], "-0.04 0 0.02 0.02 0.02 -0.006667");
    let text = comparison.to_string();
    for words in [
        "  FCT, ns               1  33.3333 %    -10    0     +5     +5     +5  -1.666667\n",
        "  Completion times and slowdowns are of the 3 that completed on both sides.\n",
        "  1 flow unfinished in A, 0 in B.\n",
    ] {
        assert!(text.contains(words), "{words:?}: {text}");
    }
    assert_eq!((flows.unfinished, flows.completed_on_one_side), (Pair { a: 1, b: 0 }, 1));
    // The other side first: all signs change.
    let back = folders.compare("b", "a").flows.unwrap();
    assert_eq!(shown_of(&back.fct_ns)[0], "-5 0 10 10 10 1.666667");
    assert_eq!((back.slower_in_b, back.faster_in_b), (1, 1));
    let json = serde_json::to_value(&comparison).unwrap();
    assert_eq!(json["flows"]["first"]["b_minus_a_ns"], 5, "{json:#}");
    assert_eq!(json["flows"]["flows"], serde_json::json!({ "a": 4, "b": 4, "b_minus_a": 0 }));
    assert_eq!(json["flows"]["fct_ns"]["b_minus_a"]["min"], -10, "{json:#}");
}

/// A flow that completed on one side only differs where it completed.
#[test]
fn the_first_flow_is_the_first_whose_end_differs() {
    let folders = Folders::new();
    folders.run("a", "0,one,h0,h2,1000,0,900,250\n1,one,h1,h2,1000,100,,250\n");
    folders.run("b", "0,one,h0,h2,1000,0,901,250\n1,one,h1,h2,1000,100,700,250\n");
    let flows = folders.compare("a", "b").flows.unwrap();
    let first = flows.first.unwrap();
    assert_eq!((first.at_ns, first.what), (800, flows::What::Completion));
    assert_eq!(
        first.to_string(),
        "flow 1 (label one) from h1 to h2 of 1,000 B: not completed in A, FCT 700 ns in B"
    );
}

/// Runs of which no flow completed have no equal completion times, and say so.
#[test]
fn unfinished_flows_are_no_equal_flows() {
    let folders = Folders::new();
    let summary = Summary {
        ended: RunEnd::Interrupted,
        emulated_ns: 1234,
        flows_total: 2,
        ..Summary::default()
    };
    for name in ["a", "b"] {
        folders.run(name, "0,one,h0,h2,1000,0,,250\n1,one,h1,h2,1000,7,,250\n");
        folders.write(&format!("{name}/summary.json"), summary.to_json());
    }
    let comparison = folders.compare("a", "b");
    let flows = comparison.flows.as_ref().unwrap();
    assert_eq!((flows.equal_fcts, flows.completed, flows.fct_ns), (0, 0, None));
    let folder = format!("{}/", folders.path("").display()).replace("//", "/");
    let text = comparison.to_string().replace(&folder, "");
    for words in [
        "equal: everything that A and B both have; 2 flows unfinished in A, 2 in B\n",
        "B: b, seed 0, without manifest.json, so of an unknown build of xoff, 2 flows unfinished, interrupted at 1,234 ns\n",
        "  FCT, ns               0      -    -",
        "  2 flows unfinished in A, 2 in B.\n",
    ] {
        assert!(text.contains(words), "{words:?}: {text}");
    }
    // One flow completed in B: an infinite tolerance of time does not make it equal.
    folders.run("b", "0,one,h0,h2,1000,0,,250\n1,one,h1,h2,1000,7,300,250\n");
    let wide = folders.compare_with("a", "b", &options(&["1000s", "99%"], &[Part::Flows]));
    assert!(!wide.equal, "{wide}");
    assert_eq!(
        wide.sides.as_ref().map(|side| side.interrupted_ns),
        Pair { a: Some(1234), b: None }
    );
}

/// Flow 0 of A and flow 0 of B have nothing in common but their number, hosts and size.
#[test]
fn flows_of_other_starts_are_other_flows() {
    let folders = Folders::new();
    let row = |flow: u64, start: u64| format!("{flow},one,h0,h2,1000,{start},500,400\n");
    folders.run("a", &row(0, 50));
    // An earlier flow of the same hosts and size, and twelve later ones.
    let more: String =
        (1..14).map(|flow| row(flow, if flow == 1 { 50 } else { 100 + flow })).collect();
    folders.run("b", &(row(0, 10) + &more));
    let comparison = folders.compare("a", "b");
    let flows = comparison.flows.as_ref().unwrap();
    assert_eq!((flows.matched, flows.equal_fcts), (1, 1));
    assert_eq!((flows.only.a.flows, flows.only.b.flows), (0, 13));
    let listed: Vec<u64> = flows.only.b.first.iter().map(|flow| flow.flow).collect();
    assert_eq!(listed, [0, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    let first = flows.first.as_ref().unwrap();
    assert_eq!((first.at_ns, first.what), (10, flows::What::Existence));
    let text = comparison.to_string();
    assert!(text.contains("\nFlows only in B: the first of 13\n"), "{text}");
    // The differences of the flow of both sides come before the distributions.
    let place = |title: &str| text.find(title).unwrap_or_else(|| panic!("{title}: {text}"));
    assert!(place("\nFlows that are in both: 1\n") < place("\nCompletion times of all flows"));
    let verdict =
        "different: the flows are not the same (0 only in A, 13 only in B), from 10 ns on\n";
    assert!(text.starts_with(verdict), "{text}");
    assert!(!comparison.equal);
}

/// Two seeds: no flow is the same, and the distributions of all flows are compared.
#[test]
fn runs_of_other_flows_have_distributions() {
    let folders = Folders::new();
    folders
        .run("a", "0,one,h0,h2,1000,0,500,250\n1,two,h1,h2,1000,7,700,250\n2,one,h1,h0,20,9,,10\n");
    folders.run(
        "b",
        "0,one,h1,h2,1000,3,400,250\n1,two,h0,h2,1000,8,800,250\n2,one,h1,h0,20,4,30,10\n",
    );
    folders.write("b/summary.json", Summary { seed: 2, ..Summary::default() }.to_json());
    let comparison = folders.compare("a", "b");
    let flows = comparison.flows.as_ref().unwrap();
    assert_eq!((flows.matched, flows.fct_ns), (0, None));
    let names: Vec<String> = flows.sizes.iter().map(sizes::SizeClass::name).collect();
    assert_eq!(names, ["all", "20 B", "1,000 B"]);
    let class = &flows.sizes[2];
    assert_eq!((class.flows, class.completed), (Pair { a: 2, b: 2 }, Pair { a: 2, b: 2 }));
    assert_eq!(class.fct_ns.p50.b_minus_a, Some(Number::whole(-100)));
    assert_eq!(class.fct_ns.p99.b_minus_a, Some(Number::whole(100)));
    let text = comparison.to_string();
    for words in [
        "  The flows are not the same: 3 only in A, 3 only in B.",
        "  The seeds are 0 and 2; a seed draws flows at random.\n",
        "  1,000 B  completed    2    2      0         0\n                 p50  500  400   -100       -20\n",
        "  flows, 3 rows: of flows that are not the same\n",
        "\n  0       one    h0  h2  1,000          0      500\n",
    ] {
        assert!(text.contains(words), "{words:?}: {text}");
    }
    assert!(!text.contains("take longer") && !text.contains("Flows that are in both"), "{text}");
    // The starts alone differ, but each seed draws them.
    assert!(flows.displaced_ns.is_some() && !text.contains("--tolerance"), "{text}");
}

#[test]
fn flows_whose_starts_alone_differ_are_the_same_up_to_a_tolerance() {
    let folders = Folders::new();
    folders.run("a", "0,one,h0,h2,1000,0,500,250\n1,one,h0,h2,1000,10,600,250\n");
    folders.run("b", "0,one,h0,h2,1000,3,504,250\n1,one,h0,h2,1000,9,600,250\n");
    let flows = folders.compare("a", "b").flows.unwrap();
    assert_eq!(flows.matched, 0);
    assert_eq!(
        flows.displaced_ns.map(|it| (it.min, it.max)),
        Some((Number::whole(-1), Number::whole(3)))
    );
    let text = folders.compare("a", "b").to_string();
    assert!(
        text.contains("B - A by -1 to +3 ns: with --tolerance 3ns they are the same."),
        "{text}"
    );
    let parts = [Part::Flows];
    let comparison = folders.compare_with("a", "b", &options(&["3ns"], &parts));
    let flows = comparison.flows.as_ref().unwrap();
    assert_eq!((flows.matched, flows.equal_fcts, comparison.equal), (2, 1, false));
    assert_eq!(
        flows.start_ns.map(|it| (it.min, it.max)),
        Some((Number::whole(-1), Number::whole(3)))
    );
    assert_eq!((flows.slower_in_b, flows.first.as_ref().map(|first| first.at_ns)), (1, Some(500)));
    let comparison = folders.compare_with("a", "b", &options(&["3ns", "1%"], &parts));
    assert!(comparison.equal && comparison.first.is_none(), "{comparison}");
    let verdict = "equal up to 3 ns or 1 % of A's: flows that A and B both have";
    assert_eq!(comparison.verdict, verdict);
    // The tolerance applies to all tables and columns. A percentage does not apply to instants.
    let all = folders.compare_with("a", "b", &options(&["3ns", "1%"], &[]));
    assert!(all.equal && all.to_string().contains("Differences up to 3 ns or 1 % of A's"), "{all}");
    let percent = folders.compare_with("a", "b", &options(&["90%"], &[]));
    assert!(!percent.equal && percent.flows.unwrap().matched == 0);
}

#[test]
fn only_chosen_parts_are_compared() {
    let folders = Folders::new();
    for (name, fct, pause) in [("a", 500, 10), ("b", 501, 10)] {
        folders.run(name, &format!("0,one,h0,h2,1000,0,{fct},250\n"));
        folders.write(&format!("{name}/pauses.csv"), format!("{PAUSES}{pause},s0,0,h0,3,xoff\n"));
    }
    let equal = |parts: &[Part]| folders.compare_with("a", "b", &options(&[], parts));
    let pauses = equal(&[Part::Pauses, Part::Metrics]);
    assert!(pauses.equal && pauses.flows.is_none() && pauses.tables.is_empty(), "{pauses}");
    assert_eq!(pauses.verdict, "equal: pauses, metrics that A and B both have");
    assert!(!equal(&[Part::Flows]).equal && !equal(&[Part::Tables]).equal);
    fs::remove_file(folders.path("b/pauses.csv")).unwrap();
    assert_eq!(
        folders.refused_with("a", "b", &options(&[], &[Part::Pauses])),
        "--only pauses leaves nothing to compare: pauses.csv: only A has it"
    );
    folders.write("fct.txt", "0 2 10000 100 1000 2000000010 500 400\n");
    assert_eq!(
        folders.refused_with("a", "fct.txt", &options(&[], &[Part::Tables, Part::Metrics])),
        "--only tables,metrics leaves nothing to compare: A and B do not both have it"
    );
}
