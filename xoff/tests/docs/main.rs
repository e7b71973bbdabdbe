//! Tests that documents and messages match the code.

mod links;
mod reference;

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};
use xoff::commands::Arguments;

/// Texts for readers: sources with their messages, documents, scenarios.
const READ: [&str; 23] = [
    "analysis/src",
    "emulation/src",
    "fabric-core/src",
    "host-agent/src",
    "import/src",
    "linux/src",
    "live/src",
    "netns/src",
    "papers/src",
    "results/src",
    "scenario/src",
    "selftest/src",
    "sweep/src",
    "switch-user/src",
    "terminal/src",
    "topology/src",
    "units/src",
    "workload/src",
    "xoff/src",
    "xtask/src",
    "docs",
    "scenarios",
    "dissectors",
];

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Returns xoff's command lines in a text, without the name: between back-ticks, and in a document's lines that start
/// with it.
fn command_lines(text: &str, is_document: bool) -> Vec<&str> {
    let quoted = text.split("`xoff ").skip(1).filter_map(|rest| rest.split(['`', '\n']).next());
    let listed = text.lines().filter(|_| is_document).filter_map(|line| {
        let line = line.strip_prefix("sudo ").unwrap_or(line);
        line.strip_prefix("./target/release/xoff ").or(line.strip_prefix("xoff "))
    });
    // A sentence may also start with the name, but a command is not followed by words alone.
    let listed =
        listed.filter(|line| line.contains(" --") || line.contains('/') || line.contains("  #"));
    quoted.chain(listed).collect()
}

/// Returns the fault of a command line: a command or an option that does not exist.
fn fault(line: &str) -> Option<String> {
    let tree: Command = Arguments::command();
    let line = line.split(" # ").next().unwrap_or_default();
    // Arguments after `--` belong to another program.
    let mut words = line.split_whitespace().take_while(|word| *word != "--");
    let name = words.next()?;
    let Some(command) = tree.find_subcommand(name) else {
        return Some(format!("there is no command `{name}`"));
    };
    let options = words.filter_map(|word| word.strip_prefix("--")?.split('=').next());
    let known = |option: &&str| command.get_arguments().any(|it| it.get_long() == Some(*option));
    let unknown = options.into_iter().find(|option| !known(option))?;
    Some(format!("`xoff {name}` has no option `--{unknown}`"))
}

#[test]
fn commands_that_are_named_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let documents = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
    let documents = documents.map(|name| root.join(name));
    let sources = READ.iter().flat_map(|folder| files(&root.join(folder)));
    let mut found = 0;
    let mut faults = Vec::new();
    for path in documents.into_iter().chain(sources) {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let is_document = path.extension().is_some_and(|extension| extension == "md");
        for line in command_lines(&text, is_document) {
            found += 1;
            faults.extend(fault(line).map(|fault| format!("{}: {fault}", path.display())));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(found > 60, "only {found} were found");
}

#[test]
fn a_command_that_does_not_exist_is_found() {
    let text = "see `xoff lists`, `xoff run --fast FILE` and `xoff sweep --jobs=2 FILE`\n\
                xoff destroys nothing\nxoff runs --out x\n";
    let faults: Vec<_> =
        command_lines(text, true).into_iter().map(|line| fault(line).unwrap_or_default()).collect();
    let none = |name: &str| format!("there is no command `{name}`");
    let option = "`xoff run` has no option `--fast`".to_owned();
    assert_eq!(faults, [none("lists"), option, String::new(), none("runs")]);
}
