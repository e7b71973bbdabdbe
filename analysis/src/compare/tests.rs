mod flows_of_runs;
mod simulator;
mod sweeps_of_runs;

use std::fs;

use tempfile::TempDir;

use super::*;

const FLOWS: &str = "flow,label,src,dst,bytes,start_ns,fct_ns,ideal_ns\n";
const PAUSES: &str = "time_ns,node,port,peer,priority,event\n";
/// The hosts are nodes 0 to 2 and the switch is node 3.
const SCENARIO: &str = "
flows = [{ kind = \"one\", label = \"one\", src = \"h0\", dst = \"h2\", bytes = \"1kB\" }]
[topology]
kind = \"star\"
hosts = 3
host_link = { rate = \"100Gbps\", delay = \"1us\" }
[results.hpcc]
time_offset = \"2s\"
destination_ports = { one = 200 }
";

const NO_MANIFEST: &str = "builds of xoff: A and B have no manifest.json";
/// Fields that every manifest has.
const MANIFEST: &str = r#"{"tool": "xoff", "version": "0.2.0", "git_commit": null, "build_id": null, "ebpf_object": null,
"kernel": "6", "arch": "x86_64", "host": "vm", "processor": "x", "seed": 0, "datapath": "memory", "hook": null,
"clock": "virtual", "tables": "csv", "command": []}"#;

/// Folders of runs and files of a simulator.
struct Folders(TempDir);

impl Folders {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Writes the folder of a run with these rows of `flows.csv`.
    fn run(&self, name: &str, flows: &str) -> PathBuf {
        self.write(&format!("{name}/summary.json"), Summary::default().to_json());
        self.write(&format!("{name}/{SCENARIO_FILE}"), SCENARIO);
        self.write(&format!("{name}/flows.csv"), FLOWS.to_owned() + flows);
        self.path(name)
    }

    fn compare(&self, a: &str, b: &str) -> Comparison {
        self.compare_with(a, b, &Options::default())
    }

    fn compare_with(&self, a: &str, b: &str, options: &Options) -> Comparison {
        let [a, b] = [a, b].map(|name| self.path(name));
        super::compare(Pair { a: &a, b: &b }, options).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Returns the error of a comparison, without the path of the folders.
    fn refused(&self, a: &str, b: &str) -> String {
        self.refused_with(a, b, &Options::default())
    }

    fn refused_with(&self, a: &str, b: &str, options: &Options) -> String {
        let [a, b] = [a, b].map(|name| self.path(name));
        let error = super::compare(Pair { a: &a, b: &b }, options).expect_err("it is refused");
        error.to_string().replace(&format!("{}/", self.0.path().display()), "")
    }
}

use results::{Number, RunEnd, SCENARIO_FILE, Summary};

/// Options with a tolerance and parts.
fn options(tolerance: &[&str], parts: &[Part]) -> Options {
    let all = tolerance.iter().map(|text| tolerance::allowance(text).unwrap());
    let tolerance = Tolerance::new(&all.collect::<Vec<_>>()).unwrap();
    let parts = if parts.is_empty() { Part::ALL.into() } else { parts.into() };
    Options { tolerance, parts }
}

/// Numbers of a distribution as text.
fn shown(distribution: Option<&distribution::Distribution>) -> String {
    let numbers = distribution.map(distribution::Distribution::numbers);
    numbers.map_or_else(String::new, |all| all.map(|it| it.to_string()).join(" "))
}

#[test]
fn equal_runs_are_equal() {
    let folders = Folders::new();
    let flows = "0,one,h0,h2,1000,0,500,400\n1,one,h1,h2,1000,7,,400\n";
    for name in ["a", "b"] {
        folders.run(name, flows);
        folders.write(&format!("{name}/pauses.csv"), format!("{PAUSES}9,s0,0,h0,3,xoff\n"));
    }
    let comparison = folders.compare("a", "b");
    assert!(comparison.equal && comparison.first.is_none(), "{comparison:#?}");
    let flows = comparison.flows.as_ref().unwrap();
    assert_eq!((flows.matched, flows.equal_fcts, flows.equal_ports), (2, 1, None));
    assert_eq!((flows.completed, flows.completed_on_one_side), (1, 0));
    assert_eq!(shown(flows.fct_ns.map(|it| it.b_minus_a).as_ref()), "0 0 0 0 0 0");
    let text = comparison.to_string();
    let verdict = "equal: everything that A and B both have; 1 flow unfinished in A, 1 in B\nA: ";
    assert!(text.starts_with(verdict), "{text}");
    let side = "/a, seed 0, without manifest.json, so of an unknown build of xoff\n";
    assert!(text.contains(side) && !text.contains("Differences are"), "{text}");
    assert_eq!(comparison.not_compared, ["builds of xoff: A and B have no manifest.json"]);
    folders.write("a/manifest.json", MANIFEST);
    let text = folders.compare("a", "b").to_string();
    assert!(text.contains("\n  builds of xoff: B has no manifest.json\n"), "{text}");
    assert!(!text.contains("The builds of xoff differ"), "{text}");
    folders.write("b/manifest.json", MANIFEST.replace("0.2.0", "0.2.1"));
    let text = folders.compare("a", "b").to_string();
    assert!(text.contains("\nThe builds of xoff differ.\n"), "{text}");
    fs::remove_file(folders.path(&format!("b/{SCENARIO_FILE}"))).unwrap();
    let comparison = folders.compare("a", "b");
    let note = "keys of the scenarios: B has no scenario.resolved.toml";
    assert_eq!((comparison.scenario.len(), &*comparison.not_compared), (0, &[note.to_owned()][..]));
}

#[test]
fn pauses_are_counted_by_port_and_compared_in_order() {
    let folders = Folders::new();
    for (name, rows) in [
        ("a", "10,s0,0,h0,3,xoff\n10,s0,1,h1,3,xoff\n20,s0,0,h0,3,xon\n"),
        (
            "b",
            "10,s0,1,h1,3,xoff\n10,s0,0,h0,3,xoff\n15,s0,0,h0,3,xoff-refresh\n20,s0,0,h0,3,xon\n",
        ),
    ] {
        folders.run(name, "");
        folders.write(&format!("{name}/pauses.csv"), PAUSES.to_owned() + rows);
    }
    let pauses = folders.compare("a", "b").pauses.unwrap();
    assert_eq!((pauses.file, pauses.all.pauses), ("pauses.csv", Pair { a: 2, b: 2 }));
    assert_eq!(pauses.all.refreshes, Pair { a: 0, b: 1 });
    assert_eq!(pauses.ports[0].counts.refreshes, Pair { a: 0, b: 1 });
    assert_eq!(pauses.ports[1].counts.pauses, Pair { a: 1, b: 1 });
    let first = pauses.first.unwrap();
    assert_eq!((first.at_ns, first.b_minus_a_ns), (15, Some(-5)));
    assert_eq!(first.a.unwrap().to_string(), "xon by s0 port 0 to h0 priority 3");
    assert_eq!(first.b.unwrap().to_string(), "xoff-refresh by s0 port 0 to h0 priority 3");
}

#[test]
fn tables_have_their_first_row_that_differs() {
    let folders = Folders::new();
    for (name, drops, links, distributions) in [
        (
            "a",
            "time_ns,node,bytes\n10,s0,60\n20,s0,60\n",
            "wire,utilisation\nh0->s0,0.500000\n",
            "measure,value\n",
        ),
        (
            "b",
            "time_ns,node,bytes,more\n10,s0,60,1\n18,s1,60,1\n30,s1,60,1\n",
            "wire,utilisation\nh0->s0,0.5\n",
            "measure,value\nport-headroom,7\n",
        ),
    ] {
        folders.run(name, "");
        folders.write(&format!("{name}/drops.csv"), drops);
        folders.write(&format!("{name}/links.csv"), links);
        folders.write(&format!("{name}/distributions.csv"), distributions);
    }
    folders.write("b/rates.csv", "time_ns,node\n");
    let comparison = folders.compare("a", "b");
    let table = |name: &str| comparison.tables.iter().find(|table| table.table == name).unwrap();
    assert_eq!(table("links").first, None);
    let drops = table("drops");
    assert_eq!((drops.rows, &*drops.only.b), (Pair { a: 2, b: 3 }, &["more".to_owned()][..]));
    let first = drops.first.as_ref().unwrap();
    assert_eq!(first.at_ns, Some(18));
    let text = "drops.csv line 3, only in B at 18 ns: time_ns 18, node s1, bytes 60";
    assert_eq!(first.describe(3), text);
    let first = table("distributions").first.as_ref().unwrap();
    let text = "distributions.csv line 2, only in B: measure port-headroom, value 7";
    assert_eq!((first.at_ns, &*first.describe(3)), (None, text));
    assert_eq!(comparison.not_compared, ["rates.csv: only B has it", NO_MANIFEST]);
    let place = comparison.first.map(|first| (first.at_ns, first.place));
    assert_eq!(place, Some((18, "drops.csv line 3".to_owned())));
}

#[test]
fn metrics_and_keys_that_differ_are_named() {
    let folders = Folders::new();
    folders.run("a", "");
    let summary =
        Summary { pause_frames: 3, threads: 2, replaced_flows: Some(0), ..Summary::default() };
    folders.run("b", "");
    folders.write("b/summary.json", summary.to_json());
    folders.write(&format!("b/{SCENARIO_FILE}"), SCENARIO.replace("hosts = 3", "hosts = 4"));
    let comparison = folders.compare("a", "b");
    let [metric] = &comparison.summary[..] else { panic!("{:?}", comparison.summary) };
    assert_eq!(metric.key, "pause_frames");
    let change = metric.change;
    assert_eq!((change.a, change.b), (Some(Number::whole(0)), Some(Number::whole(3))));
    assert_eq!((change.b_minus_a, change.of_a), (Some(Number::whole(3)), None));
    assert!(
        comparison.to_string().contains("  pause_frames  0  3     +3       -\n"),
        "{comparison}"
    );
    let [key] = &comparison.scenario[..] else { panic!("{:?}", comparison.scenario) };
    assert_eq!(
        (&*key.key, key.a.as_deref(), key.b.as_deref()),
        ("topology.hosts", Some("3"), Some("4"))
    );
    let note = "replaced_flows in summary.json: only B has it";
    assert!(comparison.not_compared.iter().any(|it| it == note), "{:?}", comparison.not_compared);
    assert!(!comparison.equal);
}

#[test]
fn input_that_cannot_be_compared_is_named() {
    let folders = Folders::new();
    folders.run("a", "0,one,h0,h2,1000,10,500,400\n");
    folders.write("sweep/summary.csv", "metric,mean\n");
    folders.write("empty/note", "");
    folders.write("cut.txt", "0 2 10000 100 1000 2000000010 500 40");
    for (b, words) in [
        ("none", "cannot read none: No such file or directory (os error 2); name a folder that"),
        (
            "sweep",
            "sweep is the folder of a sweep: `xoff compare A B` compares two sweeps, a report two runs",
        ),
        ("empty", "empty holds no results: cannot read its summary.json: No such file"),
        ("cut.txt", "cut.txt line 1: the file ends within this line: it was cut"),
        (
            "a/flows.csv",
            "a/flows.csv line 1: fields: 1, expected: 8 (sip dip sport dport size start_time fct",
        ),
    ] {
        let said = folders.refused("a", b);
        assert!(said.starts_with(words), "{said}");
        assert_eq!(folders.refused(b, "a"), said);
    }
    for (flows, words) in [
        ("", "b/flows.csv is not a table: it is empty"),
        ("flow,label,src\n", "b/flows.csv has no column `dst`"),
        (
            "flow,label,src,dst,bytes,start_ns,fct_ns,ideal_ns\n0,one,h0\n",
            "b/flows.csv is not a table: CSV error: record 1 (line: 2",
        ),
        (
            "flow,label,src,dst,bytes,start_ns,fct_ns,ideal_ns\n0,one,h0,h2,1,2,3,4",
            "b/flows.csv line 2: the file ends within",
        ),
        (
            "flow,label,src,dst,bytes,start_ns,fct_ns,ideal_ns\n0,one,h0,h2,x,2,3,4\n",
            "b/flows.csv line 2: \"x\" is not a number (bytes)",
        ),
        (
            "flow,label,src,dst,bytes,start_ns,fct_ns,ideal_ns\n0,one,h0,h2,1,9223372036854775807,1,4\n",
            "b/flows.csv line 2: its end is later than 9223372036854775807 ns",
        ),
    ] {
        folders.run("b", "");
        folders.write("b/flows.csv", flows);
        let said = folders.refused("a", "b");
        assert!(said.starts_with(words), "{said}");
    }
    folders.run("b", "");
    folders.write("b/pauses.csv", format!("{PAUSES}9,s0,0,h0,3,xof\n"));
    folders.write("a/pauses.csv", PAUSES);
    assert_eq!(folders.refused("a", "b"), "b/pauses.csv line 2: no event is called \"xof\"");
    folders.write("b/summary.json", "{}");
    assert!(
        folders.refused("a", "b").starts_with("b/summary.json is not a summary of this version")
    );
    folders.write(&format!("a/{SCENARIO_FILE}"), "name = 7\n");
    folders.write("fct.txt", "0 2 10000 100 1000 2000000010 500 400\n");
    assert!(folders.refused("a", "fct.txt").contains(SCENARIO_FILE));
}

/// Samples of the shared pool and of headroom at one instant are not subtracted from each other.
#[test]
fn rows_of_different_queues_are_matched_by_their_keys() {
    let folders = Folders::new();
    for (name, rows) in [
        ("a", "9,s0,buffer,,,50\n10,s0,shared,,,854816\n10,s0,ingress,1,3,70\n11,s0,shared,,,7\n"),
        (
            "b",
            "9,s0,buffer,,,50\n10,s0,headroom,,,4232\n10,s0,shared,,,854816\n10,s0,ingress,1,3,71\n",
        ),
    ] {
        folders.run(name, "");
        let rows = format!("time_ns,node,kind,port,priority,bytes\n{rows}");
        folders.write(&format!("{name}/queues.csv"), rows);
    }
    let queues = || {
        let tables = folders.compare("a", "b").tables;
        let queues = tables.into_iter().find(|table| table.table == "queues").unwrap();
        (queues.rows, queues.first.map(|first| first.describe(9)).unwrap_or_default())
    };
    let only = "queues.csv line 3, only in B at 10 ns: time_ns 10, node s0, kind headroom, port , \
                priority , bytes 4232";
    assert_eq!(queues(), (Pair { a: 4, b: 4 }, only.to_owned()));
    // A number of the same queue differs, in another line.
    let rows = "10,s0,ingress,1,3,71\n10,s0,shared,,,854816\n";
    let header = "time_ns,node,kind,port,priority,bytes\n9,s0,buffer,,,50\n";
    folders.write("b/queues.csv", format!("{header}{rows}"));
    let text = "queues.csv line 4 and queues.csv line 3 (node s0, kind ingress, port 1, priority 3) at 10 ns: bytes 70 | 71 (+1)";
    assert_eq!(queues(), (Pair { a: 4, b: 3 }, text.to_owned()));
    // The order alone differs: nothing is subtracted.
    folders.write("b/queues.csv", format!("{header}{}", rows.replace("71", "70")));
    let text = "queues.csv line 3 at 10 ns: kind shared | ingress, port  | 1, priority  | 3, bytes 854816 | 70";
    assert_eq!(queues().1, text);
    // Samples of two instants.
    folders.write("b/queues.csv", format!("{header}12,s0,shared,,,854810\n"));
    let text = "queues.csv line 3 at 10 ns: time_ns 10 | 12 (+2), bytes 854816 | 854810";
    assert_eq!(queues().1, text);
}

/// A table whose columns were renamed has no values to compare, but its rows count.
#[test]
fn tables_without_a_common_column_are_not_compared() {
    let folders = Folders::new();
    for (name, column) in [("a", "wire"), ("b", "link")] {
        folders.run(name, "");
        folders.write(&format!("{name}/links.csv"), format!("{column}\nh0->s0\n"));
    }
    let note = "links: A and B have no column in common";
    let comparison = folders.compare("a", "b");
    assert!(comparison.equal, "{comparison}");
    assert_eq!(comparison.not_compared, [note, NO_MANIFEST]);
    assert!(!comparison.to_string().contains("links,"), "{comparison}");
    folders.write("b/links.csv", "link\nh0->s0\nh1->s0\n");
    let comparison = folders.compare("a", "b");
    let table = comparison.tables.iter().find(|table| table.table == "links").unwrap();
    assert_eq!((table.columns, table.rows), (0, Pair { a: 1, b: 2 }));
    let first = table.first.as_ref().map(|first| first.describe(3));
    assert_eq!(first.as_deref(), Some("links.csv line 3, only in B"));
    assert!(!comparison.equal && comparison.not_compared == [note, NO_MANIFEST], "{comparison}");
}

#[test]
fn the_earliest_difference_wins_and_rows_win_at_one_instant() {
    let place = |drop: u64, pause: u64, fct: u64| {
        let folders = Folders::new();
        for (name, later) in [("a", 0), ("b", 5)] {
            let fct = fct + later;
            folders.run(name, &format!("0,one,h0,h2,1000,0,{fct},400\n"));
            let pauses = format!("{PAUSES}{},s0,0,h0,3,xoff\n", pause + later);
            folders.write(&format!("{name}/pauses.csv"), pauses);
            let drops = format!("time_ns,node\n{},s0\n", drop + later);
            folders.write(&format!("{name}/drops.csv"), drops);
        }
        let first = folders.compare("a", "b").first.unwrap();
        (first.at_ns, first.place)
    };
    let of_flow =
        "flow 0 (label one) from h0 to h2 of 1,000 B: FCT 10 ns in A, FCT 15 ns in B (+5 ns)";
    assert_eq!(place(30, 20, 10), (10, of_flow.into()));
    assert_eq!(place(30, 10, 20), (10, "pauses.csv line 2".into()));
    assert_eq!(place(10, 20, 10), (10, "drops.csv line 2".into()));
    assert_eq!(place(10, 10, 10), (10, "pauses.csv line 2".into()));
}

/// The text has one row for a table that a run lacks.
#[test]
fn json_has_all_keys_that_differ() {
    let folders = Folders::new();
    folders.run("a", "");
    folders.run("b", "");
    let more = "\n[switch.ecn]\nmark = \"dequeue\"\nkmin = \"5kB\"\nkmax = \"9kB\"\n";
    folders.write(&format!("b/{SCENARIO_FILE}"), SCENARIO.to_owned() + more);
    let comparison = folders.compare("a", "b");
    let text = comparison.to_string();
    assert!(text.contains("switch.ecn.*") && text.contains("3 keys"), "{text}");
    let json = serde_json::to_value(&comparison).unwrap();
    let rows = ["kmax", "kmin", "mark"].into_iter().zip(["9kB", "5kB", "dequeue"]);
    let rows: Vec<_> = rows
        .map(
            |(key, b)| serde_json::json!({ "key": format!("switch.ecn.{key}"), "a": null, "b": b }),
        )
        .collect();
    assert_eq!(json["scenario"], serde_json::Value::from(rows));
}

#[test]
fn flows_of_one_run_alone_are_a_difference() {
    let folders = Folders::new();
    let [a, b] = ["a", "b"].map(|name| folders.run(name, "0,one,h0,h2,1000,0,500,400\n"));
    fs::remove_file(b.join("flows.csv")).unwrap();
    let comparison = folders.compare("a", "b");
    assert!(!comparison.equal);
    assert_eq!(comparison.verdict, "different: only A has flows");
    assert_eq!(comparison.not_compared, ["flows.csv: only A has it", NO_MANIFEST]);
    fs::remove_file(a.join("flows.csv")).unwrap();
    assert!(folders.compare("a", "b").equal);
}
