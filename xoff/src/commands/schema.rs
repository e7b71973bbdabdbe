//! `xoff schema`: the JSON Schema of scenarios, for editors.

use super::Exit;
use crate::scenario::json_schema;

/// Runs the command.
pub fn execute() -> Exit {
    super::print(&format!("{:#}", json_schema()), Exit::Success)
}
