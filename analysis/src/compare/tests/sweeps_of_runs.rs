//! Sweeps, run by run.

use super::*;

impl Folders {
    /// Writes a sweep with a run for each of these values of the axis.
    fn sweep(&self, name: &str, axis: &str, runs: &[(&str, u64)]) -> PathBuf {
        let mut table = vec![format!("{axis},seed,run,state,metric,value\n")];
        for (value, fct) in runs {
            let run = format!("{name}/runs/of{value}");
            self.run(&run, &format!("0,one,h0,h2,1000,0,{fct},250\n"));
            // A run has several rows.
            for metric in ["cnps", "fct_ns.mean"] {
                table.push(format!("{value},1,of{value},complete,{metric},0\n"));
            }
        }
        self.write(&format!("{name}/sweep.csv"), table.concat());
        self.write(&format!("{name}/summary.csv"), "metric,mean\n");
        self.path(name)
    }
}

#[test]
fn runs_of_equal_axes_belong_together() {
    let folders = Folders::new();
    let a = folders.sweep("a", "switch.alpha", &[("1", 500), ("2", 600), ("3", 700)]);
    let b = folders.sweep("b", "switch.alpha", &[("2", 601), ("1", 500), ("4", 700)]);
    let compare = |a: &Path, b: &Path, options: &Options| compare_sweeps(Pair { a, b }, options);
    let found = compare(&a, &b, &Options::default()).unwrap().expect("they are sweeps");
    let runs: Vec<_> = found.runs.iter().map(|run| (&*run.choices, run.comparison.equal)).collect();
    assert_eq!(runs, [("alpha 1, seed 1", true), ("alpha 2, seed 1", false)]);
    assert_eq!(found.only.a, ["alpha 3, seed 1"]);
    assert_eq!(found.only.b, ["alpha 4, seed 1"]);
    let verdict = "different: 1 of 2 runs, 1 run only in A, 1 run only in B";
    assert_eq!((&*found.verdict, found.equal), (verdict, false));
    let text = found.to_string();
    for words in
        ["\n  alpha 1, seed 1      equal", "\nOnly in B: alpha 4, seed 1\n", "xoff compare "]
    {
        assert!(text.contains(words), "{words:?}: {text}");
    }
    let only = folders.sweep("only", "switch.alpha", &[("1", 500)]);
    let found = compare(&a, &only, &Options::default()).unwrap().expect("they are sweeps");
    assert_eq!(found.verdict, "different: 2 runs only in A; equal: 1 run of both");
    let same = compare(&a, &a, &Options::default()).unwrap().expect("they are sweeps");
    assert_eq!((&*same.verdict, same.equal), ("equal: 3 runs", true));

    let other = folders.sweep("other", "switch.buffer", &[("1", 500)]);
    let error = compare(&a, &other, &Options::default()).unwrap_err().to_string();
    let axes = "the axes of A are seed, switch.alpha, and of B seed, switch.buffer";
    assert!(error.starts_with(axes), "{error}");
    let empty = folders.sweep("empty", "switch.alpha", &[]);
    let error = compare(&a, &empty, &Options::default()).unwrap_err().to_string();
    assert!(error.contains("empty has no complete run"), "{error}");
    let run = a.join("runs/of1");
    let error = compare(&run, &b, &Options::default()).unwrap_err().to_string();
    assert!(error.contains("b/runs/of2 (alpha 2, seed 1)"), "{error}");
    assert!(compare(&run, &run, &Options::default()).unwrap().is_none());
}

/// 1/16 and 0.0625 are one value, and 0.5ms another one than 0.5us.
#[test]
fn values_of_axes_are_compared_as_numbers() {
    let folders = Folders::new();
    let a = folders.sweep("a", "switch.alpha", &[("0.0625", 500), ("0.50ms", 500), ("dt", 500)]);
    let b = folders.sweep("b", "switch.alpha", &[("dt", 500)]);
    let mut table = fs::read_to_string(b.join("sweep.csv")).unwrap();
    for (run, value) in [("sixteenth", "1/16"), ("half", "1/2us")] {
        folders.run(&format!("b/runs/{run}"), "0,one,h0,h2,1000,0,500,250\n");
        table.extend([value, ",1,", run, ",complete,cnps,0\n"]);
    }
    fs::write(b.join("sweep.csv"), table).unwrap();
    let paths = Pair { a: &*a, b: &*b };
    let found = compare_sweeps(paths, &Options::default()).unwrap().expect("they are sweeps");
    let runs: Vec<&str> = found.runs.iter().map(|run| &*run.choices).collect();
    assert_eq!(runs, ["alpha 0.0625, seed 1", "alpha dt, seed 1"]);
    assert_eq!(found.only.a, ["alpha 0.50ms, seed 1"]);
    assert_eq!(found.only.b, ["alpha 1/2us, seed 1"]);
}

/// Metrics within the tolerance have their true differences, and runs that are not complete are marked.
#[test]
fn a_tolerance_hides_no_difference_of_runs() {
    let folders = Folders::new();
    let [a, b] = ["a", "b"].map(|name| folders.sweep(name, "switch.alpha", &[("1", 500)]));
    for (name, pause_frames) in [("a", 1000), ("b", 1003)] {
        let summary = Summary { pause_frames, ..Summary::default() };
        folders.write(&format!("{name}/runs/of1/summary.json"), summary.to_json());
    }
    let paths = Pair { a: &*a, b: &*b };
    let found = compare_sweeps(paths, &options(&["1%"], &[])).unwrap().expect("they are sweeps");
    assert_eq!(found.verdict, "equal up to 1 % of A's: 1 run");
    let text = found.to_string();
    for words in [
        "\nDifferences up to 1 % of A's count as none.\n",
        "  alpha 1, seed 1    equal                 -                 -                     -           +0.3\n",
    ] {
        assert!(text.contains(words), "{words:?}: {text}");
    }
    let table = fs::read_to_string(b.join("sweep.csv")).unwrap();
    fs::write(b.join("sweep.csv"), table.replace("complete", "incomplete")).unwrap();
    let found = compare_sweeps(paths, &options(&["1%"], &[])).unwrap().expect("they are sweeps");
    let text = found.to_string();
    assert!(text.contains("  alpha 1, seed 1    equal  complete | incomplete  "), "{text}");

    // A sweep that has not written its tables.
    for table in ["sweep.csv", "summary.csv"] {
        fs::remove_file(b.join(table)).unwrap();
    }
    fs::write(b.join("sweep.toml"), "").unwrap();
    for (a, b) in [(&a, &b), (&b, &a), (&b, &folders.path("a/runs/of1"))] {
        let error = compare_sweeps(Pair { a, b }, &Options::default()).unwrap_err().to_string();
        let words = "b is the folder of a sweep without sweep.csv, which has the axes of its runs (1 so far)";
        assert!(error.contains(words), "{error}");
    }
}
