//! The files that determine the runs of a job, as they were at its submission.

use std::path::Path;

use scenario::ScenarioError;

use crate::{Sweep, SweepOptions};

/// Texts of a sweep file and of its scenario. Tasks read these copies, so later changes to either file do not affect a
/// job's tasks. Files that the scenario names are not copied: the names of runs contain their digests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inputs {
    /// The sweep file.
    pub sweep: String,
    /// The scenario.
    pub scenario: String,
}

impl Inputs {
    /// Copies the texts of a sweep.
    pub fn new(sweep: &Sweep) -> Self {
        Self { sweep: sweep.text().to_owned(), scenario: sweep.scenario_text().to_owned() }
    }

    /// Loads the sweep as if `file` and its scenario still had these texts. Paths in them are relative to the folders
    /// of the originals.
    ///
    /// # Errors
    /// If a text is wrong.
    pub fn load(&self, file: &Path, options: &SweepOptions) -> Result<Sweep, ScenarioError> {
        let text = |path: &Path| if path == file { &self.sweep } else { &self.scenario };
        Sweep::read(file, options, &|path| Ok(text(path).clone()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const SCENARIO: &str = r#"
duration = "1ms"
[topology]
kind = "star"
hosts = 2
host_link = { rate = "100Gbps", delay = "1us" }
[[flows]]
kind = "list"
file = "flows.csv"
"#;

    #[test]
    fn a_sweep_is_what_it_was_when_its_files_have_changed() {
        let temp = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(temp.path().join(name), text).unwrap();
        let file = temp.path().join("a.toml");
        write("a.toml", "scenario = \"base.toml\"\nseeds = 2\n");
        write("base.toml", SCENARIO);
        write("flows.csv", "start_ns,src,dst,bytes,priority\n0,h0,h1,1000,3\n");
        let options = SweepOptions::default();
        let before = Sweep::load(&file, &options).unwrap();
        let names = |sweep: &Sweep| [0, 1].map(|index| sweep.run(index).unwrap().0.id);
        let (inputs, expected) = (Inputs::new(&before), names(&before));
        write("a.toml", "half a sen");
        write("base.toml", &SCENARIO.replace("1ms", "2ms"));
        assert_eq!(names(&inputs.load(&file, &options).unwrap()), expected);
        write("flows.csv", "start_ns,src,dst,bytes,priority\n0,h0,h1,2000,3\n");
        assert_ne!(names(&inputs.load(&file, &options).unwrap()), expected, "named by digest");
    }
}
