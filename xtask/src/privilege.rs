//! Checks of the user's privileges.

use std::os::unix::fs::MetadataExt;

use anyhow::{Context, Result, bail};

/// Fails with advice unless the process runs as root.
///
/// `what` starts the sentence; `without` names an unprivileged alternative, if there is one.
pub fn require_root(what: &str, task: &str, without: Option<&str>) -> Result<()> {
    let effective_user = std::fs::metadata("/proc/self").context("reading /proc/self")?.uid();
    if effective_user == 0 {
        return Ok(());
    }
    let advice = format!("run `sudo -E env \"PATH=$PATH\" cargo xtask {task}`");
    let instead = without.map(|other| format!(", or {other}")).unwrap_or_default();
    bail!(
        "{what} needs root, for network namespaces and eBPF programs (user {effective_user} here): \
         {advice}{instead}"
    );
}
