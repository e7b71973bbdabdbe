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
