//! `xoff destroy`: removes what killed runs left.

use super::Exit;

/// Removes it without a word: what cannot be removed is in nobody's way, and the command says why.
pub fn remove_what_can_be() {
    let _ = netns::destroy_abandoned();
}

/// Runs the command.
pub fn execute() -> Exit {
    let report = match netns::destroy_abandoned() {
        Ok(report) => report,
        Err(error) => {
            super::complain(&error);
            return Exit::BadInput;
        }
    };
    let removed = report.removed.iter().map(|it| format!("removed fabric {}\n", it.fabric));
    let living = report
        .living
        .iter()
        .map(|it| format!("left fabric {} alone: its run is still alive\n", it.fabric));
    let text: String = removed.chain(living).collect();
    super::print(if text.is_empty() { "nothing to remove" } else { &text }, Exit::Success)
}
