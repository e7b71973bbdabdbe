//! Sweeps through the kernel. Needs root.

use std::fs;

use tests::command::{ScenarioFolder, finish, isolate, shipped, traces, xoff};

/// A sweep whose runs are namespaces side by side writes the rows of a sweep in memory, and nothing else.
#[test]
fn a_sweep_through_the_kernel_has_the_numbers_of_one_in_memory() {
    isolate();
    let before = traces();
    let folder = ScenarioFolder::new();
    let rows = |datapath: &str| -> Vec<String> {
        let scenario = shipped("incast");
        let text = format!("scenario = {scenario:?}\nseeds = 2\ndatapath = {datapath:?}\n");
        let (file, out) = (folder.write("sweep.toml", text), folder.path(datapath));
        finish(&mut xoff(["sweep", &file, "--out", &out, "--jobs", "2"])).assert_code(0);
        let table = fs::read_to_string(folder.path(&format!("{datapath}/sweep.csv")));
        let table = table.expect("a sweep leaves its table");
        // All columns except the runs' names, which contain the datapath.
        let row = |line: &str| {
            let fields: Vec<&str> = line.split(',').collect();
            [fields[0], fields[2], fields[3], fields[4]].join(",")
        };
        table.lines().map(row).collect()
    };
    let kernel = rows("kernel");
    assert!(kernel.iter().any(|row| row.starts_with("2,complete,fct_ns.mean,")), "{kernel:?}");
    assert_eq!(kernel, rows("memory"));
    assert_eq!(traces(), before);
}
