//! `docs/first-hour.md`, command by command.

use tests::command::{ScenarioFolder, finish, xoff};

const TEXT: &str = include_str!("../../../docs/first-hour.md");

/// The commands of the document, each with the output shown below it.
fn commands() -> Vec<(&'static str, Vec<&'static str>)> {
    let mut commands: Vec<(&str, Vec<&str>)> = Vec::new();
    for block in TEXT.split("```console\n").skip(1) {
        let (lines, _) = block.split_once("```").expect("a block ends");
        for line in lines.lines() {
            match line.strip_prefix("$ xoff ") {
                Some(command) => commands.push((command, Vec::new())),
                None => commands.last_mut().expect("a command first").1.push(line),
            }
        }
    }
    commands
}

#[test]
fn the_first_hour_goes_as_it_is_written() {
    let folder = ScenarioFolder::new();
    let commands = commands();
    assert!(commands.len() > 8, "{commands:?}");
    for (command, expected) in commands {
        let mut xoff = xoff(command.split(' '));
        let ended = finish(xoff.current_dir(folder.path(""))).assert_code(0);
        assert!(!expected.is_empty(), "{command}: the document shows nothing of what it prints");
        for line in expected {
            assert!(ended.stdout.contains(line), "{command}: no {line:?} in\n{}", ended.stdout);
        }
    }
}
