//! Scenarios as starting points: templates with a comment at each choice, and suggested next commands.
//!
//! In a template `<NAME>` stands for the user's name, `<STEPS>` for the commands, and `<SCENARIO>` for the file that a
//! sweep varies. Names contain no `<`.

/// A kind of scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// Many hosts send to one and PFC pauses them; a victim flow runs beside them.
    Incast,
    /// A leaf-spine fabric under `WebSearch` traffic and incasts.
    Fabric,
    /// TCP over a switch without PFC, with a buffer management scheme.
    Lossy,
    /// A live fabric in real time, for programs and RoCE traffic.
    Live,
    /// A sweep over settings and seeds, and the incast that it varies.
    Sweep,
}

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Name of the file.
    pub file: String,
    /// Text of the file.
    pub text: String,
}

/// A suggested command and its effect. `<FILE>` stands for the file, `<NAME>` for its name.
type Step = (&'static str, &'static str);

const RUN: &[Step] = &[
    ("xoff validate <FILE>", "checks it"),
    ("xoff inspect <FILE>", "paths, base RTTs, headroom, expected load"),
    ("xoff run <FILE> --datapath memory --out <NAME>.results", "runs it, without root"),
    ("sudo xoff run <FILE> --out <NAME>.results", "the same frames through the kernel"),
    ("xoff report <NAME>.results", "charts, as one HTML file"),
];

const DEPLOY: &[Step] = &[
    ("sudo xoff deploy <FILE>", "brings it up"),
    ("sudo xoff exec <NAME> h0 -- ping -c 3 h3", "any program in a host"),
    ("sudo xoff incast <NAME> h3 --from h0,h1,h2 --bytes 100kB", "RoCE traffic"),
    ("sudo xoff top <NAME>", "rates, queues, pauses, drops"),
    ("sudo xoff destroy <NAME>", "takes it down"),
];

const SWEEP: &[Step] = &[
    ("xoff sweep <FILE> --list", "the runs"),
    ("xoff sweep <FILE> --out <NAME>.sweep", "makes those that are missing"),
    ("xoff report <NAME>.sweep", "charts with intervals, as one HTML file"),
];

impl Kind {
    /// Returns the files of the kind, the requested one first. A name has only letters, digits, `-`, `_` and `.`.
    pub fn files(self, name: &str) -> Vec<Template> {
        let file = file_of(name);
        let own = Template { text: self.text(name, &file), file };
        if self != Self::Sweep {
            return vec![own];
        }
        let file = varied_by(name);
        vec![own, Template { text: Self::Incast.text(name, &file), file }]
    }

    /// Returns suggested next commands with their effects.
    pub fn steps(self, name: &str) -> Vec<String> {
        self.steps_for(name, &file_of(name))
    }

    fn steps_for(self, name: &str, file: &str) -> Vec<String> {
        let steps = match self {
            Self::Incast | Self::Fabric | Self::Lossy => RUN,
            Self::Live => DEPLOY,
            Self::Sweep => SWEEP,
        };
        let named = |&(command, what): &Step| {
            (command.replace("<FILE>", file).replace("<NAME>", name), what)
        };
        let steps: Vec<(String, &str)> = steps.iter().map(named).collect();
        let width = steps.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
        steps.iter().map(|(command, what)| format!("  {command:width$}  {what}")).collect()
    }

    fn text(self, name: &str, file: &str) -> String {
        let template = match self {
            Self::Incast => include_str!("init/incast.toml"),
            Self::Fabric => include_str!("init/fabric.toml"),
            Self::Lossy => include_str!("init/lossy.toml"),
            Self::Live => include_str!("init/live.toml"),
            Self::Sweep => include_str!("init/sweep.toml"),
        };
        let steps: Vec<String> =
            self.steps_for(name, file).iter().map(|step| format!("# {step}")).collect();
        let text = template.replace("<SCENARIO>", &varied_by(name)).replace("<NAME>", name);
        text.replace("# <STEPS>", &steps.join("\n"))
    }
}

/// Returns the file of a name.
pub fn file_of(name: &str) -> String {
    format!("{name}.toml")
}

/// Returns the file that a sweep of this name varies.
fn varied_by(name: &str) -> String {
    format!("{name}-incast.toml")
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;
    use std::path::Path;

    use super::*;

    #[test]
    fn a_template_has_the_name_and_the_steps() {
        for kind in Kind::value_variants() {
            for Template { file, text } in kind.files("lab") {
                for left in ["NAME", "<", "STEPS", "SCENARIO"] {
                    assert!(!text.contains(left), "{left} in {file}: {text}");
                }
                let lines = text.lines().take_while(|line| line.starts_with('#')).count();
                assert!(lines >= 5, "{text}");
                assert!(text.lines().all(|line| line.len() <= 150), "{text}");
            }
        }
        let [sweep, incast] = &Kind::Sweep.files("alpha")[..] else { panic!("two files") };
        assert!(sweep.text.contains("scenario = \"alpha-incast.toml\""), "{}", sweep.text);
        assert!(incast.text.contains("xoff validate alpha-incast.toml"), "{}", incast.text);
    }

    #[test]
    fn a_fabric_to_deploy_is_valid() {
        let folder = tempfile::tempdir().unwrap();
        let [Template { file, text }] = &Kind::Live.files("lab")[..] else { panic!("one file") };
        let path = folder.path().join(file);
        std::fs::write(&path, text).unwrap();
        let scenario = scenario::Scenario::load_live(&path, &[]);
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((&*scenario.name, scenario.fabric().host_count()), ("lab", 4));
    }

    #[test]
    fn each_scenario_is_valid_and_has_nothing_that_is_hardly_meant() {
        for kind in [Kind::Incast, Kind::Fabric, Kind::Lossy] {
            let [Template { file, text }] = &kind.files("lab")[..] else { panic!("one file") };
            let scenario = scenario::Scenario::parse(text, Path::new(file), &[]);
            let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(scenario.name, "lab");
            assert_eq!(scenario.warnings(), [""; 0], "{kind:?}");
        }
    }
}
