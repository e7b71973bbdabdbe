//! `xoff destroy`: removes what killed runs left.

use super::Exit;

/// Runs the command.
pub fn execute() -> Exit {
    match netns::destroy_abandoned() {
        Ok(report) => {
            for fabric in &report.removed {
                println!("removed fabric {}", fabric.fabric);
            }
            for fabric in &report.living {
                println!("left fabric {} alone: its run is still alive", fabric.fabric);
            }
            if report.removed.is_empty() && report.living.is_empty() {
                println!("nothing to remove");
            }
            Exit::Success
        }
        Err(error) => {
            eprintln!("error: {error}");
            Exit::BadInput
        }
    }
}
